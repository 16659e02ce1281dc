//! The reason why a chore failed, in words for the user.

use std::fmt;

/// One or more lines with the problem; empty if it has been printed already.
#[derive(Debug)]
pub struct Failure(String);

impl Failure {
    /// Returns a failure that `main` prints.
    pub fn new(words: impl Into<String>) -> Self {
        Self(words.into())
    }

    /// Returns a failure that has been printed already.
    pub fn reported() -> Self {
        Self(String::new())
    }

    /// Returns whether nothing is left to print.
    pub fn is_reported(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns `Ok` if there are no complaints, else all of them under a heading.
    pub fn unless_empty(heading: &str, complaints: &[String]) -> Result<(), Self> {
        if complaints.is_empty() {
            return Ok(());
        }
        Err(Self(format!("{heading}:\n  {}", complaints.join("\n  "))))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

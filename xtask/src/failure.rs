//! Why a chore did not succeed, in words for the person who ran it.

use std::fmt;

/// One or more lines that say what is wrong; empty when that has been printed already.
#[derive(Debug)]
pub struct Failure(String);

impl Failure {
    /// A failure that `main` prints.
    pub fn new(words: impl Into<String>) -> Self {
        Self(words.into())
    }

    /// A failure whose words are on the screen already.
    pub fn reported() -> Self {
        Self(String::new())
    }

    /// Whether nothing is left to print.
    pub fn is_reported(&self) -> bool {
        self.0.is_empty()
    }

    /// `Ok` when there are no complaints, else all of them under a heading.
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

//! Warnings about tolerated faults of a file, limited in number.
//!
//! A small file can cause millions of warnings. [`Warnings`] is the only place where they are collected; it keeps the
//! first few hundred of each code and counts the rest, so a file cannot exhaust memory with them.

use crate::printable::quoted;
use std::fmt::Write as _;

/// A tolerated fault in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// A stable identifier of the kind, for programs.
    pub code: &'static str,
    /// The place.
    pub place: String,
    /// What was found, and how it was handled.
    pub message: String,
}

impl Warning {
    /// Creates a warning of kind `code`. Control characters in the texts are escaped, and long texts are cut.
    pub fn new(code: impl Into<&'static str>, place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: code.into(), place: quoted(place.into()), message: quoted(message.into()) }
    }
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// Warnings in order of occurrence, at most [`Warnings::PER_CODE`] of each code. One more counts the rest of a code.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Warnings {
    list: Vec<Warning>,
    /// Short: a code is a name in strile's sources.
    codes: Vec<Count>,
}

/// Per code: the number of kept warnings, the number of others, and the index of the warning that reports those.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Count {
    code: &'static str,
    kept: usize,
    left_out: u64,
    summary: Option<usize>,
}

impl Warnings {
    /// Number of warnings kept per code.
    pub const PER_CODE: usize = 200;

    /// Creates an empty list.
    pub const fn new() -> Self {
        Self { list: Vec::new(), codes: Vec::new() }
    }

    /// Adds a warning, or counts it if enough of its code are kept.
    pub fn push(&mut self, warning: Warning) {
        let count = count_of(&mut self.codes, warning.code);
        if count.kept < Self::PER_CODE {
            count.kept += 1;
            self.list.push(warning);
        } else {
            self.leave_out(warning.code, 1);
        }
    }

    /// Adds a warning that is only created if it is kept.
    pub fn push_with(&mut self, code: &'static str, make: impl FnOnce() -> Warning) {
        match count_of(&mut self.codes, code).kept < Self::PER_CODE {
            true => self.push(make()),
            false => self.leave_out(code, 1),
        }
    }

    /// Adds all warnings and counts of another list.
    pub fn append(&mut self, other: Self) {
        for (at, warning) in other.list.into_iter().enumerate() {
            match other.codes.iter().find(|count| count.code == warning.code) {
                Some(count) if count.summary == Some(at) => self.leave_out(warning.code, count.left_out),
                _ => self.push(warning),
            }
        }
    }

    /// Sets the place of all warnings.
    #[must_use]
    pub fn at(mut self, place: &str) -> Self {
        self.list.iter_mut().for_each(|warning| warning.place = place.to_owned());
        self
    }

    /// Counts warnings of a code that are not kept.
    fn leave_out(&mut self, code: &'static str, more: u64) {
        let count = count_of(&mut self.codes, code);
        count.left_out = count.left_out.saturating_add(more);
        let at = *count.summary.get_or_insert(self.list.len());
        if at == self.list.len() {
            self.list.push(Warning::new(code, "file", String::new()));
        }
        if let Some(summary) = self.list.get_mut(at) {
            // The text is reused: this runs for every warning of a hostile file.
            summary.message.clear();
            let _always_ok = write!(summary.message, "{} more warnings of this kind", count.left_out);
        }
    }
}

/// Returns the count of a code, which is initially 0.
fn count_of<'a>(codes: &'a mut Vec<Count>, code: &'static str) -> &'a mut Count {
    let at = codes.iter().position(|count| count.code == code).unwrap_or(codes.len());
    if at == codes.len() {
        codes.push(Count { code, kept: 0, left_out: 0, summary: None });
    }
    #[expect(clippy::indexing_slicing, reason = "the position of an element, or of the one just added")]
    &mut codes[at]
}

impl std::ops::Deref for Warnings {
    type Target = [Warning];

    fn deref(&self) -> &[Warning] {
        &self.list
    }
}

impl<const N: usize> PartialEq<[Warning; N]> for Warnings {
    fn eq(&self, other: &[Warning; N]) -> bool {
        self.list == other
    }
}

impl<'a> IntoIterator for &'a Warnings {
    type Item = &'a Warning;
    type IntoIter = std::slice::Iter<'a, Warning>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn many(code: &'static str, count: usize) -> Warnings {
        let mut warnings = Warnings::new();
        (0..count).for_each(|i| warnings.push(Warning::new(code, format!("place {i}"), "wrong")));
        warnings
    }

    #[test]
    fn a_few_hundred_of_a_code_are_kept_and_the_rest_is_counted() {
        let mut warnings = many("a", 1_000_000);
        warnings.push(Warning::new("b", "elsewhere", "wrong too"));
        assert_eq!(warnings.len(), Warnings::PER_CODE + 2);
        assert_eq!(warnings[Warnings::PER_CODE].message, "999800 more warnings of this kind");
        assert_eq!(warnings.last().unwrap().code, "b");
        assert_eq!(many("a", Warnings::PER_CODE).len(), Warnings::PER_CODE);
    }

    #[test]
    fn lists_put_together_count_all() {
        let mut warnings = many("a", 150);
        warnings.append(many("a", 1_000));
        warnings.append(many("a", 1));
        assert_eq!(warnings.len(), Warnings::PER_CODE + 1);
        assert_eq!(warnings.last().unwrap().message, "951 more warnings of this kind");
        assert_eq!(warnings.at("VRT")[0].place, "VRT");
    }

    #[test]
    fn texts_of_a_file_are_safe_to_show() {
        let warning = Warning::new("a", "tag\x1b[2J", "x".repeat(1 << 20));
        assert_eq!(warning.place, "tag\\u{1b}[2J");
        assert!(warning.message.len() < 2000);
    }
}

//! What can be wrong with a file, in three kinds a user can act on, and what was tolerated.

use thiserror::Error;

/// Why a file or one of its images cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TiffError {
    /// The file is wrong.
    #[error("{place}: {problem}")]
    Invalid {
        /// Where: the header, a directory, a tag of a directory.
        place: String,
        /// What was found and what was expected.
        problem: String,
    },
    /// The file is right, but uses something strile does not have.
    #[error("{place}: {what} is not supported")]
    Unsupported {
        /// Where.
        place: String,
        /// What is not supported.
        what: String,
    },
    /// The file asks for more than the limits allow.
    #[error("{place}: {what} is {found}, over the limit of {limit}")]
    Limit {
        /// Where.
        place: String,
        /// What is too large.
        what: &'static str,
        /// As the file has it.
        found: u64,
        /// As it may be at most.
        limit: u64,
    },
}

impl TiffError {
    pub(crate) fn invalid(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Invalid { place: place.into(), problem: problem.into() }
    }

    pub(crate) fn unsupported(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self::Unsupported { place: place.into(), what: what.into() }
    }
}

/// Something in a file that is not right and was tolerated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// A stable name of the kind, for programs.
    pub code: &'static str,
    /// Where.
    pub place: String,
    /// What was found and what was made of it.
    pub message: String,
}

impl Warning {
    /// A warning of kind `code`.
    pub fn new(code: &'static str, place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code, place: place.into(), message: message.into() }
    }
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

//! What can be wrong with a file, in three kinds a user can act on.

use crate::printable::quoted;
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
        Self::Invalid { place: quoted(place.into()), problem: quoted(problem.into()) }
    }

    pub(crate) fn unsupported(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self::Unsupported { place: quoted(place.into()), what: quoted(what.into()) }
    }
}

//! Errors of files, in three kinds that a user can act on.

use crate::printable::quoted;
use thiserror::Error;

/// The reason why a file or one of its images cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TiffError {
    /// The file is invalid.
    #[error("{place}: {problem}")]
    Invalid {
        /// The place: the header, a directory, a tag of a directory.
        place: String,
        /// The value found and the value expected.
        problem: String,
    },
    /// The file is valid, but uses a feature that strile does not support.
    #[error("{place}: {what} is not supported")]
    Unsupported {
        /// The place.
        place: String,
        /// The unsupported feature.
        what: String,
    },
    /// The file exceeds a limit.
    #[error("{place}: {what} is {found}, over the limit of {limit}")]
    Limit {
        /// The place.
        place: String,
        /// The quantity that is too large.
        what: &'static str,
        /// Its value in the file.
        found: u64,
        /// Its maximum.
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

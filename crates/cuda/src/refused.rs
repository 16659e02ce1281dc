//! The reason why a GPU leaves work to another path.

use thiserror::Error;

/// Says why a GPU, nvCOMP or cuFile does not do some work. Another path does it instead.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Refused(String);

impl From<String> for Refused {
    fn from(reason: String) -> Self {
        Self(reason)
    }
}

impl From<Refused> for String {
    fn from(Refused(reason): Refused) -> Self {
        reason
    }
}

//! The error for values given by callers: names, texts, options.

use thiserror::Error;

/// A value that cannot be used. The message says what was expected.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct InvalidValue(String);

impl From<String> for InvalidValue {
    fn from(message: String) -> Self {
        Self(message)
    }
}

impl From<InvalidValue> for String {
    fn from(InvalidValue(message): InvalidValue) -> Self {
        message
    }
}

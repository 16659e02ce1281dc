//! Errors of strile as exceptions: Python's own where it has them.

use pyo3::exceptions::{PyException, PyKeyboardInterrupt, PyMemoryError, PyOSError, PyValueError};
use pyo3::{PyErr, create_exception};
use strile::Error;

create_exception!(
    strile,
    StrileError,
    PyException,
    "A file that is wrong or not supported, or a device that failed."
);

/// The exception for an error, with its sentence.
pub(crate) fn exception(error: Error) -> PyErr {
    let sentence = error.to_string();
    match error {
        Error::Io { path, error } => match error.raw_os_error() {
            // With a number Python picks the class: `FileNotFoundError`, `PermissionError`, …
            Some(number) => PyOSError::new_err((number, error.kind().to_string(), path)),
            None => PyOSError::new_err(sentence),
        },
        Error::Request { .. } => PyValueError::new_err(sentence),
        Error::Memory { .. } => PyMemoryError::new_err(sentence),
        Error::Cancelled => PyKeyboardInterrupt::new_err(sentence),
        Error::File { .. } | Error::Unsupported { .. } | Error::Blocks { .. } | Error::Engine(_) => {
            StrileError::new_err(sentence)
        }
    }
}

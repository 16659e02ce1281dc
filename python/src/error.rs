//! Converts errors of strile to exceptions: classes of `strile.errors`, and those of Python where it has them.
//!
//! An exception of a caller's object (a reader of ranges, a sink) passes through the library inside an
//! `io::Error` and is raised again unchanged.

use pyo3::exceptions::{
    PyConnectionError, PyConnectionRefusedError, PyConnectionResetError, PyFileNotFoundError,
    PyKeyboardInterrupt, PyMemoryError, PyOSError, PyPermissionError, PyTimeoutError,
};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use std::collections::HashMap;
use std::io;
use std::sync::{Mutex, PoisonError};
use strile::Error;
use strile::engine::{EngineError, FaultKind};
use strile::error::{Limited, Misstated};
use strile::io::PrivateHost;
use strile::tiff::{TiffError, printable};

/// The classes found so far.
static CLASSES: PyOnceLock<Mutex<HashMap<&'static str, Py<PyType>>>> = PyOnceLock::new();

/// Makes an exception of the class of that name in `strile.errors`.
pub(crate) fn strile_error(py: Python<'_>, class: &'static str, sentence: impl Into<String>) -> PyErr {
    match find(py, class) {
        Ok(class) => PyErr::from_type(class, (sentence.into(),)),
        Err(error) => error,
    }
}

/// Makes the exception of a request that cannot be served.
pub(crate) fn refused(sentence: impl Into<String>) -> PyErr {
    Python::attach(|py| strile_error(py, "StrileError", sentence))
}

fn find<'py>(py: Python<'py>, class: &'static str) -> PyResult<Bound<'py, PyType>> {
    let classes = CLASSES.get_or_init(py, Mutex::default);
    let kept = || classes.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = kept().get(class) {
        return Ok(found.bind(py).clone());
    }
    // Not under the lock: an import runs other threads.
    let found = py.import("strile.errors")?.getattr(class)?.cast_into::<PyType>()?;
    kept().insert(class, found.clone().unbind());
    Ok(found)
}

/// Returns the exception for an error, with its message.
pub(crate) fn exception(error: Error) -> PyErr {
    Python::attach(|py| exception_of(py, error))
}

fn exception_of(py: Python<'_>, error: Error) -> PyErr {
    // What a file says in it cannot steer a terminal that shows the exception.
    let sentence = with_values(&printable(&error.to_string()));
    // The class is that of what is wrong, the sentence says in which window.
    let (error, place) = match error {
        Error::Window { window, area, error } => (*error, Some(format!("window {window} ({area})"))),
        error => (error, None),
    };
    let class = match error {
        Error::Io { path, error } => {
            let raised = os_error(py, &path.display().to_string(), &error, sentence);
            // Python makes the sentence of an OSError: its place comes beside it.
            if let Some(Err(failed)) = place.map(|place| raised.value(py).call_method1("add_note", (place,)))
            {
                return failed;
            }
            return raised;
        }
        Error::Memory { error } => {
            let place = place.map(|place| format!("{place}: ")).unwrap_or_default();
            // The library names its own options, which callers from Python do not have.
            let more = match error.purpose.ends_with("on the device") {
                true => "",
                false => ", or allow more by `memory=` where the call takes it",
            };
            return PyMemoryError::new_err(format!("{place}{error}; read less at once{more}"));
        }
        Error::NoMemory { error } => {
            let place = place.map(|place| format!("{place}: ")).unwrap_or_default();
            return PyMemoryError::new_err(format!("{place}{error}; read less at once"));
        }
        // Who cancels knows why and raises that; the rest is a signal.
        Error::Cancelled => return PyKeyboardInterrupt::new_err(sentence),
        Error::File { error: TiffError::Unsupported { .. }, .. } | Error::Unsupported { .. } => {
            "UnsupportedGeoTIFFFeatureError"
        }
        Error::File { error: TiffError::Invalid { problem, .. }, .. } if is_duplicate(&problem) => {
            "DuplicateIFDTagError"
        }
        Error::Blocks { first, .. } if first.fault.kind == FaultKind::Unsupported => {
            "UnsupportedGeoTIFFFeatureError"
        }
        Error::Limit { limited: Limited::Pixels, .. } => "PixelSafetyLimitError",
        Error::Limit { limited: Limited::Fetched, .. } => "CloudSizeLimitError",
        Error::Misstated { what, .. } => match what {
            Misstated::Rotation => "RotatedTransformError",
            Misstated::PixelSize => "DegeneratePixelSizeError",
            Misstated::Layout => "UnsupportedGeoTIFFFeatureError",
            Misstated::Scaling => "MalformedScaleOffsetError",
            Misstated::Bands => "MixedBandMetadataError",
            Misstated::CrsText => "UnparseableCRSError",
            Misstated::GeoKeys => "InconsistentGeoKeysError",
            _ => "StrileError",
        },
        Error::Device { .. } | Error::Engine(EngineError::Device { .. }) => "DeviceError",
        _ => "StrileError",
    };
    strile_error(py, class, sentence)
}

/// Returns whether a tag is there twice with different values; twice with one value is the warning `duplicate-tag`.
fn is_duplicate(problem: &str) -> bool {
    problem.ends_with("is given twice with different values")
}

fn os_error(py: Python<'_>, path: &str, error: &io::Error, sentence: String) -> PyErr {
    if let Some(raised) = error.get_ref().and_then(|inner| inner.downcast_ref::<PyErr>()) {
        return raised.clone_ref(py);
    }
    if error.kind() == io::ErrorKind::OutOfMemory {
        return PyMemoryError::new_err(sentence);
    }
    if path.contains("://") {
        return remote_error(py, path, error, sentence);
    }
    match error.raw_os_error().or_else(|| number_of(error.kind())) {
        // With a number Python picks the class: `FileNotFoundError`, `PermissionError`, …
        Some(number) => PyOSError::new_err((number, words_of(error), path.to_owned())),
        // A file that ends early is wrong, not the system.
        None if error.kind() == io::ErrorKind::UnexpectedEof => strile_error(py, "StrileError", sentence),
        None => PyOSError::new_err(sentence),
    }
}

/// Returns an error of a remote object. What a server answers wrongly is an error of strile's, the rest is the system's.
fn remote_error(py: Python<'_>, path: &str, error: &io::Error, sentence: String) -> PyErr {
    if let Some(PrivateHost { host, address }) = error.get_ref().and_then(|inner| inner.downcast_ref()) {
        let sentence = format!(
            "{path}: the host '{host}' is {address}, on this machine or in a private network; set \
             STRILE_GEOTIFF_ALLOW_PRIVATE_HOSTS=1 to permit it"
        );
        return strile_error(py, "UnsafeURLError", sentence);
    }
    let connection = || format!("{}; is the address right and the server up? {path}", words_of(error));
    match error.kind() {
        io::ErrorKind::NotFound => PyFileNotFoundError::new_err(sentence),
        io::ErrorKind::PermissionDenied => PyPermissionError::new_err(sentence),
        io::ErrorKind::TimedOut => PyTimeoutError::new_err(sentence),
        io::ErrorKind::ConnectionRefused => PyConnectionRefusedError::new_err(connection()),
        io::ErrorKind::ConnectionReset => PyConnectionResetError::new_err(connection()),
        io::ErrorKind::ConnectionAborted
        | io::ErrorKind::HostUnreachable
        | io::ErrorKind::NetworkUnreachable => PyConnectionError::new_err(connection()),
        io::ErrorKind::InvalidData
        | io::ErrorKind::InvalidInput
        | io::ErrorKind::StaleNetworkFileHandle
        | io::ErrorKind::UnexpectedEof
        | io::ErrorKind::Unsupported => strile_error(py, "StrileError", sentence),
        _ => PyOSError::new_err(sentence),
    }
}

/// Returns the system's error number of kinds that the library makes itself.
fn number_of(kind: io::ErrorKind) -> Option<i32> {
    Some(match kind {
        io::ErrorKind::NotFound => 2,
        io::ErrorKind::PermissionDenied => 13,
        io::ErrorKind::AlreadyExists => 17,
        io::ErrorKind::NotADirectory => 20,
        io::ErrorKind::IsADirectory => 21,
        _ => return None,
    })
}

fn words_of(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(_) => error.kind().to_string(),
        None => with_values(&error.to_string()),
    }
}

/// Replaces names of options in a message by those of Python.
fn with_values(sentence: &str) -> String {
    let sentence = sentence.replace("set `overwrite`", "pass overwrite=True");
    let sentence = sentence.replace("`sidecars = never`", "`sidecars='never'`");
    let sentence = sentence.replace("pass `allow_rotated`", "pass allow_rotated=True");
    let sentence = sentence.replace("pass `mixed_nodata`", "pass band_nodata='first'");
    sentence.replace("pass `allow_unparseable_crs`", "pass allow_unparseable_crs=True")
}

/// Warns at the caller `level` calls of Python above.
pub(crate) fn warning(py: Python<'_>, sentence: &str, level: u32) -> PyResult<()> {
    let sentence = strile::tiff::printable(sentence);
    let class = py.get_type::<pyo3::exceptions::PyUserWarning>();
    py.import("warnings")?.call_method1("warn", (sentence.as_ref(), class, level)).map(drop)
}

/// Warns that something was skipped or done differently, at the caller `level` calls of Python above.
pub(crate) fn fallback_warning(py: Python<'_>, sentence: &str, level: u32) -> PyResult<()> {
    let class = py.import("strile.errors")?.getattr("GeoTIFFFallbackWarning")?;
    let sentence = strile::tiff::printable(sentence);
    py.import("warnings")?.call_method1("warn", (sentence.as_ref(), class, level)).map(drop)
}

/// Makes an exception on its way through the library.
pub(crate) fn carried(error: PyErr) -> io::Error {
    io::Error::other(error)
}

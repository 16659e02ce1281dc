//! Makes the sink of a file: a path, a URL of a bucket, or a Python object with `write(bytes)`.
//!
//! Such an object only takes bytes in order, so blocks wait in a spool until the file is complete: it gets
//! its first byte when all bytes are known. An exception of its `write` is raised again unchanged.

use crate::error::carried;
use crate::write_options::TargetOptions;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use strile::Cancel;
use strile::io::{
    FileSink, RemoteOptions, RemoteSink, Sink, Spool, StreamSink, UploadOptions, is_remote, other_format,
    redacted,
};

/// Returns the sink of a path, or of a URL of a bucket.
pub(crate) fn at(
    path: &Path,
    overwrite: bool,
    remote: &RemoteOptions,
    cancel: &Cancel,
) -> strile::Result<Box<dyn Sink>> {
    check_name(path)?;
    let Some(url) = path.to_str().filter(|text| is_remote(text)) else {
        if *remote != RemoteOptions::new() {
            let problem =
                "storage_options apply to URLs of buckets, and the target is a local path".to_owned();
            return Err(strile::Error::Request { file: path.display().to_string(), problem });
        }
        return Ok(Box::new(FileSink::create(path, overwrite)?));
    };
    let upload = UploadOptions::new().overwrite(overwrite);
    Ok(Box::new(RemoteSink::create(url, remote, &upload, cancel)?))
}

/// Refuses names of other formats than TIFF.
fn check_name(path: &Path) -> strile::Result<()> {
    match other_format(path) {
        None => Ok(()),
        Some(end) => {
            let problem =
                format!("cannot write a TIFF to a name that ends in `.{end}`; name the file `….tif`");
            Err(strile::Error::Request { file: redacted(&path.display().to_string()), problem })
        }
    }
}

/// Refuses names of other formats than TIFF.
#[pyfunction]
pub(crate) fn check_target(path: PathBuf) -> PyResult<()> {
    check_name(&path).map_err(crate::error::exception)
}

/// Returns the sink that a target means; with no place for sidecars where none are wanted.
pub(crate) fn open(
    target: &Bound<'_, PyAny>,
    options: &TargetOptions,
    cancel: &Cancel,
) -> PyResult<Box<dyn Sink>> {
    let py = target.py();
    let is_path = target.is_instance_of::<PyString>() || target.hasattr("__fspath__")?;
    if is_path {
        let path: PathBuf = target.extract()?;
        let sink = crate::call::run(py, cancel, None, || at(&path, true, &options.remote, cancel))?;
        return Ok(if options.sidecars { sink } else { Box::new(Alone(sink)) });
    }
    let write = target.getattr_opt("write")?.filter(Bound::is_callable).ok_or_else(|| {
        let kind = target.get_type().name().map(|name| name.to_string()).unwrap_or_default();
        PyTypeError::new_err(format!("target {kind}: expected a path or an object with `write`"))
    })?;
    let name = target.getattr_opt("name")?.and_then(|name| name.extract::<String>().ok());
    let name = name.unwrap_or_else(|| "the object given".to_owned());
    Ok(Box::new(StreamSink::new(name, PythonFile { write: write.unbind() })))
}

/// The `write` of a Python object.
struct PythonFile {
    write: Py<PyAny>,
}

impl Write for PythonFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = Python::attach(|py| -> PyResult<usize> {
            let taken = self.write.call1(py, (PyBytes::new(py, bytes),))?;
            if taken.is_none(py) {
                return Ok(bytes.len());
            }
            // Raw files take what they can and say how much that was; others have no number to tell.
            Ok(taken.extract::<usize>(py).unwrap_or(bytes.len()))
        });
        taken.map(|taken| taken.min(bytes.len())).map_err(carried)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A sink with no place for sidecars.
struct Alone(Box<dyn Sink>);

impl Sink for Alone {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.append(bytes)
    }

    fn can_patch(&self) -> bool {
        self.0.can_patch()
    }

    fn patch(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.patch(offset, bytes)
    }

    fn append_from(&mut self, spool: &Spool, range: Range<u64>) -> io::Result<()> {
        self.0.append_from(spool, range)
    }

    fn append_within_system(&mut self, file: &File, range: Range<u64>) -> io::Result<u64> {
        self.0.append_within_system(file, range)
    }

    fn beside(&self) -> Option<&Path> {
        self.0.beside()
    }

    fn commit(self: Box<Self>) -> io::Result<()> {
        self.0.commit()
    }

    fn abort(self: Box<Self>) {
        self.0.abort();
    }
}

//! Provides `SharedObject`: a file in a bucket that several processes write, each some parts of it.

use crate::{call, remote};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use std::sync::Arc;
use strile::Cancel;
use strile::io::UploadOptions;

/// An upload that several processes take part in. Its `ticket` is a secret.
#[pyclass(frozen, module = "strile._core")]
pub(crate) struct SharedObject(Arc<strile::io::SharedObject>);

#[pymethods]
impl SharedObject {
    /// Starts the upload. An existing object is replaced.
    #[staticmethod]
    fn begin(py: Python<'_>, url: &str, remote: &Bound<'_, remote::Remote>) -> PyResult<Self> {
        let (remote, cancel) = (remote::options(Some(remote)), Cancel::default());
        let upload = UploadOptions::new().overwrite(true);
        let begun =
            call::run(py, &cancel, None, || strile::io::SharedObject::begin(url, &remote, &upload, &cancel))?;
        Ok(Self(Arc::new(begun)))
    }

    /// Joins the upload.
    #[staticmethod]
    fn join(py: Python<'_>, url: &str, remote: &Bound<'_, remote::Remote>, ticket: &str) -> PyResult<Self> {
        let (remote, cancel) = (remote::options(Some(remote)), Cancel::default());
        let joined =
            call::run(py, &cancel, None, || strile::io::SharedObject::join(url, &remote, ticket, &cancel))?;
        Ok(Self(Arc::new(joined)))
    }

    /// Returns the ticket by which others join.
    #[getter]
    fn ticket(&self) -> String {
        self.0.ticket()
    }

    /// Returns whether a part can be sent only after the one before it.
    #[getter]
    fn in_order(&self) -> bool {
        self.0.in_order()
    }

    /// Returns the size of all parts but the last.
    fn part_size(&self, py: Python<'_>, total: u64) -> PyResult<u64> {
        call::run_at_once(py, || self.0.part_size(total))
    }

    /// Sends a part, numbered from 1. Returns the argument of `complete`.
    fn put(&self, py: Python<'_>, number: usize, offset: u64, content: PyBackedBytes) -> PyResult<String> {
        let cancel = Cancel::default();
        call::run(py, &cancel, None, || self.0.put(number, offset, content.to_vec(), &cancel))
    }

    /// Sends the last part, makes the file visible, and puts sidecars beside it.
    fn complete(
        &self,
        py: Python<'_>,
        parts: Vec<(usize, String)>,
        offset: u64,
        last: PyBackedBytes,
        sidecars: Vec<(String, Vec<u8>)>,
    ) -> PyResult<()> {
        let cancel = Cancel::default();
        call::run(py, &cancel, None, || self.0.complete(&parts, offset, last.to_vec(), &sidecars))
    }

    /// Aborts the upload: no object appears, and the parts are removed.
    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        call::run(py, &Cancel::default(), None, || self.0.abort())
    }
}

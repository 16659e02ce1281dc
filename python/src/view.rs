//! Runs the viewer as a server in the background of this process.

use crate::call::{context, detached};
use crate::error::{refused, strile_error};
use crate::remote;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use strile::vrt::VrtOptions;
use strile::{Cancel, Processor};
use strile_serve::{ServeError, Server, ServerOptions};

/// A viewer that answers until it is closed.
#[pyclass(frozen, module = "strile._core")]
pub(crate) struct Viewer {
    #[pyo3(get)]
    url: String,
    #[pyo3(get)]
    port: u16,
    /// The process that the thread belongs to: a child of a fork has none.
    process: u32,
    cancel: Cancel,
    thread: Mutex<Option<JoinHandle<Result<(), ServeError>>>>,
}

#[pymethods]
impl Viewer {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    #[pyo3(signature = (paths, *, port, memory, threads, decode_on, sidecars, basemap, remote))]
    fn new(
        py: Python<'_>,
        paths: Vec<PathBuf>,
        port: u16,
        memory: Option<u64>,
        threads: Option<usize>,
        decode_on: &str,
        sidecars: &str,
        basemap: Option<String>,
        remote: Option<&Bound<'_, remote::Remote>>,
    ) -> PyResult<Self> {
        let decode_on: Processor =
            decode_on.parse().map_err(|problem| refused(format!("decode_on: {problem}")))?;
        let context = context(memory, threads)?;
        let mut options = ServerOptions::default();
        options.port = port;
        options.threads = Some(context.threads);
        options.budget = Arc::clone(&context.budget);
        options.decode_on = decode_on;
        options.basemap = basemap;
        options.describe = Some(Arc::new(strile_cli::described));
        // A notebook's proxy passes its own name on, which nobody here knows. The secret part of the address is what opens the page.
        options.allowed_hosts = vec!["*".into()];
        let open = remote::open_options(sidecars, remote)?;
        options.open = VrtOptions::new().open(open);
        let failed = |error: ServeError| strile_error(py, "StrileError", format!("view: {error}"));
        let server = detached(py, || Server::view(&paths, options))?.map_err(failed)?;
        let (url, port, cancel) = (server.url(), server.address().port(), Cancel::default());
        let stop = cancel.clone();
        let thread = std::thread::Builder::new().name("strile-view".to_owned());
        let thread = thread.spawn(move || server.run(&stop)).map_err(|error| {
            strile_error(py, "StrileError", format!("view: cannot start a thread: {error}"))
        })?;
        Ok(Self { url, port, process: std::process::id(), cancel, thread: Mutex::new(Some(thread)) })
    }

    /// Returns whether it has ended.
    #[getter]
    fn closed(&self) -> bool {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        self.process != std::process::id() || thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Stops it, and waits at most 0.2 seconds for that.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if self.process != std::process::id() {
            return Ok(());
        }
        self.cancel.cancel();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        detached(py, || drop(thread.map(JoinHandle::join)))
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

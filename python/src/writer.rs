//! Provides `Writer`: a file being written, piece by piece.
//!
//! An error, an interrupt, `finish` or `abort` closes it. An unfinished file is removed.
//! One thread writes at a time; the interpreter's lock is released meanwhile.

use crate::call::{self, Count, Watch};
use crate::commands::report_dict;
use crate::held::Held;
use crate::piece::Given;
use crate::spec::RasterSpec;
use crate::write_options::WriteOptions;
use crate::{device, sink};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;
use strile::{Cancel, Context, Location};

/// A file being written, which appears at the target with `finish`.
#[pyclass(frozen, module = "strile._core")]
pub(crate) struct Writer {
    open: Held<Open>,
    location: Location,
    explained: String,
    encoder: (String, String),
    blocks: u64,
}

struct Open {
    writer: strile::Writer,
    cancel: Cancel,
    count: Arc<Count>,
}

#[pymethods]
impl Writer {
    #[new]
    #[pyo3(signature = (target, raster, options, *, memory=None, threads=None))]
    fn new(
        target: &Bound<'_, PyAny>,
        raster: &RasterSpec,
        options: &WriteOptions,
        memory: Option<u64>,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let py = target.py();
        let WriteOptions { options, target: target_options, .. } = options;
        let raster = raster.spec.clone();
        let count = Arc::new(Count::default());
        let context = call::context(memory, threads)?;
        let context = Context { progress: Some(Arc::clone(&count) as _), ..context };
        let sink = sink::open(target, target_options, &context.cancel)?;
        let writer = call::run_at_once(py, || strile::Writer::create(sink, raster, options, &context))?;
        count.expect(writer.blocks());
        let cancel = context.cancel;
        Ok(Self {
            location: writer.location().unwrap_or(Location::Host),
            explained: writer.explain(),
            encoder: writer.encoder(),
            blocks: writer.blocks(),
            open: Held::new("writer", Open { writer, cancel, count }),
        })
    }

    /// Describes the work in words.
    fn explain(&self) -> &str {
        &self.explained
    }

    /// Returns the names of the engine and of its encoder.
    #[getter]
    fn encoder(&self) -> (String, String) {
        self.encoder.clone()
    }

    /// Counts the blocks of all levels and masks.
    #[getter]
    fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Returns the processor that encodes: "cpu" or "cuda:N".
    #[getter]
    fn device(&self) -> String {
        device::name(self.location)
    }

    /// Takes a piece of the raster, all bands, with its first pixel at `row` and `column`.
    #[pyo3(signature = (array, row, column, *, axes, mask=None, stream=None, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "the keywords of a Python function")]
    fn write(
        &self,
        array: &Bound<'_, PyAny>,
        row: u32,
        column: u32,
        axes: &str,
        mask: Option<&Bound<'_, PyAny>>,
        stream: Option<u64>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let py = array.py();
        self.open.attempt(py, |open| {
            let given = Given::new(array, (row, column), axes, mask, stream, self.location)?;
            let piece = given.piece();
            let Open { writer, cancel, count } = open;
            let watch = progress.map(|progress| Watch { count, progress });
            call::run(py, cancel, watch, || writer.write(&piece))
        })
    }

    /// Adds a sidecar, which appears together with the target.
    fn sidecar(&self, py: Python<'_>, suffix: &str, content: Vec<u8>) -> PyResult<()> {
        self.open.attempt(py, |open| call::run_at_once(py, || open.writer.sidecar(suffix, content)))
    }

    /// Completes the file and moves it to its path.
    #[pyo3(signature = (progress=None))]
    fn finish<'py>(
        &self,
        py: Python<'py>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let Open { writer, cancel, count } = self.open.take(py, "finished")?;
        let watch = progress.map(|progress| Watch { count: &count, progress });
        let report = call::run(py, &cancel, watch, || {
            let report = writer.finish()?;
            count.complete();
            Ok(report)
        })?;
        let dict = report_dict(py, &report, &report.warnings)?;
        dict.set_item("spooled", report.spooled)?;
        Ok(dict)
    }

    /// Aborts the file, and removes what was written. A closed writer stays as it is.
    fn abort(&self, py: Python<'_>) {
        self.open.abort(py);
    }
}

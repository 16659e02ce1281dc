//! Writes a raster in parts, which several processes encode and one process joins.
//!
//! `Parts` takes the arguments of a `Writer`, the same in every process. `PartWriter` encodes one part, `Assembly` makes
//! the file. An error closes both, and removes unfinished files. One thread uses one at a time.

use crate::call;
use crate::commands::report_dict;
use crate::dict::{Dicts, dict};
use crate::error::exception;
use crate::held::Held;
use crate::piece::Given;
use crate::spec::RasterSpec;
use crate::write_options::{TargetOptions, WriteOptions};
use crate::{device, sink};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyList};
use std::path::PathBuf;
use std::sync::Arc;
use strile::write::{Beyond, EncodedPart, FileSegment, PartAddress, PartBytes, PartTarget, Tier};
use strile::{Cancel, Location, Window};

/// A file whose blocks several processes encode, as parts.
#[pyclass(frozen, module = "strile._core")]
pub(crate) struct Parts {
    parts: Arc<strile::write::Parts>,
    target_options: TargetOptions,
}

#[pymethods]
impl Parts {
    /// `size` is the columns and rows wanted in a part.
    #[new]
    fn new(py: Python<'_>, raster: &RasterSpec, options: &WriteOptions, size: (u32, u32)) -> PyResult<Self> {
        let spec = raster.spec.clone();
        let parts = call::run_at_once(py, || strile::write::Parts::new(spec, &options.options, size))?;
        Ok(Self { parts: Arc::new(parts), target_options: options.target.clone() })
    }

    /// Describes the work in words.
    fn explain(&self, py: Python<'_>) -> PyResult<String> {
        call::detached(py, || self.parts.explain())
    }

    /// Returns the name of the encoder.
    #[getter]
    fn encoder(&self) -> &str {
        self.parts.encoder()
    }

    /// Returns whether the file has 64-bit offsets.
    #[getter]
    fn is_big(&self) -> bool {
        self.parts.is_big()
    }

    /// Counts the blocks of all levels.
    #[getter]
    fn blocks(&self) -> u64 {
        self.parts.blocks()
    }

    /// Returns the tiers, that of the full image first.
    #[getter]
    fn tiers<'py>(&self, py: Python<'py>) -> PyResult<Dicts<'py>> {
        let entry = |tier: &Tier| Ok(dict!(py; tier { level, levels, image, size, columns, rows }));
        self.parts.tiers().iter().map(entry).collect()
    }

    /// Returns the windows (column, row, width, height) that a part encodes, needs and hands on, and its blocks.
    fn part<'py>(&self, py: Python<'py>, tier: u32, row: u32, column: u32) -> PyResult<Bound<'py, PyDict>> {
        let windows = call::run_at_once(py, || self.parts.part(PartAddress { tier, row, column }))?;
        let window = |window: Window| (window.column, window.row, window.width, window.height);
        let (own, need, beyond) = (window(windows.own), window(windows.need), windows.beyond.map(window));
        Ok(dict!(py; windows { blocks }, "own" => own, "need" => need, "beyond" => beyond))
    }

    /// Starts a part, with its records in the new file `path`, else in memory.
    #[pyo3(signature = (tier, row, column, *, path=None, memory=None, threads=None))]
    #[expect(clippy::too_many_arguments, reason = "the keywords of a Python function")]
    fn encode(
        &self,
        py: Python<'_>,
        tier: u32,
        row: u32,
        column: u32,
        path: Option<PathBuf>,
        memory: Option<u64>,
        threads: Option<usize>,
    ) -> PyResult<PartWriter> {
        let context = call::context(memory, threads)?;
        let target = path.map_or(PartTarget::Memory, PartTarget::File);
        let at = PartAddress { tier, row, column };
        let writer = call::run_at_once(py, || self.parts.encode(at, target, &context))?;
        let location = writer.location().unwrap_or(Location::Host);
        Ok(PartWriter { location, open: Held::new("part", (writer, context.cancel)) })
    }

    /// Returns the layout of the file, given the indexes of all parts: `stretches` of bytes, or of the number of a part
    /// and from where to where in its records; `sidecars`; and what `Assembly.lay_out` tells.
    #[pyo3(signature = (name, parts, sidecars, *, memory=None))]
    fn lay_out<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        parts: Vec<(u32, u32, u32, Vec<u8>)>,
        sidecars: Vec<(String, Vec<u8>)>,
        memory: Option<u64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let context = call::context(memory, None)?;
        let parts: Vec<(PartAddress, Vec<u8>)> = parts
            .into_iter()
            .map(|(tier, row, column, index)| (PartAddress { tier, row, column }, index))
            .collect();
        let cancel = context.cancel.clone();
        let laid = call::run(py, &cancel, None, || self.parts.lay_out(name, &parts, sidecars, &context))?;
        let stretches = PyList::empty(py);
        for stretch in laid.segments {
            match stretch {
                FileSegment::Bytes(bytes) => stretches.append(PyBytes::new(py, &bytes))?,
                FileSegment::Records { part, range } => stretches.append((part, range.start, range.end))?,
            }
        }
        let dict = report_dict(py, &laid.report, &laid.report.warnings)?;
        dict.set_item("stretches", stretches)?;
        let sidecars = laid.sidecars.into_iter().map(|(suffix, bytes)| (suffix, PyBytes::new(py, &bytes)));
        dict.set_item("sidecars", sidecars.collect::<Vec<_>>())?;
        Ok(dict)
    }

    /// Starts the file.
    #[pyo3(signature = (target, *, memory=None))]
    fn assemble(&self, target: &Bound<'_, PyAny>, memory: Option<u64>) -> PyResult<Assembly> {
        let py = target.py();
        let context = call::context(memory, None)?;
        let sink = sink::open(target, &self.target_options, &context.cancel)?;
        let assembly = call::run_at_once(py, || self.parts.assemble(sink, &context))?;
        Ok(Assembly { parts: Arc::clone(&self.parts), open: Held::new("file", (assembly, context.cancel)) })
    }
}

/// A part being encoded.
#[pyclass(frozen, module = "strile._core")]
pub(crate) struct PartWriter {
    location: Location,
    open: Held<(strile::write::PartWriter, Cancel)>,
}

#[pymethods]
impl PartWriter {
    /// Returns where pixels are encoded: "cpu" or "cuda:N".
    #[getter]
    fn device(&self) -> String {
        device::name(self.location)
    }

    /// Takes pixels that the part needs, with their place in the level.
    #[pyo3(signature = (array, row, column, *, axes, stream=None))]
    fn write(
        &self,
        array: &Bound<'_, PyAny>,
        row: u32,
        column: u32,
        axes: &str,
        stream: Option<u64>,
    ) -> PyResult<()> {
        let py = array.py();
        self.open.attempt(py, |(writer, cancel)| {
            let given = Given::new(array, (row, column), axes, None, stream, self.location)?;
            let piece = given.piece();
            call::run(py, cancel, None, || writer.write(&piece))
        })
    }

    /// Completes the part. Returns `index`, `records` (None if they are in a file), `beyond` (its samples and its shape, axes
    /// as in the file; None if there is nothing to hand on) and the number of `blocks`.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (writer, cancel) = self.open.take(py, "finished")?;
        let part = call::run(py, &cancel, None, || writer.finish())?;
        let EncodedPart { index, records, beyond, blocks } = part;
        let beyond = beyond.map(|Beyond { spec, pixels, .. }| {
            // One band lies either way.
            let last = spec.strides.band <= spec.strides.column;
            let (bands, rows, columns) = (spec.bands, spec.rows, spec.columns);
            let shape = if last { (rows, columns, bands) } else { (bands, rows, columns) };
            (PyBytes::new(py, &pixels), shape, if last { "yxb" } else { "byx" })
        });
        let (index, records) = (PyBytes::new(py, &index), records.map(|records| PyBytes::new(py, &records)));
        Ok(dict!(py; "index" => index, "records" => records, "beyond" => beyond, "blocks" => blocks))
    }

    /// Aborts the part, and removes its records.
    fn abort(&self, py: Python<'_>) {
        self.open.abort(py);
    }
}

/// A file that is joined from parts.
#[pyclass(frozen, module = "strile._core")]
pub(crate) struct Assembly {
    parts: Arc<strile::write::Parts>,
    open: Held<(strile::write::Assembly, Cancel)>,
}

#[pymethods]
impl Assembly {
    /// Takes a part: its index, and its records or the path of the file that has them.
    fn add(
        &self,
        tier: u32,
        row: u32,
        column: u32,
        index: &Bound<'_, PyBytes>,
        records: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let py = index.py();
        let records = match records.cast::<PyBytes>() {
            Ok(bytes) => PartBytes::Memory(Arc::new(PyBackedBytes::from(bytes.clone()))),
            Err(_) => match records.extract::<PathBuf>() {
                Ok(path) => PartBytes::File(path),
                Err(_) => return Err(PyTypeError::new_err("records: expected bytes or a path")),
            },
        };
        let at = PartAddress { tier, row, column };
        self.open.attempt(py, |(assembly, _)| {
            call::guarded(py, || assembly.add(&self.parts, at, index.as_bytes(), records).map_err(exception))
        })
    }

    /// Adds a sidecar, which appears together with the target.
    fn sidecar(&self, py: Python<'_>, suffix: &str, content: Vec<u8>) -> PyResult<()> {
        self.open.attempt(py, |(assembly, _)| call::run_at_once(py, || assembly.sidecar(suffix, content)))
    }

    /// Writes all bytes of the file to a temporary file beside its path.
    fn lay_out<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let report =
            self.open.attempt(py, |(assembly, cancel)| call::run(py, cancel, None, || assembly.lay_out()))?;
        report_dict(py, &report, &report.warnings)
    }

    /// Moves the file to its path.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        let (assembly, cancel) = self.open.take(py, "finished")?;
        call::run(py, &cancel, None, || assembly.commit())
    }

    /// Aborts the file, and removes what was written.
    fn abort(&self, py: Python<'_>) {
        self.open.abort(py);
    }
}

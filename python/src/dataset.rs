//! Provides `Dataset`, an opened TIFF or mosaic. Threads may share it.
//!
//! Closing it lets running reads finish, and refuses later calls.

use crate::arguments::{Value, word};
use crate::batch::SAMPLINGS;
use crate::call;
use crate::dict::{Dicts, dict};
use crate::error::{fallback_warning, refused, strile_error};
use crate::facts;
use crate::mosaic;
use crate::plan::Plan;
use crate::raster::Raster;
use crate::reading::{self, Target};
use crate::remote;
use crate::request::ReadOptions;
use crate::source::RangeSource;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use strile::batch::SizedWindow;
use strile::engine::ProcessId;
use strile::file::BLOCK_TABLES;
use strile::io::{RemoteOptions, Source, is_remote};
use strile::read::{Area, Masking, Place};
use strile::vrt::{Missing, VrtOptions, VrtSource};
use strile::{Cancel, DataType, Input, OpenOptions};

/// An open file or mosaic.
#[pyclass(frozen, module = "strile._core")]
pub(crate) struct Dataset {
    name: String,
    version: (u64, String),
    /// Whether bytes are read from files of this machine, not by Python.
    local: bool,
    /// The process that opened it.
    process: ProcessId,
    input: RwLock<Option<Arc<Input>>>,
    facts: PyOnceLock<Py<PyDict>>,
    /// Values that Python has derived from the file, by its own names.
    memo: PyOnceLock<Py<PyDict>>,
}

impl Dataset {
    fn of(input: Input, version: (u64, String), local: bool) -> Self {
        let name = input.name().to_owned();
        let (input, process) = (RwLock::new(Some(Arc::new(input))), ProcessId::current());
        Self { name, version, local, process, input, facts: PyOnceLock::new(), memo: PyOnceLock::new() }
    }

    fn of_file(dataset: strile::Dataset, local: bool) -> Self {
        let version = dataset.version().map(|version| (version.len, version.mark)).unwrap_or_default();
        Self::of(Input::Tiff(Box::new(dataset)), version, local)
    }

    /// Does work that takes only the time of the source: in place if that is local.
    pub(crate) fn quickly<T: Send>(
        &self,
        py: Python<'_>,
        cancel: &Cancel,
        work: impl FnOnce() -> strile::Result<T> + Send,
    ) -> PyResult<T> {
        match self.local {
            true => call::run_at_once(py, work),
            false => call::run(py, cancel, None, work),
        }
    }

    pub(crate) fn input(&self, py: Python<'_>) -> PyResult<Arc<Input>> {
        let input = self.input.read().unwrap_or_else(PoisonError::into_inner);
        if self.process != ProcessId::current() && input.as_ref().is_some_and(|input| input.tiff().is_none())
        {
            // It keeps sources open under a lock, which a thread of the parent may have held.
            let sentence =
                format!("{}: the mosaic was opened before a fork; open it in this process", self.name);
            return Err(strile_error(py, "ForkedError", sentence));
        }
        input.clone().ok_or_else(|| {
            strile_error(py, "ClosedError", format!("{}: the dataset was closed; open it again", self.name))
        })
    }
}

#[pymethods]
impl Dataset {
    /// Opens a TIFF and its sidecars.
    #[staticmethod]
    #[pyo3(signature = (path, *, sidecars=true, max_blocks=None))]
    fn open(py: Python<'_>, path: PathBuf, sidecars: bool, max_blocks: Option<u64>) -> PyResult<Self> {
        // Callers that open URLs use `open_remote`; a URL that comes here meets the guard, too.
        let guarded = RemoteOptions::new().deny_private_hosts(true);
        let mut options = OpenOptions::new().sidecars(sidecars).remote(guarded);
        options.limits.blocks = max_blocks.unwrap_or(options.limits.blocks);
        let dataset = call::run_at_once(py, || strile::Dataset::open_with(&path, &options))?;
        Ok(Self::of_file(dataset, true))
    }

    /// Opens a mosaic; none of its sources is opened yet. They may lie in its folder, in `allowed_roots`, on `allowed_hosts`, or
    /// anywhere with `allow_outside`.
    #[staticmethod]
    /// `dtype` is what bands are given in, where it is not the one type that all of them state; `empty_holes` leaves NaN
    /// or 0 where a source is missing, else there is nodata.
    #[pyo3(signature = (path, *, missing="raise", allow_outside=false, allowed_roots=Vec::new(), allowed_hosts=Vec::new(),
                        max_bytes=None, max_work=None, dtype=None, empty_holes=false, sidecars="auto", remote=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn open_vrt(
        py: Python<'_>,
        path: PathBuf,
        missing: &str,
        allow_outside: bool,
        allowed_roots: Vec<PathBuf>,
        allowed_hosts: Vec<String>,
        max_bytes: Option<u64>,
        max_work: Option<u64>,
        dtype: Option<&str>,
        empty_holes: bool,
        sidecars: &str,
        remote: Option<&Bound<'_, remote::Remote>>,
    ) -> PyResult<Self> {
        let missing = match missing {
            "raise" => Missing::Raise,
            "warn" => Missing::Warn,
            other => return Err(refused(format!("missing `{other}`: expected `raise` or `warn`"))),
        };
        let data_type = dtype.map(data_type).transpose()?;
        let is_local = !path.to_str().is_some_and(is_remote) && allowed_hosts.is_empty();
        let mut options = VrtOptions::new()
            .missing(missing)
            .allow_outside(allow_outside)
            .allowed_roots(allowed_roots)
            .allowed_hosts(allowed_hosts)
            .data_type(data_type)
            .empty_holes(empty_holes)
            .open(remote::open_options(sidecars, remote)?);
        options.max_bytes = max_bytes.unwrap_or(options.max_bytes);
        options.max_work = max_work.unwrap_or(options.max_work);
        let vrt = mosaic::opened(py, &path, &options)?;
        let version = vrt.version().map(|version| (version.len, version.mark.clone()));
        Ok(Self::of(Input::Vrt(Box::new(vrt)), version.unwrap_or_default(), is_local))
    }

    /// Opens a TIFF of `size` bytes that a Python object reads; `overviews` is in place of a `.ovr`.
    #[staticmethod]
    #[pyo3(signature = (reader, name, size, *, overviews=None, aux_xml=None))]
    fn open_ranges(
        py: Python<'_>,
        reader: &Bound<'_, PyAny>,
        name: String,
        size: u64,
        overviews: Option<(Bound<'_, PyAny>, String, u64)>,
        aux_xml: Option<String>,
    ) -> PyResult<Self> {
        let source = RangeSource::new(reader, name, size)?;
        let overviews =
            overviews.map(|(reader, name, size)| RangeSource::new(&reader, name, size)).transpose()?;
        let overviews = overviews.map(|source| source as Arc<dyn Source>);
        let open = || strile::Dataset::from_sources(source, overviews, aux_xml, &OpenOptions::default());
        Ok(Self::of_file(call::run(py, &Cancel::default(), None, open)?, false))
    }

    /// Opens the TIFF of a URL; `sidecars` says whether files beside it are asked for, `overviews` whether those of a `.ovr` are
    /// needed, `remote` how it is reached.
    #[staticmethod]
    #[pyo3(signature = (url, *, sidecars="auto", overviews=true, remote=None))]
    fn open_remote(
        py: Python<'_>,
        url: String,
        sidecars: &str,
        overviews: bool,
        remote: Option<&Bound<'_, remote::Remote>>,
    ) -> PyResult<Self> {
        let cancel = Cancel::default();
        let options = remote::open_options(sidecars, remote)?.overviews(overviews).cancel(cancel.clone());
        let open = || strile::Dataset::open_with(&url, &options);
        Ok(Self::of_file(call::run(py, &cancel, None, open)?, false))
    }

    /// Returns the path, or the name it was opened with, for messages.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Returns size and mark, which differ between two states of one file (`same_version`).
    #[getter]
    fn version(&self) -> (u64, String) {
        self.version.clone()
    }

    /// Returns all metadata, without reading pixels.
    #[getter]
    fn facts(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let input = self.input(py)?;
        let facts = self
            .facts
            .get_or_try_init(py, || call::guarded(py, || facts::facts(py, &input)).map(Bound::unbind))?;
        Ok(facts.clone_ref(py))
    }

    /// Returns a dict in which Python keeps values that do not change while the file is open.
    #[getter]
    fn memo(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        self.input(py)?;
        Ok(self.memo.get_or_init(py, || PyDict::new(py).unbind()).clone_ref(py))
    }

    /// Returns the kind of mask that applies to bands of a level; see `_core.pyi`.
    #[pyo3(signature = (level=0, bands=None))]
    fn masking(
        &self,
        py: Python<'_>,
        level: usize,
        bands: Option<Vec<u16>>,
    ) -> PyResult<Option<&'static str>> {
        let (input, mut place) = (self.input(py)?, Place::new().level(level));
        place.bands = bands;
        Ok(match call::detached(py, || input.masking(&place))? {
            Masking::Nothing => None,
            Masking::Values => Some("values"),
            Masking::Other => Some("other"),
        })
    }

    /// Returns Red, green, blue and alpha of each value of a band (from 1), empty without a colour table.
    fn colour_table(&self, py: Python<'_>, band: u16) -> PyResult<Vec<(u16, u16, u16, u16)>> {
        let input = self.input(py)?;
        let table = call::run_at_once(py, || input.colour_table(band))?;
        Ok(table.into_iter().map(|[red, green, blue, alpha]| (red, green, blue, alpha)).collect())
    }

    /// Returns (tag, type, count, value) of every field of a level as stored; without `tables` those of blocks, which can have
    /// millions of entries, have None for a value.
    #[pyo3(signature = (page=0, level=0, *, tables=true))]
    fn tags<'py>(
        &self,
        py: Python<'py>,
        page: usize,
        level: usize,
        tables: bool,
    ) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let input = self.input(py)?;
        let Input::Tiff(dataset) = input.as_ref() else {
            return Err(refused(format!("{}: a VRT has no tags", self.name)));
        };
        let wanted = |tag| tables || !BLOCK_TABLES.contains(&tag);
        let fields = self.quickly(py, &Cancel::default(), || dataset.fields(page, level, wanted))?;
        fields.iter().map(|field| facts::field(py, field)).collect()
    }

    /// Reads pixels of a level; see `_core.pyi`.
    #[pyo3(signature = (options=None, *, out=None, stream=None, progress=None))]
    fn read<'py>(
        &self,
        py: Python<'py>,
        options: Option<&ReadOptions>,
        out: Option<&Bound<'py, PyAny>>,
        stream: Option<u64>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let target = Target { out, stream, progress };
        let usual = ReadOptions::default();
        reading::run(py, (&self.name, self.local), &[self.input(py)?], options.unwrap_or(&usual), target)
    }

    /// Refuses a result of this many samples and bytes, by the limits of every read. For results made in Python.
    #[pyo3(signature = (samples, bytes, *, max_pixels=None))]
    fn check_size(&self, py: Python<'_>, samples: u64, bytes: u64, max_pixels: Option<u64>) -> PyResult<()> {
        let input = self.input(py)?;
        call::run_at_once(py, || input.check_size(samples, bytes, max_pixels))
    }

    /// Reads masks of bands, (band, y, x): 255 for valid samples, 0 for missing ones. `with_pixels`: a pair of the stored samples and
    /// their masks.
    #[pyo3(signature = (options=None, *, with_pixels=false, progress=None))]
    fn read_masks<'py>(
        &self,
        py: Python<'py>,
        options: Option<&ReadOptions>,
        with_pixels: bool,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (input, usual) = (self.input(py)?, ReadOptions::default());
        match reading::masks(py, &input, options.unwrap_or(&usual), with_pixels, progress)? {
            (None, masks) => Ok(Bound::new(py, masks)?.into_any()),
            (Some(pixels), masks) => Ok((pixels, masks).into_pyobject(py)?.into_any()),
        }
    }

    /// Reads one mask of all bands, that of rasterio's `dataset_mask`; see `_core.pyi`.
    fn read_mask_of_all(&self, py: Python<'_>, options: &ReadOptions) -> PyResult<Raster> {
        let (input, context, (_, options)) = (self.input(py)?, options.context()?, options.resolved(None)?);
        call::run(py, &context.cancel, None, || Raster::new(input.read_mask_of_all(&options, &context)?))
    }

    /// Reads a window in another size, or beyond the file; see `_core.pyi`.
    #[pyo3(signature = (options, size, *, window=None, resampling="nearest", fill=None, sufficient=false, masks=false))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn read_sized(
        &self,
        py: Python<'_>,
        options: &ReadOptions,
        size: (u32, u32),
        window: Option<(i64, i64, u32, u32)>,
        resampling: &str,
        fill: Option<Value>,
        sufficient: bool,
        masks: bool,
    ) -> PyResult<(Raster, Option<Raster>)> {
        let mut sized = SizedWindow::new(size);
        sized.area = window.map(|(column, row, width, height)| Area::Pixels { column, row, width, height });
        (sized.sampling, sized.fill) =
            (word("resampling", resampling, &SAMPLINGS)?, fill.map(|value| value.0));
        (sized.sufficient, sized.masks) = (sufficient, masks);
        let (input, context, (to, options)) = (self.input(py)?, options.context()?, options.resolved(None)?);
        call::run(py, &context.cancel, None, || {
            let (pixels, masks) = input.read_sized(to, &options, &sized, &context)?;
            Ok((Raster::new(pixels)?, masks.map(Raster::new).transpose()?))
        })
    }

    /// Plans `read` with these options, without reading pixels.
    #[pyo3(signature = (options=None))]
    fn plan(&self, py: Python<'_>, options: Option<&ReadOptions>) -> PyResult<Plan> {
        reading::plan(py, self.local, &[self.input(py)?], options.unwrap_or(&ReadOptions::default()))
    }

    /// Opens the file of a source of a mosaic, by its `path` in `sources`.
    fn open_source(&self, py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let input = self.input(py)?;
        let Input::Vrt(vrt) = input.as_ref() else {
            return Err(refused(format!("{}: a TIFF has no sources", self.name)));
        };
        let is_local = !path.to_str().is_some_and(is_remote);
        let cancel = Cancel::default();
        let open = || vrt.open_source(&path, &cancel);
        let opened = match is_local {
            true => call::run_at_once(py, open),
            false => call::run(py, &cancel, None, open),
        };
        Ok(Self::of_file(opened?, is_local))
    }

    /// Returns sources of a mosaic that reads have skipped so far, each with the problem.
    fn holes(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        match self.input(py)?.as_ref() {
            Input::Tiff(_) => Ok(Vec::new()),
            Input::Vrt(vrt) => Ok(vrt.missing_sources()),
        }
    }

    /// Returns the sources of a mosaic as the VRT states them.
    fn sources<'py>(&self, py: Python<'py>) -> PyResult<Dicts<'py>> {
        let input = self.input(py)?;
        let Input::Vrt(vrt) = input.as_ref() else { return Ok(Vec::new()) };
        let entry = |source: VrtSource| {
            let path = source.path.as_ref().map(|path| path.display().to_string());
            let four = |rect: Option<[f64; 4]>| rect.map(|[x, y, w, h]| (x, y, w, h));
            Ok(dict!(
                py; source { name, problem, band, source_band }, "exists" => path.is_some(), "path" => path,
                "source_rect" => four(source.source_rect), "target_rect" => four(source.target_rect),
            ))
        };
        call::detached(py, || vrt.listed_sources())?.into_iter().map(entry).collect()
    }

    /// Closes the file; later calls are refused.
    fn close(&self, py: Python<'_>) {
        let taken = self.input.write().unwrap_or_else(PoisonError::into_inner).take();
        py.detach(move || drop(taken));
    }

    fn __repr__(&self) -> String {
        format!("<strile._core.Dataset {}>", self.name)
    }
}

pub(crate) fn data_type(name: &str) -> PyResult<DataType> {
    let found = DataType::ALL.into_iter().find(|data_type| data_type.name() == name);
    found.ok_or_else(|| refused(format!("dtype `{name}`: expected a type that pixels can have")))
}

/// Warns of blocks that were filled in the caller's memory, since no raster lists them.
pub(crate) fn warn(py: Python<'_>, name: &str, faults: &[(String, String)]) -> PyResult<()> {
    let Some((place, problem)) = faults.first() else { return Ok(()) };
    let sentence = format!("{name}: {} blocks were filled; {place}: {problem}", faults.len());
    fallback_warning(py, &sentence, 1)
}

/// Returns whether two versions, each a size and a mark, are the same state of one source.
#[pyfunction]
pub(crate) fn same_version(a: (u64, String), b: (u64, String)) -> bool {
    let version = |(len, mark): (u64, String)| strile::io::Version { len, mark };
    version(a).is_same(&version(b))
}

//! `Dataset`: an opened TIFF or mosaic. Threads may share it.
//!
//! Reads that are under way when it is closed come to their end; calls after that are refused.

use crate::call::{self, Count, Watch};
use crate::error::{refused, strile_error};
use crate::facts;
use crate::mosaic;
use crate::plan::Plan;
use crate::raster::Raster;
use crate::remote;
use crate::request::Request;
use crate::source::RangeSource;
use crate::validity::{self, Rule};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyTuple};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use strile::engine::{Output, ProcessId};
use strile::io::{RemoteOptions, Source, is_remote};
use strile::read::{PieceLimits, ReadPlan};
use strile::tiff::Tag;
use strile::vrt::{Missing, VrtOptions};
use strile::{Cancel, Context, DataType, Input, Location, OpenOptions, Processor, ReadOptions, Window};

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
}

/// Tables of where blocks lie and how long they are.
pub(crate) const TABLES: [Tag; 4] =
    [Tag::StripOffsets, Tag::StripByteCounts, Tag::TileOffsets, Tag::TileByteCounts];

/// What a read gave: pixels of its own, or blocks that were filled in the caller's.
enum Result {
    Pixels(Raster),
    Filled(Vec<(String, String)>),
}

impl Dataset {
    fn of(input: Input, version: (u64, String), local: bool) -> Self {
        let name = input.name().to_owned();
        let (input, process) = (RwLock::new(Some(Arc::new(input))), ProcessId::current());
        Self { name, version, local, process, input, facts: PyOnceLock::new() }
    }

    fn of_file(dataset: strile::Dataset, local: bool) -> Self {
        let version = dataset.version().map(|version| (version.len, version.mark)).unwrap_or_default();
        Self::of(Input::Tiff(Box::new(dataset)), version, local)
    }

    /// Does work that takes no time but that of a source.
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
    /// Opens a TIFF, and what lies beside it.
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
        let mut options = VrtOptions {
            missing,
            allow_outside,
            allowed_roots: Some(allowed_roots),
            allowed_hosts,
            data_type,
            empty_holes,
            open: remote::open_options(sidecars, remote)?,
            ..VrtOptions::default()
        };
        options.max_bytes = max_bytes.unwrap_or(options.max_bytes);
        options.max_work = max_work.unwrap_or(options.max_work);
        let vrt = mosaic::opened(py, &path, &options)?;
        let version = vrt.version().map(|version| (version.len, version.mark.clone()));
        Ok(Self::of(Input::Vrt(Box::new(vrt)), version.unwrap_or_default(), is_local))
    }

    /// Opens a TIFF of `size` bytes that a Python object reads; `overviews` is what `.ovr` is beside a file.
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

    /// For messages: the path, or what it was opened as.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Size and mark: they tell two states of one file apart (`same_version`).
    #[getter]
    fn version(&self) -> (u64, String) {
        self.version.clone()
    }

    /// All that is known without reading pixels.
    #[getter]
    fn facts(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let input = self.input(py)?;
        let facts = self
            .facts
            .get_or_try_init(py, || call::guarded(py, || facts::facts(py, &input)).map(Bound::unbind))?;
        Ok(facts.clone_ref(py))
    }

    /// What says which pixels of each band of a level are valid: a nodata value, "layer" for the layer `mask`, or None where
    /// all are.
    #[pyo3(signature = (level=0))]
    fn validity<'py>(&self, py: Python<'py>, level: usize) -> PyResult<Vec<Option<Bound<'py, PyAny>>>> {
        let input = self.input(py)?;
        let rules = call::detached(py, || validity::rules(&input, 0, level))?;
        let shown = |rule| match rule {
            Rule::AllValid => Ok(None),
            Rule::Layer => Ok(Some("layer".into_pyobject(py)?.into_any())),
            Rule::Value(value) => facts::number(py, Some(value)),
        };
        rules.into_iter().map(shown).collect()
    }

    /// Red, green, blue and alpha of each value of a band (from 1), empty without a colour table.
    fn colour_table(&self, py: Python<'_>, band: u16) -> PyResult<Vec<(u16, u16, u16, u16)>> {
        let input = self.input(py)?;
        let table = call::run_at_once(py, || input.colour_table(band))?;
        Ok(table.into_iter().map(|[red, green, blue, alpha]| (red, green, blue, alpha)).collect())
    }

    /// (tag, type, count, value) of every field of a level as stored; without `tables` those of blocks, which can have
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
        let wanted = |tag| tables || !TABLES.contains(&tag);
        let fields = self.quickly(py, &Cancel::default(), || dataset.fields(page, level, wanted))?;
        fields.iter().map(|field| facts::field(py, field)).collect()
    }

    /// Pixels of a level.
    #[pyo3(
        signature = (**request),
        text_signature = "($self, *, page=0, level=0, window=None, bands=None, layer='pixels', interleave='band', \
                          apply_orientation=False, invert_white=False, masked=False, unpack=False, float_type=None, \
                          on_fault='fail', max_pixels=None, max_cloud_bytes=None, cache='auto', device='cpu', decode_on='auto', out=None, stream=None, memory=None, \
                          threads=None, progress=None)"
    )]
    fn read<'py>(
        &self,
        py: Python<'py>,
        request: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let input = self.input(py)?;
        let request = Request::parse(request)?;
        let mut context = request.context()?;
        let output = request.output()?;
        let count = Arc::new(Count::default());
        if request.progress.is_some() {
            context.progress = Some(Arc::clone(&count) as _);
        }
        let watch = request.progress.as_ref().map(|progress| Watch { count: &count, progress });
        let (to, options) = request.resolved(output.as_ref())?;
        let watched = watch.is_some().then_some(count.as_ref());
        let work = || read(&input, &options, (output.as_ref(), to), watched, &context);
        let small = is_small(&input, &options, to);
        let result = match watch.is_none() && self.local && small {
            true => call::run_at_once(py, work),
            false => call::run(py, &context.cancel, watch, work),
        }?;
        match (result, request.out) {
            (Result::Filled(faults), Some(out)) => {
                warn(py, &self.name, &faults)?;
                Ok(out)
            }
            (Result::Filled(_), None) => Err(refused("an output that was not given: a bug in strile")),
            (Result::Pixels(raster), _) => Ok(Bound::new(py, raster)?.into_any()),
        }
    }

    /// Refuses a result of this many samples and bytes, by the limits of every read. For results made in Python.
    #[pyo3(signature = (samples, bytes, *, max_pixels=None))]
    fn check_size(&self, py: Python<'_>, samples: u64, bytes: u64, max_pixels: Option<u64>) -> PyResult<()> {
        let input = self.input(py)?;
        call::run_at_once(py, || input.check_size(samples, bytes, max_pixels))
    }

    /// The plan of `read` with these keywords; touches no pixel.
    #[pyo3(signature = (**request))]
    fn plan<'py>(&self, py: Python<'py>, request: Option<&Bound<'py, PyDict>>) -> PyResult<Plan> {
        let input = self.input(py)?;
        let request = Request::parse(request)?;
        let context = request.context()?;
        let (to, options) = request.resolved(request.output()?.as_ref())?;
        let asks_gpu = to != Location::Host || matches!(options.execution.decode_on, Processor::Cuda(_));
        let work = || Ok(Plan::new(&planned(&input, to, &options, &context)?, asks_gpu));
        // The sources of a mosaic are opened for its plan.
        match input.tiff() {
            Some(_) => self.quickly(py, &context.cancel, work),
            None => call::run(py, &context.cancel, None, work),
        }
    }

    /// Of a mosaic: opens the file of a source, by the `path` that `sources` has for it.
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

    /// Of a mosaic: sources that reads so far went on without, each with the problem.
    fn holes(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        match self.input(py)?.as_ref() {
            Input::Tiff(_) => Ok(Vec::new()),
            Input::Vrt(vrt) => Ok(vrt.missing_sources()),
        }
    }

    /// Of a mosaic: its sources as stated.
    fn sources<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let input = self.input(py)?;
        let list = PyList::empty(py);
        let Input::Vrt(vrt) = input.as_ref() else { return Ok(list) };
        for source in call::detached(py, || vrt.listed_sources())? {
            let dict = PyDict::new(py);
            dict.set_item("name", &source.name)?;
            dict.set_item("path", source.path.as_ref().map(|path| path.display().to_string()))?;
            dict.set_item("problem", &source.problem)?;
            dict.set_item("band", source.band)?;
            dict.set_item("source_band", source.source_band)?;
            dict.set_item("source_rect", source.source_rect.map(|[x, y, w, h]| (x, y, w, h)))?;
            dict.set_item("target_rect", source.target_rect.map(|[x, y, w, h]| (x, y, w, h)))?;
            dict.set_item("exists", source.path.is_some())?;
            list.append(dict)?;
        }
        Ok(list)
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

/// Reads into the caller's memory, or into new memory where it is wanted.
fn read(
    input: &Input,
    options: &ReadOptions,
    (output, to): (Option<&Output>, Location),
    watched: Option<&Count>,
    context: &Context,
) -> strile::Result<Result> {
    if let Input::Tiff(dataset) = input {
        validity::refuse_lost(dataset, &options.place)?;
    }
    if let Some(count) = watched {
        count.expect(blocks(input, options, to, context)?);
    }
    let result = match (output, to) {
        (Some(output), _) => Result::Filled(crate::raster::told(&input.read_into(output, options, context)?)),
        (None, Location::Cuda(index)) => {
            Result::Pixels(Raster::new(input.read_on_device(index, options, context)?)?)
        }
        (None, Location::Host) => Result::Pixels(Raster::new(input.read(options, context)?)?),
    };
    if let Some(count) = watched {
        count.complete();
    }
    Ok(result)
}

/// Bytes that any codec decodes in less time than a user could want to stop it in.
const SMALL: u64 = 4 << 20;

/// Whether a read decodes little, and opens no GPU: that takes long.
fn is_small(input: &Input, options: &ReadOptions, to: Location) -> bool {
    let Input::Tiff(dataset) = input else { return false };
    let device = match (to, options.execution.decode_on) {
        (Location::Cuda(device), _) | (Location::Host, Processor::Cuda(device)) => Some(device),
        (Location::Host, Processor::Auto | Processor::Cpu) => None,
    };
    if device.is_some_and(|device| !strile::device::is_open(device)) {
        return false;
    }
    let found = dataset.pages().get(options.place.page).and_then(|page| page.levels.get(options.place.level));
    let Some(image) = found.map(|level| &level.image) else { return true };
    let (window, grid) =
        (options.place.window.unwrap_or(Window::full(image.width, image.height)), &image.grid);
    // Blocks along an axis, those that are cut included.
    let blocks = |first: u32, count: u32, size: u32| {
        let end = u64::from(first) + u64::from(count);
        end.div_ceil(u64::from(size.max(1))).saturating_sub(u64::from(first / size.max(1)))
    };
    let across = blocks(window.column, window.width, grid.block_width);
    let down = blocks(window.row, window.height, grid.block_height);
    let block = u64::from(grid.block_width) * u64::from(grid.block_height);
    let pixel = u64::from(image.samples) * image.sample.data_type().map_or(16, |t| t.size() as u64);
    let bytes = [down, block, pixel].into_iter().fold(across, u64::saturating_mul);
    bytes <= SMALL
}

/// The plan of a read into new memory.
fn planned(
    input: &Input,
    to: Location,
    options: &ReadOptions,
    context: &Context,
) -> strile::Result<ReadPlan> {
    match to {
        Location::Host => input.plan(options, context),
        Location::Cuda(index) => input.plan_on_device(index, options, context),
    }
}

/// How many blocks will be decoded, or sources laid.
fn blocks(input: &Input, options: &ReadOptions, to: Location, context: &Context) -> strile::Result<u64> {
    match input {
        Input::Tiff(_) => {
            let figures = planned(input, to, options, context)?.figures();
            Ok((figures.blocks + figures.sparse) as u64)
        }
        Input::Vrt(vrt) => Ok(vrt.pieces(options, &PieceLimits::default(), context)?.blocks),
    }
}

/// Blocks that were filled in the caller's memory: there is no raster to tell of them.
pub(crate) fn warn(py: Python<'_>, name: &str, faults: &[(String, String)]) -> PyResult<()> {
    let Some((place, problem)) = faults.first() else { return Ok(()) };
    let class = py.import("strile.errors")?.getattr("GeoTIFFFallbackWarning")?;
    let sentence = format!("{name}: {} blocks were filled; {place}: {problem}", faults.len());
    let sentence = strile::tiff::printable(&sentence);
    py.import("warnings")?.call_method1("warn", (sentence.as_ref(), class))?;
    Ok(())
}

/// Whether two versions, each a size and a mark, are the same state of one source.
#[pyfunction]
pub(crate) fn same_version(a: (u64, String), b: (u64, String)) -> bool {
    let version = |(len, mark): (u64, String)| strile::io::Version { len, mark };
    version(a).is_same(&version(b))
}

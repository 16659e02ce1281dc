//! Provides `read_batch`, and the headers of files that batches share.

use crate::arguments::{Value, shown, word};
use crate::array::View;
use crate::dataset::Dataset;
use crate::dict::dict;
use crate::error::{refused, warning};
use crate::raster::{Raster, window_fault_pairs};
use crate::reading::Result;
use crate::request::{Execution, Meaning, Place};
use crate::{call, device, remote};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::path::PathBuf;
use std::sync::Arc;
use strile::batch::{BatchOutput, BatchWindow, HeaderLimits, Sampling};
use strile::file::{AsInput, InputRef};
use strile::grid::Polygon;
use strile::io::RemoteOptions;
use strile::read::Area;
use strile::{BatchOptions, Context, Input, Location, OpenOptions};

/// Headers of opened files: bounded in number, and read again if a file has changed.
#[pyclass(frozen, module = "strile._core")]
pub(crate) struct Headers {
    kept: strile::batch::Headers,
    limits: HeaderLimits,
    index: Option<PathBuf>,
    sidecars: bool,
}

#[pymethods]
impl Headers {
    #[new]
    #[pyo3(signature = (*, files=None, memory=None, open_files=None, index=None, sidecars=true))]
    fn new(
        py: Python<'_>,
        files: Option<Bound<'_, PyAny>>,
        memory: Option<Bound<'_, PyAny>>,
        open_files: Option<Bound<'_, PyAny>>,
        index: Option<PathBuf>,
        sidecars: bool,
    ) -> PyResult<Self> {
        let usual = HeaderLimits::default();
        let limits = HeaderLimits::new()
            .files(limit("files", files.as_ref(), usual.files)?)
            .bytes(limit("memory", memory.as_ref(), usual.bytes)?)
            .open(limit("open_files", open_files.as_ref(), usual.open)?);
        let kept = strile::batch::Headers::new(limits, guarded().sidecars(sidecars));
        // For a process that works in another folder.
        let index = index.map(std::path::absolute).transpose()?;
        let kept = match &index {
            None => kept,
            Some(path) => call::run_at_once(py, || kept.with_index(path))?,
        };
        Ok(Self { kept, limits, index, sidecars })
    }

    /// Pickles limits and the path of the index: the other process reads headers anew.
    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        let limits = &self.limits;
        let keywords = dict!(
            py; self { index, sidecars }, "files" => limits.files, "memory" => limits.bytes, "open_files" => limits.open,
        );
        Ok((PyTuple::empty(py), keywords))
    }

    /// Returns the place of the index, if there is one.
    #[getter]
    fn index(&self) -> Option<PathBuf> {
        self.index.clone()
    }

    /// Counts files whose headers are kept, the bytes of these, and open files.
    fn held(&self, py: Python<'_>) -> PyResult<(usize, u64, usize)> {
        call::detached(py, || self.kept.held())
    }

    /// Forgets everything.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        call::detached(py, || self.kept.clear())
    }
}

/// Returns a limit of `Headers`, where one is given.
fn limit<T: TryFrom<i128>>(name: &str, given: Option<&Bound<'_, PyAny>>, usual: T) -> PyResult<T> {
    let Some(value) = given else { return Ok(usual) };
    let number = crate::arguments::integer(value).and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| refused(format!("{name} is {}: expected a whole number, 0 or more", shown(value))))
}

/// A file of a batch.
#[derive(FromPyObject)]
pub(crate) enum Given<'py> {
    Opened(Bound<'py, Dataset>),
    Path(PathBuf),
}

/// A file that is to be opened, or is.
enum File {
    Handle(Arc<Input>),
    Path(PathBuf),
}

/// A file that is open.
enum Opened {
    Handle(Arc<Input>),
    Kept(Arc<strile::Dataset>),
}

impl AsInput for Opened {
    fn as_input(&self) -> InputRef<'_> {
        match self {
            Self::Kept(dataset) => dataset.as_input(),
            Self::Handle(input) => input.as_input(),
        }
    }
}

/// A window as Python gives it: file, level and four numbers, which are (column, row, width, height), (west, south, east,
/// north), or (x, y, width, height), by `kind`.
pub(crate) type Numbers<'py> =
    (usize, usize, Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>);

fn area(kind: &str, [a, b, c, d]: [&Bound<'_, PyAny>; 4]) -> PyResult<Area> {
    Ok(match kind {
        "pixels" => Area::Pixels {
            column: a.extract()?,
            row: b.extract()?,
            width: c.extract()?,
            height: d.extract()?,
        },
        "bounds" => Area::Bounds([a.extract()?, b.extract()?, c.extract()?, d.extract()?]),
        "points" => {
            Area::Point { x: a.extract()?, y: b.extract()?, width: c.extract()?, height: d.extract()? }
        }
        other => return Err(refused(format!("windows `{other}`: expected `pixels`, `bounds` or `points`"))),
    })
}

/// A polygon as Python gives it: its text and its reference system, as `crate::onto::polygon` takes them.
type Clipped<'py> = Option<(String, Option<Bound<'py, PyAny>>)>;

/// Returns one polygon for all windows, or one per window.
fn polygons_of(list: &[Clipped<'_>], windows: usize) -> PyResult<Vec<Option<Arc<Polygon>>>> {
    let one = |given: &Clipped<'_>| -> PyResult<Option<Arc<Polygon>>> {
        let Some((text, crs)) = given else { return Ok(None) };
        Ok(Some(Arc::new(crate::onto::polygon(text, crs.as_ref())?)))
    };
    match list {
        [] => Ok(vec![None; windows]),
        [all] => Ok(vec![one(all)?; windows]),
        list if list.len() == windows => list.iter().map(one).collect(),
        list => Err(refused(format!("expected 1 polygon or {windows}, one per window, got {}", list.len()))),
    }
}

fn windows_of(
    kind: &str,
    list: &[Numbers<'_>],
    (page, bands): (usize, Option<&[u16]>),
    polygons: Vec<Option<Arc<Polygon>>>,
) -> PyResult<Vec<BatchWindow>> {
    let mut polygons = polygons.into_iter();
    let window = |(at, (file, level, a, b, c, d)): (usize, &Numbers<'_>)| {
        let area = area(kind, [a, b, c, d]).map_err(|error| {
            refused(format!("window {at}: {}", Python::attach(|py| error.value(py).to_string())))
        })?;
        let bands = bands.map(<[u16]>::to_vec);
        let mut window = BatchWindow::new(*file, area).page(page).level(*level);
        window.bands = bands;
        window.polygon = polygons.next().flatten();
        Ok(window)
    };
    list.iter().enumerate().map(window).collect()
}

/// Methods of resampling a window to a size.
pub(crate) const SAMPLINGS: [(&str, Sampling); 3] =
    [("nearest", Sampling::Nearest), ("bilinear", Sampling::Bilinear), ("average", Sampling::Average)];

/// Reads windows of files into one array; see `_core.pyi`.
#[pyfunction]
#[pyo3(signature = (files, windows, headers, place=None, meaning=None, execution=None, *, kind="pixels", size=None,
                    sufficient=false, resampling="nearest", fill=None, bounds_crs=None, polygons=Vec::new(), device=None,
                    out=None, stream=None, remote=None))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn read_batch<'py>(
    py: Python<'py>,
    files: Vec<Given<'py>>,
    windows: Vec<Numbers<'py>>,
    headers: &Headers,
    place: Option<&Place>,
    meaning: Option<&Meaning>,
    execution: Option<&Execution>,
    kind: &str,
    size: Option<(u32, u32)>,
    sufficient: bool,
    resampling: &str,
    fill: Option<Value>,
    bounds_crs: Option<&Bound<'py, PyAny>>,
    polygons: Vec<Clipped<'py>>,
    device: Option<&str>,
    out: Option<&Bound<'py, PyAny>>,
    stream: Option<u64>,
    remote: Option<&Bound<'py, remote::Remote>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (place, execution) =
        (place.map(|place| place.0.clone()).unwrap_or_default(), execution.cloned().unwrap_or_default());
    let output = out.map(|out| View::writable(out, stream)?.batch_output()).transpose()?;
    let there = output.as_ref().map(|output| output.output().location());
    let to = device::destination(device.map(device::place).transpose()?, there)?;
    let mut options = BatchOptions::new().execution(execution.resolved(to)?);
    options.meaning = meaning.map(|meaning| meaning.0).unwrap_or_default();
    options.onto = place.onto.clone();
    options.sampling = word("resampling", resampling, &SAMPLINGS)?;
    options.fill = fill.map(|value| value.0);
    options.size = size;
    let polygons = polygons_of(&polygons, windows.len())?;
    let mut windows = windows_of(kind, &windows, (place.page, place.bands.as_deref()), polygons)?;
    if let Some(crs) = bounds_crs {
        let crs = Arc::new(crate::grid::system(crs)?);
        windows = windows.into_iter().map(|window| window.bounds_crs(&crs)).collect();
    }
    let mut all = Vec::with_capacity(files.len());
    for file in files {
        all.push(match file {
            Given::Opened(dataset) => File::Handle(dataset.get().input(py)?),
            Given::Path(path) => File::Path(path),
        });
    }
    let (context, remote) = (execution.context()?, remote::options(remote));
    let asked = (&options, output.as_ref(), to, sufficient);
    let work = || read(all, windows, (&headers.kept, &remote), asked, &context);
    let (result, outside) = call::run(py, &context.cancel, None, work)?;
    if let Some(problem) = outside {
        let problem = problem.replace(
            "set `bounds_crs` to their reference system",
            "pass their reference system as bounds_crs=",
        );
        warning(py, &problem, 2)?;
    }
    result.into_python(py, "a batch", out)
}

fn read(
    files: Vec<File>,
    mut windows: Vec<BatchWindow>,
    (headers, remote): (&strile::batch::Headers, &RemoteOptions),
    (options, output, to, sufficient): (&BatchOptions, Option<&BatchOutput>, Location, bool),
    context: &Context,
) -> strile::Result<(Result, Option<String>)> {
    let path = |file: &File| match file {
        File::Handle(_) => None,
        File::Path(path) => Some(path.clone()),
    };
    let paths: Vec<PathBuf> = files.iter().filter_map(path).collect();
    let mut kept = headers.open_all(&paths, remote, &context.cancel)?.into_iter();
    let opened = |file| match file {
        File::Handle(input) => Some(Opened::Handle(input)),
        File::Path(_) => kept.next().map(Opened::Kept),
    };
    let files: Vec<Opened> = files.into_iter().filter_map(opened).collect();
    // Windows of a grid may lie anywhere. What is wrong with a window is an error of the read.
    let outside = match &options.onto {
        None => strile::batch::outside(&files, &windows).ok().flatten(),
        Some(_) => None,
    };
    if let Some(size) = options.size.filter(|_| sufficient) {
        windows = strile::batch::sufficient_levels(&files, &windows, size)?;
    }
    let pixels = match (output, to) {
        (Some(output), _) => {
            let (_, faults) = strile::batch::read_batch_into(output, &files, &windows, options, context)?;
            return Ok((Result::Filled(window_fault_pairs(&faults)), outside));
        }
        (None, Location::Cuda(index)) => {
            strile::batch::read_batch_on_device(index, &files, &windows, options, context)?
        }
        (None, Location::Host) => strile::read_batch(&files, &windows, options, context)?,
    };
    Ok((Result::Pixels(Raster::new(pixels)?), outside))
}

/// Files that were left out, each with the reason.
type Skipped = Vec<(PathBuf, String)>;

/// Writes an index of the headers of files and URLs. Returns the number of files in it, its bytes, and the files left out with the reasons.
#[pyfunction]
#[pyo3(signature = (target, files, *, sidecars=true, remote=None))]
pub(crate) fn write_header_index(
    py: Python<'_>,
    target: PathBuf,
    files: Vec<PathBuf>,
    sidecars: bool,
    remote: Option<&Bound<'_, remote::Remote>>,
) -> PyResult<(usize, u64, Skipped)> {
    let remote = remote::options(remote);
    let context = call::context(None, None)?;
    let options = OpenOptions::new().remote(remote).sidecars(sidecars).cancel(context.cancel.clone());
    let work = || strile::batch::write_header_index(target, &files, &options, &context);
    let report = call::run(py, &context.cancel, None, work)?;
    let entry = |(path, error): (PathBuf, strile::Error)| (path, error.to_string());
    Ok((report.files, report.bytes, report.skipped.into_iter().map(entry).collect()))
}

/// Returns how files are opened: URLs of this machine or of a private network are refused.
fn guarded() -> OpenOptions {
    OpenOptions::new().remote(RemoteOptions::new().deny_private_hosts(true))
}

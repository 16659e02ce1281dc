//! Reads onto a grid, of one file or several: the keywords of the grid, and those of every read.

use crate::call::{self, Count, Watch};
use crate::dataset::Dataset;
use crate::error::refused;
use crate::grid::{Grid, datum_shift, system};
use crate::keys::{Keys, float};
use crate::plan::Plan;
use crate::raster::{Raster, told};
use crate::request::Request;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::sync::Arc;
use strile::grid::{
    PlacedBy, Placing, Polygon, Top, WarpFile, WarpOptions, files_onto, name_of, sampling_named,
};
use strile::grid::{plan_onto, read_onto, read_onto_device, read_onto_into};
use strile::tiff::gdal::NoData;
use strile::{Context, Input, Location, Processor, ReadOptions};

/// Keywords of the grid; the others are those of every read.
const OWN: [&str; 16] = [
    "grid",
    "resampling",
    "tolerance",
    "level",
    "datum_shift",
    "source_crs",
    "nodata",
    "fill",
    "dtype",
    "top",
    "polygon",
    "polygon_crs",
    "order",
    "tps",
    "rpc",
    "rpc_height",
];

/// The files, and a request whose options have the grid.
struct Asked<'py> {
    files: Vec<Arc<Input>>,
    request: Request<'py>,
}

impl<'py> Asked<'py> {
    fn parse(
        py: Python<'py>,
        files: &[Bound<'py, Dataset>],
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Self> {
        let (own, rest) = (PyDict::new(py), PyDict::new(py));
        for (key, value) in keywords.into_iter().flatten() {
            let name: String = key.extract()?;
            if OWN.contains(&name.as_str()) { &own } else { &rest }.set_item(key, value)?;
        }
        let mut request = Request::parse(Some(&rest))?;
        let (grid, warp) = parsed(&own)?;
        request.options = request.options.onto(grid, warp);
        let files = files.iter().map(|file| file.get().input(py)).collect::<PyResult<Vec<_>>>()?;
        if files.is_empty() {
            return Err(refused("expected at least one file to read onto the grid, got none"));
        }
        Ok(Self { files, request })
    }
}

/// The grid and how pixels get there, by the keywords `OWN`.
pub(crate) fn parsed(own: &Bound<'_, PyDict>) -> PyResult<(strile::grid::Grid, WarpOptions)> {
    let mut keys = Keys::new("a read onto a grid", own);
    let grid = keys.typed("grid", "a Grid", |value| Some(value.cast::<Grid>().ok()?.get().0.clone()))?;
    let grid = keys.needed("grid", grid)?;
    let mut warp = WarpOptions::new();
    if let Some(name) = keys.text("resampling")? {
        let found = sampling_named(&name);
        warp.resampling = found.map_err(|problem| refused(format!("resampling: {problem}")))?;
    }
    warp.tolerance = keys.float("tolerance")?.unwrap_or(warp.tolerance);
    warp.level = keys.integer("level", "0 for full resolution, k for the k-th overview, or None")?;
    if let Some(word) = keys.text("datum_shift")? {
        warp.datum_shift = datum_shift(&word)?;
    }
    warp.source_crs = keys.get("source_crs")?.map(|crs| system(&crs)).transpose()?;
    warp.nodata = keys.typed("nodata", "a number", number)?;
    warp.fill = keys.typed("fill", "a number", number)?;
    if let Some(name) = keys.text("dtype")? {
        warp.data_type = Some(crate::dataset::data_type(&name)?);
    }
    let top = keys.word("top", &["first", "last"], |word| match word {
        "first" => Some(Top::First),
        "last" => Some(Top::Last),
        _ => None,
    })?;
    warp.top = top.unwrap_or_default();
    let text = keys.text("polygon")?;
    let crs = keys.get("polygon_crs")?;
    warp.polygon = text.map(|text| polygon(&text, crs.as_ref())).transpose()?.map(Arc::new);
    let order = keys.integer("order", "the order of a polynomial, 1 to 3")?;
    let ways = (keys.flag("tps")?.unwrap_or(false), keys.flag("rpc")?.unwrap_or(false));
    warp.placing = placing(order, ways, keys.float("rpc_height")?)?;
    keys.finish()?;
    Ok((grid, warp))
}

/// What of the georeferencing of files counts, in the words of `strile warp`: `order`, `tps`, `rpc` and the height of RPCs.
pub(crate) fn placing(
    order: Option<i64>,
    (tps, rpc): (bool, bool),
    height: Option<f64>,
) -> PyResult<Placing> {
    let by = match (order, tps, rpc) {
        (None, false, false) => PlacedBy::Any,
        (None, true, false) => PlacedBy::ThinPlate,
        (None, false, true) => PlacedBy::Rational,
        (Some(order), false, false) => match u8::try_from(order) {
            Ok(order @ 1..=3) => PlacedBy::Polynomial(order),
            _ => return Err(refused(format!("order is {order}: expected 1, 2 or 3"))),
        },
        _ => return Err(refused("order, tps and rpc place a file in different ways: pass one of them")),
    };
    match height {
        Some(height) if !height.is_finite() => {
            Err(refused(format!("rpc_height is {height}: expected metres above the ellipsoid")))
        }
        height => Ok(Placing::by(by).rpc_height(height.unwrap_or(0.0))),
    }
}

/// A polygon of a text. Its system is that of the text without `crs`, that of the result if `crs` is an empty text.
pub(crate) fn polygon(text: &str, crs: Option<&Bound<'_, PyAny>>) -> PyResult<Polygon> {
    let found = Polygon::from_text(text).map_err(|problem| refused(format!("polygon: {problem}")))?;
    let Some(crs) = crs else { return Ok(found) };
    let is_of_result = crs.extract::<String>().is_ok_and(|text| text.is_empty());
    Ok(found.with_crs(if is_of_result { None } else { Some(system(crs)?) }))
}

/// A number of Python or numpy, exact where it is whole.
fn number(value: &Bound<'_, PyAny>) -> Option<NoData> {
    match crate::keys::integer(value) {
        Some(whole) => Some(NoData::Integer(whole)),
        None => float(value).map(NoData::Float),
    }
}

/// What a read gave: pixels of its own, or blocks that were filled in the caller's.
enum Result {
    Pixels(Raster),
    Filled(Vec<(String, String)>),
}

/// Pixels of files on a grid; see `_core.pyi`.
#[pyfunction]
#[pyo3(name = "read_onto", signature = (files, **keywords))]
pub(crate) fn read<'py>(
    py: Python<'py>,
    files: Vec<Bound<'py, Dataset>>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let Asked { files, request } = Asked::parse(py, &files, keywords)?;
    let mut context = request.context()?;
    let output = request.output()?;
    let count = Arc::new(Count::default());
    if request.progress.is_some() {
        context.progress = Some(Arc::clone(&count) as _);
    }
    let watch = request.progress.as_ref().map(|progress| Watch { count: &count, progress });
    let watched = watch.is_some();
    let (to, options) = request.resolved(output.as_ref())?;
    let work = || {
        if watched {
            count.expect(blocks(&files, &options, to, &context)?);
        }
        let result = match (&output, to) {
            (Some(output), _) => {
                let report = read_onto_into(output, &files, &options, &context)?;
                Result::Filled(told(&report.faults))
            }
            (None, Location::Cuda(index)) => {
                Result::Pixels(Raster::new(read_onto_device(index, &files, &options, &context)?)?)
            }
            (None, Location::Host) => Result::Pixels(Raster::new(read_onto(&files, &options, &context)?)?),
        };
        if watched {
            count.complete();
        }
        Ok(result)
    };
    let result = call::run(py, &context.cancel, watch, work)?;
    for input in &files {
        if let Input::Vrt(vrt) = input.as_ref() {
            warn_of_missing(py, vrt)?;
        }
    }
    match (result, &request.out) {
        (Result::Filled(faults), Some(out)) => {
            crate::dataset::warn(py, "a read onto a grid", &faults)?;
            Ok(out.clone())
        }
        (Result::Filled(_), None) => Err(refused("an output that was not given: a bug in strile")),
        (Result::Pixels(raster), _) => Ok(Bound::new(py, raster)?.into_any()),
    }
}

/// Warns of sources that a mosaic went on without.
fn warn_of_missing(py: Python<'_>, vrt: &strile::Vrt) -> PyResult<()> {
    for warning in vrt.warnings().iter().filter(|warning| warning.code == "missing-source") {
        let class = py.import("strile.errors")?.getattr("GeoTIFFFallbackWarning")?;
        let sentence = format!("{}: {warning}", vrt.name());
        py.import("warnings")?.call_method1("warn", (strile::tiff::printable(&sentence).as_ref(), class))?;
    }
    Ok(())
}

/// The plan of `read_onto` with these keywords; touches no pixel.
#[pyfunction]
#[pyo3(name = "plan_onto", signature = (files, **keywords))]
pub(crate) fn plan<'py>(
    py: Python<'py>,
    files: Vec<Bound<'py, Dataset>>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Plan> {
    let Asked { files, request } = Asked::parse(py, &files, keywords)?;
    let context = request.context()?;
    let (to, options) = request.resolved(request.output()?.as_ref())?;
    let asks_gpu = to != Location::Host || matches!(options.execution.decode_on, Processor::Cuda(_));
    let work = || Ok(Plan::new(&plan_onto(to, &files, &options, &context)?, asks_gpu));
    call::run(py, &context.cancel, None, work)
}

/// How each file is put onto the grid: its level, and the operation between the datums. Reads nothing.
#[pyfunction]
#[pyo3(name = "files_onto", signature = (files, **keywords))]
pub(crate) fn files<'py>(
    py: Python<'py>,
    files: Vec<Bound<'py, Dataset>>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyList>> {
    let Asked { files, request } = Asked::parse(py, &files, keywords)?;
    let context = request.context()?;
    let (_, options) = request.resolved(None)?;
    let found = call::run(py, &context.cancel, None, || files_onto(&files, &options, &context))?;
    let all = PyList::empty(py);
    for file in &found {
        all.append(told_of(py, file)?)?;
    }
    Ok(all)
}

fn told_of<'py>(py: Python<'py>, file: &WarpFile) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", &file.name)?;
    dict.set_item("level", file.level)?;
    dict.set_item("ratio", file.ratio)?;
    dict.set_item("operation", file.operation.to_string())?;
    dict.set_item("accuracy", file.operation.accuracy)?;
    let codes: Vec<Option<u32>> = file.operation.steps.iter().map(|step| step.code).collect();
    dict.set_item("codes", codes)?;
    Ok(dict)
}

/// The name of a method of resampling as plans have it.
#[pyfunction]
pub(crate) fn resampling_name(name: &str) -> PyResult<&'static str> {
    sampling_named(name).map(name_of).map_err(|problem| refused(format!("resampling: {problem}")))
}

fn blocks(
    files: &[Arc<Input>],
    options: &ReadOptions,
    to: Location,
    context: &Context,
) -> strile::Result<u64> {
    let figures = plan_onto(to, files, options, context)?.figures();
    Ok((figures.blocks + figures.sparse) as u64)
}

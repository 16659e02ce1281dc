//! What the command `convert` does, for Python.

use crate::call::{self, Count, Watch};
use crate::commands::told;
use crate::dataset::Dataset;
use crate::error::refused;
use crate::keys::{Keys, Keywords, elements, float, integer, optional, text};
use crate::remote;
use crate::write_options::{resampling_named, resamplings};
use crate::{crs, device, request, sink};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use strile::convert::{
    Conversion, ConvertArea, ConvertSize, ManyItem, ManyOptions, ManyOutcome, ManyProgress, Side,
    data_type_named, rescales,
};
use strile::tiff::gdal::NoData;
use strile::tiff::geo::GeoTransform;
use strile::write::Format;
use strile::{Context, Window};

/// Writes (part of) an opened file as another; see `_core.pyi`.
#[pyfunction]
#[pyo3(signature = (source, target, options, *, overwrite=false, remote=None, progress=None, memory=None, threads=None))]
#[expect(clippy::too_many_arguments, reason = "the keywords of a Python function")]
pub(crate) fn convert<'py>(
    py: Python<'py>,
    source: &Bound<'py, Dataset>,
    target: PathBuf,
    options: &ConvertOptions,
    overwrite: bool,
    remote: Option<Bound<'py, remote::Remote>>,
    progress: Option<Bound<'py, PyAny>>,
    memory: Option<u64>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let remote = remote::target_options(remote.as_ref());
    let input = source.get().input(py)?;
    let ConvertOptions { options, notes } = options;
    let count = Arc::new(Count::default());
    let mut context = call::context(memory, threads)?;
    if let (Some(asked), None) = (notes.threads, threads) {
        context.threads = asked;
    }
    let context = Context { progress: Some(Arc::clone(&count) as _), ..context };
    let watch = progress.as_ref().map(|progress| Watch { count: &count, progress });
    let report = call::run(py, &context.cancel, watch, || {
        let sink = sink::at(&target, overwrite, &remote, &context.cancel)?;
        let conversion = Conversion::plan(&input, sink, options, &context)?;
        count.expect(conversion.blocks());
        let report = conversion.run(&context)?;
        count.complete();
        Ok(report)
    })?;
    let mut warnings = notes.warnings.clone();
    warnings.extend(report.warnings.iter().cloned());
    told(py, &report, &warnings)
}

/// Converts files into a folder; see `_core.pyi`.
#[pyfunction]
#[pyo3(signature = (inputs, folder, options, *, jobs=1, overwrite=false, recursive=false, allow_outside=false, progress=None, memory=None, threads=None))]
#[expect(clippy::too_many_arguments, reason = "the keywords of a Python function")]
pub(crate) fn convert_many<'py>(
    py: Python<'py>,
    inputs: Vec<PathBuf>,
    folder: PathBuf,
    options: &ConvertOptions,
    jobs: usize,
    overwrite: bool,
    recursive: bool,
    allow_outside: bool,
    progress: Option<Bound<'py, PyAny>>,
    memory: Option<u64>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyList>> {
    let ConvertOptions { options, notes } = options;
    let jobs = NonZeroUsize::new(jobs).ok_or_else(|| refused("jobs is 0, expected at least 1"))?;
    let mut many = ManyOptions { overwrite, recursive, jobs, ..ManyOptions::new(folder) };
    many.open.allow_outside = allow_outside;
    let count = Arc::new(Count::default());
    let mut context = call::context(memory, threads)?;
    if let (Some(asked), None) = (notes.threads, threads) {
        context.threads = asked;
    }
    let context = Context { progress: Some(Arc::clone(&count) as _), ..context };
    let watch = progress.as_ref().map(|progress| Watch { count: &count, progress });
    let (items, outcomes) = call::run(py, &context.cancel, watch, || {
        let items = strile::convert::plan_many(&inputs, &many)?;
        let outcomes = strile::convert::convert_many(&items, options, &many, &context, &Told(&count))?;
        count.complete();
        Ok((items, outcomes))
    })?;
    let list = PyList::empty(py);
    for (item, outcome) in items.iter().zip(outcomes) {
        let dict = PyDict::new(py);
        dict.set_item("input", &item.input)?;
        dict.set_item("output", &item.output)?;
        let (state, error, warnings) = match outcome {
            ManyOutcome::Written(report) => {
                let faults = report.faults.iter().map(|fault| format!("filled: {fault}"));
                ("written", None, report.warnings.iter().cloned().chain(faults).collect())
            }
            ManyOutcome::Skipped => ("skipped", None, Vec::new()),
            ManyOutcome::Failed(error) => ("failed", Some(error.to_string()), Vec::new()),
        };
        dict.set_item("state", state)?;
        dict.set_item("error", error)?;
        dict.set_item("warnings", warnings)?;
        list.append(dict)?;
    }
    Ok(list)
}

/// Adds what will be written to a count.
struct Told<'a>(&'a Count);

impl ManyProgress for Told<'_> {
    fn expect(&self, blocks: u64) {
        self.0.expect_more(blocks);
    }

    fn done(&self, _item: &ManyItem, _outcome: &ManyOutcome) {}
}

/// How a file is converted.
#[pyclass(frozen, module = "strile._core")]
pub(crate) struct ConvertOptions {
    options: strile::ConvertOptions,
    notes: strile::write::CreationNotes,
}

#[pymethods]
impl ConvertOptions {
    #[new]
    #[pyo3(signature = (**keywords))]
    fn new(py: Python<'_>, keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let keywords = Keywords::of(py, keywords)?;
        let (options, notes) = call::guarded(py, || convert_options(keywords.dict(py)))?;
        Ok(Self { options, notes })
    }
}

fn convert_options(
    dict: &Bound<'_, PyDict>,
) -> PyResult<(strile::ConvertOptions, strile::write::CreationNotes)> {
    let mut keys = Keys::new("convert", dict);
    let mut options = strile::ConvertOptions::default();
    let format = keys.word("format", &["gtiff", "cog"], |word| match word {
        "gtiff" => Some(Format::GeoTiff),
        "cog" => Some(Format::Cog),
        _ => None,
    })?;
    if let Some(profile) = keys.text("profile")? {
        options.set_profile(&profile).map_err(refused)?;
    }
    if let Some(format) = format {
        options.write.format = format;
    }
    let creation = keys.list("creation_options", "a list of (name, value)", |value| {
        let pair = elements(value)?;
        let [name, value] = pair.as_slice() else { return None };
        Some((text(name)?, text(value)?))
    })?;
    let notes = options.set_creation_options(&creation.unwrap_or_default()).map_err(refused)?;
    options.read.place.page = keys.integer("page", "the number of a page, from 0")?.unwrap_or(0);
    let level: Option<usize> = keys.integer("level", "0 for the full image, 1 for its first overview")?;
    options.read.place.level = level.unwrap_or(0);
    options.read.place.window = keys
        .typed("window", "(column, row, width, height)", |value| {
            value.extract::<(u32, u32, u32, u32)>().ok()
        })?
        .map(|(x, y, width, height)| Window::new(x, y, width, height));
    options.read.place.bands =
        keys.typed("bands", "numbers of bands, from 1", |value| value.extract().ok())?;
    options.read.execution.max_pixels = keys.integer("max_pixels", "a number of samples")?;
    options.read.execution.max_block_bytes = request::max_block_bytes()?;
    options.crs = keys.get("crs")?.map(|definition| crs::parse(&definition)).transpose()?;
    options.transform = keys
        .typed("transform", "six numbers (a, b, c, d, e, f)", |value| {
            let values: Vec<f64> = elements(value)?.iter().map(float).collect::<Option<_>>()?;
            values.try_into().ok()
        })?
        .map(GeoTransform::from_coefficients);
    options.nodata = keys.typed("nodata", "a number, or 'none'", |value| match text(value).as_deref() {
        Some("none") => Some(None),
        Some(_) => None,
        None => {
            let whole = integer(value).map(NoData::Integer);
            whole.or_else(|| float(value).map(NoData::Float)).map(Some)
        }
    })?;
    if let Some(name) = keys.text("decode_on")? {
        options.read.execution.decode_on = device::processor("decode_on", &name)?;
    }
    if let Some(name) = keys.text("encode_on")? {
        options.write.encode_on = device::processor("encode_on", &name)?;
    }
    options.write.resampling =
        keys.word("overview_resampling", &resamplings(), resampling_named)?.or(options.write.resampling);
    options.write.reproducible = keys.flag("reproducible")?.unwrap_or(false);
    options.reencode = keys.flag("reencode")?.unwrap_or(false);
    changes(&mut keys, &mut options)?;
    keys.finish()?;
    Ok((options, notes))
}

/// What happens to pixels and what is said of them differently, by the names of gdal_translate.
fn changes(keys: &mut Keys<'_, '_>, options: &mut strile::ConvertOptions) -> PyResult<()> {
    let four = |value: &Bound<'_, PyAny>| <[f64; 4]>::try_from(numbers(value)?).ok();
    let srcwin = keys.typed("srcwin", "four numbers (column, row, width, height)", four)?;
    let projwin = keys.typed("projwin", "four numbers (ulx, uly, lrx, lry)", four)?;
    let bbox = keys.typed("bbox", "four numbers (west, south, east, north)", four)?;
    let areas =
        [srcwin.map(ConvertArea::Pixels), projwin.map(ConvertArea::Corners), bbox.map(ConvertArea::Bounds)];
    if areas.iter().flatten().count() > 1 {
        return Err(refused(
            "`srcwin`, `projwin` and `bbox` cannot be combined: each says which part to write",
        ));
    }
    options.area = areas.into_iter().flatten().next();
    let crs = keys.get("polygon_crs")?;
    if let Some(polygon) = keys.text("polygon")? {
        options.polygon = Some(Arc::new(crate::onto::polygon(&polygon, crs.as_ref())?));
    }
    options.crop_to_polygon = keys.flag("crop_to_polygon")?.unwrap_or(false);
    options.whole_area = keys.flag("epo")?.unwrap_or(false);
    let sides = keys.list("outsize", "a width and a height: pixels, '50%', or 0", |value| {
        text(value).or_else(|| integer(value).map(|pixels| pixels.to_string()))
    })?;
    let tr = keys.typed("tr", "two numbers (width, height of a pixel)", |value| {
        <[f64; 2]>::try_from(numbers(value)?).ok()
    })?;
    options.size = match (sides.as_deref(), tr) {
        (Some(_), Some(_)) => {
            return Err(refused("`outsize` and `tr` cannot be combined: both set the size"));
        }
        (Some([columns, rows]), None) => {
            let side = |text: &String| text.parse::<Side>().map_err(refused);
            Some(ConvertSize::Sides(side(columns)?, side(rows)?))
        }
        (Some(_), None) => return Err(refused("`outsize` expects a width and a height")),
        (None, Some([across, down])) => Some(ConvertSize::Resolution(across, down)),
        (None, None) => None,
    };
    if let Some(name) = keys.text("resampling")? {
        options.resampling = name.parse().map_err(refused)?;
    }
    let level = keys.typed("ovr", "'auto', 'none', or an overview from 0", |value| {
        text(value).or_else(|| integer(value).map(|level| level.to_string()))
    })?;
    if let Some(level) = level {
        options.source_level = level.parse().map_err(refused)?;
    }
    options.data_type =
        keys.text("dtype")?.map(|name| data_type_named(&name).map_err(refused)).transpose()?;
    let scales = keys.list("scale", "pairs of a band (or None) and numbers", |value| {
        let pair = elements(value)?;
        let [band, ranges] = pair.as_slice() else { return None };
        Some((optional(band, |band| band.extract().ok())?, numbers(ranges)?))
    })?;
    let exponents = keys.list("exponent", "pairs of a band (or None) and a number", |value| {
        let pair = elements(value)?;
        let [band, power] = pair.as_slice() else { return None };
        Some((optional(band, |band| band.extract().ok())?, float(power)?))
    })?;
    options.rescale =
        rescales(&scales.unwrap_or_default(), &exponents.unwrap_or_default()).map_err(refused)?;
    options.unscale = keys.flag("unscale")?.unwrap_or(false);
    options.expand = keys.text("expand")?.map(|name| name.parse().map_err(refused)).transpose()?;
    let colours = keys.list("colorinterp", "pairs of a band and a name", |value| {
        let pair = elements(value)?;
        let [band, name] = pair.as_slice() else { return None };
        Some((band.extract().ok()?, text(name)?))
    })?;
    options.colours = colours.unwrap_or_default();
    let items = keys.list("metadata", "pairs of a name and a value", |value| {
        let pair = elements(value)?;
        let [name, value] = pair.as_slice() else { return None };
        Some((text(name)?, text(value)?))
    })?;
    options.items = items.unwrap_or_default();
    options.scale = keys.float("a_scale")?;
    options.offset = keys.float("a_offset")?;
    options.corners = keys.typed("a_ullr", "four numbers (ulx, uly, lrx, lry)", four)?;
    Ok(())
}

fn numbers(value: &Bound<'_, PyAny>) -> Option<Vec<f64>> {
    elements(value)?.iter().map(float).collect()
}

//! Provides the command `convert` for Python.

use crate::arguments::{Float, Int, Row, Value, word};
use crate::call::{self, Count, Watch};
use crate::commands::report_dict;
use crate::dataset::Dataset;
use crate::dict::{Dicts, dict};
use crate::error::refused;
use crate::remote;
use crate::write_options::{FORMATS, resampling_named};
use crate::{crs, device, onto, request, sink};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use strile::convert::{
    Conversion, ConvertArea, ConvertSize, ManyItem, ManyOptions, ManyOutcome, ManyProgress, Side,
    data_type_named, rescales,
};
use strile::tiff::gdal::NoData;
use strile::tiff::geo::GeoTransform;
use strile::write::CreationNotes;
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
    let (count, context) = counted(notes, memory, threads)?;
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
    report_dict(py, &report, &warnings)
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
) -> PyResult<Dicts<'py>> {
    let ConvertOptions { options, notes } = options;
    let jobs = NonZeroUsize::new(jobs).ok_or_else(|| refused("jobs is 0, expected at least 1"))?;
    let mut many = ManyOptions::new(folder).overwrite(overwrite).recursive(recursive).jobs(jobs);
    many.open.allow_outside = allow_outside;
    let (count, context) = counted(notes, memory, threads)?;
    let watch = progress.as_ref().map(|progress| Watch { count: &count, progress });
    let (items, outcomes) = call::run(py, &context.cancel, watch, || {
        let items = strile::convert::plan_many(&inputs, &many)?;
        let outcomes = strile::convert::convert_many(&items, options, &many, &context, &Counted(&count))?;
        count.complete();
        Ok((items, outcomes))
    })?;
    let entry = |(item, outcome): (&ManyItem, ManyOutcome)| {
        let (state, error, warnings) = match outcome {
            ManyOutcome::Written(report) => {
                let faults = report.faults.iter().map(|fault| format!("filled: {fault}"));
                ("written", None, report.warnings.iter().cloned().chain(faults).collect())
            }
            ManyOutcome::Skipped => ("skipped", None, Vec::new()),
            ManyOutcome::Failed(error) => ("failed", Some(error.to_string()), Vec::new()),
        };
        Ok(dict!(py; item { input, output }, "state" => state, "error" => error, "warnings" => warnings))
    };
    items.iter().zip(outcomes).map(entry).collect()
}

/// Returns a count of blocks, and what the conversion may take: threads as creation options have them, unless the call says how many.
fn counted(
    notes: &CreationNotes,
    memory: Option<u64>,
    threads: Option<usize>,
) -> PyResult<(Arc<Count>, Context)> {
    let count = Arc::new(Count::default());
    let context = call::context(memory, threads)?;
    let threads = notes.threads.filter(|_| threads.is_none()).unwrap_or(context.threads);
    Ok((Arc::clone(&count), Context { progress: Some(count), threads, ..context }))
}

/// Progress that adds the blocks of a plan to a count.
struct Counted<'a>(&'a Count);

impl ManyProgress for Counted<'_> {
    fn expect(&self, blocks: u64) {
        self.0.expect_more(blocks);
    }

    fn done(&self, _item: &ManyItem, _outcome: &ManyOutcome) {}
}

/// How a file is converted.
#[pyclass(frozen, module = "strile._core")]
pub(crate) struct ConvertOptions {
    options: strile::ConvertOptions,
    notes: CreationNotes,
}

/// Text, or a whole number in its place.
#[derive(FromPyObject)]
enum WordOrNumber {
    Word(String),
    Number(Int<i128>),
}

impl WordOrNumber {
    fn text(self) -> String {
        match self {
            Self::Word(word) => word,
            Self::Number(Int(number)) => number.to_string(),
        }
    }
}

/// A nodata value, or `none` for none.
#[derive(FromPyObject)]
enum GivenNoData {
    Number(Value),
    Word(String),
}

#[pymethods]
impl ConvertOptions {
    #[new]
    #[pyo3(signature = (*, format=None, profile=None, creation_options=Vec::new(), page=0, level=0, window=None, bands=None,
                        max_pixels=None, crs=None, transform=None, nodata=None, decode_on="auto", encode_on="auto",
                        overview_resampling=None, reproducible=false, reencode=false, srcwin=None, projwin=None, bbox=None,
                        polygon=None, polygon_crs=None, crop_to_polygon=false, epo=false, outsize=None, tr=None,
                        resampling=None, ovr=None, dtype=None, scale=Vec::new(), exponent=Vec::new(), unscale=false,
                        expand=None, colorinterp=Vec::new(), metadata=Vec::new(), a_scale=None, a_offset=None, a_ullr=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn new(
        format: Option<&str>,
        profile: Option<&str>,
        creation_options: Vec<(String, String)>,
        page: usize,
        level: usize,
        window: Option<(u32, u32, u32, u32)>,
        bands: Option<Vec<u16>>,
        max_pixels: Option<u64>,
        crs: Option<&Bound<'_, PyAny>>,
        transform: Option<Row<Float, 6>>,
        nodata: Option<GivenNoData>,
        decode_on: &str,
        encode_on: &str,
        overview_resampling: Option<&str>,
        reproducible: bool,
        reencode: bool,
        srcwin: Option<Row<Float, 4>>,
        projwin: Option<Row<Float, 4>>,
        bbox: Option<Row<Float, 4>>,
        polygon: Option<&str>,
        polygon_crs: Option<&Bound<'_, PyAny>>,
        crop_to_polygon: bool,
        epo: bool,
        outsize: Option<Row<WordOrNumber, 2>>,
        tr: Option<Row<Float, 2>>,
        resampling: Option<&str>,
        ovr: Option<WordOrNumber>,
        dtype: Option<&str>,
        scale: Vec<(Option<u16>, Vec<f64>)>,
        exponent: Vec<(Option<u16>, f64)>,
        unscale: bool,
        expand: Option<&str>,
        colorinterp: Vec<(u16, String)>,
        metadata: Vec<(String, String)>,
        a_scale: Option<Float>,
        a_offset: Option<Float>,
        a_ullr: Option<Row<Float, 4>>,
    ) -> PyResult<Self> {
        let mut options = strile::ConvertOptions::default();
        if let Some(profile) = profile {
            options.set_profile(profile).map_err(refused)?;
        }
        if let Some(format) = format {
            options.write.format = word("format", format, &FORMATS)?;
        }
        let notes = options.set_creation_options(&creation_options).map_err(refused)?;
        let read = &mut options.read;
        (read.place.page, read.place.level, read.place.bands) = (page, level, bands);
        read.place.window = window.map(|(x, y, width, height)| Window::new(x, y, width, height));
        read.execution.max_pixels = max_pixels;
        read.execution.max_block_bytes = request::max_block_bytes()?;
        read.execution.decode_on = device::processor("decode_on", decode_on)?;
        options.write.encode_on = device::processor("encode_on", encode_on)?;
        if let Some(name) = overview_resampling {
            options.write.resampling = Some(resampling_named("overview_resampling", name)?);
        }
        options.write.reproducible = reproducible;
        options.reencode = reencode;
        options.crs = crs.map(crs::parse).transpose()?;
        options.transform = transform.map(|numbers| GeoTransform::from_coefficients(numbers.numbers()));
        options.nodata = nodata.map(nodata_of).transpose()?;
        options.area = area(srcwin, projwin, bbox)?;
        options.polygon = polygon.map(|text| onto::polygon(text, polygon_crs)).transpose()?.map(Arc::new);
        options.crop_to_polygon = crop_to_polygon;
        options.whole_area = epo;
        options.size = match (outsize, tr) {
            (Some(_), Some(_)) => {
                return Err(refused("`outsize` and `tr` cannot be combined: both set the size"));
            }
            (Some(Row([columns, rows])), None) => {
                let side = |side: WordOrNumber| side.text().parse::<Side>().map_err(refused);
                Some(ConvertSize::Sides(side(columns)?, side(rows)?))
            }
            (None, Some(Row([Float(across), Float(down)]))) => Some(ConvertSize::Resolution(across, down)),
            (None, None) => None,
        };
        if let Some(name) = resampling {
            options.resampling = name.parse().map_err(refused)?;
        }
        if let Some(level) = ovr {
            options.source_level = level.text().parse().map_err(refused)?;
        }
        options.data_type = dtype.map(|name| data_type_named(name).map_err(refused)).transpose()?;
        options.rescale = rescales(&scale, &exponent).map_err(refused)?;
        options.unscale = unscale;
        options.expand = expand.map(|name| name.parse().map_err(refused)).transpose()?;
        (options.colours, options.items) = (colorinterp, metadata);
        (options.scale, options.offset) = (a_scale.map(|scale| scale.0), a_offset.map(|offset| offset.0));
        options.corners = a_ullr.map(Row::numbers);
        Ok(Self { options, notes })
    }
}

/// Returns the part that one of three options names.
fn area(
    srcwin: Option<Row<Float, 4>>,
    projwin: Option<Row<Float, 4>>,
    bbox: Option<Row<Float, 4>>,
) -> PyResult<Option<ConvertArea>> {
    let pixels = srcwin.map(|numbers| ConvertArea::Pixels(numbers.numbers()));
    let corners = projwin.map(|numbers| ConvertArea::Corners(numbers.numbers()));
    let bounds = bbox.map(|numbers| ConvertArea::Bounds(numbers.numbers()));
    match [pixels, corners, bounds].into_iter().flatten().collect::<Vec<_>>().as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(*one)),
        _ => Err(refused("`srcwin`, `projwin` and `bbox` cannot be combined: each says which part to write")),
    }
}

fn nodata_of(given: GivenNoData) -> PyResult<Option<NoData>> {
    match given {
        GivenNoData::Number(Value(value)) => Ok(Some(value)),
        GivenNoData::Word(word) if word == "none" => Ok(None),
        GivenNoData::Word(word) => Err(refused(format!("nodata is {word:?}: expected a number, or 'none'"))),
    }
}

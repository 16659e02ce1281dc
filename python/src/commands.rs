//! What the commands `overview`, `cog validate` and `compare` do, for Python.

use crate::call;
use crate::dataset::Dataset;
use crate::device;
use crate::given::word;
use crate::write_options::resampling_named;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::path::PathBuf;
use strile::Compression;
use strile::cog::{CogChecks, Finding};
use strile::compare::CompareOptions;
use strile::overview::{OverviewOptions, OverviewOutcome};
use strile::write::WriteReport;

/// Adds overviews to a file.
#[pyfunction]
#[pyo3(signature = (
    path, *, count=None, levels=None, resampling=None, compression=None, external=false, rebuild=false, max_pixels=None,
    memory=None, threads=None
))]
#[expect(clippy::too_many_arguments, reason = "the keywords of a Python function")]
pub(crate) fn add_overviews<'py>(
    py: Python<'py>,
    path: PathBuf,
    count: Option<u32>,
    levels: Option<Vec<u32>>,
    resampling: Option<&str>,
    compression: Option<&str>,
    external: bool,
    rebuild: bool,
    max_pixels: Option<u64>,
    memory: Option<u64>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let codecs: Vec<_> = Compression::ALL.iter().map(|codec| (codec.name(), *codec)).collect();
    let options = OverviewOptions::new()
        .count(count)
        .factors(levels)
        .resampling(resampling.map(|name| resampling_named("resampling", name)).transpose()?)
        .compression(compression.map(|name| word("compression", name, &codecs)).transpose()?)
        .external(external)
        .rebuild(rebuild)
        .max_pixels(max_pixels);
    let context = call::context(memory, threads)?;
    let outcome =
        call::run(py, &context.cancel, None, || strile::overview::add_overviews(&path, &options, &context))?;
    match outcome {
        OverviewOutcome::Written(report) => told(py, &report, &report.warnings),
        OverviewOutcome::AlreadyThere(_) | OverviewOutcome::NotNeeded => {
            let dict = PyDict::new(py);
            dict.set_item("warnings", PyList::empty(py))?;
            Ok(dict)
        }
    }
}

/// Removes the overviews of a file; returns how many there were.
#[pyfunction]
#[pyo3(signature = (path, *, external=false))]
pub(crate) fn remove_overviews(py: Python<'_>, path: PathBuf, external: bool) -> PyResult<usize> {
    call::run_at_once(py, || strile::overview::remove_overviews(&path, external))
}

/// Whether an opened file is a Cloud-Optimized GeoTIFF.
#[pyfunction]
#[pyo3(signature = (source, *, strict=false))]
pub(crate) fn validate_cog<'py>(
    py: Python<'py>,
    source: &Bound<'py, Dataset>,
    strict: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let input = source.get().input(py)?;
    let context = call::context(None, None)?;
    let report = call::run(py, &context.cancel, None, || {
        let dataset = input.tiff().ok_or_else(|| strile::Error::Unsupported {
            file: input.name().to_owned(),
            reason: "a mosaic is not a Cloud-Optimized GeoTIFF".to_owned(),
        })?;
        dataset.validate_cog(&CogChecks::default(), &context)
    })?;
    let dict = PyDict::new(py);
    dict.set_item("valid", report.is_valid(strict))?;
    for (key, findings) in [("errors", &report.errors), ("warnings", &report.warnings)] {
        let list = PyList::empty(py);
        for finding in findings {
            list.append(of_finding(py, finding)?)?;
        }
        dict.set_item(key, list)?;
    }
    Ok(dict)
}

fn of_finding<'py>(py: Python<'py>, finding: &Finding) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("code", finding.code)?;
    dict.set_item("place", &finding.place)?;
    dict.set_item("message", &finding.message)?;
    dict.set_item("advice", finding.advice)?;
    dict.set_item("count", finding.count)?;
    dict.set_item("found_by", finding.found_by.names().to_vec())?;
    Ok(dict)
}

/// How two opened files differ.
#[pyfunction]
#[pyo3(signature = (a, b, *, tolerance=0.0, structure=false, decode_on="auto", max_pixels=None))]
pub(crate) fn compare<'py>(
    py: Python<'py>,
    a: &Bound<'py, Dataset>,
    b: &Bound<'py, Dataset>,
    tolerance: f64,
    structure: bool,
    decode_on: &str,
    max_pixels: Option<u64>,
) -> PyResult<Bound<'py, PyList>> {
    let (first, second) = (a.get().input(py)?, b.get().input(py)?);
    let decode_on = device::processor("decode_on", decode_on)?;
    let mut options = CompareOptions::new().tolerance(tolerance).structure(structure).decode_on(decode_on);
    options.max_pixels = max_pixels;
    let context = call::context(None, None)?;
    let found = call::run(py, &context.cancel, None, || {
        let mosaic = |name: &str| strile::Error::Unsupported {
            file: name.to_owned(),
            reason: "mosaics are not compared; convert them first".to_owned(),
        };
        let one = first.tiff().ok_or_else(|| mosaic(first.name()))?;
        let other = second.tiff().ok_or_else(|| mosaic(second.name()))?;
        one.compare(other, &options, &context)
    })?;
    let list = PyList::empty(py);
    for difference in &found {
        let dict = PyDict::new(py);
        dict.set_item("category", difference.category)?;
        dict.set_item("place", &difference.place)?;
        dict.set_item("message", &difference.message)?;
        let samples = difference.samples.as_ref().map(|samples| {
            let dict = PyDict::new(py);
            dict.set_item("count", samples.count)?;
            dict.set_item("compared", samples.compared)?;
            dict.set_item("largest", samples.largest)?;
            dict.set_item("band", samples.band)?;
            dict.set_item("row", samples.row)?;
            dict.set_item("column", samples.column)?;
            dict.set_item("a", &samples.a)?;
            dict.set_item("b", &samples.b)?;
            PyResult::Ok(dict)
        });
        dict.set_item("samples", samples.transpose()?)?;
        list.append(dict)?;
    }
    Ok(list)
}

pub(crate) fn told<'py>(
    py: Python<'py>,
    report: &WriteReport,
    warnings: &[String],
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("file_len", report.file_len)?;
    dict.set_item("blocks", report.blocks)?;
    dict.set_item("sparse", report.sparse)?;
    dict.set_item("levels", report.levels)?;
    dict.set_item("warnings", warnings)?;
    Ok(dict)
}

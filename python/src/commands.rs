//! Provides the commands `overview`, `cog validate` and `compare` for Python.

use crate::arguments::word;
use crate::call;
use crate::dataset::Dataset;
use crate::device;
use crate::dict::{Dicts, dict};
use crate::write_options::resampling_named;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use strile::Compression;
use strile::cog::{CogChecks, Finding};
use strile::compare::{CompareOptions, Difference};
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
        OverviewOutcome::Written(report) => report_dict(py, &report, &report.warnings),
        OverviewOutcome::AlreadyThere(_) | OverviewOutcome::NotNeeded => {
            Ok(dict!(py; "warnings" => Vec::<String>::new()))
        }
    }
}

/// Removes the overviews of a file; returns how many there were.
#[pyfunction]
#[pyo3(signature = (path, *, external=false))]
pub(crate) fn remove_overviews(py: Python<'_>, path: PathBuf, external: bool) -> PyResult<usize> {
    call::run_at_once(py, || strile::overview::remove_overviews(&path, external))
}

/// Returns whether an opened file is a Cloud-Optimized GeoTIFF, with findings.
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
        let findings = findings.iter().map(|finding| of_finding(py, finding));
        dict.set_item(key, findings.collect::<PyResult<Dicts<'_>>>()?)?;
    }
    Ok(dict)
}

fn of_finding<'py>(py: Python<'py>, finding: &Finding) -> PyResult<Bound<'py, PyDict>> {
    let found_by = finding.found_by.names().to_vec();
    Ok(dict!(py; finding { code, place, message, advice, count }, "found_by" => found_by))
}

/// Returns the differences of two opened files.
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
) -> PyResult<Dicts<'py>> {
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
    let entry = |difference: &Difference| {
        let samples = difference.samples.as_ref().map(|samples| {
            PyResult::Ok(dict!(py; samples { count, compared, largest, band, row, column, a, b }))
        });
        let samples = samples.transpose()?;
        Ok(dict!(py; difference { category, place, message }, "samples" => samples))
    };
    found.iter().map(entry).collect()
}

pub(crate) fn report_dict<'py>(
    py: Python<'py>,
    report: &WriteReport,
    warnings: &[String],
) -> PyResult<Bound<'py, PyDict>> {
    Ok(dict!(py; report { file_len, blocks, sparse, levels }, "warnings" => warnings))
}

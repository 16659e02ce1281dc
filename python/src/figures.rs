//! Provides statistics of bands, values at points, and pictures.

use crate::call::{self, Count, Watch};
use crate::dataset::{Dataset, data_type};
use crate::dict::{Dicts, dict};
use crate::error::refused;
use crate::{onto, request};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};
use std::sync::Arc;
use strile::measure::{BandFigures, MeasureOptions};
use strile::{Context, ReadOptions, Window};

/// Computes statistics, histograms and checksums of bands; see `_core.pyi`.
#[pyfunction]
#[pyo3(signature = (source, *, bands=None, window=None, statistics=false, histogram=false, checksum=false,
                    polygon=None, polygon_crs=None, max_pixels=None, progress=None))]
#[expect(clippy::too_many_arguments, reason = "the keywords of a Python function")]
pub(crate) fn measure<'py>(
    py: Python<'py>,
    source: &Bound<'py, Dataset>,
    bands: Option<Vec<u16>>,
    window: Option<(u32, u32, u32, u32)>,
    statistics: bool,
    histogram: bool,
    checksum: bool,
    polygon: Option<&str>,
    polygon_crs: Option<Bound<'py, PyAny>>,
    max_pixels: Option<u64>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Dicts<'py>> {
    let input = source.get().input(py)?;
    let window = window.map(|(column, row, width, height)| Window::new(column, row, width, height));
    let mut read = ReadOptions::new().window(window);
    (read.place.bands, read.execution.max_pixels) = (bands, max_pixels);
    read.execution.max_block_bytes = request::max_block_bytes()?;
    let mut options =
        MeasureOptions::new().read(read).statistics(statistics).histogram(histogram).checksum(checksum);
    let polygon = polygon.map(|text| onto::polygon(text, polygon_crs.as_ref())).transpose()?;
    options.polygon = polygon.map(Arc::new);
    let count = Arc::new(Count::default());
    let context = Context { progress: Some(Arc::clone(&count) as _), ..call::context(None, None)? };
    let watch = progress.as_ref().map(|progress| Watch { count: &count, progress });
    let figures = call::run(py, &context.cancel, watch, || {
        count.expect(input.measured_blocks(&options, &context)?);
        let figures = input.measure(&options, &context)?;
        count.complete();
        Ok(figures)
    })?;
    figures.iter().map(|band| of_band(py, band)).collect()
}

fn of_band<'py>(py: Python<'py>, band: &BandFigures) -> PyResult<Bound<'py, PyDict>> {
    let dict = dict!(py; band { band });
    if let Some(statistics) = band.statistics {
        let values = statistics.values;
        let (minimum, maximum) = (values.map(|v| v.minimum), values.map(|v| v.maximum));
        let (mean, deviation) = (values.map(|v| v.mean), values.map(|v| v.deviation));
        let own = dict!(
            py; "minimum" => minimum, "maximum" => maximum, "mean" => mean, "standard_deviation" => deviation,
            "valid" => statistics.valid, "missing" => statistics.missing,
        );
        dict.set_item("statistics", own)?;
    }
    if let Some(histogram) = &band.histogram {
        dict.set_item("histogram", dict!(py; histogram { minimum, maximum, counts }))?;
    }
    if let Some(checksum) = band.checksum {
        dict.set_item("checksum", checksum)?;
    }
    Ok(dict)
}

/// Values at points: dtype, values (point, band), and a byte for each that is 1 if it is valid.
type Sampled<'py> = (&'static str, Bound<'py, PyBytes>, Bound<'py, PyBytes>, usize);

/// Reads values of bands at points; `places` are pairs of 64-bit floats, in the reference system `crs` or in that of the file.
#[pyfunction]
#[pyo3(signature = (source, places, bands, crs=None))]
pub(crate) fn sample<'py>(
    py: Python<'py>,
    source: &Bound<'py, Dataset>,
    places: PyBackedBytes,
    bands: Vec<u16>,
    crs: Option<&Bound<'py, PyAny>>,
) -> PyResult<Sampled<'py>> {
    let input = source.get().input(py)?;
    let number = |bytes: &[u8]| bytes.first_chunk().map(|raw| f64::from_ne_bytes(*raw)).unwrap_or(f64::NAN);
    let pair = |pair: &[u8]| {
        let (x, y) = pair.split_at_checked(8).unwrap_or_default();
        (number(x), number(y))
    };
    let mut places: Vec<(f64, f64)> = places.chunks_exact(16).map(pair).collect();
    let crs = crs.map(crate::grid::system).transpose()?;
    let mut options = ReadOptions::new().bands(bands);
    options.execution.max_block_bytes = request::max_block_bytes()?;
    let context = call::context(None, None)?;
    let samples = call::run(py, &context.cancel, None, || {
        let there = crs.map(|crs| input.transformer_of_places(&crs)).transpose()?.flatten();
        if let Some(there) = there {
            there.transform_all(&mut places);
        }
        input.sample(&places, &options, &context)
    })?;
    let valid: Vec<u8> = samples.valid.iter().map(|&valid| u8::from(valid)).collect();
    let outside = samples.inside.iter().filter(|&&inside| !inside).count();
    Ok((samples.data_type.name(), PyBytes::new(py, &samples.values), PyBytes::new(py, &valid), outside))
}

/// Makes a PNG of samples (band, row, column), stretched; `valid` has a byte for each, 0 for transparent pixels.
#[pyfunction]
pub(crate) fn picture<'py>(
    py: Python<'py>,
    samples: PyBackedBytes,
    dtype: &str,
    valid: PyBackedBytes,
    shape: (u32, u32),
) -> PyResult<Bound<'py, PyBytes>> {
    let (data_type, (rows, columns)) = (data_type(dtype)?, shape);
    let plane = (rows as usize).saturating_mul(columns as usize).max(1);
    let wrong = || refused(format!("a picture of {rows} × {columns}: {} bytes of {dtype}", samples.len()));
    if samples.len() != valid.len().saturating_mul(data_type.size()) || !valid.len().is_multiple_of(plane) {
        return Err(wrong());
    }
    let encoded = call::detached(py, || {
        let valid: Vec<bool> = valid.iter().map(|&valid| valid != 0).collect();
        let bands = samples.chunks_exact(plane * data_type.size()).zip(valid.chunks_exact(plane));
        let mut bands: Vec<Vec<u8>> =
            bands.map(|(samples, valid)| strile::picture::shades(samples, data_type, valid)).collect();
        let is_opaque = |pixel: usize| valid.iter().skip(pixel).step_by(plane).all(|valid| *valid);
        bands.push((0..plane).map(|pixel| if is_opaque(pixel) { 255 } else { 0 }).collect());
        let pixel = |pixel: usize| bands.iter().filter_map(move |band| band.get(pixel)).copied();
        strile_serve::png(&(0..plane).flat_map(pixel).collect::<Vec<_>>(), (columns, rows), bands.len())
    })?;
    Ok(PyBytes::new(py, &encoded.ok_or_else(wrong)?))
}

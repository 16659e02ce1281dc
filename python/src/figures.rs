//! Figures of bands, values at places and shades of pictures, for Python.

use crate::call::{self, Count, Watch};
use crate::dataset::{Dataset, data_type};
use crate::error::refused;
use crate::{onto, request};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyList};
use std::sync::Arc;
use strile::measure::{BandFigures, MeasureOptions};
use strile::{Context, ReadOptions, Window};

/// Statistics, histograms and checksums of bands; see `_core.pyi`.
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
) -> PyResult<Bound<'py, PyList>> {
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
    let list = PyList::empty(py);
    for band in &figures {
        list.append(of_band(py, band)?)?;
    }
    Ok(list)
}

fn of_band<'py>(py: Python<'py>, band: &BandFigures) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("band", band.band)?;
    if let Some(statistics) = band.statistics {
        let values = statistics.values;
        let own = PyDict::new(py);
        own.set_item("minimum", values.map(|v| v.minimum))?;
        own.set_item("maximum", values.map(|v| v.maximum))?;
        own.set_item("mean", values.map(|v| v.mean))?;
        own.set_item("standard_deviation", values.map(|v| v.deviation))?;
        own.set_item("valid", statistics.valid)?;
        own.set_item("missing", statistics.missing)?;
        dict.set_item("statistics", own)?;
    }
    if let Some(histogram) = &band.histogram {
        let own = PyDict::new(py);
        own.set_item("minimum", histogram.minimum)?;
        own.set_item("maximum", histogram.maximum)?;
        own.set_item("counts", &histogram.counts)?;
        dict.set_item("histogram", own)?;
    }
    if let Some(checksum) = band.checksum {
        dict.set_item("checksum", checksum)?;
    }
    Ok(dict)
}

/// Values at places: dtype, values (place, band), and a byte for each that is 1 where it is valid.
type Sampled<'py> = (&'static str, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// Values of bands at places; `places` are pairs of 64-bit floats, in the reference system `crs` or in that of the file.
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
    Ok((samples.data_type.name(), PyBytes::new(py, &samples.values), PyBytes::new(py, &valid)))
}

/// Shades from 0 to 255 of the samples of a band; `valid` has a byte for each, 0 where it is not.
#[pyfunction]
pub(crate) fn shades<'py>(
    py: Python<'py>,
    samples: PyBackedBytes,
    dtype: &str,
    valid: PyBackedBytes,
) -> PyResult<Bound<'py, PyBytes>> {
    let data_type = data_type(dtype)?;
    if samples.len() != valid.len().saturating_mul(data_type.size()) {
        let (have, want) = (samples.len(), valid.len());
        return Err(refused(format!("expected {want} samples of {dtype}, got {have} bytes")));
    }
    let shades = call::detached(py, || {
        let valid: Vec<bool> = valid.iter().map(|&valid| valid != 0).collect();
        strile::picture::shades(&samples, data_type, &valid)
    })?;
    Ok(PyBytes::new(py, &shades))
}

//! Writes small files beside rasters: a VRT of files or of tiles, a style.

use crate::call;
use crate::error::refused;
use crate::spec::RasterSpec;
use pyo3::prelude::*;
use std::path::PathBuf;
use strile::Window;
use strile::tiff::Warnings;
use strile::tiff::gdal::NoData;
use strile::vrt::IndexOptions;

/// Writes a VRT of files side by side. Returns in words what it does not keep. `nodata` is a number as text, or
/// `none` for no value.
#[pyfunction]
#[pyo3(signature = (path, sources, *, relative=true, overwrite=false, separate=false, te=None, tr=None, nodata=None))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn write_vrt(
    py: Python<'_>,
    path: PathBuf,
    sources: Vec<PathBuf>,
    relative: bool,
    overwrite: bool,
    separate: bool,
    te: Option<[f64; 4]>,
    tr: Option<(f64, f64)>,
    nodata: Option<&str>,
) -> PyResult<Vec<String>> {
    let nodata = match nodata {
        None => None,
        Some("none") => Some(None),
        Some(text) => {
            let mut warnings = Warnings::new();
            let value = NoData::parse(text, &mut warnings).filter(|_| warnings.is_empty());
            let wrong = || refused(format!("nodata: expected a number or None, got {text}"));
            Some(Some(value.ok_or_else(wrong)?))
        }
    };
    let mut options = IndexOptions::new()
        .overwrite(overwrite)
        .absolute(!relative)
        .separate(separate)
        .extent(te)
        .resolution(tr);
    options.nodata = nodata;
    let written = call::run_at_once(py, || strile::vrt::write_index(&path, &sources, &options))?;
    Ok(written.warnings)
}

/// Writes the VRT of a raster of which each tile is a file: its name, its first row and column, its height and its width.
/// `aux_xml` is the content of the `.aux.xml` beside it.
#[pyfunction]
#[pyo3(signature = (path, raster, tiles, aux_xml=None))]
pub(crate) fn write_tiles(
    py: Python<'_>,
    path: PathBuf,
    raster: &RasterSpec,
    tiles: Vec<(String, u32, u32, u32, u32)>,
    aux_xml: Option<Vec<u8>>,
) -> PyResult<()> {
    let window = |(name, row, column, height, width)| (name, Window::new(column, row, width, height));
    let tiles: Vec<(String, Window)> = tiles.into_iter().map(window).collect();
    call::run_at_once(py, || strile::vrt::write_tiles(&path, &raster.spec, &tiles, aux_xml))
}

/// Returns the names of colour ramps.
#[pyfunction]
pub(crate) fn color_ramps() -> Vec<&'static str> {
    strile::style::ramps().collect()
}

/// Writes a style of QGIS: the first band in the colours of a ramp between two values.
#[pyfunction]
pub(crate) fn write_style(py: Python<'_>, path: PathBuf, ramp: &str, bounds: (f64, f64)) -> PyResult<()> {
    call::run_at_once(py, || strile::style::write_qml(&path, ramp, bounds))
}

//! A VRT of files: `write_vrt`.

use crate::call;
use crate::error::refused;
use pyo3::prelude::*;
use std::path::PathBuf;
use strile::tiff::Warnings;
use strile::tiff::gdal::NoData;
use strile::vrt::IndexOptions;

/// Writes a VRT that lays files side by side; gives what it does not keep, in words. `nodata` is a number as text, or
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
            let mut told = Warnings::new();
            let value = NoData::parse(text, &mut told).filter(|_| told.is_empty());
            let wrong = || refused(format!("nodata: expected a number or None, got {text}"));
            Some(Some(value.ok_or_else(wrong)?))
        }
    };
    let options = IndexOptions {
        nodata,
        overwrite,
        absolute: !relative,
        separate,
        extent: te,
        resolution: tr,
        ..IndexOptions::default()
    };
    let written = call::run_at_once(py, || strile::vrt::write_index(&path, &sources, &options))?;
    Ok(written.warnings)
}

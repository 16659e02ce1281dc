//! VRTs: opened, and as one array, which has one type and one nodata value.

use crate::call;
use crate::error::{exception, strile_error};
use crate::facts::number;
use crate::remote::{Remote, open_options};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use strile::io::is_remote;
use strile::tiff::gdal::NoData;
use strile::vrt::VrtOptions;
use strile::{Cancel, DataType, Error, Vrt};

/// Opens a VRT. One that cannot be understood is a `VRTUnsupportedError`.
pub(crate) fn opened(py: Python<'_>, path: &Path, options: &VrtOptions) -> PyResult<Vrt> {
    let cancel = Cancel::default();
    let open = || {
        let mut options = options.clone();
        options.open.cancel = cancel.clone();
        Vrt::open(path, &options)
    };
    let opened = match path.to_str().is_some_and(is_remote) {
        true => call::run(py, &cancel, None, || Ok(open()))?,
        false => call::detached(py, open)?,
    };
    opened.map_err(|error| match error {
        Error::Unsupported { .. } | Error::File { .. } => {
            let sentence = strile::tiff::printable(&error.to_string()).into_owned();
            strile_error(py, "VRTUnsupportedError", sentence)
        }
        error => exception(error),
    })
}

/// The type of one array, the nodata value of each band, and whether these differ.
type OneArray<'py> = (&'static str, Vec<Option<Bound<'py, PyAny>>>, bool);

/// Returns how the bands of a VRT, or one of them (from 0), become one array: floats of 64 bits where a source is scaled.
/// Bands of different types are refused, and bands of different nodata values unless `mixed_nodata` allows them.
#[pyfunction]
#[pyo3(signature = (path, *, band=None, mixed_nodata=false, max_bytes=None, remote=None))]
pub(crate) fn one_array<'py>(
    py: Python<'py>,
    path: PathBuf,
    band: Option<usize>,
    mixed_nodata: bool,
    max_bytes: Option<u64>,
    remote: Option<&Bound<'py, Remote>>,
) -> PyResult<OneArray<'py>> {
    // Bands of any types are taken in the one that is given.
    let mut options = VrtOptions { data_type: Some(DataType::F64), ..VrtOptions::default() };
    options.max_bytes = max_bytes.unwrap_or(options.max_bytes);
    options.open = open_options("never", remote)?;
    let vrt = opened(py, &path, &options)?;
    let name = vrt.name();
    if let Some(resampling) = vrt.ignored_resampling() {
        let sentence = format!("{name}: a source is resampled by '{resampling}', expected the nearest pixel");
        return Err(strile_error(py, "VRTUnsupportedError", sentence));
    }
    let bands = vrt.listed_bands();
    let chosen = band.and_then(|band| bands.get(band..=band)).unwrap_or(&bands);
    let mixed = |what: &str, values: Vec<String>, help: &str| {
        let sentence = format!("{name}: the bands have different {what} ({}) and {help}", values.join(", "));
        strile_error(py, "MixedBandMetadataError", sentence)
    };
    let data_type = |band: &strile::vrt::VrtBand| band.data_type.unwrap_or(DataType::F32);
    let first = chosen.first().map_or(DataType::F32, data_type);
    if band.is_none() && bands.iter().any(|band| data_type(band) != first) {
        let types = bands.iter().map(|band| data_type(band).name().to_owned()).collect();
        return Err(mixed("types", types, "one array holds one: pass band to read one"));
    }
    let values: Vec<Option<NoData>> = bands.iter().map(|band| band.nodata).collect();
    let mut stated = values.iter().flatten();
    let is_same = |one: &NoData, other: &NoData| match (one.as_integer(), other.as_integer()) {
        (None, None) => one == other || (one.as_f64().is_nan() && other.as_f64().is_nan()),
        (one, other) => one == other,
    };
    let differ = stated.next().is_some_and(|one| stated.any(|other| !is_same(one, other)));
    if differ && !mixed_nodata {
        let shown = values.iter().map(|value| value.map_or("None".to_owned(), NoData::to_text)).collect();
        let help = "attributes hold one: pass band_nodata='first' to mask each band by its own and to keep that of the \
                    first";
        return Err(mixed("nodata values", shown, help));
    }
    let is_complex = matches!(first, DataType::C64 | DataType::C128);
    let widened = !is_complex && chosen.iter().any(|band| band.is_scaled);
    let data_type = if widened { DataType::F64 } else { first };
    let values = values.into_iter().map(|value| number(py, value)).collect::<PyResult<_>>()?;
    Ok((data_type.name(), values, differ))
}

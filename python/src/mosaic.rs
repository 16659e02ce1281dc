//! Opens VRTs, and checks that their bands fit one array with one type and one nodata value.

use crate::call;
use crate::error::{exception, strile_error};
use crate::facts::number;
use crate::remote::{Remote, open_options};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use strile::io::is_remote;
use strile::vrt::VrtOptions;
use strile::{Cancel, DataType, Error, Vrt};

/// Opens a VRT. An unsupported VRT is a `VRTUnsupportedError`.
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
    opened.map_err(not_understood)
}

fn not_understood(error: Error) -> PyErr {
    match error {
        Error::Unsupported { .. } | Error::File { .. } => Python::attach(|py| {
            let sentence = strile::tiff::printable(&error.to_string()).into_owned();
            strile_error(py, "VRTUnsupportedError", sentence)
        }),
        error => exception(error),
    }
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
    let mut options = VrtOptions::new().data_type(DataType::F64);
    options.max_bytes = max_bytes.unwrap_or(options.max_bytes);
    options.open = open_options("never", remote)?;
    let vrt = opened(py, &path, &options)?;
    let found = vrt.one_array(band, mixed_nodata).map_err(not_understood)?;
    let values = found.nodata.into_iter().map(|value| number(py, value)).collect::<PyResult<_>>()?;
    Ok((found.data_type.name(), values, found.is_mixed))
}

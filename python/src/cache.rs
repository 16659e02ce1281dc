//! Controls the block cache of the process.

use crate::arguments::{integer, shown};
use crate::call;
use crate::dict::dict;
use crate::error::refused;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// Bytes of a folder, unless the caller says otherwise.
const DEFAULT_FOLDER_LIMIT: u64 = 10 << 30;

/// Limits the bytes that the block cache of the process holds; 0 turns it off.
#[pyfunction]
pub(crate) fn set_cache_limit(py: Python<'_>, bytes: &Bound<'_, PyAny>) -> PyResult<()> {
    let number = integer(bytes).and_then(|number| u64::try_from(number).ok());
    let wrong = || refused(format!("bytes is {}: expected a whole number, 0 or more", shown(bytes)));
    let limit = number.ok_or_else(wrong)?;
    call::detached(py, || strile::cache::set_limit(limit))
}

/// Also keeps encoded blocks of remote files in a folder; None turns that off.
#[pyfunction]
#[pyo3(signature = (path, limit=DEFAULT_FOLDER_LIMIT))]
pub(crate) fn set_cache_folder(py: Python<'_>, path: Option<PathBuf>, limit: u64) -> PyResult<()> {
    call::run_at_once(py, || strile::cache::set_folder(path.as_deref(), limit))
}

/// Returns the contents of the block cache of the process, and its hits and misses.
#[pyfunction]
pub(crate) fn cache_stats(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let stats = strile::cache::stats();
    Ok(dict!(py; stats { limit, bytes, blocks, hits, misses, folder_limit, folder_bytes, folder_hits }))
}

/// Empties the block cache of the process.
#[pyfunction]
pub(crate) fn clear_cache(py: Python<'_>) -> PyResult<()> {
    call::detached(py, strile::cache::clear)
}

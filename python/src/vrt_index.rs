//! An index of tiles: `write_vrt`.

use crate::call;
use pyo3::prelude::*;
use std::path::PathBuf;
use strile::IndexOptions;

/// Writes a VRT that lays files of one kind side by side.
#[pyfunction]
#[pyo3(signature = (path, sources, *, relative=true))]
pub(crate) fn write_vrt(
    py: Python<'_>,
    path: PathBuf,
    sources: Vec<PathBuf>,
    relative: bool,
) -> PyResult<()> {
    let options = IndexOptions { overwrite: true, absolute: !relative, ..IndexOptions::default() };
    call::run_at_once(py, || strile::write_index(&path, &sources, &options))
}

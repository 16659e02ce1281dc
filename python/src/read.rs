//! `strile.read`.

use crate::device;
use crate::error::exception;
use crate::raster::Raster;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;
use strile::{Context, Dataset, ReadOptions, Window};

/// Reads pixels of a file: all of a page, or a window (column, row, width, height) of it or of an overview.
///
/// Bands count from 1, pages and overviews from 0. `device` is "auto", "cpu", "cuda" or "cuda:N"; where a GPU decodes,
/// pixels stay in its memory unless `out_memory` is "host".
#[pyfunction]
#[pyo3(signature = (path, *, window=None, bands=None, overview=None, page=0, device="auto", out_memory="device"))]
#[expect(clippy::too_many_arguments, reason = "the keywords of a Python function")]
pub(crate) fn read(
    py: Python<'_>,
    path: PathBuf,
    window: Option<(u32, u32, u32, u32)>,
    bands: Option<Vec<u16>>,
    overview: Option<usize>,
    page: usize,
    device: &str,
    out_memory: &str,
) -> PyResult<Raster> {
    let window = window.map(|(x, y, width, height)| Window { x, y, width, height });
    let device = device::parse(device)?;
    let options = ReadOptions { page, overview, window, bands, device, ..ReadOptions::default() };
    let stays = match out_memory {
        "device" => true,
        "host" => false,
        other => {
            let problem = format!("out_memory `{other}`: `device` or `host` expected");
            return Err(PyValueError::new_err(problem));
        }
    };
    let read = || {
        let (dataset, context) = (Dataset::open(&path)?, Context::default());
        match stays {
            true => Raster::new(dataset.read_on_device(&options, &context)?, &context),
            false => dataset.read(&options, &context).map(Raster::host),
        }
    };
    py.detach(read).map_err(exception)
}

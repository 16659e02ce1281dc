//! Provides `Placement`, the georeference of the pixels of a level, and arithmetic with transforms and coordinates.

use crate::dataset::Dataset;
use crate::error::refused;
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyByteArray, PyTuple};
use strile::file::{PixelGrid, PixelGridOptions};
use strile::tiff::geo::{Gcp, GeoTransform};
use strile::{Cancel, Window};

/// a, b, c, d, e, f in the order of the `affine` package.
pub(crate) type Transform = (f64, f64, f64, f64, f64, f64);
/// Row, column, x, y, z.
type Point = (f64, f64, f64, f64, f64);

pub(crate) fn numbers_of(GeoTransform { a, b, c, d, e, f }: GeoTransform) -> Transform {
    (a, b, c, d, e, f)
}

fn of((a, b, c, d, e, f): Transform) -> GeoTransform {
    GeoTransform { a, b, c, d, e, f }
}

/// Makes an array of 64-bit floats.
fn array(py: Python<'_>, len: u64, values: impl Iterator<Item = f64>) -> PyResult<Bound<'_, PyByteArray>> {
    let bytes = len.checked_mul(8).and_then(|bytes| usize::try_from(bytes).ok());
    let bytes = bytes.ok_or_else(|| PyMemoryError::new_err("more coordinates than memory can have"))?;
    PyByteArray::new_with(py, bytes, |memory| {
        memory.as_chunks_mut().0.iter_mut().zip(values).for_each(|(slot, value)| *slot = value.to_ne_bytes());
        Ok(())
    })
}

/// Returns the transform of a level whose pixels are `x` columns wide and `y` rows high.
#[pyfunction]
pub(crate) fn scaled(transform: Transform, x: f64, y: f64) -> Transform {
    numbers_of(of(transform).scaled(x, y))
}

/// Returns the transform of a window that begins at a pixel.
#[pyfunction]
pub(crate) fn moved(transform: Transform, column: f64, row: f64) -> Transform {
    numbers_of(of(transform).window(column, row))
}

/// Returns column, row, width and height of a window (row0, col0, row1, col1) of an image that its orientation turns, in the stored one,
/// which has this height and width.
#[pyfunction]
pub(crate) fn stored_window(window: (u32, u32, u32, u32), turn: (u8, u32, u32)) -> (u32, u32, u32, u32) {
    let ((top, left, bottom, right), (orientation, height, width)) = (window, turn);
    let turned = Window::new(left, top, right.saturating_sub(left), bottom.saturating_sub(top));
    let Window { column, row, width, height } = turned.stored(orientation, (width, height));
    (column, row, width, height)
}

/// Returns left, bottom, right and top, in the order of the axes: `top` is where row 0 begins on a grid that is not turned.
#[pyfunction]
pub(crate) fn extent(transform: Transform, width: u32, height: u32) -> (f64, f64, f64, f64) {
    let (grid, width, height) = (of(transform), f64::from(width), f64::from(height));
    if grid.is_axis_aligned() {
        let (right, bottom) = grid.to_world(width, height);
        return (grid.c, bottom, right, grid.f);
    }
    let bounds = grid.bounds(0.0, 0.0, width, height);
    (bounds.min_x, bounds.min_y, bounds.max_x, bounds.max_y)
}

/// Returns width and height of a pixel.
#[pyfunction]
pub(crate) fn pixel_size(transform: Transform) -> (f64, f64) {
    of(transform).resolution()
}

/// Returns the labels of pixels from one to another along an axis; those of their centres, or with `corners` where they begin.
#[pyfunction]
pub(crate) fn labels(
    py: Python<'_>,
    pixels: (u32, u32),
    along: (f64, f64),
    corners: bool,
) -> PyResult<Bound<'_, PyByteArray>> {
    let ((first, stop), (size, origin)) = (pixels, along);
    let half = if corners { 0.0 } else { size / 2.0 };
    // In this order the labels are, to the last bit, those that xarray-spatial gives.
    let values = (first..stop).map(|pixel| f64::from(pixel) * size + origin + half);
    array(py, stop.saturating_sub(first).into(), values)
}

/// Returns x and y, all of x first, of places given in columns and rows, or the reverse with `inverse`.
#[pyfunction]
#[pyo3(signature = (transform, first, second, *, inverse=false))]
pub(crate) fn placed_at(
    py: Python<'_>,
    transform: Transform,
    first: PyBackedBytes,
    second: PyBackedBytes,
    inverse: bool,
) -> PyResult<Bound<'_, PyByteArray>> {
    let grid = of(transform);
    let no_inverse = || refused("the transform cannot be inverted".to_owned());
    let found = inverse.then(|| grid.locator().ok_or_else(no_inverse)).transpose()?;
    let place = |x, y| found.as_ref().map_or_else(|| grid.to_world(x, y), |found| found(x, y));
    let number = |bytes: &[u8; 8]| f64::from_ne_bytes(*bytes);
    let pairs = || first.as_chunks().0.iter().map(number).zip(second.as_chunks().0.iter().map(number));
    let (x, y) = (pairs().map(|(x, y)| place(x, y).0), pairs().map(|(x, y)| place(x, y).1));
    array(py, first.len() as u64 / 4, x.chain(y))
}

/// The placement of a level; see `_core.pyi`.
#[pyclass(frozen, module = "strile._core")]
pub(crate) struct Placement(pub(crate) PixelGrid);

impl Placement {
    /// Returns the control points relative to a window that begins at a pixel.
    pub(crate) fn gcps_from(&self, row: u32, column: u32) -> Vec<Point> {
        let (down, across) = (f64::from(row), f64::from(column));
        let point = |gcp: &Gcp| (gcp.row - down, gcp.column - across, gcp.x, gcp.y, gcp.z);
        self.0.gcps.iter().map(point).collect()
    }
}

#[pymethods]
impl Placement {
    #[getter]
    fn transform(&self) -> Option<Transform> {
        self.0.transform.map(numbers_of)
    }

    #[getter]
    fn point(&self) -> bool {
        self.0.is_point
    }

    #[getter]
    fn rotated(&self) -> Option<Transform> {
        self.0.rotated.map(numbers_of)
    }

    #[getter]
    fn gcps<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.gcps_from(0, 0))
    }

    /// Returns the transform of a window that begins at a pixel.
    fn at(&self, row: u32, column: u32) -> Option<Transform> {
        self.0.at(row, column).map(numbers_of)
    }

    /// Returns the smallest window (row0, col0, row1, col1) inside `height` by `width` pixels that covers a box.
    fn window_of(&self, sides: [f64; 4], height: u32, width: u32) -> PyResult<(u32, u32, u32, u32)> {
        let found = self.0.window_of(sides, height, width);
        let [row, column, end_row, end_column] = found.map_err(|problem| refused(problem.to_string()))?;
        Ok((row, column, end_row, end_column))
    }
}

/// Returns the placement of a level, halved `reduce` times; of the image as it is stored if `oriented` is False.
#[pyfunction]
#[pyo3(signature = (dataset, level=0, reduce=0, *, allow_rotated=false, oriented=true))]
pub(crate) fn placement(
    py: Python<'_>,
    dataset: &Dataset,
    level: usize,
    reduce: u8,
    allow_rotated: bool,
    oriented: bool,
) -> PyResult<Placement> {
    let input = dataset.input(py)?;
    let options = PixelGridOptions::new(level, reduce).allow_rotated(allow_rotated).oriented(oriented);
    dataset.quickly(py, &Cancel::default(), || input.pixel_grid(&options)).map(Placement)
}

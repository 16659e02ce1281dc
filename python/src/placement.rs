//! `Placement`: where the pixels of a level lie, by the numbers that the file states.

use crate::dataset::Dataset;
use crate::error::refused;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use strile::Cancel;
use strile::file::{PixelGrid, PixelGridOptions};
use strile::tiff::geo::{Gcp, GeoTransform};

/// a, b, c, d, e, f in the order of the `affine` package.
pub(crate) type Transform = (f64, f64, f64, f64, f64, f64);
/// Row, column, x, y, z.
type Point = (f64, f64, f64, f64, f64);

pub(crate) fn numbers_of(GeoTransform { a, b, c, d, e, f }: GeoTransform) -> Transform {
    (a, b, c, d, e, f)
}

/// The placement of a level; see `_core.pyi`.
#[pyclass(frozen, module = "strile._core")]
pub(crate) struct Placement(pub(crate) PixelGrid);

impl Placement {
    /// The control points as a window sees them that begins at a pixel.
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

/// Returns the placement of a level, halved `reduce` times; of the image as it is stored where `oriented` is False.
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

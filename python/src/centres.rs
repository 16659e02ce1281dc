//! Finds the transform of an array in its attributes and coordinates, for `to_geotiff`.

use crate::arguments::{elements, float, shown};
use crate::error::strile_error;
use crate::placement::{Transform, numbers_of};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use strile::error::InvalidValue;
use strile::grid::centres::{Centres, from_centres, moved};
use strile::tiff::geo::GeoTransform;

/// Row, column, x, y, z.
type Gcp = (f64, f64, f64, f64, f64);
/// Name, coordinates as float64, and the spacing of the largest in its own type; none for integers.
type Axis = (String, PyBackedBytes, Option<f64>);

/// Shear below this share of the pixel size is rounding.
const SHEAR: f64 = 1e-12;

/// Returns a transform that was given as an Affine or its six numbers, checked; `name` is what messages call it. One that is not
/// `aligned` with rows and columns is refused, unless it is `dropped`.
#[pyfunction]
#[pyo3(signature = (value, name, *, aligned=false, dropped=false))]
pub(crate) fn checked_transform(
    value: &Bound<'_, PyAny>,
    name: &str,
    aligned: bool,
    dropped: bool,
) -> PyResult<Option<Transform>> {
    let py = value.py();
    let form = "expected an Affine or six numbers (a, b, c, d, e, f)";
    let wrong = || strile_error(py, "StrileError", format!("{name} is {}: {form}", shown(value)));
    let numbers: Option<Vec<f64>> = elements(value).and_then(|numbers| numbers.iter().map(float).collect());
    let (a, b, c, d, e, f) = match numbers.as_deref() {
        // An Affine has nine numbers, the last row being 0, 0, 1.
        Some(&[a, b, c, d, e, f] | &[a, b, c, d, e, f, 0.0, 0.0, 1.0]) => (a, b, c, d, e, f),
        _ => return Err(wrong()),
    };
    if ![a, b, c, d, e, f].iter().all(|number| number.is_finite()) || a * e - b * d == 0.0 {
        let problem = format!("{name} is {}: expected pixels of finite sizes other than 0", shown(value));
        return Err(strile_error(py, "DegeneratePixelSizeError", problem));
    }
    if aligned && (b.abs() > SHEAR * a.abs() || d.abs() > SHEAR * e.abs()) {
        if dropped {
            return Ok(None);
        }
        let problem = format!(
            "{name} is rotated or sheared (b={b}, d={d}): expected rows and columns along the axes; reproject it, or pass \
             drop_rotation=True to write the pixels without a transform"
        );
        return Err(strile_error(py, "RotatedTransformError", problem));
    }
    Ok(Some(if aligned { (a, 0.0, c, 0.0, e, f) } else { (a, b, c, d, e, f) }))
}

/// Returns the transform of pixel corners, and control points on the grid of the array.
///
/// A `stated` transform wins; that of `points` is one of pixel centres. If it `follows` the coordinates, these correct it where they
/// lie elsewhere. Then come control points, which count the pixels of the file, then `mapped`, a transform that follows the
/// coordinates. Without all of these the coordinates decide, unless the array is `unplaced` and they count pixels.
#[pyfunction]
#[pyo3(signature = (*, stated, points, follows, gcps, mapped, unplaced, square, y, x))]
#[expect(clippy::too_many_arguments, reason = "the keywords of a Python function")]
pub(crate) fn place(
    py: Python<'_>,
    stated: Option<[f64; 6]>,
    points: bool,
    follows: bool,
    gcps: Vec<Gcp>,
    mapped: Option<[f64; 6]>,
    unplaced: bool,
    square: bool,
    y: Option<Axis>,
    x: Option<Axis>,
) -> PyResult<(Option<Transform>, Vec<Gcp>)> {
    let values = |axis: &Option<Axis>| -> Vec<f64> {
        let bytes = axis.as_ref().map(|(_, bytes, _)| bytes.as_chunks::<8>().0).unwrap_or_default();
        bytes.iter().map(|value| f64::from_ne_bytes(*value)).collect()
    };
    let (xs, ys) = (values(&x), values(&y));
    let x = x.as_ref().map(|(name, _, spacing)| Centres { name, values: &xs, spacing: *spacing });
    let y = y.as_ref().map(|(name, _, spacing)| Centres { name, values: &ys, spacing: *spacing });
    let (x, y) = (x.as_ref(), y.as_ref());
    let uneven = |problem: InvalidValue| strile_error(py, "NonUniformCoordsError", problem.to_string());
    if let Some(stated) = stated {
        let mut corners = GeoTransform::from_coefficients(stated);
        if points {
            corners = corners.window(-0.5, -0.5);
        }
        let corners = if follows { moved(&corners, x, y).map_err(uneven)? } else { corners };
        return Ok((Some(numbers_of(corners)), Vec::new()));
    }
    if !gcps.is_empty() {
        let on = |axis: Option<&Centres<'_>>, place| axis.map_or(Ok(place), |axis| axis.place(place));
        let moved =
            gcps.into_iter().map(|(row, column, px, py, z)| Ok((on(y, row)?, on(x, column)?, px, py, z)));
        return Ok((None, moved.collect::<Result<_, InvalidValue>>().map_err(uneven)?));
    }
    if unplaced && [x, y].into_iter().flatten().all(Centres::count_pixels) {
        return Ok((None, Vec::new()));
    }
    let made = match mapped {
        Some(mapped) => Some(moved(&GeoTransform::from_coefficients(mapped), x, y)),
        None => from_centres(x, y, square).transpose(),
    };
    let made = made.transpose().map_err(uneven)?;
    if made.is_none() && x.is_some() && y.is_some() {
        let problem = format!(
            "a raster of {} by {} pixels does not tell the size of a pixel by its coordinates: set attrs['transform'], or \
             attrs['assume_square_pixels_for_degenerate_axis'] = True for square pixels",
            ys.len(),
            xs.len()
        );
        return Err(strile_error(py, "StrileError", problem));
    }
    Ok((made.map(numbers_of), Vec::new()))
}

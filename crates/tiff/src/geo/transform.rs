//! The affine transform from pixels to the coordinate reference system, and ground control points.
//!
//! A `GeoTransform` always refers to pixel corners ("area"): (0, 0) is the outer corner of the first pixel, whatever
//! the file's raster type. The shift of half a pixel is applied here, once.

use super::warning::GeoWarningCode as Code;
use crate::{Warning, Warnings};

/// `x = a·column + b·row + c`, `y = d·column + e·row + f`; columns and rows count from the outer corner of
/// the first pixel. The order of the fields is that of the `affine` package.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GeoTransform {
    /// x per column.
    pub a: f64,
    /// x per row.
    pub b: f64,
    /// x of the outer corner.
    pub c: f64,
    /// y per column.
    pub d: f64,
    /// y per row.
    pub e: f64,
    /// y of the outer corner.
    pub f: f64,
}

/// A rectangle in the coordinates of the reference system.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Smallest x.
    pub min_x: f64,
    /// Smallest y.
    pub min_y: f64,
    /// Largest x.
    pub max_x: f64,
    /// Largest y.
    pub max_y: f64,
}

impl GeoTransform {
    /// Pixels as coordinates: the transform of a raster without georeferencing.
    pub const IDENTITY: Self = Self { a: 1.0, b: 0.0, c: 0.0, d: 0.0, e: 1.0, f: 0.0 };

    /// Returns `[a, b, c, d, e, f]`.
    pub const fn coefficients(&self) -> [f64; 6] {
        [self.a, self.b, self.c, self.d, self.e, self.f]
    }

    /// Creates a transform from `[a, b, c, d, e, f]`.
    pub const fn from_coefficients([a, b, c, d, e, f]: [f64; 6]) -> Self {
        Self { a, b, c, d, e, f }
    }

    /// Creates a transform from GDAL's order: `[c, a, b, f, d, e]`.
    pub const fn from_gdal([c, a, b, f, d, e]: [f64; 6]) -> Self {
        Self { a, b, c, d, e, f }
    }

    /// Returns the coefficients in GDAL's order: `[c, a, b, f, d, e]`.
    pub const fn to_gdal(&self) -> [f64; 6] {
        [self.c, self.a, self.b, self.f, self.d, self.e]
    }

    /// Returns the coordinates of a place given in columns and rows.
    pub fn to_world(&self, column: f64, row: f64) -> (f64, f64) {
        (self.a * column + self.b * row + self.c, self.d * column + self.e * row + self.f)
    }

    /// Returns column and row of a place, or `None` if the transform has no inverse.
    pub fn to_pixel(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        self.inverse().map(|inverse| inverse.to_world(x, y))
    }

    /// Returns a function that converts places to fractional columns and rows; `None` if the transform has no inverse.
    /// The corner is subtracted first, so that places on the edge of a pixel stay on it.
    pub fn locator(&self) -> Option<impl Fn(f64, f64) -> (f64, f64) + use<>> {
        let Self { a, b, c, d, e, f } = *self;
        let scale = a * e - b * d;
        scale.is_normal().then_some(move |x: f64, y: f64| {
            let (across, down) = (x - c, y - f);
            ((e * across - b * down) / scale, (a * down - d * across) / scale)
        })
    }

    /// Returns the transform from coordinates to columns and rows, if there is one.
    pub fn inverse(&self) -> Option<Self> {
        let determinant = self.a * self.e - self.b * self.d;
        if determinant == 0.0 || !determinant.is_normal() {
            return None;
        }
        let (a, b) = (self.e / determinant, -self.b / determinant);
        let (d, e) = (-self.d / determinant, self.a / determinant);
        Some(Self { a, b, c: -(a * self.c + b * self.f), d, e, f: -(d * self.c + e * self.f) })
    }

    /// Returns the bounding box of a window's four corners.
    pub fn bounds(&self, column: f64, row: f64, width: f64, height: f64) -> Bounds {
        let corners = [(0.0, 0.0), (width, 0.0), (0.0, height), (width, height)];
        let empty = Bounds {
            min_x: f64::INFINITY,
            min_y: f64::INFINITY,
            max_x: f64::NEG_INFINITY,
            max_y: f64::NEG_INFINITY,
        };
        corners.iter().fold(empty, |bounds, (w, h)| {
            let (x, y) = self.to_world(column + w, row + h);
            Bounds {
                min_x: bounds.min_x.min(x),
                min_y: bounds.min_y.min(y),
                max_x: bounds.max_x.max(x),
                max_y: bounds.max_y.max(y),
            }
        })
    }

    /// Returns the transform of a window that begins at this column and row.
    pub fn window(&self, column: f64, row: f64) -> Self {
        let (c, f) = self.to_world(column, row);
        Self { c, f, ..*self }
    }

    /// Returns the transform of a reduced level whose pixels are `x` columns wide and `y` rows high.
    pub fn scaled(&self, x: f64, y: f64) -> Self {
        Self { a: self.a * x, b: self.b * y, d: self.d * x, e: self.e * y, ..*self }
    }

    /// Returns whether rows run south and columns east, without rotation.
    pub fn is_north_up(&self) -> bool {
        self.is_axis_aligned() && self.a > 0.0 && self.e < 0.0
    }

    /// Returns whether there is neither rotation nor shear.
    pub fn is_axis_aligned(&self) -> bool {
        self.b == 0.0 && self.d == 0.0
    }

    /// Returns the lengths of a pixel's sides along columns and rows.
    pub fn resolution(&self) -> (f64, f64) {
        (self.a.hypot(self.d), self.b.hypot(self.e))
    }

    /// Returns whether every coefficient is finite.
    pub fn is_finite(&self) -> bool {
        self.coefficients().iter().all(|v| v.is_finite())
    }

    /// Converts a transform of pixel centres ("point") to one of pixel corners.
    pub(crate) fn centre_to_corner(self) -> Self {
        self.window(-0.5, -0.5)
    }
}

/// A ground control point: a place in the image and its coordinates.
#[derive(Debug, Clone, PartialEq)]
pub struct Gcp {
    /// Column, counted from the outer corner.
    pub column: f64,
    /// Row, counted from the outer corner.
    pub row: f64,
    /// x in the reference system.
    pub x: f64,
    /// y in the reference system.
    pub y: f64,
    /// Height.
    pub z: f64,
    /// Name of the point; its number from 1 if the file gives none.
    pub id: String,
}

/// Column and row of the first pixel's outer corner, counted from its centre.
pub(super) const CORNER: f64 = -0.5;

/// The values of tags ModelPixelScale, ModelTiepoint and ModelTransformation.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TransformTags<'a> {
    pub pixel_scale: Option<&'a [f64]>,
    pub tiepoints: Option<&'a [f64]>,
    pub transformation: Option<&'a [f64]>,
}

/// Returns the transform, or else the ground control points, of the tags.
///
/// A usable ModelTransformation takes precedence over PixelScale with a tie point; a warning is added if both are
/// present and differ. Tie points without a scale are ground control points.
pub(super) fn from_tags(
    tags: TransformTags<'_>,
    pixel_is_point: bool,
    warnings: &mut Warnings,
) -> (Option<GeoTransform>, Vec<Gcp>) {
    let matrix = tags.transformation.and_then(|v| from_matrix(v, warnings));
    let scaled = match (tags.pixel_scale.and_then(|v| from_scale(v, warnings)), tags.tiepoints) {
        (Some(scale), Some(points)) => {
            // A tie point at the corner itself gives the origin without rounding: half a pixel is not subtracted again.
            if let (true, &[CORNER, CORNER, _, c, f, _]) = (pixel_is_point && matrix.is_none(), points)
                && c.is_finite()
                && f.is_finite()
            {
                return (Some(GeoTransform { c, f, ..scale }), Vec::new());
            }
            at_tiepoint(scale, points, warnings)
        }
        (Some(_), None) if matrix.is_none() => {
            let message = "no tie point beside it; no transform";
            warnings.push(Warning::new(Code::BadTransform, "ModelPixelScale", message));
            None
        }
        _ => None,
    };
    if let (Some(matrix), Some(scaled)) = (matrix, scaled)
        && matrix != scaled
    {
        let message = "differs from ModelPixelScale and ModelTiepoint; the transformation was kept";
        warnings.push(Warning::new(Code::Contradiction, "ModelTransformation", message));
    }
    if let Some(transform) = matrix.or(scaled) {
        let transform = if pixel_is_point { transform.centre_to_corner() } else { transform };
        return (Some(transform), Vec::new());
    }
    let gcps = tags.tiepoints.map(|v| gcps(v, pixel_is_point, warnings)).unwrap_or_default();
    (None, gcps)
}

fn from_matrix(values: &[f64], warnings: &mut Warnings) -> Option<GeoTransform> {
    let place = "ModelTransformation";
    let &[a, b, _, c, d, e, _, f, ..] = values else {
        let message = format!("expected 16 values, got {}; no transform", values.len());
        warnings.push(Warning::new(Code::BadTransform, place, message));
        return None;
    };
    if values.len() != 16 {
        let message = format!("expected 16 values, got {}; no transform", values.len());
        warnings.push(Warning::new(Code::BadTransform, place, message));
        return None;
    }
    let transform = GeoTransform { a, b, c, d, e, f };
    if !transform.is_finite() || transform.inverse().is_none() {
        let message = "expected a matrix of finite numbers with an inverse; no transform";
        warnings.push(Warning::new(Code::BadTransform, place, message));
        return None;
    }
    Some(transform)
}

/// Returns the scale part of a transform, with its origin still at zero.
fn from_scale(values: &[f64], warnings: &mut Warnings) -> Option<GeoTransform> {
    let place = "ModelPixelScale";
    let &[x, y, ..] = values else {
        let message = format!("expected 3 values, got {}; no transform", values.len());
        warnings.push(Warning::new(Code::BadTransform, place, message));
        return None;
    };
    if x == 0.0 || y == 0.0 || !x.is_finite() || !y.is_finite() {
        let message = format!("expected a scale of finite numbers other than 0, got {x}, {y}; no transform");
        warnings.push(Warning::new(Code::BadTransform, place, message));
        return None;
    }
    if y < 0.0 {
        let message = format!("y scale {y} is negative; read as north-up");
        warnings.push(Warning::new(Code::NegativeScaleY, place, message));
    }
    Some(GeoTransform { a: x, b: 0.0, c: 0.0, d: 0.0, e: -y.abs(), f: 0.0 })
}

fn at_tiepoint(scale: GeoTransform, points: &[f64], warnings: &mut Warnings) -> Option<GeoTransform> {
    let place = "ModelTiepoint";
    let &[column, row, _, x, y, ..] = points else {
        let message = format!("expected 6 values, got {}; no transform", points.len());
        warnings.push(Warning::new(Code::BadTiePoints, place, message));
        return None;
    };
    if points.len() < 6 {
        let message = format!("expected 6 values, got {}; no transform", points.len());
        warnings.push(Warning::new(Code::BadTiePoints, place, message));
        return None;
    }
    if points.len() > 6 {
        let message = format!("{} values beside a pixel scale; the first tie point was used", points.len());
        warnings.push(Warning::new(Code::BadTiePoints, place, message));
    }
    let transform = GeoTransform { c: x - column * scale.a, f: y - row * scale.e, ..scale };
    if !transform.is_finite() {
        let message = format!("expected finite numbers, got ({column}, {row}) at ({x}, {y}); no transform");
        warnings.push(Warning::new(Code::BadTiePoints, place, message));
        return None;
    }
    Some(transform)
}

fn gcps(points: &[f64], pixel_is_point: bool, warnings: &mut Warnings) -> Vec<Gcp> {
    let place = "ModelTiepoint";
    let (points, rest) = points.as_chunks::<6>();
    if !rest.is_empty() {
        let message = format!("{} values after the last whole tie point; ignored", rest.len());
        warnings.push(Warning::new(Code::BadTiePoints, place, message));
    }
    let shift = if pixel_is_point { 0.5 } else { 0.0 };
    let mut out = Vec::with_capacity(points.len());
    for (i, &[column, row, _, x, y, z]) in points.iter().enumerate() {
        if ![column, row, x, y, z].iter().all(|v| v.is_finite()) {
            let message = format!("tie point {} is not finite; left out", i + 1);
            warnings.push(Warning::new(Code::BadTiePoints, place, message));
            continue;
        }
        out.push(Gcp { column: column + shift, row: row + shift, x, y, z, id: (i + 1).to_string() });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const MATRIX: [f64; 16] =
        [1.5, -5.0, 0.0, 1841000.0, -5.0, -1.5, 0.0, 1144000.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0];

    fn run(
        scale: Option<&[f64]>,
        tie: Option<&[f64]>,
        matrix: Option<&[f64]>,
        point: bool,
    ) -> (Option<[f64; 6]>, usize, Vec<&'static str>) {
        let mut warnings = Warnings::new();
        let tags = TransformTags { pixel_scale: scale, tiepoints: tie, transformation: matrix };
        let (transform, gcps) = from_tags(tags, point, &mut warnings);
        let codes = warnings.iter().map(|w| w.code).collect();
        (transform.map(|t| t.coefficients()), gcps.len(), codes)
    }

    #[test]
    fn scale_and_tie_point_of_any_pixel() {
        let (t, _, w) = run(Some(&[10.0, 20.0, 0.0]), Some(&[2.0, 3.0, 0.0, 120.0, 340.0, 0.0]), None, false);
        assert_eq!(t, Some([10.0, 0.0, 100.0, 0.0, -20.0, 400.0]));
        assert!(w.is_empty());
    }

    #[test]
    fn pixel_is_point_moves_half_a_pixel_out() {
        let (t, ..) = run(Some(&[10.0, 20.0, 0.0]), Some(&[0.0, 0.0, 0.0, 100.0, 400.0, 0.0]), None, true);
        assert_eq!(t, Some([10.0, 0.0, 95.0, 0.0, -20.0, 410.0]));
        // GDAL's result for a rotated matrix with PixelIsPoint (autotest geomatrix.tif).
        let (t, ..) = run(None, None, Some(&MATRIX), true);
        assert_eq!(t, Some([1.5, -5.0, 1841001.75, -5.0, -1.5, 1144003.25]));
    }

    #[test]
    fn a_transformation_wins_and_a_contradiction_is_told() {
        let (t, _, w) =
            run(Some(&[10.0, 20.0, 0.0]), Some(&[0.0, 0.0, 0.0, 1.0, 2.0, 0.0]), Some(&MATRIX), false);
        assert_eq!(t, Some([1.5, -5.0, 1841000.0, -5.0, -1.5, 1144000.0]));
        assert_eq!(w, ["geo-contradiction"]);
    }

    #[test]
    fn a_negative_y_scale_is_north_up() {
        let tie = [0.0, 0.0, 0.0, 100.0, 200.0, 0.0];
        let (t, _, w) = run(Some(&[10.0, -10.0, 0.0]), Some(&tie), None, false);
        assert_eq!(t, Some([10.0, 0.0, 100.0, 0.0, -10.0, 200.0]));
        assert_eq!(w, ["geo-negative-scale"]);
    }

    #[test]
    fn tie_points_without_scale_are_control_points() {
        let tie = [0.0, 0.0, 0.0, 5.0, 50.0, 0.0, 31.0, 0.0, 0.0, 6.0, 50.1, 10.0, 1.0];
        assert_eq!(run(None, Some(&tie), None, false), (None, 2, vec!["geo-tie-points"]));
        let mut warnings = Warnings::new();
        let tags = TransformTags { tiepoints: Some(&tie[..12]), ..Default::default() };
        let (_, gcps) = from_tags(tags, true, &mut warnings);
        assert_eq!((gcps[1].column, gcps[1].row, gcps[1].z), (31.5, 0.5, 10.0));
    }

    #[test]
    fn bad_numbers_give_no_transform() {
        let tie = [0.0, 0.0, 0.0, 100.0, 200.0, 0.0];
        assert_eq!(run(Some(&[f64::NAN, 1.0, 0.0]), Some(&tie), None, false).0, None);
        assert_eq!(run(Some(&[0.0, 1.0, 0.0]), Some(&tie), None, false).0, None);
        assert_eq!(run(Some(&[1.0, 1.0]), Some(&[0.0, 0.0, 0.0, f64::NAN, 0.0, 0.0]), None, false).0, None);
        assert_eq!(run(Some(&[1.0, 1.0]), Some(&tie[..5]), None, false).0, None);
        assert_eq!(run(None, None, Some(&MATRIX[..3]), false).0, None);
        assert_eq!(run(None, None, Some(&[0.0; 16]), false).0, None);
        assert_eq!(run(None, None, Some(&[f64::NAN; 16]), false).0, None);
    }

    #[test]
    fn inverse_undoes_the_transform() {
        let t = GeoTransform::from_coefficients([1.5, -5.0, 1841000.0, -5.0, -1.5, 1144000.0]);
        let (x, y) = t.to_world(17.25, 3.5);
        let (column, row) = t.to_pixel(x, y).unwrap();
        assert!((column - 17.25).abs() < 1e-9 && (row - 3.5).abs() < 1e-9);
        assert!(GeoTransform { a: 0.0, b: 0.0, ..t }.inverse().is_none());
    }

    #[test]
    fn bounds_hold_all_corners_of_a_turned_window() {
        let t = GeoTransform::from_coefficients([0.0, 2.0, 10.0, -3.0, 0.0, 20.0]);
        let expected = Bounds { min_x: 12.0, min_y: 11.0, max_x: 18.0, max_y: 17.0 };
        assert_eq!(t.bounds(1.0, 1.0, 2.0, 3.0), expected);
        assert_eq!(t.resolution(), (3.0, 2.0));
        assert!(!t.is_north_up());
    }
}

//! Rasters placed by ground control points: fitted polynomials, or a surface through all points.
//!
//! Polynomials are fitted in both directions, from pixels to coordinates and back, as in GDAL. A surface is fitted from
//! pixels to coordinates; its inverse is found iteratively, starting from a surface in the other direction.

use super::newton::{Pair, back};
use super::solve::{Matrix, nearest, solve};
use strile_tiff::InvalidValue;
use strile_tiff::geo::Gcp;

/// Maximum number of points of a surface: solving its equations takes cubic time.
const MOST_OF_SURFACE: usize = 1024;
/// Maximum number of points of a polynomial.
const MOST: usize = 1 << 20;
/// Distance of the pixels whose difference gives the slope of a surface, and the longest step, as fractions of the
/// raster.
const APART: f64 = 1e-3;
const LONGEST: f64 = 0.5;

/// Both directions.
#[derive(Debug)]
pub(super) struct Points {
    to_world: Fit,
    to_pixel: Fit,
}

/// A function from pairs of numbers to pairs of numbers.
#[derive(Debug)]
struct Fit {
    from: Scale,
    to: Scale,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// Coefficients of the terms.
    Polynomial(Vec<Pair>),
    /// The points with their weights, and the coefficients of 1, x and y.
    Surface(Vec<(Pair, Pair)>, [Pair; 3]),
}

/// Normalization of numbers: around 0, of about 1.
#[derive(Debug, Clone, Copy)]
struct Scale {
    middle: Pair,
    size: f64,
}

impl Scale {
    fn of(points: impl Iterator<Item = Pair> + Clone) -> Self {
        let ends = |of: fn(Pair) -> f64| {
            let numbers = points.clone().map(of);
            (numbers.clone().fold(f64::INFINITY, f64::min), numbers.fold(f64::NEG_INFINITY, f64::max))
        };
        let ((left, right), (low, high)) = (ends(|p| p.0), ends(|p| p.1));
        let size = ((right - left).max(high - low) / 2.0).max(f64::MIN_POSITIVE);
        Self { middle: (f64::midpoint(left, right), f64::midpoint(low, high)), size }
    }

    fn to_unit(self, (x, y): Pair) -> Pair {
        ((x - self.middle.0) / self.size, (y - self.middle.1) / self.size)
    }

    fn out_of_unit(self, (x, y): Pair) -> Pair {
        (x * self.size + self.middle.0, y * self.size + self.middle.1)
    }
}

/// Returns the number of terms of a polynomial of an order.
const fn count(order: u8) -> usize {
    match order {
        0 | 1 => 3,
        2 => 6,
        _ => 10,
    }
}

fn terms((x, y): Pair) -> [f64; 10] {
    [1.0, x, y, x * x, x * y, y * y, x * x * x, x * x * y, x * y * y, y * y * y]
}

/// Returns r² log r², where r is the distance of two points.
fn bend(one: Pair, other: Pair) -> f64 {
    let square = (one.0 - other.0).powi(2) + (one.1 - other.1).powi(2);
    if square > 0.0 { square * square.ln() } else { 0.0 }
}

impl Points {
    /// Returns the order that GDAL uses for a number of points: 2 if they suffice, else 1.
    pub(super) fn order(points: &[Gcp]) -> u8 {
        if points.len() >= count(2) { 2 } else { 1 }
    }

    /// Fits polynomials of an order from 1 to 3 to the points.
    pub(super) fn polynomial(points: &[Gcp], order: u8) -> Result<Self, InvalidValue> {
        let (needed, found) = (count(order), points.len());
        if found < needed || found > MOST {
            return Err(format!(
                "a polynomial of order {order} needs {needed} to {MOST} ground control points, and there are {found}"
            )
            .into());
        }
        Self::both(points, |pairs, from, to| {
            let (mut rows, mut right) = (Matrix::new(found, needed)?, Matrix::new(found, 2)?);
            for (at, (one, other)) in pairs.iter().enumerate() {
                let terms = terms(from.to_unit(*one));
                rows.row_mut(at).iter_mut().zip(terms).for_each(|(to, term)| *to = term);
                let (x, y) = to.to_unit(*other);
                right.row_mut(at).copy_from_slice(&[x, y]);
            }
            let solved = nearest(rows, right).ok_or_else(|| {
                format!(
                    "the ground control points do not define a polynomial of order {order}; use a lower order"
                )
            })?;
            Ok(Kind::Polynomial((0..needed).map(|row| pair(solved.row(row))).collect()))
        })
    }

    /// Fits the surface through all points that bends least (a thin-plate spline).
    pub(super) fn surface(points: &[Gcp]) -> Result<Self, InvalidValue> {
        let count = points.len();
        if !(3..=MOST_OF_SURFACE).contains(&count) {
            return Err(format!(
                "a thin-plate spline takes 3 to {MOST_OF_SURFACE} ground control points, and there are {count}"
            )
            .into());
        }
        Self::both(points, |pairs, from, to| {
            let size = count + 3;
            let (mut rows, mut right) = (Matrix::new(size, size)?, Matrix::new(size, 2)?);
            let units: Vec<Pair> = pairs.iter().map(|(one, _)| from.to_unit(*one)).collect();
            for (at, (own, (_, other))) in units.iter().zip(pairs).enumerate() {
                let plane = [1.0, own.0, own.1];
                let bends = units.iter().map(|unit| bend(*own, *unit));
                rows.row_mut(at).iter_mut().zip(bends.chain(plane)).for_each(|(to, number)| *to = number);
                for (row, number) in (count..).zip(plane) {
                    if let Some(to) = rows.row_mut(row).get_mut(at) {
                        *to = number;
                    }
                }
                let (x, y) = to.to_unit(*other);
                right.row_mut(at).copy_from_slice(&[x, y]);
            }
            solve(&mut rows, &mut right).ok_or_else(|| {
                "the ground control points do not define a thin-plate spline: two are equal, or all lie on a line"
                    .to_owned()
            })?;
            let weights = (0..count).map(|row| pair(right.row(row)));
            let plane = std::array::from_fn(|at| pair(right.row(count + at)));
            Ok(Kind::Surface(units.into_iter().zip(weights).collect(), plane))
        })
    }

    fn both(
        points: &[Gcp],
        fit: impl Fn(&[(Pair, Pair)], Scale, Scale) -> Result<Kind, InvalidValue>,
    ) -> Result<Self, InvalidValue> {
        let finite = |point: &Gcp| [point.column, point.row, point.x, point.y].iter().all(|n| n.is_finite());
        if !points.iter().all(finite) {
            return Err("a ground control point is not finite".to_owned().into());
        }
        let pixels = Scale::of(points.iter().map(|point| (point.column, point.row)));
        let world = Scale::of(points.iter().map(|point| (point.x, point.y)));
        let there: Vec<_> = points.iter().map(|p| ((p.column, p.row), (p.x, p.y))).collect();
        let back: Vec<_> = there.iter().map(|(one, other)| (*other, *one)).collect();
        Ok(Self {
            to_world: Fit { from: pixels, to: world, kind: fit(&there, pixels, world)? },
            to_pixel: Fit { from: world, to: pixels, kind: fit(&back, world, pixels)? },
        })
    }

    pub(super) fn to_world(&self, column: f64, row: f64) -> Pair {
        self.to_world.at((column, row))
    }

    pub(super) fn to_pixel(&self, x: f64, y: f64) -> Option<Pair> {
        let start = self.to_pixel.at((x, y));
        match self.to_world.kind {
            Kind::Polynomial(_) => Some(start),
            Kind::Surface(..) => {
                let most = self.to_world.from.size * LONGEST;
                back(|column, row| Some(self.to_world(column, row)), start, (x, y), (APART, most))
            }
        }
    }
}

fn pair(numbers: &[f64]) -> Pair {
    match numbers {
        [x, y] => (*x, *y),
        _ => (f64::NAN, f64::NAN),
    }
}

impl Fit {
    fn at(&self, place: Pair) -> Pair {
        let own = self.from.to_unit(place);
        let add = |sum: Pair, factor: f64, of: &Pair| (sum.0 + factor * of.0, sum.1 + factor * of.1);
        let found = match &self.kind {
            Kind::Polynomial(factors) => {
                terms(own).iter().zip(factors).fold((0.0, 0.0), |sum, (term, of)| add(sum, *term, of))
            }
            Kind::Surface(points, [one, x, y]) => {
                let plane = add(add(*one, own.0, x), own.1, y);
                points.iter().fold(plane, |sum, (point, weight)| add(sum, bend(own, *point), weight))
            }
        };
        self.to.out_of_unit(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(count: u32, world: impl Fn(f64, f64) -> Pair) -> Vec<Gcp> {
        let point = |at: u32| {
            let (column, row) = (f64::from(at * 37 % 101), f64::from(at * 61 % 89));
            let (x, y) = world(column, row);
            Gcp { column, row, x, y, z: 0.0, id: String::new() }
        };
        (0..count).map(point).collect()
    }

    #[test]
    fn polynomials_give_polynomials_back() {
        let plane = |c: f64, r: f64| (500_000.0 + 10.0 * c - r, 5_600_000.0 - 9.0 * r + 0.5 * c);
        for order in 1..=3 {
            let found = Points::polynomial(&points(12, plane), order).unwrap();
            let (x, y) = found.to_world(50.5, 20.25);
            let (ex, ey) = plane(50.5, 20.25);
            assert!((x - ex).abs() < 1e-6 && (y - ey).abs() < 1e-6, "{order} {x} {y}");
            let (column, row) = found.to_pixel(ex, ey).unwrap();
            assert!((column - 50.5).abs() < 1e-6 && (row - 20.25).abs() < 1e-6, "{order} {column} {row}");
        }
        let bent = |c: f64, r: f64| (c + 0.001 * c * r, r - 0.002 * c * c);
        let (x, y) = Points::polynomial(&points(9, bent), 2).unwrap().to_world(30.0, 40.0);
        assert!((x - 31.2).abs() < 1e-9 && (y - 38.2).abs() < 1e-9);
    }

    #[test]
    fn a_surface_goes_through_its_points() {
        let all = points(20, |c, r| {
            (10.0 * c + (r / 9.0).sin() * 20.0, 4000.0 - 10.0 * r + (c / 7.0).cos() * 30.0)
        });
        let found = Points::surface(&all).unwrap();
        for point in &all {
            let (x, y) = found.to_world(point.column, point.row);
            assert!((x - point.x).abs() < 1e-6 && (y - point.y).abs() < 1e-6);
            let (column, row) = found.to_pixel(point.x, point.y).unwrap();
            assert!((column - point.column).abs() < 1e-6 && (row - point.row).abs() < 1e-6);
        }
    }

    /// Places from which `rasterio.warp.reproject` (GDAL 3.10.3, exact coordinates) takes ramps of columns and of rows,
    /// by the orders 1 to 3 and by thin-plate splines; and the coordinates of pixels by rasterio's `GCPTransformer`.
    #[test]
    fn places_are_gdals() {
        let points: Vec<Gcp> = (0..14u32)
            .map(|at| {
                let (c, r) = (f64::from(at * 37 % 201), f64::from(at * 61 % 151));
                let x = 500_000.0 + 10.0 * c - 1.5 * r + 0.002 * c * r + 3.0 * (c / 40.0).sin();
                let y = 5_600_000.0 - 9.5 * r + 0.8 * c - 0.0015 * c * c + 2.0 * (r / 30.0).cos();
                Gcp { column: c, row: r, x, y, z: 0.0, id: String::new() }
            })
            .collect();
        let places = [(500_333.25, 5_599_300.5), (501_500.0, 5_599_950.0), (500_100.0, 5_598_900.0)];
        let polynomial = |order| Points::polynomial(&points, order).unwrap();
        for (found, columns, rows) in [
            (
                polynomial(1),
                [43.822_626_37, 151.629_663_38, 26.049_721_88],
                [76.804_715_53, 14.386_038_60, 118.076_314_91],
            ),
            (
                polynomial(2),
                [43.954_931_30, 151.822_306_38, 26.807_114_57],
                [76.923_054_26, 14.574_945_90, 117.793_356_29],
            ),
            (
                polynomial(3),
                [43.999_545_15, 151.886_883_05, 26.975_903_42],
                [76.842_635_31, 14.596_886_73, 117.749_799_45],
            ),
            (
                Points::surface(&points).unwrap(),
                [43.936_640_09, 151.928_843_69, 26.785_349_80],
                [76.932_249_02, 14.573_256_56, 117.873_832_22],
            ),
        ] {
            for ((x, y), expected) in places.into_iter().zip(columns.into_iter().zip(rows)) {
                let (column, row) = found.to_pixel(x, y).unwrap();
                assert!(
                    (column - expected.0).abs() < 1e-6 && (row - expected.1).abs() < 1e-6,
                    "{column} {row}"
                );
            }
        }
        assert_eq!(Points::order(&points), 2);
        let (x, y) = polynomial(2).to_world(20.0, 10.0);
        assert!((x - 500_186.674_382_50).abs() < 1e-5 && (y - 5_599_922.115_855_02).abs() < 1e-5, "{x} {y}");
    }

    #[test]
    fn points_that_do_not_suffice_are_refused() {
        let line = points(12, |c, _| (c, 2.0 * c));
        let few = points(5, |c, r| (c, r));
        let mut odd = points(12, |c, r| (c, r));
        odd[3].x = f64::NAN;
        let flat: Vec<Gcp> = line.iter().map(|p| Gcp { row: p.column, ..p.clone() }).collect();
        for problem in [
            Points::polynomial(&few, 2).unwrap_err(),
            Points::polynomial(&odd, 1).unwrap_err(),
            Points::polynomial(&flat, 1).unwrap_err(),
            Points::surface(&flat).unwrap_err(),
            Points::surface(&few[..2]).unwrap_err(),
        ] {
            assert!(problem.to_string().contains("control point"), "{problem}");
        }
    }
}

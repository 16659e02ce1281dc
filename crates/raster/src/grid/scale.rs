//! Computes the size of a source pixel in pixels of a grid, by GDAL's rule.
//!
//! The squares of up to 10 × 10 pixels spread over the grid are placed in the source. A square that stays nearly a
//! rectangle contributes the lengths of its sides, any other the root of its area for both. The scale is the mean of
//! their inverses, without those below a tenth of the largest.

use crate::side_by_side::side_by_side;

/// Maximum number of squares in a direction.
const MOST: u32 = 10;
/// Tangent of the angle up to which a square counts as not rotated.
const MODEST: f64 = 0.35;
/// Largest relative difference of the squared lengths of opposite sides of a rectangle.
const ALIKE: f64 = 0.1;
/// Sides and areas below this count as zero.
const LEAST: f64 = 1e-10;
/// Fraction of the largest scale below which a scale is ignored.
const OUTLIER: f64 = 0.1;
/// Distance from an integer within which the inverse of a scale is rounded to it.
const NEAR_WHOLE: f64 = 0.05;

/// Returns the scale across and down. `place` maps a point of the grid to its place in the source.
pub(super) fn scale(
    size: (u32, u32),
    threads: usize,
    place: impl Fn(f64, f64) -> Option<(f64, f64)> + Sync,
) -> (f64, f64) {
    let of_place = |column: f64, row: f64| {
        let (a, b) = (place(column, row)?, place(column + 1.0, row)?);
        let (c, d) = (place(column, row + 1.0)?, place(column + 1.0, row + 1.0)?);
        of_square(a, b, c, d)
    };
    let rows: Vec<f64> = starts(size.1).collect();
    let of_row = |at: usize| {
        let row = rows.get(at).copied().unwrap_or_default();
        starts(size.0).filter_map(|column| of_place(column, row)).collect::<Vec<_>>()
    };
    let mut scales: Vec<(f64, f64)> =
        side_by_side(rows.len(), threads, of_row).into_iter().flatten().collect();
    let most =
        scales.iter().fold((0.0_f64, 0.0_f64), |most, scale| (most.0.max(scale.0), most.1.max(scale.1)));
    // In GDAL's order, for the same rounding.
    scales.sort_by(|one, other| (one.0 * one.1).total_cmp(&(other.0 * other.1)));
    let (mut mean, mut count) = ((0.0, 0.0), 0.0);
    for (x, y) in scales {
        if x > OUTLIER * most.0 && y > OUTLIER * most.1 {
            count += 1.0;
            mean = (mean.0 + (x - mean.0) * (1.0 / count), mean.1 + (y - mean.1) * (1.0 / count));
        }
    }
    (whole_inverse(mean.0), whole_inverse(mean.1))
}

/// Returns the first columns or rows of squares along a side.
fn starts(side: u32) -> impl Iterator<Item = f64> {
    let count = side.min(MOST);
    (0..count).map(move |i| {
        let last = i > 0 && i == count - 1;
        let at = if count == 1 { 0.0 } else { f64::from(i) * f64::from(side) / f64::from(count - 1) };
        if last { at - 1.0 } else { at }
    })
}

/// Returns the scale of the square with this upper left, upper right, lower left and lower right corner; `None` if it
/// has none.
fn of_square(a: (f64, f64), b: (f64, f64), c: (f64, f64), d: (f64, f64)) -> Option<(f64, f64)> {
    let side = |p: (f64, f64), q: (f64, f64)| (q.0 - p.0, q.1 - p.1);
    let square = |v: (f64, f64)| v.0 * v.0 + v.1 * v.1;
    let (upper, lower, left, right) = (side(a, b), side(c, d), side(a, c), side(b, d));
    let level = |v: (f64, f64)| v.1.abs() < MODEST * v.0;
    let alike = |one: f64, other: f64| (one - other).abs() < ALIKE * one.abs();
    if level(upper)
        && level(lower)
        && alike(square(upper), square(lower))
        && alike(square(left), square(right))
    {
        let across = (square(upper) * square(lower)).sqrt().sqrt();
        let down = (square(left) * square(right)).sqrt().sqrt();
        return (across > LEAST && down > LEAST).then(|| (1.0 / across, 1.0 / down));
    }
    let ring = [a, b, d, c];
    let twice: f64 = (0..4)
        .map(|i: usize| {
            let [one, next, before] =
                [i, (i + 1) % 4, (i + 3) % 4].map(|i| ring.get(i).copied().unwrap_or(a));
            one.0 * (next.1 - before.1)
        })
        .sum();
    let root = (0.5 * twice.abs()).sqrt();
    (root > LEAST).then(|| (1.0 / root, 1.0 / root))
}

/// Rounds a scale whose inverse is nearly an integer.
fn whole_inverse(scale: f64) -> f64 {
    if !(scale.is_finite() && scale > 0.0) {
        return 1.0;
    }
    if scale >= 1.0 {
        return scale;
    }
    let (inverse, whole) = (1.0 / scale, (1.0 / scale + 0.5).floor());
    if (inverse - whole).abs() < NEAR_WHOLE { 1.0 / whole } else { scale }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_of_the_same_and_of_coarser_pixels() {
        let halves = |x: f64, y: f64| Some((2.0 * x + 5.0, 3.02 * y - 1.0));
        assert_eq!(scale((100, 70), 2, halves), (0.5, 1.0 / 3.0));
        let turned = |x: f64, y: f64| Some((3.0 * x - 4.0 * y, 4.0 * x + 3.0 * y));
        let (across, down) = scale((7, 1), 1, turned);
        assert!((across - 0.2).abs() < 1e-12 && (down - 0.2).abs() < 1e-12);
        assert_eq!(scale((7, 7), 1, |_, _| None), (1.0, 1.0));
        let (across, down) = scale((7, 7), 1, |x, y| Some((x / 4.0, y / 4.0)));
        assert!((across - 4.0).abs() < 1e-12 && (down - 4.0).abs() < 1e-12);
    }
}

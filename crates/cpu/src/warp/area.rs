//! Computes the area of a quadrilateral in each pixel that it overlaps.
//!
//! The quadrilateral is clipped at two rows, and the rest at two columns; the area of the remainder is half the sum of
//! cross products, measured from the pixel's corner.

/// Maximum corners of a clipped polygon: a cut adds at most one per crossing, of which it has two.
const MOST: usize = 12;

/// Four corners in order.
pub(super) struct Quad([(f64, f64); 4]);

/// The part between two rows.
pub(super) struct Strip {
    polygon: Polygon,
    row: f64,
}

#[derive(Clone, Copy)]
struct Polygon {
    points: [(f64, f64); MOST],
    len: usize,
}

impl Quad {
    pub(super) fn new(corners: [(f64, f64); 4]) -> Self {
        Self(corners)
    }

    /// Clips the quadrilateral between a row and the next.
    pub(super) fn row(&self, row: f64) -> Strip {
        let mut polygon = Polygon { points: [(0.0, 0.0); MOST], len: 4 };
        for (to, (x, y)) in polygon.points.iter_mut().zip(self.0) {
            // Rows become the first coordinate.
            *to = (y, x);
        }
        Strip { polygon: polygon.above(row).below(row + 1.0), row }
    }
}

impl Strip {
    /// Returns the area in the column that begins at `column`.
    pub(super) fn area(&self, column: f64) -> f64 {
        let cut = self.polygon.swapped().above(column).below(column + 1.0);
        let mut twice = 0.0;
        let mut before = cut.points.get(cut.len.saturating_sub(1)).copied().unwrap_or_default();
        before = (before.0 - column, before.1 - self.row);
        for point in cut.points.iter().take(cut.len) {
            let point = (point.0 - column, point.1 - self.row);
            twice += before.0 * point.1 - point.0 * before.1;
            before = point;
        }
        0.5 * twice.abs()
    }
}

impl Polygon {
    fn swapped(&self) -> Self {
        Self { points: self.points.map(|(a, b)| (b, a)), len: self.len }
    }

    /// Returns the part with a first coordinate of at least `edge`.
    fn above(&self, edge: f64) -> Self {
        self.cut(edge, |at| at >= edge)
    }

    /// Returns the part with a first coordinate of at most `edge`.
    fn below(&self, edge: f64) -> Self {
        self.cut(edge, |at| at <= edge)
    }

    fn cut(&self, edge: f64, inside: impl Fn(f64) -> bool) -> Self {
        let mut cut = Self { points: [(0.0, 0.0); MOST], len: 0 };
        let mut before = self.points.get(self.len.saturating_sub(1)).copied().unwrap_or_default();
        for &point in self.points.iter().take(self.len) {
            if inside(before.0) != inside(point.0) {
                let part = (edge - before.0) / (point.0 - before.0);
                cut.push((edge, before.1 + (point.1 - before.1) * part));
            }
            if inside(point.0) {
                cut.push(point);
            }
            before = point;
        }
        cut
    }

    fn push(&mut self, point: (f64, f64)) {
        if let Some(to) = self.points.get_mut(self.len) {
            *to = point;
            self.len += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_of_pixels_add_up_to_the_area_of_all() {
        let area = |quad: &Quad, x: u32, y: u32| quad.row(f64::from(y)).area(f64::from(x));
        let square = Quad::new([(1.25, 1.5), (3.5, 1.5), (3.5, 2.25), (1.25, 2.25)]);
        assert_eq!(area(&square, 1, 1), 0.375);
        assert_eq!(area(&square, 2, 2), 0.25);
        assert_eq!(area(&square, 4, 1), 0.0);
        let turned = Quad::new([(3.0, 0.5), (5.5, 3.0), (3.0, 5.5), (0.5, 3.0)]);
        let all: f64 =
            (0..7).flat_map(|y| (0..7).map(move |x| (x, y))).map(|(x, y)| area(&turned, x, y)).sum();
        assert!((all - 12.5).abs() < 1e-12, "{all}");
        assert_eq!(area(&turned, 3, 3), 1.0);
        // A concave corner.
        let dart = Quad::new([(0.0, 0.0), (2.0, 1.0), (4.0, 0.0), (2.0, 4.0)]);
        let all: f64 = (0..5).flat_map(|y| (0..5).map(move |x| (x, y))).map(|(x, y)| area(&dart, x, y)).sum();
        assert!((all - 6.0).abs() < 1e-12, "{all}");
    }
}

//! Which pixels of a cell have been given, and that none is given twice.

use crate::Window;

/// Disjoint rectangles inside a cell of `width` × `height` pixels.
#[derive(Debug, Default)]
pub(crate) struct Coverage {
    parts: Vec<Window>,
    pixels: u64,
}

impl Coverage {
    /// Whether some of a rectangle is covered already.
    pub(crate) fn meets(&self, part: &Window) -> bool {
        self.parts.iter().any(|held| held.intersection(part).is_some())
    }

    /// Adds a rectangle that meets none before.
    pub(crate) fn add(&mut self, part: Window) {
        self.pixels += u64::from(part.width) * u64::from(part.height);
        // What comes by rows or by columns, were it pixel by pixel, stays a few rectangles.
        let mut grown = part;
        while let Some(joined) = self.parts.last().and_then(|last| joined(last, &grown)) {
            self.parts.pop();
            grown = joined;
        }
        self.parts.push(grown);
    }

    /// What is covered, as few rectangles.
    pub(crate) fn parts(&self) -> &[Window] {
        &self.parts
    }

    /// Pixels covered.
    pub(crate) fn pixels(&self) -> u64 {
        self.pixels
    }
}

/// The rectangle that two make where the second lies right of the first, or below it, side by side.
fn joined(first: &Window, second: &Window) -> Option<Window> {
    let below = first.column == second.column
        && first.width == second.width
        && first.row + first.height == second.row;
    let right = first.row == second.row
        && first.height == second.height
        && first.column + first.width == second.column;
    if below {
        return Some(Window { height: first.height + second.height, ..*first });
    }
    right.then(|| Window { width: first.width + second.width, ..*first })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_merge_and_overlaps_are_refused() {
        let mut coverage = Coverage::default();
        let row = |y| Window::new(0, y, 8, 1);
        (0..5).for_each(|y| coverage.add(row(y)));
        assert_eq!((coverage.parts.len(), coverage.pixels()), (1, 40));
        assert!(coverage.meets(&Window::new(7, 4, 4, 4)));
        let beside = Window::new(8, 4, 4, 4);
        assert!(!coverage.meets(&beside));
        coverage.add(beside);
        assert_eq!(coverage.pixels(), 56);
    }

    /// Were every pixel kept apart, a cell given pixel by pixel would take time that grows with its square.
    #[test]
    fn single_pixels_merge() {
        let pixel = |x, y| Window::new(x, y, 1, 1);
        let mut coverage = Coverage::default();
        for (x, y) in (0..9).flat_map(|y| (0..7).map(move |x| (x, y))) {
            assert!(!coverage.meets(&pixel(x, y)));
            coverage.add(pixel(x, y));
            assert!(coverage.parts.len() <= 2);
        }
        assert_eq!((coverage.parts.len(), coverage.pixels()), (1, 63));
        assert!(coverage.meets(&pixel(3, 8)));
        let mut columns = Coverage::default();
        for (x, y) in (0..7).flat_map(|x| (0..9).map(move |y| (x, y))) {
            columns.add(pixel(x, y));
        }
        assert_eq!(columns.parts.len(), 1);
    }
}

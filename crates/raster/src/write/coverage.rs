//! Records which pixels of a cell have been given, and detects those given twice.

use crate::Window;

/// Disjoint rectangles inside a cell of `width` × `height` pixels.
#[derive(Debug, Default)]
pub(crate) struct Coverage {
    parts: Vec<Window>,
    pixels: u64,
}

impl Coverage {
    /// Returns whether some of a rectangle is already covered.
    pub(crate) fn meets(&self, part: &Window) -> bool {
        self.parts.iter().any(|held| held.intersection(part).is_some())
    }

    /// Adds a rectangle that overlaps no previous one.
    pub(crate) fn add(&mut self, part: Window) {
        self.pixels += u64::from(part.width) * u64::from(part.height);
        // Input by rows or by columns, even pixel by pixel, stays a few rectangles.
        let mut grown = part;
        while let Some(joined) = self.parts.last().and_then(|last| joined(last, &grown)) {
            self.parts.pop();
            grown = joined;
        }
        self.parts.push(grown);
    }

    /// Returns the covered area as few rectangles.
    pub(crate) fn parts(&self) -> &[Window] {
        &self.parts
    }

    /// Returns the number of covered pixels.
    pub(crate) fn pixels(&self) -> u64 {
        self.pixels
    }
}

/// Returns the union of two rectangles if the second lies directly right of the first, or directly below it.
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

    /// If every pixel were kept separately, the time for a cell given pixel by pixel would grow quadratically.
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

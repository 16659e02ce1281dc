//! Which pixels of a cell have been given, and that none is given twice.

use crate::Window;

/// Disjoint rectangles inside a cell of `width` × `height` pixels.
#[derive(Debug, Default)]
pub(crate) struct Coverage {
    parts: Vec<Window>,
    pixels: u64,
}

impl Coverage {
    /// Adds a rectangle; `false` where some of it is covered already.
    pub(crate) fn add(&mut self, part: Window) -> bool {
        if self.parts.iter().any(|held| held.intersection(&part).is_some()) {
            return false;
        }
        self.pixels += u64::from(part.width) * u64::from(part.height);
        // Rows that come one after the other stay one rectangle, so that a cell filled row by row holds one.
        match self.parts.last_mut() {
            Some(last) if last.x == part.x && last.width == part.width && last.y + last.height == part.y => {
                last.height += part.height;
            }
            _ => self.parts.push(part),
        }
        true
    }

    /// Pixels covered.
    pub(crate) fn pixels(&self) -> u64 {
        self.pixels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_merge_and_overlaps_are_refused() {
        let mut coverage = Coverage::default();
        let row = |y| Window { x: 0, y, width: 8, height: 1 };
        assert!((0..5).all(|y| coverage.add(row(y))));
        assert_eq!((coverage.parts.len(), coverage.pixels()), (1, 40));
        assert!(!coverage.add(Window { x: 7, y: 4, width: 4, height: 4 }));
        assert!(coverage.add(Window { x: 8, y: 4, width: 4, height: 4 }));
        assert_eq!(coverage.pixels(), 56);
    }
}

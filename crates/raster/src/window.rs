//! Pixel windows and their intersections.

use std::ops::Range;
use strile_engine::Turn;
use strile_tiff::BlockGrid;

/// A rectangle of pixels: column, row, width and height, always in this order. It may be empty. It ends before 2^32 in
/// both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// First column.
    pub column: u32,
    /// First row.
    pub row: u32,
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

impl Window {
    /// Returns the window that begins at a column and a row.
    pub const fn new(column: u32, row: u32, width: u32, height: u32) -> Self {
        Self { column, row, width, height }
    }

    /// Returns the window that covers an image of this size.
    pub fn full(width: u32, height: u32) -> Self {
        Self::new(0, 0, width, height)
    }

    /// Returns whether it lies inside an image of this size and has at least one pixel.
    pub fn is_inside(&self, width: u32, height: u32) -> bool {
        let fits = |start: u32, len: u32, size: u32| {
            len >= 1 && start.checked_add(len).is_some_and(|end| end <= size)
        };
        fits(self.column, self.width, width) && fits(self.row, self.height, height)
    }

    /// Returns the common part of both; `None` if there is none.
    pub fn intersection(&self, other: &Self) -> Option<Self> {
        let meet = |a: u32, a_len: u32, b: u32, b_len: u32| {
            let start = a.max(b);
            let end = (u64::from(a) + u64::from(a_len)).min(u64::from(b) + u64::from(b_len));
            let len = u32::try_from(end.checked_sub(u64::from(start))?).ok()?;
            (len > 0).then_some((start, len))
        };
        let (column, width) = meet(self.column, self.width, other.column, other.width)?;
        let (row, height) = meet(self.row, self.height, other.row, other.height)?;
        Some(Self { column, row, width, height })
    }

    /// Returns the pixels of the stored image, of this width and height, that this window of the turned image shows.
    #[must_use]
    pub fn stored(self, orientation: u8, (width, height): (u32, u32)) -> Self {
        let turn = Turn::of_orientation(orientation);
        let Self { column, row, width: columns, height: rows } = self;
        let (column, row, columns, rows) =
            if turn.swap { (row, column, rows, columns) } else { (column, row, columns, rows) };
        let flipped = |is: bool, side: u32, start: u32, len: u32| {
            if is { side.saturating_sub(start.saturating_add(len)) } else { start }
        };
        let column = flipped(turn.flip_columns, width, column, columns);
        Self::new(column, flipped(turn.flip_rows, height, row, rows), columns, rows)
    }

    /// Returns the parts of it above, below, left and right of `inner`, which lies in it.
    pub(crate) fn around(&self, inner: &Self) -> impl Iterator<Item = Self> + use<> {
        let (right, bottom) = (inner.column + inner.width, inner.row + inner.height);
        let sides = [
            Self { height: inner.row - self.row, ..*self },
            Self { row: bottom, height: self.row + self.height - bottom, ..*self },
            Self { column: self.column, width: inner.column - self.column, ..*inner },
            Self { column: right, width: self.column + self.width - right, ..*inner },
        ];
        sides.into_iter().filter(|side| side.width > 0 && side.height > 0)
    }

    /// Returns the columns of blocks that the window touches. It must lie inside the image.
    pub fn block_columns(&self, grid: &BlockGrid) -> Range<u32> {
        let last = self.column + (self.width - 1);
        self.column / grid.block_width..last / grid.block_width + 1
    }

    /// Returns the rows of blocks that the window touches. It must lie inside the image.
    pub fn block_rows(&self, grid: &BlockGrid) -> Range<u32> {
        let last = self.row + (self.height - 1);
        self.row / grid.block_height..last / grid.block_height + 1
    }
}

impl std::fmt::Display for Window {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{},{},{},{}", self.column, self.row, self.width, self.height)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first pixel of a turned image according to the TIFF specification, and its neighbour to the right.
    #[test]
    fn windows_of_turned_images_are_found_in_the_stored_one() {
        let corners = [(0, 0), (4, 0), (4, 2), (0, 2), (0, 0), (0, 2), (4, 2), (4, 0)];
        let beside = [(1, 0), (3, 0), (3, 2), (1, 2), (0, 1), (0, 1), (4, 1), (4, 1)];
        for (orientation, (corner, beside)) in (1..).zip(corners.into_iter().zip(beside)) {
            let at = |column, row| Window::new(column, row, 1, 1).stored(orientation, (5, 3));
            assert_eq!(at(0, 0), Window::new(corner.0, corner.1, 1, 1), "{orientation}");
            assert_eq!(at(1, 0), Window::new(beside.0, beside.1, 1, 1), "{orientation}");
            let (columns, rows) = Turn::of_orientation(orientation).size((5, 3));
            let whole = Window::full(columns, rows).stored(orientation, (5, 3));
            assert_eq!(whole, Window::full(5, 3), "{orientation}");
        }
    }
}

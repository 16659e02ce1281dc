//! Pixel windows and their intersections.

use std::ops::Range;
use strile_tiff::BlockGrid;

/// A rectangle of pixels: column, row, width and height, in this order everywhere. It may be empty. It ends before 2^32 in
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

    /// Whether it lies inside an image of this size and has at least one pixel.
    pub fn is_inside(&self, width: u32, height: u32) -> bool {
        let fits = |start: u32, len: u32, size: u32| {
            len >= 1 && start.checked_add(len).is_some_and(|end| end <= size)
        };
        fits(self.column, self.width, width) && fits(self.row, self.height, height)
    }

    /// The part that both have; `None` where there is none.
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

    /// The parts of it above, below, left and right of `inner`, which lies in it.
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

    /// Columns of blocks that the window, inside the image, touches.
    pub fn block_columns(&self, grid: &BlockGrid) -> Range<u32> {
        let last = self.column + (self.width - 1);
        self.column / grid.block_width..last / grid.block_width + 1
    }

    /// Rows of blocks that the window, inside the image, touches.
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

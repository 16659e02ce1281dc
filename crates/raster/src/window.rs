//! Pixel windows and their intersections.

use std::ops::Range;
use strile_tiff::BlockGrid;

/// A rectangle of pixels. It may be empty, and it may not pass 2^32 in either direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// First column.
    pub x: u32,
    /// First row.
    pub y: u32,
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

impl Window {
    /// The whole of an image.
    pub fn full(width: u32, height: u32) -> Self {
        Self { x: 0, y: 0, width, height }
    }

    /// Whether it lies inside an image of this size and has at least one pixel.
    pub fn is_inside(&self, width: u32, height: u32) -> bool {
        let fits = |start: u32, len: u32, size: u32| {
            len >= 1 && start.checked_add(len).is_some_and(|end| end <= size)
        };
        fits(self.x, self.width, width) && fits(self.y, self.height, height)
    }

    /// The part that both have; `None` where there is none.
    pub fn intersection(&self, other: &Self) -> Option<Self> {
        let meet = |a: u32, a_len: u32, b: u32, b_len: u32| {
            let start = a.max(b);
            let end = (u64::from(a) + u64::from(a_len)).min(u64::from(b) + u64::from(b_len));
            let len = u32::try_from(end.checked_sub(u64::from(start))?).ok()?;
            (len > 0).then_some((start, len))
        };
        let (x, width) = meet(self.x, self.width, other.x, other.width)?;
        let (y, height) = meet(self.y, self.height, other.y, other.height)?;
        Some(Self { x, y, width, height })
    }

    /// The parts of it above, below, left and right of `inner`, which lies in it.
    pub(crate) fn around(&self, inner: &Self) -> impl Iterator<Item = Self> + use<> {
        let (right, bottom) = (inner.x + inner.width, inner.y + inner.height);
        let sides = [
            Self { height: inner.y - self.y, ..*self },
            Self { y: bottom, height: self.y + self.height - bottom, ..*self },
            Self { x: self.x, width: inner.x - self.x, ..*inner },
            Self { x: right, width: self.x + self.width - right, ..*inner },
        ];
        sides.into_iter().filter(|side| side.width > 0 && side.height > 0)
    }

    /// Columns of blocks that the window, inside the image, touches.
    pub fn block_columns(&self, grid: &BlockGrid) -> Range<u32> {
        let last = self.x + (self.width - 1);
        self.x / grid.block_width..last / grid.block_width + 1
    }

    /// Rows of blocks that the window, inside the image, touches.
    pub fn block_rows(&self, grid: &BlockGrid) -> Range<u32> {
        let last = self.y + (self.height - 1);
        self.y / grid.block_height..last / grid.block_height + 1
    }
}

impl std::fmt::Display for Window {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{},{},{},{}", self.x, self.y, self.width, self.height)
    }
}

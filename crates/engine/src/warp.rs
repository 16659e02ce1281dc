//! Warping: windows of a source put onto a grid. Describes jobs and their arithmetic, which is bit-identical in every
//! engine. `warp.md` beside this file specifies each method.
//!
//! A window of the grid is made from a *sheet*: the part of the source that was decoded for it. A map assigns a source
//! position to each pixel. Pixels without a value become the fill value or stay unchanged.

mod job;
mod map;
mod sampling;
mod under;

pub use job::{WarpBlend, WarpJob, WarpWindow};
pub use map::{PixelPoint, WarpMap, WarpMapParts, WarpPoints};
pub use sampling::{WarpRule, WarpSampling};

/// A rectangle of pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WarpRect {
    /// First column.
    pub column: u32,
    /// First row.
    pub row: u32,
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

impl WarpRect {
    /// Returns the rectangle that begins at a column and a row.
    pub const fn new(column: u32, row: u32, width: u32, height: u32) -> Self {
        Self { column, row, width, height }
    }

    /// Returns whether it lies within `columns` × `rows` pixels.
    pub fn is_within(&self, (columns, rows): (u32, u32)) -> bool {
        let fits = |start: u32, len: u32, size: u32| start.checked_add(len).is_some_and(|end| end <= size);
        fits(self.column, self.width, columns) && fits(self.row, self.height, rows)
    }

    /// Returns whether `other` lies in it.
    pub fn contains(&self, other: &Self) -> bool {
        let within = |start: u32, len: u32, from: u32, size: u32| {
            from <= start && u64::from(start) + u64::from(len) <= u64::from(from) + u64::from(size)
        };
        within(other.column, other.width, self.column, self.width)
            && within(other.row, other.height, self.row, self.height)
    }
}

//! What a read onto a grid makes.

use crate::grid::Grid;
use crate::window::Window;
use std::ops::Range;

/// Pixels of a grid: those of a read, or one window of a batch.
pub(super) struct Chip {
    pub(super) grid: Grid,
    /// The pixels of the grid that are made.
    pub(super) window: Window,
    /// The files that are put there, from the lowest to the one on top.
    pub(super) files: Range<usize>,
}

//! What a read onto a grid makes.

use crate::file::input::InputRef;
use crate::grid::{Grid, Outline, Polygon};
use crate::window::Window;
use std::ops::Range;
use std::sync::Arc;

/// Pixels of a grid: those of a read, or one window of a batch.
pub(super) struct Chip {
    pub(super) grid: Grid,
    /// The pixels of the grid that are made.
    pub(super) window: Window,
    /// The files that are put there, from the lowest to the one on top.
    pub(super) files: Range<usize>,
    /// The polygon that it is clipped by.
    pub(super) outline: Option<Outline>,
}

/// One window of a batch that is put onto a grid.
pub(crate) struct WantedChip<'a> {
    pub(crate) input: InputRef<'a>,
    pub(crate) grid: Grid,
    /// The level that is read, instead of the one of the options.
    pub(crate) level: Option<usize>,
    /// The polygon that it is clipped by.
    pub(crate) polygon: Option<Arc<Polygon>>,
}

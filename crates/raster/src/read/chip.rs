//! The results of a read onto a grid.

use crate::file::input::InputRef;
use crate::grid::{Grid, Outline, Polygon};
use crate::window::Window;
use std::ops::Range;
use std::sync::Arc;

/// Pixels of a grid: the result of a read, or one window of a batch.
pub(super) struct Chip {
    pub(super) grid: Grid,
    /// The pixels of the grid that are computed.
    pub(super) window: Window,
    /// The files that are warped onto it, from the lowest to the top one.
    pub(super) files: Range<usize>,
    /// The polygon that clips it.
    pub(super) outline: Option<Outline>,
}

/// A window of a batch that is warped onto a grid.
pub(crate) struct WantedChip<'a> {
    pub(crate) input: InputRef<'a>,
    pub(crate) grid: Grid,
    /// The level to read, instead of the one of the options.
    pub(crate) level: Option<usize>,
    /// The polygon that clips it.
    pub(crate) polygon: Option<Arc<Polygon>>,
}

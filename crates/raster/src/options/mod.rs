//! Options of reads, and their defaults.

mod execution;
mod layout;
mod meaning;
mod place;
mod setters;

pub use execution::{DirectIo, Execution, Nvcomp, OnFault, Processor};
pub use layout::{Interleave, Layout};
pub use meaning::{FloatType, LookFor, Meaning};
pub use place::{Layer, Place};
pub(crate) use setters::{execution_setters, limits, optional, passed_on, setters};

use crate::Window;
use crate::grid::{Grid, WarpOptions};

/// Says which pixels to read, how to convert and order them, and how to carry out the read. All fields have defaults.
/// The setters of the parts are also setters of `ReadOptions`.
///
/// ```
/// use strile::{ReadOptions, Window};
///
/// let options = ReadOptions::new().level(1).window(Window::new(0, 0, 256, 256)).masked(true);
/// assert_eq!(options.place.level, 1);
/// assert!(options.meaning.masked);
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Which pixels are read.
    pub place: Place,
    /// How stored values are converted.
    pub meaning: Meaning,
    /// How pixels are ordered in the result.
    pub layout: Layout,
    /// How the read is carried out.
    pub execution: Execution,
}

impl ReadOptions {
    /// Returns the options that read all of the first page at full resolution.
    pub fn new() -> Self {
        Self::default()
    }

    /// Warps the pixels onto a grid of another size, place or reference system. See [`grid`](crate::grid).
    ///
    /// [`WarpOptions::level`] chooses the level of the file; `level` and `reduce` must be 0. A pixel of the result is missing
    /// if no valid pixel of the file lies under it.
    #[must_use]
    pub fn onto(mut self, grid: Grid, warp: WarpOptions) -> Self {
        self.place = self.place.onto(grid, warp);
        self
    }

    setters! {
        /// Sets which pixels are read.
        place: Place,
        /// Sets how stored values are converted.
        meaning: Meaning,
        /// Sets how pixels are ordered in the result.
        layout: Layout,
        /// Sets how the read is carried out.
        execution: Execution,
    }

    passed_on! {
        /// Reads this page, counted from 0.
        place: page: usize,
        /// Reads this resolution level; 0 is full resolution.
        place: level: usize,
        /// Decodes at 1/2ⁿ of full resolution (JPEG 2000 only).
        place: reduce: u8,
        /// Reads this window of the level. `None` reads the whole level.
        place: window: impl Into<Option<Window>>,
        /// Reads these bands in this order, counted from 1.
        place: bands: impl IntoIterator<Item = u16>,
        /// Reads the pixels or their mask.
        place: layer: Layer,
        /// Replaces missing pixels with NaN.
        meaning: masked: bool,
        /// Replaces missing pixels with NaN, and applies scale and offset.
        meaning: unpack: bool,
        /// Sets the sample type of masked or unpacked results. `None` chooses it by the stored type.
        meaning: float_type: impl Into<Option<FloatType>>,
        /// Inverts images whose 0 is white.
        meaning: invert_min_is_white: bool,
        /// Searches for a value.
        meaning: look_for: impl Into<LookFor>,
        /// Sets the order of bands.
        layout: interleave: Interleave,
        /// Rotates or mirrors the result as tag Orientation says.
        layout: apply_orientation: bool,
    }

    execution_setters!();
}

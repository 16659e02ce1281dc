//! Options of a batch, and their defaults.

use crate::grid::{Grid, Onto, WarpOptions};
use crate::options::{Execution, FloatType, LookFor, Meaning, execution_setters, limits, passed_on, setters};
use std::sync::Arc;
use strile_engine::Sampling;
use strile_tiff::gdal::NoData;

/// Says how the pixels of a batch are converted, and how the batch is read. The setters of the parts are also setters
/// of `BatchOptions`.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct BatchOptions {
    /// How stored values are converted. If `masked` or `unpack` is set, the result has floats, whether or not a file
    /// has missing pixels: `float32` if that type holds every stored value, else `float64`. With a `float_type` all
    /// samples become floats of that type, also those that are neither masked nor unpacked. `invert_min_is_white` is
    /// not available.
    pub meaning: Meaning,
    /// Value of pixels outside their image, in the type of the result. `None` is NaN if `masked` or `unpack` is set, else
    /// the file's nodata, else 0.
    pub fill: Option<NoData>,
    /// Columns and rows that every window is resampled to. `None` keeps the pixels of windows, which must then have one size.
    pub size: Option<(u32, u32)>,
    /// Resampling method, if there is a `size`.
    pub sampling: Sampling,
    /// Grid that windows are warped onto. `None` reads the pixels of the files. With a grid, areas of windows are areas of
    /// the grid: its pixels, or boxes and points in its reference system, also outside of it. With a `size` each window
    /// has that size in pixels, independent of the pixel size of the grid. Files may have any reference system.
    pub onto: Option<Arc<Onto>>,
    /// How the batch is read. Limits on samples apply to each window before it is resampled.
    pub execution: Execution,
}

impl BatchOptions {
    /// Returns the options that read stored values.
    pub fn new() -> Self {
        Self::default()
    }

    /// Warps windows onto a grid. The resampling method is that of the warp, not `sampling`.
    #[must_use]
    pub fn onto(mut self, grid: Grid, warp: WarpOptions) -> Self {
        self.onto = Some(Arc::new(Onto { grid, warp }));
        self
    }

    setters! {
        /// Sets how stored values are converted.
        meaning: Meaning,
        /// Sets the resampling method.
        sampling: Sampling,
        /// Sets how the batch is read.
        execution: Execution,
    }

    limits! {
        /// Sets the value of pixels outside their image.
        fill: NoData,
        /// Resamples every window to this many columns and rows.
        size: (u32, u32),
    }

    passed_on! {
        /// Replaces missing pixels with NaN.
        meaning: masked: bool,
        /// Replaces missing pixels with NaN, and applies scale and offset.
        meaning: unpack: bool,
        /// Sets the sample type of the result. `None` chooses it by the types of the files.
        meaning: float_type: impl Into<Option<FloatType>>,
        /// Searches for a value.
        meaning: look_for: impl Into<LookFor>,
    }

    execution_setters!();

    /// Checks for options that a batch does not support. The error is in words.
    pub(super) fn check(&self) -> Result<(), String> {
        match self.meaning.invert_min_is_white {
            true => Err("`invert_min_is_white` is not available in batches; read stored values".to_owned()),
            false => Ok(()),
        }
    }

    /// Returns whether samples become floats, whatever the files.
    pub(crate) fn converts(&self) -> bool {
        self.meaning.is_masked() || self.meaning.float_type.is_some()
    }
}

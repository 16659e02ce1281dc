//! How pixels are ordered in a result.

use super::setters::setters;

/// Order of bands in a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Interleave {
    /// Band by band: (band, row, column).
    #[default]
    BandFirst,
    /// Pixel by pixel: (row, column, band).
    BandLast,
}

/// Says how pixels are ordered in the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Layout {
    /// Order of bands.
    pub interleave: Interleave,
    /// Rotates or mirrors the result as tag Orientation says. By default pixels keep their stored order.
    pub apply_orientation: bool,
}

impl Layout {
    /// Returns the layout of bands one after the other, in stored order.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets the order of bands.
        interleave: Interleave,
        /// Rotates or mirrors the result as tag Orientation says.
        apply_orientation: bool,
    }
}

//! What the samples of a result mean.

use super::setters::{limits, setters};
use strile_tiff::gdal::NoData;

/// Sample type of masked or unpacked results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FloatType {
    /// 16 bits. Values are rounded to the nearest; values beyond 65504 become infinite.
    Float16,
    /// 32 bits.
    Float32,
    /// 64 bits.
    Float64,
}

/// Says what becomes of stored values: NaN for missing pixels, scale and offset, the sample type.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct Meaning {
    /// Replaces missing pixels with NaN. The nodata value says which pixels are missing, else the mask image, else alpha.
    /// The result is `float32` if that type holds every stored value (up to 16 bits, and 32-bit floats), else `float64`.
    /// Files without nodata, mask and alpha are returned unchanged. Bands of one VRT cannot be read together if some have a
    /// nodata value and others are masked by alpha.
    pub masked: bool,
    /// Masks like `masked`, and converts the other samples to stored × scale + offset. All bands that are read must have the
    /// same scale and offset. Files without any of these are returned unchanged.
    pub unpack: bool,
    /// Sample type of masked or unpacked results. `None` chooses it by the stored type, as `masked` says.
    pub float_type: Option<FloatType>,
    /// Inverts images whose 0 is white. By default values are returned as they are stored.
    pub invert_min_is_white: bool,
    /// Searches for a value, such as nodata, while pixels are decoded. `found` of the
    /// [report](crate::Pixels::report) says whether any band contains it. The value is compared with stored values, or with
    /// NaN if missing pixels became NaN. `found` is `None` if pixels change after they were decoded: if a mask image or
    /// alpha says which pixels are missing, in resampled batches, and in reads onto a grid.
    pub look_for: Option<NoData>,
}

impl Meaning {
    /// Returns the options that keep stored values.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the sample type of masked or unpacked results. `None` chooses it by the stored type.
    #[must_use]
    pub fn float_type(mut self, float_type: impl Into<Option<FloatType>>) -> Self {
        self.float_type = float_type.into();
        self
    }

    setters! {
        /// Replaces missing pixels with NaN.
        masked: bool,
        /// Replaces missing pixels with NaN, and applies scale and offset.
        unpack: bool,
        /// Inverts images whose 0 is white.
        invert_min_is_white: bool,
    }

    limits! {
        /// Searches for a value while pixels are decoded.
        look_for: NoData,
    }

    /// Whether missing pixels become NaN.
    pub(crate) fn is_masked(&self) -> bool {
        self.masked || self.unpack
    }
}

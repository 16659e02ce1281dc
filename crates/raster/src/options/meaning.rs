//! Conversion of stored values.

use super::setters::setters;
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

/// The value that a read searches for.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum LookFor {
    /// This value, in all bands.
    Value(NoData),
    /// The nodata value of each band: that of its file, or that of the band of a mosaic. Bands without one are not searched.
    Nodata,
}

impl From<NoData> for LookFor {
    fn from(value: NoData) -> Self {
        Self::Value(value)
    }
}

/// Says how stored values are converted: NaN for missing pixels, scale and offset, the sample type.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct Meaning {
    /// Replaces missing pixels with NaN. The nodata value says which pixels are missing, else the mask image, else alpha.
    /// The result is `float32` if that type holds every stored value (up to 16 bits, and 32-bit floats), else `float64`.
    /// Files without nodata, mask and alpha are returned unchanged. Complex samples keep their type; as in GDAL, their real
    /// part is compared with nodata.
    pub masked: bool,
    /// Masks like `masked`, and converts the other samples to stored × scale + offset. All bands that are read must have the
    /// same scale and offset. Files without any of these are returned unchanged.
    pub unpack: bool,
    /// Scale and offset of all bands for `unpack`, instead of those that the file states.
    pub scaling: Option<(f64, f64)>,
    /// Sample type of masked or unpacked results. `None` chooses it by the stored type, as `masked` says.
    pub float_type: Option<FloatType>,
    /// Inverts images whose 0 is white, floats by their sign. By default values are returned as they are stored. Nodata is
    /// compared with stored values, and scale and offset apply to inverted ones.
    pub invert_min_is_white: bool,
    /// Searches for a value, such as nodata. `found` of the [report](crate::Pixels::report) says whether any band contains it.
    /// The value is compared with stored values, or with NaN if missing pixels became NaN by a conversion: `float32` and
    /// `float64` files that are only masked are searched for the stored value. In reads onto a grid,
    /// [`LookFor::Nodata`] is the value of pixels that no file fills. Pixels are searched while they are decoded. If they
    /// change afterwards, because a mask is applied or because they are resampled or warped, the result is searched.
    pub look_for: Option<LookFor>,
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

    /// Applies this scale and offset to all bands, instead of those that the file states.
    #[must_use]
    pub fn scaling(mut self, scale: f64, offset: f64) -> Self {
        self.scaling = Some((scale, offset));
        self
    }

    /// Searches for a value.
    #[must_use]
    pub fn look_for(mut self, look_for: impl Into<LookFor>) -> Self {
        self.look_for = Some(look_for.into());
        self
    }

    /// Returns whether missing pixels become NaN.
    pub(crate) fn is_masked(&self) -> bool {
        self.masked || self.unpack
    }
}

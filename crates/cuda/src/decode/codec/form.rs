//! Sample description for kernels that write samples rather than bytes.

use strile_engine::BlockLayout;
use strile_tiff::DataType as D;

/// The last fields of a `DecodeBlock`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Form {
    /// Interleaved samples per pixel.
    pub samples: u32,
    /// `DecodeSample` of `abi.h`.
    pub sample: u32,
    /// Sample, in its low bytes, for pixels that a codec's own mask excludes: NaN, or the image's nodata value.
    pub missing: u64,
}

impl Form {
    /// The `DecodeSample` of types that kernels do not write.
    pub const OTHER: u32 = 8;

    /// Returns the form of a layout's samples.
    pub fn of(layout: &BlockLayout) -> Self {
        let [low, _] = layout.extras.fill.0.as_chunks().0 else { return Self::default() };
        let fill = u64::from_le_bytes(*low);
        let (sample, missing) = match layout.data_type {
            D::I8 => (0, fill),
            D::U8 => (1, fill),
            D::I16 => (2, fill),
            D::U16 => (3, fill),
            D::I32 => (4, fill),
            D::U32 => (5, fill),
            D::F32 => (6, f32::NAN.to_bits().into()),
            D::F64 => (7, f64::NAN.to_bits()),
            D::U64 | D::I64 | D::F16 | D::C64 | D::C128 => (Self::OTHER, 0),
        };
        Self { samples: layout.samples.into(), sample, missing }
    }
}

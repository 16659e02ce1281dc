//! Samples as 64-bit floats, for figures and pictures of them.

use strile_tiff::{DataType, from_half};

macro_rules! read {
    ($bytes:expr, $type:ty) => {
        $bytes.first_chunk().map(|raw| <$type>::from_ne_bytes(*raw)).unwrap_or_default()
    };
}

/// How a sample, or one part of a complex sample, is read as a number. 64-bit integers are rounded.
#[expect(clippy::cast_precision_loss, reason = "the nearest value is what is asked for")]
pub(crate) fn reader(data_type: DataType) -> fn(&[u8]) -> f64 {
    match data_type {
        DataType::U8 => |bytes| f64::from(read!(bytes, u8)),
        DataType::I8 => |bytes| f64::from(read!(bytes, i8)),
        DataType::U16 => |bytes| f64::from(read!(bytes, u16)),
        DataType::I16 => |bytes| f64::from(read!(bytes, i16)),
        DataType::U32 => |bytes| f64::from(read!(bytes, u32)),
        DataType::I32 => |bytes| f64::from(read!(bytes, i32)),
        DataType::U64 => |bytes| read!(bytes, u64) as f64,
        DataType::I64 => |bytes| read!(bytes, i64) as f64,
        DataType::F16 => |bytes| from_half(read!(bytes, u16)),
        DataType::F32 | DataType::C64 => |bytes| f64::from(read!(bytes, f32)),
        DataType::F64 | DataType::C128 => |bytes| read!(bytes, f64),
    }
}

/// Whether a sample has a real and an imaginary part.
pub(crate) fn is_complex(data_type: DataType) -> bool {
    matches!(data_type, DataType::C64 | DataType::C128)
}

/// Whether samples are floats, which may be NaN.
pub(crate) fn is_float(data_type: DataType) -> bool {
    use DataType as D;
    matches!(data_type, D::F16 | D::F32 | D::F64 | D::C64 | D::C128)
}

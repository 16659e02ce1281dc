//! Samples as 64-bit floats and back.

use strile::DataType;
use strile::tiff::{from_half, to_half};

macro_rules! read {
    ($bytes:expr, $type:ty) => {
        $bytes.first_chunk().map(|raw| <$type>::from_ne_bytes(*raw)).unwrap_or_default()
    };
}

/// How a sample is read as a number; a complex one by its magnitude. 64-bit integers are rounded.
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
        DataType::F32 => |bytes| f64::from(read!(bytes, f32)),
        DataType::F64 => |bytes| read!(bytes, f64),
        DataType::C64 => |bytes| {
            let (re, im) =
                (f64::from(read!(bytes, f32)), bytes.get(4..).map_or(0.0, |im| f64::from(read!(im, f32))));
            re.hypot(im)
        },
        DataType::C128 => |bytes| {
            let (re, im) = (read!(bytes, f64), bytes.get(8..).map_or(0.0, |im| read!(im, f64)));
            re.hypot(im)
        },
    }
}

/// How a number is stored as a sample: rounded to the nearest, and within the type.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded and saturated, NaN becomes 0"
)]
pub(crate) fn writer(data_type: DataType) -> fn(f64, &mut Vec<u8>) {
    match data_type {
        DataType::U8 => |value, into| into.push(value.round() as u8),
        DataType::I8 => |value, into| into.extend((value.round() as i8).to_ne_bytes()),
        DataType::U16 => |value, into| into.extend((value.round() as u16).to_ne_bytes()),
        DataType::I16 => |value, into| into.extend((value.round() as i16).to_ne_bytes()),
        DataType::U32 => |value, into| into.extend((value.round() as u32).to_ne_bytes()),
        DataType::I32 => |value, into| into.extend((value.round() as i32).to_ne_bytes()),
        DataType::U64 => |value, into| into.extend((value.round() as u64).to_ne_bytes()),
        DataType::I64 => |value, into| into.extend((value.round() as i64).to_ne_bytes()),
        DataType::F16 => |value, into| into.extend(to_half(value).to_ne_bytes()),
        DataType::F32 | DataType::C64 => |value, into| into.extend((value as f32).to_ne_bytes()),
        DataType::F64 | DataType::C128 => |value, into| into.extend(value.to_ne_bytes()),
    }
}

/// Whether samples are complex.
pub(crate) fn is_complex(data_type: DataType) -> bool {
    matches!(data_type, DataType::C64 | DataType::C128)
}

/// Whether samples are integers.
pub(crate) fn is_integer(data_type: DataType) -> bool {
    use DataType as D;
    matches!(data_type, D::U8 | D::I8 | D::U16 | D::I16 | D::U32 | D::I32 | D::U64 | D::I64)
}

/// Samples of one band or more as numbers.
pub(crate) fn numbers(pixels: &[u8], data_type: DataType) -> impl Iterator<Item = f64> + Clone {
    pixels.chunks_exact(data_type.size()).map(reader(data_type))
}

/// A number as a byte: rounded, and within 0 to 255.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded and saturated, NaN becomes 0"
)]
pub(crate) fn byte(value: f64) -> u8 {
    (value + 0.5) as u8
}

//! Types of samples; samples as 64-bit floats and back, for figures and pictures of them.
//!
//! ```
//! use strile::DataType;
//! use strile::number::{numbers, writer};
//!
//! let mut samples = Vec::new();
//! writer(DataType::U16)(7.4, &mut samples);
//! assert_eq!(numbers(&samples, DataType::U16).collect::<Vec<_>>(), [7.0]);
//! ```

pub use crate::pixels::Sample;

use strile_tiff::{DataType, from_half, to_half};

macro_rules! read {
    ($bytes:expr, $type:ty) => {
        $bytes.first_chunk().map(|raw| <$type>::from_ne_bytes(*raw)).unwrap_or_default()
    };
}

/// Returns how a sample, or one part of a complex sample, is read as a number. 64-bit integers are rounded.
#[expect(clippy::cast_precision_loss, reason = "the nearest value is what is asked for")]
pub fn reader(data_type: DataType) -> fn(&[u8]) -> f64 {
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

/// Returns how a sample is read as one number: a complex one by its magnitude.
pub fn magnitude(data_type: DataType) -> fn(&[u8]) -> f64 {
    match data_type {
        DataType::C64 => |bytes| {
            let read = reader(DataType::C64);
            read(bytes).hypot(bytes.get(4..).map_or(0.0, read))
        },
        DataType::C128 => |bytes| {
            let read = reader(DataType::C128);
            read(bytes).hypot(bytes.get(8..).map_or(0.0, read))
        },
        real => reader(real),
    }
}

/// Returns samples of one band or more as numbers, complex ones by their magnitude.
pub fn numbers(samples: &[u8], data_type: DataType) -> impl Iterator<Item = f64> + Clone {
    samples.chunks_exact(data_type.size()).map(magnitude(data_type))
}

/// Returns how a number is stored as a sample, or as one part of a complex sample: rounded to the nearest, and within the type. NaN
/// is 0 as an integer.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded and saturated, NaN becomes 0"
)]
pub fn writer(data_type: DataType) -> fn(f64, &mut Vec<u8>) {
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

/// Returns whether a sample has a real and an imaginary part.
pub fn is_complex(data_type: DataType) -> bool {
    matches!(data_type, DataType::C64 | DataType::C128)
}

/// Returns whether samples are floats, which may be NaN.
pub fn is_float(data_type: DataType) -> bool {
    use DataType as D;
    matches!(data_type, D::F16 | D::F32 | D::F64 | D::C64 | D::C128)
}

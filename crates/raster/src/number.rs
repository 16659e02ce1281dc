//! Types of samples, and conversion of samples to 64-bit floats and back, for statistics and pictures.
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

use crate::error::Result;
use strile_engine::memory::try_with_capacity;
use strile_tiff::{DataType, from_half, to_half};

macro_rules! read {
    ($bytes:expr, $type:ty) => {
        $bytes.first_chunk().map(|raw| <$type>::from_ne_bytes(*raw)).unwrap_or_default()
    };
}

/// Returns a function that reads a sample, or one part of a complex sample, as a number. 64-bit integers are rounded.
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

/// Converts samples in native byte order to little-endian.
pub fn to_little_endian(samples: &mut [u8], data_type: DataType) {
    if cfg!(target_endian = "big") {
        swap(samples, data_type);
    }
}

/// Converts samples in native byte order to big-endian.
pub fn to_big_endian(samples: &mut [u8], data_type: DataType) {
    if cfg!(target_endian = "little") {
        swap(samples, data_type);
    }
}

fn swap(samples: &mut [u8], data_type: DataType) {
    let unit = match data_type {
        DataType::C64 | DataType::C128 => data_type.size() / 2,
        _ => data_type.size(),
    };
    if unit > 1 {
        samples.chunks_exact_mut(unit).for_each(<[u8]>::reverse);
    }
}

/// Returns a function that reads a sample as one number: a complex sample by its magnitude.
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

/// Returns the samples of one or more bands as numbers, complex samples by their magnitude.
pub fn numbers(samples: &[u8], data_type: DataType) -> impl Iterator<Item = f64> + Clone {
    samples.chunks_exact(data_type.size()).map(magnitude(data_type))
}

/// Returns a function that appends a number as a sample, or as one part of a complex sample: rounded to the nearest,
/// and clamped to the type. NaN becomes 0 in integers.
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

/// Converts samples to another type, as GDAL does: floats are rounded (halves away from 0), values outside the range of
/// the type are clamped, NaN becomes 0 in integers, and complex numbers lose their imaginary part in real types.
///
/// ```
/// use strile::DataType;
/// use strile::number::converted;
///
/// let floats: Vec<u8> = [-3.5f32, 254.5, f32::NAN].iter().flat_map(|value| value.to_ne_bytes()).collect();
/// assert_eq!(converted(&floats, DataType::F32, DataType::U8)?, [0, 255, 0]);
/// # Ok::<(), strile::Error>(())
/// ```
///
/// # Errors
/// If there is no memory for them.
pub fn converted(samples: &[u8], from: DataType, to: DataType) -> Result<Vec<u8>> {
    let len = (samples.len() / from.size()).saturating_mul(to.size());
    let mut into = try_with_capacity(len, "the converted samples")?;
    let (read, write) = (reader(from), writer(to));
    for sample in samples.chunks_exact(from.size()) {
        match whole(sample, from) {
            Some(number) => write_whole(number, to, &mut into),
            None => write(read(sample), &mut into),
        }
        if is_complex(to) {
            let imaginary = sample.get(from.size() / 2..).filter(|_| is_complex(from));
            write(imaginary.map_or(0.0, read), &mut into);
        }
    }
    Ok(into)
}

/// Returns an integer sample exactly: it may have more digits than a 64-bit float. `None` for other types.
fn whole(sample: &[u8], data_type: DataType) -> Option<i128> {
    match data_type {
        DataType::U64 => Some(read!(sample, u64).into()),
        DataType::I64 => Some(read!(sample, i64).into()),
        _ => None,
    }
}

/// Writes a number as the nearest sample, rounded once.
#[expect(clippy::cast_precision_loss, reason = "the nearest value is what is asked for")]
fn write_whole(number: i128, to: DataType, into: &mut Vec<u8>) {
    match to {
        DataType::U64 => {
            let number = u64::try_from(number.max(0)).unwrap_or(u64::MAX);
            into.extend(number.to_ne_bytes());
        }
        DataType::I64 => into.extend(i64::try_from(number).unwrap_or(i64::MAX).to_ne_bytes()),
        DataType::F32 | DataType::C64 => into.extend((number as f32).to_ne_bytes()),
        _ => writer(to)(number as f64, into),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<T: bytemuck::Pod>(numbers: &[T]) -> Vec<u8> {
        bytemuck::cast_slice(numbers).to_vec()
    }

    #[test]
    fn samples_are_converted_as_gdal_does() {
        let (i64s, u64s) = (bytes(&[-1i64, (1 << 53) + 1]), bytes(&[u64::MAX, (1 << 53) + 1]));
        assert_eq!(converted(&i64s, DataType::I64, DataType::U64).unwrap(), bytes(&[0u64, (1 << 53) + 1]));
        assert_eq!(
            converted(&u64s, DataType::U64, DataType::I64).unwrap(),
            bytes(&[i64::MAX, (1 << 53) + 1])
        );
        assert_eq!(converted(&u64s, DataType::U64, DataType::U8).unwrap(), [255, 255]);
        // Rounded once. Converted by way of 64-bit floats it would be 2^60.
        let halves = bytes(&[(1i64 << 60) + (1 << 36) + 1]);
        let expected = bytes(&[(1u64 << 60) as f32 + (1u64 << 37) as f32]);
        assert_eq!(converted(&halves, DataType::I64, DataType::F32).unwrap(), expected);
        let floats = bytes(&[2.5f64, -2.5, f64::NAN, f64::INFINITY, -1e300]);
        let expected = bytes(&[3i16, -3, 0, i16::MAX, i16::MIN]);
        assert_eq!(converted(&floats, DataType::F64, DataType::I16).unwrap(), expected);
        let complex = bytes(&[1.5f32, -2.0]);
        assert_eq!(converted(&complex, DataType::C64, DataType::F64).unwrap(), bytes(&[1.5f64]));
        assert_eq!(converted(&complex, DataType::C64, DataType::C128).unwrap(), bytes(&[1.5f64, -2.0]));
        assert_eq!(converted(&bytes(&[7u8]), DataType::U8, DataType::C64).unwrap(), bytes(&[7.0f32, 0.0]));
    }

    #[test]
    fn halves_of_complex_samples_are_swapped_apart() {
        let mut bytes: Vec<u8> = (0..8).collect();
        swap(&mut bytes, DataType::C64);
        assert_eq!(bytes, [3, 2, 1, 0, 7, 6, 5, 4]);
    }
}

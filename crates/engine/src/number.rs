//! A sample as a number, and the conversion between sample types by GDAL's rules.
//!
//! Integers are clamped; floats are rounded half away from zero in their own precision, then clamped; NaN becomes 0 in
//! integer types; complex samples lose their imaginary part in real types. A NaN that is written is always canonical,
//! because engines differ in the bits of other NaNs.

use strile_tiff::{DataType, from_half};

/// The value of a sample, in its own precision.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// Integer.
    Integer(i128),
    /// 32-bit float.
    Single(f32),
    /// 64-bit float.
    Double(f64),
}

impl Number {
    /// Returns the nearest double.
    #[expect(clippy::cast_precision_loss, reason = "the nearest value is what is asked for")]
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Integer(v) => v as f64,
            Self::Single(v) => f64::from(v),
            Self::Double(v) => v,
        }
    }

    /// Returns the nearest single; infinity beyond the largest.
    #[expect(clippy::cast_precision_loss, reason = "the nearest value is what is asked for")]
    pub fn as_f32(self) -> f32 {
        match self {
            Self::Integer(v) => v as f32,
            Self::Single(v) => v,
            Self::Double(v) => single(v),
        }
    }

    /// Returns whether both are equal within a tolerance in the last digits, as GDAL compares reals with nodata. NaN
    /// never matches.
    pub fn is_near(self, other: Self) -> bool {
        match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => a == b,
            (Self::Single(a), Self::Single(b)) => {
                a == b || (a - b).abs() < f32::EPSILON * (a + b).abs() * 2.0
            }
            (a, b) => {
                let (a, b) = (a.as_f64(), b.as_f64());
                a == b || (a - b).abs() < f64::from(f32::EPSILON) * (a + b).abs() * 2.0
            }
        }
    }

    /// Returns whether the value of a sample is nodata, as in GDAL's masks: integers exactly, reals with a tolerance in
    /// the last digits of their own precision, and NaN matches every NaN.
    pub fn is_nodata(self, nodata: f64) -> bool {
        match self {
            Self::Integer(_) => self.as_f64() == nodata,
            Self::Single(value) if value.is_nan() => nodata.is_nan(),
            Self::Double(value) if value.is_nan() => nodata.is_nan(),
            Self::Single(_) => self.is_near(Self::Single(Self::Double(nodata).as_f32())),
            Self::Double(_) => self.is_near(Self::Double(nodata)),
        }
    }

    /// Returns the value as an integer clamped to `low` and `high`.
    #[expect(clippy::cast_possible_truncation, reason = "float casts saturate, then the range is applied")]
    fn as_integer(self, low: i128, high: i128) -> i128 {
        let rounded = match self {
            Self::Integer(v) => v,
            // Half is added in the precision of the value, as GDAL does; NaN becomes 0.
            Self::Single(v) => (if v > 0.0 { v + 0.5 } else { v - 0.5 }) as i128,
            Self::Double(v) => (if v > 0.0 { v + 0.5 } else { v - 0.5 }) as i128,
        };
        rounded.clamp(low, high)
    }
}

/// Beyond the largest single there is only infinity.
#[expect(
    clippy::cast_possible_truncation,
    reason = "rounding to the precision of the samples is the purpose"
)]
fn single(v: f64) -> f32 {
    if v.abs() > f64::from(f32::MAX) { f32::INFINITY.copysign(v as f32) } else { v as f32 }
}

/// Returns the reader for samples of a type: real and imaginary part from exactly `data_type.size()` bytes.
pub fn reader(data_type: DataType) -> fn(&[u8]) -> (Number, Number) {
    macro_rules! real {
        ($type:ty, $number:expr) => {
            |bytes: &[u8]| {
                let value = bytes.first_chunk().map_or_else(Default::default, |b| <$type>::from_ne_bytes(*b));
                ($number(value), Number::Integer(0))
            }
        };
    }
    macro_rules! complex {
        ($type:ty, $number:expr) => {
            |bytes: &[u8]| {
                let part =
                    |b: Option<&[u8; size_of::<$type>()]>| b.map_or(0.0, |b| <$type>::from_ne_bytes(*b));
                ($number(part(bytes.first_chunk())), $number(part(bytes.last_chunk())))
            }
        };
    }
    match data_type {
        DataType::U8 => real!(u8, |v| Number::Integer(i128::from(v))),
        DataType::I8 => real!(i8, |v| Number::Integer(i128::from(v))),
        DataType::U16 => real!(u16, |v| Number::Integer(i128::from(v))),
        DataType::I16 => real!(i16, |v| Number::Integer(i128::from(v))),
        DataType::U32 => real!(u32, |v| Number::Integer(i128::from(v))),
        DataType::I32 => real!(i32, |v| Number::Integer(i128::from(v))),
        DataType::U64 => real!(u64, |v| Number::Integer(i128::from(v))),
        DataType::I64 => real!(i64, |v| Number::Integer(i128::from(v))),
        DataType::F16 => real!(u16, |v| Number::Single(half(v))),
        DataType::F32 => real!(f32, Number::Single),
        DataType::F64 => real!(f64, Number::Double),
        DataType::C64 => complex!(f32, Number::Single),
        DataType::C128 => complex!(f64, Number::Double),
    }
}

/// Returns the writer for samples of a type, to exactly `data_type.size()` bytes. `F16` is not supported: no supported
/// VRT has it.
pub fn writer(data_type: DataType) -> fn((Number, Number), &mut [u8]) {
    macro_rules! integer {
        ($type:ty) => {
            |(real, _), out: &mut [u8]| {
                let value = real.as_integer(i128::from(<$type>::MIN), i128::from(<$type>::MAX));
                put(out, &<$type>::try_from(value).unwrap_or_default().to_ne_bytes());
            }
        };
    }
    match data_type {
        DataType::U8 => integer!(u8),
        DataType::I8 => integer!(i8),
        DataType::U16 => integer!(u16),
        DataType::I16 => integer!(i16),
        DataType::U32 => integer!(u32),
        DataType::I32 => integer!(i32),
        DataType::U64 => integer!(u64),
        DataType::I64 => integer!(i64),
        DataType::F16 | DataType::F32 => |(real, _), out| put(out, &single_bytes(real)),
        DataType::F64 => |(real, _), out| put(out, &double_bytes(real)),
        DataType::C64 => |(real, imaginary), out| {
            let ([a, b, c, d], [e, f, g, h]) = (single_bytes(real), single_bytes(imaginary));
            put(out, &[a, b, c, d, e, f, g, h]);
        },
        DataType::C128 => |(real, imaginary), out| {
            let (first, second) = out.split_at_mut(out.len().min(8));
            put(first, &double_bytes(real));
            put(second, &double_bytes(imaginary));
        },
    }
}

fn single_bytes(number: Number) -> [u8; 4] {
    let value = number.as_f32();
    if value.is_nan() { f32::NAN.to_ne_bytes() } else { value.to_ne_bytes() }
}

fn double_bytes(number: Number) -> [u8; 8] {
    let value = number.as_f64();
    if value.is_nan() { f64::NAN.to_ne_bytes() } else { value.to_ne_bytes() }
}

fn put(out: &mut [u8], bytes: &[u8]) {
    if out.len() == bytes.len() {
        out.copy_from_slice(bytes);
    }
}

/// Returns a sample of a type with that value, in the first bytes.
pub fn sample_of(value: Number, data_type: DataType) -> [u8; 16] {
    let mut out = [0; 16];
    if let Some(slot) = out.get_mut(..data_type.size()) {
        writer(data_type)((value, Number::Integer(0)), slot);
    }
    out
}

/// Returns the exact value of a half as a single.
#[expect(clippy::cast_possible_truncation, reason = "every half is a single")]
fn half(bits: u16) -> f32 {
    from_half(bits) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to_u8(value: Number) -> u8 {
        sample_of(value, DataType::U8)[0]
    }

    #[test]
    fn floats_are_rounded_and_clamped() {
        for (value, expected) in
            [(0.4, 0), (0.5, 1), (1.5, 2), (2.5, 3), (-0.7, 0), (254.6, 255), (1e30, 255), (f32::NAN, 0)]
        {
            assert_eq!(to_u8(Number::Single(value)), expected, "{value}");
        }
        let signed =
            |v| i16::from_ne_bytes(*sample_of(Number::Double(v), DataType::I16).first_chunk().unwrap());
        assert_eq!([signed(-2.5), signed(-2.4), signed(2.5), signed(-1e9)], [-3, -2, 3, i16::MIN]);
    }

    #[test]
    fn integers_are_clamped() {
        assert_eq!([to_u8(Number::Integer(-1)), to_u8(Number::Integer(256))], [0, 255]);
        let wide = sample_of(Number::Integer(i128::from(u64::MAX)), DataType::I64);
        assert_eq!(i64::from_ne_bytes(*wide.first_chunk().unwrap()), i64::MAX);
    }

    #[test]
    fn a_complex_sample_is_read_and_written() {
        let bytes: Vec<u8> = [1.5f32, -2.0].iter().flat_map(|v| v.to_ne_bytes()).collect();
        let value = reader(DataType::C64)(&bytes);
        let mut out = [0; 16];
        writer(DataType::C128)(value, &mut out);
        assert_eq!(reader(DataType::C128)(&out), (Number::Double(1.5), Number::Double(-2.0)));
        assert_eq!(to_u8(value.0), 2);
    }
}

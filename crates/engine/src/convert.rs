//! Conversion of samples to floats on output: nodata becomes NaN, other values are scaled.
//!
//! The arithmetic is fixed to the last bit, so all engines agree: a sample as `f64` (for 64-bit integers the nearest
//! one), times `scale`, plus `offset`, each rounded separately, then rounded once to the type of the output. Every NaN
//! result is the canonical NaN. The fill value of a layout is converted in the same way.

use crate::Fill;
use strile_tiff::DataType;

const NAN: f64 = f64::from_bits(0x7FF8_0000_0000_0000);
const NAN_32: f32 = f32::from_bits(0x7FC0_0000);
const NAN_16: u16 = 0x7E00;

/// Converts samples to floats as they are written to an output: nodata becomes NaN, other values are scaled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Convert {
    /// Value that becomes NaN, as a sample of the stored type. It is compared as a value: both zeros are equal, and NaN
    /// matches every NaN; 64-bit integers are compared before rounding.
    pub nodata: Option<Fill>,
    /// Factor.
    pub scale: f64,
    /// Addend, applied after the factor.
    pub offset: f64,
}

impl Convert {
    /// Returns a conversion that only turns nodata into NaN. The offset is -0, which leaves every value unchanged when
    /// added, also -0.
    pub const fn masking(nodata: Option<Fill>) -> Self {
        Self { nodata, scale: 1.0, offset: -0.0 }
    }

    /// Returns whether samples of a type can be converted: all types but complex ones.
    pub const fn takes(stored: DataType) -> bool {
        !matches!(stored, DataType::C64 | DataType::C128)
    }

    /// Returns whether samples can be converted to a type.
    pub const fn gives(target: DataType) -> bool {
        matches!(target, DataType::F16 | DataType::F32 | DataType::F64)
    }

    /// Returns the result for a value that is not nodata, before rounding to the output type.
    pub fn value(&self, value: f64) -> f64 {
        value * self.scale + self.offset
    }

    /// Converts one sample; `None` if one of the types has no conversion.
    pub fn sample(&self, stored: DataType, sample: &Fill, target: DataType) -> Option<Fill> {
        let value = Self::value_of(stored, sample)?;
        let masked = self.nodata.is_some_and(|nodata| match stored {
            DataType::F16 | DataType::F32 | DataType::F64 => Self::value_of(stored, &nodata)
                .is_some_and(|nodata| nodata == value || (nodata.is_nan() && value.is_nan())),
            _ => nodata.0.get(..stored.size()) == sample.0.get(..stored.size()),
        });
        let value = if masked { NAN } else { self.value(value) };
        let mut bytes = [0; 16];
        match target {
            DataType::F16 => *bytes.first_chunk_mut()? = Self::half_of(value).to_ne_bytes(),
            DataType::F32 => *bytes.first_chunk_mut()? = nearest(value).to_ne_bytes(),
            DataType::F64 => {
                *bytes.first_chunk_mut()? = if value.is_nan() { NAN } else { value }.to_ne_bytes()
            }
            _ => return None,
        }
        Some(Fill(bytes))
    }

    /// Returns the bits of the nearest IEEE binary16, ties to even; the canonical NaN for any NaN. Rounded once: going
    /// through `f32` would round some values twice.
    #[expect(clippy::cast_possible_truncation, reason = "at most 16 bits are left")]
    pub fn half_of(value: f64) -> u16 {
        const LEAST_NORMAL: u64 = 0x3F10_0000_0000_0000;
        const ABOVE_ALL: u64 = 0x40EF_FE00_0000_0000;
        const INFINITY: u64 = 0x7FF0_0000_0000_0000;
        /// Doubles of this magnitude are 2^-24 apart, like the smallest halves.
        const SHIFT: f64 = 268_435_456.0;
        let (sign, magnitude) = ((value.to_bits() >> 48 & 0x8000) as u16, value.to_bits() & !(1 << 63));
        sign | match magnitude {
            _ if magnitude > INFINITY => return NAN_16,
            ABOVE_ALL.. => 0x7C00,
            LEAST_NORMAL.. => {
                ((magnitude - (1008 << 52) + ((1 << 41) - 1) + (magnitude >> 42 & 1)) >> 42) as u16
            }
            _ => ((f64::from_bits(magnitude) + SHIFT).to_bits() - SHIFT.to_bits()) as u16,
        }
    }

    /// Returns a sample of a type as `f64`; `None` for complex types.
    #[expect(clippy::cast_precision_loss, reason = "rounding is what is wanted")]
    pub fn value_of(stored: DataType, Fill(bytes): &Fill) -> Option<f64> {
        Some(match stored {
            DataType::U8 => u8::from_ne_bytes(*bytes.first_chunk()?).into(),
            DataType::I8 => i8::from_ne_bytes(*bytes.first_chunk()?).into(),
            DataType::U16 => u16::from_ne_bytes(*bytes.first_chunk()?).into(),
            DataType::I16 => i16::from_ne_bytes(*bytes.first_chunk()?).into(),
            DataType::U32 => u32::from_ne_bytes(*bytes.first_chunk()?).into(),
            DataType::I32 => i32::from_ne_bytes(*bytes.first_chunk()?).into(),
            DataType::U64 => u64::from_ne_bytes(*bytes.first_chunk()?) as f64,
            DataType::I64 => i64::from_ne_bytes(*bytes.first_chunk()?) as f64,
            DataType::F16 => half(u16::from_ne_bytes(*bytes.first_chunk()?)),
            DataType::F32 => f32::from_ne_bytes(*bytes.first_chunk()?).into(),
            DataType::F64 => f64::from_ne_bytes(*bytes.first_chunk()?),
            DataType::C64 | DataType::C128 => return None,
        })
    }
}

#[expect(clippy::cast_possible_truncation, reason = "rounding is what is wanted")]
fn nearest(value: f64) -> f32 {
    if value.is_nan() { NAN_32 } else { value as f32 }
}

/// Returns the value of an IEEE binary16.
fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let magnitude = match (exponent, fraction == 0.0) {
        (31, true) => f64::INFINITY,
        (31, false) => NAN,
        (0, _) => fraction * 2f64.powi(-24),
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if bits >> 15 == 0 { magnitude } else { -magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(bytes: &[u8]) -> Fill {
        let mut fill = Fill::default();
        fill.0[..bytes.len()].copy_from_slice(bytes);
        fill
    }

    fn as_f64(Fill(bytes): Fill) -> f64 {
        f64::from_ne_bytes(*bytes.first_chunk().unwrap())
    }

    #[test]
    fn masking_alone_changes_nothing_else() {
        let convert = Convert::masking(Some(fill(&5f64.to_ne_bytes())));
        for value in [0.0, -0.0, 1e-310, f64::MAX, f64::NEG_INFINITY] {
            let out = convert.sample(DataType::F64, &fill(&value.to_ne_bytes()), DataType::F64).unwrap();
            assert_eq!(as_f64(out).to_bits(), value.to_bits());
        }
        let out = convert.sample(DataType::F64, &fill(&5f64.to_ne_bytes()), DataType::F64).unwrap();
        assert_eq!(as_f64(out).to_bits(), 0x7FF8_0000_0000_0000);
    }

    #[test]
    fn integers_of_64_bits_are_compared_before_they_are_rounded() {
        let nodata = u64::MAX;
        let convert = Convert::masking(Some(fill(&nodata.to_ne_bytes())));
        let of =
            |v: u64| as_f64(convert.sample(DataType::U64, &fill(&v.to_ne_bytes()), DataType::F64).unwrap());
        assert!(of(nodata).is_nan());
        assert_eq!(of(nodata - 1), 18_446_744_073_709_551_616.0);
    }

    #[test]
    fn every_half_comes_back_and_what_lies_between_goes_to_the_nearer() {
        for bits in 0..0x7C00u16 {
            let (low, high) = (half(bits), if bits == 0x7BFF { 65_536.0 } else { half(bits + 1) });
            let middle = f64::midpoint(low, high);
            let even = bits + (bits & 1);
            for (value, wanted) in [
                (low, bits),
                (middle, even),
                (middle.next_down(), bits),
                (middle.next_up(), bits + 1),
                (high.next_down(), bits + 1),
            ] {
                assert_eq!(Convert::half_of(value), wanted, "{value:e}");
                assert_eq!(Convert::half_of(-value), wanted | 0x8000, "-{value:e}");
            }
        }
        let ends = [f64::INFINITY, 1e300, 5e-324, -0.0, -f64::NAN];
        assert_eq!(ends.map(Convert::half_of), [0x7C00, 0x7C00, 0, 0x8000, 0x7E00]);
        // Through `f32` this would be 1.
        assert_eq!(Convert::half_of(1.0 + 2f64.powi(-11) + 2f64.powi(-40)), 0x3C01);
    }

    #[test]
    fn halves_are_exact() {
        for (bits, value) in [
            (0x3C00, 1.0),
            (0xC000, -2.0),
            (0x7BFF, 65504.0),
            (0x0001, 2f64.powi(-24)),
            (0x0400, 2f64.powi(-14)),
        ] {
            assert_eq!(half(bits), value);
        }
        assert!(half(0x7C01).is_nan());
        assert_eq!(half(0xFC00), f64::NEG_INFINITY);
    }
}

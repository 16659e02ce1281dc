//! Search for a value, such as nodata, among the samples that an engine writes to an output.
//!
//! Samples are compared as values: both zeros are equal, and NaN matches every NaN. For complex samples the real part
//! is compared and the imaginary part must be 0; a NaN in either part matches NaN. Everything is a comparison of bits,
//! identical in every engine: a number matches if `(bits & mask) - low` is at most `span`.

use crate::{EngineError, Fill, OutputSpec};
use strile_tiff::DataType;

/// A value to look for, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sought {
    /// Bits that are compared.
    pub mask: u64,
    /// Lowest match.
    pub low: u64,
    /// Highest match, relative to `low`.
    pub span: u64,
    /// Numbers per sample.
    pub parts: SampleParts,
}

/// Numbers per sample; complex samples have two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SampleParts {
    /// One number of the sample's size.
    One,
    /// Two numbers of half its size: the first must match, and the second must be 0 or -0.
    FirstAndZero,
    /// Two numbers of half its size, one of which must match.
    Either,
}

impl Sought {
    /// Returns the search for `sample`, a value of this type.
    pub fn new(data_type: DataType, Fill(bytes): &Fill) -> Self {
        let (is_float, is_pair) = match data_type {
            DataType::F16 | DataType::F32 | DataType::F64 => (true, false),
            DataType::C64 | DataType::C128 => (true, true),
            _ => (false, false),
        };
        let size = if is_pair { data_type.size() / 2 } else { data_type.size() };
        let all = u64::MAX >> (64 - 8 * size.min(8));
        let sample = bits_of(bytes.get(..size).unwrap_or_default());
        let one = if is_pair { SampleParts::FirstAndZero } else { SampleParts::One };
        if !is_float {
            return Self { mask: all, low: sample, span: 0, parts: one };
        }
        // Without its sign, a NaN is above infinity.
        let magnitude = all >> 1;
        let infinity = match size {
            2 => 0x7C00,
            4 => 0x7F80_0000,
            _ => 0x7FF0_0000_0000_0000,
        };
        match sample & magnitude {
            0 => Self { mask: magnitude, low: 0, span: 0, parts: one },
            nan if nan > infinity => Self {
                mask: magnitude,
                low: infinity + 1,
                span: magnitude - infinity - 1,
                parts: if is_pair { SampleParts::Either } else { SampleParts::One },
            },
            _ => Self { mask: all, low: sample, span: 0, parts: one },
        }
    }

    /// Returns the search for NaN in samples of floats.
    pub fn nan(data_type: DataType) -> Self {
        let mut sample = Fill::default();
        let bytes: &[u8] = match data_type {
            DataType::F16 => &0x7E00u16.to_ne_bytes(),
            DataType::F32 | DataType::C64 => &f32::NAN.to_ne_bytes(),
            _ => &f64::NAN.to_ne_bytes(),
        };
        sample.0.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        Self::new(data_type, &sample)
    }
}

/// A value, and the bands of an output to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FindPart {
    /// First band.
    pub first_band: u32,
    /// Number of bands.
    pub bands: u32,
    /// Value to look for.
    pub sought: Sought,
}

/// Replaces values in finished pixels. Only the real part of complex samples is compared, as in
/// [`Change::Differs`](crate::Change::Differs).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplaceJob {
    /// Bands and their values, as returned by `Change::differs`. Each band is named once; other bands stay unchanged.
    pub parts: Vec<FindPart>,
    /// Replacement, a sample of the output's type.
    pub value: Fill,
}

impl ReplaceJob {
    /// Checks that all bands exist in the output, and that parts do not share bands.
    pub fn check(&self, output: &OutputSpec) -> Result<(), EngineError> {
        check_bands(&self.parts, output)?;
        let mut bands: Vec<(u32, u32)> =
            self.parts.iter().map(|part| (part.first_band, part.first_band + part.bands)).collect();
        bands.sort_unstable();
        match bands.windows(2).find(|pair| matches!(pair, [one, other] if other.0 < one.1)) {
            None => Ok(()),
            Some(_) => Err(EngineError::Mismatch {
                what: "output",
                found: "a band with two values".to_owned(),
                expected: "bands of their own".to_owned(),
            }),
        }
    }
}

/// Search in finished pixels: after steps that change samples, such as masks, resampling and warping.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FindJob {
    /// Bands and their values. Other bands are not searched.
    pub parts: Vec<FindPart>,
}

impl FindJob {
    /// Returns the job that looks for one value in all bands.
    pub fn all(bands: u32, sought: Sought) -> Self {
        Self { parts: vec![FindPart { first_band: 0, bands, sought }] }
    }

    /// Checks that all bands exist in the output.
    pub fn check(&self, output: &OutputSpec) -> Result<(), EngineError> {
        check_bands(&self.parts, output)
    }
}

fn check_bands(parts: &[FindPart], output: &OutputSpec) -> Result<(), EngineError> {
    for FindPart { first_band, bands, .. } in parts {
        let end = first_band.checked_add(*bands);
        if end.is_none_or(|end| end > output.bands) {
            return Err(EngineError::Mismatch {
                what: "output",
                found: format!("{bands} bands from band {first_band}"),
                expected: format!("bands within {}", output.bands),
            });
        }
    }
    Ok(())
}

fn bits_of(bytes: &[u8]) -> u64 {
    let mut wide = [0; 8];
    let at = if cfg!(target_endian = "big") { 8usize.saturating_sub(bytes.len()) } else { 0 };
    wide.iter_mut().skip(at).zip(bytes).for_each(|(to, from)| *to = *from);
    u64::from_ne_bytes(wide)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(bytes: &[u8]) -> Fill {
        let mut fill = Fill::default();
        fill.0[..bytes.len()].copy_from_slice(bytes);
        fill
    }

    #[test]
    fn zeros_are_one_value_and_so_are_nans() {
        let finds = |sought: Sought, bits: u32| {
            (u64::from(bits) & sought.mask).wrapping_sub(sought.low) <= sought.span
        };
        let zero = Sought::new(DataType::F32, &fill(&(-0.0f32).to_ne_bytes()));
        assert!(finds(zero, 0) && finds(zero, 1 << 31) && !finds(zero, 1));
        let nan = Sought::new(DataType::F32, &fill(&0xFF80_0001u32.to_ne_bytes()));
        assert_eq!(nan, Sought::nan(DataType::F32));
        assert!(finds(nan, 0x7FC0_0000) && finds(nan, 0xFFFF_FFFF) && finds(nan, 0x7F80_0001));
        assert!(!finds(nan, 0x7F80_0000) && !finds(nan, 0xFF80_0000) && !finds(nan, 0));
        let value = Sought::new(DataType::F32, &fill(&(-9999.0f32).to_ne_bytes()));
        assert!(finds(value, (-9999.0f32).to_bits()) && !finds(value, 9999.0f32.to_bits()));
    }

    #[test]
    fn bands_beyond_the_output_are_refused() {
        let output = OutputSpec::band_first(DataType::U8, 3, 4, 5).unwrap();
        let sought = Sought::new(DataType::U8, &Fill::default());
        let job = |first_band, bands| FindJob { parts: vec![FindPart { first_band, bands, sought }] };
        assert!(FindJob::all(3, sought).check(&output).is_ok() && job(1, 2).check(&output).is_ok());
        assert!(job(1, 3).check(&output).is_err() && job(u32::MAX, 2).check(&output).is_err());
        let part = |first_band, bands| FindPart { first_band, bands, sought };
        let replace = |parts: &[FindPart]| ReplaceJob { parts: parts.to_vec(), value: Fill::default() };
        assert!(replace(&[part(1, 2), part(0, 1)]).check(&output).is_ok());
        assert!(replace(&[part(1, 2), part(0, 2)]).check(&output).is_err());
        assert!(replace(&[part(2, 2)]).check(&output).is_err());
    }

    #[test]
    fn integers_are_compared_whole() {
        let minus = Sought::new(DataType::I16, &fill(&(-1i16).to_ne_bytes()));
        assert_eq!(minus, Sought { mask: 0xFFFF, low: 0xFFFF, span: 0, parts: SampleParts::One });
        let wide = Sought::new(DataType::U64, &fill(&(1u64 << 63).to_ne_bytes()));
        assert_eq!((wide.mask, wide.low), (u64::MAX, 1 << 63));
    }
}

//! The value that an engine looks for among the samples it writes to an output, such as nodata.
//!
//! Samples are compared as values: both zeros are one value, and NaN is every NaN. Of complex samples the real part is
//! compared and the imaginary part must be 0; NaN is a NaN in either. All of it is a comparison of bits, the same on every
//! engine: a number is sought if `(bits & mask) - low` is at most `span`.

use crate::{EngineError, Fill, OutputSpec};
use strile_tiff::DataType;

/// A value that is looked for, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sought {
    /// The bits that count.
    pub mask: u64,
    /// The least of them.
    pub low: u64,
    /// How far above it they may be.
    pub span: u64,
    /// The numbers of a sample.
    pub parts: SampleParts,
}

/// The numbers of a sample, of which complex ones have two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SampleParts {
    /// One number of the sample's size.
    One,
    /// Two numbers of half its size: the first is sought, and the second is 0, whatever its sign.
    FirstAndZero,
    /// Two numbers of half its size, one of which is sought.
    Either,
}

impl Sought {
    /// Returns what finds `sample`, a value of this type.
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
        // Without its sign, a float that is a NaN is above infinity.
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

    /// Returns what finds NaN in samples of floats.
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

/// A value, and the bands of an output that it is looked for in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FindPart {
    /// First band.
    pub first_band: u32,
    /// How many bands.
    pub bands: u32,
    /// What is looked for in them.
    pub sought: Sought,
}

/// Values that become another one in finished pixels. Of complex samples only the real part counts, as in
/// [`Change::Differs`](crate::Change::Differs).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplaceJob {
    /// Bands and their values, as `Change::differs` gives them. Each band is named once; others stay as they are.
    pub parts: Vec<FindPart>,
    /// What these samples become: a sample of the output's type.
    pub value: Fill,
}

impl ReplaceJob {
    /// Checks that all bands are bands of the output, and that no part shares one with another.
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

/// Values that are looked for in finished pixels: after steps that change samples, such as masks, resampling and warping.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FindJob {
    /// Bands and their values. Bands that no part names are not searched.
    pub parts: Vec<FindPart>,
}

impl FindJob {
    /// Returns the job that looks for one value in all bands.
    pub fn all(bands: u32, sought: Sought) -> Self {
        Self { parts: vec![FindPart { first_band: 0, bands, sought }] }
    }

    /// Checks that all bands are bands of the output.
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

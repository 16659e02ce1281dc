//! Deterministic rasters that reveal mistakes: no two rows, bands or neighbours are equal, never all zero.
//!
//! `Pixels` are the expected result of a reader: band-first samples of the type in memory, in native byte order. The
//! stored type can represent every value, so a reader must return exactly what was written.

use strile_tiff::{DataType, SampleFormat, SampleType};

/// Samples in the order band, row, column, each as `data_type` in native byte order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pixels {
    /// Number of bands.
    pub bands: usize,
    /// Rows per band.
    pub height: usize,
    /// Samples per row.
    pub width: usize,
    /// Type of a sample in memory.
    pub data_type: DataType,
    /// The samples.
    pub bytes: Vec<u8>,
}

/// Kind of a generated raster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// Smooth hills with a little noise, like elevations.
    Dem,
    /// Smooth with strong noise, like a satellite band.
    Noise,
    /// Smooth without noise, for lossy codecs.
    Smooth,
    /// Patches of a few classes.
    LandCover,
    /// Every bit random; floats stay finite.
    Bits,
}

/// A small random generator (splitmix64), so that fixtures do not change with a crate's version.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Starts a sequence.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next_u64() % bound as u64) as usize
    }

    /// Returns a float from 0 to 1.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}

impl Pixels {
    /// Returns a raster of zeros.
    pub fn zeroed(data_type: DataType, bands: usize, height: usize, width: usize) -> Self {
        Self { bands, height, width, data_type, bytes: vec![0; bands * height * width * data_type.size()] }
    }

    /// Returns a raster of values that `sample` can store.
    pub fn generate(
        pattern: Pattern,
        sample: SampleType,
        [bands, height, width]: [usize; 3],
        seed: u64,
    ) -> Self {
        let data_type = sample.data_type().expect("a stored type that memory knows");
        let mut pixels = Self::zeroed(data_type, bands, height, width);
        let mut random = Random::new(seed ^ 0x5_7211_E000);
        for band in 0..bands {
            for y in 0..height {
                for x in 0..width {
                    let level = level(pattern, (band, y, x), &mut random);
                    let value = stored_value(pattern, sample, level, &mut random);
                    pixels.sample_mut(band, y, x).copy_from_slice(&value[..data_type.size()]);
                }
            }
        }
        pixels
    }

    /// Returns a ramp of 50 columns and 40 rows that uses the top 8 of `bits`: the counterpart of `ramp` in
    /// `data/make.py`.
    pub fn ramp(data_type: DataType, bands: usize, bits: u32) -> Self {
        let mut pixels = Self::zeroed(data_type, bands, 40, 50);
        for band in 0..bands {
            for y in 0..40 {
                for x in 0..50 {
                    let value = (40 + 2 * x + y + 20 * band) << (bits - 8);
                    let sample = pixels.sample_mut(band, y, x);
                    match data_type {
                        DataType::U8 => sample.copy_from_slice(&(value as u8).to_ne_bytes()),
                        DataType::U16 => sample.copy_from_slice(&(value as u16).to_ne_bytes()),
                        DataType::F32 => sample.copy_from_slice(&(value as f32 / 256.0).to_ne_bytes()),
                        other => panic!("no ramp of {other}"),
                    }
                }
            }
        }
        pixels
    }

    /// Turns about one sample in nine into NaN, in holes of several pixels; floats only.
    pub fn with_nan_holes(mut self) -> Self {
        for band in 0..self.bands {
            for y in 0..self.height {
                for x in 0..self.width {
                    if (x / 5 + 2 * (y / 4) + band) % 9 == 0 {
                        let data_type = self.data_type;
                        let sample = self.sample_mut(band, y, x);
                        match data_type {
                            DataType::F16 => sample.copy_from_slice(&half::f16::NAN.to_ne_bytes()),
                            DataType::F32 => sample.copy_from_slice(&f32::NAN.to_ne_bytes()),
                            DataType::F64 => sample.copy_from_slice(&f64::NAN.to_ne_bytes()),
                            other => panic!("{other} has no NaN"),
                        }
                    }
                }
            }
        }
        self
    }

    fn position(&self, band: usize, y: usize, x: usize) -> usize {
        ((band * self.height + y) * self.width + x) * self.data_type.size()
    }

    /// Returns the bytes of one sample.
    pub fn sample(&self, band: usize, y: usize, x: usize) -> &[u8] {
        let at = self.position(band, y, x);
        &self.bytes[at..at + self.data_type.size()]
    }

    /// Returns the bytes of one sample for writing.
    pub fn sample_mut(&mut self, band: usize, y: usize, x: usize) -> &mut [u8] {
        let at = self.position(band, y, x);
        let size = self.data_type.size();
        &mut self.bytes[at..at + size]
    }

    /// Returns one sample as a float (the real part of a complex one), for tolerances.
    pub fn value(&self, band: usize, y: usize, x: usize) -> f64 {
        to_f64(self.sample(band, y, x), self.data_type)
    }

    /// Returns the samples in little-endian order, for digests and `.npy` files.
    pub fn little_endian(&self) -> Vec<u8> {
        if cfg!(target_endian = "little") {
            return self.bytes.clone();
        }
        let unit = match self.data_type {
            DataType::C64 => 4,
            DataType::C128 => 8,
            other => other.size(),
        };
        self.bytes.chunks(unit).flat_map(|chunk| chunk.iter().rev().copied()).collect()
    }

    /// Returns a part of the raster: rows and columns as `(first, count)`.
    pub fn crop(&self, rows: (usize, usize), columns: (usize, usize)) -> Self {
        let mut out = Self::zeroed(self.data_type, self.bands, rows.1, columns.1);
        for band in 0..self.bands {
            for y in 0..rows.1 {
                for x in 0..columns.1 {
                    let value = self.sample(band, rows.0 + y, columns.0 + x).to_vec();
                    out.sample_mut(band, y, x).copy_from_slice(&value);
                }
            }
        }
        out
    }

    /// Returns every second pixel of every second row, as a nearest-neighbour overview.
    pub fn halved(&self) -> Self {
        let (height, width) = (self.height.div_ceil(2), self.width.div_ceil(2));
        let mut out = Self::zeroed(self.data_type, self.bands, height, width);
        for band in 0..self.bands {
            for y in 0..height {
                for x in 0..width {
                    let value = self.sample(band, 2 * y, 2 * x).to_vec();
                    out.sample_mut(band, y, x).copy_from_slice(&value);
                }
            }
        }
        out
    }
}

/// Returns one sample in memory as a float.
pub fn to_f64(bytes: &[u8], data_type: DataType) -> f64 {
    macro_rules! read {
        ($ty:ty) => {
            <$ty>::from_ne_bytes(bytes[..size_of::<$ty>()].try_into().expect("a whole sample")) as f64
        };
    }
    match data_type {
        DataType::U8 => read!(u8),
        DataType::I8 => read!(i8),
        DataType::U16 => read!(u16),
        DataType::I16 => read!(i16),
        DataType::U32 => read!(u32),
        DataType::I32 => read!(i32),
        DataType::U64 => read!(u64),
        DataType::I64 => read!(i64),
        DataType::F16 => half::f16::from_ne_bytes([bytes[0], bytes[1]]).to_f64(),
        DataType::F32 | DataType::C64 => read!(f32),
        DataType::F64 | DataType::C128 => read!(f64),
    }
}

/// Returns the height of a pixel, from 0 to 1.
fn level(pattern: Pattern, (band, y, x): (usize, usize, usize), random: &mut Random) -> f64 {
    let (fx, fy, fb) = (x as f64, y as f64, band as f64);
    let hills =
        0.5 + 0.22 * (fx / 17.0 + fb).sin() * (fy / 23.0).cos() + 0.2 * ((fx + 2.0 * fy) / 41.0 - fb).cos();
    match pattern {
        Pattern::Dem => hills + 0.01 * random.unit(),
        Pattern::Noise => 0.6 * hills + 0.35 * random.unit() + 0.01,
        Pattern::Smooth => hills,
        Pattern::LandCover => (((x / 9) * 7 + (y / 6) * 3 + band * 5) % 11 + 1) as f64 / 16.0,
        Pattern::Bits => random.unit(),
    }
}

/// Returns a value of the stored type at that height, as a sample in memory in the first bytes.
fn stored_value(pattern: Pattern, sample: SampleType, level: f64, random: &mut Random) -> [u8; 16] {
    let data_type = sample.data_type().expect("a stored type that memory knows");
    let mut out = [0; 16];
    match sample.format {
        SampleFormat::Uint | SampleFormat::Int => {
            let bits = u32::from(sample.bits);
            let mask = u64::MAX >> (64 - bits);
            let mut raw = match pattern {
                Pattern::Bits => random.next_u64(),
                // Above 53 bits the float leaves low bits empty; fill them.
                _ => ((level * mask as f64) as u64) ^ if bits > 53 { random.next_u64() & 0xFFFF } else { 0 },
            } & mask;
            if bits > 1 && raw == 0 {
                raw = 1;
            }
            if sample.format == SampleFormat::Int {
                let shift = 64 - bits;
                raw = (((raw << shift) as i64) >> shift) as u64;
            }
            let size = data_type.size();
            if cfg!(target_endian = "little") {
                out[..size].copy_from_slice(&raw.to_le_bytes()[..size]);
            } else {
                out[..size].copy_from_slice(&raw.to_be_bytes()[8 - size..]);
            }
        }
        SampleFormat::Float => {
            let value = match pattern {
                // Exponents from 2^-12 to 2^12 fit half, 24-bit and all larger floats.
                Pattern::Bits => (random.unit() - 0.5) * 2f64.powi(random.below(24) as i32 - 12),
                _ => -100.0 + 1500.0 * level,
            };
            match sample.bits {
                16 => out[..2].copy_from_slice(&half::f16::from_f64(value).to_ne_bytes()),
                // The 16 bits of fraction that a 24-bit float keeps.
                24 => out[..4]
                    .copy_from_slice(&f32::from_bits((value as f32).to_bits() & 0xFFFF_FF80).to_ne_bytes()),
                32 => out[..4].copy_from_slice(&(value as f32).to_ne_bytes()),
                _ => out[..8].copy_from_slice(&value.to_ne_bytes()),
            }
        }
        SampleFormat::ComplexInt | SampleFormat::ComplexFloat => {
            let half_bits = sample.bits / 2;
            for part in 0..2 {
                let value = (level - 0.4) * 200.0 + f64::from(part) * random.unit() * 20.0;
                let value = match (sample.format, half_bits) {
                    (SampleFormat::ComplexInt, 8) => value.round().clamp(-127.0, 127.0),
                    (SampleFormat::ComplexInt, 16) => (value * 100.0).round(),
                    (SampleFormat::ComplexInt, _) => (value * 1_000_003.0).round(),
                    _ => value,
                };
                let at = part as usize * data_type.size() / 2;
                match data_type {
                    DataType::C64 => out[at..at + 4].copy_from_slice(&(value as f32).to_ne_bytes()),
                    _ => out[at..at + 8].copy_from_slice(&value.to_ne_bytes()),
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_raster_is_the_same_every_time_and_never_dull() {
        let sample = SampleType { format: SampleFormat::Uint, bits: 12 };
        let once = Pixels::generate(Pattern::Noise, sample, [2, 9, 7], 3);
        assert_eq!(once, Pixels::generate(Pattern::Noise, sample, [2, 9, 7], 3));
        let values: std::collections::BTreeSet<u64> =
            (0..63).map(|i| once.value(0, i / 7, i % 7) as u64).collect();
        assert!(values.len() > 40, "{values:?}");
        assert!(values.iter().all(|&v| v > 0 && v < 4096));
    }

    #[test]
    fn signed_depths_are_extended() {
        let sample = SampleType { format: SampleFormat::Int, bits: 5 };
        let pixels = Pixels::generate(Pattern::Bits, sample, [1, 20, 20], 1);
        let values: Vec<f64> = (0..400).map(|i| pixels.value(0, i / 20, i % 20)).collect();
        assert!(values.iter().any(|&v| v < 0.0) && values.iter().all(|&v| (-16.0..16.0).contains(&v)));
    }

    #[test]
    fn crops_and_halves_take_the_pixels_they_name() {
        let sample = SampleType { format: SampleFormat::Uint, bits: 8 };
        let pixels = Pixels::generate(Pattern::Bits, sample, [2, 5, 4], 1);
        assert_eq!(pixels.crop((2, 2), (1, 3)).sample(1, 1, 2), pixels.sample(1, 3, 3));
        assert_eq!(pixels.halved().sample(1, 2, 1), pixels.sample(1, 4, 2));
    }
}

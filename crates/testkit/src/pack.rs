//! Packs samples in memory to the bytes of a block: depths, byte order, predictors.
//!
//! Floats, complex halves and integers of 8, 16, 32 or 64 bits follow the file's byte order. All other integers are
//! packed from the most significant bit on, in either order, like in libtiff's sample files, GDAL and tifffile. Only
//! 24-bit integers in big-endian files have their bytes reversed, by libtiff. Rows end at a byte. A predictor is
//! applied to values before the byte order.

use strile_tiff::{ByteOrder, Predictor, SampleFormat, SampleType};

/// One block of samples: rows of interleaved samples of the type in memory.
#[derive(Debug, Clone)]
pub struct BlockPixels {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub rows: usize,
    /// Interleaved samples per pixel.
    pub samples: usize,
    /// The stored type.
    pub sample: SampleType,
    /// Samples in native byte order.
    pub bytes: Vec<u8>,
}

impl BlockPixels {
    /// Returns the block as in the file before compression.
    pub fn pack(&self, order: ByteOrder, predictor: Predictor) -> Vec<u8> {
        let size = self.sample.data_type().expect("a stored type that memory knows").size();
        let unit_bits = unit_bits(self.sample);
        let row_len = self.width * self.samples * size;
        let mut out = Vec::new();
        for row in self.bytes.chunks(row_len) {
            let mut units: Vec<u64> = row.chunks(size).flat_map(|s| stored_units(s, self.sample)).collect();
            match predictor {
                Predictor::None => {}
                Predictor::Horizontal => {
                    for i in (self.samples..units.len()).rev() {
                        units[i] = units[i].wrapping_sub(units[i - self.samples]);
                    }
                }
                Predictor::FloatingPoint => {
                    out.extend(floating_point_row(&units, unit_bits / 8, self.samples));
                    continue;
                }
            }
            if follows_byte_order(self.sample) {
                for unit in units {
                    let width = unit_bits / 8;
                    match order {
                        ByteOrder::Little => out.extend(&unit.to_le_bytes()[..width]),
                        ByteOrder::Big => out.extend(&unit.to_be_bytes()[8 - width..]),
                    }
                }
            } else {
                let mut bits = BitWriter::default();
                for unit in units {
                    bits.put(unit, unit_bits);
                }
                let mut row = bits.finish();
                if self.sample.bits == 24 && order == ByteOrder::Big {
                    row.chunks_mut(3).for_each(<[u8]>::reverse);
                }
                out.extend(row);
            }
        }
        out
    }
}

/// Returns the bits of a number that is packed as a unit: half of a complex sample.
fn unit_bits(sample: SampleType) -> usize {
    match sample.format {
        SampleFormat::ComplexInt | SampleFormat::ComplexFloat => usize::from(sample.bits / 2),
        _ => usize::from(sample.bits),
    }
}

/// Returns whether the file's byte order applies to a unit's bytes.
fn follows_byte_order(sample: SampleType) -> bool {
    match sample.format {
        SampleFormat::Uint | SampleFormat::Int => matches!(sample.bits, 8 | 16 | 32 | 64),
        SampleFormat::Float | SampleFormat::ComplexInt | SampleFormat::ComplexFloat => true,
    }
}

/// Returns the numbers stored for one sample in memory, in the low bits of each.
fn stored_units(bytes: &[u8], sample: SampleType) -> Vec<u64> {
    let f32_at = |at: usize| f32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let f64_at = |at: usize| f64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    match (sample.format, sample.bits) {
        (SampleFormat::Float, 24) => vec![u64::from(f24_bits(f32_at(0)))],
        (SampleFormat::ComplexInt, 16 | 32) => {
            vec![i64::from(f32_at(0) as i32) as u64, i64::from(f32_at(4) as i32) as u64]
        }
        (SampleFormat::ComplexInt, _) => vec![f64_at(0) as i64 as u64, f64_at(8) as i64 as u64],
        (SampleFormat::ComplexFloat, 64) => {
            vec![u64::from(f32_at(0).to_bits()), u64::from(f32_at(4).to_bits())]
        }
        (SampleFormat::ComplexFloat, _) => vec![f64_at(0).to_bits(), f64_at(8).to_bits()],
        _ => {
            let mut wide = [0; 8];
            if cfg!(target_endian = "little") {
                wide[..bytes.len()].copy_from_slice(bytes);
                vec![u64::from_le_bytes(wide)]
            } else {
                wide[8 - bytes.len()..].copy_from_slice(bytes);
                vec![u64::from_be_bytes(wide)]
            }
        }
    }
}

/// Returns a float of 1 + 7 + 16 bits, exponent bias 63 (TIFF Technical Note 3); the value must be representable.
fn f24_bits(value: f32) -> u32 {
    let bits = value.to_bits();
    let (sign, exponent, fraction) = (bits >> 31, (bits >> 23) & 0xFF, bits & 0x7F_FFFF);
    let exponent = match exponent {
        0 => 0,
        255 => 127,
        e => e + 63 - 127,
    };
    assert!(fraction & 0x7F == 0 && exponent < 128, "{value} is no 24-bit float");
    (sign << 23) | (exponent << 16) | (fraction >> 7)
}

/// Applies predictor 3: the most significant bytes of the row first, then differences of bytes one pixel apart.
fn floating_point_row(units: &[u64], width: usize, samples: usize) -> Vec<u8> {
    let mut row: Vec<u8> = (0..width)
        .rev()
        .flat_map(|significance| units.iter().map(move |unit| (unit >> (8 * significance)) as u8))
        .collect();
    for i in (samples..row.len()).rev() {
        row[i] = row[i].wrapping_sub(row[i - samples]);
    }
    row
}

/// Writes bits into bytes, most significant first.
#[derive(Debug, Default)]
pub(crate) struct BitWriter {
    bytes: Vec<u8>,
    used: usize,
}

impl BitWriter {
    /// Appends the low `count` bits of `value`.
    pub fn put(&mut self, value: u64, count: usize) {
        for i in (0..count).rev() {
            if self.used.is_multiple_of(8) {
                self.bytes.push(0);
            }
            let last = self.bytes.len() - 1;
            self.bytes[last] |= (((value >> i) & 1) as u8) << (7 - self.used % 8);
            self.used += 1;
        }
    }

    /// Pads with zeros to a multiple of `count` bits.
    pub fn align(&mut self, count: usize) {
        while !self.used.is_multiple_of(count) {
            self.put(0, 1);
        }
    }

    /// Returns the number of bits written so far.
    pub fn bit_len(&self) -> usize {
        self.used
    }

    /// Returns the bytes, the last one padded with zeros.
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(format: SampleFormat, bits: u16, samples: usize, bytes: Vec<u8>) -> BlockPixels {
        let sample = SampleType { format, bits };
        let width = bytes.len() / samples / sample.data_type().unwrap().size();
        BlockPixels { width, rows: 1, samples, sample, bytes }
    }

    #[test]
    fn twelve_bits_are_packed_from_the_top_whatever_the_order() {
        let bytes = [0xABCu16, 0x123, 0xFED].iter().flat_map(|v| v.to_ne_bytes()).collect();
        let packed = block(SampleFormat::Uint, 12, 1, bytes);
        for order in [ByteOrder::Little, ByteOrder::Big] {
            assert_eq!(packed.pack(order, Predictor::None), [0xAB, 0xC1, 0x23, 0xFE, 0xD0]);
        }
    }

    #[test]
    fn twenty_four_bits_are_integers_from_the_top_and_floats_in_order() {
        let integer = block(SampleFormat::Uint, 24, 1, 0x00AB_CDEFu32.to_ne_bytes().to_vec());
        assert_eq!(integer.pack(ByteOrder::Little, Predictor::None), [0xAB, 0xCD, 0xEF]);
        assert_eq!(integer.pack(ByteOrder::Big, Predictor::None), [0xEF, 0xCD, 0xAB]);
        let float = block(SampleFormat::Float, 24, 1, 1.5f32.to_ne_bytes().to_vec());
        assert_eq!(float.pack(ByteOrder::Little, Predictor::None), [0x00, 0x80, 0x3F]);
    }

    #[test]
    fn differences_are_taken_before_the_byte_order() {
        let bytes = [0x0100u16, 0x00FF, 0x0200].iter().flat_map(|v| v.to_ne_bytes()).collect();
        let packed = block(SampleFormat::Uint, 16, 1, bytes);
        assert_eq!(packed.pack(ByteOrder::Big, Predictor::Horizontal), [1, 0, 0xFF, 0xFF, 1, 1]);
    }

    #[test]
    fn floats_are_split_by_significance() {
        // 1.0 = 3F 80 00 00 and -2.0 = C0 00 00 00: planes 3F C0 | 80 00 | 00 00 | 00 00, then differences.
        let bytes = [1.0f32, -2.0].iter().flat_map(|v| v.to_ne_bytes()).collect();
        let packed = block(SampleFormat::Float, 32, 1, bytes);
        let expected = [0x3F, 0x81, 0xC0, 0x80, 0, 0, 0, 0];
        assert_eq!(packed.pack(ByteOrder::Little, Predictor::FloatingPoint), expected);
    }

    #[test]
    fn a_24_bit_one_has_exponent_63() {
        assert_eq!(f24_bits(1.0), 0x3F_0000);
        assert_eq!(f24_bits(-1.5), 0xBF_8000);
    }
}

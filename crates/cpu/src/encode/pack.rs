//! Packs samples in memory: every depth from 1 to 64 bits, 24-bit floats and pairs of integers; the inverse of
//! `samples`.
//!
//! Nothing is rounded or truncated: a value that the stored sample cannot represent is a fault. (The sign of a zero
//! that becomes an integer is not part of its value.)

use strile_engine::{BlockFault, BlockLayout, DecodedForm, FaultKind};
use strile_tiff::SampleFormat;

/// How samples become stored samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packer {
    /// Samples in memory and packed samples are the same.
    Same,
    /// Integers of this many bits, most significant bit first, with each row padded to a byte.
    Bits(Depth),
    /// Unchanged integers that must fit this many bits.
    Fit(Depth),
    /// Floats of 24 bits, native byte order.
    Float24,
    /// Pairs of integers of this many bits each, native byte order, from pairs of floats.
    Pairs {
        /// Bits of one integer: 8, 16 or 32.
        half: u32,
        /// Bytes of the pair of floats: 8 or 16.
        size: usize,
    },
}

/// The depth of an integer and its type in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Depth {
    bits: u32,
    signed: bool,
    /// Bytes in memory.
    size: usize,
}

impl Packer {
    /// Returns the packer for a layout.
    pub(super) fn of(layout: &BlockLayout) -> Self {
        let (sample, size) = (layout.sample, layout.data_type.size());
        let bits = u32::from(sample.bits);
        let samples = layout.decoded_form() == DecodedForm::Samples;
        let signed = match sample.format {
            SampleFormat::ComplexInt if samples => return Self::Same,
            SampleFormat::ComplexInt => return Self::Pairs { half: bits / 2, size },
            SampleFormat::Float if bits == 24 && !samples => return Self::Float24,
            SampleFormat::Float | SampleFormat::ComplexFloat => return Self::Same,
            SampleFormat::Int => true,
            SampleFormat::Uint => false,
        };
        match usize::from(sample.bits) == size * 8 {
            true => Self::Same,
            false if samples => Self::Fit(Depth { bits, signed, size }),
            false => Self::Bits(Depth { bits, signed, size }),
        }
    }

    /// Packs a row; `dst` has the length of the packed row.
    pub(super) fn row(self, samples: &[u8], dst: &mut [u8]) -> Result<(), BlockFault> {
        match self {
            Self::Same => dst.copy_from_slice(samples.get(..dst.len()).unwrap_or_default()),
            Self::Bits(depth @ Depth { bits: 1, signed: false, size: 1 }) => {
                return single_bits(samples, dst, depth);
            }
            Self::Bits(depth) => return depth.dispatch(samples, &mut BitWriter::new(dst)),
            Self::Fit(depth) => {
                depth.dispatch(samples, &mut BitWriter::new(&mut []))?;
                dst.copy_from_slice(samples.get(..dst.len()).unwrap_or_default());
            }
            Self::Float24 => {
                for (from, to) in samples.as_chunks().0.iter().zip(dst.as_chunks_mut::<3>().0) {
                    *to = native_low(u64::from(float24(f32::from_ne_bytes(*from))?));
                }
            }
            Self::Pairs { half, size: 8 } => {
                let values = samples.as_chunks().0.iter().map(|&b| f64::from(f32::from_ne_bytes(b)));
                return pairs(values, dst, half);
            }
            Self::Pairs { half, .. } => {
                return pairs(samples.as_chunks().0.iter().map(|&b| f64::from_ne_bytes(b)), dst, half);
            }
        }
        Ok(())
    }
}

impl Depth {
    fn dispatch(self, samples: &[u8], out: &mut BitWriter<'_>) -> Result<(), BlockFault> {
        macro_rules! each {
            ($unsigned:ty, $signed:ty) => {{
                let (samples, _) = samples.as_chunks();
                if self.signed {
                    let wide = |b: &[u8; size_of::<$signed>()]| {
                        i64::from(<$signed>::from_ne_bytes(*b)).cast_unsigned()
                    };
                    self.each(samples.iter().map(wide), out)
                } else {
                    self.each(samples.iter().map(|b| u64::from(<$unsigned>::from_ne_bytes(*b))), out)
                }
            }};
        }
        match self.size {
            1 => each!(u8, i8),
            2 => each!(u16, i16),
            4 => each!(u32, i32),
            _ => each!(u64, i64),
        }
    }

    fn each(self, values: impl Iterator<Item = u64>, out: &mut BitWriter<'_>) -> Result<(), BlockFault> {
        let up = 64 - self.bits.clamp(1, 64);
        for value in values {
            let fits = match self.signed {
                true => ((value << up).cast_signed() >> up).cast_unsigned() == value,
                false => value << up >> up == value,
            };
            if !fits {
                return Err(self.too_large(value));
            }
            out.put(value << up >> up, self.bits);
        }
        out.finish();
        Ok(())
    }

    #[cold]
    fn too_large(self, value: u64) -> BlockFault {
        let bits = self.bits;
        let most = u64::MAX >> (64 - bits.clamp(1, 64));
        let detail = if self.signed {
            let most = (most >> 1).cast_signed();
            format!(
                "expected {} to {most} in a sample of {bits} bits, got {}",
                -most - 1,
                value.cast_signed()
            )
        } else {
            format!("expected 0 to {most} in a sample of {bits} bits, got {value}")
        };
        unrepresentable(detail)
    }
}

fn unrepresentable(detail: String) -> BlockFault {
    BlockFault { kind: FaultKind::Unrepresentable, found: 0, expected: 0, detail: detail.into() }
}

/// Writes bits to bytes, most significant first, eight bytes at a time.
struct BitWriter<'a> {
    rest: std::slice::ChunksMut<'a, u8>,
    /// Pending bits, `count` of them at the low end.
    bits: u128,
    count: u32,
}

impl<'a> BitWriter<'a> {
    fn new(dst: &'a mut [u8]) -> Self {
        Self { rest: dst.chunks_mut(8), bits: 0, count: 0 }
    }

    /// Appends the low `count` bits, at most 64; higher bits of `value` must be 0.
    #[inline(always)]
    fn put(&mut self, value: u64, count: u32) {
        self.bits = self.bits << count | u128::from(value);
        self.count += count;
        if self.count >= 64 {
            self.count -= 64;
            self.flush();
        }
    }

    /// Writes the bits above the last `count`.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the low 64 bits are those to write")]
    fn flush(&mut self) {
        let word = ((self.bits >> self.count) as u64).to_be_bytes();
        if let Some(out) = self.rest.next() {
            out.iter_mut().zip(word).for_each(|(to, byte)| *to = byte);
        }
    }

    /// Writes the last bits, padded with zeros to a byte.
    fn finish(&mut self) {
        if self.count > 0 {
            self.bits <<= 64 - self.count;
            self.count = 0;
            self.flush();
        }
    }
}

/// Packs samples of 1 bit, eight at a time.
fn single_bits(samples: &[u8], dst: &mut [u8], depth: Depth) -> Result<(), BlockFault> {
    // Each product moves the bit of one byte to its place in the top byte, without collisions.
    const GATHER: u64 = 0x8040_2010_0804_0201;
    for (eight, out) in samples.chunks(8).zip(dst) {
        let mut bytes = [0; 8];
        bytes.iter_mut().zip(eight).for_each(|(to, from)| *to = *from);
        let word = u64::from_le_bytes(bytes);
        if word & !0x0101_0101_0101_0101 != 0 {
            let large = eight.iter().find(|&&sample| sample > 1).copied().unwrap_or_default();
            return Err(depth.too_large(large.into()));
        }
        *out = word.wrapping_mul(GATHER).to_be_bytes()[0];
    }
    Ok(())
}

/// Returns the low `SIZE` bytes of a number in native order.
fn native_low<const SIZE: usize>(value: u64) -> [u8; SIZE] {
    let bytes = value.to_ne_bytes();
    let low = if cfg!(target_endian = "little") { bytes.first_chunk() } else { bytes.last_chunk() };
    low.copied().unwrap_or([0; SIZE])
}

/// Writes integers of `bits` bits from the halves of complex numbers.
fn pairs(values: impl Iterator<Item = f64>, dst: &mut [u8], bits: u32) -> Result<(), BlockFault> {
    fn each<const SIZE: usize>(
        values: impl Iterator<Item = f64>,
        dst: &mut [u8],
        bits: u32,
    ) -> Result<(), BlockFault> {
        let most = (1i64 << (bits - 1)) - 1;
        for (value, to) in values.zip(dst.as_chunks_mut::<SIZE>().0) {
            #[expect(clippy::cast_possible_truncation, reason = "compared with the value right after")]
            let integer = value as i64;
            #[expect(clippy::cast_precision_loss, reason = "32 bits fit a float of 64; more are refused")]
            let exact = integer as f64 == value && (-most - 1..=most).contains(&integer);
            if !exact {
                return Err(unrepresentable(format!(
                    "expected whole numbers from {} to {most} in a pair of {bits} bits each, got {value:?}",
                    -most - 1
                )));
            }
            *to = native_low(integer.cast_unsigned());
        }
        Ok(())
    }
    match bits {
        8 => each::<1>(values, dst, 8),
        16 => each::<2>(values, dst, 16),
        _ => each::<4>(values, dst, 32),
    }
}

/// Returns the bits of the 24-bit float (1 sign, 7 exponent minus 63, 16 mantissa) with the value of a 32-bit one.
fn float24(value: f32) -> Result<u32, BlockFault> {
    let bits = value.to_bits();
    let (sign, exponent, mantissa) = (bits >> 31 << 23, bits >> 23 & 0xFF, bits & 0x7F_FFFF);
    let inexact = || unrepresentable(format!("{value:?} in a float of 24 bits, which has no such value"));
    let narrow = |mantissa: u32, drop: u32| {
        let kept = mantissa.checked_shr(drop).unwrap_or(0);
        let lost = mantissa ^ kept.checked_shl(drop).unwrap_or(0);
        if lost == 0 { Ok(kept) } else { Err(inexact()) }
    };
    match exponent {
        0 if mantissa == 0 => Ok(sign),
        0xFF if mantissa == 0 => Ok(sign | 0x7F_0000),
        // NaN stays NaN, with the part of its payload that fits.
        0xFF => Ok(sign | 0x7F_0000 | (mantissa >> 7).max(1)),
        65..=190 => Ok(sign | (exponent - 64) << 16 | narrow(mantissa, 7)?),
        // Below 2^-62 numbers are subnormal: the leading bit moves into the mantissa.
        1..=64 => Ok(sign | narrow(mantissa | 0x80_0000, 7 + 65 - exponent)?),
        _ => Err(inexact()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_packed_from_the_top() {
        let samples: Vec<u8> = [0xABCu16, 0x123, 0xFED].iter().flat_map(|v| v.to_ne_bytes()).collect();
        let mut dst = [0xFF; 5];
        let depth = Depth { bits: 12, signed: false, size: 2 };
        Packer::Bits(depth).row(&samples, &mut dst).unwrap();
        assert_eq!(dst, [0xAB, 0xC1, 0x23, 0xFE, 0xD0]);
        let mut dst = [0xFF; 2];
        let single = Packer::Bits(Depth { bits: 1, signed: false, size: 1 });
        single.row(&[1, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1], &mut dst).unwrap();
        assert_eq!(dst, [0b1011_0001, 0b1010_0000]);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let unsigned = Packer::Bits(Depth { bits: 7, signed: false, size: 1 });
        let fault = unsigned.row(&[127, 128], &mut [0; 2]).unwrap_err();
        assert_eq!(fault.to_string(), "cannot be stored: expected 0 to 127 in a sample of 7 bits, got 128");
        let signed = Packer::Bits(Depth { bits: 12, signed: true, size: 2 });
        assert!(signed.row(&(-2048i16).to_ne_bytes(), &mut [0; 2]).is_ok());
        let fault = signed.row(&(-2049i16).to_ne_bytes(), &mut [0; 2]).unwrap_err();
        assert_eq!(
            fault.to_string(),
            "cannot be stored: expected -2048 to 2047 in a sample of 12 bits, got -2049"
        );
        let single = Packer::Bits(Depth { bits: 1, signed: false, size: 1 });
        assert!(single.row(&[0, 1, 0, 1, 0, 1, 0, 1, 0, 2], &mut [0; 2]).is_err());
        let pair = Packer::Pairs { half: 16, size: 8 };
        for bad in [0.5, 32768.0, f32::NAN, f32::INFINITY] {
            let bytes = [1.0, bad].map(f32::to_ne_bytes).concat();
            assert!(pair.row(&bytes, &mut [0; 4]).is_err(), "{bad}");
        }
    }

    #[test]
    fn floats_of_24_bits_are_exact_or_a_fault() {
        let exact = [
            (1.0, 0x3F_0000),
            (-1.5, 0xBF_8000),
            (2f32.powi(-62 - 16), 0x00_0001),
            (65535.0 * 2f32.powi(-62 - 16), 0x00_FFFF),
            (2f32.powi(-62), 0x01_0000),
            (f32::INFINITY, 0x7F_0000),
            (-0.0, 0x80_0000),
        ];
        for (value, bits) in exact {
            assert_eq!(float24(value).unwrap(), bits, "{value:?}");
        }
        assert!(float24(f32::NAN).unwrap() & 0x7F_FFFF > 0x7F_0000);
        for bad in [0.1, 2f32.powi(64), 2f32.powi(-79), f32::MIN_POSITIVE, 1.0e-45] {
            assert!(float24(bad).is_err(), "{bad:?}");
        }
    }
}

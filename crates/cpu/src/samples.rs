//! Unpacks bits to samples in memory: every depth from 1 to 64 bits, mixed depths, 24-bit floats and pairs of integers.
//!
//! Integers of depths other than 8, 16, 32 or 64 are packed most significant bit first, whatever the byte order of the
//! file; others are already in native order (by `predict`). Samples whose packed bits equal their type in memory need
//! no unpacking; `Unpacker::of` then returns `None`. Samples of mixed depths are widened to the bits of their type in
//! memory (31 in 5 bits and 63 in 6 both become 255 in 8), so that the bands of a pixel have one scale.

use strile_engine::{BlockLayout, DecodedForm};
use strile_tiff::{Predictor, SampleFormat};

/// How the packed bits of a layout become samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unpacker {
    /// Depths of the interleaved samples.
    depths: Vec<u16>,
    format: SampleFormat,
    /// Whether samples are whole bytes in native order, not bits.
    bytewise: bool,
    /// Whether each sample is added to that of the previous pixel, modulo its depth (predictor 2).
    sums: bool,
    /// Bytes of a sample in memory.
    size: usize,
}

impl Unpacker {
    /// Returns the unpacker for a layout; `None` if packed samples already are samples in memory.
    pub(crate) fn of(layout: &BlockLayout) -> Option<Self> {
        let size = layout.data_type.size();
        let sample = layout.sample;
        let same = usize::from(sample.bits) == size * 8 && sample.format != SampleFormat::ComplexInt;
        if layout.decoded_form() == DecodedForm::Samples || (same && layout.mixed_bits.is_none()) {
            return None;
        }
        let depths = match &layout.mixed_bits {
            Some(depths) => depths.to_vec(),
            None => vec![sample.bits; usize::from(layout.samples)],
        };
        let whole = match sample.bits {
            24 => sample.format == SampleFormat::Float,
            bits => matches!(bits, 8 | 16 | 32 | 64),
        };
        let bytewise = whole && layout.mixed_bits.is_none();
        // `predict` has already summed whole integers.
        let done_before = matches!(sample.bits, 8 | 16 | 32 | 64);
        let sums = layout.predictor == Predictor::Horizontal && !done_before;
        Some(Self { depths, format: sample.format, bytewise, sums, size })
    }

    /// Unpacks the first samples of a row, as many as `dst` holds.
    pub(crate) fn row(&self, packed: &[u8], dst: &mut [u8]) {
        if self.format == SampleFormat::ComplexInt {
            return self.pairs(packed, dst);
        }
        if let (SampleFormat::Uint, Some(&bits @ (1 | 2 | 4)), 1, false) =
            (self.format, self.uniform(), self.size, self.sums)
        {
            return fractions(packed, dst, u32::from(bits));
        }
        match self.size {
            1 => self.each::<1>(packed, dst),
            2 => self.each::<2>(packed, dst),
            4 => self.each::<4>(packed, dst),
            _ => self.each::<8>(packed, dst),
        }
    }

    fn uniform(&self) -> Option<&u16> {
        self.depths.first().filter(|first| self.depths.iter().all(|depth| depth == *first))
    }

    fn each<const SIZE: usize>(&self, packed: &[u8], dst: &mut [u8]) {
        if let (SampleFormat::Uint, Some(&bits), false, false) =
            (self.format, self.uniform(), self.sums, self.bytewise)
        {
            let (samples, _) = dst.as_chunks_mut::<SIZE>();
            // Common sensor depths have separate loops.
            return match bits {
                10 => plain_bits(packed, samples, 10),
                12 => plain_bits(packed, samples, 12),
                14 => plain_bits(packed, samples, 14),
                _ => plain_bits(packed, samples, u32::from(bits)),
            };
        }
        let mixed = self.uniform().is_none();
        let width = u32::try_from(SIZE * 8).unwrap_or(64);
        let mut before = vec![0; self.depths.len()];
        let mut at = 0;
        for pixel in dst.as_chunks_mut::<SIZE>().0.chunks_mut(self.depths.len().max(1)) {
            for ((out, &depth), before) in pixel.iter_mut().zip(&self.depths).zip(&mut before) {
                let bits = u32::from(depth);
                let mut value =
                    if self.bytewise { native(packed, at, bits) } else { bits_at(packed, at, bits) };
                at += u64::from(bits);
                if self.sums {
                    value = value.wrapping_add(*before) & (u64::MAX >> (64 - bits.clamp(1, 64)));
                    *before = value;
                }
                *out = low_bytes(match self.format {
                    _ if mixed => widened(value, bits, width),
                    SampleFormat::Int => sign_extended(value, bits),
                    SampleFormat::Float if bits == 24 => u64::from(float24(value)),
                    _ => value,
                });
            }
        }
    }

    /// Converts pairs of integers to pairs of floats: of 32 bits, or of 64 if the integers have 32.
    fn pairs(&self, packed: &[u8], dst: &mut [u8]) {
        let half = self.uniform().map_or(8, |&bits| u32::from(bits / 2));
        let mut at = 0;
        let mut next = || {
            let value = sign_extended(native(packed, at, half), half).cast_signed();
            at += u64::from(half);
            value
        };
        #[expect(clippy::cast_precision_loss, reason = "16 bits fit a float of 32, 32 one of 64")]
        if self.size == 8 {
            dst.as_chunks_mut().0.iter_mut().for_each(|out| *out = (next() as f32).to_ne_bytes());
        } else {
            dst.as_chunks_mut().0.iter_mut().for_each(|out| *out = (next() as f64).to_ne_bytes());
        }
    }
}

/// Widens a value of `bits` bits by repeating its bits to fill `width`: 0 stays 0, the largest becomes the largest.
fn widened(value: u64, bits: u32, width: u32) -> u64 {
    let (mut out, mut filled) = (0u64, 0u32);
    while filled < width {
        let take = bits.max(1).min(width - filled);
        out = out.checked_shl(take).unwrap_or(0) | (value >> (bits - take.min(bits)));
        filled += take;
    }
    out
}

/// Unpacks unsigned samples of one depth.
#[inline(always)]
fn plain_bits<const SIZE: usize>(packed: &[u8], samples: &mut [[u8; SIZE]], bits: u32) {
    let mut at = 0;
    for sample in samples {
        *sample = low_bytes(bits_at(packed, at, bits));
        at += u64::from(bits);
    }
}

/// Unpacks samples of 1 bit, eight at a time.
fn single_bits(packed: &[u8], dst: &mut [u8]) {
    let spread = |byte: u8| {
        let copies = (u64::from(byte) * 0x0101_0101_0101_0101) & 0x0102_0408_1020_4080;
        // Each byte is now 0 or a power of two: adding 0x7f carries into its top bit unless it is 0.
        let tops = ((copies & 0x7f7f_7f7f_7f7f_7f7f) + 0x7f7f_7f7f_7f7f_7f7f) | copies;
        (tops >> 7 & 0x0101_0101_0101_0101).to_le_bytes()
    };
    let (eights, rest) = dst.as_chunks_mut::<8>();
    for (&byte, out) in packed.iter().zip(&mut *eights) {
        *out = spread(byte);
    }
    let last = packed.get(eights.len()).map_or([0; 8], |&byte| spread(byte));
    rest.iter_mut().zip(last).for_each(|(out, bit)| *out = bit);
}

/// Unpacks samples of 1, 2 or 4 bits, most significant first within each byte.
fn fractions(packed: &[u8], dst: &mut [u8], bits: u32) {
    if bits == 1 {
        return single_bits(packed, dst);
    }
    let mask = u8::MAX >> (8 - bits);
    let per_byte = usize::from(8 / mask.count_ones().to_le_bytes()[0].max(1));
    for (&byte, out) in packed.iter().zip(dst.chunks_mut(per_byte)) {
        let mut rest = byte;
        for sample in out {
            rest = rest.rotate_left(bits);
            *sample = rest & mask;
        }
    }
}

/// Returns the `bits` (1 to 64) bits from bit `at` on, most significant first; bits past the end are 0.
fn bits_at(packed: &[u8], at: u64, bits: u32) -> u64 {
    let first = usize::try_from(at / 8).unwrap_or(usize::MAX);
    let rest = packed.get(first..).unwrap_or_default();
    let window = rest.first_chunk().map_or_else(
        || rest.iter().take(8).enumerate().fold(0, |sum, (i, &byte)| sum | u64::from(byte) << (56 - 8 * i)),
        |bytes| u64::from_be_bytes(*bytes),
    );
    let skip = u32::from((at % 8).to_le_bytes()[0]);
    let ninth = rest.get(8).map_or(0, |&byte| u64::from(byte));
    // `skip` is below 8: the ninth byte provides the bits that the shift leaves empty.
    let window = window << skip | ninth >> (8 - skip);
    window >> (64 - bits.clamp(1, 64))
}

/// Returns a number of 1, 2, 3, 4 or 8 whole bytes in native order at bit `at`; 0 past the end.
fn native(packed: &[u8], at: u64, bits: u32) -> u64 {
    let first = usize::try_from(at / 8).unwrap_or(usize::MAX);
    let len = usize::try_from(bits / 8).unwrap_or(0);
    let bytes = packed.get(first..).and_then(|rest| rest.get(..len)).unwrap_or_default();
    let join = |sum: u64, &byte: &u8| sum << 8 | u64::from(byte);
    if cfg!(target_endian = "little") { bytes.iter().rev().fold(0, join) } else { bytes.iter().fold(0, join) }
}

fn sign_extended(value: u64, bits: u32) -> u64 {
    let up = 64 - bits.clamp(1, 64);
    ((value << up).cast_signed() >> up).cast_unsigned()
}

/// Returns the low `SIZE` bytes of a number in native order.
fn low_bytes<const SIZE: usize>(value: u64) -> [u8; SIZE] {
    let bytes = value.to_ne_bytes();
    let low = if cfg!(target_endian = "little") { bytes.first_chunk() } else { bytes.last_chunk() };
    low.copied().unwrap_or([0; SIZE])
}

/// Returns the bits of a 32-bit float from those of a 24-bit one: 1 sign, 7 exponent (minus 63), 16 mantissa, as in
/// GDAL.
fn float24(value: u64) -> u32 {
    let value = u32::try_from(value & 0xff_ffff).unwrap_or(0);
    let (sign, exponent, mantissa) = ((value >> 23) << 31, value >> 16 & 0x7f, value & 0xffff);
    match (exponent, mantissa) {
        (0, 0) => sign,
        (0, _) => {
            // The result can be normal even if the input is subnormal: move the first set bit to bit 16.
            let up = mantissa.leading_zeros() - 15;
            let normal = (mantissa << up) & 0xffff;
            sign | (127 - 63 + 1 - up) << 23 | normal << 7
        }
        (0x7f, _) => sign | 0x7f80_0000 | mantissa << 7,
        _ => sign | (exponent + 127 - 63) << 23 | mantissa << 7,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpacker(format: SampleFormat, depths: &[u16], size: usize) -> Unpacker {
        let bytewise = depths.len() == 1 && matches!(depths[0], 8 | 16 | 24 | 32 | 64);
        Unpacker { depths: depths.to_vec(), format, bytewise, sums: false, size }
    }

    fn bytes(len: usize) -> Vec<u8> {
        (0..len).map(|i| (i * 151 + (i >> 3) * 77 + 13).to_le_bytes()[0]).collect()
    }

    /// Reads bit by bit, in the simplest and slowest way.
    fn naive(packed: &[u8], at: usize, bits: usize) -> u64 {
        (at..at + bits).fold(0, |sum, bit| sum << 1 | u64::from(packed[bit / 8] >> (7 - bit % 8) & 1))
    }

    #[test]
    fn every_depth_equals_a_naive_bit_reader() {
        for bits in 1..=64u16 {
            if matches!(bits, 8 | 16 | 24 | 32 | 64) {
                continue;
            }
            let size = usize::from(bits).div_ceil(8).next_power_of_two();
            for count in [1, 2, 7, 8, 9, 31] {
                let packed = bytes((usize::from(bits) * count).div_ceil(8));
                for (format, signed) in [(SampleFormat::Uint, false), (SampleFormat::Int, true)] {
                    let mut row = vec![0; size * count];
                    unpacker(format, &[bits], size).row(&packed, &mut row);
                    for (i, sample) in row.chunks_exact(size).enumerate() {
                        let mut want = naive(&packed, i * usize::from(bits), bits.into());
                        if signed && want >> (bits - 1) == 1 {
                            want |= u64::MAX << bits;
                        }
                        assert_eq!(sample, &want.to_ne_bytes()[..size], "{bits} bits, sample {i} of {count}");
                    }
                }
            }
        }
    }

    #[test]
    fn mixed_depths_follow_each_other() {
        // 5-6-5: 10101 011011 00111 = 0xab67
        let mut row = [0; 3];
        unpacker(SampleFormat::Uint, &[5, 6, 5], 1).row(&[0xab, 0x67], &mut row);
        // Each is widened to eight bits by repeating its own bits.
        assert_eq!(row, [0b1010_1101, 0b0110_1101, 0b0011_1001]);
    }

    #[test]
    fn three_bytes_are_one_number() {
        let packed = if cfg!(target_endian = "little") { [1, 2, 0x83] } else { [0x83, 2, 1] };
        let mut row = [0; 4];
        unpacker(SampleFormat::Uint, &[24], 4).row(&packed, &mut row);
        assert_eq!(u32::from_ne_bytes(row), 0x83_0201);
        unpacker(SampleFormat::Int, &[24], 4).row(&packed, &mut row);
        assert_eq!(i32::from_ne_bytes(row), 0x83_0201 - 0x100_0000);
    }

    #[test]
    fn floats_of_24_bits_are_exact() {
        let value = |bits| f32::from_bits(float24(bits));
        assert_eq!(value(0x3f_0000), 1.0);
        assert_eq!(value(0xbf_8000), -1.5);
        assert_eq!(value(0x00_0001), 2f32.powi(-62 - 16), "the smallest subnormal");
        assert_eq!(value(0x00_ffff), 65535.0 * 2f32.powi(-62 - 16), "the largest subnormal");
        assert_eq!(value(0x7f_0000), f32::INFINITY);
        assert!(value(0x7f_0001).is_nan());
        assert_eq!(value(0x80_0000).to_bits(), 0x8000_0000, "minus zero");
    }

    #[test]
    fn pairs_of_integers_become_pairs_of_floats() {
        let packed: Vec<u8> = [-3i16, 500].iter().flat_map(|v| v.to_ne_bytes()).collect();
        let mut row = [0; 8];
        unpacker(SampleFormat::ComplexInt, &[32], 8).row(&packed, &mut row);
        let floats: Vec<f32> = row.as_chunks().0.iter().map(|b| f32::from_ne_bytes(*b)).collect();
        assert_eq!(floats, [-3.0, 500.0]);
        let packed: Vec<u8> = [i32::MIN, i32::MAX].iter().flat_map(|v| v.to_ne_bytes()).collect();
        let mut row = [0; 16];
        unpacker(SampleFormat::ComplexInt, &[64], 16).row(&packed, &mut row);
        let floats: Vec<f64> = row.as_chunks().0.iter().map(|b| f64::from_ne_bytes(*b)).collect();
        assert_eq!(floats, [f64::from(i32::MIN), f64::from(i32::MAX)]);
    }

    #[test]
    fn odd_depths_sum_modulo_their_depth() {
        let mut sums = unpacker(SampleFormat::Uint, &[12], 2);
        sums.sums = true;
        // 0xfff, then +2, then +0x010
        let mut row = [0; 6];
        sums.row(&[0xff, 0xf0, 0x02, 0x01, 0x00], &mut row);
        let values: Vec<u16> = row.as_chunks().0.iter().map(|b| u16::from_ne_bytes(*b)).collect();
        assert_eq!(values, [0xfff, 0x001, 0x011]);
    }
}

//! Entropy coding of the JPEG encoder: coefficients to Huffman codes, codes to bytes.

use super::tables::{CODES, Codes};

/// Appends bits to a stream, highest first, with a zero byte after every 0xFF (T.81, F.1.2.3).
pub(super) struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    /// Pending bits, in the low end: fewer than 32 between calls.
    bits: u64,
    count: u32,
}

impl<'a> BitWriter<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, bits: 0, count: 0 }
    }

    /// Appends the low `count` bits of `bits`, at most 32; the other bits must be 0.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the 32 highest of the bits kept")]
    fn put(&mut self, bits: u32, count: u32) {
        self.bits = self.bits << count | u64::from(bits);
        self.count += count;
        if self.count >= 32 {
            self.count -= 32;
            let word = (self.bits >> self.count) as u32;
            // A 0xFF byte is a zero byte of the complement.
            let zeros = !word;
            if zeros.wrapping_sub(0x0101_0101) & word & 0x8080_8080 == 0 {
                self.out.extend_from_slice(&word.to_be_bytes());
            } else {
                word.to_be_bytes().into_iter().for_each(|byte| self.stuffed(byte));
            }
        }
    }

    fn stuffed(&mut self, byte: u8) {
        self.out.push(byte);
        if byte == 0xFF {
            self.out.push(0);
        }
    }

    /// Appends a code, then the low bits of a coefficient of that size.
    #[inline]
    #[expect(clippy::cast_sign_loss, reason = "two's complement, masked to the size")]
    fn coefficient(&mut self, (code, len): (u16, u8), value: i32, size: u32) {
        // Negative values are decremented, so that their first bit is 0.
        let low = (value + (value >> 31)) as u32 & ((1 << size) - 1);
        self.put(u32::from(code) << size | low, u32::from(len) + size);
    }

    /// Appends a block in the stream's order; `previous` is the DC coefficient of the component's previous block.
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "positions below 64; symbols below 256")]
    pub(super) fn block(&mut self, coefficients: &[i16; 64], previous: i16, table: usize) {
        let (dc, ac): &(Codes, Codes) = &CODES[table & 1];
        let difference = i32::from(coefficients[0]) - i32::from(previous);
        let size = 32 - difference.unsigned_abs().leading_zeros();
        self.coefficient(dc[size as usize & 15], difference, size);
        let mut left = 0_u64;
        for (k, &coefficient) in coefficients.iter().enumerate() {
            left |= u64::from(coefficient != 0) << k;
        }
        left &= !1;
        let mut last = 0;
        while left != 0 {
            let at = left.trailing_zeros();
            left &= left - 1;
            let mut zeros = at - last - 1;
            while zeros >= 16 {
                self.coefficient(ac[0xF0], 0, 0);
                zeros -= 16;
            }
            // Baseline sizes go up to 10; coefficients of 8-bit samples fit.
            let value = i32::from(coefficients[at as usize & 63]).clamp(-1023, 1023);
            let size = 32 - value.unsigned_abs().leading_zeros();
            self.coefficient(ac[(zeros << 4 | size) as usize & 255], value, size);
            last = at;
        }
        if last < 63 {
            self.coefficient(ac[0], 0, 0);
        }
    }

    /// Pads the last byte with ones.
    pub(super) fn finish(mut self) {
        let spare = (8 - self.count % 8) % 8;
        self.put((1 << spare) - 1, spare);
        while self.count > 0 {
            self.count -= 8;
            let byte = (self.bits >> self.count).to_le_bytes()[0];
            self.stuffed(byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stuffs_a_zero_after_ones() {
        let mut out = Vec::new();
        let mut bits = BitWriter::new(&mut out);
        bits.put(0x12FF_34FF, 32);
        bits.put(0x7F, 7);
        bits.finish();
        assert_eq!(out, [0x12, 0xFF, 0, 0x34, 0xFF, 0, 0xFF, 0]);
    }

    /// T.81, F.1.2: DC difference -3 is size 2, bits 00; then 17 zeros and a 1: ZRL, run 1 size 1; end of block.
    #[test]
    fn codes_a_block() {
        let mut coefficients = [0; 64];
        coefficients[0] = 2;
        coefficients[18] = 1;
        let mut out = Vec::new();
        let mut bits = BitWriter::new(&mut out);
        bits.block(&coefficients, 5, 0);
        bits.finish();
        // 011 00 | 11111111001 | 1100 1 | 1010, then ones: 25 bits and 7 more.
        assert_eq!(out, [0b0110_0111, 0b1111_1001, 0b1100_1101, 0b0111_1111]);
    }
}

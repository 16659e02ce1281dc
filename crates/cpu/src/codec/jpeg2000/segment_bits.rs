//! Bits of a codeword segment, arithmetically decoded (ISO 15444-1, annex C) or raw (D.6).
//!
//! The arithmetic decoder has no branch that depends on a decision, because decisions are unpredictable. Its code
//! register holds bytes far ahead of the compared bits. That is exact: everything ahead is less than one unit of the
//! compared bits, except the carry in a byte after 0xFF, and a code string including its carries is what was encoded.
//!
//! Segments are followed by `PADDING` bytes of 0xFF, which both readers treat as the end, followed by an endless
//! sequence of ones.

use super::states::{FIRST, TABLE};
use std::hint::select_unpredictable;

/// Number of 0xFF bytes after a segment.
pub(super) const PADDING: usize = 16;

/// State of a context: the probability in the highest 16 bits, the states after the less and the more probable symbol
/// from bits 19 and 3 on, the more probable symbol in the lowest bit.
pub(super) type State = u64;

const PROBABILITY: u64 = 0xFFFF << 48;

#[expect(clippy::indexing_slicing, reason = "evaluated when compiling")]
static STATES: [State; 128] = {
    let mut states = [0; 128];
    let mut at = 0;
    while at < 128 {
        let state = TABLE[at];
        states[at] = (state.probability as u64) << 48
            | (state.after_less as u64) << 19
            | (state.after_more as u64) << 3
            | (at & 1) as u64;
        at += 1;
    }
    states
};

/// Initial states of all contexts.
#[expect(clippy::indexing_slicing, reason = "evaluated when compiling")]
pub(super) static BEGINNING: [State; 32] = {
    let mut states = [0; 32];
    let mut at = 0;
    while at < 32 {
        states[at] = STATES[FIRST[at] as usize];
        at += 1;
    }
    states
};

/// A source of bits.
pub(super) trait Bits: Copy {
    /// Whether bits are raw: contexts are ignored.
    const RAW: bool;

    /// Returns the next bit of the segment, in a context.
    fn bit(&mut self, state: &mut State, bytes: &[u8]) -> bool;
}

/// The arithmetic decoder.
#[derive(Clone, Copy)]
pub(super) struct Arithmetic {
    /// Bits compared with probabilities in the highest 16 bits, the following bits below.
    code: u64,
    /// Interval, in the highest 16 bits; the highest bit is set.
    interval: u64,
    /// Bits of `code` that are not filled yet.
    free: u32,
    /// Offset of the last byte taken.
    at: usize,
}

impl Arithmetic {
    /// Starts a segment.
    pub(super) fn new(bytes: &[u8]) -> Self {
        let first = u64::from(bytes.first().copied().unwrap_or(0xFF));
        Self { code: first << 55, interval: 0x8000 << 48, free: 55, at: 0 }.refilled(bytes)
    }

    /// Loads bytes while there is room: after 0xFF a byte has seven bits and a carry, or is the end.
    #[inline(never)]
    fn refilled(mut self, bytes: &[u8]) -> Self {
        // Five at once, unless one of them or the one before is 0xFF.
        if self.free >= 40
            && let Some(word) = bytes.get(self.at..).and_then(|rest| rest.first_chunk::<8>())
        {
            let word = u64::from_be_bytes(*word);
            let zeros = !word | 0xFFFF;
            if zeros.wrapping_sub(0x0101_0101_0101_0101) & !zeros & 0x8080_8080_8080_8080 == 0 {
                self.code = self.code.wrapping_add((word >> 16 & 0xFF_FFFF_FFFF) << (self.free - 40));
                self.free -= 40;
                self.at += 5;
                return self;
            }
        }
        let byte = |at: usize| bytes.get(at).copied().unwrap_or(0xFF);
        while self.free >= 8 {
            let (last, next) = (byte(self.at), byte(self.at + 1));
            let bits = if last == 0xFF && next <= 0x8F { 7 } else { 8 };
            self.free -= bits;
            if last == 0xFF && next > 0x8F {
                self.code = self.code.wrapping_add(0xFF << self.free);
            } else {
                self.code = self.code.wrapping_add(u64::from(next) << self.free);
                self.at += 1;
            }
        }
        self
    }
}

impl Bits for Arithmetic {
    const RAW: bool = false;

    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "masked to the table's length")]
    fn bit(&mut self, state: &mut State, bytes: &[u8]) -> bool {
        let now = *state;
        let probability = now & PROBABILITY;
        let rest = self.interval.wrapping_sub(probability);
        let (beyond, is_low) = self.code.overflowing_sub(probability);
        let code = select_unpredictable(is_low, self.code, beyond);
        let interval = select_unpredictable(is_low, probability, rest);
        let is_less = is_low ^ (rest < probability);
        let shift = interval.leading_zeros();
        let after_more = STATES[(now >> 3) as usize & 127];
        let after_less = STATES[(now >> 19) as usize & 127];
        let after_more = select_unpredictable(interval >> 63 == 1, now, after_more);
        *state = select_unpredictable(is_less, after_less, after_more);
        self.interval = interval << shift;
        self.code = code << shift;
        self.free += shift;
        if self.free > 48 {
            *self = self.refilled(bytes);
        }
        (now & 1 == 1) ^ is_less
    }
}

/// Raw bits; after 0xFF a byte has seven.
#[derive(Clone, Copy)]
pub(super) struct Raw {
    current: u8,
    left: u32,
    at: usize,
}

impl Raw {
    /// Starts a segment.
    pub(super) fn new() -> Self {
        Self { current: 0, left: 0, at: 0 }
    }
}

impl Bits for Raw {
    const RAW: bool = true;

    #[inline(always)]
    fn bit(&mut self, _: &mut State, bytes: &[u8]) -> bool {
        if self.left == 0 {
            let next = bytes.get(self.at).copied().unwrap_or(0xFF);
            let after_ones = self.current == 0xFF;
            self.left = if after_ones && next <= 0x8F { 7 } else { 8 };
            if after_ones && next > 0x8F {
                self.current = 0xFF;
            } else {
                self.current = next;
                self.at += 1;
            }
        }
        self.left -= 1;
        self.current >> self.left & 1 == 1
    }
}

#[cfg(test)]
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "small numbers made here"
)]
mod tests {
    use super::super::super::byte_testing::Random;
    use super::super::arithmetic::Encoder;
    use super::*;

    fn padded(bytes: &[u8]) -> Vec<u8> {
        [bytes, &[0xFF; PADDING]].concat()
    }

    /// The test sequence of ITU-T T.88, H.2, in a context with initial state 0.
    #[test]
    fn decodes_the_test_sequence() {
        let bytes = padded(&[
            0x84, 0xC7, 0x3B, 0xFC, 0xE1, 0xA1, 0x43, 0x04, 0x02, 0x20, 0x00, 0x00, 0x41, 0x0D, 0xBB, 0x86,
            0xF4, 0x31, 0x7F, 0xFF, 0x88, 0xFF, 0x37, 0x47, 0x1A, 0xDB, 0x6A, 0xDF, 0xFF, 0xAC,
        ]);
        let mut bits = Arithmetic::new(&bytes);
        let mut state = BEGINNING[1];
        let found: Vec<u8> = (0..32)
            .map(|_| (0..8).fold(0, |byte, _| byte << 1 | u8::from(bits.bit(&mut state, &bytes))))
            .collect();
        let expected = [
            0x00, 0x02, 0x00, 0x51, 0x00, 0x00, 0x00, 0xC0, 0x03, 0x52, 0x87, 0x2A, 0xAA, 0xAA, 0xAA, 0xAA,
            0x82, 0xC0, 0x20, 0x00, 0xFC, 0xD7, 0x9E, 0xF6, 0xBF, 0x7F, 0xED, 0x90, 0x4F, 0x46, 0xA3, 0xBF,
        ];
        assert_eq!(found, expected);
    }

    /// Long enough for carries into bytes after 0xFF, with all kinds of probabilities.
    #[test]
    fn decodes_what_was_encoded() {
        let mut random = Random::new(7);
        for bias in [1, 2, 3, 7, 50, 1000] {
            let wanted: Vec<(u8, bool)> =
                (0..60_000).map(|_| (random.below(19) as u8, random.below(bias) == 0)).collect();
            let mut encoder = Encoder::new();
            wanted.iter().for_each(|&(context, bit)| encoder.code(context, bit));
            let bytes = padded(&encoder.finish());
            let mut bits = Arithmetic::new(&bytes);
            let mut states = BEGINNING;
            for (at, &(context, bit)) in wanted.iter().enumerate() {
                assert_eq!(bits.bit(&mut states[usize::from(context)], &bytes), bit, "{bias}: {at}");
            }
        }
    }

    #[test]
    fn raw_bits_are_stuffed_and_end_in_ones() {
        let bytes = padded(&[0b1010_0000, 0xFF, 0b0100_0001, 0x03]);
        let mut bits = Raw::new();
        let found: Vec<u8> = (0..39).map(|_| u8::from(bits.bit(&mut 0, &bytes))).collect();
        let expected = [
            [1, 0, 1, 0, 0, 0, 0, 0].as_slice(),
            &[1; 8],
            &[1, 0, 0, 0, 0, 0, 1],
            &[0, 0, 0, 0, 0, 0, 1, 1],
            &[1; 8],
        ];
        assert_eq!(found, expected.concat());
    }
}

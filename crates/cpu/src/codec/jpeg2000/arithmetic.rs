//! The MQ coder of the JPEG 2000 encoder (ISO 15444-1, annex C).

/// Table C.2: the probability, and the next state after the more and after the less probable symbol, with whether
/// that one changes which is which.
const STATES: [(u16, u8, u8, bool); 47] = [
    (0x5601, 1, 1, true),
    (0x3401, 2, 6, false),
    (0x1801, 3, 9, false),
    (0x0AC1, 4, 12, false),
    (0x0521, 5, 29, false),
    (0x0221, 38, 33, false),
    (0x5601, 7, 6, true),
    (0x5401, 8, 14, false),
    (0x4801, 9, 14, false),
    (0x3801, 10, 14, false),
    (0x3001, 11, 17, false),
    (0x2401, 12, 18, false),
    (0x1C01, 13, 20, false),
    (0x1601, 29, 21, false),
    (0x5601, 15, 14, true),
    (0x5401, 16, 14, false),
    (0x5101, 17, 15, false),
    (0x4801, 18, 16, false),
    (0x3801, 19, 17, false),
    (0x3401, 20, 18, false),
    (0x3001, 21, 19, false),
    (0x2801, 22, 19, false),
    (0x2401, 23, 20, false),
    (0x2201, 24, 21, false),
    (0x1C01, 25, 22, false),
    (0x1801, 26, 23, false),
    (0x1601, 27, 24, false),
    (0x1401, 28, 25, false),
    (0x1201, 29, 26, false),
    (0x1101, 30, 27, false),
    (0x0AC1, 31, 28, false),
    (0x09C1, 32, 29, false),
    (0x08A1, 33, 30, false),
    (0x0521, 34, 31, false),
    (0x0441, 35, 32, false),
    (0x02A1, 36, 33, false),
    (0x0221, 37, 34, false),
    (0x0141, 38, 35, false),
    (0x0111, 39, 36, false),
    (0x0085, 40, 37, false),
    (0x0049, 41, 38, false),
    (0x0025, 42, 39, false),
    (0x0015, 43, 40, false),
    (0x0009, 44, 41, false),
    (0x0005, 45, 42, false),
    (0x0001, 45, 43, false),
    (0x5601, 46, 46, false),
];

/// A state with its more probable symbol in the lowest bit: the probability, and the next after either.
#[derive(Clone, Copy)]
struct State {
    probability: u32,
    after_more: u8,
    after_less: u8,
}

#[expect(clippy::indexing_slicing, clippy::cast_possible_truncation, reason = "evaluated when compiling")]
const TABLE: [State; 128] = {
    let mut table = [State { probability: 0x5601, after_more: 0, after_less: 0 }; 128];
    let mut at = 0;
    while at < 94 {
        let (probability, more, less, switch) = STATES[at / 2];
        let symbol = (at % 2) as u8;
        let other = if switch { 1 - symbol } else { symbol };
        table[at] = State {
            probability: probability as u32,
            after_more: more * 2 + symbol,
            after_less: less * 2 + other,
        };
        at += 1;
    }
    table
};

/// The coder of one code-block.
pub(super) struct Encoder {
    /// A spare first byte, then what is written.
    out: Vec<u8>,
    interval: u32,
    code: u32,
    /// Bits until a byte is complete.
    left: u32,
    contexts: [u8; 32],
}

impl Encoder {
    pub(super) fn new() -> Self {
        let mut contexts = [0; 32];
        // Table D.7: the first of the zero codings, run length, uniform.
        contexts[0] = 4 * 2;
        contexts[17] = 3 * 2;
        contexts[18] = 46 * 2;
        Self { out: vec![0], interval: 0x8000, code: 0, left: 12, contexts }
    }

    /// Codes a bit in a context.
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "masked to the tables' lengths")]
    pub(super) fn code(&mut self, context: u8, bit: bool) {
        let context = &mut self.contexts[usize::from(context) & 31];
        let state = TABLE[usize::from(*context) & 127];
        self.interval -= state.probability;
        if bit == (*context & 1 == 1) {
            if self.interval & 0x8000 != 0 {
                self.code += state.probability;
                return;
            }
            if self.interval < state.probability {
                self.interval = state.probability;
            } else {
                self.code += state.probability;
            }
            *context = state.after_more;
        } else {
            if self.interval < state.probability {
                self.code += state.probability;
            } else {
                self.interval = state.probability;
            }
            *context = state.after_less;
        }
        loop {
            self.interval <<= 1;
            self.code <<= 1;
            self.left -= 1;
            if self.left == 0 {
                self.byte_out();
            }
            if self.interval & 0x8000 != 0 {
                break;
            }
        }
    }

    /// Figure C.8: a carry goes to the last byte; after 0xFF only seven bits follow.
    #[expect(clippy::cast_possible_truncation, reason = "the highest bits of the register")]
    fn byte_out(&mut self) {
        let Some(last) = self.out.last_mut() else { return };
        if *last != 0xFF && self.code & 0x800_0000 != 0 {
            *last += 1;
            self.code &= 0x7FF_FFFF;
        }
        if *last == 0xFF {
            self.out.push((self.code >> 20) as u8);
            self.code &= 0xF_FFFF;
            self.left = 7;
        } else {
            self.out.push((self.code >> 19) as u8);
            self.code &= 0x7_FFFF;
            self.left = 8;
        }
    }

    /// Figure C.11: as many ones as the interval allows; a last 0xFF is not needed.
    pub(super) fn finish(mut self) -> Vec<u8> {
        let end = self.code + self.interval;
        self.code |= 0xFFFF;
        if self.code >= end {
            self.code -= 0x8000;
        }
        self.code <<= self.left;
        self.byte_out();
        self.code <<= self.left;
        self.byte_out();
        if self.out.last() == Some(&0xFF) {
            self.out.pop();
        }
        self.out.split_off(1.min(self.out.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test sequence of ITU-T T.88, H.2, which has the same coder, begun in state 0 of one context.
    #[test]
    fn codes_the_test_sequence() {
        let input = [
            0x00, 0x02, 0x00, 0x51, 0x00, 0x00, 0x00, 0xC0, 0x03, 0x52, 0x87, 0x2A, 0xAA, 0xAA, 0xAA, 0xAA,
            0x82, 0xC0, 0x20, 0x00, 0xFC, 0xD7, 0x9E, 0xF6, 0xBF, 0x7F, 0xED, 0x90, 0x4F, 0x46, 0xA3,
            0xBF_u8,
        ];
        let mut encoder = Encoder::new();
        for byte in input {
            (0..8).rev().for_each(|bit| encoder.code(1, byte >> bit & 1 == 1));
        }
        let expected = [
            0x84, 0xC7, 0x3B, 0xFC, 0xE1, 0xA1, 0x43, 0x04, 0x02, 0x20, 0x00, 0x00, 0x41, 0x0D, 0xBB, 0x86,
            0xF4, 0x31, 0x7F, 0xFF, 0x88, 0xFF, 0x37, 0x47, 0x1A, 0xDB, 0x6A, 0xDF,
        ];
        assert_eq!(encoder.finish(), expected);
    }
}

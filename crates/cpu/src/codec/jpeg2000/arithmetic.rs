//! The MQ coder of the JPEG 2000 encoder (ISO 15444-1, annex C).

use super::states::{FIRST, TABLE};

/// Coder of one code-block.
pub(super) struct Encoder {
    /// A spare first byte, then the output.
    out: Vec<u8>,
    interval: u32,
    code: u32,
    /// Bits until a byte is complete.
    left: u32,
    contexts: [u8; 32],
}

impl Encoder {
    pub(super) fn new() -> Self {
        Self { out: vec![0], interval: 0x8000, code: 0, left: 12, contexts: FIRST }
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

    /// Outputs a byte (figure C.8): a carry goes to the last byte; after 0xFF only seven bits follow.
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

    /// Flushes the coder (figure C.11): as many ones as the interval allows; a final 0xFF is dropped.
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

    /// The test sequence of ITU-T T.88, H.2, which uses the same coder, started in state 0 of one context.
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

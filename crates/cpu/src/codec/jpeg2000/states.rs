//! States of the MQ coder (ISO 15444-1, annex C), for encoding and decoding.

use super::contexts::{RUN, UNIFORM};

/// Table C.2: the probability, the next states after the more and the less probable symbol, and whether the latter
/// swaps the two symbols.
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

/// A state with its more probable symbol in the lowest bit: the probability, and the next state after either symbol.
#[derive(Clone, Copy)]
pub(super) struct State {
    /// Probability of the less probable symbol.
    pub(super) probability: u32,
    /// State after the more probable symbol, if the interval is renormalised.
    pub(super) after_more: u8,
    /// State after the less probable symbol.
    pub(super) after_less: u8,
}

/// States by twice the state number plus its more probable symbol.
#[expect(clippy::indexing_slicing, clippy::cast_possible_truncation, reason = "evaluated when compiling")]
pub(super) static TABLE: [State; 128] = {
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

/// Initial states of the 19 contexts (table D.7): those of the first zero coding context, run length and uniform; the
/// others are 0.
#[expect(clippy::indexing_slicing, reason = "evaluated when compiling")]
pub(super) const FIRST: [u8; 32] = {
    let mut first = [0; 32];
    first[0] = 4 * 2;
    first[RUN as usize] = 3 * 2;
    first[UNIFORM as usize] = 46 * 2;
    first
};

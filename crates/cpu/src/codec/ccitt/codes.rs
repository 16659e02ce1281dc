//! Run-length codes of ITU-T T.4 (tables 2 and 3) as lookup tables of 13 bits.
//!
//! A lookup returns the run and the length of its code, or length 0 if no code begins like this. Codes are written as
//! in the recommendation to allow comparison.

use std::sync::LazyLock;

/// Length of the longest code in bits.
pub(crate) const LOOKUP_BITS: u32 = 13;

/// Meaning of a code.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Run {
    /// Pixels; a code of 64 or more must be followed by another code of the same colour.
    pub(crate) pixels: u16,
    /// Length of the code in bits, 0 if there is none.
    pub(crate) bits: u8,
}

/// Lookup tables for both colours.
pub(crate) struct RunCodes {
    white: Vec<Run>,
    black: Vec<Run>,
}

impl RunCodes {
    /// Returns the code that begins with these 13 bits.
    pub(crate) fn lookup(&self, black: bool, bits: u32) -> Run {
        let table = if black { &self.black } else { &self.white };
        table.get(bits as usize).copied().unwrap_or_default()
    }
}

/// Built once, from the lists below.
pub(crate) static RUN_CODES: LazyLock<RunCodes> = LazyLock::new(|| RunCodes {
    white: table(WHITE_TERMINATING, WHITE_MAKE_UP),
    black: table(BLACK_TERMINATING, BLACK_MAKE_UP),
});

/// A code to write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Word {
    /// The code, in the low bits.
    pub(crate) bits: u16,
    /// Length of the code in bits.
    pub(crate) len: u8,
}

/// Codes of runs, white and black: those below 64, and the multiples of 64.
pub(crate) struct RunWords {
    terminating: [Vec<Word>; 2],
    make_up: [Vec<Word>; 2],
}

impl RunWords {
    /// Returns the code of a run of less than 64 pixels.
    pub(crate) fn terminating(&self, black: bool, pixels: u32) -> Word {
        let [white, blacks] = &self.terminating;
        let words = if black { blacks } else { white };
        words.get(pixels as usize).copied().unwrap_or_default()
    }

    /// Returns the code of the largest multiple of 64 in a run of 64 to 2623 pixels.
    pub(crate) fn make_up(&self, black: bool, pixels: u32) -> Word {
        let [white, blacks] = &self.make_up;
        let words = if black { blacks } else { white };
        words.get((pixels / 64).saturating_sub(1) as usize).copied().unwrap_or_default()
    }
}

/// Built once, from the lists below.
pub(crate) static RUN_WORDS: LazyLock<RunWords> = LazyLock::new(|| {
    let words = |lists: [&str; 2]| {
        let codes = lists.into_iter().flat_map(str::split_whitespace);
        codes.map(word).collect::<Vec<_>>()
    };
    RunWords {
        terminating: [words([WHITE_TERMINATING, ""]), words([BLACK_TERMINATING, ""])],
        make_up: [words([WHITE_MAKE_UP, EXTENDED_MAKE_UP]), words([BLACK_MAKE_UP, EXTENDED_MAKE_UP])],
    }
});

fn word(code: &str) -> Word {
    let bits = code.bytes().fold(0, |value, digit| value << 1 | u16::from(digit == b'1'));
    Word { bits, len: u8::try_from(code.len()).unwrap_or_default() }
}

fn table(terminating: &str, make_up: &str) -> Vec<Run> {
    let mut table = vec![Run::default(); 1 << LOOKUP_BITS];
    let runs = (0_u16..).zip(terminating.split_whitespace());
    let long_runs =
        (64_u16..).step_by(64).zip(make_up.split_whitespace().chain(EXTENDED_MAKE_UP.split_whitespace()));
    for (pixels, code) in runs.chain(long_runs) {
        let bits = code.len().min(LOOKUP_BITS as usize);
        let spare = LOOKUP_BITS as usize - bits;
        let first =
            code.bytes().fold(0_usize, |value, digit| value << 1 | usize::from(digit == b'1')) << spare;
        for entry in table.iter_mut().skip(first).take(1 << spare) {
            *entry = Run { pixels, bits: u8::try_from(bits).unwrap_or_default() };
        }
    }
    table
}

const WHITE_TERMINATING: &str = "
    00110101 000111 0111 1000 1011 1100 1110 1111 10011 10100 00111 01000 001000 000011 110100 110101
    101010 101011 0100111 0001100 0001000 0010111 0000011 0000100 0101000 0101011 0010011 0100100 0011000
    00000010 00000011 00011010 00011011 00010010 00010011 00010100 00010101 00010110 00010111 00101000
    00101001 00101010 00101011 00101100 00101101 00000100 00000101 00001010 00001011 01010010 01010011
    01010100 01010101 00100100 00100101 01011000 01011001 01011010 01011011 01001010 01001011 00110010
    00110011 00110100";

const WHITE_MAKE_UP: &str = "
    11011 10010 010111 0110111 00110110 00110111 01100100 01100101 01101000 01100111 011001100 011001101
    011010010 011010011 011010100 011010101 011010110 011010111 011011000 011011001 011011010 011011011
    010011000 010011001 010011010 011000 010011011";

const BLACK_TERMINATING: &str = "
    0000110111 010 11 10 011 0011 0010 00011 000101 000100 0000100 0000101 0000111 00000100 00000111
    000011000 0000010111 0000011000 0000001000 00001100111 00001101000 00001101100 00000110111 00000101000
    00000010111 00000011000 000011001010 000011001011 000011001100 000011001101 000001101000 000001101001
    000001101010 000001101011 000011010010 000011010011 000011010100 000011010101 000011010110 000011010111
    000001101100 000001101101 000011011010 000011011011 000001010100 000001010101 000001010110 000001010111
    000001100100 000001100101 000001010010 000001010011 000000100100 000000110111 000000111000 000000100111
    000000101000 000001011000 000001011001 000000101011 000000101100 000001011010 000001100110 000001100111";

const BLACK_MAKE_UP: &str = "
    0000001111 000011001000 000011001001 000001011011 000000110011 000000110100 000000110101 0000001101100
    0000001101101 0000001001010 0000001001011 0000001001100 0000001001101 0000001110010 0000001110011
    0000001110100 0000001110101 0000001110110 0000001110111 0000001010010 0000001010011 0000001010100
    0000001010101 0000001011010 0000001011011 0000001100100 0000001100101";

/// 1792 to 2560, the same for both colours.
const EXTENDED_MAKE_UP: &str = "
    00000001000 00000001100 00000001101 000000010010 000000010011 000000010100 000000010101 000000010110
    000000010111 000000011100 000000011101 000000011110 000000011111";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_complete_and_none_begins_another() {
        for (terminating, make_up) in [(WHITE_TERMINATING, WHITE_MAKE_UP), (BLACK_TERMINATING, BLACK_MAKE_UP)]
        {
            let codes: Vec<&str> =
                [terminating, make_up, EXTENDED_MAKE_UP].iter().flat_map(|s| s.split_whitespace()).collect();
            assert_eq!(codes.len(), 64 + 27 + 13);
            for (i, a) in codes.iter().enumerate() {
                for (j, b) in codes.iter().enumerate() {
                    assert!(i == j || !b.starts_with(a), "{a} begins {b}");
                }
            }
            // The unused code space consists of the codes that begin with eight zeros (EOL and fill) and the three that
            // T.4 never assigned; 0000000 1 0000 to 0000000 1 1111 are all in use.
            let used: u32 = codes.iter().map(|c| 1 << (13 - c.len())).sum();
            assert!(used <= (1 << 13) - (1 << 5), "{used}");
        }
    }

    #[test]
    fn words_are_what_is_looked_up() {
        for black in [false, true] {
            for pixels in (0..64).chain((64..=2560).step_by(64)) {
                let word = match pixels {
                    0..64 => RUN_WORDS.terminating(black, pixels),
                    _ => RUN_WORDS.make_up(black, pixels + 63),
                };
                let found = RUN_CODES.lookup(black, u32::from(word.bits) << (13 - word.len));
                assert_eq!((u32::from(found.pixels), found.bits), (pixels, word.len));
            }
        }
    }

    #[test]
    fn looks_up_by_prefix() {
        assert_eq!(RUN_CODES.lookup(false, 0b00110101 << 5 | 0b10101), Run { pixels: 0, bits: 8 });
        assert_eq!(RUN_CODES.lookup(true, 0b0000001100101), Run { pixels: 1728, bits: 13 });
        assert_eq!(RUN_CODES.lookup(true, 0b000000011111 << 1), Run { pixels: 2560, bits: 12 });
        assert_eq!(RUN_CODES.lookup(false, 1).bits, 0);
    }
}

//! Huffman tables and entropy-coded bits of lossless JPEG.

use strile_codestream::jpeg::{HuffmanCode, HuffmanTable};

/// Maximum length of codes in the fast table.
const FAST_BITS: u32 = 9;

/// A Huffman table of difference categories (T.81, annex C).
#[derive(Debug, Clone)]
pub(super) struct Huffman {
    /// Length and category by the next `FAST_BITS` bits; length 0 for longer codes.
    fast: Vec<(u8, u8)>,
    /// By length: the first code, the number of codes, the index of the first value.
    lengths: [(u32, u32, usize); 17],
    values: Vec<u8>,
}

impl Huffman {
    pub(super) fn new(table: &HuffmanTable) -> Self {
        let mut lengths = [(0, 0, 0); 17];
        let mut fast = vec![(0, 0); 1 << FAST_BITS];
        for (place, HuffmanCode { bits, len, symbol }) in table.codes().enumerate() {
            if let Some(slot) = lengths.get_mut(len as usize) {
                *slot = if slot.1 == 0 { (bits, 1, place) } else { (slot.0, slot.1 + 1, slot.2) };
            }
            if len <= FAST_BITS {
                let spare = FAST_BITS - len;
                let entries = fast.iter_mut().skip((bits << spare) as usize).take(1 << spare);
                entries.for_each(|entry| *entry = (u8::try_from(len).unwrap_or(0), symbol));
            }
        }
        Self { fast, lengths, values: table.symbols.clone() }
    }
}

/// Bits of entropy-coded data, without stuffing; zeros past a marker or the end.
pub(super) struct Bits<'a> {
    data: &'a [u8],
    at: usize,
    /// The next bits, from the most significant one down.
    word: u64,
    have: u32,
    /// Bits of `word` that are past the data.
    made_up: u32,
}

impl<'a> Bits<'a> {
    pub(super) fn new(data: &'a [u8]) -> Self {
        Self { data, at: 0, word: 0, have: 0, made_up: 0 }
    }

    fn fill(&mut self) {
        while self.have <= 48 {
            let byte = match (self.data.get(self.at), self.data.get(self.at + 1)) {
                (Some(0xFF), Some(0)) => {
                    self.at += 2;
                    0xFF
                }
                (Some(0xFF), _) | (None, _) => {
                    self.made_up += 8;
                    0
                }
                (Some(&byte), _) => {
                    self.at += 1;
                    byte
                }
            };
            self.word |= u64::from(byte) << (56 - self.have);
            self.have += 8;
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "shifted down to at most 16 bits")]
    fn peek(&self, count: u32) -> u32 {
        if count == 0 { 0 } else { (self.word >> (64 - count)) as u32 }
    }

    fn skip(&mut self, count: u32) {
        self.word <<= count;
        self.have -= count.min(self.have);
    }

    /// Takes the next difference modulo 2^16, or `None` if no code begins like this.
    #[expect(clippy::cast_possible_truncation, reason = "differences are modulo 2^16 (T.81 H.1.2.1)")]
    pub(super) fn difference(&mut self, table: &Huffman) -> Option<u16> {
        self.fill();
        let (length, category) = match table.fast.get(self.peek(FAST_BITS) as usize) {
            Some(&(length @ 1.., category)) => (u32::from(length), category),
            _ => self.long_code(table)?,
        };
        self.skip(length);
        match category {
            0 => Some(0),
            1..=15 => {
                let category = u32::from(category);
                let extra = self.peek(category);
                self.skip(category);
                let negative = extra >> (category - 1) == 0;
                let base = if negative { (1_u32 << category) - 1 } else { 0 };
                Some(extra.wrapping_sub(base) as u16)
            }
            16 => Some(1 << 15),
            _ => None,
        }
    }

    fn long_code(&self, table: &Huffman) -> Option<(u32, u8)> {
        for (length, &(first, count, place)) in (1_u32..).zip(table.lengths.iter().skip(1)) {
            let code = self.peek(length);
            if let Some(offset) = code.checked_sub(first).filter(|&offset| offset < count) {
                return Some((length, *table.values.get(place + offset as usize)?));
            }
        }
        None
    }

    /// Returns whether more bits were taken than the data has.
    pub(super) fn overrun(&self) -> bool {
        self.have < self.made_up
    }

    /// Skips the restart marker that must be next.
    pub(super) fn restart(&mut self) -> Option<()> {
        self.at = self.position();
        let fill = self.data.get(self.at..)?.iter().take_while(|&&byte| byte == 0xFF).count();
        let marker = *self.data.get(self.at + fill)?;
        if fill == 0 || !matches!(marker, 0xD0..=0xD7) {
            return None;
        }
        *self = Self { data: self.data, at: self.at + fill + 1, word: 0, have: 0, made_up: 0 };
        Some(())
    }

    /// Returns the earliest offset of the next marker. `word` may hold bytes of data, but no marker.
    pub(super) fn position(&self) -> usize {
        let rest = self.data.get(self.at..).unwrap_or_default();
        let data = rest.windows(2).position(|pair| matches!(pair, &[0xFF, marker] if marker != 0));
        self.at + data.unwrap_or(rest.len())
    }
}

//! Header of a dynamic block (RFC 1951, 3.2.7): the lengths of its codes, as runs, encoded by a code of their own.

use super::bits::Bits;
use super::huffman::{Code, code_lengths, codes};

const SYMBOLS: usize = 19;
/// Maximum length of a code for lengths.
const LIMIT: u8 = 7;
/// Order in which the lengths of these codes are written.
const ORDER: [usize; SYMBOLS] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
/// Symbols that repeat: the previous length, zeros, more zeros.
const AGAIN: u8 = 16;
const ZEROS: u8 = 17;
const MANY_ZEROS: u8 = 18;

/// A header that is ready to be written.
pub(super) struct Header {
    literals: u32,
    distances: u32,
    symbols: Vec<(u8, u32)>,
    codes: [Code; SYMBOLS],
}

impl Header {
    /// Returns the header for the codes of literals, lengths and the end, and of distances.
    pub(super) fn new(literals: &[u8], distances: &[u8]) -> Self {
        let (literals, distances) = (given(literals, 257), given(distances, 1));
        let lengths = [literals, distances].concat();
        let mut symbols = Vec::with_capacity(lengths.len());
        for run in lengths.chunk_by(|a, b| a == b) {
            list_run(run, &mut symbols);
        }
        let mut counts = [0; SYMBOLS];
        for &(symbol, _) in &symbols {
            if let Some(count) = counts.get_mut(usize::from(symbol)) {
                *count += 1;
            }
        }
        let narrow = |lengths: &[u8]| u32::try_from(lengths.len()).unwrap_or(0);
        Self {
            literals: narrow(literals),
            distances: narrow(distances),
            symbols,
            codes: codes(&code_lengths(&counts, LIMIT)),
        }
    }

    /// Returns the number of bits that `write` writes.
    pub(super) fn bits(&self) -> u64 {
        let symbols =
            self.symbols.iter().map(|&(symbol, _)| u64::from(self.code(symbol).length + extra_bits(symbol)));
        5 + 5 + 4 + 3 * self.ordered().len() as u64 + symbols.sum::<u64>()
    }

    pub(super) fn write(&self, bits: &mut Bits<'_>) {
        let ordered = self.ordered();
        bits.put(self.literals - 257, 5);
        bits.put(self.distances - 1, 5);
        bits.put(u32::try_from(ordered.len()).unwrap_or(0) - 4, 4);
        for &symbol in ordered {
            bits.put(self.codes.get(symbol).copied().unwrap_or_default().length, 3);
        }
        for &(symbol, extra) in &self.symbols {
            let code = self.code(symbol);
            bits.put(code.bits, code.length);
            bits.put(extra, extra_bits(symbol));
        }
    }

    fn code(&self, symbol: u8) -> Code {
        self.codes.get(usize::from(symbol)).copied().unwrap_or_default()
    }

    /// Returns the symbols whose code lengths are written.
    fn ordered(&self) -> &[usize] {
        let has_code = |symbol: &usize| self.codes.get(*symbol).is_some_and(|code| code.length > 0);
        let count = ORDER.iter().rposition(has_code).map_or(0, |last| last + 1).max(4);
        ORDER.get(..count).unwrap_or_default()
    }
}

/// Returns the lengths up to the last nonzero one, at least `least`.
fn given(lengths: &[u8], least: usize) -> &[u8] {
    let count = lengths.iter().rposition(|length| *length > 0).map_or(0, |last| last + 1).max(least);
    lengths.get(..count).unwrap_or(lengths)
}

/// Appends a run of equal lengths as symbols, each with its extra bits.
fn list_run(run: &[u8], symbols: &mut Vec<(u8, u32)>) {
    let mut left = u32::try_from(run.len()).unwrap_or(0);
    let Some(&length) = run.first() else { return };
    if length == 0 {
        while left >= 11 {
            let taken = left.min(138);
            symbols.push((MANY_ZEROS, taken - 11));
            left -= taken;
        }
        if left >= 3 {
            symbols.push((ZEROS, left - 3));
            left = 0;
        }
    } else {
        symbols.push((length, 0));
        left -= 1;
        while left >= 3 {
            let taken = left.min(6);
            symbols.push((AGAIN, taken - 3));
            left -= taken;
        }
    }
    symbols.extend((0..left).map(|_| (length, 0)));
}

fn extra_bits(symbol: u8) -> u32 {
    match symbol {
        AGAIN => 2,
        ZEROS => 3,
        MANY_ZEROS => 7,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(length: u8, run: usize) -> Vec<(u8, u32)> {
        let mut symbols = Vec::new();
        list_run(&vec![length; run], &mut symbols);
        symbols
    }

    #[test]
    fn runs_are_listed_as_the_specification_says() {
        assert_eq!(listed(0, 2), [(0, 0), (0, 0)]);
        assert_eq!(listed(0, 3), [(17, 0)]);
        assert_eq!(listed(0, 10), [(17, 7)]);
        assert_eq!(listed(0, 11), [(18, 0)]);
        assert_eq!(listed(0, 138), [(18, 127)]);
        assert_eq!(listed(0, 140), [(18, 127), (0, 0), (0, 0)]);
        assert_eq!(listed(0, 150), [(18, 127), (18, 1)]);
        assert_eq!(listed(5, 1), [(5, 0)]);
        assert_eq!(listed(5, 3), [(5, 0), (5, 0), (5, 0)]);
        assert_eq!(listed(5, 4), [(5, 0), (16, 0)]);
        assert_eq!(listed(5, 7), [(5, 0), (16, 3)]);
        assert_eq!(listed(5, 9), [(5, 0), (16, 3), (5, 0), (5, 0)]);
        assert_eq!(listed(5, 10), [(5, 0), (16, 3), (16, 0)]);
    }

    #[test]
    fn what_is_written_has_the_bits_it_says() {
        let mut literals = [0; 286];
        literals[0] = 1;
        literals[256] = 2;
        literals[285] = 2;
        let header = Header::new(&literals, &[0, 0, 1, 1]);
        assert_eq!((header.literals, header.distances), (286, 4));
        let mut dst = Vec::new();
        let mut bits = Bits::new(&mut dst);
        header.write(&mut bits);
        let padding = bits.align();
        assert_eq!(dst.len() as u64 * 8 - u64::from(padding), header.bits());
    }
}

//! Walks through Deflate data (RFC 1951) without output, to find where and how it ends.
//!
//! Used only after the actual decoder rejected a block: the decoder is fast and reports little; this is slow and
//! reports how many bytes the data produces, how many it consumes, and what stopped it. Output is counted, not kept:
//! only its length matters to the validity of the following data. Work is bounded by the length of the input.

use super::inflate_tables::{LENGTH_BASE, LENGTH_EXTRA, ORDER};

/// How the data ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The last block ended.
    Complete,
    /// The input ended too early.
    OutOfInput,
    /// The data is invalid.
    Invalid(&'static str),
}

/// Result of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scanned {
    /// Bytes of output.
    pub(crate) produced: usize,
    /// Bytes of input consumed, including a partial one.
    pub(crate) consumed: usize,
    /// How the data ends.
    pub(crate) end: End,
}

/// Scans raw Deflate data.
pub(crate) fn scan(src: &[u8]) -> Scanned {
    let mut scanner = Scanner::new(src);
    let end = loop {
        match scanner.block() {
            Ok(false) => {}
            Ok(true) => break End::Complete,
            Err(end) => break end,
        }
    };
    Scanned { produced: scanner.produced, consumed: scanner.bit.div_ceil(8).min(src.len()), end }
}

const MOST_BITS: usize = 15;

pub(crate) struct Scanner<'a> {
    src: &'a [u8],
    bit: usize,
    produced: usize,
}

/// A canonical Huffman code: the number of codes per length, and the symbols in order of code.
pub(crate) struct Code {
    count: [u16; MOST_BITS + 1],
    symbols: Vec<u16>,
    /// Symbol of a code with a single symbol or none, which takes one bit whatever its value, as in libdeflate.
    lone: Option<u16>,
}

impl Code {
    /// Returns the code for `lengths`; `None` if it is over-subscribed or incomplete.
    pub(crate) fn new(lengths: &[u8]) -> Option<Self> {
        let mut count = [0_u16; MOST_BITS + 1];
        for &length in lengths {
            *count.get_mut(usize::from(length))? += 1;
        }
        let mut left = 1_i32;
        for &n in count.iter().skip(1) {
            left = left * 2 - i32::from(n);
            if left < 0 {
                return None;
            }
        }
        let mut symbols = Vec::with_capacity(lengths.len());
        for length in 1..=15_u8 {
            symbols.extend((0_u16..).zip(lengths).filter(|&(_, &l)| l == length).map(|(symbol, _)| symbol));
        }
        let lone = match (left, symbols.as_slice(), count.get(1)) {
            (0, _, _) => None,
            (_, [], _) => Some(0),
            (_, &[symbol], Some(1)) => Some(symbol),
            _ => return None,
        };
        Some(Self { count, symbols, lone })
    }
}

impl<'a> Scanner<'a> {
    /// Returns a reader at the first bit.
    pub(crate) fn new(src: &'a [u8]) -> Self {
        Self { src, bit: 0, produced: 0 }
    }

    /// Takes a number of `n` bits, lowest bit first.
    pub(crate) fn bits(&mut self, n: usize) -> Result<usize, End> {
        let mut value = 0;
        for i in 0..n {
            let byte = *self.src.get(self.bit >> 3).ok_or(End::OutOfInput)?;
            value |= usize::from(byte >> (self.bit & 7) & 1) << i;
            self.bit += 1;
        }
        Ok(value)
    }

    /// Takes the next symbol.
    pub(crate) fn symbol(&mut self, code: &Code) -> Result<usize, End> {
        if let Some(symbol) = code.lone {
            return self.bits(1).map(|_| symbol.into());
        }
        let (mut value, mut first, mut index) = (0_usize, 0_usize, 0_usize);
        for &count in code.count.iter().skip(1) {
            value |= self.bits(1)?;
            let count = usize::from(count);
            if value < first + count {
                let symbol = code.symbols.get(index + value - first);
                return symbol.map(|&s| usize::from(s)).ok_or(End::Invalid("a code without a symbol"));
            }
            index += count;
            first = (first + count) << 1;
            value <<= 1;
        }
        Err(End::Invalid("a code without a symbol"))
    }

    /// Scans one block; returns `true` after the last.
    fn block(&mut self) -> Result<bool, End> {
        let last = self.bits(1)? == 1;
        match self.bits(2)? {
            0 => self.stored()?,
            1 => {
                let mut lengths = [8_u8; 288];
                lengths.iter_mut().skip(144).take(112).for_each(|l| *l = 9);
                lengths.iter_mut().skip(256).take(24).for_each(|l| *l = 7);
                self.compressed(&lengths, &[5; 32])?;
            }
            2 => {
                let (lengths, literals) = self.lengths()?;
                let (literal, distance) = lengths
                    .split_at_checked(literals)
                    .ok_or(End::Invalid("a block header that is too short"))?;
                self.compressed(literal, distance)?;
            }
            _ => return Err(End::Invalid("a block of an unknown kind")),
        }
        Ok(last)
    }

    fn stored(&mut self) -> Result<(), End> {
        self.bit = self.bit.next_multiple_of(8);
        let (len, check) = (self.bits(16)?, self.bits(16)?);
        if len != check ^ 0xFFFF {
            return Err(End::Invalid("a stored block whose length does not match its complement"));
        }
        let available = self.src.len().saturating_sub(self.bit >> 3);
        self.produced += len.min(available);
        self.bit += len.min(available) * 8;
        if len > available { Err(End::OutOfInput) } else { Ok(()) }
    }

    /// Reads the code lengths of a block; returns them and how many of them are for literals and lengths.
    fn lengths(&mut self) -> Result<(Vec<u8>, usize), End> {
        let (literals, distances) = (self.bits(5)? + 257, self.bits(5)? + 1);
        let stored = self.bits(4)? + 4;
        let mut order = [0_u8; 19];
        for &slot in ORDER.iter().take(stored) {
            let length = self.bits(3)?;
            if let (Some(slot), Ok(length)) = (order.get_mut(slot), u8::try_from(length)) {
                *slot = length;
            }
        }
        let code = Code::new(&order).ok_or(End::Invalid("unfit codes for code lengths"))?;
        let mut lengths = Vec::with_capacity(literals + distances);
        while lengths.len() < literals + distances {
            let (value, repeat) = match self.symbol(&code)? {
                16 => {
                    let &before =
                        lengths.last().ok_or(End::Invalid("a repeated code length without one before"))?;
                    (before, 3 + self.bits(2)?)
                }
                17 => (0, 3 + self.bits(3)?),
                18 => (0, 11 + self.bits(7)?),
                // The code for code lengths has 19 symbols; the remaining ones are lengths themselves.
                length => (u8::try_from(length).unwrap_or(0), 1),
            };
            lengths.extend(std::iter::repeat_n(value, repeat));
        }
        if lengths.len() > literals + distances {
            return Err(End::Invalid("more code lengths than stated"));
        }
        Ok((lengths, literals))
    }

    fn compressed(&mut self, literal: &[u8], distance: &[u8]) -> Result<(), End> {
        let literal = Code::new(literal).ok_or(End::Invalid("unfit literal codes"))?;
        let distance = Code::new(distance).ok_or(End::Invalid("unfit distance codes"))?;
        loop {
            let symbol = self.symbol(&literal)?;
            let Some(length) = symbol.checked_sub(257) else {
                if symbol == 256 {
                    return Ok(());
                }
                self.produced += 1;
                continue;
            };
            let (Some(&base), Some(&extra)) = (LENGTH_BASE.get(length), LENGTH_EXTRA.get(length)) else {
                return Err(End::Invalid("a length code that is not defined"));
            };
            let length = usize::from(base) + self.bits(extra.into())?;
            let symbol = self.symbol(&distance)?;
            let back = match symbol {
                0..=3 => symbol + 1,
                4..=29 => {
                    let extra = symbol / 2 - 1;
                    ((2 + symbol % 2) << extra) + 1 + self.bits(extra)?
                }
                _ => return Err(End::Invalid("a distance code that is not defined")),
            };
            if back > self.produced {
                return Err(End::Invalid("a match from before the beginning"));
            }
            self.produced = self.produced.saturating_add(length);
        }
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "small numbers made here")]
mod tests {
    use super::*;
    use crate::codec::byte_testing::Random;
    use libdeflater::{CompressionLvl, Compressor, Decompressor};

    /// All levels, because they choose stored, fixed and dynamic blocks differently.
    #[test]
    fn measures_what_the_decoder_decodes() {
        let mut random = Random::new(4);
        for round in 0..400_usize {
            let data = random.image_like(1 + round * 13);
            let mut compressor = Compressor::new(CompressionLvl::new((round % 13) as i32).unwrap());
            let mut packed = vec![0; compressor.deflate_compress_bound(data.len())];
            let len = compressor.deflate_compress(&data, &mut packed).unwrap();
            packed.truncate(len);
            let expected = Scanned { produced: data.len(), consumed: len, end: End::Complete };
            assert_eq!(scan(&packed), expected);
            assert_eq!(scan(&packed[..len - 1]).end, End::OutOfInput);
        }
    }

    /// If the decoder accepts a mutant, the scan completes with the same length.
    #[test]
    fn agrees_with_the_decoder_on_mutants() {
        let mut random = Random::new(5);
        let mut decompressor = Decompressor::new();
        let mut accepted = 0;
        for round in 0..4000_usize {
            let data = random.image_like(1 + round % 300);
            let mut compressor = Compressor::new(CompressionLvl::new((round % 13) as i32).unwrap());
            let mut packed = vec![0; compressor.deflate_compress_bound(data.len())];
            let len = compressor.deflate_compress(&data, &mut packed).unwrap();
            let src = random.mutant(&packed[..len]);
            let scanned = scan(&src);
            // libdeflate assigns a meaning to the four symbols that RFC 1951 leaves undefined.
            if matches!(scanned.end, End::Invalid(what) if what.ends_with("not defined")) {
                continue;
            }
            if let Ok(found) = decompressor.deflate_decompress(&src, &mut vec![0; 100_000]) {
                assert_eq!((scanned.produced, scanned.end), (found, End::Complete));
                accepted += 1;
            }
        }
        assert!(accepted > 100);
    }
}

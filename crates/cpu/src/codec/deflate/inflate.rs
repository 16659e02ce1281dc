//! Decodes Deflate data (RFC 1951) symbol by symbol, to bytes or to other symbols of output.
//!
//! A table entry holds two literals if both codes fit its 12 bits. `inflate_literals` decodes streams of literals this
//! way, and `inflate_pieces` the pieces of a stream.
//!
//! The decoder either decodes correctly or declines: after `None` the output is unspecified. Nothing here reads or
//! writes out of bounds on any input; work is bounded by the length of the output.

#![expect(
    clippy::indexing_slicing,
    reason = "tables are indexed by masked bits below their length, arrays by lengths that are at most 15"
)]
#![expect(clippy::cast_possible_truncation, reason = "fields of an entry are masked to their width")]

use super::inflate_tables::{
    DISTANCE_BITS, END, EXCEPTIONAL, LITERAL, LITLEN_BITS, ORDER, SUBTABLE, Tables, base, code_bits,
    total_bits,
};

/// Output that one iteration of the fast loop may write: four pairs, or a match, rounded up.
pub(super) const MARGIN: usize = 8 + 258 + 16;

/// A unit of output: a byte, or 16 bits that hold a byte or a reference.
pub(super) trait Symbol: Copy {
    /// Returns the symbol of a literal.
    fn literal(byte: u8) -> Self;
}

impl Symbol for u8 {
    #[inline(always)]
    fn literal(byte: u8) -> Self {
        byte
    }
}

impl Symbol for u16 {
    #[inline(always)]
    fn literal(byte: u8) -> Self {
        byte.into()
    }
}

/// How a block holds its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Stored,
    Fixed,
    Dynamic,
}

/// The beginning of a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Header {
    /// Whether no block follows.
    pub(super) last: bool,
    pub(super) kind: Kind,
}

/// Unused bits and the current position.
pub(super) struct Stream<'a> {
    src: &'a [u8],
    /// Offset of the next byte to load into the buffer.
    at: usize,
    /// Lowest bit first; bits from `bits` on are 0 outside the fast loop.
    buffer: u64,
    bits: u32,
    /// Length of the output.
    pub(super) out: usize,
}

impl<'a> Stream<'a> {
    /// Returns a stream that continues at a bit of `src`, with `out` symbols of output so far; `None` if it lies
    /// outside `src`.
    pub(super) fn at_bit(src: &'a [u8], bit: usize, out: usize) -> Option<Self> {
        let mut stream = Self { src, at: bit / 8, buffer: 0, bits: 0, out };
        stream.take((bit % 8) as u32)?;
        Some(stream)
    }

    /// Returns the position of the next bit.
    pub(super) fn bit(&self) -> usize {
        self.at * 8 - self.bits as usize
    }

    /// Reads the header of a block, and the codes of one that has codes. Declines a dynamic block if `suits` rejects the
    /// lengths of its literal codes.
    pub(super) fn header(
        &mut self,
        tables: &mut Tables,
        suits: impl FnOnce(&[u8]) -> bool,
    ) -> Option<Header> {
        let last = self.take(1)? == 1;
        let kind = match self.take(2)? {
            0 => Kind::Stored,
            1 => {
                tables.set_fixed()?;
                Kind::Fixed
            }
            2 => {
                self.read_codes(tables, suits)?;
                Kind::Dynamic
            }
            _ => return None,
        };
        Some(Header { last, kind })
    }

    /// Copies the bytes of a stored block; `None` if they exceed `dst`.
    pub(super) fn copy_stored<S: Symbol>(&mut self, dst: &mut [S]) -> Option<()> {
        self.take(self.bits % 8)?;
        let (len, check) = (self.take(16)?, self.take(16)?);
        if len != check ^ 0xFFFF {
            return None;
        }
        let at = self.bit() / 8;
        let bytes = self.src.get(at..at.checked_add(len as usize)?)?;
        let to = dst.get_mut(self.out..self.out.checked_add(bytes.len())?)?;
        to.iter_mut().zip(bytes).for_each(|(to, &byte)| *to = S::literal(byte));
        self.out += bytes.len();
        (self.at, self.buffer, self.bits) = (at + bytes.len(), 0, 0);
        Some(())
    }

    /// Loads bytes into the buffer until it has `n` bits (at most 48), or until the input ends.
    fn refill(&mut self, n: u32) {
        while self.bits < n
            && let Some(&byte) = self.src.get(self.at)
        {
            self.buffer |= u64::from(byte) << self.bits;
            self.at += 1;
            self.bits += 8;
        }
    }

    /// Takes the next `n` bits (at most 16).
    fn take(&mut self, n: u32) -> Option<u32> {
        self.refill(n);
        self.bits = self.bits.checked_sub(n)?;
        let value = (self.buffer & ((1 << n) - 1)) as u32;
        self.buffer >>= n;
        Some(value)
    }

    fn read_codes(&mut self, tables: &mut Tables, suits: impl FnOnce(&[u8]) -> bool) -> Option<()> {
        let literals = self.take(5)? as usize + 257;
        let distances = self.take(5)? as usize + 1;
        let stored = self.take(4)? as usize + 4;
        let mut pre = [0u8; 19];
        for &symbol in ORDER.iter().take(stored) {
            pre[symbol] = self.take(3)? as u8;
        }
        tables.set_precode(&pre)?;
        let mut lengths = [0u8; 286 + 32 + 138];
        let mut at = 0;
        while at < literals + distances {
            self.refill(7);
            let entry = tables.precode(self.buffer);
            if entry & EXCEPTIONAL != 0 {
                return None;
            }
            self.take(total_bits(entry))?;
            let (value, times) = match base(entry) {
                symbol @ 0..=15 => (symbol as u8, 1),
                16 => (*lengths.get(at.checked_sub(1)?)?, 3 + self.take(2)?),
                17 => (0, 3 + self.take(3)?),
                18 => (0, 11 + self.take(7)?),
                _ => return None,
            };
            lengths.get_mut(at..at + times as usize)?.fill(value);
            at += times as usize;
        }
        if at != literals + distances || literals > 286 {
            return None;
        }
        let (literal_lengths, rest) = lengths.split_at(literals);
        if !suits(literal_lengths) {
            return None;
        }
        tables.set(literal_lengths, rest.get(..distances)?)
    }

    /// Decodes one symbol with all checks; returns `true` after the end of the block.
    pub(super) fn symbol<S: Symbol>(&mut self, dst: &mut [S], tables: &Tables) -> Option<bool> {
        self.refill(48);
        let mut entry = tables.litlen(self.buffer);
        if entry & (LITERAL | EXCEPTIONAL | SUBTABLE) == EXCEPTIONAL | SUBTABLE {
            self.take(total_bits(entry))?;
            entry = tables.second_litlen(entry, self.buffer);
        }
        if entry & LITERAL != 0 {
            self.take(total_bits(entry))?;
            for byte in entry.to_le_bytes().into_iter().skip(1).take(literals_of(entry)) {
                *dst.get_mut(self.out)? = S::literal(byte);
                self.out += 1;
            }
            return Some(false);
        }
        if entry & EXCEPTIONAL != 0 {
            self.take(code_bits(entry))?;
            return (entry & END != 0).then_some(true);
        }
        self.take(code_bits(entry))?;
        let len = (base(entry) + self.take(total_bits(entry) - code_bits(entry))?) as usize;
        self.refill(48);
        let mut entry = tables.distance(self.buffer);
        if entry & (EXCEPTIONAL | SUBTABLE) == EXCEPTIONAL | SUBTABLE {
            self.take(total_bits(entry))?;
            entry = tables.second_distance(entry, self.buffer);
        }
        if entry & EXCEPTIONAL != 0 {
            return None;
        }
        self.take(code_bits(entry))?;
        let distance = (base(entry) + self.take(total_bits(entry) - code_bits(entry))?) as usize;
        let from = self.out.checked_sub(distance)?;
        for i in 0..len {
            let symbol = *dst.get(from + i)?;
            *dst.get_mut(self.out + i)? = symbol;
        }
        self.out += len;
        Some(false)
    }

    /// Decodes symbols while input and output are ample, up to one that needs `symbol`.
    pub(super) fn fast<S: Symbol>(&mut self, dst: &mut [S], tables: &Tables) {
        let Self { src, mut at, mut buffer, mut bits, mut out } = *self;
        let mut kept = (at, buffer, bits, out);
        // Each iteration begins with at least 56 bits and takes at most 48: four lookups of 12, or one of 20 for a
        // length and one of 28 for a distance after a second refill.
        while let Some(bytes) = src.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
            if out + MARGIN > dst.len() {
                break;
            }
            buffer |= u64::from_le_bytes(*bytes) << bits;
            at += ((63 - bits) >> 3) as usize;
            bits |= 56;
            let mut entry = tables.litlen(buffer);
            let mut turns = 0;
            while entry & LITERAL != 0 && turns < 4 {
                if let Some(pair) = dst.get_mut(out..).and_then(|rest| rest.first_chunk_mut::<2>()) {
                    *pair = [S::literal((entry >> 8) as u8), S::literal((entry >> 16) as u8)];
                }
                out += literals_of(entry);
                buffer >>= total_bits(entry) & 63;
                bits -= total_bits(entry);
                turns += 1;
                entry = tables.litlen(buffer);
            }
            kept = (at, buffer, bits, out);
            if turns == 4 {
                continue;
            }
            if entry & EXCEPTIONAL != 0 {
                break;
            }
            let Some(bytes) = src.get(at..).and_then(|rest| rest.first_chunk::<8>()) else { break };
            buffer |= u64::from_le_bytes(*bytes) << bits;
            at += ((63 - bits) >> 3) as usize;
            bits |= 56;
            let distance_entry = tables.distance(buffer >> (total_bits(entry) & 63));
            if distance_entry & EXCEPTIONAL != 0 {
                break;
            }
            let len = value(entry, &mut buffer, &mut bits);
            let distance = value(distance_entry, &mut buffer, &mut bits);
            if distance > out {
                break;
            }
            copy(dst, out, distance, len);
            out += len;
            kept = (at, buffer, bits, out);
        }
        (self.at, self.buffer, self.bits, self.out) = kept;
        // The fast refill leaves bits of the byte at `at` above the valid ones.
        self.buffer &= (1u64 << self.bits) - 1;
    }
}

/// Returns the number of literals in a literal entry.
fn literals_of(entry: u32) -> usize {
    1 + (entry >> 30 & 1) as usize
}

/// Takes an entry's code and extra bits from the buffer and returns its value.
fn value(entry: u32, buffer: &mut u64, bits: &mut u32) -> usize {
    let extra = (*buffer & ((1 << (total_bits(entry) & 63)) - 1)) >> (code_bits(entry) & 63);
    *buffer >>= total_bits(entry) & 63;
    *bits -= total_bits(entry);
    base(entry) as usize + extra as usize
}

/// Copies a match; at least `MARGIN` symbols are available from `out` on.
#[inline(always)]
fn copy<S: Symbol>(dst: &mut [S], out: usize, distance: usize, len: usize) {
    let (mut from, mut to, mut distance) = (out - distance, out, distance);
    // The output repeats with this distance, and thereby with twice of it.
    while distance < 16 && to < out + len {
        dst.copy_within(from..from + distance, to);
        to += distance;
        distance *= 2;
    }
    while to < out + len {
        dst.copy_within(from..from + 16, to);
        from += 16;
        to += 16;
    }
}

const _: () = assert!(4 * LITLEN_BITS <= 48 && DISTANCE_BITS < LITLEN_BITS);

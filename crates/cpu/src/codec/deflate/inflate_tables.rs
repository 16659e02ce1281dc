//! Decoding tables for the codes of a Deflate block.
//!
//! An entry has 32 bits. The low byte is the number of bits to take, including the extra bits of lengths and distances.
//! In a literal entry the next bytes are the literal and, if `PAIR` is set, the literal after it. In other entries the
//! second byte is the length of the code alone and the upper half is the base value. Codes longer than the table index
//! have their entries in second tables behind it.

#![expect(
    clippy::indexing_slicing,
    reason = "indices are masked to the table, lengths are at most 15, and `build` checks the room it needs"
)]
#![expect(clippy::cast_possible_truncation, reason = "symbols and positions are below 2^16")]

/// Index bits of the literal and length table.
pub(crate) const LITLEN_BITS: u32 = 12;
/// Index bits of the distance table.
pub(crate) const DISTANCE_BITS: u32 = 8;
const PRECODE_BITS: u32 = 7;

/// The entry holds one or two literals.
pub(crate) const LITERAL: u32 = 1 << 31;
/// The entry holds two literals.
const PAIR: u32 = 1 << 30;
/// The entry is neither a literal nor a value: an end, a second table, or an invalid symbol.
pub(crate) const EXCEPTIONAL: u32 = 1 << 15;
/// The base is the start of a second table; the second byte is its number of index bits.
pub(crate) const SUBTABLE: u32 = 1 << 14;
/// The entry is the end of the block.
pub(crate) const END: u32 = 1 << 13;

const LITLEN_SIZE: usize = 8192;
const DISTANCE_SIZE: usize = 1024;
const MOST_BITS: usize = 15;

/// Shortest length of each length symbol, from 257.
pub(crate) const LENGTH_BASE: [u16; 29] = [
    3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195,
    227, 258,
];
/// Extra bits of each length symbol.
pub(crate) const LENGTH_EXTRA: [u8; 29] =
    [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
/// Order in which the lengths of the code for code lengths are stored.
pub(crate) const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
const DISTANCE_BASE: [u16; 30] = [
    1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073,
    4097, 6145, 8193, 12289, 16385, 24577,
];
const DISTANCE_EXTRA: [u8; 30] =
    [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13];

/// Returns the bits to take for an entry, including extra bits.
pub(crate) fn total_bits(entry: u32) -> u32 {
    entry & 0xFF
}

/// Returns the code length of a non-literal entry.
pub(crate) fn code_bits(entry: u32) -> u32 {
    entry >> 8 & 15
}

/// Returns the base value of a non-literal entry.
pub(crate) fn base(entry: u32) -> u32 {
    entry >> 16
}

/// Estimates the share of matches among a block's symbols, from 0 to 1: a code of n bits was made for a symbol that
/// occurs about every 2^n symbols.
pub(crate) fn share_of_matches(literals: &[u8]) -> f32 {
    let lengths = literals.iter().skip(257).filter(|&&length| length > 0);
    lengths.map(|&length| 0.5f32.powi(i32::from(length))).sum()
}

/// Estimates how often two literals follow each other whose codes fit the table index together, from 0 to 1.
pub(crate) fn share_of_pairs(literals: &[u8]) -> f32 {
    let mut shares = [0f32; MOST_BITS + 1];
    for &length in literals.iter().take(256).filter(|&&length| length > 0) {
        shares[usize::from(length & 15)] += 0.5f32.powi(i32::from(length));
    }
    let fit = |(first, share): (usize, &f32)| {
        let second = (LITLEN_BITS as usize).checked_sub(first).and_then(|most| shares.get(..=most));
        share * second.map_or(0.0, |second| second.iter().sum::<f32>())
    };
    shares.iter().enumerate().map(fit).sum()
}

/// Tables of a block.
pub(crate) struct Tables {
    litlen: [u32; LITLEN_SIZE],
    distance: [u32; DISTANCE_SIZE],
    precode: [u32; 1 << PRECODE_BITS],
}

impl Tables {
    pub(crate) fn boxed() -> Box<Self> {
        Box::new(Self {
            litlen: [0; LITLEN_SIZE],
            distance: [0; DISTANCE_SIZE],
            precode: [0; 1 << PRECODE_BITS],
        })
    }

    /// Sets the code for code lengths; `None` if it is invalid.
    pub(crate) fn set_precode(&mut self, lengths: &[u8; 19]) -> Option<()> {
        build(&mut self.precode, lengths, PRECODE_BITS, |symbol| (symbol as u32) << 16)
    }

    /// Sets the codes of a block with fixed codes.
    pub(crate) fn set_fixed(&mut self) -> Option<()> {
        let mut literals = [8; 288];
        literals[144..256].fill(9);
        literals[256..280].fill(7);
        self.set(&literals, &[5; 32])
    }

    /// Sets the codes of a block; `None` if one is neither complete nor the code of a single symbol.
    pub(crate) fn set(&mut self, literals: &[u8], distances: &[u8]) -> Option<()> {
        build(&mut self.litlen, literals, LITLEN_BITS, literal_or_length)?;
        build(&mut self.distance, distances, DISTANCE_BITS, distance)?;
        self.pair_up();
        Some(())
    }

    /// Joins a literal with the one that follows it if the index contains all bits of both. Runs from the end, because
    /// the entry of the following literal has a lower index and must not have been joined yet.
    fn pair_up(&mut self) {
        for index in (0..1usize << LITLEN_BITS).rev() {
            let first = self.litlen[index];
            if first & LITERAL == 0 {
                continue;
            }
            let second = self.litlen[index >> total_bits(first)];
            let both = total_bits(first) + total_bits(second);
            if second & (LITERAL | PAIR) == LITERAL && both <= LITLEN_BITS {
                self.litlen[index] = LITERAL | PAIR | (second & 0xFF00) << 8 | (first & 0xFF00) | both;
            }
        }
    }

    #[inline(always)]
    pub(crate) fn litlen(&self, bits: u64) -> u32 {
        self.litlen[bits as usize & ((1 << LITLEN_BITS) - 1)]
    }

    /// Returns the entry of a code longer than the table index, after its first bits were taken.
    pub(crate) fn second_litlen(&self, entry: u32, bits: u64) -> u32 {
        self.litlen[second(entry, bits) & (LITLEN_SIZE - 1)]
    }

    #[inline(always)]
    pub(crate) fn distance(&self, bits: u64) -> u32 {
        self.distance[bits as usize & ((1 << DISTANCE_BITS) - 1)]
    }

    /// Like `second_litlen`, for distances.
    pub(crate) fn second_distance(&self, entry: u32, bits: u64) -> u32 {
        self.distance[second(entry, bits) & (DISTANCE_SIZE - 1)]
    }

    pub(crate) fn precode(&self, bits: u64) -> u32 {
        self.precode[bits as usize & ((1 << PRECODE_BITS) - 1)]
    }
}

fn second(entry: u32, bits: u64) -> usize {
    base(entry) as usize + (bits as usize & ((1 << code_bits(entry)) - 1))
}

fn literal_or_length(symbol: usize) -> u32 {
    match symbol {
        0..=255 => LITERAL | (symbol as u32) << 8,
        256 => EXCEPTIONAL | END,
        257..=285 => u32::from(LENGTH_BASE[symbol - 257]) << 16 | u32::from(LENGTH_EXTRA[symbol - 257]),
        _ => EXCEPTIONAL,
    }
}

fn distance(symbol: usize) -> u32 {
    match (DISTANCE_BASE.get(symbol), DISTANCE_EXTRA.get(symbol)) {
        (Some(&base), Some(&extra)) => u32::from(base) << 16 | u32::from(extra),
        _ => EXCEPTIONAL,
    }
}

fn entry(meaning: u32, bits: u32) -> u32 {
    if meaning & LITERAL != 0 { meaning | bits } else { (meaning + bits) | bits << 8 }
}

/// Returns the code after `code` of `bits` bits, both with their first bit lowest.
fn next_code(code: u32, bits: u32) -> u32 {
    let highest_zero = 1 << (31 - (code ^ ((1 << bits) - 1)).leading_zeros());
    code & (highest_zero - 1) | highest_zero
}

/// Fills a table for a canonical code; `None` if the lengths are not a complete code. The code of a single symbol takes one
/// bit, whatever its value, as in libdeflate. A code without symbols is left to libdeflate if the data uses it.
fn build(table: &mut [u32], lengths: &[u8], table_bits: u32, meaning: fn(usize) -> u32) -> Option<()> {
    let mut count = [0u16; MOST_BITS + 1];
    for &length in lengths {
        count[usize::from(length & 15)] += 1;
    }
    count[0] = 0;
    let mut offsets = [0usize; MOST_BITS + 2];
    let mut left = 1i32;
    for length in 1..=MOST_BITS {
        left = left * 2 - i32::from(count[length]);
        offsets[length + 1] = offsets[length] + usize::from(count[length]);
        if left < 0 {
            return None;
        }
    }
    if left > 0 {
        let filled = match (count.iter().sum::<u16>(), lengths.iter().position(|&length| length == 1)) {
            (0, _) => EXCEPTIONAL,
            (1, Some(symbol)) => entry(meaning(symbol), 1),
            _ => return None,
        };
        table.fill(filled);
        return Some(());
    }
    let mut symbols = [0u16; 320];
    for (symbol, &length) in lengths.iter().enumerate().filter(|&(_, &length)| length > 0) {
        let place = &mut offsets[usize::from(length & 15)];
        *symbols.get_mut(*place)? = symbol as u16;
        *place += 1;
    }
    let mut symbols = symbols.iter().map(|&symbol| meaning(usize::from(symbol)));
    // Codes up to the table's bits: fill a table per length, doubled for the next length.
    let (mut code, mut bits) = (0u32, 1u32);
    loop {
        let size = 1usize << bits;
        for _ in 0..count[bits as usize] {
            table[code as usize] = entry(symbols.next()?, bits);
            if code as usize == size - 1 {
                let mut filled = size;
                while filled < 1 << table_bits {
                    table.copy_within(0..filled, filled);
                    filled *= 2;
                }
                return Some(());
            }
            code = next_code(code, bits);
        }
        if bits == table_bits {
            break;
        }
        table.copy_within(0..size, size);
        bits += 1;
    }
    // Longer codes: those with a common prefix share a second table.
    let (mut start, mut free, mut prefix) = (0usize, 1usize << table_bits, u32::MAX);
    for bits in table_bits + 1..=MOST_BITS as u32 {
        for done in 0..count[bits as usize] {
            let beginning = code & ((1 << table_bits) - 1);
            if beginning != prefix {
                prefix = beginning;
                start = free;
                // As many bits as the longest code with this prefix has left.
                let mut second_bits = bits - table_bits;
                let mut room = (1i32 << second_bits) - i32::from(count[bits as usize] - done);
                while room > 0 && table_bits + second_bits < MOST_BITS as u32 {
                    second_bits += 1;
                    room = room * 2 - i32::from(count[(table_bits + second_bits) as usize]);
                }
                free += 1 << second_bits;
                if free > table.len() {
                    return None;
                }
                table[prefix as usize] =
                    EXCEPTIONAL | SUBTABLE | (start as u32) << 16 | second_bits << 8 | table_bits;
            }
            let filled = entry(symbols.next()?, bits - table_bits);
            let first = start + (code >> table_bits) as usize;
            for place in table.get_mut(first..free)?.iter_mut().step_by(1 << (bits - table_bits)) {
                *place = filled;
            }
            if code == (1 << bits) - 1 {
                return Some(());
            }
            code = next_code(code, bits);
        }
    }
    None
}

//! Tables of the codes of quads, arranged for the CPU.

use strile_codestream::jpeg2000::high_throughput as standard;

/// Codes of the quads of the first row, as in `standard::FIRST_ROW`. Bits 23 to 25 are the quad's contribution to the
/// context of its right neighbour: shifted by 16, they are in their place in the index.
pub(super) static FIRST_ROW: [u32; standard::ENTRIES] = with_contexts(&standard::FIRST_ROW, true);

/// The same for quads of all other rows.
pub(super) static OTHER_ROWS: [u32; standard::ENTRIES] = with_contexts(&standard::OTHER_ROWS, false);

#[expect(clippy::indexing_slicing, reason = "evaluated when compiling")]
const fn with_contexts(codes: &[u16; standard::ENTRIES], first: bool) -> [u32; standard::ENTRIES] {
    let mut table = [0; standard::ENTRIES];
    let mut at = 0;
    while at < standard::ENTRIES {
        let code = codes[at] as u32;
        let context = match first {
            true => code >> 4 & 1 | code >> 5 & 7,
            false => ((code >> 6 & 3 != 0) as u32) << 1,
        };
        table[at] = code | context << 23;
        at += 1;
    }
    table
}

/// Codes of the exponents of two quads (7.3.6): both prefixes come first, then both suffixes. Bits 0 to 4 are the total
/// length, bits 5 to 7 the length of the prefixes, bits 8 to 10 and 11 to 13 the lengths of the suffixes. Bits 16 to 19
/// and 20 to 23 are the values without the suffixes.
#[derive(Clone, Copy)]
pub(super) struct Exponents(u32);

/// By the next six bits for each mode. Modes 0 to 3 say which of the quads have a coded exponent; in the first row, if
/// both have one, the mode is 5 if 2 is added to both, otherwise 4.
static EXPONENTS: [Exponents; 512] = exponents();

impl Exponents {
    #[inline(always)]
    #[expect(
        clippy::indexing_slicing,
        clippy::cast_possible_truncation,
        reason = "masked to the table's length"
    )]
    pub(super) fn at(mode: u32, bits: u64) -> Self {
        EXPONENTS[(u64::from(mode & 7) << 6 | bits & 63) as usize]
    }

    /// Returns the total bits of the codes.
    #[inline(always)]
    pub(super) fn len(self) -> u32 {
        self.0 & 31
    }

    /// Returns both exponents; `bits` are those of the codes.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the lowest bits are wanted")]
    pub(super) fn values(self, bits: u64) -> [u32; 2] {
        let suffixes = (bits >> (self.0 >> 5 & 7)) as u32;
        let (left, right) = (self.0 >> 8 & 7, self.0 >> 11 & 7);
        [
            (self.0 >> 16 & 15) + (suffixes & ((1 << left) - 1)),
            (self.0 >> 20) + (suffixes >> left & ((1 << right) - 1)),
        ]
    }
}

/// Returns the lengths of a prefix and its suffix, and the value of the prefix.
const fn prefix(bits: u32) -> (u32, u32, u32) {
    match bits & 7 {
        1 | 3 | 5 | 7 => (1, 0, 1),
        2 | 6 => (2, 0, 2),
        4 => (3, 1, 3),
        _ => (3, 5, 5),
    }
}

#[expect(clippy::indexing_slicing, reason = "evaluated when compiling")]
const fn exponents() -> [Exponents; 512] {
    let mut table = [Exponents(0); 512];
    let mut mode = 0;
    while mode < 6 {
        let mut bits = 0;
        while bits < 64 {
            let (has_left, has_right) = (mode % 2 == 1 || mode > 2, mode > 1);
            let left = if has_left { prefix(bits) } else { (0, 0, 0) };
            let rest = bits >> left.0;
            let right = match (has_right, mode == 4 && left.0 > 2) {
                (false, _) => (0, 0, 0),
                // A long code leaves one bit for the second quad.
                (true, true) => (1, 0, 1 + (rest & 1)),
                (true, false) => prefix(rest),
            };
            let (prefixes, add) = (left.0 + right.0, if mode == 5 { 2 } else { 0 });
            let lens = (prefixes + left.1 + right.1) | prefixes << 5 | left.1 << 8 | right.1 << 11;
            table[(mode << 6 | bits) as usize] =
                Exponents(lens | (left.2 + add) << 16 | (right.2 + add) << 20);
            bits += 1;
        }
        mode += 1;
    }
    table
}

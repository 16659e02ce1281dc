//! Finds blocks in the middle of Deflate data (RFC 1951).
//!
//! Blocks begin at any bit and have no marker, but the header of a dynamic block describes complete codes, which is rare
//! by chance. `candidates` tests the fixed fields of 48 positions at once and then the code for code lengths; about one
//! in 2,500 positions passes. Whether a block begins there is up to the decoder. Only blocks are found that are dynamic
//! and not the last.

#![expect(clippy::indexing_slicing, reason = "the table has an entry for every index of 12 bits")]

/// Positions tested at once: a word holds the 13 bits after each of them.
const POSITIONS: usize = 48;
/// Bits of a header before the lengths of the code for code lengths, and before their number.
const FIELDS: usize = 17;
const COUNT_AT: usize = 13;
/// Code space of complete codes, in units of the longest code for a code length (7 bits).
const WHOLE: u16 = 128;

/// Returns the positions from bit `from` up to bit `end` of `src` at which a block may begin, in order.
pub(super) fn candidates(src: &[u8], from: usize, end: usize) -> impl Iterator<Item = usize> {
    let firsts = (from / 8..end.div_ceil(8)).step_by(POSITIONS / 8);
    firsts
        .flat_map(move |byte| {
            let mut left = dynamic_headers(word(src, byte));
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(8 * byte + bit)
            })
        })
        .filter(move |&bit| (from..end).contains(&bit) && has_code_for_lengths(src, bit))
}

/// Returns the eight bytes from `at` on; zeros after the end.
fn word(src: &[u8], at: usize) -> u64 {
    let rest = src.get(at..).unwrap_or_default();
    if let Some(bytes) = rest.first_chunk() {
        return u64::from_le_bytes(*bytes);
    }
    let mut bytes = [0; 8];
    bytes.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    u64::from_le_bytes(bytes)
}

/// Returns a bit for each of the first `POSITIONS` bits at which the fields of a dynamic block may begin: not the last
/// block, kind 2, at most 286 literal and length codes, and at most 30 distance codes.
fn dynamic_headers(bits: u64) -> u64 {
    let kind = !bits & !(bits >> 1) & (bits >> 2);
    let literals = (bits >> 4) & (bits >> 5) & (bits >> 6) & (bits >> 7);
    let distances = (bits >> 9) & (bits >> 10) & (bits >> 11) & (bits >> 12);
    kind & !literals & !distances & ((1 << POSITIONS) - 1)
}

/// Returns whether the header at a bit has a complete code for code lengths.
fn has_code_for_lengths(src: &[u8], bit: usize) -> bool {
    let field = |at: usize| word(src, at / 8) >> (at % 8);
    let count = (field(bit + COUNT_AT) & 15) + 4;
    // 57 bits, as many as are left of a word after up to 7 others.
    let lengths = field(bit + FIELDS) & ((1 << (3 * count)) - 1);
    let four = |part: u32| SPACE[(lengths >> (12 * part) & 0xFFF) as usize];
    four(0) + four(1) + four(2) + four(3) + four(4) == WHOLE
}

/// Code space taken by four code lengths of three bits.
const SPACE: [u16; 1 << 12] = {
    let mut space = [0; 1 << 12];
    let mut lengths = 0;
    while lengths < space.len() {
        let mut part = 0;
        while part < 4 {
            let length = lengths >> (3 * part) & 7;
            if length > 0 {
                space[lengths] += WHOLE >> length;
            }
            part += 1;
        }
        lengths += 1;
    }
    space
};

//! Literals section of a ZSTD block (RFC 8878, 3.1.1.3.1): raw, one repeated byte, or a Huffman code with its tree.
//!
//! The tree is always written, so that parts are independent of each other. See `portable/spec.md`.

use super::bits::Bits;
use super::huffman::code_lengths;
use super::zstd_fse::{Counts, SYMBOLS, Table, describe, normalise, put_mark};

/// Maximum length of a code.
const MOST_BITS: u8 = 11;
/// Number of literals from which there are four streams.
const FOUR_STREAMS: usize = 256;
/// Cells of the table of weights, as a power of 2, and the maximum bytes of the table and the weights.
const WEIGHTS_LOG: u32 = 6;
const MOST_WEIGHTS_LEN: usize = 127;
/// Maximum number of weights that can be written directly.
const MOST_DIRECT: usize = 128;

/// Section types.
const RAW: usize = 0;
const REPEATED: usize = 1;
const COMPRESSED: usize = 2;

/// Appends the literals section.
pub(super) fn append(literals: &[u8], dst: &mut Vec<u8>) {
    let start = dst.len();
    match literals {
        [first, _, ..] if literals.iter().all(|l| l == first) => {
            plain_header(REPEATED, literals.len(), dst);
            dst.push(*first);
        }
        _ => {
            let raw_len = plain_header(RAW, literals.len(), dst) + literals.len();
            dst.truncate(start);
            if !compress(literals, raw_len, dst) {
                dst.truncate(start);
                plain_header(RAW, literals.len(), dst);
                dst.extend_from_slice(literals);
            }
        }
    }
}

/// Writes the header of an uncompressed section; returns its length.
fn plain_header(kind: usize, len: usize, dst: &mut Vec<u8>) -> usize {
    let (value, count) = match len {
        0..32 => (len << 3, 1),
        32..4096 => (len << 4 | 1 << 2, 2),
        _ => (len << 4 | 3 << 2, 3),
    };
    dst.extend((value | kind).to_le_bytes().into_iter().take(count));
    count
}

/// Appends a compressed section; `false` if it is not below `raw_len` bytes, and the appended bytes must be discarded.
fn compress(literals: &[u8], raw_len: usize, dst: &mut Vec<u8>) -> bool {
    let len = literals.len();
    if len < 2 {
        return false;
    }
    let mut counts = [0_u32; 256];
    for &literal in literals {
        if let Some(count) = counts.get_mut(usize::from(literal)) {
            *count += 1;
        }
    }
    let code = Code::new(&counts);
    let (form, width) = match len {
        0..FOUR_STREAMS => (0, 10),
        FOUR_STREAMS..1024 => (1, 10),
        1024..16384 => (2, 14),
        _ => (3, 18),
    };
    let start = dst.len();
    let header_len = (4 + 2 * width) / 8_usize;
    dst.resize(start + header_len, 0);
    if !append_weights(&code.weights, dst) {
        return false;
    }
    if form == 0 {
        code.stream(literals, dst);
    } else {
        let table = dst.len();
        dst.resize(table + 6, 0);
        for (number, stream) in literals.chunks(len.div_ceil(4)).enumerate() {
            let before = dst.len();
            code.stream(stream, dst);
            let stream_len = dst.len() - before;
            if number < 3 {
                let place = table + 2 * number;
                let [low, high, ..] = stream_len.to_le_bytes();
                if let Some(entry) = dst.get_mut(place..place + 2) {
                    entry.copy_from_slice(&[low, high]);
                }
            }
        }
    }
    let encoded = dst.len() - start - header_len;
    let header = COMPRESSED as u64 | form << 2 | (len as u64) << 4 | (encoded as u64) << (4 + width);
    for (byte, value) in dst.iter_mut().skip(start).zip(header.to_le_bytes()).take(header_len) {
        *byte = value;
    }
    header_len + encoded < raw_len
}

/// Code of every byte, and the weights of all but the last that occurs.
struct Code {
    codes: [(u16, u8); 256],
    weights: Vec<u8>,
}

impl Code {
    /// Returns the code of counts, at least two of which are not 0.
    fn new(counts: &[u32; 256]) -> Self {
        let lengths = code_lengths(counts, MOST_BITS);
        let longest = lengths.iter().copied().max().unwrap_or(0);
        let weight = |length: u8| if length == 0 { 0 } else { longest + 1 - length };
        let used = lengths.iter().rposition(|&l| l > 0).unwrap_or(0);
        let weights = lengths.iter().take(used).map(|&l| weight(l)).collect();
        // The longest codes have the smallest numbers; within a length, smaller bytes have smaller numbers.
        let mut codes = [(0, 0); 256];
        let mut next = 0;
        for length in (1..=longest).rev() {
            for (code, _) in codes.iter_mut().zip(&lengths).filter(|(_, l)| **l == length) {
                *code = (next, length);
                next += 1;
            }
            next >>= 1;
        }
        Self { codes, weights }
    }

    /// Appends one stream, last literal first.
    fn stream(&self, literals: &[u8], dst: &mut Vec<u8>) {
        let mut bits = Bits::new(dst);
        for &literal in literals.iter().rev() {
            if let Some(&(code, length)) = self.codes.get(usize::from(literal)) {
                bits.put(u32::from(code), u32::from(length));
            }
        }
        put_mark(bits);
    }
}

/// Appends the weights in the shorter form; `false` if neither form is possible.
fn append_weights(weights: &[u8], dst: &mut Vec<u8>) -> bool {
    let start = dst.len();
    let direct = if weights.len() <= MOST_DIRECT { weights.len().div_ceil(2) } else { usize::MAX };
    dst.push(0);
    if fse_weights(weights, dst) {
        let len = dst.len() - start - 1;
        if len <= MOST_WEIGHTS_LEN && len < direct {
            if let (Some(header), Ok(len)) = (dst.get_mut(start), u8::try_from(len)) {
                *header = len;
            }
            return true;
        }
    }
    dst.truncate(start);
    if direct == usize::MAX {
        return false;
    }
    dst.extend(u8::try_from(127 + weights.len()));
    dst.extend(weights.chunks(2).map(|pair| match pair {
        [first, second] => first << 4 | second,
        [first] => first << 4,
        _ => 0,
    }));
    true
}

/// Appends weights and their table; `false` unless at least two are different.
fn fse_weights(weights: &[u8], dst: &mut Vec<u8>) -> bool {
    let mut counts: Counts = [0; SYMBOLS];
    for &weight in weights {
        if let Some(count) = counts.get_mut(usize::from(weight)) {
            *count += 1;
        }
    }
    if counts.iter().filter(|count| **count > 0).count() < 2 {
        return false;
    }
    let cells = normalise(&counts, WEIGHTS_LOG);
    describe(&cells, WEIGHTS_LOG, dst);
    let table = Table::new(&cells, WEIGHTS_LOG);
    let mut bits = Bits::new(dst);
    let (mut even, mut odd) = (0, 0);
    for (place, &weight) in weights.iter().enumerate().rev() {
        let state = if place % 2 == 0 { &mut even } else { &mut odd };
        if place + 2 >= weights.len() {
            *state = table.first(weight);
        } else {
            table.next(state, weight, &mut bits);
        }
    }
    table.last(odd, &mut bits);
    table.last(even, &mut bits);
    put_mark(bits);
    true
}

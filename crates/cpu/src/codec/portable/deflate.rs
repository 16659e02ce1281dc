//! Deflate by the portable encoder: a zlib stream with one block per part (`portable/spec.md`, "Deflate").

use super::bits::Bits;
use super::deflate_header::Header;
use super::huffman::{Code, code_lengths, codes};
use super::matches::{Part, Shape};
use crate::codec::Workspace;
use crate::codec::workspace::out_of_memory;
use libdeflater::adler32;
use strile_engine::BlockFault;
use strile_engine::portable::{PART, deflate_effort};

const HEADER: [u8; 2] = [0x78, 0x9C];
/// An empty fixed block.
const EMPTY: [u8; 2] = [0x03, 0x00];
/// Bytes before the contents of a stored block: 3 bits, the rest of their byte, its length twice; plus one for the bits
/// of the previous block.
const STORED: u64 = 6;
/// Block types, following the bit that marks the last block.
const PLAIN: u32 = 0;
const DYNAMIC: u32 = 2;

const LITERALS: usize = 286;
const DISTANCES: usize = 30;
const END: usize = 256;
/// Maximum length of a code of a literal, a length or a distance.
const LIMIT: u8 = 15;

/// Returns the maximum bytes `encode` can append: all parts stored.
pub(in crate::codec) fn bound(len: usize) -> u64 {
    let parts = len.div_ceil(PART).max(1) as u64;
    (len as u64).saturating_add(parts.saturating_mul(STORED)).saturating_add(2 + 4)
}

/// Appends the stream of `src`.
pub(in crate::codec) fn encode(
    src: &[u8],
    dst: &mut Vec<u8>,
    level: i32,
    shape: Shape,
    workspace: &mut Workspace,
) -> Result<(), BlockFault> {
    if u32::try_from(src.len()).is_err() {
        return Err(BlockFault::unsupported("portable encoders take blocks below 4 GiB"));
    }
    let most = usize::try_from(bound(src.len())).unwrap_or(usize::MAX);
    dst.try_reserve(most).map_err(|_| out_of_memory(most, "an encoded block"))?;
    dst.extend_from_slice(&HEADER);
    let mut bits = Bits::new(dst);
    let mut search = workspace.matches().search(src, deflate_effort(level), shape);
    while let Some(part) = search.next_part() {
        append(&part, &mut bits);
    }
    if src.is_empty() {
        bits.bytes(&EMPTY);
    }
    bits.bytes(&adler32(src).to_be_bytes());
    Ok(())
}

/// Appends the block of a part, the shorter of two kinds.
fn append(part: &Part<'_>, bits: &mut Bits<'_>) {
    let counts = Counts::of(part);
    let literals = code_lengths(&counts.literals, LIMIT);
    let distances = code_lengths(&counts.distances_of_a_code(), LIMIT);
    let header = Header::new(&literals, &distances);
    let dynamic = 3 + header.bits() + counts.bits(&literals, &distances);
    let stored = u64::from(3 + bits.padding(3) + 32) + 8 * part.bytes.len() as u64;
    let last = u32::from(part.last);
    if stored <= dynamic {
        bits.put(last | PLAIN << 1, 3);
        let len = u16::try_from(part.bytes.len()).unwrap_or(0);
        bits.bytes(&len.to_le_bytes());
        bits.bytes(&(!len).to_le_bytes());
        bits.bytes(part.bytes);
    } else {
        bits.put(last | DYNAMIC << 1, 3);
        header.write(bits);
        write_tokens(part, &codes(&literals), &codes(&distances), bits);
    }
}

/// Symbol counts of a part.
struct Counts {
    literals: [u32; LITERALS],
    distances: [u32; DISTANCES],
    extra_bits: u64,
}

impl Counts {
    fn of(part: &Part<'_>) -> Self {
        let mut counts = Self { literals: [0; LITERALS], distances: [0; DISTANCES], extra_bits: 0 };
        let mut rest = part.bytes;
        for step in part.steps {
            let (literals, behind) = rest.split_at_checked(step.literals as usize).unwrap_or_default();
            for &literal in literals {
                count(&mut counts.literals, literal.into());
            }
            rest = behind.get(step.length as usize..).unwrap_or_default();
            if step.length > 0 {
                let (length, distance) = (length_symbol(step.length), distance_symbol(step.distance));
                count(&mut counts.literals, length.symbol);
                count(&mut counts.distances, distance.symbol);
                counts.extra_bits += u64::from(length.extra_bits + distance.extra_bits);
            }
        }
        count(&mut counts.literals, END);
        counts
    }

    /// Returns the distance counts with at least two nonzero, since not all decoders accept codes with fewer.
    fn distances_of_a_code(&self) -> [u32; DISTANCES] {
        let mut distances = self.distances;
        let lacking = 2_usize.saturating_sub(distances.iter().filter(|count| **count > 0).count());
        for count in distances.iter_mut().filter(|count| **count == 0).take(lacking) {
            *count = 1;
        }
        distances
    }

    /// Returns the bits of all tokens and of the end.
    fn bits(&self, literals: &[u8; LITERALS], distances: &[u8; DISTANCES]) -> u64 {
        let bits = |counts: &[u32], lengths: &[u8]| -> u64 {
            counts.iter().zip(lengths).map(|(&count, &length)| u64::from(count) * u64::from(length)).sum()
        };
        bits(&self.literals, literals) + bits(&self.distances, distances) + self.extra_bits
    }
}

fn write_tokens(
    part: &Part<'_>,
    literals: &[Code; LITERALS],
    distances: &[Code; DISTANCES],
    bits: &mut Bits<'_>,
) {
    let mut rest = part.bytes;
    for step in part.steps {
        let (plain, behind) = rest.split_at_checked(step.literals as usize).unwrap_or_default();
        for &literal in plain {
            let code = literals.get(usize::from(literal)).copied().unwrap_or_default();
            bits.put(code.bits, code.length);
        }
        rest = behind.get(step.length as usize..).unwrap_or_default();
        if step.length > 0 {
            write(length_symbol(step.length), literals, bits);
            write(distance_symbol(step.distance), distances, bits);
        }
    }
    let end = literals.get(END).copied().unwrap_or_default();
    bits.put(end.bits, end.length);
}

#[inline(always)]
fn write(symbol: Symbol, codes: &[Code], bits: &mut Bits<'_>) {
    let code = codes.get(symbol.symbol).copied().unwrap_or_default();
    bits.put(code.bits | symbol.extra << code.length, code.length + symbol.extra_bits);
}

#[inline(always)]
fn count(counts: &mut [u32], symbol: usize) {
    if let Some(count) = counts.get_mut(symbol) {
        *count += 1;
    }
}

/// A symbol with its extra bits (RFC 1951, 3.2.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Symbol {
    symbol: usize,
    extra: u32,
    extra_bits: u32,
}

/// Returns the symbol of a length of 3 to 258.
#[inline(always)]
fn length_symbol(length: u32) -> Symbol {
    let value = length - 3;
    match value {
        ..8 => Symbol { symbol: 257 + value as usize, extra: 0, extra_bits: 0 },
        255 => Symbol { symbol: 285, extra: 0, extra_bits: 0 },
        _ => {
            let bits = value.ilog2() - 2;
            let symbol = (257 + 4 * bits + (value >> bits)) as usize;
            Symbol { symbol, extra: value & ((1 << bits) - 1), extra_bits: bits }
        }
    }
}

/// Returns the symbol of a distance of 1 to 32768.
#[inline(always)]
fn distance_symbol(distance: u32) -> Symbol {
    let value = distance - 1;
    if value < 4 {
        return Symbol { symbol: value as usize, extra: 0, extra_bits: 0 };
    }
    let bits = value.ilog2() - 1;
    Symbol {
        symbol: (2 * bits + (value >> bits)) as usize,
        extra: value & ((1 << bits) - 1),
        extra_bits: bits,
    }
}

#[cfg(test)]
mod tests;

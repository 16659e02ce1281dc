//! LZ4 by the portable encoder: a frame with one block per part (`portable/spec.md`, "LZ4").

use super::matches::{Part, Shape};
use crate::codec::Workspace;
use crate::codec::workspace::out_of_memory;
use strile_engine::BlockFault;
use strile_engine::portable::{PART, lz4_effort};

/// Magic number; version 1, linked blocks, content size, no checksums; blocks of at most 64 KiB.
const HEADER: [u8; 6] = [0x04, 0x22, 0x4D, 0x18, 0x48, 0x40];
/// Length including the content size and the header checksum.
const HEADER_LEN: u64 = 15;
/// Bytes of a block size, or of the end mark.
const WORD: u64 = 4;
/// Flag in a block size: the block is stored.
const STORED: u32 = 1 << 31;
/// No match begins in the last `NO_START` bytes of a block, and none extends into the last `NO_MATCH`.
const NO_START: usize = 12;
const NO_MATCH: usize = 5;
const LEAST: usize = 4;

/// Returns the maximum bytes `encode` can append: all parts stored.
pub(in crate::codec) fn bound(len: usize) -> u64 {
    let parts = len.div_ceil(PART) as u64;
    (len as u64).saturating_add(parts.saturating_mul(WORD)).saturating_add(HEADER_LEN + WORD)
}

/// Appends the frame of `src`.
pub(in crate::codec) fn encode(
    src: &[u8],
    dst: &mut Vec<u8>,
    shape: Shape,
    workspace: &mut Workspace,
) -> Result<(), BlockFault> {
    if u32::try_from(src.len()).is_err() {
        return Err(BlockFault::unsupported("portable encoders take blocks below 4 GiB"));
    }
    let most = usize::try_from(bound(src.len())).unwrap_or(usize::MAX);
    dst.try_reserve(most).map_err(|_| out_of_memory(most, "an encoded block"))?;
    let start = dst.len();
    dst.extend_from_slice(&HEADER);
    dst.extend_from_slice(&(src.len() as u64).to_le_bytes());
    let checksum = short_xxh32(dst.get(start + 4..).unwrap_or_default());
    dst.push(checksum.to_le_bytes()[1]);
    let mut search = workspace.matches().search(src, lz4_effort(), shape);
    while let Some(part) = search.next_part() {
        append(&part, dst);
    }
    dst.extend_from_slice(&[0; 4]);
    Ok(())
}

/// Returns the XXH32 with seed 0 of fewer than 16 bytes.
fn short_xxh32(bytes: &[u8]) -> u32 {
    const PRIMES: [u32; 5] = [2_654_435_761, 2_246_822_519, 3_266_489_917, 668_265_263, 374_761_393];
    let [first, second, third, fourth, fifth] = PRIMES;
    let (words, rest) = bytes.as_chunks::<4>();
    let mut hash = fifth.wrapping_add(u32::try_from(bytes.len()).unwrap_or(0));
    for &word in words {
        hash = hash.wrapping_add(u32::from_le_bytes(word).wrapping_mul(third));
        hash = hash.rotate_left(17).wrapping_mul(fourth);
    }
    for &byte in rest {
        hash = hash.wrapping_add(u32::from(byte).wrapping_mul(fifth));
        hash = hash.rotate_left(11).wrapping_mul(first);
    }
    hash = (hash ^ hash >> 15).wrapping_mul(second);
    hash = (hash ^ hash >> 13).wrapping_mul(third);
    hash ^ hash >> 16
}

/// Start, end and distance of a match in a part.
#[derive(Clone, Copy)]
struct Match {
    start: usize,
    end: usize,
    distance: u32,
}

/// Appends the block of a part: its sequences, or its bytes if those are not longer.
fn append(part: &Part<'_>, dst: &mut Vec<u8>) {
    let (at, len) = (dst.len(), part.bytes.len());
    dst.extend_from_slice(&[0; 4]);
    let mut sequences = Sequences { bytes: part.bytes, behind: 0, dst };
    let mut last: Option<Match> = None;
    let mut start = 0;
    for step in part.steps {
        start += step.literals as usize;
        let found = Match { start, end: start + step.length as usize, distance: step.distance };
        start = found.end;
        if step.length == 0 || found.start + NO_START > len {
            continue;
        }
        let found = Match { end: found.end.min(len - NO_MATCH), ..found };
        match &mut last {
            Some(last) if last.end == found.start && last.distance == found.distance => last.end = found.end,
            _ => {
                last.into_iter().for_each(|last| sequences.put(last));
                last = Some(found);
            }
        }
    }
    last.into_iter().for_each(|last| sequences.put(last));
    sequences.finish();
    let mut size = dst.len() - at - 4;
    let mut flag = 0;
    if size >= len {
        dst.truncate(at + 4);
        dst.extend_from_slice(part.bytes);
        (size, flag) = (len, STORED);
    }
    let word = (u32::try_from(size).unwrap_or(0) | flag).to_le_bytes();
    if let Some(to) = dst.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
        *to = word;
    }
}

/// Writer of the sequences of a part; bytes up to `behind` are already written.
struct Sequences<'a> {
    bytes: &'a [u8],
    behind: usize,
    dst: &'a mut Vec<u8>,
}

impl Sequences<'_> {
    /// Writes the literals since the last match, and this match.
    fn put(&mut self, found: Match) {
        let length = found.end - found.start - LEAST;
        self.literals(found.start, length);
        let [low, high, ..] = found.distance.to_le_bytes();
        self.dst.extend_from_slice(&[low, high]);
        self.extra(length);
        self.behind = found.end;
    }

    /// Writes the remaining literals, without a match.
    fn finish(mut self) {
        self.literals(self.bytes.len(), 0);
    }

    /// Writes the token of a sequence, and its literals up to `end`.
    fn literals(&mut self, end: usize, length: usize) {
        let bytes = self.bytes.get(self.behind..end).unwrap_or_default();
        let token = bytes.len().min(15) << 4 | length.min(15);
        self.dst.push(token.to_le_bytes()[0]);
        self.extra(bytes.len());
        self.dst.extend_from_slice(bytes);
    }

    /// Writes the part of a length beyond its four bits.
    fn extra(&mut self, length: usize) {
        let Some(mut more) = length.checked_sub(15) else { return };
        while more >= 255 {
            self.dst.push(255);
            more -= 255;
        }
        self.dst.push(more.to_le_bytes()[0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::byte_testing::Random;
    use std::io::Read as _;

    fn round_trip(data: &[u8], row: usize, workspace: &mut Workspace) -> usize {
        let mut packed = vec![1, 2];
        encode(data, &mut packed, Shape { row, unit: 1 }, workspace).unwrap();
        let packed = packed.split_off(2);
        assert!(packed.len() as u64 <= bound(data.len()));
        let mut back = Vec::new();
        lz4_flex::frame::FrameDecoder::new(&packed[..]).read_to_end(&mut back).unwrap();
        assert!(back == data, "{} bytes", data.len());
        packed.len()
    }

    #[test]
    fn another_decoder_reads_it() {
        let mut random = Random::new(8);
        let mut workspace = Workspace::default();
        for len in (1..60).chain([255, 300, 32_767, 32_768, 32_769, 32_780, 100_000]) {
            let noise: Vec<u8> = (0..len).map(|_| random.below(256).to_le_bytes()[0]).collect();
            for data in [random.image_like(len), noise, vec![9; len]] {
                round_trip(&data, 100, &mut workspace);
            }
        }
    }

    #[test]
    fn the_last_bytes_are_literals() {
        let mut packed = Vec::new();
        encode(&[7; 20], &mut packed, Shape { row: 20, unit: 1 }, &mut Workspace::default()).unwrap();
        // A literal, a match of 14 bytes at distance one, five literals.
        assert_eq!(packed[15..], [10, 0, 0, 0, 0x1A, 7, 1, 0, 0x50, 7, 7, 7, 7, 7, 0, 0, 0, 0]);
    }

    #[test]
    fn a_long_run_is_one_match() {
        let len = 32_768;
        assert!(round_trip(&vec![3; len], 256, &mut Workspace::default()) < 15 + 4 + 4 + 150);
    }
}

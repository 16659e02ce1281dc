//! Damaged files, deterministic for a seed.
//!
//! A mutant of the payload keeps header and directories valid, so that decoders are reached; a mutant of the structure
//! keeps the blocks. `Anywhere` changes any byte.

use crate::builder::Built;
use crate::pixels::Random;
use std::ops::Range;

/// Parts that a mutation may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Bytes of blocks; the file keeps its length.
    Payload,
    /// Header, directories and outlying values.
    Structure,
    /// Any byte; also truncates the file.
    Anywhere,
}

/// Values at the limits of sizes and signs.
const EDGES: [u64; 12] =
    [0, 1, 2, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, u64::MAX / 2, u64::MAX];

/// Returns a damaged copy of a file, with one to four changes.
pub fn mutate(built: &Built, target: Target, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut bytes = built.bytes.clone();
    let ranges: Vec<Range<usize>> = match target {
        Target::Payload => built.blocks.iter().map(|b| b.range.clone()).filter(|r| !r.is_empty()).collect(),
        Target::Structure => {
            let header = 0..if bytes[2] == 43 || bytes[3] == 43 { 16 } else { 8 };
            [&[header][..], &built.directories, &built.values].concat()
        }
        Target::Anywhere => std::iter::once(0..bytes.len()).collect(),
    };
    if ranges.is_empty() {
        return bytes;
    }
    for _ in 0..1 + random.below(4) {
        let range = ranges[random.below(ranges.len())].clone();
        let kinds = if target == Target::Anywhere { 6 } else { 5 };
        match random.below(kinds) {
            0 => flip(&mut bytes[range], &mut random),
            1 => overwrite(&mut bytes[range], &mut random),
            2 => splice(&mut bytes[range], &mut random),
            3 => edge(&mut bytes[range], &mut random),
            4 if target == Target::Structure => entry(&mut bytes, built, &mut random),
            4 => erase(&mut bytes[range], &mut random),
            _ => {
                let len = random.below(bytes.len().max(1));
                bytes.truncate(len);
                return bytes;
            }
        }
    }
    bytes
}

/// Returns a damaged copy of bytes, of the same or another length: for fuzzing one decoder.
pub fn mutate_bytes(stream: &[u8], seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut bytes = stream.to_vec();
    for _ in 0..1 + random.below(4) {
        if bytes.is_empty() {
            bytes.push(random.next_u64() as u8);
        }
        match random.below(7) {
            0 => flip(&mut bytes, &mut random),
            1 => overwrite(&mut bytes, &mut random),
            2 => splice(&mut bytes, &mut random),
            3 => edge(&mut bytes, &mut random),
            4 => erase(&mut bytes, &mut random),
            5 => {
                let len = random.below(bytes.len());
                bytes.truncate(len);
            }
            _ => {
                let at = random.below(bytes.len());
                let more: Vec<u8> = (0..1 + random.below(9)).map(|_| random.next_u64() as u8).collect();
                bytes.splice(at..at, more);
            }
        }
    }
    bytes
}

fn flip(bytes: &mut [u8], random: &mut Random) {
    let at = random.below(bytes.len());
    bytes[at] ^= 1 << random.below(8);
}

fn overwrite(bytes: &mut [u8], random: &mut Random) {
    for _ in 0..1 + random.below(8) {
        let at = random.below(bytes.len());
        bytes[at] = random.next_u64() as u8;
    }
}

/// Copies a piece of the range over another position in it.
fn splice(bytes: &mut [u8], random: &mut Random) {
    let len = 1 + random.below(bytes.len().min(64));
    let from = random.below(bytes.len() - len + 1);
    let to = random.below(bytes.len() - len + 1);
    bytes.copy_within(from..from + len, to);
}

/// Writes an edge value of 1, 2, 4 or 8 bytes, in either order.
fn edge(bytes: &mut [u8], random: &mut Random) {
    let width = [1, 2, 4, 8][random.below(4)].min(bytes.len());
    let at = random.below(bytes.len() - width + 1);
    let mut raw = EDGES[random.below(EDGES.len())].to_le_bytes();
    if random.below(2) == 1 {
        raw[..width].reverse();
    }
    bytes[at..at + width].copy_from_slice(&raw[..width]);
}

fn erase(bytes: &mut [u8], random: &mut Random) {
    let from = random.below(bytes.len());
    let len = random.below(bytes.len() - from + 1);
    bytes[from..from + len].fill(if random.below(2) == 0 { 0 } else { 0xFF });
}

/// Changes type, count or value of one entry of a directory.
fn entry(bytes: &mut [u8], built: &Built, random: &mut Random) {
    let (count, size) = if bytes[2] == 43 || bytes[3] == 43 { (8, 20) } else { (2, 12) };
    let directory = built.directories[random.below(built.directories.len())].clone();
    let entries = (directory.len() - count) / size;
    if entries == 0 {
        return;
    }
    let at = directory.start + count + size * random.below(entries);
    let word = (size - 4) / 2;
    match random.below(3) {
        0 => edge(&mut bytes[at + 2..at + 4], random),
        1 => edge(&mut bytes[at + 4..at + 4 + word], random),
        _ => edge(&mut bytes[at + 4 + word..at + size], random),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::fixtures;

    #[test]
    fn payload_mutants_keep_the_structure_and_structure_mutants_the_payload() {
        let all = fixtures();
        let built = &all.iter().find(|f| f.name == "mask_cog_ghost").unwrap().built;
        let mut is_payload = vec![false; built.bytes.len()];
        for block in &built.blocks {
            is_payload[block.range.clone()].fill(true);
        }
        for (target, touches_payload) in [(Target::Payload, true), (Target::Structure, false)] {
            let mut changed = 0;
            for seed in 0..300 {
                let mutant = mutate(built, target, seed);
                assert_eq!(mutant, mutate(built, target, seed));
                assert_eq!(mutant.len(), built.bytes.len());
                for (at, (old, new)) in built.bytes.iter().zip(&mutant).enumerate() {
                    if old != new {
                        assert_eq!(is_payload[at], touches_payload, "byte {at} of seed {seed}");
                        changed += 1;
                    }
                }
            }
            assert!(changed > 300);
        }
    }

    #[test]
    fn any_stream_can_be_mutated() {
        for seed in 0..500 {
            mutate_bytes(&[], seed);
            mutate_bytes(&[1], seed);
            mutate_bytes(&[1, 2, 3, 4, 5, 6, 7, 8, 9], seed);
        }
    }
}

//! Compression 50004: LZ4, a tag value without a specification.
//!
//! Writers store either a frame (magic 0x184D2204) or a bare block. The magic distinguishes them: as a block it would
//! be a match from before the beginning, which is invalid.
//!
//! strile writes a frame that states its size, which Python's `lz4.frame` and the `lz4` program read, and which is
//! recognisable by its magic.
//!
//! Special cases: bytes after a frame are ignored; a last strip may hold all its rows. A bare block has no end mark and
//! no checksum: it ends with the bytes.

use super::workspace::{most_output, out_of_memory};
use super::{StoredBlock, Workspace};
use crate::stop::{LARGE, Looks, Stop};
use lz4_flex::block::decompress_into;
use lz4_flex::frame::{BlockMode, BlockSize, Error as FrameError, FrameDecoder, FrameEncoder, FrameInfo};
use std::io::{ErrorKind, Read, Write};
use strile_engine::{BlockFault, FaultKind};

const FRAME_MAGIC: [u8; 4] = 0x184D_2204_u32.to_le_bytes();
/// Flag of a frame: a checksum follows the end mark.
const CONTENT_CHECKSUM: u8 = 0b100;

pub(super) fn decode(
    src: &[u8],
    dst: &mut [u8],
    block: StoredBlock<'_>,
    workspace: &mut Workspace,
) -> Result<(), BlockFault> {
    let most = most_output(dst.len(), block);
    if !src.starts_with(&FRAME_MAGIC) {
        return decode_block(src, dst, most, workspace.crew.stop());
    }
    let _loan = workspace.lend(frame_memory(src), 0, "an LZ4 decoder")?;
    decode_frame(src, dst, most, workspace.crew.stop())
}

/// Returns the memory of the frame decoder: a block, encoded and decoded, and its reference window.
fn frame_memory(src: &[u8]) -> u64 {
    let block: u64 = match src.get(5).map(|descriptor| descriptor >> 4 & 7) {
        Some(4) => 64 << 10,
        Some(5) => 256 << 10,
        Some(6) => 1 << 20,
        // 4 MiB, or 8 in frames of the older kind.
        _ => 8 << 20,
    };
    2 * block + (256 << 10)
}

fn decode_block(src: &[u8], dst: &mut [u8], most: usize, stop: &Stop) -> Result<(), BlockFault> {
    let needed = dst.len();
    // A large block is decoded by a function that can be cancelled, once it is known to be valid.
    if needed <= LARGE {
        match decompress_into(src, dst) {
            Ok(found) if found == needed => return Ok(()),
            Ok(found) => return Err(BlockFault::short(found, needed)),
            Err(_) => {}
        }
    }
    let measured = measure(src);
    match measured.end {
        End::Complete if measured.produced > most => Err(BlockFault::surplus(measured.produced, needed)),
        End::Complete if measured.produced > needed || (measured.produced == needed && needed > LARGE) => {
            let decoded = decode_first(src, dst, stop)?;
            decoded.ok_or_else(|| BlockFault::corrupt("invalid LZ4 data"))
        }
        End::Complete => Err(BlockFault::short(measured.produced, needed)),
        End::OutOfInput if measured.produced > most => Err(BlockFault::surplus(measured.produced, needed)),
        End::OutOfInput => Err(BlockFault::truncated(measured.produced.min(needed), needed)),
        End::BadOffset(at) => {
            Err(BlockFault::corrupt(format!("a match from before the beginning at byte {at}")))
        }
    }
}

/// Fills `dst` with the first bytes of a bare block that gives at least as many. Matches reference only these bytes.
/// `None` if the block is invalid; a fault if cancelled.
fn decode_first(src: &[u8], dst: &mut [u8], stop: &Stop) -> Result<Option<()>, BlockFault> {
    let mut looks = Looks::new(stop);
    let (mut at, mut filled) = (0, 0);
    while filled < dst.len() {
        looks.after(filled)?;
        if sequence(src, dst, &mut at, &mut filled).is_none() {
            return Ok(None);
        }
    }
    Ok(Some(()))
}

/// Appends the literals and the match of one sequence to the filled bytes, as far as there is room.
fn sequence(src: &[u8], dst: &mut [u8], at: &mut usize, filled: &mut usize) -> Option<()> {
    let &token = src.get(*at)?;
    *at += 1;
    let literals = length(src, at, token >> 4)?;
    let kept = literals.min(dst.len() - *filled);
    dst.get_mut(*filled..)?.get_mut(..kept)?.copy_from_slice(src.get(*at..)?.get(..kept)?);
    *filled += kept;
    *at += literals;
    if *filled == dst.len() {
        return Some(());
    }
    let &offset = src.get(*at..)?.first_chunk::<2>()?;
    let from = filled.checked_sub(u16::from_le_bytes(offset).into()).filter(|from| from < filled)?;
    *at += 2;
    let matched = length(src, at, token & 15)?.saturating_add(4).min(dst.len() - *filled);
    if from + matched <= *filled {
        dst.copy_within(from..from + matched, *filled);
    } else {
        for at in 0..matched {
            *dst.get_mut(*filled + at)? = *dst.get(from + at)?;
        }
    }
    *filled += matched;
    Some(())
}

/// Possible block sizes of a frame.
const FRAME_BLOCKS: [(usize, BlockSize); 4] = [
    (64 << 10, BlockSize::Max64KB),
    (256 << 10, BlockSize::Max256KB),
    (1 << 20, BlockSize::Max1MB),
    (4 << 20, BlockSize::Max4MB),
];

/// Returns the smallest block size that holds `len` bytes, or the largest.
fn frame_block(len: usize) -> (usize, BlockSize) {
    let whole = FRAME_BLOCKS.into_iter().find(|&(size, _)| size >= len);
    whole.unwrap_or((4 << 20, BlockSize::Max4MB))
}

/// Returns the maximum bytes for `len`: incompressible blocks are stored, with four bytes before each; plus a header of
/// 15 bytes and an end mark of four.
pub(super) fn bound(len: usize) -> u64 {
    let blocks = len.div_ceil(frame_block(len).0).max(1) as u64;
    (len as u64).saturating_add(blocks * 4).saturating_add(15 + 4)
}

/// Appends a frame of independent blocks, with its size and without checksums.
pub(super) fn encode(src: &[u8], dst: &mut Vec<u8>) -> Result<(), BlockFault> {
    let most = usize::try_from(bound(src.len())).unwrap_or(usize::MAX);
    dst.try_reserve(most).map_err(|_| out_of_memory(most, "an encoded block"))?;
    let info = FrameInfo::new()
        .block_mode(BlockMode::Independent)
        .block_size(frame_block(src.len()).1)
        .content_size(Some(src.len() as u64));
    let mut encoder = FrameEncoder::with_frame_info(info, dst);
    // Writing to memory can only fail if memory runs out.
    let written = encoder.write_all(src).map_err(|error| error.to_string());
    let finished = written.and_then(|()| encoder.try_finish().map_err(|error| error.to_string()));
    finished.map_err(|_| out_of_memory(most, "an LZ4 frame"))
}

enum End {
    Complete,
    OutOfInput,
    BadOffset(usize),
}

struct Measured {
    produced: usize,
    end: End,
}

/// Walks the sequences of a bare block without output, to find its decoded length and how it ends.
fn measure(src: &[u8]) -> Measured {
    let mut produced = 0_usize;
    let mut at = 0;
    let end = loop {
        let Some(&token) = src.get(at) else { break End::OutOfInput };
        at += 1;
        let Some(literals) = length(src, &mut at, token >> 4) else { break End::OutOfInput };
        let available = src.len() - at;
        produced += literals.min(available);
        if literals > available {
            break End::OutOfInput;
        }
        at += literals;
        if at == src.len() {
            break End::Complete;
        }
        let Some(&offset) = src.get(at..).and_then(|rest| rest.first_chunk::<2>()) else {
            break End::OutOfInput;
        };
        let offset = usize::from(u16::from_le_bytes(offset));
        if offset == 0 || offset > produced {
            break End::BadOffset(at);
        }
        at += 2;
        let Some(matched) = length(src, &mut at, token & 15) else { break End::OutOfInput };
        produced = produced.saturating_add(matched + 4);
    };
    Measured { produced, end }
}

/// Reads a length of four bits, continued in further bytes if it is 15.
fn length(src: &[u8], at: &mut usize, nibble: u8) -> Option<usize> {
    let mut length = usize::from(nibble);
    if nibble < 15 {
        return Some(length);
    }
    loop {
        let &more = src.get(*at)?;
        *at += 1;
        length += usize::from(more);
        if more < 255 {
            return Some(length);
        }
    }
}

fn decode_frame(src: &[u8], dst: &mut [u8], most: usize, stop: &Stop) -> Result<(), BlockFault> {
    let needed = dst.len();
    let mut rest = src;
    let mut decoder = FrameDecoder::new(&mut rest);
    let mut dropped = [0; 4096];
    let mut produced = 0_usize;
    loop {
        stop.check()?;
        let out = match dst.get_mut(produced..) {
            Some(rest) if !rest.is_empty() => rest,
            _ => &mut dropped[..],
        };
        let found = decoder.read(out).map_err(|error| frame_fault(&error, produced.min(needed), needed))?;
        produced = produced.saturating_add(found);
        if produced > most {
            return Err(BlockFault::surplus(produced, needed));
        }
        if found == 0 {
            break;
        }
    }
    drop(decoder);
    // The decoder treats the end of the input as the end of the frame: check for the end mark, four zero bytes.
    let taken = src.get(..src.len() - rest.len()).unwrap_or_default();
    let checksum = if src.get(4).is_some_and(|flags| flags & CONTENT_CHECKSUM != 0) { 4 } else { 0 };
    let marked = taken
        .len()
        .checked_sub(checksum)
        .and_then(|end| taken.get(..end))
        .is_some_and(|t| t.ends_with(&[0; 4]));
    if !marked {
        Err(BlockFault::truncated(produced.min(needed), needed))
    } else if produced < needed {
        Err(BlockFault::short(produced, needed))
    } else {
        Ok(())
    }
}

fn frame_fault(error: &std::io::Error, found: usize, expected: usize) -> BlockFault {
    if error.kind() == ErrorKind::UnexpectedEof {
        return BlockFault::truncated(found, expected);
    }
    match error.get_ref().and_then(|inner| inner.downcast_ref::<FrameError>()) {
        Some(
            FrameError::BlockChecksumError
            | FrameError::ContentChecksumError
            | FrameError::HeaderChecksumError,
        ) => BlockFault::checksum(0, 0),
        _ => BlockFault {
            kind: FaultKind::Corrupt,
            found: found as u64,
            expected: expected as u64,
            detail: format!("{error}, after {found} of {expected} bytes").into(),
        },
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "small numbers made here")]
mod tests {
    use super::super::byte_testing::{self as testing, Random};
    use super::*;
    use lz4_flex::block::compress;
    use lz4_flex::frame::{FrameEncoder, FrameInfo};
    use std::io::Write;
    use strile_tiff::Compression;

    fn frame(data: &[u8]) -> Vec<u8> {
        let mut encoder = FrameEncoder::with_frame_info(FrameInfo::new().content_checksum(true), Vec::new());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    fn unpack(src: &[u8], len: usize) -> Result<Vec<u8>, BlockFault> {
        let layout = testing::layout(Compression::Lz4, len as u32, 1);
        let mut dst = vec![0; len];
        decode(src, &mut dst, testing::whole(&layout), &mut Workspace::default()).map(|()| dst)
    }

    fn sample() -> Vec<u8> {
        (0..60_000_u32).map(|i| (i * i / 7777) as u8).collect()
    }

    #[test]
    fn reads_blocks_and_frames() {
        let data = sample();
        assert_eq!(unpack(&compress(&data), data.len()).unwrap(), data);
        let mut framed = frame(&data);
        framed.extend([1, 2, 3]);
        assert_eq!(unpack(&framed, data.len()).unwrap(), data);
    }

    #[test]
    fn tells_faults_apart() {
        let data = sample();
        let block = compress(&data);
        assert_eq!(unpack(&block, 60_001), Err(BlockFault::short(60_000, 60_001)));
        assert_eq!(unpack(&block, 59_999), Err(BlockFault::surplus(60_000, 59_999)));
        // A block truncated after literals looks complete but short; elsewhere the truncation is detected.
        let mut seen = 0;
        for cut in block.len() / 2..block.len() / 2 + 20 {
            let fault = unpack(&block[..cut], 60_000).unwrap_err();
            assert!(matches!(fault.kind, FaultKind::InputTruncated | FaultKind::OutputShort), "{fault}");
            assert!(fault.found > 1000 && fault.found < 60_000, "{fault}");
            seen += usize::from(fault.kind == FaultKind::InputTruncated);
        }
        assert!(seen > 0);

        let framed = frame(&data);
        assert_eq!(unpack(&framed, 60_001), Err(BlockFault::short(60_000, 60_001)));
        assert_eq!(unpack(&framed, 59_999).unwrap_err().kind, FaultKind::OutputSurplus);
        for cut in [framed.len() / 2, framed.len() - 1, framed.len() - 4, framed.len() - 8] {
            assert_eq!(unpack(&framed[..cut], 60_000).unwrap_err().kind, FaultKind::InputTruncated, "{cut}");
        }
        let mut bad = framed.clone();
        *bad.last_mut().unwrap() ^= 1;
        assert_eq!(unpack(&bad, 60_000).unwrap_err().kind, FaultKind::Checksum);
    }

    #[test]
    fn last_strip_may_hold_all_its_rows() {
        let layout = testing::layout(Compression::Lz4, 1000, 50);
        let strip = StoredBlock { layout: &layout, rows: 3 };
        let data = sample();
        for pack in [compress as fn(&[u8]) -> Vec<u8>, frame] {
            let mut dst = vec![0; 3000];
            decode(&pack(&data[..50_000]), &mut dst, strip, &mut Workspace::default()).unwrap();
            assert_eq!(dst, data[..3000]);
            let fault =
                decode(&pack(&data[..50_001]), &mut dst, strip, &mut Workspace::default()).unwrap_err();
            assert_eq!(fault.kind, FaultKind::OutputSurplus);
        }
    }

    #[test]
    fn mutants_fill_or_fault() {
        let mut random = Random::new(7);
        for round in 0..4000 {
            let data = random.image_like(1 + round % 700);
            let good = if round % 2 == 0 { compress(&data) } else { frame(&data) };
            let src = random.mutant(&good);
            let layout = testing::layout(Compression::Lz4, data.len() as u32, 1 + (round % 3) as u32);
            let block = StoredBlock { layout: &layout, rows: 1 };
            testing::fills_or_faults(data.len(), |dst| decode(&src, dst, block, &mut Workspace::default()));
        }
    }
}

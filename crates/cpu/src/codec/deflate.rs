//! Compression 8 and 32946: Deflate in a zlib frame (RFC 1950), with its Adler-32 checked.
//!
//! libdeflate decodes it, except streams that are nearly all literals (`inflate_literals`). libdeflate reports only
//! that data is bad; `inflate_scan` then finds out what is wrong with it.
//!
//! Special cases: bytes after the checksum are ignored, as in libtiff. A last strip may hold all its rows; miniz_oxide
//! inflates it in pieces, since libdeflate needs memory for the whole output and a strip may state millions of rows.

mod find_block;
mod inflate;
mod inflate_literals;
mod inflate_pieces;
pub(super) mod inflate_scan;
pub(super) mod inflate_tables;
mod literals;
mod piece;

pub(super) use literals::has_no_runs;

use super::encode::level_within;
use super::workspace::{most_output, out_of_memory, room};
use super::{StoredBlock, Workspace};
use crate::stop::{LARGE, LOOKS_EVERY, Stop};
use inflate_pieces::Division;
use inflate_scan::{End, scan};
use libdeflater::{Adler32, DecompressionError, adler32};
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};
use strile_engine::{BlockFault, BlockLayout, EncodeLayout};
use strile_tiff::Predictor;

/// Bytes of the zlib header.
const HEADER: usize = 2;
/// Bytes of the Adler-32 after the data.
const TRAILER: usize = 4;
/// Kind of a block that contains its codes.
const DYNAMIC: u8 = 2;
/// Maximum distance of a match.
const WINDOW: usize = 32 << 10;

pub(super) fn decode(
    src: &[u8],
    dst: &mut [u8],
    block: StoredBlock<'_>,
    workspace: &mut Workspace,
) -> Result<(), BlockFault> {
    let needed = dst.len();
    if decode_in_pieces(src, dst, workspace).or_else(|| decode_literals(src, dst, workspace)).is_some() {
        return Ok(());
    }
    let stop = workspace.crew.stop();
    stop.check()?;
    if needed > LARGE {
        // Slower than libdeflate, but can be cancelled.
        let done = decode_large(src, dst, stop);
        stop.check()?;
        return done.map_or_else(|| decode_unusual(src, dst, most_output(needed, block)), Ok);
    }
    match workspace.deflate().zlib_decompress(src, dst) {
        Ok(found) if found == needed => Ok(()),
        Ok(found) => Err(BlockFault::short(found, needed)),
        // Truncated data can cause either error: libdeflate reads zeros past its end for a while.
        Err(DecompressionError::BadData | DecompressionError::InsufficientSpace) => {
            decode_unusual(src, dst, most_output(needed, block))
        }
    }
}

/// Returns the memory of several threads that decode a block together.
pub(super) fn helped_len(layout: &BlockLayout, rows: u32, encoded: u64, threads: usize) -> u64 {
    let encoded = usize::try_from(encoded).unwrap_or(usize::MAX).saturating_sub(HEADER);
    let division = layout.decoded_len(rows).and_then(|decoded| Division::of(encoded, decoded, threads));
    division.map_or(0, |division| division.memory())
}

/// Decodes a large stream on several threads, including its checksum; `None` leaves it to one.
fn decode_in_pieces(src: &[u8], dst: &mut [u8], workspace: &Workspace) -> Option<()> {
    if workspace.crew.is_alone() {
        return None;
    }
    let data = deflate_data(src)?;
    // A first block of another kind is mostly stored: copying takes less time than looking for blocks.
    if data.first().is_none_or(|first| first >> 1 & 3 != DYNAMIC) {
        return None;
    }
    let hands = workspace.crew.enlist();
    let division = Division::of(data.len(), dst.len(), hands.threads())?;
    let _loan = workspace.spare(division.memory())?;
    let (taken, computed) = inflate_pieces::inflate(data, dst, division, hands)?;
    (checksum_after(data, taken)? == computed).then_some(())
}

/// Decodes a stream that is nearly all literals, including its checksum; `None` leaves it to libdeflate.
fn decode_literals(src: &[u8], dst: &mut [u8], workspace: &mut Workspace) -> Option<()> {
    let data = deflate_data(src)?;
    let stop = workspace.crew.stop().clone();
    let taken = inflate_literals::inflate(data, dst, workspace.inflate(), &stop)?;
    (checksum_after(data, taken)? == adler32(dst)).then_some(())
}

/// Returns the data after a zlib header, and what follows it; `None` for another or a damaged header.
fn deflate_data(src: &[u8]) -> Option<&[u8]> {
    let (&[method, flags], data) = src.split_first_chunk::<HEADER>()?;
    let valid =
        method & 0x0F == 8 && flags & 0x20 == 0 && u16::from_be_bytes([method, flags]).is_multiple_of(31);
    valid.then_some(data)
}

/// Returns the checksum stored after `taken` bytes of Deflate data.
fn checksum_after(data: &[u8], taken: usize) -> Option<u32> {
    data.get(taken..)?.first_chunk::<TRAILER>().map(|stored| u32::from_be_bytes(*stored))
}

/// Decodes a stream that fills `dst` and has a valid checksum; `None` for any other, and if cancelled.
fn decode_large(src: &[u8], dst: &mut [u8], stop: &Stop) -> Option<()> {
    let data = deflate_data(src)?;
    let mut state = Box::<DecompressorOxide>::default();
    let (mut taken, mut produced, mut checksum) = (0_usize, 0_usize, Adler32::new());
    loop {
        // A byte past the block would be a surplus: the stream must end with the block.
        let end = produced.saturating_add(LOOKS_EVERY).min(dst.len());
        let (input, output) = (data.get(taken..)?, dst.get_mut(..end)?);
        let (status, read, written) =
            decompress(&mut state, input, output, produced, TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF);
        checksum.update(dst.get(produced..produced.checked_add(written)?)?);
        (taken, produced) = (taken.checked_add(read)?, produced.checked_add(written)?);
        match status {
            TINFLStatus::Done => break,
            TINFLStatus::HasMoreOutput if produced < dst.len() && !stop.is_set() => {}
            _ => return None,
        }
    }
    (produced == dst.len() && checksum_after(data, taken)? == checksum.sum()).then_some(())
}

/// Decodes a last strip that holds all its rows, or returns why libdeflate rejected `src`.
fn decode_unusual(src: &[u8], dst: &mut [u8], most: usize) -> Result<(), BlockFault> {
    let needed = dst.len();
    let (Some(&[method, flags]), Some(data)) = (src.first_chunk::<HEADER>(), src.get(HEADER..)) else {
        return Err(BlockFault::truncated(0, needed));
    };
    if method & 0x0F != 8 || method >> 4 > 7 || u16::from_be_bytes([method, flags]) % 31 != 0 {
        return Err(BlockFault::corrupt(format!("no zlib header: {method:#04x} {flags:#04x}")));
    }
    if flags & 0x20 != 0 {
        return Err(BlockFault::corrupt("the zlib header asks for a preset dictionary"));
    }
    let scanned = scan(data);
    let (found, at) = (scanned.produced, HEADER + scanned.consumed);
    match scanned.end {
        End::OutOfInput => return Err(BlockFault::truncated(found.min(needed), needed)),
        End::Invalid(what) => {
            return Err(BlockFault::corrupt(format!("{what} at byte {at} of {}", src.len())));
        }
        End::Complete if found < needed => return Err(BlockFault::short(found, needed)),
        End::Complete if found > most => return Err(BlockFault::surplus(found, needed)),
        End::Complete => {}
    }
    let Some(&stored) = src.get(at..).and_then(|rest| rest.first_chunk::<TRAILER>()) else {
        let mut fault = BlockFault::truncated(needed, needed);
        fault.detail = "the Adler-32 at the end is missing".into();
        return Err(fault);
    };
    let (computed, stored) = match inflate_in_pieces(data, dst) {
        Some((produced, computed)) if produced == found => (computed, u32::from_be_bytes(stored)),
        _ => return Err(BlockFault::corrupt("invalid Deflate data")),
    };
    if computed != stored {
        return Err(BlockFault::checksum(computed.into(), stored.into()));
    }
    Ok(())
}

/// Inflates all of `data`, a window at a time, and keeps the first bytes in `dst`. Returns the total length and its Adler-32. The rest needs
/// only one window of memory, whatever its length.
fn inflate_in_pieces(data: &[u8], dst: &mut [u8]) -> Option<(usize, u32)> {
    let mut state = Box::<DecompressorOxide>::default();
    let mut window = vec![0; WINDOW];
    let mut checksum = Adler32::new();
    let (mut taken, mut produced) = (0_usize, 0_usize);
    loop {
        let at = produced % WINDOW;
        let (status, read, written) = decompress(&mut state, data.get(taken..)?, &mut window, at, 0);
        let piece = window.get(at..at.checked_add(written)?)?;
        checksum.update(piece);
        if let Some(rest) = dst.get_mut(produced..) {
            rest.iter_mut().zip(piece).for_each(|(to, from)| *to = *from);
        }
        taken += read;
        produced = produced.checked_add(written)?;
        match status {
            TINFLStatus::Done => return Some((produced, checksum.sum())),
            TINFLStatus::HasMoreOutput => {}
            _ => return None,
        }
    }
}

/// Returns libdeflate's level for a zlib level, which users know. Levels 6 to 9 become one higher to compress as well
/// as zlib, as in libtiff. The exception is the default level on planes of floats, where that takes 1.7 times as long
/// for 0.6 % (docs/bench/log/notes.md).
pub(super) fn effort(level: i32, predictor: Predictor) -> i32 {
    match (level, predictor) {
        (6, Predictor::FloatingPoint) => 6,
        (6..=9, _) => level + 1,
        _ => level,
    }
}

/// Checks the level.
pub(super) fn prepare(layout: EncodeLayout) -> Result<EncodeLayout, String> {
    level_within(&layout, 1..=12)?;
    Ok(layout)
}

/// Returns the maximum length of a zlib stream of `len` bytes: libdeflate stores what it cannot compress, in blocks of
/// at least 5000 bytes with 5 bytes of header.
pub(super) fn bound(len: usize) -> u64 {
    let len = len as u64;
    len.saturating_add(len.div_ceil(5000).max(1) * 5).saturating_add((HEADER + TRAILER) as u64)
}

/// Appends a zlib stream, written by libdeflate, or without matches if that is not larger.
pub(super) fn encode(
    src: &[u8],
    dst: &mut Vec<u8>,
    effort: i32,
    workspace: &mut Workspace,
) -> Result<(), BlockFault> {
    let compressor = workspace.deflate_encoder(effort)?;
    let start = dst.len();
    // `literals` writes eight bytes at a time.
    let out = room(dst, bound(src.len()).saturating_add(8))?;
    let len = match literals::suits(src, compressor) {
        true => literals::encode(src, out),
        false => compressor.zlib_compress(src, out).ok(),
    };
    let len = len.ok_or_else(|| out_of_memory(src.len(), "a zlib stream longer than its bound"))?;
    dst.truncate(start + len);
    Ok(())
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "small numbers made here")]
mod tests {
    use super::super::byte_testing::{self as testing, Random};
    use super::*;
    use crate::crew::Crew;
    use libdeflater::{CompressionLvl, Compressor};
    use strile_engine::FaultKind;
    use strile_tiff::Compression;

    fn pack(data: &[u8]) -> Vec<u8> {
        let mut compressor = Compressor::new(CompressionLvl::default());
        let mut out = vec![0; compressor.zlib_compress_bound(data.len())];
        let len = compressor.zlib_compress(data, &mut out).unwrap();
        out.truncate(len);
        out
    }

    fn unpack(src: &[u8], len: usize) -> Result<Vec<u8>, BlockFault> {
        let layout = testing::layout(Compression::Deflate, len as u32, 1);
        let mut dst = vec![0; len];
        decode(src, &mut dst, testing::whole(&layout), &mut Workspace::default()).map(|()| dst)
    }

    #[test]
    fn reads_back_and_leaves_padding() {
        let mut random = Random::new(2);
        for len in [1, 100, 5000] {
            let data = random.image_like(len);
            let mut packed = pack(&data);
            packed.extend([0, 0, 7]);
            assert_eq!(unpack(&packed, len).unwrap(), data);
        }
    }

    #[test]
    fn tells_faults_apart() {
        let data: Vec<u8> = (0..1000_u32).map(|i| (i * i / 7) as u8).collect();
        let packed = pack(&data);
        assert_eq!(unpack(&packed, 1001), Err(BlockFault::short(1000, 1001)));
        assert_eq!(unpack(&packed, 999), Err(BlockFault::surplus(1000, 999)));

        let mut bad_checksum = packed.clone();
        *bad_checksum.last_mut().unwrap() ^= 1;
        let adler = u64::from(adler32(&data));
        assert_eq!(unpack(&bad_checksum, 1000), Err(BlockFault::checksum(adler, adler ^ 1)));

        let cut = unpack(&packed[..packed.len() / 2], 1000).unwrap_err();
        assert_eq!(cut.kind, FaultKind::InputTruncated);
        assert!(cut.found > 100 && cut.found < 900, "{cut}");

        let no_checksum = unpack(&packed[..packed.len() - 2], 1000).unwrap_err();
        assert_eq!(no_checksum.kind, FaultKind::InputTruncated);
        assert_eq!(no_checksum.found, 1000);

        assert_eq!(unpack(&[0x12, 0x34, 0, 0], 4).unwrap_err().kind, FaultKind::Corrupt);
        assert_eq!(unpack(&[0x78], 4), Err(BlockFault::truncated(0, 4)));
        assert_eq!(unpack(&[], 4), Err(BlockFault::truncated(0, 4)));
    }

    /// Large blocks with helpers are decoded in pieces, with the same bytes and the same faults.
    #[test]
    fn helpers_change_neither_bytes_nor_faults() {
        let mut random = Random::new(7);
        let noise = |random: &mut Random| (random.below(60) * random.below(4)) as u8;
        let data: Vec<u8> = (0..2_000_000).map(|_| noise(&mut random)).collect();
        let packed = pack(&data);
        assert!(Division::of(packed.len(), data.len(), 3).is_some());
        let damaged = |at: usize, bit: u8| {
            let mut bytes = packed.clone();
            bytes[at] ^= bit;
            bytes
        };
        let (middle, last) = (packed.len() / 2, packed.len() - 1);
        let mut streams = vec![packed.clone(), packed[..middle].to_vec(), packed[..last].to_vec()];
        streams.extend([
            damaged(0, 1),
            damaged(1, 0x20),
            damaged(5, 4),
            damaged(middle, 8),
            damaged(last, 1),
        ]);
        for stream in &streams {
            for len in [data.len(), data.len() - 1, data.len() + 1] {
                let layout = testing::layout(Compression::Deflate, len as u32, 1);
                let mut helped = Workspace::default();
                helped.crew = Crew::new(7);
                let mut dst = vec![0xA5; len];
                let result = decode(stream, &mut dst, testing::whole(&layout), &mut helped).map(|()| dst);
                assert!(result == unpack(stream, len), "{len}: {:?}", result.err());
            }
        }
        assert!(unpack(&packed, data.len()).unwrap() == data);
    }

    #[test]
    fn last_strip_may_hold_all_its_rows() {
        let layout = testing::layout(Compression::Deflate, 10, 8);
        let strip = StoredBlock { layout: &layout, rows: 3 };
        let data: Vec<u8> = (0..81).collect();
        let mut dst = [0; 30];
        decode(&pack(&data[..80]), &mut dst, strip, &mut Workspace::default()).unwrap();
        assert_eq!(dst, data[..30]);
        let fault = decode(&pack(&data), &mut dst, strip, &mut Workspace::default()).unwrap_err();
        assert_eq!(fault, BlockFault::surplus(81, 30));
    }

    /// The strip spans many windows, with matches across their borders; the checksum covers the dropped bytes.
    #[test]
    fn long_last_strips_are_inflated_in_pieces() {
        let layout = testing::layout(Compression::Deflate, 1000, 400);
        let data = Random::new(6).image_like(400_000);
        for rows in [1, 32, 33, 399] {
            let strip = StoredBlock { layout: &layout, rows };
            let mut dst = vec![0xA5; rows as usize * 1000];
            decode(&pack(&data), &mut dst, strip, &mut Workspace::default()).unwrap();
            assert!(dst == data[..dst.len()]);
            let mut bad = pack(&data);
            *bad.last_mut().unwrap() ^= 1;
            let fault = decode(&bad, &mut dst, strip, &mut Workspace::default()).unwrap_err();
            assert_eq!(fault.kind, FaultKind::Checksum);
        }
    }

    #[test]
    fn mutants_fill_or_fault() {
        let mut random = Random::new(3);
        let mut workspace = Workspace::default();
        for round in 0..4000 {
            let data = random.image_like(1 + round % 700);
            let src = random.mutant(&pack(&data));
            let layout = testing::layout(Compression::Deflate, data.len() as u32, 1 + (round % 3) as u32);
            let block = StoredBlock { layout: &layout, rows: 1 };
            testing::fills_or_faults(data.len(), |dst| decode(&src, dst, block, &mut workspace));
        }
    }
}

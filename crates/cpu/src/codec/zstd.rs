//! Compression 50000: ZSTD (RFC 8878), verifying the checksum of frames that have one.
//!
//! Special cases: multiple frames and skippable frames, which the format allows, are decoded in turn; bytes after the
//! last frame are ignored; a last strip may hold all its rows. All but the first frame go through the slower streaming
//! decoder, which also finds out what is wrong with a block.

use super::deflate::has_no_runs;
use super::encode::level_within;
use super::workspace::{most_output, out_of_memory, room};
use super::{StoredBlock, Workspace};
use crate::stop::{LARGE, LOOKS_EVERY};
use ::zstd::zstd_safe::{
    CCtx, CParameter, DCtx, DParameter, InBuffer, OutBuffer, ResetDirective, Strategy, compress_bound,
    get_error_name,
};
use strile_engine::{BlockFault, EncodeLayout, EncodeParams};

/// Numbers of zstd's errors (`zstd_errors.h`), which are stable; a result is the number subtracted from 0.
mod error {
    pub(super) const PREFIX_UNKNOWN: usize = 10;
    pub(super) const WINDOW_TOO_LARGE: usize = 16;
    pub(super) const CHECKSUM_WRONG: usize = 22;
    pub(super) const MEMORY_ALLOCATION: usize = 64;
}

/// Maximum window of the streaming decoder, which RFC 8878 requires of every decoder.
const WINDOW_MAX: u64 = 8 << 20;
/// Decoder memory besides its window: its tables, and two blocks.
const CONTEXT_BYTES: u64 = 512 << 10;
/// The first bytes of a frame.
const FRAME_MAGIC: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();
/// End of the fault message for a window over the limit.
const TOO_LARGE: &str = "then a window over 8 MiB";
/// Bytes of surplus output that are counted and dropped at a time.
const DROPPED: usize = 16 * 1024;

pub(super) fn decode(
    src: &[u8],
    dst: &mut [u8],
    block: StoredBlock<'_>,
    workspace: &mut Workspace,
) -> Result<(), BlockFault> {
    if dst.len() > LARGE
        && let Some(window) = first_window(src).filter(|&window| window <= WINDOW_MAX)
    {
        // Slower, but can be cancelled.
        return decode_streaming(src, dst, most_output(dst.len(), block), window, workspace);
    }
    // The whole output is passed at once, so no window is allocated here, whatever the frame states.
    match workspace.zstd()?.decompress(dst, src) {
        Ok(found) if found == dst.len() => Ok(()),
        Ok(found) => Err(BlockFault::short(found, dst.len())),
        Err(_) => {
            // Use the window that the first frame states, or the maximum if a later frame has a larger one.
            let window = first_window(src).unwrap_or(WINDOW_MAX).min(WINDOW_MAX);
            let most = most_output(dst.len(), block);
            match decode_streaming(src, dst, most, window, workspace) {
                Err(fault) if window < WINDOW_MAX && fault.detail.ends_with(TOO_LARGE) => {
                    decode_streaming(src, dst, most, WINDOW_MAX, workspace)
                }
                result => result,
            }
        }
    }
}

/// Returns the window that the first frame states (RFC 8878, 3.1.1.1), or `None` if there is no frame.
fn first_window(src: &[u8]) -> Option<u64> {
    let &descriptor = src.strip_prefix(&FRAME_MAGIC)?.first()?;
    let one_segment = descriptor >> 5 & 1 == 1;
    if !one_segment {
        let &window = src.get(5)?;
        let base = 1_u64 << (10 + u32::from(window >> 3));
        return Some(base + base / 8 * u64::from(window & 7));
    }
    let dictionary = [0, 1, 2, 4].get(usize::from(descriptor & 3))?;
    let size = src.get(5 + dictionary..)?;
    Some(match descriptor >> 6 {
        0 => u64::from(*size.first()?),
        1 => u64::from(u16::from_le_bytes(*size.first_chunk()?)) + 256,
        2 => u64::from(u32::from_le_bytes(*size.first_chunk()?)),
        _ => u64::from_le_bytes(*size.first_chunk()?),
    })
}

/// Fills `dst`, and counts up to `most` bytes of output in all. The decoder keeps a window of at most `window` bytes.
fn decode_streaming(
    src: &[u8],
    dst: &mut [u8],
    most: usize,
    window: u64,
    workspace: &mut Workspace,
) -> Result<(), BlockFault> {
    let needed = dst.len();
    let window_log = window.max(1 << 10).next_power_of_two().trailing_zeros();
    let _loan = workspace.lend((1 << window_log) + CONTEXT_BYTES, 0, "a zstd window")?;
    let mut context = DCtx::try_create().ok_or_else(|| out_of_memory(0, "a zstd context"))?;
    context.set_parameter(DParameter::WindowLogMax(window_log)).map_err(|code| fault(code, 0, needed))?;
    let mut dropped = [0; DROPPED];
    let mut input = InBuffer::around(src);
    let (mut produced, mut frame_ended) = (0_usize, false);
    let stop = workspace.crew.stop();
    loop {
        stop.check()?;
        if frame_ended && input.pos() >= src.len() {
            return if produced < needed { Err(BlockFault::short(produced, needed)) } else { Ok(()) };
        }
        let before = input.pos();
        let out = match dst.get_mut(produced..produced.saturating_add(LOOKS_EVERY).min(needed)) {
            Some(rest) if !rest.is_empty() => rest,
            _ => &mut dropped[..],
        };
        let mut output = OutBuffer::around(out);
        let result = context.decompress_stream(&mut output, &mut input);
        let written = output.pos();
        produced = produced.saturating_add(written);
        if produced > most {
            return Err(BlockFault::surplus(produced, needed));
        }
        match result {
            Ok(hint) => {
                if hint > 0 && written == 0 && input.pos() == before {
                    // The frame ends early. Between frames a few bytes are padding.
                    return Err(BlockFault::truncated(produced.min(needed), needed));
                }
                frame_ended = hint == 0;
            }
            Err(code) if frame_ended && produced >= needed && number(code) == error::PREFIX_UNKNOWN => {
                return Ok(());
            }
            Err(code) => return Err(fault(code, produced.min(needed), needed)),
        }
    }
}

fn number(code: usize) -> usize {
    0_usize.wrapping_sub(code)
}

fn fault(code: usize, found: usize, expected: usize) -> BlockFault {
    let name = get_error_name(code);
    match number(code) {
        error::CHECKSUM_WRONG => BlockFault::checksum(0, 0),
        error::MEMORY_ALLOCATION => out_of_memory(0, "a zstd window"),
        error::WINDOW_TOO_LARGE => {
            BlockFault::corrupt(format!("{found} of {expected} bytes decompressed, {TOO_LARGE}"))
        }
        _ => BlockFault::corrupt(format!("{name}, after {found} of {expected} bytes")),
    }
}

/// Checks the level.
pub(super) fn prepare(layout: EncodeLayout) -> Result<EncodeLayout, String> {
    level_within(&layout, 1..=22)?;
    Ok(layout)
}

/// Returns the maximum bytes of a frame of `len` bytes.
pub(super) fn bound(len: usize) -> u64 {
    compress_bound(len) as u64
}

/// Appends one frame that states its size.
pub(super) fn encode(
    src: &[u8],
    dst: &mut Vec<u8>,
    params: &EncodeParams,
    workspace: &mut Workspace,
) -> Result<(), BlockFault> {
    let context = workspace.zstd_encoder()?;
    let start = dst.len();
    let out = room(dst, bound(src.len()))?;
    let len = set_up(context, src, params.level)
        .and_then(|()| context.compress2(out, src))
        .map_err(|code| out_of_memory(src.len(), get_error_name(code)))?;
    dst.truncate(start + len);
    Ok(())
}

/// Default level of writers, also GDAL's.
const USUAL_LEVEL: i32 = 9;

/// Sets the level, and for the default one a search suited to samples after a predictor: short matches between
/// differences are random and cost more than they save. Measured against zstd's own choice for the level on elevation,
/// classes, 8-bit and 16-bit bands, in tiles of 256 and 512: no larger, except for one part in 1500 on noisy 16-bit
/// bands, and 1.2 to 9 times as fast.
fn set_up(context: &mut CCtx<'static>, src: &[u8], level: i32) -> Result<(), usize> {
    context.reset(ResetDirective::SessionAndParameters)?;
    context.set_parameter(CParameter::CompressionLevel(level))?;
    if level != USUAL_LEVEL {
        return Ok(());
    }
    // A window that holds the block, and tables of half as many entries: they stay in the cache.
    let window = usize::BITS - src.len().saturating_sub(1).leading_zeros();
    let window = window.clamp(10, 22);
    context.set_parameter(CParameter::WindowLog(window))?;
    context.set_parameter(CParameter::HashLog(window - 1))?;
    context.set_parameter(CParameter::ChainLog(window - 1))?;
    let (strategy, search, shortest, enough) = match has_no_runs(src) {
        true => (Strategy::ZSTD_lazy, 5, 5, 8),
        false => (Strategy::ZSTD_lazy2, 4, 6, 16),
    };
    context.set_parameter(CParameter::Strategy(strategy))?;
    context.set_parameter(CParameter::SearchLog(search))?;
    context.set_parameter(CParameter::MinMatch(shortest))?;
    context.set_parameter(CParameter::TargetLength(enough))?;
    Ok(())
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "small numbers made here")]
mod tests {
    use super::super::byte_testing::{self as testing, Random};
    use super::*;
    use strile_engine::FaultKind;
    use strile_tiff::Compression;

    fn pack(data: &[u8]) -> Vec<u8> {
        let mut compressor = ::zstd::bulk::Compressor::new(3).unwrap();
        compressor.set_parameter(::zstd::zstd_safe::CParameter::ChecksumFlag(true)).unwrap();
        compressor.compress(data).unwrap()
    }

    fn unpack(src: &[u8], len: usize) -> Result<Vec<u8>, BlockFault> {
        let layout = testing::layout(Compression::Zstd, len as u32, 1);
        let mut dst = vec![0; len];
        decode(src, &mut dst, testing::whole(&layout), &mut Workspace::default()).map(|()| dst)
    }

    fn sample() -> Vec<u8> {
        (0..60_000_u32).map(|i| (i * i / 777) as u8).collect()
    }

    #[test]
    fn a_frame_states_its_size_and_a_used_context_changes_nothing() {
        let mut random = Random::new(7);
        let params = |level| EncodeParams {
            encoder: strile_engine::Encoder::Fast,
            level,
            quality: 0,
            lossless: true,
            max_error: 0.0,
        };
        let mut used = Workspace::default();
        for level in [1, 9, 3, 9, 22, 9] {
            for len in [1, 700, 40_000] {
                let data = random.image_like(len);
                let (mut a, mut b) = (vec![1, 2], Vec::new());
                encode(&data, &mut a, &params(level), &mut used).unwrap();
                encode(&data, &mut b, &params(level), &mut Workspace::default()).unwrap();
                assert!(a[2..] == b, "level {level}, {len} bytes");
                let stated = ::zstd::zstd_safe::get_frame_content_size(&b);
                assert!(matches!(stated, Ok(Some(size)) if size == len as u64));
                assert_eq!(unpack(&b, len).unwrap(), data);
            }
        }
    }

    #[test]
    fn frames_skippable_frames_and_padding() {
        let data = sample();
        let skippable = [0x50, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 9, 9, 9];
        let two = [pack(&data[..20_000]), skippable.to_vec(), pack(&data[20_000..])].concat();
        assert_eq!(unpack(&two, data.len()).unwrap(), data);
        for padding in [&[0_u8; 1][..], &[0; 3], &[0; 64], &[0xFF; 5]] {
            let padded = [&two[..], padding].concat();
            assert_eq!(unpack(&padded, data.len()).unwrap(), data, "{} bytes of padding", padding.len());
        }
    }

    #[test]
    fn tells_faults_apart() {
        let data = sample();
        let packed = pack(&data);
        assert_eq!(unpack(&packed, 60_001), Err(BlockFault::short(60_000, 60_001)));
        assert_eq!(unpack(&packed, 59_999).unwrap_err().kind, FaultKind::OutputSurplus);
        assert_eq!(unpack(&packed[..packed.len() / 2], 60_000).unwrap_err().kind, FaultKind::InputTruncated);
        assert_eq!(unpack(&packed[..packed.len() - 1], 60_000).unwrap_err().kind, FaultKind::InputTruncated);
        let mut bad = packed.clone();
        *bad.last_mut().unwrap() ^= 1;
        assert_eq!(unpack(&bad, 60_000).unwrap_err().kind, FaultKind::Checksum);
        assert_eq!(unpack(b"not zstd at all", 100).unwrap_err().kind, FaultKind::Corrupt);
        assert_eq!(unpack(&[], 100).unwrap_err().found, 0);
    }

    #[test]
    fn last_strip_may_hold_all_its_rows() {
        let layout = testing::layout(Compression::Zstd, 1000, 50);
        let strip = StoredBlock { layout: &layout, rows: 3 };
        let data = sample();
        let mut dst = vec![0; 3000];
        decode(&pack(&data[..50_000]), &mut dst, strip, &mut Workspace::default()).unwrap();
        assert_eq!(dst, data[..3000]);
        let fault = decode(&pack(&data[..50_001]), &mut dst, strip, &mut Workspace::default()).unwrap_err();
        assert_eq!(fault.kind, FaultKind::OutputSurplus);
    }

    #[test]
    fn mutants_fill_or_fault() {
        let mut random = Random::new(6);
        let mut workspace = Workspace::default();
        for round in 0..3000 {
            let data = random.image_like(1 + round % 700);
            let src = random.mutant(&::zstd::bulk::compress(&data, 1).unwrap());
            let layout = testing::layout(Compression::Zstd, data.len() as u32, 1 + (round % 3) as u32);
            let block = StoredBlock { layout: &layout, rows: 1 };
            testing::fills_or_faults(data.len(), |dst| decode(&src, dst, block, &mut workspace));
        }
    }
}

//! Compression 34925: LZMA2 in an XZ stream, with any filters (libtiff adds delta) and checks.
//!
//! strile writes LZMA2 with a CRC-32, with a delta filter of one pixel if there is no predictor. (libtiff always uses a
//! delta of one sample, even with a predictor, where it does harm.)
//!
//! The stream is read to its end, past the index, so that its check is verified.
//!
//! Special cases: bytes after the stream are ignored; a last strip may hold all its rows.

use super::encode::level_within;
use super::workspace::{most_output, out_of_memory};
use super::{StoredBlock, Workspace};
use crate::stop::{LOOKS_EVERY, Stop};
use liblzma::stream::{Action, Check, Error, Filters, IGNORE_CHECK, LzmaOptions, Status, Stream};
use strile_engine::{BlockFault, BlockLayout, EncodeLayout, EncodeParams, FaultKind};
use strile_tiff::Predictor;

/// Maximum memory of one decoder. The strongest preset needs 65 MiB.
const MEMORY_LIMIT: u64 = 128 << 20;
/// Upper limit of decoder memory besides its dictionary.
const DECODER_BYTES: u64 = 256 << 10;
/// Error for a stream with a larger dictionary.
const TOO_LARGE: &str = "an LZMA dictionary over 128 MiB";
/// Bytes of surplus output that are counted and dropped at a time.
const DROPPED: usize = 16 * 1024;

pub(super) fn decode(
    src: &[u8],
    dst: &mut [u8],
    block: StoredBlock<'_>,
    workspace: &mut Workspace,
) -> Result<(), BlockFault> {
    let stated = dictionary(src).unwrap_or(0).saturating_add(DECODER_BYTES);
    let limit = stated.min(MEMORY_LIMIT);
    let loan = workspace.lend(limit, 0, "an LZMA dictionary")?;
    let stop = workspace.crew.stop().clone();
    match decode_within(src, dst, block, (limit, &stop)) {
        // A later block of the stream has a larger dictionary than the first.
        Err(fault) if limit < MEMORY_LIMIT && fault.detail == TOO_LARGE => {
            drop(loan);
            let _loan = workspace.lend(MEMORY_LIMIT, 0, "an LZMA dictionary")?;
            decode_within(src, dst, block, (MEMORY_LIMIT, &stop))
        }
        result => result,
    }
}

/// Bytes of the stream header (XZ file format 1.2, 2.1.1).
const STREAM_HEADER: usize = 12;
/// ID of the LZMA2 filter.
const LZMA2: u64 = 0x21;

/// Returns the dictionary size of the first block (XZ file format 1.2, 3.1 and 5.3.1); `None` if there is none.
fn dictionary(src: &[u8]) -> Option<u64> {
    let (&size, header) = src.get(STREAM_HEADER..)?.split_first()?;
    let (&flags, mut rest) = header.get(..(usize::from(size) * 4).checked_add(3)?)?.split_first()?;
    for _ in 0..(flags >> 6 & 1) + (flags >> 7) {
        number(&mut rest)?;
    }
    for _ in 0..=flags & 3 {
        let (filter, len) = (number(&mut rest)?, number(&mut rest)?);
        let (properties, after) = rest.split_at_checked(usize::try_from(len).ok()?)?;
        rest = after;
        if filter == LZMA2 {
            let bits = u32::from(*properties.first()?);
            return match bits {
                0..40 => Some((2 | u64::from(bits & 1)) << (bits / 2 + 11)),
                40 => Some(u64::from(u32::MAX)),
                _ => None,
            };
        }
    }
    None
}

/// Reads a number of seven bits per byte, lowest first.
fn number(src: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for place in 0..9 {
        let (&byte, rest) = src.split_first()?;
        *src = rest;
        value |= u64::from(byte & 0x7F) << (7 * place);
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

fn decode_within(
    src: &[u8],
    dst: &mut [u8],
    block: StoredBlock<'_>,
    (limit, stop): (u64, &Stop),
) -> Result<(), BlockFault> {
    let most = most_output(dst.len(), block);
    let fault = match run(src, dst, most, (limit, 0), stop) {
        Ok(()) => return Ok(()),
        Err(fault) => fault,
    };
    stop.check()?;
    // liblzma reports bad data and a bad check by the same error: without checks only bad data fails.
    if fault.kind == FaultKind::Corrupt && run(src, dst, most, (limit, IGNORE_CHECK), stop).is_ok() {
        return Err(BlockFault::checksum(0, 0));
    }
    Err(fault)
}

fn run(
    src: &[u8],
    dst: &mut [u8],
    most: usize,
    (limit, flags): (u64, u32),
    stop: &Stop,
) -> Result<(), BlockFault> {
    let needed = dst.len();
    let mut stream = Stream::new_stream_decoder(limit, flags).map_err(|e| fault(&e, 0, needed))?;
    let mut dropped = [0; DROPPED];
    let (mut taken, mut produced) = (0_usize, 0_usize);
    loop {
        stop.check()?;
        let piece = produced..produced.saturating_add(LOOKS_EVERY).min(needed);
        let out = match dst.get_mut(piece) {
            Some(rest) if !rest.is_empty() => rest,
            _ => &mut dropped[..],
        };
        let result = stream.process(src.get(taken..).unwrap_or_default(), out, Action::Finish);
        let (before_in, before_out) = (taken, produced);
        taken = usize::try_from(stream.total_in()).unwrap_or(usize::MAX);
        produced = usize::try_from(stream.total_out()).unwrap_or(usize::MAX);
        if produced > most {
            return Err(BlockFault::surplus(produced, needed));
        }
        match result {
            Ok(Status::StreamEnd) if produced < needed => return Err(BlockFault::short(produced, needed)),
            Ok(Status::StreamEnd) => return Ok(()),
            Ok(_) if (taken, produced) == (before_in, before_out) => {
                return Err(BlockFault::truncated(produced.min(needed), needed));
            }
            Ok(_) => {}
            Err(error) => return Err(fault(&error, produced.min(needed), needed)),
        }
    }
}

fn fault(error: &Error, found: usize, expected: usize) -> BlockFault {
    match error {
        Error::MemLimit => BlockFault::unsupported(TOO_LARGE),
        Error::Mem => out_of_memory(0, "an LZMA decoder"),
        Error::Options => BlockFault::unsupported("the XZ stream uses options that liblzma does not know"),
        Error::Format => BlockFault::corrupt("no XZ header"),
        _ => BlockFault {
            kind: FaultKind::Corrupt,
            found: found as u64,
            expected: expected as u64,
            detail: format!("invalid LZMA data after {found} of {expected} bytes").into(),
        },
    }
}

/// Maximum distance of the delta filter in bytes.
const MOST_DELTA: usize = 256;
/// Smallest dictionary of LZMA2.
const LEAST_DICTIONARY: u32 = 4096;

/// Checks the level.
pub(super) fn prepare(layout: EncodeLayout) -> Result<EncodeLayout, String> {
    level_within(&layout, 0..=9)?;
    Ok(layout)
}

/// Returns the maximum bytes for `len`: chunks that LZMA does not make smaller are stored, with less than 8 bytes of
/// header per 32 KiB at least; plus headers, index and footer of the stream.
pub(super) fn bound(len: usize) -> u64 {
    let len = len as u64;
    len.saturating_add(len.div_ceil(32 << 10) * 8).saturating_add(128)
}

/// Appends an XZ stream.
pub(super) fn encode(
    src: &[u8],
    dst: &mut Vec<u8>,
    block: StoredBlock<'_>,
    params: &EncodeParams,
) -> Result<(), BlockFault> {
    let most = usize::try_from(bound(src.len())).unwrap_or(usize::MAX);
    dst.try_reserve(most).map_err(|_| out_of_memory(most, "an encoded block"))?;
    let failed = |error: Error| out_of_memory(most, failure(&error));
    let mut stream = encoder(src.len(), block.layout, params.level).map_err(failed)?;
    loop {
        let taken = usize::try_from(stream.total_in()).unwrap_or(usize::MAX);
        let rest = src.get(taken..).unwrap_or_default();
        match stream.process_vec(rest, dst, Action::Finish).map_err(failed)? {
            Status::StreamEnd => return Ok(()),
            // Only reached if the bound does not hold.
            _ => dst.try_reserve(4096).map_err(|_| out_of_memory(most, "an encoded block"))?,
        }
    }
}

/// Returns an encoder whose dictionary is at most as large as the block: larger ones cost memory and time without gain.
fn encoder(len: usize, layout: &BlockLayout, level: i32) -> Result<Stream, Error> {
    let preset = u32::try_from(level).unwrap_or(6);
    let mut options = LzmaOptions::new_preset(preset)?;
    // Dictionaries of the presets 0 to 9 (xz, "Custom compressor filter chains").
    let usual = match preset {
        0 => 256 << 10,
        1 => 1 << 20,
        2 => 2 << 20,
        3 | 4 => 4 << 20,
        5 | 6 => 8 << 20,
        7 => 16 << 20,
        8 => 32 << 20,
        _ => 64 << 20,
    };
    let whole = u32::try_from(len.next_power_of_two()).unwrap_or(u32::MAX);
    options.dict_size(whole.clamp(LEAST_DICTIONARY, usual));
    let mut filters = Filters::new();
    let pixel = layout.pixel_bits() / 8;
    let delta = usize::try_from(pixel).ok().filter(|bytes| (1..=MOST_DELTA).contains(bytes));
    if let (Predictor::None, Some(delta), true) =
        (layout.predictor, delta, layout.pixel_bits().is_multiple_of(8))
    {
        // The filter's property is its distance minus one.
        filters.delta_properties(&[(delta - 1).to_le_bytes()[0]])?;
    }
    filters.lzma2(&options);
    Stream::new_stream_encoder(&filters, Check::Crc32)
}

fn failure(error: &Error) -> &'static str {
    match error {
        Error::Options => "an LZMA encoder of this level",
        _ => "an LZMA encoder",
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "small numbers made here")]
mod tests {
    use super::super::byte_testing::{self as testing, Random};
    use super::*;
    use liblzma::stream::{Check, Filters, LzmaOptions};
    use strile_tiff::Compression;

    /// Packs like libtiff: a delta filter, LZMA2, and a check.
    fn pack(data: &[u8], check: Check) -> Vec<u8> {
        let mut filters = Filters::new();
        filters.delta_properties(&[0]).unwrap().lzma2(&LzmaOptions::new_preset(1).unwrap());
        let mut stream = Stream::new_stream_encoder(&filters, check).unwrap();
        let mut out = Vec::with_capacity(data.len() * 2 + 1000);
        assert!(matches!(stream.process_vec(data, &mut out, Action::Finish), Ok(Status::StreamEnd)));
        out
    }

    fn unpack(src: &[u8], len: usize) -> Result<Vec<u8>, BlockFault> {
        let layout = testing::layout(Compression::Lzma, len as u32, 1);
        let mut dst = vec![0; len];
        decode(src, &mut dst, testing::whole(&layout), &mut Workspace::default()).map(|()| dst)
    }

    fn sample() -> Vec<u8> {
        (0..60_000_u32).map(|i| (i * i / 777) as u8).collect()
    }

    #[test]
    fn reads_every_check_and_leaves_padding() {
        let data = sample();
        for check in [Check::None, Check::Crc32, Check::Crc64, Check::Sha256] {
            let mut packed = pack(&data, check);
            packed.extend([0; 5]);
            assert_eq!(unpack(&packed, data.len()).unwrap(), data);
        }
    }

    #[test]
    fn tells_faults_apart() {
        let data = sample();
        let packed = pack(&data, Check::Crc32);
        assert_eq!(unpack(&packed, 60_001), Err(BlockFault::short(60_000, 60_001)));
        assert_eq!(unpack(&packed, 59_999).unwrap_err().kind, FaultKind::OutputSurplus);
        for cut in [0, 5, packed.len() / 2, packed.len() - 1] {
            assert_eq!(unpack(&packed[..cut], 60_000).unwrap_err().kind, FaultKind::InputTruncated, "{cut}");
        }
        assert_eq!(unpack(b"no xz stream here", 10).unwrap_err().kind, FaultKind::Corrupt);
        // The CRC-32 of the one block lies before the index, which ends 12 bytes before the end and whose size is in
        // the footer as a number of four bytes, in units of four bytes, minus one.
        let footer = packed.len() - 12;
        let index = (u32::from_le_bytes(packed[footer + 4..footer + 8].try_into().unwrap()) as usize + 1) * 4;
        let mut bad = packed.clone();
        bad[footer - index - 1] ^= 1;
        assert_eq!(unpack(&bad, 60_000), Err(BlockFault::checksum(0, 0)));
    }

    #[test]
    fn last_strip_may_hold_all_its_rows() {
        let layout = testing::layout(Compression::Lzma, 1000, 50);
        let strip = StoredBlock { layout: &layout, rows: 3 };
        let data = sample();
        let mut dst = vec![0; 3000];
        decode(&pack(&data[..50_000], Check::Crc64), &mut dst, strip, &mut Workspace::default()).unwrap();
        assert_eq!(dst, data[..3000]);
        let fault = decode(&pack(&data[..50_001], Check::Crc64), &mut dst, strip, &mut Workspace::default())
            .unwrap_err();
        assert_eq!(fault.kind, FaultKind::OutputSurplus);
    }

    #[test]
    fn mutants_fill_or_fault() {
        let mut random = Random::new(8);
        let data = random.image_like(500);
        let good = pack(&data, Check::None);
        for _ in 0..2000 {
            let src = random.mutant(&good);
            let layout = testing::layout(Compression::Lzma, data.len() as u32, 1);
            testing::fills_or_faults(data.len(), |dst| {
                decode(&src, dst, testing::whole(&layout), &mut Workspace::default())
            });
        }
    }
}

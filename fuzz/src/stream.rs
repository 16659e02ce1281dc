//! What is known of compressed streams: where their data begins, and their checksums.
//!
//! Most damage should get past headers and checksums, to the code that has to cope with it.

use std::cell::RefCell;
use std::ops::Range;
use strile_engine::BlockLayout;
use strile_tiff::{Compression as C, LercWrapper};

/// Bytes of the stream's own header, which most mutants keep.
pub(crate) fn header_len(compression: C, stream: &[u8]) -> usize {
    let len = match compression {
        C::None
        | C::PackBits
        | C::Lzw
        | C::CcittRle
        | C::CcittRleWord
        | C::CcittGroup3
        | C::CcittGroup4
        | C::Next
        | C::ThunderScan
        | C::SgiLog
        | C::SgiLog24
        | C::JpegXr => 0,
        C::Deflate => 2,
        // Magic number, descriptor, content size.
        C::Zstd => 6,
        C::Lz4 => 7,
        // The header of the stream, then that of its block.
        C::Lzma => 24,
        // To the end of the scan header, its length after the marker.
        C::Jpeg | C::OldJpeg => match find(stream, &[0xFF, 0xDA]) {
            Some(at) => at + 2 + stream.get(at + 3).map_or(0, |&len| usize::from(len)),
            None => 0,
        },
        // To the data of the first tile part.
        C::Jpeg2000 | C::Jpeg2000YCbCr | C::Jpeg2000Rgb => find(stream, &[0xFF, 0x93]).map_or(0, |at| at + 2),
        C::Lerc => 66,
        // Signature, IHDR, and the head of the next chunk.
        C::Png => 41,
        // RIFF, the chunk's head, the key frame's header.
        C::WebP => 30,
        // The codestream's size and metadata, in its box or bare.
        C::JpegXl => find(stream, b"jxlc").map_or(8, |at| at + 12),
    };
    len.min(stream.len())
}

/// Bytes that `repair` rewrites inside a header.
pub(crate) fn repaired_in_header(compression: C) -> Range<usize> {
    if compression == C::Lerc { 10..14 } else { 0..0 }
}

fn find(bytes: &[u8], pattern: &[u8]) -> Option<usize> {
    bytes.windows(pattern.len()).position(|window| window == pattern)
}

/// Takes the wrapper off a LERC blob; other streams are as they are.
pub(crate) fn unwrap(layout: &BlockLayout, stream: Vec<u8>) -> Vec<u8> {
    match wrapper(layout) {
        LercWrapper::None => stream,
        LercWrapper::Deflate => {
            let mut blob = vec![0; 1 << 20];
            let len = libdeflater::Decompressor::new().zlib_decompress(&stream, &mut blob).unwrap();
            blob.truncate(len);
            blob
        }
        LercWrapper::Zstd => zstd::bulk::decompress(&stream, 1 << 20).unwrap(),
    }
}

/// Puts the wrapper back.
pub(crate) fn wrap(layout: &BlockLayout, blob: Vec<u8>) -> Vec<u8> {
    match wrapper(layout) {
        LercWrapper::None => blob,
        LercWrapper::Deflate => DEFLATE.with_borrow_mut(|compressor| {
            let mut stream = vec![0; compressor.zlib_compress_bound(blob.len())];
            let len = compressor.zlib_compress(&blob, &mut stream).unwrap();
            stream.truncate(len);
            stream
        }),
        LercWrapper::Zstd => ZSTD.with_borrow_mut(|compressor| compressor.compress(&blob).unwrap()),
    }
}

thread_local! {
    /// Made once: making one takes longer than what it does here.
    static INFLATE: RefCell<libdeflater::Decompressor> = RefCell::new(libdeflater::Decompressor::new());
    static DEFLATE: RefCell<libdeflater::Compressor> =
        RefCell::new(libdeflater::Compressor::new(libdeflater::CompressionLvl::fastest()));
    static ZSTD: RefCell<zstd::bulk::Compressor<'static>> =
        RefCell::new(zstd::bulk::Compressor::new(1).unwrap());
}

fn wrapper(layout: &BlockLayout) -> LercWrapper {
    if layout.compression == C::Lerc { layout.extras.lerc } else { LercWrapper::None }
}

/// Makes the checksums right that a decoder looks at before anything else.
pub(crate) fn repair(compression: C, stream: &mut [u8]) {
    match compression {
        C::Lerc => {
            // A blob too short to have a checksum needs none.
            let _repaired = repair_lerc(stream);
        }
        C::Png => repair_png(stream),
        _ => {}
    }
}

/// Makes the checksum right of a zlib stream that has the right length.
pub(crate) fn repair_zlib(stream: &mut [u8], len: usize) {
    let Some((raw, sum)) = stream.get_mut(2..).and_then(<[u8]>::split_last_chunk_mut) else { return };
    let mut decoded = vec![0; len];
    let found = INFLATE.with_borrow_mut(|inflate| inflate.deflate_decompress(raw, &mut decoded));
    if found == Ok(len) {
        *sum = libdeflater::adler32(&decoded).to_be_bytes();
    }
}

/// Lerc2 from version 3 on: the checksum at byte 10 covers byte 14 to the blob's end.
fn repair_lerc(blob: &mut [u8]) -> Option<()> {
    let number = |at: usize| blob.get(at..)?.first_chunk().map(|&b| u32::from_le_bytes(b));
    let version = number(6)?;
    if !blob.starts_with(b"Lerc2 ") || version < 3 {
        return None;
    }
    let end = number(if version >= 4 { 34 } else { 30 })? as usize;
    let sum = lerc_core::fletcher32(blob.get(14..end)?);
    blob[10..14].copy_from_slice(&sum.to_le_bytes());
    Some(())
}

/// Each chunk: length, name, data, CRC of name and data.
fn repair_png(stream: &mut [u8]) {
    let mut rest = stream.get_mut(8..).unwrap_or_default();
    while let Some(len) = rest.first_chunk().map(|&b| u32::from_be_bytes(b) as usize) {
        let Some((chunk, after)) = rest.split_at_mut_checked(len.saturating_add(12)) else { return };
        let (data, crc) = chunk.split_at_mut(8 + len);
        crc.copy_from_slice(&libdeflater::crc32(&data[4..]).to_be_bytes());
        rest = after;
    }
}

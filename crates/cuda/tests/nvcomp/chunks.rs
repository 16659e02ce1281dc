//! Chunks as nvCOMP gets them, decoded by libraries that nobody here wrote; and frames with checksums.
#![expect(unsafe_code, reason = "called by the stand-in for nvCOMP with pointers")]

use crate::on_any::picture::Picture;
use std::ffi::{c_int, c_void};
use strile_engine::Span;

/// `nvcompErrorCannotDecompress`.
const CANNOT: c_int = 12;

/// How many bytes a chunk became in `dst`: raw Deflate by libdeflate, or ZSTD by libzstd.
pub fn chunk(codec: c_int, src: &[u8], dst: &mut [u8]) -> Option<usize> {
    match codec {
        0 => libdeflater::Decompressor::new().deflate_decompress(src, dst).ok(),
        _ => zstd::bulk::decompress_to_buffer(src, dst).ok(),
    }
}

/// The decoder of the stand-in.
pub extern "C" fn decode(
    codec: c_int,
    src: *const c_void,
    src_len: usize,
    dst: *mut c_void,
    room: usize,
    written: *mut usize,
) -> c_int {
    // SAFETY: the stand-in found that both lie in memory of its device, and lends a place for the number.
    let (src, dst, written) = unsafe {
        (
            std::slice::from_raw_parts(src.cast::<u8>(), src_len),
            std::slice::from_raw_parts_mut(dst.cast::<u8>(), room),
            &mut *written,
        )
    };
    match chunk(codec, src, dst) {
        Some(len) => {
            *written = len;
            0
        }
        None => CANNOT,
    }
}

/// The same picture in frames that have checksums.
pub fn with_checksums(mut picture: Picture) -> Picture {
    let mut bytes = Vec::new();
    for task in &mut picture.tasks {
        let span = task.span.unwrap();
        let frame = &picture.bytes[span.offset as usize..(span.offset + span.len) as usize];
        let content = zstd::bulk::decompress(frame, 1 << 20).unwrap();
        let frame = frame_with_checksum(&content);
        task.span = Some(Span { offset: bytes.len() as u64, len: frame.len() as u64 });
        bytes.extend(frame);
    }
    picture.bytes = bytes;
    picture
}

pub fn frame_with_checksum(content: &[u8]) -> Vec<u8> {
    let mut compressor = zstd::bulk::Compressor::new(3).unwrap();
    compressor.include_checksum(true).unwrap();
    compressor.compress(content).unwrap()
}

//! Cancelling reaches inside a block: one block of up to a gigabyte is left within 0.3 s.
//!
//! A decoder that is finished before it is cancelled fails the test too: the block would be too small to show anything.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking, and knows its numbers"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};
use strile_cpu::CpuEngine;
use strile_cpu::codec::{self, StoredBlock, Workspace};
use strile_engine::*;
use strile_tiff::{Compression, DataType};

/// How long a cancelled job may take to end.
const SOON: Duration = Duration::from_millis(300);

/// Tries, of which the best counts: other work on the machine is not the decoder's.
const TRIES: usize = 3;

/// Bytes that repeat after a mebibyte and hardly before.
fn pixels(len: usize) -> Vec<u8> {
    let mut state = 7_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // Runs, and bytes among them.
        if state >> 29 == 0 { state.to_le_bytes()[3] } else { 9 }
    };
    let tile: Vec<u8> = (0..1 << 20).map(|_| next()).collect();
    let mut bytes = Vec::with_capacity(len);
    while bytes.len() < len {
        bytes.extend_from_slice(&tile[..tile.len().min(len - bytes.len())]);
    }
    bytes
}

/// One strip of `side` × `side` bytes, encoded.
fn block(compression: Compression, side: u32) -> (Arc<BlockLayout>, Vec<u8>) {
    let layout = BlockLayout { compression, ..BlockLayout::stored(DataType::U8, (side, side), 1) };
    let params =
        EncodeParams { encoder: Encoder::Fast, level: 1, quality: 90, lossless: true, max_error: 0.0 };
    let layout = EncodeLayout { block: Arc::new(layout), params, nan_to: None, sparse: None };
    let layout = codec::prepare(layout).unwrap();
    let stored = StoredBlock { layout: &layout.block, rows: side };
    let (source, mut encoded) = (pixels(side as usize * side as usize), Vec::new());
    codec::encode(&source, &mut encoded, stored, &layout.params, &mut Workspace::default()).unwrap();
    (layout.block, encoded)
}

/// Decodes a block, cancels after a while, and returns how long it took from there.
fn cancelled(layout: &Arc<BlockLayout>, encoded: &Arc<Arena>, after: Duration) -> Duration {
    let side = layout.width;
    let placement = Placement {
        rows: side,
        image_rows: side,
        block_x: 0,
        block_y: 0,
        width: side,
        height: side,
        out_x: 0,
        out_y: 0,
        first_band: 0,
    };
    let span = Some(Span { offset: 0, len: encoded.bytes().len() as u64 });
    let address = BlockAddress::default();
    let task = BlockTask { source: 0, layout: 0, selection: 0, output: 0, span, address, placement };
    let job = DecodeJob::new(vec![Arc::clone(layout)], vec![vec![0]], vec![task]).unwrap();
    let output = Output::new(OutputSpec::band_first(DataType::U8, 1, side, side).unwrap()).unwrap();
    let context = Context::default();
    let ticket = CpuEngine
        .submit(job, Encoded::Staged(Arc::clone(encoded)), std::slice::from_ref(&output), &context)
        .unwrap();
    std::thread::sleep(after);
    let start = Instant::now();
    context.cancel.cancel();
    assert_eq!(ticket.wait(), Err(EngineError::Cancelled), "it was finished before");
    start.elapsed()
}

fn ends_soon(compression: Compression, side: u32) {
    let (layout, encoded) = block(compression, side);
    let encoded = Arc::new(Arena::from_vec(encoded));
    let mut took = Vec::new();
    for _ in 0..TRIES {
        took.push(cancelled(&layout, &encoded, Duration::from_millis(50)));
        if took.last().is_some_and(|&took| took < SOON) {
            return;
        }
    }
    assert_eq!(took, [], "each took {SOON:?} and more");
}

#[test]
fn stored() {
    ends_soon(Compression::None, 32 << 10);
}

#[test]
fn packbits() {
    ends_soon(Compression::PackBits, 32 << 10);
}

#[test]
fn lzw() {
    ends_soon(Compression::Lzw, 32 << 10);
}

#[test]
fn deflate() {
    ends_soon(Compression::Deflate, 32 << 10);
}

#[test]
fn zstd() {
    ends_soon(Compression::Zstd, 32 << 10);
}

#[test]
fn lzma() {
    ends_soon(Compression::Lzma, 16 << 10);
}

#[test]
fn lz4() {
    ends_soon(Compression::Lz4, 32 << 10);
}

#[test]
fn jpeg() {
    ends_soon(Compression::Jpeg, 16 << 10);
}

#[test]
fn jpeg2000() {
    ends_soon(Compression::Jpeg2000, 8 << 10);
}

/// Large blocks go through other decoders than small ones, and give the same.
#[test]
fn large_blocks_are_decoded_whole() {
    for compression in [Compression::Deflate, Compression::Zstd] {
        let (layout, encoded) = block(compression, 17 << 10);
        let mut decoded = vec![0; (17 << 10) * (17 << 10)];
        let stored = StoredBlock { layout: &layout, rows: layout.height };
        let mut decode = |bytes: &[u8]| codec::decode(bytes, &mut decoded, stored, &mut Workspace::default());
        decode(&encoded).unwrap();
        let cut = decode(&encoded[..encoded.len() / 2]).unwrap_err();
        assert_eq!(cut.kind, FaultKind::InputTruncated, "{compression:?}: {cut}");
        decode(&encoded).unwrap();
        assert!(decoded == pixels(decoded.len()), "{compression:?}");
    }
}

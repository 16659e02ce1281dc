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
use strile_tiff::{Compression, DataType, Photometric, SampleType};

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

/// Starts to decode a block.
fn submitted(layout: &Arc<BlockLayout>, encoded: &Arc<Arena>) -> (Output, Context, Ticket<Report>) {
    let BlockLayout { width, height, samples, data_type, .. } = **layout;
    let placement = Placement {
        rows: height,
        image_rows: height,
        block_x: 0,
        block_y: 0,
        width,
        height,
        out_x: 0,
        out_y: 0,
        first_band: 0,
    };
    let span = Some(Span { offset: 0, len: encoded.bytes().len() as u64 });
    let address = BlockAddress::default();
    let task = BlockTask { source: 0, layout: 0, selection: 0, output: 0, span, address, placement };
    let all = (0..samples).collect();
    let job = DecodeJob::new(vec![Arc::clone(layout)], vec![all], vec![task]).unwrap();
    let spec = OutputSpec::band_first(data_type, samples.into(), height, width).unwrap();
    let (output, context) = (Output::new(spec).unwrap(), Context::default());
    let ticket = CpuEngine
        .submit(job, Encoded::Staged(Arc::clone(encoded)), std::slice::from_ref(&output), &context)
        .unwrap();
    (output, context, ticket)
}

/// Decodes a block, cancels after a while, and returns how long it took from there.
fn cancelled(layout: &Arc<BlockLayout>, encoded: &Arc<Arena>, after: Duration) -> Duration {
    let (_output, context, ticket) = submitted(layout, encoded);
    std::thread::sleep(after);
    let start = Instant::now();
    context.cancel.cancel();
    assert_eq!(ticket.wait(), Err(EngineError::Cancelled), "it was finished before");
    start.elapsed()
}

fn ends_soon(compression: Compression, side: u32) {
    let (layout, encoded) = block(compression, side);
    is_left_soon(&layout, encoded);
}

/// The same for a block that `make` makes, a small one of which must be decoded without a fault: what is not a stream of the
/// codec would end soon, too.
fn made_ends_soon(make: impl Fn(u32, u32) -> (BlockLayout, Vec<u8>), (width, height): (u32, u32)) {
    let (layout, encoded) = make(width.min(508), 64);
    let (_output, _, ticket) = submitted(&Arc::new(layout), &Arc::new(Arena::from_vec(encoded)));
    assert_eq!(ticket.wait().unwrap().faults, []);
    let (layout, encoded) = make(width, height);
    is_left_soon(&Arc::new(layout), encoded);
}

fn is_left_soon(layout: &Arc<BlockLayout>, encoded: Vec<u8>) {
    let encoded = Arc::new(Arena::from_vec(encoded));
    let mut took = Vec::new();
    for _ in 0..TRIES {
        took.push(cancelled(layout, &encoded, Duration::from_millis(50)));
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

/// A layout of another codec, in samples of so many bits.
fn layout_of(compression: Compression, (width, height): (u32, u32), samples: u16, bits: u16) -> BlockLayout {
    let stored = BlockLayout::stored(DataType::U8, (width, height), samples);
    let sample = SampleType { bits, ..stored.sample };
    BlockLayout { compression, sample, data_type: sample.data_type().unwrap(), ..stored }
}

#[test]
fn png() {
    let make = |width, height| {
        let mut encoded = Vec::new();
        let mut encoder = png::Encoder::new(&mut encoded, width, height);
        encoder.set_color(png::ColorType::Grayscale);
        encoder.set_compression(png::Compression::Fastest);
        let source = pixels(width as usize * height as usize);
        encoder.write_header().unwrap().write_image_data(&source).unwrap();
        (layout_of(Compression::Png, (width, height), 1, 8), encoded)
    };
    made_ends_soon(make, (32 << 10, 16 << 10));
}

#[test]
fn lossless_webp() {
    let make = |width, height| {
        let mut encoded = Vec::new();
        let source = pixels(width as usize * height as usize * 3);
        let encoder = image_webp::WebPEncoder::new(&mut encoded);
        encoder.encode(&source, width, height, image_webp::ColorType::Rgb8).unwrap();
        (layout_of(Compression::WebP, (width, height), 3, 8), encoded)
    };
    made_ends_soon(make, (12 << 10, 12 << 10));
}

#[test]
fn progressive_jpeg() {
    let make = |width: u32, height: u32| {
        let mut encoded = Vec::new();
        let mut encoder = jpeg_encoder::Encoder::new(&mut encoded, 90);
        encoder.set_progressive(true);
        let source = pixels(width as usize * height as usize);
        let (columns, rows) = (width.try_into().unwrap(), height.try_into().unwrap());
        encoder.encode(&source, columns, rows, jpeg_encoder::ColorType::Luma).unwrap();
        (layout_of(Compression::Jpeg, (width, height), 1, 8), encoded)
    };
    made_ends_soon(make, (16 << 10, 8 << 10));
}

/// A pixel is its neighbour to the left, which takes a bit.
#[test]
fn lossless_jpeg() {
    let make = |width: u32, height: u32| {
        let [high, low] = u16::try_from(width).unwrap().to_be_bytes();
        let [up, down] = u16::try_from(height).unwrap().to_be_bytes();
        let mut encoded = vec![0xFF, 0xD8, 0xFF, 0xC3, 0, 11, 8, up, down, high, low, 1, 1, 0x11, 0];
        // One code, a bit long, for the difference 0.
        encoded.extend([0xFF, 0xC4, 0, 20, 0, 1]);
        encoded.resize(encoded.len() + 16, 0);
        encoded.extend([0xFF, 0xDA, 0, 8, 1, 1, 0, 1, 0, 0]);
        encoded.resize(encoded.len() + (width * height / 8) as usize, 0);
        encoded.extend([0xFF, 0xD9]);
        (layout_of(Compression::Jpeg, (width, height), 1, 8), encoded)
    };
    made_ends_soon(make, (32 << 10, 16 << 10));
}

/// White and black pixels in turn.
#[test]
fn ccitt() {
    // The first row is written out (white 1, black 1); in the rows below nothing changes, and each change is a bit.
    let make = |width: u32, height: u32| {
        let mut encoded = [0x23, 0xA2, 0x3A].repeat(width as usize / 4);
        encoded.resize(encoded.len() + (width / 8 * (height - 1)) as usize, 0xFF);
        let mut layout = layout_of(Compression::CcittGroup4, (width, height), 1, 1);
        layout.extras.photometric = Photometric::MinIsWhite;
        (layout, encoded)
    };
    made_ends_soon(|width, height| make(width / 8 * 8, height), (32 << 10, 16 << 10));
    // Rows of modified Huffman codes.
    let make = |width: u32, height: u32| {
        // 1 white and 1 black four times are 36 bits, so 16 pixels are 9 bytes.
        let eight = 0b0001_1101_0000_1110_1000_0111_0100_0011_1010_u64;
        let pair = (u128::from(eight) << 36) | u128::from(eight);
        let sixteen = &pair.to_be_bytes()[7..];
        let row = sixteen.repeat(width as usize / 16);
        let mut layout = layout_of(Compression::CcittRle, (width, height), 1, 1);
        layout.extras.photometric = Photometric::MinIsWhite;
        (layout, row.repeat(height as usize))
    };
    made_ends_soon(|width, height| make(width / 16 * 16, height), (32 << 10, 8 << 10));
}

/// Rows as they are.
#[test]
fn next() {
    let make = |width: u32, height: u32| {
        let mut row = vec![0];
        row.extend(pixels(width as usize / 4));
        (layout_of(Compression::Next, (width, height), 1, 2), row.repeat(height as usize))
    };
    made_ends_soon(make, (32 << 10, 32 << 10));
}

/// Every pixel as it is.
#[test]
fn thunderscan() {
    let make = |width: u32, height: u32| {
        let pixels = vec![0xC5; width as usize * height as usize];
        (layout_of(Compression::ThunderScan, (width, height), 1, 4), pixels)
    };
    made_ends_soon(make, (32 << 10, 16 << 10));
}

/// Both bytes of a row's pixels, one after the other, in pieces as they are.
#[test]
fn sgi_log() {
    let make = |width: u32, height: u32| {
        let (pieces, rest) = (width / 127, width % 127);
        assert_eq!(rest, 0);
        let mut piece = vec![127];
        piece.resize(128, 0x3A);
        let row = piece.repeat(2 * pieces as usize);
        let mut layout = BlockLayout::stored(DataType::I16, (width, height), 1);
        layout.compression = Compression::SgiLog;
        (layout, row.repeat(height as usize))
    };
    made_ends_soon(make, (127 << 7, 16 << 10));
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

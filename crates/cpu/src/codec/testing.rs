//! Test helpers of the image codecs: layouts, decoding through the public entry point, and mutants.

#![allow(clippy::cast_possible_truncation, reason = "small numbers made here")]

use super::byte_testing::{Random, fills_or_faults};
use super::{StoredBlock, Workspace, decode, encode, prepare};
use strile_engine::{BlockFault, BlockLayout, CodecExtras, EncodeLayout, EncodeParams, Encoder, Fill};
use strile_tiff::{ByteOrder, Compression, LercWrapper, Photometric, Predictor, SampleFormat, SampleType};

/// Returns strips of `width` by `height` pixels of `samples` unsigned samples of `bits`.
pub(super) fn layout(
    compression: Compression,
    (width, height): (u32, u32),
    (samples, bits): (u16, u16),
) -> BlockLayout {
    let sample = SampleType { format: SampleFormat::Uint, bits };
    BlockLayout {
        width,
        height,
        samples,
        sample,
        mixed_bits: None,
        data_type: sample.data_type().unwrap(),
        byte_order: ByteOrder::Little,
        reverse_bits: false,
        compression,
        predictor: Predictor::None,
        is_strip: true,
        extras: CodecExtras {
            photometric: Photometric::MinIsBlack,
            ycbcr: None,
            jpeg_tables: None,
            lerc: LercWrapper::None,
            fax_options: 0,
            fill: Fill::default(),
            reduce: 0,
        },
    }
}

/// Decodes a block with all rows of its layout.
pub(super) fn decode_block(src: &[u8], layout: &BlockLayout) -> Result<Vec<u8>, BlockFault> {
    decode_rows(src, layout, layout.height)
}

/// Decodes a block of `rows` rows.
pub(super) fn decode_rows(src: &[u8], layout: &BlockLayout, rows: u32) -> Result<Vec<u8>, BlockFault> {
    let mut dst = vec![0; layout.decoded_len(rows).unwrap()];
    decode(src, &mut dst, StoredBlock { layout, rows }, &mut Workspace::default()).map(|()| dst)
}

/// Checks that a thread decodes blocks one after the other, forwards and backwards, to the same result as each alone:
/// memory reused from other blocks does not show.
pub(super) fn kept_memory_does_not_show(blocks: &[(&[u8], BlockLayout)]) {
    let mut workspace = Workspace::default();
    for (src, layout) in blocks.iter().chain(blocks.iter().rev()) {
        let alone = decode_block(src, layout).unwrap();
        let mut dst = vec![0xAA; alone.len()];
        decode(src, &mut dst, StoredBlock { layout, rows: layout.height }, &mut workspace).unwrap();
        assert!(dst == alone, "{} × {} of {} samples", layout.width, layout.height, layout.samples);
        // A truncated block leaves its data in the reused memory.
        let cut = src.get(..src.len() / 2).unwrap();
        let _fault = decode(cut, &mut dst, StoredBlock { layout, rows: layout.height }, &mut workspace);
    }
}

/// Returns lossless parameters, with quality 75 for codecs that are always lossy.
pub(super) fn params() -> EncodeParams {
    EncodeParams { encoder: Encoder::Fast, level: 6, quality: 75, lossless: true, max_error: 0.0 }
}

/// Returns a checked layout for encoding.
pub(super) fn prepared(block: BlockLayout, params: EncodeParams) -> Result<EncodeLayout, String> {
    Ok(prepare(EncodeLayout { block: block.into(), params, nan_to: None, sparse: None })?)
}

/// Encodes a block of `rows` rows twice, and checks that the bytes are the same.
pub(super) fn encode_rows(src: &[u8], layout: &EncodeLayout, rows: u32) -> Result<Vec<u8>, BlockFault> {
    let block = StoredBlock { layout: &layout.block, rows };
    let mut workspace = Workspace::default();
    let mut dst = vec![b'x'];
    encode(src, &mut dst, block, &layout.params, &mut workspace)?;
    let half = dst.len();
    encode(src, &mut dst, block, &layout.params, &mut workspace)?;
    assert_eq!(dst[0], b'x');
    assert_eq!(dst[1..half], dst[half..]);
    dst.truncate(half);
    Ok(dst.split_off(1))
}

/// Decodes `count` mutants of `src`: each fills its output or is a fault.
pub(super) fn mutants_fill_or_fault(src: &[u8], layout: &BlockLayout, count: usize) {
    let mut random = Random::new(src.len() as u64);
    let mut workspace = Workspace::default();
    let len = layout.decoded_len(layout.height).unwrap();
    let block = StoredBlock { layout, rows: layout.height };
    for _ in 0..count {
        let mutant = random.mutant(src);
        fills_or_faults(len, |dst| decode(&mutant, dst, block, &mut workspace));
    }
}

/// Returns bytes as 16-bit samples in native order.
pub(super) fn u16s(bytes: &[u8]) -> Vec<u16> {
    bytes.chunks_exact(2).map(|b| u16::from_ne_bytes([b[0], b[1]])).collect()
}

/// Returns the picture of the files in `tests/data`: `(7 x² + 13 y (x + 1) + 29 c (y + 1)) mod 2^bits`, 13 x 9 pixels.
pub(super) fn picture(samples: u32, bits: u32) -> Vec<u32> {
    let pixel = |x: u32, y: u32, c: u32| (7 * x * x + 13 * y * (x + 1) + 29 * c * (y + 1)) % (1 << bits);
    (0..9).flat_map(|y| (0..13).flat_map(move |x| (0..samples).map(move |c| pixel(x, y, c)))).collect()
}

/// Returns the same picture as bytes of 8- or 16-bit samples in native order.
pub(super) fn picture_bytes(samples: u32, bits: u32) -> Vec<u8> {
    let values = picture(samples, bits).into_iter();
    if bits > 8 {
        values.flat_map(|v| (v as u16).to_ne_bytes()).collect()
    } else {
        values.map(|v| v as u8).collect()
    }
}

/// Checks a file with the picture: whole, as a last strip with surplus rows, cut at every byte, with the wrong size,
/// and mutated.
pub(super) fn check_picture(src: &[u8], layout: &BlockLayout) {
    let expected = picture_bytes(u32::from(layout.samples), u32::from(layout.sample.bits));
    assert_eq!(decode_block(src, layout).unwrap(), expected);
    let five_rows = expected.len() / 9 * 5;
    assert_eq!(decode_rows(src, layout, 5).unwrap(), expected[..five_rows]);
    let wrong = BlockLayout { width: 14, ..layout.clone() };
    assert_eq!(decode_block(src, &wrong).unwrap_err().kind, strile_engine::FaultKind::WrongShape);
    for len in 0..src.len() {
        if let Ok(decoded) = decode_block(&src[..len], layout) {
            assert_eq!(decoded, expected, "cut at {len}");
        }
    }
    mutants_fill_or_fault(src, layout, 1500);
}

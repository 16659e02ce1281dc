//! Decode rates of the byte codecs on one core, in MB/s of output.
//!
//! Two tiles of 256 × 256 made here: a smooth elevation model in float32 after predictor 3 and a noisy uint16
//! band after predictor 2. Only the codec is inside the timer: no predictor, no placement, no I/O. LZW is
//! compared with the crate `weezl`. Each of 64 tiles counts with the best of
//! several passes, so that other work on the machine disturbs little.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a benchmark over data made here"
)]

use std::hint::black_box;
use std::time::Instant;
use strile_cpu::codec::{StoredBlock, Workspace, decode};
use strile_engine::{BlockLayout, CodecExtras, Fill};
use strile_tiff::{
    ByteOrder, Compression, DataType, LercWrapper, Photometric, Predictor, SampleFormat, SampleType,
};

const SIDE: usize = 256;
const TILES: usize = 64;
const PASSES: usize = 15;

fn main() {
    println!("{:<10} {:<22} {:>7} {:>9}", "codec", "data", "ratio", "MB/s");
    for (data, make) in
        [("f32 DEM predictor 3", elevation as fn(u64) -> Vec<u8>), ("u16 noisy predictor 2", noisy)]
    {
        let tiles: Vec<Vec<u8>> = (0..TILES as u64).map(make).collect();
        for (compression, encode) in ENCODERS {
            let encoded: Vec<Vec<u8>> = tiles.iter().map(|tile| encode(tile)).collect();
            let rate = measure(&tiles, |i, dst, workspace| {
                let layout = layout(compression, dst.len());
                let block = StoredBlock { layout: &layout, rows: 1 };
                decode(&encoded[i], dst, block, workspace).expect("a stream made here decodes");
            });
            report(compression.name(), data, &tiles, &encoded, rate);
            if compression == Compression::Lzw {
                let rate = measure(&tiles, |i, dst, _| {
                    let mut decoder = weezl::decode::Decoder::with_tiff_size_switch(weezl::BitOrder::Msb, 8);
                    let (mut from, mut to) = (0, 0);
                    while to < dst.len() {
                        let step = decoder.decode_bytes(&encoded[i][from..], &mut dst[to..]);
                        step.status.expect("weezl reads its own stream");
                        (from, to) = (from + step.consumed_in, to + step.consumed_out);
                    }
                });
                report("weezl", data, &tiles, &encoded, rate);
            }
        }
    }
}

type Encode = fn(&[u8]) -> Vec<u8>;

const ENCODERS: [(Compression, Encode); 6] = [
    (Compression::Lzw, |data| {
        weezl::encode::Encoder::with_tiff_size_switch(weezl::BitOrder::Msb, 8).encode(data).expect("LZW")
    }),
    (Compression::Deflate, |data| {
        let mut compressor = libdeflater::Compressor::new(libdeflater::CompressionLvl::default());
        let mut out = vec![0; compressor.zlib_compress_bound(data.len())];
        let len = compressor.zlib_compress(data, &mut out).expect("zlib");
        out.truncate(len);
        out
    }),
    (Compression::Zstd, |data| zstd::bulk::compress(data, 9).expect("zstd")),
    (Compression::Lz4, lz4_flex::block::compress),
    (Compression::PackBits, |data| {
        let mut out = Vec::new();
        let mut literal = Vec::new();
        for run in data.chunk_by(|a, b| a == b).flat_map(|run| run.chunks(128)) {
            if run.len() < 3 && literal.len() + run.len() <= 128 {
                literal.extend(run);
                continue;
            }
            flush(&mut literal, &mut out);
            out.extend([(257 - run.len()) as u8, run[0]]);
        }
        flush(&mut literal, &mut out);
        out
    }),
    (Compression::None, <[u8]>::to_vec),
];

fn flush(literal: &mut Vec<u8>, out: &mut Vec<u8>) {
    if !literal.is_empty() {
        out.push((literal.len() - 1) as u8);
        out.append(literal);
    }
}

fn measure(tiles: &[Vec<u8>], mut decode: impl FnMut(usize, &mut [u8], &mut Workspace)) -> f64 {
    let mut workspace = Workspace::default();
    let mut seconds = 0.0;
    let mut dst = vec![0; tiles[0].len()];
    for (i, tile) in tiles.iter().enumerate() {
        let mut best = f64::MAX;
        for _ in 0..PASSES {
            let start = Instant::now();
            decode(i, black_box(&mut dst), &mut workspace);
            best = best.min(start.elapsed().as_secs_f64());
            assert!(&dst == tile, "decoded bytes differ");
        }
        seconds += best;
    }
    (tiles[0].len() * tiles.len()) as f64 / seconds / 1e6
}

fn report(codec: &str, data: &str, tiles: &[Vec<u8>], encoded: &[Vec<u8>], rate: f64) {
    let raw: usize = tiles.iter().map(Vec::len).sum();
    let packed: usize = encoded.iter().map(Vec::len).sum();
    println!("{codec:<10} {data:<22} {:>7.2} {rate:>9.0}", raw as f64 / packed as f64);
}

/// A float32 elevation model after predictor 3: bytes by significance, then differenced along the row.
fn elevation(seed: u64) -> Vec<u8> {
    let mut random = seed + 1;
    let mut out = Vec::with_capacity(SIDE * SIDE * 4);
    for y in 0..SIDE {
        let row: Vec<[u8; 4]> = (0..SIDE)
            .map(|x| {
                let (fx, fy) = (x as f32 + seed as f32 * 37.0, y as f32);
                let hills = 300.0 * (fx / 90.0).sin() * (fy / 70.0).cos() + 40.0 * ((fx + fy) / 17.0).sin();
                let metres = 800.0 + hills + (next(&mut random) % 8) as f32 * 0.05;
                ((metres * 16.0).round() / 16.0).to_be_bytes()
            })
            .collect();
        let mut before = 0_u8;
        for plane in 0..4 {
            for pixel in &row {
                out.push(pixel[plane].wrapping_sub(before));
                before = pixel[plane];
            }
        }
    }
    out
}

/// A noisy uint16 band after predictor 2.
fn noisy(seed: u64) -> Vec<u8> {
    let mut random = seed + 1;
    let mut out = Vec::with_capacity(SIDE * SIDE * 2);
    for y in 0..SIDE {
        let mut before = 0_u16;
        for x in 0..SIDE {
            let base = 2000.0 + 500.0 * (x as f32 / 60.0).sin() + 300.0 * (y as f32 / 45.0).cos();
            let value = base as u16 + (next(&mut random) % 64) as u16;
            out.extend(value.wrapping_sub(before).to_le_bytes());
            before = value;
        }
    }
    out
}

fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state >> 20
}

fn layout(compression: Compression, bytes: usize) -> BlockLayout {
    BlockLayout {
        width: u32::try_from(bytes).expect("a small tile"),
        height: 1,
        samples: 1,
        sample: SampleType { format: SampleFormat::Uint, bits: 8 },
        mixed_bits: None,
        data_type: DataType::U8,
        byte_order: ByteOrder::Little,
        reverse_bits: false,
        compression,
        predictor: Predictor::None,
        is_strip: false,
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

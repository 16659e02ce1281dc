//! The encoder of Deflate on the device: what it makes is what the CPU engine's portable encoder makes, and libdeflate reads it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    dead_code,
    reason = "code of tests: it fails by panicking, and knows its numbers; shares modules with others"
)]

mod byte_encoders;
mod decoding;

use byte_encoders::{Rows, launch_with, on_host_with};
use decoding::{KINDS, Random};
use strile_cuda::encode::codec::{Codec, codec};
use strile_emulate::Emulator;
use strile_tiff::Compression;

fn deflate() -> &'static Codec {
    codec(Compression::Deflate).unwrap()
}

/// Bytes in one row, or in rows of `row_len`.
fn rows(bytes: Vec<u8>, row_len: usize) -> Rows {
    let row_len = if row_len == 0 { bytes.len() } else { row_len };
    Rows { row_len, bytes }
}

/// The kernels make the CPU engine's bytes, and libdeflate reads them to the last.
fn agree(blocks: &[Rows], unit: u32, level: i32, seed: u64) {
    let made = launch_with(deflate(), blocks, unit, (deflate().effort)(level), seed);
    assert_eq!(made.len(), blocks.len());
    let mut reader = libdeflater::Decompressor::new();
    for (i, (made, rows)) in made.iter().zip(blocks).enumerate() {
        let what = format!("block {i} of {} bytes, level {level}, seed {seed}", rows.bytes.len());
        let mut back = vec![0; rows.bytes.len()];
        assert_eq!(reader.zlib_decompress(made, &mut back), Ok(back.len()), "{what}");
        assert!(back == rows.bytes, "{what}");
        let expected = on_host_with(Compression::Deflate, rows, unit, level);
        assert_eq!(made.iter().zip(&expected).position(|(a, b)| a != b), None, "{what}");
        assert_eq!(made.len(), expected.len(), "{what}");
    }
}

#[test]
fn every_kind_of_bytes_at_every_level() {
    let mut random = Random::new(1);
    for level in 0..=13 {
        let unit = 1 + level % 4;
        let blocks: Vec<Rows> = (0..KINDS).map(|kind| rows(random.raster(kind, 12 * 300), 12 * 25)).collect();
        agree(&blocks, unit as u32, level, level as u64);
    }
}

#[test]
fn short_blocks() {
    let mut random = Random::new(2);
    for level in [1, 2, 6] {
        let blocks: Vec<Rows> = (1..70).map(|len| rows(random.raster(len * 7 % KINDS, len), 0)).collect();
        agree(&blocks, 1, level, level as u64);
    }
}

#[test]
fn blocks_of_several_parts() {
    let mut random = Random::new(3);
    for (i, level) in [1, 6, 9].into_iter().enumerate() {
        let mut blocks: Vec<Rows> = [32_768, 32_784, 65_536, 100_016]
            .iter()
            .map(|&len| rows(random.raster(7 + 6 * i, len), if i == 0 { 0 } else { len / 4 }))
            .collect();
        // Stored parts among others.
        let mut mixed = random.raster(5, 50_000);
        mixed.extend(random.raster(1, 66_000));
        mixed.extend(random.raster(0, 34_000));
        blocks.push(rows(mixed, 1000));
        agree(&blocks, 4, level, i as u64);
    }
}

/// Distances of exactly the window and one more, across segments of the chains; a row longer than the window.
#[test]
fn the_far_end_of_the_window() {
    let mut random = Random::new(4);
    for gap in [32_767, 32_768, 32_769] {
        let phrase = random.raster(1, 300);
        let mut bytes = random.raster(3, 40_000);
        bytes.extend(&phrase);
        let noise = gap - phrase.len();
        bytes.extend(random.raster(1, noise));
        bytes.extend(&phrase);
        agree(&[rows(bytes.clone(), 0), rows(bytes, 1)], 1, 8, gap as u64);
    }
}

/// Pieces of all kinds, repeated from before now and then.
#[test]
fn any_bytes() {
    for seed in Emulator::seeds() {
        let mut random = Random::new(100 + seed);
        let blocks: Vec<Rows> = (0..3)
            .map(|_| {
                let mut bytes = Vec::new();
                let wanted = 1 + random.below(6000);
                while bytes.len() < wanted {
                    let len = 1 + random.below(600);
                    if bytes.is_empty() || random.below(3) == 0 {
                        bytes.extend(random.raster(random_kind(len), len));
                    } else {
                        let from = random.below(bytes.len());
                        bytes.extend_from_within(from..(from + len).min(bytes.len()));
                    }
                }
                rows(bytes, 0)
            })
            .collect();
        agree(&blocks, 1, [1, 3, 6, 9][seed as usize % 4], seed);
    }
}

fn random_kind(len: usize) -> usize {
    len % KINDS
}

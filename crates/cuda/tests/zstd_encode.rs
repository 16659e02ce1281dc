//! The encoder of ZSTD on the device: what it makes is read by libzstd, and is what the CPU engine's portable encoder
//! makes.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    dead_code,
    reason = "code of tests: it fails by panicking, and knows its numbers"
)]

mod byte_encoders;
mod decoding;

use byte_encoders::{Rows, launch_with, on_host_with};
use decoding::{KINDS, Random};
use strile_cuda::encode::codec::{Codec, Effort, codec};
use strile_emulate::Emulator;
use strile_tiff::Compression;

fn encoder() -> &'static Codec {
    codec(Compression::Zstd).unwrap()
}

fn rows(bytes: Vec<u8>, row_len: usize) -> Rows {
    let row_len = if row_len == 0 { bytes.len() } else { row_len };
    Rows { row_len, bytes }
}

/// libzstd reads what the kernels make.
fn read_back(blocks: &[Rows], unit: u32, effort: Effort, seed: u64) -> Vec<Vec<u8>> {
    let made = launch_with(encoder(), blocks, unit, effort, seed);
    assert_eq!(made.len(), blocks.len());
    for (i, (made, rows)) in made.iter().zip(blocks).enumerate() {
        let what = format!("block {i} of {} bytes, {effort:?}, seed {seed}", rows.bytes.len());
        let back = zstd::bulk::decompress(made, rows.bytes.len());
        assert!(back.unwrap_or_else(|e| panic!("{what}: {e}")) == rows.bytes, "{what}");
    }
    made
}

/// And it is what the CPU engine makes.
fn agree(blocks: &[Rows], unit: u32, level: i32, seed: u64) {
    let made = read_back(blocks, unit, (encoder().effort)(level), seed);
    for (i, (made, rows)) in made.iter().zip(blocks).enumerate() {
        let what = format!("block {i} of {} bytes, level {level}, seed {seed}", rows.bytes.len());
        let expected = on_host_with(Compression::Zstd, rows, unit, level);
        assert_eq!(made.iter().zip(&expected).position(|(a, b)| a != b), None, "{what}");
        assert_eq!(made.len(), expected.len(), "{what}");
    }
}

#[test]
fn every_kind_of_bytes_at_every_effort() {
    let mut random = Random::new(1);
    for level in [1, 2, 3, 9, 12, 15, 18, 20, 21, 22] {
        let unit = 1 + level % 4;
        let blocks: Vec<Rows> = (0..KINDS).map(|kind| rows(random.raster(kind, 12 * 300), 12 * 25)).collect();
        agree(&blocks, unit as u32, level, level as u64);
    }
}

#[test]
fn runs_alone_are_read_back_too() {
    let mut random = Random::new(5);
    let blocks: Vec<Rows> = (0..KINDS).map(|kind| rows(random.raster(kind, 3000 + kind), 0)).collect();
    read_back(&blocks, 2, Effort { depth: 0, nice: 258, lazy: true }, 3);
}

#[test]
fn short_blocks() {
    let mut random = Random::new(2);
    for level in [1, 9] {
        let blocks: Vec<Rows> = (1..70).map(|len| rows(random.raster(len * 7 % KINDS, len), 0)).collect();
        agree(&blocks, 1, level, level as u64);
    }
}

#[test]
fn sizes_at_which_forms_change() {
    let mut random = Random::new(6);
    // One stream of literals and four, and the three widths of their sizes; many symbols and few.
    let blocks: Vec<Rows> = [255, 256, 257, 1023, 1024, 1100, 16_383, 16_384, 17_000]
        .into_iter()
        .flat_map(|len| {
            let few: Vec<u8> = (0..len).map(|_| (random.below(9) * random.below(9)) as u8).collect();
            let many = (0..len).map(|_| (random.below(16) * random.below(16)) as u8).collect();
            [rows(few, 0), rows(many, 0)]
        })
        .collect();
    agree(&blocks, 1, 1, 1);
}

#[test]
fn blocks_of_several_parts() {
    let mut random = Random::new(3);
    for (i, level) in [1, 9].into_iter().enumerate() {
        let mut blocks: Vec<Rows> = [32_768, 32_784, 65_536, 100_016]
            .iter()
            .map(|&len| rows(random.raster(6 + i, len), if i == 0 { 0 } else { len / 4 }))
            .collect();
        // Raw parts and parts of one byte among others.
        let mut mixed = random.raster(5, 50_000);
        mixed.extend(random.raster(1, 66_000));
        mixed.extend(random.raster(0, 70_000));
        blocks.push(rows(mixed, 1000));
        agree(&blocks, 4, level, i as u64);
    }
}

/// As many sequences as a part can have, and distances that come back.
#[test]
fn words_of_four_bytes() {
    let mut random = Random::new(4);
    for words in [3, 40, 300] {
        let vocabulary: Vec<Vec<u8>> = (0..words).map(|_| random.raster(1, 4)).collect();
        let bytes: Vec<u8> = (0..8500).flat_map(|_| vocabulary[random.below(words)].clone()).collect();
        agree(&[rows(bytes, 1000)], 4, 9, words as u64);
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
                        bytes.extend(random.raster(len % KINDS, len));
                    } else {
                        let from = random.below(bytes.len());
                        bytes.extend_from_within(from..(from + len).min(bytes.len()));
                    }
                }
                rows(bytes, 0)
            })
            .collect();
        agree(&blocks, 1, [1, 3, 9, 22][seed as usize % 4], seed);
    }
}

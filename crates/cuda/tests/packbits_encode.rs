//! The PackBits encoder on the emulated device: the bytes of the CPU engine's.
#![allow(
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test; small numbers made here"
)]

mod byte_codecs;
mod byte_encoders;

use byte_codecs::{Random, image_like};
use byte_encoders::{Rows, digest, launch, must_agree, on_host};
use strile_cuda::encode::codec;
use strile_emulate::Emulator;
use strile_tiff::Compression::PackBits;

fn packbits() -> &'static codec::Codec {
    codec::codec(PackBits).unwrap()
}

/// Singles, pairs and runs by chance, of lengths around those at which tokens end.
fn mixed(random: &mut Random, len: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while bytes.len() < len {
        let value = random.byte() % 4;
        let run = [1, 1, 1, 2, 2, 3, 4, 127, 128, 129, 130, 256, 257, 258][random.below(14)];
        match random.below(6) {
            0 => bytes.extend((0..run).map(|i| i as u8)),
            1 => bytes.extend((0..run).map(|i| (i / 2) as u8)),
            _ => bytes.extend(std::iter::repeat_n(value, run)),
        }
    }
    bytes.truncate(len);
    bytes
}

#[test]
fn makes_the_bytes_of_the_cpu_engine() {
    let mut blocks = Vec::new();
    for kind in 0..7 {
        for (row_len, rows) in [(1, 1), (1, 77), (2, 40), (15, 3), (32, 9), (129, 5), (256, 64), (4099, 3)] {
            blocks.push(Rows { bytes: image_like(kind, row_len * rows), row_len });
        }
    }
    must_agree(packbits(), PackBits, &blocks, 0, Emulator::seeds());
}

#[test]
fn tokens_of_every_length() {
    for seed in Emulator::seeds() {
        let mut random = Random::new(seed);
        let blocks: Vec<Rows> = (0..40)
            .map(|_| {
                let most = [5, 40, 400, 1500][random.below(4)];
                let row_len = 1 + random.below(most);
                let rows = 1 + random.below(4000 / row_len + 1);
                Rows { bytes: mixed(&mut random, row_len * rows), row_len }
            })
            .collect();
        must_agree(packbits(), PackBits, &blocks, 0, seed..seed + 1);
    }
}

/// Rows longer than a part, parts in which no row begins, and parts of many rows.
#[test]
fn parts_are_rows_that_begin_in_them() {
    let mut random = Random::new(3);
    let blocks: Vec<Rows> = [(70_000, 2), (16_384, 3), (16_383, 4), (16_385, 3), (300, 200), (1, 40_000)]
        .map(|(row_len, rows)| Rows { bytes: mixed(&mut random, row_len * rows), row_len })
        .into();
    must_agree(packbits(), PackBits, &blocks, 0, 0..2);
}

#[test]
fn the_bytes_are_those_of_portable_1() {
    let blocks: Vec<Rows> =
        (0..7).map(|kind| Rows { bytes: image_like(kind, 20_000), row_len: 250 }).collect();
    let host: Vec<Vec<u8>> = blocks.iter().map(|rows| on_host(PackBits, rows, 0)).collect();
    assert_eq!(digest(&host), digest(&launch(packbits(), &blocks, 0, 0)));
    assert_eq!(digest(&host), 0x9A3E_B6B4_AF35_201F);
}

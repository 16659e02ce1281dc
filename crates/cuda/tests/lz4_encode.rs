//! The LZ4 encoder on the emulated device: the bytes of the CPU engine's, read by a decoder of another hand.
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
use std::io::Read as _;
use strile_cuda::encode::codec;
use strile_emulate::Emulator;
use strile_tiff::Compression::Lz4;

fn lz4() -> &'static codec::Codec {
    codec::codec(Lz4).unwrap()
}

fn block(kind: usize, len: usize) -> Rows {
    Rows { bytes: image_like(kind, len), row_len: [len, 1][usize::from(len < 50)] }
}

/// Lengths at which the rules of the last bytes begin to matter, and more.
#[test]
fn makes_the_bytes_of_the_cpu_engine() {
    let mut random = Random::new(4);
    for seed in Emulator::seeds() {
        let mut blocks: Vec<Rows> = (1..24).map(|len| block(0, len)).collect();
        blocks.extend((0..7).map(|kind| block(kind, 1 + random.below(3000))));
        must_agree(lz4(), Lz4, &blocks, 0, seed..seed + 1);
    }
}

#[test]
fn parts_are_joined() {
    let lens = [32_767, 32_768, 32_769, 32_780, 65_536, 70_000, 150_000];
    let blocks: Vec<Rows> = lens.iter().enumerate().map(|(i, &len)| block(i, len)).collect();
    must_agree(lz4(), Lz4, &blocks, 0, 0..1);
}

/// Rows alike, so that matches of the longest kind follow each other with one distance.
#[test]
fn matches_that_go_on_are_one() {
    let row: Vec<u8> = image_like(1, 700);
    let blocks =
        [Rows { bytes: row.repeat(20), row_len: 700 }, Rows { bytes: vec![5; 40_000], row_len: 200 }];
    must_agree(lz4(), Lz4, &blocks, 0, 0..4);
    let made = launch(lz4(), &blocks, 0, 0);
    assert!(made[0].len() < 900 && made[1].len() < 220, "{} and {} bytes", made[0].len(), made[1].len());
}

#[test]
fn another_decoder_reads_it() {
    let blocks: Vec<Rows> = (0..7).map(|kind| block(kind, 40_000 + kind)).collect();
    for (made, rows) in launch(lz4(), &blocks, 0, 1).iter().zip(&blocks) {
        let mut back = Vec::new();
        lz4_flex::frame::FrameDecoder::new(&made[..]).read_to_end(&mut back).unwrap();
        assert!(back == rows.bytes);
    }
}

#[test]
fn the_bytes_are_those_of_portable_1() {
    let blocks: Vec<Rows> = (0..7).map(|kind| block(kind, 20_000)).collect();
    let host: Vec<Vec<u8>> = blocks.iter().map(|rows| on_host(Lz4, rows, 0)).collect();
    assert_eq!(digest(&host), digest(&launch(lz4(), &blocks, 0, 0)));
    assert_eq!(digest(&host), 0x13AA_AF2C_CFDB_DD6A);
}

//! The LZW encoder on the emulated device: the bytes of the CPU engine's, read by a decoder of another hand.
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
use strile_tiff::Compression::Lzw;

fn lzw() -> &'static codec::Codec {
    codec::codec(Lzw).unwrap()
}

fn block(kind: usize, len: usize) -> Rows {
    Rows { bytes: image_like(kind, len), row_len: len }
}

/// Lengths around those at which codes become wider, tables are full and segments end.
#[test]
fn makes_the_bytes_of_the_cpu_engine() {
    let mut random = Random::new(4);
    let lens = [1, 2, 3, 254, 255, 256, 257, 766, 767, 1790, 1791, 3835, 3836, 3837, 3838, 7673, 7674];
    for seed in Emulator::seeds() {
        let mut blocks = Vec::new();
        for len in lens {
            blocks.push(block(1, len));
            blocks.push(block(random.below(7), len + random.below(5)));
        }
        must_agree(lzw(), Lzw, &blocks, 0, seed..seed + 1);
    }
}

#[test]
fn segments_are_joined() {
    let lens = [16_383, 16_384, 16_385, 16_386, 2 * 16_384, 2 * 16_384 + 1, 150_000];
    let blocks: Vec<Rows> = lens.iter().enumerate().map(|(i, &len)| block(i, len)).collect();
    must_agree(lzw(), Lzw, &blocks, 0, 0..2);
    let noise: Vec<Rows> = lens[..5].iter().map(|&len| block(1, len)).collect();
    must_agree(lzw(), Lzw, &noise, 0, 0..1);
}

#[test]
fn another_decoder_reads_it() {
    let blocks: Vec<Rows> = (0..7).map(|kind| block(kind, 40_000 + kind)).collect();
    for (made, rows) in launch(lzw(), &blocks, 0, 1).iter().zip(&blocks) {
        let mut decoder = weezl::decode::Decoder::with_tiff_size_switch(weezl::BitOrder::Msb, 8);
        assert!(decoder.decode(made).unwrap() == rows.bytes);
    }
}

#[test]
fn the_bytes_are_those_of_portable_1() {
    let blocks: Vec<Rows> = (0..7).map(|kind| block(kind, 20_000)).collect();
    let host: Vec<Vec<u8>> = blocks.iter().map(|rows| on_host(Lzw, rows, 0)).collect();
    assert_eq!(digest(&host), digest(&launch(lzw(), &blocks, 0, 0)));
    assert_eq!(digest(&host), 0xDF6B_31D8_788A_5F06);
}

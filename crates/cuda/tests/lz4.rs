//! LZ4 on the device equals `lz4_flex`, on streams that it or other writers make, and says nothing else is right.
#![allow(
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test; small numbers made here"
)]

mod decoding;

use decoding::{Decoder, KINDS, Random, Stream};
use lz4_flex::block::{compress, decompress_into};
use lz4_flex::frame::{BlockMode, BlockSize, FrameDecoder, FrameEncoder, FrameInfo};
use std::io::{Read, Write};
use strile_emulate::Emulator;

const LZ4: Decoder = Decoder { module: "lz4", passes: &["lz4"], scratch: |_, _| 0 };

fn frame(data: &[u8], info: FrameInfo) -> Vec<u8> {
    let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

/// A frame in one of several ways, none with checksums.
fn any_frame(data: &[u8], way: usize) -> Vec<u8> {
    let mode = if way.is_multiple_of(2) { BlockMode::Independent } else { BlockMode::Linked };
    let size = if way.is_multiple_of(3) { BlockSize::Max64KB } else { BlockSize::Max256KB };
    let stated = (way % 4 < 2).then_some(data.len() as u64);
    frame(data, FrameInfo::new().block_mode(mode).block_size(size).content_size(stated))
}

/// What lz4_flex makes of a stream, if it is right.
fn oracle(src: &[u8], len: usize) -> Option<Vec<u8>> {
    if src.starts_with(&0x184D_2204_u32.to_le_bytes()) {
        let mut data = Vec::new();
        FrameDecoder::new(src).take(len as u64 + 1).read_to_end(&mut data).ok()?;
        (data.len() == len).then_some(data)
    } else {
        let mut data = vec![0; len];
        (decompress_into(src, &mut data).ok() == Some(len)).then_some(data)
    }
}

fn equal(streams: &[(Stream, Vec<u8>)], seed: u64) {
    let inputs: Vec<Stream> =
        streams.iter().map(|(s, _)| Stream { src: s.src.clone(), dst_len: s.dst_len }).collect();
    for (i, ((status, found), (_, data))) in LZ4.decode(&inputs, seed).iter().zip(streams).enumerate() {
        assert_eq!(*status, 0, "stream {i} of {} bytes, seed {seed}", data.len());
        assert!(found == data, "stream {i} of {} bytes, seed {seed}", data.len());
    }
}

fn stream(src: Vec<u8>, data: &[u8]) -> (Stream, Vec<u8>) {
    (Stream { src, dst_len: data.len() }, data.to_vec())
}

#[test]
fn blocks_and_frames_of_all_kinds() {
    let mut random = Random::new(1);
    let mut streams = Vec::new();
    for kind in 0..KINDS {
        let data = random.raster(kind, 1500 + 37 * kind);
        streams.push(stream(compress(&data), &data));
        streams.push(stream(any_frame(&data, kind), &data));
    }
    for len in 1..=40 {
        let data = random.raster(len, len);
        streams.push(stream(compress(&data), &data));
        streams.push(stream(any_frame(&data, len), &data));
    }
    for seed in Emulator::seeds() {
        equal(&streams, seed);
    }
}

#[test]
fn frames_of_several_blocks() {
    let mut random = Random::new(2);
    // Noise is stored, the walk is not; linked blocks reach back into the one before.
    let data = [random.raster(1, 66_000), random.raster(5, 70_000), random.raster(2, 30_001)].concat();
    let streams: Vec<_> = [0, 3].map(|way| stream(any_frame(&data, way), &data)).into_iter().collect();
    for seed in 0..2 {
        equal(&streams, seed);
    }
}

#[test]
fn long_runs_and_distances() {
    let mut random = Random::new(3);
    let piece = random.raster(1, 700);
    let mut streams = Vec::new();
    for distance in [1, 2, 3, 4, 5, 7, 31, 32, 33, 63, 127, 128, 129, 131, 255, 700] {
        let data: Vec<u8> = piece[..distance].iter().copied().cycle().take(2000 + distance).collect();
        streams.push(stream(compress(&data), &data));
    }
    for seed in Emulator::seeds() {
        equal(&streams, seed);
    }
}

#[test]
fn checksums_are_left_to_the_host() {
    let data = Random::new(4).raster(4, 900);
    let info = FrameInfo::new;
    for frame in [frame(&data, info().content_checksum(true)), frame(&data, info().block_checksums(true))] {
        let found = LZ4.decode(&[Stream { src: frame, dst_len: data.len() }], 0);
        assert_ne!(found[0].0, 0);
    }
}

#[test]
fn truncated_streams_are_never_right() {
    let data = Random::new(5).raster(4, 300);
    for whole in [compress(&data), any_frame(&data, 0)] {
        let streams: Vec<Stream> =
            (1..whole.len()).map(|cut| Stream { src: whole[..cut].to_vec(), dst_len: data.len() }).collect();
        for seed in Emulator::seeds() {
            for (cut, (status, _)) in LZ4.decode(&streams, seed).iter().enumerate() {
                assert_ne!(*status, 0, "cut after {} bytes, seed {seed}", cut + 1);
            }
        }
    }
}

#[test]
fn mutants_are_right_only_if_lz4_flex_says_so() {
    let mut random = Random::new(6);
    let mut accepted = 0;
    for seed in Emulator::seeds() {
        let streams: Vec<Stream> = (0..150)
            .map(|i| {
                let len = 1 + random.below(600);
                let data = random.raster(i, len);
                let good = if i % 3 == 0 { any_frame(&data, i) } else { compress(&data) };
                Stream { src: random.mutant(&good), dst_len: data.len() }
            })
            .collect();
        for ((status, found), stream) in LZ4.decode(&streams, seed).into_iter().zip(&streams) {
            if status == 0 {
                accepted += 1;
                assert_eq!(Some(found), oracle(&stream.src, stream.dst_len), "seed {seed}: {:?}", stream.src);
            }
        }
    }
    assert!(accepted > 100, "{accepted} mutants were accepted: too few to tell");
}

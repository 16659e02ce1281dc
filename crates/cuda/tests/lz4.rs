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

const fn entry(passes: &'static [&'static str]) -> Decoder {
    Decoder { module: "lz4", passes, scratch: |_, _| 0 }
}

/// The entry points, which differ in the threads of a CUDA block and so in the window they see.
const ENTRIES: [Decoder; 3] = [entry(&["lz4_128"]), entry(&["lz4_256"]), entry(&["lz4_512"])];

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
    for entry in &ENTRIES {
        for (i, ((status, found), (_, data))) in entry.decode(&inputs, seed).iter().zip(streams).enumerate() {
            let which = format!("{:?}: stream {i} of {} bytes, seed {seed}", entry.passes, data.len());
            assert_eq!(*status, 0, "{which}");
            assert!(found == data, "{which}");
        }
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

/// A length's bytes after the four bits of the token.
fn more_length(out: &mut Vec<u8>, length: usize) {
    if length >= 15 {
        out.extend(std::iter::repeat_n(255, (length - 15) / 255));
        out.push(((length - 15) % 255) as u8);
    }
}

/// A block of any tokens, such as no writer makes: literals and matches of all lengths, any distances.
fn any_tokens(random: &mut Random, tokens: usize, longest: usize) -> Vec<u8> {
    let (mut out, mut made) = (Vec::new(), 0);
    for i in 0..tokens {
        let mut length = |least| match random.below(20) {
            0 => random.below(longest),
            1..4 => random.below(300),
            4..12 => least + random.below(9),
            _ => least,
        };
        let (literals, matched) = (length(usize::from(i == 0)), length(0));
        let last = i + 1 == tokens;
        out.push((literals.min(15) << 4 | if last { 0 } else { matched.min(15) }) as u8);
        more_length(&mut out, literals);
        out.extend((0..literals).map(|_| if random.below(3) == 0 { 255 } else { random.below(256) as u8 }));
        made += literals;
        if !last {
            let far = made.min(65_535);
            let offset =
                if random.below(2) == 0 { far.min(1 + random.below(6)) } else { 1 + random.below(far) };
            out.extend((offset as u16).to_le_bytes());
            more_length(&mut out, matched);
            made += matched + 4;
        }
    }
    out
}

#[test]
fn blocks_of_any_tokens() {
    let mut random = Random::new(7);
    for seed in 0..4 {
        let streams: Vec<_> = (0..12)
            .map(|i| {
                let src = any_tokens(&mut random, 1 + i * i * 4, 10 << i);
                let mut data = vec![0; 4 << 20];
                let len = decompress_into(&src, &mut data).unwrap();
                stream(src, &data[..len])
            })
            .collect();
        equal(&streams, seed);
    }
}

#[test]
fn checksums_are_left_to_the_host() {
    let data = Random::new(4).raster(4, 900);
    let info = FrameInfo::new;
    for frame in [frame(&data, info().content_checksum(true)), frame(&data, info().block_checksums(true))] {
        let streams = [Stream { src: frame, dst_len: data.len() }];
        for entry in &ENTRIES {
            assert_ne!(entry.decode(&streams, 0)[0].0, 0);
        }
    }
}

#[test]
fn truncated_streams_are_never_right() {
    let data = Random::new(5).raster(4, 300);
    for whole in [compress(&data), any_frame(&data, 0)] {
        let streams: Vec<Stream> =
            (1..whole.len()).map(|cut| Stream { src: whole[..cut].to_vec(), dst_len: data.len() }).collect();
        for seed in Emulator::seeds() {
            for (cut, (status, _)) in ENTRIES[seed as usize % 3].decode(&streams, seed).iter().enumerate() {
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
                // Some longer than a window.
                let len = if i % 25 == 0 { 3000 + random.below(9000) } else { 1 + random.below(600) };
                let data = random.raster(i, len);
                let good = if i % 3 == 0 { any_frame(&data, i) } else { compress(&data) };
                Stream { src: random.mutant(&good), dst_len: data.len() }
            })
            .collect();
        let made = ENTRIES[seed as usize % 3].decode(&streams, seed);
        for ((status, found), stream) in made.into_iter().zip(&streams) {
            if status == 0 {
                accepted += 1;
                let right = oracle(&stream.src, stream.dst_len) == Some(found);
                assert!(right, "seed {seed}: {:02x?}", stream.src);
            }
        }
    }
    assert!(
        accepted * 16 > 100 * Emulator::seeds().count(),
        "{accepted} mutants were accepted: too few to tell"
    );
}

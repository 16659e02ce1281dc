//! ZSTD on the device equals libzstd, on frames of every level and shape, and says nothing else is right.
#![allow(
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test; small numbers made here"
)]

mod decoding;

use decoding::{Decoder, KINDS, Random, Stream};
use strile_emulate::Emulator;
use zstd::bulk::{Compressor, decompress};
use zstd::zstd_safe::CParameter;

/// Scratch as in `codec/zstd.rs`.
const ZSTD: Decoder = Decoder {
    module: "zstd",
    passes: &["zstd_scan", "zstd_entropy", "zstd_execute", "zstd_execute_alone"],
    scratch: |src_len, dst_len| {
        let (src, dst) = (u64::from(src_len), u64::from(dst_len));
        64 + (dst / 2048 + 32) * (96 + 16) + (dst * 9).div_ceil(4).min(dst + src * 16) + 16
    },
};

const LEVELS: [i32; 5] = [1, 3, 9, 19, 22];

/// A frame; `way` says whether it has a checksum and states its size.
fn frame(data: &[u8], level: i32, way: usize) -> Vec<u8> {
    let mut compressor = Compressor::new(level).unwrap();
    compressor.set_parameter(CParameter::ChecksumFlag(way % 2 == 1)).unwrap();
    compressor.set_parameter(CParameter::ContentSizeFlag(way % 4 < 2)).unwrap();
    compressor.compress(data).unwrap()
}

fn stream(src: Vec<u8>, data: &[u8]) -> (Stream, Vec<u8>) {
    (Stream { src, dst_len: data.len() }, data.to_vec())
}

fn equal(streams: &[(Stream, Vec<u8>)], seed: u64) {
    let inputs: Vec<Stream> =
        streams.iter().map(|(s, _)| Stream { src: s.src.clone(), dst_len: s.dst_len }).collect();
    for (i, ((status, found), (_, data))) in
        ZSTD.decode_by(&inputs, &[1, 1 + (seed % 3) as u32], seed).iter().zip(streams).enumerate()
    {
        assert_eq!(*status, 0, "stream {i} of {} bytes, seed {seed}", data.len());
        assert!(found == data, "stream {i} of {} bytes, seed {seed}", data.len());
    }
}

#[test]
fn every_level_and_kind() {
    let mut random = Random::new(1);
    let mut streams = Vec::new();
    for kind in 0..KINDS {
        for (way, level) in LEVELS.into_iter().enumerate() {
            let data = random.raster(kind, 1200 + 531 * way);
            streams.push(stream(frame(&data, level, way + kind), &data));
        }
    }
    for seed in Emulator::seeds() {
        equal(&streams, seed);
    }
}

#[test]
fn tiny_sizes() {
    let mut random = Random::new(2);
    let mut streams = Vec::new();
    for len in 1..=40 {
        for kind in [0, 1, 2] {
            let data = random.raster(kind, len);
            streams.push(stream(frame(&data, LEVELS[len % 5], len + kind), &data));
        }
    }
    for seed in Emulator::seeds() {
        equal(&streams, seed);
    }
}

#[test]
fn several_blocks_repeat_tables_and_offsets() {
    let mut random = Random::new(3);
    let mut streams = Vec::new();
    for (kind, level) in [(6, 1), (7, 9), (5, 19), (4, 22), (1, 3), (0, 3)] {
        let data = random.raster(kind, 140_000 + kind);
        streams.push(stream(frame(&data, level, kind), &data));
    }
    // Small windows give blocks of 1 KiB: many of them, that take tables and trees of earlier ones.
    for kind in [3, 4, 5, 6] {
        let data = random.raster(kind, 9000);
        let mut compressor = Compressor::new(3).unwrap();
        compressor.set_parameter(CParameter::WindowLog(10)).unwrap();
        compressor.set_parameter(CParameter::ContentSizeFlag(false)).unwrap();
        streams.push(stream(compressor.compress(&data).unwrap(), &data));
    }
    for seed in 0..2 {
        equal(&streams, seed);
    }
    for seed in Emulator::seeds() {
        equal(&streams[6..], seed);
    }
}

/// Sixteen symbols as often as each other have codes of four bits: a decoder that starts between codes never falls into
/// step, so every part of a stream is counted again after the one before it.
#[test]
fn codes_that_never_fall_into_step() {
    let mut random = Random::new(7);
    let mut streams = Vec::new();
    for len in [600, 9001, 9002, 30_011] {
        let mut data: Vec<u8> = (0..len).map(|i| 16 + (i % 16) as u8).collect();
        for i in 0..len {
            data.swap(i, random.below(len));
        }
        streams.push(stream(frame(&data, 1, 0), &data));
    }
    for seed in Emulator::seeds() {
        equal(&streams, seed);
    }
}

/// Noise, copies from far back and short periods, each of any length: literals and matches longer than what is held of
/// them at once, and matches that repeat themselves at every distance.
#[test]
fn long_literals_and_matches() {
    let mut random = Random::new(8);
    let mut streams = Vec::new();
    for (i, level) in [1, 5, 12, 19].into_iter().enumerate() {
        let mut data: Vec<u8> = Vec::new();
        while data.len() < 30_000 {
            let most = [40, 700, 7000][random.below(3)];
            let len = 1 + random.below(most);
            match random.below(3) {
                0 => data.extend((0..len / 2).map(|_| random.below(256) as u8)),
                1 if !data.is_empty() => {
                    let from = random.below(data.len());
                    (0..len).for_each(|k| data.push(data[from + k]));
                }
                _ => {
                    let period: Vec<u8> =
                        (0..1 + random.below(200)).map(|_| random.below(256) as u8).collect();
                    data.extend(period.iter().cycle().take(len));
                }
            }
        }
        streams.push(stream(frame(&data, level, i), &data));
    }
    for seed in Emulator::seeds() {
        equal(&streams, seed);
    }
}

/// Sequences of no bits at all, each a match of three bytes of recent offsets in turn: a block of them after a raw one.
fn sequences_of_no_bits(count: usize) -> (Vec<u8>, usize) {
    let raw: Vec<u8> = (1..=16).collect();
    let len = raw.len() + 3 * count;
    let mut src = vec![0x28, 0xB5, 0x2F, 0xFD, 0x60];
    src.extend(((len - 256) as u16).to_le_bytes());
    let mut block = |kind: u32, last: u32, content: &[u8]| {
        let head = last | kind << 1 | (content.len() as u32) << 3;
        src.extend(&head.to_le_bytes()[..3]);
        src.extend(content);
    };
    block(0, 0, &raw);
    // No literals, the number of sequences, three tables of one symbol each, which is 0, and the end mark.
    block(2, 1, &[0, 128 + (count >> 8) as u8, count as u8, 0x54, 0, 0, 0, 1]);
    (src, len)
}

#[test]
fn more_sequences_than_there_is_room_for_are_left_to_the_host() {
    let (src, dst_len) = sequences_of_no_bits(90);
    let data = decompress(&src, dst_len).unwrap();
    let (many, many_len) = sequences_of_no_bits(20_000);
    assert!(decompress(&many, many_len).is_ok());
    for seed in Emulator::seeds() {
        equal(&[stream(src.clone(), &data)], seed);
        let found = ZSTD.decode(&[Stream { src: many.clone(), dst_len: many_len }], seed);
        assert_ne!(found[0].0, 0);
    }
}

#[test]
fn frames_and_skippable_frames() {
    let mut random = Random::new(4);
    let parts: Vec<Vec<u8>> = (0..4).map(|i| random.raster(i + 3, 401 + i)).collect();
    let frames: Vec<Vec<u8>> = parts.iter().enumerate().map(|(i, p)| frame(p, 3, i)).collect();
    let skippable = [0x5A, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 9, 9, 9].to_vec();
    let empty = frame(&[], 3, 0);
    let src = [&skippable, &frames[0], &frames[1], &skippable, &empty, &frames[2], &frames[3], &skippable];
    let src: Vec<u8> = src.iter().flat_map(|s| s.iter().copied()).collect();
    for seed in Emulator::seeds() {
        equal(&[stream(src.clone(), &parts.concat())], seed);
    }
    // Any number of them may be skipped, but not on the device.
    let many = [skippable.repeat(65), frames[0].clone()].concat();
    let found = ZSTD.decode(&[Stream { src: many, dst_len: parts[0].len() }], 0);
    assert_ne!(found[0].0, 0);
}

#[test]
fn wrong_sizes_and_truncated_streams_are_never_right() {
    let data = Random::new(5).raster(6, 330);
    let whole = frame(&data, 3, 1);
    let mut streams: Vec<Stream> =
        (1..whole.len()).map(|cut| Stream { src: whole[..cut].to_vec(), dst_len: data.len() }).collect();
    for dst_len in [1, 329, 331, 5000] {
        streams.push(Stream { src: whole.clone(), dst_len });
    }
    let mut wrong = whole.clone();
    *wrong.last_mut().unwrap() ^= 1;
    streams.push(Stream { src: wrong, dst_len: 330 });
    for seed in Emulator::seeds() {
        for (i, (status, _)) in ZSTD.decode(&streams, seed).iter().enumerate() {
            assert_ne!(*status, 0, "stream {i}, seed {seed}");
        }
    }
}

#[test]
fn mutants_are_right_only_if_libzstd_says_so() {
    let mut random = Random::new(6);
    let mut accepted = 0;
    for seed in Emulator::seeds() {
        let streams: Vec<Stream> = (0..200)
            .map(|i| {
                let len = 1 + random.below(700);
                let data = random.raster(i, len);
                // No checksums, or every mutant that decodes would be turned away.
                let good = frame(&data, LEVELS[i % 5], 2 * (i % 2));
                Stream { src: random.mutant(&good), dst_len: data.len() }
            })
            .collect();
        for ((status, found), stream) in ZSTD.decode(&streams, seed).into_iter().zip(&streams) {
            if status == 0 {
                accepted += 1;
                let oracle = decompress(&stream.src, stream.dst_len);
                assert_eq!(oracle.ok(), Some(found), "seed {seed}: {:?}", stream.src);
            }
        }
    }
    assert!(
        accepted * 16 > 300 * Emulator::seeds().count(),
        "{accepted} mutants were accepted: too few to tell"
    );
}

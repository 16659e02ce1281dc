//! Round trips through external decoders, and checks that the output bytes do not change.

use super::*;
use crate::codec::byte_testing::Random;
use libdeflater::{Decompressor, crc32};
use strile_engine::portable::WINDOW;

fn encoded(src: &[u8], level: i32, shape: Shape) -> Vec<u8> {
    let mut dst = vec![0xAA];
    encode(src, &mut dst, level, shape, &mut Workspace::default()).unwrap();
    assert_eq!(dst.remove(0), 0xAA, "what was there stays");
    assert!(dst.len() as u64 <= bound(src.len()), "{} of {}", dst.len(), bound(src.len()));
    dst
}

/// Encodes, and decodes with libdeflate, which checks the Adler-32 and that the stream ends at the right place.
fn round_trip(src: &[u8], level: i32, shape: Shape) -> usize {
    let stream = encoded(src, level, shape);
    let mut back = vec![0; src.len()];
    let len = Decompressor::new().zlib_decompress(&stream, &mut back).unwrap();
    assert_eq!(len, src.len());
    assert!(back == src, "level {level} {shape:?} of {} bytes", src.len());
    stream.len()
}

const PLAIN: Shape = Shape { row: 256, unit: 1 };

/// Returns a slope with a little noise, as bytes of its differences.
fn slope(width: usize, height: usize) -> Vec<u8> {
    let mut random = Random::new(7);
    let at = |x: usize, y: usize| x / 3 + y * 2;
    let differences = |y: usize| (1..=width).map(move |x| u8::try_from(at(x, y) - at(x - 1, y)).unwrap());
    (0..height).flat_map(differences).map(|byte| byte + u8::from(random.below(9) == 0)).collect()
}

fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..len).map(|_| (random.next() >> 56) as u8).collect()
}

#[test]
fn every_length_around_the_seams() {
    let mut random = Random::new(11);
    let most = 2 * PART + 8;
    let kinds = [vec![0; most], noise(1, most), random.image_like(most), slope(256, most / 256 + 1)];
    let around = |at: usize| at.saturating_sub(6)..at + 7;
    for len in around(0).chain(around(258)).chain(around(PART)).chain(around(2 * PART - 8)) {
        for (number, src) in kinds.iter().enumerate() {
            for level in [1, 2, 6] {
                let shape = Shape { row: [256, WINDOW, WINDOW + 1, 1][number], unit: number + 1 };
                round_trip(&src[..len], level, shape);
            }
        }
    }
}

#[test]
fn every_level_of_many_kinds() {
    let mut random = Random::new(12);
    let text = include_str!("../deflate.rs").as_bytes();
    for level in 0..=13 {
        round_trip(text, level, PLAIN);
        round_trip(&slope(300, 300), level, Shape { row: 300, unit: 2 });
        for _ in 0..12 {
            let len = 1 + random.below(80_000);
            let src = random.image_like(len);
            let shape = Shape { row: 1 + random.below(70_000), unit: 1 + random.below(16) };
            round_trip(&src, level, shape);
        }
    }
}

#[test]
fn shapes_that_make_no_sense_do_no_harm() {
    let src = slope(100, 100);
    for value in [0, 1, usize::MAX] {
        round_trip(&src, 1, Shape { row: value, unit: value });
        round_trip(&src, 6, Shape { row: value, unit: value });
    }
}

#[test]
fn nothing_is_an_empty_stream() {
    assert_eq!(encoded(&[], 6, PLAIN), [0x78, 0x9C, 3, 0, 0, 0, 0, 1]);
    round_trip(&[], 6, PLAIN);
}

#[test]
fn noise_is_stored_to_the_last_byte() {
    let src = noise(3, 3 * PART + 5);
    // 2 before, 5 for each part, 4 after.
    assert_eq!(round_trip(&src, 9, PLAIN), src.len() + 2 + 4 * 5 + 4);
    // After a part that ends within a byte, a stored one is padded to the next byte.
    let mixed = [slope(256, 128), noise(4, PART), slope(256, 128)].concat();
    round_trip(&mixed, 6, PLAIN);
}

#[test]
fn symbols_are_those_of_the_standard() {
    let lengths =
        [(3, 257, 0), (10, 264, 0), (11, 265, 1), (12, 265, 1), (13, 266, 1), (257, 284, 5), (258, 285, 0)];
    for (length, symbol, extra_bits) in lengths {
        let found = length_symbol(length);
        assert_eq!((found.symbol, found.extra_bits), (symbol, extra_bits), "{length}");
    }
    let distances = [(1, 0, 0), (4, 3, 0), (5, 4, 1), (7, 5, 1), (24577, 29, 13), (32768, 29, 13)];
    for (distance, symbol, extra_bits) in distances {
        let found = distance_symbol(distance);
        assert_eq!((found.symbol, found.extra_bits), (symbol, extra_bits), "{distance}");
    }
}

#[test]
fn a_slope_becomes_much_shorter() {
    let src = slope(512, 512);
    let run = round_trip(&src, 1, Shape { row: 512, unit: 1 });
    let searched = round_trip(&src, 6, Shape { row: 512, unit: 1 });
    assert!(searched <= run, "{searched} {run}");
    assert!(searched * 4 < src.len(), "{searched}");
}

/// The output of `portable-1`: any change of these bytes is a new version.
#[test]
fn bytes_stay_as_they_are() {
    let mut random = Random::new(21);
    let mixed: Vec<u8> = (0..9).flat_map(|_| random.image_like(10_001)).collect();
    let inputs = [
        ("zeros", vec![0; 70_000], Shape { row: 500, unit: 4 }),
        ("slope", slope(300, 260), Shape { row: 300, unit: 1 }),
        ("mixed", mixed, Shape { row: 600, unit: 3 }),
        ("noise", noise(22, 40_000), Shape { row: 100, unit: 2 }),
        ("one", vec![200], PLAIN),
    ];
    let found: Vec<(&str, i32, usize, u32)> = inputs
        .iter()
        .flat_map(|(name, src, shape)| {
            [1, 3, 6, 9, 12].map(|level| {
                let stream = encoded(src, level, *shape);
                (*name, level, stream.len(), crc32(&stream))
            })
        })
        .collect();
    assert_eq!(found, GOLDEN);
}

const GOLDEN: &[(&str, i32, usize, u32)] = &[
    ("zeros", 1, 117, 0x2916_1E0D),
    ("zeros", 3, 117, 0x2916_1E0D),
    ("zeros", 6, 117, 0x2916_1E0D),
    ("zeros", 9, 117, 0x2916_1E0D),
    ("zeros", 12, 117, 0x2916_1E0D),
    ("slope", 1, 14128, 0xE50D_1F25),
    ("slope", 3, 10541, 0x5732_867A),
    ("slope", 6, 9610, 0x8B2E_7B68),
    ("slope", 9, 8556, 0x0AAB_CC69),
    ("slope", 12, 7844, 0x6732_F3E5),
    ("mixed", 1, 44133, 0x0896_767B),
    ("mixed", 3, 40826, 0xEFA5_0092),
    ("mixed", 6, 36688, 0x051B_5A7B),
    ("mixed", 9, 36691, 0x499F_36D0),
    ("mixed", 12, 36691, 0x499F_36D0),
    ("noise", 1, 40016, 0x2928_43C2),
    ("noise", 3, 40016, 0x2928_43C2),
    ("noise", 6, 40016, 0x2928_43C2),
    ("noise", 9, 40016, 0x2928_43C2),
    ("noise", 12, 40016, 0x2928_43C2),
    ("one", 1, 12, 0x0701_B302),
    ("one", 3, 12, 0x0701_B302),
    ("one", 6, 12, 0x0701_B302),
    ("one", 9, 12, 0x0701_B302),
    ("one", 12, 12, 0x0701_B302),
];

//! Round trips through libzstd, and checks that the output bytes do not change.

use super::*;
use crate::codec::byte_testing::Random;
use libdeflater::crc32;

fn encoded(src: &[u8], level: i32, shape: Shape) -> Vec<u8> {
    let mut dst = vec![0xAA];
    encode(src, &mut dst, level, shape, &mut Workspace::default()).unwrap();
    assert_eq!(dst.remove(0), 0xAA, "what was there stays");
    assert!(dst.len() as u64 <= bound(src.len()), "{} of {}", dst.len(), bound(src.len()));
    dst
}

/// Encodes, and decodes with libzstd, which accepts exactly one whole frame.
fn round_trip(src: &[u8], level: i32, shape: Shape) -> usize {
    let frame = encoded(src, level, shape);
    let back = ::zstd::bulk::decompress(&frame, src.len());
    let back = back.unwrap_or_else(|e| panic!("level {level} {shape:?} of {} bytes: {e}", src.len()));
    assert!(back == src, "level {level} {shape:?} of {} bytes", src.len());
    frame.len()
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

/// Returns bytes below `most`, small ones far more often.
fn skewed(seed: u64, len: usize, most: usize) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..len).map(|_| u8::try_from(random.below(most) * random.below(most) / most).unwrap()).collect()
}

#[test]
fn every_length_around_the_seams() {
    let mut random = Random::new(11);
    let most = 2 * PART + 8;
    let kinds = [vec![0; most], noise(1, most), random.image_like(most), slope(256, most / 256 + 1)];
    let around = |at: usize| at.saturating_sub(6)..at + 7;
    for len in around(0).chain(around(258)).chain(around(1024)).chain(around(PART)).chain(around(2 * PART)) {
        for (number, src) in kinds.iter().enumerate() {
            let Some(src) = src.get(..len) else { continue };
            for level in [1, 9] {
                round_trip(src, level, Shape { row: [256, PART, 77, 1][number], unit: number + 1 });
            }
        }
    }
}

#[test]
fn every_level_of_many_kinds() {
    let mut random = Random::new(12);
    let text = include_str!("../zstd.rs").as_bytes();
    for level in 0..=23 {
        round_trip(text, level, PLAIN);
        round_trip(&slope(300, 300), level, Shape { row: 300, unit: 2 });
        for _ in 0..6 {
            let len = 1 + random.below(80_000);
            let src = random.image_like(len);
            round_trip(&src, level, Shape { row: 1 + random.below(70_000), unit: 1 });
        }
    }
}

#[test]
fn literals_of_every_number_of_symbols() {
    // Weights written directly, by FSE, and not at all; one stream and four, sizes in every form.
    for most in [2, 3, 5, 17, 100, 128, 129, 130, 200, 256] {
        for len in [2, 40, 255, 256, 1023, 1024, 5000, 16_383, 16_384, 32_768] {
            round_trip(&skewed(len as u64, len, most), 1, PLAIN);
        }
    }
}

#[test]
fn nothing_is_an_empty_frame() {
    assert_eq!(encoded(&[], 9, PLAIN), [0x28, 0xB5, 0x2F, 0xFD, 0x80, 0x38, 0, 0, 0, 0, 1, 0, 0]);
    round_trip(&[], 9, PLAIN);
}

#[test]
fn the_example_of_the_specification() {
    let expected = [
        &[0x28, 0xB5, 0x2F, 0xFD, 0x80, 0x38, 18, 0, 0, 0, 0x55, 0, 0][..],
        &[0x18, b'a', b'b', b'c', 1, 0x54, 3, 2, 12, 6],
    ];
    assert_eq!(encoded(b"abcabcabcabcabcabc", 9, PLAIN), expected.concat());
}

#[test]
fn noise_is_raw_and_a_part_of_one_byte_has_one() {
    let src = noise(3, 3 * PART + 5);
    assert_eq!(round_trip(&src, 9, PLAIN), src.len() + 10 + 4 * 3);
    assert_eq!(round_trip(&vec![7; 3 * PART + 5], 9, PLAIN), 10 + 4 * (3 + 1));
    let mixed = [slope(256, 128), noise(4, PART), vec![1; PART], slope(256, 128)].concat();
    round_trip(&mixed, 9, PLAIN);
}

#[test]
fn long_matches_are_one_sequence_and_distances_come_back() {
    // Rows of three kinds in turn, repeated far beyond the longest match.
    let rows = [noise(5, 1000), noise(6, 900), noise(7, 1100)];
    let src: Vec<u8> = (0..60).flat_map(|i| rows[i * i % 3].clone()).collect();
    let len = round_trip(&src, 22, Shape { row: 1000, unit: 1 });
    assert!(len < 3 * PART / 10, "{len}");
    let zeros = [vec![1], vec![0; 20_000], vec![2, 2], vec![0; 10_000]].concat();
    let len = round_trip(&zeros, 9, PLAIN);
    assert!(len < 50, "{len}");
}

#[test]
fn the_bytes_are_those_of_the_version() {
    let frame = |src: &[u8], level| crc32(&encoded(src, level, Shape { row: 300, unit: 2 }));
    let kinds = [slope(300, 250), skewed(9, 70_000, 200), [noise(8, 100), vec![0; 40_000]].concat()];
    let found = kinds.map(|src| [1, 9, 22].map(|level| frame(&src, level)));
    let expected = [
        [0xAD73_99AA, 0xB85E_5AC2, 0x904D_EB14],
        [0x70E8_12B5, 0x70E8_12B5, 0x70E8_12B5],
        [0x075E_D020, 0x075E_D020, 0x075E_D020],
    ];
    assert_eq!(found, expected);
}

//! High-throughput code-blocks of JPEG 2000 on the emulated device: what OpenJPEG makes of them, to the bit.
#![allow(
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test; small numbers made here"
)]

use strile_emulate::{Emulator, Poisoned};

/// Those of the CPU engine's tests: width, height, bit planes of the band, coded planes, passes, lengths of both segments
/// and whether it is causal, as u32; the bytes; OpenJPEG's half units as i32.
const BLOCKS: &[u8] = include_bytes!("../../cpu/tests/data/ht_code_blocks.bin");
const CAUSAL: u8 = 2;
const REVERSIBLE: u8 = 8;
const PENDING: u32 = u32::MAX;
const CORRUPT: u32 = 5;

/// `Jpeg2000Segment`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Segment {
    words: u64,
    len: u32,
    passes: u16,
    raw: u16,
}

/// `Jpeg2000Block`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Block {
    state: u64,
    out: u64,
    segment: u32,
    status: u32,
    stride: u32,
    scale: f32,
    width: u16,
    height: u16,
    band: u8,
    planes: u8,
    passes: u8,
    flags: u8,
}

/// `Jpeg2000BlockArgs`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Args {
    segments: u64,
    blocks: u64,
    statuses: u64,
    segment_count: u32,
    count: u32,
    lanes: u32,
    reserved: u32,
}

#[derive(Clone)]
struct Case {
    width: usize,
    height: usize,
    zero_planes: u8,
    planes: u8,
    passes: u8,
    cleanup: Vec<u8>,
    refinement: Vec<u8>,
    causal: bool,
    expected: Vec<i32>,
}

fn cases() -> Vec<Case> {
    let mut rest = BLOCKS;
    let mut cases = Vec::new();
    while !rest.is_empty() {
        let mut next = || {
            let (number, after) = rest.split_first_chunk().unwrap();
            rest = after;
            u32::from_le_bytes(*number) as usize
        };
        let [width, height, band_planes, planes, passes, first, second, causal] = [(); 8].map(|()| next());
        let (cleanup, after) = rest.split_at(first);
        let (refinement, after) = after.split_at(second);
        let (expected, after) = after.split_at(4 * width * height);
        rest = after;
        cases.push(Case {
            width,
            height,
            zero_planes: (band_planes - planes) as u8,
            planes: planes as u8,
            passes: passes as u8,
            cleanup: cleanup.to_vec(),
            refinement: refinement.to_vec(),
            causal: causal != 0,
            expected: expected.as_chunks().0.iter().map(|&bytes| i32::from_le_bytes(bytes)).collect(),
        });
    }
    cases
}

#[expect(unsafe_code, reason = "the bytes of plain structs without padding")]
fn bytes_of<T: Copy>(items: &[T], seed: u64) -> Poisoned {
    let mut bytes = Poisoned::new(size_of_val(items), seed);
    // SAFETY: plain numbers without padding, as long as the buffer.
    let from = unsafe { std::slice::from_raw_parts(items.as_ptr().cast::<u8>(), size_of_val(items)) };
    bytes.copy_from_slice(from);
    bytes
}

/// The bytes of a segment, padded with zeros as the host does.
fn words(bytes: &[u8], seed: u64) -> Poisoned {
    let mut padded = bytes.to_vec();
    padded.resize(bytes.len().next_multiple_of(4) + 4, 0);
    Poisoned::from_bytes(&padded, seed)
}

/// The status and the coefficients of each code-block; half of them are floats by a scale of 1.
fn decode(cases: &[Case], lanes: u32, seed: u64) -> Vec<(u32, Vec<f64>)> {
    let (mut segments, mut blocks, mut memory, mut held) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (index, case) in cases.iter().enumerate() {
        let stride = case.width + index % 3;
        let values = if case.passes > 1 { (4 * case.width * case.height).next_multiple_of(16) } else { 0 };
        let line = if case.width > 64 { (case.width / 2 + 2).next_multiple_of(16) } else { 0 };
        let state = Poisoned::new(values + line, seed + 1);
        let out = Poisoned::from_bytes(&vec![0; 4 * stride * case.height], seed + 2);
        let first = segments.len() as u32;
        for (bytes, passes) in [(&case.cleanup, 1), (&case.refinement, u16::from(case.passes) - 1)] {
            if passes > 0 {
                let bytes_there = words(bytes, seed + 3);
                segments.push(Segment {
                    words: bytes_there.address(),
                    len: bytes.len() as u32,
                    passes,
                    raw: 0,
                });
                held.push(bytes_there);
            }
        }
        blocks.push(Block {
            state: state.address(),
            out: out.address(),
            segment: first,
            status: index as u32,
            stride: stride as u32,
            scale: 1.0,
            width: case.width as u16,
            height: case.height as u16,
            band: case.zero_planes,
            planes: case.planes,
            passes: case.passes,
            flags: if case.causal { CAUSAL } else { 0 } | if index % 2 == 0 { REVERSIBLE } else { 0 },
        });
        memory.push((state, out, stride));
    }
    let (tables, list) = (bytes_of(&segments, seed), bytes_of(&blocks, seed));
    let mut statuses = Poisoned::from_bytes(&vec![0xFF; 4 * cases.len()], seed);
    let args = Args {
        segments: tables.address(),
        blocks: list.address(),
        statuses: statuses.address(),
        segment_count: segments.len() as u32,
        count: blocks.len() as u32,
        lanes,
        reserved: 0,
    };
    let module = Emulator::module("jpeg2000_ht").unwrap();
    let grid = (cases.len() as u32).div_ceil(4 * lanes);
    module.launch("jpeg2000_ht_blocks", (grid, 1), 128, &args, seed).unwrap();
    statuses.check().unwrap();
    let mut made = Vec::new();
    for (index, (case, (state, out, stride))) in cases.iter().zip(&mut memory).enumerate() {
        state.check().unwrap();
        out.check().unwrap();
        let rows = out.as_chunks::<4>().0.chunks(*stride).flat_map(|row| row[..case.width].to_vec());
        let value = |bytes: [u8; 4]| match index % 2 {
            0 => f64::from(i32::from_le_bytes(bytes)),
            _ => f64::from(f32::from_le_bytes(bytes)),
        };
        let status = u32::from_le_bytes(statuses[4 * index..][..4].try_into().unwrap());
        made.push((status, rows.map(value).collect()));
    }
    held.iter_mut().for_each(|bytes| bytes.check().unwrap());
    made
}

#[test]
fn code_blocks_are_as_openjpeg_decodes_them() {
    let cases = cases();
    for (lanes, seed) in [(32, 1), (7, 2)] {
        for (index, ((status, values), case)) in
            decode(&cases, lanes, seed).into_iter().zip(&cases).enumerate()
        {
            let expected = case.expected.iter().map(|&half| match index % 2 {
                0 => f64::from(half / 2),
                _ => f64::from(half as f32),
            });
            assert_eq!(status, PENDING, "{index}");
            assert_eq!(values, expected.collect::<Vec<_>>(), "{index}: {} passes", case.passes);
        }
    }
}

#[test]
fn wide_code_blocks_have_their_line_in_memory() {
    // The significance of nothing: a cleanup pass whose runs of zeros go on for ever.
    let case = Case {
        width: 1024,
        height: 4,
        zero_planes: 3,
        planes: 1,
        passes: 1,
        cleanup: vec![0xFF, 0x7F, 0xFF, 0x0F, 0x00],
        refinement: Vec::new(),
        causal: false,
        expected: vec![0; 4096],
    };
    let wide = Case { cleanup: [&[0x5A; 300][..], &[0xB6; 200], &[0x68, 0x0C]].concat(), ..case.clone() };
    let made = decode(&[case.clone(), wide], 32, 3);
    assert!(made.iter().all(|(status, _)| [PENDING, CORRUPT].contains(status)));
    assert!(made[0].0 == CORRUPT || made[0].1.iter().all(|&value| value == 0.0));
}

#[test]
fn damaged_code_blocks_stay_within_their_memory() {
    let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = move |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as usize % below
    };
    let mut damaged = cases();
    for _ in 0..6 {
        for case in &mut damaged {
            for bytes in [&mut case.cleanup, &mut case.refinement] {
                if !bytes.is_empty() {
                    let at = random(bytes.len());
                    bytes[at] = [0, 0xFF, 0x7F, bytes[at] ^ 1 << random(8), bytes[at] ^ 0x55][random(5)];
                }
            }
        }
        let made = decode(&damaged, 32, 4);
        assert!(made.iter().all(|(status, _)| [PENDING, CORRUPT].contains(status)));
    }
}

#[test]
fn both_engines_have_the_same_codes() {
    let numbers = |text: &str| -> Vec<String> {
        text.split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|word| word.starts_with("0x") && word.len() == 9)
            .map(str::to_string)
            .collect()
    };
    let kernel = numbers(include_str!("../kernels/jpeg2000/jpeg2000_ht_codes.cuh"));
    let host = numbers(include_str!("../../codestream/src/jpeg2000/high_throughput.rs"));
    assert_eq!((kernel.len(), &kernel), (444 + 358, &host));
}

//! Tests LZW against the crate `weezl`, against codes packed by hand, and against mutants.

use super::super::byte_testing::{self as testing, Random};
use super::*;
use strile_engine::FaultKind;
use strile_tiff::Compression;

fn pack(data: &[u8]) -> Vec<u8> {
    weezl::encode::Encoder::with_tiff_size_switch(weezl::BitOrder::Msb, 8).encode(data).unwrap()
}

fn unpack(src: &[u8], len: usize) -> Result<Vec<u8>, BlockFault> {
    let layout = testing::layout(Compression::Lzw, len as u32, 1);
    let mut dst = vec![0; len];
    decode(src, &mut dst, testing::whole(&layout), &mut Workspace::default()).map(|()| dst)
}

/// Packs codes of nine bits, highest bit first.
fn nine(codes: &[usize]) -> Vec<u8> {
    let mut bits = 0_usize;
    let mut out = vec![0; (codes.len() * 9).div_ceil(8)];
    for &code in codes {
        for i in (0..9).rev() {
            out[bits >> 3] |= ((code >> i & 1) as u8) << (7 - (bits & 7));
            bits += 1;
        }
    }
    out
}

/// Encodes by the inverse of the decoder's rules: `old` bits and widths, and Clear after every `clear_every` codes (a
/// full table is kept if that is more than it takes to fill it).
fn encode(data: &[u8], old: bool, clear_every: usize, end: bool) -> Vec<u8> {
    let (mut out, mut bits) = (Vec::new(), 0_usize);
    let mut put = |code: usize, width: u32| {
        for i in 0..width as usize {
            if bits & 7 == 0 {
                out.push(0_u8);
            }
            let from = if old { i } else { width as usize - 1 - i };
            let to = if old { bits & 7 } else { 7 - (bits & 7) };
            *out.last_mut().unwrap() |= ((code >> from & 1) as u8) << to;
            bits += 1;
        }
    };
    let mut strings = std::collections::HashMap::new();
    let (mut next, mut width, mut since) = (FIRST, LEAST_WIDTH, 0);
    put(CLEAR, width);
    let mut rest = data;
    let mut first_after_clear = true;
    while !rest.is_empty() {
        let mut len = 1;
        let mut code = usize::from(rest[0]);
        while let Some(&longer) = rest.get(..len + 1).and_then(|s| strings.get(s)) {
            (code, len) = (longer, len + 1);
        }
        put(code, width);
        // The decoder adds a string with the following code, so it is one string behind: widths follow the decoder.
        if !first_after_clear {
            next = (next + 1).min(MOST_CODES);
            if next >= wider_at(width, old) {
                width += 1;
            }
        }
        first_after_clear = false;
        if next < MOST_CODES && rest.len() > len {
            strings.insert(rest[..len + 1].to_vec(), next);
        }
        rest = &rest[len..];
        since += 1;
        if since == clear_every {
            put(CLEAR, width);
            strings.clear();
            (next, width, since, first_after_clear) = (FIRST, LEAST_WIDTH, 0, true);
        }
    }
    if end {
        put(END, width);
    }
    out
}

#[test]
fn agrees_with_weezl() {
    let mut random = Random::new(11);
    for round in 0..300_usize {
        let data = random.image_like(1 + round * 97);
        assert_eq!(unpack(&pack(&data), data.len()).unwrap(), data, "round {round}");
    }
    // Long strings, several tables.
    for len in [100_000, 3_000_000] {
        let data = vec![7; len];
        assert_eq!(unpack(&pack(&data), len).unwrap(), data);
    }
}

#[test]
fn clear_may_come_early_late_or_never() {
    let mut random = Random::new(12);
    for round in 0..200_usize {
        let data = random.image_like(1 + round * 151);
        for clear_every in [1, 2, 100, 3000, 3837, 3838, 5000, usize::MAX] {
            let src = encode(&data, false, clear_every, round % 2 == 0);
            assert_eq!(unpack(&src, data.len()).unwrap(), data, "round {round}, Clear every {clear_every}");
        }
    }
}

#[test]
fn old_form_has_the_other_bit_order_and_later_widths() {
    let mut random = Random::new(13);
    for round in 0..100_usize {
        let data = random.image_like(1 + round * 151);
        for clear_every in [1, 500, 3837, usize::MAX] {
            let src = encode(&data, true, clear_every, round % 2 == 0);
            assert_eq!(unpack(&src, data.len()).unwrap(), data, "round {round}, Clear every {clear_every}");
        }
    }
}

/// The example of TIFF 6.0, section 13: the string 7 7 7 8 8 7 7 6 6 as codes 256 7 258 8 8 258 6 6 257.
#[test]
fn decodes_the_example_of_the_specification() {
    let src = nine(&[256, 7, 258, 8, 8, 258, 6, 6, 257]);
    assert_eq!(unpack(&src, 9).unwrap(), [7, 7, 7, 8, 8, 7, 7, 6, 6]);
}

#[test]
fn tells_faults_apart() {
    assert_eq!(unpack(&nine(&[256, 1, 2, 257]), 3), Err(BlockFault::short(2, 3)));
    assert_eq!(unpack(&nine(&[256, 1, 2]), 30), Err(BlockFault::truncated(2, 30)));
    assert_eq!(unpack(&[], 3), Err(BlockFault::truncated(0, 3)));
    // The code 259 is unknown before 258 was added.
    assert_eq!(unpack(&nine(&[256, 1, 259, 257]), 3).unwrap_err().kind, FaultKind::Corrupt);
    // Only a single byte may follow Clear.
    assert_eq!(unpack(&nine(&[256, 258, 257]), 3).unwrap_err().kind, FaultKind::Corrupt);
    assert_eq!(unpack(&nine(&[1, 2, 3, 257]), 3).unwrap_err().kind, FaultKind::Corrupt);
    // A string past the end of the block, and a code after the end.
    assert_eq!(unpack(&nine(&[256, 1, 258, 259, 257]), 4), Err(BlockFault::surplus(6, 4)));
    assert_eq!(unpack(&nine(&[256, 1, 2, 3, 4, 257]), 2), Err(BlockFault::surplus(4, 2)));
    assert_eq!(unpack(&nine(&[256, 1, 2, 3, 4]), 2).unwrap(), [1, 2], "without an end code it is padding");
    // Photoshop 7 writes one extra byte.
    assert_eq!(unpack(&nine(&[256, 1, 258, 257]), 2).unwrap(), [1, 1]);
    assert_eq!(unpack(&nine(&[256, 1, 2, 3, 257]), 2).unwrap(), [1, 2]);
    assert_eq!(unpack(&nine(&[256, 1, 2, 256, 257]), 2).unwrap(), [1, 2]);
}

#[test]
fn last_strip_may_hold_all_its_rows() {
    let layout = testing::layout(Compression::Lzw, 100, 50);
    let strip = StoredBlock { layout: &layout, rows: 3 };
    let data: Vec<u8> = (0..5001_u32).map(|i| (i * i / 77) as u8).collect();
    let mut dst = vec![0; 300];
    decode(&pack(&data[..5000]), &mut dst, strip, &mut Workspace::default()).unwrap();
    assert_eq!(dst, data[..300]);
    let fault = decode(&pack(&data), &mut dst, strip, &mut Workspace::default()).unwrap_err();
    assert_eq!(fault, BlockFault::surplus(5001, 300));
}

/// Mutants decode alike in the fast and the exact loop: reversing the bit order with the same rules would use only the
/// exact loop, so it is called directly here.
#[test]
fn mutants_fill_or_fault_and_both_loops_agree() {
    let mut random = Random::new(14);
    let mut workspace = Workspace::default();
    let mut good = 0;
    for round in 0..6000_usize {
        let data = random.image_like(1 + round % 3000);
        let src = random.mutant(&encode(&data, round % 4 == 3, [50, 1000, usize::MAX][round % 3], true));
        let layout = testing::layout(Compression::Lzw, data.len() as u32, 1);
        let block = testing::whole(&layout);
        good +=
            usize::from(testing::fills_or_faults(data.len(), |dst| decode(&src, dst, block, &mut workspace)));
        if src.first() == Some(&0x80) {
            let (mut exact, mut fast) = (vec![0; data.len()], vec![0; data.len()]);
            let mut state =
                State { bit: 0, filled: 0, width: 0, next: 0, wider_at: 0, previous: Entry::default() };
            state.clear(false);
            let mut table = Table::boxed();
            while state.filled < exact.len()
                && matches!(step(&src, &mut exact, &mut table, &mut state, false), Ok(Step::String))
            {
            }
            if decode(&src, &mut fast, block, &mut workspace).is_ok() {
                assert_eq!(fast, exact, "round {round}");
            }
        }
    }
    assert!(good > 100, "{good} mutants decoded");
}

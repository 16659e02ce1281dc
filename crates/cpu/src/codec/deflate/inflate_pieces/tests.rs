#![allow(clippy::cast_possible_wrap, clippy::cast_possible_truncation, reason = "small numbers made here")]

use super::super::find_block::candidates;
use super::super::inflate::{Kind, Stream};
use super::*;
use crate::codec::byte_testing::{Random, deflated};
use crate::crew::Crew;
use libdeflater::Decompressor;
use miniz_oxide::deflate::compress_to_vec;
use strile_engine::Cancel;

/// Returns parts like those of images, with repetitions over up to 32 KiB.
fn bytes(random: &mut Random, len: usize) -> Vec<u8> {
    let mut data = Vec::with_capacity(len + 20_000);
    while data.len() < len {
        let part = 1 + random.below(20_000);
        if random.below(3) == 0 && data.len() > part {
            let from = data.len() - part - random.below((data.len() - part).min(32_768));
            data.extend_from_within(from..from + part);
        } else {
            data.extend(random.image_like(part));
        }
    }
    data.truncate(len);
    data
}

/// Returns `data` as stored blocks of `most` bytes.
fn stored(data: &[u8], most: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for (number, part) in data.chunks(most).enumerate() {
        let len = part.len() as u16;
        out.push(u8::from((number + 1) * most >= data.len()));
        out.extend(len.to_le_bytes());
        out.extend((!len).to_le_bytes());
        out.extend(part);
    }
    out
}

fn divided(src: &[u8], len: usize, division: Division) -> Option<(usize, Vec<u8>)> {
    let mut dst = vec![0xA5; len];
    let (taken, checksum) = inflate(src, &mut dst, division, Crew::new(2).enlist())?;
    assert_eq!(checksum, adler32(&dst));
    Some((taken, dst))
}

/// Every way of dividing a stream gives the same bytes: with pieces of a few bytes, without memory for more than one
/// piece at a time, and with memory for a small part of a block.
#[test]
fn streams_decode_however_they_are_divided() {
    let mut random = Random::new(31);
    let mut taken = 0;
    for round in 0..120 {
        let data = bytes(&mut random, 1 + round * round * 40);
        let packed = match round % 4 {
            0 => deflated(&data, 1 + (round % 12) as i32),
            1 => compress_to_vec(&data, (round % 11) as u8),
            2 => stored(&data, 1 + random.below(0xFFFF)),
            _ => compress_to_vec(&data, 1),
        };
        let division = Division {
            pieces: 1 + random.below(packed.len() / 50 + 1),
            at_once: 1 + random.below(6),
            most: [0, 1000, 50_000, MOST][random.below(4)],
        };
        let Some((consumed, decoded)) = divided(&packed, data.len(), division) else { continue };
        assert!(decoded == data, "round {round}: {division:?}");
        assert_eq!(consumed, packed.len());
        taken += 1;
    }
    assert!(taken > 60, "{taken} of 120 were taken");
}

/// What real streams are divided into: none may be declined.
#[test]
fn large_streams_are_taken() {
    let mut random = Random::new(32);
    let data = bytes(&mut random, 3 << 20);
    for packed in
        [deflated(&data, 6), deflated(&data, 12), compress_to_vec(&data, 6), compress_to_vec(&data, 1)]
    {
        for threads in [8, 16] {
            let division = Division::of(packed.len(), data.len(), threads).unwrap();
            let (consumed, decoded) = divided(&packed, data.len(), division).unwrap();
            assert!(decoded == data && consumed == packed.len(), "{division:?}");
        }
    }
}

/// Runs whose blocks decode to megabytes: the memory of a piece does not suffice for one.
#[test]
fn blocks_may_exceed_the_memory_of_a_piece() {
    let mut data = vec![7; 6 << 20];
    data.extend(bytes(&mut Random::new(33), 1 << 20));
    data.extend(vec![9; 6 << 20]);
    let packed = compress_to_vec(&data, 6);
    let division = Division { pieces: 8, at_once: 3, most: 100_000 };
    assert!(divided(&packed, data.len(), division).unwrap() == (packed.len(), data));
}

#[test]
fn small_and_odd_streams_are_left_to_one_thread() {
    let divides = |encoded, decoded, threads| Division::of(encoded, decoded, threads).is_some();
    assert!(divides(1 << 20, 2 << 20, 3) && !divides(1 << 20, 2 << 20, 2));
    assert!(!divides(500_000, 1_000_000, 16), "too small");
    assert!(!divides(1 << 20, 40 << 20, 8) && divides(1 << 20, 40 << 20, 16), "hardly anything to decode");
    assert!(!divides(3 << 20, 1 << 20, 16) && !divides(usize::MAX, 1 << 20, 16) && !divides(0, 1 << 30, 16));
}

#[test]
fn other_lengths_are_declined() {
    let data = bytes(&mut Random::new(34), 300_000);
    let packed = compress_to_vec(&data, 6);
    let division = Division { pieces: 8, at_once: 4, most: MOST };
    assert!(divided(&packed, data.len(), division).is_some());
    for len in [0, 1, data.len() - 1, data.len() + 1] {
        assert_eq!(divided(&packed, len, division), None);
    }
    for len in [0, 1, packed.len() / 2, packed.len() - 1] {
        assert_eq!(divided(&packed[..len], data.len(), division), None);
    }
}

#[test]
fn a_stopped_stream_is_declined() {
    let data = bytes(&mut Random::new(35), 300_000);
    let packed = compress_to_vec(&data, 6);
    let (cancel, mut dst) = (Cancel::default(), vec![0; data.len()]);
    cancel.cancel();
    let crew = Crew::new(2).stopping(Stop::with(&cancel));
    let division = Division { pieces: 8, at_once: 4, most: MOST };
    assert_eq!(inflate(&packed, &mut dst, division, crew.enlist()), None);
}

/// Accepted data decodes to the same bytes as in libdeflate, however the data was altered.
#[test]
fn mutants_agree_with_libdeflate_or_are_declined() {
    let mut random = Random::new(36);
    let mut decompressor = Decompressor::new();
    let mut taken = 0;
    for round in 0..1500 {
        let data = bytes(&mut random, 50 + 13 * round);
        let packed = if round % 2 == 0 { deflated(&data, 6) } else { compress_to_vec(&data, 6) };
        let mutant = random.mutant(&packed);
        let division = Division { pieces: 1 + random.below(8), at_once: 3, most: 20_000 };
        if let Some((_, decoded)) = divided(&mutant, data.len(), division) {
            let mut expected = vec![0; data.len()];
            assert_eq!(decompressor.deflate_decompress(&mutant, &mut expected), Ok(data.len()));
            assert!(decoded == expected, "round {round}: {division:?}");
            taken += 1;
        }
    }
    assert!(taken > 100, "{taken} of 1500 were taken");
}

/// Stored bytes may look like blocks everywhere: the search ends, and the stream is declined.
#[test]
fn the_search_for_blocks_is_bounded() {
    let mut random = Random::new(39);
    let data = bytes(&mut random, 500_000);
    let block = compress_to_vec(&data, 6);
    let symbols = &mut Symbols::for_pieces_of(10_000).unwrap();
    let tables = &mut Tables::boxed();
    // Beginnings of a block, of which none continues; a real one follows.
    let found_after = |beginnings: usize, symbols: &mut Symbols, tables: &mut Tables| {
        let mut hostile = Vec::new();
        for _ in 0..beginnings {
            hostile.extend(&block[..80]);
            hostile.extend([0xFF; 20]);
        }
        hostile.extend(&block);
        let all = 0..hostile.len() * 8;
        let begin = beginnings * 100 * 8;
        let found = Piece::find(&hostile, &all, symbols, tables, &Stop::default());
        found.is_some_and(|piece| piece.begin == Position::of_block(begin))
    };
    assert!(found_after(0, symbols, tables) && found_after(20, symbols, tables));
    assert!(!found_after(20_000, symbols, tables));
    let packed = stored(&data.repeat(4), 0xFFFF);
    let division = Division::of(packed.len(), data.len() * 4, 16).unwrap();
    assert_eq!(divided(&packed, data.len() * 4, division), None);
}

/// A stream without its first blocks refers to their bytes.
#[test]
fn matches_before_the_stream_are_declined() {
    let data = bytes(&mut Random::new(37), 1 << 20);
    let packed = compress_to_vec(&data, 6);
    let mut symbols = Symbols::for_pieces_of(data.len()).unwrap();
    let rest = 8..packed.len() * 8;
    let piece = Piece::find(&packed, &rest, &mut symbols, &mut Tables::boxed(), &Stop::default()).unwrap();
    let mut dst = vec![0; piece.len];
    assert_eq!(Before::nothing().place(&symbols, &mut dst), None);
}

/// No block of real streams is missed, except fixed, stored and last ones.
#[test]
fn dynamic_blocks_are_found() {
    let mut random = Random::new(38);
    let tables = &mut Tables::boxed();
    let mut found = 0;
    for level in 1..=12_u8 {
        let data = bytes(&mut random, 1 << 20);
        let streams = [deflated(&data, level.into()), compress_to_vec(&data, level % 11)];
        for packed in streams {
            let all = 0..packed.len() * 8;
            let mut symbols = Symbols::for_pieces_of(data.len()).unwrap();
            let mut stream = Stream::at_bit(&packed, 0, 0).unwrap();
            let mut dst = vec![0_u8; data.len()];
            loop {
                let bit = stream.bit();
                let header = stream.header(tables, |_| true).unwrap();
                if header.kind == Kind::Dynamic && !header.last {
                    assert_eq!(candidates(&packed, bit, bit + 1).next(), Some(bit));
                    let first = Piece::find(&packed, &(bit..all.end), &mut symbols, tables, &Stop::default());
                    assert_eq!(first.unwrap().begin, Position::of_block(bit));
                    stream = Stream::at_bit(&packed, bit, stream.out).unwrap();
                    stream.header(tables, |_| true).unwrap();
                    found += 1;
                }
                match header.kind {
                    Kind::Stored => stream.copy_stored(&mut dst).unwrap(),
                    _ => {
                        while !stream.symbol(&mut dst, tables).unwrap() {
                            stream.fast(&mut dst, tables);
                        }
                    }
                }
                if header.last {
                    break;
                }
            }
            assert!(dst == data);
        }
    }
    assert!(found > 100, "{found} blocks were found");
}

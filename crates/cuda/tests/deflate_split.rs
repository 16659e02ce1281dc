//! Deflate streams cut into segments on the emulated device: where segments begin, and what is done with those that are
//! none.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unreachable,
    clippy::unwrap_used,
    reason = "a test; small numbers made here"
)]

mod decoding;
mod deflate_blocks;

use decoding::{Random, Stream};
use deflate_blocks::shapes::{SPLIT, pack, segments, unpack};
use deflate_blocks::{Bits, Codes, Token, apply, random_tokens};

/// A stream of dynamic blocks, what it holds, and the byte in which each block but the first begins.
struct Blocks {
    stream: Vec<u8>,
    data: Vec<u8>,
    begins: Vec<usize>,
}

fn blocks(random: &mut Random, count: usize, tokens: usize) -> Blocks {
    let (mut bits, mut data, mut begins) = (Bits::zlib(), Vec::new(), Vec::new());
    for block in 0..count {
        if block > 0 {
            begins.push(bits.len());
        }
        let tokens = random_tokens(random, tokens, data.len());
        let codes = Codes::random(random);
        bits.dynamic(block + 1 == count, &codes, random);
        bits.tokens(&codes, &tokens);
        apply(&mut data, &tokens);
    }
    Blocks { stream: bits.finish(&data), data, begins }
}

/// Decodes one stream; its status, its bytes, and what `segments` says of it.
fn split(src: &[u8], dst_len: usize, seed: u64) -> (u32, Vec<u8>, (usize, usize, u32)) {
    let mut found = (0, 0, 0);
    let streams = [Stream { src: src.to_vec(), dst_len }];
    let times = SPLIT.times(1 + (seed % 5) as u32);
    let mut results =
        SPLIT.decode_looking(&streams, &times, seed, |_, scratch| found = segments(scratch, src.len()));
    let (status, bytes) = results.remove(0);
    (status, bytes, found)
}

/// Every block but the last is found, and is a segment of its own.
#[test]
fn blocks_become_segments() {
    let mut random = Random::new(21);
    for seed in 0..6 {
        let Blocks { stream, data, begins } = blocks(&mut random, 40, 700);
        let (status, bytes, (found, live, _)) = split(&stream, data.len(), seed);
        assert!(status == 0 && bytes == data, "status {status}, seed {seed}");
        // The last block is not looked for, nor one that shares its chunk with another.
        assert!(begins.windows(2).all(|pair| pair[1] - pair[0] > 256), "{begins:?}");
        assert_eq!((found, live), (begins.len() - 1, begins.len()), "seed {seed}");
    }
}

/// Compressed streams inside stored blocks are found, and no block leads to them; chunks of a long one have more places
/// than are looked at.
#[test]
fn what_is_found_in_stored_blocks_is_left_out() {
    let mut random = Random::new(22);
    let inner = blocks(&mut random, 30, 500);
    let (mut bits, mut data) = (Bits::zlib(), Vec::new());
    let codes = Codes::random(&mut random);
    for last in [false, false, true] {
        let tokens = random_tokens(&mut random, 400, data.len());
        bits.dynamic(false, &codes, &mut random);
        bits.tokens(&codes, &tokens);
        apply(&mut data, &tokens);
        for part in inner.stream.chunks(60_000) {
            bits.stored(false, part);
            data.extend(part);
        }
        bits.fixed(last, &[Token::Literal(7), Token::Match(9, 3)]);
        apply(&mut data, &[Token::Literal(7), Token::Match(9, 3)]);
    }
    let stream = bits.finish(&data);
    for seed in 0..6 {
        let (status, bytes, (found, live, _)) = split(&stream, data.len(), seed);
        assert!(status == 0 && bytes == data, "status {status}, seed {seed}");
        assert!(live == 3 && found > 60, "{found} found, {live} of them of the stream, seed {seed}");
    }
}

/// A segment that goes on for longer than it may on a guess: the stream is decoded whole. Its stored blocks are full of
/// what looks like headers up to the code of code lengths.
#[test]
fn what_cannot_be_split_is_decoded_whole() {
    let mut random = Random::new(23);
    let mut noise = Bits::default();
    for _ in 0..8 * 200 {
        noise.put(4, 13);
        noise.put(15, 4);
        noise.put(0b001_001, 32);
        noise.put(0, 25);
    }
    let noise = noise.into_bytes();
    let (mut bits, mut data) = (Bits::zlib(), Vec::new());
    let codes = Codes::random(&mut random);
    let mut dynamic = |bits: &mut Bits, data: &mut Vec<u8>, last| {
        let tokens = random_tokens(&mut random, 300, data.len());
        bits.dynamic(last, &codes, &mut random);
        bits.tokens(&codes, &tokens);
        apply(data, &tokens);
    };
    // The first segment may be long: so the second is. Zeros around it keep its chunk free of the rest.
    dynamic(&mut bits, &mut data, false);
    let zeros = vec![0; 20_000];
    let stored = |bits: &mut Bits, data: &mut Vec<u8>, bytes: &[u8]| {
        bits.stored(false, bytes);
        data.extend(bytes);
    };
    stored(&mut bits, &mut data, &zeros);
    dynamic(&mut bits, &mut data, false);
    stored(&mut bits, &mut data, &zeros);
    (0..80).for_each(|_| stored(&mut bits, &mut data, &noise));
    dynamic(&mut bits, &mut data, true);
    let stream = bits.finish(&data);
    assert_eq!(unpack(&stream, data.len()).as_deref(), Some(&data[..]), "the test's own stream");
    assert!(stream.len() > 1 << 20);
    let (status, bytes, (found, _, fault)) = split(&stream, data.len(), 1);
    assert!(status == 0 && bytes == data, "status {status}");
    assert_eq!((found, fault), (1, 0x100), "the second segment is too long to be walked on a guess");
}

/// Cut and changed where segments meet: none of it is right unless libdeflate says so.
#[test]
fn damage_at_every_boundary() {
    let mut random = Random::new(24);
    let Blocks { stream, data, begins } = blocks(&mut random, 8, 120);
    let mut streams = Vec::new();
    let mut push = |src: Vec<u8>| streams.push(Stream { src, dst_len: data.len() });
    for &begin in &begins {
        for at in begin..begin + 3 {
            push(stream[..at].to_vec());
            for bit in [0, 3, 7] {
                let mut src = stream.clone();
                src[at] ^= 1 << bit;
                push(src);
            }
            let mut src = stream.clone();
            src.remove(at);
            push(src);
        }
    }
    push(stream.clone());
    for seed in [0, 7] {
        let mut right = 0;
        for (i, ((status, found), stream)) in SPLIT.run(&streams, seed).iter().zip(&streams).enumerate() {
            assert!(*status <= 7, "stream {i}, seed {seed}: status {status}");
            if *status == 0 {
                assert_eq!(
                    unpack(&stream.src, stream.dst_len).as_ref(),
                    Some(found),
                    "stream {i}, seed {seed}"
                );
                right += 1;
            }
        }
        assert!(right >= 1, "the whole one, seed {seed}");
    }
}

/// Copies of copies, more of them than two rounds follow, and sizes around those of tiles.
#[test]
fn long_chains_and_odd_sizes() {
    let mut random = Random::new(25);
    for (len, seed) in [8191, 8192, 8193, 16_385, 24_579, 75_001].into_iter().zip(0..) {
        for kind in [0, 5] {
            let data = random.raster(kind, len);
            let (status, bytes, _) = split(&pack(&data, 9), len, seed);
            assert!(status == 0 && bytes == data, "status {status} of {len} bytes of kind {kind}");
        }
    }
}

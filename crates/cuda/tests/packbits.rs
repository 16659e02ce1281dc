//! PackBits on the emulated device: every stream there is gives what the CPU engine gives, or goes to the
//! host.
#![allow(
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test; small numbers made here"
)]

mod byte_codecs;

use byte_codecs::{Codec, Random, Stream, image_like};
use strile_emulate::Emulator;
use strile_tiff::Compression;

const PACKBITS: Codec =
    Codec { compression: Compression::PackBits, module: "packbits", entry: "packbits_decode" };

/// Runs of every kind by chance: `kind` 0 any, 1 the extremes, 2 the longest only, 3 mostly no-operations.
fn chain(random: &mut Random, kind: usize, runs: usize) -> (Stream, Vec<u8>) {
    let (mut src, mut out) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        let control = match kind {
            1 => [128, 129, 255, 0, 127][random.below(5)],
            2 => 129,
            3 if random.below(4) > 0 => 128,
            _ => random.byte(),
        };
        src.push(control);
        match control {
            0..128 => {
                let bytes: Vec<u8> = (0..=control).map(|_| random.byte()).collect();
                src.extend(&bytes);
                out.extend(bytes);
            }
            128 => {}
            129.. => {
                let byte = random.byte();
                src.push(byte);
                out.extend(std::iter::repeat_n(byte, 257 - usize::from(control)));
            }
        }
    }
    // A last run of one byte, so that the output is not empty and no padding is taken for a part of it.
    src.extend([0, 42]);
    out.push(42);
    (Stream { src, len: out.len() }, out)
}

#[test]
fn decodes_what_the_cpu_engine_packs() {
    let (mut streams, mut expected) = (Vec::new(), Vec::new());
    for kind in 0..7 {
        for (row_len, rows) in [(1, 1), (15, 1), (16, 1), (17, 3), (129, 5), (256, 64), (4099, 3)] {
            let data = image_like(kind, row_len * rows);
            streams.push(PACKBITS.encode(&data, row_len));
            expected.push(data);
        }
    }
    PACKBITS.must_give(&streams, &expected);
}

/// Rows need not be packed apart, and anything may follow the last run.
#[test]
fn decodes_any_chain_of_runs() {
    let mut random = Random::new(5);
    let (mut streams, mut expected) = (Vec::new(), Vec::new());
    for i in 0..60 {
        let runs = random.below([3, 40, 400, 3000][i / 4 % 4]);
        let (mut stream, out) = chain(&mut random, i % 4, runs);
        stream.src.extend((0..random.below(9)).map(|i| (i * 77) as u8));
        streams.push(stream);
        expected.push(out);
    }
    PACKBITS.must_give(&streams, &expected);
}

/// Windows whose every chunk is full of the longest runs, from every alignment.
#[test]
fn decodes_the_most_output_a_window_can_have() {
    let streams: Vec<Stream> =
        (0..3).map(|i| Stream { src: [129, 3].repeat(4100 + i), len: 128 * (4100 + i) }).collect();
    let expected: Vec<Vec<u8>> = streams.iter().map(|s| vec![3; s.len]).collect();
    PACKBITS.must_give(&streams, &expected);
}

/// The example of Apple's Technical Note TN1023, with a no-operation byte put in.
#[test]
fn decodes_the_example_of_the_technical_note() {
    let src =
        vec![0xFE, 0xAA, 0x02, 0x80, 0x00, 0x2A, 0x80, 0xFD, 0xAA, 0x03, 0x80, 0x00, 0x2A, 0x22, 0xF7, 0xAA];
    let expected = vec![
        0xAA, 0xAA, 0xAA, 0x80, 0x00, 0x2A, 0xAA, 0xAA, 0xAA, 0xAA, 0x80, 0x00, 0x2A, 0x22, 0xAA, 0xAA, 0xAA,
        0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA,
    ];
    PACKBITS.must_give(&[Stream { src, len: 24 }], &[expected]);
}

#[test]
fn says_what_is_wrong() {
    let wrong = |src: &[u8], len| Stream { src: src.to_vec(), len };
    let streams = [
        wrong(&[1, 7, 7], 4),
        wrong(&[3, 7, 7], 4),
        wrong(&[0xFD], 4),
        wrong(&[128], 1),
        wrong(&[128; 9000], 1),
        wrong(&[0xFC, 1], 4),
        wrong(&[127; 129], 127),
    ];
    for seed in Emulator::seeds() {
        let statuses: Vec<u32> = PACKBITS.launch(&streams, seed).iter().map(|made| made.status).collect();
        assert_eq!(statuses, [1, 1, 1, 1, 1, 3, 3]);
    }
}

#[test]
fn cut_anywhere_agrees_with_the_cpu_engine() {
    let (chain, _) = chain(&mut Random::new(8), 0, 4);
    let packed = PACKBITS.encode(&image_like(3, 150), 50);
    let mut streams = Vec::new();
    for whole in [&chain, &packed] {
        streams.extend((1..whole.src.len()).map(|n| Stream { src: whole.src[..n].to_vec(), len: whole.len }));
        // Less is asked for than the stream holds.
        streams.extend((1..whole.len).step_by(5).map(|len| Stream { src: whole.src.clone(), len }));
    }
    let host = streams.iter().filter(|stream| PACKBITS.on_host(stream).is_ok()).count();
    for seed in Emulator::seeds() {
        assert_eq!(PACKBITS.must_agree(&streams, seed), host, "in tiles the two have the same rule");
    }
}

#[test]
fn mutants_agree_with_the_cpu_engine() {
    let data = image_like(3, 6000);
    let large = PACKBITS.encode(&data, 1000);
    let mut good = 0;
    for seed in Emulator::seeds() {
        let mut random = Random::new(seed);
        let streams: Vec<Stream> = (0..200)
            .map(|i| {
                let kind = i % 4;
                let (small, _) = chain(&mut random, kind, 30);
                let whole = if i % 8 == 0 { large.clone() } else { small };
                Stream { src: random.mutant(&whole.src), len: whole.len }
            })
            .collect();
        good += PACKBITS.must_agree(&streams, seed);
    }
    assert!(good > 300, "{good} mutants still decode");
}

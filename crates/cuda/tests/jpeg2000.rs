//! JPEG 2000 on the emulated device: what OpenJPEG and OpenJPH wrote gives what the CPU engine gives, to the bit, and what
//! is wrong with a stream ends with a fault or with the same pixels.
#![allow(
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test; small numbers made here"
)]

#[path = "../../codestream/tests/crafted/mod.rs"]
mod crafted;
mod jpeg2000_batch;

use jpeg2000_batch::{Stream, decode, fixture, on_the_host, own_fixture};
use strile_emulate::{Emulator, Garbage};
use strile_engine::FaultKind;
use strile_tiff::Compression;

const NAMES: [&str; 17] = [
    "tiny",
    "wide",
    "bypass",
    "termall",
    "all_styles",
    "layers_sop",
    "rlcp",
    "sparse",
    "parts",
    "offset",
    "offset_cprl",
    "offset_pcrl",
    "97",
    "ht_gray16",
    "ht_rgb8",
    "ht_lossy",
    "ht_tiles",
];

fn same_as_the_host(streams: &[Stream], seed: u64) {
    for (index, (made, stream)) in decode(streams, seed).into_iter().zip(streams).enumerate() {
        let host = on_the_host(stream).unwrap();
        let (status, samples) = match made {
            // Tiles whose pixels have samples of another tile are the host's.
            Err(fault) if fault.kind == FaultKind::Unsupported => continue,
            Err(fault) => panic!("stream {index}: {fault}"),
            Ok(made) => made,
        };
        assert_eq!(status, 0, "stream {index}");
        let wrong = samples.iter().zip(&host).position(|(a, b)| a != b);
        assert_eq!((wrong, samples.len()), (None, host.len()), "stream {index}");
    }
}

fn all() -> Vec<Stream> {
    let own = ["rgb8.j2k", "gray16.jp2", "gray_i16.j2k"].map(|name| Stream::read(&own_fixture(name)));
    NAMES.iter().map(|name| Stream::read(&fixture(name))).chain(own).collect()
}

#[test]
fn a_batch_of_all_kinds() {
    let streams = all();
    for seed in [0, 5] {
        same_as_the_host(&streams, seed);
    }
    let taken = decode(&streams, 1).iter().filter(|made| made.is_ok()).count();
    assert!(taken + 2 >= streams.len(), "{taken} of {}", streams.len());
}

#[test]
fn seeds() {
    let streams = ["bypass", "all_styles", "97", "rlcp"].map(|name| Stream::read(&fixture(name)));
    for seed in Emulator::seeds() {
        same_as_the_host(&streams, seed);
    }
}

#[test]
fn ycbcr_of_the_container() {
    let mut stream = Stream::read(&own_fixture("rgb8.j2k"));
    stream.layout.compression = Compression::Jpeg2000YCbCr;
    same_as_the_host(&[stream], 1);
}

#[test]
fn a_strip_has_the_first_rows_of_a_taller_picture() {
    for name in ["rlcp", "parts"] {
        let mut stream = Stream::read(&fixture(name));
        let all = on_the_host(&stream).unwrap();
        for rows in [1, 7, 20] {
            stream.rows = rows;
            let (status, samples) = decode(&[stream.clone()], 3).remove(0).unwrap();
            assert_eq!(status, 0);
            assert!(samples == all[..samples.len()], "{name}, {rows} rows");
        }
    }
}

/// Blocks of a half, a quarter and an eighth of the size, which the CPU engine decodes as OpenJPEG does.
#[test]
fn lower_resolutions() {
    let mut streams = Vec::new();
    for name in ["bypass", "layers_sop", "parts", "97", "sparse", "wide", "ht_gray16", "ht_tiles"] {
        let stream = Stream::read(&fixture(name));
        streams.extend([1, 2].map(|reduce| stream.clone().reduced(reduce)));
    }
    streams.push(Stream::read(&fixture("sparse")).reduced(3));
    streams.push(Stream::read(&own_fixture("jpeg2000/subsampled.j2k")).reduced(1));
    same_as_the_host(&streams, 3);
    assert!(decode(&streams, 4).iter().all(Result::is_ok));
    let fault = decode(&[Stream::read(&fixture("bypass")).reduced(3)], 1).remove(0).unwrap_err();
    assert!(fault.detail.contains("3 wavelet levels to be left out of 2"), "{fault}");
}

/// A stream of 16 KiB that would make code-blocks of hundreds of times as much is left to the host, which has a fault for
/// it.
#[test]
fn code_blocks_take_no_more_memory_than_is_allowed() {
    let stream = Stream::new(crafted::tiny_precincts(256));
    for fault in
        [decode(std::slice::from_ref(&stream), 1).remove(0).unwrap_err(), on_the_host(&stream).unwrap_err()]
    {
        assert_eq!(fault.kind, FaultKind::Unsupported);
        assert!(fault.found > fault.expected && fault.expected > 0, "{fault:?}");
        assert!(fault.detail.contains("bytes found") && fault.detail.contains("allowed"), "{fault}");
    }
}

/// Enough code-blocks that all lanes of warps have one: pictures of a batch are many times the same.
#[test]
fn lanes_of_warps_share_the_work() {
    let picture = Stream::read(&fixture("offset"));
    let host = on_the_host(&picture).unwrap();
    let streams = vec![picture; 4];
    for (status, samples) in decode(&streams, 2).into_iter().map(Result::unwrap) {
        assert_eq!(status, 0);
        assert!(samples == host);
    }
}

/// Bytes changed anywhere after the main header. Nothing outside is touched, everything ends, and what the device calls
/// right is what the host makes of it.
#[test]
fn mutants_end_and_agree_with_the_host() {
    let mut garbage = Garbage::new(77);
    let mut compared = 0;
    for name in ["bypass", "termall", "all_styles", "layers_sop", "97", "parts", "ht_gray16", "ht_lossy"] {
        let stream = Stream::read(&fixture(name));
        let header = stream.bytes.windows(2).position(|w| w == [0xFF, 0x93]).unwrap() + 2;
        let mutants: Vec<Stream> = (0..12)
            .map(|_| {
                let mut mutant = stream.clone();
                for _ in 0..1 + garbage.word() % 3 {
                    let at = header + garbage.word() as usize % (mutant.bytes.len() - header);
                    mutant.bytes[at] = garbage.word() as u8;
                }
                mutant
            })
            .collect();
        for (made, mutant) in decode(&mutants, 9).into_iter().zip(&mutants) {
            if let Ok((0, samples)) = made
                && let Ok(host) = on_the_host(mutant)
            {
                assert!(samples == host, "{name}");
                compared += 1;
            }
        }
    }
    assert!(compared > 20, "{compared}");
}

/// A codeword segment that begins with 0xFF and a carry: OpenJPEG decodes it to what the CPU engine does, and the device
/// leaves it to that. Without the carry, or with one that stays inside, the device decodes it.
#[test]
fn a_carry_beyond_the_start_of_a_segment_is_left_to_the_host() {
    let stream = Stream::read(&fixture("carry"));
    // The last segment, before EOC.
    let segment = stream.bytes.len() - 8;
    assert_eq!(stream.bytes[segment..segment + 2], [0xFF, 0x84]);
    let with = |bytes: [u8; 6]| {
        let mut changed = stream.clone();
        changed.bytes[segment..segment + 6].copy_from_slice(&bytes);
        changed
    };
    let beyond = [stream.clone(), with([0xFF, 0x7F, 0xFF, 0x84, 0xEB, 0xB3])];
    for (made, stream) in decode(&beyond, 1).into_iter().zip(&beyond) {
        assert_eq!(made.unwrap_err().kind, FaultKind::Unsupported);
        on_the_host(stream).unwrap();
    }
    let inside = [
        with([0xFF, 0x7F, 0xEB, 0xB3, 0xE0, 0xEF]),
        with([0xFF, 0x7F, 0xFF, 0x7F, 0xE0, 0xEF]),
        with([0xFF, 0x7E, 0xFF, 0x84, 0xE0, 0xEF]),
        with([0xFF, 0x90, 0xEB, 0xB3, 0xE0, 0xEF]),
        with([0xFE, 0xFF, 0x84, 0xB3, 0xE0, 0xEF]),
    ];
    assert!(decode(&inside, 1).iter().all(Result::is_ok));
    same_as_the_host(&inside, 1);
}

#[test]
fn other_shapes_than_the_blocks_are_refused() {
    let stream = Stream::read(&fixture("bypass"));
    let mut wider = stream.clone();
    wider.layout.width += 1;
    let mut deeper = stream.clone();
    deeper.layout.sample.bits = 12;
    for wrong in [wider, deeper] {
        assert_eq!(decode(&[wrong], 1).remove(0).unwrap_err().kind, FaultKind::WrongShape);
    }
}

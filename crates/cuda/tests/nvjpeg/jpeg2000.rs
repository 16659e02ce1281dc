//! nvJPEG2000: states, waits and failures.

use crate::batch::{Stored, decode};
use crate::{count, device, fixture, layout, no_misuse, numbered, pattern, ready, standin, waited};
use std::collections::BTreeMap;
use std::sync::Arc;
use strile_cuda::picture::Decoder;
use strile_cuda::picture::nvjpeg2000::Nvjpeg2000;
use strile_emulate::nvjpeg2000;
use strile_engine::BlockLayout;
use strile_tiff::{Compression as C, DataType, SampleFormat, SampleType};

const COM: u8 = 0x64;
const QCD: u8 = 0x5C;
/// What the stand-in takes for itself with a state that decodes such a tile.
const OWN: u64 = 4 * 13 * 9 * 3 + 1000;

/// So many tiles of 13 x 9 pixels of three bytes, each with a number.
fn tiles(count: u32) -> Vec<Stored> {
    let layout = Arc::new(layout(C::Jpeg2000, (13, 9), 3, 8));
    let stream = fixture("rgb8.j2k");
    (0..count).map(|i| (numbered(&stream, QCD, COM, i, b""), Arc::clone(&layout))).collect()
}

fn open(states: usize) -> Nvjpeg2000 {
    let path = ready(nvjpeg2000((0, 11), true).unwrap());
    Nvjpeg2000::load(&device(), path.as_os_str(), states).unwrap()
}

fn expected(count: u32) -> Vec<Option<Vec<u8>>> {
    (0..count).map(|i| Some(pattern(i, 13 * 9 * 3))).collect()
}

#[test]
fn one_pool_and_one_wait_whatever_the_number_of_tiles() {
    let Some(standin) = standin() else { return };
    let device = device();
    for seed in 1..5 {
        for (states, n) in [(1, 1), (1, 9), (4, 3), (4, 41), (8, 100)] {
            standin.set(&format!("seed={seed}"));
            let decoder = open(states);
            assert_eq!(decode(&decoder, &device, &tiles(n)).unwrap(), expected(n));
            // What the library takes for itself it keeps.
            let calls = standin.calls();
            no_misuse(&calls);
            let used = states.min(n as usize);
            assert_eq!(count(&calls, "nvjpeg2kDecodeStateCreate"), used);
            assert_eq!(decode(&decoder, &device, &tiles(n)).unwrap(), expected(n));
            let calls = standin.calls();
            no_misuse(&calls);
            assert_eq!(count(&calls, "nvjpeg2kDecodeStateCreate"), 0);
            assert_eq!(count(&calls, "nvjpeg2kDecodeImage"), n as usize);
            // A state that was not yet used takes its own when it is.
            let taken = calls.iter().filter(|call| call.name == "cuMemAllocFromPoolAsync");
            assert_eq!(taken.filter(|call| call.size != Some(OWN)).count(), 1, "one pool");
            assert_eq!(count(&calls, "cuMemsetD8Async"), 1, "all samples cleared at once");
            assert_eq!(count(&calls, "cuMemsetD32Async"), 2, "statuses, before and after");
            assert_eq!(count(&calls, "cuStreamSynchronize") + count(&calls, "cuCtxSynchronize"), 0);
            // That of the batch, those of the test before and after it, and at most one for each state.
            assert!(waited(&calls).len() <= used + 3, "{:?}", waited(&calls));
            let mut by_state: BTreeMap<&str, &str> = BTreeMap::new();
            for call in calls.iter().filter(|call| call.name == "nvjpeg2kDecodeImage") {
                let (state, stream) = (call.fact("state").unwrap(), call.fact("stream").unwrap());
                assert_eq!(
                    *by_state.entry(state).or_insert(stream),
                    stream,
                    "a state has a stream of its own"
                );
            }
            drop(decoder);
            no_misuse(&standin.calls());
            assert_eq!(device.pool().current(), 0);
        }
    }
}

#[test]
fn one_picture_that_fails_is_one_picture() {
    let Some(standin) = standin() else { return };
    let device = device();
    for planted in [
        "nvjpeg2kStreamParse:5:3",
        "nvjpeg2kDecodeImage:5:4",
        "nvjpeg2kDecodeImage:1:6",
        "nvjpeg2kStreamGetImageInfo:7:1000",
        "nvjpeg2kStreamGetImageInfo:7:8",
    ] {
        let decoder = open(4);
        standin.set(&format!("fail={planted}"));
        let found = decode(&decoder, &device, &tiles(12)).unwrap();
        let wrong: Vec<usize> = (0..12).filter(|&i| found[i].is_none()).collect();
        assert_eq!(wrong.len(), 1, "{planted}: {wrong:?}");
        let right = |i: usize| found[i].is_none() || found[i] == Some(pattern(i as u32, 13 * 9 * 3));
        assert!((0..12).all(right), "{planted}");
        // The state that met it goes on.
        assert_eq!(decode(&decoder, &device, &tiles(12)).unwrap(), expected(12));
        no_misuse(&standin.calls());
    }
}

#[test]
fn without_states_or_memory_all_pictures_are_the_hosts() {
    let Some(standin) = standin() else { return };
    let device = device();
    let decoder = open(2);
    standin.set("fail=nvjpeg2kDecodeStateCreate:1:5");
    assert_eq!(decode(&decoder, &device, &tiles(5)).unwrap(), vec![None; 5]);
    // The library wants more than four times the samples for itself.
    let limit = device.budget().limit();
    device.budget().set_limit(1000);
    assert_eq!(decode(&decoder, &device, &tiles(5)).unwrap(), vec![None; 5]);
    device.budget().set_limit(limit);
    assert_eq!(decode(&decoder, &device, &tiles(5)).unwrap(), expected(5));
    let used = device.budget().limit() - device.budget().free();
    assert!(decoder.taken() == OWN || decoder.taken() == 2 * OWN, "one state may have done all");
    assert_eq!(used, decoder.taken(), "what it takes is counted");
    drop(decoder);
    assert_eq!(device.budget().free(), device.budget().limit());
    no_misuse(&standin.calls());
}

#[test]
fn streams_that_are_not_the_blocks_are_refused_before_the_library_sees_them() {
    let Some(standin) = standin() else { return };
    let decoder = open(1);
    standin.calls();
    let stream = fixture("rgb8.j2k");
    let parse = |stream: &[u8], layout: &BlockLayout| decoder.parse(stream, layout, layout.height).err();
    assert_eq!(parse(&stream, &layout(C::Jpeg2000, (13, 9), 3, 8)), None);
    for wrong in [
        layout(C::Jpeg2000, (12, 9), 3, 8),
        layout(C::Jpeg2000, (13, 10), 3, 8),
        layout(C::Jpeg2000, (13, 9), 1, 8),
        layout(C::Jpeg2000, (13, 9), 3, 16),
    ] {
        assert!(parse(&stream, &wrong).is_some(), "{wrong:?}");
    }
    for len in 0..stream.len() - 2 {
        let right = layout(C::Jpeg2000, (13, 9), 3, 8);
        assert!(parse(&stream[..len], &right).is_some(), "cut to {len} bytes");
    }
    let signed = BlockLayout {
        sample: SampleType { format: SampleFormat::Int, bits: 16 },
        data_type: DataType::I16,
        ..layout(C::Jpeg2000, (13, 9), 1, 16)
    };
    assert_eq!(parse(&fixture("gray_i16.j2k"), &signed), None);
    assert_eq!(parse(&fixture("gray16.jp2"), &layout(C::Jpeg2000, (13, 9), 1, 16)), None);
    assert!(parse(&fixture("gray16.jp2"), &signed).is_some());
    assert!(standin.calls().iter().all(|call| !call.name.starts_with("nvjpeg2kStreamParse")));
    let takes = |layout: BlockLayout| decoder.takes(&layout);
    assert_eq!(takes(layout(C::Jpeg2000Rgb, (13, 9), 3, 8)), Ok(()));
    assert!(takes(layout(C::Jpeg2000YCbCr, (13, 9), 3, 8)).is_err());
    assert!(takes(layout(C::Jpeg, (13, 9), 3, 8)).is_err());
    let wide = BlockLayout { data_type: DataType::U32, ..layout(C::Jpeg2000, (13, 9), 1, 32) };
    assert_eq!(takes(wide), Err("samples of uint32".to_owned()));
}

#[test]
fn files_around_codestreams_are_left_out() {
    let Some(standin) = standin() else { return };
    let layout = Arc::new(layout(C::Jpeg2000, (13, 9), 1, 16));
    let stream = numbered(&fixture("gray16.jp2"), QCD, COM, 3, b"");
    // The box that holds the codestream is longer now: to the end of the file.
    let at = stream.windows(4).position(|word| word == b"jp2c").unwrap();
    let stream = [&stream[..at - 4], &[0; 4], &stream[at..]].concat();
    let found = decode(&open(1), &device(), &[(stream, layout)]).unwrap();
    assert_eq!(found, [Some(pattern(3, 13 * 9 * 2))]);
    no_misuse(&standin.calls());
}

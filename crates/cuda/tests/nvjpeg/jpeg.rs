//! nvJPEG: one call a kind of picture, taken apart where it fails.

use crate::batch::{Stored, decode};
use crate::{count, device, fixture, layout, no_misuse, numbered, pattern, ready, standin, waited};
use std::sync::Arc;
use strile_cuda::picture::Decoder;
use strile_cuda::picture::nvjpeg::Nvjpeg;
use strile_emulate::{Call, nvjpeg};
use strile_engine::BlockLayout;
use strile_tiff::{Compression as C, YCbCr};

const COM: u8 = 0xFE;
const SOF: u8 = 0xC0;

fn open() -> Nvjpeg {
    let path = ready(nvjpeg((13, 2), true).unwrap());
    Nvjpeg::load(&device(), path.as_os_str(), true).unwrap()
}

fn grey() -> BlockLayout {
    layout(C::Jpeg, (24, 16), 1, 8)
}

fn ycbcr() -> BlockLayout {
    let mut layout = layout(C::Jpeg, (24, 16), 3, 8);
    layout.extras.ycbcr = Some(YCbCr::default());
    layout
}

/// Tiles with numbers, every third of them grey; `text` says what the stand-in thinks of one.
fn tiles(count: u32, text: impl Fn(u32) -> &'static [u8]) -> Vec<Stored> {
    let (grey, ycbcr) = (Arc::new(grey()), Arc::new(ycbcr()));
    let streams = [fixture("gray.jpg"), fixture("ycbcr420.jpg")];
    let tile = |i: u32| match i % 3 {
        0 => (numbered(&streams[0], SOF, COM, i, text(i)), Arc::clone(&grey)),
        _ => (numbered(&streams[1], SOF, COM, i, text(i)), Arc::clone(&ycbcr)),
    };
    (0..count).map(tile).collect()
}

fn samples(i: u32) -> Vec<u8> {
    pattern(i, 24 * 16 * if i.is_multiple_of(3) { 1 } else { 3 })
}

fn expected(count: u32) -> Vec<Option<Vec<u8>>> {
    (0..count).map(|i| Some(samples(i))).collect()
}

fn fine(_: u32) -> &'static [u8] {
    b"fine"
}

/// How many pictures each call had.
fn batches(calls: &[Call]) -> Vec<usize> {
    let calls = calls.iter().filter(|call| call.name == "nvjpegDecodeBatched");
    calls.map(|call| call.fact("count").unwrap().parse().unwrap()).collect()
}

#[test]
fn a_kind_of_picture_is_one_call_whatever_the_number_of_tiles() {
    let Some(standin) = standin() else { return };
    let device = device();
    for seed in 1..5 {
        standin.set(&format!("seed={seed}"));
        let decoder = open();
        for n in [2, 90] {
            // Either state may decode either kind, and takes its own memory the first time.
            for _ in 0..2 {
                assert_eq!(decode(&decoder, &device, &tiles(n, fine)).unwrap(), expected(n));
            }
            standin.calls();
            assert_eq!(decode(&decoder, &device, &tiles(n, fine)).unwrap(), expected(n));
            let calls = standin.calls();
            no_misuse(&calls);
            let grey = n.div_ceil(3) as usize;
            assert_eq!(batches(&calls), [grey, n as usize - grey]);
            assert_eq!(count(&calls, "cuMemAllocFromPoolAsync"), 1, "one pool");
            assert_eq!(count(&calls, "cuMemsetD8Async"), 1, "all samples cleared at once");
            assert_eq!(count(&calls, "cuStreamSynchronize") + count(&calls, "cuCtxSynchronize"), 0);
            // That of the batch, those of the test before and after it, and those of the states' last batches.
            assert!(waited(&calls).len() <= 5, "{:?}", waited(&calls));
        }
        drop(decoder);
        assert_eq!(device.pool().current(), 0);
        no_misuse(&standin.calls());
    }
}

#[test]
fn a_call_that_fails_is_taken_apart() {
    let Some(standin) = standin() else { return };
    let device = device();
    let decoder = open();
    for bad in [vec![1], vec![0, 3], vec![2, 13, 29], (0..30).collect()] {
        let text = |i: u32| -> &'static [u8] { if bad.contains(&i) { b"bad" } else { b"fine" } };
        let found = decode(&decoder, &device, &tiles(30, text)).unwrap();
        let right: Vec<Option<Vec<u8>>> = (0..30).map(|i| (!bad.contains(&i)).then(|| samples(i))).collect();
        assert!(found == right, "{bad:?}");
        no_misuse(&standin.calls());
    }
    // What the library says it does not take never comes to a call, which then need not be taken apart.
    let text = |i: u32| -> &'static [u8] { if i == 4 { b"odd" } else { b"fine" } };
    let found = decode(&decoder, &device, &tiles(30, text)).unwrap();
    assert_eq!((0..30).filter(|&i| found[i].is_none()).collect::<Vec<_>>(), [4]);
    assert_eq!(batches(&standin.calls()), [10, 19]);
    for planted in ["nvjpegDecodeBatched:1:6", "nvjpegDecodeBatchedInitialize:2:8"] {
        standin.set(&format!("fail={planted}"));
        assert_eq!(decode(&decoder, &device, &tiles(30, fine)).unwrap(), expected(30), "{planted}");
        no_misuse(&standin.calls());
    }
}

#[test]
fn without_a_state_its_pictures_are_the_hosts() {
    let Some(standin) = standin() else { return };
    let decoder = open();
    standin.set("fail=nvjpegJpegStateCreate:1:5");
    let found = decode(&decoder, &device(), &tiles(9, fine)).unwrap();
    let colours: Vec<Option<Vec<u8>>> = (0..9).map(|i| (i % 3 != 0).then(|| samples(i))).collect();
    assert!(found == colours);
    assert_eq!(decode(&decoder, &device(), &tiles(9, fine)).unwrap(), expected(9));
    no_misuse(&standin.calls());
}

#[test]
fn engines_of_the_device_are_taken_where_it_has_some() {
    let Some(standin) = standin() else { return };
    let backends = |calls: &[Call]| -> Vec<String> {
        let created = calls.iter().filter(|call| call.name == "nvjpegCreateExV2");
        created.map(|call| call.fact("backend").unwrap().to_owned()).collect()
    };
    standin.calls();
    assert_eq!(open().name(), "nvJPEG 13.2.3 on 7 engines");
    assert_eq!(backends(&standin.calls()), ["3"]);
    standin.set("fail=nvjpegCreateExV2:1:7");
    assert_eq!(open().name(), "nvJPEG 13.2.3");
    assert_eq!(backends(&standin.calls()), ["3", "2"]);
    standin.set("fail=nvjpegCreateExV2:1:8");
    let path = ready(nvjpeg((13, 2), true).unwrap());
    let error = Nvjpeg::load(&device(), path.as_os_str(), true).err().unwrap();
    assert_eq!(error.to_string(), "`nvjpegCreateExV2` failed with status 8 (internal error)");
}

#[test]
fn abbreviated_streams_are_completed() {
    let Some(standin) = standin() else { return };
    let whole = numbered(&fixture("gray.jpg"), SOF, COM, 6, b"");
    // The tables go to JPEGTables, the rest stays; the stand-in knows no stream without tables.
    let (mut tables, mut rest) = (vec![0xFF, 0xD8], vec![0xFF, 0xD8]);
    let mut at = 2;
    while whole[at + 1] != 0xDA {
        let end = at + 2 + usize::from(u16::from_be_bytes([whole[at + 2], whole[at + 3]]));
        if matches!(whole[at + 1], 0xDB | 0xC4) { &mut tables } else { &mut rest }.extend(&whole[at..end]);
        at = end;
    }
    tables.extend([0xFF, 0xD9]);
    rest.extend(&whole[at..]);
    let mut layout = grey();
    layout.extras.jpeg_tables = Some(tables.into());
    let found = decode(&open(), &device(), &[(rest, Arc::new(layout))]).unwrap();
    assert_eq!(found, [Some(pattern(6, 24 * 16))]);
    no_misuse(&standin.calls());
}

#[test]
fn layouts_and_streams_that_are_not_taken() {
    let Some(_standin) = standin() else { return };
    let decoder = open();
    assert_eq!(decoder.takes(&grey()), Ok(()));
    assert_eq!(decoder.takes(&ycbcr()), Ok(()));
    let refused = |layout: BlockLayout| decoder.takes(&layout).unwrap_err();
    assert_eq!(refused(layout(C::Jpeg, (24, 16), 3, 8)), "3 samples that are not YCbCr");
    assert_eq!(refused(layout(C::Jpeg, (24, 16), 4, 8)), "4 samples that are not YCbCr");
    assert_eq!(refused(layout(C::Jpeg, (24, 16), 1, 12)), "samples of 12 bits");
    let stream = fixture("gray.jpg");
    assert!(decoder.parse(&stream, &grey(), 16).is_ok());
    assert!(decoder.parse(&stream, &grey(), 15).is_err());
    assert!(decoder.parse(&stream, &ycbcr(), 16).is_err());
    for len in 0..stream.len() - 1 {
        assert!(decoder.parse(&stream[..len], &grey(), 16).is_err(), "cut to {len} bytes");
    }
}

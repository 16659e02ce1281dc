//! JPEG 2000 and JPEG through the whole engine, by kernels of our own: pixels and faults are those of the CPU engine, and
//! what is asked of the driver does not grow with the pictures.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "code of tests: it fails by panicking, and knows its numbers"
)]

mod on_any;

use on_any::picture::{Picture, layout};
use on_any::{engine, on_a_device};
use strile_cpu::CpuEngine;
use strile_cuda::CudaEngine;
use strile_emulate::{Alone, Call, StandIn};
use strile_engine::{
    BlockLayout, Context, Decoder, Encoded, Engine, Held, LocatedFault, Output, OutputKind, Report, Span,
    Submission, Supply,
};
use strile_tiff::{Compression as C, DataType, Photometric, SampleFormat, SampleType, YCbCr};

/// The stand-in for one test at a time; `None` on a device.
fn alone() -> Option<Alone> {
    (!on_a_device()).then(|| StandIn::load().unwrap().alone())
}

fn count(calls: &[Call], name: &str) -> usize {
    calls.iter().filter(|call| call.name == name).count()
}

fn of_bytes(compression: C, samples: u16) -> BlockLayout {
    let sample = SampleType { format: SampleFormat::Uint, bits: 8 };
    let mut layout = BlockLayout { samples, sample, data_type: DataType::U8, ..layout(compression) };
    layout.extras.photometric = if samples == 3 { Photometric::Rgb } else { Photometric::MinIsBlack };
    layout
}

/// Grey of 16 bits and colours of 8 in JPEG 2000, without loss; grey, and colours with chroma of half size, in JPEG.
fn pictures(blocks: u32) -> [Picture; 4] {
    let mut ycbcr = of_bytes(C::Jpeg, 3);
    ycbcr.extras.photometric = Photometric::YCbCr;
    ycbcr.extras.ycbcr = Some(YCbCr::default());
    [
        Picture::new(C::Jpeg2000, blocks),
        Picture::with(of_bytes(C::Jpeg2000, 3), blocks, |_, value| value),
        Picture::with(of_bytes(C::Jpeg, 1), blocks, |i, _| (i / 7 % 251) as u16),
        Picture::with(ycbcr, blocks, |i, _| (i / 9 % 251) as u16),
    ]
}

fn run(engine: &dyn Engine, picture: &Picture, encoded: Encoded, output: &Output) -> Report {
    let ticket = engine.submit(picture.job(), encoded, std::slice::from_ref(output), &Context::default());
    ticket.unwrap().wait().unwrap()
}

/// Faults and pixels of a job on the CPU.
fn expected(picture: &Picture) -> (Report, Vec<u8>) {
    let output = picture.poisoned();
    let report = run(&CpuEngine::new(), picture, picture.staged(), &output);
    (report, output.into_vec().unwrap())
}

fn assert_same(picture: &Picture, found: &[u8], expected: &[u8], what: &str) {
    let first = found.iter().zip(expected).position(|(a, b)| a != b);
    let (codec, samples) = (picture.layout.compression, picture.layout.samples);
    assert!(found == expected, "{codec:?} of {samples}, {what}: first at {first:?}");
}

#[test]
fn every_pixel_is_that_of_the_cpu() {
    let standin = alone();
    let engine = engine().unwrap();
    for picture in pictures(3) {
        let (report, pixels) = expected(&picture);
        assert_eq!(report.faults, []);
        let name = (picture.layout.compression, picture.layout.samples);
        assert_eq!(CudaEngine::on_device(&picture.layout), Ok(()), "{name:?}");
        let there = Encoded::Device(engine.upload(&picture.bytes, &Context::default()).unwrap());
        for encoded in [picture.staged(), picture.pulled(), there] {
            let output = picture.poisoned();
            let report = run(&engine, &picture, encoded, &output);
            assert_eq!((report.blocks, report.host_blocks, report.faults), (3, 0, vec![]), "{name:?}");
            assert_same(&picture, &output.into_vec().unwrap(), &pixels, "pixels");
        }
        if picture.layout.compression == C::Jpeg2000 {
            assert!(pixels == picture.pixels, "without loss");
        }
    }
    if let Some(standin) = standin {
        assert_eq!(count(&standin.calls(), "!"), 0, "misuse");
    }
}

#[test]
fn what_a_batch_asks_of_the_driver_does_not_grow_with_its_pictures() {
    let Some(standin) = alone() else { return };
    let engine = engine().unwrap();
    let calls = |picture: &Picture| {
        let output = engine.output(picture.spec(), &Context::default()).unwrap();
        run(&engine, picture, picture.pulled(), &output);
        standin.calls();
        assert_eq!(run(&engine, picture, picture.pulled(), &output).host_blocks, 0);
        standin.calls()
    };
    for (few, many) in pictures(2).iter().zip(&pictures(7)) {
        let (few, many) = (calls(few), calls(many));
        for (name, asked) in [
            ("cuMemAllocFromPoolAsync", 1),
            ("cuMemHostAlloc", 0),
            ("cuMemcpyHtoDAsync_v2", 1),
            ("cuMemcpyDtoHAsync_v2", 1),
            ("cuCtxSynchronize", 0),
        ] {
            assert_eq!((count(&few, name), count(&many, name)), (asked, asked), "{name}");
        }
        for name in ["cuLaunchKernel", "cuStreamWaitEvent", "cuEventCreate"] {
            assert_eq!(count(&few, name), count(&many, name), "{name}");
        }
        assert!(count(&many, "cuEventSynchronize") <= 8, "{}", count(&many, "cuEventSynchronize"));
    }
}

#[test]
fn what_is_broken_is_a_fault_in_its_place_and_other_pixels_are_right() {
    let _alone = alone();
    let engine = engine().unwrap();
    for mut picture in pictures(5) {
        let name = (picture.layout.compression, picture.layout.samples);
        // One that is cut off, and one with a header that is none.
        picture.tasks[1].span.as_mut().unwrap().len /= 2;
        let corrupt = picture.tasks[3].span.unwrap().offset as usize;
        picture.bytes[corrupt + 2..corrupt + 12].fill(0x5A);
        let (report, pixels) = expected(&picture);
        assert!(report.faults.iter().any(|fault| fault.address.row == 3), "{name:?}: {:?}", report.faults);
        let output = picture.poisoned();
        let found = run(&engine, &picture, picture.pulled(), &output);
        assert_eq!(found.faults, report.faults, "{name:?}");
        assert_same(&picture, &output.into_vec().unwrap(), &pixels, "beside what is broken");
    }
}

/// One CUDA block decodes a scan, however long it is: a strip of many megabytes is the host's, and the plan's.
#[test]
fn a_jpeg_stream_of_megabytes_does_not_hold_the_device() {
    let _alone = alone();
    let engine = engine().unwrap();
    let [.., mut picture] = pictures(3);
    // Comments after SOI make it long.
    let span = picture.tasks[1].span.unwrap();
    let stream = picture.bytes[span.offset as usize..][..span.len as usize].to_vec();
    let begin = picture.bytes.len();
    picture.bytes.extend(&stream[..2]);
    for _ in 0..33 {
        picture.bytes.extend([0xFF, 0xFE, 0xFF, 0xFF]);
        picture.bytes.extend([0; 0xFFFD]);
    }
    picture.bytes.extend(&stream[2..]);
    picture.tasks[1].span = Some(Span { offset: begin as u64, len: (picture.bytes.len() - begin) as u64 });
    let (report, pixels) = expected(&picture);
    assert_eq!(report.faults, []);
    let output = picture.poisoned();
    let outputs = [OutputKind::from(&output)];
    let submission = Submission { supply: Supply::Pulled, outputs: &outputs, held: Held::default() };
    let plan = engine.plan(&picture.job(), &submission, &Context::default()).unwrap();
    let mut by: Vec<_> =
        plan.routes.iter().map(|route| (route.blocks, route.decoder, route.reason.as_deref())).collect();
    by.sort_by_key(|route| route.0);
    let long = Some("longer than 2 MiB, each would hold the device for long");
    assert_eq!(by, [(1, Decoder::Host, long), (2, Decoder::Kernels, None)]);
    let report = run(&engine, &picture, picture.pulled(), &output);
    assert_eq!((report.blocks, report.host_blocks, report.faults), (3, 1, vec![]));
    assert_same(&picture, &output.into_vec().unwrap(), &pixels, "pixels");
}

/// Blocks of half and a quarter of the stored size, without one and two wavelet levels; a fault names how many there are.
#[test]
fn lower_resolutions_are_those_of_the_cpu() {
    let standin = alone();
    let engine = engine().unwrap();
    for picture in pictures(3).into_iter().filter(|picture| picture.layout.compression.is_jpeg2000()) {
        for reduce in [1, 2, 20] {
            let smaller = picture.reduced(reduce);
            let (report, pixels) = expected(&smaller);
            assert_eq!(CudaEngine::on_device(&smaller.layout), Ok(()));
            let output = smaller.poisoned();
            let found = run(&engine, &smaller, smaller.staged(), &output);
            assert_eq!(found.faults, report.faults);
            assert_eq!(found.host_blocks, if reduce == 20 { 3 } else { 0 });
            assert!(output.into_vec().unwrap() == pixels, "less {reduce}");
            let named = format!("{reduce} wavelet levels to be left out of");
            let is_named = |fault: &LocatedFault| fault.fault.detail.contains(&named);
            assert_eq!(report.faults.iter().filter(|fault| is_named(fault)).count(), report.faults.len());
            assert_eq!(report.faults.is_empty(), reduce < 20);
        }
    }
    let mut other = of_bytes(C::Deflate, 1);
    other.extras.reduce = 1;
    assert_eq!(CudaEngine::on_device(&other), Err("no lower resolution of deflate".to_owned().into()));
    if let Some(standin) = standin {
        assert_eq!(count(&standin.calls(), "!"), 0, "misuse");
    }
}

/// Changed bytes anywhere: whatever the CPU engine makes of a block is what is found.
#[test]
fn mutants_are_what_they_are_on_the_cpu() {
    let _alone = alone();
    let engine = engine().unwrap();
    for mut picture in pictures(24) {
        let name = (picture.layout.compression, picture.layout.samples);
        let mut state = 0x1234_5678_u32;
        let mut below = |limit: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as usize % limit.max(1)
        };
        for task in &picture.tasks {
            let span = task.span.unwrap();
            for _ in 0..1 + below(3) {
                let at = span.offset as usize + below(span.len as usize);
                picture.bytes[at] = below(256) as u8;
            }
        }
        let (report, pixels) = expected(&picture);
        let output = picture.poisoned();
        let found = run(&engine, &picture, picture.staged(), &output);
        assert_eq!(found.faults, report.faults, "{name:?}");
        assert_same(&picture, &output.into_vec().unwrap(), &pixels, "mutants");
    }
}

//! How the engine uses the driver, by what the stand-in driver recorded: one allocation per job, the guard before it, one
//! copy per slab, waits that do not grow with the blocks, and the few calls of a small read; and what it makes of failures.
//!
//! The recording needs the stand-in; what is only about pixels runs on a device as well.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "code of tests: it fails by panicking, and knows its numbers"
)]

mod on_any;

use on_any::picture::{Memory, Picture};
use on_any::{engine, on_a_device};
use std::sync::Arc;
use strile_cpu::CpuEngine;
use strile_cuda::{CudaEngine, CudaOptions, DirectIo, Split};
use strile_emulate::{Alone, Call, StandIn};
use strile_engine::{
    Context, DecodeJob, Encoded, Engine, EngineError, FaultKind, Held, Output, OutputKind, OutputSpec,
    ReadAt, Report, Span, Submission, Supply,
};
use strile_tiff::{Compression as C, DataType, YCbCr};

/// The stand-in for one test at a time; `None` on a device.
fn alone() -> Option<Alone> {
    (!on_a_device()).then(|| StandIn::load().unwrap().alone())
}

/// The same, for tests that are about its records.
fn standin() -> Option<Alone> {
    let standin = alone();
    if standin.is_none() {
        eprintln!("skipped: a device is required, and this looks at the calls of the stand-in");
    }
    standin
}

fn open(limit: Option<u64>) -> CudaEngine {
    CudaEngine::open(
        0,
        Arc::new(CpuEngine::new()),
        CudaOptions { memory_limit: limit, ..CudaOptions::default() },
    )
    .unwrap()
}

fn count(calls: &[Call], name: &str) -> usize {
    calls.iter().filter(|call| call.name == name).count()
}

fn run(engine: &CudaEngine, picture: &Picture, encoded: Encoded, output: &Output) -> Report {
    let ticket = engine.submit(picture.job(), encoded, std::slice::from_ref(output), &Context::default());
    ticket.unwrap().wait().unwrap()
}

/// Calls of one job over so many blocks, after one that loaded what stays.
fn calls_of(standin: &Alone, engine: &CudaEngine, blocks: u32) -> Vec<Call> {
    let picture = Picture::new(C::Lzw, blocks);
    let output = engine.output(picture.spec(), &Context::default()).unwrap();
    run(engine, &picture, picture.pulled(), &output);
    standin.calls();
    let report = run(engine, &picture, picture.pulled(), &output);
    assert_eq!((report.blocks, report.host_blocks, report.faults.len()), (u64::from(blocks), 0, 0));
    let calls = standin.calls();
    assert_eq!(count(&calls, "!"), 0, "misuse");
    calls
}

#[test]
fn what_a_job_asks_of_the_driver_does_not_grow_with_its_blocks() {
    let Some(standin) = standin() else { return };
    let engine = open(None);
    let few = calls_of(&standin, &engine, 3);
    let many = calls_of(&standin, &engine, 150);
    for calls in [&few, &many] {
        assert_eq!(count(calls, "cuMemAllocFromPoolAsync"), 1, "one arena");
        assert_eq!(count(calls, "cuMemHostAlloc"), 0, "nothing is pinned on the way");
        assert_eq!(count(calls, "cuMemcpyHtoDAsync_v2"), 1, "encoded bytes and tables together");
        assert_eq!(count(calls, "cuMemcpyDtoHAsync_v2"), 1, "all statuses at once");
        assert_eq!(count(calls, "cuLaunchKernel"), 2, "decompress, place");
        assert_eq!(count(calls, "cuCtxSynchronize"), 0);
        assert_eq!(count(calls, "cuEventCreate") + count(calls, "cuEventDestroy_v2"), 0, "events are kept");
        assert_eq!(count(calls, "cuStreamWaitEvent"), 0, "one stream");
        assert!(count(calls, "cuEventSynchronize") <= 1, "one wait");
        assert_eq!(count(calls, "cuEventRecord"), 7, "before and after each stage, and two copies");
        let allocated = calls.iter().position(|call| call.name == "cuMemAllocFromPoolAsync").unwrap();
        let copied = calls.iter().position(|call| call.name == "cuMemcpyHtoDAsync_v2").unwrap();
        assert!(allocated < copied);
    }
}

#[test]
fn a_job_of_several_batches_sends_tables_and_slabs_by_one_copy_each() {
    let Some(standin) = standin() else { return };
    let options = CudaOptions { launch_bytes: Some(64 << 10), ..CudaOptions::default() };
    let engine = CudaEngine::open(0, Arc::new(CpuEngine::new()), options).unwrap();
    let counts = [150, 300].map(|blocks| {
        let calls = calls_of(&standin, &engine, blocks);
        let batches = count(&calls, "cuMemcpyDtoHAsync_v2");
        assert!(batches > 1, "{batches}");
        assert_eq!(count(&calls, "cuMemAllocFromPoolAsync"), 1, "one arena");
        // How many tables are on their way at once varies by one from read to read.
        assert!(count(&calls, "cuMemHostAlloc") <= 1, "nothing is pinned per batch");
        assert_eq!(count(&calls, "cuMemcpyHtoDAsync_v2"), 2 * batches, "a slab and the tables");
        assert_eq!(count(&calls, "cuLaunchKernel"), 2 * batches, "decompress, place");
        assert_eq!(count(&calls, "cuEventCreate"), 0, "events are kept");
        // Each slab, batch, table and list of statuses, and each stream at the end; fewer where they were done before.
        let waits = count(&calls, "cuEventSynchronize");
        assert!(waits <= 4 * batches + 5, "{waits}");
        batches
    });
    assert!(counts[0] < counts[1], "{counts:?}");
}

/// The calls of a read of one tile into new memory of the device: what a window of an open file costs the host.
#[test]
fn a_read_of_one_tile_asks_little_of_the_driver() {
    let Some(standin) = standin() else { return };
    let engine = open(None);
    let picture = Picture::new(C::Deflate, 1);
    let read = || {
        let output = engine.output(picture.spec(), &Context::default()).unwrap();
        let outputs = std::slice::from_ref(&output);
        let report = engine.decode(picture.job(), picture.pulled(), outputs, &Context::default()).unwrap();
        assert_eq!((report.blocks, report.host_blocks, report.faults.len()), (1, 0, 0));
    };
    read();
    standin.calls();
    read();
    let calls = standin.calls();
    assert_eq!(count(&calls, "!"), 0, "misuse");
    for (name, expected) in [
        ("cuMemAllocFromPoolAsync", 2),
        ("cuMemFreeAsync", 2),
        ("cuMemHostAlloc", 0),
        ("cuMemcpyHtoDAsync_v2", 1),
        ("cuMemcpyDtoHAsync_v2", 1),
        ("cuMemsetD8Async", 0),
        ("cuStreamCreate", 0),
        ("cuStreamWaitEvent", 0),
        ("cuEventCreate", 0),
        ("cuEventRecord", 7),
        ("cuEventElapsedTime", 3),
    ] {
        assert_eq!(count(&calls, name), expected, "{name}");
    }
    assert!(count(&calls, "cuLaunchKernel") <= 3, "{}", count(&calls, "cuLaunchKernel"));
    assert!(count(&calls, "cuEventSynchronize") <= 1, "one wait");
}

#[test]
fn a_read_that_does_not_fit_fails_before_the_first_allocation() {
    let Some(standin) = standin() else { return };
    let picture = Picture::new(C::Deflate, 40);
    let engine = open(Some(20_000));
    standin.calls();
    let output = picture.poisoned();
    let refused =
        engine.submit(picture.job(), picture.staged(), std::slice::from_ref(&output), &Context::default());
    let Some(EngineError::Budget(error)) = refused.err() else { panic!("not refused") };
    assert_eq!((error.limit, error.free, error.purpose), (20_000, 20_000, "decoding on the device"));
    assert!(error.need > 20_000);
    let calls = standin.calls();
    assert_eq!(count(&calls, "cuMemAllocFromPoolAsync") + count(&calls, "cuMemHostAlloc"), 0);
    let too_large = engine.output(Picture::new(C::None, 80).spec(), &Context::default());
    assert!(matches!(too_large.err(), Some(EngineError::Budget(_))));
    assert_eq!(count(&standin.calls(), "cuMemAllocFromPoolAsync"), 0);
    drop(engine);
    // The same with room.
    let report = run(&open(Some(64 << 20)), &picture, picture.staged(), &output);
    assert_eq!(report.faults, []);
    assert!(output.into_vec().unwrap() == picture.pixels);
}

#[test]
fn a_short_read_names_its_block() {
    let _alone = alone();
    let engine = engine().unwrap();
    let picture = Picture::new(C::Zstd, 6);
    let cut = picture.bytes.len() - 3;
    let short: Arc<dyn ReadAt> = Arc::new(Memory(picture.bytes[..cut].to_vec()));
    let output = picture.poisoned();
    let report = run(&engine, &picture, Encoded::Pulled(vec![short]), &output);
    let [fault] = report.faults.as_slice() else { panic!("{:?}", report.faults) };
    assert_eq!((fault.address.row, fault.fault.kind), (5, FaultKind::Unreadable));
    let (good, bad) = picture.pixels.split_at(picture.pixels.len() / 6 * 5);
    let found = output.into_vec().unwrap();
    assert!(found.starts_with(good));
    assert_eq!(found[good.len()..], vec![7; bad.len()], "filled");
}

/// A source of someone else's that panics when it is read.
struct Panics;

impl ReadAt for Panics {
    fn read_at<'a>(&'a self, _span: Span, _scratch: &'a mut Vec<u8>) -> std::io::Result<&'a [u8]> {
        panic!("as the test wants it")
    }
}

#[test]
fn a_source_that_panics_ends_the_job() {
    let _alone = alone();
    let engine = engine().unwrap();
    let picture = Picture::new(C::Lzw, 40);
    let output = picture.poisoned();
    let encoded = Encoded::Pulled(vec![Arc::new(Panics)]);
    let ticket =
        engine.submit(picture.job(), encoded, std::slice::from_ref(&output), &Context::default()).unwrap();
    assert_eq!(ticket.wait(), Err(EngineError::Abandoned));
    let encoded = Encoded::Pulled(vec![Arc::new(Panics)]);
    let waited = engine.decode(picture.job(), encoded, std::slice::from_ref(&output), &Context::default());
    assert_eq!(waited, Err(EngineError::Abandoned));
    // And the next one goes on as if nothing had been.
    assert_eq!(run(&engine, &picture, picture.pulled(), &output).faults, []);
    assert!(output.into_vec().unwrap() == picture.pixels);
}

#[test]
fn what_a_kernel_refuses_the_host_decides() {
    let _alone = alone();
    let engine = engine().unwrap();
    for compression in [C::PackBits, C::Lzw, C::Deflate, C::Zstd, C::Lz4] {
        let mut picture = Picture::new(compression, 8);
        // A block that is cut off, in the middle of the others.
        let span = picture.tasks[3].span.as_mut().unwrap();
        span.len /= 2;
        let expected = {
            let output = picture.poisoned();
            let cpu = CpuEngine::new();
            let outputs = std::slice::from_ref(&output);
            let ticket = cpu.submit(picture.job(), picture.staged(), outputs, &Context::default());
            let report = ticket.unwrap().wait().unwrap();
            (report.faults, output.into_vec().unwrap())
        };
        for encoded in [picture.staged(), picture.pulled()] {
            let output = picture.poisoned();
            let report = run(&engine, &picture, encoded, &output);
            assert_eq!((report.blocks, report.host_blocks), (8, 1), "{compression:?}");
            assert_eq!((report.faults, output.into_vec().unwrap()), expected, "{compression:?}");
        }
    }
}

/// Chroma units, whose tables are large, in crops that are all of different sizes: tables are there once.
#[test]
fn crops_of_many_sizes_share_the_tables_of_their_layout() {
    let _alone = alone();
    let engine = engine().unwrap();
    let mut picture = Picture::new(C::None, 14);
    let mut layout = (*picture.layout).clone();
    layout.sample.bits = 8;
    layout.data_type = DataType::U8;
    layout.samples = 3;
    layout.extras.ycbcr = Some(YCbCr {
        coefficients: [0.299, 0.587, 0.114],
        subsampling: (2, 1),
        reference_black_white: [0.0, 255.0, 128.0, 255.0, 128.0, 255.0],
    });
    let len = layout.decoded_len(layout.height).unwrap() as u64;
    picture.bytes = (0..len * 14).map(|i| (i * i / 7) as u8).collect();
    picture.layout = Arc::new(layout);
    for (i, task) in (0u32..).zip(&mut picture.tasks) {
        task.span = Some(Span { offset: u64::from(i) * len, len });
        task.placement.width = 16 - i;
        task.placement.block_x = i / 2;
    }
    let job = || {
        DecodeJob::new(vec![Arc::clone(&picture.layout)], vec![vec![2, 0]], picture.tasks.clone()).unwrap()
    };
    let spec = OutputSpec::band_first(DataType::U8, 2, 16 * 14, 16).unwrap();
    let read = |engine: &dyn Engine| {
        let output = Output::from_vec(spec.clone(), vec![0xA5; 2 * 16 * 14 * 16]).unwrap();
        let outputs = std::slice::from_ref(&output);
        let report = engine.submit(job(), picture.staged(), outputs, &Context::default()).unwrap().wait();
        assert_eq!(report.unwrap().faults, []);
        output.into_vec().unwrap()
    };
    assert!(read(&engine) == read(&CpuEngine::new()));
}

#[test]
fn failures_of_the_driver_are_errors_and_leave_the_output_free() {
    let Some(standin) = standin() else { return };
    let engine = open(None);
    let picture = Picture::new(C::Lzw, 4);
    let output = picture.poisoned();
    run(&engine, &picture, picture.staged(), &output);
    // Out of memory, a copy that is refused, a launch that is.
    for knob in ["cuMemAllocFromPoolAsync:1:2", "cuMemcpyHtoDAsync_v2:1:1", "cuLaunchKernel:1:701"] {
        standin.set(&format!("fail={knob}"));
        let ticket = engine.submit(
            picture.job(),
            picture.staged(),
            std::slice::from_ref(&output),
            &Context::default(),
        );
        let error = ticket.unwrap().wait().unwrap_err();
        let EngineError::Device { device, problem } = &error else { panic!("{error:?}") };
        assert_eq!(device, "cuda:0");
        assert!(problem.contains(knob.split(':').next().unwrap()), "{problem}");
    }
    assert_eq!(run(&engine, &picture, picture.staged(), &output).faults, [], "the output is free again");
    assert!(output.into_vec().unwrap() == picture.pixels);
}

#[test]
fn files_read_by_cufile_give_the_same_pixels() {
    // On a device only where the library is installed: its compatibility mode needs no more.
    let host = || Arc::new(CpuEngine::new());
    let standin = alone();
    let options = CudaOptions { direct_io: DirectIo::On, ..CudaOptions::default() };
    let engine = match CudaEngine::open(0, host(), options) {
        Ok(engine) => engine,
        Err(reason) if standin.is_none() => return eprintln!("skipped: {reason}"),
        Err(reason) => panic!("{reason}"),
    };
    let picture = Picture::new(C::Deflate, 12);
    let path = std::env::temp_dir().join(format!("strile-direct-{}", std::process::id()));
    std::fs::write(&path, &picture.bytes).unwrap();
    let file = |len: usize| {
        std::fs::write(&path, &picture.bytes[..len]).unwrap();
        let file: Arc<dyn ReadAt> = Arc::new(Disk(std::fs::File::open(&path).unwrap()));
        Encoded::Pulled(vec![file])
    };
    let output = picture.poisoned();
    let outputs = std::slice::from_ref(&output);
    let ticket = engine.submit(picture.job(), file(picture.bytes.len()), outputs, &Context::default());
    match ticket.unwrap().wait() {
        Ok(report) => assert_eq!(report.faults, []),
        // Not every file system and container lets cuFile register a file.
        Err(error) if standin.is_none() && error.to_string().contains("cuFileHandleRegister") => {
            return eprintln!("skipped: {error}");
        }
        Err(error) => panic!("{error}"),
    }
    assert!(output.into_vec().unwrap() == picture.pixels);
    if let Some(standin) = &standin {
        let calls = standin.calls();
        assert_eq!(count(&calls, "!"), 0, "misuse");
        assert!(count(&calls, "cuFileRead") > 0);
        assert_eq!(count(&calls, "cuMemcpyHtoDAsync_v2"), 1, "the tables alone");
    }
    let output = picture.poisoned();
    let report = run(&engine, &picture, file(picture.bytes.len() - 1), &output);
    let [fault] = report.faults.as_slice() else { panic!("{:?}", report.faults) };
    assert_eq!((fault.address.row, fault.fault.kind), (11, FaultKind::Unreadable));
    std::fs::remove_file(&path).unwrap();
}

/// A file as a source.
struct Disk(std::fs::File);

impl ReadAt for Disk {
    fn read_at<'a>(&'a self, span: Span, scratch: &'a mut Vec<u8>) -> std::io::Result<&'a [u8]> {
        scratch.resize(span.len as usize, 0);
        std::os::unix::fs::FileExt::read_exact_at(&self.0, scratch, span.offset)?;
        Ok(scratch)
    }

    fn file(&self) -> Option<&std::fs::File> {
        Some(&self.0)
    }
}

#[test]
fn nothing_stays_allocated() {
    let Some(standin) = standin() else { return };
    let before = standin.allocated();
    let engine = open(None);
    let mut picture = Picture::new(C::Deflate, 20);
    picture.tasks[7].span.as_mut().unwrap().len -= 1;
    let output = engine.output(picture.spec(), &Context::default()).unwrap();
    assert_eq!(run(&engine, &picture, picture.pulled(), &output).faults.len(), 1);
    drop(output);
    drop(engine);
    assert_eq!(standin.allocated(), before);
}

#[test]
fn encoded_bytes_on_the_device_decode_there_and_come_back_at_once() {
    let _alone = alone();
    let engine = engine().unwrap();
    let context = Context::default();
    for compression in [C::None, C::Lzw, C::Deflate] {
        let picture = Picture::new(compression, 9);
        let bytes = engine.upload(&picture.bytes, &context).unwrap();
        let output = picture.poisoned();
        let report = run(&engine, &picture, Encoded::Device(bytes), &output);
        assert_eq!((report.host_blocks, report.faults), (0, vec![]));
        assert!(output.into_vec().unwrap() == picture.pixels);
    }
    // A codec without a kernel goes back to the host, and so does a block that leaves the bytes.
    let mut picture = Picture::new(C::Lzma, 9);
    let bytes = engine.upload(&picture.bytes, &context).unwrap();
    picture.tasks[4].span = Some(Span { offset: picture.bytes.len() as u64 - 2, len: 9 });
    let output = picture.poisoned();
    let report = run(&engine, &picture, Encoded::Device(bytes), &output);
    assert_eq!((report.host_blocks, report.faults.len()), (9, 1));
    assert_eq!((report.faults[0].address.row, report.faults[0].fault.kind), (4, FaultKind::Unreadable));
    let found = output.into_vec().unwrap();
    let block = picture.pixels.len() / 9;
    assert!(
        found[..4 * block] == picture.pixels[..4 * block]
            && found[5 * block..] == picture.pixels[5 * block..]
    );
}

#[test]
fn blocks_come_back_whatever_their_number_and_size() {
    let standin = alone();
    let engine = engine().unwrap();
    let context = Context::default();
    let data: Vec<u8> = (0..40_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let bytes = engine.upload(&data, &context).unwrap();
    let span = |offset: u64, len: u64| Span { offset, len };
    let many: Vec<Span> = (0..200).map(|i| span(i * 197 % 39_000, i % 83)).collect();
    let sets = [vec![], vec![span(5, 1000)], vec![span(3, 70), span(9, 0), span(39_990, 10)], many];
    for spans in sets {
        let (arena, moved) = engine.back_to_host(&bytes, &spans, &context).unwrap();
        assert_eq!(moved.len(), spans.len());
        for (from, to) in spans.iter().zip(moved) {
            let (from_at, to_at, len) = (from.offset as usize, to.offset as usize, from.len as usize);
            assert_eq!(to.len, from.len);
            assert!(
                len == 0 || arena.bytes()[to_at..to_at + len] == data[from_at..from_at + len],
                "{from:?}"
            );
        }
    }
    let Some(standin) = standin else { return };
    standin.calls();
    engine.back_to_host(&bytes, &[span(0, 9), span(100, 9), span(300, 9)], &context).unwrap();
    let calls = standin.calls();
    assert_eq!(count(&calls, "cuMemcpyDtoHAsync_v2"), 1, "one copy");
    let small = Context { budget: Arc::new(strile_engine::Budget::new(10)), ..Context::default() };
    let refused = engine.back_to_host(&bytes, &[span(0, 11)], &small).err();
    let Some(EngineError::Budget(error)) = refused else { panic!("{refused:?}") };
    assert_eq!((error.need, error.purpose), (11, "encoded blocks back to host"));
}

/// Streams that are split take more memory and launches, and give the same pixels; where that memory is not there, they
/// are decoded whole.
#[test]
fn few_streams_are_split_and_the_plan_says_so() {
    let Some(standin) = standin() else { return };
    let picture = Picture::new(C::Deflate, 5);
    let output = picture.poisoned();
    let outputs = [OutputKind::from(&output)];
    let submission = Submission { supply: Supply::Pulled, outputs: &outputs, held: Held::default() };
    let planned = |split, memory_limit| {
        let options = CudaOptions { split, memory_limit, ..CudaOptions::default() };
        let engine = CudaEngine::open(0, Arc::new(CpuEngine::new()), options).unwrap();
        let plan = engine.plan(&picture.job(), &submission, &Context::default()).unwrap();
        let reasons: Vec<_> = plan.routes.iter().map(|route| route.reason.clone()).collect();
        (engine, plan.memory.device, reasons)
    };
    let (_, whole, reasons) = planned(Split::Never, None);
    assert_eq!(reasons, [None]);
    let (_, auto, reasons) = planned(Split::Auto, None);
    assert_eq!((auto, reasons), (whole, vec![None]), "a kilobyte is not worth it");
    let why = Some("too few to fill the device one by one".to_owned());
    let (split, memory, reasons) = planned(Split::Always, None);
    assert_eq!(reasons, [why]);
    // 512 bytes each: four for each of them, a head, two segments and a tile.
    assert_eq!(memory - whole, 5 * (4 * 512 + 256));
    standin.calls();
    let report = run(&split, &picture, picture.pulled(), &output);
    assert_eq!((report.blocks, report.host_blocks, report.faults), (5, 0, vec![]));
    assert_eq!(output.into_vec().unwrap(), picture.pixels);
    let calls = standin.calls();
    assert_eq!((count(&calls, "!"), count(&calls, "cuLaunchKernel")), (0, 16), "15 passes, place");

    let (tight, memory, reasons) = planned(Split::Always, Some(memory - 1));
    assert_eq!((memory, reasons), (whole, vec![None]), "what does not fit split is decoded whole");
    let output = picture.poisoned();
    let report = run(&tight, &picture, picture.pulled(), &output);
    assert_eq!((report.blocks, report.host_blocks, report.faults), (5, 0, vec![]));
    assert_eq!(output.into_vec().unwrap(), picture.pixels);
}

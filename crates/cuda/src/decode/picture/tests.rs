//! Tests of the code around picture decoders, using the calls recorded by the stand-in driver and a decoder that
//! copies.

#![allow(clippy::cast_possible_truncation, reason = "small numbers made here")]

#[path = "../../../tests/on_any/picture.rs"]
mod made;

use super::copied::{Copied, REFUSED, REFUSED_LATE};
use super::streams::Streams;
use super::supply::{Supply, Wanted};
use crate::engine::{CudaEngine, CudaOptions};
use made::{Memory, Picture, TILE};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use strile_cpu::CpuEngine;
use strile_emulate::{Alone, Call, StandIn};
use strile_engine::{
    BlockTask, Budget, Cancel, Context, Convert, DecodeJob, Encoded, Engine, EngineError, FaultKind, Fill,
    Output, OutputSpec, Progress, ReadAt, Report, Span,
};
use strile_tiff::{Compression as C, DataType};

fn open(options: CudaOptions) -> (Alone, CudaEngine) {
    let standin = StandIn::load().unwrap().alone();
    (standin, CudaEngine::open(0, Arc::new(CpuEngine::new()), options).unwrap())
}

fn usual() -> (Alone, CudaEngine) {
    open(CudaOptions::default())
}

fn count(calls: &[Call], name: &str) -> usize {
    calls.iter().filter(|call| call.name == name).count()
}

fn run(engine: &dyn Engine, picture: &Picture, encoded: Encoded, output: &Output) -> Report {
    run_with(engine, picture, encoded, output, &Context::default()).unwrap()
}

fn run_with(
    engine: &dyn Engine,
    picture: &Picture,
    encoded: Encoded,
    output: &Output,
    context: &Context,
) -> Result<Report, EngineError> {
    engine.submit(picture.job(), encoded, std::slice::from_ref(output), context)?.wait()
}

/// Returns faults and pixels of a job on the CPU.
fn expected(picture: &Picture) -> (Report, Vec<u8>) {
    let output = picture.poisoned();
    let report = run(&CpuEngine::new(), picture, picture.staged(), &output);
    (report, output.into_vec().unwrap())
}

/// Sets the first sample of blocks to a value that the decoder refuses.
fn with_first_samples(marks: &[(usize, u16)], blocks: u32) -> Picture {
    let block = (TILE * TILE) as usize;
    Picture::of(C::Lerc, blocks, |i, usual| {
        let mark = marks.iter().find(|(index, _)| i == index * block);
        mark.map_or(usual.max(100), |(_, mark)| *mark)
    })
}

#[test]
fn what_a_batch_asks_of_the_driver_does_not_grow_with_its_pictures() {
    let (standin, engine) = usual();
    let calls = |blocks: u32| {
        let picture = with_first_samples(&[], blocks);
        let output = engine.output(picture.spec(), &Context::default()).unwrap();
        run(&engine, &picture, picture.pulled(), &output);
        standin.calls();
        let report = run(&engine, &picture, picture.pulled(), &output);
        assert_eq!((report.blocks, report.host_blocks, report.faults.len()), (u64::from(blocks), 0, 0));
        assert_eq!(report.encoded_bytes, picture.bytes.len() as u64);
        let calls = standin.calls();
        assert_eq!(count(&calls, "!"), 0, "misuse");
        calls
    };
    let (few, many) = (calls(3), calls(60));
    for calls in [&few, &many] {
        assert_eq!(count(calls, "cuMemAllocFromPoolAsync"), 1, "one arena");
        assert_eq!(count(calls, "cuMemHostAlloc"), 0, "nothing is pinned on the way");
        assert_eq!(count(calls, "cuMemcpyHtoDAsync_v2"), 1, "tables and bytes together");
        assert_eq!(count(calls, "cuMemcpyDtoHAsync_v2"), 1, "all statuses at once");
        assert_eq!(count(calls, "cuLaunchKernel"), 1, "place; the decoder copies");
        assert_eq!(count(calls, "cuCtxSynchronize"), 0);
        // The batch, its upload and statuses, and each stream at the end; fewer if they were done before.
        assert!(count(calls, "cuEventSynchronize") <= 8, "{}", count(calls, "cuEventSynchronize"));
    }
    for name in ["cuStreamWaitEvent", "cuEventCreate"] {
        assert_eq!(count(&few, name), count(&many, name), "{name}");
    }
}

#[test]
fn pictures_come_out_as_on_the_cpu_whatever_the_batches() {
    for launch_bytes in [None, Some(20_000), Some(1)] {
        let (standin, engine) = open(CudaOptions { launch_bytes, ..CudaOptions::default() });
        let picture = with_first_samples(&[(4, REFUSED), (9, REFUSED_LATE)], 23);
        let (report, pixels) = expected(&picture);
        assert_eq!(report.faults, []);
        for encoded in [picture.staged(), picture.pulled()] {
            let output = picture.poisoned();
            let report = run(&engine, &picture, encoded, &output);
            assert_eq!(
                (report.blocks, report.host_blocks, report.faults),
                (23, 2, vec![]),
                "{launch_bytes:?}"
            );
            assert!(output.into_vec().unwrap() == pixels, "{launch_bytes:?}");
        }
        assert_eq!(count(&standin.calls(), "!"), 0, "misuse");
    }
}

#[test]
fn faults_are_located_and_other_pixels_right() {
    let (_standin, engine) = usual();
    let mut picture = with_first_samples(&[], 12);
    picture.tasks[3].span.as_mut().unwrap().len /= 2;
    let corrupt = picture.tasks[7].span.unwrap();
    picture.bytes[corrupt.offset as usize] ^= 0xFF;
    let (report, pixels) = expected(&picture);
    assert_eq!(report.faults.iter().map(|fault| fault.address.row).collect::<Vec<_>>(), [3, 7]);
    let device = engine.output(picture.spec(), &Context::default()).unwrap();
    for output in [picture.poisoned(), device] {
        let found = run(&engine, &picture, picture.pulled(), &output);
        assert_eq!((found.blocks, found.host_blocks, &found.faults), (12, 2, &report.faults));
        if let Some(found) = output.into_vec() {
            assert!(found == pixels);
        }
    }
    // A source that ends early: the host reports the missing block.
    let cut = picture.bytes.len() - 3;
    let short: Arc<dyn ReadAt> = Arc::new(Memory(picture.bytes[..cut].to_vec()));
    let output = picture.poisoned();
    let found = run(&engine, &picture, Encoded::Pulled(vec![short]), &output);
    let kinds: Vec<_> = found.faults.iter().map(|fault| (fault.address.row, fault.fault.kind)).collect();
    assert_eq!(kinds[2..], [(11, FaultKind::Unreadable)]);
}

#[test]
fn pictures_and_other_blocks_make_one_output() {
    let (standin, engine) = usual();
    let (lerc, lzw) = (with_first_samples(&[], 8), Picture::new(C::Lzw, 8));
    let moved = |task: &BlockTask| {
        let span = task.span.unwrap();
        let offset = span.offset + lerc.bytes.len() as u64;
        BlockTask { layout: 1, span: Some(Span { offset, ..span }), ..task.clone() }
    };
    let mut tasks: Vec<BlockTask> = lerc.tasks.iter().step_by(2).cloned().collect();
    tasks.extend(lzw.tasks.iter().skip(1).step_by(2).map(moved));
    tasks[1].span = None;
    let layouts = || vec![Arc::clone(&lerc.layout), Arc::clone(&lzw.layout)];
    let bytes = [lerc.bytes.clone(), lzw.bytes.clone()].concat();
    let read = |engine: &dyn Engine, output: &Output, bytes: Encoded| {
        let job = DecodeJob::new(layouts(), vec![vec![0]], tasks.clone()).unwrap();
        let ticket = engine.submit(job, bytes, std::slice::from_ref(output), &Context::default());
        ticket.unwrap().wait().unwrap()
    };
    let pulled = || Encoded::Pulled(vec![Arc::new(Memory(bytes.clone())) as Arc<dyn ReadAt>]);
    let (here, there) = (lerc.poisoned(), lerc.poisoned());
    read(&CpuEngine::new(), &here, pulled());
    let expected = here.into_vec().unwrap();
    assert_eq!(read(&engine, &there, pulled()).host_blocks, 0);
    assert!(there.into_vec().unwrap() == expected);
    // Also in device memory.
    let device = engine.upload(&bytes, &Context::default()).unwrap();
    let there = lerc.poisoned();
    standin.calls();
    assert_eq!(read(&engine, &there, Encoded::Device(device)).host_blocks, 0);
    assert!(there.into_vec().unwrap() == expected);
    let calls = standin.calls();
    assert_eq!(count(&calls, "cuMemAllocFromPoolAsync"), 2, "the job's, and for what comes back at once");
    assert_eq!(count(&calls, "!"), 0, "misuse");
}

#[test]
fn crops_and_conversions_are_those_of_other_blocks() {
    let (_standin, engine) = usual();
    let mut picture = with_first_samples(&[], 6);
    for (i, task) in (0u32..).zip(&mut picture.tasks) {
        task.placement.block_x = i % 3;
        task.placement.width = TILE - 2 * (i % 3);
        task.placement.block_y = 2;
        task.placement.height = TILE - 5;
    }
    let spec = OutputSpec::band_first(DataType::F32, 1, TILE * 6, TILE).unwrap();
    let convert = Convert { nodata: Some(Fill([0; 16])), scale: 0.5, offset: -3.0 };
    let read = |engine: &dyn Engine| {
        let len = spec.len().unwrap();
        let output = Output::from_vec(spec.clone(), vec![0; len]).unwrap().converting(convert).unwrap();
        assert_eq!(run(engine, &picture, picture.staged(), &output).faults, []);
        output.into_vec().unwrap()
    };
    assert!(read(&engine) == read(&CpuEngine::new()));
}

#[test]
fn what_does_not_fit_is_refused_before_anything_is_allocated_or_done_by_the_host() {
    let (standin, engine) = open(CudaOptions { memory_limit: Some(3_000), ..CudaOptions::default() });
    let picture = with_first_samples(&[], 5);
    standin.calls();
    // In host memory the host decodes them.
    let output = picture.poisoned();
    let report = run(&engine, &picture, picture.staged(), &output);
    assert_eq!((report.host_blocks, report.faults), (5, vec![]));
    assert!(output.into_vec().unwrap() == picture.pixels);
    assert_eq!(count(&standin.calls(), "cuMemAllocFromPoolAsync"), 0);
    drop(engine);
    // Little memory gives small flights; too little host memory gives a refusal.
    let engine = CudaEngine::open(
        0,
        Arc::new(CpuEngine::new()),
        CudaOptions { memory_limit: Some(150_000), ..CudaOptions::default() },
    )
    .unwrap();
    let picture = with_first_samples(&[], 40);
    let output = picture.poisoned();
    let report = run(&engine, &picture, picture.staged(), &output);
    assert_eq!((report.host_blocks, report.faults), (0, vec![]));
    assert!(engine.device().pool().peak() <= 150_000);
    let budget = Arc::new(Budget::new(100_000));
    let small = Context { budget: Arc::clone(&budget), ..Context::default() };
    standin.calls();
    let refused = run_with(&engine, &picture, picture.staged(), &output, &small);
    assert!(matches!(refused, Err(EngineError::Budget(_))), "{refused:?}");
    assert_eq!(count(&standin.calls(), "cuMemAllocFromPoolAsync"), 0);
    assert!(output.into_vec().unwrap() == picture.pixels);
}

/// Cancels at the first finished block, and counts.
struct Watch(Option<Cancel>, AtomicU64);

impl Progress for Watch {
    fn advance(&self, blocks: u64) {
        self.1.fetch_add(blocks, Ordering::Relaxed);
        if let Some(cancel) = &self.0 {
            cancel.cancel();
        }
    }
}

#[test]
fn cancelling_stops_reading_and_progress_counts_every_picture() {
    let (standin, engine) = open(CudaOptions { launch_bytes: Some(20_000), ..CudaOptions::default() });
    let picture = with_first_samples(&[(2, REFUSED)], 60);
    let output = picture.poisoned();
    let watch = Arc::new(Watch(None, AtomicU64::new(0)));
    let context = Context { progress: Some(watch.clone()), ..Context::default() };
    assert_eq!(run_with(&engine, &picture, picture.pulled(), &output, &context).unwrap().blocks, 60);
    assert_eq!(watch.1.load(Ordering::Relaxed), 60);
    let context = Context::default();
    let watch = Arc::new(Watch(Some(context.cancel.clone()), AtomicU64::new(0)));
    let context = Context { progress: Some(watch.clone()), ..context };
    let stopped = run_with(&engine, &picture, picture.pulled(), &output, &context);
    assert_eq!(stopped, Err(EngineError::Cancelled));
    assert!(watch.1.load(Ordering::Relaxed) < 60);
    assert_eq!(run(&engine, &picture, picture.pulled(), &output).faults, [], "and the next goes on");
    assert_eq!(count(&standin.calls(), "!"), 0, "misuse");
}

/// A foreign source that panics when it is read.
struct Panics;

impl ReadAt for Panics {
    fn read_at<'a>(&'a self, _span: Span, _scratch: &'a mut Vec<u8>) -> std::io::Result<&'a [u8]> {
        panic!("as the test wants it")
    }
}

#[test]
fn failures_end_the_job_and_nothing_stays_allocated() {
    let before = StandIn::load().unwrap().alone().allocated();
    let (standin, engine) = usual();
    let picture = with_first_samples(&[], 9);
    let output = picture.poisoned();
    let panics = Encoded::Pulled(vec![Arc::new(Panics)]);
    let ended = run_with(&engine, &picture, panics, &output, &Context::default());
    assert_eq!(ended, Err(EngineError::Abandoned));
    run(&engine, &picture, picture.staged(), &output);
    for knob in ["cuMemAllocFromPoolAsync:1:2", "cuMemcpyHtoDAsync_v2:1:1", "cuLaunchKernel:1:701"] {
        standin.set(&format!("fail={knob}"));
        let error = run_with(&engine, &picture, picture.staged(), &output, &Context::default()).unwrap_err();
        let EngineError::Device { device, problem } = &error else { panic!("{error:?}") };
        assert_eq!(device, "cuda:0");
        assert!(problem.contains(knob.split(':').next().unwrap()), "{problem}");
    }
    assert_eq!(run(&engine, &picture, picture.staged(), &output).faults, []);
    assert!(output.into_vec().unwrap() == picture.pixels);
    drop(engine);
    assert_eq!(standin.allocated(), before);
}

/// A source that counts the bytes read.
struct Counted(Memory, AtomicU64);

impl ReadAt for Counted {
    fn read_at<'a>(&'a self, span: Span, scratch: &'a mut Vec<u8>) -> std::io::Result<&'a [u8]> {
        self.1.fetch_add(span.len, Ordering::Relaxed);
        self.0.read_at(span, scratch)
    }
}

/// Returns all blocks of a picture.
fn wanted(picture: &Picture) -> Vec<Wanted> {
    let one = |(task, found): (usize, &BlockTask)| Wanted {
        task,
        source: 0,
        span: found.span.unwrap(),
        layout: Arc::clone(&picture.layout),
        rows: TILE,
    };
    picture.tasks.iter().enumerate().map(one).collect()
}

/// Parsed pictures take no more memory than the bound: the others are left to the host.
#[test]
fn pictures_that_keep_too_much_are_left_to_the_host() {
    let picture = with_first_samples(&[], 20);
    let wanted = wanted(&picture);
    let stream = wanted.iter().map(|one| one.span.len).max().unwrap();
    let made = u64::from(TILE * TILE * 2);
    // One at a time is read if there is no room for any; twice the bound may be kept.
    for (bound, fits) in [((stream + made) / 2 + 1, true), (1, false)] {
        let streams = Streams::Staged(Arc::new(strile_engine::Arena::from_vec(picture.bytes.clone())));
        let supply = Supply::new(&Copied, streams, wanted.clone(), bound, 100);
        let context = Context::default();
        std::thread::scope(|scope| {
            scope.spawn(|| supply.work(0, &context));
            let mut count = 0;
            while let Some(run) = supply.next() {
                count += run.len();
                assert!(run.iter().all(|(_, parsed)| parsed.is_some() == fits), "{bound}");
            }
            assert_eq!(count, 20);
        });
        assert!(supply.is_done());
    }
}

#[test]
fn pictures_are_given_in_order_and_no_more_is_read_ahead_than_may_be() {
    let picture = with_first_samples(&[], 200);
    let source = Arc::new(Counted(Memory(picture.bytes.clone()), AtomicU64::new(0)));
    let wanted = wanted(&picture);
    let bound = wanted.iter().map(|one| one.span.len).max().unwrap() * 30;
    let streams = Streams::Pulled(vec![Arc::clone(&source) as Arc<dyn ReadAt>], Arc::default());
    let supply = Supply::new(&Copied, streams, wanted, bound, 3);
    let context = Context::default();
    let (mut given, mut tasks) = (0, Vec::new());
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3)
            .map(|i| {
                scope.spawn({
                    let (supply, context) = (&supply, &context);
                    move || supply.work(i, context)
                })
            })
            .collect();
        while let Some(run) = supply.next() {
            assert!(run.len() <= 200 / 3 / 8, "{}", run.len());
            for (wanted, parsed) in run {
                given += wanted.span.len;
                tasks.push(wanted.task);
                assert!(parsed.is_some_and(|parsed| parsed.need.bytes == parsed.picture.len() as u64));
            }
            std::thread::yield_now();
            let read = source.1.load(Ordering::Relaxed);
            assert!(read <= given + bound, "{read} read, {given} given");
        }
        assert!(supply.is_done());
        assert!(threads.into_iter().all(|thread| thread.join().is_ok()));
    });
    assert_eq!(tasks, (0..200).collect::<Vec<_>>());
}

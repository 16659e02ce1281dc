//! How encoding uses the driver, by what the stand-in recorded: one allocation, one copy in, one table and one copy of the
//! real bytes out a batch, whatever the number of blocks; batches that fit; and what becomes of failures.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "code of tests: it fails by panicking, and knows its numbers"
)]

mod on_any;
mod writing;

use on_any::on_a_device;
use std::ffi::{c_int, c_void};
use std::sync::Arc;
use strile_cpu::CpuEngine;
use strile_cuda::vendor::NVCOMP;
use strile_cuda::{CudaEngine, CudaOptions};
use strile_emulate::{Alone, Call, StandIn, load_nvcomp};
use strile_engine::{
    Budget, Cancel, Context, EncodeLayout, EncodedBlocks, Encoder, Engine, EngineError, Fill, OutputSpec,
    Progress, ReduceJob, ReduceTask, Resampling, SharedPixels, Trace,
};
use strile_tiff::{Compression as C, DataType};
use writing::{CODECS, brought, encode, job, layout, raster};

/// The stand-in for one test at a time; `None` on a device, where there is nothing to look at.
fn standin() -> Option<Alone> {
    if on_a_device() {
        eprintln!("skipped: a device is required, and this looks at the calls of the stand-in");
        return None;
    }
    Some(StandIn::load().unwrap().alone())
}

fn open(options: CudaOptions) -> CudaEngine {
    CudaEngine::open(0, Arc::new(CpuEngine::new()), options).unwrap()
}

fn limited(memory: u64) -> CudaEngine {
    open(CudaOptions { memory_limit: Some(memory), ..CudaOptions::default() })
}

fn count(calls: &[Call], name: &str) -> usize {
    calls.iter().filter(|call| call.name == name).count()
}

fn sizes(calls: &[Call], name: &str) -> Vec<u64> {
    calls.iter().filter(|call| call.name == name).map(|call| call.size.unwrap()).collect()
}

const DOWN: &str = "cuMemcpyDtoHAsync_v2";
const UP: &str = "cuMemcpyHtoDAsync_v2";
const ALLOC: &str = "cuMemAllocFromPoolAsync";
const LAUNCH: &str = "cuLaunchKernel";

fn run(engine: &CudaEngine, layout: &EncodeLayout, pixels: &SharedPixels) -> EncodedBlocks {
    encode(engine, layout, pixels, &Context::default()).unwrap()
}

/// Calls of one job over so many tiles, after one that loaded what stays.
fn calls_of(standin: &Alone, engine: &CudaEngine, compression: C, tiles: u32, there: bool) -> Vec<Call> {
    let layout = layout(compression, DataType::U16, 1, (16, 16));
    let pixels = raster(DataType::U16, (1, 16 * tiles, 16), false);
    let pixels = if there { brought(engine, &pixels) } else { pixels };
    run(engine, &layout, &pixels);
    standin.calls();
    let encoded = run(engine, &layout, &pixels);
    let calls = standin.calls();
    assert_eq!(count(&calls, "!"), 0, "misuse");
    assert_eq!((encoded.blocks.len(), encoded.faults.len()), (tiles as usize, 0));
    assert_eq!(count(&calls, ALLOC), 1, "one arena");
    assert_eq!(count(&calls, "cuMemHostAlloc"), 0, "nothing is pinned on the way");
    let table = 16 + 16 * u64::from(tiles);
    let real = encoded.slab.bytes().len() as u64;
    assert_eq!(sizes(&calls, DOWN), [table, real], "one table, and exactly the bytes of all blocks");
    assert_eq!(count(&calls, UP), 1, "tables, and pixels where the host has them");
    assert_eq!(count(&calls, "cuMemcpyDtoDAsync_v2"), 0);
    assert_eq!(count(&calls, "cuCtxSynchronize"), 0);
    calls
}

#[test]
fn what_a_batch_asks_of_the_driver_does_not_grow_with_its_blocks() {
    let Some(standin) = standin() else { return };
    let engine = open(CudaOptions::default());
    for compression in CODECS {
        for there in [true, false] {
            let few = calls_of(&standin, &engine, compression, 3, there);
            let many = calls_of(&standin, &engine, compression, 30, there);
            for name in [LAUNCH, "cuStreamWaitEvent", "cuEventCreate", "cuMemsetD8Async"] {
                assert_eq!(count(&few, name), count(&many, name), "{name} of {compression:?}");
            }
        }
        // Cut and the offsets: stored blocks lie together already.
        if compression == C::None {
            assert_eq!(count(&calls_of(&standin, &engine, compression, 3, true), LAUNCH), 2);
        }
    }
}

/// nvCOMP's compressors: one call in the place of the codec's passes, its memory in the one arena and in the plan.
#[test]
fn a_batch_by_nvcomp_is_one_call() {
    extern "C" fn refuses(
        _: c_int,
        _: *const c_void,
        _: usize,
        _: *mut c_void,
        _: usize,
        _: *mut usize,
    ) -> c_int {
        12
    }
    let Some(standin) = standin() else { return };
    load_nvcomp(6000, refuses).unwrap();
    let engine = open(CudaOptions::default());
    for (compression, effort, call) in
        [(C::Deflate, 4, "nvcompBatchedDeflateCompressAsync"), (C::Zstd, 0, "nvcompBatchedZstdCompressAsync")]
    {
        let mut layout = layout(compression, DataType::U16, 1, (16, 16));
        layout.params.encoder = Encoder::Library { name: NVCOMP, effort };
        assert_eq!(
            engine.encoder(layout.params.encoder),
            format!("nvCOMP 6.0.0 effort {effort}"),
            "as the plan says"
        );
        for tiles in [3, 300] {
            let pixels = brought(&engine, &raster(DataType::U16, (1, 16 * tiles, 16), false));
            run(&engine, &layout, &pixels);
            standin.calls();
            let encoded = run(&engine, &layout, &pixels);
            let calls = standin.calls();
            assert_eq!(count(&calls, "!"), 0, "misuse");
            assert_eq!((encoded.blocks.len(), encoded.faults.len()), (tiles as usize, 0));
            assert_eq!((count(&calls, call), count(&calls, ALLOC)), (1, 1));
            // Cut, the lists, what is around a stream, offsets, blocks moved together.
            assert_eq!(count(&calls, LAUNCH), 5);
            assert_eq!(count(&calls, "cuMemsetD8Async"), 0);
            let real = encoded.slab.bytes().len() as u64;
            assert_eq!(sizes(&calls, DOWN), [16 + 16 * u64::from(tiles), real]);
            // What the stand-in asks for: see `temporary_for`.
            let temporary = 1000 + 24 * u64::from(tiles) + 512;
            assert_eq!(sizes(&calls, call), [temporary]);
            assert!(sizes(&calls, ALLOC)[0] > temporary + 36 * u64::from(tiles) + 2 * real);
        }
        // No more than allowed, and a block at a time is the least.
        let one = engine.encode_memory(&layout, 16);
        let pixels = brought(&engine, &raster(DataType::U16, (1, 16 * 9, 16), false));
        let expected = run(&engine, &layout, &pixels);
        let small = limited(2 * one + 65_536);
        let found = run(&small, &layout, &pixels);
        assert!(found.slab.bytes() == expected.slab.bytes() && found.blocks == expected.blocks);
        // The limit is the device's.
        engine.device().budget().set_limit(1 << 30);
    }
    let mut odd = layout(C::Deflate, DataType::U16, 1, (16, 16));
    odd.params.encoder = Encoder::Library { name: NVCOMP, effort: 6 };
    let refused = engine.prepare(odd.clone()).unwrap_err().to_string();
    assert_eq!(refused, "expected an nvCOMP effort from 0 to 5 for deflate, got 6");
    // Nor by a job that nobody prepared.
    let pixels = raster(DataType::U16, (1, 16, 16), false);
    assert!(encode(&engine, &odd, &pixels, &Context::default()).is_err());
    assert!(CpuEngine::new().prepare(odd).is_err_and(|reason| reason.to_string().contains("not on the CPU")));
}

#[test]
fn little_memory_makes_more_batches_and_the_same_bytes() {
    let Some(standin) = standin() else { return };
    let pixels = raster(DataType::U16, (1, 90, 70), false);
    for compression in CODECS {
        let layout = layout(compression, DataType::U16, 1, (32, 32));
        let expected = run(
            &open(CudaOptions { memory_limit: Some(1 << 30), ..CudaOptions::default() }),
            &layout,
            &pixels,
        );
        let one = limited(1 << 30).encode_memory(&layout, 32);
        // Room for two flights of one block each with the pixels that come with it, and for two or three.
        for room in [2 * (one + 8192), 4 * one + 12_288] {
            let engine = limited(room);
            standin.calls();
            let found = run(&engine, &layout, &pixels);
            let calls = standin.calls();
            assert!(found.slab.bytes() == expected.slab.bytes() && found.blocks == expected.blocks);
            let batches = count(&calls, ALLOC);
            assert!(batches > 1, "{batches} batches of {compression:?} in {room}");
            assert_eq!((count(&calls, DOWN), count(&calls, UP)), (2 * batches, batches));
            assert!(engine.device().budget().peak() <= room.max(1 << 30));
            assert!(sizes(&calls, ALLOC).iter().all(|&size| size <= room / 2));
        }
    }
}

#[test]
fn a_batch_can_be_told_its_size() {
    let Some(standin) = standin() else { return };
    let pixels = raster(DataType::U16, (1, 64, 64), false);
    let layout = layout(C::None, DataType::U16, 1, (16, 16));
    let engine = open(CudaOptions { launch_bytes: Some(9000), ..CudaOptions::default() });
    let there = brought(&engine, &pixels);
    standin.calls();
    let found = run(&engine, &layout, &there);
    let calls = standin.calls();
    assert!(count(&calls, ALLOC) > 1 && sizes(&calls, ALLOC).iter().all(|&size| size <= 9000));
    assert!(found.slab.bytes() == run(&open(CudaOptions::default()), &layout, &there).slab.bytes());
}

#[test]
fn a_block_that_does_not_fit_is_refused_before_anything_is_done() {
    let Some(standin) = standin() else { return };
    let pixels = raster(DataType::U16, (1, 64, 64), false);
    let layout = layout(C::PackBits, DataType::U16, 1, (64, 64));
    let engine = limited(20_000);
    standin.calls();
    let refused = engine.encode(job(&layout, &pixels), std::slice::from_ref(&pixels), &Context::default());
    let Some(EngineError::Budget(error)) = refused.err() else { panic!("not refused") };
    assert_eq!((error.limit, error.purpose), (20_000, "encoding on the device"));
    assert!(error.need > 20_000);
    let calls = standin.calls();
    assert_eq!(count(&calls, ALLOC) + count(&calls, "cuMemHostAlloc") + count(&calls, LAUNCH), 0);
}

#[test]
fn what_a_block_takes_is_what_was_said() {
    let Some(_standin) = standin() else { return };
    let pixels = raster(DataType::U16, (1, 96, 64), false);
    for compression in CODECS {
        let layout = layout(compression, DataType::U16, 1, (32, 32));
        let engine = limited(1 << 30);
        let there = brought(&engine, &pixels);
        let pool = engine.device().pool();
        let before = pool.current();
        pool.reset_peak();
        run(&engine, &layout, &there);
        assert!(pool.peak() - before <= 6 * engine.encode_memory(&layout, 32), "{compression:?}");
    }
}

#[test]
fn failures_of_the_driver_are_errors_and_leave_nothing() {
    let Some(standin) = standin() else { return };
    let before = standin.allocated();
    let engine = limited(1 << 30);
    let pixels = raster(DataType::U16, (1, 64, 48), false);
    let layout = layout(C::PackBits, DataType::U16, 1, (16, 16));
    let expected = run(&engine, &layout, &pixels);
    let fails = [
        "cuMemAllocFromPoolAsync:1:2",
        "cuMemcpyHtoDAsync_v2:1:1",
        "cuLaunchKernel:1:701",
        "cuLaunchKernel:4:701",
        "cuMemcpyDtoHAsync_v2:1:1",
        "cuMemcpyDtoHAsync_v2:2:1",
    ];
    for knob in fails {
        standin.set(&format!("fail={knob}"));
        let error = encode(&engine, &layout, &pixels, &Context::default()).unwrap_err();
        let EngineError::Device { device, problem } = &error else { panic!("{error:?}") };
        assert_eq!(device, "cuda:0");
        assert!(problem.contains(knob.split(':').next().unwrap()), "{problem}");
        assert_eq!(engine.device().budget().free(), 1 << 30, "{knob}");
    }
    assert!(run(&engine, &layout, &pixels).slab.bytes() == expected.slab.bytes());
    drop(engine);
    assert_eq!(standin.allocated(), before);
}

/// Stops the job when its first blocks are done.
struct Stops(Cancel);

impl Progress for Stops {
    fn advance(&self, _blocks: u64) {
        self.0.cancel();
    }
}

#[test]
fn a_job_stops_between_batches() {
    let Some(_standin) = standin() else { return };
    let pixels = raster(DataType::U16, (1, 64, 64), false);
    let layout = layout(C::PackBits, DataType::U16, 1, (16, 16));
    let engine =
        open(CudaOptions { launch_bytes: Some(1), memory_limit: Some(1 << 30), ..CudaOptions::default() });
    let cancel = Cancel::default();
    let context = Context { progress: Some(Arc::new(Stops(cancel.clone()))), cancel, ..Context::default() };
    assert_eq!(encode(&engine, &layout, &pixels, &context).err(), Some(EngineError::Cancelled));
    assert_eq!(engine.device().budget().free(), 1 << 30);
}

/// In several orders of the work that is queued, several batches each.
#[test]
fn jobs_in_flight_do_not_touch_each_other() {
    let Some(standin) = standin() else { return };
    let engine = open(CudaOptions { launch_bytes: Some(9000), ..CudaOptions::default() });
    let layout = layout(C::PackBits, DataType::U16, 1, (16, 16));
    let rasters: Vec<SharedPixels> = (1..6).map(|n| raster(DataType::U16, (1, 16 * n, 30), false)).collect();
    let cpu =
        |pixels: &SharedPixels| encode(&CpuEngine::new(), &layout, pixels, &Context::default()).unwrap();
    let expected: Vec<EncodedBlocks> = rasters.iter().map(cpu).collect();
    let start = |pixels: &SharedPixels| {
        engine.encode(job(&layout, pixels), std::slice::from_ref(pixels), &Context::default()).unwrap()
    };
    for seed in 0..6 {
        standin.set(&format!("seed={seed}"));
        let tickets: Vec<_> = rasters.iter().map(start).collect();
        for (ticket, expected) in tickets.into_iter().zip(&expected) {
            let found = ticket.wait().unwrap();
            assert!(found.slab.bytes() == expected.slab.bytes() && found.blocks == expected.blocks);
        }
        assert_eq!(count(&standin.calls(), "!"), 0, "misuse");
    }
}

#[test]
fn the_hosts_budget_is_asked_for_what_comes_back() {
    let Some(_standin) = standin() else { return };
    let engine = open(CudaOptions::default());
    let pixels = raster(DataType::U16, (1, 32, 32), false);
    let there = brought(&engine, &pixels);
    let layout = layout(C::None, DataType::U16, 1, (16, 16));
    let poor = Context { budget: Arc::new(Budget::new(2000)), ..Context::default() };
    let Err(EngineError::Budget(error)) = encode(&engine, &layout, &there, &poor) else {
        panic!("not refused")
    };
    assert_eq!((error.need, error.purpose), (2048, "encoded blocks"));
}

#[test]
fn a_trace_says_when_batches_ran() {
    let Some(_standin) = standin() else { return };
    let engine = open(CudaOptions { launch_bytes: Some(1), ..CudaOptions::default() });
    let pixels = raster(DataType::U16, (1, 32, 32), false);
    let layout = layout(C::None, DataType::U16, 1, (16, 16));
    let trace = Arc::new(Trace::default());
    let context = Context { trace: Some(Arc::clone(&trace)), ..Context::default() };
    encode(&engine, &layout, &pixels, &context).unwrap();
    let slices = trace.slices();
    for name in ["encode", "copy back"] {
        assert_eq!(slices.iter().filter(|slice| slice.name == name).count(), 4, "{name}");
    }
}

#[test]
fn sparse_images_send_nothing_back() {
    let Some(standin) = standin() else { return };
    let engine = open(CudaOptions::default());
    let spec = OutputSpec::band_first(DataType::U8, 1, 64, 64).unwrap();
    let pixels = SharedPixels::new(spec, Arc::new(vec![0; 4096])).unwrap();
    let mut layout = layout(C::PackBits, DataType::U8, 1, (32, 32));
    layout.sparse = Some(Fill::default());
    run(&engine, &layout, &pixels);
    standin.calls();
    let encoded = run(&engine, &layout, &pixels);
    assert!(encoded.blocks.iter().all(|block| block.span.is_none()) && encoded.slab.bytes().is_empty());
    assert_eq!(sizes(&standin.calls(), DOWN), [16 + 4 * 16]);
}

#[test]
fn an_overview_is_one_allocation_and_stays_on_the_device() {
    let Some(standin) = standin() else { return };
    let before = standin.allocated();
    let engine = limited(1 << 30);
    let pixels = brought(&engine, &raster(DataType::F32, (2, 64, 64), false));
    let task = |x: u32, y: u32| ReduceTask {
        pixels: 0,
        mask: None,
        origin: (0, 0),
        image: (64, 64),
        target: (x, y),
        size: (16, 16),
    };
    let reduce = |tasks: Vec<ReduceTask>| {
        let job = ReduceJob { method: Resampling::Average, nodata: None, tasks };
        engine.reduce(job, std::slice::from_ref(&pixels), &Context::default()).unwrap().wait().unwrap()
    };
    drop(reduce(vec![task(0, 0)]));
    standin.calls();
    let reduced = reduce(vec![task(0, 0), task(16, 0), task(0, 16), task(16, 16)]);
    let calls = standin.calls();
    assert_eq!((count(&calls, ALLOC), count(&calls, LAUNCH), count(&calls, DOWN)), (1, 1, 0));
    assert!(reduced.iter().all(|part| part.pixels.location() == engine.location()));
    drop((reduced, pixels));
    assert_eq!(engine.device().budget().free(), 1 << 30);
    drop(engine);
    assert_eq!(standin.allocated(), before);
}

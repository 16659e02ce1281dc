//! Blocks by nvCOMP: which library is taken and which refused, that a batch is one call, and that what comes out is the
//! CPU engine's, whatever nvCOMP says or does not say.
//!
//! Most of it is about the calls, on the stand-in for nvCOMP, which lets libdeflate and libzstd decode. On a device
//! (`STRILE_REQUIRE_GPU=1`) the pixels are compared with nvCOMP itself, where it is installed.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "code of tests: it fails by panicking, and knows its numbers"
)]

#[path = "nvcomp/chunks.rs"]
mod chunks;
mod decoding;
#[path = "nvcomp/kernels.rs"]
mod kernels;
#[path = "nvcomp/library.rs"]
mod library;
mod on_any;

use on_any::on_a_device;
use on_any::picture::Picture;
use std::sync::Arc;
use strile_cpu::CpuEngine;
use strile_cuda::{CudaEngine, CudaOptions, Nvcomp};
use strile_emulate::{Alone, Call, StandIn, load_nvcomp};
use strile_engine::{Context, Engine, Report, Span};
use strile_tiff::Compression as C;

/// The stand-ins of driver and library for one test at a time; `None` on a device.
fn standin() -> Option<Alone> {
    if on_a_device() {
        eprintln!("skipped: a device is required, and this looks at the calls of the stand-in");
        return None;
    }
    let standin = StandIn::load().unwrap().alone();
    load_nvcomp(6000, chunks::decode).unwrap();
    Some(standin)
}

fn open(nvcomp: Nvcomp) -> CudaEngine {
    let options = CudaOptions { nvcomp, ..CudaOptions::default() };
    CudaEngine::open(0, Arc::new(CpuEngine::new()), options).unwrap()
}

/// What an engine makes of a picture, and that it left alone what is not its.
fn read(engine: &dyn Engine, picture: &Picture) -> (Report, Vec<u8>) {
    let output = picture.poisoned();
    let outputs = std::slice::from_ref(&output);
    let ticket = engine.submit(picture.job(), picture.staged(), outputs, &Context::default());
    (ticket.unwrap().wait().unwrap(), output.into_vec().unwrap())
}

fn count(calls: &[Call], name: &str) -> usize {
    calls.iter().filter(|call| call.name == name).count()
}

/// The calls of one read, after one that loaded what stays.
fn calls_of(standin: &Alone, engine: &CudaEngine, picture: &Picture) -> Vec<Call> {
    read(engine, picture);
    standin.calls();
    let (report, pixels) = read(engine, picture);
    assert_eq!((report.blocks, report.host_blocks, report.faults.len()), (picture.tasks.len() as u64, 0, 0));
    assert!(pixels == picture.pixels);
    let calls = standin.calls();
    assert_eq!(count(&calls, "!"), 0, "misuse");
    calls
}

const DECOMPRESS: [(C, &str); 2] =
    [(C::Deflate, "nvcompBatchedDeflateDecompressAsync"), (C::Zstd, "nvcompBatchedZstdDecompressAsync")];

#[test]
fn a_batch_is_one_call_whatever_the_number_of_blocks() {
    let Some(standin) = standin() else { return };
    let engine = open(Nvcomp::TrustedAlways);
    for (compression, name) in DECOMPRESS {
        for blocks in [1, 150] {
            let calls = calls_of(&standin, &engine, &Picture::new(compression, blocks));
            let decompressed: Vec<&Call> = calls.iter().filter(|call| call.name == name).collect();
            let [call] = decompressed.as_slice() else { panic!("{} calls", decompressed.len()) };
            assert_eq!(call.fact("count"), Some(blocks.to_string().as_str()));
            assert_eq!(call.fact("backend"), Some("2"), "kernels, no hardware");
            assert_eq!(count(&calls, "cuLaunchKernel"), 3, "hand over, verify, place");
            assert_eq!(count(&calls, "cuMemAllocFromPoolAsync"), 1, "one arena");
            assert_eq!(count(&calls, "cuMemcpyDtoHAsync_v2"), 2, "statuses and pixels");
        }
    }
}

#[test]
fn its_temporary_memory_is_counted_before_it_is_allocated() {
    let Some(standin) = standin() else { return };
    let picture = Picture::new(C::Zstd, 60);
    let arena = |nvcomp| {
        let calls = calls_of(&standin, &open(nvcomp), &picture);
        let temporary = calls.iter().find(|call| call.name.ends_with("ZstdDecompressAsync"));
        let size = |call: Option<&Call>| call.and_then(|call| call.size).unwrap_or(0);
        let allocated = calls.iter().find(|call| call.name == "cuMemAllocFromPoolAsync");
        (size(allocated), size(temporary))
    };
    let (with, temporary) = arena(Nvcomp::TrustedAlways);
    // What the stand-in asks for: see `temporary_for`.
    assert_eq!(temporary, 1000 + 60 * 24 + 512);
    assert!(with > temporary + 60 * 44);
    // The same refusal as for any job that does not fit.
    let engine = open(Nvcomp::TrustedAlways);
    engine.device().budget().set_limit(with - 1);
    let output = picture.poisoned();
    let refused =
        engine.submit(picture.job(), picture.staged(), std::slice::from_ref(&output), &Context::default());
    assert!(refused.is_err_and(|error| error.to_string().contains("decoding on the device")));
    engine.device().budget().set_limit(with);
    assert_eq!(read(&engine, &picture).0.faults, []);
}

#[test]
fn what_it_does_not_decode_rightly_the_host_decodes() {
    let Some(standin) = standin() else { return };
    let engine = open(Nvcomp::TrustedAlways);
    let pictures = [Picture::new(C::Deflate, 12), chunks::with_checksums(Picture::new(C::Zstd, 12))];
    for picture in &pictures {
        // A status; a length; a wrong byte that nobody but the checksum tells of.
        for planted in [12, 1, 2] {
            standin.set(&format!("fail=nvcompChunk:5:{planted}"));
            let (report, pixels) = read(&engine, picture);
            assert_eq!((report.blocks, report.host_blocks, report.faults.len()), (12, 1, 0), "{planted}");
            assert!(pixels == picture.pixels, "{planted}");
        }
    }
    assert_eq!(count(&standin.calls(), "!"), 0, "misuse");
}

#[test]
fn a_call_that_fails_fails_the_job_and_nothing_hangs() {
    let Some(standin) = standin() else { return };
    let engine = open(Nvcomp::TrustedAlways);
    for (compression, name) in DECOMPRESS {
        let picture = Picture::new(compression, 4);
        let size = name.replace("Async", "GetTempSize");
        for call in [name, &size] {
            standin.set(&format!("fail={call}:1:11"));
            let output = picture.poisoned();
            let outputs = std::slice::from_ref(&output);
            let ticket = engine.submit(picture.job(), picture.staged(), outputs, &Context::default());
            let error = ticket.and_then(strile_engine::Ticket::wait).unwrap_err().to_string();
            assert!(error.contains("failed with nvCOMP's status 11 (not supported)"), "{error}");
        }
        assert!(read(&engine, &picture).1 == picture.pixels);
    }
}

#[test]
fn oddities_are_what_they_are_to_the_cpu_engine() {
    let Some(standin) = standin() else { return };
    let engine = open(Nvcomp::TrustedAlways);
    for compression in [C::Deflate, C::Zstd] {
        let mut picture = Picture::new(compression, 16);
        let spans: Vec<Span> = picture.tasks.iter().map(|task| task.span.unwrap()).collect();
        let (first, last) =
            (|i: usize| spans[i].offset as usize, |i: usize| (spans[i].offset + spans[i].len) as usize);
        // Headers, a checksum or the last byte, the middle; short by some bytes; long by some; almost nothing.
        picture.bytes[first(1)] ^= 0x40;
        picture.bytes[first(2) + 1] ^= 0x21;
        picture.bytes[last(3) - 1] ^= 1;
        picture.bytes[first(4) + 4] ^= 0xFF;
        for (task, cut) in [(5, 1), (6, 4), (7, 6), (8, spans[8].len - 1), (9, spans[9].len - 7)] {
            picture.tasks[task].span.as_mut().unwrap().len -= cut;
        }
        picture.tasks[10].span.as_mut().unwrap().len += 3;
        let (here, found) = read(&engine, &picture);
        let (there, expected) = read(&CpuEngine::new(), &picture);
        assert_eq!(here.faults, there.faults, "{compression:?}");
        assert!(found == expected, "{compression:?}");
        assert!(here.host_blocks >= 8 && here.blocks == there.blocks, "{here:?}");
    }
    assert_eq!(count(&standin.calls(), "!"), 0, "misuse");
}

#[test]
fn it_is_used_where_it_was_faster_and_the_plan_says_so() {
    let Some(standin) = standin() else { return };
    let trusted = open(Nvcomp::Trusted);
    let (deflate, zstd) = (Picture::new(C::Deflate, 3), Picture::new(C::Zstd, 3));
    let said = |picture: &Picture| trusted.nvcomp(&picture.layout).unwrap();
    let calls = calls_of(&standin, &trusted, &deflate);
    assert_eq!(calls.iter().filter(|call| call.name.starts_with("nvcomp")).count(), 0);
    let reason = said(&deflate).unwrap_err().to_string();
    assert!(reason.starts_with("not by nvCOMP 6.0.0: ") && reason.contains("GB/s"), "{reason}");
    let used = said(&zstd).is_ok();
    let calls = calls_of(&standin, &trusted, &zstd);
    assert_eq!(count(&calls, "nvcompBatchedZstdDecompressAsync"), usize::from(used));
    let always = open(Nvcomp::TrustedAlways);
    let reason = always.nvcomp(&deflate.layout).unwrap().unwrap();
    assert_eq!(reason, "nvCOMP 6.0.0, asked for; the file is trusted");
    assert_eq!(
        always.nvcomp(&Picture::new(C::Lzw, 1).layout).unwrap().unwrap_err().to_string(),
        "nvCOMP is not used for lzw"
    );
    // Off is off, and the default.
    let off = open(Nvcomp::default());
    assert_eq!(off.nvcomp(&zstd.layout), None);
    let calls = calls_of(&standin, &off, &zstd);
    assert_eq!(calls.iter().filter(|call| call.name.starts_with("nvcomp")).count(), 0);
}

#[test]
fn pixels_by_nvcomp_itself() {
    if !on_a_device() {
        standin();
    }
    let options = CudaOptions { nvcomp: Nvcomp::TrustedAlways, ..CudaOptions::default() };
    let engine = match CudaEngine::open(0, Arc::new(CpuEngine::new()), options) {
        Ok(engine) => engine,
        Err(reason) if on_a_device() => return eprintln!("skipped: {reason}"),
        Err(reason) => panic!("{reason}"),
    };
    let pictures = [
        Picture::new(C::Deflate, 1),
        Picture::new(C::Deflate, 200),
        Picture::new(C::Zstd, 200),
        chunks::with_checksums(Picture::new(C::Zstd, 50)),
    ];
    for picture in pictures {
        let (report, pixels) = read(&engine, &picture);
        assert_eq!((report.host_blocks, report.faults.len()), (0, 0), "{:?}", picture.layout.compression);
        assert!(pixels == picture.pixels, "{:?}", picture.layout.compression);
        eprintln!("{}: {} blocks", engine.nvcomp(&picture.layout).unwrap().unwrap(), report.blocks);
    }
}

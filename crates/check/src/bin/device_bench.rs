//! Measures start-up time and memory of a device, one JSON line each:
//!
//! - `device_bench first FILE`: a first read into device memory in this process, driver start included: `first_ms` from
//!   the start of `main`, `second_ms` the same read again.
//! - `device_bench start FILE`: the same in steps: the driver, its description of devices, the context with its pool, a
//!   pinned slab, the first memory; `first_ms` is then the rest (streams, kernels, more slabs, the read).
//! - `device_bench memory FILE`: after a read of one pixel, which loads the kernels, the peak of device memory in
//!   strile's pool during reads, the peak by the driver, polled by a thread, and the memory still in use afterwards
//!   (`kept`, by the pool for the next read).
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a program for developers: it stops where something is wrong"
)]

use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;
use strile::{Cancel, Context, Dataset, Processor, ReadOptions, Window};
use strile_cuda::device::Device as CudaDevice;
use strile_cuda::driver::Driver;

fn main() {
    let began = Instant::now();
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.split_first() {
        Some((what, [file])) if what == "first" => first(file, began),
        Some((what, [file])) if what == "start" => start(file, began),
        Some((what, [file])) if what == "memory" => memory(file),
        _ => panic!("device_bench first|start|memory FILE"),
    }
}

/// Opens and reads a file into device memory; returns the bytes of the pixels and the encoded bytes.
fn read(file: &str) -> (u64, u64) {
    part(file, None)
}

fn part(file: &str, window: Option<Window>) -> (u64, u64) {
    let options = ReadOptions::new().decode_on(Processor::Cuda(0)).window(window);
    let raster = Dataset::open(file).unwrap().read_on_device(0, &options, &Context::default()).unwrap();
    (raster.spec().unwrap().len().unwrap() as u64, raster.report.encoded_bytes)
}

fn ms(start: Instant) -> f64 {
    (start.elapsed().as_secs_f64() * 1e6).round() / 1e3
}

fn first(file: &str, began: Instant) {
    let (bytes, _) = read(file);
    let first = ms(began);
    let again = Instant::now();
    read(file);
    println!("{}", json!({ "file": file, "bytes": bytes, "first_ms": first, "second_ms": ms(again) }));
}

fn start(file: &str, began: Instant) {
    Driver::get().unwrap();
    let driver = ms(began);
    let at = Instant::now();
    strile_cuda::devices().unwrap();
    let facts = ms(at);
    let at = Instant::now();
    let device = CudaDevice::open(0).unwrap();
    let context = ms(at);
    let at = Instant::now();
    drop(device.ring().take(&Cancel::default()).unwrap());
    let slab = ms(at);
    let at = Instant::now();
    let stream = device.stream().unwrap();
    drop(device.pool().alloc(&stream, 256 << 20).unwrap());
    stream.synchronize().unwrap();
    let alloc = ms(at);
    let at = Instant::now();
    let (bytes, _) = read(file);
    let first = ms(at);
    let again = Instant::now();
    read(file);
    println!(
        "{}",
        json!({
            "file": file, "bytes": bytes, "driver_ms": driver, "facts_ms": facts, "context_ms": context,
            "slab_ms": slab, "alloc_ms": alloc, "first_ms": first, "second_ms": ms(again),
        })
    );
}

fn memory(file: &str) {
    part(file, Some(Window::new(0, 0, 1, 1)));
    let device = CudaDevice::open(0).unwrap();
    let free = |device: &CudaDevice| device.context().memory().unwrap().0;
    let before = free(&device);
    device.pool().reset_peak();
    let (done, least) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(before)));
    let watcher = {
        let (device, done, least) = (Arc::clone(&device), Arc::clone(&done), Arc::clone(&least));
        std::thread::spawn(move || {
            let mut looks = 0u64;
            while !done.load(Ordering::Relaxed) {
                least.fetch_min(free(&device), Ordering::Relaxed);
                looks += 1;
            }
            looks
        })
    };
    let (mut output, mut encoded) = (0, 0);
    for _ in 0..5 {
        (output, encoded) = read(file);
    }
    done.store(true, Ordering::Relaxed);
    let looks = watcher.join().unwrap();
    println!(
        "{}",
        json!({
            "file": file, "output": output, "encoded": encoded, "counted_peak": device.pool().peak(),
            "driver_peak": before.saturating_sub(least.load(Ordering::Relaxed)),
            "kept": before.saturating_sub(free(&device)), "looks": looks,
        })
    );
}

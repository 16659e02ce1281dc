//! What the machine can do at best: copies within the device and over the bus, by events.
#![allow(unsafe_code, reason = "copies between buffers of the device")]

use std::sync::Arc;
use strile_cuda::device::Device;
use strile_cuda::memory::{InFlight, Pinned, copy_within};
use strile_cuda::stream::Stream;

/// GB/s of the median.
fn median(stream: &Stream, len: usize, runs: usize, mut queue: impl FnMut()) -> f64 {
    let mut times = Vec::new();
    for _ in 0..runs + 2 {
        let before = stream.record_timed().unwrap();
        queue();
        let after = stream.record_timed().unwrap();
        after.synchronize().unwrap();
        times.push(after.since(&before).unwrap());
    }
    let mut times = times.split_off(2);
    times.sort();
    len as f64 / times[times.len() / 2].as_secs_f64().max(1e-9) / 1e9
}

/// A copy of so many bytes within the device: bytes copied, each read once and written once.
pub fn within(device: &Arc<Device>, len: u64, runs: usize) -> f64 {
    let stream = device.stream().unwrap();
    let from = device.pool().alloc(&stream, len).unwrap();
    let to = device.pool().alloc(&stream, len).unwrap();
    from.fill(&stream, 0, len, 7).unwrap();
    median(&stream, len as usize, runs, || {
        // SAFETY: both buffers have so many bytes and live until the copy was waited for.
        unsafe { copy_within(&stream, to.address(), from.address(), len as usize) }.unwrap();
    })
}

/// A copy from pinned memory to the device, and back.
pub fn over_the_bus(device: &Arc<Device>, len: usize, runs: usize) -> (f64, f64) {
    let len = len.min(64 << 20);
    let stream = device.stream().unwrap();
    let there = device.pool().alloc(&stream, len as u64).unwrap();
    let mut flying: Option<InFlight> = None;
    // What flew last has landed: each run ends with a wait.
    let landed = |flying: Option<InFlight>| match flying {
        Some(flying) => flying.wait().unwrap(),
        None => Pinned::new(device.context(), len).unwrap(),
    };
    let up = median(&stream, len, runs, || {
        flying = Some(there.upload(&stream, 0, landed(flying.take()), len).unwrap());
    });
    let down = median(&stream, len, runs, || {
        flying = Some(there.download(&stream, 0, landed(flying.take()), len).unwrap());
    });
    (up, down)
}

//! Peak rates of the machine: copies within the device and over the bus, timed by events.

#![expect(unsafe_code, reason = "copies between buffers of the device")]

use crate::device::Device;
use crate::driver::DriverError;
use crate::memory::{InFlight, Pinned, copy_within};
use crate::stream::Stream;
use std::sync::Arc;

/// Medians in bytes per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Within the device: bytes copied, each read once and written once.
    pub within: f64,
    /// From pinned memory to the device.
    pub up: f64,
    /// From the device to pinned memory.
    pub down: f64,
}

/// Counted runs of each copy, after two that are not counted.
const RUNS: usize = 7;
/// Bytes per copy over the bus: enough that its start does not matter.
const OVER_THE_BUS: usize = 64 << 20;

impl Rates {
    /// Measures all three; `within` uses copies of this many bytes.
    pub fn measure(device: &Arc<Device>, within: usize) -> Result<Self, DriverError> {
        let (up, down) = Self::over_the_bus(device)?;
        let stream = device.stream()?;
        let (from, to) =
            (device.pool().alloc(&stream, within as u64)?, device.pool().alloc(&stream, within as u64)?);
        from.fill(&stream, 0, within as u64, 7)?;
        let within = median(&stream, within, || {
            // SAFETY: both buffers have this many bytes and live until the copy has been waited for.
            unsafe { copy_within(&stream, to.address(), from.address(), within) }
        })?;
        Ok(Self { within, up, down })
    }

    /// Measures copies to and from the device.
    pub fn over_the_bus(device: &Arc<Device>) -> Result<(f64, f64), DriverError> {
        const LEN: usize = OVER_THE_BUS;
        let stream = device.stream()?;
        let there = device.pool().alloc(&stream, LEN as u64)?;
        let mut flying: Option<InFlight> = None;
        // The previous copy is done: each run ends with a wait.
        let landed = |flying: Option<InFlight>| match flying {
            Some(flying) => flying.wait(),
            None => Pinned::new(device.context(), LEN),
        };
        let up = median(&stream, LEN, || {
            flying = Some(there.upload(&stream, 0, landed(flying.take())?, LEN)?);
            Ok(())
        })?;
        let down = median(&stream, LEN, || {
            flying = Some(there.download(&stream, 0, landed(flying.take())?, LEN)?);
            Ok(())
        })?;
        Ok((up, down))
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate, shown with a few digits")]
fn median(
    stream: &Stream,
    len: usize,
    mut queue: impl FnMut() -> Result<(), DriverError>,
) -> Result<f64, DriverError> {
    let mut times = Vec::new();
    for run in 0..RUNS + 2 {
        let before = stream.record_timed()?;
        queue()?;
        let after = stream.record_timed()?;
        after.synchronize()?;
        if run >= 2 {
            times.push(after.since(&before)?);
        }
    }
    times.sort();
    let time = times.get(RUNS / 2).map_or(f64::INFINITY, std::time::Duration::as_secs_f64);
    Ok(len as f64 / time.max(1e-9))
}

//! One reducing job on the device. All results are in one piece of memory, which is freed with the last of them.

#![expect(unsafe_code, reason = "kernels are launched, and results share their memory")]

use super::reduce::{self, Place, Places, Reduction};
use super::{bring, part};
use crate::abi::bytes_of;
use crate::decode::batch::aligned;
use crate::decode::run::Stop;
use crate::device::Device;
use crate::lane::Spare;
use crate::launch::launch;
use crate::memory::{DeviceBuffer, Kind, lasting};
use crate::stream::Stream;
use std::sync::Arc;
use strile_engine::{
    Assembly, Context, DeviceBytes, EngineError, Given, Location, OutputBox, Patch, ReduceJob, Reduced,
    SharedPixels,
};

// SAFETY: the fields fill the struct without padding; its size is asserted beside it.
unsafe impl crate::abi::Plain for reduce::ReducePart {}

const PURPOSE: &str = "reduced images on the device";

/// Runs the job, which was checked against its pixels.
pub(crate) fn run(
    device: &Device,
    spare: &Spare,
    job: &ReduceJob,
    mut pixels: Vec<SharedPixels>,
    context: &Context,
) -> Result<Vec<Reduced>, Stop> {
    if context.cancel.is_cancelled() {
        return Err(EngineError::Cancelled.into());
    }
    let _bound = device.bind()?;
    bring_all(device, spare, job, &mut pixels, context)?;
    let reduction = reduce::plan(job, &pixels)?;
    let table = bytes_of(&reduction.parts);
    let results = aligned(reduction.len);
    let need = results.saturating_add(table.len() as u64);
    let lease = device.budget().take(Kind::Output, need, PURPOSE, &context.cancel)?;
    let lane = spare.lane(device)?;
    let queued = queue(device, spare, &lane.copies, &reduction, (results, need));
    let ended = lane.synchronize();
    let buffer = queued?;
    ended?;
    spare.give_lane(lane);
    if context.cancel.is_cancelled() {
        return Err(EngineError::Cancelled.into());
    }
    if let Some(progress) = &context.progress {
        progress.advance(job.tasks.len() as u64);
    }
    let memory = lasting(device.facts().index, buffer, lease);
    let each = |places: &Places| {
        let mask = places.mask.as_ref().map(|place| pixels_at(&memory, place)).transpose()?;
        Ok(Reduced { pixels: pixels_at(&memory, &places.pixels)?, mask })
    };
    reduction.places.iter().map(each).collect()
}

/// Copies pixels of tasks from the host to the device.
fn bring_all(
    device: &Device,
    spare: &Spare,
    job: &ReduceJob,
    pixels: &mut [SharedPixels],
    context: &Context,
) -> Result<(), Stop> {
    let mut read: Vec<u32> =
        job.tasks.iter().flat_map(|task| [Some(task.pixels), task.mask]).flatten().collect();
    read.sort_unstable();
    read.dedup();
    let on_host = |index: &u32| pixels.get(*index as usize).is_some_and(|p| p.location() == Location::Host);
    read.retain(on_host);
    let mut wanted = Vec::with_capacity(read.len());
    for given in read.iter().filter_map(|&index| pixels.get(index as usize)) {
        let (bands, rows, columns) = (given.spec().bands, given.spec().rows, given.spec().columns);
        let whole = OutputBox { bands: (0, bands), rows: (0, rows), columns: (0, columns) };
        let spec = part::spec(&whole, given.spec()).ok_or(EngineError::Abandoned)?;
        let patch = Patch { from: Given::There(given), at: (0, 0), to: (0, 0), size: (columns, rows) };
        wanted.push(Assembly { spec, mask: false, patches: vec![patch] });
    }
    if wanted.is_empty() {
        return Ok(());
    }
    let brought = bring::assemble(device, spare, &wanted, context)?;
    for (index, there) in read.into_iter().zip(brought) {
        *pixels.get_mut(index as usize).ok_or(EngineError::Abandoned)? = there;
    }
    Ok(())
}

/// Queues the table, which lies behind the results, and the launches.
fn queue(
    device: &Device,
    spare: &Spare,
    stream: &Stream,
    reduction: &Reduction,
    (results, need): (u64, u64),
) -> Result<DeviceBuffer, Stop> {
    let buffer = device.pool().alloc_lasting(stream, need)?;
    let table = bytes_of(&reduction.parts);
    let mut up = spare.pinned(device, table.len())?;
    up.get_mut(..table.len()).ok_or(EngineError::Abandoned)?.copy_from_slice(table);
    let sent = buffer.upload(stream, results, up, table.len())?;
    let (parts, dst) = (buffer.part(results, table.len() as u64)?, buffer.address());
    for one in &reduction.launches {
        let function = device.function(reduce::MODULE, one.entry)?;
        // SAFETY: the plan checks parts against their pixels, which the caller keeps, and places results in the buffer.
        unsafe { launch(stream, &function, one.grid, reduce::THREADS, &one.args(parts, dst)) }?;
    }
    spare.give_pinned(sent.wait()?);
    Ok(buffer)
}

fn pixels_at(memory: &DeviceBytes, place: &Place) -> Result<SharedPixels, Stop> {
    let len = place.spec.len().map_err(|_| EngineError::Abandoned)? as u64;
    let end = place.offset.checked_add(len).filter(|&end| end <= memory.len());
    end.ok_or(EngineError::Abandoned)?;
    // SAFETY: these bytes lie inside the memory, which the owner keeps; all work on them is done.
    let bytes = unsafe {
        DeviceBytes::new(memory.device(), memory.address() + place.offset, len, Arc::clone(memory.owner()))
    };
    Ok(SharedPixels::on_device(place.spec.clone(), bytes).map_err(|_| EngineError::Abandoned)?)
}

//! Blocks that the host engine encodes: those of layouts without kernels, and those with an unrepresentable value,
//! which the host reports. Of pixels on the device only the part that these blocks need is copied, once.

use super::join::{Outcome, Tally};
use super::run::Run;
use super::{fetch, part};
use crate::decode::run::Stop;
use crate::stream::Stream;
use std::collections::BTreeMap;
use std::sync::Arc;
use strile_engine::{EncodeJob, EncodeTask, EngineError, Lease, Location, SharedPixels};

/// Returns the device memory that [`encode`] takes for these tasks.
pub(crate) fn memory(job: &EncodeJob, pixels: &[SharedPixels], tasks: &[usize]) -> u64 {
    let parts = parts(job, pixels, tasks);
    parts.values().map(|(given, part)| fetch::room(given, part)).max().unwrap_or(0)
}

/// Returns the parts of pixels on a device that the tasks need, by the index of the pixels.
fn parts<'a>(
    job: &EncodeJob,
    pixels: &'a [SharedPixels],
    tasks: &[usize],
) -> BTreeMap<u32, (&'a SharedPixels, part::Part)> {
    let mut parts: BTreeMap<u32, (&SharedPixels, part::Part)> = BTreeMap::new();
    for task in tasks.iter().filter_map(|&task| job.tasks.get(task)) {
        let given = pixels.get(task.pixels as usize).filter(|given| given.location() != Location::Host);
        let samples = job.layouts.get(task.layout as usize).map_or(0, |layout| layout.block.samples);
        let Some(given) = given else { continue };
        let new = part::of(task, samples);
        let joined = parts.entry(task.pixels).or_insert((given, new));
        joined.1 = joined.1.union(&new);
    }
    parts
}

/// Encodes the tasks of these indices, which are sorted.
pub(crate) fn encode(run: &Run, stream: &Stream, tasks: &[usize], tally: &mut Tally) -> Result<(), Stop> {
    if tasks.is_empty() {
        return Ok(());
    }
    let mut pixels = run.pixels.clone();
    let parts = parts(&run.job, &run.pixels, tasks);
    let mut leases: Vec<Lease> = Vec::new();
    let room = run.device.pool().alloc(stream, memory(&run.job, &run.pixels, tasks))?;
    for (&index, (given, wanted)) in &parts {
        let len = part::len(wanted, given.spec());
        leases.push(run.context.budget.take(len, "pixels back to host").map_err(EngineError::from)?);
        let (spec, bytes) = fetch::part(&run.device, stream, given, wanted, &room)?;
        let fetched = SharedPixels::new(spec, Arc::new(bytes)).map_err(|_| EngineError::Abandoned)?;
        *pixels.get_mut(index as usize).ok_or(EngineError::Abandoned)? = fetched;
    }
    drop(room);
    let moved = |task: &EncodeTask| match parts.get(&task.pixels) {
        None => *task,
        Some((_, part)) => EncodeTask {
            x: task.x.saturating_sub(part.columns.0),
            y: task.y.saturating_sub(part.rows.0),
            first_band: task.first_band.saturating_sub(part.bands.0),
            ..*task
        },
    };
    let job = EncodeJob {
        layouts: run.job.layouts.clone(),
        tasks: tasks.iter().filter_map(|&task| run.job.tasks.get(task)).map(moved).collect(),
    };
    let encoded = run.host.encode(job, &pixels, &run.context)?.wait()?;
    let chunk = tally.chunks.len();
    // Faults are in task order: each belongs to the next block of its address.
    let mut faults = encoded.faults.into_iter().peekable();
    for (&task, block) in tasks.iter().zip(&encoded.blocks) {
        let outcome = match block.span {
            Some(span) => Outcome::Bytes(chunk, span),
            None => match faults.next_if(|fault| fault.address == block.address) {
                Some(fault) => Outcome::Fault(fault.fault),
                None => Outcome::Sparse,
            },
        };
        tally.set(task, outcome);
    }
    tally.chunks.push(encoded.slab);
    Ok(())
}

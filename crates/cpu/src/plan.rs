//! Plans a job: the number of workers, their scratch, and their reads.

use crate::place::together;
use crate::{block, pool};
use strile_engine::{
    BlockTask, Context, DecodeJob, Decoder, Encoded, EngineMemory, EnginePlan, OutputKind, Route, Routes,
    Submission, Supply,
};
use strile_tiff::Compression;

/// Returns the number of threads that a job may use.
pub(crate) fn threads(context: &Context) -> usize {
    context.threads.get().min(pool::threads())
}

/// Returns the scratch of one worker, for the largest block of the job, and the number of workers wanted.
pub(crate) fn workers(
    job: &DecodeJob,
    supply: Supply,
    outputs: &[OutputKind],
    context: &Context,
) -> (u64, usize) {
    let reads = supply == Supply::Pulled;
    let casts = |task: &BlockTask| outputs.get(task.output as usize).is_some_and(|output| output.converts);
    let need = |task: &BlockTask| {
        let (span, layout) = (task.span?, job.layouts().get(task.layout as usize)?);
        let floats = if casts(task) { block::cast_scratch_len(layout) } else { 0 };
        Some(block::scratch_len(layout, task.placement.rows, span.len, reads).saturating_add(floats))
    };
    let largest = job.tasks().iter().filter_map(need).max().unwrap_or(0);
    let tasks = job.tasks().len();
    let wanted = match tasks <= threads(context) {
        true => usize::try_from(decoded(job) / WORTH_A_WORKER).unwrap_or(tasks).min(tasks),
        false => threads(context),
    };
    (largest, wanted.max(1))
}

/// Returns the bytes that a worker's helpers may take for a block, for the largest of the job.
fn helped_len(job: &DecodeJob, context: &Context, workers: usize) -> u64 {
    let threads = threads(context) / workers.max(1);
    let need = |task: &BlockTask| {
        let (span, layout) = (task.span?, job.layouts().get(task.layout as usize)?);
        Some(block::helped_len(layout, task.placement.rows, span.len, threads))
    };
    // More is never lent for what a block can do without (`Context::take_now`).
    let fits = |&need: &u64| need <= context.budget.limit() / 4;
    job.tasks().iter().filter_map(need).filter(fits).max().unwrap_or(0)
}

/// Decoded bytes per additional thread: waking a thread takes about as long as decoding them.
const WORTH_A_WORKER: u64 = 48 << 10;

/// Returns the bytes that the blocks of a job decode to.
fn decoded(job: &DecodeJob) -> u64 {
    let len = |task: &BlockTask| {
        let layout = job.layouts().get(task.layout as usize)?;
        layout.decoded_len(task.placement.rows).map(|len| len as u64)
    };
    job.tasks().iter().map(|task| len(task).unwrap_or(u64::MAX)).fold(0, u64::saturating_add)
}

/// Maximum bytes that the caller's thread copies itself.
const COPIED_HERE: u64 = 1 << 20;

/// Returns whether a job is a small copy of samples in memory.
pub(crate) fn is_copy(job: &DecodeJob, encoded: &Encoded) -> bool {
    let Encoded::Pulled(sources) = encoded else { return false };
    let mut bytes = 0u64;
    let copied = |task: &BlockTask| {
        let layout = job.layouts().get(task.layout as usize);
        let bands = job.selections().get(task.selection as usize).map_or(0, Vec::len) as u64;
        let pixels = u64::from(task.placement.width) * u64::from(task.placement.height);
        let size = layout.map_or(0, |layout| layout.data_type.size() as u64);
        bytes = bytes.saturating_add(pixels.saturating_mul(bands).saturating_mul(size));
        layout.is_some_and(|layout| layout.compression == Compression::None) && bytes <= COPIED_HERE
    };
    job.tasks().iter().all(copied) && sources.iter().all(|source| source.lends())
}

/// Returns the whole plan. There is one batch: workers take blocks until none is left. Each block is read separately.
pub(crate) fn plan(job: &DecodeJob, submission: &Submission<'_>, context: &Context) -> EnginePlan {
    let Submission { supply, outputs, held } = *submission;
    let (each, wanted) = workers(job, supply, outputs, context);
    let workers = context.budget.workers(each, wanted, held.host);
    let host = each.saturating_add(helped_len(job, context, workers));
    let memory = EngineMemory { host: host.saturating_mul(workers as u64), per_worker: each, device: 0 };
    let (mut ranges, mut range_bytes, mut routes) = (0, 0u64, Routes::default());
    let (tasks, mut index) = (job.tasks(), 0);
    while let Some(count) = together(tasks, index) {
        let before = index.checked_sub(1).and_then(|before| tasks.get(before));
        if let Some((task, span)) = tasks.get(index).and_then(|task| Some((task, task.span?))) {
            if supply == Supply::Pulled {
                ranges += 1;
                range_bytes = range_bytes.saturating_add(span.len);
            }
            let again = before.is_some_and(|before| task.is_of_same_block(before));
            let (layout, blocks) = (task.layout, usize::from(!again));
            let (decoder, reason, declined) = (Decoder::Cpu, None, Vec::new());
            routes.add(Route { layout, decoder, reason, declined, blocks });
        }
        index += count;
    }
    let batches = usize::from(!tasks.is_empty());
    EnginePlan { batches, ranges, range_bytes, memory, routes: routes.into_routes() }
}

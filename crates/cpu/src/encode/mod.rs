//! Encoding jobs: the twin of decoding in `engine`, with a slab of bytes as its output.
//!
//! A job is held against its pixels once; then as many workers as the context allows take the next task
//! until none is left. Each appends what it encodes to bytes of its own, and the last to leave puts them
//! together in the order of the tasks. Blocks are independent (`block`), so neither bytes nor faults depend on
//! how many workers there were.

mod block;
mod cut;
mod difference;
mod pack;

use crate::codec;
use crate::pool::{self, Scratch};
use block::Recipe;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use strile_engine::memory::NoMemory;
use strile_engine::{
    Arena, BlockFault, Completion, Context, EncodeJob, EncodeLayout, EncodedBlock, EncodedBlocks,
    EngineError, FaultKind, Lease, LocatedFault, Location, SharedPixels, Span, Ticket,
};
use strile_tiff::Compression;

/// Starts encoding. The budget lends the workers' scratch; the slab belongs to who waits for it.
pub(crate) fn submit(
    job: EncodeJob,
    pixels: &[SharedPixels],
    context: &Context,
) -> Result<Ticket<EncodedBlocks>, EngineError> {
    let recipe =
        |layout: &EncodeLayout| codec::prepare(layout.clone()).and_then(|layout| Recipe::of(&layout.block));
    let recipes = job.check(pixels, Location::Host, recipe)?;
    let (completion, ticket) = Ticket::new();
    let wanted = context.threads.get().min(pool::threads()).min(job.tasks.len().max(1));
    let (workers, lease) = scratch_lease(&job, context, wanted)?;
    let running = Arc::new(Running {
        job,
        recipes,
        pixels: pixels.to_vec(),
        context: context.clone(),
        next: AtomicUsize::new(0),
        cancelled: AtomicBool::new(false),
        shares: Mutex::default(),
        completion,
        lease,
        workers,
    });
    for _ in 1..workers {
        let running = Arc::clone(&running);
        pool::spawn(move || work(running));
    }
    pool::spawn(move || work(running));
    Ok(ticket)
}

/// Takes the workers' scratch from the budget: for each the largest block of the job. Fewer workers than
/// wanted where the budget has no room for all; an error where it has none for one.
fn scratch_lease(job: &EncodeJob, context: &Context, wanted: usize) -> Result<(usize, Lease), EngineError> {
    let need = |task: &strile_engine::EncodeTask| {
        Some(block::scratch_len(job.layouts.get(task.layout as usize)?, task.rows))
    };
    let largest = job.tasks.iter().filter_map(need).max().unwrap_or(0);
    context.take_for_workers(largest, wanted, "encoding scratch")
}

/// A job under way, shared by its workers.
struct Running {
    job: EncodeJob,
    /// One for each layout.
    recipes: Vec<Recipe>,
    pixels: Vec<SharedPixels>,
    context: Context,
    next: AtomicUsize,
    cancelled: AtomicBool,
    shares: Mutex<Vec<Share>>,
    completion: Completion<EncodedBlocks>,
    lease: Lease,
    workers: usize,
}

/// What became of a block: its place in the bytes of its worker, or `None` where it is sparse.
type Outcome = Result<Option<Range<usize>>, BlockFault>;

/// What one worker did.
#[derive(Default)]
struct Share {
    bytes: Vec<u8>,
    /// Tasks by number, in the order of `bytes`.
    done: Vec<(usize, Outcome)>,
}

fn work(running: Arc<Running>) {
    let mut share = Share { bytes: running.room(), done: Vec::new() };
    pool::with_scratch(|scratch| running.work(&mut share, scratch));
    running.shares.lock().unwrap_or_else(PoisonError::into_inner).push(share);
    // Exactly one worker is the last to let go.
    if let Some(done) = Arc::into_inner(running) {
        done.finish();
    }
}

impl Running {
    /// Memory for the share of one of equal workers in blocks that are stored as they are, whose sizes are known. Pages
    /// are touched as they fill.
    fn room(&self) -> Vec<u8> {
        let stored = |task: &strile_engine::EncodeTask| {
            let layout = &self.job.layouts.get(task.layout as usize)?.block;
            layout.decoded_len(task.rows).filter(|_| layout.compression == Compression::None)
        };
        let all: usize = self.job.tasks.iter().filter_map(stored).fold(0, usize::saturating_add);
        let mut bytes = Vec::new();
        // Without it, the share grows block by block.
        let _room = bytes.try_reserve_exact(all.div_ceil(self.workers.max(1)));
        bytes
    }

    fn work(&self, share: &mut Share, scratch: &mut Scratch) {
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(task) = self.job.tasks.get(index) else { return };
            if self.context.cancel.is_cancelled() {
                self.cancelled.store(true, Ordering::Relaxed);
                return;
            }
            let (Some(layout), Some(recipe), Some(pixels)) = (
                self.job.layouts.get(task.layout as usize),
                self.recipes.get(task.layout as usize),
                self.pixels.get(task.pixels as usize),
            ) else {
                return;
            };
            let start = share.bytes.len();
            let source = block::Source { task, layout, pixels };
            let result = block::encode(&source, recipe, scratch, &mut share.bytes);
            let result = match result {
                Ok(true) => Ok(Some(start..share.bytes.len())),
                Ok(false) => Ok(None),
                Err(fault) => Err(fault),
            };
            if !matches!(result, Ok(Some(_))) {
                share.bytes.truncate(start);
            }
            share.done.push((index, result));
            if let Some(progress) = &self.context.progress {
                progress.advance(1);
            }
        }
    }

    /// Gives everything back, then completes the ticket.
    fn finish(self) {
        let Self { job, recipes, pixels, context, next: _, cancelled, shares, completion, lease, workers: _ } =
            self;
        let shares = shares.into_inner().unwrap_or_else(PoisonError::into_inner);
        let all_done = shares.iter().map(|share| share.done.len()).sum::<usize>() == job.tasks.len();
        let starved = shares.iter().flat_map(|share| &share.done).find_map(|(_, outcome)| match outcome {
            Err(fault) if fault.kind == FaultKind::OutOfMemory => Some(fault.expected),
            _ => None,
        });
        drop((recipes, pixels, context, lease));
        let none = |bytes: u64, purpose| EngineError::NoMemory(NoMemory { bytes, purpose });
        completion.complete(match (cancelled.into_inner(), starved, all_done) {
            (true, ..) => Err(EngineError::Cancelled),
            (false, Some(bytes), _) => Err(none(bytes, "encoding a block")),
            (false, None, true) => {
                let bytes = shares.iter().map(|share| share.bytes.len() as u64).sum();
                join(&job, shares).ok_or_else(|| none(bytes, "joining encoded blocks"))
            }
            // A worker was lost to a panic.
            (false, None, false) => Err(EngineError::Abandoned),
        });
    }
}

/// All shares in the order of the tasks; `None` for want of memory.
fn join(job: &EncodeJob, mut shares: Vec<Share>) -> Option<EncodedBlocks> {
    let mut order: Vec<Option<(usize, Outcome)>> = Vec::new();
    order.try_reserve_exact(job.tasks.len()).ok()?;
    order.resize_with(job.tasks.len(), || None);
    for (number, share) in shares.iter_mut().enumerate() {
        for (index, result) in share.done.drain(..) {
            *order.get_mut(index)? = Some((number, result));
        }
    }
    // One worker alone took the tasks in their order: its bytes are the slab.
    let mut busy = shares.iter_mut().filter(|share| !share.bytes.is_empty());
    let alone = match (busy.next(), busy.next()) {
        (Some(share), None) => Some(std::mem::take(&mut share.bytes)),
        _ => None,
    };
    let joined = alone.is_none();
    let mut slab = alone.unwrap_or_default();
    if joined {
        slab.try_reserve_exact(shares.iter().map(|share| share.bytes.len()).sum()).ok()?;
    }
    let (mut blocks, mut faults) = (Vec::new(), Vec::new());
    blocks.try_reserve_exact(job.tasks.len()).ok()?;
    for (task, entry) in job.tasks.iter().zip(order) {
        let (number, result) = entry?;
        let span = match result {
            Ok(Some(range)) => {
                let mut offset = range.start;
                if joined {
                    offset = slab.len();
                    slab.extend_from_slice(shares.get(number)?.bytes.get(range.clone())?);
                }
                Some(Span { offset: offset as u64, len: range.len() as u64 })
            }
            Ok(None) => None,
            Err(fault) => {
                faults.push(LocatedFault { source: task.pixels, address: task.address, fault });
                None
            }
        };
        blocks.push(EncodedBlock { layout: task.layout, address: task.address, span });
    }
    slab.shrink_to_fit();
    Some(EncodedBlocks { slab: Arena::from_vec(slab), blocks, faults })
}

//! Encoding jobs: the counterpart of decoding in `engine`, with a slab of bytes as output.
//!
//! A job is checked against its pixels once; then as many workers as the context allows take tasks until none is left.
//! Each worker appends its encoded blocks to its own bytes, and the last one to finish joins them in task order.
//! Uncompressed blocks have known sizes and are written directly to their places (`stored`). Blocks are independent
//! (`block`), so neither bytes nor faults depend on the number of workers.

mod block;
mod cut;
mod difference;
mod pack;
mod stored;

use crate::codec;
use crate::pool::{self, Scratch};
use block::Recipe;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use stored::Places;
use strile_engine::memory::NoMemory;
use strile_engine::{
    Arena, BlockFault, Completion, Context, EncodeJob, EncodeLayout, EncodedBlock, EncodedBlocks,
    EngineError, FaultKind, Lease, LocatedFault, Location, SharedPixels, Span, Ticket,
};

/// Starts encoding. The budget provides the workers' scratch; the slab belongs to the caller.
pub(crate) fn submit(
    job: EncodeJob,
    pixels: &[SharedPixels],
    context: &Context,
) -> Result<Ticket<EncodedBlocks>, EngineError> {
    let recipe = |layout: &EncodeLayout| Recipe::of(&codec::prepare(layout.clone())?.block);
    let recipes = job.check(pixels, Location::Host, recipe)?;
    let (completion, ticket) = Ticket::new();
    let wanted = context.threads.get().min(pool::threads()).min(job.tasks.len().max(1));
    let (workers, lease) = scratch_lease(&job, context, wanted)?;
    let places = Places::of(&job)?;
    let running = Arc::new(Running {
        job,
        recipes,
        pixels: pixels.to_vec(),
        context: context.clone(),
        next: AtomicUsize::new(0),
        cancelled: AtomicBool::new(false),
        shares: Mutex::default(),
        places,
        completion,
        lease,
    });
    for _ in 1..workers {
        let running = Arc::clone(&running);
        pool::spawn(move || work(running));
    }
    pool::spawn(move || work(running));
    Ok(ticket)
}

/// Takes the workers' scratch from the budget, for each worker that of the largest block of the job. Returns fewer
/// workers than wanted if the budget has no room for all; an error if it has none for one.
fn scratch_lease(job: &EncodeJob, context: &Context, wanted: usize) -> Result<(usize, Lease), EngineError> {
    let need = |task: &strile_engine::EncodeTask| {
        Some(block::scratch_len(job.layouts.get(task.layout as usize)?, task.rows))
    };
    let largest = job.tasks.iter().filter_map(need).max().unwrap_or(0);
    context.take_for_workers(largest, wanted, "encoding scratch")
}

/// A running job, shared by its workers.
struct Running {
    job: EncodeJob,
    /// One recipe per layout.
    recipes: Vec<Recipe>,
    pixels: Vec<SharedPixels>,
    context: Context,
    next: AtomicUsize,
    cancelled: AtomicBool,
    shares: Mutex<Vec<Share>>,
    /// Destinations of blocks with known sizes; `None` if the size of any block is unknown.
    places: Option<Places>,
    completion: Completion<EncodedBlocks>,
    lease: Lease,
}

/// Result of a block: its range in the bytes of its worker, or in the slab if places were known; `None` if it is
/// sparse.
type Outcome = Result<Option<Range<usize>>, BlockFault>;

/// Results of one worker.
#[derive(Default)]
struct Share {
    bytes: Vec<u8>,
    /// Tasks by number, in the order of `bytes`.
    done: Vec<(usize, Outcome)>,
}

fn work(running: Arc<Running>) {
    let mut share = Share::default();
    pool::with_scratch(|scratch| running.work(&mut share, scratch));
    running.shares.lock().unwrap_or_else(PoisonError::into_inner).push(share);
    // Exactly one worker drops the last reference.
    if let Some(done) = Arc::into_inner(running) {
        done.finish();
    }
}

impl Running {
    fn work(&self, share: &mut Share, scratch: &mut Scratch) {
        loop {
            pool::give_way();
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
            let source = block::Source { task, layout, pixels };
            let result = match &self.places {
                Some(places) => places.fill(index, |place| block::store(&source, recipe, scratch, place)),
                None => share.append(|bytes| block::encode(&source, recipe, scratch, bytes)),
            };
            share.done.push((index, result));
            if let Some(progress) = &self.context.progress {
                progress.advance(1);
            }
        }
    }

    /// Releases all resources, then completes the ticket.
    fn finish(self) {
        let Self { job, recipes, pixels, context, next: _, cancelled, shares, places, completion, lease } =
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
                join(&job, shares, places).ok_or_else(|| none(bytes, "joining encoded blocks"))
            }
            // A panic ended a worker.
            (false, None, false) => Err(EngineError::Abandoned),
        });
    }
}

impl Share {
    /// Appends a block; truncates what was appended if the block is sparse or has a fault.
    fn append(&mut self, encode: impl FnOnce(&mut Vec<u8>) -> Result<bool, BlockFault>) -> Outcome {
        let start = self.bytes.len();
        let result = encode(&mut self.bytes);
        if !matches!(result, Ok(true)) {
            self.bytes.truncate(start);
        }
        result.map(|stored| stored.then_some(start..self.bytes.len()))
    }

    /// Returns its bytes. If they are kept without joining, they are copied if much of their memory is unused and there
    /// is memory for a copy: `shrink_to_fit` would abort the process if there is none.
    fn into_arena(self, is_kept: bool) -> Arena {
        let (len, capacity) = (self.bytes.len(), self.bytes.capacity());
        let mut exact = Vec::new();
        if is_kept && capacity - len > len / 8 && exact.try_reserve_exact(len).is_ok() {
            exact.extend_from_slice(&self.bytes);
            return Arena::from_vec(exact);
        }
        Arena::from_vec(self.bytes)
    }
}

/// Joins all blocks in task order; `None` if memory runs out.
fn join(job: &EncodeJob, mut shares: Vec<Share>, places: Option<Places>) -> Option<EncodedBlocks> {
    let mut order: Vec<Option<(usize, Outcome)>> = Vec::new();
    order.try_reserve_exact(job.tasks.len()).ok()?;
    order.resize_with(job.tasks.len(), || None);
    for (number, share) in shares.iter_mut().enumerate() {
        for (index, result) in share.done.drain(..) {
            *order.get_mut(index)? = Some((if places.is_some() { 0 } else { number }, result));
        }
    }
    // A single worker took the tasks in order: its bytes are the slab. The same applies to places without gaps.
    let full = order.iter().all(|entry| matches!(entry, Some((_, Ok(Some(_))))));
    let in_place = places.is_none() || full;
    let mut sources: Vec<Arena> = match places {
        Some(places) => vec![places.rejoin()?],
        None => {
            let is_alone = shares.iter().filter(|share| !share.bytes.is_empty()).count() == 1;
            shares.into_iter().map(|share| share.into_arena(is_alone)).collect()
        }
    };
    let mut busy = (0..).zip(&sources).filter(|(_, source)| !source.bytes().is_empty());
    let whole = match (busy.next(), busy.next()) {
        (Some((number, _)), None) if in_place => Some(number),
        _ => None,
    };
    let mut slab = Vec::new();
    if whole.is_none() {
        let len = |(_, outcome): &(usize, Outcome)| match outcome {
            Ok(Some(range)) => range.len(),
            _ => 0,
        };
        slab.try_reserve_exact(order.iter().flatten().map(len).sum()).ok()?;
    }
    let (mut blocks, mut faults) = (Vec::new(), Vec::new());
    blocks.try_reserve_exact(job.tasks.len()).ok()?;
    for (task, entry) in job.tasks.iter().zip(order) {
        let (number, result) = entry?;
        let span = match result {
            Ok(Some(range)) => {
                let mut offset = range.start;
                if whole.is_none() {
                    offset = slab.len();
                    slab.extend_from_slice(sources.get(number)?.bytes().get(range.clone())?);
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
    let slab = match whole {
        Some(number) => sources.swap_remove(number),
        None => Arena::from_vec(slab),
    };
    Some(EncodedBlocks { slab, blocks, faults })
}

//! A running job: tasks are cut into runs of rows, shared by workers, and joined by the last worker.
//!
//! Each pixel depends only on its source pixels, so neither the cuts nor the number of workers affect the result.

use super::part::Part;
use super::{Manner, Rows, rows};
use crate::pool;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use strile_engine::memory::probe;
use strile_engine::{Completion, Context, EngineError, ReduceJob, Reduced, SharedPixels, Ticket};

/// Bytes of a run of rows: large enough to outweigh scheduling, small enough to divide one task among workers.
const RUN_BYTES: usize = 1 << 20;

/// Rows of one task.
struct Run {
    task: usize,
    rows: Range<u32>,
}

struct Running {
    job: ReduceJob,
    pixels: Vec<SharedPixels>,
    context: Context,
    runs: Vec<Run>,
    next: AtomicUsize,
    cancelled: AtomicBool,
    done: Mutex<Vec<Option<Rows>>>,
    completion: Completion<Vec<Reduced>>,
}

/// Starts reducing.
pub(crate) fn submit(
    job: ReduceJob,
    pixels: &[SharedPixels],
    context: &Context,
) -> Result<Ticket<Vec<Reduced>>, EngineError> {
    let (mut runs, mut bytes) = (Vec::new(), 0_u64);
    for (task, wanted) in job.tasks.iter().enumerate() {
        let part = Part::new(job.method, wanted, pixels)?;
        let rows = part.target_rows();
        bytes =
            bytes.saturating_add((part.row_len() as u64).saturating_mul(u64::from(rows.end - rows.start)));
        cut(&part, |rows| runs.push(Run { task, rows }));
    }
    // Runs are computed separately and then joined.
    probe(bytes.saturating_mul(2), "reduced pixels")?;
    let (completion, ticket) = Ticket::new();
    let workers = context.threads.get().min(pool::threads()).min(runs.len()).max(1);
    let running = Arc::new(Running {
        done: Mutex::new(runs.iter().map(|_| None).collect()),
        job,
        pixels: pixels.to_vec(),
        context: context.clone(),
        runs,
        next: AtomicUsize::new(0),
        cancelled: AtomicBool::new(false),
        completion,
    });
    for _ in 1..workers {
        let running = Arc::clone(&running);
        pool::spawn_soon(move || work(running));
    }
    pool::spawn_soon(move || work(running));
    Ok(ticket)
}

/// Cuts a part into runs of rows.
fn cut(part: &Part<'_>, mut run: impl FnMut(Range<u32>)) {
    let all = part.target_rows();
    let height = u32::try_from(RUN_BYTES.div_ceil(part.row_len().max(1))).unwrap_or(u32::MAX);
    let mut start = all.start;
    while start < all.end {
        let end = start.saturating_add(height).min(all.end);
        run(start..end);
        start = end;
    }
}

fn work(running: Arc<Running>) {
    while let Some((index, run)) = running.take() {
        if running.context.cancel.is_cancelled() {
            running.cancelled.store(true, Ordering::Relaxed);
            break;
        }
        running.run(index, run);
    }
    // Exactly one worker drops the last reference.
    if let Some(done) = Arc::into_inner(running) {
        done.finish();
    }
}

impl Running {
    fn take(&self) -> Option<(usize, &Run)> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        Some((index, self.runs.get(index)?))
    }

    fn run(&self, index: usize, run: &Run) {
        let manner = Manner { method: self.job.method, nodata: self.job.nodata };
        // `submit` has checked every task.
        let part = self.job.tasks.get(run.task).map(|task| Part::new(self.job.method, task, &self.pixels));
        let Some(Ok(part)) = part else { return };
        let reduced = rows(manner, &part, run.rows.clone());
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = done.get_mut(index) {
            *slot = Some(reduced);
        }
    }

    fn finish(self) {
        let Self { job, pixels, context, runs, cancelled, done, completion, .. } = self;
        let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        let result = match cancelled.into_inner() {
            true => Err(EngineError::Cancelled),
            // A run is missing if a panic ended a worker.
            false => join(&job, &pixels, &runs, done).ok_or(EngineError::Abandoned),
        };
        drop((job, pixels, context, runs));
        completion.complete(result);
    }
}

/// Joins the runs of each task.
fn join(
    job: &ReduceJob,
    pixels: &[SharedPixels],
    runs: &[Run],
    done: Vec<Option<Rows>>,
) -> Option<Vec<Reduced>> {
    let mut done = runs.iter().zip(done).peekable();
    let mut joined = Vec::with_capacity(job.tasks.len());
    for (task, wanted) in job.tasks.iter().enumerate() {
        let mut of_task = Vec::new();
        while let Some((_, reduced)) = done.next_if(|(run, _)| run.task == task) {
            of_task.push(reduced?);
        }
        let part = Part::new(job.method, wanted, pixels).ok()?;
        let rows = match of_task.len() {
            1 => of_task.pop()?,
            _ => stacked(&part, of_task),
        };
        joined.push(reduced(&part, rows)?);
    }
    Some(joined)
}

/// Stacks runs of rows vertically, in every group of bands.
fn stacked(part: &Part<'_>, runs: Vec<Rows>) -> Rows {
    let groups = part.groups().count();
    let mut pixels = Vec::with_capacity(runs.iter().map(|run| run.pixels.len()).sum());
    for group in 0..groups {
        for run in &runs {
            let len = run.pixels.len() / groups;
            pixels.extend(run.pixels.get(group * len..(group + 1) * len).unwrap_or_default());
        }
    }
    let mask = part.mask().map(|_| runs.iter().flat_map(|run| run.mask.iter().flatten()).copied().collect());
    Rows { pixels, mask }
}

/// Returns the rows of a whole part as pixels.
fn reduced(part: &Part<'_>, rows: Rows) -> Option<Reduced> {
    let (spec, mask_spec) = part.reduced_specs().ok()?;
    let mask = rows.mask.map(|mask| SharedPixels::new(mask_spec, Arc::new(mask))).transpose().ok()?;
    Some(Reduced { pixels: SharedPixels::new(spec, Arc::new(rows.pixels)).ok()?, mask })
}

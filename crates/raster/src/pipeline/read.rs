//! Runs a read plan: fetch, decode, place, with the next batch fetched while this one decodes.

use crate::error::{Error, Result};
use crate::open::io_error;
use crate::plan::{Fetch, ReadPlan, fetches};
use crate::source::{ReadDone, ReadOp, Source};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::mpsc;
use strile_engine::{
    Arena, BlockFault, BlockTask, Context, DecodeJob, Encoded, Engine, EngineError, JobError, LocatedFault,
    Output, Report, Span, Ticket,
};

/// Batches decoded or waiting to be at one time.
const IN_FLIGHT: usize = 2;

/// Runs `plan` over `source`, into `output`. When it returns, with a report or an error, nothing writes to the
/// output any more.
pub(crate) fn run(
    plan: ReadPlan,
    source: &dyn Source,
    engine: &dyn Engine,
    output: &Output,
    context: &Context,
) -> Result<Report> {
    let _staging = context.budget.take(plan.memory.staging, "staging of encoded blocks")?;
    let mut flight = Flight::default();
    let submitted = submit_all(plan, source, engine, output, context, &mut flight);
    while flight.land() {}
    submitted?;
    flight.failed.map_or(Ok(flight.report), Err)
}

/// Jobs under way, and what became of those that are over.
#[derive(Default)]
struct Flight {
    tickets: VecDeque<Ticket>,
    report: Report,
    failed: Option<Error>,
}

impl Flight {
    /// Waits for the oldest job; false where there is none.
    fn land(&mut self) -> bool {
        let Some(ticket) = self.tickets.pop_front() else { return false };
        match ticket.wait() {
            Ok(part) => add(&mut self.report, part),
            Err(error) => self.failed = self.failed.take().or(Some(error.into())),
        }
        true
    }
}

fn submit_all(
    plan: ReadPlan,
    source: &dyn Source,
    engine: &dyn Engine,
    output: &Output,
    context: &Context,
    flight: &mut Flight,
) -> Result<()> {
    let ReadPlan { batches, fetch, layout, selection, .. } = plan;
    for mut batch in batches {
        if context.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        if flight.failed.is_some() {
            return Ok(());
        }
        let encoded = match (fetch, source.local()) {
            (Fetch::Pulled, Some(local)) => Encoded::Pulled(vec![local]),
            _ => {
                let (arena, outside) = stage(&mut batch, source, engine)?;
                flight.report.faults.extend(outside);
                Encoded::Staged(arena)
            }
        };
        let job =
            DecodeJob::new(vec![layout.clone()], vec![selection.clone()], batch).map_err(inconsistent)?;
        if flight.tickets.len() == IN_FLIGHT {
            flight.land();
        }
        flight.tickets.push_back(engine.submit(job, encoded, std::slice::from_ref(output), context)?);
    }
    Ok(())
}

fn add(total: &mut Report, part: Report) {
    total.blocks += part.blocks;
    total.encoded_bytes += part.encoded_bytes;
    total.faults.extend(part.faults);
    total.faults.sort_by_key(|located| located.address);
}

/// Reads a batch's ranges into one arena and points its spans there. Blocks outside the file are not read:
/// they are faults of their own, and left to be filled.
fn stage(
    batch: &mut [BlockTask],
    source: &dyn Source,
    engine: &dyn Engine,
) -> Result<(Arena, Vec<LocatedFault>)> {
    let mut outside = Vec::new();
    for task in batch.iter_mut() {
        let Some(span) = task.span else { continue };
        if span.end().is_none_or(|end| end > source.len()) {
            let fault = BlockFault::past_the_end(span);
            outside.push(LocatedFault { source: task.source, address: task.address, fault });
            task.span = None;
        }
    }
    let ranges = fetches(batch, source.len());
    let lens: Option<Vec<usize>> =
        ranges.iter().map(|range| usize::try_from(range.end - range.start).ok()).collect();
    let lens = lens.ok_or(EngineError::Abandoned)?;
    let arena = engine.staging(lens.iter().sum())?;
    let (parts, slots) = arena.split(&lens).ok_or(EngineError::Abandoned)?;
    let ops = ranges.iter().zip(slots).enumerate();
    let ops = ops.map(|(id, (range, into))| ReadOp { id, offset: range.start, into }).collect();
    let (sender, done) = mpsc::channel();
    source.submit(ops, &sender);
    drop(sender);
    for ReadDone { result, into, .. } in done {
        drop(into);
        result.map_err(|error| io_error(source, error))?;
    }
    let mut starts = Vec::with_capacity(ranges.len());
    let mut at = 0u64;
    for range in &ranges {
        starts.push(at);
        at += range.end - range.start;
    }
    for task in batch.iter_mut() {
        task.span = task.span.map(|span| moved(span, &ranges, &starts));
    }
    let arena = parts.rejoin().map_err(|_| Error::Engine(EngineError::Abandoned))?;
    Ok((arena, outside))
}

/// A span of the source, inside one of `ranges`, as a span of the arena where that range is at its start.
fn moved(span: Span, ranges: &[Range<u64>], starts: &[u64]) -> Span {
    let at = ranges.partition_point(|range| range.start <= span.offset).saturating_sub(1);
    match ranges.get(at).zip(starts.get(at)) {
        Some((range, start)) => Span { offset: start + (span.offset - range.start), len: span.len },
        None => span,
    }
}

/// A plan of ours that makes no job is a mistake of ours, and still no reason to panic.
fn inconsistent(error: JobError) -> Error {
    Error::Engine(EngineError::Mismatch {
        what: "plan",
        found: error.to_string(),
        expected: "a consistent plan".into(),
    })
}

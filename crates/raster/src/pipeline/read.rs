//! Runs a read plan: fetch, decode, place, with the next batch fetched while this one decodes.

use crate::error::{Error, Result};
use crate::open::io_error;
use crate::plan::{Fetch, ReadPlan, fetches};
use crate::source::{ReadDone, ReadOp, Source};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::mpsc;
use strile_engine::{
    Arena, BlockTask, Context, DecodeJob, Encoded, Engine, EngineError, JobError, Output, Report, Span,
    Ticket,
};

/// Batches decoded or waiting to be at one time.
const IN_FLIGHT: usize = 2;

/// Runs `plan` over `source`, into `output`.
pub(crate) fn run(
    plan: ReadPlan,
    source: &dyn Source,
    engine: &dyn Engine,
    output: &Output,
    context: &Context,
) -> Result<Report> {
    let mut flight: VecDeque<Ticket> = VecDeque::new();
    let mut report = Report::default();
    let _staging = context.budget.take(plan.memory.staging, "staging of encoded blocks")?;
    let ReadPlan { batches, fetch, layout, selection, .. } = plan;
    for mut batch in batches {
        if context.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let encoded = match (fetch, source.local()) {
            (Fetch::Pulled, Some(local)) => Encoded::Pulled(vec![local]),
            _ => Encoded::Staged(stage(&mut batch, source, engine)?),
        };
        let job =
            DecodeJob::new(vec![layout.clone()], vec![selection.clone()], batch).map_err(inconsistent)?;
        if flight.len() == IN_FLIGHT
            && let Some(ticket) = flight.pop_front()
        {
            add(&mut report, ticket.wait()?);
        }
        flight.push_back(engine.submit(job, encoded, std::slice::from_ref(output), context)?);
    }
    for ticket in flight {
        add(&mut report, ticket.wait()?);
    }
    Ok(report)
}

fn add(total: &mut Report, part: Report) {
    total.blocks += part.blocks;
    total.encoded_bytes += part.encoded_bytes;
    total.faults.extend(part.faults);
}

/// Reads a batch's ranges into one arena and points its spans there.
fn stage(batch: &mut [BlockTask], source: &dyn Source, engine: &dyn Engine) -> Result<Arena> {
    // A block outside the file is that block's fault, not the batch's: it is not read.
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
    parts.rejoin().map_err(|_| Error::Engine(EngineError::Abandoned))
}

/// A span of the source as a span of the arena; one that was not read stays outside of it.
fn moved(span: Span, ranges: &[Range<u64>], starts: &[u64]) -> Span {
    let at = ranges.partition_point(|range| range.start <= span.offset).checked_sub(1);
    let place = at.and_then(|at| ranges.get(at).zip(starts.get(at)));
    match place.filter(|(range, _)| span.offset.saturating_add(span.len) <= range.end) {
        Some((range, start)) => Span { offset: start + (span.offset - range.start), len: span.len },
        None => Span { offset: u64::MAX, len: span.len },
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

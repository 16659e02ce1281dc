//! Runs a read plan: fetch, decode, place, with the next batch fetched while this one decodes.

use crate::error::{Error, Result};
use crate::open::io_error;
use crate::plan::{Fetch, ReadPlan, fetches};
use crate::source::{ReadDone, ReadOp, Source};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, mpsc};
use strile_engine::memory::try_with_capacity;
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
    let _staging = context.take(plan.memory.staging, "staging of encoded blocks")?;
    let flight =
        Flight { source, engine, output, context, tickets: VecDeque::new(), report: Report::default() };
    flight.fly(plan)
}

/// Jobs under way, and the report of those that are over.
struct Flight<'a> {
    source: &'a dyn Source,
    engine: &'a dyn Engine,
    output: &'a Output,
    context: &'a Context,
    tickets: VecDeque<Ticket>,
    report: Report,
}

impl Flight<'_> {
    fn fly(mut self, plan: ReadPlan) -> Result<Report> {
        let mut result = self.submit_all(plan);
        // Whatever went wrong: what is under way ends before the output is the caller's again.
        while !self.tickets.is_empty() {
            let landed = self.land();
            result = result.and(landed);
        }
        result.map(|()| self.report)
    }

    /// Waits for the oldest job.
    fn land(&mut self) -> Result<()> {
        let Some(ticket) = self.tickets.pop_front() else { return Ok(()) };
        let part = ticket.wait()?;
        add(&mut self.report, part);
        Ok(())
    }

    fn submit_all(&mut self, plan: ReadPlan) -> Result<()> {
        let ReadPlan { batches, fetch, layout, selection, .. } = plan;
        for mut batch in batches {
            if self.context.cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            let encoded = match (fetch, self.source.local()) {
                (Fetch::Pulled | Fetch::Direct, Some(local)) => Encoded::Pulled(vec![local]),
                _ => {
                    let (arena, outside) = stage(&mut batch, self.source, self.engine)?;
                    self.report.faults.extend(outside);
                    Encoded::Staged(Arc::new(arena))
                }
            };
            let job =
                DecodeJob::new(vec![layout.clone()], vec![selection.clone()], batch).map_err(inconsistent)?;
            if self.tickets.len() == IN_FLIGHT {
                self.land()?;
            }
            let outputs = std::slice::from_ref(self.output);
            self.tickets.push_back(self.engine.submit(job, encoded, outputs, self.context)?);
        }
        Ok(())
    }
}

fn add(total: &mut Report, part: Report) {
    total.blocks += part.blocks;
    total.encoded_bytes += part.encoded_bytes;
    total.host_blocks += part.host_blocks;
    total.times.add(&part.times);
    total.faults.extend(part.faults);
    total.faults.sort_by_key(|located| located.address);
    // Parts of one block have one address: the block is faulty once.
    total.faults.dedup_by_key(|located| located.address);
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
    let mut starts = try_with_capacity(ranges.len(), "the plan of the read")?;
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

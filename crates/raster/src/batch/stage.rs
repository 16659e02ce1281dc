//! The bytes of a batch that come from afar: the ranges of all files, asked for before the first is waited for, in one
//! arena.

use crate::error::{Error, Result};
use crate::open::io_error;
use crate::plan::fetches;
use crate::source::{ReadDone, ReadOp, Source};
use std::ops::Range;
use std::sync::{Arc, mpsc};
use strile_engine::{Arena, BlockFault, BlockTask, Context, Engine, EngineError, Lease, LocatedFault, Span};

/// The bytes of all tasks, whose spans are offsets into them from now on, and the tasks whose bytes lie outside their file:
/// these are left to be filled.
pub(super) struct Staged {
    pub(super) arena: Arena,
    pub(super) outside: Vec<LocatedFault>,
    pub(super) lease: Lease,
}

/// Merged ranges of one file, and where the first lies in the arena.
struct Ranges {
    ranges: Vec<Range<u64>>,
    starts: Vec<u64>,
}

/// Reads what tasks, sorted by source, need.
pub(super) fn stage(
    tasks: &mut [BlockTask],
    sources: &[Arc<dyn Source>],
    engine: &dyn Engine,
    context: &Context,
) -> Result<Staged> {
    let abandoned = || Error::Engine(EngineError::Abandoned);
    let mut outside = Vec::new();
    let mut plans: Vec<(usize, Ranges)> = Vec::new();
    let mut lens = Vec::new();
    let mut at = 0u64;
    for of_source in tasks.chunk_by_mut(|a, b| a.source == b.source) {
        let Some(index) = of_source.first().map(|task| task.source as usize) else { continue };
        let source = sources.get(index).ok_or_else(abandoned)?;
        for task in of_source.iter_mut() {
            let Some(span) = task.span else { continue };
            if span.end().is_none_or(|end| end > source.len()) {
                let fault = BlockFault::past_the_end(span);
                outside.push(LocatedFault { source: task.source, address: task.address, fault });
                task.span = None;
            }
        }
        let ranges = fetches(of_source, source.len());
        let mut starts = Vec::with_capacity(ranges.len());
        for range in &ranges {
            starts.push(at);
            let len = range.end - range.start;
            at = at.checked_add(len).ok_or_else(abandoned)?;
            lens.push(usize::try_from(len).map_err(|_| abandoned())?);
        }
        plans.push((index, Ranges { ranges, starts }));
    }
    let lease = context.budget.take(at, "staging of encoded blocks")?;
    let arena = engine.staging(usize::try_from(at).map_err(|_| abandoned())?)?;
    let (parts, slots) = arena.split(&lens).ok_or_else(abandoned)?;
    let (sender, done) = mpsc::channel();
    let mut slots = slots.into_iter();
    for (index, plan) in &plans {
        let source = sources.get(*index).ok_or_else(abandoned)?;
        // The number says whose read it is, should it fail.
        let op = |(range, into): (&Range<u64>, _)| ReadOp { id: *index, offset: range.start, into };
        source.submit(plan.ranges.iter().zip(slots.by_ref()).map(op).collect(), &sender);
    }
    drop(sender);
    for ReadDone { id, into, result } in done {
        drop(into);
        let source = sources.get(id).ok_or_else(abandoned)?;
        result.map_err(|error| io_error(source.as_ref(), error))?;
    }
    let of_sources = tasks.chunk_by_mut(|a, b| a.source == b.source);
    for (of_source, (_, plan)) in of_sources.zip(&plans) {
        for task in of_source {
            task.span = task.span.map(|span| plan.moved(span));
        }
    }
    let arena = parts.rejoin().map_err(|_| abandoned())?;
    Ok(Staged { arena, outside, lease })
}

impl Ranges {
    /// A span of the file, inside one of the ranges, as a span of the arena.
    fn moved(&self, span: Span) -> Span {
        let at = self.ranges.partition_point(|range| range.start <= span.offset).saturating_sub(1);
        match self.ranges.get(at).zip(self.starts.get(at)) {
            Some((range, start)) => Span { offset: start + (span.offset - range.start), len: span.len },
            None => span,
        }
    }
}

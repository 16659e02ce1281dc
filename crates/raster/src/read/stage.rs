//! The bytes of blocks that an engine does not fetch itself: the ranges of all files in one arena.
//!
//! All reads of local files are submitted before the first is waited for. Remote files are waited for many at a time.

use super::ranges::fetches;
use super::together::{AT_ONCE, together};
use crate::error::{Error, Result};
use crate::open::io_error;
use crate::source::{ReadDone, ReadOp, Source};
use std::ops::Range;
use std::sync::{Arc, mpsc};
use strile_engine::{Arena, BlockFault, BlockTask, Context, Engine, EngineError, LocatedFault, Span};

/// The bytes of all tasks, whose spans are offsets into them from now on, and the tasks whose bytes lie outside their file:
/// these are left to be filled. The caller has leased the memory.
pub(super) struct Staged {
    pub(super) arena: Arena,
    pub(super) outside: Vec<LocatedFault>,
}

/// Bytes that staging a batch takes.
pub(super) fn staged_len(tasks: &[BlockTask], sources: &[Arc<dyn Source>]) -> u64 {
    let of_source = |tasks: &[BlockTask]| {
        let source = tasks.first().and_then(|task| sources.get(task.source as usize));
        let ranges = source.map(|source| fetches(tasks, source.len())).unwrap_or_default();
        ranges.iter().fold(0u64, |sum, range| sum.saturating_add(range.end - range.start))
    };
    tasks.chunk_by(|a, b| a.source == b.source).map(of_source).fold(0, u64::saturating_add)
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
    let arena = engine.staging(usize::try_from(at).map_err(|_| abandoned())?)?;
    let (parts, slots) = arena.split(&lens).ok_or_else(abandoned)?;
    let (mut slots, mut reads) = (slots.into_iter(), Vec::with_capacity(plans.len()));
    for (index, plan) in &plans {
        let source = sources.get(*index).ok_or_else(abandoned)?;
        let op = |(id, (range, into)): (usize, (&Range<u64>, _))| ReadOp { id, offset: range.start, into };
        let ops = plan.ranges.iter().zip(slots.by_ref()).enumerate().map(op).collect();
        reads.push((source, ops));
    }
    // The caller has counted the batch itself. Of many files, each can hold its answer until it is complete.
    let answers = if sources.len() > 1 { answers(&reads) } else { 0 };
    let _answers = context.take(answers, "answers of remote files")?;
    let afar = reads.iter().any(|(source, _)| is_afar(source));
    let reads = reads.into_iter().map(Reads::new).collect();
    together(reads, afar, &context.cancel, Reads::wait)?;
    let of_sources = tasks.chunk_by_mut(|a, b| a.source == b.source);
    for (of_source, (_, plan)) in of_sources.zip(&plans) {
        for task in of_source {
            task.span = task.span.map(|span| plan.moved(span));
        }
    }
    let arena = parts.rejoin().map_err(|_| abandoned())?;
    Ok(Staged { arena, outside })
}

/// Whether a source may answer on the thread that asks.
fn is_afar(source: &Arc<dyn Source>) -> bool {
    source.local().is_none()
}

/// Bytes of answers that may be under way at once: a remote source can hold them beside the arena until they are
/// complete.
fn answers(reads: &[(&Arc<dyn Source>, Vec<ReadOp>)]) -> u64 {
    let afar = reads.iter().filter(|(source, _)| is_afar(source));
    let mut lens: Vec<u64> = afar.map(|(_, ops)| ops.iter().map(|op| op.into.len() as u64).sum()).collect();
    lens.sort_unstable_by(|a, b| b.cmp(a));
    lens.iter().take(AT_ONCE).sum()
}

/// Reads of one file. Those of a remote file are submitted by the thread that waits for them.
struct Reads<'a> {
    source: &'a Arc<dyn Source>,
    left: Vec<ReadOp>,
    sender: mpsc::Sender<ReadDone>,
    done: mpsc::Receiver<ReadDone>,
}

impl<'a> Reads<'a> {
    fn new((source, mut left): (&'a Arc<dyn Source>, Vec<ReadOp>)) -> Self {
        let (sender, done) = mpsc::channel();
        if !is_afar(source) {
            source.submit(std::mem::take(&mut left), &sender);
        }
        Self { source, left, sender, done }
    }

    fn wait(self) -> Result<()> {
        let Self { source, left, sender, done } = self;
        if !left.is_empty() {
            source.submit(left, &sender);
        }
        drop(sender);
        let failed = done.into_iter().filter_map(|ReadDone { id, result, .. }| Some((id, result.err()?)));
        match failed.min_by_key(|(id, _)| *id) {
            None => Ok(()),
            Some((_, error)) => Err(io_error(source.as_ref(), error)),
        }
    }
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

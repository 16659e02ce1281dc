//! The bytes of blocks that an engine does not fetch itself: the ranges of all files in one arena.
//!
//! All reads are submitted before the first is waited for. Sources whose `submit` waits are waited for many at a time.

use super::ranges::fetches;
use super::together::{AT_ONCE, together};
use crate::error::{Error, Result};
use crate::open::io_error;
use crate::source::{ReadDone, ReadOp, Source};
use std::ops::Range;
use std::sync::{Arc, mpsc};
use strile_engine::{Arena, BlockFault, BlockTask, Cancel, Context, Engine, EngineError, LocatedFault, Span};

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
        let ranges = source.map(|source| fetches(tasks, source.as_ref())).unwrap_or_default();
        ranges.iter().fold(0u64, |sum, range| sum.saturating_add(range.end - range.start))
    };
    tasks.chunk_by(|a, b| a.source == b.source).map(of_source).fold(0, u64::saturating_add)
}

/// Merged ranges of one file, and where each lies in the arena.
struct Ranges {
    source: usize,
    ranges: Vec<Range<u64>>,
    starts: Vec<u64>,
}

/// Where the bytes of tasks will lie in one arena.
pub(super) struct Arranged {
    /// By file, in the order of the tasks.
    files: Vec<Ranges>,
    outside: Vec<LocatedFault>,
    /// Bytes of the arena.
    len: u64,
}

impl Arranged {
    /// Arranges the bytes of tasks, sorted by source. Tasks whose bytes lie outside their file lose their span.
    pub(super) fn new(tasks: &mut [BlockTask], sources: &[Arc<dyn Source>]) -> Result<Self> {
        let (mut files, mut outside, mut at) = (Vec::new(), Vec::new(), 0u64);
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
            let ranges = fetches(of_source, source.as_ref());
            let mut starts = Vec::with_capacity(ranges.len());
            for range in &ranges {
                starts.push(at);
                at = at.checked_add(range.end - range.start).ok_or_else(abandoned)?;
            }
            files.push(Ranges { source: index, ranges, starts });
        }
        Ok(Self { files, outside, len: at })
    }

    /// Makes the spans of the tasks offsets into the arena.
    pub(super) fn apply(&self, tasks: &mut [BlockTask]) {
        let of_sources = tasks.chunk_by_mut(|a, b| a.source == b.source);
        for (of_source, ranges) in of_sources.zip(&self.files) {
            for task in of_source {
                task.span = task.span.map(|span| ranges.moved(span));
            }
        }
    }

    /// Bytes of answers that may be under way at once: of many files, each remote one can hold its answer beside the
    /// arena until it is complete.
    pub(super) fn answers(&self, sources: &[Arc<dyn Source>]) -> u64 {
        if sources.len() <= 1 {
            return 0;
        }
        let afar =
            self.files.iter().filter(|file| sources.get(file.source).is_some_and(|source| source.waits()));
        let mut lens: Vec<u64> =
            afar.map(|file| file.ranges.iter().map(|range| range.end - range.start).sum()).collect();
        lens.sort_unstable_by(|a, b| b.cmp(a));
        lens.iter().take(AT_ONCE).sum()
    }
}

fn abandoned() -> Error {
    Error::Engine(EngineError::Abandoned)
}

/// Reads what tasks, sorted by source, need.
pub(super) fn stage(
    tasks: &mut [BlockTask],
    sources: &[Arc<dyn Source>],
    engine: &dyn Engine,
    context: &Context,
) -> Result<Staged> {
    let arranged = Arranged::new(tasks, sources)?;
    let ranges = arranged.files.iter().flat_map(|file| &file.ranges);
    let lens = ranges.map(|range| usize::try_from(range.end - range.start).map_err(|_| abandoned()));
    let lens = lens.collect::<Result<Vec<_>>>()?;
    let arena = engine.staging(usize::try_from(arranged.len).map_err(|_| abandoned())?)?;
    let (parts, slots) = arena.split(&lens).ok_or_else(abandoned)?;
    let (mut slots, mut reads) = (slots.into_iter(), Vec::with_capacity(arranged.files.len()));
    for file in &arranged.files {
        let source = sources.get(file.source).ok_or_else(abandoned)?;
        let op = |(id, (range, into)): (usize, (&Range<u64>, _))| ReadOp { id, offset: range.start, into };
        let ops = file.ranges.iter().zip(slots.by_ref()).enumerate().map(op).collect();
        reads.push((source, ops));
    }
    // The caller has counted the batch itself.
    let _answers = context.take(arranged.answers(sources), "answers of remote files")?;
    let waits = reads.iter().any(|(source, _)| source.waits());
    let reads = reads.into_iter().map(|read| Reads::new(read, &context.cancel)).collect();
    together(reads, waits, &context.cancel, Reads::wait)?;
    arranged.apply(tasks);
    let arena = parts.rejoin().map_err(|_| abandoned())?;
    Ok(Staged { arena, outside: arranged.outside })
}

/// Reads of one file. Those of a source that waits are submitted by the thread that waits for them.
struct Reads<'a> {
    source: &'a Arc<dyn Source>,
    cancel: &'a Cancel,
    count: usize,
    left: Vec<ReadOp>,
    sender: mpsc::Sender<ReadDone>,
    done: mpsc::Receiver<ReadDone>,
}

impl<'a> Reads<'a> {
    fn new((source, mut left): (&'a Arc<dyn Source>, Vec<ReadOp>), cancel: &'a Cancel) -> Self {
        let (sender, done) = mpsc::channel();
        let count = left.len();
        if !source.waits() {
            source.submit(std::mem::take(&mut left), &sender, cancel);
        }
        Self { source, cancel, count, left, sender, done }
    }

    fn wait(self) -> Result<()> {
        let Self { source, cancel, count, left, sender, done } = self;
        if !left.is_empty() {
            source.submit(left, &sender, cancel);
        }
        drop(sender);
        let (mut answers, mut failed) = (0, None);
        for ReadDone { id, result, .. } in done {
            answers += 1;
            if let Err(error) = result
                && failed.as_ref().is_none_or(|(first, _)| id < *first)
            {
                failed = Some((id, error));
            }
        }
        match failed {
            Some((_, error)) => Err(io_error(source.as_ref(), error)),
            None if answers == count => Ok(()),
            None => Err(io_error(source.as_ref(), std::io::Error::other("a source left reads unanswered"))),
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

//! Reads the bytes of blocks for an engine that does not fetch them itself: the ranges of all files of a batch in one
//! arena.
//!
//! All reads are submitted before the first is waited for. Bytes are passed to the engine as they arrive, in any order:
//! each range with its blocks, for an engine of the host, or some megabytes of neighbouring ranges, for one that copies
//! them to a device. Sources whose `submit` blocks are submitted to from separate threads, many at a time.

use super::ranges::fetches;
use super::together::{AT_ONCE, together};
use crate::error::{Error, Result};
use crate::file::open::io_error;
use crate::source::{ReadDone, ReadOp, Source};
use std::ops::Range;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, mpsc};
use std::thread::Scope;
use std::time::Duration;
use strile_engine::{
    Arena, BlockFault, BlockTask, Cancel, Context, Engine, EngineError, Lease, LocatedFault, Location, Slot,
    Span, thread_builder,
};

/// How often to check whether the caller still waits.
const LOOK: Duration = Duration::from_millis(50);

/// Minimum bytes passed to a device at once, unless there are fewer: each of its jobs takes a few launches and copies.
const DEVICE_BYTES: u64 = 8 << 20;

/// Returns the minimum bytes passed to an engine at once, unless there are fewer.
pub(super) fn least_of(engine: &dyn Engine) -> u64 {
    match engine.location() {
        Location::Host => 0,
        Location::Cuda(_) => DEVICE_BYTES,
    }
}

/// Returns the bytes for staging a batch.
pub(super) fn staged_len(tasks: &[BlockTask], sources: &[Arc<dyn Source>]) -> u64 {
    let of_source = |tasks: &[BlockTask]| {
        let source = tasks.first().and_then(|task| sources.get(task.source as usize));
        let ranges = source.map(|source| fetches(tasks, source.as_ref())).unwrap_or_default();
        ranges.iter().fold(0u64, |sum, range| sum.saturating_add(range.end - range.start))
    };
    tasks.chunk_by(|a, b| a.source == b.source).map(of_source).fold(0, u64::saturating_add)
}

/// Ranges of one file, and their positions in the arena.
struct Ranges {
    source: usize,
    ranges: Vec<Range<u64>>,
    starts: Vec<u64>,
    /// Number of the first of them in the batch.
    first: usize,
}

/// Positions of the bytes of tasks in one arena.
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
        let (mut files, mut outside, mut at, mut first) = (Vec::new(), Vec::new(), 0u64, 0);
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
            let count = ranges.len();
            files.push(Ranges { source: index, ranges, starts, first });
            first += count;
        }
        Ok(Self { files, outside, len: at })
    }

    /// Changes the spans of the tasks to offsets into the arena.
    pub(super) fn apply(&self, tasks: &mut [BlockTask]) {
        let of_sources = tasks.chunk_by_mut(|a, b| a.source == b.source);
        for (of_source, ranges) in of_sources.zip(&self.files) {
            for task in of_source {
                task.span = task.span.map(|span| ranges.moved(span));
            }
        }
    }

    /// Returns the bytes of responses that may be in flight at once: with several files, each remote one can hold its
    /// response in addition to the arena until it is complete.
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

    /// Returns the tasks in groups, each with the neighbouring ranges that hold its bytes: one range, or more until
    /// they have `least` bytes. Spans are offsets into the bytes of the group. Tasks without bytes are a separate
    /// group, unless groups should be large.
    pub(super) fn grouped(&self, tasks: &[BlockTask], least: u64) -> Vec<Group> {
        let (mut groups, mut group_of, mut bytes): (Vec<Group>, Vec<usize>, u64) =
            (Vec::new(), Vec::new(), 0);
        for (start, range) in self.files.iter().flat_map(|file| file.starts.iter().zip(&file.ranges)) {
            let number = group_of.len();
            match groups.last_mut().filter(|_| bytes < least) {
                Some(group) => group.ranges.end = number + 1,
                None => {
                    bytes = 0;
                    groups.push(Group::new(number, *start));
                }
            }
            group_of.push(groups.len() - 1);
            bytes = bytes.saturating_add(range.end - range.start);
        }
        let mut empty = Group::new(group_of.len(), self.len);
        empty.ranges.end = group_of.len();
        let (mut last, is_large) = (0, least > 0);
        let of_sources = tasks.chunk_by(|a, b| a.source == b.source);
        for (of_source, file) in of_sources.zip(&self.files) {
            for task in of_source {
                let of = task.span.and_then(|span| group_of.get(file.range_of(span)?).copied());
                last = of.unwrap_or(last);
                let group = groups.get_mut(last).filter(|_| of.is_some() || is_large).unwrap_or(&mut empty);
                let span = task.span.map(|span| {
                    let Span { offset, len } = file.moved(span);
                    Span { offset: offset.saturating_sub(group.start), len }
                });
                group.tasks.push(BlockTask { span, ..task.clone() });
            }
        }
        groups.push(empty);
        groups.iter_mut().for_each(Group::ready);
        groups
    }
}

fn abandoned() -> Error {
    Error::Engine(EngineError::Abandoned)
}

/// Blocks whose bytes arrive together.
pub(super) struct Group {
    pub(super) tasks: Vec<BlockTask>,
    /// The numbers of their ranges in the batch.
    ranges: Range<usize>,
    /// Start of their bytes in the arena.
    start: u64,
    /// Ranges that have arrived.
    slots: Vec<Option<Slot>>,
    left: usize,
}

impl Group {
    /// Creates a group of one range. Others may be added.
    fn new(range: usize, start: u64) -> Self {
        Self { tasks: Vec::new(), ranges: range..range + 1, start, slots: Vec::new(), left: 0 }
    }

    /// Prepares to wait for all of its ranges.
    fn ready(&mut self) {
        self.left = self.ranges.len();
        self.slots = self.ranges.clone().map(|_| None).collect();
    }

    /// Takes an arrived range. Returns the bytes of all ranges if this is the last.
    fn put(&mut self, id: usize, slot: Slot) -> Option<Arena> {
        let place = id.checked_sub(self.ranges.start).and_then(|at| self.slots.get_mut(at))?;
        if place.replace(slot).is_none() {
            self.left -= 1;
        }
        if self.left > 0 {
            return None;
        }
        let slots = std::mem::take(&mut self.slots).into_iter().flatten();
        // Adjacent ranges always join.
        slots
            .reduce(|joined, next| joined.join_next(next).unwrap_or_else(|(joined, _)| joined))
            .map(Slot::into_arena)
    }
}

/// A batch whose bytes are being read.
pub(super) struct Arriving {
    groups: Vec<Group>,
    /// The source of each range.
    sources: Vec<usize>,
    /// Whether the tasks without bytes were not returned yet.
    begun: bool,
    left: usize,
    done: Receiver<ReadDone>,
    /// Stops the reads.
    stop: Cancel,
    /// Tasks whose bytes lie outside their file, which are left to be filled.
    pub(super) outside: Vec<LocatedFault>,
    _answers: Lease,
}

/// Blocks, and the bytes that their spans refer to.
pub(super) type Arrived = (Vec<BlockTask>, Arena);

impl Arriving {
    /// Starts to read the bytes of tasks, sorted by source. The caller has leased the memory.
    pub(super) fn begin<'scope>(
        mut tasks: Vec<BlockTask>,
        sources: &'scope [Arc<dyn Source>],
        engine: &dyn Engine,
        context: &Context,
        scope: &'scope Scope<'scope, '_>,
    ) -> Result<Self> {
        let arranged = Arranged::new(&mut tasks, sources)?;
        let ranges = arranged.files.iter().flat_map(|file| &file.ranges);
        let lens = ranges.map(|range| usize::try_from(range.end - range.start).map_err(|_| abandoned()));
        let lens = lens.collect::<Result<Vec<_>>>()?;
        // The caller has counted the batch itself.
        let answers = context.take(arranged.answers(sources), "answers of remote files")?;
        let arena = engine.staging(usize::try_from(arranged.len).map_err(|_| abandoned())?)?;
        let (_, slots) = arena.split(&lens).ok_or_else(abandoned)?;
        let groups = arranged.grouped(&tasks, least_of(engine));
        let (mut slots, mut near, mut afar) = (slots.into_iter(), Vec::new(), Vec::new());
        let mut of_ranges = Vec::with_capacity(lens.len());
        for file in &arranged.files {
            let source = sources.get(file.source).ok_or_else(abandoned)?;
            let op =
                |(id, (range, into)): (usize, (&Range<u64>, _))| ReadOp { id, offset: range.start, into };
            let ids = file.first..;
            let ops: Vec<ReadOp> = ids.zip(file.ranges.iter().zip(slots.by_ref())).map(op).collect();
            of_ranges.extend(ops.iter().map(|_| file.source));
            if source.waits() { afar.push((source, ops)) } else { near.push((source, ops)) }
        }
        let (sender, done) = mpsc::channel();
        let stop = Cancel::default();
        if !afar.is_empty() {
            let (sender, stop) = (sender.clone(), stop.clone());
            let submit = move || {
                let submit = |(source, ops): (&Arc<dyn Source>, Vec<ReadOp>)| {
                    source.submit(ops, &sender.clone(), &stop);
                    Ok(())
                };
                // Reads that are skipped because the caller stops are not missed.
                let _stopped = together(afar, true, &stop, submit);
            };
            let spawned = thread_builder("strile-submit").and_then(|new| new.spawn_scoped(scope, submit));
            spawned.map_err(|error| Error::io("threads for remote reads", error))?;
        }
        for (source, ops) in near {
            source.submit(ops, &sender, &stop);
        }
        let left = groups.iter().filter(|group| group.left > 0).count();
        let outside = arranged.outside;
        Ok(Self { groups, sources: of_ranges, begun: false, left, done, stop, outside, _answers: answers })
    }

    /// Waits for the next blocks whose bytes have arrived; `None` if all were returned.
    pub(super) fn next(&mut self, sources: &[Arc<dyn Source>], context: &Context) -> Result<Option<Arrived>> {
        if !std::mem::replace(&mut self.begun, true) {
            let without = self.groups.iter_mut().find(|group| group.left == 0 && !group.tasks.is_empty());
            if let Some(group) = without {
                return Ok(Some((std::mem::take(&mut group.tasks), Arena::default())));
            }
        }
        while self.left > 0 {
            let ReadDone { id, into, result } = match self.done.recv_timeout(LOOK) {
                Ok(done) => done,
                Err(RecvTimeoutError::Timeout) if context.cancel.is_cancelled() => {
                    self.stop.cancel();
                    return Err(Error::Cancelled);
                }
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => {
                    let first =
                        self.groups.iter().find(|group| group.left > 0).map(|group| group.ranges.start);
                    let unanswered = std::io::Error::other("a source left reads unanswered");
                    return Err(self.failed(first.unwrap_or_default(), unanswered, sources));
                }
            };
            if let Err(error) = result {
                return Err(self.stopped(id, error, sources, context));
            }
            let at = self.groups.partition_point(|group| group.ranges.end <= id);
            let Some(group) = self.groups.get_mut(at) else { continue };
            if let Some(arena) = group.put(id, into) {
                self.left -= 1;
                return Ok(Some((std::mem::take(&mut group.tasks), arena)));
            }
        }
        Ok(None)
    }

    /// Stops the other reads. Returns the error of the first range that failed by itself.
    fn stopped(
        &self,
        id: usize,
        error: std::io::Error,
        sources: &[Arc<dyn Source>],
        context: &Context,
    ) -> Error {
        self.stop.cancel();
        let mut first = (id, error);
        for ReadDone { id, result, .. } in &self.done {
            match result {
                Err(error) if id < first.0 && error.kind() != std::io::ErrorKind::Interrupted => {
                    first = (id, error);
                }
                _ => {}
            }
        }
        match context.cancel.is_cancelled() {
            true => Error::Cancelled,
            false => self.failed(first.0, first.1, sources),
        }
    }

    fn failed(&self, id: usize, error: std::io::Error, sources: &[Arc<dyn Source>]) -> Error {
        let source = self.sources.get(id).and_then(|&source| sources.get(source));
        source.map_or_else(abandoned, |source| io_error(source.as_ref(), error))
    }
}

impl Drop for Arriving {
    fn drop(&mut self) {
        // Dropping a batch does not wait for the rest of it.
        self.stop.cancel();
    }
}

impl Ranges {
    /// Returns the number of the range that contains a span.
    fn range_of(&self, span: Span) -> Option<usize> {
        let at = self.ranges.partition_point(|range| range.start <= span.offset).checked_sub(1)?;
        Some(self.first + at)
    }

    /// Converts a span of the file, inside one of the ranges, to a span of the arena.
    fn moved(&self, span: Span) -> Span {
        let at = self.ranges.partition_point(|range| range.start <= span.offset).saturating_sub(1);
        match self.ranges.get(at).zip(self.starts.get(at)) {
            Some((range, start)) => Span { offset: start + (span.offset - range.start), len: span.len },
            None => span,
        }
    }
}

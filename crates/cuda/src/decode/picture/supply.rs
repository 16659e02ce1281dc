//! Reads and parses streams on several threads, ahead of the thread that makes batches of them, and delivers them in
//! order.
//!
//! Threads take pictures in runs, so that small ones do not cost a read each. The bytes read ahead are bounded, and the
//! parsed pictures take at most as much again. Pictures that cannot be read, are refused by the parser or would take
//! more are delivered as `None`: the host reports their faults.

use super::streams::{Streams, together};
use super::{Bytes, Decoder, Need};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use strile_engine::{BlockLayout, Cancel, Context, Slice, Span};

/// A requested picture.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    /// Index of its task in the job.
    pub(crate) task: usize,
    pub(crate) source: u32,
    pub(crate) span: Span,
    pub(crate) layout: Arc<BlockLayout>,
    pub(crate) rows: u32,
}

/// A parsed picture and its stream.
pub(crate) struct Parsed<P> {
    pub(crate) picture: Arc<P>,
    pub(crate) stream: Bytes,
    pub(crate) need: Need,
    /// Host memory that the picture keeps.
    pub(crate) held: u64,
}

/// Pictures of a run, in order; `None` for those that failed.
type Run<P> = Vec<Option<Parsed<P>>>;

/// The same, each with its request.
type Given<'a, P> = Vec<(&'a Wanted, Option<Parsed<P>>)>;

/// Shared state of the threads.
pub(crate) struct Supply<'a, D: Decoder> {
    decoder: &'a D,
    streams: Streams,
    wanted: Vec<Wanted>,
    /// Maximum bytes of streams that are read ahead.
    bound: u64,
    /// Maximum pictures of a run.
    most: usize,
    state: Mutex<State<D::Picture>>,
    /// Signals that the next run is done.
    done: Condvar,
    /// Signals that more may be read.
    room: Condvar,
}

struct State<P> {
    /// Pictures below this index are read or being read.
    next: usize,
    /// Pictures below this index were delivered.
    given: usize,
    /// Bytes of streams and of parsed pictures that are not delivered yet.
    held: u64,
    /// Runs by their first picture.
    runs: BTreeMap<usize, Run<P>>,
    stop: bool,
    reading: Duration,
}

/// Bytes of a run, unless it is one picture; small enough for a short read.
const RUN_LEN: u64 = 1 << 20;
/// Minimum runs per thread if there are enough pictures: the last ones then end at nearly the same time.
const RUNS_EACH: usize = 8;

/// Ends all reading on drop: always, or only if its thread panics. Otherwise others would wait for a thread that is
/// gone.
pub(crate) struct Ends<'a, 'b, D: Decoder> {
    pub(crate) supply: &'a Supply<'b, D>,
    pub(crate) always: bool,
}

impl<D: Decoder> Drop for Ends<'_, '_, D> {
    fn drop(&mut self) {
        if self.always || std::thread::panicking() {
            self.supply.stop();
        }
    }
}

/// Returns the maximum pictures of a run, for this number of pictures and threads.
fn most_of(pictures: usize, threads: usize) -> usize {
    (pictures / (threads.max(1) * RUNS_EACH)).max(1)
}

/// Returns the run that begins at a picture.
fn run_from(wanted: &[Wanted], first: usize, most: usize) -> Range<usize> {
    let mut len = 0u64;
    let fits = |wanted: &&Wanted| {
        len = len.saturating_add(wanted.span.len);
        len <= RUN_LEN
    };
    let more = wanted.get(first..).unwrap_or_default();
    let count = more.iter().take(most).take_while(fits).count();
    first..first + count.max(1)
}

/// Returns the byte ranges that `threads` threads read from the sources, run by run.
pub(crate) fn ranges(wanted: &[Wanted], threads: usize) -> Vec<Span> {
    let (most, mut first, mut ranges) = (most_of(wanted.len(), threads), 0, Vec::new());
    while first < wanted.len() {
        let run = run_from(wanted, first, most);
        first = run.end;
        ranges.extend(together(wanted.get(run).unwrap_or_default()).map(|(span, _)| span));
    }
    ranges
}

impl<'a, D: Decoder> Supply<'a, D> {
    /// Returns the state for `threads` threads.
    pub(crate) fn new(
        decoder: &'a D,
        streams: Streams,
        wanted: Vec<Wanted>,
        bound: u64,
        threads: usize,
    ) -> Self {
        let most = most_of(wanted.len(), threads);
        let state =
            State { next: 0, given: 0, held: 0, runs: BTreeMap::new(), stop: false, reading: Duration::ZERO };
        let (state, done, room) = (Mutex::new(state), Condvar::new(), Condvar::new());
        Self { decoder, streams, wanted, bound, most, state, done, room }
    }

    fn lock(&self) -> MutexGuard<'_, State<D::Picture>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stop(&self) {
        self.lock().stop = true;
        self.done.notify_all();
        self.room.notify_all();
    }

    /// Returns the time spent reading, summed over all threads.
    pub(crate) fn reading(&self) -> Duration {
        self.lock().reading
    }

    /// Returns the bytes of the streams of a run.
    fn bytes(&self, run: Range<usize>) -> u64 {
        let wanted = self.wanted.get(run).unwrap_or_default();
        wanted.iter().fold(0, |sum, wanted| sum.saturating_add(wanted.span.len))
    }

    /// Returns the next run that may be read.
    fn take(&self, cancel: &Cancel) -> Option<Range<usize>> {
        let mut state = self.lock();
        loop {
            if cancel.is_cancelled() && !state.stop {
                drop(state);
                self.stop();
                return None;
            }
            if state.stop || state.next >= self.wanted.len() {
                return None;
            }
            let run = run_from(&self.wanted, state.next, self.most);
            let held = state.held.saturating_add(self.bytes(run.clone()));
            // One run is always read: the one that is waited for, if none is held.
            if held <= self.bound || state.held == 0 {
                state.next = run.end;
                state.held = held;
                return Some(run);
            }
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Reads and parses until none is left; run by each thread.
    pub(crate) fn work(&self, thread: usize, context: &Context) {
        let _ends = Ends { supply: self, always: false };
        while let Some(run) = self.take(&context.cancel) {
            let wanted = self.wanted.get(run.clone()).unwrap_or_default();
            let start = Instant::now();
            let streams = self.streams.read(wanted);
            let read = Instant::now();
            let parsed = wanted.iter().zip(streams).map(|(wanted, stream)| self.parse(wanted, stream?));
            let parsed: Run<D::Picture> = parsed.collect();
            if let Some(trace) = &context.trace {
                let (start, read, end) = (trace.at(start), trace.at(read), trace.at(Instant::now()));
                for (name, start, end) in [("read", start, read), ("parse", read, end)] {
                    trace.add(Slice { track: format!("reader {thread}"), name, batch: 0, start, end });
                }
            }
            let mut state = self.lock();
            state.reading += read - start;
            state.runs.insert(run.start, parsed);
            let is_next = run.start == state.given;
            drop(state);
            if is_next {
                self.done.notify_all();
            }
        }
    }

    fn parse(&self, wanted: &Wanted, stream: Bytes) -> Option<Parsed<D::Picture>> {
        let picture = self.decoder.parse(&stream, &wanted.layout, wanted.rows).ok()?;
        let (need, held) = (self.decoder.need(&picture), self.decoder.held(&picture));
        let mut state = self.lock();
        let all = state.held.saturating_add(held);
        if all > self.bound.saturating_mul(2) {
            return None;
        }
        state.held = all;
        drop(state);
        Some(Parsed { picture: Arc::new(picture), stream, need, held })
    }

    /// Returns the next run in order, with its requests; `None` at the end, and if reading was ended.
    pub(crate) fn next(&self) -> Option<Given<'_, D::Picture>> {
        let mut state = self.lock();
        loop {
            let first = state.given;
            if let Some(run) = state.runs.remove(&first) {
                let range = first..first + run.len();
                state.given = range.end;
                let pictures =
                    run.iter().flatten().fold(0, |sum: u64, parsed| sum.saturating_add(parsed.held));
                let held = self.bytes(range.clone()).saturating_add(pictures);
                state.held = state.held.saturating_sub(held);
                drop(state);
                self.room.notify_all();
                let wanted = self.wanted.get(range).unwrap_or_default();
                return Some(wanted.iter().zip(run).collect());
            }
            if state.stop || first >= self.wanted.len() {
                return None;
            }
            state = self.done.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Returns whether all pictures were delivered.
    pub(crate) fn is_done(&self) -> bool {
        self.lock().given == self.wanted.len()
    }
}

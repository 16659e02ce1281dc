//! Streams read and parsed by several threads, ahead of the thread that makes batches of them, and given to it in order.
//!
//! No more is read ahead than a bound says. What cannot be read or is refused by the parser comes as `None`: the host says
//! what is wrong with it.

use super::{Bytes, Decoder};
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use strile_engine::{Arena, BlockLayout, Cancel, Context, ReadAt, Slice, Span};

/// Where streams are on the host.
pub(crate) enum Streams {
    Staged(Arc<Arena>),
    Pulled(Vec<Arc<dyn ReadAt>>),
}

impl Streams {
    fn read(&self, source: u32, span: Span) -> Option<Bytes> {
        let len = usize::try_from(span.len).ok()?;
        match self {
            Self::Staged(arena) => {
                let start = usize::try_from(span.offset).ok()?;
                Bytes::part(arena, start..start.checked_add(len)?)
            }
            Self::Pulled(sources) => {
                let mut bytes = Vec::new();
                bytes.try_reserve_exact(len).ok()?;
                bytes.resize(len, 0);
                sources.get(source as usize)?.read_into(span.offset, &mut bytes).ok()?;
                Some(bytes.into())
            }
        }
    }
}

/// A picture that is wanted.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    /// Index of its task in the job.
    pub(crate) task: usize,
    pub(crate) source: u32,
    pub(crate) span: Span,
    pub(crate) layout: Arc<BlockLayout>,
    pub(crate) rows: u32,
}

/// A picture that was parsed, and its stream.
pub(crate) type Parsed<P> = (Arc<P>, Bytes);

/// What the threads share.
pub(crate) struct Supply<'a, D: Decoder> {
    decoder: &'a D,
    streams: Streams,
    wanted: Vec<Wanted>,
    /// Bytes of streams that are read ahead at most.
    bound: u64,
    state: Mutex<State<D::Picture>>,
    changed: Condvar,
}

struct State<P> {
    /// Those below are read, or being read.
    next: usize,
    /// Those below were given.
    given: usize,
    /// Bytes of streams that were read and not given.
    held: u64,
    done: BTreeMap<usize, Option<Parsed<P>>>,
    stop: bool,
    reading: Duration,
}

/// Ends all reading when it is dropped: always, or when its thread panics. A thread that is gone would be waited for.
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

impl<'a, D: Decoder> Supply<'a, D> {
    pub(crate) fn new(decoder: &'a D, streams: Streams, wanted: Vec<Wanted>, bound: u64) -> Self {
        let state =
            State { next: 0, given: 0, held: 0, done: BTreeMap::new(), stop: false, reading: Duration::ZERO };
        Self { decoder, streams, wanted, bound, state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State<D::Picture>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stop(&self) {
        self.lock().stop = true;
        self.changed.notify_all();
    }

    /// Time spent reading, of all threads together.
    pub(crate) fn reading(&self) -> Duration {
        self.lock().reading
    }

    /// The next one that may be read, and its place in the order.
    fn take(&self, cancel: &Cancel) -> Option<(usize, &Wanted)> {
        let mut state = self.lock();
        loop {
            if cancel.is_cancelled() && !state.stop {
                state.stop = true;
                self.changed.notify_all();
            }
            let wanted = self.wanted.get(state.next).filter(|_| !state.stop)?;
            let held = state.held.saturating_add(wanted.span.len);
            // One is always read: the one that is waited for, where none is held.
            if held <= self.bound || state.held == 0 {
                let at = state.next;
                state.next += 1;
                state.held = held;
                return Some((at, wanted));
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Reads and parses until none is left: what each thread does.
    pub(crate) fn work(&self, thread: usize, context: &Context) {
        let _ends = Ends { supply: self, always: false };
        while let Some((at, wanted)) = self.take(&context.cancel) {
            let start = Instant::now();
            let stream = self.streams.read(wanted.source, wanted.span);
            let read = Instant::now();
            let parsed = stream.and_then(|stream| {
                let picture = self.decoder.parse(&stream, &wanted.layout, wanted.rows).ok()?;
                Some((Arc::new(picture), stream))
            });
            if let Some(trace) = &context.trace {
                let (start, read, end) = (trace.at(start), trace.at(read), trace.at(Instant::now()));
                for (name, start, end) in [("read", start, read), ("parse", read, end)] {
                    trace.add(Slice { track: format!("reader {thread}"), name, batch: 0, start, end });
                }
            }
            let mut state = self.lock();
            state.reading += read - start;
            state.done.insert(at, parsed);
            drop(state);
            self.changed.notify_all();
        }
    }

    /// The next in order, `None` in it where it could not be had; `None` at the end, and where reading was ended.
    pub(crate) fn next(&self) -> Option<(&Wanted, Option<Parsed<D::Picture>>)> {
        let mut state = self.lock();
        loop {
            let at = state.given;
            let wanted = self.wanted.get(at)?;
            if let Some(parsed) = state.done.remove(&at) {
                state.given += 1;
                state.held = state.held.saturating_sub(wanted.span.len);
                drop(state);
                self.changed.notify_all();
                return Some((wanted, parsed));
            }
            if state.stop {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Whether all were given.
    pub(crate) fn is_done(&self) -> bool {
        self.lock().given == self.wanted.len()
    }
}

//! What happened when in a call, for pictures of where its time goes. Kept only where someone asks for it.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// One piece of work: something ran on a track from `start` to `end`, counted from the trace's begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice {
    /// Who did it: a thread, a stream.
    pub track: String,
    /// What was done.
    pub name: &'static str,
    /// Index of the batch it was done for.
    pub batch: usize,
    /// When it began.
    pub start: Duration,
    /// When it ended.
    pub end: Duration,
}

/// Slices as they come, from any thread.
#[derive(Debug)]
pub struct Trace {
    began: Instant,
    slices: Mutex<Vec<Slice>>,
}

impl Default for Trace {
    fn default() -> Self {
        Self { began: Instant::now(), slices: Mutex::default() }
    }
}

impl Trace {
    /// An instant on the trace's clock.
    pub fn at(&self, instant: Instant) -> Duration {
        instant.saturating_duration_since(self.began)
    }

    /// Does some work, and keeps when.
    pub fn time<T>(trace: Option<&Self>, (track, name): (&str, &'static str), work: impl FnOnce() -> T) -> T {
        let Some(trace) = trace else { return work() };
        let start = trace.at(Instant::now());
        let done = work();
        let end = trace.at(Instant::now());
        trace.add(Slice { track: track.to_owned(), name, batch: 0, start, end });
        done
    }

    /// Keeps a slice.
    pub fn add(&self, slice: Slice) {
        self.slices.lock().unwrap_or_else(PoisonError::into_inner).push(slice);
    }

    /// All slices so far, in order of their begin.
    pub fn slices(&self) -> Vec<Slice> {
        let mut slices = self.slices.lock().unwrap_or_else(PoisonError::into_inner).clone();
        slices.sort_by_key(|slice| (slice.start, slice.end));
        slices
    }
}

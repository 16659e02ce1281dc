//! Timings of a call, for charts of where its time goes. Recorded only on request.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// One piece of work on a track, from `start` to `end` after the trace began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice {
    /// Thread or stream that did the work.
    pub track: String,
    /// Name of the work.
    pub name: &'static str,
    /// Index of its batch.
    pub batch: usize,
    /// Start.
    pub start: Duration,
    /// End.
    pub end: Duration,
}

/// Collects slices from any thread.
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
    /// Returns an instant on the trace's clock.
    pub fn at(&self, instant: Instant) -> Duration {
        instant.saturating_duration_since(self.began)
    }

    /// Runs `work` and records its time.
    pub fn time<T>(trace: Option<&Self>, (track, name): (&str, &'static str), work: impl FnOnce() -> T) -> T {
        let Some(trace) = trace else { return work() };
        let start = trace.at(Instant::now());
        let done = work();
        let end = trace.at(Instant::now());
        trace.add(Slice { track: track.to_owned(), name, batch: 0, start, end });
        done
    }

    /// Records a slice.
    pub fn add(&self, slice: Slice) {
        self.slices.lock().unwrap_or_else(PoisonError::into_inner).push(slice);
    }

    /// Returns all slices so far, ordered by start.
    pub fn slices(&self) -> Vec<Slice> {
        let mut slices = self.slices.lock().unwrap_or_else(PoisonError::into_inner).clone();
        slices.sort_by_key(|slice| (slice.start, slice.end));
        slices
    }
}

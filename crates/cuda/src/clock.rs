//! Device times on the clock of a trace, aligned by one event.

use crate::driver::DriverError;
use crate::stream::{Event, Stream};
use std::sync::Arc;
use std::time::{Duration, Instant};
use strile_engine::{Slice, Trace};

/// Translates device times to the clock of a trace.
pub(crate) struct Clock {
    trace: Arc<Trace>,
    zero: Event,
    at: Duration,
}

impl Clock {
    /// Reads both clocks at once. The stream should be idle, because this waits for it.
    pub(crate) fn new(trace: &Arc<Trace>, stream: &Stream) -> Result<Self, DriverError> {
        let zero = stream.record_timed()?;
        zero.synchronize()?;
        Ok(Self { trace: Arc::clone(trace), zero, at: trace.at(Instant::now()) })
    }

    /// Records work that ran on a stream between two completed events.
    pub(crate) fn add(
        &self,
        (track, name): (String, &'static str),
        batch: usize,
        (start, end): (&Event, &Event),
    ) -> Result<(), DriverError> {
        let at = |event: &Event| event.since(&self.zero).map(|since| self.at + since);
        self.trace.add(Slice { track, name, batch, start: at(start)?, end: at(end)? });
        Ok(())
    }
}

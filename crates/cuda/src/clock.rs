//! Times of the device on the clock of a trace: one event that both know.

use crate::driver::DriverError;
use crate::stream::{Event, Stream};
use std::sync::Arc;
use std::time::{Duration, Instant};
use strile_engine::{Slice, Trace};

/// Translates times of the device to the clock of a trace.
pub(crate) struct Clock {
    trace: Arc<Trace>,
    zero: Event,
    at: Duration,
}

impl Clock {
    /// Reads both clocks at once; the stream should be idle, because it is waited for.
    pub(crate) fn new(trace: &Arc<Trace>, stream: &Stream) -> Result<Self, DriverError> {
        let zero = stream.record_timed()?;
        zero.synchronize()?;
        Ok(Self { trace: Arc::clone(trace), zero, at: trace.at(Instant::now()) })
    }

    /// Keeps what ran on a stream between two events that have happened.
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

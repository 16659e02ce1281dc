//! Runs jobs of one small batch on one thread and one stream, without readers, sender and flights.
//!
//! The thread that runs the job reads the encoded bytes into pinned memory, after room for the tables, with helper
//! threads if there are several MiB. One copy sends both. Kernels follow on the same stream, then the statuses, which
//! are the only thing waited for.

use crate::decode::flight::Back;
use crate::decode::run::{Flying, Run, Stop, Tally};
use crate::decode::slabs::HostBytes;
use crate::decode::tables::Launches;
use crate::memory::DeviceBuffer;
use crate::stream::Stream;
use std::sync::Arc;
use std::time::Instant;
use strile_engine::{Encoded, EngineError, Slice, Trace};

/// Most encoded bytes that are read before any is sent. This is as fast as sending while reading, because starting
/// threads for that takes as long.
const SMALL: u64 = 8 << 20;

/// Encoded bytes that one thread reads in the time it takes to start another.
const PER_READER: u64 = 2 << 20;

impl Run {
    /// Returns the bytes of a job of one small batch; `None` for other jobs.
    pub(crate) fn small(&self) -> Option<HostBytes> {
        let [batch] = self.plan.batches.as_slice() else { return None };
        if batch.size.encoded > SMALL || !self.plan.pictures.is_empty() {
            return None;
        }
        match &self.encoded {
            Encoded::Staged(arena) => Some(HostBytes::Staged(Arc::clone(arena))),
            Encoded::Pulled(sources) if self.direct.is_none() => Some(HostBytes::Pulled(sources.clone())),
            // cuFile reads into device memory, and bytes already there are gathered.
            Encoded::Pulled(_) | Encoded::Device(_) => None,
        }
    }

    /// Decodes the only batch, and adds tasks that the device refused to `left`.
    pub(crate) fn at_once(
        &self,
        bytes: &HostBytes,
        (stream, memory): (&Stream, &DeviceBuffer),
        tally: &mut Tally,
        left: &mut Vec<usize>,
    ) -> Result<(), Stop> {
        if self.context.cancel.is_cancelled() {
            return Err(EngineError::Cancelled.into());
        }
        let batch = self.plan.batches.first().ok_or(EngineError::Abandoned)?;
        let arenas = self.plan.arenas(0);
        let len = |bytes: u64| usize::try_from(bytes).map_err(|_| EngineError::Abandoned);
        let (tables_len, encoded_len) = (len(arenas.tables_len)?, len(batch.size.encoded)?);
        let all = tables_len.checked_add(encoded_len).ok_or(EngineError::Abandoned)?;
        let mut up = self.spare.pinned(&self.device, all)?;
        let (tables, encoded) = up
            .get_mut(..all)
            .and_then(|up| up.split_at_mut_checked(tables_len))
            .ok_or(EngineError::Abandoned)?;
        let start = Instant::now();
        let helpers = usize::try_from(batch.size.encoded / PER_READER).unwrap_or(0);
        let helpers = helpers.min(self.context.threads.get() - 1);
        let failed = bytes.fill_all(batch, encoded, helpers, &self.context.cancel);
        if self.context.cancel.is_cancelled() {
            return Err(EngineError::Cancelled.into());
        }
        let reading = start.elapsed();
        tally.times.read += reading;
        let trace = self.context.trace.as_deref();
        if let Some(trace) = trace {
            let (track, start) = ("reader 0".to_owned(), trace.at(start));
            trace.add(Slice { track, name: "read", batch: 0, start, end: start + reading });
        }
        let unread = self.unread(batch, &failed);
        let launches =
            Trace::time(trace, ("job", "tables"), || Launches::new(self, batch, &arenas, memory, &unread))?;
        let made = tables.get_mut(..launches.bytes.len()).ok_or(EngineError::Abandoned)?;
        made.copy_from_slice(&launches.bytes);
        let before = stream.record_timed()?;
        let sent = memory.upload(stream, arenas.tables, up, all)?;
        let copied = Some((before, stream.record_timed()?));
        let back = Back {
            statuses: (arenas.tables, launches.statuses),
            pixels: (arenas.pixels, launches.landing),
            place: &launches.place,
        };
        let load = batch.items.len();
        let decode = || launches.decode(self, stream, load);
        let launched = self.queue(stream, memory, (sent, None), &back, decode)?;
        self.finish(Flying { batch: 0, copied, unread, launched }, tally, left)
    }
}

//! One encoding job on the device, from pixels to its slab on the host.
//!
//! A batch is one allocation, one upload, its launches, and two copies to the host: the table of states and sizes, and
//! exactly the encoded bytes. While those are copied the next batch runs on another stream. Blocks without a kernel are
//! encoded by the host engine at the end.

#![expect(unsafe_code, reason = "a library is handed the addresses of what was made here")]

use super::abi::{DONE, SPARSE, UNFIT};
use super::join::{Outcome, Tally};
use super::plan::{Batch, How, Item, Plan};
use super::tables::Launches;
use super::{compact, left, part};
use crate::clock::Clock;
use crate::decode::run::Stop;
use crate::device::Device;
use crate::lane::{Lane, Spare};
use crate::memory::{DeviceBuffer, InFlight, Kind};
use crate::stream::{Event, Stream};
use crate::vendor::{Pictures, Recipe, Source};
use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use strile_engine::{
    Arena, Context, EncodeJob, EncodedBlocks, Engine, EngineError, Lease, SharedPixels, Span, Trace,
};

pub(crate) const PURPOSE: &str = "encoding on the device";

/// Data of a running job.
pub(crate) struct Run {
    pub(crate) device: Arc<Device>,
    pub(crate) host: Arc<dyn Engine>,
    pub(crate) spare: Arc<Spare>,
    pub(crate) job: EncodeJob,
    pub(crate) pixels: Vec<SharedPixels>,
    pub(crate) context: Context,
    /// One entry per layout; `None` for those that the host encodes.
    pub(crate) hows: Vec<Option<How>>,
    pub(crate) plan: Plan,
    /// The encoder of layouts that a library encodes as pictures, or why it is gone.
    pub(crate) pictures: Option<Result<Arc<Pictures>, String>>,
}

/// A batch with queued work.
struct Flying<'a> {
    index: usize,
    batch: &'a Batch,
    stream: &'a Stream,
    launches: Launches,
    memory: DeviceBuffer,
    sent: InFlight,
    results: InFlight,
    /// Named events before its kernels and after each, if a trace is recorded.
    marks: Vec<(&'static str, Event)>,
}

/// The bytes of a batch on their way to the host.
struct Coming {
    index: usize,
    bytes: Bytes,
    len: usize,
    marks: Option<[Event; 2]>,
    _lease: Lease,
}

/// Encoded bytes: those of a library on the host are complete already.
enum Bytes {
    InFlight(InFlight),
    There(Vec<u8>),
}

impl Run {
    /// Runs the job.
    pub(crate) fn run(self) -> Result<EncodedBlocks, EngineError> {
        let device = Arc::clone(&self.device);
        self.fly().map_err(|stop| stop.on(&device))
    }

    fn fly(&self) -> Result<EncodedBlocks, Stop> {
        if self.context.cancel.is_cancelled() {
            return Err(EngineError::Cancelled.into());
        }
        let _bound = self.device.bind()?;
        let _lease =
            self.device.budget().take(Kind::Working, self.plan.memory, PURPOSE, &self.context.cancel)?;
        let lane = self.spare.lane(&self.device)?;
        // In every case, also after a panic: nothing may still use memory that is returned or was lent to the job.
        let result = std::panic::catch_unwind(AssertUnwindSafe(|| self.fly_with(&lane)));
        let ended = lane.synchronize();
        let result = result.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        ended?;
        self.spare.give_lane(lane);
        result
    }

    fn fly_with(&self, lane: &Lane) -> Result<EncodedBlocks, Stop> {
        let mut tally = Tally::new(&self.job);
        let mut unfit = self.on_device(lane, &mut tally)?;
        unfit.extend(&self.plan.host);
        unfit.sort_unstable();
        if self.context.cancel.is_cancelled() {
            return Err(EngineError::Cancelled.into());
        }
        left::encode(self, &lane.copies, &unfit, &mut tally)?;
        Ok(tally.join(&self.job, &self.context)?)
    }

    /// Encodes on the device where possible; returns the tasks with unrepresentable values.
    fn on_device(&self, lane: &Lane, tally: &mut Tally) -> Result<Vec<usize>, Stop> {
        let clock = self.context.trace.as_ref().map(|trace| Clock::new(trace, &lane.copies)).transpose()?;
        let mut flying: VecDeque<Flying<'_>> = VecDeque::new();
        let (mut coming, mut unfit) = (Vec::new(), Vec::new());
        let flights = self.plan.flights.min(lane.flights.len()).max(1);
        for (index, batch) in self.plan.batches.iter().enumerate() {
            if self.context.cancel.is_cancelled() {
                return Err(EngineError::Cancelled.into());
            }
            if flying.len() == flights
                && let Some(first) = flying.pop_front()
            {
                coming.push(self.finish(first, tally, &mut unfit, clock.as_ref())?);
            }
            let stream = lane.flights.get(index % flights).ok_or(EngineError::Abandoned)?;
            flying.push_back(self.launch(index, batch, stream, clock.is_some())?);
        }
        while let Some(first) = flying.pop_front() {
            coming.push(self.finish(first, tally, &mut unfit, clock.as_ref())?);
        }
        for Coming { index, bytes, len, marks, _lease } in coming {
            let bytes = match bytes {
                Bytes::InFlight(bytes) => bytes.wait()?,
                Bytes::There(bytes) => {
                    tally.chunks.push(Arena::from_vec(bytes));
                    continue;
                }
            };
            if let Some((clock, [before, after])) = clock.as_ref().zip(marks) {
                after.synchronize()?;
                clock.add(("copies".to_owned(), "copy back"), index, (&before, &after))?;
            }
            tally.chunks.push(self.spare.arena(bytes, len));
        }
        Ok(unfit)
    }

    /// Queues a batch.
    fn launch<'a>(
        &'a self,
        index: usize,
        batch: &'a Batch,
        stream: &'a Stream,
        timed: bool,
    ) -> Result<Flying<'a>, Stop> {
        let arenas = batch.arenas(self.hows.len());
        let memory = self.device.pool().alloc(stream, arenas.len)?;
        let (trace, spare) = (self.context.trace.as_deref(), &self.spare);
        let launches = Trace::time(trace, ("job", "tables"), || {
            Launches::new(&self.job, &self.pixels, &self.hows, batch, memory.address())
        })?;
        let from_host = usize::try_from(batch.pixels_len()).map_err(|_| EngineError::Abandoned)?;
        let behind = usize::try_from(arenas.tables_len).map_err(|_| EngineError::Abandoned)?;
        // The pixels lie behind the tables, so that one copy uploads both.
        let len = if from_host == 0 { launches.bytes.len() } else { behind.saturating_add(from_host) };
        let mut up = spare.pinned(&self.device, len)?;
        up.get_mut(..launches.bytes.len()).ok_or(EngineError::Abandoned)?.copy_from_slice(&launches.bytes);
        Trace::time(trace, ("job", "pixels"), || {
            batch.brought.iter().try_for_each(|brought| {
                let at = behind.checked_add(usize::try_from(brought.at).ok()?)?;
                let from = self.pixels.get(brought.pixels as usize)?;
                let (to, threads) = (up.get_mut(at..)?, self.context.threads.get());
                part::copy(from.bytes(), from.spec(), &brought.part, to, threads)
            })
        })
        .ok_or(EngineError::Abandoned)?;
        let sent = memory.upload(stream, arenas.tables, up, len)?;
        let mut marks = Vec::new();
        let mut mark = |name| -> Result<(), Stop> {
            if timed {
                marks.push((name, stream.record_timed()?));
            }
            Ok(())
        };
        mark("begin")?;
        launches.queue(&self.device, stream, &memory, mark)?;
        let count = u32::try_from(batch.items.len()).map_err(|_| EngineError::Abandoned)?;
        let len = usize::try_from(compact::table_len(count)).map_err(|_| EngineError::Abandoned)?;
        let results = memory.download(stream, arenas.results, spare.pinned(&self.device, len)?, len)?;
        Ok(Flying { index, batch, stream, launches, memory, sent, results, marks })
    }

    /// Waits for a batch, reads the results of its kernels, and starts the copy of its bytes.
    fn finish(
        &self,
        flying: Flying<'_>,
        tally: &mut Tally,
        unfit: &mut Vec<usize>,
        clock: Option<&Clock>,
    ) -> Result<Coming, Stop> {
        let Flying { index, batch, stream, launches, memory, sent, results, marks } = flying;
        let results = results.wait()?;
        self.spare.give_pinned(sent.wait()?);
        if let (Some(clock), [(_, first), .., (_, last)]) = (clock, marks.as_slice()) {
            let track = format!("flight {}", index % self.plan.flights.max(1));
            for ((_, before), (name, after)) in marks.iter().zip(marks.iter().skip(1)) {
                clock.add((format!("{track}, passes"), name), index, (before, after))?;
            }
            clock.add((track, "encode"), index, (first, last))?;
        }
        let len = u32::try_from(batch.items.len()).map_err(|_| EngineError::Abandoned)?;
        let len = usize::try_from(compact::table_len(len)).map_err(|_| EngineError::Abandoned)?;
        let (total, entries) = results.get(..len).and_then(compact::table).ok_or(EngineError::Abandoned)?;
        self.spare.give_pinned(results);
        if batch.items.first().and_then(|item| self.recipe(item)).is_some() {
            let at = memory.part(launches.encoded_at(), total)?;
            return self.pictures((index, batch), &entries, (at, total), tally);
        }
        let (mut end, mut done) = (0u64, 0);
        for (item, entry) in batch.items.iter().zip(&entries) {
            match entry.state {
                DONE if entry.size <= item.need.room && entry.offset == end => {
                    let span = Span { offset: end, len: entry.size.into() };
                    tally.set(item.task, Outcome::Bytes(index, span));
                    end += u64::from(entry.size);
                }
                SPARSE => tally.set(item.task, Outcome::Sparse),
                UNFIT => {
                    unfit.push(item.task);
                    continue;
                }
                _ => return Err(self.broken(item.task, entry)),
            }
            done += 1;
        }
        if end != total {
            return Err(EngineError::Abandoned.into());
        }
        if let Some(progress) = &self.context.progress {
            progress.advance(done);
        }
        let len = usize::try_from(total).map_err(|_| EngineError::Abandoned)?;
        let lease = self.context.budget.take(total, "encoded blocks").map_err(EngineError::from)?;
        let mark = || clock.map(|_| stream.record_timed()).transpose();
        let before = mark()?;
        let down = self.spare.pinned(&self.device, roomy(len))?;
        let bytes = memory.download(stream, launches.encoded_at(), down, len)?;
        let marks = before.zip(mark()?).map(|(before, after)| [before, after]);
        Ok(Coming { index, bytes: Bytes::InFlight(bytes), len, marks, _lease: lease })
    }

    /// Returns the library's recipe for a block, if a library encodes it, and the block's rows.
    fn recipe(&self, item: &Item) -> Option<(Recipe, u32)> {
        let task = self.job.tasks.get(item.task)?;
        let how = self.hows.get(task.layout as usize)?.as_ref()?;
        how.picture.map(|recipe| (recipe, task.rows))
    }

    /// Encodes the samples of a batch with a library; the blocks are contiguous from an address on.
    fn pictures(
        &self,
        (index, batch): (usize, &Batch),
        entries: &[compact::CompactEntry],
        (at, total): (u64, u64),
        tally: &mut Tally,
    ) -> Result<Coming, Stop> {
        let failed = |problem: String| {
            let device = format!("cuda:{}", self.device.facts().index);
            Stop::Engine(EngineError::Device { device, problem })
        };
        let (mut sources, mut tasks) = (Vec::new(), Vec::new());
        for (item, entry) in batch.items.iter().zip(entries) {
            match (entry.state, self.recipe(item)) {
                (DONE, Some((recipe, rows)))
                    if entry.size == item.need.len
                        && entry.offset.saturating_add(entry.size.into()) <= total =>
                {
                    sources.push(Source { address: at + entry.offset, rows, recipe });
                    tasks.push(item.task);
                }
                (SPARSE, _) => tally.set(item.task, Outcome::Sparse),
                _ => return Err(self.broken(item.task, entry)),
            }
        }
        let encoder = match &self.pictures {
            Some(Ok(encoder)) => encoder,
            Some(Err(problem)) => return Err(failed(problem.clone())),
            None => return Err(EngineError::Abandoned.into()),
        };
        // SAFETY: the samples lie in the batch's memory, and the kernel that wrote them has been waited for.
        let streams = unsafe { encoder.encode(&sources) }.map_err(|error| failed(error.to_string()))?;
        let len = streams.iter().map(|stream| stream.len() as u64).sum();
        let lease = self.context.budget.take(len, "encoded blocks").map_err(EngineError::from)?;
        let mut bytes = Vec::new();
        for (task, stream) in tasks.iter().zip(&streams) {
            let span = Span { offset: bytes.len() as u64, len: stream.len() as u64 };
            tally.set(*task, Outcome::Bytes(index, span));
            bytes.extend_from_slice(stream);
        }
        if let Some(progress) = &self.context.progress {
            progress.advance(batch.items.len() as u64);
        }
        Ok(Coming { index, len: bytes.len(), bytes: Bytes::There(bytes), marks: None, _lease: lease })
    }

    /// Returns the error of a block that no kernel finished, or that has an impossible state.
    fn broken(&self, task: usize, entry: &compact::CompactEntry) -> Stop {
        let address = self.job.tasks.get(task).map(|task| task.address).unwrap_or_default();
        let (column, row, compact::CompactEntry { state, size, .. }) = (address.column, address.row, entry);
        let problem = format!(
            "the kernels left block (column {column}, row {row}) of level {} in state {state} with {size} bytes",
            address.level
        );
        EngineError::Device { device: format!("cuda:{}", self.device.facts().index), problem }.into()
    }
}

/// Returns pinned memory of at least `len` bytes: lengths differ from batch to batch, so a little more lets the next
/// one reuse it.
fn roomy(len: usize) -> usize {
    len.next_multiple_of((len.next_power_of_two() / 8).max(1))
}

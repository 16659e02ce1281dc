//! Runs one job on the device, from its first read to its report, on the thread behind a ticket.
//!
//! Batches go through flights. While some are decoded, reader threads fill the arenas of others. A flight is finished
//! before it is reused: its statuses are read, and its pixels handed to the host if they go there. At the end the host
//! engine decodes blocks without a kernel and those that a kernel did not accept. Jobs of one small batch need no
//! flights and threads (`small`).

use crate::clock::Clock;
use crate::cufile::Direct;
use crate::decode::back;
use crate::decode::batch::{Batch, Item, Route};
use crate::decode::flight::{Back, Launched, Numbered};
use crate::decode::host::Leftover;
use crate::decode::picture::{Streams, Wanted};
use crate::decode::plan::Plan;
use crate::decode::slabs::{Arrived, Ends, Feed, Filled, Gap, HostBytes, LEAST_PIECE};
use crate::decode::tables::Launches;
use crate::device::Device;
use crate::driver::DriverError;
use crate::lane::{Lane, Spare};
use crate::memory::{DeviceBuffer, InFlight, Kind, SLAB_LEN};
use crate::stream::{Event, Stream};
use crate::vendor::Decoders;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::sync::{Arc, mpsc};
use std::thread::Scope;
use strile_engine::{
    Claim, Context, DecodeJob, Encoded, Engine, EngineError, LocatedFault, OutputKind, ReadAt, Report,
    StageTimes, Trace, thread_builder,
};

/// Reader threads per job: as many as saturate the bus from the page cache.
const READERS: usize = 10;

/// Threads per job that make tables: a launch of many small blocks takes less time than its tables.
const TABLE_MAKERS: usize = 2;

/// Why a job ended early.
#[derive(Debug)]
pub enum Stop {
    /// An error of the engine.
    Engine(EngineError),
    /// An error of the driver.
    Driver(DriverError),
}

impl From<EngineError> for Stop {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

impl From<DriverError> for Stop {
    fn from(error: DriverError) -> Self {
        Self::Driver(error)
    }
}

impl Stop {
    pub(crate) fn on(self, device: &Device) -> EngineError {
        match self {
            Self::Engine(error) => error,
            Self::Driver(error) => EngineError::Device {
                device: format!("cuda:{}", device.facts().index),
                problem: error.to_string(),
            },
        }
    }
}

/// State that a job owns while it runs.
pub(crate) struct Run {
    pub(crate) device: Arc<Device>,
    pub(crate) host: Arc<dyn Engine>,
    pub(crate) spare: Arc<Spare>,
    pub(crate) job: DecodeJob,
    pub(crate) encoded: Encoded,
    pub(crate) claims: BTreeMap<u32, Arc<Claim>>,
    pub(crate) outputs: Vec<OutputKind>,
    pub(crate) context: Context,
    pub(crate) plan: Plan,
    /// cuFile, which reads files itself, if requested.
    pub(crate) direct: Option<Direct>,
    /// Libraries that decode what the plan assigns to them, if requested.
    pub(crate) decoders: Option<Decoders>,
}

/// A batch whose work is queued.
pub(crate) struct Flying {
    pub(crate) batch: usize,
    /// Events before and after the copy.
    pub(crate) copied: Option<(Event, Event)>,
    /// Tasks whose bytes could not be read, sorted.
    pub(crate) unread: Vec<usize>,
    pub(crate) launched: Launched,
}

/// Tables of a batch from the thread that made them.
type Made = Result<Box<Launches>, Stop>;

/// Launches of a batch, and its tables being copied.
struct Tables {
    launches: Launches,
    sent: InFlight,
    /// Table of the gather, if the bytes are on the device.
    gathered: Option<InFlight>,
}

/// Results so far.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) blocks: u64,
    pub(crate) encoded_bytes: u64,
    pub(crate) host_blocks: u64,
    /// Whether a value that outputs look for was found.
    pub(crate) found: Option<bool>,
    /// Faults, by task index.
    pub(crate) faults: Vec<(usize, LocatedFault)>,
    pub(crate) times: StageTimes,
    /// Set if a trace is kept.
    pub(crate) clock: Option<Clock>,
}

impl Run {
    /// Runs the job.
    pub(crate) fn run(self) -> Result<Report, EngineError> {
        let device = Arc::clone(&self.device);
        self.fly().map_err(|stop| stop.on(&device))
    }

    fn fly(&self) -> Result<Report, Stop> {
        let _bound = self.device.bind()?;
        let cancel = &self.context.cancel;
        let trace = self.context.trace.as_deref();
        let lane = Trace::time(trace, ("job", "streams"), || self.spare.lane(&self.device))?;
        // Before the job takes its memory: copying streams back from the device needs some for a while.
        let pictures = self.plan.pictures.iter().map(|plan| self.streams(&lane.copies, plan));
        let pictures = pictures.collect::<Result<Vec<_>, Stop>>()?;
        let _lease =
            self.device.budget().take(Kind::Working, self.plan.memory, "decoding on the device", cancel)?;
        let memory = Trace::time(trace, ("job", "memory"), || {
            self.device.pool().alloc(&lane.copies, self.plan.memory)
        })?;
        let small = self.small();
        let is_small = small.is_some();
        if !is_small {
            let ready = lane.copies.record()?;
            lane.flights.iter().try_for_each(|stream| stream.wait_on(&ready))?;
        }
        // Whatever happens, including a panic, nothing may still run in the memory that is returned or in memory lent
        // to the job.
        let result =
            std::panic::catch_unwind(AssertUnwindSafe(|| self.fly_with(&lane, &memory, pictures, small)));
        let ended = if is_small { lane.copies.synchronize() } else { lane.synchronize() };
        let result = result.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        ended?;
        drop(memory);
        self.spare.give_lane(lane);
        result
    }

    fn fly_with(
        &self,
        lane: &Lane,
        memory: &DeviceBuffer,
        pictures: Vec<(Streams, Vec<Wanted>)>,
        small: Option<HostBytes>,
    ) -> Result<Report, Stop> {
        let clock = self.context.trace.as_ref().map(|trace| Clock::new(trace, &lane.copies)).transpose()?;
        let mut tally = Tally { clock, ..Tally::default() };
        let mut left: Vec<usize> = Vec::new();
        match small {
            Some(bytes) => self.at_once(&bytes, (&lane.copies, memory), &mut tally, &mut left)?,
            None => self.on_device(lane, memory, &mut tally, &mut left)?,
        }
        for (plan, streams) in self.plan.pictures.iter().zip(pictures) {
            let (to, found) = ((lane, memory), (&mut tally, &mut left));
            self.decode_pictures(plan, streams, to, found)?;
        }
        let host_tasks = self.plan.routes.iter().enumerate();
        left.extend(host_tasks.filter(|(_, route)| matches!(route, Route::Host(_))).map(|(task, _)| task));
        left.sort_unstable();
        if self.context.cancel.is_cancelled() {
            return Err(EngineError::Cancelled.into());
        }
        Leftover { run: self, stream: &lane.copies, memory }.decode(&left, &mut tally)?;
        tally.faults.sort_by_key(|&(task, _)| task);
        Ok(Report {
            blocks: tally.blocks,
            encoded_bytes: tally.encoded_bytes,
            faults: tally.faults.into_iter().map(|(_, fault)| fault).collect(),
            host_blocks: tally.host_blocks,
            found: tally.found,
            times: tally.times,
        })
    }

    /// Returns the sources for cuFile, if it was requested and all sources are files.
    fn direct(&self, sources: &[Arc<dyn ReadAt>]) -> Result<Option<HostBytes>, Stop> {
        let Some(Direct { library, required }) = self.direct else { return Ok(None) };
        match HostBytes::direct(library, sources) {
            // `CudaEngine::reads_directly` already reported this.
            Err(_) if !required => Ok(None),
            other => other.map_err(|error| {
                let device = format!("cuda:{}", self.device.facts().index);
                EngineError::Device { device, problem: error.to_string() }.into()
            }),
        }
    }

    /// Returns how much a thread reads at a time: a slab, or less if threads would otherwise have no work.
    fn piece_len(&self, readers: usize) -> usize {
        let all: u64 = self.plan.batches.iter().map(|batch| batch.size.encoded).sum();
        let share = usize::try_from(all).unwrap_or(usize::MAX) / (2 * readers.max(1));
        share.next_multiple_of(LEAST_PIECE).clamp(LEAST_PIECE, SLAB_LEN)
    }

    pub(crate) fn no_thread(&self, error: &std::io::Error) -> Stop {
        let device = format!("cuda:{}", self.device.facts().index);
        EngineError::Device { device, problem: format!("no thread could be started: {error}") }.into()
    }

    /// Decodes what the device can, and adds refused tasks to `left`.
    fn on_device(
        &self,
        lane: &Lane,
        memory: &DeviceBuffer,
        tally: &mut Tally,
        left: &mut Vec<usize>,
    ) -> Result<(), Stop> {
        let bytes = match &self.encoded {
            Encoded::Staged(arena) => HostBytes::Staged(Arc::clone(arena)),
            Encoded::Pulled(sources) => match self.direct(sources)? {
                Some(direct) => direct,
                None => HostBytes::Pulled(sources.clone()),
            },
            Encoded::Device(_) => return self.launch_all(lane, memory, None, tally, left),
        };
        let readers = READERS.min(self.context.threads.get().max(2));
        let feed = &Feed::new(bytes, &self.plan.batches, self.piece_len(readers));
        let readers = readers.min(feed.len());
        std::thread::scope(|scope| {
            // Dropped on every path, so that no thread waits for pieces that never come.
            let _ends = Ends { feed, always: true };
            let (filled, taken) = mpsc::channel();
            if readers > 0 {
                // Without any reader this thread would wait forever.
                self.start_reader(scope, 0, (feed, &filled), memory)
                    .map_err(|error| self.no_thread(&error))?;
            }
            // The sender is idle until the first slab is full, so it starts the other readers while this thread makes
            // tables. A reader that cannot be started costs speed, but is not an error.
            let send = move || {
                let mut others = 1..readers;
                let _ =
                    others.try_for_each(|number| self.start_reader(scope, number, (feed, &filled), memory));
                drop(filled);
                feed.send(&taken, memory, &lane.copies);
            };
            thread_builder("strile-cuda-send")
                .and_then(|new| new.spawn_scoped(scope, send))
                .map_err(|error| self.no_thread(&error))?;
            self.launch_all(lane, memory, Some(feed), tally, left)
        })?;
        tally.times.read += feed.reading() / u32::try_from(readers.max(1)).unwrap_or(1);
        Ok(())
    }

    fn start_reader<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        number: usize,
        (feed, filled): (&'scope Feed, &Sender<Filled<'scope>>),
        memory: &'scope DeviceBuffer,
    ) -> io::Result<()> {
        let filled = filled.clone();
        let read = move || feed.read(number, &self.device, memory, &self.context, &filled);
        thread_builder("strile-cuda-read").and_then(|new| new.spawn_scoped(scope, read)).map(drop)
    }

    fn launch_all(
        &self,
        lane: &Lane,
        memory: &DeviceBuffer,
        feed: Option<&Feed>,
        tally: &mut Tally,
        left: &mut Vec<usize>,
    ) -> Result<(), Stop> {
        std::thread::scope(|scope| {
            let made = self.make_tables(scope, memory);
            self.launch_each(lane, memory, (feed, &made), tally, left)
        })
    }

    /// Starts threads that make tables ahead of the launching thread, taking batches in turn; none if there is one
    /// batch.
    fn make_tables<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        memory: &'scope DeviceBuffer,
    ) -> Vec<Receiver<Made>> {
        let count = TABLE_MAKERS.min(self.plan.batches.len().saturating_sub(1));
        let start = |first: usize| {
            let (done, made) = mpsc::sync_channel(1);
            let make = move || {
                let mut batches = (first..self.plan.batches.len()).step_by(count);
                // Ends with the job, which may be over before all tables are requested.
                let _ =
                    batches.try_for_each(|batch| done.send(self.launches(batch, &[], memory).map(Box::new)));
            };
            thread_builder("strile-cuda-tables").and_then(|new| new.spawn_scoped(scope, make)).map(|_| made)
        };
        // Makers take batches in turn, so either all are started or none; without them, tables are made when they are
        // needed.
        (0..count).map(start).collect::<io::Result<_>>().unwrap_or_default()
    }

    fn launch_each(
        &self,
        lane: &Lane,
        memory: &DeviceBuffer,
        (feed, made): (Option<&Feed>, &[Receiver<Made>]),
        tally: &mut Tally,
        left: &mut Vec<usize>,
    ) -> Result<(), Stop> {
        let mut flying: VecDeque<Flying> = VecDeque::new();
        let mut opened = 0;
        let mut ahead = None;
        let gone = || Stop::from(EngineError::Abandoned);
        let maker = |batch: usize| made.get(batch % made.len().max(1));
        let tables = |batch: usize| {
            let launches = match maker(batch) {
                Some(made) => *made.recv().map_err(|_| gone())??,
                None => self.launches(batch, &[], memory)?,
            };
            self.send_tables(launches, batch, lane, memory)
        };
        // Sends the tables of a batch; `None` if their maker has not finished them.
        let tables_by_now = |batch: usize| {
            let launches = match maker(batch).map(Receiver::try_recv) {
                Some(Err(TryRecvError::Empty)) => return Ok(None),
                Some(made) => *made.map_err(|_| gone())??,
                None => self.launches(batch, &[], memory)?,
            };
            self.send_tables(launches, batch, lane, memory).map(Some)
        };
        for (index, batch) in self.plan.batches.iter().enumerate() {
            if self.context.cancel.is_cancelled() {
                return Err(EngineError::Cancelled.into());
            }
            // Finished batches make room for reading ahead; if all flights are in use, wait for one.
            while let Some(first) = flying.front() {
                if flying.len() < self.plan.flights && !first.launched.is_placed()? {
                    break;
                }
                if let Some(first) = flying.pop_front() {
                    self.finish(first, tally, left)?;
                }
            }
            let room = (index - flying.len() + self.plan.flights).min(self.plan.batches.len());
            while opened < room {
                if let Some(feed) = feed {
                    self.open(feed, opened, lane, memory)?;
                }
                opened += 1;
            }
            let mut sent = match ahead.take() {
                Some(tables) => tables,
                None => tables(index)?,
            };
            // While bytes are awaited, send the next tables ahead of the slabs that follow. If the bytes are there
            // already, as with many small blocks, do not keep the device waiting for another batch's tables.
            if index + 1 < room && !feed.is_some_and(|feed| feed.has_arrived(index)) {
                ahead = tables_by_now(index + 1)?;
            }
            let flight = self.flight(index);
            let Some(stream) = lane.flights.get(flight) else { return Err(EngineError::Abandoned.into()) };
            let Arrived { failed, copied } = match feed {
                Some(feed) => feed.arrived(index)?.ok_or(EngineError::Cancelled)?,
                None => Arrived::default(),
            };
            if let Some((_, after)) = &copied {
                stream.wait_on(after)?;
            }
            let unread = self.unread(batch, &failed);
            if !unread.is_empty() {
                sent = self.send_tables(self.launches(index, &unread, memory)?, index, lane, memory)?;
            }
            let blocks = |flying: &Flying| self.plan.batches.get(flying.batch).map_or(0, |b| b.items.len());
            let load = batch.items.len() + flying.iter().map(blocks).sum::<usize>();
            let launched = self.launch(sent, stream, memory, load)?;
            flying.push_back(Flying { batch: index, copied, unread, launched });
            if ahead.is_none() && index + 1 < room {
                ahead = tables_by_now(index + 1)?;
            }
        }
        while let Some(next) = flying.pop_front() {
            self.finish(next, tally, left)?;
        }
        Ok(())
    }

    /// Returns the flight of a batch.
    fn flight(&self, batch: usize) -> usize {
        batch % self.plan.flights.max(1)
    }

    /// Lets a batch be read into the arena of its flight, which is no longer in use.
    fn open(&self, feed: &Feed, batch: usize, lane: &Lane, memory: &DeviceBuffer) -> Result<(), Stop> {
        let arena = self.plan.arenas(self.flight(batch)).encoded;
        if feed.is_direct() {
            // cuFile writes only the ranges, not the gaps between them, and is not ordered by streams.
            let len = self.plan.batches.get(batch).map_or(0, |batch| batch.size.encoded);
            memory.fill(&lane.copies, arena, len, 0)?;
            lane.copies.synchronize()?;
        }
        feed.open(arena);
        Ok(())
    }

    /// Returns the tasks with bytes in ranges that could not be read.
    pub(crate) fn unread(&self, batch: &Batch, failed: &[Gap]) -> Vec<usize> {
        if failed.is_empty() {
            return Vec::new();
        }
        let touched = |item: &&Item| {
            let Some((span, task)) = item.span.zip(self.job.tasks().get(item.task)) else { return false };
            let end = span.offset.saturating_add(span.len);
            failed.iter().any(|gap| gap.source == task.source && gap.start < end && span.offset < gap.end)
        };
        batch.items.iter().filter(touched).map(|item| item.task).collect()
    }

    /// Makes the tables of a batch without the tasks in `unread`.
    fn launches(&self, batch: usize, unread: &[usize], memory: &DeviceBuffer) -> Result<Launches, Stop> {
        let arenas = self.plan.arenas(self.flight(batch));
        let batch = self.plan.batches.get(batch).ok_or(EngineError::Abandoned)?;
        Trace::time(self.context.trace.as_deref(), ("tables", "tables"), || {
            Launches::new(self, batch, &arenas, memory, unread)
        })
    }

    /// Sends the tables of a batch to its flight, on the stream of copies: tables that another stream waits for would
    /// be sent behind all queued slabs. So they precede the batch's own slabs. If encoded bytes are on the device, they
    /// follow the gather of those bytes, whose table lies in the same place.
    fn send_tables(
        &self,
        launches: Launches,
        batch: usize,
        lane: &Lane,
        memory: &DeviceBuffer,
    ) -> Result<Tables, Stop> {
        let arenas = self.plan.arenas(self.flight(batch));
        let batch = self.plan.batches.get(batch).ok_or(EngineError::Abandoned)?;
        let gathered = match &self.encoded {
            Encoded::Device(bytes) => {
                Some(back::gather_into(self, bytes, batch, &arenas, &lane.copies, memory)?)
            }
            Encoded::Staged(_) | Encoded::Pulled(_) => None,
        };
        let len = launches.bytes.len();
        let mut up = self.spare.pinned(&self.device, len)?;
        up.get_mut(..len).ok_or(EngineError::Abandoned)?.copy_from_slice(&launches.bytes);
        let sent = memory.upload(&lane.copies, arenas.tables, up, len)?;
        Ok(Tables { launches, sent, gathered })
    }

    fn launch(
        &self,
        Tables { launches, sent, gathered }: Tables,
        stream: &Stream,
        memory: &DeviceBuffer,
        load: usize,
    ) -> Result<Launched, Stop> {
        let Launches { arenas, statuses, landing, .. } = launches;
        let back = Back {
            statuses: (arenas.tables, statuses),
            pixels: (arenas.pixels, landing),
            place: &launches.place,
        };
        sent.hold(stream)?;
        self.queue(stream, memory, (sent, gathered), &back, || launches.decode(self, stream, load))
    }

    /// Waits for a batch, reads the statuses of its kernels, and hands over pixels that go to the host.
    pub(crate) fn finish(
        &self,
        flying: Flying,
        tally: &mut Tally,
        left: &mut Vec<usize>,
    ) -> Result<(), Stop> {
        let Flying { batch: index, copied, unread, launched } = flying;
        let Some(batch) = self.plan.batches.get(index) else { return Ok(()) };
        let numbered = Numbered { batch: index, flight: self.flight(index), copied };
        let landed = self.landed(launched, numbered, tally)?;
        let was_read = unread.clone();
        let reports = |item: &Item| item.kernel.is_some() && was_read.binary_search(&item.task).is_err();
        self.settle(landed, (&batch.items, unread), reports, tally, left)
    }
}

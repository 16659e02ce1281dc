//! `CpuEngine`: runs jobs on the threads of the process.
//!
//! A job is shared by as many workers as its context allows. Each takes tasks of its share until none is left, and the
//! last to finish releases claims and memory and completes the ticket. Blocks are independent, so neither pixels nor
//! faults depend on the number of workers.

use crate::crew::Crew;
use crate::place::{Slot, Slots, Target};
use crate::pool::{self, Scratch};
use crate::stop::{LOOKS_EVERY, Stop};
use crate::{
    assemble, blend, block, block::Conversion, codec, encode, find, finish, mask, plan, reduce, replace,
    resample, warp,
};
use std::io;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use strile_engine::memory::try_zeroed;
use strile_engine::{
    Arena, Assembly, Blend, BlendJob, BlendLayer, BlockFault, BlockLayout, Completion, Context, DecodeJob,
    EncodeJob, EncodeLayout, Encoded, EncodedBlocks, Encoder, Engine, EngineError, EngineMemory, EnginePlan,
    FaultKind, FindJob, FinishJob, Lease, LocatedFault, Location, MaskJob, Output, OutputError, OutputKind,
    OutputSpec, ReadAt, ReduceJob, Reduced, ReplaceJob, Report, ResampleJob, Resampling, SharedPixels, Span,
    Submission, Support, Ticket, WarpJob,
};
use strile_tiff::{Compression, DataType, InvalidValue};

/// Decodes on the CPU. All engines share one pool of threads.
#[derive(Debug, Clone, Copy, Default)]
pub struct CpuEngine;

impl CpuEngine {
    /// Returns the engine.
    pub fn new() -> Self {
        Self
    }

    /// Returns the number of threads that all jobs together can use; a larger `Context::threads` gets no more.
    pub fn threads(&self) -> usize {
        pool::threads()
    }
}

impl Engine for CpuEngine {
    fn name(&self) -> &str {
        "cpu"
    }

    fn support(&self, layout: &BlockLayout) -> Support {
        if layout.compression == Compression::JpegXr {
            return Support::No("no decoder for JPEG XR".to_owned());
        }
        match Conversion::of(layout) {
            Ok(_) => Support::Yes,
            Err(reason) => Support::No(reason),
        }
    }

    fn pulls(&self) -> bool {
        true
    }

    fn location(&self) -> Location {
        Location::Host
    }

    fn output(&self, spec: OutputSpec, _context: &Context) -> Result<Output, EngineError> {
        Output::new(spec).map_err(|error| match error {
            OutputError::NoMemory(error) => error.into(),
            error => EngineError::Mismatch {
                what: "outputs",
                found: error.to_string(),
                expected: "a shape that memory can hold".to_owned(),
            },
        })
    }

    fn staging(&self, len: usize) -> Result<Arena, EngineError> {
        Ok(Arena::from_vec(try_zeroed(len, "staging of encoded blocks")?))
    }

    fn plan(
        &self,
        job: &DecodeJob,
        submission: &Submission<'_>,
        context: &Context,
    ) -> Result<EnginePlan, EngineError> {
        Ok(plan::plan(job, submission, context))
    }

    fn submit(
        &self,
        job: DecodeJob,
        encoded: Encoded,
        outputs: &[Output],
        context: &Context,
    ) -> Result<Ticket<Report>, EngineError> {
        let Started { running, workers, ticket, here } = Started::new(job, encoded, outputs, context)?;
        if here == Here::Copy {
            work(running, 0);
            return Ok(ticket);
        }
        spawn(running, 0..workers);
        Ok(ticket)
    }

    fn decode(
        &self,
        job: DecodeJob,
        encoded: Encoded,
        outputs: &[Output],
        context: &Context,
    ) -> Result<Report, EngineError> {
        let Started { running, workers, ticket, here } = Started::new(job, encoded, outputs, context)?;
        if here == Here::Nothing {
            spawn(running, 0..workers);
            return ticket.wait();
        }
        spawn(Arc::clone(&running), 1..workers);
        // As on a thread of the pool: the job is lost, and its ticket reports it once the other workers have finished.
        let _panicked = catch_unwind(AssertUnwindSafe(|| work(running, 0)));
        ticket.wait()
    }

    fn assemble(&self, wanted: &[Assembly<'_>], context: &Context) -> Result<Vec<SharedPixels>, EngineError> {
        assemble::assemble(wanted, context)
    }

    fn fetch(&self, pixels: &SharedPixels, _context: &Context) -> Result<Arena, EngineError> {
        assemble::fetch(pixels)
    }

    fn resample(
        &self,
        job: &ResampleJob,
        pixels: &SharedPixels,
        output: &Output,
        context: &Context,
    ) -> Result<(), EngineError> {
        resample::resample(job, pixels, output, context)
    }

    fn resample_memory(
        &self,
        _job: &ResampleJob,
        shapes: (&OutputSpec, &OutputSpec),
        context: &Context,
    ) -> EngineMemory {
        resample::memory(shapes, context)
    }

    fn mask(
        &self,
        job: &MaskJob,
        masks: &SharedPixels,
        output: &Output,
        context: &Context,
    ) -> Result<(), EngineError> {
        mask::mask(job, masks, output, context)
    }

    fn blends(&self, _blend: &Blend) -> Support {
        Support::Yes
    }

    fn blend(
        &self,
        job: &BlendJob,
        layer: &BlendLayer<'_>,
        output: &Output,
        context: &Context,
    ) -> Result<(), EngineError> {
        blend::blend(job, layer, output, context)
    }

    fn warp(
        &self,
        job: &WarpJob,
        pixels: &SharedPixels,
        valid: Option<&SharedPixels>,
        output: &Output,
        context: &Context,
    ) -> Result<(), EngineError> {
        warp::warp(job, pixels, valid, output, context)
    }

    fn warp_memory(&self, job: &WarpJob, context: &Context) -> EngineMemory {
        warp::memory(job, context)
    }

    fn finish(
        &self,
        job: &FinishJob,
        pixels: Option<&SharedPixels>,
        output: &Output,
        context: &Context,
    ) -> Result<(), EngineError> {
        finish::finish(job, pixels, output, context)
    }

    fn find(&self, job: &FindJob, output: &Output, context: &Context) -> Result<bool, EngineError> {
        find::find(job, output, context)
    }

    fn replace(&self, job: &ReplaceJob, output: &Output, context: &Context) -> Result<(), EngineError> {
        replace::replace(job, output, context)
    }

    fn encoder(&self, which: Encoder) -> String {
        let name = match which {
            // `prepare` rejects libraries.
            Encoder::Fast | Encoder::Library { .. } => "fast-cpu-1",
            Encoder::Portable => Encoder::PORTABLE,
        };
        name.to_owned()
    }

    fn encode_memory(&self, _layout: &EncodeLayout, _rows: u32) -> u64 {
        0
    }

    fn encodes(&self, _layout: &EncodeLayout) -> Support {
        Support::Yes
    }

    fn prepare(&self, layout: EncodeLayout) -> Result<EncodeLayout, InvalidValue> {
        codec::prepare(layout)
    }

    fn encoded_bound(&self, layout: &EncodeLayout, rows: u32) -> u64 {
        codec::bound(layout, rows)
    }

    fn encode(
        &self,
        job: EncodeJob,
        pixels: &[SharedPixels],
        context: &Context,
    ) -> Result<Ticket<EncodedBlocks>, EngineError> {
        encode::submit(job, pixels, context)
    }

    fn reduces(&self, method: Resampling, data_type: DataType) -> Support {
        method.support(data_type)
    }

    fn reduce(
        &self,
        job: ReduceJob,
        pixels: &[SharedPixels],
        context: &Context,
    ) -> Result<Ticket<Vec<Reduced>>, EngineError> {
        reduce::submit(job, pixels, context)
    }
}

/// Role of the caller's thread in a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Here {
    /// None: the pool does all work.
    Nothing,
    /// It is one of the workers, if it waits for the job anyway.
    Work,
    /// It is the only worker: handing over a copy would take longer than the copy.
    Copy,
}

/// A job that no worker has begun.
struct Started {
    running: Arc<Running>,
    workers: usize,
    ticket: Ticket<Report>,
    here: Here,
}

impl Started {
    /// Checks a job, claims its outputs and takes the memory that it needs.
    fn new(
        job: DecodeJob,
        encoded: Encoded,
        outputs: &[Output],
        context: &Context,
    ) -> Result<Self, EngineError> {
        encoded.check(&job)?;
        if let Encoded::Device(bytes) = &encoded {
            return Err(EngineError::Mismatch {
                what: "encoded bytes",
                found: format!("{bytes:?}"),
                expected: "bytes in host memory, which the CPU engine reads".to_owned(),
            });
        }
        let slots = Slots::new(job, outputs)?;
        let (completion, ticket) = Ticket::new();
        let kinds: Vec<OutputKind> = outputs.iter().map(OutputKind::from).collect();
        let (each, wanted) = plan::workers(slots.job(), encoded.supply(), &kinds, context);
        let threads = plan::threads(context);
        let here = match plan::is_copy(slots.job(), &encoded) {
            true => Here::Copy,
            // A thread of the pool has larger buffers, and starts early enough if there are many blocks.
            false if each <= pool::KEPT_BY_CALLERS as u64 && slots.job().tasks().len() <= threads => {
                Here::Work
            }
            false => Here::Nothing,
        };
        let wanted = if here == Here::Copy { 1 } else { wanted };
        let (workers, lease) = context.take_for_workers(each, wanted, "decoding scratch")?;
        let running = Arc::new(Running {
            slots: slots.shared_by(workers),
            encoded,
            context: context.clone(),
            cancelled: AtomicBool::new(false),
            blocks: AtomicU64::new(0),
            encoded_bytes: AtomicU64::new(0),
            faults: Mutex::default(),
            looks: outputs.iter().any(|output| output.sought().is_some()),
            found: AtomicBool::new(false),
            refused: Mutex::default(),
            completion,
            lease,
            crew: Crew::new((threads / workers.max(1)).saturating_sub(1))
                .stopping(Stop::with(&context.cancel)),
        });
        Ok(Self { running, workers, ticket, here })
    }
}

/// Passes a job to threads of the pool, one per worker number. Its bytes are in memory or in local files, so an
/// encoding thread may run it first.
fn spawn(running: Arc<Running>, mut workers: Range<usize>) {
    let last = workers.next_back();
    for worker in workers {
        let running = Arc::clone(&running);
        pool::spawn_soon(move || work(running, worker));
    }
    if let Some(last) = last {
        pool::spawn_soon(move || work(running, last));
    }
}

/// A running job, shared by its workers.
struct Running {
    slots: Slots,
    encoded: Encoded,
    context: Context,
    cancelled: AtomicBool,
    blocks: AtomicU64,
    encoded_bytes: AtomicU64,
    faults: Mutex<Vec<(usize, BlockFault)>>,
    /// Whether an output searches for a value, and whether the value was written.
    looks: bool,
    found: AtomicBool,
    /// Why there was no memory for a block.
    refused: Mutex<Option<EngineError>>,
    completion: Completion<Report>,
    lease: Lease,
    /// Helpers of a worker for one block: the threads of the job besides its workers, divided evenly.
    crew: Crew,
}

fn work(running: Arc<Running>, worker: usize) {
    pool::with_scratch(|scratch| {
        scratch.workspace.crew = running.crew.clone();
        scratch.workspace.lender = Some(running.context.clone());
        while let Some(slot) = running.slots.next(worker) {
            if running.context.cancel.is_cancelled() {
                running.cancelled.store(true, Ordering::Relaxed);
                break;
            }
            running.run(slot, scratch);
        }
        scratch.workspace.lender = None;
        scratch.workspace.crew = Crew::alone();
    });
    // Exactly one worker drops the last reference.
    if let Some(done) = Arc::into_inner(running) {
        done.finish();
    }
}

impl Running {
    fn run(&self, mut slot: Slot<'_>, scratch: &mut Scratch) {
        let result = match slot.task.span {
            None => {
                slot.targets.iter_mut().for_each(Target::fill);
                Ok(())
            }
            Some(span) => self.decode(&mut slot, span, scratch),
        };
        if result.is_err() && self.context.cancel.is_cancelled() {
            // The block was interrupted; the job ends without a report.
            self.cancelled.store(true, Ordering::Relaxed);
            return;
        }
        if let Err(fault) = result {
            slot.targets.iter_mut().for_each(Target::fill);
            if fault.kind == FaultKind::OutOfMemory {
                // The block is not at fault: the job fails as a whole, however its caller handles faults.
                let refused = scratch.workspace.refusal(&fault);
                self.refused.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(refused);
            }
            let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
            faults.extend((slot.index..).zip(&slot.targets).map(|(index, _)| (index, fault.clone())));
        }
        // Once the value is found, other blocks are not searched.
        if self.looks && !self.found.load(Ordering::Relaxed) && slot.targets.iter().any(Target::holds_sought)
        {
            self.found.store(true, Ordering::Relaxed);
        }
        let count = slot.targets.len() as u64;
        self.blocks.fetch_add(count, Ordering::Relaxed);
        if let Some(progress) = &self.context.progress {
            progress.advance(count);
        }
    }

    fn decode(&self, slot: &mut Slot<'_>, span: Span, scratch: &mut Scratch) -> Result<(), BlockFault> {
        // The source fills this buffer while the rest of the scratch is used.
        let mut buffer = std::mem::take(&mut scratch.encoded);
        let result = self.bytes(slot.task.source, span, &mut buffer).and_then(|bytes| {
            if !slot.again {
                self.encoded_bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            }
            block::decode(bytes, slot.layout, &mut slot.targets, scratch)
        });
        scratch.encoded = buffer;
        result
    }

    fn bytes<'a>(&'a self, source: u32, span: Span, buffer: &'a mut Vec<u8>) -> Result<&'a [u8], BlockFault> {
        match &self.encoded {
            Encoded::Staged(arena) => {
                let (arena, end) = (arena.bytes(), span.end().and_then(|end| usize::try_from(end).ok()));
                let staged =
                    usize::try_from(span.offset).ok().zip(end).and_then(|(start, end)| arena.get(start..end));
                staged
                    .ok_or_else(|| BlockFault::unreadable(span, format!("{} bytes are staged", arena.len())))
            }
            Encoded::Device(_) => Err(BlockFault::unreadable(span, "they are on a device".to_owned())),
            Encoded::Pulled(sources) => {
                let source = sources.get(source as usize);
                let source =
                    source.ok_or_else(|| BlockFault::unreadable(span, "no such source".to_owned()))?;
                let bytes = self.pull(source.as_ref(), span, buffer).map_err(|error| match error.kind() {
                    io::ErrorKind::UnexpectedEof => {
                        BlockFault::unreadable(span, "the file ends before their end".to_owned())
                    }
                    io::ErrorKind::OutOfMemory => BlockFault {
                        kind: FaultKind::OutOfMemory,
                        found: 0,
                        expected: span.len,
                        detail: "its encoded bytes".into(),
                    },
                    _ => BlockFault::unreadable(span, error.to_string()),
                })?;
                let all = usize::try_from(span.len).is_ok_and(|len| len == bytes.len());
                all.then_some(bytes)
                    .ok_or_else(|| BlockFault::unreadable(span, format!("{} bytes were given", bytes.len())))
            }
        }
    }

    /// Reads a span of a source. Long spans of files are read in pieces, between which the call can be cancelled.
    fn pull<'a>(&self, source: &'a dyn ReadAt, span: Span, buffer: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        let len = usize::try_from(span.len).map_err(|_| io::ErrorKind::OutOfMemory)?;
        if len <= 2 * LOOKS_EVERY || source.file().is_none() {
            return source.read_at(span, buffer);
        }
        let bytes = pool::sized(buffer, len).ok_or(io::ErrorKind::OutOfMemory)?;
        for (offset, piece) in (span.offset..).step_by(LOOKS_EVERY).zip(bytes.chunks_mut(LOOKS_EVERY)) {
            if self.context.cancel.is_cancelled() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            source.read_into(offset, piece)?;
        }
        Ok(bytes)
    }

    /// Releases all resources, then completes the ticket, so that the outputs are free once it is complete.
    fn finish(self) {
        let Self {
            slots,
            encoded,
            context,
            cancelled,
            blocks,
            encoded_bytes,
            faults,
            looks,
            found,
            refused,
            completion,
            lease,
            ..
        } = self;
        let mut faults = faults.into_inner().unwrap_or_else(PoisonError::into_inner);
        faults.sort_by_key(|&(index, _)| index);
        let locate = |(index, fault): (usize, BlockFault)| {
            let task = slots.job().tasks().get(index)?;
            Some(LocatedFault { source: task.source, address: task.address, fault })
        };
        let faults = faults.into_iter().filter_map(locate).collect();
        let report = Report {
            blocks: blocks.into_inner(),
            encoded_bytes: encoded_bytes.into_inner(),
            faults,
            found: looks.then(|| found.into_inner()),
            ..Report::default()
        };
        let all_done = slots.job().tasks().len() as u64 == report.blocks;
        let refused = refused.into_inner().unwrap_or_else(PoisonError::into_inner);
        drop((slots, encoded, context, lease));
        completion.complete(match (cancelled.into_inner(), refused, all_done) {
            (true, ..) => Err(EngineError::Cancelled),
            (false, Some(refused), _) => Err(refused),
            (false, None, true) => Ok(report),
            // A panic ended a worker.
            (false, None, false) => Err(EngineError::Abandoned),
        });
    }
}

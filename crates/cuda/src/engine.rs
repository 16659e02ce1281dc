//! `CudaEngine`: jobs on one device, with a host engine beside it.

use crate::cufile::{Direct, DirectIo};
use crate::decode::batch::Limits;
use crate::decode::codec::Split;
use crate::decode::explain::Explained;
use crate::decode::plan::{Allowed, Libraries, Plan};
use crate::decode::run::{Run, Stop};
use crate::decode::{back, batch};
use crate::device::Device;
use crate::driver::Unavailable;
use crate::encode::{self, bring, fetch, halve, plan as write};
use crate::lane::Spare;
use crate::memory::{DeviceBuffer, Kind};
use crate::refused::Refused;
use crate::steps::{blend, find, finish, mask, resample, warp};
use crate::vendor::{Decoders, Encoders, Nvcomp};
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use strile_engine::memory::try_zeroed;
use strile_engine::{
    Arena, Assembly, Blend, BlendJob, BlendLayer, BlockLayout, Change, Context, DecodeJob, DeviceBytes,
    EncodeJob, EncodeLayout, EncodeParams, Encoded, EncodedBlocks, Encoder, Engine, EngineError,
    EngineMemory, EnginePlan, FindJob, FinishJob, Held, Lease, Location, MaskJob, MaskWindow, Output,
    OutputKind, OutputSpec, ReduceJob, Reduced, ReplaceJob, Report, ResampleJob, Resampling, SharedPixels,
    Span, Submission, Supply, Support, Ticket, Trace, WarpJob, claim_outputs, thread_builder,
};
use strile_tiff::{DataType, InvalidValue};

/// Options for opening a device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CudaOptions {
    /// Device memory that all engines of this process may take; `None` is 90 % of the memory that was free at first.
    pub memory_limit: Option<u64>,
    /// Whether cuFile reads local files directly into device memory, without pinned slabs.
    pub direct_io: DirectIo,
    /// Whether nvCOMP decodes blocks of trusted files.
    pub nvcomp: Nvcomp,
    /// Bytes that a launch may decode, and device memory that an encoding launch may take; `None` chooses a size that
    /// overlaps copies and kernels.
    pub launch_bytes: Option<u64>,
    /// Splitting of streams.
    pub split: Split,
}

/// Decodes and encodes on a CUDA device. Blocks without a kernel, and blocks that a kernel does not accept, are left to
/// the host engine.
pub struct CudaEngine {
    name: String,
    device: Arc<Device>,
    host: Arc<dyn Engine>,
    spare: Arc<Spare>,
    /// cuFile, or why files are read through pinned memory.
    direct: Result<Direct, String>,
    /// Decoders of libraries, if requested.
    decoders: Option<Decoders>,
    encoders: Encoders,
    limits: Limits,
    launch_bytes: Option<u64>,
    split: Split,
}

impl CudaEngine {
    /// Opens the engine of a device, or returns why it is unavailable.
    pub fn open(index: u32, host: Arc<dyn Engine>, options: CudaOptions) -> Result<Self, Unavailable> {
        let device = Device::open(index)?;
        if let Some(limit) = options.memory_limit {
            device.set_memory_limit(limit)?;
        }
        let direct = Direct::open(device.context().driver(), options.direct_io)
            .map_err(|error| Unavailable::NoDirectReads { reason: error.to_string() })?;
        let decoders = Decoders::open(options.nvcomp).map_err(|reason| Unavailable::NoLibrary { reason })?;
        let one = |bytes| Limits { encoded: bytes, working: bytes, ramp: false };
        let limits = options.launch_bytes.map_or(Limits::USUAL, one);
        Ok(Self {
            name: format!("cuda:{index}"),
            device,
            host,
            spare: Arc::default(),
            direct,
            decoders,
            encoders: Encoders::default(),
            limits,
            split: options.split,
            launch_bytes: options.launch_bytes,
        })
    }

    /// Checks whether kernels decode blocks of a layout. The error says why the host decompresses them. Does not access
    /// a device.
    pub fn on_device(layout: &BlockLayout) -> Result<(), Refused> {
        Ok(batch::on_device(layout).map(|_| ())?)
    }

    /// Checks whether kernels encode blocks of a layout. The error says why the host encodes them. Does not access a
    /// device.
    pub fn encodes_on_device(layout: &EncodeLayout) -> Result<(), Refused> {
        Ok(write::on_device(layout).map(|_| ())?)
    }

    /// Returns which version of nvCOMP decodes blocks of a layout and why, or an error that says why kernels decode them.
    /// Returns `None` if nvCOMP was not requested.
    pub fn nvcomp(&self, layout: &BlockLayout) -> Option<Result<String, Refused>> {
        let takes = |nvcomp: &Decoders| Ok(nvcomp.takes(layout).map(|(_, reason)| reason)?);
        self.decoders.as_ref().map(takes)
    }

    /// Checks whether cuFile reads a file. The error says why the file is read through pinned memory.
    pub fn reads_directly(&self, file: &File) -> Result<(), Refused> {
        let direct = self.direct.as_ref().map_err(Clone::clone)?;
        Ok(direct.takes(file).map_err(|error| error.to_string())?)
    }

    /// Returns the device.
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// Copies bytes to the device, taken from its budget while they live, for use as `Encoded::Device`.
    pub fn upload(&self, bytes: &[u8], context: &Context) -> Result<DeviceBytes, EngineError> {
        let len = bytes.len() as u64;
        let budget = self.device.budget();
        let lease = budget.take(Kind::Output, len, "encoded bytes on the device", &context.cancel)?;
        let lane = self.spare.lane(&self.device).map_err(|error| self.failed(error))?;
        let pool = self.device.pool();
        let buffer = pool.alloc_lasting(&lane.copies, len).map_err(|error| self.failed(error))?;
        buffer.write(&lane.copies, 0, bytes).map_err(|error| self.failed(error))?;
        self.spare.give_lane(lane);
        Ok(crate::memory::lasting(self.index(), buffer, lease))
    }

    /// Copies encoded blocks from the device to the host, by one gather and one copy, and returns their spans there. A
    /// span that leaves the bytes gets one past the arena's end.
    pub fn back_to_host(
        &self,
        bytes: &DeviceBytes,
        spans: &[Span],
        context: &Context,
    ) -> Result<(Arena, Vec<Span>), EngineError> {
        let lane = self.spare.lane(&self.device).map_err(|error| self.failed(error))?;
        let result = back::back_to_host(&self.device, &self.spare, &lane.copies, bytes, spans, context);
        let result = result.map_err(|stop| stop.on(&self.device))?;
        self.spare.give_lane(lane);
        Ok(result)
    }

    /// Returns how blocks of a layout are encoded on the device, or why the host encodes them or no encoder can.
    fn how(&self, layout: &EncodeLayout) -> Result<write::How, String> {
        match layout.params.encoder {
            Encoder::Fast | Encoder::Portable => write::on_device(layout),
            Encoder::Library { name, effort } => {
                let _bound = self.device.bind().map_err(|error| self.failed(error).to_string())?;
                self.encoders.how(&self.device, (name, effort), layout)
            }
        }
    }

    fn index(&self) -> u32 {
        self.device.facts().index
    }

    fn failed(&self, stop: impl Into<Stop>) -> EngineError {
        stop.into().on(&self.device)
    }

    /// Returns an output on the device, after `ready` has prepared its buffer.
    fn memory_for(
        &self,
        spec: OutputSpec,
        ready: impl FnOnce(&mut DeviceBuffer),
        context: &Context,
    ) -> Result<Output, EngineError> {
        let wrong = |error: strile_engine::OutputError| EngineError::Mismatch {
            what: "outputs",
            found: error.to_string(),
            expected: "a shape that memory can hold".to_owned(),
        };
        let len = spec.len().map_err(wrong)? as u64;
        let _bound = self.device.bind().map_err(|error| self.failed(error))?;
        let budget = self.device.budget();
        let lease = budget.take(Kind::Output, len, "the decoded image on the device", &context.cancel)?;
        let lane = self.spare.lane(&self.device).map_err(|error| self.failed(error))?;
        let pool = self.device.pool();
        let mut buffer = pool.alloc_lasting(&lane.copies, len).map_err(|error| self.failed(error))?;
        ready(&mut buffer);
        // The caller may use it on any stream.
        lane.copies.synchronize().map_err(|error| self.failed(error))?;
        self.spare.give_lane(lane);
        let memory = crate::memory::lasting(self.index(), buffer, lease);
        Output::on_device(spec, memory).map_err(wrong)
    }

    /// Returns the libraries that may decode.
    fn libraries(&self) -> Libraries<'_> {
        Libraries { decoders: self.decoders.as_ref().map(|decoders| (decoders, &*self.device)) }
    }

    /// Returns the plan of a job, for a caller that will hold more memory when it submits it.
    fn planned(
        &self,
        job: &DecodeJob,
        supply: Supply,
        outputs: &[OutputKind],
        held: Held,
        context: &Context,
    ) -> Result<Plan, Stop> {
        let budget = self.device.budget();
        let allowed = Allowed {
            limits: self.limits,
            free: budget.free().saturating_sub(held.device),
            most: budget.limit(),
            host: context.budget.limit() / 4,
            threads: context.threads.get(),
            split: self.split,
            multiprocessors: self.device.facts().multiprocessors,
        };
        Plan::new(job, outputs, supply, allowed, self.libraries())
    }

    /// Checks and plans a job, claims its outputs and takes its host memory.
    fn prepared(
        &self,
        job: DecodeJob,
        encoded: Encoded,
        outputs: &[Output],
        context: &Context,
    ) -> Result<(Run, Lease), EngineError> {
        encoded.check(&job)?;
        let here = self.location();
        if let Encoded::Device(bytes) = &encoded
            && Location::Cuda(bytes.device()) != here
        {
            return Err(EngineError::Mismatch {
                what: "encoded bytes",
                found: format!("{bytes:?}"),
                expected: format!("bytes in host memory or in {here}"),
            });
        }
        let claims = claim_outputs(&job, outputs, &[Location::Host, here])?;
        let claims = claims.into_iter().map(|(index, claim)| (index, Arc::new(claim))).collect();
        let kinds: Vec<OutputKind> = outputs.iter().map(OutputKind::from).collect();
        let plan = Trace::time(context.trace.as_deref(), ("job", "batches"), || {
            self.planned(&job, encoded.supply(), &kinds, Held::default(), context)
        });
        let budget = self.device.budget();
        let plan = plan.map_err(|stop| self.failed(stop))?;
        if plan.memory > budget.limit() {
            // The same refusal as later, but before any work is done.
            drop(budget.try_take(Kind::Working, plan.memory, "decoding on the device")?);
        }
        let lease = context.take(plan.host(), "pixels on their way to and from the device")?;
        let run = Run {
            device: Arc::clone(&self.device),
            host: Arc::clone(&self.host),
            spare: Arc::clone(&self.spare),
            job,
            encoded,
            claims,
            outputs: kinds,
            context: context.clone(),
            plan,
            direct: self.direct.as_ref().ok().copied(),
            decoders: self.decoders.clone(),
        };
        Ok((run, lease))
    }

    /// Runs `work` on a thread of its own, which completes the ticket.
    fn start<T: Send + 'static>(
        &self,
        name: &str,
        work: impl FnOnce() -> Result<T, EngineError> + Send + 'static,
    ) -> Result<Ticket<T>, EngineError> {
        let (completion, ticket) = Ticket::new();
        let started = thread_builder(name).and_then(|new| new.spawn(move || completion.complete(work())));
        started.map_err(|error| EngineError::Device {
            device: self.name.clone(),
            problem: format!("no thread could be started: {error}"),
        })?;
        Ok(ticket)
    }
}

impl Engine for CudaEngine {
    fn name(&self) -> &str {
        &self.name
    }

    fn support(&self, layout: &BlockLayout) -> Support {
        match batch::on_device(layout) {
            Ok(_) => Support::Yes,
            Err(_) => self.host.support(layout),
        }
    }

    fn pulls(&self) -> bool {
        true
    }

    fn location(&self) -> Location {
        Location::Cuda(self.index())
    }

    fn output(&self, spec: OutputSpec, context: &Context) -> Result<Output, EngineError> {
        self.memory_for(spec, DeviceBuffer::share, context)
    }

    fn scratch(&self, spec: OutputSpec, context: &Context) -> Result<Output, EngineError> {
        self.memory_for(spec, |_| {}, context)
    }

    fn staging(&self, len: usize) -> Result<Arena, EngineError> {
        // Ordinary memory: reading threads of the job copy it into pinned slabs, which is faster than pinning more.
        Ok(Arena::from_vec(try_zeroed(len, "staging of encoded blocks")?))
    }

    fn plan(
        &self,
        job: &DecodeJob,
        submission: &Submission<'_>,
        context: &Context,
    ) -> Result<EnginePlan, EngineError> {
        let Submission { supply, outputs, held } = *submission;
        let plan = self.planned(job, supply, outputs, held, context).map_err(|stop| self.failed(stop))?;
        let explained = Explained { plan: &plan, job, submission, host: self.host.as_ref(), context };
        explained.explain(self.libraries())
    }

    fn submit(
        &self,
        job: DecodeJob,
        encoded: Encoded,
        outputs: &[Output],
        context: &Context,
    ) -> Result<Ticket<Report>, EngineError> {
        let (run, lease) = self.prepared(job, encoded, outputs, context)?;
        self.start("strile-cuda", move || {
            let result = run.run();
            drop(lease);
            result
        })
    }

    fn decode(
        &self,
        job: DecodeJob,
        encoded: Encoded,
        outputs: &[Output],
        context: &Context,
    ) -> Result<Report, EngineError> {
        let (run, _lease) = self.prepared(job, encoded, outputs, context)?;
        // As on a separate thread: a panic abandons the job.
        catch_unwind(AssertUnwindSafe(|| run.run())).unwrap_or(Err(EngineError::Abandoned))
    }

    fn assemble(&self, wanted: &[Assembly<'_>], context: &Context) -> Result<Vec<SharedPixels>, EngineError> {
        bring::assemble(&self.device, &self.spare, wanted, context).map_err(|stop| self.failed(stop))
    }

    fn fetch(&self, pixels: &SharedPixels, context: &Context) -> Result<Arena, EngineError> {
        pixels.check_reached(self.location())?;
        if pixels.location() == Location::Host {
            return self.host.fetch(pixels, context);
        }
        let lane = self.spare.lane(&self.device).map_err(|error| self.failed(error))?;
        let bytes = fetch::span(&lane.copies, pixels).map_err(|stop| self.failed(stop))?;
        self.spare.give_lane(lane);
        Ok(Arena::from_vec(bytes))
    }

    fn resample(
        &self,
        job: &ResampleJob,
        pixels: &SharedPixels,
        output: &Output,
        context: &Context,
    ) -> Result<(), EngineError> {
        resample::run(&self.device, &self.spare, job, pixels, output, context)
            .map_err(|stop| self.failed(stop))
    }

    fn resample_memory(
        &self,
        job: &ResampleJob,
        _shapes: (&OutputSpec, &OutputSpec),
        _context: &Context,
    ) -> EngineMemory {
        EngineMemory { device: resample::memory(job), ..EngineMemory::default() }
    }

    fn mask(
        &self,
        job: &MaskJob,
        masks: &SharedPixels,
        output: &Output,
        context: &Context,
    ) -> Result<(), EngineError> {
        mask::run(&self.device, &self.spare, job, masks, output, context).map_err(|stop| self.failed(stop))
    }

    fn blends(&self, blend: &Blend) -> Support {
        match blend.is_power() {
            true => Support::No("values are raised to a power, which only the host does".to_owned()),
            false => Support::Yes,
        }
    }

    fn blend(
        &self,
        job: &BlendJob,
        layer: &BlendLayer<'_>,
        output: &Output,
        context: &Context,
    ) -> Result<(), EngineError> {
        blend::run(&self.device, &self.spare, job, layer, output, context).map_err(|stop| self.failed(stop))
    }

    fn warp(
        &self,
        job: &WarpJob,
        pixels: &SharedPixels,
        valid: Option<&SharedPixels>,
        output: &Output,
        context: &Context,
    ) -> Result<(), EngineError> {
        warp::run(&self.device, &self.spare, job, pixels, valid, output, context)
            .map_err(|stop| self.failed(stop))
    }

    fn warp_memory(&self, job: &WarpJob, _context: &Context) -> EngineMemory {
        EngineMemory { device: warp::memory(job), ..EngineMemory::default() }
    }

    fn finish(
        &self,
        job: &FinishJob,
        pixels: Option<&SharedPixels>,
        output: &Output,
        context: &Context,
    ) -> Result<(), EngineError> {
        finish::run(&self.device, &self.spare, job, pixels, output, context).map_err(|stop| self.failed(stop))
    }

    fn find(&self, job: &FindJob, output: &Output, context: &Context) -> Result<bool, EngineError> {
        find::run(&self.device, &self.spare, job, output, context).map_err(|stop| self.failed(stop))
    }

    /// Implemented with one mask per band that marks where samples differ from the value.
    fn replace(&self, job: &ReplaceJob, output: &Output, context: &Context) -> Result<(), EngineError> {
        let spec = output.spec();
        job.check(spec)?;
        let shared = |spec: OutputSpec, memory: &Output| {
            let bytes = memory.device_bytes().ok_or_else(|| EngineError::Mismatch {
                what: "output",
                found: memory.location().to_string(),
                expected: self.location().to_string(),
            })?;
            SharedPixels::on_device(spec, bytes.clone()).map_err(|_| EngineError::Abandoned)
        };
        let of_mask = OutputSpec::band_first(DataType::U8, 1, spec.rows, spec.columns);
        let of_mask = of_mask.map_err(|_| EngineError::Abandoned)?;
        let all = job.parts.iter().flat_map(|part| {
            (part.first_band..part.first_band.saturating_add(part.bands)).map(|band| (band, part.sought))
        });
        for (band, sought) in all {
            let own = shared(spec.clone(), output)?.band(band).ok_or(EngineError::Abandoned)?;
            let differs = self.scratch(of_mask.clone(), context)?;
            let change = FinishJob { change: Change::Differs(sought), ..FinishJob::default() };
            self.finish(&change, Some(&own), &differs, context)?;
            drop(own);
            let differs = shared(of_mask.clone(), &differs)?;
            let window = MaskWindow { first_band: band, bands: 1, spared: None };
            let masks = MaskJob { windows: vec![window], value: job.value };
            self.mask(&masks, &differs, output, context)?;
        }
        Ok(())
    }

    fn encoder(&self, which: Encoder) -> String {
        match which {
            Encoder::Fast | Encoder::Portable => Encoder::PORTABLE.to_owned(),
            // If the library cannot be used, the name says why, and `prepare` refuses it.
            Encoder::Library { name, effort } => self.encoders.name(&self.device, (name, effort)),
        }
    }

    fn encode_memory(&self, layout: &EncodeLayout, rows: u32) -> u64 {
        match self.how(layout) {
            // The requirements of a library depend on the device.
            Ok(how) => self.device.bind().map_or(u64::MAX, |_bound| how.memory(rows)),
            // The part for the host is gathered on the device.
            Err(_) => layout.block.samples_len(rows).map_or(u64::MAX, |len| len as u64),
        }
    }

    fn encodes(&self, layout: &EncodeLayout) -> Support {
        self.how(layout).map_or_else(Support::No, |_| Support::Yes)
    }

    fn prepare(&self, layout: EncodeLayout) -> Result<EncodeLayout, InvalidValue> {
        let encoder = layout.params.encoder;
        if matches!(encoder, Encoder::Fast | Encoder::Portable) {
            return self.host.prepare(layout);
        }
        let by_host = EncodeParams { encoder: Encoder::Portable, ..layout.params };
        let mut layout = self.host.prepare(EncodeLayout { params: by_host, ..layout })?;
        layout.params.encoder = encoder;
        // A requested library is used or an error: there is no fallback to another encoder.
        self.how(&layout)?;
        Ok(layout)
    }

    fn encoded_bound(&self, layout: &EncodeLayout, rows: u32) -> u64 {
        let need = self.how(layout).ok().and_then(|how| how.need(rows));
        self.host.encoded_bound(layout, rows).max(need.map_or(0, |need| need.room.into()))
    }

    fn encode(
        &self,
        job: EncodeJob,
        pixels: &[SharedPixels],
        context: &Context,
    ) -> Result<Ticket<EncodedBlocks>, EngineError> {
        let hows = job.check(pixels, self.location(), |layout| {
            self.prepare(layout.clone()).map(|layout| self.how(&layout).ok()).map_err(String::from)
        })?;
        let _bound = self.device.bind().map_err(|error| self.failed(error))?;
        let budget = self.device.budget();
        let most = self.launch_bytes.unwrap_or(write::USUAL);
        let plan = Trace::time(context.trace.as_deref(), ("job", "batches"), || {
            write::Plan::new(&job, pixels, &hows, (most, budget.free(), budget.limit()))
        });
        if plan.memory > budget.limit() {
            // The same refusal as later, but before any work is done.
            drop(budget.try_take(Kind::Working, plan.memory, encode::run::PURPOSE)?);
        }
        let lease = context.take(plan.staged, "pixels on their way to the device")?;
        let run = encode::run::Run {
            device: Arc::clone(&self.device),
            host: Arc::clone(&self.host),
            spare: Arc::clone(&self.spare),
            job,
            pixels: pixels.to_vec(),
            context: context.clone(),
            pictures: hows
                .iter()
                .flatten()
                .any(|how| how.picture.is_some())
                .then(|| self.encoders.pictures(&self.device)),
            hows,
            plan,
        };
        self.start("strile-cuda-encode", move || {
            let result = run.run();
            drop(lease);
            result
        })
    }

    fn reduces(&self, method: Resampling, data_type: DataType) -> Support {
        encode::reduce::reduces(method, data_type)
    }

    fn reduce(
        &self,
        job: ReduceJob,
        pixels: &[SharedPixels],
        context: &Context,
    ) -> Result<Ticket<Vec<Reduced>>, EngineError> {
        let here = self.location();
        for task in &job.tasks {
            let (source, mask) = task.sources(job.method, pixels)?;
            mask.into_iter().chain([source]).try_for_each(|pixels| pixels.check_reached(here))?;
        }
        let (device, spare) = (Arc::clone(&self.device), Arc::clone(&self.spare));
        let (pixels, context) = (pixels.to_vec(), context.clone());
        self.start("strile-cuda-reduce", move || {
            halve::run(&device, &spare, &job, pixels, &context).map_err(|stop| stop.on(&device))
        })
    }
}

//! The trait every engine implements, and its errors.

use crate::memory::NoMemory;
use crate::{
    Arena, Assembly, Blend, BlendJob, BlendLayer, BlockLayout, BudgetError, Context, DecodeJob, EncodeJob,
    EncodeLayout, Encoded, EncodedBlocks, Encoder, EngineMemory, EnginePlan, FindJob, FinishJob, Location,
    MaskJob, Output, OutputSpec, ReduceJob, Reduced, ReplaceJob, Report, ResampleJob, Resampling,
    SharedPixels, Submission, Ticket, WarpJob,
};
use strile_tiff::{DataType, InvalidValue};
use thiserror::Error;

/// Whether an engine decodes blocks of a layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Support {
    /// It does.
    Yes,
    /// It does not, for this reason.
    No(String),
}

/// What stops a whole job; faults of single blocks are in its `Report`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EngineError {
    /// Stopped on request.
    #[error("cancelled")]
    Cancelled,
    /// The budget refused memory.
    #[error(transparent)]
    Budget(#[from] BudgetError),
    /// The system has no memory, though the budget had.
    #[error(transparent)]
    NoMemory(#[from] NoMemory),
    /// The job names an output or a source it was not given, or one of another type.
    #[error("the job does not fit its {what}: expected {expected}, got {found}")]
    Mismatch {
        /// Outputs or sources.
        what: &'static str,
        /// What there is.
        found: String,
        /// What the job needs.
        expected: String,
    },
    /// Another job in flight writes to the same part of an output.
    #[error("output {output} is being written there by another job")]
    Busy {
        /// Index of the output.
        output: u32,
    },
    /// The device or its driver failed.
    #[error("{device}: {problem}")]
    Device {
        /// Which device.
        device: String,
        /// What failed.
        problem: String,
    },
    /// The engine went away before the job was done.
    #[error("the engine stopped before the job was done")]
    Abandoned,
}

/// Decodes and encodes batches of blocks.
///
/// The rules, which the tests in `crates/engine/conformance` check for each engine:
/// - Blocks of a job may be decoded in any order; faults come in the order of its tasks, and all blocks are
///   tried whatever happens to others, so reports do not depend on threads or on the engine.
/// - After a fault the block's part of the output holds its layout's fill value; nothing else is touched.
/// - Only the boxes of the job's tasks are written; bytes between strides are left alone.
/// - Any number of jobs may be in flight, from any threads, as long as they write disjoint boxes.
/// - After `Cancelled` or any other error the contents of the job's boxes are unspecified but initialised.
pub trait Engine: Send + Sync {
    /// A short name for plans and reports.
    fn name(&self) -> &str;

    /// Whether blocks of this layout can be decoded.
    fn support(&self, layout: &BlockLayout) -> Support;

    /// Whether `Encoded::Pulled` suits this engine: its own threads read local sources.
    fn pulls(&self) -> bool;

    /// The memory this engine decodes into without a copy.
    fn location(&self) -> Location;

    /// An output in that memory, with contents that are not specified. A device's memory is taken from the device's
    /// budget for as long as the output lives; the host's is the caller's to account for.
    fn output(&self, spec: OutputSpec, context: &Context) -> Result<Output, EngineError>;

    /// The same for what nobody but this engine uses: a device frees it as soon as it is dropped, where it frees an output
    /// after all that its holder may have queued.
    fn scratch(&self, spec: OutputSpec, context: &Context) -> Result<Output, EngineError> {
        self.output(spec, context)
    }

    /// Memory for sources to read `len` encoded bytes into; pinned where the engine is a GPU.
    fn staging(&self, len: usize) -> Result<Arena, EngineError>;

    /// Returns what `submit` will do with a job. It is computed by the code that `submit` runs, from what is free now less
    /// what the caller will hold.
    fn plan(
        &self,
        job: &DecodeJob,
        submission: &Submission<'_>,
        context: &Context,
    ) -> Result<EnginePlan, EngineError>;

    /// Starts decoding and returns at once.
    fn submit(
        &self,
        job: DecodeJob,
        encoded: Encoded,
        outputs: &[Output],
        context: &Context,
    ) -> Result<Ticket<Report>, EngineError>;

    /// Decodes a job and waits for it. A small job is done on the calling thread: handing it over would take as long.
    fn decode(
        &self,
        job: DecodeJob,
        encoded: Encoded,
        outputs: &[Output],
        context: &Context,
    ) -> Result<Report, EngineError> {
        self.submit(job, encoded, outputs, context)?.wait()
    }

    /// Puts pixels together in the memory of this engine and waits for them. Parts may lie on the host or where the
    /// engine has them. A device's memory is taken from the device's budget while the pixels live.
    fn assemble(&self, wanted: &[Assembly<'_>], context: &Context) -> Result<Vec<SharedPixels>, EngineError>;

    /// The bytes that the shape of pixels spans, in host memory. What lies between their samples is not specified.
    fn fetch(&self, pixels: &SharedPixels, context: &Context) -> Result<Arena, EngineError>;

    /// Makes windows of `pixels` another size, into `output`, and waits for it; see `ResampleJob`. Both lie in the memory of
    /// this engine.
    fn resample(
        &self,
        job: &ResampleJob,
        pixels: &SharedPixels,
        output: &Output,
        context: &Context,
    ) -> Result<(), EngineError>;

    /// Returns the memory that `resample` takes for a job while it runs, besides its pixels and its output, which have these
    /// shapes.
    fn resample_memory(
        &self,
        job: &ResampleJob,
        shapes: (&OutputSpec, &OutputSpec),
        context: &Context,
    ) -> EngineMemory;

    /// Gives samples of `output` a value where masks say that they are missing, and waits for it; see `MaskJob`. Both lie in
    /// the memory of this engine.
    fn mask(
        &self,
        job: &MaskJob,
        masks: &SharedPixels,
        output: &Output,
        context: &Context,
    ) -> Result<(), EngineError>;

    /// Whether values of layers can be laid so; see `Blend`.
    fn blends(&self, blend: &Blend) -> Support;

    /// Lays a band of a layer upon a rectangle of `output`, and waits for it; see `BlendJob`. All lie in the memory of this
    /// engine.
    fn blend(
        &self,
        job: &BlendJob,
        layer: &BlendLayer<'_>,
        output: &Output,
        context: &Context,
    ) -> Result<(), EngineError>;

    /// Puts windows of `pixels` onto a grid, into `output`, and waits for it; see `WarpJob`. Samples are missing where
    /// `valid` is 0: all bytes of its sample. All lie in the memory of this engine.
    fn warp(
        &self,
        job: &WarpJob,
        pixels: &SharedPixels,
        valid: Option<&SharedPixels>,
        output: &Output,
        context: &Context,
    ) -> Result<(), EngineError>;

    /// Returns the memory that `warp` takes for a job while it runs, besides its pixels, their masks and its output.
    fn warp_memory(&self, job: &WarpJob, context: &Context) -> EngineMemory;

    /// Changes the samples of `pixels` and turns the image, into `output`, and waits for it; see `FinishJob`. Without `pixels`
    /// the samples of `output` are changed in place. All lie in the memory of this engine.
    fn finish(
        &self,
        job: &FinishJob,
        pixels: Option<&SharedPixels>,
        output: &Output,
        context: &Context,
    ) -> Result<(), EngineError>;

    /// Looks for values in finished pixels and says whether one is there; see `FindJob`. The output lies in the memory of this
    /// engine. Pixels that change no more after they were decoded are searched while they are: [`Output::looking_for`].
    fn find(&self, job: &FindJob, output: &Output, context: &Context) -> Result<bool, EngineError>;

    /// Gives samples of finished pixels another value where they are what is sought, and waits for it; see `ReplaceJob`. The
    /// output lies in the memory of this engine.
    fn replace(&self, job: &ReplaceJob, output: &Output, context: &Context) -> Result<(), EngineError>;

    /// Name and version of the encoders: equal names give equal bytes.
    fn encoder(&self, which: Encoder) -> String;

    /// Whether blocks of this layout are encoded where the engine is, or why the host does it for it.
    fn encodes(&self, layout: &EncodeLayout) -> Support;

    /// Checks that blocks of this layout can be encoded and completes it with what all of them share (JPEG
    /// tables), or says in words why not.
    fn prepare(&self, layout: EncodeLayout) -> Result<EncodeLayout, InvalidValue>;

    /// The most bytes that a block of `rows` rows can take when encoded.
    fn encoded_bound(&self, layout: &EncodeLayout, rows: u32) -> u64;

    /// Bytes of this engine's own memory that a block of `rows` rows takes while it is encoded, its pixels not counted; 0
    /// where that is the host's, which the budget of the context lends.
    fn encode_memory(&self, layout: &EncodeLayout, rows: u32) -> u64;

    /// Starts encoding blocks out of `pixels`, on the host or in the engine's memory, and returns at once. The bytes depend on the pixels, the layout and
    /// `encoder` alone, not on threads, on other blocks or on how blocks are spread over jobs.
    fn encode(
        &self,
        job: EncodeJob,
        pixels: &[SharedPixels],
        context: &Context,
    ) -> Result<Ticket<EncodedBlocks>, EngineError>;

    /// Whether images of this type can be reduced so.
    fn reduces(&self, method: Resampling, data_type: DataType) -> Support;

    /// Starts computing parts of reduced images and returns at once. Every pixel depends on those under it and
    /// on the size of the image alone, so parts of any cut agree bit for bit.
    fn reduce(
        &self,
        job: ReduceJob,
        pixels: &[SharedPixels],
        context: &Context,
    ) -> Result<Ticket<Vec<Reduced>>, EngineError>;
}

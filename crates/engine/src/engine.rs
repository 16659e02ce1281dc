//! The trait that every engine implements, and its errors.

use crate::memory::NoMemory;
use crate::{
    Arena, Assembly, Blend, BlendJob, BlendLayer, BlockLayout, BudgetError, Context, DecodeJob, EncodeJob,
    EncodeLayout, Encoded, EncodedBlocks, Encoder, EngineMemory, EnginePlan, FindJob, FinishJob, Location,
    MaskJob, Output, OutputSpec, ReduceJob, Reduced, ReplaceJob, Report, ResampleJob, Resampling,
    SharedPixels, Submission, Ticket, WarpJob,
};
use strile_tiff::{DataType, InvalidValue};
use thiserror::Error;

/// Whether an engine supports an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Support {
    /// Supported.
    Yes,
    /// Not supported, for this reason.
    No(String),
}

/// Errors that stop a whole job; faults of single blocks are in its `Report`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EngineError {
    /// The caller cancelled the job.
    #[error("cancelled")]
    Cancelled,
    /// The budget refused memory.
    #[error(transparent)]
    Budget(#[from] BudgetError),
    /// The system has no memory, although the budget had.
    #[error(transparent)]
    NoMemory(#[from] NoMemory),
    /// The job names an output or a source that it was not given, or one of another type.
    #[error("the job does not fit its {what}: expected {expected}, got {found}")]
    Mismatch {
        /// Outputs or sources.
        what: &'static str,
        /// Actual.
        found: String,
        /// Expected.
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
    /// The engine was dropped before the job was done.
    #[error("the engine stopped before the job was done")]
    Abandoned,
}

/// Decodes and encodes batches of blocks.
///
/// Rules, checked for each engine by the tests in `crates/engine/conformance`:
/// - Blocks of a job may be decoded in any order; faults come in the order of its tasks, and all blocks are tried
///   regardless of faults in others, so reports do not depend on threads or on the engine.
/// - After a fault the block's part of the output holds its layout's fill value; nothing else is touched.
/// - Only the boxes of the job's tasks are written; bytes between strides stay unchanged.
/// - Any number of jobs may be in flight, from any threads, as long as they write disjoint boxes.
/// - After `Cancelled` or any other error the contents of the job's boxes are unspecified but initialised.
pub trait Engine: Send + Sync {
    /// Returns a short name for plans and reports.
    fn name(&self) -> &str;

    /// Returns whether blocks of this layout can be decoded.
    fn support(&self, layout: &BlockLayout) -> Support;

    /// Returns whether this engine prefers `Encoded::Pulled`: its own threads read local sources.
    fn pulls(&self) -> bool;

    /// Returns the memory that this engine decodes into without a copy.
    fn location(&self) -> Location;

    /// Returns an output in that memory, with unspecified contents. Device memory counts against the device's budget as
    /// long as the output lives; host memory must be accounted for by the caller.
    fn output(&self, spec: OutputSpec, context: &Context) -> Result<Output, EngineError>;

    /// Like `output`, for memory that only this engine uses: a device frees it immediately on drop, but frees an output
    /// only after all work that its holder may have queued.
    fn scratch(&self, spec: OutputSpec, context: &Context) -> Result<Output, EngineError> {
        self.output(spec, context)
    }

    /// Returns memory for sources to read `len` encoded bytes into; pinned if the engine is a GPU.
    fn staging(&self, len: usize) -> Result<Arena, EngineError>;

    /// Returns what `submit` will do with a job. It runs the same planning code as `submit`, with the memory that is
    /// free now less what the caller will hold.
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

    /// Decodes a job and waits for it. A small job runs on the calling thread: handing it over would take as long.
    fn decode(
        &self,
        job: DecodeJob,
        encoded: Encoded,
        outputs: &[Output],
        context: &Context,
    ) -> Result<Report, EngineError> {
        self.submit(job, encoded, outputs, context)?.wait()
    }

    /// Assembles pixels in the memory of this engine and waits. Parts may lie on the host or in the engine's memory.
    /// Device memory counts against the device's budget as long as the pixels live.
    fn assemble(&self, wanted: &[Assembly<'_>], context: &Context) -> Result<Vec<SharedPixels>, EngineError>;

    /// Returns the bytes that the shape of pixels spans, in host memory. Bytes between their samples are unspecified.
    fn fetch(&self, pixels: &SharedPixels, context: &Context) -> Result<Arena, EngineError>;

    /// Resamples windows of `pixels` into `output` and waits; see `ResampleJob`. Both lie in the memory of this engine.
    fn resample(
        &self,
        job: &ResampleJob,
        pixels: &SharedPixels,
        output: &Output,
        context: &Context,
    ) -> Result<(), EngineError>;

    /// Returns the memory that `resample` takes while a job runs, in addition to its pixels and its output, which have
    /// these shapes.
    fn resample_memory(
        &self,
        job: &ResampleJob,
        shapes: (&OutputSpec, &OutputSpec),
        context: &Context,
    ) -> EngineMemory;

    /// Sets samples of `output` to a value where masks mark them as missing, and waits; see `MaskJob`. Both lie in the
    /// memory of this engine.
    fn mask(
        &self,
        job: &MaskJob,
        masks: &SharedPixels,
        output: &Output,
        context: &Context,
    ) -> Result<(), EngineError>;

    /// Returns whether this engine can blend layers like this; see `Blend`.
    fn blends(&self, blend: &Blend) -> Support;

    /// Blends a band of a layer onto a rectangle of `output` and waits; see `BlendJob`. All lie in the memory of this
    /// engine.
    fn blend(
        &self,
        job: &BlendJob,
        layer: &BlendLayer<'_>,
        output: &Output,
        context: &Context,
    ) -> Result<(), EngineError>;

    /// Warps windows of `pixels` onto a grid, into `output`, and waits; see `WarpJob`. Samples whose bytes in `valid`
    /// are all 0 are missing. All lie in the memory of this engine.
    fn warp(
        &self,
        job: &WarpJob,
        pixels: &SharedPixels,
        valid: Option<&SharedPixels>,
        output: &Output,
        context: &Context,
    ) -> Result<(), EngineError>;

    /// Returns the memory that `warp` takes while a job runs, in addition to its pixels, their masks and its output.
    fn warp_memory(&self, job: &WarpJob, context: &Context) -> EngineMemory;

    /// Changes the samples of `pixels` and turns the image, into `output`, and waits; see `FinishJob`. Without `pixels`
    /// the samples of `output` are changed in place. All lie in the memory of this engine.
    fn finish(
        &self,
        job: &FinishJob,
        pixels: Option<&SharedPixels>,
        output: &Output,
        context: &Context,
    ) -> Result<(), EngineError>;

    /// Searches finished pixels for values and returns whether one was found; see `FindJob`. The output lies in the
    /// memory of this engine. Pixels that do not change after decoding are searched during decoding instead:
    /// [`Output::looking_for`].
    fn find(&self, job: &FindJob, output: &Output, context: &Context) -> Result<bool, EngineError>;

    /// Replaces matching samples of finished pixels and waits; see `ReplaceJob`. The output lies in the memory of this
    /// engine.
    fn replace(&self, job: &ReplaceJob, output: &Output, context: &Context) -> Result<(), EngineError>;

    /// Returns the name and version of the encoders: equal names produce equal bytes.
    fn encoder(&self, which: Encoder) -> String;

    /// Returns whether blocks of this layout are encoded on the engine's device, or why the host encodes them.
    fn encodes(&self, layout: &EncodeLayout) -> Support;

    /// Checks that blocks of this layout can be encoded and completes it with data that all of them share (JPEG
    /// tables), or returns why not.
    fn prepare(&self, layout: EncodeLayout) -> Result<EncodeLayout, InvalidValue>;

    /// Returns the largest encoded size in bytes of a block of `rows` rows.
    fn encoded_bound(&self, layout: &EncodeLayout, rows: u32) -> u64;

    /// Returns the bytes of this engine's own memory that encoding a block of `rows` rows takes, without its pixels; 0
    /// if that is host memory, which comes from the budget of the context.
    fn encode_memory(&self, layout: &EncodeLayout, rows: u32) -> u64;

    /// Starts encoding blocks of `pixels`, on the host or in the engine's memory, and returns at once. The bytes depend
    /// only on the pixels, the layout and `encoder`, not on threads, other blocks or the distribution of blocks over
    /// jobs.
    fn encode(
        &self,
        job: EncodeJob,
        pixels: &[SharedPixels],
        context: &Context,
    ) -> Result<Ticket<EncodedBlocks>, EngineError>;

    /// Returns whether images of this type can be reduced by this method.
    fn reduces(&self, method: Resampling, data_type: DataType) -> Support;

    /// Starts computing parts of reduced images and returns at once. Every pixel depends only on the pixels under it
    /// and on the size of the image, so the parts agree bit for bit however the image is cut.
    fn reduce(
        &self,
        job: ReduceJob,
        pixels: &[SharedPixels],
        context: &Context,
    ) -> Result<Ticket<Vec<Reduced>>, EngineError>;
}

//! The contract between strile and its engines.
//!
//! - Decoding: `block` storage and destination of a block; `job` decoding jobs; `encoded` location of the bytes, `read`
//!   reads of byte ranges; `output` destination of pixels; `convert` conversion of samples on output; `sought` search
//!   for a value; `location` kinds of memory; `loan` memory lent by a caller; `claims` write access to outputs.
//! - Steps: `resample` windows of another size; `mask` missing pixels; `blend` and `blend_values` layers of mosaics;
//!   `number` their samples; `warp` windows on a grid; `finish` changed samples and turned images.
//! - Writing: `encode`, `reduce` and `shared_pixels`; `portable` the constants of the encoders that all engines share.
//! - Common: `ticket` work in flight and its report; `fault` faults of blocks; `ycbcr` tables for subsampled colours;
//!   `context` and `budget` resource limits of a call; `machine` the memory of the machine; `heap` allocation in a
//!   limited address space; `thread` starting threads; `memory` fallible allocations; `per_process` state that a fork
//!   must not share; `setters` setters of options; `trace` timings; `engine` the trait. The crate in `../conformance`
//!   tests what engines must do.

mod arena;
mod assemble;
mod blend;
mod blend_values;
mod block;
mod budget;
mod claims;
mod context;
mod convert;
mod encode;
mod encoded;
mod engine;
mod fault;
mod finish;
mod heap;
mod job;
mod loan;
mod location;
mod machine;
mod mask;
pub mod memory;
pub mod number;
mod output;
mod per_process;
mod plan;
pub mod portable;
mod read;
mod reduce;
mod resample;
mod setters;
mod shared_pixels;
mod sought;
mod thread;
mod ticket;
mod trace;
mod warp;
mod ycbcr;

pub use arena::{Arena, ArenaParts, Slot};
pub use assemble::{Assembly, Given, Patch};
pub use blend::{Blend, BlendChange, BlendJob, BlendLayer, BlendSamples, BlendWay, Picks};
pub use blend_values::{BlendScaling, BlendValues};
pub use block::{BlockAddress, BlockLayout, CodecExtras, DecodedForm, Fill, Placement, Span};
pub use budget::{Budget, BudgetError, Lease, Spare};
pub use claims::claim_outputs;
pub use context::{Cancel, Context, Progress};
pub use convert::Convert;
pub use encode::{EncodeJob, EncodeLayout, EncodeParams, EncodeTask, EncodedBlock, EncodedBlocks, Encoder};
pub use encoded::{Encoded, ReadAt};
pub use engine::{Engine, EngineError, Support};
pub use fault::{BlockFault, FaultKind, LocatedFault};
pub use finish::{Change, FinishJob, Turn};
pub use heap::share_heap_if_limited;
pub use job::{BlockTask, DecodeJob, JobError};
pub use loan::{HostMemory, lend};
pub use location::{DeviceBytes, Location};
pub use mask::{MaskJob, MaskWindow};
pub use output::{Claim, Output, OutputBox, OutputError, OutputRow, OutputSpec, Strides};
pub use per_process::{PerProcess, ProcessId};
pub use plan::{Decoder, EngineMemory, EnginePlan, Held, OutputKind, Route, Routes, Submission, Supply};
pub use read::{ReadDone, ReadOp};
pub use reduce::{ReduceJob, ReduceTask, Reduced, Resampling};
pub use resample::{PIECE, ResampleJob, ResampleWindow, Sampling};
pub use shared_pixels::SharedPixels;
pub use sought::{FindJob, FindPart, ReplaceJob, SampleParts, Sought};
pub use thread::thread_builder;
pub use ticket::{Completion, Report, StageTimes, Ticket};
pub use trace::{Slice, Trace};
pub use warp::{
    PixelPoint, WarpBlend, WarpJob, WarpMap, WarpMapParts, WarpPoints, WarpRect, WarpRule, WarpSampling,
    WarpWindow,
};
pub use ycbcr::{ChromaTables, FRACTION_BITS as CHROMA_FRACTION_BITS};

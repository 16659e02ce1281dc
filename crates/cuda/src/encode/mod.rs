//! Encoding: blocks cut out of pixels on the device, compressed there, and copied to the host, one copy per batch.
//!
//! `abi` the arguments of kernels; `cut` the pass from pixels to packed bytes; `codec` the encoders; `compact` the pass
//! that moves encoded blocks together; `assemble` copies of rectangles between images; `reduce` overviews.
//!
//! `plan` batches and their arenas, `tables` their launches, `run` a job from pixels to its slab, `left` blocks that
//! the host encodes, `join` results in order; `bring` and `fetch` copies of pixels to the device and back, `part` parts
//! of pixels; `halve` a job of overviews.

pub mod abi;
pub mod assemble;
pub(crate) mod bring;
pub mod codec;
pub mod compact;
pub mod cut;
pub(crate) mod fetch;
pub(crate) mod halve;
mod join;
mod left;
mod part;
pub(crate) mod plan;
pub mod reduce;
pub(crate) mod run;
mod tables;

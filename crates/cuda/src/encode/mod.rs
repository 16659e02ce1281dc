//! Writing: blocks cut out of pixels on the device, compressed there, and brought to the host by one copy a batch.
//!
//! `abi` what kernels are called with; `cut` the pass that makes packed bytes of pixels; `codec` the encoders; `compact`
//! the pass that moves encoded blocks together; `assemble` rectangles copied between images; `reduce` overviews.
//!
//! `plan` which blocks make a batch and where its arenas are, `tables` what it launches, `run` a job from pixels to its
//! slab, `left` what of it the host encodes, `join` all of it in order; `bring` and
//! `fetch` pixels on their way to the device and back, `part` which of them; `halve` a job of overviews.

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

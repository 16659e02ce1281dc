//! Writing: blocks cut out of pixels on the device, compressed there, and brought to the host by one copy a batch.
//!
//! `abi` what kernels are called with; `cut` the pass that makes packed bytes of pixels; `codec` the encoders; `compact`
//! the pass that moves encoded blocks together; `assemble` rectangles copied between images.

pub mod abi;
pub mod assemble;
pub(crate) mod bring;
pub(crate) mod check;
pub mod codec;
pub mod compact;
pub mod cut;
pub(crate) mod fetch;
pub(crate) mod halve;
mod join;
pub(crate) mod left;
mod part;
pub(crate) mod plan;
pub(crate) mod run;
mod tables;
pub mod reduce;

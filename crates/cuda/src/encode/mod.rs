//! Writing: blocks cut out of pixels on the device, compressed there, and brought to the host by one copy a batch.
//!
//! `abi` what kernels are called with; `cut` the pass that makes packed bytes of pixels; `codec` the encoders; `compact`
//! the pass that moves encoded blocks together; `assemble` rectangles copied between images.

pub mod abi;
pub mod assemble;
pub mod codec;
pub mod compact;
pub mod cut;

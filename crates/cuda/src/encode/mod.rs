//! Writing: blocks cut out of pixels on the device, compressed there, and brought to the host by one copy a batch.
//!
//! `abi` what kernels are called with; `codec` the encoders.

pub mod abi;
pub mod codec;

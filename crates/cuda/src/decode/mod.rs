//! Blocks from their file to pixels on the device.
//!
//! `plan` what a job does and takes, `batch` how it is cut, `explain` both as callers see them; `run` the job, `small` one of a
//! single batch; `slabs` encoded bytes on their way, `tables` what kernels are told, `flight` the end of a batch; `codec` and
//! `picture` the decoders, `place` the pass from decompressed rows to pixels; `host` what the host engine does, `landing` its
//! memory, `back` and `gather` the encoded blocks that return to it.

pub(crate) mod back;
pub(crate) mod batch;
pub(crate) mod codec;
pub(crate) mod explain;
mod flight;
pub mod gather;
mod host;
mod landing;
pub mod picture;
pub mod place;
pub(crate) mod plan;
pub(crate) mod run;
mod slabs;
mod small;
pub(crate) mod tables;

//! Decoding: blocks from their file to pixels on the device.
//!
//! `plan` computes the work and memory of a job, `batch` its batches, `explain` describes both to callers. `run`
//! executes a job, `small` a job of one batch. `slabs` moves encoded bytes, `tables` makes the tables of kernels,
//! `flight` ends a batch. `codec` and `picture` are the decoders, `place` is the pass from decompressed rows to pixels.
//! `host` runs the work of the host engine, `landing` provides its memory, `back` and `gather` return encoded blocks to
//! it.

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

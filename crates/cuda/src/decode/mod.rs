//! Blocks from their file to pixels on the device.
//!
//! `plan` holds what a job does and takes, `batch` how it is cut, `explain` both for callers. `run` is the job, `small` a job of one
//! batch. `slabs` moves encoded bytes, `tables` makes the tables of kernels, `flight` ends a batch. `codec` and `picture` are the
//! decoders, `place` is the pass from decompressed rows to pixels. `host` is the work of the host engine, `landing` its memory,
//! `back` and `gather` are the encoded blocks that return to it.

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

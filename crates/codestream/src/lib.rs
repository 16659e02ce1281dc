//! Parses and checks headers of the picture streams that engines decode themselves; decodes nothing.
//!
//! Every size in a stream is checked before use, and allocations are bounded by the length of the stream and by the
//! size of the block that it fills.

pub mod jpeg;
pub mod jpeg2000;
mod shape;

pub use shape::{StatedShape, StoredBlock};

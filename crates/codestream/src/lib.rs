//! What is where in the picture streams that engines decode by themselves: headers are parsed and checked, nothing is
//! decoded.
//!
//! Every size that a stream states is checked before it is used, and what is allocated is bounded by the length of the
//! stream and by the size of the block that it is to fill.

pub mod jpeg;
pub mod jpeg2000;
mod shape;

pub use shape::{StatedShape, StoredBlock};

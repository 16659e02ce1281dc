//! Reads of byte ranges: what is asked of a source, and what it answers.

use crate::arena::Slot;
use std::io;

/// One read: as many bytes as the slot has, from `offset`.
pub struct ReadOp {
    /// Comes back with the completion.
    pub id: usize,
    /// First byte.
    pub offset: u64,
    /// Where they go.
    pub into: Slot,
}

/// A read that is over.
pub struct ReadDone {
    /// Of the `ReadOp`.
    pub id: usize,
    /// The filled slot.
    pub into: Slot,
    /// `UnexpectedEof` where the source ended first.
    pub result: io::Result<()>,
}

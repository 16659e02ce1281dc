//! Reads of byte ranges: requests and results.

use crate::arena::Slot;
use std::io;

/// One read, from `offset`, of as many bytes as the slot holds.
pub struct ReadOp {
    /// Returned with the completion.
    pub id: usize,
    /// First byte.
    pub offset: u64,
    /// Destination.
    pub into: Slot,
}

/// A completed read.
pub struct ReadDone {
    /// ID of the `ReadOp`.
    pub id: usize,
    /// The filled slot.
    pub into: Slot,
    /// `UnexpectedEof` if the source ended first.
    pub result: io::Result<()>,
}

//! What a writer tells when a file is complete.

use strile_engine::LocatedFault;

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteReport {
    /// Bytes of the file.
    pub file_len: u64,
    /// Bytes that went through the spool.
    pub spooled: u64,
    /// Blocks of all levels and masks.
    pub blocks: u64,
    /// Blocks that were left out because they hold nothing.
    pub sparse: u64,
    /// Levels, the full image included.
    pub levels: usize,
    /// What could not be said in the file, and where it is said instead.
    pub warnings: Vec<String>,
    /// Blocks of an input that could not be decoded, where they were to be filled; empty otherwise.
    pub faults: Vec<LocatedFault>,
}

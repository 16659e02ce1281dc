//! The result of writing a file.

use strile_engine::LocatedFault;

/// Report of a written file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteReport {
    /// Size of the file in bytes.
    pub file_len: u64,
    /// Bytes that went through the spool.
    pub spooled: u64,
    /// Number of blocks of all levels and masks.
    pub blocks: u64,
    /// Number of blocks that were omitted because they are empty.
    pub sparse: u64,
    /// Number of levels, including the full image.
    pub levels: usize,
    /// Warnings about properties that could not be stored in the file, and where they are stored instead.
    pub warnings: Vec<String>,
    /// Blocks of an input that could not be decoded and were filled as requested; empty otherwise.
    pub faults: Vec<LocatedFault>,
}

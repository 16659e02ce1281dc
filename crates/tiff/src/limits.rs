//! Limits on the work and memory that a file can cause before a pixel is read.

/// Limits on the structure of a file. The reader's budget limits the memory of pixels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Total number of directories, chained and nested.
    pub directories: u64,
    /// Entries per directory.
    pub entries: u64,
    /// Entries of all directories together. The limit is lower for a file that is too small to hold as many without
    /// using its bytes twice.
    pub total_entries: u64,
    /// Size in bytes of a tag's value that is fetched when the file is opened. A larger value is left in the file.
    pub value_bytes: u64,
    /// Size in bytes of a table of block offsets or sizes that is fetched when the file is opened. A larger one is
    /// fetched in the pieces that a window needs.
    pub block_table_bytes: u64,
    /// Memory in bytes of the values of all directories, each counted as often as directories refer to it. Values
    /// beyond that are left in the file. The limit is lower for a small file: see [`Limits::memory_for`].
    pub total_value_bytes: u64,
    /// Blocks per image.
    pub blocks: u64,
}

/// Memory allowed for any file, however small.
const SMALLEST: u64 = 4 << 20;
/// Bytes of memory per byte of the file: one of type BYTE in a table of blocks becomes 8, and is also kept unchanged.
const PER_BYTE: u64 = 16;

impl Limits {
    /// Returns the memory allowed for the values of a file of `file_len` bytes: `total_value_bytes`, but for small
    /// files 4 MiB and 16 bytes per byte of the file. Only values that directories share take more than that.
    pub fn memory_for(&self, file_len: u64) -> u64 {
        self.total_value_bytes.min(file_len.saturating_mul(PER_BYTE).saturating_add(SMALLEST))
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            directories: 65_536,
            entries: 4_096,
            total_entries: 1 << 20,
            value_bytes: 16 << 20,
            block_table_bytes: 256 << 10,
            total_value_bytes: 256 << 20,
            blocks: 1 << 32,
        }
    }
}

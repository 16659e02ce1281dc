//! How much a file may make us do before a pixel is read.

/// Limits on the structure of a file. Memory for pixels is the reader's budget, not here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Directories in all, chained and nested.
    pub directories: u64,
    /// Entries of one directory.
    pub entries: u64,
    /// Entries of all directories together. A file that is too small to hold as many without using its bytes twice
    /// may have fewer.
    pub total_entries: u64,
    /// Bytes of one tag's value that is fetched when the file is opened; a larger value is left in the file.
    pub value_bytes: u64,
    /// Bytes of a table of block offsets or sizes that is fetched when the file is opened; a larger one is
    /// fetched in the pieces that a window needs.
    pub block_table_bytes: u64,
    /// Bytes of memory that the values of all directories may take once they are read, each counted as often as
    /// directories refer to it. Values beyond that are left in the file. A small file may have less: see
    /// [`Limits::memory_for`].
    pub total_value_bytes: u64,
    /// Blocks of one image.
    pub blocks: u64,
}

/// Memory that any file may take, however small.
const SMALLEST: u64 = 4 << 20;
/// Bytes of memory per byte of the file: one of type BYTE in a table of blocks becomes 8, and is kept as it is.
const PER_BYTE: u64 = 16;

impl Limits {
    /// Returns the memory that the values of a file of `file_len` bytes may take: `total_value_bytes`, but for small
    /// files 4 MiB and 16 bytes per byte of the file. More than that takes values that directories share.
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

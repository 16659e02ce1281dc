//! How much a file may make us do before a pixel is read.

/// Limits on the structure of a file. Memory for pixels is the reader's budget, not here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Directories in all, chained and nested.
    pub directories: u64,
    /// Entries of one directory.
    pub entries: u64,
    /// Entries of all directories together.
    pub total_entries: u64,
    /// Bytes of one tag's value that is fetched when the file is opened; a larger value is left in the file.
    pub value_bytes: u64,
    /// Bytes of a table of block offsets or sizes that is fetched when the file is opened; a larger one is
    /// fetched in the pieces that a window needs.
    pub block_table_bytes: u64,
    /// Bytes of values fetched in all.
    pub total_value_bytes: u64,
    /// Blocks of one image.
    pub blocks: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            directories: 65_536,
            entries: 4_096,
            total_entries: 1 << 20,
            value_bytes: 16 << 20,
            block_table_bytes: 256 << 10,
            total_value_bytes: 128 << 20,
            blocks: 1 << 32,
        }
    }
}

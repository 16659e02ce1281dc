//! The grid of an image's blocks.

/// Strips or tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockKind {
    /// Full-width bands of rows; the last may have fewer rows.
    Strip,
    /// Rectangles of one size. Those at the edges extend beyond the image.
    Tile,
}

/// The grid of an image's blocks. Every field is at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockGrid {
    /// Strips or tiles.
    pub kind: BlockKind,
    /// Pixels across a block.
    pub block_width: u32,
    /// Rows of a block.
    pub block_height: u32,
    /// Blocks across the image.
    pub across: u32,
    /// Blocks down the image.
    pub down: u32,
    /// Number of planes stored separately; 1 if samples are interleaved.
    pub planes: u16,
}

impl BlockGrid {
    /// Returns the grid of an image of `width` × `height` pixels.
    pub fn new(kind: BlockKind, image: (u32, u32), block: (u32, u32), planes: u16) -> Self {
        let (width, height) = image;
        let (block_width, block_height) = block;
        Self {
            kind,
            block_width,
            block_height,
            across: width.div_ceil(block_width),
            down: height.div_ceil(block_height),
            planes,
        }
    }

    /// Returns the number of blocks of all planes.
    pub fn blocks(&self) -> u64 {
        // Three factors of 32, 32 and 16 bits can only exceed 2^64 for images of more than 2^48 blocks per plane.
        (u64::from(self.across) * u64::from(self.down)).saturating_mul(u64::from(self.planes))
    }

    /// Returns the index of a block in the image's table.
    pub fn index(&self, column: u32, row: u32, plane: u16) -> u64 {
        let per_plane = u64::from(self.across) * u64::from(self.down);
        u64::from(plane) * per_plane + u64::from(row) * u64::from(self.across) + u64::from(column)
    }

    /// Returns the rows stored in a block of block row `row` of an image of `height` rows.
    pub fn rows_of(&self, row: u32, height: u32) -> u32 {
        match self.kind {
            BlockKind::Tile => self.block_height,
            BlockKind::Strip => {
                height.saturating_sub(row.saturating_mul(self.block_height)).min(self.block_height)
            }
        }
    }
}

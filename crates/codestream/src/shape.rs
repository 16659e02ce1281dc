//! The size that an image stream states, held against the block's before anything is decoded.
//!
//! A stream has the block's width and rows. The one exception that real files need: a last strip may hold
//! all the rows of a full strip; the first rows are then the block's.

use strile_engine::{BlockFault, BlockLayout};

/// A block as it is stored: its layout and how many rows it has.
#[derive(Debug, Clone, Copy)]
pub struct StoredBlock<'a> {
    /// The layout.
    pub layout: &'a BlockLayout,
    /// Rows stored: `layout.height`, or fewer in a last strip.
    pub rows: u32,
}

/// What a stream says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatedShape {
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
    /// Components or channels.
    pub samples: u32,
    /// Bits of a sample.
    pub bits: u32,
}

impl StatedShape {
    /// A fault that names both shapes, unless they agree.
    pub fn check(self, block: StoredBlock<'_>) -> Result<(), BlockFault> {
        let layout = block.layout;
        let same_samples =
            self.samples == u32::from(layout.samples) && self.bits == u32::from(layout.sample.bits);
        if same_samples { self.check_size(block) } else { Err(self.fault(block)) }
    }

    /// The same for width and height alone.
    pub fn check_size(self, block: StoredBlock<'_>) -> Result<(), BlockFault> {
        let layout = block.layout;
        let all_rows_of_a_strip =
            layout.is_strip && self.height == layout.height && block.rows <= layout.height;
        let same_size = self.width == layout.width && (self.height == block.rows || all_rows_of_a_strip);
        if same_size { Ok(()) } else { Err(self.fault(block)) }
    }

    /// The fault that names both shapes.
    pub fn fault(self, block: StoredBlock<'_>) -> BlockFault {
        let (layout, rows) = (block.layout, block.rows);
        BlockFault::wrong_shape(format!(
            "expected {} x {rows} pixels of {} samples of {} bits, got {} x {} of {} of {}",
            layout.width,
            layout.samples,
            layout.sample.bits,
            self.width,
            self.height,
            self.samples,
            self.bits
        ))
    }

    /// Bytes of the whole image with samples of `sample_size` bytes, or a fault past what memory can address.
    pub fn byte_len(self, sample_size: usize) -> Result<usize, BlockFault> {
        let pixels = u64::from(self.width) * u64::from(self.height);
        let bytes =
            pixels.checked_mul(u64::from(self.samples)).and_then(|n| n.checked_mul(sample_size as u64));
        bytes
            .and_then(|bytes| usize::try_from(bytes).ok())
            .ok_or_else(|| BlockFault::wrong_shape("more bytes than memory can address"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strile_tiff::DataType;

    #[test]
    fn only_a_strip_may_have_rows_to_spare() {
        let mut layout = BlockLayout::stored(DataType::U8, (8, 16), 3);
        let shape = |height| StatedShape { width: 8, height, samples: 3, bits: 8 };
        assert_eq!(shape(4).check(StoredBlock { layout: &layout, rows: 4 }), Ok(()));
        assert_eq!(shape(16).check(StoredBlock { layout: &layout, rows: 4 }), Ok(()));
        let fault = shape(12).check(StoredBlock { layout: &layout, rows: 4 }).unwrap_err();
        assert_eq!(fault.detail, "expected 8 x 4 pixels of 3 samples of 8 bits, got 8 x 12 of 3 of 8");
        layout.is_strip = false;
        assert!(shape(16).check(StoredBlock { layout: &layout, rows: 4 }).is_err());
    }
}

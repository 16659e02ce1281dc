//! Comparison of an image stream's stated size with the block's before anything is decoded.
//!
//! A stream must have the block's width and rows, with one exception that real files need: a last strip may hold all
//! the rows of a full strip; the block then consists of the first rows.

use strile_engine::{BlockFault, BlockLayout};

/// A stored block: its layout and its number of rows.
#[derive(Debug, Clone, Copy)]
pub struct StoredBlock<'a> {
    /// Layout.
    pub layout: &'a BlockLayout,
    /// Rows stored: `layout.height`, or fewer in a last strip.
    pub rows: u32,
}

/// Size as stated by a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatedShape {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Components or channels.
    pub samples: u32,
    /// Bits per sample.
    pub bits: u32,
}

impl StatedShape {
    /// Checks that both shapes agree; the fault names both.
    pub fn check(self, block: StoredBlock<'_>) -> Result<(), BlockFault> {
        let layout = block.layout;
        let same_samples =
            self.samples == u32::from(layout.samples) && self.bits == u32::from(layout.sample.bits);
        if same_samples { self.check_size(block) } else { Err(self.fault(block)) }
    }

    /// Checks only width and height.
    pub fn check_size(self, block: StoredBlock<'_>) -> Result<(), BlockFault> {
        let layout = block.layout;
        let all_rows_of_a_strip =
            layout.is_strip && self.height == layout.height && block.rows <= layout.height;
        let same_size = self.width == layout.width && (self.height == block.rows || all_rows_of_a_strip);
        if same_size { Ok(()) } else { Err(self.fault(block)) }
    }

    /// Returns the fault that names both shapes.
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

    /// Returns the bytes of the whole image with samples of `sample_size` bytes, or a fault if they exceed the address
    /// space.
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

//! The size that an image stream states, held against the block's before anything is decoded.
//!
//! A stream has the block's width and rows. The one exception that real files need: a last strip may hold
//! all the rows of a full strip; the first rows are then the block's.

use super::StoredBlock;
use strile_engine::BlockFault;

/// What a stream says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StatedShape {
    /// Pixels across.
    pub(super) width: u32,
    /// Pixels down.
    pub(super) height: u32,
    /// Components or channels.
    pub(super) samples: u32,
    /// Bits of a sample.
    pub(super) bits: u32,
}

impl StatedShape {
    /// A fault that names both shapes, unless they agree.
    pub(super) fn check(self, block: StoredBlock<'_>) -> Result<(), BlockFault> {
        let layout = block.layout;
        let same_samples =
            self.samples == u32::from(layout.samples) && self.bits == u32::from(layout.sample.bits);
        if same_samples { self.check_size(block) } else { Err(self.fault(block)) }
    }

    /// The same for width and height alone.
    pub(super) fn check_size(self, block: StoredBlock<'_>) -> Result<(), BlockFault> {
        let layout = block.layout;
        let all_rows_of_a_strip =
            layout.is_strip && self.height == layout.height && block.rows <= layout.height;
        let same_size = self.width == layout.width && (self.height == block.rows || all_rows_of_a_strip);
        if same_size { Ok(()) } else { Err(self.fault(block)) }
    }

    /// The fault that names both shapes.
    pub(super) fn fault(self, block: StoredBlock<'_>) -> BlockFault {
        let (layout, rows) = (block.layout, block.rows);
        BlockFault::wrong_shape(format!(
            "{} x {} pixels of {} samples of {} bits found, {} x {rows} of {} of {} expected",
            self.width,
            self.height,
            self.samples,
            self.bits,
            layout.width,
            layout.samples,
            layout.sample.bits
        ))
    }

    /// Bytes of the whole image with samples of `sample_size` bytes, or a fault past what memory can address.
    pub(super) fn byte_len(self, sample_size: usize) -> Result<usize, BlockFault> {
        let pixels = u64::from(self.width) * u64::from(self.height);
        let bytes =
            pixels.checked_mul(u64::from(self.samples)).and_then(|n| n.checked_mul(sample_size as u64));
        bytes
            .and_then(|bytes| usize::try_from(bytes).ok())
            .ok_or_else(|| BlockFault::wrong_shape("more bytes than memory can address"))
    }
}

/// A fault unless `src` holds all samples of a block to encode.
pub(super) fn check_len(src: &[u8], block: StoredBlock<'_>) -> Result<(), BlockFault> {
    match block.layout.samples_len(block.rows) {
        Some(expected) if src.len() == expected => Ok(()),
        expected => Err(BlockFault::short(src.len(), expected.unwrap_or(usize::MAX))),
    }
}

/// Lets `decode` fill memory for a whole image of `image_len` bytes: `dst` itself where it is that long, else
/// other memory whose beginning goes to `dst`.
pub(super) fn with_whole_image(
    dst: &mut [u8],
    image_len: usize,
    decode: impl FnOnce(&mut [u8]) -> Result<(), BlockFault>,
) -> Result<(), BlockFault> {
    if dst.len() == image_len {
        return decode(dst);
    }
    let mut whole = vec![0; image_len];
    decode(&mut whole)?;
    let first = whole.get(..dst.len()).ok_or_else(|| BlockFault::short(image_len, dst.len()))?;
    dst.copy_from_slice(first);
    Ok(())
}

/// Turns big-endian samples of 16 bits into native ones.
pub(super) fn native_from_big_endian_16(bytes: &mut [u8]) {
    for pair in bytes.as_chunks_mut().0 {
        *pair = u16::from_be_bytes(*pair).to_ne_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::layout;
    use super::*;
    use strile_tiff::Compression;

    #[test]
    fn only_a_strip_may_have_rows_to_spare() {
        let mut layout = layout(Compression::Png, (8, 16), (3, 8));
        let shape = |height| StatedShape { width: 8, height, samples: 3, bits: 8 };
        assert_eq!(shape(4).check(StoredBlock { layout: &layout, rows: 4 }), Ok(()));
        assert_eq!(shape(16).check(StoredBlock { layout: &layout, rows: 4 }), Ok(()));
        let fault = shape(12).check(StoredBlock { layout: &layout, rows: 4 }).unwrap_err();
        assert_eq!(fault.detail, "8 x 12 pixels of 3 samples of 8 bits found, 8 x 4 of 3 of 8 expected");
        layout.is_strip = false;
        assert!(shape(16).check(StoredBlock { layout: &layout, rows: 4 }).is_err());
    }
}

//! Compression 1: uncompressed bytes.
//!
//! Special case: bytes past the end of the block are padding (or the unused rows of a last strip) and are ignored.

use super::StoredBlock;
use strile_engine::BlockFault;

pub(super) fn decode(src: &[u8], dst: &mut [u8], _block: StoredBlock<'_>) -> Result<(), BlockFault> {
    let needed = src.get(..dst.len()).ok_or_else(|| BlockFault::truncated(src.len(), dst.len()))?;
    dst.copy_from_slice(needed);
    Ok(())
}

/// Appends the bytes unchanged.
pub(super) fn encode(src: &[u8], dst: &mut Vec<u8>) -> Result<(), BlockFault> {
    dst.extend_from_slice(src);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::byte_testing as testing;
    use super::*;
    use strile_tiff::Compression;

    #[test]
    fn copies_and_leaves_padding() {
        let layout = testing::layout(Compression::None, 4, 1);
        let mut dst = [0; 4];
        decode(&[1, 2, 3, 4, 9], &mut dst, testing::whole(&layout)).unwrap();
        assert_eq!(dst, [1, 2, 3, 4]);
    }

    #[test]
    fn short_source_is_a_fault() {
        let layout = testing::layout(Compression::None, 4, 1);
        let fault = decode(&[1, 2, 3], &mut [0; 4], testing::whole(&layout)).unwrap_err();
        assert_eq!(fault, BlockFault::truncated(3, 4));
    }
}

//! The size that an image stream states, and memory for a whole image if the block has fewer rows.

use super::StoredBlock;
use super::workspace::out_of_memory;
use strile_engine::memory::try_zeroed;
use strile_engine::{BlockFault, BlockLayout};

pub(super) use strile_codestream::StatedShape;

/// Returns a fault unless `src` holds all samples of a block to encode.
pub(super) fn check_len(src: &[u8], block: StoredBlock<'_>) -> Result<(), BlockFault> {
    match block.layout.samples_len(block.rows) {
        Some(expected) if src.len() == expected => Ok(()),
        expected => Err(BlockFault::short(src.len(), expected.unwrap_or(usize::MAX))),
    }
}

/// Calls `decode` with memory for a whole image of `image_len` bytes: `dst` itself if it is that long, otherwise
/// separate memory whose beginning is copied to `dst`. The caller has accounted for it.
pub(super) fn with_whole_image(
    dst: &mut [u8],
    image_len: usize,
    decode: impl FnOnce(&mut [u8]) -> Result<(), BlockFault>,
) -> Result<(), BlockFault> {
    if dst.len() == image_len {
        return decode(dst);
    }
    let mut whole = zeroed(image_len)?;
    decode(&mut whole)?;
    let first = whole.get(..dst.len()).ok_or_else(|| BlockFault::short(image_len, dst.len()))?;
    dst.copy_from_slice(first);
    Ok(())
}

/// Allocates memory for a whole image, which the caller has accounted for.
pub(super) fn zeroed(len: usize) -> Result<Vec<u8>, BlockFault> {
    try_zeroed(len, "a whole image").map_err(|error| out_of_memory(len, error.purpose))
}

/// Returns the maximum rows that a picture in this block may state: a last strip may hold all its rows.
pub(super) fn most_rows(layout: &BlockLayout, rows: u32) -> u32 {
    if layout.is_strip { rows.max(layout.height) } else { rows }
}

/// Converts big-endian samples of 16 bits to native order.
pub(super) fn native_from_big_endian_16(bytes: &mut [u8]) {
    for pair in bytes.as_chunks_mut().0 {
        *pair = u16::from_be_bytes(*pair).to_ne_bytes();
    }
}

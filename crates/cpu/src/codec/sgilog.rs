//! (to be written)

use super::StoredBlock;
use strile_engine::BlockFault;

pub(super) fn decode(_src: &[u8], _dst: &mut [u8], block: StoredBlock<'_>) -> Result<(), BlockFault> {
    Err(BlockFault::unsupported(block.layout.compression.name()))
}

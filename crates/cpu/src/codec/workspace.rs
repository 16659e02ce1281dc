//! State that decoders keep from block to block, one a thread: tables and contexts that are dear to make.
//!
//! Everything is made on first use, so that a thread pays only for the codecs it meets.

use super::StoredBlock;
use super::inflate_tables::Tables;
use super::lzw::Table;
use libdeflater::Decompressor;
use strile_engine::{BlockFault, FaultKind};
use zstd::zstd_safe::DCtx;

/// Reusable decoder state of one thread.
#[derive(Default)]
pub struct Workspace {
    deflate: Option<Decompressor>,
    zstd: Option<DCtx<'static>>,
    lzw: Option<Box<Table>>,
    inflate: Option<Box<Tables>>,
    spill: Vec<u8>,
}

impl Workspace {
    /// The Deflate context, and a buffer of at least `spill` bytes for output that the block does not keep.
    pub(super) fn deflate(&mut self, spill: usize) -> Result<(&mut Decompressor, &mut [u8]), BlockFault> {
        if self.spill.len() < spill {
            let more = spill - self.spill.len();
            self.spill
                .try_reserve_exact(more)
                .map_err(|_| out_of_memory(spill, "a last strip with all its rows"))?;
            self.spill.resize(spill, 0);
        }
        let decompressor = self.deflate.get_or_insert_with(Decompressor::new);
        let buffer = self.spill.get_mut(..spill).unwrap_or_default();
        Ok((decompressor, buffer))
    }

    /// The ZSTD context.
    pub(super) fn zstd(&mut self) -> Result<&mut DCtx<'static>, BlockFault> {
        if self.zstd.is_none() {
            self.zstd = DCtx::try_create();
        }
        self.zstd.as_mut().ok_or_else(|| out_of_memory(0, "a zstd context"))
    }

    /// The tables of `inflate_literals`.
    pub(super) fn inflate(&mut self) -> &mut Tables {
        self.inflate.get_or_insert_with(Tables::boxed)
    }

    /// The LZW table; its contents are those of the last block.
    pub(super) fn lzw(&mut self) -> &mut Table {
        self.lzw.get_or_insert_with(Table::boxed)
    }
}

/// A fault for memory that could not be had.
pub(super) fn out_of_memory(bytes: usize, purpose: &'static str) -> BlockFault {
    BlockFault { kind: FaultKind::OutOfMemory, found: 0, expected: bytes as u64, detail: purpose.into() }
}

/// Named case *a last strip holding all its rows*: the bytes that the stream of this block may hold, where the
/// block keeps `kept` of them. Some writers compress the last strip as if the image went on to its end.
pub(super) fn most_output(kept: usize, block: StoredBlock<'_>) -> usize {
    if block.layout.is_strip && block.rows < block.layout.height {
        block.layout.decoded_len(block.layout.height).map_or(kept, |full| full.max(kept))
    } else {
        kept
    }
}

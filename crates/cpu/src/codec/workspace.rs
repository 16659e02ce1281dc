//! State that decoders and encoders keep from block to block, one a thread: tables and contexts that are dear to make.
//!
//! Everything is made on first use, so that a thread pays only for the codecs it meets.

use super::StoredBlock;
use super::inflate_tables::Tables;
use super::lzw::{Table, encode::Strings};
use super::portable::matches::Matches;
use crate::crew::Crew;
use libdeflater::{CompressionLvl, Compressor, Decompressor};
use strile_engine::{BlockFault, FaultKind};
use zstd::zstd_safe::{CCtx, DCtx};

/// Reusable state of one thread.
#[derive(Default)]
pub struct Workspace {
    /// Who helps with a block.
    pub(crate) crew: Crew,
    deflate: Option<Decompressor>,
    zstd: Option<DCtx<'static>>,
    lzw: Option<Box<Table>>,
    inflate: Option<Box<Tables>>,
    spill: Vec<u8>,
    deflate_encoder: Option<(i32, Compressor)>,
    zstd_encoder: Option<CCtx<'static>>,
    lzw_encoder: Option<Box<Strings>>,
    matches: Option<Box<Matches>>,
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

    /// The Deflate compressor of a level.
    pub(super) fn deflate_encoder(&mut self, level: i32) -> Result<&mut Compressor, BlockFault> {
        let encoder = match self.deflate_encoder.take() {
            Some((kept, compressor)) if kept == level => (kept, compressor),
            _ => {
                let wanted = CompressionLvl::new(level)
                    .map_err(|_| BlockFault::unsupported(format!("deflate has no level {level}")))?;
                (level, Compressor::new(wanted))
            }
        };
        Ok(&mut self.deflate_encoder.insert(encoder).1)
    }

    /// The ZSTD compressor.
    pub(super) fn zstd_encoder(&mut self) -> Result<&mut CCtx<'static>, BlockFault> {
        if self.zstd_encoder.is_none() {
            self.zstd_encoder = CCtx::try_create();
        }
        self.zstd_encoder.as_mut().ok_or_else(|| out_of_memory(0, "a zstd context"))
    }

    /// The strings of the LZW encoder, those of the last block.
    pub(super) fn lzw_encoder(&mut self) -> &mut Strings {
        self.lzw_encoder.get_or_insert_with(Strings::boxed)
    }

    /// The tables of the portable encoders, those of the last block.
    pub(super) fn matches(&mut self) -> &mut Matches {
        self.matches.get_or_insert_with(Matches::boxed)
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

/// Grows `dst` by `more` bytes and lends them; the caller cuts off what it did not use.
pub(super) fn room(dst: &mut Vec<u8>, more: u64) -> Result<&mut [u8], BlockFault> {
    let start = dst.len();
    let more = usize::try_from(more).unwrap_or(usize::MAX);
    dst.try_reserve(more).map_err(|_| out_of_memory(more, "an encoded block"))?;
    dst.resize(start.saturating_add(more), 0);
    Ok(dst.get_mut(start..).unwrap_or_default())
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

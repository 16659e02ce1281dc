//! State that decoders and encoders reuse between blocks, one per thread: tables and contexts that are expensive to
//! create.
//!
//! Everything is created on first use, so that a thread pays only for the codecs that it uses.

use super::StoredBlock;
use super::lzw::{Table, encode::Strings};
use super::portable::matches::Matches;
use super::{jpeg, jpeg2000};
use crate::codec::deflate::inflate_tables::Tables;
use crate::crew::Crew;
use crate::pool::Buffer;
use crate::stop::{LOOKS_EVERY, Stop};
use libdeflater::{CompressionLvl, Compressor, Decompressor};
use strile_engine::memory::{NoMemory, probe};
use strile_engine::{BlockFault, Context, EngineError, FaultKind, Lease};
use zstd::zstd_safe::{CCtx, DCtx};

/// Reusable state of one thread.
#[derive(Default)]
pub struct Workspace {
    /// Helper threads for a block.
    pub(crate) crew: Crew,
    /// The call whose budget lends decoders memory besides the scratch of their job; `None` lends without limit.
    pub(crate) lender: Option<Context>,
    /// Why memory was refused, if that caused the last fault.
    pub(crate) refused: Option<EngineError>,
    /// A decompressed blob.
    pub(crate) unwrapped: Vec<u8>,
    /// Memory of pictures.
    pub(super) jpeg: jpeg::Space,
    pub(super) jpeg2000: jpeg2000::Space,
    deflate: Option<Decompressor>,
    zstd: Option<DCtx<'static>>,
    lzw: Option<Box<Table>>,
    inflate: Option<Box<Tables>>,
    deflate_encoder: Option<(i32, Compressor)>,
    zstd_encoder: Option<CCtx<'static>>,
    lzw_encoder: Option<Box<Strings>>,
    matches: Option<Box<Matches>>,
}

impl Workspace {
    /// Returns the buffers that grow with blocks, so that the thread can keep or release them between jobs.
    pub(crate) fn buffers(&mut self) -> Vec<&mut dyn Buffer> {
        let mut buffers: Vec<&mut dyn Buffer> = vec![&mut self.unwrapped];
        buffers.extend(self.jpeg.buffers().map(|buffer| buffer as &mut dyn Buffer));
        self.jpeg2000.buffers(&mut buffers);
        buffers
    }

    /// Discards the state of decoders and encoders; helpers and the lender remain.
    pub(crate) fn discard(&mut self) {
        let Self { crew, lender, .. } = std::mem::take(self);
        *self = Self { crew, lender, ..Self::default() };
    }

    /// Accounts for memory that a decoder is about to allocate, until the loan is dropped: `need` bytes, of which the
    /// job has accounted for `counted` with its scratch. It is also requested from the system, since most decoders
    /// abort if an allocation fails.
    pub(super) fn lend(
        &mut self,
        need: u64,
        counted: u64,
        purpose: &'static str,
    ) -> Result<Loan, BlockFault> {
        let more = need.saturating_sub(counted);
        let taken = match &self.lender {
            Some(context) if more > 0 => context.take_brief(more, purpose).map(Some),
            _ => Ok(None),
        };
        let taken = taken.and_then(|lease| Ok((lease, probe(need, purpose)?)));
        match taken {
            Ok((lease, ())) => Ok(Loan { _lease: lease }),
            Err(error) => Err(self.refuse(error, need, purpose)),
        }
    }

    /// Like `lend`, for memory that a decoder can do without: `None` if there is little.
    pub(crate) fn spare(&self, need: u64) -> Option<Loan> {
        match &self.lender {
            Some(context) => context.take_now(need).map(|lease| Loan { _lease: Some(lease) }),
            None => Some(Loan { _lease: None }),
        }
    }

    fn refuse(&mut self, error: EngineError, need: u64, purpose: &'static str) -> BlockFault {
        self.refused = Some(error);
        out_of_memory(usize::try_from(need).unwrap_or(usize::MAX), purpose)
    }

    /// Returns why there was no memory for a block, after a fault of that kind.
    pub(crate) fn refusal(&mut self, fault: &BlockFault) -> EngineError {
        let none = NoMemory { bytes: fault.expected, purpose: "decoding a block" };
        self.refused.take().unwrap_or(EngineError::NoMemory(none))
    }

    /// Returns the Deflate context.
    pub(super) fn deflate(&mut self) -> &mut Decompressor {
        self.deflate.get_or_insert_with(Decompressor::new)
    }

    /// Returns the ZSTD context.
    pub(super) fn zstd(&mut self) -> Result<&mut DCtx<'static>, BlockFault> {
        if self.zstd.is_none() {
            self.zstd = DCtx::try_create();
        }
        self.zstd.as_mut().ok_or_else(|| out_of_memory(0, "a zstd context"))
    }

    /// Returns the tables of `inflate_literals`.
    pub(super) fn inflate(&mut self) -> &mut Tables {
        self.inflate.get_or_insert_with(Tables::boxed)
    }

    /// Returns the Deflate compressor for a level.
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

    /// Returns the ZSTD compressor.
    pub(super) fn zstd_encoder(&mut self) -> Result<&mut CCtx<'static>, BlockFault> {
        if self.zstd_encoder.is_none() {
            self.zstd_encoder = CCtx::try_create();
        }
        self.zstd_encoder.as_mut().ok_or_else(|| out_of_memory(0, "a zstd context"))
    }

    /// Returns the strings of the LZW encoder; their contents are those of the last block.
    pub(super) fn lzw_encoder(&mut self) -> &mut Strings {
        self.lzw_encoder.get_or_insert_with(Strings::boxed)
    }

    /// Returns the tables of the portable encoders; their contents are those of the last block.
    pub(super) fn matches(&mut self) -> &mut Matches {
        self.matches.get_or_insert_with(Matches::boxed)
    }

    /// Returns the LZW table; its contents are those of the last block.
    pub(super) fn lzw(&mut self) -> &mut Table {
        self.lzw.get_or_insert_with(Table::boxed)
    }
}

/// Memory that stays accounted for while a decoder uses it.
pub(crate) struct Loan {
    _lease: Option<Lease>,
}

/// Resizes `values` to `len` items: existing items keep their values, others are zeros. Returns a fault if cancelled:
/// the system takes a while to provide a gigabyte.
pub(super) fn resize<T: Copy + Default>(
    values: &mut Vec<T>,
    len: usize,
    what: &'static str,
    stop: &Stop,
) -> Result<(), BlockFault> {
    values.truncate(len);
    let no_memory = |_| out_of_memory(len.saturating_mul(size_of::<T>()), what);
    values.try_reserve_exact(len - values.len()).map_err(no_memory)?;
    while values.len() < len {
        stop.check()?;
        values.resize(len.min(values.len() + LOOKS_EVERY), T::default());
    }
    Ok(())
}

/// Returns a fault for a failed allocation.
pub(super) fn out_of_memory(bytes: usize, purpose: &'static str) -> BlockFault {
    BlockFault { kind: FaultKind::OutOfMemory, found: 0, expected: bytes as u64, detail: purpose.into() }
}

/// Grows `dst` by `more` bytes and returns them; the caller truncates what it did not use.
pub(super) fn room(dst: &mut Vec<u8>, more: u64) -> Result<&mut [u8], BlockFault> {
    let start = dst.len();
    let more = usize::try_from(more).unwrap_or(usize::MAX);
    dst.try_reserve(more).map_err(|_| out_of_memory(more, "an encoded block"))?;
    dst.resize(start.saturating_add(more), 0);
    Ok(dst.get_mut(start..).unwrap_or_default())
}

/// Returns the bytes that the stream of this block may hold, of which the block keeps `kept`. Special case *a last
/// strip holding all its rows*: some writers compress the last strip as if the image continued to its end.
pub(super) fn most_output(kept: usize, block: StoredBlock<'_>) -> usize {
    if block.layout.is_strip && block.rows < block.layout.height {
        block.layout.decoded_len(block.layout.height).map_or(kept, |full| full.max(kept))
    } else {
        kept
    }
}

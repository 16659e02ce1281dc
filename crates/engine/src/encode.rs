//! Encoding jobs and their results.
//!
//! Encoding a block: cut its pixels out of the image; pad beyond the image (the last column and the last row repeated
//! up to a multiple of 16; rows further down, and for codecs that take samples (`DecodedForm::Samples`) columns further
//! right, with the last pixel of the last row); replace NaN by the sentinel; omit the block if it is sparse; pack,
//! apply predictor and byte order; compress. The steps and their order are the same in every engine.

mod check;

use crate::{Arena, BlockAddress, BlockLayout, Fill, LocatedFault, Span};
use std::sync::Arc;

/// Which encoders produce the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encoder {
    /// The engine's fastest encoder.
    #[default]
    Fast,
    /// The encoders of `portable/spec.md`, whose bytes are the same in every engine.
    Portable,
    /// A library that may be present on the machine. `Engine::prepare` refuses layouts that the library cannot encode;
    /// there is no fallback to another encoder.
    Library {
        /// Name by which the engine knows the library.
        name: &'static str,
        /// Effort in the library's own scale; 0 if it has none.
        effort: u8,
    },
}

impl Encoder {
    /// Name and version of the portable encoders.
    pub const PORTABLE: &str = "portable-1";
}

/// Compression effort and loss. Fixed for a whole file when its writing is planned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EncodeParams {
    /// Encoder.
    pub encoder: Encoder,
    /// Effort in the codec's own numbers: Deflate 1 to 12, ZSTD 1 to 22, LZMA 0 to 9; others ignore it.
    pub level: i32,
    /// Quality of lossy JPEG, WebP and JPEG 2000: 1 to 100.
    pub quality: u8,
    /// WebP and JPEG 2000: lossless.
    pub lossless: bool,
    /// LERC: largest permitted change of a value.
    pub max_error: f64,
}

/// How blocks are encoded.
#[derive(Debug, Clone)]
pub struct EncodeLayout {
    /// Storage of the blocks; `Engine::prepare` may complete `extras.jpeg_tables`.
    pub block: Arc<BlockLayout>,
    /// Effort and loss.
    pub params: EncodeParams,
    /// Replacement for NaN samples; `None` keeps them.
    pub nan_to: Option<Fill>,
    /// A block whose samples all equal this, bit for bit after `nan_to`, is not stored; `None` stores all blocks.
    pub sparse: Option<Fill>,
}

/// One block to encode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EncodeTask {
    /// Index into `EncodeJob::layouts`.
    pub layout: u32,
    /// Index of the source pixels.
    pub pixels: u32,
    /// Address of the block.
    pub address: BlockAddress,
    /// Rows stored in the block: `BlockLayout::height`, or fewer in a last strip.
    pub rows: u32,
    /// First column of the block in the pixels.
    pub x: u32,
    /// First row of the block in the pixels.
    pub y: u32,
    /// Columns of the block that have pixels, at least 1.
    pub width: u32,
    /// Rows of the block that have pixels, at least 1 and at most `rows`.
    pub height: u32,
    /// First band; the block takes `BlockLayout::samples` bands.
    pub first_band: u32,
}

/// Blocks to encode.
#[derive(Debug, Clone)]
pub struct EncodeJob {
    /// Layouts.
    pub layouts: Vec<EncodeLayout>,
    /// Blocks, in the order of the results.
    pub tasks: Vec<EncodeTask>,
}

/// One encoded block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EncodedBlock {
    /// Index of its layout in the job.
    pub layout: u32,
    /// Address of the block.
    pub address: BlockAddress,
    /// Byte range in `EncodedBlocks::slab`; `None` for a sparse block.
    pub span: Option<Span>,
}

/// Result of an encoding job: one slab with all bytes, in task order.
#[derive(Debug, Default)]
pub struct EncodedBlocks {
    /// Bytes of all blocks, one after the other, in host memory.
    pub slab: Arena,
    /// One block per task, in order.
    pub blocks: Vec<EncodedBlock>,
    /// Blocks that could not be encoded, in order; these have no span.
    pub faults: Vec<LocatedFault>,
}

impl EncodedBlocks {
    /// Returns the bytes of a block; empty for a sparse block.
    pub fn bytes(&self, block: &EncodedBlock) -> &[u8] {
        let range = block.span.and_then(|span| {
            let start = usize::try_from(span.offset).ok()?;
            Some(start..start.checked_add(usize::try_from(span.len).ok()?)?)
        });
        range.and_then(|range| self.slab.bytes().get(range)).unwrap_or_default()
    }
}

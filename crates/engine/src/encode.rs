//! What is to be encoded, and what comes of it: plain data.
//!
//! Encoding a block: cut its pixels out of the image; fill what reaches beyond it (the last column and the last
//! row repeated up to a multiple of 16; rows further down, and for codecs that take samples
//! (`DecodedForm::Samples`) columns further right, all the last pixel of the last row); NaN to the sentinel; leave the block out where it is sparse; pack, predictor, byte
//! order; compress. The steps and their order are the same on every engine.

mod check;

use crate::{Arena, BlockAddress, BlockLayout, Fill, LocatedFault, Span};
use std::sync::Arc;

/// Which encoders make the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encoder {
    /// The fastest that the engine has.
    #[default]
    Fast,
    /// Those of `portable/spec.md`, whose bytes do not tell which engine made them.
    Portable,
    /// A library that the engine may find on its machine. `Engine::prepare` refuses layouts that the library cannot encode;
    /// no other encoder takes its place.
    Library {
        /// The name that the engine knows it by.
        name: &'static str,
        /// The library's own measure of effort; 0 where it has none.
        effort: u8,
    },
}

impl Encoder {
    /// Name and version of the portable encoders.
    pub const PORTABLE: &str = "portable-1";
}

/// How hard and how exactly to compress. Fixed for a whole file when its writing is planned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EncodeParams {
    /// Whose bytes.
    pub encoder: Encoder,
    /// Effort, in the numbers of the codec: Deflate 1 to 12, ZSTD 1 to 22, LZMA 0 to 9; others ignore it.
    pub level: i32,
    /// JPEG, WebP and JPEG 2000: 1 to 100, where they lose.
    pub quality: u8,
    /// WebP and JPEG 2000: keep every bit.
    pub lossless: bool,
    /// LERC: the most a value may change by.
    pub max_error: f64,
}

/// How blocks are encoded.
#[derive(Debug, Clone)]
pub struct EncodeLayout {
    /// How they are stored; `Engine::prepare` may complete `extras.jpeg_tables`.
    pub block: Arc<BlockLayout>,
    /// How hard and how exactly.
    pub params: EncodeParams,
    /// What NaN samples become; `None` keeps them.
    pub nan_to: Option<Fill>,
    /// A block whose samples all equal this, bit for bit after `nan_to`, is not stored; `None` stores all.
    pub sparse: Option<Fill>,
}

/// One block to encode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EncodeTask {
    /// Index into `EncodeJob::layouts`.
    pub layout: u32,
    /// Index of the pixels it is cut from.
    pub pixels: u32,
    /// Which block it is.
    pub address: BlockAddress,
    /// Rows stored in the block: `BlockLayout::height`, or fewer in a last strip.
    pub rows: u32,
    /// Column of the pixels where the block begins.
    pub x: u32,
    /// Row of the pixels where it begins.
    pub y: u32,
    /// Columns of the block that have pixels, at least 1.
    pub width: u32,
    /// Rows of the block that have pixels, at least 1 and at most `rows`.
    pub height: u32,
    /// First band; the block takes `BlockLayout::samples` of them.
    pub first_band: u32,
}

/// Blocks to encode.
#[derive(Debug, Clone)]
pub struct EncodeJob {
    /// The layouts.
    pub layouts: Vec<EncodeLayout>,
    /// The blocks, in the order in which they come back.
    pub tasks: Vec<EncodeTask>,
}

/// One encoded block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EncodedBlock {
    /// Index of its layout in the job.
    pub layout: u32,
    /// Which block it is.
    pub address: BlockAddress,
    /// Its bytes in `EncodedBlocks::slab`; `None` for a sparse block.
    pub span: Option<Span>,
}

/// What a job gives: one slab with all bytes, in the order of its tasks.
#[derive(Debug, Default)]
pub struct EncodedBlocks {
    /// The bytes of all blocks, one after the other, in host memory.
    pub slab: Arena,
    /// One for each task, in order.
    pub blocks: Vec<EncodedBlock>,
    /// Blocks that could not be encoded, in order; they have no span.
    pub faults: Vec<LocatedFault>,
}

impl EncodedBlocks {
    /// The bytes of a block; none of a sparse one.
    pub fn bytes(&self, block: &EncodedBlock) -> &[u8] {
        let range = block.span.and_then(|span| {
            let start = usize::try_from(span.offset).ok()?;
            Some(start..start.checked_add(usize::try_from(span.len).ok()?)?)
        });
        range.and_then(|range| self.slab.bytes().get(range)).unwrap_or_default()
    }
}

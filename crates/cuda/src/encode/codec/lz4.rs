//! LZ4: the matches of Deflate, then the sequences and the size of each part of a block, the offsets of the parts, and
//! their bytes.

use super::matches::{self, CHAINS, CHOOSE, PART, SEARCH};
use super::{Codec, Effort, Pass};
use strile_engine::portable;

/// Magic number, descriptors, content size and their checksum; the size of each of LZ4's blocks; the end mark.
const FRAME_HEADER: u64 = 15;
const BLOCK_HEADER: u64 = 4;
const END_MARK: u64 = 4;

const COUNT: Pass = Pass { module: "lz4_encode", entry: "lz4_count", threads: 1024, part: PART };
const LAYOUT: Pass = Pass { module: "lz4_encode", entry: "lz4_layout", threads: 256, part: 0 };
const WRITE: Pass = Pass { module: "lz4_encode", entry: "lz4_write", threads: 1024, part: PART };

const PASSES: &[Pass] = &[CHAINS, SEARCH, CHOOSE, COUNT, LAYOUT, WRITE];

/// The encoder.
pub(super) const LZ4: Codec = Codec {
    passes: |_| PASSES,
    bound: |len, _| FRAME_HEADER + u64::from(len) + BLOCK_HEADER * u64::from(len.div_ceil(PART)) + END_MARK,
    // Scratch of the matches, then the offset of each part and of the end, and one bit per byte.
    scratch: |len| {
        matches::scratch(len) + 4 * (u64::from(len.div_ceil(PART)) + 1) + 4 * u64::from(len.div_ceil(32))
    },
    zero_slab: false,
    effort: |_| {
        let portable::Effort { depth, nice, lazy } = portable::lz4_effort();
        Effort { depth, nice, lazy }
    },
};

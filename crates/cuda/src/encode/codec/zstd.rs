//! ZSTD: the matches of Deflate, then the tables and the size of each part of a block, and its bytes.

use super::matches::{self, CHAINS, CHOOSE, PART, RUNS, SEARCH};
use super::{Codec, Effort, Pass};
use strile_engine::portable;

/// `ZstdPart` of `zstd_encode_part.cuh`.
const PART_BYTES: u64 = 1008;
/// Magic number, descriptors and content size; then the header of each ZSTD block.
const FRAME_HEADER: u64 = 10;
const BLOCK_HEADER: u64 = 3;

const COUNT: Pass = Pass { module: "zstd_encode", entry: "zstd_count", threads: 256, part: PART };
const EMIT: Pass = Pass { module: "zstd_encode", entry: "zstd_emit", threads: 256, part: PART };

const WITH_SEARCH: &[Pass] = &[CHAINS, SEARCH, CHOOSE, COUNT, EMIT];
const WITH_RUNS: &[Pass] = &[RUNS, CHOOSE, COUNT, EMIT];

/// The encoder.
pub(super) const ZSTD: Codec = Codec {
    passes: |effort| if effort.depth == 0 { WITH_RUNS } else { WITH_SEARCH },
    bound: |len, _| FRAME_HEADER + u64::from(len) + BLOCK_HEADER * u64::from(len.div_ceil(PART)),
    scratch,
    zero_slab: false,
    effort,
};

/// Returns the scratch: that of the matches, then the size and state of each part.
fn scratch(len: u32) -> u64 {
    let parts = u64::from(len.div_ceil(PART));
    matches::scratch(len) + (4 * parts).next_multiple_of(16) + parts * PART_BYTES
}

fn effort(level: i32) -> Effort {
    let portable::Effort { depth, nice, lazy } = portable::zstd_effort(level);
    Effort { depth, nice, lazy }
}

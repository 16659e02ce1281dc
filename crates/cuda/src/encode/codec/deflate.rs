//! Deflate: finds matches, then the code of each part of a block, the offsets of the parts, and their bits.

use super::matches::{self, CHAINS, CHOOSE, PART, RUNS, SEARCH};
use super::{Codec, Effort, Pass};
use strile_engine::portable;

/// `DeflateHead` and `DeflatePart` of `deflate_part.cuh`.
const HEAD_BYTES: u64 = 16;
const PART_BYTES: u64 = 1616;

const COUNT: Pass = Pass { module: "deflate_encode", entry: "deflate_count", threads: 256, part: PART };
const LAYOUT: Pass = Pass { module: "deflate_encode", entry: "deflate_layout", threads: 32, part: 0 };
const EMIT: Pass = Pass { module: "deflate_encode", entry: "deflate_emit", threads: 256, part: PART };

const WITH_SEARCH: &[Pass] = &[CHAINS, SEARCH, CHOOSE, COUNT, LAYOUT, EMIT];
const WITH_RUNS: &[Pass] = &[RUNS, CHOOSE, COUNT, LAYOUT, EMIT];

/// The encoder.
pub(super) const DEFLATE: Codec = Codec {
    passes: |effort| if effort.depth == 0 { WITH_RUNS } else { WITH_SEARCH },
    bound,
    scratch: |len| matches::scratch(len) + HEAD_BYTES + u64::from(len.div_ceil(PART)) * PART_BYTES,
    zero_slab: true,
    effort,
};

/// Returns the size with all parts stored: 3 bits, up to 7 to the next byte and 4 bytes before each, 2 bytes before the
/// stream and 4 behind.
fn bound(len: u32, _: u32) -> u64 {
    u64::from(len) + u64::from(len.div_ceil(PART)) * 6 + 2 + 4
}

fn effort(level: i32) -> Effort {
    let portable::Effort { depth, nice, lazy } = portable::deflate_effort(level);
    Effort { depth, nice, lazy }
}

//! LZW: codes of every segment, one warp each, then bits before each segment, then words of the stream.

use super::{Codec, Effort, Pass};

/// Bytes of a segment, and codes between two Clears; counterparts of `lzw_items.cuh`.
const SEGMENT: u32 = 16_384;
const GROUP: u64 = 3836;

const PASSES: &[Pass] = &[
    Pass { module: "lzw_encode", entry: "lzw_parse", threads: 32, part: SEGMENT },
    Pass { module: "lzw_encode", entry: "lzw_layout", threads: 256, part: 0 },
    Pass { module: "lzw_encode", entry: "lzw_emit", threads: 256, part: SEGMENT },
];

pub(super) const LZW: Codec = Codec {
    passes: |_| PASSES,
    // No byte takes more than one 12-bit code; plus the first Clear and one after every group and every segment.
    bound: |len, _| {
        let len = u64::from(len);
        ((len + len / GROUP + len.div_ceil(u64::from(SEGMENT)) + 1) * 12).div_ceil(8)
    },
    // Bits and number of codes per segment, and the codes.
    scratch: |len| {
        let segments = u64::from(len.div_ceil(SEGMENT));
        8 * (segments + 1) + 4 * segments + 2 * u64::from(len)
    },
    zero_slab: false,
    effort: |_| Effort { depth: 0, nice: 0, lazy: false },
};

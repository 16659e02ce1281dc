//! PackBits: tokens of the rows of a part, offsets of the parts, bytes.

use super::{Codec, Effort, Pass};

/// Bytes of a part, and the longest token; counterparts of `packbits_tokens.cuh`.
const PART: u32 = 16_384;
const MOST: u32 = 128;

const PASSES: &[Pass] = &[
    Pass { module: "packbits_encode", entry: "packbits_mark", threads: 256, part: PART },
    Pass { module: "packbits_encode", entry: "packbits_layout", threads: 256, part: 0 },
    Pass { module: "packbits_encode", entry: "packbits_emit", threads: 256, part: PART },
];

pub(super) const PACKBITS: Codec = Codec {
    passes: |_| PASSES,
    bound: |len, row_len| {
        let row = row_len.max(1);
        let last = len % row;
        u64::from(len) + u64::from(len / row) * u64::from(row.div_ceil(MOST)) + u64::from(last.div_ceil(MOST))
    },
    // One offset per part, and three bits per byte, each part aligned to whole words.
    scratch: |len| {
        let parts = u64::from(len.div_ceil(PART));
        4 * (parts + 1) + 12 * (u64::from(len / 32) + parts + 1)
    },
    zero_slab: false,
    effort: |_| Effort { depth: 0, nice: 0, lazy: false },
};

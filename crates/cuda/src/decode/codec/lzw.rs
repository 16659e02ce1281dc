//! LZW: one CUDA block per image block, which decodes its segments one after the other.

use super::{Kernel, Pass};

pub(super) const LZW: Kernel = Kernel {
    module: "lzw",
    passes: &[Pass { entry: "lzw_decode", threads: 256, grid: |count, _| count }],
    scratch: |_, _| 0,
};

//! PackBits: one CUDA block per image block, which goes through its input window by window.

use super::{Kernel, Pass};

pub(super) const PACKBITS: Kernel = Kernel {
    module: "packbits",
    passes: &[Pass { entry: "packbits_decode", threads: 256, grid: |count, _| count }],
    scratch: |_, _| 0,
};

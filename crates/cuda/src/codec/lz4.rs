//! LZ4: a CUDA block a block of the image, windows of its input one after the other.

use super::{Kernel, Pass};

pub(super) const LZ4: Kernel = Kernel {
    module: "lz4",
    passes: &[Pass { entry: "lz4_128", threads: 128, grid: |count, _| count }],
    scratch: |_, _| 0,
};

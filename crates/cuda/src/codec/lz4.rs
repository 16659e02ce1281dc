//! LZ4: a warp a block of the image.

use super::{Kernel, Pass};

pub(super) const LZ4: Kernel = Kernel {
    module: "lz4",
    passes: &[Pass { entry: "lz4", threads: 32, grid: |count, _| count }],
    scratch: |_, _| 0,
};

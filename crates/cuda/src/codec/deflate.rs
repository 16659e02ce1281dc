//! Deflate: a CUDA block of two warps a block of the image, one decoding, one copying.

use super::{Kernel, Pass};

pub(super) const DEFLATE: Kernel = Kernel {
    module: "deflate",
    passes: &[Pass { entry: "deflate_decode", threads: 64, grid: |count, _| count }],
    scratch: |_, _| 0,
};

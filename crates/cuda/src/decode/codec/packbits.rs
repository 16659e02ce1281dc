//! PackBits: a CUDA block a block of the image, windows of its input one after the other.

use super::{Kernel, Pass};

pub(super) const PACKBITS: Kernel = Kernel {
    module: "packbits",
    passes: &[Pass { entry: "packbits_decode", threads: 256, grid: |count, _| count }],
    scratch: |_, _| 0,
};

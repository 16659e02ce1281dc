//! ZSTD: literals and sequences of all its blocks at once into scratch, then the output from them.

use super::{Kernel, Pass};

pub(super) const ZSTD: Kernel = Kernel {
    module: "zstd",
    passes: &[
        Pass { entry: "zstd_entropy", threads: 128, grid: |count, _| count },
        Pass { entry: "zstd_execute", threads: 32, grid: |count, _| count },
    ],
    scratch,
};

/// As `zstd_format.cuh` lays it out: a head, entries of blocks with what their alignment loses, and 8/3 of the output,
/// because a sequence takes 8 bytes and makes 3 at least. The last bytes let words be read beyond literals.
fn scratch(_src_len: u32, dst_len: u32) -> u64 {
    let blocks = u64::from(dst_len) / 768 + 16;
    64 + blocks * (96 + 16) + (u64::from(dst_len) * 8).div_ceil(3) + 16
}

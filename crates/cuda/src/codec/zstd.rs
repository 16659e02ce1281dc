//! ZSTD: its blocks found, literals and sequences of all of them at once into scratch, then the output from them.

use super::{Kernel, Pass};

pub(super) const ZSTD: Kernel = Kernel {
    module: "zstd",
    passes: &[
        Pass { entry: "zstd_scan", threads: 32, grid: |count, _| count },
        Pass { entry: "zstd_entropy", threads: 64, grid: entropy_grid },
        Pass { entry: "zstd_execute", threads: 128, grid: |count, _| count },
    ],
    scratch,
};

/// Two warps for a block of the image, more where blocks are too few for the device: up to eight times as many, which
/// is enough for every ZSTD block of 1 MiB.
fn entropy_grid(count: u32, multiprocessors: u32) -> u32 {
    const RESIDENT: u32 = 16;
    let times = multiprocessors.saturating_mul(RESIDENT) / count.max(1);
    count.saturating_mul(times.clamp(1, 8))
}

/// As `zstd_format.cuh` lays it out: a head, entries of blocks with what their alignment loses, and 8/3 of the output,
/// because a sequence takes 8 bytes and makes 3 at least. The last bytes let words be read beyond literals.
fn scratch(_src_len: u32, dst_len: u32) -> u64 {
    let blocks = u64::from(dst_len) / 768 + 16;
    64 + blocks * (96 + 16) + (u64::from(dst_len) * 8).div_ceil(3) + 16
}

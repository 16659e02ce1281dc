//! ZSTD: its blocks found, literals and sequences of all of them at once into scratch, then the output from them.

use super::{Kernel, Pass};

pub(super) const ZSTD: Kernel = Kernel {
    module: "zstd",
    passes: &[
        Pass { entry: "zstd_scan", threads: 32, grid: |count, _| count },
        Pass { entry: "zstd_entropy", threads: 64, grid: entropy_grid },
        Pass { entry: "zstd_execute", threads: 128, grid: |count, _| count },
        Pass { entry: "zstd_execute_alone", threads: 32, grid: |count, _| count },
    ],
    scratch,
};

/// Two warps for a block of the image, more where blocks are too few for the device: up to eight times as many, which
/// is enough for every ZSTD block of 1 MiB.
pub(super) fn entropy_grid(count: u32, multiprocessors: u32) -> u32 {
    const RESIDENT: u32 = 16;
    let times = multiprocessors.saturating_mul(RESIDENT) / count.max(1);
    count.saturating_mul(times.clamp(1, 8))
}

/// As `zstd_format.cuh` lays it out: a head, entries of blocks with what their alignment loses, and room for literals
/// and sequences: a byte each and 8 bytes each, no more than one for 4 bytes of output and one for 4 bits of input. The
/// last bytes let words be read beyond literals.
pub(super) fn scratch(src_len: u32, dst_len: u32) -> u64 {
    let (src, dst) = (u64::from(src_len), u64::from(dst_len));
    64 + (dst / 2048 + 32) * (96 + 16) + (dst * 9).div_ceil(4).min(dst + src * 16) + 16
}

//! ZSTD: finds its blocks, decodes the literals and sequences of all of them in parallel into scratch, then writes the
//! output.

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

/// Returns the grid: two warps per image block, more if there are too few blocks for the device: up to eight times as
/// many, which is enough for every ZSTD block of 1 MiB.
pub(super) fn entropy_grid(count: u32, multiprocessors: u32) -> u32 {
    const RESIDENT: u32 = 16;
    let times = multiprocessors.saturating_mul(RESIDENT) / count.max(1);
    count.saturating_mul(times.clamp(1, 8))
}

/// Returns the scratch layout size of `zstd_format.cuh`: a head, block entries with alignment loss, and room for
/// literals and sequences of 1 and 8 bytes each, at most one sequence per 4 bytes of output and per 4 bits of input.
/// The last bytes allow word reads beyond literals.
pub(super) fn scratch(src_len: u32, dst_len: u32) -> u64 {
    let (src, dst) = (u64::from(src_len), u64::from(dst_len));
    64 + (dst / 2048 + 32) * (96 + 16) + (dst * 9).div_ceil(4).min(dst + src * 16) + 16
}

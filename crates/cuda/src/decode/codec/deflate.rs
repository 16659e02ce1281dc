//! Deflate: a CUDA block of two warps a block of the image, of four where there are few blocks; several CUDA blocks for
//! each where those would leave most of the device idle.

use super::{Kernel, Pass};

pub(super) const DEFLATE: Kernel = Kernel {
    module: "deflate",
    passes: &[
        Pass { entry: "deflate_decode", threads: 64, grid: |count, sms| only(2, count, sms) },
        Pass { entry: "deflate_decode_wide", threads: 128, grid: |count, sms| only(4, count, sms) },
    ],
    scratch: |_, _| 0,
};

/// One stream by several CUDA blocks: segments of it found, measured, chained and decoded at once.
pub(super) const SPLIT: Kernel = Kernel {
    module: "deflate_split",
    passes: &[
        Pass { entry: "deflate_find", threads: 128, grid: several },
        Pass { entry: "deflate_measure", threads: 64, grid: several },
        Pass { entry: "deflate_measure_wide", threads: 128, grid: several },
        Pass { entry: "deflate_chain", threads: 32, grid: |count, _| count },
        Pass { entry: "deflate_segments", threads: 64, grid: several },
        Pass { entry: "deflate_segments_wide", threads: 128, grid: several },
        RESOLVE,
        RESOLVE,
        RESOLVE,
        RESOLVE,
        RESOLVE,
        RESOLVE,
        RESOLVE,
        RESOLVE,
        Pass { entry: "deflate_finish", threads: 128, grid: |count, _| count },
    ],
    scratch: split_scratch,
};

/// As often as `deflate_resolve.cuh` counts.
const RESOLVE: Pass = Pass { entry: "deflate_resolve", threads: 256, grid: several };

/// Up to how many blocks a multiprocessor there are so many warps each. GB/s of output on an H200 with two and four
/// warps: 2 blocks a multiprocessor (512 x 512) 41 and 57 (DEM), 30 and 52 (16-bit), 51 and 84 (RGB); 8 (256 x 256) 140
/// and 118 (DEM), 155 and 109 (land cover). Four warps have memory for four blocks at a time, two for eight.
const SHAPES: [(u32, u32); 2] = [(4, 4), (u32::MAX, 2)];

/// A CUDA block for each block where these warps are the ones for so many, otherwise none.
pub(super) fn only(warps: u32, count: u32, multiprocessors: u32) -> u32 {
    let each = count.div_ceil(multiprocessors.max(1));
    let chosen = SHAPES.iter().find(|&&(most, _)| each <= most);
    if chosen.is_some_and(|&(_, its)| its == warps) { count } else { 0 }
}

/// As many CUDA blocks for each stream as fill the device twice: those that come late take what is left. Kernels take a
/// quarter of them for what has room at once with four warps each.
fn several(count: u32, multiprocessors: u32) -> u32 {
    const RESIDENT: u32 = 16;
    let times = multiprocessors.saturating_mul(RESIDENT) / count.max(1);
    count.saturating_mul(times.max(1))
}

/// As `deflate_split.cuh` lays it out: a head, a segment for each chunk and one more, tiles, and four bytes for each byte
/// of output.
fn split_scratch(src_len: u32, dst_len: u32) -> u64 {
    let (src, dst) = (u64::from(src_len), u64::from(dst_len));
    let chunk = (src / 256).next_power_of_two().clamp(256, 8192);
    64 + 32 * ((src + 15).div_ceil(chunk) + 1) + 16 * dst.div_ceil(8192) + 4 * dst.next_multiple_of(4)
}

/// Bytes of output that the device decodes by split streams in the time of their launches.
const LAUNCHES: u64 = 4 << 20;

/// Whether a stream of so many decoded bytes is split, in a job of `total` of them: where one CUDA block would take longer
/// for it than the whole device for all of them, split. A CUDA block decodes some 0.22 GB/s on an H200; split streams
/// came to as much for each multiprocessor.
pub(super) fn is_split(dst_len: u64, total: u64, multiprocessors: u32) -> bool {
    dst_len.saturating_mul(multiprocessors.into()) > total.saturating_add(LAUNCHES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_count_is_launched_once() {
        for count in [1, 132, 133, 528, 529, 1056, 100_000, u32::MAX] {
            let grids = DEFLATE.passes.iter().map(|pass| (pass.grid)(count, 132));
            assert_eq!(grids.filter(|&grid| grid != 0).collect::<Vec<_>>(), [count]);
        }
    }

    #[test]
    fn split_streams_have_whole_turns() {
        for (count, sms) in [(1, 132), (3, 132), (64, 132), (5000, 132), (1, 1), (40, 1)] {
            for pass in SPLIT.passes {
                let grid = (pass.grid)(count, sms);
                assert!(grid >= count && grid.is_multiple_of(count), "{} of {count}: {grid}", pass.entry);
            }
        }
    }

    #[test]
    fn few_and_large_streams_are_split() {
        let split = |count: u64, dst_len: u64| is_split(dst_len, count * dst_len, 132);
        assert!(split(1, 64 << 20) && split(64, 5 << 20) && split(1, 128 << 10) && split(16, 256 << 10));
        assert!(
            !split(1024, 256 << 10) && !split(256, 1 << 20) && !split(1, 16 << 10) && !split(4096, 65536)
        );
        assert!(!split(500, 5 << 20));
    }

    #[test]
    fn scratch_grows_with_both_sizes() {
        assert_eq!(split_scratch(7, 1), 64 + 32 * 2 + 16 + 16);
        assert_eq!(split_scratch(1 << 20, 4 << 20), 64 + 32 * 258 + 16 * 512 + (16 << 20));
        assert!(split_scratch(u32::MAX, u32::MAX) > 4 * u64::from(u32::MAX));
    }
}

//! Deflate: one CUDA block of two warps per image block, of four warps if there are few blocks; several CUDA blocks per
//! image block if most of the device would be idle otherwise.

use super::{Kernel, Pass};

pub(super) const DEFLATE: Kernel = Kernel {
    module: "deflate",
    passes: &[
        Pass { entry: "deflate_decode", threads: 64, grid: |count, sms| only(2, count, sms) },
        Pass { entry: "deflate_decode_wide", threads: 128, grid: |count, sms| only(4, count, sms) },
    ],
    scratch: |_, _| 0,
};

/// Decodes one stream with several CUDA blocks: finds segments, measures, chains and decodes them in parallel.
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

/// Repeated as often as `deflate_resolve.cuh` counts.
const RESOLVE: Pass = Pass { entry: "deflate_resolve", threads: 256, grid: several };

/// Warps per CUDA block, by the largest number of image blocks per multiprocessor. GB/s of output on an H200 with two
/// and four warps: 2 blocks per multiprocessor (512 x 512) 41 and 57 (DEM), 30 and 52 (16-bit), 51 and 84 (RGB); 8 (256
/// x 256) 140 and 118 (DEM), 155 and 109 (land cover). Memory suffices for four blocks at a time with four warps, for
/// eight with two.
const SHAPES: [(u32, u32); 2] = [(4, 4), (u32::MAX, 2)];

/// Returns one CUDA block per image block if this number of warps is chosen for the count, else 0.
pub(super) fn only(warps: u32, count: u32, multiprocessors: u32) -> u32 {
    let each = count.div_ceil(multiprocessors.max(1));
    let chosen = SHAPES.iter().find(|&&(most, _)| each <= most);
    if chosen.is_some_and(|&(_, its)| its == warps) { count } else { 0 }
}

/// Returns enough CUDA blocks per stream to fill the device twice: late ones take the remaining work. Kernels assume a
/// quarter of them to be resident with four warps each.
fn several(count: u32, multiprocessors: u32) -> u32 {
    const RESIDENT: u32 = 16;
    let times = multiprocessors.saturating_mul(RESIDENT) / count.max(1);
    count.saturating_mul(times.max(1))
}

/// Returns the scratch layout size of `deflate_split.cuh`: a head, one segment per chunk and one more, tiles, and four
/// bytes per byte of output.
fn split_scratch(src_len: u32, dst_len: u32) -> u64 {
    let (src, dst) = (u64::from(src_len), u64::from(dst_len));
    let chunk = (src / 256).next_power_of_two().clamp(256, 8192);
    64 + 32 * ((src + 15).div_ceil(chunk) + 1) + 16 * dst.div_ceil(8192) + 4 * dst.next_multiple_of(4)
}

/// Bytes of output that the device decodes from split streams in the time of their launches.
const LAUNCHES: u64 = 4 << 20;

/// Returns whether a stream of `dst_len` decoded bytes is split, in a job of `total` bytes: if one CUDA block would
/// take longer for it than the whole device for all split streams. A CUDA block decodes about 0.22 GB/s on an H200;
/// split streams reached the same rate per multiprocessor.
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

//! Deflate: a CUDA block of two warps a block of the image, of four where there are few blocks.

use super::{Kernel, Pass};

pub(super) const DEFLATE: Kernel = Kernel {
    module: "deflate",
    passes: &[
        Pass { entry: "deflate_decode", threads: 64, grid: |count, sms| only(2, count, sms) },
        Pass { entry: "deflate_decode_wide", threads: 128, grid: |count, sms| only(4, count, sms) },
    ],
    scratch: |_, _| 0,
};

/// Up to how many blocks a multiprocessor there are so many warps each. GB/s of output on an H200 with two and four
/// warps: 2 blocks a multiprocessor (512 x 512) 41 and 57 (DEM), 30 and 52 (16-bit), 51 and 84 (RGB); 8 (256 x 256) 140
/// and 118 (DEM), 155 and 109 (land cover). Four warps have memory for four blocks at a time, two for eight.
const SHAPES: [(u32, u32); 2] = [(4, 4), (u32::MAX, 2)];

/// A CUDA block for each block where these warps are the ones for so many, otherwise none.
fn only(warps: u32, count: u32, multiprocessors: u32) -> u32 {
    let each = count.div_ceil(multiprocessors.max(1));
    let chosen = SHAPES.iter().find(|&&(most, _)| each <= most);
    if chosen.is_some_and(|&(_, its)| its == warps) { count } else { 0 }
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
}

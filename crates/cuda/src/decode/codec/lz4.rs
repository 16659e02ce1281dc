//! LZ4: one CUDA block of 128, 256 or 512 threads per image block, which goes through its input window by window.

use super::{Kernel, Pass};

pub(super) const LZ4: Kernel = Kernel {
    module: "lz4",
    passes: &[
        Pass { entry: "lz4_128", threads: 128, grid: |count, sms| only(128, count, sms) },
        Pass { entry: "lz4_256", threads: 256, grid: |count, sms| only(256, count, sms) },
        Pass { entry: "lz4_512", threads: 512, grid: |count, sms| only(512, count, sms) },
    ],
    scratch: |_, _| 0,
};

/// Returns one CUDA block per image block if this number of threads is chosen for the count, else 0.
fn only(threads: u32, count: u32, multiprocessors: u32) -> u32 {
    if threads_for(count, multiprocessors) == threads { count } else { 0 }
}

/// Returns the threads for a number of blocks per multiprocessor. GB/s of output of one launch on an H200, with 128 /
/// 256 / 512 threads:
/// - 0.5 per multiprocessor (DEM, 64 tiles of 512²): 21 / 36 / **43**;
/// - 1.9 (256 tiles of 512²): DEM 76 / 123 / **121**, 16-bit – / 164 / **201**, RGB – / 103 / **124**;
/// - 7.8 (1024 tiles of 256²): DEM 160 / **164** / 129, land cover of 512² 257 / **260** / 226;
/// - 31 (4096 tiles of 256²): land cover **299** / 282 / 226.
fn threads_for(count: u32, multiprocessors: u32) -> u32 {
    match count.div_ceil(multiprocessors.max(1)) {
        0..=2 => 512,
        3..=15 => 256,
        _ => 128,
    }
}

//! The CPU engine: codecs, predictors, placement.
//!
//! `engine` runs jobs on the threads of `pool`, which divide the blocks by `shares`. `block` turns the bytes of one
//! block into pixels: `codec` decompresses; then, row by row while the row is in the L1 cache, `predict` undoes the
//! predictor, `samples` (or `ycbcr`) unpacks samples, `cast` converts them to floats if the output converts, and
//! `place` writes them to the output with the loops of `simd`, and searches them for a value with those of `search`.
//!
//! Other modules: `crew` provides helper threads for a large block, `resample` resizes windows, `mask` applies masks,
//! `blend` blends mosaic layers, `warp` resamples windows onto a grid, `finish` changes samples and transposes or flips
//! images, `find` searches finished pixels for a value, `replace` replaces it, and `count` counts values in callers'
//! arrays.
//!
//! `unsafe` is used only in files that expect the lint `unsafe_code`: files that write to shared outputs or read
//! callers' arrays, and SIMD loops.

mod assemble;
mod blend;
mod block;
mod cast;
pub mod codec;
mod count;
mod crew;
mod encode;
mod engine;
mod find;
mod finish;
mod mask;
mod place;
mod plan;
mod pool;
mod predict;
mod reduce;
mod replace;
mod resample;
mod samples;
mod search;
mod shares;
mod simd;
mod split;
mod stop;
mod warp;
mod ycbcr;

pub use assemble::put;
pub use count::{Strided, count};
pub use engine::CpuEngine;
pub use pool::{kept_bytes, together};

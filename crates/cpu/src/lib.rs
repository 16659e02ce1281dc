//! The CPU engine: codecs, predictors, placement.
//!
//! `engine` takes jobs and runs them on the threads of `pool`, which have `shares` of the blocks; `block` turns the bytes of one block into
//! pixels: `codec` decompresses, then row by row, while the row is in the first cache, `predict` undoes the
//! predictor, `samples` (or `ycbcr`) makes samples of bits, `cast` makes floats of them where the output
//! converts, and `place` writes them where they belong, with the loops of `simd`, and looks for a value among them with those of `search`. `crew` has threads for a block that is
//! large, `resample` makes windows another size, `mask` leaves pixels out, `blend` lays layers of mosaics, `warp` puts windows onto a grid, `finish` changes samples and turns images, `find` looks for a value in finished pixels, and `replace` gives it another; `count` counts values in arrays of callers. `place`, `resample`, `mask`, `blend`, `finish`, `find`, `count`, `replace`, `warp/store`, `simd` and the decoder of JPEG 2000 code-blocks are the only files with `unsafe`.

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

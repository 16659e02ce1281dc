//! The encoders on the device: one file per codec, all of them listed in one `match`.
//!
//! A codec is a list of passes. Every pass is one launch over all blocks of a batch, with the same `EncodeArgs`; the
//! last one writes sizes and `DONE`. `portable/spec.md` defines the bytes.

mod deflate;
mod lz4;
mod lzw;
mod matches;
mod packbits;
mod zstd;

use strile_tiff::Compression as C;

/// Effort of the search for matches, as in `portable/spec.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Effort {
    /// Candidates per position; 0 finds only runs.
    pub depth: u32,
    /// Length of a match that ends a search.
    pub nice: u32,
    /// Whether a match is dropped for a longer one at the next position.
    pub lazy: bool,
}

/// One launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pass {
    /// Name of the `.cu` file without its extension.
    pub module: &'static str,
    /// Entry point.
    pub entry: &'static str,
    /// Threads per CUDA block, as in the kernel.
    pub threads: u32,
    /// Packed bytes of a block per CUDA block; the grid then has as many rows as the longest block has such parts. 0 if
    /// one CUDA block works on a whole block.
    pub part: u32,
}

/// Description of a codec.
#[derive(Debug, Clone, Copy)]
pub struct Codec {
    /// Launches in order.
    pub passes: fn(Effort) -> &'static [Pass],
    /// Returns the maximum encoded size of `len` packed bytes in rows of `row_len`.
    pub bound: fn(len: u32, row_len: u32) -> u64,
    /// Returns the scratch bytes of a block of `len` packed bytes; the caller rounds up to 256.
    pub scratch: fn(len: u32) -> u64,
    /// Whether the slab must be zero before the first pass.
    pub zero_slab: bool,
    /// Returns the effort of a level.
    pub effort: fn(level: i32) -> Effort,
}

/// Returns the encoder of a codec; `None` if there is none here. Uncompressed blocks need none.
pub fn codec(compression: C) -> Option<&'static Codec> {
    match compression {
        C::PackBits => Some(&packbits::PACKBITS),
        C::Lzw => Some(&lzw::LZW),
        C::Deflate => Some(&deflate::DEFLATE),
        C::Zstd => Some(&zstd::ZSTD),
        C::Lz4 => Some(&lz4::LZ4),
        C::None
        | C::Lzma
        | C::CcittRle
        | C::CcittRleWord
        | C::CcittGroup3
        | C::CcittGroup4
        | C::Next
        | C::ThunderScan
        | C::OldJpeg
        | C::Jpeg
        | C::SgiLog
        | C::SgiLog24
        | C::Jpeg2000
        | C::Jpeg2000YCbCr
        | C::Jpeg2000Rgb
        | C::Lerc
        | C::Png
        | C::JpegXr
        | C::WebP
        | C::JpegXl => None,
    }
}

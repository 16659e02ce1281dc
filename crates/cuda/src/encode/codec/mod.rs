//! The encoders on the device: one file a codec, the closed set of them one `match`.
//!
//! A codec is a list of passes. Every pass is one launch over all blocks of a batch, with the same `EncodeArgs`; the last
//! one writes sizes and `DONE`. Bytes are those of `portable/spec.md`.

mod deflate;
mod lz4;
mod lzw;
mod matches;
mod packbits;
mod zstd;

use strile_tiff::Compression as C;

/// How hard to search, in the words of `portable/spec.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Effort {
    /// Candidates of a position; 0 is runs alone.
    pub depth: u32,
    /// A match of so many bytes ends a search.
    pub nice: u32,
    /// Whether a match gives way to a longer one at the next position.
    pub lazy: bool,
}

/// One launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pass {
    /// The `.cu` file without its ending.
    pub module: &'static str,
    /// The entry point in it.
    pub entry: &'static str,
    /// Threads of a CUDA block, as the kernel says.
    pub threads: u32,
    /// Packed bytes of a block that one CUDA block works on, and the grid has as many rows as the longest block has
    /// such parts; 0 where one works on a whole block.
    pub part: u32,
}

/// How the blocks of a codec are made.
#[derive(Debug, Clone, Copy)]
pub struct Codec {
    /// The launches, one after the other.
    pub passes: fn(Effort) -> &'static [Pass],
    /// The most bytes that `len` packed bytes in rows of `row_len` become.
    pub bound: fn(len: u32, row_len: u32) -> u64,
    /// Bytes of scratch for a block of `len` packed bytes; rounded up to 256 by the caller.
    pub scratch: fn(len: u32) -> u64,
    /// Whether the slab has to be zero before the first pass.
    pub zero_slab: bool,
    /// What a level asks for.
    pub effort: fn(level: i32) -> Effort,
}

/// The encoder of a codec; `None` where it has none here. Blocks that are stored as they are need none.
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

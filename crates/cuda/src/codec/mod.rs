//! The decoders on the device: one file a codec, the closed set of them one `match`.

mod deflate;
mod lz4;
mod lzw;
mod packbits;
mod zstd;

use strile_tiff::Compression as C;

/// How a codec's kernels are launched.
#[derive(Debug, Clone, Copy)]
pub struct Kernel {
    /// The `.cu` file without its ending.
    pub module: &'static str,
    /// The launches, one after the other, all with the same `DecodeArgs`.
    pub passes: &'static [Pass],
    /// Bytes of scratch for a block of so many encoded and decoded bytes; rounded up to 256 by the caller.
    pub scratch: fn(src_len: u32, dst_len: u32) -> u64,
}

/// One launch.
#[derive(Debug, Clone, Copy)]
pub struct Pass {
    /// The entry point.
    pub entry: &'static str,
    /// Threads of a CUDA block, as the kernel says.
    pub threads: u32,
    /// CUDA blocks for so many blocks of an image on a device with so many multiprocessors.
    pub grid: fn(count: u32, multiprocessors: u32) -> u32,
}

/// The kernel of a codec; `None` where it has none.
pub fn kernel(compression: C) -> Option<&'static Kernel> {
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

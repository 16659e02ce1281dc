//! The decoders on the device: one file a codec, the closed set of them one `match`.

mod deflate;
mod form;
mod lerc;
mod lz4;
mod lzw;
mod packbits;
mod zstd;

pub use form::Form;

use strile_engine::BlockLayout;
use strile_tiff::{Compression as C, LercWrapper};

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

/// Whether a stream is cut into segments that several CUDA blocks decode at once. Deflate alone can be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Split {
    /// Where the streams of a job are too few or too large to fill the device with one CUDA block each.
    #[default]
    Auto,
    /// Always: for tests and measurements.
    Always,
    /// Never.
    Never,
}

impl Split {
    /// The kernel that takes the work of `kernel` for a stream of `dst_len` decoded bytes in a job of `total` of them, on a
    /// device with so many multiprocessors; `None` where `kernel` keeps it.
    pub(crate) fn of(
        self,
        kernel: &Kernel,
        (dst_len, total): (u64, u64),
        multiprocessors: u32,
    ) -> Option<&'static Kernel> {
        let wanted = match self {
            Self::Auto => deflate::is_split(dst_len, total, multiprocessors),
            Self::Always => true,
            Self::Never => false,
        };
        (wanted && splits(kernel)).then_some(&deflate::SPLIT)
    }
}

/// Whether streams of a kernel can be cut into segments.
pub(crate) fn splits(kernel: &Kernel) -> bool {
    kernel.module == deflate::DEFLATE.module
}

/// Whether a kernel decodes each stream by several CUDA blocks.
pub(crate) fn is_split(kernel: &Kernel) -> bool {
    kernel.module == deflate::SPLIT.module
}

/// Whether the kernel of a layout's codec takes its samples, or with what it does not.
pub fn takes(layout: &BlockLayout) -> Result<(), String> {
    if layout.compression == C::Lerc { lerc::takes(layout) } else { Ok(()) }
}

/// The kernel of a codec, that of LERC by what is around its blobs; `None` where it has none.
pub fn kernel(compression: C, around: LercWrapper) -> Option<&'static Kernel> {
    match compression {
        C::PackBits => Some(&packbits::PACKBITS),
        C::Lzw => Some(&lzw::LZW),
        C::Deflate => Some(&deflate::DEFLATE),
        C::Zstd => Some(&zstd::ZSTD),
        C::Lz4 => Some(&lz4::LZ4),
        C::Lerc => Some(lerc::kernel(around)),
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
        | C::Png
        | C::JpegXr
        | C::WebP
        | C::JpegXl => None,
    }
}

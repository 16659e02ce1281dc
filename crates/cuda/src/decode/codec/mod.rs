//! The decoders on the device: one file per codec, all of them listed in one `match`.

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

/// Launch description of a codec's kernels.
#[derive(Debug, Clone, Copy)]
pub struct Kernel {
    /// Name of the `.cu` file without its extension.
    pub module: &'static str,
    /// Launches in order, all with the same `DecodeArgs`.
    pub passes: &'static [Pass],
    /// Returns the scratch bytes of a block of these encoded and decoded lengths; the caller rounds up to 256.
    pub scratch: fn(src_len: u32, dst_len: u32) -> u64,
}

/// One launch.
#[derive(Debug, Clone, Copy)]
pub struct Pass {
    /// Entry point.
    pub entry: &'static str,
    /// Threads per CUDA block, as in the kernel.
    pub threads: u32,
    /// Returns the CUDA blocks for this number of image blocks and multiprocessors.
    pub grid: fn(count: u32, multiprocessors: u32) -> u32,
}

/// Whether a stream is cut into segments that several CUDA blocks decode in parallel. Only Deflate supports it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Split {
    /// If the streams of a job are too few or too large to fill the device with one CUDA block each.
    #[default]
    Auto,
    /// Always: for tests and measurements.
    Always,
    /// Never.
    Never,
}

impl Split {
    /// Returns the kernel that replaces `kernel` for a stream of `dst_len` decoded bytes in a job of `total` bytes;
    /// `None` to keep `kernel`.
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

/// Returns whether streams of a kernel can be cut into segments.
pub(crate) fn splits(kernel: &Kernel) -> bool {
    kernel.module == deflate::DEFLATE.module
}

/// Returns whether a kernel decodes each stream with several CUDA blocks.
pub(crate) fn is_split(kernel: &Kernel) -> bool {
    kernel.module == deflate::SPLIT.module
}

/// Checks whether the kernel of a layout's codec supports its samples; the error names what it does not support.
pub fn takes(layout: &BlockLayout) -> Result<(), String> {
    if layout.compression == C::Lerc { lerc::takes(layout) } else { Ok(()) }
}

/// Returns the kernel of a codec, for LERC the one for the wrapper of its blobs; `None` if there is none.
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

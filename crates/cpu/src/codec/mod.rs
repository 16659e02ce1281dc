//! Decoders and encoders, one file per codec, dispatched by one `match` each.
//!
//! Every decoder takes the encoded bytes and an output of exactly the size that the layout states, and fills it
//! completely or returns a fault. No decoder allocates by a size that the stream states without first checking it
//! against the size that the layout states. Memory is accounted for before it is allocated: `working_len` with the
//! scratch of the job, by the layout alone; sizes known only from the stream by `Workspace::lend`, while the block is
//! decoded.

#[cfg(test)]
mod byte_testing;
mod ccitt;
mod deflate;
mod encode;
mod image_shape;
mod interruptible;
mod jpeg;
mod jpeg2000;
mod jpegxl;
mod lerc;
mod lz4;
mod lzma;
mod lzw;
mod next;
mod packbits;
mod png;
mod portable;
mod sgilog;
mod stored;
#[cfg(test)]
mod testing;
mod thunderscan;
mod webp;
mod workspace;
mod zstd;

pub use encode::{bound, encode, prepare};
pub use strile_codestream::StoredBlock;
pub use workspace::Workspace;

use strile_engine::{BlockFault, BlockLayout};
use strile_tiff::Compression as C;

/// Returns the bytes that a decoder needs besides its output, if they grow with the block or its `encoded` bytes.
pub(crate) fn working_len(layout: &BlockLayout, rows: u32, encoded: u64) -> u64 {
    match layout.compression {
        C::Jpeg2000 | C::Jpeg2000YCbCr | C::Jpeg2000Rgb => jpeg2000::working_len(layout, rows, encoded),
        C::Jpeg => jpeg::working_len(layout, rows, encoded),
        C::OldJpeg => jpeg::old::working_len(layout, rows, encoded),
        C::JpegXl => jpegxl::working_len(layout, rows, encoded),
        C::Lerc => lerc::working_len(layout, rows),
        C::Png => png::working_len(layout),
        C::WebP => webp::working_len(layout, rows, encoded),
        // Constant, one row, or lent once the stream states the size (`Workspace::lend`).
        C::None
        | C::PackBits
        | C::Lzw
        | C::Deflate
        | C::Zstd
        | C::Lz4
        | C::Lzma
        | C::CcittRle
        | C::CcittRleWord
        | C::CcittGroup3
        | C::CcittGroup4
        | C::Next
        | C::ThunderScan
        | C::SgiLog
        | C::SgiLog24
        | C::JpegXr => 0,
    }
}

/// Returns the memory that a block takes besides if `threads` threads decode it together, where there is enough.
pub(crate) fn helped_len(layout: &BlockLayout, rows: u32, encoded: u64, threads: usize) -> u64 {
    match layout.compression {
        C::Deflate => deflate::helped_len(layout, rows, encoded, threads),
        _ => 0,
    }
}

/// Decodes `src` into `dst`, which has `layout.decoded_len(rows)` bytes; fills it completely or returns a fault.
pub fn decode(
    src: &[u8],
    dst: &mut [u8],
    block: StoredBlock<'_>,
    workspace: &mut Workspace,
) -> Result<(), BlockFault> {
    if block.layout.extras.reduce > 0 && !block.layout.compression.is_jpeg2000() {
        return Err(BlockFault::unsupported("a lower resolution of anything but JPEG 2000"));
    }
    match block.layout.compression {
        C::None => stored::decode(src, dst, block),
        C::PackBits => packbits::decode(src, dst, block, workspace.crew.stop()),
        C::Lzw => lzw::decode(src, dst, block, workspace),
        C::Deflate => deflate::decode(src, dst, block, workspace),
        C::Zstd => zstd::decode(src, dst, block, workspace),
        C::Lz4 => lz4::decode(src, dst, block, workspace),
        C::Lzma => lzma::decode(src, dst, block, workspace),
        C::CcittRle | C::CcittRleWord | C::CcittGroup3 | C::CcittGroup4 => {
            ccitt::decode(src, dst, block, workspace.crew.stop())
        }
        C::Next => next::decode(src, dst, block, workspace.crew.stop()),
        C::ThunderScan => thunderscan::decode(src, dst, block, workspace.crew.stop()),
        C::OldJpeg => jpeg::old::decode(src, dst, block, workspace),
        C::Jpeg => jpeg::decode(src, dst, block, workspace),
        C::Jpeg2000 | C::Jpeg2000YCbCr | C::Jpeg2000Rgb => jpeg2000::decode(src, dst, block, workspace),
        C::Lerc => lerc::decode(src, dst, block, workspace),
        C::Png => png::decode(src, dst, block, workspace),
        C::WebP => webp::decode(src, dst, block, workspace),
        C::JpegXl => jpegxl::decode(src, dst, block, workspace),
        C::SgiLog | C::SgiLog24 => sgilog::decode(src, dst, block, workspace.crew.stop()),
        C::JpegXr => Err(BlockFault::unsupported("no decoder for JPEG XR")),
    }
}

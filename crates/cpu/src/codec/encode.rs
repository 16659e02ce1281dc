//! The closed set of encoders, one `match`: the twin of `decode`.
//!
//! Every encoder takes the whole block in the form that its decoder leaves (`BlockLayout::decoded_form`) and
//! appends its bytes to `dst`. Given the same block and parameters it appends the same bytes, always.

use super::{StoredBlock, Workspace};
use strile_engine::{BlockFault, EncodeLayout, EncodeParams};
use strile_tiff::Compression as C;

/// Appends the encoded bytes of `src` to `dst`.
pub fn encode(
    src: &[u8],
    dst: &mut Vec<u8>,
    block: StoredBlock<'_>,
    params: &EncodeParams,
    workspace: &mut Workspace,
) -> Result<(), BlockFault> {
    let _ = (src, dst, params, workspace);
    match block.layout.compression {
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
        | C::Jpeg
        | C::Jpeg2000
        | C::Lerc
        | C::WebP
        | C::Jpeg2000YCbCr
        | C::Jpeg2000Rgb
        | C::Next
        | C::ThunderScan
        | C::OldJpeg
        | C::Png
        | C::JpegXr
        | C::JpegXl
        | C::SgiLog
        | C::SgiLog24 => Err(BlockFault::unsupported(refusal(block.layout.compression))),
    }
}

/// Why a compression that strile reads is not written.
fn refusal(compression: C) -> String {
    match compression {
        C::JpegXl => "there is no free encoder for jxl yet; use webp or jpeg2000".into(),
        other => format!("strile does not write {}", other.name()),
    }
}

/// The most bytes `encode` can append for a block of `rows` rows.
pub fn bound(layout: &EncodeLayout, rows: u32) -> u64 {
    let len = layout.block.decoded_len(rows).map_or(u64::MAX, |len| len as u64);
    // Room for every codec's worst case: LZW grows by half, others by little; frames and headers on top.
    len.saturating_add(len / 2).saturating_add(4096)
}

/// Checks the parameters of a layout and completes it, or says why it cannot be encoded.
pub fn prepare(layout: EncodeLayout) -> Result<EncodeLayout, String> {
    Err(refusal(layout.block.compression))
}

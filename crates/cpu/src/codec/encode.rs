//! Dispatch to the closed set of encoders, the counterpart of `decode`.
//!
//! Every encoder takes the whole block in the form that its decoder produces (`BlockLayout::decoded_form`) and appends
//! its bytes to `dst`. Output is deterministic: the same block and parameters give the same bytes. Each codec's file
//! has its `encode`, its `bound`, and a `prepare` if it has parameters to check.

use super::portable::matches::Shape;
use super::{StoredBlock, Workspace};
use super::{ccitt, deflate, lz4, lzma, lzw, packbits, portable, stored, zstd};
use super::{jpeg, jpeg2000, lerc, webp};
use strile_engine::{BlockFault, BlockLayout, EncodeLayout, EncodeParams, Encoder};
use strile_tiff::{Compression as C, InvalidValue, Predictor, SampleFormat};

/// Appends the encoded bytes of `src` to `dst`.
pub fn encode(
    src: &[u8],
    dst: &mut Vec<u8>,
    block: StoredBlock<'_>,
    params: &EncodeParams,
    workspace: &mut Workspace,
) -> Result<(), BlockFault> {
    let portable = params.encoder == Encoder::Portable;
    match block.layout.compression {
        C::None => stored::encode(src, dst),
        C::Deflate if portable => {
            portable::deflate::encode(src, dst, params.level, shape(block.layout), workspace)
        }
        C::Deflate => {
            let effort = deflate::effort(params.level, block.layout.predictor);
            deflate::encode(src, dst, effort, workspace)
        }
        C::Zstd if portable => portable::zstd::encode(src, dst, params.level, shape(block.layout), workspace),
        C::Zstd => zstd::encode(src, dst, params, workspace),
        C::Jpeg => jpeg::encode::encode(src, dst, block, params),
        C::Jpeg2000 => jpeg2000::encode::encode(src, dst, block, params),
        C::WebP => webp::encode::encode(src, dst, block, params),
        C::Lerc => lerc::encode::encode(src, dst, block, params, workspace),
        C::PackBits => packbits::encode(src, dst, block),
        C::Lzw if portable => portable::lzw::encode(src, dst, workspace),
        C::Lzw => lzw::encode::encode(src, dst, workspace),
        C::Lz4 if portable => portable::lz4::encode(src, dst, shape(block.layout), workspace),
        C::Lz4 => lz4::encode(src, dst),
        C::Lzma => lzma::encode(src, dst, block, params),
        C::CcittRle | C::CcittRleWord | C::CcittGroup3 | C::CcittGroup4 => {
            ccitt::encode::encode(src, dst, block)
        }
        C::Jpeg2000YCbCr
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

/// Returns the shape that tells the portable encoders where similar data lies.
fn shape(layout: &BlockLayout) -> Shape {
    let unit = usize::try_from(layout.pixel_bits().div_ceil(8)).unwrap_or(usize::MAX);
    Shape { row: layout.packed_row_len().unwrap_or(0), unit: unit.max(1) }
}

/// Returns the maximum number of bytes `encode` can append for a block of `rows` rows; `u64::MAX` if the block cannot
/// fit in memory.
pub fn bound(layout: &EncodeLayout, rows: u32) -> u64 {
    let Some(len) = layout.block.decoded_len(rows) else { return u64::MAX };
    let portable = layout.params.encoder == Encoder::Portable;
    match layout.block.compression {
        C::None => len as u64,
        C::Deflate if portable => portable::deflate::bound(len),
        C::Deflate => deflate::bound(len),
        C::Zstd if portable => portable::zstd::bound(len),
        C::Zstd => zstd::bound(len),
        C::Jpeg => jpeg::encode::bound(layout, rows),
        C::Jpeg2000 => jpeg2000::encode::bound(layout, rows),
        C::WebP => webp::encode::bound(len),
        C::Lerc => lerc::encode::bound(layout, rows, len),
        C::PackBits => packbits::bound(&layout.block, rows),
        C::Lzw if portable => portable::lzw::bound(len),
        C::Lzw => lzw::encode::bound(len, len),
        C::Lz4 if portable => portable::lz4::bound(len),
        C::Lz4 => lz4::bound(len),
        C::Lzma => lzma::bound(len),
        C::CcittRle | C::CcittRleWord | C::CcittGroup3 | C::CcittGroup4 => {
            ccitt::encode::bound(&layout.block, rows)
        }
        C::Jpeg2000YCbCr
        | C::Jpeg2000Rgb
        | C::Next
        | C::ThunderScan
        | C::OldJpeg
        | C::Png
        | C::JpegXr
        | C::JpegXl
        | C::SgiLog
        | C::SgiLog24 => (len as u64).saturating_mul(2).saturating_add(4096),
    }
}

/// Checks the parameters of a layout and completes it. The error says why the layout cannot be encoded.
pub fn prepare(layout: EncodeLayout) -> Result<EncodeLayout, InvalidValue> {
    Ok(complete(layout)?)
}

fn complete(layout: EncodeLayout) -> Result<EncodeLayout, String> {
    check(&layout.block)?;
    if let Encoder::Library { name, .. } = layout.params.encoder {
        return Err(format!("`{name}` encodes on a GPU, not on the CPU"));
    }
    match layout.block.compression {
        C::None => Ok(layout),
        C::Deflate => deflate::prepare(layout),
        C::Zstd => zstd::prepare(layout),
        C::Jpeg => jpeg::encode::prepare(layout),
        C::Jpeg2000 => jpeg2000::encode::prepare(layout),
        C::WebP => webp::encode::prepare(layout),
        C::Lerc => lerc::encode::prepare(layout),
        C::PackBits | C::Lzw | C::Lz4 => Ok(layout),
        C::Lzma => lzma::prepare(layout),
        C::CcittRle | C::CcittRleWord | C::CcittGroup3 | C::CcittGroup4 => ccitt::encode::prepare(layout),
        C::Jpeg2000YCbCr
        | C::Jpeg2000Rgb
        | C::Next
        | C::ThunderScan
        | C::OldJpeg
        | C::Png
        | C::JpegXr
        | C::JpegXl
        | C::SgiLog
        | C::SgiLog24 => Err(refusal(layout.block.compression)),
    }
}

/// Checks what applies to blocks of every codec.
fn check(block: &BlockLayout) -> Result<(), String> {
    let (sample, codec) = (block.sample, block.compression.name());
    if block.width == 0 || block.height == 0 || block.samples == 0 {
        return Err(format!(
            "a block of {} × {} pixels of {} samples has nothing to store",
            block.width, block.height, block.samples
        ));
    }
    if sample.data_type() != Some(block.data_type) {
        return Err(format!("samples of {} cannot hold {}", sample, block.data_type));
    }
    if block.reverse_bits {
        return Err("strile does not write FillOrder 2; leave it at 1".to_owned());
    }
    if block.mixed_bits.is_some() {
        return Err("strile does not write samples of different depths; give all the same".to_owned());
    }
    if block.extras.ycbcr.is_some() && block.compression != C::Jpeg {
        return Err(format!("photometric ycbcr is written with jpeg alone, not with {codec}; use rgb"));
    }
    let has_predictor = matches!(block.compression, C::Lzw | C::Deflate | C::Zstd | C::Lzma | C::Lz4);
    match (block.predictor, sample.format, sample.bits) {
        (Predictor::None, ..) => Ok(()),
        _ if !has_predictor => Err(format!(
            "compression {codec} has no predictor; use predictor 1, or lzw, deflate, zstd, lzma or lz4"
        )),
        (Predictor::Horizontal, _, 8 | 16 | 32 | 64)
        | (Predictor::FloatingPoint, SampleFormat::Float, 16 | 24 | 32 | 64) => Ok(()),
        (Predictor::Horizontal, ..) => {
            Err(format!("predictor 2 is for samples of 8, 16, 32 or 64 bits, not for {sample}; use 1"))
        }
        (Predictor::FloatingPoint, ..) => {
            Err(format!("predictor 3 is for floats of 16, 24, 32 or 64 bits, not for {sample}; use 1 or 2"))
        }
    }
}

/// Returns the level if the codec supports it.
pub(super) fn level_within(
    layout: &EncodeLayout,
    range: std::ops::RangeInclusive<i32>,
) -> Result<i32, String> {
    let level = layout.params.level;
    if range.contains(&level) {
        return Ok(level);
    }
    let (codec, least, most) = (layout.block.compression.name(), range.start(), range.end());
    Err(format!("expected a {codec} level from {least} to {most}, got {level}"))
}

/// Returns why strile does not write a compression that it reads.
fn refusal(compression: C) -> String {
    match compression {
        C::JpegXl => "there is no free encoder for jxl yet; use webp or jpeg2000".into(),
        other => format!("strile does not write {}", other.name()),
    }
}

//! JPEG XL codestreams and files: grey, RGB and extra channels, integers to 16 bits and floats to 32.
//!
//! Samples stay in the colour space they were encoded in; nothing is managed. Channels follow each other as in
//! the stream: colours, then extra channels.

use super::StoredBlock;
use super::image_shape::StatedShape;
use jxl_oxide::image::BitDepth;
use jxl_oxide::{AllocTracker, InitializeResult, JxlImage, JxlThreadPool};
use strile_engine::BlockFault;
use strile_tiff::DataType;

/// What the decoder may allocate for a sample, and besides: it works in floats, several copies of them.
const BYTES_A_SAMPLE: usize = 64;
const SPARE_BYTES: usize = 64 << 20;

pub(super) fn decode(src: &[u8], dst: &mut [u8], block: StoredBlock<'_>) -> Result<(), BlockFault> {
    let layout = block.layout;
    let sample_size = layout.data_type.size();
    let samples = dst.len() / sample_size;
    let mut uninitialised = JxlImage::builder()
        .pool(JxlThreadPool::none())
        .alloc_tracker(AllocTracker::with_limit(
            samples.saturating_mul(BYTES_A_SAMPLE).saturating_add(SPARE_BYTES),
        ))
        .build_uninit();
    uninitialised.feed_bytes(src).map_err(fault)?;
    let InitializeResult::Initialized(mut image) = uninitialised.try_init().map_err(fault)? else {
        return Err(BlockFault::truncated(0, dst.len()));
    };
    let header = image.image_header();
    let colours = if header.metadata.grayscale() { 1 } else { 3 };
    let depth = header.metadata.bit_depth;
    let shape = StatedShape {
        width: image.width(),
        height: image.height(),
        samples: colours + u32::try_from(header.metadata.ec_info.len()).unwrap_or(u32::MAX),
        bits: depth.bits_per_sample(),
    };
    shape.check(block)?;
    let is_float = matches!(depth, BitDepth::FloatSample { .. });
    if header.metadata.ec_info.iter().any(|channel| channel.bit_depth != depth) {
        return Err(BlockFault::unsupported("JPEG XL channels of different depths"));
    }
    if header.metadata.orientation != 1 {
        return Err(BlockFault::unsupported("JPEG XL image that is stored turned"));
    }
    image.set_render_spot_color(false);
    image.finalize().map_err(fault)?;
    if !image.is_loading_done() {
        return Err(BlockFault::truncated(0, dst.len()));
    }
    let frame = image.render_frame(0).map_err(fault)?.image_all_channels();
    let values = frame.buf();
    if values.len() < samples || frame.channels() != usize::from(layout.samples) {
        return Err(BlockFault::short(values.len() * sample_size, dst.len()));
    }
    match (layout.data_type, is_float) {
        (DataType::U8, false) => {
            dst.iter_mut().zip(values).for_each(|(out, &v)| *out = integer(v, shape.bits).to_le_bytes()[0])
        }
        (DataType::U16, false) => {
            let out = dst.as_chunks_mut().0;
            out.iter_mut().zip(values).for_each(|(out, &v)| *out = integer(v, shape.bits).to_ne_bytes());
        }
        (DataType::F32, true) => {
            dst.as_chunks_mut().0.iter_mut().zip(values).for_each(|(out, v)| *out = v.to_ne_bytes())
        }
        (DataType::F16, true) => {
            let out = dst.as_chunks_mut().0;
            out.iter_mut().zip(values).for_each(|(out, &v)| *out = half::f16::from_f32(v).to_ne_bytes());
        }
        (other, _) => return Err(BlockFault::unsupported(format!("JPEG XL samples as {other}"))),
    }
    Ok(())
}

/// The integer that a sample of 0 to 1 stands for. Exact to 16 bits: a float holds 24.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to 0 to 65535; NaN becomes 0"
)]
fn integer(value: f32, bits: u32) -> u16 {
    let largest = ((1_u32 << bits.min(16)) - 1) as f32;
    (value * largest).round().clamp(0.0, largest) as u16
}

fn fault(error: Box<dyn std::error::Error + Send + Sync>) -> BlockFault {
    BlockFault::corrupt(format!("JPEG XL: {error}"))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check_picture, decode_block, layout, picture};
    use strile_engine::BlockLayout;
    use strile_tiff::{Compression, DataType, SampleFormat, SampleType};

    #[test]
    fn reads_lossless_integers() {
        check_picture(
            include_bytes!("../../tests/data/rgb8.jxl"),
            &layout(Compression::JpegXl, (13, 9), (3, 8)),
        );
        check_picture(
            include_bytes!("../../tests/data/gray16.jxl"),
            &layout(Compression::JpegXl, (13, 9), (1, 16)),
        );
    }

    #[test]
    fn reads_lossless_floats() {
        let layout = BlockLayout {
            sample: SampleType { format: SampleFormat::Float, bits: 32 },
            data_type: DataType::F32,
            ..layout(Compression::JpegXl, (13, 9), (1, 32))
        };
        let decoded = decode_block(include_bytes!("../../tests/data/gray_f32.jxl"), &layout).unwrap();
        let expected = picture(1, 8).into_iter().map(|v| v as f32 / 8.0 - 3.0);
        assert!(decoded.as_chunks().0.iter().map(|&b| f32::from_ne_bytes(b)).eq(expected));
    }
}

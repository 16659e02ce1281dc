//! JPEG XL codestreams and files: grey, RGB and extra channels, integers up to 16 bits and floats up to 32.
//!
//! Samples stay in the colour space of the encoding; there is no colour management. Channels are in the order of the
//! stream: colours, then extra channels.
//!
//! jxl-oxide decodes them, within a memory limit. Allocations outside of that limit are checked first: metadata boxes,
//! which may be compressed, are skipped (`container`); the image size is checked against the block, and the size of an
//! ICC profile against our own limit (`header`).

mod container;
mod header;

use super::image_shape::most_rows;
use super::workspace::out_of_memory;
use super::{StoredBlock, Workspace};
use header::Stated;
use jxl_oxide::{AllocTracker, InitializeResult, JxlImage, JxlThreadPool};
use strile_engine::memory::probe;
use strile_engine::{BlockFault, BlockLayout};
use strile_tiff::DataType;

/// Maximum decoder memory per sample: it works in floats and keeps several copies.
const BYTES_PER_SAMPLE: u64 = 64;
/// Usual decoder memory per sample.
const USUAL_BYTES_PER_SAMPLE: u64 = 36;
/// Additional decoder memory: tables, codes, and two copies of the stream.
const SPARE_BYTES: u64 = 4 << 20;
/// Memory that the library does not track, rounded up: the final frame of floats, and row buffers.
const UNTRACKED_BYTES_PER_SAMPLE: u64 = 8;

/// Returns the bytes that the decoder usually needs for a block.
pub(super) fn working_len(layout: &BlockLayout, rows: u32, encoded: u64) -> u64 {
    bytes_for(layout, rows, USUAL_BYTES_PER_SAMPLE, encoded)
}

fn bytes_for(layout: &BlockLayout, rows: u32, per_sample: u64, encoded: u64) -> u64 {
    let pixels = u64::from(layout.width).saturating_mul(most_rows(layout, rows).into());
    let samples = pixels.saturating_mul(layout.samples.into());
    samples.saturating_mul(per_sample).saturating_add(encoded.saturating_mul(3)).saturating_add(SPARE_BYTES)
}

pub(super) fn decode(
    src: &[u8],
    dst: &mut [u8],
    block: StoredBlock<'_>,
    workspace: &mut Workspace,
) -> Result<(), BlockFault> {
    let (layout, encoded) = (block.layout, src.len() as u64);
    let codestream = container::codestream(src)?;
    let stated = header::check(&codestream, block)?;
    let counted = working_len(layout, block.rows, encoded);
    probe(counted, "a JPEG XL decoder").map_err(|error| out_of_memory(dst.len(), error.purpose))?;
    match decode_within(&codestream, dst, block, (stated, counted)) {
        Err(Stopped::OutOfMemory) => {}
        Err(Stopped::Fault(fault)) => return Err(fault),
        Ok(()) => return Ok(()),
    }
    // More than usual: needed for filters, patches or blended frames.
    let most = bytes_for(layout, block.rows, BYTES_PER_SAMPLE, encoded);
    let _loan = workspace.lend(most, counted, "a JPEG XL decoder")?;
    match decode_within(&codestream, dst, block, (stated, most)) {
        Err(Stopped::OutOfMemory) => Err(BlockFault::unsupported(
            "a JPEG XL image that takes more than 64 bytes of memory per sample to decode",
        )),
        Err(Stopped::Fault(fault)) => Err(fault),
        Ok(()) => Ok(()),
    }
}

/// Reason why decoding stopped.
enum Stopped {
    /// The decoder would have exceeded its memory limit.
    OutOfMemory,
    Fault(BlockFault),
}

impl From<BlockFault> for Stopped {
    fn from(fault: BlockFault) -> Self {
        Self::Fault(fault)
    }
}

/// Decodes with at most `limit` bytes of memory.
fn decode_within(
    codestream: &[&[u8]],
    dst: &mut [u8],
    block: StoredBlock<'_>,
    (stated, limit): (Stated, u64),
) -> Result<(), Stopped> {
    let layout = block.layout;
    let sample_size = layout.data_type.size();
    let samples = dst.len() / sample_size;
    let encoded = codestream.iter().map(|part| part.len() as u64).sum();
    let untracked = bytes_for(layout, block.rows, UNTRACKED_BYTES_PER_SAMPLE, encoded) - SPARE_BYTES;
    let tracked = usize::try_from(limit.saturating_sub(untracked)).unwrap_or(usize::MAX);
    let mut uninitialised = JxlImage::builder()
        .pool(JxlThreadPool::none())
        .alloc_tracker(AllocTracker::with_limit(tracked))
        .build_uninit();
    for part in codestream {
        uninitialised.feed_bytes(part).map_err(fault)?;
    }
    let InitializeResult::Initialized(mut image) = uninitialised.try_init().map_err(fault)? else {
        return Err(BlockFault::truncated(0, dst.len()).into());
    };
    image.set_render_spot_color(false);
    image.finalize().map_err(fault)?;
    if !image.is_loading_done() {
        return Err(BlockFault::truncated(0, dst.len()).into());
    }
    let frame = image.render_frame(0).map_err(fault)?.image_all_channels();
    let values = frame.buf();
    if values.len() < samples || frame.channels() != usize::from(layout.samples) {
        return Err(BlockFault::short(values.len() * sample_size, dst.len()).into());
    }
    match (layout.data_type, stated.is_float) {
        (DataType::U8, false) => {
            dst.iter_mut().zip(values).for_each(|(out, &v)| *out = integer(v, stated.bits).to_le_bytes()[0])
        }
        (DataType::U16, false) => {
            let out = dst.as_chunks_mut().0;
            out.iter_mut().zip(values).for_each(|(out, &v)| *out = integer(v, stated.bits).to_ne_bytes());
        }
        (DataType::F32, true) => {
            dst.as_chunks_mut().0.iter_mut().zip(values).for_each(|(out, v)| *out = v.to_ne_bytes())
        }
        (DataType::F16, true) => {
            let out = dst.as_chunks_mut().0;
            out.iter_mut().zip(values).for_each(|(out, &v)| *out = half::f16::from_f32(v).to_ne_bytes());
        }
        (other, _) => return Err(BlockFault::unsupported(format!("JPEG XL samples as {other}")).into()),
    }
    Ok(())
}

/// Returns the integer for a sample from 0 to 1. Exact up to 16 bits: a float holds 24.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to 0 to 65535; NaN becomes 0"
)]
fn integer(value: f32, bits: u32) -> u16 {
    let largest = ((1_u32 << bits.min(16)) - 1) as f32;
    (value * largest).round().clamp(0.0, largest) as u16
}

fn fault(error: Box<dyn std::error::Error + Send + Sync>) -> Stopped {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&*error);
    while let Some(error) = cause {
        // The libraries wrap each other's errors under different names, but the message is the same.
        if error.to_string().contains("failed to allocate") {
            return Stopped::OutOfMemory;
        }
        cause = error.source();
    }
    Stopped::Fault(BlockFault::corrupt(format!("JPEG XL: {error}")))
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

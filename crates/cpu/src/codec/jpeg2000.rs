//! JPEG 2000 codestreams, alone or in a JP2 file: components as stored, to 28 bits, signed or not.
//!
//! The codestream crate says what is where; here are the code-blocks, the wavelets and the colours. The size of the
//! codestream is checked against the block's before anything of it is decoded. Boxes of a JP2 file do not change what
//! samples mean. Chroma that the codestream holds subsampled, and the YCbCr of Aperio's scheme, become RGB; every other
//! component stays as it is.

mod arithmetic;
mod code_block;
mod contexts;
mod decode_block;
pub(super) mod encode;
mod high_throughput;
mod inverse_wavelet;
mod packets;
mod passes;
mod planes;
mod samples;
mod segment_bits;
mod states;
mod wavelet;

use super::StoredBlock;
use super::image_shape::StatedShape;
use crate::crew::Crew;
use samples::Destination;
use strile_codestream::jpeg2000::{Component, Limits, Rect, parse, size};
use strile_engine::{BlockFault, BlockLayout};
use strile_tiff::{Compression, SampleFormat};

/// Deepest samples: coefficients of the wavelets need three bits more, and the signs one.
const MOST_BITS: u8 = 28;
/// Samples of a block below which helpers cost more than they do.
const WORTH_SHARING: u64 = 1 << 16;

/// Bytes of the coefficients of a block: a last strip may hold all the rows of a full one.
pub(super) fn working_len(layout: &BlockLayout, rows: u32) -> u64 {
    let rows = if layout.is_strip { rows.max(layout.height) } else { rows };
    let samples = u64::from(layout.width) * u64::from(rows);
    samples.saturating_mul(4 * u64::from(layout.samples))
}

pub(super) fn decode(
    src: &[u8],
    dst: &mut [u8],
    block: StoredBlock<'_>,
    crew: &Crew,
) -> Result<(), BlockFault> {
    decode_reduced(src, dst, block, 0, crew)
}

/// Decodes a block of a picture that has `2^reduce` times its size, without the highest resolutions.
fn decode_reduced(
    src: &[u8],
    dst: &mut [u8],
    block: StoredBlock<'_>,
    reduce: u8,
    crew: &Crew,
) -> Result<(), BlockFault> {
    let layout = block.layout;
    let size = size(src)?;
    let area = reduced(size.area, reduce);
    let (first, others) = match size.components.as_slice() {
        [first, others @ ..] => (first, others),
        [] => return Err(BlockFault::corrupt("JPEG 2000: no components")),
    };
    let shape = StatedShape {
        width: area.width(),
        height: area.height(),
        samples: u32::try_from(size.components.len()).unwrap_or(u32::MAX),
        bits: u32::from(first.bits),
    };
    if others.iter().any(|other| (other.bits, other.signed) != (first.bits, first.signed)) {
        return Err(BlockFault::wrong_shape("JPEG 2000 components of different depths"));
    }
    shape.check(block)?;
    if first.bits > MOST_BITS {
        return Err(BlockFault::unsupported(format!("JPEG 2000 samples of {} bits", first.bits)));
    }
    if first.signed != (layout.sample.format == SampleFormat::Int) {
        let found = if first.signed { "signed" } else { "unsigned" };
        return Err(BlockFault::wrong_shape(format!(
            "JPEG 2000 samples are {found}, {} expected",
            layout.sample
        )));
    }
    let ycbcr = !first.signed
        && (layout.compression == Compression::Jpeg2000YCbCr || has_subsampled_chroma(&size.components));
    if ycbcr && size.components.len() != 3 {
        return Err(BlockFault::wrong_shape(format!(
            "{} components found, 3 of YCbCr expected",
            size.components.len()
        )));
    }
    let most_samples = u64::from(area.width()) * u64::from(area.height()) * u64::from(shape.samples);
    let codestream = parse(src, Limits { reduce, most_samples })?;
    let alone = Crew::alone();
    let crew = if most_samples < WORTH_SHARING { &alone } else { crew };
    let planes = planes::decode(src, &codestream, crew)?;
    let destination =
        Destination { bytes: dst, width: layout.width as usize, data_type: layout.data_type, ycbcr };
    samples::write(&codestream, &planes, area, destination, crew)
}

/// The grid without the highest resolutions.
fn reduced(area: Rect, by: u8) -> Rect {
    let half = |at: u32| u64::from(at).div_ceil(1 << by.min(32));
    // Not more than it was.
    let half = |at: u32| u32::try_from(half(at)).unwrap_or(at);
    Rect { x0: half(area.x0), y0: half(area.y0), x1: half(area.x1), y1: half(area.y1) }
}

/// Nobody subsamples anything but chroma.
fn has_subsampled_chroma(components: &[Component]) -> bool {
    let [y, cb, cr] = components else { return false };
    let steps = |component: &Component| (component.dx, component.dy);
    steps(cb) == steps(cr) && steps(cb) != steps(y) && cb.dx >= y.dx && cb.dy >= y.dy
}

#[cfg(test)]
mod tests;

//! JPEG 2000 codestreams, bare or in a JP2 file: components as stored, up to 28 bits, signed or unsigned.
//!
//! The codestream crate locates the parts; this module decodes code-blocks, wavelets and colours. The size of the
//! codestream is checked against the block's before anything is decoded. Boxes of a JP2 file do not change the meaning
//! of samples. Subsampled chroma and the YCbCr of Aperio's scheme become RGB; every other component is returned
//! unchanged.

mod arithmetic;
mod code_block;
mod contexts;
mod decode_block;
pub(super) mod encode;
mod high_throughput;
mod inverse_wavelet;
mod lanes;
mod line_wavelet;
mod packets;
mod passes;
mod planes;
mod samples;
mod segment_bits;
mod states;
mod wavelet;

pub(super) use planes::Space;

use super::image_shape::StatedShape;
use super::{StoredBlock, Workspace};
use crate::crew::Crew;
use samples::Destination;
use strile_codestream::jpeg2000::{Limits, has_subsampled_chroma, parse, size};
use strile_engine::{BlockFault, BlockLayout};
use strile_tiff::{Compression, SampleFormat};

/// Maximum bits per sample: wavelet coefficients need three bits more, and the sign one.
const MOST_BITS: u8 = 28;
/// Samples of a block below which helper threads cost more than they save.
const WORTH_SHARING: u64 = 1 << 16;

/// Returns the working memory of a block: code-block descriptions, coefficients, memory for the wavelet of a component,
/// and a second copy of the components' samples if some are subsampled. A last strip may hold all rows of a full one.
pub(super) fn working_len(layout: &BlockLayout, rows: u32, encoded: u64) -> u64 {
    let rows = if layout.is_strip { rows.max(layout.height) } else { rows };
    let components = u64::from(layout.samples);
    let pixels = u64::from(layout.width) * u64::from(rows);
    let samples = pixels.saturating_mul(components);
    // A single component has a quarter of the samples if subsampled, or half.
    let each = if components > 1 { 8 } else { 4 };
    let wavelet = line_wavelet::working_len(pixels);
    let own = samples.saturating_mul(each).saturating_add(wavelet);
    own.saturating_add(Limits::ample_memory(samples, components, encoded))
}

pub(super) fn decode(
    src: &[u8],
    dst: &mut [u8],
    block: StoredBlock<'_>,
    workspace: &mut Workspace,
) -> Result<(), BlockFault> {
    let Workspace { crew, jpeg2000: space, .. } = workspace;
    let layout = block.layout;
    let reduce = layout.extras.reduce;
    let size = size(src)?;
    let area = size.area.reduced(reduce);
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
            "expected {} samples in JPEG 2000, but they are {found}",
            layout.sample
        )));
    }
    let ycbcr = !first.signed
        && (layout.compression == Compression::Jpeg2000YCbCr || has_subsampled_chroma(&size.components));
    if ycbcr && size.components.len() != 3 {
        return Err(BlockFault::wrong_shape(format!(
            "expected 3 components of YCbCr, got {}",
            size.components.len()
        )));
    }
    let most_samples = u64::from(area.width()) * u64::from(area.height()) * u64::from(shape.samples);
    let memory = Limits::ample_memory(most_samples, u64::from(shape.samples), src.len() as u64);
    let codestream = parse(src, Limits { reduce, most_samples, memory })?;
    let alone = Crew::alone();
    let crew = if most_samples < WORTH_SHARING { &alone } else { &*crew };
    let planes = planes::decode(src, &codestream, space, crew)?;
    crew.stop().check()?;
    let destination =
        Destination { bytes: dst, width: layout.width as usize, data_type: layout.data_type, ycbcr };
    samples::write(&codestream, &planes, destination, crew)?;
    space.keep(planes);
    crew.stop().check()
}

#[cfg(test)]
mod tests;

//! High-throughput code-blocks (ISO 15444-15, clause 7): a cleanup pass, then at most one significance propagation and
//! one magnitude refinement pass.
//!
//! Bytes read past the ends of streams have the values that the standard defines. Impossible data is a fault; all other
//! bytes decode to some coefficients.

mod bits;
mod cleanup;
mod codes;
mod refinement;
#[cfg(test)]
mod tests;
mod wide;

use crate::pool::Buffer;
use bits::Packed;
use strile_codestream::jpeg2000::{CodeBlock, Segment, Style};
use strile_engine::BlockFault;

/// Streams of a code-block, kept to reuse their memory.
#[derive(Default)]
pub(super) struct Space {
    forward: Packed,
    backward: Packed,
}

impl Space {
    /// Collects the buffers that grow with code-blocks.
    pub(super) fn buffers<'a>(&'a mut self, all: &mut Vec<&'a mut dyn Buffer>) {
        all.extend([self.forward.buffer(), self.backward.buffer()]);
    }
}

/// Decodes a code-block to signed half-units, row by row, one per coefficient. `bytes` are those of its segments. It is
/// compiled for the CPU features of its caller, like all functions that it calls often.
#[inline(always)]
pub(super) fn decode(
    space: &mut Space,
    bytes: &[u8],
    segments: &[Segment],
    block: &CodeBlock,
    style: Style,
    out: &mut [i32],
) -> Result<(), BlockFault> {
    let (cleanup, refinement, passes) = match *segments {
        [cleanup] => (cleanup.len, 0, 1),
        [cleanup, refinement] => (cleanup.len, refinement.len, 1 + refinement.passes),
        _ => return Err(corrupt("a code-block has one or two segments")),
    };
    let split = bytes.split_at_checked(cleanup as usize);
    let (cleanup, rest) = split.ok_or_else(|| corrupt("a segment is cut short"))?;
    let refinement = rest.get(..refinement as usize).ok_or_else(|| corrupt("a segment is cut short"))?;
    let (width, height) = (usize::from(block.width), usize::from(block.height));
    if !(1..=1024).contains(&width) || out.len() != width * height || !(1..=30).contains(&block.band_planes) {
        return Err(corrupt("a code-block has an impossible size"));
    }
    let zero_planes = block.band_planes.checked_sub(block.planes);
    let zero_planes = zero_planes.filter(|_| block.planes > 0).ok_or_else(|| corrupt("no bit planes"))?;
    cleanup::decode(space, cleanup, width, block.planes, zero_planes, out)?;
    // Passes without bytes, and those below the lowest plane, are absent.
    if passes > 1 && !refinement.is_empty() && block.planes > 1 {
        if passes > 2 {
            refinement::refine_magnitudes(space, refinement, width, block.planes, out);
        }
        refinement::propagate_significance(space, refinement, width, block.planes, style.causal, out);
    }
    Ok(())
}

fn corrupt(what: &'static str) -> BlockFault {
    BlockFault::corrupt(format!("JPEG 2000, high throughput: {what}"))
}

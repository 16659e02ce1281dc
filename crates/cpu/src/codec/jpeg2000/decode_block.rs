//! Decoding of a code-block, from its codeword segments to coefficients.
//!
//! CPU instructions for counting zeros and for variable shifts save a fifth of the time, so they are detected at run
//! time; the decoder is compiled twice.

#![expect(unsafe_code, reason = "calls of a function that is compiled for newer machines")]

use super::high_throughput;
use super::passes::{COLUMNS, Cell, MOST_CELLS, MOST_CHUNKS, Passes, ROWS, Shape, position};
use super::segment_bits::{Arithmetic, BEGINNING, Bits, PADDING, Raw};
use crate::pool::Buffer;
use strile_codestream::jpeg2000::{CodeBlock, Segment, Style};
use strile_engine::BlockFault;

/// Maximum bit planes: half-units and the sign share 32 bits.
const MOST_PLANES: u8 = 30;

/// Working memory of a thread, reused for one code-block after the other.
#[derive(Default)]
pub(super) struct BlockSpace {
    cells: Vec<Cell>,
    magnitudes: Vec<[u32; 64]>,
    /// A segment with its padding.
    bytes: Vec<u8>,
    high_throughput: high_throughput::Space,
}

impl BlockSpace {
    /// Collects the buffers that grow with code-blocks.
    pub(super) fn buffers<'a>(&'a mut self, all: &mut Vec<&'a mut dyn Buffer>) {
        all.push(&mut self.bytes);
        self.high_throughput.buffers(all);
    }
}

/// Decodes a code-block into `out`, row by row without gaps, in half-units. `bytes` are those of its segments.
pub(super) fn decode(
    space: &mut BlockSpace,
    bytes: &[u8],
    segments: &[Segment],
    block: &CodeBlock,
    style: Style,
    out: &mut [i32],
) -> Result<(), BlockFault> {
    if style.high_throughput {
        return decode_high_throughput(&mut space.high_throughput, bytes, segments, block, style, out);
    }
    if block.planes > MOST_PLANES {
        return Err(BlockFault::unsupported(format!("JPEG 2000 code-blocks of {} bit planes", block.planes)));
    }
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
    {
        // SAFETY: the CPU features were checked above.
        return unsafe { decode_newer(space, bytes, segments, block, style, out) };
    }
    decode_any(space, bytes, segments, block, style, out)
}

fn decode_high_throughput(
    space: &mut high_throughput::Space,
    bytes: &[u8],
    segments: &[Segment],
    block: &CodeBlock,
    style: Style,
    out: &mut [i32],
) -> Result<(), BlockFault> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
    {
        // SAFETY: the CPU features were checked above.
        return unsafe { high_throughput_newer(space, bytes, segments, block, style, out) };
    }
    high_throughput::decode(space, bytes, segments, block, style, out)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
fn high_throughput_newer(
    space: &mut high_throughput::Space,
    bytes: &[u8],
    segments: &[Segment],
    block: &CodeBlock,
    style: Style,
    out: &mut [i32],
) -> Result<(), BlockFault> {
    high_throughput::decode(space, bytes, segments, block, style, out)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi1,bmi2,lzcnt")]
fn decode_newer(
    space: &mut BlockSpace,
    bytes: &[u8],
    segments: &[Segment],
    block: &CodeBlock,
    style: Style,
    out: &mut [i32],
) -> Result<(), BlockFault> {
    decode_any(space, bytes, segments, block, style, out)
}

#[inline(always)]
fn decode_any(
    space: &mut BlockSpace,
    bytes: &[u8],
    segments: &[Segment],
    block: &CodeBlock,
    style: Style,
    out: &mut [i32],
) -> Result<(), BlockFault> {
    let (width, height) = (usize::from(block.width), usize::from(block.height));
    let impossible = || BlockFault::corrupt(format!("JPEG 2000: a code-block of {width} x {height}"));
    let shape = Shape::new(width, height).ok_or_else(impossible)?;
    // High-throughput code-blocks need none of these.
    space.cells.resize(MOST_CELLS, Cell::default());
    space.magnitudes.resize(MOST_CHUNKS, [0; 64]);
    let cells = space.cells.get_mut(..shape.cells()).ok_or_else(impossible)?;
    let magnitudes = space.magnitudes.get_mut(..shape.chunks()).ok_or_else(impossible)?;
    cells.fill(Cell::default());
    magnitudes.fill([0; 64]);
    let (band, causal) = (block.band, style.causal);
    let mut passes = Passes { cells, magnitudes, shape, band, causal, states: BEGINNING };
    let mut rest = bytes;
    let mut pass = 0;
    for segment in segments {
        let len = usize::try_from(segment.len).unwrap_or(usize::MAX).min(rest.len());
        let (own, after) = rest.split_at(len);
        rest = after;
        space.bytes.clear();
        space.bytes.extend_from_slice(own);
        space.bytes.extend_from_slice(&[0xFF; PADDING]);
        let count = u32::from(segment.passes);
        if style.is_raw(pass) {
            decode_raw(&mut passes, &space.bytes, pass..pass + count, block.planes, style)?;
        } else {
            decode_coded(&mut passes, &space.bytes, pass..pass + count, block.planes, style)?;
        }
        pass += count;
    }
    place(passes.magnitudes, shape, width, out);
    Ok(())
}

/// Returns the kind of a pass by its order within a plane: 0 propagates significance, 1 refines, 2 cleans up.
fn kind(pass: u32) -> u32 {
    (pass + 2) % 3
}

/// Returns the plane of a pass. The first plane has only a cleanup pass.
fn plane(pass: u32, planes: u8) -> Result<u32, BlockFault> {
    let too_many = || BlockFault::corrupt("JPEG 2000: more coding passes than bit planes have");
    u32::from(planes).checked_sub(1 + pass.div_ceil(3)).ok_or_else(too_many)
}

#[inline(always)]
fn decode_coded(
    passes: &mut Passes<'_>,
    bytes: &[u8],
    range: std::ops::Range<u32>,
    planes: u8,
    style: Style,
) -> Result<(), BlockFault> {
    let mut bits = Arithmetic::new(bytes);
    for pass in range {
        let plane = plane(pass, planes)?;
        match kind(pass) {
            _ if style.is_raw(pass) => return Err(mixed()),
            0 => passes.propagate(&mut bits, bytes, plane),
            1 => passes.refine(&mut bits, bytes, plane),
            _ => {
                passes.clean_up(&mut bits, bytes, plane);
                if style.segmentation {
                    let uniform = passes.uniform();
                    let symbol = (0..4).fold(0, |symbol, _| symbol << 1 | u8::from(bits.bit(uniform, bytes)));
                    if symbol != 0b1010 {
                        return Err(BlockFault::corrupt("JPEG 2000: a wrong segmentation symbol"));
                    }
                }
            }
        }
        if style.reset {
            passes.reset();
        }
    }
    Ok(())
}

#[inline(always)]
fn decode_raw(
    passes: &mut Passes<'_>,
    bytes: &[u8],
    range: std::ops::Range<u32>,
    planes: u8,
    style: Style,
) -> Result<(), BlockFault> {
    let mut bits = Raw::new();
    for pass in range {
        let plane = plane(pass, planes)?;
        match kind(pass) {
            _ if !style.is_raw(pass) => return Err(mixed()),
            0 => passes.propagate(&mut bits, bytes, plane),
            _ => passes.refine(&mut bits, bytes, plane),
        }
        if style.reset {
            passes.reset();
        }
    }
    Ok(())
}

fn mixed() -> BlockFault {
    BlockFault::corrupt("JPEG 2000: a segment of raw and of coded passes")
}

/// Writes magnitudes with their signs, row by row.
fn place(magnitudes: &[[u32; 64]], shape: Shape, width: usize, out: &mut [i32]) {
    for (y, row) in out.chunks_exact_mut(width.max(1)).enumerate() {
        let first = y / ROWS * shape.across;
        let chunks = magnitudes.get(first..first + shape.across).unwrap_or_default();
        for (row, chunk) in row.chunks_mut(COLUMNS).zip(chunks) {
            for (column, out) in row.iter_mut().enumerate() {
                let found = chunk.get(position(column, y % ROWS)).copied().unwrap_or(0);
                let magnitude = (found & 0x7FFF_FFFF).cast_signed();
                *out = if found >> 31 == 1 { -magnitude } else { magnitude };
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "small numbers made here")]
mod tests {
    use super::super::super::byte_testing::Random;
    use super::super::code_block::encode;
    use super::*;
    use strile_codestream::jpeg2000::Band;

    fn code_block(width: usize, height: usize, band: Band, planes: u32) -> CodeBlock {
        CodeBlock {
            plane: 0,
            x: 0,
            y: 0,
            width: width as u16,
            height: height as u16,
            band,
            band_planes: 31,
            planes: planes as u8,
            passes: (3 * planes - 2) as u8,
            step: 1.0,
            segments: 0..1,
            pieces: 0..1,
            len: 0,
        }
    }

    fn decoded(bytes: &[u8], block: &CodeBlock, passes: u8) -> Result<Vec<i32>, BlockFault> {
        let mut out = vec![0; usize::from(block.width) * usize::from(block.height)];
        let segment = Segment { len: bytes.len() as u32, passes };
        decode(&mut BlockSpace::default(), bytes, &[segment], block, Style::default(), &mut out).map(|()| out)
    }

    /// Returns coefficients whose magnitudes have up to `planes` bits, most of them fewer.
    fn coefficients(random: &mut Random, count: usize, planes: u32, sparse: usize) -> Vec<i32> {
        let one = |random: &mut Random| {
            let bits = random.below(planes as usize + 1);
            let value = (random.next() & ((1 << bits) - 1)) as i32;
            if random.below(sparse) > 0 {
                0
            } else if random.below(2) == 0 {
                value
            } else {
                -value
            }
        };
        (0..count).map(|_| one(random)).collect()
    }

    #[test]
    fn decodes_what_was_encoded_in_every_shape_and_band() {
        let mut random = Random::new(11);
        let shapes = [(64, 64), (1024, 4), (4, 1024), (1, 1), (1, 1024), (1024, 1), (9, 5), (8, 4), (13, 7)];
        let more = (0..60).map(|_| (0, 0));
        for (width, height) in shapes.into_iter().chain(more) {
            let (width, height) = match (width, height) {
                (0, _) => (1 + random.below(64), 1 + random.below(64)),
                given => given,
            };
            for band in [Band::Ll, Band::Hl, Band::Lh, Band::Hh] {
                let (planes, sparse) = (1 + random.below(30) as u32, 1 + random.below(40));
                let expected = coefficients(&mut random, width * height, planes, sparse);
                let coded = encode(&expected, width, band);
                if coded.planes == 0 {
                    continue;
                }
                let block = code_block(width, height, band, coded.planes);
                let found = decoded(&coded.bytes, &block, block.passes).unwrap();
                let found: Vec<i32> = found.into_iter().map(|half_units| half_units / 2).collect();
                assert!(found == expected, "{width} x {height} {band:?} {planes} planes");
            }
        }
    }

    /// Truncated passes give the middle of the interval that the decoded planes leave.
    #[test]
    fn fewer_passes_give_the_middle() {
        let mut random = Random::new(4);
        let wanted = coefficients(&mut random, 32 * 32, 12, 1);
        let coded = encode(&wanted, 32, Band::Hl);
        let block = code_block(32, 32, Band::Hl, coded.planes);
        // Omit whole planes: their passes are the last ones.
        for left_out in 1..coded.planes {
            let found = decoded(&coded.bytes, &block, block.passes - 3 * left_out as u8).unwrap();
            for (found, wanted) in found.iter().zip(&wanted) {
                let kept = (wanted.abs() >> left_out) << left_out;
                let middle = if kept == 0 { 0 } else { 2 * kept + (1 << left_out) };
                assert_eq!(*found, middle * wanted.signum());
            }
        }
    }

    #[test]
    fn what_cannot_be_is_a_fault() {
        let block = code_block(8, 8, Band::Ll, 3);
        assert!(decoded(&[1, 2, 3], &block, 8).is_err());
        assert!(decoded(&[1, 2, 3], &code_block(8, 8, Band::Ll, 31), 1).is_err());
        assert!(decoded(&[], &block, 7).is_ok());
    }
}

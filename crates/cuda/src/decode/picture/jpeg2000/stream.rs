//! One parsed stream: the assumptions of kernels are checked, and the picture's memory needs are known.

use super::super::Need;
use super::abi::{Block, Level, Plane, Segment, Tile};
use super::overflow::has_overflow;
use super::template::{Template, reserve};
use strile_codestream::jpeg2000::{self, CodeBlock, Codestream, Limits, Rect, has_subsampled_chroma};
use strile_codestream::{StatedShape, StoredBlock};
use strile_engine::{BlockFault, BlockLayout};
use strile_tiff::{Compression, SampleFormat};

/// Largest sample depth that is decoded.
const MOST_BITS: u8 = 16;

/// A parsed JPEG 2000 stream, ready for the kernels.
#[derive(Debug)]
pub struct Jpeg2000Stream {
    pub(super) template: Template,
    pub(super) need: Need,
}

impl Jpeg2000Stream {
    pub(super) fn parse(stream: &[u8], layout: &BlockLayout, rows: u32) -> Result<Self, BlockFault> {
        let size = jpeg2000::size(stream)?;
        let first = size.components.first().ok_or_else(|| BlockFault::corrupt("JPEG 2000: no components"))?;
        if size.components.iter().any(|c| (c.bits, c.signed) != (first.bits, first.signed)) {
            return Err(BlockFault::unsupported("JPEG 2000 components of different depths"));
        }
        let reduce = layout.extras.reduce;
        let area = size.area.reduced(reduce);
        let shape = StatedShape {
            width: area.width(),
            height: area.height(),
            samples: u32::try_from(size.components.len()).unwrap_or(u32::MAX),
            bits: u32::from(first.bits),
        };
        shape.check(StoredBlock { layout, rows })?;
        if first.bits > MOST_BITS {
            return Err(BlockFault::unsupported(format!("JPEG 2000 samples of {} bits", first.bits)));
        }
        if first.signed != (layout.sample.format == SampleFormat::Int) {
            let found = if first.signed { "signed" } else { "unsigned" };
            let wanted = layout.sample;
            return Err(BlockFault::wrong_shape(format!(
                "expected {wanted} samples in JPEG 2000, but they are {found}"
            )));
        }
        let components = u64::from(shape.samples);
        let most_samples = u64::from(shape.width) * u64::from(shape.height) * components;
        let memory = Limits::usual_memory(most_samples, components, stream.len() as u64);
        let codestream = jpeg2000::parse(stream, Limits { reduce, most_samples, memory })?;
        let ycbcr = ycbcr(&codestream, layout)?;
        let tiles = tiles(&codestream)?;
        if !codestream.blocks.iter().all(|block| is_whole(&codestream, block, stream)) {
            return Err(BlockFault::corrupt("JPEG 2000: a code-block that cannot be"));
        }
        if codestream.blocks.iter().any(|block| has_overflow(&codestream, block, stream)) {
            return Err(BlockFault::unsupported("JPEG 2000: a carry beyond the start of a codeword segment"));
        }
        let template = Template::of(&codestream, &tiles, ycbcr, layout, rows)?;
        let need = need(&template);
        Ok(Self { template, need })
    }
}

/// Returns the memory for parsing and for a template, in addition to the length of the stream: records of code-blocks,
/// and their template of about the same size.
pub(super) fn parsing(layout: &BlockLayout, rows: u32) -> u64 {
    let rows = if layout.is_strip { rows.max(layout.height) } else { rows };
    let components = u64::from(layout.samples);
    let samples = (u64::from(layout.width) * u64::from(rows)).saturating_mul(components);
    Limits::usual_memory(samples, components, 0).saturating_mul(2)
}

/// Returns whether three components are to be converted to RGB; YCbCr that cannot be converted is left to the host.
fn ycbcr(codestream: &Codestream, layout: &BlockLayout) -> Result<bool, BlockFault> {
    let stated = layout.compression == Compression::Jpeg2000YCbCr;
    match codestream.components.as_slice() {
        components @ [y, _, _] if !y.signed => Ok(stated || has_subsampled_chroma(components)),
        _ if stated => Err(BlockFault::wrong_shape("expected three unsigned components of YCbCr")),
        _ => Ok(false),
    }
}

/// Returns the rectangles of the tiles. If there are several, a full-resolution component defines them, and every
/// pixel's samples must be in its own tile.
fn tiles(codestream: &Codestream) -> Result<Vec<Rect>, BlockFault> {
    let unsupported = || BlockFault::unsupported("JPEG 2000: tiles that share samples");
    let last = |index: usize| codestream.planes.get(index)?.resolutions.last().copied();
    let full = codestream.components.iter().position(|c| (c.dx, c.dy) == (1, 1));
    let mut found = Vec::new();
    reserve(&mut found, codestream.tiles.len())?;
    for tile in &codestream.tiles {
        if tile.planes.len() != codestream.components.len() {
            return Err(BlockFault::corrupt("JPEG 2000: a tile without all components"));
        }
        let whole = match codestream.tiles.as_slice() {
            [_] => Some(codestream.area),
            _ => full.and_then(|full| last(tile.planes.start + full)),
        };
        let whole = whole.ok_or_else(unsupported)?;
        for (component, plane) in codestream.components.iter().zip(tile.planes.clone()) {
            let own = last(plane).ok_or_else(unsupported)?;
            let (dx, dy) = (u32::from(component.dx).max(1), u32::from(component.dy).max(1));
            let across =
                covers((whole.x0, whole.x1), dx, (component.rect.x0, component.rect.x1), (own.x0, own.x1));
            let down =
                covers((whole.y0, whole.y1), dy, (component.rect.y0, component.rect.y1), (own.y0, own.y1));
            if !across || !down {
                return Err(unsupported());
            }
        }
        found.push(whole);
    }
    Ok(found)
}

/// Returns whether the samples of a component with range `all` that pixels of `tile` use are within `own`.
fn covers(tile: (u32, u32), step: u32, all: (u32, u32), own: (u32, u32)) -> bool {
    let Some((last, all_last)) = tile.1.checked_sub(1).zip(all.1.checked_sub(1)) else { return false };
    let (first, last) = ((tile.0 / step).max(all.0), (last / step).min(all_last));
    own.0 <= first && first <= last && last < own.1
}

/// Longest codeword bytes of a code-block that the device accepts: one thread unstuffs a segment, and 4096 coefficients
/// of 30 planes need far fewer.
const LONGEST: u64 = 1 << 17;

/// Returns whether a code-block meets the assumptions of kernels.
fn is_whole(codestream: &Codestream, block: &CodeBlock, stream: &[u8]) -> bool {
    let range = |range: &std::ops::Range<u32>| range.start as usize..range.end as usize;
    let Some(plane) = codestream.planes.get(block.plane as usize) else { return false };
    let Some(rect) = plane.resolutions.last() else { return false };
    let Some(segments) = codestream.segments.get(range(&block.segments)) else { return false };
    let Some(pieces) = codestream.pieces.get(range(&block.pieces)) else { return false };
    let inside = |first: u32, count: u16, all: u32| {
        (1..=1024).contains(&count) && first.checked_add(u32::from(count)).is_some_and(|end| end <= all)
    };
    let passes: u64 = segments.iter().map(|segment| u64::from(segment.passes)).sum();
    let len: u64 = segments.iter().map(|segment| u64::from(segment.len)).sum();
    let have: u64 = pieces.iter().map(|piece| u64::from(piece.len)).sum();
    // A high-throughput code-block has one segment for its first pass, and one for all others.
    let most_passes = if plane.style.high_throughput { 3 } else { 3 * u16::from(block.planes).max(1) - 2 };
    let least_segments = if plane.style.high_throughput && block.passes > 1 { 2 } else { 1 };
    inside(block.x, block.width, rect.width())
        && segments.len() >= least_segments
        && inside(block.y, block.height, rect.height())
        && u32::from(block.width) * u32::from(block.height) <= 4096
        && (1..=30).contains(&block.planes)
        && (1..=most_passes).contains(&u16::from(block.passes))
        && passes == u64::from(block.passes)
        && segments.iter().all(|segment| segment.passes > 0)
        && len == have
        && len <= LONGEST
        && pieces.iter().all(|p| u64::from(p.offset) + u64::from(p.len) <= stream.len() as u64)
}

fn need(made: &Template) -> Need {
    let count = |items: usize, size: usize| items as u64 * size as u64;
    let coded = [&made.arithmetic, &made.high_throughput];
    let segments: usize = coded.iter().map(|coded| coded.segments.len()).sum();
    let blocks: usize = coded.iter().map(|coded| coded.blocks.len()).sum();
    let levels: usize = made.levels.iter().map(Vec::len).sum();
    Need {
        bytes: made.bytes_len,
        tables: count(segments, size_of::<Segment>())
            + count(blocks, size_of::<Block>())
            + count(levels, size_of::<Level>())
            + count(made.planes.len(), size_of::<Plane>())
            + count(made.tiles.len(), size_of::<Tile>()),
        // Bit planes are finished before rows of the wavelet need the same memory.
        scratch: made.planes_len + made.planes_len.max(made.states_len),
    }
}

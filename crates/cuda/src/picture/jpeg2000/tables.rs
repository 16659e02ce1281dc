//! The tables of a batch, and what is launched over them.

use super::super::{Placed, Room};
use super::abi::{
    Block, BlockArgs, CAUSAL, Level, LevelArgs, Plane, RESET, REVERSIBLE, SEGMENTATION, Segment, Tile,
    TileArgs, state_len,
};
use super::stream::{Picture, plane_len, segment_len};
use crate::abi::{Plain, bytes_of};
use strile_codestream::jpeg2000::{CodeBlock, Codestream, Colour, Style};

/// Threads of the kernels.
const UNSTUFF_THREADS: u32 = 128;
const BLOCK_WARPS: u32 = 4;
const COEFFICIENT_THREADS: u32 = 128;
const PIXEL_THREADS: u32 = 256;
/// Warps beyond which a batch fills a device, so that all lanes of a warp take a code-block.
const MANY_WARPS: usize = 1024;

/// Something that a batch does on its stream, in order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// Memory becomes 0: address and bytes, a multiple of 4.
    Clear(u64, u64),
    /// A kernel over code-blocks or their segments.
    Blocks(Launch, BlockArgs),
    /// A kernel over the planes of one wavelet level.
    Levels(Launch, LevelArgs),
    /// The kernel over tiles.
    Tiles(Launch, TileArgs),
}

/// An entry of `jpeg2000.cu` and its grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// The kernel.
    pub entry: &'static str,
    /// CUDA blocks.
    pub grid: (u32, u32),
    /// Threads of each.
    pub threads: u32,
}

/// The memory of a batch, handed out piece by piece.
struct Taken {
    next: u64,
}

impl Taken {
    fn take(&mut self, len: u64) -> u64 {
        let at = self.next;
        self.next = at.saturating_add(len);
        at
    }
}

/// Fills tables with what a batch is. `None` where they are too short: the needs of pictures add up to more.
pub(super) fn lay_out(pictures: &[Placed<Picture>], room: &Room, tables: &mut [u8]) -> Option<Vec<Step>> {
    let mut all = Tables::default();
    let mut planes = Taken { next: room.scratch };
    for picture in pictures {
        all.add(picture, &mut planes);
    }
    // Rows of the wavelet go to the same place behind all planes that a plane has before; states lie there earlier.
    let planes_len = planes.next - room.scratch;
    for level in all.levels.iter_mut().flatten() {
        level.spare = level.plane + planes_len;
    }
    let mut states = Taken { next: planes.next };
    // Longest first: a warp of like code-blocks ends at one time, and what is left for the end is short.
    all.order.sort_unstable();
    let mut blocks = Vec::with_capacity(all.blocks.len());
    for &key in &all.order {
        #[expect(clippy::cast_possible_truncation, reason = "the low half is the index")]
        let block = all.blocks.get(key as u32 as usize)?;
        let state = states.take(state_len(block.width, block.height, block.planes));
        blocks.push(Block { state, ..*block });
    }
    if states.next.max(planes.next + planes_len) > room.scratch + room.scratch_len {
        return None;
    }
    let mut filled = Filled { tables, at: room.tables };
    let tiles = TileArgs {
        tiles: filled.put(&all.tiles)?,
        planes: filled.put(&all.planes)?,
        statuses: room.statuses,
        count: count(&all.tiles),
        reserved: 0,
    };
    let lanes = blocks.len().div_ceil(MANY_WARPS).next_power_of_two().clamp(8, 32);
    let block_args = BlockArgs {
        segments: filled.put(&all.segments)?,
        blocks: filled.put(&blocks)?,
        statuses: room.statuses,
        segment_count: count(&all.segments),
        count: count(&blocks),
        lanes: u32::try_from(lanes).unwrap_or(32),
        reserved: 0,
    };
    let mut steps = vec![Step::Clear(room.scratch, planes_len)];
    let mut over_blocks = |entry, blocks: u32, threads| {
        if blocks > 0 {
            steps.push(Step::Blocks(Launch { entry, grid: (blocks, 1), threads }, block_args));
        }
    };
    over_blocks("jpeg2000_unstuff", block_args.segment_count.div_ceil(UNSTUFF_THREADS), UNSTUFF_THREADS);
    let warps = block_args.count.div_ceil(block_args.lanes);
    over_blocks("jpeg2000_blocks", warps.div_ceil(BLOCK_WARPS), 32 * BLOCK_WARPS);
    over_blocks("jpeg2000_coefficients", block_args.count, COEFFICIENT_THREADS);
    for levels in &all.levels {
        let args = LevelArgs { levels: filled.put(levels)?, count: count(levels), reserved: 0 };
        let items = |level: &Level| u64::from(level.width) * u64::from(level.height);
        let grid = shared(args.count, levels.iter().map(items).max().unwrap_or(0));
        for entry in ["jpeg2000_rows", "jpeg2000_columns"] {
            steps.push(Step::Levels(Launch { entry, grid, threads: PIXEL_THREADS }, args));
        }
    }
    let pixels = |tile: &Tile| u64::from(tile.width) * u64::from(tile.height);
    let grid = shared(tiles.count, all.tiles.iter().map(pixels).max().unwrap_or(0));
    steps.push(Step::Tiles(Launch { entry: "jpeg2000_pixels", grid, threads: PIXEL_THREADS }, tiles));
    Some(steps)
}

/// A column of CUDA blocks for each of `count` things, the largest of which has so many items: four for a thread.
fn shared(count: u32, items: u64) -> (u32, u32) {
    let blocks = items.div_ceil(4 * u64::from(PIXEL_THREADS)).clamp(1, 32_768);
    (count, u32::try_from(blocks).unwrap_or(1))
}

fn count<T>(items: &[T]) -> u32 {
    u32::try_from(items.len()).unwrap_or(u32::MAX)
}

/// The table memory of a batch, filled from the front.
struct Filled<'a> {
    tables: &'a mut [u8],
    at: u64,
}

impl Filled<'_> {
    /// Puts items, and tells their address on the device. Sizes of all items are multiples of 8.
    fn put<T: Plain>(&mut self, items: &[T]) -> Option<u64> {
        let bytes = bytes_of(items);
        let (own, rest) = std::mem::take(&mut self.tables).split_at_mut_checked(bytes.len())?;
        own.copy_from_slice(bytes);
        self.tables = rest;
        let at = self.at;
        self.at += bytes.len() as u64;
        Some(at)
    }
}

#[derive(Default)]
struct Tables {
    segments: Vec<Segment>,
    blocks: Vec<Block>,
    /// For each code-block what it is sorted by, in the high half, and its index.
    order: Vec<u64>,
    /// Of each wavelet level, the lowest first.
    levels: Vec<Vec<Level>>,
    planes: Vec<Plane>,
    tiles: Vec<Tile>,
}

impl Tables {
    fn add(&mut self, placed: &Placed<Picture>, planes: &mut Taken) {
        let codestream = &placed.picture.codestream;
        let first_plane = self.planes.len();
        for plane in &codestream.planes {
            self.plane(codestream, plane, planes);
        }
        let mut words = Taken { next: placed.bytes };
        for block in &codestream.blocks {
            self.block(codestream, block, first_plane, &mut words, placed.status);
        }
        self.tiles(placed, u32::try_from(first_plane).unwrap_or(u32::MAX));
    }

    fn plane(
        &mut self,
        codestream: &Codestream,
        plane: &strile_codestream::jpeg2000::Plane,
        planes: &mut Taken,
    ) {
        let rect = plane.resolutions.last().copied().unwrap_or_default();
        let address = planes.take(plane_len(rect));
        let reversible = plane.reversible;
        if let Some(component) = codestream.components.get(usize::from(plane.component)) {
            self.planes.push(Plane {
                plane: address,
                x0: rect.x0,
                y0: rect.y0,
                width: rect.width(),
                height: rect.height(),
                dx: u32::from(component.dx).max(1),
                dy: u32::from(component.dy).max(1),
                bits: u32::from(component.bits),
                is_signed: u16::from(component.signed),
                reversible: u16::from(reversible),
            });
        }
        for (index, resolution) in plane.resolutions.iter().skip(1).enumerate() {
            if self.levels.len() <= index {
                self.levels.push(Vec::new());
            }
            if let Some(levels) = self.levels.get_mut(index)
                && !resolution.is_empty()
            {
                levels.push(Level {
                    plane: address,
                    spare: 0,
                    stride: rect.width(),
                    width: resolution.width(),
                    height: resolution.height(),
                    odd_x: u8::from(resolution.x0 % 2 == 1),
                    odd_y: u8::from(resolution.y0 % 2 == 1),
                    reversible: u8::from(reversible),
                    reserved: 0,
                });
            }
        }
    }

    fn block(
        &mut self,
        codestream: &Codestream,
        block: &CodeBlock,
        first_plane: usize,
        words: &mut Taken,
        status: u32,
    ) {
        let style = codestream.planes.get(block.plane as usize).map_or(Style::default(), |plane| plane.style);
        let segment = count(&self.segments);
        let range = block.segments.start as usize..block.segments.end as usize;
        let mut pass = 0;
        for found in codestream.segments.get(range).unwrap_or_default() {
            self.segments.push(Segment {
                words: words.take(segment_len(found.len)),
                len: found.len,
                passes: u16::from(found.passes),
                raw: u16::from(style.bypass && is_raw(pass)),
            });
            pass += u32::from(found.passes);
        }
        let Some(plane) = self.planes.get(first_plane + block.plane as usize) else { return };
        let flag = |is: bool, flag: u8| if is { flag } else { 0 };
        let row = u64::from(block.y) * u64::from(plane.width);
        self.order.push(u64::from(!block.len) << 32 | self.blocks.len() as u64);
        self.blocks.push(Block {
            state: 0,
            out: plane.plane + 4 * (row + u64::from(block.x)),
            segment,
            status,
            stride: plane.width,
            scale: 0.5 * block.step,
            width: block.width,
            height: block.height,
            band: block.band as u8,
            planes: block.planes,
            passes: block.passes,
            flags: flag(style.reset, RESET)
                | flag(style.causal, CAUSAL)
                | flag(style.segmentation, SEGMENTATION)
                | flag(plane.reversible != 0, REVERSIBLE),
        });
    }

    fn tiles(&mut self, placed: &Placed<Picture>, first_plane: u32) {
        let picture = &placed.picture;
        let area = picture.codestream.area;
        for (tile, rect) in picture.codestream.tiles.iter().zip(&picture.tiles) {
            let (left, top) = (rect.x0.saturating_sub(area.x0), rect.y0.saturating_sub(area.y0));
            self.tiles.push(Tile {
                dst: placed.dst,
                planes: first_plane + u32::try_from(tile.planes.start).unwrap_or(0),
                samples: count(&picture.codestream.components),
                x0: rect.x0,
                y0: rect.y0,
                width: rect.width().min(placed.layout.width.saturating_sub(left)),
                // A strip's picture may have more rows than its block.
                height: rect.height().min(placed.rows.saturating_sub(top)),
                left,
                top,
                row_pixels: placed.layout.width,
                status: placed.status,
                colour: match tile.colour {
                    Colour::None => 0,
                    Colour::Reversible => 1,
                    Colour::Irreversible => 2,
                },
                ycbcr: u8::from(picture.ycbcr),
                bytes: u8::try_from(placed.layout.data_type.size()).unwrap_or(0),
                reserved: [0; 5],
            });
        }
    }
}

/// Whether pass `pass` of a code-block with bypass is raw: after the tenth, but for cleanups (ISO 15444-1, table D.9).
fn is_raw(pass: u32) -> bool {
    pass >= 10 && !pass.is_multiple_of(3)
}

//! What is launched for a batch, over which memory.

use super::super::{Placed, Room};
use super::abi::{Block, BlockArgs, Level, LevelArgs, Tile, TileArgs, ht_state_len, state_len};
use super::stream::Picture;
use super::tables::{Coded, Tables, Taken};
use crate::abi::{Plain, bytes_of};

/// The modules (`.cu` files) of the kernels.
const MODULE: &str = "jpeg2000";
const HT_MODULE: &str = "jpeg2000_ht";
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

/// An entry of a module and its grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// The `.cu` file without its ending.
    pub module: &'static str,
    /// The kernel.
    pub entry: &'static str,
    /// CUDA blocks.
    pub grid: (u32, u32),
    /// Threads of each.
    pub threads: u32,
}

impl Launch {
    fn new(entry: &'static str, grid: (u32, u32), threads: u32) -> Self {
        Self { module: MODULE, entry, grid, threads }
    }
}

/// Fills tables with what a batch is. `None` where there is less memory than the needs of its pictures add up to.
pub(super) fn lay_out(pictures: &[Placed<Picture>], room: &Room, tables: &mut [u8]) -> Option<Vec<Step>> {
    let mut planes = Taken { next: room.scratch };
    let mut all = Tables::of(pictures, &mut planes);
    // Rows of the wavelet go to the same place behind all planes that a plane has before; states lie there earlier.
    let planes_len = planes.next - room.scratch;
    for level in all.levels.iter_mut().flatten() {
        level.spare = level.plane + planes_len;
    }
    let mut states = Taken { next: planes.next };
    let mut filled = Filled { tables, at: room.tables };
    let mut steps = vec![Step::Clear(room.scratch, planes_len)];
    let args = filled.coded(&mut all.arithmetic, room, |block| {
        states.take(state_len(block.width, block.height, block.planes))
    })?;
    arithmetic(&mut steps, args);
    let args = filled.coded(&mut all.high_throughput, room, |block| {
        states.take(ht_state_len(block.width, block.height, block.passes))
    })?;
    high_throughput(&mut steps, args);
    for levels in &all.levels {
        let args = LevelArgs { levels: filled.put(levels)?, count: count(levels), reserved: 0 };
        // A row's pair may begin before the row, and a column's part has four pairs.
        for (entry, wider, rows) in [("jpeg2000_rows", 2, 1), ("jpeg2000_columns", 0, 8)] {
            let patches = |level: &Level| patches(level.width + wider, (level.height + 1).div_ceil(rows));
            let grid = (args.count, levels.iter().map(patches).max().unwrap_or(1));
            steps.push(Step::Levels(Launch::new(entry, grid, PIXEL_THREADS), args));
        }
    }
    let args = TileArgs {
        tiles: filled.put(&all.tiles)?,
        planes: filled.put(&all.planes)?,
        statuses: room.statuses,
        count: count(&all.tiles),
        reserved: 0,
    };
    let pixels = |tile: &Tile| patches(tile.width, tile.height);
    let grid = (args.count, all.tiles.iter().map(pixels).max().unwrap_or(1));
    steps.push(Step::Tiles(Launch::new("jpeg2000_pixels", grid, PIXEL_THREADS), args));
    let end = states.next.max(planes.next + planes_len);
    (end <= room.scratch + room.scratch_len).then_some(steps)
}

fn arithmetic(steps: &mut Vec<Step>, args: BlockArgs) {
    let warps = args.count.div_ceil(args.lanes);
    for (entry, blocks, threads) in [
        ("jpeg2000_unstuff", args.segment_count.div_ceil(UNSTUFF_THREADS), UNSTUFF_THREADS),
        ("jpeg2000_blocks", warps.div_ceil(BLOCK_WARPS), 32 * BLOCK_WARPS),
        ("jpeg2000_coefficients", args.count, COEFFICIENT_THREADS),
    ] {
        if blocks > 0 {
            steps.push(Step::Blocks(Launch::new(entry, (blocks, 1), threads), args));
        }
    }
}

fn high_throughput(steps: &mut Vec<Step>, args: BlockArgs) {
    if args.count > 0 {
        let warps = args.count.div_ceil(args.lanes);
        let grid = (warps.div_ceil(BLOCK_WARPS), 1);
        let launch =
            Launch { module: HT_MODULE, entry: "jpeg2000_ht_blocks", grid, threads: 32 * BLOCK_WARPS };
        steps.push(Step::Blocks(launch, args));
    }
}

/// CUDA blocks for one plane or tile: one for each patch, and where there are very many, several patches each.
fn patches(width: u32, lines: u32) -> u32 {
    let patches = u64::from(width.div_ceil(256)) * u64::from(lines.div_ceil(8));
    u32::try_from(patches.clamp(1, 32_768)).unwrap_or(1)
}

pub(super) fn count<T>(items: &[T]) -> u32 {
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

    /// Puts code-blocks, longest first: a warp of like code-blocks ends at one time, and what is left for the end is short.
    fn coded(
        &mut self,
        coded: &mut Coded,
        room: &Room,
        mut state: impl FnMut(&Block) -> u64,
    ) -> Option<BlockArgs> {
        coded.order.sort_unstable();
        let mut blocks = Vec::with_capacity(coded.blocks.len());
        for &key in &coded.order {
            #[expect(clippy::cast_possible_truncation, reason = "the low half is the index")]
            let block = coded.blocks.get(key as u32 as usize)?;
            blocks.push(Block { state: state(block), ..*block });
        }
        let lanes = blocks.len().div_ceil(MANY_WARPS).next_power_of_two().clamp(8, 32);
        Some(BlockArgs {
            segments: self.put(&coded.segments)?,
            blocks: self.put(&blocks)?,
            statuses: room.statuses,
            segment_count: count(&coded.segments),
            count: count(&blocks),
            lanes: u32::try_from(lanes).unwrap_or(32),
            reserved: 0,
        })
    }
}

//! The launches of a batch and their memory.

use super::super::{Placed, Room, Stop, too_little};
use super::abi::{Block, BlockArgs, Level, LevelArgs, Plane, Segment, Tile, TileArgs};
use super::stream::Jpeg2000Stream;
use super::template::{Coded, RANKS, Template};
use crate::abi::{Plain, bytes_of};
use crate::launch::Launch;
use strile_engine::EngineError;

/// Modules (`.cu` files) of the kernels.
const MODULE: &str = "jpeg2000";
const HT_MODULE: &str = "jpeg2000_ht";
/// Threads per CUDA block of the kernels.
const UNSTUFF_THREADS: u32 = 128;
const BLOCK_THREADS: u32 = 32;
const HT_THREADS: u32 = 128;
const COEFFICIENT_THREADS: u32 = 128;
const PIXEL_THREADS: u32 = 256;
/// Number of warps per batch above which several lanes of a warp take a code-block each. Measured on an H200, which has
/// 528 schedulers: with fewer warps the lanes of one warp only wait for each other.
const MANY_WARPS: usize = 528;
const MANY_HT_WARPS: usize = 1056;

/// A step of a batch on its stream.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// Sets memory to 0: address and bytes, a multiple of 4.
    Clear(u64, u64),
    /// Runs a kernel over code-blocks or their segments.
    Blocks(Launch, BlockArgs),
    /// Runs a kernel over the planes of one wavelet level.
    Levels(Launch, LevelArgs),
    /// Runs the kernel over tiles.
    Tiles(Launch, TileArgs),
}

/// Returns the launch of a kernel of `jpeg2000.cu`.
fn of_module(entry: &'static str, grid: (u32, u32), threads: u32) -> Launch {
    Launch { module: MODULE, entry, grid, threads }
}

/// Fills the tables of a batch and returns its steps.
pub(super) fn lay_out(
    pictures: &[Placed<Jpeg2000Stream>],
    room: &Room,
    tables: &mut [u8],
) -> Result<Vec<Step>, Stop> {
    // Planes come first; the memory behind them holds first the states of code-blocks, later the row results of the
    // wavelet.
    let planes_len: u64 = templates(pictures).map(|made| made.planes_len).sum();
    let states_len: u64 = templates(pictures).map(|made| made.states_len).sum();
    let scratch_len = planes_len + planes_len.max(states_len);
    if scratch_len > room.scratch_len {
        return Err(too_little("working memory", scratch_len, room.scratch_len));
    }
    let len = tables.len() as u64;
    let mut filled = Filled { tables, len, at: room.tables };
    let mut steps = vec![Step::Clear(room.scratch, planes_len)];
    let states = room.scratch + planes_len;
    let args = filled.coded(pictures, |made| &made.arithmetic, (room, states), MANY_WARPS)?;
    arithmetic(&mut steps, args);
    let args = filled.coded(pictures, |made| &made.high_throughput, (room, states), MANY_HT_WARPS)?;
    high_throughput(&mut steps, args);
    let deepest = templates(pictures).map(|made| made.levels.len()).max().unwrap_or(0);
    for index in 0..deepest {
        let levels = levels(pictures, index, room.scratch, planes_len);
        let args = LevelArgs { levels: filled.put(&levels)?, count: count(&levels), reserved: 0 };
        // A row's pair may begin before the row; a part of a column has four pairs.
        for (entry, wider, rows) in [("jpeg2000_rows", 2, 1), ("jpeg2000_columns", 0, 8)] {
            let patches = |level: &Level| patches(level.width + wider, (level.height + 1).div_ceil(rows));
            let grid = (args.count, levels.iter().map(patches).max().unwrap_or(1));
            steps.push(Step::Levels(of_module(entry, grid, PIXEL_THREADS), args));
        }
    }
    let (tiles, planes) = tiles(pictures, room.scratch);
    let args = TileArgs {
        tiles: filled.put(&tiles)?,
        planes: filled.put(&planes)?,
        statuses: room.statuses,
        count: count(&tiles),
        reserved: 0,
    };
    let pixels = |tile: &Tile| patches(tile.width, tile.height);
    let grid = (args.count, tiles.iter().map(pixels).max().unwrap_or(1));
    steps.push(Step::Tiles(of_module("jpeg2000_pixels", grid, PIXEL_THREADS), args));
    Ok(steps)
}

fn templates(pictures: &[Placed<Jpeg2000Stream>]) -> impl Iterator<Item = &Template> {
    pictures.iter().map(|placed| &placed.picture.template)
}

/// Returns the planes of a wavelet level.
fn levels(pictures: &[Placed<Jpeg2000Stream>], index: usize, mut base: u64, planes_len: u64) -> Vec<Level> {
    let mut levels = Vec::with_capacity(pictures.len());
    for made in templates(pictures) {
        let own = made.levels.get(index).map_or(&[][..], Vec::as_slice);
        levels.extend(own.iter().map(|level| {
            let plane = base + level.plane;
            Level { plane, spare: plane + planes_len, ..*level }
        }));
        base += made.planes_len;
    }
    levels
}

fn tiles(pictures: &[Placed<Jpeg2000Stream>], mut base: u64) -> (Vec<Tile>, Vec<Plane>) {
    let mut tiles = Vec::with_capacity(pictures.len());
    let mut planes = Vec::with_capacity(pictures.len());
    for placed in pictures {
        let made = &placed.picture.template;
        let first = count(&planes);
        tiles.extend(made.tiles.iter().map(|tile| Tile {
            dst: placed.dst,
            status: placed.status,
            planes: first + tile.planes,
            ..*tile
        }));
        planes.extend(made.planes.iter().map(|plane| Plane { plane: base + plane.plane, ..*plane }));
        base += made.planes_len;
    }
    (tiles, planes)
}

fn arithmetic(steps: &mut Vec<Step>, args: BlockArgs) {
    let warps = args.count.div_ceil(args.lanes);
    for (entry, blocks, threads) in [
        ("jpeg2000_unstuff", args.segment_count.div_ceil(UNSTUFF_THREADS), UNSTUFF_THREADS),
        ("jpeg2000_blocks", warps, BLOCK_THREADS),
        ("jpeg2000_coefficients", args.count, COEFFICIENT_THREADS),
    ] {
        if blocks > 0 {
            steps.push(Step::Blocks(of_module(entry, (blocks, 1), threads), args));
        }
    }
}

fn high_throughput(steps: &mut Vec<Step>, args: BlockArgs) {
    if args.count > 0 {
        let warps = args.count.div_ceil(args.lanes);
        let grid = (warps.div_ceil(HT_THREADS / 32), 1);
        let launch = Launch { module: HT_MODULE, entry: "jpeg2000_ht_blocks", grid, threads: HT_THREADS };
        steps.push(Step::Blocks(launch, args));
    }
}

/// Returns the CUDA blocks for one plane or tile: one per patch; if there are very many, several patches each.
fn patches(width: u32, lines: u32) -> u32 {
    let patches = u64::from(width.div_ceil(256)) * u64::from(lines.div_ceil(8));
    u32::try_from(patches.clamp(1, 32_768)).unwrap_or(1)
}

fn count<T>(items: &[T]) -> u32 {
    u32::try_from(items.len()).unwrap_or(u32::MAX)
}

/// The table memory of a batch, filled from the front.
struct Filled<'a> {
    /// Remaining bytes.
    tables: &'a mut [u8],
    /// Bytes in total.
    len: u64,
    at: u64,
}

impl Filled<'_> {
    /// Adds items and returns their device address. Sizes of all items are multiples of 8.
    fn put<T: Plain>(&mut self, items: &[T]) -> Result<u64, Stop> {
        let bytes = bytes_of(items);
        let found = self.len - self.tables.len() as u64 + bytes.len() as u64;
        let split = std::mem::take(&mut self.tables).split_at_mut_checked(bytes.len());
        let (own, rest) = split.ok_or_else(|| too_little("tables", found, self.len))?;
        own.copy_from_slice(bytes);
        self.tables = rest;
        let at = self.at;
        self.at += bytes.len() as u64;
        Ok(at)
    }

    /// Adds the code-blocks of one coding method, longest first: similar code-blocks of a warp finish together, and
    /// short ones remain for the end.
    fn coded(
        &mut self,
        pictures: &[Placed<Jpeg2000Stream>],
        of: impl Fn(&Template) -> &Coded,
        (room, mut states): (&Room, u64),
        many_warps: usize,
    ) -> Result<BlockArgs, Stop> {
        // Position of the next code-block of each rank.
        let mut next = vec![0_usize; RANKS + 1];
        for &rank in templates(pictures).flat_map(|made| &of(made).ranks) {
            *next.get_mut(usize::from(rank) + 1).ok_or(EngineError::Abandoned)? += 1;
        }
        let mut sum = 0;
        for place in &mut next {
            sum += *place;
            *place = sum;
        }
        let mut blocks = vec![Block::default(); sum];
        let mut segments = Vec::with_capacity(templates(pictures).map(|made| of(made).segments.len()).sum());
        let mut planes = room.scratch;
        for placed in pictures {
            let made = &placed.picture.template;
            let (coded, first) = (of(made), count(&segments));
            for (block, &rank) in coded.blocks.iter().zip(&coded.ranks) {
                let place = next.get_mut(usize::from(rank)).ok_or(EngineError::Abandoned)?;
                *blocks.get_mut(*place).ok_or(EngineError::Abandoned)? = Block {
                    state: states + block.state,
                    out: planes + block.out,
                    segment: first + block.segment,
                    status: placed.status,
                    ..*block
                };
                *place += 1;
            }
            let moved = |segment: &Segment| Segment { words: placed.bytes + segment.words, ..*segment };
            segments.extend(coded.segments.iter().map(moved));
            states += made.states_len;
            planes += made.planes_len;
        }
        let lanes = blocks.len().div_ceil(many_warps).next_power_of_two().clamp(1, 32);
        Ok(BlockArgs {
            segments: self.put(&segments)?,
            blocks: self.put(&blocks)?,
            statuses: room.statuses,
            segment_count: count(&segments),
            count: count(&blocks),
            lanes: u32::try_from(lanes).unwrap_or(32),
            reserved: 0,
        })
    }
}

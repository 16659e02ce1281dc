//! The plan of a read.

use super::{batches, coalesce, parts, rows_of_part};
use crate::bytes::human;
use crate::device::{Decode, Judged, longest_block, picture_memory};
use crate::options::{Interleave, ReadOptions};
use crate::source::Source;
use crate::unpack::Unpacking;
use crate::window::Window;
use std::ops::Range;
use std::sync::Arc;
use strile_engine::{
    BlockAddress, BlockLayout, BlockTask, Convert, Fill, Location, OutputError, OutputSpec, Placement, Span,
};
use strile_tiff::{Image, Planar};

/// Encoded bytes of one staged batch.
const BATCH_BYTES: u64 = 32 << 20;
/// Decoded bytes of one batch on a device, at most.
const DEVICE_BATCH_BYTES: u64 = 256 << 20;
/// Blocks this close together in a file are fetched as one range.
const MERGE_GAP: u64 = 64 << 10;

/// How encoded bytes get to the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fetch {
    /// The decoding threads read them from the local source.
    Pulled,
    /// cuFile reads them from the file into the device's memory.
    Direct,
    /// They are read into staging memory, a batch ahead of decoding.
    Staged,
}

/// Memory a read takes, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryNeed {
    /// The result.
    pub output: u64,
    /// The largest block, encoded and decoded; one such scratch a thread.
    pub scratch_per_thread: u64,
    /// Staging: two batches in flight.
    pub staging: u64,
    /// About what is taken of a GPU's memory: the result where it stays there, and two batches in flight.
    pub device: u64,
}

/// What a read will do. `Display` tells it in words.
#[derive(Debug, Clone)]
pub struct ReadPlan {
    /// The file that is read.
    pub file: String,
    /// Page, and overview of it.
    pub page: usize,
    /// `None` the full image.
    pub overview: Option<usize>,
    /// How many times it is halved while it is decoded.
    pub reduce: u8,
    /// Size of the level.
    pub level_size: (u32, u32),
    /// The pixels wanted.
    pub window: Window,
    /// Bands wanted, from 1.
    pub bands: Vec<u16>,
    /// The engine's name.
    pub engine: String,
    /// Why that engine.
    pub engine_reason: String,
    /// The estimates it was chosen by, where the choice was free.
    pub judged: Option<Judged>,
    /// Where blocks are decompressed.
    pub decode: Decode,
    /// What was asked of a GPU and is not done, and why; blocks that it leaves to the host.
    pub notes: Vec<String>,
    /// The memory that the engine decodes into.
    pub destination: Location,
    /// What is done to the whole result on the host after decoding, in words.
    pub after: Vec<String>,
    /// What is made of samples as they are placed; `None` where they stay as they are.
    pub convert: Option<Convert>,
    /// How bytes get to it.
    pub fetch: Fetch,
    /// The shape of the result.
    pub output: OutputSpec,
    /// What memory it takes.
    pub memory: MemoryNeed,
    pub(crate) file_len: u64,
    pub(crate) layout: Arc<BlockLayout>,
    pub(crate) selection: Vec<u16>,
    pub(crate) batches: Vec<Vec<BlockTask>>,
}

/// What a plan is made from.
pub(crate) struct Facts<'a> {
    pub(crate) source: &'a dyn Source,
    pub(crate) image: Arc<Image>,
    pub(crate) layout: Arc<BlockLayout>,
    pub(crate) window: Window,
    /// Bands from 1, all there.
    pub(crate) bands: Vec<u16>,
    pub(crate) unpacking: Option<Unpacking>,
}

/// What was decided before the plan is made.
pub(crate) struct Decided {
    pub(crate) engine: String,
    pub(crate) engine_reason: String,
    pub(crate) judged: Option<Judged>,
    pub(crate) decode: Decode,
    pub(crate) notes: Vec<String>,
    pub(crate) fetch: Fetch,
    pub(crate) destination: Location,
    pub(crate) after: Vec<String>,
    pub(crate) output: OutputSpec,
}

impl ReadPlan {
    /// What blocks without pixels get in the result.
    pub(crate) fn fill(&self) -> Fill {
        let fill = self.layout.extras.fill;
        let converted =
            self.convert.map(|convert| convert.sample(self.layout.data_type, &fill, self.output.data_type));
        converted.map_or(fill, Option::unwrap_or_default)
    }
}

impl Facts<'_> {
    /// Planes that are read: where samples are interleaved, the one there is.
    fn planes(&self) -> Vec<u16> {
        match self.image.planar {
            Planar::Chunky => vec![0],
            Planar::Separate => self.bands.iter().map(|band| band - 1).collect(),
        }
    }

    /// Indices into the block table that the plan needs, in the order in which it wants their spans.
    pub(crate) fn runs(&self) -> Vec<Range<u64>> {
        let grid = &self.image.grid;
        let (rows, columns) = (self.window.block_rows(grid), self.window.block_columns(grid));
        let run = |plane: u16, row: u32| {
            let first = grid.index(columns.start, row, plane);
            first..first + u64::from(columns.end - columns.start)
        };
        let mut runs: Vec<Range<u64>> = Vec::new();
        for plane in self.planes() {
            for row in rows.clone() {
                let next = run(plane, row);
                match runs.last_mut() {
                    Some(last) if last.end == next.start => last.end = next.end,
                    _ => runs.push(next),
                }
            }
        }
        runs
    }

    /// How many blocks those are.
    pub(crate) fn blocks(&self) -> u64 {
        self.runs().iter().fold(0u64, |sum, run| sum.saturating_add(run.end - run.start))
    }

    /// Bytes of a block as it is stored, decoded: more than the layout's where levels are left out.
    pub(crate) fn stored_len(&self) -> usize {
        let decoded = self.layout.decoded_len(self.layout.height).unwrap_or(usize::MAX);
        let times = 1usize.checked_shl(2 * u32::from(self.layout.extras.reduce)).unwrap_or(usize::MAX);
        decoded.saturating_mul(times)
    }

    /// The shape of the result.
    pub(crate) fn output(&self, options: &ReadOptions) -> Result<OutputSpec, OutputError> {
        let bands = u32::try_from(self.bands.len()).unwrap_or(u32::MAX);
        let make = match options.interleave {
            Interleave::BandFirst => OutputSpec::band_first,
            Interleave::BandLast => OutputSpec::band_last,
        };
        let data_type = self.unpacking.map_or(self.layout.data_type, |unpacking| unpacking.data_type);
        make(data_type, bands, self.window.height, self.window.width)
    }
}

/// Makes the plan; `spans` are those of `facts.runs()`.
pub(crate) fn plan_read(
    facts: Facts<'_>,
    decided: Decided,
    spans: &[Option<Span>],
    options: &ReadOptions,
) -> ReadPlan {
    let mut tasks = tasks_of(&facts, options.overview, spans);
    tasks.sort_by_key(|task| task.address);
    let encoded = tasks.iter().filter_map(|task| task.span).map(|span| span.len).max().unwrap_or(0);
    // Uncompressed blocks that are cut are placed from where they were read.
    let decoded = match rows_of_part(&facts.layout) {
        Some(_) => 0,
        None => facts.layout.decoded_len(facts.layout.height).unwrap_or(usize::MAX),
    };
    let batches = match decided.fetch {
        Fetch::Pulled | Fetch::Direct => vec![tasks],
        Fetch::Staged => batches(tasks, BATCH_BYTES),
    };
    let staging = match decided.fetch {
        Fetch::Pulled | Fetch::Direct => 0,
        Fetch::Staged => batches
            .iter()
            .map(|batch| staged_len(batch, facts.source.len()))
            .max()
            .unwrap_or(0)
            .saturating_mul(2),
    };
    let mut notes = decided.notes;
    if decided.decode == Decode::Kernels {
        notes.extend(too_long(&facts.layout, &batches));
    }
    let output = decided.output.len().map_or(u64::MAX, |len| len as u64);
    let memory = MemoryNeed {
        output,
        scratch_per_thread: (decoded as u64).saturating_add(encoded),
        staging,
        device: match decided.decode {
            Decode::Cpu => 0,
            Decode::Kernels | Decode::Nvcomp(_) | Decode::Nvjpeg(_) | Decode::Host(_) => {
                device_need(&facts.layout, &batches, output, decided.destination)
            }
        },
    };
    ReadPlan {
        file: facts.source.name().to_owned(),
        file_len: facts.source.len(),
        page: options.page,
        overview: options.overview,
        reduce: options.reduce,
        level_size: (facts.image.width, facts.image.height),
        window: facts.window,
        engine: decided.engine,
        engine_reason: decided.engine_reason,
        judged: decided.judged,
        decode: decided.decode,
        notes,
        destination: decided.destination,
        after: decided.after,
        convert: facts.unpacking.map(|unpacking| unpacking.convert),
        fetch: decided.fetch,
        output: decided.output,
        memory,
        selection: match facts.image.planar {
            Planar::Chunky => facts.bands.iter().map(|band| band - 1).collect(),
            Planar::Separate => vec![0],
        },
        bands: facts.bands,
        layout: facts.layout,
        batches,
    }
}

/// Says how many blocks are longer than kernels take, where any are.
fn too_long(layout: &BlockLayout, batches: &[Vec<BlockTask>]) -> Option<String> {
    let longest = longest_block(layout)?;
    let spans = batches.iter().flatten().filter_map(|task| task.span);
    let count = spans.filter(|span| span.len > longest).count();
    let words = |longest: String| {
        format!(
            "{count} blocks longer than {longest} decoded on the host: each would hold the device for long"
        )
    };
    (count > 0).then(|| words(human(longest)))
}

/// Two batches in flight, decompressed and encoded, or what pictures take; and the result or the part of it that they make.
fn device_need(layout: &BlockLayout, batches: &[Vec<BlockTask>], output: u64, destination: Location) -> u64 {
    let block = layout.decoded_len(layout.height).map_or(u64::MAX, |len| len as u64);
    let spans = || batches.iter().flatten().filter_map(|task| task.span);
    let decoded = block.saturating_mul(spans().count() as u64);
    let encoded = spans().fold(0u64, |sum, span| sum.saturating_add(span.len));
    let in_flight = |bytes: u64| bytes.min(2 * DEVICE_BATCH_BYTES.max(block));
    let result = match destination {
        Location::Host => in_flight(output),
        Location::Cuda(_) => output,
    };
    let share = u128::from(in_flight(decoded)) * u128::from(encoded) / u128::from(decoded.max(1));
    let share = u64::try_from(share).unwrap_or(u64::MAX);
    let working = picture_memory(layout, spans().count() as u64, encoded);
    result.saturating_add(working.unwrap_or_else(|| in_flight(decoded).saturating_add(share)))
}

/// The blocks of the facts' window; `spans` are those of `facts.runs()`.
pub(crate) fn tasks_of(facts: &Facts<'_>, overview: Option<usize>, spans: &[Option<Span>]) -> Vec<BlockTask> {
    let grid = &facts.image.grid;
    let level = overview.map_or(0, |k| u32::try_from(k).unwrap_or(u32::MAX).saturating_add(1));
    let mut spans = spans.iter().copied();
    let mut tasks = Vec::with_capacity(spans.len());
    for (at, plane) in (0u32..).zip(facts.planes()) {
        for row in facts.window.block_rows(grid) {
            for column in facts.window.block_columns(grid) {
                let span = spans.next().flatten();
                let Some(placement) = placement_of(facts, column, row, at) else { continue };
                let address = BlockAddress { level, row, column, plane: u32::from(plane) };
                let task =
                    BlockTask { source: 0, layout: 0, selection: 0, output: 0, span, address, placement };
                tasks.extend(parts(task, &facts.layout));
            }
        }
    }
    tasks
}

fn placement_of(facts: &Facts<'_>, column: u32, row: u32, first_band: u32) -> Option<Placement> {
    let (grid, image) = (&facts.image.grid, &facts.image);
    let (left, top) = (column * grid.block_width, row * grid.block_height);
    let block = Window {
        x: left,
        y: top,
        width: grid.block_width.min(image.width - left),
        height: grid.block_height.min(image.height - top),
    };
    let part = block.intersection(&facts.window)?;
    Some(Placement {
        rows: grid.rows_of(row, image.height),
        image_rows: block.height,
        block_x: part.x - left,
        block_y: part.y - top,
        width: part.width,
        height: part.height,
        out_x: part.x - facts.window.x,
        out_y: part.y - facts.window.y,
        first_band,
    })
}

/// The byte ranges of blocks inside a file of `file_len` bytes, merged.
pub(crate) fn fetches(tasks: &[BlockTask], file_len: u64) -> Vec<Range<u64>> {
    merged(tasks.iter().filter_map(|task| task.span), file_len)
}

/// Bytes that are fetched for blocks at once, those between blocks that are close together included.
pub(crate) fn fetched_len(spans: &[Option<Span>], file_len: u64) -> u64 {
    let ranges = merged(spans.iter().copied().flatten(), file_len);
    ranges.iter().fold(0, |sum, range| sum.saturating_add(range.end - range.start))
}

fn merged(spans: impl Iterator<Item = Span>, file_len: u64) -> Vec<Range<u64>> {
    let ranges = spans.map(|span| span.offset..span.offset.saturating_add(span.len));
    let inside: Vec<Range<u64>> = ranges.filter(|range| range.end <= file_len).collect();
    coalesce(&inside, MERGE_GAP)
}

fn staged_len(tasks: &[BlockTask], file_len: u64) -> u64 {
    fetches(tasks, file_len).iter().map(|range| range.end - range.start).sum()
}

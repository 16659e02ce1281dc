//! The plan of a read: everything that will be done, decided before any pixel is touched.

use super::canvas::Canvas;
use super::sheet::{Masks, Sheet};
use super::tasks::Target;
use crate::bytes::human;
use crate::device::{Decode, Judged, longest_block, picture_memory};
use crate::source::Source;
use crate::window::Window;
use std::sync::Arc;
use strile_engine::{BlockLayout, BlockTask, Convert, Fill, Lease, Location, OutputSpec};
use strile_tiff::DataType;

/// Decoded bytes of one batch on a device, at most.
const DEVICE_BATCH_BYTES: u64 = 256 << 20;

/// How encoded bytes get to the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fetch {
    /// The decoding threads read them from the local source.
    Pulled,
    /// cuFile reads them from the file into the device's memory.
    Direct,
    /// They are read into staging memory, one batch ahead of decoding.
    Staged,
}

/// Memory a read takes, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryNeed {
    /// The result.
    pub output: u64,
    /// The largest block, encoded and decoded; one such scratch per thread.
    pub scratch_per_thread: u64,
    /// Staging: the two largest batches, which may be in flight together.
    pub staging: u64,
    /// Decoded pixels that are not part of the result: masks, and windows before they are resampled.
    pub scratch: u64,
    /// Estimated GPU memory: the result if it stays there, and two batches in flight.
    pub device: u64,
}

/// What the windows of mosaics in a read are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MosaicFigures {
    /// Windows of mosaics.
    pub windows: usize,
    /// Rectangles of files.
    pub tiles: usize,
    /// Rectangles that no file fills.
    pub gaps: usize,
    /// Sources that are blended on the host before the read: they are scaled, resampled or transparent in places.
    pub blended: usize,
}

impl MosaicFigures {
    /// Those of some windows; `None` if there are none.
    pub(super) fn of<'a>(canvases: impl Iterator<Item = &'a Canvas>) -> Option<Self> {
        canvases.fold(None, |sum: Option<Self>, canvas| {
            let Self { windows, tiles, gaps, blended } = sum.unwrap_or_default();
            Some(Self {
                windows: windows + 1,
                tiles: tiles + canvas.tiles().len(),
                gaps: gaps + canvas.gaps().len(),
                blended: blended + canvas.blended,
            })
        })
    }
}

/// What a read of one or of many windows will do. `Display` explains it in words.
pub struct ReadPlan {
    /// The file that is read, or the batch.
    pub file: String,
    /// Page of the first window.
    pub page: usize,
    /// Resolution level of the first window, 0 is full resolution.
    pub level: usize,
    /// How many times the level is halved while it is decoded.
    pub reduce: u8,
    /// Size of the first window's level.
    pub level_size: (u32, u32),
    /// The pixels of the first window that lie in its image.
    pub window: Window,
    /// Bands of the first window, from 1.
    pub bands: Vec<u16>,
    /// Windows, bands, rows and columns of the result.
    pub shape: [u32; 4],
    /// Files that are read; pages of one file count as files.
    pub files: usize,
    /// Parts of windows outside their image, which are filled.
    pub filled: usize,
    /// The engine's name.
    pub engine: String,
    /// Why that engine.
    pub engine_reason: String,
    /// The estimates that the engine was chosen by, if the choice was free.
    pub judged: Option<Judged>,
    /// Where blocks are decompressed.
    pub decode: Decode,
    /// Requests of the caller that a GPU does not fulfil, with the reason; blocks that it leaves to the host.
    pub notes: Vec<String>,
    /// The memory that the engine decodes into.
    pub destination: Location,
    /// Steps on the whole result after decoding, on the host, in words.
    pub after: Vec<String>,
    /// How samples of the first window are converted while they are placed; `None` if they stay as they are.
    pub convert: Option<Convert>,
    /// Type of the samples that are converted.
    pub(super) stored: DataType,
    /// What else pixels of the first window are masked by, in words: a mask image or alpha.
    pub masked_by: Option<String>,
    /// What windows of mosaics are made of, if there are any.
    pub mosaics: Option<MosaicFigures>,
    /// How bytes get to the engine.
    pub fetch: Fetch,
    /// The shape of the result: the bands of all windows, one window after the other.
    pub output: OutputSpec,
    /// What memory it takes.
    pub memory: MemoryNeed,
    /// The value where nothing lies in a mosaic, for a read of one window.
    pub(super) fill: Option<Fill>,
    /// Whether it is a batch: its windows are named in errors.
    pub(super) batch: bool,
    /// What windows are decoded into.
    pub(super) sheets: Vec<Sheet>,
    pub(super) sources: Vec<Arc<dyn Source>>,
    pub(super) layouts: Vec<Arc<BlockLayout>>,
    pub(super) selections: Vec<Vec<u16>>,
    /// What their masks are decoded into.
    pub(super) masks: Vec<Masks>,
    /// The outputs of the job: of each sheet one for samples as they are, one for what is filled and one for each
    /// conversion, then one of each of the masks.
    pub(super) outputs: Vec<Target>,
    /// Whether a layout is that of filled parts.
    pub(super) edges: Vec<bool>,
    /// All blocks, in the order in which they are submitted.
    pub(super) batches: Vec<Vec<BlockTask>>,
    /// The window of each task, in that order; empty if there is one window.
    pub(super) windows: Vec<u32>,
    /// Memory of the plan itself.
    pub(super) _leases: Vec<Lease>,
}

impl ReadPlan {
    /// The layout of the first window's blocks.
    pub(super) fn layout(&self) -> Option<&BlockLayout> {
        self.layouts.first().map(AsRef::as_ref)
    }

    /// Whether a task fills a part of a window outside its image.
    pub(super) fn is_filled(&self, task: &BlockTask) -> bool {
        self.edges.get(task.layout as usize).copied().unwrap_or(false)
    }

    /// The value of blocks without pixels in the result, for a read of one window.
    pub(crate) fn fill(&self) -> Fill {
        if let Some(fill) = self.fill {
            return fill;
        }
        let Some(layout) = self.layout() else { return Fill::default() };
        let fill = layout.extras.fill;
        let converted =
            self.convert.map(|convert| convert.sample(layout.data_type, &fill, self.output.data_type));
        converted.map_or(fill, Option::unwrap_or_default)
    }
}

/// Says how many blocks are longer than kernels take, where any are.
pub(super) fn too_long(layout: &BlockLayout, batches: &[Vec<BlockTask>]) -> Option<String> {
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

/// Device memory for two batches in flight, decompressed and encoded, or for pictures, and for the result or the part of
/// it that they make.
pub(super) fn device_need(
    layout: &BlockLayout,
    batches: &[Vec<BlockTask>],
    output: u64,
    destination: Location,
) -> u64 {
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

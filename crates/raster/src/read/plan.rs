//! The plan of a read. Everything is decided before any pixel is touched.

use super::ask::Answer;
use super::canvas::Canvas;
use super::explain::count;
use super::first::First;
use super::planned::Planned;
use super::request::Asked;
use crate::device::{Choice, Decode, Judged};
use crate::grid::WarpPlan;
use crate::window::Window;
use strile_engine::{Convert, Decoder, Location, OutputSpec, Route};
use strile_tiff::DataType;

/// Counts of a plan, for display and for JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanFigures {
    /// Number of stored blocks.
    pub blocks: usize,
    /// Number of blocks that are not stored, but filled.
    pub sparse: usize,
    /// Number of these blocks that come from the cache of the process.
    pub cached: usize,
    /// Stored size of these in bytes, which is not read.
    pub cached_bytes: u64,
    /// Encoded bytes of all blocks that do not come from the cache.
    pub encoded_bytes: u64,
    /// Number of byte ranges to fetch, after merging close ones: by the engine if it reads the sources itself, else by
    /// staging.
    pub ranges: usize,
    /// Bytes of those ranges.
    pub range_bytes: u64,
    /// Number of requests to servers for these ranges, if none fails.
    pub requests: usize,
    /// Bytes of their responses.
    pub request_bytes: u64,
    /// Number of batches that are staged one after the other; 1 if the engine reads the sources itself.
    pub batches: usize,
    /// Number of batches into which the engine cuts all of these.
    pub engine_batches: usize,
}

/// How encoded bytes reach the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fetch {
    /// The decoding threads read them from the local source.
    Pulled,
    /// cuFile reads them from the file into the device's memory.
    Direct,
    /// They are read into staging memory, one batch ahead of decoding.
    Staged,
}

/// Maximum memory of a read in bytes. Not included: finding and blending sources of mosaics before the read, handling
/// damaged blocks, and memory that a decoder takes because a stream requests it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryNeed {
    /// Size of the result.
    pub output: u64,
    /// Scratch of one decoding thread on the host: the largest block, encoded and decoded.
    pub scratch_per_thread: u64,
    /// Host memory of the engine for the jobs in flight: scratch of all threads, and pixels and streams on their way to
    /// and from a device.
    pub decoding: u64,
    /// Staging: the two largest batches, which may be in flight together.
    pub staging: u64,
    /// Decoded pixels that are not part of the result: masks, and windows before they are resampled or turned.
    pub scratch: u64,
    /// Total host memory, if the result is new memory.
    pub host: u64,
    /// Total GPU memory, if the result is new memory: the result if it is there, and batches in flight.
    pub device: u64,
}

/// The sources of the mosaic windows in a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MosaicFigures {
    /// Number of windows of mosaics.
    pub windows: usize,
    /// Number of rectangles of files.
    pub tiles: usize,
    /// Number of rectangles that no file fills.
    pub gaps: usize,
    /// Number of sources that are blended before the read, in the memory of the result, because they are scaled,
    /// resampled or partly transparent.
    pub blended: usize,
    /// Number of these that are blended on the host.
    pub blended_on_host: usize,
}

impl MosaicFigures {
    /// Returns those of some windows; `None` if there are none.
    pub(super) fn of<'a>(canvases: impl Iterator<Item = &'a Canvas>) -> Option<Self> {
        canvases.fold(None, |sum: Option<Self>, canvas| {
            let Self { windows, tiles, gaps, blended, blended_on_host } = sum.unwrap_or_default();
            let on_host = |canvas: &&Canvas| canvas.blended_at == Location::Host;
            Some(Self {
                windows: windows + 1,
                tiles: tiles + canvas.all().map(|canvas| canvas.tiles().len()).sum::<usize>(),
                gaps: gaps + canvas.all().map(|canvas| canvas.gaps().len()).sum::<usize>(),
                blended: blended + canvas.all().map(|canvas| canvas.blended).sum::<usize>(),
                blended_on_host: blended_on_host
                    + canvas.all().filter(on_host).map(|canvas| canvas.blended).sum::<usize>(),
            })
        })
    }
}

/// The plan of a read of one or many windows. `Display` explains it in words.
pub struct ReadPlan {
    /// The file that is read, or the batch.
    pub file: String,
    /// Page of the first window.
    pub page: usize,
    /// Resolution level of the first window; 0 is full resolution.
    pub level: usize,
    /// Number of times that the level is halved while it is decoded.
    pub reduce: u8,
    /// Size of the first window's level.
    pub level_size: (u32, u32),
    /// The pixels of the first window that lie in its image.
    pub window: Window,
    /// Bands of the first window, from 1.
    pub bands: Vec<u16>,
    /// Windows, bands, rows and columns of the result.
    pub shape: [u32; 4],
    /// Number of files that are read. Pages of a file count as files.
    pub files: usize,
    /// Number of parts of windows outside their image, which are filled.
    pub filled: usize,
    /// The engine's name.
    pub engine: String,
    /// The reason for choosing that engine.
    pub engine_reason: String,
    /// The estimates that the engine was chosen by, if the choice was free.
    pub judged: Option<Judged>,
    /// Where blocks are decompressed.
    pub decode: Decode,
    /// Requested features that a GPU does not support, with the reason; blocks that it leaves to the host; blended
    /// sources of mosaics, with the place and the reason.
    pub notes: Vec<String>,
    /// The memory that the engine decodes into.
    pub destination: Location,
    /// Steps on the whole result after decoding, in words, each with the place where it runs.
    pub after: Vec<String>,
    /// How samples of the first window are converted while they are placed; `None` if they are unchanged.
    pub convert: Option<Convert>,
    /// Type of the samples before conversion.
    pub(super) stored: DataType,
    /// Other masks of the first window, in words: a mask image or alpha.
    pub masked_by: Option<String>,
    /// The sources of mosaic windows, if there are any.
    pub mosaics: Option<MosaicFigures>,
    /// How files are warped onto a grid, if they are.
    pub onto: Option<WarpPlan>,
    /// How bytes reach the engine.
    pub fetch: Fetch,
    /// The shape of the result: the bands of all windows, one window after the other.
    pub output: OutputSpec,
    /// The memory it takes.
    pub memory: MemoryNeed,
    /// The counts.
    pub(super) figures: PlanFigures,
    /// The read itself.
    pub(super) planned: Planned,
}

impl ReadPlan {
    /// Assembles the plan of a read from the engine's answers.
    pub(super) fn new(
        asked: Asked<'_>,
        (first, after): (First, Vec<String>),
        (choice, engine): (Choice, Answer),
        (planned, heaviest): (Planned, u32),
    ) -> Self {
        let Answer { memory, figures, routes } = engine;
        let decode = decode(&routes, heaviest, choice.engine.location());
        let engine_reason = choice.reason();
        let mut notes = choice.notes;
        notes.extend(first.blended);
        for Route { decoder, reason, declined, blocks, layout } in routes {
            for note in declined {
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
            let is_said = matches!(&decode, Decode::Host(_)) && layout == heaviest;
            match (decoder, reason) {
                (Decoder::Host, Some(reason)) if !is_said => {
                    notes.push(format!("{} decoded on the host: {reason}", count(blocks, "block")));
                }
                (Decoder::Kernels, Some(reason)) => {
                    notes.push(format!("{} decoded in segments: {reason}", count(blocks, "block")));
                }
                _ => {}
            }
        }
        Self {
            file: asked.name(),
            page: first.page,
            level: first.level,
            reduce: asked.requests.first().map_or(0, |request| request.place.reduce),
            level_size: first.level_size,
            window: first.window,
            bands: first.bands,
            shape: planned.shape,
            files: first.files,
            filled: planned.filled,
            engine: choice.engine.name().to_owned(),
            engine_reason,
            judged: choice.judged,
            decode,
            notes,
            destination: planned.destination,
            after,
            convert: first.convert,
            stored: first.stored,
            masked_by: first.masked_by,
            mosaics: first.mosaics,
            onto: None,
            fetch: planned.fetch,
            output: planned.output.clone(),
            memory,
            figures,
            planned,
        }
    }

    /// Returns the plan of a window that was blended into the memory of its result: no block of it is decoded
    /// afterwards.
    pub(crate) fn of_blended(mut self) -> Self {
        let PlanFigures { blocks, encoded_bytes, ranges, range_bytes, batches, engine_batches, .. } =
            &mut self.figures;
        (*blocks, *ranges, *batches, *engine_batches) = (0, 0, 0, 0);
        (*encoded_bytes, *range_bytes) = (0, 0);
        let memory = &mut self.memory;
        (memory.scratch_per_thread, memory.decoding) = (0, 0);
        (memory.host, memory.device) = (memory.output, 0);
        self
    }

    /// Adds another part of the same read, which follows this one.
    pub(super) fn add(&mut self, part: &Self) {
        let (own, other) = (&mut self.figures, part.figures);
        own.blocks += other.blocks;
        own.sparse += other.sparse;
        own.cached += other.cached;
        own.cached_bytes = own.cached_bytes.saturating_add(other.cached_bytes);
        own.encoded_bytes = own.encoded_bytes.saturating_add(other.encoded_bytes);
        own.ranges += other.ranges;
        own.range_bytes = own.range_bytes.saturating_add(other.range_bytes);
        own.requests += other.requests;
        own.request_bytes = own.request_bytes.saturating_add(other.request_bytes);
        own.batches += other.batches;
        own.engine_batches += other.engine_batches;
        let (own, other) = (&mut self.memory, part.memory);
        own.scratch_per_thread = own.scratch_per_thread.max(other.scratch_per_thread);
        own.decoding = own.decoding.max(other.decoding);
        own.staging = own.staging.max(other.staging);
        own.scratch = own.scratch.max(other.scratch);
        own.host = own.host.max(other.host);
        own.device = own.device.max(other.device);
        for note in &part.notes {
            if !self.notes.contains(note) {
                self.notes.push(note.clone());
            }
        }
    }

    /// Returns the counts of the plan. A block that appears in several windows counts once.
    pub fn figures(&self) -> PlanFigures {
        self.figures
    }
}

/// Returns where most blocks are decoded: the first decoder of the heaviest layout that is not the host on behalf of a
/// device.
fn decode(routes: &[Route], heaviest: u32, engine: Location) -> Decode {
    let of_layout = || routes.iter().filter(|route| route.layout == heaviest);
    let route = of_layout().find(|route| route.decoder != Decoder::Host).or_else(|| of_layout().next());
    let Some(Route { decoder, reason, .. }) = route else {
        return if engine == Location::Host { Decode::Cpu } else { Decode::Kernels };
    };
    let reason = reason.clone().unwrap_or_default();
    match decoder {
        Decoder::Cpu => Decode::Cpu,
        Decoder::Kernels => Decode::Kernels,
        Decoder::Library(name) => Decode::Library { name, reason },
        Decoder::Host => Decode::Host(reason),
    }
}

//! The plan of a read: everything that will be done, decided before any pixel is touched.

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

/// The figures of a plan, for people and for JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanFigures {
    /// Blocks that are stored.
    pub blocks: usize,
    /// Blocks not stored, filled.
    pub sparse: usize,
    /// Of these blocks, those that come from the cache of the process.
    pub cached: usize,
    /// Bytes that these are stored in and that are not read.
    pub cached_bytes: u64,
    /// Encoded bytes of all blocks that do not come from the cache.
    pub encoded_bytes: u64,
    /// Byte ranges fetched, after merging near ones: by the engine if it reads the sources itself, else by staging.
    pub ranges: usize,
    /// Bytes of those ranges.
    pub range_bytes: u64,
    /// Requests that are sent for these ranges to servers, if none fails.
    pub requests: usize,
    /// Bytes of their answers.
    pub request_bytes: u64,
    /// Batches that are staged one after the other; 1 if the engine reads the sources itself.
    pub batches: usize,
    /// Batches that the engine cuts all of these into.
    pub engine_batches: usize,
}

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

/// Memory a read takes, in bytes and at most. Finding and blending sources of mosaics before the read is not counted; nor is
/// what damaged blocks cost, or what a decoder takes because a stream asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryNeed {
    /// The result.
    pub output: u64,
    /// Scratch of one decoding thread on the host: the largest block, encoded and decoded.
    pub scratch_per_thread: u64,
    /// Host memory that the engine takes for the jobs in flight: scratch of all threads, and pixels and streams on their
    /// way to and from a device.
    pub decoding: u64,
    /// Staging: the two largest batches, which may be in flight together.
    pub staging: u64,
    /// Decoded pixels that are not part of the result: masks, and windows before they are resampled or turned.
    pub scratch: u64,
    /// Host memory in all, if the result is new memory.
    pub host: u64,
    /// GPU memory in all, if the result is new memory: the result if it is there, and batches in flight.
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
    /// Sources that are blended before the read, where the result is: they are scaled, resampled or transparent in places.
    pub blended: usize,
    /// Of these, the ones that are blended on the host.
    pub blended_on_host: usize,
}

impl MosaicFigures {
    /// Those of some windows; `None` if there are none.
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
    /// Requests of the caller that a GPU does not fulfil, with the reason; blocks that it leaves to the host; sources of mosaics that
    /// are blended, with the place and the reason.
    pub notes: Vec<String>,
    /// The memory that the engine decodes into.
    pub destination: Location,
    /// Steps on the whole result after decoding, in words, each with the place where it is done.
    pub after: Vec<String>,
    /// How samples of the first window are converted while they are placed; `None` if they stay as they are.
    pub convert: Option<Convert>,
    /// Type of the samples that are converted.
    pub(super) stored: DataType,
    /// What else pixels of the first window are masked by, in words: a mask image or alpha.
    pub masked_by: Option<String>,
    /// What windows of mosaics are made of, if there are any.
    pub mosaics: Option<MosaicFigures>,
    /// How files are put onto a grid, if they are.
    pub onto: Option<WarpPlan>,
    /// How bytes get to the engine.
    pub fetch: Fetch,
    /// The shape of the result: the bands of all windows, one window after the other.
    pub output: OutputSpec,
    /// What memory it takes.
    pub memory: MemoryNeed,
    /// What it counts.
    pub(super) figures: PlanFigures,
    /// The read itself.
    pub(super) planned: Planned,
}

impl ReadPlan {
    /// Puts the plan of a read together from what the engine says of it.
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

    /// The plan of a window that was blended into the memory of its result: no block of it is decoded after that.
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

    /// Returns what the plan counts. A block that several windows show counts once.
    pub fn figures(&self) -> PlanFigures {
        self.figures
    }
}

/// Who decodes most: the first decoder of the heaviest layout that is not the host in place of a device.
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

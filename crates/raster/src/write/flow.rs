//! Turns pixels of a whole raster, or of a part of it, into encoded blocks.
//!
//! Pieces become cells (`cells`). The engine encodes full cells in batches, which go to a `Taker`, and reduces them to
//! the cells of the next level (`halo`). All of this overlaps: while a batch is encoded the next one is gathered.
//! `course` decides which levels pass; `kept` holds reduced pixels, and overviews that wait for all of them.

mod course;
mod kept;

pub(crate) use course::{Course, Extent};

use super::alpha::{alpha_band, masks_of_band};
use super::beyond::Collected;
use super::cells::{Cell, Cells, Deposit, Whole, refused};
use super::halo::{Below, Waiting};
use super::options::WriteOptions;
use super::piece::{Piece, PieceBytes};
use super::plan::{FullImage, LevelPlan, WritePlan};
use super::spec::RasterSpec;
use crate::Window;
use crate::device::Choice;
use crate::error::{Error, Result};
use std::collections::VecDeque;
use std::sync::Arc;
use strile_engine::{
    BlockAddress, Context, EncodeJob, EncodeLayout, EncodeTask, EncodedBlocks, Given, Lease, Location,
    OutputError, OutputSpec, ReduceJob, Reduced, SharedPixels, Ticket, Trace,
};
use strile_tiff::{BlockKind, Compression, DataType};

/// Number of batches that are encoded or wait for it at a time.
const IN_FLIGHT: usize = 2;

/// A batch is this fraction of the buffer: one is gathered while two are encoded, and one is reduced.
const BATCHES: u64 = 4;

/// Maximum bytes of a batch of uncompressed blocks: encoding them is copying, and the copy should still be in the
/// caches when it is written.
const STORED_BATCH: u64 = 8 << 20;

/// Receives encoded blocks.
pub(crate) trait Taker {
    /// Returns the name for messages.
    fn name(&self) -> &str;

    /// Takes the blocks of a batch. Layouts are numbered by level, image and mask alternating.
    fn put_all(&mut self, encoded: EncodedBlocks) -> Result<()>;
}

/// Collects pieces into blocks, computes overviews and encodes both in batches.
pub(crate) struct Flow<T> {
    pub(crate) plan: Arc<WritePlan>,
    pub(crate) spec: Arc<RasterSpec>,
    pub(crate) engine: Choice,
    pub(crate) context: Context,
    pub(crate) taker: T,
    first: usize,
    /// Levels from `first` on.
    levels: Vec<LevelWork>,
    beyond: Option<Collected>,
    /// Complete cells that are not encoded yet.
    ready: Vec<Arc<Cell>>,
    ready_bytes: u64,
    /// Cells that are, or are being, reduced and wait to be encoded: a few are not worth a batch.
    held: Vec<Arc<Cell>>,
    held_bytes: u64,
    /// Whether cells are held until all have arrived, to be encoded in the order of the file.
    keeps: bool,
    batch: u64,
    /// Whether only one job runs at a time: each takes the threads the call may use, and two would take twice as many.
    alone: bool,
    encoding: VecDeque<Encoding>,
    encoding_bytes: u64,
    reducing: Option<Reducing>,
    pub(crate) blocks: u64,
    pub(crate) sparse: u64,
}

struct LevelWork {
    cells: Cells,
    extent: Extent,
    /// `None` for the smallest level.
    waiting: Option<Waiting>,
    /// Whether only the reduced pixels of cells take memory.
    lent: bool,
}

struct Encoding {
    ticket: Ticket<EncodedBlocks>,
    bytes: u64,
    cells: Vec<Arc<Cell>>,
}

struct Reducing {
    ticket: Ticket<Vec<Reduced>>,
    targets: Vec<(usize, Window)>,
    cells: Vec<Arc<Cell>>,
}

/// Returns the bytes that the blocks of a cell take once they are encoded, if they contain hardly anything but padding:
/// all of them without compression; codecs make at most a 64th of it.
fn padded(level: &LevelPlan) -> u64 {
    let LevelPlan { grid, image, block_rows, .. } = level;
    let block = image.block.decoded_len(grid.block_height).map_or(u64::MAX, |len| len as u64);
    let blocks = u64::from(grid.planes).saturating_mul(u64::from(*block_rows));
    let share = if image.block.compression == Compression::None { 1 } else { 64 };
    block.saturating_mul(blocks) / share
}

impl<T: Taker> Flow<T> {
    pub(crate) fn new(
        (plan, spec): (Arc<WritePlan>, Arc<RasterSpec>),
        course: Course,
        options: &WriteOptions,
        (engine, context): (Choice, &Context),
        taker: T,
    ) -> Result<Self> {
        let room = options.room(engine.engine.location()).min(context.budget.limit() / 2);
        let collected = |window| Collected::new(window, &spec, plan.planar, context);
        let (first, levels) = (course.first, levels_of(&plan, &course));
        let stored =
            plan.levels.first().is_some_and(|level| level.image.block.compression == Compression::None);
        let batch = match stored && engine.engine.location() == Location::Host {
            true => (room / BATCHES).min(STORED_BATCH),
            false => room / BATCHES,
        };
        Ok(Self {
            beyond: course.beyond.map(collected).transpose()?,
            plan,
            spec,
            engine,
            context: Context { cancel: context.cancel.part(), ..context.clone() },
            taker,
            first,
            levels,
            ready: Vec::new(),
            ready_bytes: 0,
            held: Vec::new(),
            held_bytes: 0,
            keeps: false,
            batch: batch.max(1),
            alone: std::thread::available_parallelism().is_ok_and(|all| context.threads < all),
            encoding: VecDeque::new(),
            encoding_bytes: 0,
            reducing: None,
            blocks: 0,
            sparse: 0,
        })
    }

    fn level(&mut self, level: usize) -> Option<&mut LevelWork> {
        level.checked_sub(self.first).and_then(|at| self.levels.get_mut(at))
    }

    /// Takes pixels again, along another course that collects nothing beyond it. The previous course is settled.
    pub(crate) fn follow(&mut self, course: &Course) {
        (self.first, self.levels) = (course.first, levels_of(&self.plan, course));
    }

    /// Returns the first pixels that were not given.
    pub(crate) fn missing(&self) -> Option<Window> {
        self.levels.first().and_then(|level| level.cells.missing())
    }

    /// Encodes and reduces everything that was given.
    pub(crate) fn drain(&mut self) -> Result<()> {
        self.settle()?;
        while !self.encoding.is_empty() {
            self.land()?;
        }
        Ok(())
    }

    /// Reduces everything that was given, and starts to encode the rest of it, unless it is kept. Its results are taken
    /// before those of pixels that are given later.
    pub(crate) fn settle(&mut self) -> Result<()> {
        while !self.ready.is_empty() || self.reducing.is_some() {
            self.flush()?;
        }
        if self.keeps { Ok(()) } else { self.encode_held() }
    }

    /// Releases all pixels. Pixels that are still being encoded or reduced are lost.
    pub(crate) fn let_go(&mut self) {
        if !self.encoding.is_empty() || self.reducing.is_some() {
            self.context.cancel.cancel();
        }
        self.encoding.clear();
        self.reducing = None;
        self.ready.clear();
        self.held.clear();
        self.levels.iter_mut().filter_map(|level| level.waiting.as_mut()).for_each(Waiting::let_go);
    }

    /// Takes the reduced pixels that are not encoded here, once.
    pub(crate) fn take_beyond(&mut self) -> Option<Collected> {
        self.beyond.take()
    }

    /// Returns whether the engine can read pixels of this shape in place, in host memory that is shared with it: their
    /// rows are laid out as in a cell.
    pub(crate) fn reads_in_place(&self, spec: &OutputSpec) -> bool {
        let (size, strides) = (spec.data_type.size(), spec.strides);
        let by_bands = strides.column == size && (spec.bands == 1 || strides.band > size);
        let by_pixels = strides.band == size && strides.column == size * spec.bands as usize;
        self.engine.engine.location() == Location::Host && (by_bands || by_pixels)
    }

    /// Takes pixels of the first level. `shared` are the same pixels, if they can also be read in place after the call.
    pub(crate) fn write(&mut self, piece: &Piece<'_>, shared: Option<&SharedPixels>) -> Result<()> {
        let Piece { window, spec, pixels, mask } = piece;
        self.check_place(window)?;
        let found = (spec.data_type, spec.bands, spec.rows, spec.columns);
        let expected = (self.spec.data_type, u32::from(self.spec.bands), window.height, window.width);
        if found != expected {
            let shape =
                |(t, b, r, c): (strile_tiff::DataType, u32, u32, u32)| format!("{b} × {r} × {c} of {t}");
            let (found, expected) = (shape(found), shape(expected));
            return Err(refused(format!("piece {window}: expected {expected}, got {found}")));
        }
        let need = spec.len().map_err(|error| refused(error.to_string()))? as u64;
        if pixels.len() < need {
            let have = pixels.len();
            return Err(refused(format!("piece {window}: expected {need} bytes, got {have}")));
        }
        let mask_len = u64::from(window.width) * u64::from(window.height);
        match (mask, self.spec.mask) {
            (Some(mask), true) if mask.len() == mask_len => {}
            (None, false) => {}
            (found, _) => {
                let found = found.as_ref().map_or(0, PieceBytes::len);
                let expected = if self.spec.mask { mask_len } else { 0 };
                let problem = format!("the mask of piece {window}: expected {expected} bytes, got {found}");
                return Err(refused(problem));
            }
        }
        let wrong = |error: OutputError| refused(error.to_string());
        let mask_spec =
            OutputSpec::band_first(DataType::U8, 1, window.height, window.width).map_err(wrong)?;
        let on_device = |bytes: &PieceBytes<'_>, spec: &OutputSpec| match bytes {
            PieceBytes::Host(_) => Ok(None),
            PieceBytes::Device(memory) => {
                let here = Location::Cuda(memory.device());
                if here != self.engine.engine.location() {
                    let engine = self.engine.engine.name();
                    let problem =
                        format!("piece {window} is in {here}, which the engine {engine} does not read");
                    return Err(refused(problem));
                }
                SharedPixels::on_device(spec.clone(), memory.clone()).map(Some).map_err(wrong)
            }
        };
        let there = on_device(pixels, spec)?;
        let mask_there = mask.as_ref().map_or(Ok(None), |mask| on_device(mask, &mask_spec))?;
        let deposit = Deposit {
            window: *window,
            pixels: given(pixels, spec, there.as_ref().or(shared)),
            mask: mask.as_ref().map(|mask| given(mask, &mask_spec, mask_there.as_ref())),
            lasting: shared.is_some(),
        };
        self.deposit(self.first, &deposit, true)
    }

    fn check_place(&self, window: &Window) -> Result<()> {
        let level = self.plan.levels.get(self.first);
        let (width, height) = level.map_or((0, 0), |level| (level.width, level.height));
        if !window.is_inside(width, height) {
            return Err(refused(format!(
                "piece {window} is not inside the image of {width} × {height} pixels"
            )));
        }
        match self.levels.first().map(|level| level.extent.need) {
            Some(need) if need.intersection(window) != Some(*window) => {
                Err(refused(format!("piece {window} is not inside {need}, which the part is made of")))
            }
            _ => Ok(()),
        }
    }

    /// Takes in pixels of a level, and encodes if a batch is complete and `may_flush`.
    fn deposit(&mut self, level: usize, given: &Deposit<'_>, may_flush: bool) -> Result<()> {
        let Some(touched) = self.level(level).map(|work| work.cells.touched(&given.window)) else {
            return match &mut self.beyond {
                Some(beyond) => beyond.put(given, self.engine.engine.as_ref(), &self.context),
                None => Ok(()),
            };
        };
        let mut wholes = Vec::new();
        let mut bytes = 0;
        for at in touched {
            let Some(whole) = self.add(level, at, given)? else { continue };
            bytes += whole.bytes(given.pixels.spec());
            wholes.push(whole);
            if bytes >= self.batch {
                self.close(level, std::mem::take(&mut wholes), given, may_flush)?;
                bytes = 0;
            }
        }
        self.close(level, wholes, given, may_flush)
    }

    /// Takes in the pixels of a deposit in one cell. Returns the parts of the cell if that completes it.
    fn add(&mut self, level: usize, at: (u32, u32), given: &Deposit<'_>) -> Result<Option<Whole>> {
        let number = level - self.first;
        self.with_memory(|work| match work.levels.get_mut(number) {
            Some(own) => own.cells.add(at, given, work.engine.engine.as_ref(), &work.context),
            None => Ok(None),
        })
    }

    /// Assembles the cells that a deposit completed, or several deposits that last.
    fn close(
        &mut self,
        level: usize,
        mut wholes: Vec<Whole>,
        given: &Deposit<'_>,
        may_flush: bool,
    ) -> Result<()> {
        let number = level - self.first;
        let cells = self.with_memory(|work| match work.levels.get_mut(number) {
            Some(own) => own.cells.close(&mut wholes, given, work.engine.engine.as_ref(), &work.context),
            None => Ok(Vec::new()),
        })?;
        for cell in cells {
            self.ready_bytes += self.weight(&cell);
            self.ready.push(Arc::new(cell));
            if may_flush && self.ready_bytes >= self.batch {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Takes memory for pixels until they are encoded.
    pub(crate) fn lease(&mut self, bytes: u64) -> Result<Lease> {
        self.with_memory(|flow| Ok(flow.context.take_kept(bytes, "pixels waiting to be encoded")?))
    }

    /// Runs a step that takes memory. If there is none, repeats it after batches in flight have released theirs.
    fn with_memory<R>(&mut self, mut step: impl FnMut(&mut Self) -> Result<R>) -> Result<R> {
        loop {
            match step(self) {
                Err(Error::Memory { .. }) if !self.encoding.is_empty() => self.land()?,
                Err(Error::Memory { .. }) if !self.held.is_empty() => {
                    self.keeps = false;
                    self.encode_held()?;
                }
                done => return done,
            }
        }
    }

    /// Returns the weight of a cell in a batch: on the host its pixels or, if they are lent, its reduced pixels, and at
    /// least its encoded padding; on a device the memory that it and the encoder of its blocks take there. A level that is not in the file counts like
    /// one that is, to bound the pixels that wait to be reduced. A cell that is only reduced, because cells are kept,
    /// counts its reduced pixels twice: reduced, and assembled.
    fn weight(&self, cell: &Cell) -> u64 {
        let Some(level) = self.plan.levels.get(cell.level) else { return 0 };
        let spec = cell.pixels.spec();
        let pixel = spec.data_type.size() as u64 * u64::from(spec.bands) + u64::from(cell.mask.is_some());
        let pixels = u64::from(cell.window.width) * u64::from(cell.window.height) * pixel;
        let lent = self.work(cell).is_some_and(|work| work.lent);
        match self.engine.engine.location() {
            Location::Host if lent => return cell.bytes.saturating_add(pixels / 4).max(padded(level)),
            Location::Host => return pixels.max(padded(level)),
            Location::Cuda(_) if self.keeps => return cell.bytes.saturating_add(pixels / 2),
            Location::Cuda(_) => {}
        }
        let block = |layout| self.engine.engine.encode_memory(layout, level.grid.block_height);
        let image = block(&level.image).saturating_mul(u64::from(level.grid.planes));
        let all = image.saturating_add(level.mask.as_ref().map_or(0, block));
        cell.bytes.saturating_add(all.saturating_mul(u64::from(level.block_rows)))
    }

    /// Takes in reduced pixels, then starts to reduce all ready cells, and to encode them if they are worth a batch.
    fn flush(&mut self) -> Result<()> {
        self.collect_reduced()?;
        let cells = std::mem::take(&mut self.ready);
        self.ready_bytes = 0;
        if cells.is_empty() {
            return Ok(());
        }
        if self.context.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        // Reduced first: the levels above wait for it, whereas encoded blocks only go to the file.
        self.start_reducing(&cells)?;
        if self.alone {
            self.collect_reduced()?;
        }
        for cell in cells {
            if self.is_encoded(&cell) {
                self.held_bytes += self.weight(&cell);
                self.held.push(cell);
            }
        }
        if self.held_bytes >= self.batch / 2 && !self.keeps { self.encode_held() } else { Ok(()) }
    }

    /// Starts to encode held cells, and waits for earlier batches if there are too many.
    fn encode_held(&mut self) -> Result<()> {
        let (cells, bytes) = (std::mem::take(&mut self.held), std::mem::take(&mut self.held_bytes));
        if cells.is_empty() {
            return Ok(());
        }
        let (job, pixels) = self.encode_job(&cells);
        let ticket = self.engine.engine.encode(job, &pixels, &self.context)?;
        self.encoding.push_back(Encoding { ticket, bytes, cells });
        self.encoding_bytes += bytes;
        // Small batches, as for the last levels of a pyramid, are not waited for one by one.
        let most = self.batch.saturating_mul(IN_FLIGHT as u64);
        let too_many = |flow: &Self| match flow.alone {
            true => !flow.encoding.is_empty(),
            false => flow.encoding.len() > IN_FLIGHT && flow.encoding_bytes > most,
        };
        while too_many(self) {
            self.land()?;
        }
        Ok(())
    }

    fn start_reducing(&mut self, cells: &[Arc<Cell>]) -> Result<()> {
        let mut below: Vec<Below> = Vec::new();
        for cell in cells {
            let level = cell.level.checked_sub(self.first).and_then(|at| self.levels.get_mut(at));
            let Some(waiting) = level.and_then(|level| level.waiting.as_mut()) else { continue };
            waiting.add(cell, &mut below, self.engine.engine.as_ref(), &self.context)?;
        }
        if below.is_empty() {
            return Ok(());
        }
        let masks: Vec<Option<SharedPixels>> = match alpha_band(&self.spec) {
            Some(band) => {
                let all: Vec<&SharedPixels> = below.iter().map(|part| &part.pixels).collect();
                let masks = masks_of_band(&all, band, self.engine.engine.as_ref(), &self.context)?;
                masks.into_iter().map(Some).collect()
            }
            None => below.iter().map(|part| part.mask.clone()).collect(),
        };
        let mut pixels: Vec<SharedPixels> = Vec::new();
        let mut keep = |given: SharedPixels| {
            pixels.push(given);
            u32::try_from(pixels.len() - 1).unwrap_or(u32::MAX)
        };
        let mut tasks = Vec::with_capacity(below.len());
        let mut targets = Vec::with_capacity(below.len());
        for (part, mask) in below.into_iter().zip(masks) {
            let own = keep(part.pixels.clone());
            tasks.push(part.task(own, mask.map(&mut keep)));
            targets.push((part.level + 1, part.target));
        }
        let job = ReduceJob { method: self.plan.resampling, nodata: self.plan.nodata, tasks };
        let ticket = self.engine.engine.reduce(job, &pixels, &self.context)?;
        self.reducing = Some(Reducing { ticket, targets, cells: cells.to_vec() });
        Ok(())
    }

    /// Runs work of the calling thread, and records its time.
    fn timed<R>(&mut self, name: &'static str, work: impl FnOnce(&mut Self) -> R) -> R {
        let trace = self.context.trace.clone();
        Trace::time(trace.as_deref(), ("call", name), || work(self))
    }

    /// Returns the work on the level of a cell.
    fn work(&self, cell: &Cell) -> Option<&LevelWork> {
        cell.level.checked_sub(self.first).and_then(|at| self.levels.get(at))
    }

    /// Returns whether blocks of a cell are encoded here: its level is in the file, the cell in the encoded area, and
    /// not all of its blocks come from elsewhere.
    fn is_encoded(&self, cell: &Cell) -> bool {
        let is_own = |work: &LevelWork| work.extent.own.intersection(&cell.window) == Some(cell.window);
        let own = self.work(cell).is_some_and(is_own);
        let stored = self.plan.levels.get(cell.level).is_some_and(|level| level.stored);
        let adopted = cell.level == 0 && matches!(self.plan.full, FullImage::Adopted(_));
        own && stored && !(adopted && cell.mask.is_none())
    }

    /// Returns the job that encodes the blocks of some cells: per place the planes and then the mask. Layouts are
    /// numbered by level, image and mask alternating.
    fn encode_job(&self, cells: &[Arc<Cell>]) -> (EncodeJob, Vec<SharedPixels>) {
        let mask_of = |level: &LevelPlan| level.mask.clone().unwrap_or_else(|| level.image.clone());
        let layouts: Vec<EncodeLayout> =
            self.plan.levels.iter().flat_map(|level| [level.image.clone(), mask_of(level)]).collect();
        let mut pixels = Vec::new();
        let mut tasks = Vec::new();
        for cell in cells {
            let Some(level) = self.plan.levels.get(cell.level) else { continue };
            let image = u32::try_from(pixels.len()).unwrap_or(u32::MAX);
            pixels.push(cell.pixels.clone());
            pixels.extend(cell.mask.clone());
            let number = u32::try_from(cell.level).unwrap_or(u32::MAX);
            let grid = &level.grid;
            let mut y = 0;
            while y < cell.window.height {
                let row = (cell.window.row + y) / grid.block_height;
                let height = grid.block_height.min(cell.window.height - y);
                let task = |plane: u32, is_mask: bool| EncodeTask {
                    layout: number * 2 + u32::from(is_mask),
                    pixels: image + u32::from(is_mask),
                    address: BlockAddress { level: number, row, column: cell.column, plane },
                    rows: match grid.kind {
                        BlockKind::Tile => grid.block_height,
                        BlockKind::Strip => height,
                    },
                    x: 0,
                    y,
                    width: cell.window.width,
                    height,
                    first_band: plane,
                };
                if cell.level > 0 || !matches!(self.plan.full, FullImage::Adopted(_)) {
                    tasks.extend((0..u32::from(grid.planes)).map(|plane| task(plane, false)));
                }
                tasks.extend(cell.mask.iter().map(|_| task(0, true)));
                y += height;
            }
        }
        (EncodeJob { layouts, tasks }, pixels)
    }

    /// Waits for the oldest batch and stores its blocks.
    fn land(&mut self) -> Result<()> {
        let Some(Encoding { ticket, bytes, cells }) = self.encoding.pop_front() else { return Ok(()) };
        self.encoding_bytes -= bytes;
        let encoded = self.timed("wait for blocks", |_| ticket.wait())?;
        drop(cells);
        if let Some(first) = encoded.faults.first() {
            let file = self.taker.name().to_owned();
            let (count, also) = (encoded.faults.len(), Box::default());
            return Err(Error::Blocks { file, first: first.clone(), count, also });
        }
        self.blocks += encoded.blocks.len() as u64;
        self.sparse += encoded.blocks.iter().filter(|block| block.span.is_none()).count() as u64;
        self.timed("store", |flow| flow.taker.put_all(encoded))
    }
}

/// Returns the work on each level of a course, not started yet.
fn levels_of(plan: &WritePlan, course: &Course) -> Vec<LevelWork> {
    let Course { first, extents, beyond, lent } = course;
    let mut levels = Vec::with_capacity(extents.len());
    for (at, extent) in extents.iter().enumerate() {
        let next = extents.get(at + 1).map(|next| next.need).or(*beyond);
        let Some(level) = plan.levels.get(first + at) else { continue };
        let lent = *lent && at == 0;
        // A cell that is reduced to a whole one of the next level: nothing has to be assembled there.
        let above = plan.levels.get(first + at + 1).filter(|_| lent).map(LevelPlan::cell);
        let twice = |(columns, rows): (u32, u32)| (columns.saturating_mul(2), rows.saturating_mul(2));
        let cell = above.map_or(level.cell(), twice);
        let cells = Cells::new((first + at, level), cell, plan.planar, extent.need);
        let image = (level.width, level.height);
        let waiting = next.map(|next| Waiting::new(image, plan.resampling.halo(), &cells, next));
        levels.push(LevelWork { cells, extent: *extent, waiting, lent });
    }
    levels
}

/// Returns a piece in the form of engines: on a device, as pixels there.
fn given<'a>(bytes: &PieceBytes<'a>, spec: &'a OutputSpec, there: Option<&'a SharedPixels>) -> Given<'a> {
    match (bytes, there) {
        (_, Some(pixels)) => Given::There(pixels),
        (PieceBytes::Host(bytes), None) => Given::Host { spec, bytes },
        (PieceBytes::Device(_), None) => Given::Host { spec, bytes: &[] },
    }
}

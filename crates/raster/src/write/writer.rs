//! Writes a raster given in pieces.
//!
//! Pieces become cells (`cells`); full cells are encoded in batches by the engine and go to the file (`store`),
//! and are reduced into the cells of the next level (`halo`), all overlapped: while a batch is encoded the next
//! one is gathered. The bytes of the file depend on the pixels, the options and the encoder alone.

use super::alpha::{alpha_band, masks_of_band};
use super::cells::{Cell, Cells, Deposit, Whole, refused};
use super::describe::{AUX_XML, Described, describe, merged};
use super::fields::directories_of;
use super::halo::{Below, Waiting};
use super::index::LevelIndex;
use super::options::{Format, WriteOptions};
use super::piece::{Piece, PieceBytes};
use super::plan::{FullImage, WritePlan, plan_write};
use super::report::WriteReport;
use super::spec::RasterSpec;
use super::store::{Arrived, Store};
use crate::Window;
use crate::device::{self, Choice};
use crate::error::{Error, Result};
use crate::sink::Sink;
use std::collections::VecDeque;
use std::sync::Arc;
use strile_engine::{
    BlockAddress, Context, EncodeJob, EncodeLayout, EncodeTask, EncodedBlocks, Given, Lease, Location,
    OutputError, OutputSpec, Pixels, ReduceJob, Reduced, Ticket,
};
use strile_tiff::{BlockKind, DataType, Planar, Variant};

/// Batches that are encoded or wait for it at one time.
const IN_FLIGHT: usize = 2;

/// A batch is this part of the buffer: one is gathered while two are encoded, and one is reduced.
const BATCHES: u64 = 4;

/// See the module.
pub struct Writer {
    work: Option<Work>,
}

/// A file being written.
struct Work {
    plan: Arc<WritePlan>,
    spec: RasterSpec,
    described: Described,
    engine: Choice,
    context: Context,
    store: Store,
    levels: Vec<LevelWork>,
    /// Complete cells that are not encoded yet.
    ready: Vec<Arc<Cell>>,
    ready_bytes: u64,
    batch: u64,
    /// One job at a time: each takes the threads the call may use, and two would take twice as many.
    alone: bool,
    encoding: VecDeque<Encoding>,
    reducing: Option<Reducing>,
    blocks: u64,
    sparse: u64,
    _index: Lease,
}

struct LevelWork {
    cells: Cells,
    /// Absent in the smallest level.
    waiting: Option<Waiting>,
}

struct Encoding {
    /// `None` where nothing of the batch is in the file.
    ticket: Option<Ticket<EncodedBlocks>>,
    _cells: Vec<Arc<Cell>>,
}

struct Reducing {
    ticket: Ticket<Vec<Reduced>>,
    targets: Vec<(usize, Window)>,
}

impl Writer {
    /// Begins a file in `sink`. Nothing is at the target before `finish`.
    pub fn create(
        sink: Box<dyn Sink>,
        spec: RasterSpec,
        options: &WriteOptions,
        context: &Context,
    ) -> Result<Self> {
        Self::create_from(sink, spec, options, FullImage::Encoded, context)
    }

    /// The same for a file whose full image comes from elsewhere.
    pub(crate) fn create_from(
        sink: Box<dyn Sink>,
        spec: RasterSpec,
        options: &WriteOptions,
        full: FullImage,
        context: &Context,
    ) -> Result<Self> {
        let name = sink.name().to_owned();
        Work::begin(sink, spec, options, full, context)
            .map(|work| Self { work: Some(work) })
            .map_err(|error| named(error, &name))
    }

    /// What will be done, in words.
    pub fn explain(&self) -> String {
        self.work.as_ref().map(|work| work.plan.to_string()).unwrap_or_default()
    }

    /// Names of the engine and of its encoder.
    pub fn encoder(&self) -> (String, String) {
        let named = self.work.as_ref().map(|work| &work.plan.engine);
        named.map(|(engine, _, encoder)| (engine.clone(), encoder.clone())).unwrap_or_default()
    }

    /// Blocks of all levels and masks that are written.
    pub fn blocks(&self) -> u64 {
        let blocks = |level: &super::plan::LevelPlan| {
            let places = u64::from(level.grid.across) * u64::from(level.grid.down);
            places * (u64::from(level.grid.planes) + u64::from(level.mask.is_some()))
        };
        let Some(plan) = self.work.as_ref().map(|work| &work.plan) else { return 0 };
        plan.levels.iter().filter(|level| level.stored).map(blocks).sum()
    }

    /// Levels, the full image included.
    pub(crate) fn levels(&self) -> usize {
        self.work.as_ref().map_or(0, |work| work.plan.count())
    }

    /// Where pixels are encoded, until the file is given up.
    pub fn location(&self) -> Option<Location> {
        self.work.as_ref().map(|work| work.engine.engine.location())
    }

    /// The raster that is written, until the file is given up.
    pub(crate) fn spec(&self) -> Option<&RasterSpec> {
        self.work.as_ref().map(|work| &work.spec)
    }

    /// Whether pixels are to be given: not where all that is written comes encoded.
    pub(crate) fn needs_pixels(&self) -> bool {
        self.work.as_ref().is_some_and(Work::needs_pixels)
    }

    /// Takes a block of the full image as it is stored; `None` for a sparse one.
    pub(crate) fn adopt(&mut self, address: BlockAddress, bytes: Option<&[u8]>) -> Result<()> {
        self.attempt(|work| work.put(address, false, bytes))
    }

    /// Takes a piece. Pieces may have any size and must not overlap; those of a file that is neither
    /// cloud-optimized nor spooled come in row-major order.
    ///
    /// After an error the file is given up: nothing is left of it.
    pub fn write(&mut self, piece: &Piece<'_>) -> Result<()> {
        self.attempt(|work| work.write(piece))
    }

    /// Takes a small file that comes to stand beside the target with it, at its name with `suffix` added; the last
    /// one of a suffix counts. What the writer itself says in `.aux.xml` is said there too.
    pub fn sidecar(&mut self, suffix: &str, bytes: Vec<u8>) -> Result<()> {
        self.attempt(|work| {
            if !work.store.takes_sidecars() {
                return Err(refused(format!("there is no place beside it for `{suffix}`")));
            }
            if suffix == AUX_XML
                && let Some(own) = &mut work.described.aux_xml
            {
                *own = merged(own, &bytes).map_err(refused)?;
                return Ok(());
            }
            work.store.sidecar(suffix, bytes, &mut Vec::new())
        })
    }

    /// Completes the file. It is at the target when this returns without an error, and not before.
    pub fn finish(mut self) -> Result<WriteReport> {
        let report = self.attempt(Work::finish)?;
        let Some(work) = self.work.take() else { return Ok(report) };
        let name = work.store.name().to_owned();
        let sink = work.store.into_sink();
        sink.commit().map_err(|error| Error::io(name, error))?;
        Ok(report)
    }

    /// Gives the file up; the same as dropping the writer.
    pub fn abort(mut self) {
        self.give_up();
    }

    fn attempt<T>(&mut self, step: impl FnOnce(&mut Work) -> Result<T>) -> Result<T> {
        let Some(work) = &mut self.work else {
            return Err(refused("the file was given up after an error".into()));
        };
        let result = step(work).map_err(|error| named(error, work.store.name()));
        if result.is_err() {
            self.give_up();
        }
        result
    }

    fn give_up(&mut self) {
        if let Some(work) = self.work.take() {
            // What is still being encoded or reduced is for nobody.
            work.context.cancel.cancel();
            work.store.into_sink().abort();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.give_up();
    }
}

/// Adds the name of the file to a refusal made where it is not known.
fn named(error: Error, name: &str) -> Error {
    match error {
        Error::Device { file, problem } if file.is_empty() => {
            Error::Device { file: name.to_owned(), problem }
        }
        Error::Request { file, problem } if file.is_empty() => {
            Error::Request { file: name.to_owned(), problem }
        }
        other => other,
    }
}

impl Work {
    fn begin(
        sink: Box<dyn Sink>,
        spec: RasterSpec,
        options: &WriteOptions,
        full: FullImage,
        context: &Context,
    ) -> Result<Self> {
        let device = |problem| Error::Device { file: String::new(), problem };
        let engine = device::choose_for_writing(options.device).map_err(device)?;
        let plan =
            plan_write(&spec, options, full, (engine.engine.as_ref(), &engine.reason)).map_err(refused)?;
        let cost = plan.levels.iter().map(LevelIndex::cost).fold(0u64, u64::saturating_add);
        let index = context.budget.take(cost, "the index of the file's blocks")?;
        let several = plan.planar == Planar::Separate && spec.bands > 1;
        // What cannot be said is told before any pixel is asked for.
        let mut described = describe(&spec, plan.format == Format::Cog && several)?;
        if plan.form.variant == Variant::Classic {
            described.narrow();
        }
        let store = Store::new(sink, &plan, options)?;
        let last = plan.levels.len() - 1;
        let level = |(at, level)| {
            let cells = Cells::new(at, level, plan.planar);
            let waiting = (at < last).then(|| Waiting::new(at, plan.resampling.halo(), &cells));
            LevelWork { cells, waiting }
        };
        let levels = plan.levels.iter().enumerate().map(level).collect();
        let room = options.room(engine.engine.location()).min(context.budget.limit() / 2);
        Ok(Self {
            plan: Arc::new(plan),
            spec,
            described,
            engine,
            context: Context { cancel: context.cancel.part(), ..context.clone() },
            store,
            levels,
            ready: Vec::new(),
            ready_bytes: 0,
            batch: (room / BATCHES).max(1),
            alone: std::thread::available_parallelism().is_ok_and(|all| context.threads < all),
            encoding: VecDeque::new(),
            reducing: None,
            blocks: 0,
            sparse: 0,
            _index: index,
        })
    }

    fn write(&mut self, piece: &Piece<'_>) -> Result<()> {
        let Piece { window, spec, pixels, mask } = piece;
        let (width, height) = (self.spec.width, self.spec.height);
        if !window.is_inside(width, height) {
            let problem = format!("piece {window} is not inside the image of {width} × {height} pixels");
            return Err(refused(problem));
        }
        let found = (spec.data_type, spec.bands, spec.rows, spec.columns);
        let expected = (self.spec.data_type, u32::from(self.spec.bands), window.height, window.width);
        if found != expected {
            let shape =
                |(t, b, r, c): (strile_tiff::DataType, u32, u32, u32)| format!("{b} × {r} × {c} of {t}");
            let (found, expected) = (shape(found), shape(expected));
            return Err(refused(format!("piece {window} is {found}, {expected} expected")));
        }
        let need = spec.len().map_err(|error| refused(error.to_string()))? as u64;
        if pixels.len() < need {
            let have = pixels.len();
            return Err(refused(format!("piece {window} has {have} bytes, {need} expected")));
        }
        let mask_len = u64::from(window.width) * u64::from(window.height);
        match (mask, self.spec.mask) {
            (Some(mask), true) if mask.len() == mask_len => {}
            (None, false) => {}
            (found, _) => {
                let found = found.as_ref().map_or(0, PieceBytes::len);
                let expected = if self.spec.mask { mask_len } else { 0 };
                let problem = format!("the mask of piece {window} has {found} bytes, {expected} expected");
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
                Pixels::on_device(spec.clone(), memory.clone()).map(Some).map_err(wrong)
            }
        };
        let there = on_device(pixels, spec)?;
        let mask_there = mask.as_ref().map_or(Ok(None), |mask| on_device(mask, &mask_spec))?;
        let deposit = Deposit {
            window: *window,
            pixels: given(pixels, spec, there.as_ref()),
            mask: mask.as_ref().map(|mask| given(mask, &mask_spec, mask_there.as_ref())),
            lasting: false,
        };
        self.deposit(0, &deposit, true)
    }

    /// Takes pixels of a level in, and encodes where a batch is complete and `may_flush`.
    fn deposit(&mut self, level: usize, given: &Deposit<'_>, may_flush: bool) -> Result<()> {
        let Some(touched) = self.levels.get(level).map(|work| work.cells.touched(&given.window)) else {
            return Ok(());
        };
        let mut wholes = Vec::new();
        let mut bytes = 0;
        for at in touched {
            let whole = self.with_memory(|work| match work.levels.get_mut(level) {
                Some(own) => own.cells.add(at, given, work.engine.engine.as_ref(), &work.context),
                None => Ok(None),
            })?;
            let Some(whole) = whole else { continue };
            bytes += whole.bytes(given.pixels.spec());
            wholes.push(whole);
            if bytes >= self.batch {
                self.close(level, std::mem::take(&mut wholes), given, may_flush)?;
                bytes = 0;
            }
        }
        self.close(level, wholes, given, may_flush)
    }

    /// Makes cells of what a deposit completed.
    fn close(
        &mut self,
        level: usize,
        mut wholes: Vec<Whole>,
        given: &Deposit<'_>,
        may_flush: bool,
    ) -> Result<()> {
        let cells = self.with_memory(|work| match work.levels.get_mut(level) {
            Some(own) => own.cells.close(&mut wholes, given, work.engine.engine.as_ref(), &work.context),
            None => Ok(Vec::new()),
        })?;
        for cell in cells {
            self.ready_bytes += cell.bytes + self.encode_memory(level);
            self.ready.push(Arc::new(cell));
            if may_flush && self.ready_bytes >= self.batch {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Does what takes memory; where there is none, again after the batches under way have given theirs back.
    fn with_memory<T>(&mut self, mut step: impl FnMut(&mut Self) -> Result<T>) -> Result<T> {
        loop {
            match step(self) {
                Err(Error::Memory { .. }) if !self.encoding.is_empty() => self.land()?,
                done => return done,
            }
        }
    }

    /// Bytes of the engine's memory that the blocks of a cell take while they are encoded. A level that is not in the
    /// file counts like one that is: what waits to be reduced is bounded too.
    fn encode_memory(&self, level: usize) -> u64 {
        let Some(level) = self.plan.levels.get(level) else { return 0 };
        let block = |layout| self.engine.engine.encode_memory(layout, level.grid.block_height);
        let image = block(&level.image).saturating_mul(u64::from(level.grid.planes));
        let all = image.saturating_add(level.mask.as_ref().map_or(0, block));
        all.saturating_mul(u64::from(level.block_rows))
    }

    /// Takes in what was reduced, then starts encoding and reducing all that is ready.
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
        // Reduced first: the levels above wait for it, the encoded blocks only fill the file.
        self.start_reducing(&cells)?;
        if self.alone {
            self.collect_reduced()?;
        }
        let (job, pixels) = self.encode_job(&cells);
        let ticket = match job.tasks.is_empty() {
            true => None,
            false => Some(self.engine.engine.encode(job, &pixels, &self.context)?),
        };
        self.encoding.push_back(Encoding { ticket, _cells: cells });
        let in_flight = if self.alone { 0 } else { IN_FLIGHT };
        while self.encoding.len() > in_flight {
            self.land()?;
        }
        Ok(())
    }

    fn start_reducing(&mut self, cells: &[Arc<Cell>]) -> Result<()> {
        let mut below: Vec<Below> = Vec::new();
        for cell in cells {
            let waiting = self.levels.get_mut(cell.level).and_then(|level| level.waiting.as_mut());
            let Some(waiting) = waiting else { continue };
            waiting.add(cell, &mut below, self.engine.engine.as_ref(), &self.context)?;
        }
        if below.is_empty() {
            return Ok(());
        }
        let masks: Vec<Option<Pixels>> = match alpha_band(&self.spec) {
            Some(band) => {
                let all: Vec<&Pixels> = below.iter().map(|part| &part.pixels).collect();
                let masks = masks_of_band(&all, band, self.engine.engine.as_ref(), &self.context)?;
                masks.into_iter().map(Some).collect()
            }
            None => below.iter().map(|part| part.mask.clone()).collect(),
        };
        let mut pixels: Vec<Pixels> = Vec::new();
        let mut keep = |given: Pixels| {
            pixels.push(given);
            u32::try_from(pixels.len() - 1).unwrap_or(u32::MAX)
        };
        let mut tasks = Vec::with_capacity(below.len());
        let mut targets = Vec::with_capacity(below.len());
        for (part, mask) in below.into_iter().zip(masks) {
            let own = keep(part.pixels.clone());
            tasks.push(part.task(own, mask.map(&mut keep)));
            targets.push((part.level + 1, part.target()));
        }
        let job = ReduceJob { method: self.plan.resampling, nodata: self.plan.nodata, tasks };
        let ticket = self.engine.engine.reduce(job, &pixels, &self.context)?;
        self.reducing = Some(Reducing { ticket, targets });
        Ok(())
    }

    fn collect_reduced(&mut self) -> Result<()> {
        let Some(Reducing { ticket, targets }) = self.reducing.take() else { return Ok(()) };
        for (reduced, (level, window)) in ticket.wait()?.into_iter().zip(targets) {
            let (pixels, mask) = (Given::There(&reduced.pixels), reduced.mask.as_ref().map(Given::There));
            self.deposit(level, &Deposit { window, pixels, mask, lasting: true }, false)?;
        }
        Ok(())
    }

    /// The blocks of those cells whose level is in the file, at each place the planes and then the mask. Layouts are
    /// numbered by level, image and mask in turn.
    fn encode_job(&self, cells: &[Arc<Cell>]) -> (EncodeJob, Vec<Pixels>) {
        let mask_of =
            |level: &super::plan::LevelPlan| level.mask.clone().unwrap_or_else(|| level.image.clone());
        let layouts: Vec<EncodeLayout> =
            self.plan.levels.iter().flat_map(|level| [level.image.clone(), mask_of(level)]).collect();
        let mut pixels = Vec::new();
        let mut tasks = Vec::new();
        for cell in cells {
            let level = self.plan.levels.get(cell.level).filter(|level| level.stored);
            let Some(level) = level else { continue };
            let image = u32::try_from(pixels.len()).unwrap_or(u32::MAX);
            pixels.push(cell.pixels.clone());
            pixels.extend(cell.mask.clone());
            let number = u32::try_from(cell.level).unwrap_or(u32::MAX);
            let grid = &level.grid;
            let mut y = 0;
            while y < cell.window.height {
                let row = (cell.window.y + y) / grid.block_height;
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
        let Some(Encoding { ticket, .. }) = self.encoding.pop_front() else { return Ok(()) };
        let Some(ticket) = ticket else { return Ok(()) };
        let encoded = ticket.wait()?;
        if let Some(first) = encoded.faults.first() {
            let file = self.store.name().to_owned();
            return Err(Error::Blocks { file, first: first.clone(), count: encoded.faults.len() });
        }
        self.blocks += encoded.blocks.len() as u64;
        self.sparse += encoded.blocks.iter().filter(|block| block.span.is_none()).count() as u64;
        self.store.put_all(&encoded)
    }

    fn put(&mut self, address: BlockAddress, is_mask: bool, bytes: Option<&[u8]>) -> Result<()> {
        self.blocks += 1;
        self.sparse += u64::from(bytes.is_none());
        self.store.put(&Arrived { address, is_mask, bytes })
    }

    fn needs_pixels(&self) -> bool {
        let masked = self.plan.levels.first().is_some_and(|level| level.mask.is_some());
        !matches!(self.plan.full, FullImage::Adopted(_)) || masked || self.plan.levels.len() > 1
    }

    fn finish(&mut self) -> Result<WriteReport> {
        let missing = self.levels.first().and_then(|level| level.cells.missing());
        if let Some(window) = missing.filter(|_| self.needs_pixels()) {
            return Err(refused(format!("pixels of {window} were never given")));
        }
        while !self.ready.is_empty() || self.reducing.is_some() {
            self.flush()?;
        }
        while !self.encoding.is_empty() {
            self.land()?;
        }
        let mut described = std::mem::take(&mut self.described);
        let nodata = described.nodata.as_ref();
        let stored = self.plan.levels.iter().enumerate().filter(|(_, level)| level.stored);
        let directories = stored
            .filter_map(|(at, _)| directories_of(&self.plan, &self.spec, at, nodata, &described.fields))
            .collect();
        if matches!(self.plan.full, FullImage::Elsewhere(_)) {
            // What is said of the raster is said with its full image.
            (described.aux_xml, described.warnings) = (None, Vec::new());
        }
        let stored = self.store.finish(directories)?;
        let mut warnings = described.warnings;
        if let Some(xml) = described.aux_xml {
            self.store.sidecar(AUX_XML, xml.into_bytes(), &mut warnings)?;
        }
        Ok(WriteReport {
            file_len: stored.file_len,
            spooled: stored.spooled,
            blocks: self.blocks,
            sparse: self.sparse,
            levels: self.plan.count(),
            warnings,
            faults: Vec::new(),
        })
    }
}

/// A piece as engines take it: where it is on a device, as pixels there.
fn given<'a>(bytes: &PieceBytes<'a>, spec: &'a OutputSpec, there: Option<&'a Pixels>) -> Given<'a> {
    match (bytes, there) {
        (_, Some(pixels)) => Given::There(pixels),
        (PieceBytes::Host(bytes), None) => Given::Host { spec, bytes },
        (PieceBytes::Device(_), None) => Given::Host { spec, bytes: &[] },
    }
}

//! Reads onto a grid: which windows of which files lie under it, and in which parts they are read.
//!
//! The grid is cut into squares. Each has a map of coordinates for each file, made by all threads, and the window of the file
//! under it. A square is cut further where the windows of its halves are much smaller than its own (long shapes that lie
//! across the file), or too large for memory. Windows are then read in parts, as many at once as memory holds. Maps are
//! aligned to the grid, so what becomes of a pixel does not depend on the cut.

use super::area::Area;
use super::deliver::{fill_boxes, moved_to, place_bands};
use super::lay::{Lay, Laying};
use super::limits::{Size, check_result};
use super::plan::ReadPlan;
use super::reading::{Done, Reading, gpu, len};
use super::request::{Asked, Of, Request};
use super::run::WindowFault;
use super::squares::{aligned, around, halves, pixels, side_by_side, squares, within_map};
use super::under::File;
use crate::device;
use crate::error::{Error, Result};
use crate::grid::{CoordinateMap, MapOptions, Onto, Placed, Top, WarpFile, WarpPlan, WarpPoints};
use crate::input::InputRef;
use crate::options::{FloatType, Interleave, Processor, ReadOptions};
use crate::vrt::{Calls, Made, Mosaics};
use crate::window::Window;
use std::cell::Cell;
use std::sync::Arc;
use strile_engine::{Context, Engine, EngineError, Fill, Location, Output, OutputSpec, Report, WarpMap};
use strile_tiff::DataType;

/// A square is not cut into smaller ones.
const LEAST: u32 = 256;
/// Coordinates that a map of a square may take: those of each pixel's corners, and the nodes before it is cut.
const MOST_POINTS: u64 = 1 << 23;
/// Windows of fewer pixels are not cut because of their shape.
const SMALL_WINDOW: u64 = 1 << 18;
/// Bytes of the windows of a part in host memory, and on a device.
const PART_BYTES: u64 = 1 << 30;
const DEVICE_PART_BYTES: u64 = 4 << 30;
/// Largest result on a device that is planned.
const MOST_BYTES: u64 = 1 << 40;
/// What the memory of a result is for, in messages of the budget.
const PIXELS: &str = "the pixels of the grid";

/// A read onto a grid, checked.
pub(crate) struct OntoRead<'a> {
    /// From the lowest to the one on top.
    files: Vec<File<'a>>,
    /// The file that the result has its type and nodata of: the first one.
    first: usize,
    onto: Arc<Onto>,
    /// Pixels of the grid.
    window: Window,
    options: ReadOptions,
    context: &'a Context,
}

/// Windows that are read together.
#[derive(Default)]
struct Part {
    windows: Vec<Lay>,
    bytes: u64,
}

/// A part of the grid, and the windows of the files under it.
struct Leaf {
    target: Window,
    unders: Vec<Option<Window>>,
}

/// What all parts share.
struct Given {
    /// The shape of the result.
    spec: OutputSpec,
    fill: Fill,
    /// Without windows.
    laying: Laying,
    options: ReadOptions,
}

/// What was read.
struct Ran {
    output: Output,
    engine: Arc<dyn Engine>,
    report: Report,
    faults: Vec<WindowFault>,
}

/// Sources that mosaics went on without, each with the problem.
pub(crate) type Holes = Vec<(String, String)>;

/// The processor of an engine.
fn processor(engine: &dyn Engine) -> Processor {
    match engine.location() {
        Location::Host => Processor::Cpu,
        Location::Cuda(index) => Processor::Cuda(index),
    }
}

/// What is known of a file after all maps were made.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    points: u64,
    exact: u64,
    windows: usize,
    under: Option<Window>,
}

/// What came of cutting the grid.
struct Cut {
    seen: Vec<Seen>,
    /// Parts of the result that no file lies under.
    empty: Vec<Window>,
}

impl<'a> OntoRead<'a> {
    /// Finds the level of every file, and what it takes to put it onto the grid.
    pub(crate) fn new(inputs: &[InputRef<'a>], options: &ReadOptions, context: &'a Context) -> Result<Self> {
        let Some((onto, first)) = options.onto.clone().zip(inputs.first()) else {
            return Err(Error::Request {
                file: String::new(),
                problem: "no file is read onto a grid".into(),
            });
        };
        let whole = Window::full(onto.grid.width(), onto.grid.height());
        let window = options.window.unwrap_or(whole);
        if !window.is_inside(whole.width, whole.height) {
            return Err(first.refuse(format!(
                "window {window} is not inside the grid of {} × {} pixels (a window is column,row,width,height)",
                whole.width, whole.height
            )));
        }
        let options = ReadOptions { window: None, ..options.clone() };
        let mut files = Vec::with_capacity(inputs.len());
        for input in inputs {
            files.push(File::new(*input, &options, &onto)?);
        }
        let first = match onto.warp.top {
            Top::Last => 0,
            Top::First => {
                files.reverse();
                files.len() - 1
            }
        };
        Ok(Self { files, first, onto, window, options, context })
    }

    pub(super) fn interleave(&self) -> Interleave {
        self.options.interleave
    }

    /// Where each file lies under the grid.
    pub(crate) fn files(&self) -> Vec<WarpFile> {
        self.told(&vec![Seen::default(); self.files.len()])
    }

    fn told(&self, seen: &[Seen]) -> Vec<WarpFile> {
        let mut files: Vec<WarpFile> = self
            .files
            .iter()
            .zip(seen)
            .map(|(file, seen)| WarpFile {
                name: file.of.name().to_owned(),
                crs: file.placed.grid.crs().clone(),
                operation: file.placed.operation(),
                level: file.placed.level,
                level_size: (file.placed.grid.width(), file.placed.grid.height()),
                ratio: file.placed.ratio,
                points: seen.points,
                exact: seen.exact,
                windows: seen.windows,
                window: seen.under,
            })
            .collect();
        if self.onto.warp.top == Top::First {
            files.reverse();
        }
        files
    }

    /// Plans the read without touching a pixel.
    pub(crate) fn explained(&self, to: Location) -> Result<ReadPlan> {
        let (mosaics, quiet) = (self.mosaics(), self.quiet());
        let calls = mosaics.calls(&self.options, &quiet);
        let given = self.given(&calls)?;
        let need = len(&given.spec);
        match to {
            Location::Host => self.context.budget.fits(need, PIXELS)?,
            Location::Cuda(_) if need > MOST_BYTES => {
                return Err(self.refuse(format!("a result of {need} bytes; read windows of the grid")));
            }
            Location::Cuda(_) => {}
        }
        let (mut plan, mut parts) = (None::<ReadPlan>, 0);
        let cut = self.parts(to, |part, decode_on| {
            let made = (&given, &calls, false);
            let ((part, engine), _) = self.part((part, decode_on), made, to, |reading| {
                let engine = Arc::clone(&reading.choice.engine);
                Ok((reading.explained()?, engine))
            })?;
            match &mut plan {
                Some(plan) => plan.add(&part),
                None => plan = Some(part),
            }
            parts += 1;
            Ok(engine)
        })?;
        let mut plan = plan.ok_or(EngineError::Abandoned)?;
        let warp = &self.onto.warp;
        plan.onto = Some(WarpPlan {
            grid: self.onto.grid.clone(),
            window: self.window,
            sampling: warp.resampling,
            tolerance: warp.tolerance,
            files: self.told(&cut.seen),
            parts,
        });
        Ok(plan)
    }

    /// Reads into new memory where the result is wanted. Returns the value of pixels that no file fills, too, and the sources
    /// that mosaics went on without.
    pub(crate) fn read(&self, to: Location) -> Result<(Done, Fill, Holes)> {
        let (mosaics, quiet) = (self.mosaics(), self.quiet());
        let calls = mosaics.calls(&self.options, &quiet);
        let given = self.given(&calls)?;
        let (spec, fill) = (given.spec.clone(), given.fill);
        let lease = |place: Location| {
            let need = if place == Location::Host { len(&spec) } else { 0 };
            self.context.take(need, PIXELS)
        };
        let on_host = || {
            let made = Output::new(spec.clone());
            made.map_err(|error| Error::output(error, |problem| self.refuse(problem)))
        };
        let _lease = lease(to)?;
        let mut _through = None;
        let Ran { output, engine, report, faults } = self.run((&given, &calls), to, |engine| {
            let place = engine.location();
            if place != to {
                _through = Some(lease(place)?);
            }
            match place {
                Location::Host => on_host(),
                Location::Cuda(_) if place == to => Ok(engine.output(spec.clone(), self.context)?),
                Location::Cuda(_) => self.through(engine, &spec),
            }
        })?;
        let (output, engine) = match to {
            _ if engine.location() == to => (output, engine),
            Location::Host => {
                let host = on_host()?;
                let bands: Vec<u32> = (0..spec.bands).collect();
                place_bands(output, &bands, engine.as_ref(), &host, self.context)?;
                (host, engine)
            }
            Location::Cuda(index) => {
                let holder = self.holder(index)?;
                let there = holder.output(spec, self.context)?;
                moved_to(output, self.options.interleave, holder.as_ref(), &there, self.context)?;
                (there, holder)
            }
        };
        Ok((Done { output, report, faults, engine }, fill, calls.holes()))
    }

    /// Reads into an output, which must have the type and shape of the result.
    pub(crate) fn read_into(&self, output: &Output) -> Result<(Report, Vec<WindowFault>, Holes)> {
        let (mosaics, quiet) = (self.mosaics(), self.quiet());
        let calls = mosaics.calls(&self.options, &quiet);
        let given = self.given(&calls)?;
        let (have, want) = (output.spec(), &given.spec);
        let shape = |spec: &OutputSpec| (spec.data_type, spec.bands, spec.rows, spec.columns);
        if shape(have) != shape(want) {
            let told =
                |(data_type, bands, rows, columns)| format!("{bands} × {rows} × {columns} {data_type}");
            let (have, want) = (told(shape(have)), told(shape(want)));
            return Err(self.refuse(format!("the output is {have}, the read gives {want}")));
        }
        let to = output.location();
        let mut _lease = None;
        let Ran { output: made, engine, report, faults } = self.run((&given, &calls), to, |engine| {
            let place = engine.location();
            if place == to {
                return Ok(output.clone());
            }
            let need = if place == Location::Host { len(want) } else { 0 };
            _lease = Some(self.context.take(need, PIXELS)?);
            self.through(engine, want)
        })?;
        match to {
            _ if engine.location() == to => {}
            Location::Host => {
                let bands: Vec<u32> = (0..want.bands).collect();
                place_bands(made, &bands, engine.as_ref(), output, self.context)?;
            }
            Location::Cuda(index) => {
                let holder = self.holder(index)?;
                moved_to(made, Interleave::BandFirst, holder.as_ref(), output, self.context)?;
            }
        }
        Ok((report, faults, calls.holes()))
    }

    /// Memory of an engine that the result goes through.
    fn through(&self, engine: &Arc<dyn Engine>, spec: &OutputSpec) -> Result<Output> {
        let OutputSpec { data_type, bands, rows, columns, .. } = *spec;
        let spec = OutputSpec::band_first(data_type, bands, rows, columns);
        Ok(engine.scratch(spec.map_err(|error| self.refuse(error.to_string()))?, self.context)?)
    }

    /// Reads part after part into an output of the first part's engine, which `make` makes.
    fn run(
        &self,
        (given, calls): (&Given, &Calls<'_>),
        to: Location,
        mut make: impl FnMut(&Arc<dyn Engine>) -> Result<Output>,
    ) -> Result<Ran> {
        let mut ready: Option<(Arc<dyn Engine>, Output)> = None;
        let (mut report, mut faults) = (Report::default(), Vec::new());
        let cut = self.parts(to, |part, decode_on| {
            let ((part, found, engine), blended) =
                self.part((part, decode_on), (given, calls, true), to, |reading| {
                    if ready.is_none() {
                        let engine = Arc::clone(&reading.choice.engine);
                        let output = make(&engine)?;
                        ready = Some((engine, output));
                    }
                    let (engine, output) = ready.as_ref().ok_or(EngineError::Abandoned)?;
                    let (part, found) = reading.read_into(output)?;
                    Ok((part, found, Arc::clone(engine)))
                })?;
            report.blocks += part.blocks;
            report.encoded_bytes += part.encoded_bytes;
            report.host_blocks += part.host_blocks;
            report.times.add(&part.times);
            faults.extend(blended);
            faults.extend(found);
            Ok(engine)
        })?;
        let (engine, output) = ready.ok_or(EngineError::Abandoned)?;
        fill_boxes(engine.as_ref(), &output, &cut.empty, given.fill, self.context)?;
        Ok(Ran { output, engine, report, faults })
    }

    /// The shape and type of the result, and what the parts have to know of it.
    fn given(&self, calls: &Calls<'_>) -> Result<Given> {
        let first = self.files.get(self.first).ok_or(EngineError::Abandoned)?;
        let others = self.files.iter().enumerate().filter(|(at, _)| *at != self.first);
        let all: Vec<_> = std::iter::once(first).chain(others.map(|(_, file)| file)).collect();
        let made = all.iter().map(|file| self.made(file, None, (false, true), calls));
        let made = made.collect::<Result<Vec<_>>>()?;
        let requests: Vec<_> =
            all.into_iter().zip(&made).filter_map(|(file, made)| self.request(file, None, made)).collect();
        let warp = &self.onto.warp;
        let is_masked = self.options.masked || self.options.unpack;
        let nodata = match warp.nodata {
            Some(given) => Some(given),
            None => first.of.nodata(self.options.bands.as_deref())?,
        };
        let mut laying = Laying {
            size: (self.window.width, self.window.height),
            sampling: warp.resampling,
            data_type: warp.data_type,
            nodata: warp.nodata,
            fill: warp.fill.or(nodata.filter(|_| !is_masked)),
            windows: Vec::new(),
        };
        let asked = Asked { requests: &requests, options: &self.options, batch: None, laying: Some(&laying) };
        let resolved = asked.resolve()?;
        let (spec, decoded) = (resolved.result, resolved.sheets.first().map(|sheet| sheet.spec.data_type));
        let fill = laying.fill(&asked, spec.data_type)?;
        let size = Size::new((spec.bands, spec.rows, spec.columns), spec.data_type.size());
        let stored = || self.files.iter().fold(0, |sum: u64, file| sum.saturating_add(file.of.stored_len()));
        check_result((first.of.name(), "the files"), size, self.options.max_pixels, stored)?;
        laying.data_type = Some(spec.data_type);
        let mut options = self.options.clone();
        if is_masked {
            options.float_type = match decoded {
                Some(DataType::F16) => Some(FloatType::Float16),
                Some(DataType::F32) => Some(FloatType::Float32),
                _ => Some(FloatType::Float64),
            };
        }
        Ok(Given { spec, fill, laying, options })
    }

    /// Plans one part and gives it to `then`: again without sources of mosaics that prove damaged, if these are only to be
    /// warned of. Returns the faults of what was blended, too. `pixels` is `false` for a plan.
    fn part<R>(
        &self,
        (part, mut decode_on): (Part, Processor),
        (given, calls, pixels): (&Given, &Calls<'_>, bool),
        to: Location,
        mut then: impl FnMut(Reading<'_>) -> Result<R>,
    ) -> Result<(R, Vec<WindowFault>)> {
        let wanted: Vec<(&File<'_>, Option<Window>)> = match part.windows.is_empty() {
            true => self.files.iter().map(|file| (file, None)).collect(),
            false => {
                let of = |lay: &Lay| Some((self.files.get(lay.layer)?, Some(lay.under)));
                part.windows.iter().filter_map(of).collect()
            }
        };
        let Laying { size, sampling, data_type, nodata, fill, .. } = given.laying;
        let laying = Laying { size, sampling, data_type, nodata, fill, windows: part.windows };
        let mut first = true;
        loop {
            let made = wanted.iter().map(|(file, under)| self.made(file, *under, (pixels, first), calls));
            let made = made.collect::<Result<Vec<_>>>()?;
            first = false;
            let named: Vec<_> = made.iter().flatten().map(Made::named).collect();
            let requests: Vec<_> = wanted
                .iter()
                .zip(&made)
                .filter_map(|((file, under), made)| self.request(file, *under, made))
                .collect();
            let options = ReadOptions { decode_on, ..given.options.clone() };
            let asked = Asked { requests: &requests, options: &options, batch: None, laying: Some(&laying) };
            let done = Reading::of_part(asked, to, self.context).and_then(|reading| {
                decode_on = processor(reading.choice.engine.as_ref());
                then(reading)
            });
            let faults = calls.take_faults().into_iter();
            match done {
                Ok(done) => {
                    let of_window = |(file, fault)| WindowFault { window: 0, file, fault };
                    return Ok((done, faults.map(of_window).collect()));
                }
                Err(error) => calls.go_without(&named, error)?,
            }
        }
    }

    /// The mosaics among the files.
    fn mosaics(&self) -> Mosaics<'a> {
        Mosaics::among(self.files.iter().map(|file| file.of))
    }

    /// For what is blended: progress counts blocks.
    fn quiet(&self) -> Context {
        Context { progress: None, ..self.context.clone() }
    }

    /// What a window of a mosaic is made of; `None` for a file.
    fn made(
        &self,
        file: &File<'_>,
        under: Option<Window>,
        pass: (bool, bool),
        calls: &Calls<'_>,
    ) -> Result<Option<Made>> {
        let InputRef::Vrt(vrt) = file.of else { return Ok(None) };
        let call = calls.of(vrt).ok_or(EngineError::Abandoned)?;
        vrt.made_onto(under, &self.options, pass, call).map(Some)
    }

    /// A request for a window of a file; without one nothing is read of it.
    fn request<'b>(
        &'b self,
        file: &'b File<'_>,
        under: Option<Window>,
        made: &'b Option<Made>,
    ) -> Option<Request<'b>> {
        let under = Area::from(under.unwrap_or(Window::full(1, 1)));
        match file.of {
            InputRef::Vrt(_) => made.as_ref().map(|made| Request::of_mosaic(&made.canvas, Some(under))),
            InputRef::Tiff(dataset) => {
                let (bands, level) = (self.options.bands.as_deref(), file.placed.level);
                Some(Request { of: Of::File(dataset), page: 0, level, bands, area: Some(under) })
            }
        }
    }

    fn refuse(&self, problem: String) -> Error {
        Error::Request { file: self.name().to_owned(), problem }
    }

    /// The name of the first file.
    fn name(&self) -> &str {
        self.files.get(self.first).map_or("", |file| file.of.name())
    }

    /// The engine of a GPU that decodes nothing.
    fn holder(&self, index: u32) -> Result<Arc<dyn Engine>> {
        device::holder(index, gpu(&self.options))
            .map_err(|problem| Error::Device { file: self.name().to_owned(), problem })
    }

    /// Cuts the grid, and gives the parts in order to `each`, which returns the engine that all of them have. There is one part
    /// at least.
    fn parts(
        &self,
        to: Location,
        mut each: impl FnMut(Part, Processor) -> Result<Arc<dyn Engine>>,
    ) -> Result<Cut> {
        let of_budget = self.context.budget.limit() / 4;
        let limit = match (to, self.options.decode_on) {
            (Location::Host, Processor::Auto | Processor::Cpu) => PART_BYTES.min(of_budget),
            _ => self.options.device_memory.map_or(DEVICE_PART_BYTES, |most| most / 4),
        };
        let mut decode_on = self.options.decode_on;
        let mut cut = Cut { seen: vec![Seen::default(); self.files.len()], empty: Vec::new() };
        let (mut part, any) = (Part::default(), Cell::new(false));
        let mut give = |part: &mut Part| -> Result<()> {
            let engine = each(std::mem::take(part), decode_on)?;
            decode_on = processor(engine.as_ref());
            any.set(true);
            Ok(())
        };
        let mut all = squares(self.window);
        let mut sought = vec![0u64; self.files.len()];
        loop {
            let squares: Vec<Window> = all.by_ref().take(self.context.threads.get().max(1)).collect();
            if squares.is_empty() {
                break;
            }
            if self.context.cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            for (square, maps) in squares.iter().zip(self.maps(&squares)?) {
                for (seen, map) in cut.seen.iter_mut().zip(&maps) {
                    seen.points = seen.points.saturating_add(map.points());
                    seen.exact = seen.exact.saturating_add(map.exact_pixels() as u64);
                }
                let mut leaves = Vec::new();
                self.cut(*square, *square, &maps, limit, &mut leaves);
                for Leaf { target, unders } in leaves {
                    let bytes = self.bytes(&unders);
                    self.check_sought(&unders, &mut sought)?;
                    if part.bytes > 0 && part.bytes.saturating_add(bytes) > limit {
                        give(&mut part)?;
                    }
                    let before = part.windows.len();
                    for (layer, (map, under)) in maps.iter().zip(unders).enumerate() {
                        let Some(under) = under else { continue };
                        if let Some(seen) = cut.seen.get_mut(layer) {
                            seen.windows += 1;
                            seen.under = Some(seen.under.map_or(under, |old| around(old, under)));
                        }
                        part.windows.push(Lay {
                            layer,
                            map: Arc::clone(map.map()),
                            target: within_map(target, *square),
                            at: (target.column - self.window.column, target.row - self.window.row),
                            under,
                            scale: map.scale(),
                            keep: part.windows.len() > before,
                        });
                    }
                    if part.windows.len() == before {
                        let (x, y) = (target.column - self.window.column, target.row - self.window.row);
                        cut.empty.push(Window { column: x, row: y, ..target });
                    }
                    part.bytes = part.bytes.saturating_add(bytes);
                }
                let of_maps = maps.iter().fold(0, |sum: u64, map| sum.saturating_add(map.bytes() as u64));
                part.bytes = part.bytes.saturating_add(if part.windows.is_empty() { 0 } else { of_maps });
            }
        }
        if !part.windows.is_empty() || !any.get() {
            give(&mut part)?;
        }
        Ok(cut)
    }

    /// Refuses to decode implausibly much of a file for a result that may be small.
    fn check_sought(&self, unders: &[Option<Window>], sought: &mut [u64]) -> Result<()> {
        for ((file, under), sought) in self.files.iter().zip(unders).zip(sought) {
            let Some(under) = under else { continue };
            *sought = sought.saturating_add(pixels(under).saturating_mul(file.bytes));
            let size = Size { samples: 0, bytes: *sought };
            check_result((file.of.name(), "the file"), size, self.options.max_pixels, || {
                file.of.stored_len()
            })?;
        }
        Ok(())
    }

    /// Bytes of windows of the files once they are decoded.
    fn bytes(&self, unders: &[Option<Window>]) -> u64 {
        let one = |(file, under): (&File<'_>, &Option<Window>)| {
            under.map_or(0, |under| pixels(&under).saturating_mul(file.bytes))
        };
        self.files.iter().zip(unders).map(one).fold(0, u64::saturating_add)
    }

    /// The windows of the files under a part of a square.
    fn unders(&self, target: Window, square: Window, maps: &[CoordinateMap]) -> Vec<Option<Window>> {
        let sampling = self.onto.warp.resampling;
        maps.iter().map(|map| map.source_window(within_map(target, square), sampling)).collect()
    }

    /// Cuts a part of a square until its windows fit and none is much larger than those of its halves.
    fn cut(
        &self,
        target: Window,
        square: Window,
        maps: &[CoordinateMap],
        limit: u64,
        leaves: &mut Vec<Leaf>,
    ) {
        let unders = self.unders(target, square, maps);
        let bytes = self.bytes(&unders);
        let long = unders.iter().flatten().any(|under| pixels(under) > SMALL_WINDOW);
        let least = if bytes > limit { WarpMap::LARGE } else { LEAST };
        let halves = if bytes > limit || long { halves(target, least) } else { None };
        if let Some(halves) = halves {
            let sum = halves
                .iter()
                .map(|half| self.bytes(&self.unders(*half, square, maps)))
                .fold(0, u64::saturating_add);
            if bytes > limit || sum < bytes / 4 * 3 {
                for half in halves {
                    self.cut(half, square, maps, limit, leaves);
                }
                return;
            }
        }
        leaves.push(Leaf { target, unders });
    }

    /// The maps of all files of some squares, made by all threads.
    fn maps(&self, squares: &[Window]) -> Result<Vec<Vec<CoordinateMap>>> {
        let warp = &self.onto.warp;
        let options = MapOptions::default()
            .tolerance(warp.tolerance)
            .most_points(MOST_POINTS)
            .points(WarpPoints::of(warp.resampling))
            .cancel(self.context.cancel.clone());
        let make = |at: usize| -> Result<CoordinateMap> {
            let (square, file) = (at / self.files.len(), at % self.files.len());
            let (Some(square), Some(file)) = (squares.get(square), self.files.get(file)) else {
                return Err(EngineError::Abandoned.into());
            };
            let Placed { grid, transformer, scale, .. } = &file.placed;
            let target = (&self.onto.grid, aligned(*square));
            let map = CoordinateMap::of_window(target, grid, (transformer, *scale), &options);
            map.map_err(|problem| match self.context.cancel.is_cancelled() {
                true => Error::Cancelled,
                false => file.of.refuse(problem.to_string()),
            })
        };
        let count = squares.len().saturating_mul(self.files.len());
        let made = side_by_side(count, self.context.threads.get(), make)?;
        let mut made = made.into_iter();
        Ok(squares.iter().map(|_| made.by_ref().take(self.files.len()).collect()).collect())
    }
}

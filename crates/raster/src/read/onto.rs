//! Reads onto a grid: which windows of which files lie under it, and the parts in which they are read.
//!
//! A batch has many chips, each with its own grid and file; any other read has one chip and all files (`chip`). Grids
//! are cut into squares, and the windows of the files under them are read in parts, as many at once as fit into memory
//! (`onto_cut`).

use super::area::Area;
use super::chip::{Chip, WantedChip};
use super::deliver::{fill_boxes, moved_to, place_bands};
use super::lay::{Lay, Laying};
use super::limits::{Size, check_result};
use super::onto_cut::Part;
use super::onto_mask::pixels_of;
use super::reading::{Done, Reading, len};
use super::request::{Asked, Request};
use super::run::WindowFault;
use super::under::File;
use crate::device;
use crate::error::{Error, Result};
use crate::file::input::InputRef;
use crate::grid::{Onto, Outline, Top};
use crate::options::{FloatType, Interleave, Layer, Processor, ReadOptions};
use crate::side_by_side::try_side_by_side;
use crate::vrt::{Calls, Made, Mosaics};
use crate::window::Window;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use strile_crs::{Crs, Operation};
use strile_engine::{Context, Engine, EngineError, Fill, Location, Output, OutputSpec, Report};
use strile_tiff::geo::GeoTransform;
use strile_tiff::{DataType, InvalidValue};

/// Largest result on a device that is planned.
pub(super) const MOST_BYTES: u64 = 1 << 40;
/// Rectangles that are filled at once.
pub(super) const FILLED_AT_ONCE: usize = 1 << 16;
/// Purpose of the memory of a result, for messages of the budget.
pub(super) const PIXELS: &str = "the pixels of the grid";

/// A checked read onto a grid.
pub(crate) struct OntoRead<'a> {
    /// Files chip by chip, from the lowest to the top one.
    pub(super) files: Vec<File<'a>>,
    /// The chips. All have one size.
    pub(super) chips: Vec<Chip>,
    /// The file that determines type and nodata of the result: the first one.
    first: usize,
    pub(super) onto: Arc<Onto>,
    /// The read of pixels, from which a mask is computed if one is requested.
    pub(super) options: ReadOptions,
    pub(super) is_mask: bool,
    pub(super) context: &'a Context,
}

/// State shared by all parts.
pub(super) struct Given {
    /// The shape of the result.
    pub(super) spec: OutputSpec,
    pub(super) fill: Fill,
    /// Without windows.
    laying: Laying,
    options: ReadOptions,
}

/// Results of the parts.
struct Ran {
    output: Output,
    engine: Arc<dyn Engine>,
    report: Report,
    faults: Vec<WindowFault>,
}

/// Sources that mosaics skipped, each with the problem.
pub(crate) type Holes = Vec<(String, String)>;

/// Returns an error about the grid, in a read of these files.
fn refused(inputs: &[InputRef<'_>], problem: &InvalidValue) -> Error {
    let file = inputs.first().map_or("", |input| input.name()).to_owned();
    Error::Request { file, problem: problem.to_string() }
}

/// Returns the processor of an engine.
pub(super) fn processor(engine: &dyn Engine) -> Processor {
    match engine.location() {
        Location::Host => Processor::Cpu,
        Location::Cuda(index) => Processor::Cuda(index),
    }
}

impl<'a> OntoRead<'a> {
    /// Finds the level of every file, and the settings to warp it onto the grid.
    pub(crate) fn new(inputs: &[InputRef<'a>], options: &ReadOptions, context: &'a Context) -> Result<Self> {
        let none = || Error::Request { file: String::new(), problem: "no file is read onto a grid".into() };
        let (onto, first) = options.place.onto.as_ref().zip(inputs.first()).ok_or_else(none)?;
        let is_mask = options.place.layer == Layer::Mask;
        let of_mask = if is_mask { Some(pixels_of(inputs, options, onto)?) } else { None };
        let options = of_mask.as_ref().unwrap_or(options);
        let onto = options.place.onto.clone().ok_or_else(none)?;
        let whole = Window::full(onto.grid.width(), onto.grid.height());
        let window = options.place.window.unwrap_or(whole);
        if !window.is_inside(whole.width, whole.height) {
            return Err(first.refuse(format!(
                "window {window} is not inside the grid of {} × {} pixels (a window is column,row,width,height)",
                whole.width, whole.height
            )));
        }
        let options = options.clone().window(None);
        let mut files = Vec::with_capacity(inputs.len());
        for input in inputs {
            files.push(File::new(*input, &options, &onto, context)?);
        }
        let first = match onto.warp.top {
            Top::Last => 0,
            Top::First => {
                files.reverse();
                files.len() - 1
            }
        };
        let outline = match &onto.warp.polygon {
            None => None,
            Some(polygon) => {
                let made = Outline::new(polygon, &onto.grid, onto.warp.datum_shift);
                Some(made.map_err(|problem| refused(inputs, &problem))?)
            }
        };
        let chips = vec![Chip { grid: onto.grid.clone(), window, files: 0..files.len(), outline }];
        Ok(Self { files, chips, first, onto, options, is_mask, context })
    }

    /// Prepares a batch: per chip its file and its grid; all grids have one size. `fail` adds the place of a chip to an
    /// error.
    pub(crate) fn of_batch(
        chips: Vec<WantedChip<'a>>,
        options: &ReadOptions,
        context: &'a Context,
        fail: impl Fn(usize, Error) -> Error + Sync,
    ) -> Result<Self> {
        let none =
            || Error::Request { file: "batch of 0 windows".into(), problem: "no window is asked for".into() };
        let (onto, first) = options.place.onto.clone().zip(chips.first()).ok_or_else(none)?;
        let size = (first.grid.width(), first.grid.height());
        for (at, WantedChip { input, grid, .. }) in chips.iter().enumerate() {
            if (grid.width(), grid.height()) != size {
                let problem = format!(
                    "a batch has windows of one size: expected {} × {} pixels as in window 0, got {} × {}; set `size` to \
                     resample all windows to one size",
                    size.0,
                    size.1,
                    grid.width(),
                    grid.height(),
                );
                return Err(fail(at, input.refuse(problem)));
            }
        }
        // Properties that do not depend on the position of a window are computed once per file and pixel size.
        let (mut known, mut firsts, mut kinds) =
            (HashMap::new(), Vec::new(), Vec::with_capacity(chips.len()));
        for (at, WantedChip { input, grid, level, .. }) in chips.iter().enumerate() {
            let GeoTransform { a, b, d, e, .. } = grid.transform();
            let kind = (input.address(), *level, [a, b, d, e].map(f64::to_bits));
            kinds.push(*known.entry(kind).or_insert_with(|| {
                firsts.push(at);
                firsts.len() - 1
            }));
        }
        let threads = context.threads.get();
        let of_chip = |at: usize| {
            let WantedChip { input, grid, level, .. } = chips.get(at).ok_or(EngineError::Abandoned)?;
            let warp = onto.warp.clone().level(level.or(onto.warp.level));
            Ok::<_, Error>((*input, Onto { grid: grid.clone(), warp }))
        };
        let found = try_side_by_side(firsts.len(), threads, |kind| {
            let at = firsts.get(kind).copied().ok_or(EngineError::Abandoned)?;
            let (input, own) = of_chip(at)?;
            File::new(input, options, &own, context).map_err(|error| fail(at, error))
        })?;
        let files = try_side_by_side(chips.len(), threads, |at| {
            let file = kinds.get(at).and_then(|kind| found.get(*kind)).ok_or(EngineError::Abandoned)?;
            file.moved_to(options, &of_chip(at)?.1, context).map_err(|error| fail(at, error))
        })?;
        let outlines = try_side_by_side(chips.len(), threads, |at| {
            let WantedChip { input, grid, polygon, .. } = chips.get(at).ok_or(EngineError::Abandoned)?;
            let Some(polygon) = polygon.as_ref().or(onto.warp.polygon.as_ref()) else { return Ok(None) };
            let made = Outline::new(polygon, grid, onto.warp.datum_shift);
            made.map(Some).map_err(|problem| fail(at, input.refuse(problem.to_string())))
        })?;
        let whole = Window::full(size.0, size.1);
        let chip = |(at, (of, outline)): (usize, (WantedChip<'a>, _))| Chip {
            grid: of.grid,
            window: whole,
            files: at..at + 1,
            outline,
        };
        let chips = chips.into_iter().zip(outlines).enumerate().map(chip).collect();
        let options = options.clone().window(None);
        Ok(Self { files, chips, first: 0, onto, options, is_mask: false, context })
    }

    /// Returns columns and rows of each chip.
    fn size(&self) -> (u32, u32) {
        self.chips.first().map_or((0, 0), |chip| (chip.window.width, chip.window.height))
    }

    /// Returns the number of chips.
    pub(crate) fn count(&self) -> u32 {
        u32::try_from(self.chips.len()).unwrap_or(u32::MAX)
    }

    /// Returns the types that the files store, each with the name of its file.
    pub(crate) fn stored(&self) -> impl Iterator<Item = (&'a str, Option<DataType>)> {
        self.files.iter().map(|file| (file.of.name(), file.data_type))
    }

    pub(super) fn interleave(&self) -> Interleave {
        self.options.layout.interleave
    }

    /// Returns the level of each file, in the order of the caller.
    pub(super) fn levels(&self) -> Vec<usize> {
        let mut levels: Vec<usize> = self.files.iter().map(|file| file.placed.level).collect();
        if self.onto.warp.top == Top::First {
            levels.reverse();
        }
        levels
    }

    /// Returns the operation between the datums for each file, in the order of the caller. Equal ones share their
    /// memory.
    pub(super) fn operations(&self) -> Vec<Arc<Operation>> {
        let mut known: Vec<Arc<Operation>> = Vec::new();
        let of = |file: &File<'_>| {
            let own = file.placed.operation();
            if let Some(known) = known.iter().find(|known| ***known == own) {
                return Arc::clone(known);
            }
            let own = Arc::new(own);
            known.push(Arc::clone(&own));
            own
        };
        let mut operations: Vec<_> = self.files.iter().map(of).collect();
        if self.onto.warp.top == Top::First {
            operations.reverse();
        }
        operations
    }

    /// Returns the transform and the reference system of a result that is not a batch.
    pub(super) fn place(&self) -> (Option<GeoTransform>, Option<&Crs>) {
        let corner =
            |chip: &Chip| chip.grid.transform().window(chip.window.column.into(), chip.window.row.into());
        (self.chips.first().map(corner), Some(self.onto.grid.crs()))
    }

    /// Reads into new memory at `to`. Also returns the value of pixels that no file fills, and the sources that mosaics
    /// skipped.
    pub(crate) fn read(&self, to: Location) -> Result<(Done, Fill, Holes)> {
        let (mosaics, quiet) = (self.mosaics(), self.quiet());
        let calls = mosaics.calls((&self.options.execution, to), &quiet);
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
                moved_to(output, self.options.layout.interleave, holder.as_ref(), &there, self.context)?;
                (there, holder)
            }
        };
        Ok((Done { output, report, faults, engine }, fill, calls.holes()))
    }

    /// Reads into an output, which must have the type and shape of the result.
    pub(crate) fn read_into(&self, output: &Output) -> Result<(Report, Vec<WindowFault>, Holes)> {
        let (mosaics, quiet) = (self.mosaics(), self.quiet());
        let calls = mosaics.calls((&self.options.execution, output.location()), &quiet);
        let given = self.given(&calls)?;
        let want = &given.spec;
        self.check_shape(output.spec(), want)?;
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

    /// Fails for an output that does not have the type and shape of the result.
    pub(super) fn check_shape(&self, have: &OutputSpec, want: &OutputSpec) -> Result<()> {
        let shape = |spec: &OutputSpec| (spec.data_type, spec.bands, spec.rows, spec.columns);
        let told = |(data_type, bands, rows, columns)| format!("{bands} × {rows} × {columns} {data_type}");
        match (shape(have), shape(want)) {
            (have, want) if have == want => Ok(()),
            (have, want) => {
                let (have, want) = (told(have), told(want));
                Err(self.refuse(format!("the output is {have}, the read gives {want}")))
            }
        }
    }

    /// Allocates memory of an engine that the result passes through.
    fn through(&self, engine: &Arc<dyn Engine>, spec: &OutputSpec) -> Result<Output> {
        let OutputSpec { data_type, bands, rows, columns, .. } = *spec;
        let spec = OutputSpec::band_first(data_type, bands, rows, columns);
        Ok(engine.scratch(spec.map_err(|error| self.refuse(error.to_string()))?, self.context)?)
    }

    /// Reads part after part into an output of the first part's engine, which `make` allocates.
    fn run(
        &self,
        (given, calls): (&Given, &Calls<'_>),
        to: Location,
        mut make: impl FnMut(&Arc<dyn Engine>) -> Result<Output>,
    ) -> Result<Ran> {
        let mut ready: Option<(Arc<dyn Engine>, Output)> = None;
        let (mut report, mut faults) = (Report::default(), Vec::new());
        let cut = self.parts(to, |part, decode_on| {
            let chips: Vec<usize> = part.windows.iter().map(|lay| lay.chip).collect();
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
            let of_chip = |fault: WindowFault| {
                let window = chips.get(fault.window).copied().unwrap_or(0);
                WindowFault { window, ..fault }
            };
            faults.extend(found.into_iter().map(of_chip));
            Ok(engine)
        })?;
        let (engine, output) = ready.ok_or(EngineError::Abandoned)?;
        for boxes in cut.empty.chunks(FILLED_AT_ONCE) {
            fill_boxes(engine.as_ref(), &output, (boxes, self.count()), given.fill, self.context)?;
        }
        report.found = self.look_in(&output, engine.as_ref(), given.fill)?;
        Ok(Ran { output, engine, report, faults })
    }

    /// Returns the shape and type of the result, and the state shared by the parts.
    pub(super) fn given(&self, calls: &Calls<'_>) -> Result<Given> {
        let first = self.files.get(self.first).ok_or(EngineError::Abandoned)?;
        let others = self.files.iter().enumerate().filter(|(at, _)| *at != self.first);
        // One window per level of a file is enough.
        let mut known = HashSet::new();
        let all = std::iter::once(first).chain(others.map(|(_, file)| file));
        let all: Vec<_> = all.filter(|file| known.insert((file.of.address(), file.placed.level))).collect();
        let made = all.iter().map(|file| self.made(file, None, (false, true), calls));
        let made = made.collect::<Result<Vec<_>>>()?;
        let requests: Vec<_> =
            all.into_iter().zip(&made).filter_map(|(file, made)| self.request(file, None, made)).collect();
        let warp = &self.onto.warp;
        let is_masked = self.options.meaning.is_masked();
        let nodata = match warp.nodata {
            None if !is_masked => first.of.nodata(self.options.place.bands.as_deref())?,
            given => given,
        };
        let mut laying = Laying {
            size: self.size(),
            count: self.count(),
            sampling: warp.resampling,
            data_type: warp.data_type,
            nodata: warp.nodata,
            fill: warp.fill.or(nodata.filter(|_| !is_masked)),
            avoid: warp.avoid,
            windows: Vec::new(),
        };
        let asked = Asked { laying: Some(&laying), ..Asked::one(&requests, &self.options) };
        let resolved = asked.resolve()?;
        let (spec, decoded) = (resolved.result, resolved.sheets.first().map(|sheet| sheet.spec.data_type));
        laying.check_types(&asked, decoded, spec.data_type)?;
        let fill = laying.fill(&asked, spec.data_type)?;
        let bands = spec.bands / self.count().max(1);
        let size = Size::new((bands, spec.rows, spec.columns), spec.data_type.size());
        let stored = || self.files.iter().fold(0, |sum: u64, file| sum.saturating_add(file.of.stored_len()));
        check_result((first.of.name(), "the files"), size, self.options.execution.max_pixels, stored)?;
        laying.data_type = Some(spec.data_type);
        let mut options = self.options.clone();
        if is_masked {
            options.meaning.float_type = match decoded {
                Some(DataType::F16) => Some(FloatType::Float16),
                Some(DataType::F32) => Some(FloatType::Float32),
                _ => Some(FloatType::Float64),
            };
        }
        Ok(Given { spec, fill, laying, options })
    }

    /// Plans one part and passes it to `then`. Repeats this without damaged sources of mosaics, if these should only
    /// cause warnings. Also returns the faults of blended sources. `pixels` is `false` for a plan.
    pub(super) fn part<R>(
        &self,
        (part, mut decode_on): (Part, Processor),
        (given, calls, pixels): (&Given, &Calls<'_>, bool),
        to: Location,
        mut then: impl FnMut(Reading<'_>) -> Result<R>,
    ) -> Result<(R, Vec<WindowFault>)> {
        let wanted: Vec<(&File<'_>, Option<Window>)> = match part.windows.is_empty() {
            true => self.files.iter().map(|file| (file, None)).collect(),
            false => {
                let of = |lay: &Lay| Some((self.files.get(lay.file)?, Some(lay.under)));
                part.windows.iter().filter_map(of).collect()
            }
        };
        let Laying { size, count, sampling, data_type, nodata, fill, avoid, .. } = given.laying;
        let laying = Laying { size, count, sampling, data_type, nodata, fill, avoid, windows: part.windows };
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
            let execution = given.options.execution.decode_on(decode_on);
            let asked = Asked::one(&requests, &given.options);
            let asked = Asked { execution: &execution, laying: Some(&laying), ..asked };
            let done = Reading::into_held(asked, to, self.context).and_then(|reading| {
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

    /// Returns the mosaics among the files.
    pub(super) fn mosaics(&self) -> Mosaics<'a> {
        Mosaics::among(self.files.iter().map(|file| file.of))
    }

    /// Returns a context without progress, for blending: progress counts blocks.
    pub(super) fn quiet(&self) -> Context {
        Context { progress: None, ..self.context.clone() }
    }

    /// Returns the parts of a mosaic window; `None` for a file.
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

    /// Returns a request for a window of a file; without a window, nothing is read.
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
                let place = self.options.place.clone().level(file.placed.level);
                Some(Request::of_area(dataset, place, under))
            }
        }
    }

    pub(super) fn refuse(&self, problem: String) -> Error {
        Error::Request { file: self.name().to_owned(), problem }
    }

    /// Returns the name of the first file.
    fn name(&self) -> &str {
        self.files.get(self.first).map_or("", |file| file.of.name())
    }

    /// Returns the engine of a GPU that does not decode.
    pub(super) fn holder(&self, index: u32) -> Result<Arc<dyn Engine>> {
        device::holder(index, self.options.execution.device_memory)
            .map_err(|problem| Error::Device { file: self.name().to_owned(), problem })
    }
}

//! One read from request to pixels: resolved, located, planned and run.

use super::cached::Cached;
use super::deliver::{moved_to, place_bands};
use super::first::First;
use super::limits::check_fetched;
use super::plan::ReadPlan;
use super::planned::{Given, Planned};
use super::ranges::fetched_len;
use super::request::{Asked, purpose};
use super::run::{WindowFault, run};
use super::sheet::{Masks, Sheet, Then, differs, len_of};
use super::tasks::Located;
use crate::cache::Cache;
use crate::device::{self, Choice, Work};
use crate::error::{Error, ErrorKind, FaultyFile, Result};
use crate::file::open::io_error;
use crate::options::OnFault;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use strile_engine::{
    BlockTask, Change, Context, Convert, Engine, EngineError, Fill, FinishJob, Lease, Location, MaskJob,
    MaskWindow, Output, OutputError, OutputSpec, Report, ResampleJob, SharedPixels, Sought, Span, Support,
    Turn, WarpJob,
};
use strile_tiff::DataType;

/// A planned read, and its engine.
pub(crate) struct Reading<'a> {
    asked: Asked<'a>,
    /// Where the result is stored. The plan's destination is host memory if a copy there follows.
    to: Location,
    pub(crate) choice: Choice,
    pub(crate) planned: Planned,
    first: First,
    /// Steps after the read, in words.
    after: Vec<String>,
    /// Index of the layout with the most decoded bytes.
    heaviest: u32,
    /// Bands of a window, before its last step.
    bands: u32,
    /// Whether the memory of the result is already leased.
    is_held: bool,
    context: &'a Context,
}

/// The request of a read, for repeating it without the cache.
struct Again<'a> {
    asked: Asked<'a>,
    to: (Location, bool),
    context: &'a Context,
}

/// Pixels in new memory, and the report of the engine.
pub(crate) struct Done {
    pub(crate) output: Output,
    pub(crate) report: Report,
    pub(crate) faults: Vec<WindowFault>,
    pub(crate) engine: Arc<dyn Engine>,
}

impl<'a> Reading<'a> {
    /// Plans a read of pixels into the memory `to`. The plan's destination is host memory if the CPU decodes; `holder`
    /// then has the engine to copy with.
    pub(crate) fn new(asked: Asked<'a>, to: Location, context: &'a Context) -> Result<Self> {
        Self::resolved(asked, (to, false), context)
    }

    /// Plans a read of pixels into memory that is already leased: a part of a read onto a grid, or of a mosaic.
    pub(crate) fn into_held(asked: Asked<'a>, to: Location, context: &'a Context) -> Result<Self> {
        Self::resolved(asked, (to, true), context)
    }

    fn resolved(asked: Asked<'a>, (to, is_held): (Location, bool), context: &'a Context) -> Result<Self> {
        let resolved = asked.resolve()?;
        let need = if is_held { 0 } else { len(&resolved.result) };
        let fits = || context.budget.fits(need, purpose(asked.batch.is_some()));
        if to == Location::Host {
            // Fails here, before block tables are fetched for pixels that do not fit into memory.
            fits()?;
        }
        let named: Vec<_> = resolved
            .groups
            .iter()
            .map(|group| (group.dataset.name().to_owned(), Arc::clone(&group.facts.layout)))
            .collect();
        let first = First::new(&asked, &resolved)?;
        let mut located = asked.locate(resolved, context)?;
        check_remote(&asked, &located)?;
        let (heaviest, choice) = choose(&asked, &located, to, context)?;
        for (file, layout) in named {
            if let Support::No(reason) = choice.engine.support(&layout) {
                return Err(Error::Unsupported { file, reason });
            }
        }
        let destination = if choice.engine.location() == Location::Host { Location::Host } else { to };
        let mut after: Vec<_> = asked.steps.iter().map(|step| step.explained(destination)).collect();
        let [_, bands, ..] = located.shape;
        if asked.laying.is_none() && asked.is_searched_after(&located.sheets, &located.masks, bands) {
            after.push(format!("searched for a value {}", place_of(destination)));
        }
        if asked.replace_job(bands).is_some() {
            after.insert(0, format!("nodata as NaN {}", place_of(destination)));
        }
        if destination != to {
            fits()?;
            after.push(format!("copied to {to}"));
        }
        let given = Given { convert: first.convert, fill: first.fill, batch: asked.batch.is_some() };
        let cached = Cached::take(&mut located, &choice, asked.execution.cache, context)?;
        let planned = Planned::new((located, cached), &choice, given, destination);
        Ok(Self { asked, to, choice, planned, first, after, heaviest, bands, is_held, context })
    }

    /// Returns the plan, with the engine's answers.
    pub(crate) fn explained(self) -> Result<ReadPlan> {
        let Self { asked, to, choice, mut planned, first, after, heaviest, context, .. } = self;
        planned.cached.land();
        let engine = planned.ask(&asked, (&choice, to), context)?;
        Ok(ReadPlan::new(asked, (first, after), (choice, engine), (planned, heaviest)))
    }

    /// Returns the engine of the memory that the result is copied to after the read: that of the GPU `index`.
    pub(crate) fn holder(&self, index: u32) -> Result<Arc<dyn Engine>> {
        match self.choice.engine.location() {
            Location::Cuda(own) if own == index => Ok(Arc::clone(&self.choice.engine)),
            _ => device::holder(index, self.asked.execution.device_memory)
                .map_err(|problem| Error::Device { file: self.asked.name(), problem }),
        }
    }

    /// Returns the engine to copy the result with, if the host decodes for the memory of a GPU.
    fn copies(&self) -> Result<Option<Arc<dyn Engine>>> {
        match self.to {
            Location::Cuda(index) if self.planned.destination == Location::Host => {
                self.holder(index).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Reads into new memory at the requested location.
    pub(crate) fn delivered(self) -> Result<Done> {
        let (holder, interleave, context) = (self.copies()?, self.asked.interleave, self.context);
        let done = self.read()?;
        let Some(engine) = holder else { return Ok(done) };
        let output = engine.output(done.output.spec().clone(), context)?;
        moved_to(done.output, interleave, engine.as_ref(), &output, context)?;
        Ok(Done { output, report: done.report, faults: done.faults, engine })
    }

    /// Reads into an output of the plan's shape and type at the requested location.
    pub(crate) fn delivered_into(self, output: &Output) -> Result<(Report, Vec<WindowFault>)> {
        let (holder, interleave, context) = (self.copies()?, self.asked.interleave, self.context);
        let Some(engine) = holder else { return self.read_into(output) };
        let done = self.read()?;
        moved_to(done.output, interleave, engine.as_ref(), output, context)?;
        Ok((done.report, done.faults))
    }

    /// Reads into new memory at the plan's destination.
    pub(crate) fn read(self) -> Result<Done> {
        let again = self.again();
        Again::or_without(again, self.read_once(), |reading| reading.read_once())
    }

    /// Reads into an output of the plan's shape and type.
    pub(crate) fn read_into(self, output: &Output) -> Result<(Report, Vec<WindowFault>)> {
        let again = self.again();
        Again::or_without(again, self.read_once_into(output), |reading| reading.read_once_into(output))
    }

    /// Returns the request for repeating the read without blocks of the cache, if there are some.
    fn again(&self) -> Option<Again<'a>> {
        let Self { asked, to, is_held, context, .. } = *self;
        let again = || Again { asked, to: (to, is_held), context };
        self.planned.cached.is_used().then(again)
    }

    fn read_once(self) -> Result<Done> {
        let spec = self.planned.output.clone();
        let on_host = self.planned.destination == Location::Host;
        let need = if on_host { len(&spec) } else { 0 };
        let _lease = self.context.take(need, purpose(self.planned.batch))?;
        let output = match on_host {
            true => Output::new(spec)
                .map_err(|error| Error::output(error, |problem| self.asked.refuse(problem)))?,
            false => self.choice.engine.output(spec, self.context)?,
        };
        let engine = Arc::clone(&self.choice.engine);
        let (report, faults) = self.read_once_into(&output)?;
        Ok(Done { output, report, faults, engine })
    }

    fn read_once_into(mut self, output: &Output) -> Result<(Report, Vec<WindowFault>)> {
        let sheets = std::mem::take(&mut self.planned.sheets);
        let masks = std::mem::take(&mut self.planned.masks);
        let Self { asked, choice, planned, bands, context, .. } = self;
        let reader = Reader { asked, engine: choice.engine.as_ref(), context };
        let resampled = sheets.iter().any(|sheet| sheet.then.is_resampled());
        let apart = sheets.iter().any(Sheet::is_apart);
        // Resampled sheets are located at the engine, others at the result.
        let host = Choice::cpu("pixels in host memory").engine;
        let own = resampled || output.location() == reader.engine.location();
        let holder = if own { reader.engine } else { host.as_ref() };
        let looks = asked.meaning.look_for.is_some();
        let after = asked.is_searched_after(&sheets, &masks, bands);
        let made = |sheet: &Sheet| holder.scratch(sheet.spec.clone(), context);
        let (_lease, decoded) = match apart {
            true => {
                let purpose = match resampled {
                    true => "windows before they are resampled",
                    false => "the image before its last step",
                };
                let lease = reader.take(holder.location(), len_of(&sheets), purpose)?;
                (Some(lease), sheets.iter().map(made).collect::<std::result::Result<Vec<_>, _>>()?)
            }
            false => (None, Vec::new()),
        };
        let memory: Vec<&Output> = if apart { decoded.iter().collect() } else { vec![output] };
        if asked.laying.is_some() {
            let Decoded { done, masks, _lease } = reader.decoded(planned, &memory, masks)?;
            let (applied, masks): (Vec<_>, Vec<_>) =
                masks.into_iter().partition(|(of, _)| !of.jobs.is_empty());
            reader.apply(applied, &memory)?;
            let mut masks: BTreeMap<usize, SharedPixels> =
                masks.into_iter().map(|(of, m)| (of.sheet, m)).collect();
            for (at, (sheet, decoded)) in sheets.into_iter().zip(decoded).enumerate() {
                reader.lay(sheet, decoded, masks.remove(&at), output)?;
            }
            return Ok(done);
        }
        let mut done = reader.masked(planned, &memory, masks)?;
        // If no sample can have the value, no output is searched, and it is not found.
        done.0.found = looks.then(|| done.0.found.unwrap_or(false));
        let find = |engine: &dyn Engine, pixels: &Output| {
            engine.find(&asked.find_job(pixels.spec(), bands), pixels, context)
        };
        if let Some(pixels) = memory.first().filter(|_| after && !resampled) {
            done.0.found = Some(find(holder, pixels)?);
        }
        // A value that was not found is not replaced. Of complex samples only those without an imaginary part are
        // found.
        let is_missed = |pixels: &Output| {
            done.0.found == Some(false)
                && asked.looks_for_replaced()
                && Convert::takes(pixels.spec().data_type)
        };
        if let Some((job, pixels)) = asked.replace_job(bands).zip(memory.first())
            && !is_missed(pixels)
        {
            holder.replace(&job, pixels, context)?;
        }
        if let Some((job, then)) = sheets.first().and_then(|sheet| Some((sheet.then.finish()?, &sheet.then)))
        {
            let decoded = decoded.into_iter().next();
            let pixels = decoded.map(|decoded| reader.pixels(decoded.spec().clone(), decoded)).transpose()?;
            match (then, pixels) {
                (Then::AnyDiffers(missing), Some(pixels)) => {
                    reader.any_differs(missing, &pixels, holder, output)?;
                }
                (_, pixels) => holder.finish(&job, pixels.as_ref(), output, context)?,
            }
            return Ok(done);
        }
        for (sheet, decoded) in sheets.into_iter().zip(decoded) {
            reader.resample(sheet, decoded, bands, output)?;
        }
        if after && resampled {
            let own = output.location() == reader.engine.location();
            done.0.found = Some(find(if own { reader.engine } else { host.as_ref() }, output)?);
        }
        Ok(done)
    }
}

impl Again<'_> {
    /// Reads without the cache if there was not enough memory: the cache must not make a read fail.
    fn or_without<R>(
        again: Option<Self>,
        result: Result<R>,
        read: impl FnOnce(Reading<'_>) -> Result<R>,
    ) -> Result<R> {
        match (result, again) {
            (Err(error), Some(Self { asked, to, context })) if error.kind() == ErrorKind::Memory => {
                let execution = asked.execution.cache(Cache::Off);
                let asked = Asked { execution: &execution, ..asked };
                read(Reading::resolved(asked, to, context)?)
            }
            (result, _) => result,
        }
    }
}

/// The report of a plan, and the masks that it decoded.
struct Decoded {
    done: (Report, Vec<WindowFault>),
    masks: Vec<(Masks, SharedPixels)>,
    _lease: Option<Lease>,
}

/// The engine of a read at work.
struct Reader<'a> {
    asked: Asked<'a>,
    engine: &'a dyn Engine,
    context: &'a Context,
}

impl Reader<'_> {
    /// Runs the plan and applies masks, which are decoded and applied where the pixels are.
    fn masked(
        &self,
        planned: Planned,
        sheets: &[&Output],
        masks: Vec<Masks>,
    ) -> Result<(Report, Vec<WindowFault>)> {
        let Decoded { done, masks, _lease } = self.decoded(planned, sheets, masks)?;
        self.apply(masks, sheets)?;
        Ok(done)
    }

    /// Applies masks to their sheets.
    fn apply(&self, masks: Vec<(Masks, SharedPixels)>, sheets: &[&Output]) -> Result<()> {
        let host = Choice::cpu("masks in host memory").engine;
        let place = sheets.first().map_or(Location::Host, |sheet| sheet.location());
        let engine = if place == self.engine.location() { self.engine } else { host.as_ref() };
        for (Masks { sheet, jobs, .. }, made) in masks {
            let sheet = sheets.get(sheet).ok_or(EngineError::Abandoned)?;
            for job in jobs {
                engine.mask(&job, &made, sheet, self.context)?;
            }
        }
        Ok(())
    }

    /// Converts pixels to a mask: valid where a band differs from its missing value.
    fn any_differs(
        &self,
        missing: &[Sought],
        pixels: &SharedPixels,
        engine: &dyn Engine,
        output: &Output,
    ) -> Result<()> {
        let OutputSpec { rows, columns, .. } = *output.spec();
        let spec = OutputSpec::band_first(DataType::U8, 1, rows, columns);
        let spec = spec.map_err(|error| self.asked.refuse(error.to_string()))?;
        let _lease = self.take(engine.location(), len(&spec), "the mask of a band")?;
        for (&missing, band) in missing.iter().zip(0u32..) {
            let own = pixels.band(band).ok_or(EngineError::Abandoned)?;
            if band == 0 {
                engine.finish(&differs(missing), Some(&own), output, self.context)?;
                continue;
            }
            // Valid in this band: 0 in a mask that makes pixels valid where it is 0.
            let valid = engine.scratch(spec.clone(), self.context)?;
            engine.finish(&differs(missing), Some(&own), &valid, self.context)?;
            let inverted = FinishJob { change: Change::Invert(8), turn: Turn::default() };
            engine.finish(&inverted, None, &valid, self.context)?;
            let valid = self.pixels(spec.clone(), valid)?;
            let window = MaskWindow { first_band: 0, bands: 1, spared: None };
            let job = MaskJob { windows: vec![window], value: Fill([u8::MAX; 16]) };
            engine.mask(&job, &valid, output, self.context)?;
        }
        Ok(())
    }

    /// Runs the plan, and returns masks, which are decoded where the pixels are.
    fn decoded(&self, planned: Planned, sheets: &[&Output], masks: Vec<Masks>) -> Result<Decoded> {
        if masks.is_empty() {
            return Ok(Decoded { done: self.run(planned, sheets)?, masks: Vec::new(), _lease: None });
        }
        let host = Choice::cpu("masks in host memory").engine;
        let place = sheets.first().map_or(Location::Host, |sheet| sheet.location());
        let engine = if place == self.engine.location() { self.engine } else { host.as_ref() };
        let need = masks.iter().map(|masks| len(&masks.spec)).fold(0, u64::saturating_add);
        let _lease = Some(self.take(place, need, "masks")?);
        let made = masks.iter().map(|masks| engine.scratch(masks.spec.clone(), self.context));
        let made = made.collect::<std::result::Result<Vec<_>, _>>()?;
        let memory: Vec<&Output> = sheets.iter().copied().chain(&made).collect();
        let done = self.run(planned, &memory)?;
        let made = masks.into_iter().zip(made).map(|(masks, made)| {
            let pixels = self.pixels(masks.spec.clone(), made)?;
            Ok((masks, pixels))
        });
        Ok(Decoded { done, masks: made.collect::<Result<Vec<_>>>()?, _lease })
    }

    /// Shares decoded pixels for another step.
    fn pixels(&self, spec: OutputSpec, decoded: Output) -> Result<SharedPixels> {
        let pixels = match decoded.device_bytes() {
            Some(bytes) => SharedPixels::on_device(spec, bytes.clone()),
            None => SharedPixels::new(spec, Arc::new(decoded.into_vec().ok_or(EngineError::Abandoned)?)),
        };
        pixels.map_err(|error| self.asked.refuse(error.to_string()))
    }

    /// Runs the plan. Faulty blocks make it fail, unless they are to be filled.
    fn run(&self, planned: Planned, memory: &[&Output]) -> Result<(Report, Vec<WindowFault>)> {
        let sources = planned.sources.clone();
        let (report, faults, keeping) = run(planned, self.engine, memory, self.context)?;
        match (self.asked.execution.on_fault, faults.first()) {
            (OnFault::Fail, Some(WindowFault { window, file, fault })) => {
                let (first, count) = (fault.clone(), faults.len());
                let error = Error::Blocks { file: file.clone(), first, count, also: others(file, &faults) };
                Err(self.asked.at(*window)(error))
            }
            _ => {
                for source in &sources {
                    source.check_unchanged().map_err(|error| io_error(source.as_ref(), error))?;
                }
                keeping.keep();
                Ok((report, faults))
            }
        }
    }

    /// Leases memory in a place; a device leases its own.
    fn take(&self, place: Location, need: u64, purpose: &'static str) -> Result<Lease> {
        let need = if place == Location::Host { need } else { 0 };
        Ok(self.context.take(need, purpose)?)
    }

    /// Warps the windows of a sheet onto `output`, in memory that the engine writes.
    fn lay(&self, sheet: Sheet, decoded: Output, valid: Option<SharedPixels>, output: &Output) -> Result<()> {
        let Then::Warp(windows) = sheet.then else { return Err(EngineError::Abandoned.into()) };
        if windows.is_empty() {
            return Ok(());
        }
        let job = WarpJob { sampling: self.asked.warp_sampling(), windows };
        let pixels = self.pixels(sheet.spec, decoded)?;
        Ok(self.engine.warp(&job, &pixels, valid.as_ref(), output, self.context)?)
    }

    /// Resamples the windows of a sheet into their bands of `output`: directly if these are all bands and the engine
    /// writes there, else through intermediate memory.
    fn resample(&self, sheet: Sheet, decoded: Output, bands: u32, output: &Output) -> Result<()> {
        let Sheet { windows, spec, then } = sheet;
        let Then::Resample(patches) = then else { return Err(EngineError::Abandoned.into()) };
        let refuse = |error: OutputError| self.asked.refuse(error.to_string());
        let pixels = self.pixels(spec, decoded)?;
        let (all, of_sheet) = (output.spec(), pixels.spec().bands);
        let job = ResampleJob { sampling: self.asked.sampling(), windows: patches };
        if output.location() == self.engine.location() && of_sheet == all.bands {
            return Ok(self.engine.resample(&job, &pixels, output, self.context)?);
        }
        let there = OutputSpec::band_first(all.data_type, of_sheet, all.rows, all.columns);
        let there = there.map_err(refuse)?;
        let _lease = self.take(self.engine.location(), len(&there), "windows on their way to the result")?;
        let there = self.engine.scratch(there, self.context)?;
        self.engine.resample(&job, &pixels, &there, self.context)?;
        drop(pixels);
        let bands_of = |window: usize| {
            let first = u32::try_from(window).unwrap_or(u32::MAX).saturating_mul(bands);
            first..first.saturating_add(bands)
        };
        let bands: Vec<u32> = windows.into_iter().flat_map(bands_of).collect();
        place_bands(there, &bands, self.engine, output, self.context)
    }
}

/// Describes where a step runs.
pub(super) fn place_of(place: Location) -> String {
    match place {
        Location::Host => "on the host".to_owned(),
        Location::Cuda(index) => format!("on cuda:{index}"),
    }
}

/// Returns the files with faults other than `first`.
fn others(first: &str, faults: &[WindowFault]) -> Box<[FaultyFile]> {
    let mut files: BTreeMap<&str, FaultyFile> = BTreeMap::new();
    for WindowFault { file, fault, .. } in faults.iter().filter(|fault| fault.file != first) {
        let new = || FaultyFile { file: file.clone(), first: fault.clone(), count: 0 };
        files.entry(file).or_insert_with(new).count += 1;
    }
    files.into_values().collect()
}

/// Returns the bytes of a shape.
pub(super) fn len(spec: &OutputSpec) -> u64 {
    spec.len().map_or(u64::MAX, |len| len as u64)
}

/// Fails for a read that would fetch too much from remote files.
fn check_remote(asked: &Asked<'_>, located: &Located) -> Result<()> {
    if asked.execution.max_cloud_bytes.is_none() {
        return Ok(());
    }
    let (mut fetched, mut name) = (0u64, asked.name());
    for of_source in located.tasks.chunk_by(|a, b| a.source == b.source) {
        let Some(source) = of_source.first().and_then(|task| located.sources.get(task.source as usize))
        else {
            continue;
        };
        if source.local().is_none() {
            let spans: Vec<Option<Span>> = of_source.iter().map(|task| task.span).collect();
            fetched = fetched.saturating_add(fetched_len(&spans, source.as_ref()));
            if asked.batch.is_none() {
                // The file that contains the level: it may be beside the image.
                source.name().clone_into(&mut name);
            }
        }
    }
    check_fetched(&name, fetched, asked.execution)
}

/// Chooses the engine, estimated by the layout with the most decoded bytes, as if all blocks had it.
fn choose(asked: &Asked<'_>, located: &Located, to: Location, context: &Context) -> Result<(u32, Choice)> {
    let mut decoded: BTreeMap<u32, u64> = BTreeMap::new();
    let kind = |task: &BlockTask| (task.layout, task.placement.rows, task.span.is_some());
    // Neighbours of the same kind are counted at once.
    for alike in located.tasks.chunk_by(|a, b| kind(a) == kind(b)) {
        let Some(task) = alike.first().filter(|task| task.span.is_some()) else { continue };
        let layout = located.layouts.get(task.layout as usize);
        let len = layout.and_then(|layout| layout.decoded_len(task.placement.rows)).unwrap_or(0) as u64;
        let sum = decoded.entry(task.layout).or_default();
        *sum = sum.saturating_add(len.saturating_mul(alike.len() as u64));
    }
    let heaviest = decoded.iter().max_by_key(|(_, len)| **len).map_or(0, |(&layout, _)| layout);
    let layout = located.layouts.get(heaviest as usize).ok_or(EngineError::Abandoned)?;
    let spans: Cow<'_, [Option<Span>]> = match located.spans.as_slice() {
        [only] => Cow::Borrowed(only),
        several => Cow::Owned(several.concat()),
    };
    let local = located.sources.iter().map(|source| source.local()).collect::<Option<Vec<_>>>();
    let work = Work {
        layout,
        spans: &spans,
        output: len_of(&located.sheets),
        to,
        local: local.and_then(|locals| locals.into_iter().next()),
        threads: context.threads.get(),
        is_blended_there: !located.held.is_empty(),
    };
    let choice = device::choose(asked.execution, &work);
    let choice = choice.map_err(|problem| Error::Device { file: asked.name(), problem })?;
    Ok((heaviest, choice))
}

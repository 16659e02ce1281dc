//! Asks the engine for its plan of a read that is ready to run.

use super::canvas::Canvas;
use super::cut::Rows;
use super::deliver::stored_job;
use super::plan::{Fetch, MemoryNeed, PlanFigures};
use super::planned::{Blocks, Planned, in_flight};
use super::ranges::{fetches, requests};
use super::reading::len;
use super::request::{Asked, Request};
use super::sheet::{Sheet, Then, len_of};
use super::stage::{Arranged, least_of};
use super::tasks::Target;
use crate::device::Choice;
use crate::error::Result;
use crate::options::Interleave;
use crate::source::Source;
use std::ops::Range;
use std::sync::Arc;
use strile_engine::{
    BlockTask, Context, DecodeJob, Engine, EngineError, EngineMemory, EnginePlan, Held, Location, OutputKind,
    OutputSpec, ResampleJob, Route, Routes, Submission, Supply, WarpJob,
};

/// Memory, figures and decoders of a read.
pub(super) struct Answer {
    pub(super) memory: MemoryNeed,
    pub(super) figures: PlanFigures,
    pub(super) routes: Vec<Route>,
}

/// Plans of blocks that involve the cache.
struct CachedPlans {
    whole: Option<EnginePlan>,
    placed: Option<EnginePlan>,
}

/// Memory and batches of windows that are moved to the result after they were resampled.
pub(super) struct Brought {
    pub(super) host: u64,
    pub(super) device: u64,
    pub(super) batches: usize,
}

impl Brought {
    /// Moves pixels of this shape from the engine's memory to another place.
    pub(super) fn new(
        spec: &OutputSpec,
        (engine, to): (&dyn Engine, Location),
        held: Held,
        context: &Context,
    ) -> Result<Self> {
        let through = len(spec);
        let job = stored_job(spec, Interleave::BandFirst, Some).ok_or(EngineError::Abandoned)?;
        let outputs = [OutputKind { data_type: spec.data_type, location: to, converts: false }];
        let (supply, more) = match engine.location() {
            Location::Host => (Supply::Staged, Held { host: through, device: 0 }),
            Location::Cuda(_) => (Supply::Device(through), Held { host: 0, device: through }),
        };
        let held = Held {
            host: held.host.saturating_add(more.host),
            device: held.device.saturating_add(more.device),
        };
        let plan = engine.plan(&job, &Submission { supply, outputs: &outputs, held }, context)?;
        Ok(Self {
            host: more.host.saturating_add(plan.memory.host),
            device: more.device.saturating_add(plan.memory.device),
            batches: plan.batches,
        })
    }
}

impl Planned {
    /// Asks the engine for its plan of each batch, for a result in new memory `to`.
    pub(super) fn ask(
        &self,
        asked: &Asked<'_>,
        (choice, to): (&Choice, Location),
        context: &Context,
    ) -> Result<Answer> {
        let engine = choice.engine.as_ref();
        let resampled = self.sheets.iter().any(|sheet| sheet.then.is_resampled());
        let sheets_at = if resampled { engine.location() } else { self.destination };
        let apart = self.sheets.iter().any(Sheet::is_apart);
        let (output, sheets) = (len(&self.output), if apart { len_of(&self.sheets) } else { 0 });
        let masks = self.masks.iter().map(|masks| len(&masks.spec)).fold(0, u64::saturating_add);
        // The mask of one band, if each band has its own.
        let by_band = self.sheets.iter().any(|sheet| matches!(sheet.then, Then::AnyDiffers(_)));
        let masks = masks.saturating_add(if by_band { output } else { 0 });
        let at = |place: Location, bytes: u64, here: bool| {
            if (place == Location::Host) == here { bytes } else { 0 }
        };
        let held = |here: bool| {
            let beside = at(sheets_at, sheets.saturating_add(masks), here);
            at(self.destination, output, here).saturating_add(beside)
        };
        let blended = self.held.iter().map(|(held, _)| held.len).fold(0, u64::saturating_add);
        // Warped pixels pass through memory of the engine, which is allocated before the first part.
        let is_laid = self.sheets.iter().any(|sheet| matches!(sheet.then, Then::Warp(_)));
        let through = if is_laid && self.destination != engine.location() { output } else { 0 };
        let held = |here: bool| held(here).saturating_add(at(engine.location(), through, here));
        let canvases = asked.requests.iter().filter_map(Request::canvas);
        let blended_on_host = canvases.map(Canvas::blended_on_host).fold(0, u64::saturating_add);
        let held = Held {
            host: held(true).saturating_add(self.staging).saturating_add(blended_on_host),
            device: held(false).saturating_add(blended),
        };
        let supply = match self.fetch {
            Fetch::Staged => Supply::Staged,
            Fetch::Pulled | Fetch::Direct => Supply::Pulled,
        };
        let kinds: Vec<OutputKind> = self.outputs.iter().map(|target| self.kind(target, sheets_at)).collect();
        let submission = Submission { supply, outputs: &kinds, held };
        let (mut plans, mut answers) = (Vec::with_capacity(self.batches.len()), Vec::new());
        for batch in &self.batches {
            let mut tasks = batch.clone();
            let mut jobs = Vec::new();
            if supply == Supply::Staged {
                let arranged = Arranged::new(&mut tasks, &self.sources)?;
                answers.push(arranged.answers(&self.sources));
                match (engine.location(), Rows::of(&tasks)) {
                    // Ranges are decoded one by one; none takes more memory than all of them.
                    (Location::Host, _) => arranged.apply(&mut tasks),
                    (Location::Cuda(_), rows) => {
                        let groups = arranged.grouped(&tasks, least_of(engine)).into_iter();
                        jobs.extend(groups.flat_map(|group| rows.cut(group.tasks)));
                        tasks.clear();
                    }
                }
            }
            jobs.extend(Some(tasks).filter(|tasks| !tasks.is_empty()));
            for tasks in jobs {
                let job = DecodeJob::new(self.layouts.clone(), self.selections.clone(), tasks);
                let job = job.map_err(|_| EngineError::Abandoned)?;
                plans.push(engine.plan(&job, &submission, context)?);
            }
        }
        let found = self.ask_cached(engine, (&kinds, supply, held), context)?;
        plans.extend(found.whole);
        let read = plans.len();
        plans.extend(found.placed);
        for (of, tasks) in &self.held {
            let job = DecodeJob::new(self.layouts.clone(), self.selections.clone(), tasks.clone());
            let job = job.map_err(|_| EngineError::Abandoned)?;
            let supply = Supply::Device(of.len);
            plans.push(engine.plan(&job, &Submission { supply, outputs: &kinds, held }, context)?);
        }
        let sum = |of: fn(&EnginePlan) -> u64| in_flight(plans.iter().map(of));
        let decoding = match (self.fetch, engine.location()) {
            // Parts of one batch are decoded together.
            (Fetch::Staged, Location::Host) => {
                in_flight(plans.iter().chain(&plans).map(|plan| plan.memory.host))
            }
            _ => sum(|plan| plan.memory.host),
        };
        let brought = self.brought(engine, held, context)?;
        let steps = self.steps(engine, asked, context)?;
        let most = |of: fn(&Brought) -> u64, step: fn(&EngineMemory) -> u64| {
            let brought = brought.iter().map(of).max().unwrap_or(0);
            brought.max(steps.iter().map(step).max().unwrap_or(0))
        };
        let at_once = decoding.saturating_add(in_flight(answers.into_iter()));
        let at_once = at_once.max(most(|one| one.host, |step| step.host));
        let plan_bytes = self.leases.iter().map(strile_engine::Lease::bytes).fold(0, u64::saturating_add);
        let host = [plan_bytes, held.host, at_once];
        let copied = if to == self.destination { 0 } else { output };
        let working = sum(|plan| plan.memory.device).max(most(|one| one.device, |step| step.device));
        let memory = MemoryNeed {
            output,
            scratch_per_thread: plans.iter().map(|plan| plan.memory.per_worker).max().unwrap_or(0),
            decoding,
            staging: self.staging,
            scratch: sheets.saturating_add(masks),
            host: host.into_iter().fold(0, u64::saturating_add).min(context.budget.limit()),
            device: held.device.saturating_add(working).saturating_add(copied),
        };
        let Blocks { stored, sparse, encoded_bytes } = self.blocks();
        let (ranges, range_bytes) = match self.fetch {
            Fetch::Staged => self.staged(|range, _| (1, range.end - range.start)),
            Fetch::Pulled | Fetch::Direct => {
                plans.iter().take(read).fold((0, 0u64), |(count, bytes), plan| {
                    (count + plan.ranges, bytes.saturating_add(plan.range_bytes))
                })
            }
        };
        let (requests, request_bytes) = match self.fetch {
            Fetch::Staged => self.staged(|range, source| match source.local().is_none() {
                true => requests(range, source),
                false => (0, 0),
            }),
            Fetch::Pulled | Fetch::Direct => (0, 0),
        };
        let figures = PlanFigures {
            blocks: stored,
            sparse,
            encoded_bytes,
            ranges,
            range_bytes,
            requests,
            request_bytes,
            batches: self.batches.len(),
            cached: self.cached.blocks,
            cached_bytes: self.cached.bytes,
            engine_batches: plans
                .iter()
                .map(|plan| plan.batches)
                .chain(brought.iter().map(|one| one.batches))
                .sum(),
        };
        let mut routes = Routes::default();
        plans.into_iter().flat_map(|plan| plan.routes).for_each(|route| routes.add(route));
        Ok(Answer { memory, figures, routes: routes.into_routes() })
    }

    /// Returns the plans of blocks that are decoded for the cache, and of those that are placed from the cache.
    fn ask_cached(
        &self,
        engine: &dyn Engine,
        (kinds, supply, held): (&[OutputKind], Supply, Held),
        context: &Context,
    ) -> Result<CachedPlans> {
        let job = |tasks| DecodeJob::new(self.layouts.clone(), self.selections.clone(), tasks);
        let plan = |tasks: Vec<BlockTask>, submission: Submission<'_>| -> Result<Option<EnginePlan>> {
            if tasks.is_empty() {
                return Ok(None);
            }
            let job = job(tasks).map_err(|_| EngineError::Abandoned)?;
            Ok(Some(engine.plan(&job, &submission, context)?))
        };
        let outputs = self.cached.outputs()?;
        let outputs: Vec<_> = outputs
            .iter()
            .map(|spec| OutputKind { data_type: spec.data_type, location: Location::Host, converts: false })
            .collect();
        let mut whole = self.cached.whole();
        if supply == Supply::Staged {
            Arranged::new(&mut whole, &self.sources)?.apply(&mut whole);
        }
        let whole = plan(whole, Submission { supply, outputs: &outputs, held })?;
        let placed = Submission { supply: Supply::Pulled, outputs: kinds, held };
        let placed = plan(self.cached.found.clone(), placed)?;
        Ok(CachedPlans { whole, placed })
    }

    /// Returns the memory of resampling or warping windows, sheet by sheet.
    fn steps(&self, engine: &dyn Engine, asked: &Asked<'_>, context: &Context) -> Result<Vec<EngineMemory>> {
        let OutputSpec { data_type, rows, columns, .. } = self.output;
        let of_sheet = |sheet: &Sheet| {
            Ok(match &sheet.then {
                Then::Warp(windows) => {
                    let job = WarpJob { sampling: asked.warp_sampling(), windows: windows.clone() };
                    Some(engine.warp_memory(&job, context))
                }
                Then::Resample(windows) => {
                    let to = OutputSpec::band_first(data_type, sheet.spec.bands, rows, columns);
                    let to = to.map_err(|_| EngineError::Abandoned)?;
                    let job = ResampleJob { sampling: asked.sampling(), windows: windows.clone() };
                    Some(engine.resample_memory(&job, (&sheet.spec, &to), context))
                }
                Then::Nothing | Then::Finish(_) | Then::AnyDiffers(_) => None,
            })
        };
        self.sheets.iter().filter_map(|sheet| of_sheet(sheet).transpose()).collect()
    }

    /// Returns the costs of resampled windows that pass through memory of the engine: those that do not fill the
    /// result, or lie elsewhere. They are moved after decoding, sheet by sheet; warped pixels after all parts.
    fn brought(&self, engine: &dyn Engine, held: Held, context: &Context) -> Result<Vec<Brought>> {
        let here = engine.location();
        let OutputSpec { data_type, bands, rows, columns, .. } = self.output;
        let mut brought = Vec::new();
        for sheet in self.sheets.iter().filter(|sheet| matches!(sheet.then, Then::Resample(_))) {
            let of_sheet = sheet.spec.bands;
            if self.destination == here && of_sheet == bands {
                continue;
            }
            let spec = OutputSpec::band_first(data_type, of_sheet, rows, columns);
            let spec = spec.map_err(|_| EngineError::Abandoned)?;
            brought.push(Brought::new(&spec, (engine, self.destination), held, context)?);
        }
        Ok(brought)
    }

    /// Returns the kind of an output of the job. `location` is that of sheets and of their masks.
    fn kind(&self, target: &Target, location: Location) -> OutputKind {
        let sheet = self.sheets.get(target.memory).map(|sheet| &sheet.spec);
        let masks = || target.memory.checked_sub(self.sheets.len()).and_then(|at| self.masks.get(at));
        let spec = sheet.or_else(|| masks().map(|masks| &masks.spec)).unwrap_or(&self.output);
        OutputKind { data_type: spec.data_type, location, converts: target.convert.is_some() }
    }

    /// Adds up `count` of each range that staging reads.
    fn staged(&self, count: impl Fn(&Range<u64>, &dyn Source) -> (usize, u64)) -> (usize, u64) {
        let whole = self.cached.whole();
        let batches = self.batches.iter().chain([&whole]);
        let of_source = batches.flat_map(|batch| batch.chunk_by(|a, b| a.source == b.source));
        let counts = of_source.flat_map(|tasks| {
            let source = tasks.first().and_then(|task| self.sources.get(task.source as usize));
            let count = |source: &Arc<dyn Source>| {
                let ranges = fetches(tasks, source.as_ref());
                ranges.iter().map(|range| count(range, source.as_ref())).collect::<Vec<_>>()
            };
            source.map(count).unwrap_or_default()
        });
        counts.fold((0, 0u64), |(count, sum), (one, bytes)| (count + one, sum.saturating_add(bytes)))
    }
}

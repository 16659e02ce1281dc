//! Runs a plan: fetch, decode, place. Blocks are decoded as their bytes arrive, while the next batch is fetched.

use super::cached::{Cached, Expected, Keeping};
use super::cut::Rows;
use super::plan::Fetch;
use super::planned::Planned;
use super::resolve::Held;
use super::stage::Arriving;
use super::tasks::Target;
use crate::error::{Error, Result};
use crate::source::Source;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::thread::Scope;
use strile_engine::{
    BlockAddress, BlockLayout, BlockTask, Claim, Context, DecodeJob, Encoded, Engine, EngineError, JobError,
    LocatedFault, Location, Output, OutputBox, ReadAt, Report, Ticket,
};

/// Number of batches that are decoded or fetched at a time, and of jobs that keep all threads busy.
pub(super) const IN_FLIGHT: usize = 2;

/// A faulty block of a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowFault {
    /// Number of the window, from 0.
    pub window: usize,
    /// The file.
    pub file: String,
    /// The block, and its fault.
    pub fault: LocatedFault,
}

/// Decodes all blocks of a planned read into its memory: that of its sheets, then that of its masks. After it returns,
/// with a report or an error, nothing writes there any more. Also returns decoded blocks for the cache.
pub(super) fn run(
    planned: Planned,
    engine: &dyn Engine,
    memory: &[&Output],
    context: &Context,
) -> Result<(Report, Vec<WindowFault>, Keeping)> {
    let _staging = context.take(planned.staging, "staging of encoded blocks")?;
    let Planned { sources, layouts, selections, outputs: targets, batches, held, fetch, mut cached, .. } =
        planned;
    let shown = Shown::new(
        batches.iter().flatten().chain(cached.parts()),
        planned.windows.iter().copied().chain(cached.windows()),
    );
    cached.note();
    let locals = sources.iter().map(|source| source.local()).collect::<Option<Vec<Arc<dyn ReadAt>>>>();
    let (_claims, outputs) = lend(memory, &targets)?;
    let flight = Flight {
        engine,
        context,
        sources: &sources,
        layouts,
        selections,
        outputs,
        targets: &targets,
        flights: VecDeque::new(),
        report: Report::default(),
        cached,
        keeping: Keeping::default(),
    };
    let (mut report, keeping) = flight.fly(batches, held, locals.filter(|_| fetch != Fetch::Staged))?;
    let faults = shown.faults(std::mem::take(&mut report.faults), &sources);
    Ok((report, faults, keeping))
}

/// Returns the outputs of the job. They are in the memory that they name, which stays claimed.
fn lend(memory: &[&Output], targets: &[Target]) -> Result<(Vec<Arc<Claim>>, Vec<Output>)> {
    let claim = |output: &&Output| {
        let spec = output.spec();
        let whole = OutputBox { bands: (0, spec.bands), rows: (0, spec.rows), columns: (0, spec.columns) };
        output.claim(whole).map(Arc::new).ok_or(EngineError::Busy { output: 0 })
    };
    let claims = memory.iter().map(claim).collect::<std::result::Result<Vec<_>, _>>()?;
    let lent = |target: &Target| {
        let claim = claims.get(target.memory).ok_or(EngineError::Abandoned)?;
        let output = match target.convert {
            None => claim.delegate_converted(),
            Some(convert) => claim.delegate_converting(convert).map_err(|error| inconsistent(&error))?,
        };
        match target.sought {
            None => Ok(output),
            Some(sought) => output.looking_for(sought).map_err(|error| inconsistent(&error)),
        }
    };
    let outputs = targets.iter().map(lent).collect::<Result<Vec<_>>>()?;
    Ok((claims, outputs))
}

/// Jobs in flight, and the report of finished jobs.
struct Flight<'a> {
    engine: &'a dyn Engine,
    context: &'a Context,
    sources: &'a [Arc<dyn Source>],
    layouts: Vec<Arc<BlockLayout>>,
    selections: Vec<Vec<u16>>,
    outputs: Vec<Output>,
    targets: &'a [Target],
    flights: VecDeque<Flying>,
    report: Report,
    cached: Cached,
    keeping: Keeping,
}

/// A job in flight.
struct Flying {
    ticket: Ticket<Report>,
    /// The boxes that it writes.
    boxes: BTreeMap<u32, OutputBox>,
    tasks: usize,
    /// Whether its bytes were read. Those from the cache were not.
    is_read: bool,
}

impl Flight<'_> {
    /// Decodes all batches, and places pixels that are on the device. If local sources are given, the engine reads them
    /// itself.
    fn fly(
        mut self,
        mut batches: Vec<Vec<BlockTask>>,
        held: Vec<(Held, Vec<BlockTask>)>,
        locals: Option<Vec<Arc<dyn ReadAt>>>,
    ) -> Result<(Report, Keeping)> {
        let mut result = held.into_iter().try_for_each(|held| self.place_held(held));
        result =
            result.and_then(|()| self.place_cached(locals.as_ref()).map(|faulty| batches.extend(faulty)));
        result = result.and_then(|()| match locals {
            Some(locals) => {
                let last = batches.pop();
                batches.into_iter().try_for_each(|batch| {
                    let job = self.job(batch)?;
                    self.submit(job, Encoded::Pulled(locals.clone()), true)
                })?;
                last.map_or(Ok(()), |last| {
                    let job = self.job(last)?;
                    self.finish(job, Encoded::Pulled(locals), true)
                })
            }
            None => std::thread::scope(|scope| self.fly_staged(batches, scope)),
        });
        // After any error: all jobs end before the caller gets the outputs back.
        while !self.flights.is_empty() {
            let landed = self.land();
            result = result.and(landed);
        }
        result.map(|()| (self.report, self.keeping))
    }

    /// Places pixels that are already in the memory of the device.
    fn place_held(&mut self, (held, tasks): (Held, Vec<BlockTask>)) -> Result<()> {
        let bytes = held.bytes.ok_or(EngineError::Abandoned)?;
        let job = self.job(tasks)?;
        self.submit(job, Encoded::Device(bytes), false)
    }

    /// Decodes blocks for the cache, and places them with those from the cache. Returns the tasks of faulty blocks.
    fn place_cached(&mut self, locals: Option<&Vec<Arc<dyn ReadAt>>>) -> Result<Option<Vec<BlockTask>>> {
        let mut faulty = Vec::new();
        if self.cached.makes() {
            let made = self.cached.outputs()?.into_iter().map(|spec| self.engine.scratch(spec, self.context));
            let made = made.collect::<std::result::Result<Vec<_>, _>>()?;
            let faults = self.make(&made, locals)?;
            let is_faulty = |task: &BlockTask| faults.contains(&(task.source, task.address));
            (faulty, self.keeping) = self.cached.complete(made, is_faulty)?;
        }
        let found = std::mem::take(&mut self.cached.found);
        if !found.is_empty() {
            let encoded = self.cached.encoded(self.sources.len());
            let job = self.job(found)?;
            self.submit(job, encoded, false)?;
        }
        Ok(Some(faulty).filter(|faulty| !faulty.is_empty()))
    }

    /// Decodes whole blocks, each into a separate output. Returns those that are faulty.
    fn make(
        &mut self,
        made: &[Output],
        locals: Option<&Vec<Arc<dyn ReadAt>>>,
    ) -> Result<BTreeSet<(u32, BlockAddress)>> {
        let (sources, engine) = (self.sources, self.engine);
        // Their tasks are counted when they are placed.
        let context = Context { progress: None, ..self.context.clone() };
        let whole = self.cached.whole();
        let mut reports = Vec::new();
        let mut faults = BTreeSet::new();
        match locals {
            Some(locals) => {
                let encoded = Encoded::Pulled(locals.clone());
                reports.push(engine.decode(self.job(whole)?, encoded, made, &context)?);
            }
            None => std::thread::scope(|scope| -> Result<()> {
                let mut arriving = Arriving::begin(whole, sources, engine, &context, scope)?;
                faults.extend(arriving.outside.drain(..).map(|fault| (fault.source, fault.address)));
                while let Some((tasks, arena)) = arriving.next(sources, &context)? {
                    let encoded = Encoded::Staged(Arc::new(arena));
                    reports.push(engine.decode(self.job(tasks)?, encoded, made, &context)?);
                }
                Ok(())
            })?,
        }
        for report in reports {
            self.report.encoded_bytes += report.encoded_bytes;
            faults.extend(report.faults.iter().map(|fault| (fault.source, fault.address)));
        }
        Ok(faults)
    }

    fn job(&self, tasks: Vec<BlockTask>) -> Result<DecodeJob> {
        DecodeJob::new(self.layouts.clone(), self.selections.clone(), tasks)
            .map_err(|error: JobError| inconsistent(&error))
    }

    /// Decodes blocks as their bytes arrive, while those of the next batch are fetched: takes the memory of two
    /// batches.
    fn fly_staged<'scope>(
        &mut self,
        batches: Vec<Vec<BlockTask>>,
        scope: &'scope Scope<'scope, '_>,
    ) -> Result<()>
    where
        Self: 'scope,
    {
        let (sources, engine, context) = (self.sources, self.engine, self.context);
        let kept = self.cached.kept_by();
        let mut batches = batches.into_iter().map(|batch| -> Result<(Arriving, Rows, Expected)> {
            let (rows, expected) = (Rows::of(&batch), kept.expected(&batch));
            Ok((Arriving::begin(batch, sources, engine, context, scope)?, rows, expected))
        });
        let mut next = batches.next().transpose()?;
        while let Some((mut arriving, rows, mut expected)) = next {
            while !self.flights.is_empty() {
                self.land()?;
            }
            next = batches.next().transpose()?;
            self.report.faults.append(&mut arriving.outside);
            while let Some((tasks, arena)) = arriving.next(sources, context)? {
                expected.keep(&tasks, &arena);
                let arena = Arc::new(arena);
                for tasks in rows.cut(tasks) {
                    let job = compact(&self.layouts, &self.selections, tasks);
                    let job = job.map_err(|error| inconsistent(&error))?;
                    self.submit(job, Encoded::Staged(Arc::clone(&arena)), true)?;
                }
            }
        }
        Ok(())
    }

    /// Starts a job. `is_read` says whether its bytes were read. Those from the cache were not.
    fn submit(&mut self, job: DecodeJob, encoded: Encoded, is_read: bool) -> Result<()> {
        if self.context.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let (boxes, tasks) = (job.boxes().clone(), job.tasks().len());
        // Jobs in flight write disjoint boxes. This is always the case for one window; windows of a batch may share
        // blocks and rows.
        while self.is_busy() || self.flights.iter().any(|flying| self.overlap(&flying.boxes, &boxes)) {
            self.land()?;
        }
        let ticket = self.engine.submit(job, encoded, &self.outputs, self.context)?;
        self.flights.push_back(Flying { ticket, boxes, tasks, is_read });
        Ok(())
    }

    /// Decodes the last job. If no other is in flight, this thread takes part.
    fn finish(&mut self, job: DecodeJob, encoded: Encoded, is_read: bool) -> Result<()> {
        if !self.flights.is_empty() {
            return self.submit(job, encoded, is_read);
        }
        if self.context.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let part = self.engine.decode(job, encoded, &self.outputs, self.context)?;
        self.count(part, is_read);
        Ok(())
    }

    /// Returns whether another job would only wait: there are two, and each thread has a block. A device has memory for
    /// two.
    fn is_busy(&self) -> bool {
        let tasks: usize = self.flights.iter().map(|flying| flying.tasks).sum();
        let is_full = self.engine.location() != Location::Host || tasks >= self.context.threads.get();
        self.flights.len() >= IN_FLIGHT && is_full
    }

    /// Returns whether two jobs may write the same samples. Outputs may share memory.
    fn overlap(&self, held: &BTreeMap<u32, OutputBox>, wanted: &BTreeMap<u32, OutputBox>) -> bool {
        let memory = |output: &u32| self.targets.get(*output as usize).map(|target| target.memory);
        let meet = |(a, held): (&u32, &OutputBox)| {
            wanted.iter().any(|(b, wanted)| memory(a) == memory(b) && held.overlaps(wanted))
        };
        held.iter().any(meet)
    }

    /// Waits for the oldest job.
    fn land(&mut self) -> Result<()> {
        let Some(Flying { ticket, is_read, .. }) = self.flights.pop_front() else { return Ok(()) };
        self.count(ticket.wait()?, is_read);
        Ok(())
    }

    /// Adds the report of a job.
    fn count(&mut self, part: Report, is_read: bool) {
        let total = &mut self.report;
        total.blocks += part.blocks;
        total.encoded_bytes += if is_read { part.encoded_bytes } else { 0 };
        total.host_blocks += part.host_blocks;
        total.found = total.found.max(part.found);
        total.times.add(&part.times);
        total.faults.extend(part.faults);
    }
}

/// Returns a job with only the layouts and selections that its tasks use: there may be thousands of files, and one job
/// per file.
fn compact(
    layouts: &[Arc<BlockLayout>],
    selections: &[Vec<u16>],
    mut tasks: Vec<BlockTask>,
) -> std::result::Result<DecodeJob, JobError> {
    let (mut used, mut selected) = (Used::default(), Used::default());
    for task in &mut tasks {
        task.layout = used.place(task.layout);
        task.selection = selected.place(task.selection);
    }
    DecodeJob::new(used.of(layouts), selected.of(selections), tasks)
}

/// The used items of a list, in the order of their first use.
#[derive(Default)]
struct Used {
    places: BTreeMap<u32, u32>,
    items: Vec<u32>,
}

impl Used {
    fn place(&mut self, item: u32) -> u32 {
        *self.places.entry(item).or_insert_with(|| {
            self.items.push(item);
            u32::try_from(self.items.len() - 1).unwrap_or(u32::MAX)
        })
    }

    fn of<T: Clone>(&self, list: &[T]) -> Vec<T> {
        self.items.iter().filter_map(|&item| list.get(item as usize)).cloned().collect()
    }
}

/// The windows in which blocks appear.
struct Shown {
    /// File and block of each task, and the task's window. Empty if there is one window.
    tasks: Vec<(u32, BlockAddress, u32)>,
}

impl Shown {
    fn new<'t>(tasks: impl Iterator<Item = &'t BlockTask>, windows: impl Iterator<Item = u32>) -> Self {
        let tasks = tasks.zip(windows);
        let stored = tasks.filter(|(task, _)| task.span.is_some());
        Self { tasks: stored.map(|(task, window)| (task.source, task.address, window)).collect() }
    }

    /// Returns faults by window, the first window first. A block that appears in several windows is faulty in each,
    /// once.
    fn faults(self, found: Vec<LocatedFault>, sources: &[Arc<dyn Source>]) -> Vec<WindowFault> {
        let name = |source: u32| sources.get(source as usize).map_or("", |source| source.name()).to_owned();
        let mut first = BTreeMap::new();
        for fault in found {
            // Parts of one block have one address: the block is faulty once.
            first.entry((fault.source, fault.address)).or_insert(fault);
        }
        let found = first;
        let given = |window: u32, fault: &LocatedFault| WindowFault {
            window: window as usize,
            file: name(fault.source),
            fault: fault.clone(),
        };
        if self.tasks.is_empty() || found.is_empty() {
            return found.values().map(|fault| given(0, fault)).collect();
        }
        let mut faults = BTreeMap::new();
        for (source, address, window) in self.tasks {
            if let Some(fault) = found.get(&(source, address)) {
                faults.entry((window, source, address)).or_insert_with(|| given(window, fault));
            }
        }
        faults.into_values().collect()
    }
}

/// Returns the error for an internal plan that is not a valid job: a bug, but no reason to panic.
fn inconsistent(error: &dyn std::fmt::Display) -> Error {
    Error::Engine(EngineError::Mismatch {
        what: "plan",
        found: error.to_string(),
        expected: "a consistent plan".into(),
    })
}

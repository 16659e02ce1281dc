//! Runs a plan: fetch, decode, place, with the next batch fetched while this one is decoded.

use super::cached::{Cached, Keeping, keep_arrived};
use super::plan::Fetch;
use super::planned::Planned;
use super::stage::stage;
use super::tasks::Target;
use crate::error::{Error, Result};
use crate::source::Source;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use strile_engine::{
    BlockAddress, BlockLayout, BlockTask, Claim, Context, DecodeJob, Encoded, Engine, EngineError, JobError,
    LocatedFault, Output, OutputBox, ReadAt, Report, Ticket,
};

/// Batches decoded or waiting to be at one time.
pub(super) const IN_FLIGHT: usize = 2;

/// A faulty block of a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowFault {
    /// The window's number, from 0.
    pub window: usize,
    /// The file.
    pub file: String,
    /// The block, and what is wrong with it.
    pub fault: LocatedFault,
}

/// Decodes all blocks of a planned read into its memory: that of its sheets, then that of its masks. When it returns, with a report
/// or an error, nothing writes there any more. Decoded blocks for the cache are returned, too.
pub(super) fn run(
    planned: Planned,
    engine: &dyn Engine,
    memory: &[&Output],
    context: &Context,
) -> Result<(Report, Vec<WindowFault>, Keeping)> {
    let _staging = context.take(planned.staging, "staging of encoded blocks")?;
    let Planned { sources, layouts, selections, outputs: targets, batches, fetch, mut cached, .. } = planned;
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
        locals: locals.filter(|_| fetch != Fetch::Staged),
        layouts,
        selections,
        outputs,
        targets: &targets,
        flights: VecDeque::new(),
        report: Report::default(),
        cached,
        keeping: Keeping::default(),
    };
    let (mut report, keeping) = flight.fly(batches)?;
    let faults = shown.faults(std::mem::take(&mut report.faults), &sources);
    Ok((report, faults, keeping))
}

/// The outputs of the job. They lie in the memory that they name, which stays claimed.
fn lend(memory: &[&Output], targets: &[Target]) -> Result<(Vec<Arc<Claim>>, Vec<Output>)> {
    let claim = |output: &&Output| {
        let spec = output.spec();
        let whole = OutputBox { bands: (0, spec.bands), rows: (0, spec.rows), columns: (0, spec.columns) };
        output.claim(whole).map(Arc::new).ok_or(EngineError::Busy { output: 0 })
    };
    let claims = memory.iter().map(claim).collect::<std::result::Result<Vec<_>, _>>()?;
    let lent = |target: &Target| {
        let claim = claims.get(target.memory).ok_or(EngineError::Abandoned)?;
        match target.convert {
            None => Ok(claim.delegate_converted()),
            Some(convert) => claim.delegate_converting(convert).map_err(|error| inconsistent(&error)),
        }
    };
    let outputs = targets.iter().map(lent).collect::<Result<Vec<_>>>()?;
    Ok((claims, outputs))
}

/// Jobs under way, and the report of those that are over.
struct Flight<'a> {
    engine: &'a dyn Engine,
    context: &'a Context,
    sources: &'a [Arc<dyn Source>],
    /// `Some` if the engine reads the sources itself.
    locals: Option<Vec<Arc<dyn ReadAt>>>,
    layouts: Vec<Arc<BlockLayout>>,
    selections: Vec<Vec<u16>>,
    outputs: Vec<Output>,
    targets: &'a [Target],
    flights: VecDeque<Job>,
    report: Report,
    cached: Cached,
    keeping: Keeping,
}

/// A job under way.
struct Job {
    ticket: Ticket,
    /// What it writes.
    boxes: BTreeMap<u32, OutputBox>,
    /// Whether its bytes were read: those of the cache were not.
    is_read: bool,
}

impl Flight<'_> {
    fn fly(mut self, mut batches: Vec<Vec<BlockTask>>) -> Result<(Report, Keeping)> {
        let mut result = self.place_cached().map(|faulty| batches.extend(faulty));
        result = result.and_then(|()| batches.into_iter().try_for_each(|batch| self.submit(batch)));
        // Whatever went wrong: all jobs end before the outputs are the caller's again.
        while !self.flights.is_empty() {
            let landed = self.land();
            result = result.and(landed);
        }
        result.map(|()| (self.report, self.keeping))
    }

    /// Decodes blocks that the cache shall have, and places them with those that it has. Returns the tasks of faulty ones.
    fn place_cached(&mut self) -> Result<Option<Vec<BlockTask>>> {
        let mut faulty = Vec::new();
        if self.cached.makes() {
            let made = self.cached.outputs()?.into_iter().map(|spec| self.engine.scratch(spec, self.context));
            let made = made.collect::<std::result::Result<Vec<_>, _>>()?;
            let (tasks, encoded, outside) = self.fetch(self.cached.whole())?;
            let job = self.job(tasks)?;
            // Their tasks are counted when they are placed.
            let context = Context { progress: None, ..self.context.clone() };
            let done = self.engine.submit(job, encoded, &made, &context)?.wait()?;
            self.report.encoded_bytes += done.encoded_bytes;
            let faults: BTreeSet<_> =
                done.faults.iter().chain(&outside).map(|fault| (fault.source, fault.address)).collect();
            let is_faulty = |task: &BlockTask| faults.contains(&(task.source, task.address));
            (faulty, self.keeping) = self.cached.complete(made, is_faulty)?;
        }
        let found = std::mem::take(&mut self.cached.found);
        if !found.is_empty() {
            let encoded = self.cached.encoded(self.sources.len());
            let job = self.job(found)?;
            let boxes = job.boxes().clone();
            let ticket = self.engine.submit(job, encoded, &self.outputs, self.context)?;
            self.flights.push_back(Job { ticket, boxes, is_read: false });
        }
        Ok(Some(faulty).filter(|faulty| !faulty.is_empty()))
    }

    /// The bytes of tasks, whose spans are made those that the engine needs, and faults of tasks that are left out.
    fn fetch(&self, mut tasks: Vec<BlockTask>) -> Result<(Vec<BlockTask>, Encoded, Vec<LocatedFault>)> {
        if let Some(locals) = &self.locals {
            return Ok((tasks, Encoded::Pulled(locals.clone()), Vec::new()));
        }
        let keys = self.cached.arriving(&tasks);
        let staged = stage(&mut tasks, self.sources, self.engine, self.context)?;
        keep_arrived(keys, &tasks, &staged.arena);
        Ok((tasks, Encoded::Staged(Arc::new(staged.arena)), staged.outside))
    }

    fn job(&self, tasks: Vec<BlockTask>) -> Result<DecodeJob> {
        DecodeJob::new(self.layouts.clone(), self.selections.clone(), tasks)
            .map_err(|error: JobError| inconsistent(&error))
    }

    fn submit(&mut self, batch: Vec<BlockTask>) -> Result<()> {
        if self.context.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let (batch, encoded, outside) = self.fetch(batch)?;
        self.report.faults.extend(outside);
        let job = self.job(batch)?;
        let boxes = job.boxes().clone();
        // Jobs in flight write disjoint boxes. Those of one window do; windows of a batch may share blocks and rows.
        while self.flights.len() == IN_FLIGHT
            || self.flights.iter().any(|held| self.overlap(&held.boxes, &boxes))
        {
            self.land()?;
        }
        let ticket = self.engine.submit(job, encoded, &self.outputs, self.context)?;
        self.flights.push_back(Job { ticket, boxes, is_read: true });
        Ok(())
    }

    /// Whether two jobs may write the same samples. Outputs may lie in the same memory.
    fn overlap(&self, held: &BTreeMap<u32, OutputBox>, wanted: &BTreeMap<u32, OutputBox>) -> bool {
        let memory = |output: &u32| self.targets.get(*output as usize).map(|target| target.memory);
        let meet = |(a, held): (&u32, &OutputBox)| {
            wanted.iter().any(|(b, wanted)| memory(a) == memory(b) && held.overlaps(wanted))
        };
        held.iter().any(meet)
    }

    /// Waits for the oldest job.
    fn land(&mut self) -> Result<()> {
        let Some(Job { ticket, is_read, .. }) = self.flights.pop_front() else { return Ok(()) };
        let part = ticket.wait()?;
        let total = &mut self.report;
        total.blocks += part.blocks;
        total.encoded_bytes += if is_read { part.encoded_bytes } else { 0 };
        total.host_blocks += part.host_blocks;
        total.times.add(&part.times);
        total.faults.extend(part.faults);
        Ok(())
    }
}

/// Which windows show which blocks.
struct Shown {
    /// File and block of each task, and the task's window; empty if there is one window.
    tasks: Vec<(u32, BlockAddress, u32)>,
}

impl Shown {
    fn new<'t>(tasks: impl Iterator<Item = &'t BlockTask>, windows: impl Iterator<Item = u32>) -> Self {
        let tasks = tasks.zip(windows);
        let stored = tasks.filter(|(task, _)| task.span.is_some());
        Self { tasks: stored.map(|(task, window)| (task.source, task.address, window)).collect() }
    }

    /// Faults by window, the first window first. A block that several windows show is faulty in each, and once.
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

/// A plan of ours that makes no job is a mistake of ours, and still no reason to panic.
fn inconsistent(error: &dyn std::fmt::Display) -> Error {
    Error::Engine(EngineError::Mismatch {
        what: "plan",
        found: error.to_string(),
        expected: "a consistent plan".into(),
    })
}

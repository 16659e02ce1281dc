//! One call of a reader, passed down to nested mosaics: its request, its results, and its limits.
//!
//! A source may be a mosaic itself, so a few small files can request an unlimited number of reads. All mosaics of a
//! call share one counter of work and one pool of open files (`pool`).

use super::Vrt;
use super::pool::InUse;
use crate::device::{self, Choice};
use crate::error::{Error, Result};
use crate::options::{Execution, Processor};
use crate::read::{Asked, Reading, WindowFault};
use crate::source::Version;
use std::collections::BTreeMap;
use std::collections::hash_map::{HashMap, RandomState};
use std::hash::BuildHasher as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use strile_engine::{
    Context, Engine, EngineError, Lease, LocatedFault, Location, Output, OutputError, OutputSpec, Progress,
    SharedPixels,
};

/// Samples of sources per sample of the result: how many sources may overlap.
const DEEPEST: u64 = 64;
/// Cost of opening or finding a source, in samples.
const SOURCE: u64 = 4096;
/// Number of reads of one file in one call, or for one window of a batch, after which the blocks that it decodes are
/// counted, not only the samples that are placed.
const READS: u32 = 16;

/// Counts the work of a read, or of all pieces of a longer one.
pub(crate) struct Work {
    most: u64,
    allowed: AtomicU64,
    done: AtomicU64,
}

impl Work {
    pub(super) fn new(most: u64) -> Self {
        let (allowed, done) = (AtomicU64::new(most), AtomicU64::new(0));
        Self { most, allowed, done }
    }

    /// Allows the work for `samples` samples of a result.
    fn allow(&self, samples: u64) {
        let grown = |allowed: u64| Some(allowed.saturating_add(samples.saturating_mul(DEEPEST)));
        let _always = self.allowed.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown);
    }

    /// Adds work. Returns `false` if it is too much.
    fn add(&self, samples: u64) -> bool {
        let before = self.done.fetch_add(samples.min(1 << 48), Ordering::Relaxed);
        before.saturating_add(samples) <= self.allowed.load(Ordering::Relaxed)
    }
}

/// State shared by all mosaics of a call.
pub(crate) struct Shared<'a> {
    execution: &'a Execution,
    /// Where layers are blended.
    place: Location,
    /// Without progress: sources are counted, not their blocks.
    context: Context,
    progress: Option<Arc<dyn Progress>>,
    work: &'a Work,
    outermost: &'a Vrt,
    /// Faults of sources, each with the name of its file.
    faults: Mutex<Vec<(String, LocatedFault)>>,
    /// Files that the outermost mosaic skips, and the reasons.
    set_aside: Mutex<BTreeMap<u32, String>>,
    /// Missing sources of nested mosaics, by name, and the reasons.
    inner_holes: Mutex<BTreeMap<String, String>>,
    /// The states of sources that were used, by hashes of their paths.
    states: Mutex<HashMap<u64, u64>>,
    /// Number of reads per file. Not in `Work`: each piece of a longer read may decode a block again.
    reads: Mutex<HashMap<u64, u32>>,
    keys: RandomState,
    /// Sources in use: each is opened once for everything that is read together.
    held: Mutex<HashMap<PathBuf, Weak<InUse>>>,
}

/// The call from the view of one mosaic.
pub(crate) struct Call<'a> {
    shared: &'a Shared<'a>,
    /// The mosaic, and the call of the mosaic it is a source of.
    vrt: &'a Vrt,
    outer: Option<&'a Call<'a>>,
    /// Where layers are blended.
    place: Location,
}

impl<'a> Shared<'a> {
    /// Creates a call for a result in the memory `to`. Layers are blended there, unless the CPU decodes for it.
    pub(crate) fn new(
        vrt: &'a Vrt,
        (execution, to): (&'a Execution, Location),
        context: &'a Context,
        work: &'a Work,
    ) -> Self {
        Self {
            execution,
            place: if execution.decode_on == Processor::Cpu { Location::Host } else { to },
            context: Context { progress: None, ..context.clone() },
            progress: context.progress.clone(),
            work,
            outermost: vrt,
            faults: Mutex::default(),
            set_aside: Mutex::default(),
            inner_holes: Mutex::default(),
            states: Mutex::default(),
            reads: Mutex::default(),
            keys: RandomState::new(),
            held: Mutex::default(),
        }
    }

    /// Returns the call of the outermost mosaic.
    pub(crate) fn call(&'a self) -> Call<'a> {
        Call { shared: self, vrt: self.outermost, outer: None, place: self.place }
    }

    /// Returns the outermost mosaic.
    pub(crate) fn vrt(&self) -> &'a Vrt {
        self.outermost
    }

    /// Returns the sources that the call skipped, by their names in the mosaic, and the reasons.
    pub(crate) fn holes(&self) -> Vec<(String, String)> {
        let (set_aside, inner) = (locked(&self.set_aside), locked(&self.inner_holes));
        let outer = set_aside.iter().map(|(&file, why)| (self.outermost.file_name(file), why.clone()));
        outer.chain(inner.iter().map(|(name, why)| (name.clone(), why.clone()))).collect()
    }

    pub(super) fn into_faults(self) -> Vec<LocatedFault> {
        self.take_faults().into_iter().map(|(_, fault)| fault).collect()
    }

    /// Returns and removes the faults of sources found so far, each with the name of its file.
    pub(crate) fn take_faults(&self) -> Vec<(String, LocatedFault)> {
        std::mem::take(&mut *locked(&self.faults))
    }

    /// Begins another window of a batch, which may read each file as often as a separate read may.
    pub(crate) fn begin_window(&self) {
        locked(&self.reads).clear();
    }
}

/// Progress of a read of some sources of the outermost mosaic: blocks count as their share of the sources.
pub(super) struct Share {
    context: Context,
    counted: Option<Arc<Counted>>,
}

struct Counted {
    progress: Arc<dyn Progress>,
    sources: u64,
    /// Total number of blocks of all sources.
    blocks: AtomicU64,
    done: AtomicU64,
    told: AtomicU64,
}

impl Progress for Counted {
    fn advance(&self, blocks: u64) {
        let done = self.done.fetch_add(blocks, Ordering::Relaxed).saturating_add(blocks);
        let all = self.blocks.load(Ordering::Relaxed).max(1);
        self.tell(self.sources.saturating_mul(done.min(all)) / all);
    }
}

impl Counted {
    fn tell(&self, sources: u64) {
        let before = self.told.fetch_max(sources, Ordering::Relaxed);
        if sources > before {
            self.progress.advance(sources - before);
        }
    }
}

impl Share {
    pub(super) fn new(sources: u64, call: &Call<'_>) -> Self {
        let progress = call.shared.progress.as_ref().filter(|_| call.is_outermost());
        let counted = progress.map(|progress| {
            Arc::new(Counted {
                progress: Arc::clone(progress),
                sources,
                blocks: AtomicU64::new(0),
                done: AtomicU64::new(0),
                told: AtomicU64::new(0),
            })
        });
        let progress = counted.clone().map(|counted| counted as Arc<dyn Progress>);
        Self { context: Context { progress, ..call.context().clone() }, counted }
    }

    /// Plans the read.
    pub(super) fn reading<'b>(&'b self, asked: Asked<'b>, to: Location) -> Result<Reading<'b>> {
        Reading::new(asked, to, &self.context).inspect(|reading| self.expect(reading))
    }

    /// Plans the read into memory that is already leased.
    pub(super) fn reading_into_held<'b>(&'b self, asked: Asked<'b>, to: Location) -> Result<Reading<'b>> {
        Reading::into_held(asked, to, &self.context).inspect(|reading| self.expect(reading))
    }

    /// Sets the number of blocks of all sources.
    fn expect(&self, reading: &Reading<'_>) {
        if let Some(counted) = &self.counted {
            let blocks = reading.planned.blocks();
            counted.blocks.store((blocks.stored + blocks.sparse) as u64, Ordering::Relaxed);
        }
    }

    /// Reports all sources as done.
    pub(super) fn complete(&self) {
        if let Some(counted) = &self.counted {
            counted.tell(counted.sources);
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Call<'a> {
    /// Returns how files are read, independent of the mosaic's own options.
    pub(super) fn execution(&self) -> &'a Execution {
        self.shared.execution
    }

    pub(super) fn context(&self) -> &Context {
        &self.shared.context
    }

    /// Takes memory from the call's budget, until the lease is dropped.
    pub(super) fn take(&self, bytes: u64, purpose: &'static str) -> Result<Lease> {
        Ok(self.shared.context.take(bytes, purpose)?)
    }

    /// Returns the call of a mosaic that is a source of this one.
    pub(super) fn inside<'b>(&'b self, vrt: &'b Vrt) -> Call<'b> {
        Call { shared: self.shared, vrt, outer: Some(self), place: self.place }
    }

    /// Returns the same call with layers blended on the host.
    pub(super) fn on_host(&self) -> Call<'a> {
        Call { shared: self.shared, vrt: self.vrt, outer: self.outer, place: Location::Host }
    }

    /// Returns where layers are blended.
    pub(super) fn place(&self) -> Location {
        self.place
    }

    /// Returns the engine that blends layers.
    pub(super) fn engine(&self) -> Result<Arc<dyn Engine>> {
        match self.place {
            Location::Host => Ok(Choice::cpu("layers in host memory").engine),
            Location::Cuda(index) => device::holder(index, self.execution().device_memory)
                .map_err(|problem| Error::Device { file: self.shared.outermost.name().to_owned(), problem }),
        }
    }

    /// Allocates memory where layers are blended. The budget of a device lends its own.
    pub(super) fn output(&self, spec: OutputSpec, purpose: &'static str) -> Result<(Output, Lease)> {
        let len = spec.len().map_err(|error| self.unfit(error))? as u64;
        let lease = self.take(if self.place == Location::Host { len } else { 0 }, purpose)?;
        Ok((self.engine()?.scratch(spec, self.context())?, lease))
    }

    /// Shares pixels that are no longer written.
    pub(super) fn pixels(&self, output: Output) -> Result<SharedPixels> {
        let spec = output.spec().clone();
        let pixels = match output.device_bytes() {
            Some(bytes) => SharedPixels::on_device(spec, bytes.clone()),
            None => {
                let bytes = output.into_vec().ok_or(Error::Engine(EngineError::Abandoned))?;
                SharedPixels::new(spec, Arc::new(bytes))
            }
        };
        pixels.map_err(|error| self.unfit(error))
    }

    /// Returns the error for pixels that do not fit into memory.
    pub(super) fn unfit(&self, error: OutputError) -> Error {
        Error::output(error, |problem| self.vrt.refuse(problem))
    }

    pub(super) fn is_outermost(&self) -> bool {
        self.outer.is_none()
    }

    /// Returns the depth of this mosaic, including itself, and whether the file at `path` is this mosaic or one
    /// around it.
    pub(super) fn chain(&self, path: &Path) -> (usize, bool) {
        let chain = std::iter::successors(Some(self), |call| call.outer);
        chain.fold((0, false), |(depth, found), call| (depth + 1, found || call.vrt.path() == Some(path)))
    }

    /// Reports sources of the mosaic as done.
    pub(super) fn advance(&self, sources: u64) {
        if let Some(progress) = self.shared.progress.as_ref().filter(|_| self.is_outermost()) {
            progress.advance(sources);
        }
    }

    /// Returns the source if this call already has it in use.
    pub(super) fn held(&self, path: &Path) -> Option<Arc<InUse>> {
        locked(&self.shared.held).get(path)?.upgrade()
    }

    /// Registers a source in use.
    pub(super) fn hold(&self, path: &Path, source: &Arc<InUse>) {
        locked(&self.shared.held).insert(path.to_owned(), Arc::downgrade(source));
    }

    /// Adds faults of a source, with the name of its file.
    pub(super) fn found(&self, faults: impl IntoIterator<Item = (String, LocatedFault)>) {
        locked(&self.shared.faults).extend(faults);
    }

    /// Adds the faults of a read of many files.
    pub(super) fn found_by(&self, faults: Vec<WindowFault>) {
        self.found(faults.into_iter().map(|WindowFault { file, fault, .. }| (file, fault)));
    }

    /// Returns the number of faults found.
    pub(super) fn faults(&self) -> usize {
        locked(&self.shared.faults).len()
    }

    /// Removes all faults but the first `first`: their sources are read again.
    pub(super) fn keep_faults(&self, first: usize) {
        locked(&self.shared.faults).truncate(first);
    }

    /// Returns the files that the call skips in the outermost mosaic.
    pub(super) fn set_aside(&self) -> MutexGuard<'_, BTreeMap<u32, String>> {
        locked(&self.shared.set_aside)
    }

    /// Records a missing source that is skipped.
    pub(super) fn hole(&self, file: u32, name: &str, why: &str) {
        self.shared.outermost.goes_without(name, why.to_owned());
        match self.is_outermost() {
            true => self.set_aside().insert(file, why.to_owned()),
            false => locked(&self.shared.inner_holes).insert(name.to_owned(), why.to_owned()),
        };
    }

    /// Allows the work for `samples` samples of the result, once, however often they are read again. Those of nested
    /// mosaics are work, not a result.
    pub(super) fn allow(&self, samples: u64) {
        self.shared.work.allow(samples);
    }

    /// Counts a source before it is looked for.
    pub(super) fn count_source(&self) -> Result<()> {
        self.count(SOURCE)
    }

    /// Counts samples that are placed.
    pub(super) fn count(&self, samples: u64) -> Result<()> {
        let work = self.shared.work;
        if work.add(samples) {
            return Ok(());
        }
        Err(self.shared.outermost.refuse(format!(
            "sources overlap or are nested so deeply that the read takes more than {} samples beyond {DEEPEST} for each \
             one of the result; read a smaller window, or raise the limit with `vrt_max_work` (or the \
             environment variable STRILE_VRT_MAX_WORK)",
            work.most
        )))
    }

    /// Counts the samples that a file decodes, once it has been read often.
    pub(super) fn count_decoded(&self, name: &str, samples: u64) -> Result<()> {
        let reads = {
            let mut reads = locked(&self.shared.reads);
            let count = reads.entry(self.shared.keys.hash_one(name)).or_default();
            *count = count.saturating_add(1);
            *count
        };
        match reads > READS {
            true => self.count(samples),
            false => Ok(()),
        }
    }

    /// Returns whether this call has already used the source at `path`, and in this state, if one is given. `None` if
    /// it was not used.
    pub(super) fn used_before(&self, path: &Path, state: Option<&Version>) -> Option<bool> {
        let keys = &self.shared.keys;
        let known = locked(&self.shared.states).get(&keys.hash_one(path)).copied()?;
        Some(state.is_none_or(|state| keys.hash_one((state.len, &state.mark)) == known))
    }

    /// Records the state of a source that is used.
    pub(super) fn uses(&self, path: &Path, state: &Version) {
        let keys = &self.shared.keys;
        let state = keys.hash_one((state.len, &state.mark));
        locked(&self.shared.states).insert(keys.hash_one(path), state);
    }
}

//! One call of a reader, handed down to nested mosaics: what it asked for, what it found, and how much it may do.
//!
//! A source may be a mosaic itself, so that a few small files can ask for an unlimited number of reads. All mosaics of a
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

/// Samples of sources that each sample of the result may take: how deep sources lie on one another.
const DEEPEST: u64 = 64;
/// What opening or finding a source costs, in samples.
const SOURCE: u64 = 4096;
/// Reads of one file in one call, or for one window of a batch, after which the blocks that it decodes are counted, not only the samples that are laid.
const READS: u32 = 16;

/// Counts what a read, or all pieces of a longer one, has done.
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

    /// Allows the work for so many samples of a result.
    fn allow(&self, samples: u64) {
        let grown = |allowed: u64| Some(allowed.saturating_add(samples.saturating_mul(DEEPEST)));
        let _always = self.allowed.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown);
    }

    /// Adds work; `false` if it is too much.
    fn add(&self, samples: u64) -> bool {
        let before = self.done.fetch_add(samples.min(1 << 48), Ordering::Relaxed);
        before.saturating_add(samples) <= self.allowed.load(Ordering::Relaxed)
    }
}

/// What all mosaics of a call share.
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
    /// Files of the outermost mosaic that it goes on without, and why.
    set_aside: Mutex<BTreeMap<u32, String>>,
    /// Missing sources of mosaics inside, by name, and why.
    inner_holes: Mutex<BTreeMap<String, String>>,
    /// The states of sources that were used, by hashes of their paths.
    states: Mutex<HashMap<u64, u64>>,
    /// How often a file was read. Not in `Work`: each piece of a longer read may decode a block again.
    reads: Mutex<HashMap<u64, u32>>,
    keys: RandomState,
    /// Sources that are in use: what is read together opens each once.
    held: Mutex<HashMap<PathBuf, Weak<InUse>>>,
}

/// The call as one mosaic sees it.
pub(crate) struct Call<'a> {
    shared: &'a Shared<'a>,
    /// The mosaic, and the call of the one it is a source of.
    vrt: &'a Vrt,
    outer: Option<&'a Call<'a>>,
    /// Where layers are blended.
    place: Location,
}

impl<'a> Shared<'a> {
    /// A call whose result is wanted in the memory `to`. Layers are blended there, unless the CPU decodes for it.
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

    /// The call of the outermost mosaic.
    pub(crate) fn call(&'a self) -> Call<'a> {
        Call { shared: self, vrt: self.outermost, outer: None, place: self.place }
    }

    /// The outermost mosaic.
    pub(crate) fn vrt(&self) -> &'a Vrt {
        self.outermost
    }

    /// Sources that the call went on without, by the names their mosaic has for them, and why.
    pub(crate) fn holes(&self) -> Vec<(String, String)> {
        let (set_aside, inner) = (locked(&self.set_aside), locked(&self.inner_holes));
        let outer = set_aside.iter().map(|(&file, why)| (self.outermost.file_name(file), why.clone()));
        outer.chain(inner.iter().map(|(name, why)| (name.clone(), why.clone()))).collect()
    }

    pub(super) fn into_faults(self) -> Vec<LocatedFault> {
        self.take_faults().into_iter().map(|(_, fault)| fault).collect()
    }

    /// Faults of sources that were found since the last time, each with the name of its file.
    pub(crate) fn take_faults(&self) -> Vec<(String, LocatedFault)> {
        std::mem::take(&mut *locked(&self.faults))
    }

    /// Begins another window of a batch, which may read each file as often as a read of its own may.
    pub(crate) fn begin_window(&self) {
        locked(&self.reads).clear();
    }
}

/// Progress of a read of some sources of the outermost mosaic: blocks count as the share of the sources that they are.
pub(super) struct Share {
    context: Context,
    counted: Option<Arc<Counted>>,
}

struct Counted {
    progress: Arc<dyn Progress>,
    sources: u64,
    /// Blocks of all sources.
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

    /// Plans the read into memory that is leased already.
    pub(super) fn reading_into_held<'b>(&'b self, asked: Asked<'b>, to: Location) -> Result<Reading<'b>> {
        Reading::into_held(asked, to, &self.context).inspect(|reading| self.expect(reading))
    }

    /// Notes the blocks of all sources.
    fn expect(&self, reading: &Reading<'_>) {
        if let Some(counted) = &self.counted {
            let blocks = reading.planned.blocks();
            counted.blocks.store((blocks.stored + blocks.sparse) as u64, Ordering::Relaxed);
        }
    }

    /// Counts all sources as done.
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
    /// How files are read, whatever is asked for of the mosaic.
    pub(super) fn execution(&self) -> &'a Execution {
        self.shared.execution
    }

    pub(super) fn context(&self) -> &Context {
        &self.shared.context
    }

    /// Memory of the call's budget, until the lease is dropped.
    pub(super) fn take(&self, bytes: u64, purpose: &'static str) -> Result<Lease> {
        Ok(self.shared.context.take(bytes, purpose)?)
    }

    /// The call of a mosaic that is a source of this one.
    pub(super) fn inside<'b>(&'b self, vrt: &'b Vrt) -> Call<'b> {
        Call { shared: self.shared, vrt, outer: Some(self), place: self.place }
    }

    /// The same call with layers blended on the host.
    pub(super) fn on_host(&self) -> Call<'a> {
        Call { shared: self.shared, vrt: self.vrt, outer: self.outer, place: Location::Host }
    }

    /// Where layers are blended.
    pub(super) fn place(&self) -> Location {
        self.place
    }

    /// The engine that blends layers.
    pub(super) fn engine(&self) -> Result<Arc<dyn Engine>> {
        match self.place {
            Location::Host => Ok(Choice::cpu("layers in host memory").engine),
            Location::Cuda(index) => device::holder(index, self.execution().device_memory)
                .map_err(|problem| Error::Device { file: self.shared.outermost.name().to_owned(), problem }),
        }
    }

    /// New memory where layers are blended; the budget of a device lends its own.
    pub(super) fn output(&self, spec: OutputSpec, purpose: &'static str) -> Result<(Output, Lease)> {
        let len = spec.len().map_err(|error| self.unfit(error))? as u64;
        let lease = self.take(if self.place == Location::Host { len } else { 0 }, purpose)?;
        Ok((self.engine()?.scratch(spec, self.context())?, lease))
    }

    /// Pixels that are written no more.
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

    /// The error of pixels that memory cannot hold.
    pub(super) fn unfit(&self, error: OutputError) -> Error {
        Error::output(error, |problem| self.vrt.refuse(problem))
    }

    pub(super) fn is_outermost(&self) -> bool {
        self.outer.is_none()
    }

    /// How many mosaics this one is in, itself included, and whether one of them is the file at `path`.
    pub(super) fn chain(&self, path: &Path) -> (usize, bool) {
        let chain = std::iter::successors(Some(self), |call| call.outer);
        chain.fold((0, false), |(depth, found), call| (depth + 1, found || call.vrt.path() == Some(path)))
    }

    /// Counts sources of the mosaic as done.
    pub(super) fn advance(&self, sources: u64) {
        if let Some(progress) = self.shared.progress.as_ref().filter(|_| self.is_outermost()) {
            progress.advance(sources);
        }
    }

    /// The source that this call has in use already.
    pub(super) fn held(&self, path: &Path) -> Option<Arc<InUse>> {
        locked(&self.shared.held).get(path)?.upgrade()
    }

    /// Notes a source that is in use.
    pub(super) fn hold(&self, path: &Path, source: &Arc<InUse>) {
        locked(&self.shared.held).insert(path.to_owned(), Arc::downgrade(source));
    }

    /// Adds what a source was faulty in, with the name of its file.
    pub(super) fn found(&self, faults: impl IntoIterator<Item = (String, LocatedFault)>) {
        locked(&self.shared.faults).extend(faults);
    }

    /// Adds the faults of a read of many files.
    pub(super) fn found_by(&self, faults: Vec<WindowFault>) {
        self.found(faults.into_iter().map(|WindowFault { file, fault, .. }| (file, fault)));
    }

    /// How many faults were found.
    pub(super) fn faults(&self) -> usize {
        locked(&self.shared.faults).len()
    }

    /// Forgets all faults but the first: what they were found by is read anew.
    pub(super) fn keep_faults(&self, first: usize) {
        locked(&self.shared.faults).truncate(first);
    }

    /// Files of the outermost mosaic that the call goes on without.
    pub(super) fn set_aside(&self) -> MutexGuard<'_, BTreeMap<u32, String>> {
        locked(&self.shared.set_aside)
    }

    /// Notes a source that is missing and gone on without.
    pub(super) fn hole(&self, file: u32, name: &str, why: &str) {
        self.shared.outermost.goes_without(name, why.to_owned());
        match self.is_outermost() {
            true => self.set_aside().insert(file, why.to_owned()),
            false => locked(&self.shared.inner_holes).insert(name.to_owned(), why.to_owned()),
        };
    }

    /// Allows the work for so many samples of the result, once, however often they are read anew. Those of nested mosaics
    /// are work, not a result.
    pub(super) fn allow(&self, samples: u64) {
        self.shared.work.allow(samples);
    }

    /// Counts a source, before it is looked for.
    pub(super) fn count_source(&self) -> Result<()> {
        self.count(SOURCE)
    }

    /// Counts samples that are laid.
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

    /// Whether the source at `path` was used in this call already, and was then in this state if one is given.
    pub(super) fn used_before(&self, path: &Path, state: Option<&Version>) -> Option<bool> {
        let keys = &self.shared.keys;
        let known = locked(&self.shared.states).get(&keys.hash_one(path)).copied()?;
        Some(state.is_none_or(|state| keys.hash_one((state.len, &state.mark)) == known))
    }

    /// Notes the state of a source that is used.
    pub(super) fn uses(&self, path: &Path, state: &Version) {
        let keys = &self.shared.keys;
        let state = keys.hash_one((state.len, &state.mark));
        locked(&self.shared.states).insert(keys.hash_one(path), state);
    }
}

//! Assembles a file from encoded parts: one pass over their records, once the sizes of all are known.

use super::files::{PartBytes, PartFile, Records};
use super::packed::{Layout, read_index};
use super::tiers::{PartAddress, Parts};
use crate::error::{Error, Result};
use crate::sink::Sink;
use crate::write::cells::refused;
use crate::write::describe::Described;
use crate::write::flow::Taker;
use crate::write::plan::WritePlan;
use crate::write::report::WriteReport;
use crate::write::spec::RasterSpec;
use crate::write::store::Store;
use crate::write::writer::{add_sidecar, complete, described_by, index_lease, named};
use std::collections::HashSet;
use std::sync::Arc;
use strile_engine::{Context, Lease};

/// A file being assembled. Nothing is at the target before `commit`; dropping it leaves nothing.
pub struct Assembly {
    open: Option<Open>,
}

struct Open {
    plan: Arc<WritePlan>,
    spec: Arc<RasterSpec>,
    identity: u64,
    described: Described,
    store: Store,
    seen: HashSet<PartAddress>,
    blocks: u64,
    sparse: u64,
    laid_out: bool,
    _index: Lease,
}

impl Parts {
    /// Starts to assemble the file.
    pub fn assemble(&self, sink: Box<dyn Sink>, context: &Context) -> Result<Assembly> {
        let name = sink.name().to_owned();
        let begin = || {
            let index = index_lease(&self.plan, context)?;
            let described = described_by(&self.plan, &self.spec)?;
            let store = Store::of_parts(sink, &self.plan, &self.options, &context.cancel)?;
            Ok(Open {
                plan: Arc::clone(&self.plan),
                spec: Arc::clone(&self.spec),
                identity: self.identity(),
                described,
                store,
                seen: HashSet::new(),
                blocks: 0,
                sparse: 0,
                laid_out: false,
                _index: index,
            })
        };
        begin().map(|open| Assembly { open: Some(open) }).map_err(|error| named(error, &name))
    }
}

impl Assembly {
    /// Adds a part, with the index returned by its encoding and the location of its records. Parts may be added in any
    /// order.
    pub fn add(&mut self, parts: &Parts, at: PartAddress, index: &[u8], records: PartBytes) -> Result<()> {
        self.take(parts, at, index, Records::Given(records))
    }

    /// Like [`add`](Self::add), but the records may be elsewhere.
    pub(crate) fn take(
        &mut self,
        parts: &Parts,
        at: PartAddress,
        index: &[u8],
        records: Records,
    ) -> Result<()> {
        self.attempt(|open| {
            let PartAddress { tier, row, column } = at;
            if !open.seen.insert(at) {
                return Err(refused(format!("part ({row}, {column}) of tier {tier} is given twice")));
            }
            let layout = Layout::new(&open.plan, &parts.course(at)?);
            let (len, found) = read_index(index, open.identity, &layout, open.plan.format)?;
            let (mut blocks, mut sparse) = (0, 0);
            let counted = found.inspect(|record| {
                blocks += 1;
                sparse += u64::from(record.as_ref().is_ok_and(|record| record.size == 0));
            });
            open.store.adopt(PartFile { bytes: records, len }, counted)?;
            open.blocks += blocks;
            open.sparse += sparse;
            Ok(())
        })
    }

    /// Adds a small file that is placed beside the target with it; see `Writer::sidecar`.
    pub fn sidecar(&mut self, suffix: &str, bytes: Vec<u8>) -> Result<()> {
        self.attempt(|open| add_sidecar(&mut open.store, &mut open.described, suffix, bytes))
    }

    /// Writes every byte of the file to the sink, once. Fails if parts are missing.
    pub fn lay_out(&mut self) -> Result<WriteReport> {
        self.attempt(|open| {
            let described = std::mem::take(&mut open.described);
            let counts = (open.blocks, open.sparse);
            let report = complete((&open.plan, &open.spec), described, &mut open.store, counts)?;
            open.laid_out = true;
            Ok(report)
        })
    }

    /// Moves the file to its target.
    pub fn commit(mut self) -> Result<()> {
        self.attempt(|open| match open.laid_out {
            true => Ok(()),
            false => Err(refused("the file has not been laid out".into())),
        })?;
        let Some(open) = self.open.take() else { return Ok(()) };
        let name = open.store.name().to_owned();
        open.store.into_sink().commit().map_err(|error| Error::io(name, error))
    }

    fn attempt<T>(&mut self, step: impl FnOnce(&mut Open) -> Result<T>) -> Result<T> {
        let Some(open) = &mut self.open else {
            return Err(refused("the file was given up after an error".into()));
        };
        let result = step(open).map_err(|error| named(error, open.store.name()));
        if result.is_err() {
            self.give_up();
        }
        result
    }

    fn give_up(&mut self) {
        if let Some(open) = self.open.take() {
            open.store.into_sink().abort();
        }
    }
}

impl Drop for Assembly {
    fn drop(&mut self) {
        self.give_up();
    }
}

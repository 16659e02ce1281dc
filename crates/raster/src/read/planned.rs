//! A read that is ready to run: its batches of blocks, the memory they are decoded into, and how their bytes reach the
//! engine.

use super::cached::Cached;
use super::plan::Fetch;
use super::resolve::Held;
use super::run::IN_FLIGHT;
use super::sheet::{Masks, Sheet};
use super::stage::staged_len;
use super::tasks::{Located, Target};
use crate::device::Choice;
use crate::source::Source;
use std::sync::Arc;
use strile_engine::{BlockLayout, BlockTask, Change, Convert, Fill, Lease, Location, OutputSpec};

/// Properties of the first window that apply to the whole read.
pub(super) struct Given {
    pub(super) convert: Option<Convert>,
    /// The value of pixels of a mosaic without a source, for a read of one window.
    pub(super) fill: Option<Fill>,
    /// Whether it is a batch: errors name its windows.
    pub(super) batch: bool,
}

/// A read that is ready to run.
pub(crate) struct Planned {
    /// Windows, bands, rows and columns of the result.
    pub(crate) shape: [u32; 4],
    /// The shape of the result: the bands of all windows, one window after the other.
    pub(crate) output: OutputSpec,
    /// The memory that the engine decodes into.
    pub(crate) destination: Location,
    /// How bytes reach the engine.
    pub(super) fetch: Fetch,
    /// Bytes of the two largest batches that are staged.
    pub(super) staging: u64,
    convert: Option<Convert>,
    fill: Option<Fill>,
    pub(super) batch: bool,
    /// The memory that windows are decoded into.
    pub(super) sheets: Vec<Sheet>,
    /// The memory that their masks are decoded into.
    pub(super) masks: Vec<Masks>,
    pub(super) sources: Vec<Arc<dyn Source>>,
    pub(super) layouts: Vec<Arc<BlockLayout>>,
    /// Per layout: whether it is that of filled parts.
    edges: Vec<bool>,
    pub(super) selections: Vec<Vec<u16>>,
    /// The outputs of the job: per sheet one for unchanged samples, one for filled parts and one per conversion, then
    /// one per masks.
    pub(super) outputs: Vec<Target>,
    /// All blocks, in the order in which they are submitted.
    pub(super) batches: Vec<Vec<BlockTask>>,
    /// Pixels that are already in the memory of the device, and the tasks that place them.
    pub(super) held: Vec<(Held, Vec<BlockTask>)>,
    /// The window of each task, in that order; empty if there is one window.
    pub(super) windows: Vec<u32>,
    /// Number of parts of windows outside their image, which are filled.
    pub(super) filled: usize,
    /// Leases of this memory.
    pub(super) leases: Vec<Lease>,
    /// Blocks from the cache, or to be kept there.
    pub(super) cached: Cached,
}

/// Counts of the blocks of a read. One that appears in several windows counts once.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Blocks {
    pub(crate) stored: usize,
    pub(crate) sparse: usize,
    pub(crate) encoded_bytes: u64,
}

impl Planned {
    /// Cuts the blocks into batches for the chosen engine.
    pub(super) fn new(
        (located, cached): (Located, Cached),
        choice: &Choice,
        given: Given,
        destination: Location,
    ) -> Self {
        let Located { shape, result, sheets, masks, sources, layouts, selections, tasks, windows, .. } =
            located;
        let is_local = sources.iter().all(|source| source.local().is_some());
        let fetch = match is_local {
            true if choice.direct => Fetch::Direct,
            true if choice.engine.pulls() => Fetch::Pulled,
            _ => Fetch::Staged,
        };
        let batches = match fetch {
            _ if tasks.is_empty() => Vec::new(),
            Fetch::Pulled | Fetch::Direct => vec![tasks],
            Fetch::Staged => Located::staged(tasks, sources.len()),
        };
        let staging = match fetch {
            Fetch::Pulled | Fetch::Direct => 0,
            Fetch::Staged => {
                let whole = cached.whole();
                let batches = batches.iter().chain([&whole]);
                in_flight(batches.map(|batch| staged_len(batch, &sources)))
            }
        };
        let Given { convert, fill, batch } = given;
        let finish = sheets.first().and_then(|sheet| sheet.then.finish());
        let shape = match finish {
            Some(_) => [1, result.bands, result.rows, result.columns],
            None => shape,
        };
        // The samples of a mask are unrelated to those of blocks without pixels.
        let is_mask = finish.is_some_and(|job| matches!(job.change, Change::Alpha | Change::Differs(_)));
        let fill = if is_mask { Some(Fill::default()) } else { fill };
        Self {
            shape,
            output: result,
            destination,
            fetch,
            staging,
            convert,
            fill,
            batch,
            sheets,
            masks,
            sources,
            layouts,
            edges: located.edges,
            selections,
            outputs: located.outputs,
            batches,
            held: located.held,
            windows,
            filled: located.filled,
            leases: located.leases,
            cached,
        }
    }

    /// Returns the layout of the first window's blocks.
    pub(super) fn layout(&self) -> Option<&BlockLayout> {
        self.layouts.first().map(AsRef::as_ref)
    }

    /// Returns whether a task fills a part of a window outside its image.
    fn is_filled(&self, task: &BlockTask) -> bool {
        self.edges.get(task.layout as usize).copied().unwrap_or(false)
    }

    /// Returns the value of blocks without pixels in the result, for a read of one window.
    pub(crate) fn fill(&self) -> Fill {
        if let Some(fill) = self.fill {
            return fill;
        }
        let Some(layout) = self.layout() else { return Fill::default() };
        let fill = layout.extras.fill;
        let converted =
            self.convert.map(|convert| convert.sample(layout.data_type, &fill, self.output.data_type));
        converted.map_or(fill, Option::unwrap_or_default)
    }

    /// Counts the blocks.
    pub(crate) fn blocks(&self) -> Blocks {
        let mut found = Blocks { stored: self.cached.blocks, ..Blocks::default() };
        let mut before: Option<&BlockTask> = None;
        for task in self.batches.iter().flatten().chain(self.cached.parts()) {
            // Parts of one block are adjacent, and so are the windows of one block.
            let same = before.is_some_and(|b| (b.source, b.address) == (task.source, task.address));
            match task.span {
                Some(span) => {
                    found.stored += usize::from(!same);
                    if !before.is_some_and(|before| task.is_of_same_block(before)) {
                        found.encoded_bytes = found.encoded_bytes.saturating_add(span.len);
                    }
                }
                None if self.is_filled(task) => continue,
                None => found.sparse += usize::from(!same),
            }
            before = Some(task);
        }
        found
    }
}

/// Returns the sum of the largest values, one per batch in flight.
pub(super) fn in_flight(bytes: impl Iterator<Item = u64>) -> u64 {
    let mut lens: Vec<u64> = bytes.collect();
    lens.sort_unstable_by(|a, b| b.cmp(a));
    lens.into_iter().take(IN_FLIGHT).fold(0, u64::saturating_add)
}

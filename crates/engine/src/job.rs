//! What an engine is asked to do: plain data, checked when it is made.

use crate::{BlockAddress, BlockLayout, OutputBox, Placement, Span};
use std::collections::BTreeMap;
use std::sync::Arc;
use thiserror::Error;

/// One block to decode.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockTask {
    /// Index of the source its bytes come from.
    pub source: u32,
    /// Index into `DecodeJob::layouts`.
    pub layout: u32,
    /// Index into `DecodeJob::selections`.
    pub selection: u32,
    /// Index of the output its pixels go to.
    pub output: u32,
    /// Its bytes, in the source or in the staged arena; `None` for a sparse block, which is filled.
    pub span: Option<Span>,
    /// Which block it is.
    pub address: BlockAddress,
    /// Which part of it goes where.
    pub placement: Placement,
}

/// Blocks of any number of files, with any number of layouts, into any number of outputs.
#[derive(Debug, Clone)]
pub struct DecodeJob {
    layouts: Vec<Arc<BlockLayout>>,
    selections: Vec<Vec<u16>>,
    tasks: Vec<BlockTask>,
    boxes: BTreeMap<u32, OutputBox>,
}

/// A job that contradicts itself.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum JobError {
    /// A task names something the job does not have.
    #[error("task {task} names {what} {index}, which the job does not have")]
    Missing {
        /// Index of the task.
        task: usize,
        /// What it names.
        what: &'static str,
        /// By which number.
        index: u32,
    },
    /// A crop that leaves its block.
    #[error("task {task} wants pixels outside its block")]
    OutsideBlock {
        /// Index of the task.
        task: usize,
    },
    /// Two tasks that would write the same samples.
    #[error("tasks {first} and {second} write the same samples")]
    Overlap {
        /// Index of the one.
        first: usize,
        /// Index of the other.
        second: usize,
    },
}

impl DecodeJob {
    /// Checks that indices exist, crops lie in their blocks and no two tasks write the same sample.
    ///
    /// Within one output, the band ranges of two tasks must be equal or disjoint.
    pub fn new(
        layouts: Vec<Arc<BlockLayout>>,
        selections: Vec<Vec<u16>>,
        tasks: Vec<BlockTask>,
    ) -> Result<Self, JobError> {
        let mut boxes: BTreeMap<u32, OutputBox> = BTreeMap::new();
        let mut placed = Vec::with_capacity(tasks.len());
        for (task, block) in tasks.iter().enumerate() {
            let layout = layouts.get(block.layout as usize);
            let layout = layout.ok_or(JobError::Missing { task, what: "layout", index: block.layout })?;
            let selection = selections.get(block.selection as usize);
            let selection =
                selection.ok_or(JobError::Missing { task, what: "selection", index: block.selection })?;
            if let Some(&sample) = selection.iter().find(|&&sample| sample >= layout.samples) {
                return Err(JobError::Missing { task, what: "sample", index: u32::from(sample) });
            }
            let target = target_box(layout, selection.len(), &block.placement);
            let target = target.ok_or(JobError::OutsideBlock { task })?;
            boxes.entry(block.output).and_modify(|b| *b = b.union(&target)).or_insert(target);
            placed.push((block.output, target));
        }
        check_disjoint(&placed)?;
        Ok(Self { layouts, selections, tasks, boxes })
    }

    /// The layouts.
    pub fn layouts(&self) -> &[Arc<BlockLayout>] {
        &self.layouts
    }

    /// Samples of a block, in the order of the output's bands.
    pub fn selections(&self) -> &[Vec<u16>] {
        &self.selections
    }

    /// The blocks, in the order in which faults count.
    pub fn tasks(&self) -> &[BlockTask] {
        &self.tasks
    }

    /// For each output the box around what is written to it.
    pub fn boxes(&self) -> &BTreeMap<u32, OutputBox> {
        &self.boxes
    }
}

fn target_box(layout: &BlockLayout, bands: usize, p: &Placement) -> Option<OutputBox> {
    let fits = p.width >= 1
        && p.height >= 1
        && p.rows <= layout.height
        && p.block_x.checked_add(p.width)? <= layout.width
        && p.block_y.checked_add(p.height)? <= p.rows;
    let bands = u32::try_from(bands).ok().filter(|&n| n >= 1)?;
    fits.then_some(OutputBox {
        bands: (p.first_band, p.first_band.checked_add(bands)?),
        rows: (p.out_y, p.out_y.checked_add(p.height)?),
        columns: (p.out_x, p.out_x.checked_add(p.width)?),
    })
}

/// Sweeps down the rows keeping the boxes that are open; in a row, boxes of one band range are neighbours in x.
fn check_disjoint(placed: &[(u32, OutputBox)]) -> Result<(), JobError> {
    let mut order: Vec<usize> = (0..placed.len()).collect();
    let key = |&i: &usize| placed.get(i).map(|(output, b)| (*output, b.rows.0, b.bands.0, b.columns.0));
    order.sort_by_key(key);
    // (output, first band, first column) -> task; a box that ended above is replaced when met.
    let mut open: BTreeMap<(u32, u32, u32), usize> = BTreeMap::new();
    for index in order {
        let Some((output, target)) = placed.get(index) else { continue };
        let slot = (*output, target.bands.0, target.columns.0);
        loop {
            let before = open.range(..=slot).next_back();
            let after = open.range(slot..).next();
            let ended = |&(_, &other): &(&(u32, u32, u32), &usize)| {
                placed.get(other).is_some_and(|(o, b)| *o == *output && b.rows.1 <= target.rows.0)
            };
            if let Some((&stale, _)) = before.filter(ended).or(after.filter(ended)) {
                open.remove(&stale);
                continue;
            }
            for (_, &other) in before.into_iter().chain(after) {
                if placed.get(other).is_some_and(|(o, b)| o == output && b.overlaps(target)) {
                    return Err(JobError::Overlap { first: other.min(index), second: other.max(index) });
                }
            }
            break;
        }
        open.insert(slot, index);
    }
    Ok(())
}

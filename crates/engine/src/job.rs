//! Decoding jobs, checked when they are made.

use crate::{BlockAddress, BlockLayout, OutputBox, Placement, Span};
use std::collections::BTreeMap;
use std::sync::Arc;
use thiserror::Error;

/// One block to decode.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockTask {
    /// Index of the source of its bytes.
    pub source: u32,
    /// Index into `DecodeJob::layouts`.
    pub layout: u32,
    /// Index into `DecodeJob::selections`.
    pub selection: u32,
    /// Index of the output for its pixels.
    pub output: u32,
    /// Byte range in the source or in the staged arena; `None` for a sparse block, which is filled.
    pub span: Option<Span>,
    /// Address of the block.
    pub address: BlockAddress,
    /// Requested part of the block and its destination.
    pub placement: Placement,
}

impl BlockTask {
    /// Returns whether both tasks place parts of one stored block. Consecutive tasks of one block decode it once.
    #[inline]
    pub fn is_of_same_block(&self, other: &Self) -> bool {
        // Neighbours are mostly different blocks, with different spans.
        let key = |task: &Self| (task.source, task.layout, task.placement.rows, task.placement.image_rows);
        self.span.is_some() && self.span == other.span && key(self) == key(other)
    }
}

/// Blocks of any number of files and layouts, decoded into any number of outputs.
#[derive(Debug, Clone)]
pub struct DecodeJob {
    layouts: Vec<Arc<BlockLayout>>,
    selections: Vec<Vec<u16>>,
    tasks: Vec<BlockTask>,
    boxes: BTreeMap<u32, OutputBox>,
}

/// An inconsistency in a job.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum JobError {
    /// A task refers to an item that the job does not have.
    #[error("task {task} names {what} {index}, which the job does not have")]
    Missing {
        /// Index of the task.
        task: usize,
        /// Kind of the item.
        what: &'static str,
        /// Index of the item.
        index: u32,
    },
    /// A crop that leaves its block.
    #[error("task {task} wants pixels outside its block")]
    OutsideBlock {
        /// Index of the task.
        task: usize,
    },
    /// A task with an empty span.
    #[error("task {task} has an empty span")]
    EmptySpan {
        /// Index of the task.
        task: usize,
    },
    /// Band ranges of one output that overlap partially.
    #[error("tasks {first} and {second} write ranges of bands that overlap in part")]
    Bands {
        /// Index of one task.
        first: usize,
        /// Index of the other task.
        second: usize,
    },
    /// Two tasks that would write the same samples.
    #[error("tasks {first} and {second} write the same samples")]
    Overlap {
        /// Index of one task.
        first: usize,
        /// Index of the other task.
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
        let mut add = |(output, around): (u32, OutputBox)| {
            boxes.entry(output).and_modify(|known| *known = known.union(&around)).or_insert(around);
        };
        // The output of the preceding tasks, which most tasks share, and the bounding box of its writes.
        let mut last: Option<(u32, OutputBox)> = None;
        // Whether boxes are in reading order and all have the same bands: then none overlaps another, and their list is
        // not needed.
        let (mut before, mut ordered): (Option<(u32, OutputBox)>, bool) = (None, true);
        for (task, block) in tasks.iter().enumerate() {
            let target = checked_target(&layouts, &selections, task, block)?;
            let placed = (block.output, target);
            ordered = ordered
                && before.is_none_or(|before| before.1.bands == target.bands && follows(&before, &placed));
            before = Some(placed);
            last = match last {
                Some((output, around)) if output == block.output => Some((output, around.union(&target))),
                other => {
                    other.into_iter().for_each(&mut add);
                    Some(placed)
                }
            };
        }
        last.into_iter().for_each(&mut add);
        if !ordered {
            let mut placed = Vec::with_capacity(tasks.len());
            for (task, block) in tasks.iter().enumerate() {
                placed.push((block.output, checked_target(&layouts, &selections, task, block)?));
            }
            check_bands(&placed)?;
            check_disjoint(&placed)?;
        }
        Ok(Self { layouts, selections, tasks, boxes })
    }

    /// Checks that no two tasks write the same sample if these outputs lie in the same memory.
    pub(crate) fn check_together(&self, outputs: &[u32]) -> Result<(), JobError> {
        let (mut placed, mut tasks) = (Vec::new(), Vec::new());
        for (task, block) in self.tasks.iter().enumerate().filter(|(_, task)| outputs.contains(&task.output))
        {
            let layout = self.layouts.get(block.layout as usize);
            let selection = self.selections.get(block.selection as usize);
            let target = layout
                .zip(selection)
                .and_then(|(layout, selection)| target_box(layout, selection.len(), &block.placement));
            placed.push((0, target.ok_or(JobError::OutsideBlock { task })?));
            tasks.push(task);
        }
        // Band ranges may overlap partially between outputs, so they are cut where others begin or end.
        let mut cuts: Vec<u32> = placed.iter().flat_map(|(_, b)| [b.bands.0, b.bands.1]).collect();
        cuts.sort_unstable();
        cuts.dedup();
        let (mut cut, mut of) = (Vec::with_capacity(placed.len()), Vec::with_capacity(placed.len()));
        for ((_, target), task) in placed.into_iter().zip(tasks) {
            let first = cuts.partition_point(|&at| at <= target.bands.0);
            let mut start = target.bands.0;
            for &end in cuts.iter().skip(first).take_while(|&&at| at <= target.bands.1) {
                cut.push((0, OutputBox { bands: (start, end), ..target }));
                of.push(task);
                start = end;
            }
        }
        let named = |at: usize| of.get(at).copied().unwrap_or_default();
        check_disjoint(&cut).map_err(|error| match error {
            JobError::Overlap { first, second } => {
                let (first, second) = (named(first), named(second));
                JobError::Overlap { first: first.min(second), second: first.max(second) }
            }
            other => other,
        })
    }

    /// Returns the layouts.
    pub fn layouts(&self) -> &[Arc<BlockLayout>] {
        &self.layouts
    }

    /// Returns the selections: samples of a block, in the order of the output's bands.
    pub fn selections(&self) -> &[Vec<u16>] {
        &self.selections
    }

    /// Returns the tasks, in the order in which faults are reported.
    pub fn tasks(&self) -> &[BlockTask] {
        &self.tasks
    }

    /// Returns the bounding box of the writes to each output.
    pub fn boxes(&self) -> &BTreeMap<u32, OutputBox> {
        &self.boxes
    }
}

/// Returns what a task writes. Checks that its indices exist, its span is not empty and its crop lies in its block.
fn checked_target(
    layouts: &[Arc<BlockLayout>],
    selections: &[Vec<u16>],
    task: usize,
    block: &BlockTask,
) -> Result<OutputBox, JobError> {
    let missing = |what, index| JobError::Missing { task, what, index };
    let layout = layouts.get(block.layout as usize).ok_or(missing("layout", block.layout))?;
    let selection = selections.get(block.selection as usize).ok_or(missing("selection", block.selection))?;
    if let Some(&sample) = selection.iter().find(|&&sample| sample >= layout.samples) {
        return Err(missing("sample", u32::from(sample)));
    }
    if block.span.is_some_and(|span| span.len == 0) {
        return Err(JobError::EmptySpan { task });
    }
    target_box(layout, selection.len(), &block.placement).ok_or(JobError::OutsideBlock { task })
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

/// Checks that band ranges of each output are equal or disjoint. `check_disjoint` relies on it.
fn check_bands(placed: &[(u32, OutputBox)]) -> Result<(), JobError> {
    let mut ranges: BTreeMap<(u32, u32), (u32, usize)> = BTreeMap::new();
    let mut before = None;
    for (task, (output, target)) in placed.iter().enumerate() {
        if before.replace((*output, target.bands)) == Some((*output, target.bands)) {
            continue;
        }
        let (start, end) = target.bands;
        let &mut (known_end, first) = ranges.entry((*output, start)).or_insert((end, task));
        if known_end != end {
            return Err(JobError::Bands { first, second: task });
        }
    }
    let neighbours = ranges.iter().zip(ranges.iter().skip(1));
    for ((&(output, _), &(end, first)), (&(next_output, next_start), &(_, second))) in neighbours {
        if output == next_output && next_start < end {
            return Err(JobError::Bands { first, second });
        }
    }
    Ok(())
}

/// Returns whether the second box lies in the same output, and either right of the first in the same rows or below it.
fn follows((output, before): &(u32, OutputBox), (next, after): &(u32, OutputBox)) -> bool {
    let beside = after.rows == before.rows && after.columns.0 >= before.columns.1;
    output == next && (beside || after.rows.0 >= before.rows.1)
}

/// Returns whether boxes are in reading order: left to right, then down. Blocks of one plane nearly always are, and
/// then none overlaps another.
fn in_reading_order(placed: &[(u32, OutputBox)]) -> bool {
    placed.iter().zip(placed.iter().skip(1)).all(|(before, after)| follows(before, after))
}

/// Sweeps down the rows and tracks the open boxes. In a row, boxes of one band range are neighbours in x.
fn check_disjoint(placed: &[(u32, OutputBox)]) -> Result<(), JobError> {
    if in_reading_order(placed) {
        return Ok(());
    }
    let mut order: Vec<usize> = (0..placed.len()).collect();
    let key = |&i: &usize| placed.get(i).map(|(output, b)| (*output, b.rows.0, b.bands.0, b.columns.0));
    order.sort_by_key(key);
    // (output, first band, first column) -> task; a box that ended above is replaced when encountered.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn at(bands: (u32, u32), rows: (u32, u32), columns: (u32, u32)) -> (u32, OutputBox) {
        (0, OutputBox { bands, rows, columns })
    }

    #[test]
    fn overlaps_are_found_in_any_order() {
        let left = at((0, 1), (0, 8), (0, 8));
        let right = at((0, 1), (0, 8), (8, 16));
        let below = at((0, 1), (8, 16), (4, 12));
        let across = at((0, 1), (7, 9), (2, 14));
        assert_eq!(check_disjoint(&[below, right, left]), Ok(()));
        assert!(matches!(check_disjoint(&[left, right, across]), Err(JobError::Overlap { second: 2, .. })));
        assert!(check_disjoint(&[across, left]).is_err());
        assert!(check_disjoint(&[left, left]).is_err());
        let other_output = (1, left.1);
        assert_eq!(check_disjoint(&[left, other_output]), Ok(()));
    }

    #[test]
    fn a_grid_of_random_boxes_agrees_with_comparing_all_pairs() {
        let mut state = 7u32;
        let mut next = |n: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % n
        };
        for _ in 0..2000 {
            let boxes: Vec<_> = (0..6)
                .map(|_| {
                    let (band, x, y) = (next(2), next(12), next(12));
                    at((band, band + 1), (y, y + 1 + next(4)), (x, x + 1 + next(4)))
                })
                .collect();
            let overlapping = (0..6).any(|i| (0..i).any(|j| boxes[i].1.overlaps(&boxes[j].1)));
            assert_eq!(check_disjoint(&boxes).is_err(), overlapping, "{boxes:?}");
        }
    }

    #[test]
    fn band_ranges_of_outputs_in_one_memory_may_overlap_in_part() {
        let layout = Arc::new(BlockLayout::stored(strile_tiff::DataType::U8, (4, 4), 3));
        let task = |output: u32, selection: u32, first_band: u32, out_x: u32| BlockTask {
            source: 0,
            layout: 0,
            selection,
            output,
            span: None,
            address: BlockAddress::default(),
            placement: Placement {
                rows: 4,
                image_rows: 4,
                block_x: 0,
                block_y: 0,
                width: 4,
                height: 4,
                out_x,
                out_y: 0,
                first_band,
            },
        };
        let job =
            |tasks| DecodeJob::new(vec![Arc::clone(&layout)], vec![vec![0], vec![0, 1, 2]], tasks).unwrap();
        // One band of a plane beside a block of three bands.
        let beside = job(vec![task(0, 0, 1, 0), task(0, 0, 2, 0), task(1, 1, 0, 4)]);
        assert_eq!(beside.check_together(&[0, 1]), Ok(()));
        let upon = job(vec![task(0, 0, 1, 0), task(0, 0, 2, 0), task(1, 1, 0, 3)]);
        assert_eq!(upon.check_together(&[0, 1]), Err(JobError::Overlap { first: 0, second: 2 }));
        assert_eq!(upon.check_together(&[1]), Ok(()));
    }

    #[test]
    fn band_ranges_overlap_wholly_or_not_at_all() {
        let one = at((0, 1), (0, 1), (0, 1));
        let two = at((1, 3), (0, 1), (0, 1));
        assert_eq!(check_bands(&[one, two, two]), Ok(()));
        assert_eq!(
            check_bands(&[two, at((2, 3), (5, 6), (0, 1))]),
            Err(JobError::Bands { first: 0, second: 1 })
        );
        assert_eq!(
            check_bands(&[one, at((0, 2), (5, 6), (0, 1))]),
            Err(JobError::Bands { first: 0, second: 1 })
        );
    }
}

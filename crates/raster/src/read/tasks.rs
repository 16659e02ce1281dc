//! The blocks of a read: one list over all files and windows, whatever their codecs.
//!
//! The result, or a sheet that it is resampled from, is one output whose bands are those of its windows, one window after
//! the other. Parts outside an image are filled in all bands at once, and converted samples need outputs that convert. So
//! a sheet has several outputs in the same memory: one for samples as they are, one for what is filled, one for each
//! conversion. Windows have bands of their own, and blocks and filled parts of a window are disjoint, so no two tasks
//! write the same sample.

use super::area::Frame;
use super::cut::batches;
use super::locate::locate;
use super::request::Asked;
use super::resolve::{Group, MaskPlace, Resolved, Role};
use super::sheet::{Masks, Sheet, places_of};
use super::together::together;
use crate::error::Result;
use crate::source::Source;
use crate::window::Window;
use std::ops::Range;
use std::sync::Arc;
use strile_engine::memory::probe;
use strile_engine::{
    BlockAddress, BlockLayout, BlockTask, Context, Convert, Fill, Lease, OutputSpec, Placement, Span,
};
use strile_tiff::{BlockArray, BlockTable, DataType};

/// The output of parts that are filled, among those of a sheet.
const FILLED: u32 = 1;

/// Outputs of masks are counted from here until the outputs of sheets are known.
const MASKS: u32 = 1 << 31;

/// What the memory of a plan is for, in messages of the budget.
const PLAN: &str = "the plan of the read";

/// Offset, size, span and task of a block while a read is planned.
const PLAN_BYTES_PER_BLOCK: u64 = 160;

/// Encoded bytes of one staged batch, per file.
const BATCH_BYTES: u64 = 32 << 20;

/// Files that a staged batch has room for: those of many files are waited for at once.
const BATCH_FILES: u64 = 8;

/// An output of the job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Target {
    /// Its memory: that of a sheet, or after all sheets that of masks.
    pub(super) memory: usize,
    /// What it makes of samples.
    pub(super) convert: Option<Convert>,
}

/// All blocks of a read, located.
pub(super) struct Located {
    pub(super) shape: [u32; 4],
    pub(super) result: OutputSpec,
    pub(super) sheets: Vec<Sheet>,
    pub(super) masks: Vec<Masks>,
    pub(super) sources: Vec<Arc<dyn Source>>,
    pub(super) layouts: Vec<Arc<BlockLayout>>,
    /// Whether a layout is that of filled parts.
    pub(super) edges: Vec<bool>,
    pub(super) selections: Vec<Vec<u16>>,
    pub(super) outputs: Vec<Target>,
    pub(super) tasks: Vec<BlockTask>,
    /// The window of each task; empty if there is one.
    pub(super) windows: Vec<u32>,
    /// Where the blocks of each group are.
    pub(super) spans: Vec<Vec<Option<Span>>>,
    pub(super) filled: usize,
    pub(super) leases: Vec<Lease>,
}

impl Located {
    /// Cuts the tasks into batches that are staged one after the other.
    pub(super) fn staged(tasks: Vec<BlockTask>, sources: usize) -> Vec<Vec<BlockTask>> {
        batches(tasks, BATCH_BYTES * (sources as u64).clamp(1, BATCH_FILES))
    }
}

/// A group, and which blocks its windows need.
struct Sought<'a> {
    group: Group<'a>,
    /// Their numbers in the table of blocks, one window after the other.
    runs: Vec<Range<u64>>,
    /// How many of them each window has.
    counts: Vec<u64>,
}

/// Where the blocks of each group are. Remote tables are fetched together.
fn spans_of(sought: &[Sought<'_>], context: &Context) -> Result<Vec<Vec<Option<Span>>>> {
    let spans = |Sought { group: Group { facts, .. }, runs, .. }: &Sought<'_>| {
        locate(facts.source.as_ref(), &facts.image, facts.stored_len(), runs)
    };
    let is_remote = |Sought { group: Group { facts, .. }, .. }: &Sought<'_>| {
        let BlockTable { offsets, sizes } = &facts.image.table;
        [offsets, sizes].iter().any(|array| matches!(array, BlockArray::There(_)))
            && facts.source.local().is_none()
    };
    together(sought.iter().collect(), sought.iter().any(is_remote), &context.cancel, spans)
}

/// The tasks of a read, as they are collected.
struct Tasks<'a> {
    asked: Asked<'a>,
    context: &'a Context,
    shape: [u32; 4],
    /// For each window its sheet, and its place there.
    places: Vec<(u32, u32)>,
    /// For each window its masks, and its band there.
    masked: Vec<MaskPlace>,
    data_type: DataType,
    leases: Vec<Lease>,
    layouts: Vec<Arc<BlockLayout>>,
    /// Whether a layout is that of filled parts.
    edges: Vec<bool>,
    selections: Vec<Vec<u16>>,
    /// Conversions, and the type of the samples they are for, which the nodata value is of.
    converts: Vec<(Convert, DataType)>,
    filled: usize,
    list: Vec<(BlockTask, u32)>,
}

impl Tasks<'_> {
    /// Finds which blocks the windows of a group need.
    fn seek<'g>(&mut self, mut group: Group<'g>, frames: &[(Frame, Option<Window>)]) -> Result<Sought<'g>> {
        let (mut runs, mut counts) = (Vec::new(), Vec::with_capacity(group.members.len()));
        for (_, inside) in group.members.iter().filter_map(|&at| frames.get(at)) {
            let before = runs.len();
            if let Some(inside) = *inside {
                group.facts.window = inside;
                runs.extend(group.facts.runs());
            }
            let own = runs.get(before..).unwrap_or_default();
            counts.push(own.iter().fold(0u64, |sum, run| sum.saturating_add(run.end - run.start)));
        }
        let blocks = counts.iter().fold(0u64, |sum, &count| sum.saturating_add(count));
        let need = blocks.saturating_mul(PLAN_BYTES_PER_BLOCK);
        self.leases.push(self.context.take(need, PLAN)?);
        probe(need, PLAN)?;
        Ok(Sought { group, runs, counts })
    }

    /// Adds the windows of a group, whose blocks are at `spans`.
    fn add(
        &mut self,
        Sought { group, counts, .. }: Sought<'_>,
        mut spans: &[Option<Span>],
        frames: &[(Frame, Option<Window>)],
    ) -> Result<()> {
        // A single window lies in its image.
        let edge = match self.asked.batch {
            Some(_) => Some(Arc::new(self.edge(&group)?)),
            None => None,
        };
        let Group { mut facts, source, level, members, convert, role, .. } = group;
        let frames: Vec<_> = members.into_iter().filter_map(|at| Some((at, frames.get(at)?))).collect();
        let layout = self.layout(&facts.layout, false);
        let selection = self.selection(facts.selection());
        let converted = self.output(convert, facts.layout.data_type);
        for ((at, (frame, inside)), count) in frames.into_iter().zip(counts) {
            let window = u32::try_from(at).unwrap_or(u32::MAX);
            let (output, filled, first_band) = match role {
                Role::Pixels => (converted, FILLED, self.first_band(at)),
                Role::Mask(_) => {
                    let (masks, band) = self.masked.get(at).copied().flatten().unwrap_or_default();
                    (MASKS + masks, MASKS + masks, band)
                }
            };
            if let Some(edge) = &edge {
                self.fill(frame.around(*inside), edge, (at, source), (filled, first_band));
            }
            let Some((inside, seen)) = inside.and_then(|inside| Some((inside, frame.seen(inside)?))) else {
                continue;
            };
            facts.window = inside;
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            let (own, rest) = spans.split_at_checked(count).unwrap_or_default();
            spans = rest;
            facts.tasks(level, own, |mut task| {
                (task.source, task.layout, task.selection, task.output) = (source, layout, selection, output);
                task.placement.out_x += seen.column;
                task.placement.out_y += seen.row;
                task.placement.first_band += first_band;
                self.list.push((task, window));
            });
        }
        Ok(())
    }

    /// Where the bands of a window begin in its sheet.
    fn first_band(&self, window: usize) -> u32 {
        let [_, bands, ..] = self.shape;
        self.places.get(window).map_or(u32::MAX, |(_, place)| place.saturating_mul(bands))
    }

    /// A block of nothing but the value of pixels outside the image, as large as a window. Masks are valid there: the pixels
    /// have their value already.
    fn edge(&self, group: &Group<'_>) -> Result<BlockLayout> {
        let [_, bands, rows, columns] = self.shape;
        if let Role::Mask(_) = group.role {
            let mut layout = BlockLayout::stored(group.facts.layout.data_type, (columns, rows), 1);
            layout.extras.fill = Fill([u8::MAX; 16]);
            return Ok(layout);
        }
        let too_many = || self.asked.refuse(format!("{bands} bands are more than a block can have"));
        let samples = u16::try_from(bands).map_err(|_| too_many())?;
        let mut layout = BlockLayout::stored(self.data_type, (columns, rows), samples);
        layout.extras.fill = self.asked.edge(group, self.data_type)?;
        Ok(layout)
    }

    /// Adds what fills parts of a window.
    fn fill(
        &mut self,
        parts: Vec<Window>,
        edge: &Arc<BlockLayout>,
        (window, source): (usize, u32),
        (output, first_band): (u32, u32),
    ) {
        if parts.is_empty() {
            return;
        }
        let layout = self.layout(edge, true);
        let selection = self.selection((0..edge.samples).collect());
        let [_, _, rows, _] = self.shape;
        for Window { column: x, row: y, width, height } in parts {
            let placement = Placement {
                rows,
                image_rows: rows,
                block_x: x,
                block_y: y,
                width,
                height,
                out_x: x,
                out_y: y,
                first_band,
            };
            let address = BlockAddress::default();
            let task = BlockTask { source, layout, selection, output, span: None, address, placement };
            self.list.push((task, u32::try_from(window).unwrap_or(u32::MAX)));
            self.filled += usize::from(output == FILLED);
        }
    }

    /// The index of a layout; those of filled parts are told apart.
    fn layout(&mut self, layout: &Arc<BlockLayout>, edge: bool) -> u32 {
        let known = self.layouts.iter().zip(&self.edges).position(|known| known == (layout, &edge));
        let at = known.unwrap_or_else(|| {
            self.layouts.push(Arc::clone(layout));
            self.edges.push(edge);
            self.layouts.len() - 1
        });
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    fn selection(&mut self, selection: Vec<u16>) -> u32 {
        place_of(&mut self.selections, |known| *known == selection, || selection.clone())
    }

    /// The output that converts so.
    fn output(&mut self, convert: Option<Convert>, stored: DataType) -> u32 {
        let Some(convert) = convert else { return 0 };
        place_of(&mut self.converts, |known| *known == (convert, stored), || (convert, stored))
            .saturating_add(FILLED + 1)
    }
}

/// The index of what is known already, or of what is added.
fn place_of<T>(list: &mut Vec<T>, is: impl Fn(&T) -> bool, make: impl FnOnce() -> T) -> u32 {
    let at = list.iter().position(is).unwrap_or_else(|| {
        list.push(make());
        list.len() - 1
    });
    u32::try_from(at).unwrap_or(u32::MAX)
}

impl Asked<'_> {
    /// Locates all blocks and makes tasks of them.
    pub(super) fn locate(&self, resolved: Resolved<'_>, context: &Context) -> Result<Located> {
        let Resolved { groups, sources, shape, result, sheets, masks, masked, frames } = resolved;
        let mut tasks = Tasks {
            asked: *self,
            context,
            shape,
            places: places_of(&sheets),
            masked,
            data_type: result.data_type,
            leases: Vec::new(),
            layouts: Vec::new(),
            edges: Vec::new(),
            selections: Vec::new(),
            converts: Vec::new(),
            filled: 0,
            list: Vec::new(),
        };
        let sought =
            groups.into_iter().map(|group| tasks.seek(group, &frames)).collect::<Result<Vec<_>>>()?;
        let spans = spans_of(&sought, context)?;
        for (sought, spans) in sought.into_iter().zip(&spans) {
            tasks.add(sought, spans, &frames)?;
        }
        let Tasks { places, leases, layouts, edges, selections, converts, filled, mut list, .. } = tasks;
        match frames.len() {
            // In the order of the result.
            1 => list.sort_by_key(|(task, _)| (task.source, task.address)),
            // In the order of the files: neighbours are read together, and windows of one block follow each other.
            _ => list.sort_by_key(|(task, window)| {
                (task.source, task.span.map(|span| span.offset), task.layout, *window)
            }),
        }
        let mut outputs = Vec::new();
        for memory in 0..sheets.len() {
            let plain = Target { memory, convert: None };
            outputs.extend([plain, plain]);
            outputs.extend(converts.iter().map(|&(convert, _)| Target { memory, convert: Some(convert) }));
        }
        let of_sheets = u32::try_from(outputs.len()).unwrap_or(u32::MAX);
        outputs.extend((0..masks.len()).map(|at| Target { memory: sheets.len() + at, convert: None }));
        let per_sheet = u32::try_from(converts.len()).unwrap_or(u32::MAX).saturating_add(FILLED + 1);
        for (task, window) in &mut list {
            let (sheet, _) = places.get(*window as usize).copied().unwrap_or_default();
            task.output = match task.output.checked_sub(MASKS) {
                Some(masks) => of_sheets.saturating_add(masks),
                None => sheet.saturating_mul(per_sheet).saturating_add(task.output),
            };
        }
        let windows = match frames.len() {
            1 => Vec::new(),
            _ => list.iter().map(|(_, window)| *window).collect(),
        };
        let tasks = list.into_iter().map(|(task, _)| task).collect();
        Ok(Located {
            shape,
            result,
            sheets,
            masks,
            sources,
            layouts,
            edges,
            selections,
            outputs,
            tasks,
            windows,
            spans,
            filled,
            leases,
        })
    }
}

//! The blocks of a read: one list over all files and windows, whatever their codecs.
//!
//! The result, or a sheet that it is resampled from, is one output whose bands are those of its windows, one window
//! after the other. Parts outside an image are filled in all bands at once, and converted samples need outputs that
//! convert. So a sheet has several outputs in the same memory: one for unchanged samples, one for filled parts, one per
//! conversion. Windows have separate bands, and blocks and filled parts of a window are disjoint, so no two tasks write
//! the same sample.
//!
//! In a window of a mosaic some tasks write all bands and some write one. A job takes ranges of bands in an output that
//! are equal or disjoint, so tasks of one band have separate outputs, again in the same memory.

use super::canvas::{Canvas, Gap, alike};
use super::cut::batches;
use super::locate::locate;
use super::request::Asked;
use super::resolve::{Group, Held, Laid, MaskPlace, Resolved, Role, Slot, filled};
use super::sheet::{Masks, Sheet, places_of};
use super::together::together;
use crate::error::Result;
use crate::source::{MemorySource, Source};
use crate::window::Window;
use std::ops::Range;
use std::sync::Arc;
use strile_engine::memory::probe;
use strile_engine::{
    BlockAddress, BlockLayout, BlockTask, Context, Convert, Fill, Lease, OutputSpec, Placement, Span,
};
use strile_tiff::{BlockArray, BlockTable, DataType};

/// Index of the output for filled parts among those of a sheet.
const FILLED: u32 = 1;

/// Outputs of masks are counted from here until the outputs of sheets are known.
const MASKS: u32 = 1 << 31;

/// Outputs for one band of a mosaic are counted from here until then.
const SINGLE: u32 = 1 << 30;

/// Bytes of blocks that blended pixels are cut into.
const BLENDED_BYTES: u64 = 4 << 20;

/// Purpose of the memory of a plan, for messages of the budget.
const PLAN: &str = "the plan of the read";

/// Offset, size, span and task of a block while a read is planned.
const PLAN_BYTES_PER_BLOCK: u64 = 160;

/// Encoded bytes of one staged batch, per file.
const BATCH_BYTES: u64 = 32 << 20;

/// Number of files that a staged batch has room for: many files are waited for at once.
const BATCH_FILES: u64 = 8;

/// An output of the job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Target {
    /// Its memory: that of a sheet, or after all sheets that of masks.
    pub(super) memory: usize,
    /// How it converts samples.
    pub(super) convert: Option<Convert>,
    /// The value that samples written there are searched for.
    pub(super) sought: Option<strile_engine::Sought>,
}

/// All blocks of a read, located.
pub(super) struct Located {
    pub(super) shape: [u32; 4],
    pub(super) result: OutputSpec,
    pub(super) sheets: Vec<Sheet>,
    pub(super) masks: Vec<Masks>,
    pub(super) sources: Vec<Arc<dyn Source>>,
    pub(super) layouts: Vec<Arc<BlockLayout>>,
    /// Per layout: whether it is that of filled parts.
    pub(super) edges: Vec<bool>,
    pub(super) selections: Vec<Vec<u16>>,
    pub(super) outputs: Vec<Target>,
    pub(super) tasks: Vec<BlockTask>,
    /// Tasks of pixels that are already in the memory of the device.
    pub(super) held: Vec<(Held, Vec<BlockTask>)>,
    /// The window of each task. Empty if there is one.
    pub(super) windows: Vec<u32>,
    /// Spans of the blocks of each group.
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

/// A group, and the blocks that its windows need.
struct Sought<'a> {
    group: Group<'a>,
    /// Their numbers in the table of blocks, one window after the other.
    runs: Vec<Range<u64>>,
    /// Number of blocks per window.
    counts: Vec<u64>,
}

/// Returns the spans of the blocks of each group. Remote tables are fetched together.
fn spans_of(sought: &[Sought<'_>], context: &Context) -> Result<Vec<Vec<Option<Span>>>> {
    let spans = |Sought { group: Group { facts, .. }, runs, .. }: &Sought<'_>| {
        locate(facts.source.as_ref(), &facts.image, facts.stored_len(), runs, &context.cancel)
    };
    let is_remote = |Sought { group: Group { facts, .. }, .. }: &Sought<'_>| {
        let BlockTable { offsets, sizes } = &facts.image.table;
        [offsets, sizes].iter().any(|array| matches!(array, BlockArray::There(_)))
            && facts.source.local().is_none()
    };
    together(sought.iter().collect(), sought.iter().any(is_remote), &context.cancel, spans)
}

/// Collects the tasks of a read.
struct Tasks<'a> {
    asked: Asked<'a>,
    context: &'a Context,
    shape: [u32; 4],
    /// Per window: its sheet, and its place there.
    places: Vec<(u32, u32)>,
    /// Per window: its masks, and its band there.
    masked: Vec<MaskPlace>,
    data_type: DataType,
    /// The type of each sheet.
    types: Vec<DataType>,
    leases: Vec<Lease>,
    layouts: Vec<Arc<BlockLayout>>,
    /// Per layout: whether it is that of filled parts.
    edges: Vec<bool>,
    selections: Vec<Vec<u16>>,
    /// Conversions, and the type of the samples that they apply to, which is also that of the nodata value.
    converts: Vec<(Convert, DataType)>,
    filled: usize,
    list: Vec<(BlockTask, u32)>,
}

impl Tasks<'_> {
    /// Finds the blocks that the windows of a group need.
    fn seek<'g>(&mut self, mut group: Group<'g>, slots: &[Slot]) -> Result<Sought<'g>> {
        let (mut runs, mut counts) = (Vec::new(), Vec::with_capacity(group.members.len()));
        for slot in group.members.iter().filter_map(|&at| slots.get(at)) {
            let before = runs.len();
            if let Some(inside) = slot.inside {
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

    /// Adds the windows or tiles of a group, whose blocks are at `spans`.
    fn add(
        &mut self,
        Sought { group, counts, .. }: Sought<'_>,
        mut spans: &[Option<Span>],
        slots: &[Slot],
    ) -> Result<()> {
        // A single window lies in its image, and so do tiles.
        let edge = match self.asked.batch {
            Some(_) if !matches!(group.role, Role::Tile | Role::MaskTile) => {
                Some(Arc::new(self.edge(&group)?))
            }
            _ => None,
        };
        let Group { mut facts, source, level, members, convert, role, .. } = group;
        let layout = self.layout(&facts.layout, false);
        let selection = facts.selection();
        let single = if role == Role::Tile { single(selection.len()) } else { 0 };
        let selection = self.selection(selection);
        let converted = self.output(convert, facts.layout.data_type).saturating_add(single);
        let slots = members.into_iter().filter_map(|at| slots.get(at));
        for (Slot { window: at, frame, inside, at: corner, band }, count) in slots.zip(counts) {
            let window = u32::try_from(*at).unwrap_or(u32::MAX);
            let (output, filled, first_band) = match role {
                Role::Pixels | Role::Tile => (converted, FILLED, self.first_band(*at).saturating_add(*band)),
                Role::Mask(_) | Role::MaskTile => {
                    let (output, band) = self.mask_of(*at);
                    (output, output, band)
                }
            };
            if let Some(edge) = &edge {
                self.fill(frame.around(*inside), edge, (*at, source), (filled, first_band));
            }
            let Some((inside, seen)) = inside.and_then(|inside| Some((inside, frame.seen(inside)?))) else {
                continue;
            };
            facts.window = inside;
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            let (own, rest) = spans.split_at_checked(count).unwrap_or_default();
            spans = rest;
            self.list.reserve(own.len());
            facts.tasks(level, own, |mut task| {
                (task.source, task.layout, task.selection, task.output) = (source, layout, selection, output);
                task.placement.out_x += corner.0 + seen.column;
                task.placement.out_y += corner.1 + seen.row;
                task.placement.first_band += first_band;
                self.list.push((task, window));
            });
        }
        Ok(())
    }

    /// Returns the output of a window's mask, and its band there.
    fn mask_of(&self, window: usize) -> (u32, u32) {
        let (masks, band) = self.masked.get(window).copied().flatten().unwrap_or_default();
        (MASKS + masks, band)
    }

    /// Adds the gaps in a window of a mosaic, and the blended pixels.
    fn add_canvas(&mut self, window: usize, laid: &Laid<'_>) -> Result<()> {
        let canvas = laid.canvas;
        let data_type = self.type_of(window);
        let Canvas { data_type: stored, fills, frame, inside, .. } = canvas;
        let (first_band, size) = (self.first_band(window), (frame.width, frame.height));
        let (left, top) = canvas.corner();
        for Gap { at, bands: (first, count), fill } in canvas.gaps() {
            let fill = filled((*stored, *fill), laid.convert(*first), data_type);
            let edge = self.edge_of((data_type, fill), *count, size)?;
            let at = Window { column: left + at.column, row: top + at.row, ..*at };
            let output = FILLED + single(*count as usize);
            self.fill(vec![at], &edge, (window, 0), (output, first_band.saturating_add(*first)));
        }
        let around = if self.asked.batch.is_some() { frame.around(*inside) } else { Vec::new() };
        if !around.is_empty() {
            let edge =
                |(at, fill): (u32, &Fill)| self.asked.edge((*stored, *fill), laid.convert(at), data_type);
            let edges = (0u32..).zip(fills).map(edge).collect::<Result<Vec<_>>>()?;
            for (first, count, fill) in alike(&edges) {
                let edge = self.edge_of((data_type, fill), count, size)?;
                let output = FILLED + single(count as usize);
                self.fill(around.clone(), &edge, (window, 0), (output, first_band.saturating_add(first)));
            }
        }
        if let (Some(source), Some(inside)) = (laid.blended, *inside) {
            self.blended(canvas, inside, (window, source), |tasks, plane| {
                let output = tasks.output(laid.convert(plane), *stored).saturating_add(SINGLE);
                (output, first_band.saturating_add(plane))
            })?;
        }
        match &canvas.mask {
            Some(mask) => self.add_mask(window, &mask.canvas, laid.blended_mask),
            None => Ok(()),
        }
    }

    /// Adds the gaps in the mask of a mosaic's window, and the blended pixels. Pixels outside the mosaic are valid
    /// there: they already have their value.
    fn add_mask(&mut self, window: usize, canvas: &Canvas, blended: Option<u32>) -> Result<()> {
        let Canvas { data_type, frame, inside, .. } = canvas;
        let (left, top) = canvas.corner();
        let output = self.mask_of(window);
        let filled = |fill: Fill| {
            let mut layout = BlockLayout::stored(*data_type, (frame.width, frame.height), 1);
            layout.extras.fill = fill;
            Arc::new(layout)
        };
        for Gap { at, fill, .. } in canvas.gaps() {
            let at = Window { column: left + at.column, row: top + at.row, ..*at };
            self.fill(vec![at], &filled(*fill), (window, 0), output);
        }
        if self.asked.batch.is_some() {
            self.fill(frame.around(*inside), &filled(Fill([u8::MAX; 16])), (window, 0), output);
        }
        match (blended, *inside) {
            (Some(source), Some(inside)) => self.blended(canvas, inside, (window, source), |_, _| output),
            _ => Ok(()),
        }
    }

    /// Adds blended pixels: contiguous in memory, in blocks of some rows. `to` returns the output of a plane, and its
    /// band there.
    fn blended(
        &mut self,
        canvas: &Canvas,
        inside: Window,
        (window, source): (usize, u32),
        to: impl Fn(&mut Self, u32) -> (u32, u32),
    ) -> Result<()> {
        let asked = self.asked;
        let too_large = || asked.refuse("the mosaic is larger than memory can address".into());
        let (Window { width, height, .. }, data_type) = (inside, canvas.data_type);
        let row_len = u64::from(width).checked_mul(data_type.size() as u64).ok_or_else(too_large)?;
        let rows = u32::try_from(BLENDED_BYTES / row_len.max(1)).unwrap_or(u32::MAX).clamp(1, height.max(1));
        let layout = Arc::new(BlockLayout::stored(data_type, (width, rows), 1));
        let layout = self.layout(&layout, false);
        let selection = self.selection(vec![0]);
        let (left, top) = canvas.corner();
        for (plane, _) in (0u32..).zip(&canvas.bands) {
            let (output, first_band) = to(self, plane);
            for (row, first) in (0u32..).zip((0..height).step_by(rows as usize)) {
                let count = rows.min(height - first);
                let offset = (u64::from(plane) * u64::from(height) + u64::from(first)).checked_mul(row_len);
                let offset = offset.ok_or_else(too_large)?;
                let placement = Placement {
                    rows: count,
                    image_rows: count,
                    block_x: 0,
                    block_y: 0,
                    width,
                    height: count,
                    out_x: left,
                    out_y: top + first,
                    first_band,
                };
                let span = Some(Span { offset, len: row_len * u64::from(count) });
                let address = BlockAddress { row, plane, ..BlockAddress::default() };
                let task = BlockTask { source, layout, selection, output, span, address, placement };
                self.list.push((task, u32::try_from(window).unwrap_or(u32::MAX)));
            }
        }
        Ok(())
    }

    /// Returns the first band of a window in its sheet.
    fn first_band(&self, window: usize) -> u32 {
        let [_, bands, ..] = self.shape;
        self.places.get(window).map_or(u32::MAX, |(_, place)| place.saturating_mul(bands))
    }

    /// Returns the type that a window is decoded into.
    fn type_of(&self, window: usize) -> DataType {
        let sheet = self.places.get(window).and_then(|(sheet, _)| self.types.get(*sheet as usize));
        sheet.copied().unwrap_or(self.data_type)
    }

    /// Returns the layout of a block filled with the value of pixels outside the image, as large as a window. Masks are
    /// valid there: the pixels already have their value.
    fn edge(&self, group: &Group<'_>) -> Result<BlockLayout> {
        let [_, bands, rows, columns] = self.shape;
        if let Role::Mask(_) = group.role {
            let mut layout = BlockLayout::stored(group.facts.layout.data_type, (columns, rows), 1);
            layout.extras.fill = Fill([u8::MAX; 16]);
            return Ok(layout);
        }
        let fill = (group.facts.layout.data_type, group.facts.layout.extras.fill);
        let fill = self.asked.edge(fill, group.convert, self.data_type)?;
        self.edge_of((self.data_type, fill), bands, (columns, rows)).map(Arc::unwrap_or_clone)
    }

    /// Returns the layout of a block filled with that value in `bands` bands, as large as a window.
    fn edge_of(
        &self,
        (data_type, fill): (DataType, Fill),
        bands: u32,
        size: (u32, u32),
    ) -> Result<Arc<BlockLayout>> {
        let too_many = || self.asked.refuse(format!("{bands} bands are more than a block can have"));
        let samples = u16::try_from(bands).map_err(|_| too_many())?;
        let mut layout = BlockLayout::stored(data_type, size, samples);
        layout.extras.fill = fill;
        Ok(Arc::new(layout))
    }

    /// Adds blocks that fill parts of a window.
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
        let rows = edge.height;
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
            self.filled += usize::from(output < MASKS);
        }
    }

    /// Returns the index of a layout. Those of filled parts are distinguished.
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

    /// Returns the output with this conversion.
    fn output(&mut self, convert: Option<Convert>, stored: DataType) -> u32 {
        let Some(convert) = convert else { return 0 };
        place_of(&mut self.converts, |known| *known == (convert, stored), || (convert, stored))
            .saturating_add(FILLED + 1)
    }
}

/// Returns the offset of the output of a mosaic's task that writes `bands` bands.
fn single(bands: usize) -> u32 {
    if bands == 1 { SINGLE } else { 0 }
}

/// Returns the index of the element, and adds it if it is not in the list.
fn place_of<T>(list: &mut Vec<T>, is: impl Fn(&T) -> bool, make: impl FnOnce() -> T) -> u32 {
    let at = list.iter().position(is).unwrap_or_else(|| {
        list.push(make());
        list.len() - 1
    });
    u32::try_from(at).unwrap_or(u32::MAX)
}

impl Asked<'_> {
    /// Locates all blocks and creates their tasks.
    pub(super) fn locate(&self, resolved: Resolved<'_>, context: &Context) -> Result<Located> {
        let Resolved {
            groups,
            sources,
            shape,
            result,
            sheets,
            masks,
            masked,
            slots,
            frames,
            canvases,
            held,
            ..
        } = resolved;
        let mut sources = sources;
        if sources.is_empty() {
            // A mosaic without a source here: filled parts need a source, too.
            sources.push(Arc::new(MemorySource::new(self.name(), Vec::new())));
        }
        let mut tasks = Tasks {
            asked: *self,
            context,
            shape,
            places: places_of(&sheets),
            masked,
            data_type: result.data_type,
            types: sheets.iter().map(|sheet| sheet.spec.data_type).collect(),
            leases: Vec::new(),
            layouts: Vec::new(),
            edges: Vec::new(),
            selections: Vec::new(),
            converts: Vec::new(),
            filled: 0,
            list: Vec::new(),
        };
        let sought = groups.into_iter().map(|group| tasks.seek(group, &slots)).collect::<Result<Vec<_>>>()?;
        let spans = spans_of(&sought, context)?;
        for (sought, spans) in sought.into_iter().zip(&spans) {
            tasks.add(sought, spans, &slots)?;
        }
        let is_mosaic = !canvases.is_empty();
        for (window, laid) in canvases {
            tasks.add_canvas(window, &laid)?;
        }
        if tasks.layouts.is_empty() {
            // Windows of mosaics that lie outside and are resampled from nothing: choosing an engine needs a layout.
            let edge = tasks.edge_of((tasks.data_type, Fill::default()), 1, (1, 1))?;
            tasks.layout(&edge, true);
        }
        let Tasks { places, leases, layouts, edges, selections, converts, filled, mut list, .. } = tasks;
        match frames.len() {
            // In the order of the result.
            1 if !is_mosaic => list.sort_by_key(|(task, _)| (task.source, task.address)),
            // In the order of the files: neighbours are read together, and windows of one block are adjacent.
            _ => list.sort_by_key(|(task, window)| {
                (task.source, task.span.map(|span| span.offset), task.address, task.layout, *window)
            }),
        }
        let sought = |memory: usize| {
            let sheet = sheets.get(memory).filter(|_| masks.is_empty())?;
            self.sought(sheet, shape[1])
        };
        let plain = |memory: usize| Target { memory, convert: None, sought: sought(memory) };
        let per_sheet = u32::try_from(converts.len()).unwrap_or(u32::MAX).saturating_add(FILLED + 1);
        let mut outputs = Vec::new();
        for memory in 0..sheets.len() {
            for _ in 0..=u8::from(is_mosaic) {
                outputs.extend([plain(memory), plain(memory)]);
                let converted =
                    converts.iter().map(|&(convert, _)| Target { convert: Some(convert), ..plain(memory) });
                outputs.extend(converted);
            }
        }
        let of_sheets = u32::try_from(outputs.len()).unwrap_or(u32::MAX);
        let step = if is_mosaic { per_sheet.saturating_mul(2) } else { per_sheet };
        outputs.extend((0..masks.len()).map(|at| plain(sheets.len() + at)));
        for (task, window) in &mut list {
            let (sheet, _) = places.get(*window as usize).copied().unwrap_or_default();
            task.output = match task.output.checked_sub(MASKS) {
                Some(masks) => of_sheets.saturating_add(masks),
                None => {
                    let (single, output) = (task.output & SINGLE != 0, task.output & !SINGLE);
                    let output = output.saturating_add(if single { per_sheet } else { 0 });
                    sheet.saturating_mul(step).saturating_add(output)
                }
            };
        }
        let mut held: Vec<(Held, Vec<BlockTask>)> = held.into_iter().map(|held| (held, Vec::new())).collect();
        if !held.is_empty() {
            list.retain(|(task, _)| {
                let of = held.iter_mut().find(|(held, _)| held.source == task.source && task.span.is_some());
                of.map(|(_, tasks)| tasks.push(task.clone())).is_none()
            });
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
            held,
            windows,
            spans,
            filled,
            leases,
        })
    }
}

//! The plan of a batch: one list of blocks over all files, made before any pixel is touched.
//!
//! The tensor, or a sheet that it is resampled from, is one output whose bands are those of its windows, one window after
//! the other. What is filled (all bands at once, which a block of one plane is not) and samples that are converted go
//! through outputs that lie in the same memory, one for each conversion: windows have their own bands, and in a window
//! blocks and filled parts are disjoint, so no two tasks write the same sample whichever output they go through.

use super::resolve::{Asked, Group, Resolved};
use super::sheet::Sheet;
use super::together::together;
use super::window::Frame;
use crate::bytes::human;
use crate::error::Result;
use crate::locate::locate;
use crate::plan::tasks_of;
use crate::read::PLAN_BYTES_PER_BLOCK;
use crate::source::Source;
use crate::window::Window;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use strile_engine::memory::probe;
use strile_engine::{
    BlockAddress, BlockLayout, BlockTask, Context, Convert, Lease, OutputSpec, Placement, Span,
};
use strile_tiff::{BlockArray, BlockTable, DataType, Planar};

/// The output of parts that are filled, among those of a sheet.
const FILLED: u32 = 1;

/// What a batch will do. `Display` tells it in words.
pub struct BatchPlan {
    /// Windows, bands, rows, columns.
    pub shape: [u32; 4],
    /// Type of a sample of the result.
    pub data_type: DataType,
    /// Files that are read.
    pub files: usize,
    /// Blocks that are decoded; one that several windows show is one.
    pub blocks: usize,
    /// Parts of windows outside their image, which are filled.
    pub filled: usize,
    /// Bytes of the blocks as stored.
    pub encoded: u64,
    /// The engine's name.
    pub engine: String,
    /// Why that engine.
    pub engine_reason: String,
    pub(super) result: OutputSpec,
    /// What windows are decoded into.
    pub(super) sheets: Vec<Sheet>,
    pub(super) sources: Vec<Arc<dyn Source>>,
    pub(super) layouts: Vec<Arc<BlockLayout>>,
    pub(super) selections: Vec<Vec<u16>>,
    /// Of the outputs of a sheet the first takes samples as they are, the second what is filled, and each of these makes one
    /// more; those of the next sheet follow.
    pub(super) converts: Vec<Convert>,
    pub(super) tasks: Vec<BlockTask>,
    /// The window of each task.
    pub(super) windows: Vec<u32>,
    /// Memory of the plan itself.
    pub(super) _leases: Vec<Lease>,
}

impl fmt::Display for BatchPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [windows, bands, rows, columns] = self.shape;
        let size = human(self.result.len().map_or(u64::MAX, |len| len as u64));
        writeln!(f, "{windows} windows × {bands} bands × {rows} × {columns} {}, {size}", self.data_type)?;
        let encoded = human(self.encoded);
        writeln!(
            f,
            "{} blocks ({encoded}) of {} files, {} filled parts",
            self.blocks, self.files, self.filled
        )?;
        write!(f, "by {}: {}", self.engine, self.engine_reason)?;
        if self.sheets.iter().all(|sheet| sheet.patches.is_none()) {
            return Ok(());
        }
        write!(f, "\nresampled from")?;
        for (at, Sheet { windows, spec, .. }) in self.sheets.iter().enumerate() {
            let (before, windows) = (if at == 0 { "" } else { "," }, windows.len());
            write!(f, "{before} {windows} × {} × {}", spec.rows, spec.columns)?;
        }
        Ok(())
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

/// Where the blocks of each group are. Tables that lie afar are fetched together.
fn spans_of(sought: &[Sought<'_>], context: &Context) -> Result<Vec<Vec<Option<Span>>>> {
    let spans = |Sought { group: Group { facts, .. }, runs, .. }: &Sought<'_>| {
        let decoded_len = facts.layout.decoded_len(facts.layout.height).unwrap_or(usize::MAX);
        locate(facts.source, &facts.image, decoded_len, runs)
    };
    let is_afar = |Sought { group: Group { facts, .. }, .. }: &Sought<'_>| {
        let BlockTable { offsets, sizes } = &facts.image.table;
        [offsets, sizes].iter().any(|array| matches!(array, BlockArray::There(_)))
            && facts.source.local().is_none()
    };
    together(sought.iter().collect(), sought.iter().any(is_afar), &context.cancel, spans)
}

/// The tasks of a batch, as they are collected.
struct Tasks<'a> {
    asked: Asked<'a>,
    context: &'a Context,
    shape: [u32; 4],
    /// Of each window its sheet, and its place there.
    places: Vec<(u32, u32)>,
    data_type: DataType,
    leases: Vec<Lease>,
    layouts: Vec<Arc<BlockLayout>>,
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
        self.leases.push(self.context.take(need, "the plan of the batch")?);
        probe(need, "the plan of the batch")?;
        Ok(Sought { group, runs, counts })
    }

    /// Adds the windows of a group, whose blocks are at `spans`.
    fn add(
        &mut self,
        Sought { group, counts, .. }: Sought<'_>,
        mut spans: &[Option<Span>],
        frames: &[(Frame, Option<Window>)],
    ) -> Result<()> {
        let edge = Arc::new(self.edge(&group)?);
        let Group { mut facts, source, overview, members, convert, .. } = group;
        let frames: Vec<_> = members.into_iter().filter_map(|at| Some((at, frames.get(at)?))).collect();
        let layout = self.layout(&facts.layout);
        let selection = self.selection(match facts.image.planar {
            Planar::Chunky => facts.bands.iter().map(|band| band - 1).collect(),
            Planar::Separate => vec![0],
        });
        let output = self.output(convert, facts.layout.data_type);
        for ((at, (frame, inside)), count) in frames.into_iter().zip(counts) {
            let window = u32::try_from(at).unwrap_or(u32::MAX);
            let first_band = self.first_band(at);
            self.fill(frame.around(*inside), &edge, (at, source));
            let Some((inside, seen)) = inside.and_then(|inside| Some((inside, frame.seen(inside)?))) else {
                continue;
            };
            facts.window = inside;
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            let (own, rest) = spans.split_at_checked(count).unwrap_or_default();
            spans = rest;
            for mut task in tasks_of(&facts, overview, own) {
                (task.source, task.layout, task.selection, task.output) = (source, layout, selection, output);
                task.placement.out_x += seen.x;
                task.placement.out_y += seen.y;
                task.placement.first_band += first_band;
                self.list.push((task, window));
            }
        }
        Ok(())
    }

    /// Where the bands of a window begin in its sheet.
    fn first_band(&self, window: usize) -> u32 {
        let [_, bands, ..] = self.shape;
        self.places.get(window).map_or(u32::MAX, |(_, place)| place.saturating_mul(bands))
    }

    /// A block of nothing but what pixels outside the image become, as large as a window.
    fn edge(&self, group: &Group<'_>) -> Result<BlockLayout> {
        let [_, bands, rows, columns] = self.shape;
        let too_many = || self.asked.refuse(format!("{bands} bands are more than a block can have"));
        let samples = u16::try_from(bands).map_err(|_| too_many())?;
        let mut layout = BlockLayout::stored(self.data_type, (columns, rows), samples);
        layout.extras.fill = self.asked.edge(group, self.data_type)?;
        Ok(layout)
    }

    /// Adds what fills parts of a window.
    fn fill(&mut self, parts: Vec<Window>, edge: &Arc<BlockLayout>, (window, source): (usize, u32)) {
        if parts.is_empty() {
            return;
        }
        let layout = self.layout(edge);
        let selection = self.selection((0..edge.samples).collect());
        let [_, _, rows, _] = self.shape;
        let first_band = self.first_band(window);
        for Window { x, y, width, height } in parts {
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
            let task =
                BlockTask { source, layout, selection, output: FILLED, span: None, address, placement };
            self.list.push((task, u32::try_from(window).unwrap_or(u32::MAX)));
            self.filled += 1;
        }
    }

    fn layout(&mut self, layout: &Arc<BlockLayout>) -> u32 {
        place_of(&mut self.layouts, |known| known == layout, || Arc::clone(layout))
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

/// Of each window its sheet, and its place there.
fn places_of(sheets: &[Sheet]) -> Vec<(u32, u32)> {
    let all = (0u32..).zip(sheets).flat_map(|(sheet, Sheet { windows, .. })| {
        windows.iter().zip(0u32..).map(move |(&window, place)| (window, (sheet, place)))
    });
    let by_window: BTreeMap<_, _> = all.collect();
    by_window.into_values().collect()
}

impl BatchPlan {
    /// Locates all blocks and makes tasks of them; the engine is for another to say.
    pub(super) fn new(asked: Asked<'_>, resolved: Resolved<'_>, context: &Context) -> Result<Self> {
        let Resolved { groups, sources, shape, result, sheets, frames } = resolved;
        let mut tasks = Tasks {
            asked,
            context,
            shape,
            places: places_of(&sheets),
            data_type: result.data_type,
            leases: Vec::new(),
            layouts: Vec::new(),
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
        let Tasks { places, leases, layouts, selections, converts, filled, mut list, .. } = tasks;
        // In the order of the files: what lies together is read together, and windows of one block follow each other.
        list.sort_by_key(|(task, window)| {
            (task.source, task.span.map(|span| span.offset), task.layout, *window)
        });
        let (mut blocks, mut encoded, mut before): (_, _, Option<&BlockTask>) = (0, 0u64, None);
        for (task, _) in &list {
            if !before.is_some_and(|before| task.is_of_same_block(before)) {
                blocks += usize::from(task.output != FILLED);
                encoded = encoded.saturating_add(task.span.map_or(0, |span| span.len));
            }
            before = Some(task);
        }
        let outputs = u32::try_from(converts.len()).unwrap_or(u32::MAX).saturating_add(FILLED + 1);
        for (task, window) in &mut list {
            let (sheet, _) = places.get(*window as usize).copied().unwrap_or_default();
            task.output = sheet.saturating_mul(outputs).saturating_add(task.output);
        }
        let (tasks, windows) = list.into_iter().unzip();
        Ok(Self {
            shape,
            data_type: result.data_type,
            files: sources.len(),
            blocks,
            filled,
            encoded,
            engine: String::new(),
            engine_reason: String::new(),
            result,
            sheets,
            sources,
            layouts,
            selections,
            converts: converts.into_iter().map(|(convert, _)| convert).collect(),
            tasks,
            windows,
            _leases: leases,
        })
    }
}

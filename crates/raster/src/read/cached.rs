//! Uses the block cache of the process for a read.
//!
//! The blocks of a read are looked for when it is planned. The blocks found are held until the read is over, so that
//! the plan is what runs, even if the cache removes them meanwhile. They become a separate job, whose bytes are in
//! memory:
//! - Encoded blocks are the usual tasks, but not fetched. Fetched blocks are kept when they arrive.
//! - Decoded blocks are blocks of plain samples, so placing them is a copy. Blocks to keep are decoded as a whole
//!   first, then placed like those that were found. A block that turns out to be faulty is read as if there were no
//!   cache, so that faults do not depend on it, and is not kept.
//!
//! If another read is about to keep a block, the read waits for it for a bounded time, so that two reads decode a block
//! once.
//!
//! Blocks of a source without a trustworthy state (`Source::state`) and reads that touch many blocks do not use the
//! cache.

use super::tasks::Located;
use crate::cache::{self, Block, Cache, Flying, Form, Found, Held, Key, PATIENCE, State};
use crate::device::Choice;
use crate::error::Result;
use crate::source::Source;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;
use strile_engine::memory::try_copy;
use strile_engine::{
    Arena, BlockAddress, BlockLayout, BlockTask, Context, Encoded, EngineError, Location, Output, OutputSpec,
    Placement,
};
use strile_tiff::Compression;

/// Purpose of the memory of blocks, in messages.
const BLOCKS: &str = "blocks of the cache";

/// Reads of more blocks do not use the cache.
const MOST_BLOCKS: usize = 4096;

/// The part of a read that involves the cache.
#[derive(Default)]
pub(super) struct Cached {
    /// Per source: the state under which blocks are kept as they arrive.
    arriving: Vec<Option<State>>,
    /// Blocks that are decoded for the cache.
    made: Vec<Made>,
    /// Tasks of blocks that were found. Their spans are in `held`.
    pub(super) found: Vec<BlockTask>,
    pub(super) held: Held,
    /// Number of blocks found, and the bytes that need not be read for them.
    pub(super) blocks: usize,
    pub(super) bytes: u64,
    /// Blocks that were not found.
    missed: Vec<Key>,
    /// Blocks that the read will keep. Other reads wait for them.
    flying: Flying,
}

/// A block that is decoded as a whole.
pub(super) struct Made {
    key: Key,
    layout: Arc<BlockLayout>,
    /// The whole block.
    whole: BlockTask,
    /// Layout and placements of its samples.
    plain: u32,
    /// The tasks that need it, as they are without a cache.
    pub(super) parts: Vec<BlockTask>,
    /// Their windows, if there are several in the read.
    pub(super) windows: Vec<u32>,
}

/// A block that tasks of the read share.
struct Wanted {
    key: Key,
    layout: u32,
    /// Index of its first task.
    task: usize,
    found: Found,
    /// Where it is held, or the number of the block to make.
    place: Option<Place>,
}

#[derive(Clone, Copy)]
enum Place {
    Held(strile_engine::Span),
    Made(usize),
}

/// The form in which blocks of a source are kept, and whether they are kept at their first read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Encoded,
    Decoded { at_once: bool },
}

fn way(cache: Cache, source: &dyn Source, on_host: bool) -> Option<Way> {
    match (cache, source.local().is_none()) {
        (Cache::Off, _) | (Cache::Encoded, false) => None,
        (Cache::Auto | Cache::Encoded, true) => Some(Way::Encoded),
        (Cache::Decoded, remote) if !on_host => remote.then_some(Way::Encoded),
        (Cache::Decoded, _) => Some(Way::Decoded { at_once: true }),
        (Cache::Auto, false) => on_host.then_some(Way::Decoded { at_once: false }),
    }
}

/// Returns the form in which a block is kept, and its size in that form.
fn form(way: Way, task: &BlockTask, layout: &BlockLayout) -> Option<(Form, u64)> {
    let span = task.span?;
    let Placement { rows, image_rows, .. } = task.placement;
    match way {
        Way::Encoded => Some((Form::Encoded, span.len)),
        // Uncompressed: copying from the file is as fast.
        Way::Decoded { .. } if layout.compression == Compression::None => None,
        Way::Decoded { .. } => {
            let len = layout.samples_len(image_rows)? as u64;
            Some((Form::Decoded { rows, image_rows, reduce: layout.extras.reduce }, len))
        }
    }
}

impl Cached {
    /// Looks for the blocks of a read. Removes the tasks of blocks that are found, or decoded for the cache, from
    /// `located`.
    pub(super) fn take(
        located: &mut Located,
        choice: &Choice,
        cache: Cache,
        context: &Context,
    ) -> Result<Self> {
        if cache == Cache::Off || choice.direct {
            return Ok(Self::default());
        }
        let on_host = choice.engine.location() == Location::Host;
        let ways: Vec<Option<(Way, State)>> = located
            .sources
            .iter()
            .map(|source| Some((way(cache, source.as_ref(), on_host)?, State::of(source.as_ref())?)))
            .collect();
        if ways.iter().all(Option::is_none) {
            return Ok(Self::default());
        }
        let Some((mut wanted, of_tasks)) = wanted(located, &ways) else { return Ok(Self::default()) };
        let flying = {
            let will_be_kept = |wanted: &&Wanted| match (&wanted.found, ways_of(located, &ways, wanted.task))
            {
                (Found::Here(_), _) | (_, None) => false,
                (Found::Again, Some(_)) | (_, Some(Way::Encoded)) => true,
                (Found::Missing, Some(Way::Decoded { at_once })) => at_once,
            };
            let until = Instant::now() + PATIENCE;
            loop {
                seek(&mut wanted, &located.layouts);
                let keys: Vec<Key> = wanted.iter().filter(will_be_kept).map(|wanted| wanted.key).collect();
                let are_all_here = keys.is_empty();
                let Some(flying) = Flying::begin(keys, until, &context.cancel) else { continue };
                if !are_all_here {
                    // Some may have been kept between the search and the announcement.
                    seek(&mut wanted, &located.layouts);
                }
                break flying;
            }
        };
        let states =
            ways.iter().map(|way| way.filter(|(way, _)| *way == Way::Encoded).map(|(_, state)| state));
        let missed = wanted.iter().filter(|wanted| !matches!(wanted.found, Found::Here(_)));
        let missed = missed.map(|wanted| wanted.key).collect();
        let mut cached = Self { arriving: states.collect(), missed, flying, ..Self::default() };
        let is_kept = |wanted: &Wanted| {
            let way = ways_of(located, &ways, wanted.task);
            match wanted.found {
                Found::Here(_) => true,
                Found::Again => matches!(way, Some(Way::Decoded { .. })),
                Found::Missing => way == Some(Way::Decoded { at_once: true }),
            }
        };
        let used: Vec<bool> = wanted.iter().map(is_kept).collect();
        // Held until the read is over, or decoded.
        let bytes_of = |wanted: &Wanted| match &wanted.found {
            Found::Here(block) => block.bytes().len() as u64,
            Found::Again | Found::Missing => {
                let layout = located.layouts.get(wanted.layout as usize);
                let task = located.tasks.get(wanted.task);
                let len =
                    layout.zip(task).and_then(|(layout, task)| layout.samples_len(task.placement.image_rows));
                len.map_or(u64::MAX, |len| len as u64)
            }
        };
        let need = wanted.iter().zip(&used).filter(|(_, used)| **used).map(|(wanted, _)| bytes_of(wanted));
        let need = need.fold(0, u64::saturating_add);
        if need == 0 {
            return Ok(cached);
        }
        let Some(lease) = context.take_now(need) else { return Ok(Self::default()) };
        located.leases.push(lease);
        cached.split(located, (wanted, used), &of_tasks)?;
        Ok(cached)
    }

    /// Removes the tasks of blocks that are used from the read.
    fn split(
        &mut self,
        located: &mut Located,
        (mut wanted, used): (Vec<Wanted>, Vec<bool>),
        of_tasks: &[Option<usize>],
    ) -> Result<()> {
        let mut plains = Plains { known: HashMap::new() };
        let tasks = std::mem::take(&mut located.tasks);
        let mut windows = std::mem::take(&mut located.windows).into_iter();
        let mut last = None;
        for (task, &of) in tasks.into_iter().zip(of_tasks) {
            let window = windows.next();
            let block =
                of.filter(|&at| used.get(at).copied().unwrap_or(false)).and_then(|at| wanted.get_mut(at));
            let Some(block) = block else {
                located.tasks.push(task);
                located.windows.extend(window);
                continue;
            };
            let is_decoded = block.key.form != Form::Encoded;
            let plain = if is_decoded { plains.of(located, &task)? } else { task.layout };
            let place = match (&block.found, block.place) {
                (_, Some(place)) => place,
                (Found::Here(found), None) => Place::Held(self.held.add(Arc::clone(found))),
                (Found::Again | Found::Missing, None) => {
                    let layout = located.layouts.get(task.layout as usize).ok_or(EngineError::Abandoned)?;
                    let layout = Arc::clone(layout);
                    let whole = whole(&task, located)?;
                    let (parts, windows) = (Vec::new(), Vec::new());
                    self.made.push(Made { key: block.key, layout, whole, plain, parts, windows });
                    Place::Made(self.made.len() - 1)
                }
            };
            block.place = Some(place);
            match place {
                Place::Held(span) => {
                    if last != Some((task.source, task.address)) {
                        self.blocks += 1;
                        self.bytes = self.bytes.saturating_add(block.key.len);
                    }
                    last = Some((task.source, task.address));
                    self.found.push(match is_decoded {
                        true => placed(task, plain, span),
                        false => BlockTask { span: Some(span), ..task },
                    });
                }
                Place::Made(at) => {
                    let made = self.made.get_mut(at).ok_or(EngineError::Abandoned)?;
                    made.parts.push(task);
                    made.windows.extend(window);
                }
            }
        }
        Ok(())
    }

    /// Releases waiting reads: this plan may never run.
    pub(super) fn land(&mut self) {
        self.flying = Flying::default();
    }

    /// Reports the hits and misses of the read to the cache. A plan alone does not.
    pub(super) fn note(&mut self) {
        cache::note(self.blocks, &std::mem::take(&mut self.missed));
    }

    /// Returns the tasks of blocks to make, as they are without a cache.
    pub(super) fn parts(&self) -> impl Iterator<Item = &BlockTask> {
        self.made.iter().flat_map(|made| &made.parts)
    }

    /// Returns their windows.
    pub(super) fn windows(&self) -> impl Iterator<Item = u32> {
        self.made.iter().flat_map(|made| made.windows.iter().copied())
    }

    /// Returns the tasks that decode whole blocks, each into a separate output.
    pub(super) fn whole(&self) -> Vec<BlockTask> {
        let whole = |(output, made): (u32, &Made)| BlockTask { output, ..made.whole.clone() };
        (0..).zip(&self.made).map(whole).collect()
    }

    /// Returns the outputs of whole blocks.
    pub(super) fn outputs(&self) -> Result<Vec<OutputSpec>> {
        self.made.iter().map(Made::spec).collect()
    }

    /// Returns whether the read takes memory because of the cache.
    pub(super) fn is_used(&self) -> bool {
        !self.found.is_empty() || self.makes()
    }

    pub(super) fn makes(&self) -> bool {
        !self.made.is_empty()
    }

    /// Returns the tasks of blocks that were made, placed like those that were found. Returns the tasks of faulty
    /// blocks as they are without a cache. `outputs` are the decoded blocks.
    pub(super) fn complete(
        &mut self,
        outputs: Vec<Output>,
        is_faulty: impl Fn(&BlockTask) -> bool,
    ) -> Result<(Vec<BlockTask>, Keeping)> {
        let flying = std::mem::take(&mut self.flying);
        let (mut faulty, mut keeping) = (Vec::new(), Keeping { blocks: Vec::new(), _flying: flying });
        for (made, output) in std::mem::take(&mut self.made).into_iter().zip(outputs) {
            if is_faulty(&made.whole) {
                faulty.extend(made.parts);
                continue;
            }
            let bytes = output.into_vec().ok_or(EngineError::Abandoned)?;
            let spare = cache::room(bytes.len());
            let is_kept = spare.is_some();
            let block = Arc::new(Block::new(bytes, Some(made.layout), spare));
            let span = self.held.add(Arc::clone(&block));
            self.found.extend(made.parts.into_iter().map(|task| placed(task, made.plain, span)));
            if is_kept {
                keeping.blocks.push((made.key, block));
            }
        }
        Ok((faulty, keeping))
    }

    /// Returns the bytes of blocks that were found, for each of `sources` sources.
    pub(super) fn encoded(&mut self, sources: usize) -> Encoded {
        let held: Arc<dyn strile_engine::ReadAt> = Arc::new(std::mem::take(&mut self.held));
        Encoded::Pulled(vec![held; sources])
    }

    /// Returns the states under which blocks are kept when they arrive.
    pub(super) fn kept_by(&self) -> KeptBy {
        KeptBy(self.arriving.clone())
    }
}

/// Per source: the state under which its encoded blocks are kept.
pub(super) struct KeptBy(Vec<Option<State>>);

impl KeptBy {
    /// Returns the blocks of tasks, whose spans are those of their files.
    pub(super) fn expected(&self, tasks: &[BlockTask]) -> Expected {
        let key = |task: &BlockTask| {
            let state = self.0.get(task.source as usize).copied().flatten()?;
            let span = task.span?;
            Some(((task.source, task.address, span.len), Key::new(state, span, Form::Encoded)))
        };
        Expected(tasks.iter().filter_map(key).collect())
    }
}

/// Blocks that are kept when they arrive, by source, address and length.
pub(super) struct Expected(BTreeMap<(u32, BlockAddress, u64), Key>);

impl Expected {
    /// Keeps encoded blocks that have arrived: the bytes of tasks in an arena.
    pub(super) fn keep(&mut self, tasks: &[BlockTask], arena: &Arena) {
        for task in tasks {
            let Some(span) = task.span else { continue };
            // Several tasks of a block keep it once.
            let Some(key) = self.0.remove(&(task.source, task.address, span.len)) else { continue };
            let range = usize::try_from(span.offset).ok().zip(usize::try_from(span.len).ok());
            let bytes = range.and_then(|(start, len)| arena.bytes().get(start..start.checked_add(len)?));
            let Some(bytes) = bytes else { continue };
            let Some(spare) = cache::room(bytes.len()) else { continue };
            let Ok(copy) = try_copy(bytes, BLOCKS) else { continue };
            cache::keep(key, Arc::new(Block::new(copy, None, Some(spare))));
        }
    }
}

/// Decoded blocks, to be kept after checking that the source has not changed, and the announcement that other reads
/// wait for.
#[derive(Default)]
pub(super) struct Keeping {
    blocks: Vec<(Key, Arc<Block>)>,
    _flying: Flying,
}

impl Keeping {
    pub(super) fn keep(self) {
        self.blocks.into_iter().for_each(|(key, block)| cache::keep(key, block));
    }
}

impl Made {
    fn spec(&self) -> Result<OutputSpec> {
        let BlockLayout { data_type, samples, width, .. } = *self.layout;
        let spec = OutputSpec::band_last(data_type, samples.into(), self.whole.placement.height, width);
        Ok(spec.map_err(|_| EngineError::Abandoned)?)
    }
}

/// Returns how the source of a task is cached.
fn ways_of(located: &Located, ways: &[Option<(Way, State)>], task: usize) -> Option<Way> {
    let task = located.tasks.get(task)?;
    ways.get(task.source as usize).copied().flatten().map(|(way, _)| way)
}

/// Returns the blocks that the cache may have, and the block of each task; `None` if they are too much for the cache.
fn wanted(located: &Located, ways: &[Option<(Way, State)>]) -> Option<(Vec<Wanted>, Vec<Option<usize>>)> {
    let most = cache::most_of_a_read();
    let (mut wanted, mut of_tasks): (Vec<Wanted>, _) = (Vec::new(), Vec::with_capacity(located.tasks.len()));
    let (mut known, mut sum) = (HashMap::new(), 0u64);
    for (index, task) in located.tasks.iter().enumerate() {
        let key = || {
            let (way, state) = ways.get(task.source as usize).copied().flatten()?;
            let layout = located.layouts.get(task.layout as usize)?;
            let (form, len) = form(way, task, layout)?;
            Some((Key::new(state, task.span?, form), len))
        };
        let Some((key, len)) = key() else {
            of_tasks.push(None);
            continue;
        };
        let at = *known.entry((key, task.layout)).or_insert_with(|| {
            sum = sum.saturating_add(len);
            wanted.push(Wanted { key, layout: task.layout, task: index, found: Found::Missing, place: None });
            wanted.len() - 1
        });
        if sum > most || wanted.len() > MOST_BLOCKS {
            return None;
        }
        of_tasks.push(Some(at));
    }
    Some((wanted, of_tasks))
}

/// Looks for blocks.
fn seek(wanted: &mut [Wanted], layouts: &[Arc<BlockLayout>]) {
    let keys: Vec<_> = wanted
        .iter()
        .map(|wanted| {
            let layout = layouts.get(wanted.layout as usize).filter(|_| wanted.key.form != Form::Encoded);
            (wanted.key, layout)
        })
        .collect();
    let found = cache::find(&keys);
    wanted.iter_mut().zip(found).for_each(|(wanted, found)| wanted.found = found);
}

/// Returns the task that decodes the whole block of a task.
fn whole(task: &BlockTask, located: &mut Located) -> Result<BlockTask> {
    let layout = located.layouts.get(task.layout as usize).ok_or(EngineError::Abandoned)?;
    let all: Vec<u16> = (0..layout.samples).collect();
    let Placement { rows, image_rows, .. } = task.placement;
    let placement = Placement {
        rows,
        image_rows,
        block_x: 0,
        block_y: 0,
        width: layout.width,
        height: image_rows,
        out_x: 0,
        out_y: 0,
        first_band: 0,
    };
    let at = located.selections.iter().position(|known| *known == all).unwrap_or_else(|| {
        located.selections.push(all);
        located.selections.len() - 1
    });
    let selection = u32::try_from(at).map_err(|_| EngineError::Abandoned)?;
    Ok(BlockTask { selection, placement, ..task.clone() })
}

/// Returns the task of a decoded block, whose samples are at `span`.
fn placed(task: BlockTask, plain: u32, span: strile_engine::Span) -> BlockTask {
    let rows = task.placement.image_rows;
    BlockTask { layout: plain, span: Some(span), placement: Placement { rows, ..task.placement }, ..task }
}

/// Layouts of decoded blocks, by their original layout and their rows.
struct Plains {
    known: HashMap<(u32, u32), u32>,
}

impl Plains {
    fn of(&mut self, located: &mut Located, task: &BlockTask) -> Result<u32> {
        let rows = task.placement.image_rows;
        if let Some(&known) = self.known.get(&(task.layout, rows)) {
            return Ok(known);
        }
        let layout = located.layouts.get(task.layout as usize).ok_or(EngineError::Abandoned)?;
        let mut plain = BlockLayout::stored(layout.data_type, (layout.width, rows), layout.samples);
        plain.extras.fill = layout.extras.fill;
        located.layouts.push(Arc::new(plain));
        located.edges.push(false);
        let at = u32::try_from(located.layouts.len() - 1).map_err(|_| EngineError::Abandoned)?;
        self.known.insert((task.layout, rows), at);
        Ok(at)
    }
}

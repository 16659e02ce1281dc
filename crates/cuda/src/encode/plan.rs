//! The plan of an encoding job on the device, computed before anything is allocated. Pure arithmetic: every offset is a
//! prefix sum, so a batch is one allocation for any number of blocks.

use super::abi::{EncodeBlock, SLACK};
use super::codec::{Codec, Effort, codec};
use super::cut::{self, CutTask, Recipe};
use super::part::{self, Part};
use super::{compact, left};
use crate::decode::batch::aligned;
use crate::vendor::{self, Compressor, Shape};
use std::collections::BTreeMap;
use strile_engine::{EncodeJob, EncodeLayout, Location, OutputSpec, SharedPixels};
use strile_tiff::Compression;

/// Usual device memory of a batch. Larger ones do not fill the device better; several are in flight at once.
pub(crate) const USUAL: u64 = 512 << 20;
/// Batches of less memory leave the device idle: rather than use them, a job waits for others to end.
const LEAST: u64 = 16 << 20;
/// Maximum pixels of a batch that come from the host, in bytes; this much is pinned for them.
const STAGED: u64 = 64 << 20;
/// Batches in flight: while the bytes of one come back, the next is encoded.
const FLIGHTS: usize = 2;
/// Maximum rows of a grid.
const GRID_ROWS: u32 = 65_535;

/// How blocks of a layout are encoded on the device.
#[derive(Debug, Clone, Copy)]
pub(crate) struct How {
    pub(crate) recipe: Recipe,
    pub(crate) compression: Compression,
    /// Codec; `None` for stored blocks.
    pub(crate) codec: Option<&'static Codec>,
    pub(crate) effort: Effort,
    /// A library that replaces the codec's kernels, and the room that its blocks take.
    pub(crate) by: Option<(Compressor, u32)>,
    /// Set if samples are cut unchanged and a library encodes them in place.
    pub(crate) picture: Option<vendor::Recipe>,
    /// Bytes per pixel.
    pub(crate) unit: u32,
    /// Whether a block may be sparse.
    pub(crate) sparse: bool,
    /// Whether a value may be unrepresentable in its sample.
    pub(crate) narrow: bool,
}

/// Memory of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Need {
    /// Number of packed bytes.
    pub(crate) len: u32,
    /// Room for packed bytes, with the bytes that may be read behind them; 0 for a block that is cut directly into the
    /// slab.
    packed: u64,
    /// Bytes of the slab.
    pub(crate) room: u32,
    scratch: u64,
}

/// Returns how blocks of a layout are encoded by strile's kernels, or why they are not.
pub(crate) fn on_device(layout: &EncodeLayout) -> Result<How, String> {
    let block = &*layout.block;
    let codec = match (block.compression, codec(block.compression)) {
        (Compression::None, _) => None,
        (_, Some(codec)) => Some(codec),
        (other, None) => return Err(format!("no kernel writes {}", other.name())),
    };
    let recipe = cut::on_device(layout).map_err(|what| format!("no kernel writes {what}"))?;
    let effort = codec.map_or(Effort::default(), |codec| (codec.effort)(layout.params.level));
    let unit = u32::try_from(block.pixel_bits().div_ceil(8)).unwrap_or(u32::MAX);
    let (sparse, narrow) = (layout.sparse.is_some(), block.sample.bits < 8);
    let compression = block.compression;
    let how = How { recipe, compression, codec, effort, by: None, picture: None, unit, sparse, narrow };
    let need = how.need(block.height).ok_or("no kernel writes blocks of more than 1 GiB")?;
    let parts = |part: u32| if part == 0 { 1 } else { need.len.div_ceil(part) };
    match how.passes().iter().any(|pass| parts(pass.part) > GRID_ROWS) {
        true => Err(format!("no kernel writes blocks of {} bytes", need.len)),
        false => Ok(how),
    }
}

impl How {
    /// Returns the memory of a block of `rows` rows; `None` if kernels do not support such a large block.
    pub(crate) fn need(&self, rows: u32) -> Option<Need> {
        let len = self.recipe.packed_len(rows)?;
        let Some(codec) = self.codec else {
            return Some(Need { len, packed: 0, room: len.checked_next_multiple_of(16)?, scratch: 0 });
        };
        let packed = (u64::from(len) + SLACK).next_multiple_of(16);
        if let Some((_, room)) = self.by {
            return Some(Need { len, packed, room, scratch: 0 });
        }
        let bound = u32::try_from((codec.bound)(len, self.recipe.row_len())).ok()?;
        Some(Need {
            len,
            packed,
            room: bound.checked_next_multiple_of(16)?,
            scratch: aligned((codec.scratch)(len)),
        })
    }

    /// Returns the launches of the codec.
    pub(crate) fn passes(&self) -> &'static [super::codec::Pass] {
        match self.by {
            Some(_) => &[],
            None => self.codec.map_or(&[], |codec| (codec.passes)(self.effort)),
        }
    }

    /// Returns whether the slab must be zero.
    pub(crate) fn zero_slab(&self) -> bool {
        self.by.is_none() && self.codec.is_some_and(|codec| codec.zero_slab)
    }

    /// Returns the device memory of a block of `rows` rows.
    pub(crate) fn memory(&self, rows: u32) -> u64 {
        let Some(need) = self.need(rows) else { return u64::MAX };
        let mut sizes = Sizes::default();
        sizes.add(&need, self);
        sizes.memory(0)
    }

    /// Returns whether stored blocks are contiguous as they are cut.
    fn lies_together(&self, need: &Need) -> bool {
        self.codec.is_none() && !self.sparse && !self.narrow && need.len == need.room
    }
}

/// A block of a batch. Its index is also that of its state.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Item {
    /// Index of its task in the job.
    pub(crate) task: usize,
    pub(crate) need: Need,
    /// Offset among the packed bytes.
    pub(crate) src: u64,
    /// Offset in the slab.
    pub(crate) dst: u64,
    pub(crate) scratch: u64,
}

/// Host pixels that a batch needs.
#[derive(Debug, Clone)]
pub(crate) struct Brought {
    /// Index of the pixels.
    pub(crate) pixels: u32,
    /// Required part.
    pub(crate) part: Part,
    /// Its shape on the device: contiguous.
    pub(crate) spec: OutputSpec,
    /// Offset among all pixels from the host.
    pub(crate) at: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sizes {
    items: u64,
    packed: u64,
    scratch: u64,
    slab: u64,
    /// Whether blocks must be moved together.
    apart: bool,
    /// Bytes of pixels from the host.
    pixels: u64,
    /// Per compressor of a library: its input, and the memory for it.
    by_library: [(Shape, u64); 2],
}

/// Offsets of the arenas of a batch in its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arenas {
    /// Part that is copied back first.
    pub(crate) results: u64,
    pub(crate) tables: u64,
    pub(crate) tables_len: u64,
    /// Pixels from the host, behind the tables, so that one copy uploads both.
    pub(crate) pixels: u64,
    pub(crate) slab: u64,
    pub(crate) slab_len: u64,
    pub(crate) packed: u64,
    pub(crate) scratch: u64,
    /// Lists and temporary memory of libraries.
    pub(crate) libraries: u64,
    /// Compacted blocks, in the memory of packed bytes and scratch, which no codec needs any more.
    pub(crate) compacted: u64,
    pub(crate) len: u64,
}

impl Sizes {
    fn add(&mut self, need: &Need, how: &How) {
        self.items += 1;
        self.packed = self.packed.saturating_add(need.packed);
        self.scratch = self.scratch.saturating_add(need.scratch);
        self.slab = self.slab.saturating_add(need.room.into());
        self.apart |= !how.lies_together(need);
        let Some((compressor, _)) = how.by else { return };
        let Some((shape, memory)) = self.by_library.get_mut(compressor.slot()) else { return };
        *shape = shape.with(need.len);
        *memory = compressor.memory(*shape).unwrap_or(u64::MAX);
    }

    fn arenas(&self, layouts: usize) -> Arenas {
        let row = size_of::<CutTask>() + size_of::<EncodeBlock>() + 2 * 4;
        // Each table begins at a multiple of 16.
        let tables_len = aligned(self.items.saturating_mul(row as u64) + 5 * 16)
            .saturating_add(aligned((layouts * size_of::<Recipe>()) as u64));
        let count = u32::try_from(self.items).unwrap_or(u32::MAX);
        let results = 0u64;
        let tables = results.saturating_add(aligned(compact::table_len(count)));
        let pixels = tables.saturating_add(tables_len);
        let slab = pixels.saturating_add(aligned(self.pixels));
        let slab_len = aligned(self.slab);
        let packed = slab.saturating_add(slab_len);
        let scratch = packed.saturating_add(aligned(self.packed));
        let moved = if self.apart { slab_len } else { 0 };
        let libraries = scratch.saturating_add(self.scratch);
        let end = self.by_library.iter().fold(libraries, |end, (_, memory)| end.saturating_add(*memory));
        let len = end.max(packed.saturating_add(moved));
        Arenas {
            results,
            tables,
            tables_len,
            pixels,
            slab,
            slab_len,
            packed,
            scratch,
            libraries,
            compacted: packed,
            len,
        }
    }

    fn memory(&self, layouts: usize) -> u64 {
        self.arenas(layouts).len
    }
}

/// Blocks that are encoded together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Batch {
    pub(crate) items: Vec<Item>,
    pub(crate) brought: Vec<Brought>,
    sizes: Sizes,
}

impl Batch {
    /// Returns its arenas, in a job of `layouts` layouts.
    pub(crate) fn arenas(&self, layouts: usize) -> Arenas {
        self.sizes.arenas(layouts)
    }

    /// Returns whether its blocks must be moved together.
    pub(crate) fn apart(&self) -> bool {
        self.sizes.apart
    }

    /// Returns the bytes of pixels from the host.
    pub(crate) fn pixels_len(&self) -> u64 {
        self.sizes.pixels
    }
}

/// The plan of an encoding job: batches, memory and launches.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) batches: Vec<Batch>,
    /// Tasks that the host encodes.
    pub(crate) host: Vec<usize>,
    pub(crate) flights: usize,
    /// Total device memory.
    pub(crate) memory: u64,
    /// Total pinned memory for pixels from the host.
    pub(crate) staged: u64,
}

impl Plan {
    /// Returns the plan with the largest batches of at most `most` bytes that `free` bytes of device memory allow.
    /// Batches that would leave the device idle are used only if `limit` does not allow larger ones, down to one block
    /// each, one at a time. `hows` has an entry per layout; the job is checked.
    pub(crate) fn new(
        job: &EncodeJob,
        pixels: &[SharedPixels],
        hows: &[Option<How>],
        (most, free, limit): (u64, u64, u64),
    ) -> Self {
        let mut most = most.max(1);
        loop {
            let plan = Self::with(job, pixels, hows, most, FLIGHTS);
            let waits = most <= LEAST && plan.memory <= limit;
            if plan.memory <= free || waits {
                return plan;
            }
            if plan.batches.iter().all(|batch| batch.items.len() == 1) {
                return Self::with(job, pixels, hows, most, 1);
            }
            most /= 2;
        }
    }

    fn with(
        job: &EncodeJob,
        pixels: &[SharedPixels],
        hows: &[Option<How>],
        most: u64,
        flights: usize,
    ) -> Self {
        let mut plan = Self::default();
        let mut open = Open::default();
        let mut narrow = Vec::new();
        for (index, task) in job.tasks.iter().enumerate() {
            let at = task.layout as usize;
            let how = hows.get(at).and_then(Option::as_ref);
            let Some((how, need)) = how.and_then(|how| Some((how, how.need(task.rows)?))) else {
                plan.host.push(index);
                continue;
            };
            narrow.extend(how.narrow.then_some(index));
            let samples = job.layouts.get(at).map_or(0, |layout| layout.block.samples);
            let from_host = pixels.get(task.pixels as usize).filter(|p| p.location() == Location::Host);
            let part = from_host.map(|pixels| (part::of(task, samples), pixels.spec()));
            let mut next = open.with(task.pixels, part.as_ref());
            next.add(&need, how);
            let over = next.memory(hows.len()) > most || next.pixels > STAGED;
            // In a batch that a library encodes, all blocks use the library.
            let other = open.picture != how.picture.is_some();
            if !open.items.is_empty() && (over || other) {
                plan.batches.extend(open.close());
                next = open.with(task.pixels, part.as_ref());
                next.add(&need, how);
            }
            open.picture = how.picture.is_some();
            open.push(index, need, next, part.map(|(part, spec)| (task.pixels, part, spec)));
        }
        plan.batches.extend(open.close());
        plan.flights = plan.batches.len().min(flights);
        let largest = |size: &dyn Fn(&Batch) -> u64| plan.batches.iter().map(size).max().unwrap_or(0);
        let memory = largest(&|batch| batch.arenas(hows.len()).len);
        let staged = largest(&Batch::pixels_len);
        narrow.extend(&plan.host);
        let left = left::memory(job, pixels, &narrow);
        plan.memory = memory.saturating_mul(plan.flights as u64).max(left);
        plan.staged = staged.saturating_mul(plan.flights as u64);
        plan
    }
}

/// A batch that may still grow.
#[derive(Default)]
struct Open<'a> {
    items: Vec<Item>,
    sizes: Sizes,
    /// Required parts, by the index of the pixels.
    parts: BTreeMap<u32, (Part, &'a OutputSpec)>,
    /// Whether a library encodes its blocks as pictures.
    picture: bool,
}

impl<'a> Open<'a> {
    /// Returns its sizes with one more part of host pixels.
    fn with(&self, pixels: u32, part: Option<&(Part, &OutputSpec)>) -> Sizes {
        let mut sizes = self.sizes;
        if let Some((part, spec)) = part {
            let before = self.parts.get(&pixels).map(|(before, _)| before);
            let joined = before.map_or(*part, |before| before.union(part));
            let len = |part: &Part| aligned(part::len(part, spec));
            sizes.pixels = sizes.pixels.saturating_sub(before.map_or(0, len)).saturating_add(len(&joined));
        }
        sizes
    }

    fn push(&mut self, task: usize, need: Need, sizes: Sizes, part: Option<(u32, Part, &'a OutputSpec)>) {
        let Sizes { packed: src, slab: dst, scratch, .. } = self.sizes;
        self.items.push(Item { task, need, src, dst, scratch });
        self.sizes = sizes;
        if let Some((pixels, part, spec)) = part {
            let joined = self.parts.entry(pixels).or_insert((part, spec));
            joined.0 = joined.0.union(&part);
        }
    }

    fn close(&mut self) -> Option<Batch> {
        let Self { items, mut sizes, parts, .. } = std::mem::take(self);
        let mut brought = Vec::new();
        let mut at = 0;
        for (pixels, (part, from)) in parts {
            let spec = part::spec(&part, from)?;
            brought.push(Brought { pixels, part, spec, at });
            at += aligned(part::len(&part, from));
        }
        sizes.pixels = at;
        (!items.is_empty()).then_some(Batch { items, brought, sizes })
    }
}

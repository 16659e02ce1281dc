//! The launches of a batch: the bytes of the tables that its kernels read, and the arguments that point into them.

#![expect(unsafe_code, reason = "kernels are launched")]

use super::abi::{EncodeArgs, EncodeBlock, PENDING};
use super::compact::{self, CompactArgs};
use super::cut::{self, CutArgs, CutPlaces, CutTask, Recipe};
use super::plan::{Arenas, Batch, How};
use crate::abi::Packer;
use crate::decode::run::Stop;
use crate::device::Device;
use crate::launch::{TaskLaunch, launch};
use crate::memory::DeviceBuffer;
use crate::stream::Stream;
use crate::vendor::{Compressing, Shape};
use strile_engine::{EncodeJob, EncodeTask, EngineError, OutputSpec, SharedPixels};

/// Blocks of one codec and one effort.
struct Group {
    how: How,
    blocks: Vec<EncodeBlock>,
    args: EncodeArgs,
    by: Option<Compressing>,
}

/// The launches of a batch, with the tables that their kernels read.
pub(crate) struct Launches {
    /// Tables.
    pub(crate) bytes: Vec<u8>,
    arenas: Arenas,
    cut: Vec<(TaskLaunch, CutArgs)>,
    groups: Vec<Group>,
    compact: CompactArgs,
    /// The longest packed block.
    longest: u32,
    apart: bool,
}

impl Launches {
    /// Returns the launches of a batch whose memory begins at `base`.
    pub(crate) fn new(
        job: &EncodeJob,
        pixels: &[SharedPixels],
        hows: &[Option<How>],
        batch: &Batch,
        base: u64,
    ) -> Result<Self, Stop> {
        let arenas = batch.arenas(hows.len());
        let recipes: Vec<Recipe> =
            hows.iter().map(|how| how.map(|how| how.recipe).unwrap_or_default()).collect();
        let mut tasks: Vec<CutTask> = Vec::with_capacity(batch.items.len());
        let mut groups: Vec<Group> = Vec::new();
        let mut longest = 0;
        for (index, item) in (0u32..).zip(&batch.items) {
            let missing = EngineError::Abandoned;
            let task = job.tasks.get(item.task).ok_or(missing.clone())?;
            let how = hows.get(task.layout as usize).copied().flatten().ok_or(missing.clone())?;
            let stored = how.codec.is_none();
            let dst = if stored { arenas.slab + item.dst } else { arenas.packed + item.src };
            let (spec, address, task) =
                source(task, pixels, batch, base + arenas.pixels).ok_or(missing.clone())?;
            let places = CutPlaces { pixels: address, dst: base + dst, recipe: task.layout, index, stored };
            tasks.push(how.recipe.task(&task, spec, &places).ok_or(missing)?);
            longest = longest.max(item.need.len);
            let lead = how.by.map_or(0, |(compressor, _)| compressor.lead());
            let block = EncodeBlock {
                src: item.src,
                dst: item.dst + u64::from(lead),
                scratch: item.scratch,
                len: item.need.len,
                room: item.need.room.saturating_sub(lead),
                row_len: how.recipe.row_len(),
                unit: how.unit,
                index,
                reserved: 0,
            };
            match groups.iter_mut().find(|group| group.takes(&how)) {
                Some(group) => group.blocks.push(block),
                None => {
                    groups.push(Group { how, blocks: vec![block], args: EncodeArgs::default(), by: None })
                }
            }
        }
        let mut packer = Packer { address: base + arenas.tables, bytes: Vec::new() };
        let count = tasks.len();
        let states = packer.put(&vec![PENDING; count]);
        let sizes = packer.put(&vec![0u32; count]);
        let launches = cut::launches(&mut tasks, &recipes);
        let all = CutArgs {
            tasks: packer.put(&tasks),
            recipes: packer.put(&recipes),
            states,
            sizes,
            ..CutArgs::default()
        };
        let args = |launch: &TaskLaunch| CutArgs {
            tasks: all.tasks + (launch.tasks.start * size_of::<CutTask>()) as u64,
            count: number(launch.tasks.len()),
            ..all
        };
        let cut = launches.into_iter().map(|launch| (launch.clone(), args(&launch))).collect();
        let every: Vec<EncodeBlock> = groups.iter().flat_map(|group| &group.blocks).copied().collect();
        let blocks = packer.put(&every);
        let (mut before, mut library) = (0, base + arenas.libraries);
        for group in &mut groups {
            group.args = EncodeArgs {
                packed: base + arenas.packed,
                slab: base + arenas.slab,
                scratch: base + arenas.scratch,
                blocks: blocks + before,
                states,
                sizes,
                count: number(group.blocks.len()),
                depth: group.how.effort.depth,
                nice: group.how.effort.nice,
                lazy: group.how.effort.lazy.into(),
            };
            before += size_of_val(group.blocks.as_slice()) as u64;
            if let Some((compressor, _)) = group.how.by {
                let shape = Shape::of(group.blocks.iter().map(|block| block.len));
                let by = Compressing::new(compressor, group.args, shape, library);
                let (by, end) = by.map_err(|_| EngineError::Abandoned)?;
                (group.by, library) = (Some(by), end);
            }
        }
        if library > base + arenas.len {
            return Err(EngineError::Abandoned.into());
        }
        let compact = CompactArgs {
            slab: base + arenas.slab,
            blocks,
            states,
            sizes,
            table: base + arenas.results,
            out: base + arenas.compacted,
            room: arenas.slab_len,
            count: number(count),
            blocks_count: number(count),
        };
        if packer.bytes.len() as u64 > arenas.tables_len {
            return Err(EngineError::Abandoned.into());
        }
        Ok(Self { bytes: packer.bytes, arenas, cut, groups, compact, longest, apart: batch.apart() })
    }

    /// Queues all passes, after the copy of the tables and host pixels. `mark` is called after each with its name.
    pub(crate) fn queue(
        &self,
        device: &Device,
        stream: &Stream,
        memory: &DeviceBuffer,
        mut mark: impl FnMut(&'static str) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        if self.groups.iter().any(|group| group.how.zero_slab()) {
            memory.fill(stream, self.arenas.slab, self.arenas.slab_len, 0)?;
            mark("zero")?;
        }
        for (way, args) in &self.cut {
            let function = device.function(cut::MODULE, way.entry)?;
            let grid = way.grid(device.facts().multiprocessors);
            // SAFETY: the job was checked against its pixels, which it holds; `plan` laid the blocks out inside the
            // arenas of this batch, which it keeps until the stream has been waited for. The same below.
            unsafe { launch(stream, &function, grid, cut::THREADS, args) }?;
            mark("cut")?;
        }
        for Group { how, blocks, args, by } in &self.groups {
            if let Some(by) = by {
                by.queue(device, stream, &mut mark)?;
            }
            let longest = blocks.iter().map(|block| block.len).max().unwrap_or(0);
            for pass in how.passes() {
                let function = device.function(pass.module, pass.entry)?;
                let parts = if pass.part == 0 { 1 } else { longest.div_ceil(pass.part) };
                // SAFETY: as above.
                unsafe { launch(stream, &function, (args.count, parts), pass.threads, args) }?;
                mark(pass.entry)?;
            }
        }
        let function = device.function(compact::MODULE, compact::OFFSETS)?;
        // SAFETY: as above.
        unsafe { launch(stream, &function, (1, 1), compact::OFFSETS_THREADS, &self.compact) }?;
        if self.apart {
            let function = device.function(compact::MODULE, compact::BLOCKS)?;
            let grid = compact::grid(self.compact.blocks_count, self.longest.into());
            // SAFETY: as above.
            unsafe { launch(stream, &function, grid, compact::BLOCKS_THREADS, &self.compact) }?;
        }
        mark("compact")
    }

    /// Returns the address of the encoded bytes of all blocks, which are contiguous, in the batch's memory.
    pub(crate) fn encoded_at(&self) -> u64 {
        if self.apart { self.arenas.compacted } else { self.arenas.slab }
    }
}

impl Group {
    fn takes(&self, how: &How) -> bool {
        (self.how.compression, self.how.effort) == (how.compression, how.effort)
    }
}

/// Returns the address of a task's pixels for the kernel, their shape, and the task relative to them.
fn source<'a>(
    task: &EncodeTask,
    pixels: &'a [SharedPixels],
    batch: &'a Batch,
    brought_at: u64,
) -> Option<(&'a OutputSpec, u64, EncodeTask)> {
    let given = pixels.get(task.pixels as usize)?;
    if let Some(address) = given.address() {
        return Some((given.spec(), address, *task));
    }
    let brought = batch.brought.binary_search_by_key(&task.pixels, |brought| brought.pixels).ok()?;
    let brought = batch.brought.get(brought)?;
    let moved = EncodeTask {
        x: task.x.checked_sub(brought.part.columns.0)?,
        y: task.y.checked_sub(brought.part.rows.0)?,
        first_band: task.first_band.checked_sub(brought.part.bands.0)?,
        ..*task
    };
    Some((&brought.spec, brought_at + brought.at, moved))
}

fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

//! Tables for the kernels of a batch: blocks, tasks and layouts in one piece of memory, uploaded by one copy.

#![expect(unsafe_code, reason = "kernels are launched with the addresses of what was made here")]

use crate::abi::{DecodeArgs, DecodeBlock, PENDING, Packer};
use crate::decode::batch::{Batch, Item};
use crate::decode::codec::Kernel;
use crate::decode::flight::Passes;
use crate::decode::host::lands_by_band;
use crate::decode::place::{self, NO_STATUS, PlaceArgs, PlaceLayout, PlaceTask, TaskPlaces};
use crate::decode::plan::Arenas;
use crate::decode::run::{Run, Stop};
use crate::device::Device;
use crate::driver::DriverError;
use crate::launch::{TaskLaunch, launch};
use crate::memory::DeviceBuffer;
use crate::steps::find::{self, FindArgs, Values};
use crate::stream::Stream;
use crate::vendor::Call;
use std::collections::BTreeMap;
use strile_engine::{
    BlockLayout, BlockTask, Convert, EngineError, Location, Output, OutputSpec, Placement, Strides,
};

/// Tasks that place blocks, and the tables they refer to.
#[derive(Default)]
pub(crate) struct PlaceTables {
    tasks: Vec<PlaceTask>,
    layouts: Vec<PlaceLayout>,
    selections: Vec<u16>,
    tables: Vec<i32>,
    /// Index of each layout, by everything that determines it; selections likewise.
    known_layouts: BTreeMap<LayoutKey, u32>,
    /// First of the layouts that differ only in strides, which share its numbers in `tables`.
    with_tables: BTreeMap<(usize, Option<ConvertKey>), u32>,
    known_selections: BTreeMap<Vec<u16>, u32>,
    /// Layout and selection of the preceding task, which most tasks share.
    last_layout: Option<(LayoutKey, u32)>,
    last_selection: Option<u32>,
    sought: Values,
}

/// Address of the block layout, strides of the output, and its conversion as bits: bytes of a float, scale, offset,
/// nodata.
type LayoutKey = (usize, [usize; 3], Option<ConvertKey>);
type ConvertKey = (usize, [u64; 2], Option<[u8; 16]>);

/// Tables as bytes for one address.
pub(crate) struct PlaceBytes {
    pub(crate) bytes: Vec<u8>,
    launches: Vec<(TaskLaunch, PlaceArgs)>,
    /// Arguments of the searches for a value in placed pixels, which report by one word after the statuses.
    finds: Vec<FindArgs>,
}

/// Usual bytes of a batch's tables besides those of its blocks.
const PACKED_BESIDES: usize = 4096;

impl PlaceTables {
    /// Creates tables with room for this many tasks.
    fn for_tasks(count: usize) -> Self {
        Self { tasks: Vec::with_capacity(count), ..Self::default() }
    }

    /// Adds a task that places a block of `layout` at `src` (`None`: filled) into `output`, converting by `convert`.
    #[expect(clippy::too_many_arguments, reason = "what a task is made of")]
    pub(crate) fn add(
        &mut self,
        layout: &BlockLayout,
        selection: &[u16],
        task: &BlockTask,
        output: &Output,
        convert: Option<&Convert>,
        src: Option<u64>,
        status: Option<u32>,
    ) -> Result<(), Stop> {
        let memory = output.device_bytes().ok_or(EngineError::Abandoned)?;
        let to = (output.spec(), convert, memory.address());
        self.add_to(layout, selection, &task.placement, to, src, status)
    }

    /// Adds the task of a batch item, whose block lies at `src`. For a host output, its crop goes among the pixels at
    /// `pixels` that are copied there. Returns the offset of its end among them.
    pub(crate) fn add_item(
        &mut self,
        run: &Run,
        item: &Item,
        src: Option<u64>,
        status: Option<u32>,
        pixels: u64,
    ) -> Result<u64, Stop> {
        let missing = EngineError::Abandoned;
        let task = run.job.tasks().get(item.task).ok_or(missing.clone())?;
        let layout = run.job.layouts().get(task.layout as usize).ok_or(missing.clone())?;
        let selection = run.job.selections().get(task.selection as usize).ok_or(missing.clone())?;
        let output = run.claims.get(&task.output).ok_or(missing)?.output();
        let end = if output.location() != Location::Host {
            self.add(layout, selection, task, output, output.convert(), src, status)?;
            0
        } else {
            let (spec, len) = crop_spec(output.spec(), selection.len(), &task.placement)?;
            let placement = Placement { out_x: 0, out_y: 0, first_band: 0, ..task.placement };
            let to = (&spec, output.convert(), pixels + item.pixels);
            self.add_to(layout, selection, &placement, to, src, status)?;
            item.pixels + len
        };
        if let Some((sought, task)) = output.sought().zip(self.tasks.last_mut()) {
            self.sought.set(task, sought).ok_or(EngineError::Abandoned)?;
        }
        Ok(end)
    }

    /// Returns whether a task looks for a value. This needs a word after the statuses, initially 0.
    pub(crate) fn finds(&self) -> bool {
        !self.sought.is_empty()
    }

    fn add_to(
        &mut self,
        layout: &BlockLayout,
        selection: &[u16],
        placement: &Placement,
        (spec, convert, output): (&OutputSpec, Option<&Convert>, u64),
        src: Option<u64>,
        status: Option<u32>,
    ) -> Result<(), Stop> {
        let Strides { band, row, column } = spec.strides;
        let converts = convert.map(|Convert { nodata, scale, offset }| {
            (spec.data_type.size(), [scale.to_bits(), offset.to_bits()], nodata.map(|nodata| nodata.0))
        });
        let key = (std::ptr::from_ref(layout).addr(), [band, row, column], converts);
        let last = self.last_layout.filter(|(of, _)| *of == key).map(|(_, index)| index);
        let known = last.or_else(|| self.known_layouts.get(&key).copied());
        let index = match known {
            Some(index) => index,
            None => {
                let like = (key.0, converts);
                let first = self.with_tables.get(&like).and_then(|&first| self.layouts.get(first as usize));
                let made = match (first, convert) {
                    (Some(first), _) => Ok(first.with_strides(spec)),
                    (None, None) => place::layout(layout, spec, &mut self.tables),
                    (None, Some(convert)) => {
                        place::converting_layout(layout, spec, convert, &mut self.tables)
                    }
                };
                let made = made.map_err(|problem| {
                    let expected = "a layout the device takes".to_owned();
                    EngineError::Mismatch { what: "device", found: problem, expected }
                })?;
                self.layouts.push(made);
                let index = u32::try_from(self.layouts.len() - 1).map_err(|_| EngineError::Abandoned)?;
                self.known_layouts.insert(key, index);
                self.with_tables.entry(like).or_insert(index);
                index
            }
        };
        self.last_layout = Some((key, index));
        let own = |at: &u32| self.selections.get(*at as usize..).and_then(|from| from.get(..selection.len()));
        let last = self.last_selection.filter(|at| own(at) == Some(selection));
        let selected = match last.or_else(|| self.known_selections.get(selection).copied()) {
            Some(at) => at,
            None => {
                let at = u32::try_from(self.selections.len()).map_err(|_| EngineError::Abandoned)?;
                self.selections.extend_from_slice(selection);
                self.known_selections.insert(selection.to_vec(), at);
                at
            }
        };
        self.last_selection = Some(selected);
        let places = TaskPlaces {
            src,
            output,
            layout: index,
            status: status.unwrap_or(NO_STATUS),
            selection: selected,
        };
        let made = self.layouts.get(index as usize).ok_or(EngineError::Abandoned)?;
        self.tasks.push(made.task(placement, selection, &places));
        Ok(())
    }

    /// Returns the tables as bytes for `address`. `statuses` holds the address of the statuses and their number.
    pub(crate) fn bytes(self, address: u64, statuses: (u64, u32)) -> PlaceBytes {
        let mut packer = Packer { address, bytes: Vec::new() };
        let place = self.pack(&mut packer, statuses);
        PlaceBytes { bytes: packer.bytes, ..place }
    }

    fn pack(mut self, packer: &mut Packer, (statuses, blocks): (u64, u32)) -> PlaceBytes {
        let launches = place::launches(&mut self.tasks, &self.layouts);
        let all = PlaceArgs {
            tasks: packer.put(&self.tasks),
            layouts: packer.put(&self.layouts),
            selections: packer.put(&self.selections),
            statuses,
            tables: packer.put(&self.tables),
            count: 0,
            reserved: 0,
        };
        let args = |launch: &TaskLaunch| PlaceArgs {
            tasks: all.tasks + (launch.tasks.start * size_of::<PlaceTask>()) as u64,
            count: u32::try_from(launch.tasks.len()).unwrap_or(0),
            ..all
        };
        let count = u32::try_from(self.tasks.len()).unwrap_or(0);
        let finds = self.sought.args(&PlaceArgs { count, ..all }, statuses + 4 * u64::from(blocks));
        let launches = launches.into_iter().map(|launch| (launch.clone(), args(&launch))).collect();
        PlaceBytes { bytes: Vec::new(), launches, finds }
    }
}

impl PlaceBytes {
    /// Queues the kernels. The bytes must already lie at their address.
    pub(crate) fn launch(&self, device: &Device, stream: &Stream) -> Result<(), DriverError> {
        for (launched, args) in &self.launches {
            let function = device.function(place::MODULE, launched.entry)?;
            let grid = launched.grid(device.facts().multiprocessors);
            // SAFETY: the tables refer to blocks and outputs that the job holds until the stream has been waited for,
            // and to crops that `DecodeJob` and `claim_outputs` checked to lie inside them.
            unsafe { launch(stream, &function, grid, place::THREADS, args) }?;
        }
        let launched: Vec<TaskLaunch> = self.launches.iter().map(|(launched, _)| launched.clone()).collect();
        for args in &self.finds {
            let function = device.function(find::MODULE, find::MODULE)?;
            let grid = TaskLaunch::grid_of_all(&launched, device.facts().multiprocessors);
            // SAFETY: as above; the result word lies after the statuses.
            unsafe { launch(stream, &function, grid, find::THREADS, args) }?;
        }
        Ok(())
    }

    /// Returns whether a word after the statuses tells if a value was found.
    pub(crate) fn finds(&self) -> bool {
        !self.finds.is_empty()
    }
}

/// All launches of a batch.
pub(crate) struct Launches {
    /// All tables; statuses come first.
    pub(crate) bytes: Vec<u8>,
    pub(crate) arenas: Arenas,
    /// Number of statuses.
    pub(crate) statuses: u32,
    /// Bytes of pixels that go to the host.
    pub(crate) landing: u64,
    decode: Vec<(&'static Kernel, DecodeArgs)>,
    /// Calls of libraries.
    calls: Vec<Call>,
    pub(crate) place: PlaceBytes,
}

impl Launches {
    /// Makes the tables of a batch without the tasks in `unread`, which is sorted.
    pub(crate) fn new(
        run: &Run,
        batch: &Batch,
        arenas: &Arenas,
        memory: &DeviceBuffer,
        unread: &[usize],
    ) -> Result<Self, Stop> {
        let base = memory.address();
        let mut groups: Vec<(&'static Kernel, Vec<DecodeBlock>)> = Vec::new();
        let mut place = PlaceTables::for_tasks(batch.items.len());
        let mut statuses = 0u32;
        let mut landing = 0u64;
        for item in batch.items.iter().filter(|item| unread.binary_search(&item.task).is_err()) {
            let encoded = base + arenas.encoded + item.src;
            let (src, status) = match (item.span, item.kernel) {
                (None, _) => (None, None),
                (Some(_), None) => (Some(encoded), None),
                (Some(_), Some(_)) if item.shares => {
                    (Some(base + arenas.decoded + item.dst), statuses.checked_sub(1))
                }
                (Some(span), Some(kernel)) => {
                    let status = statuses;
                    statuses += 1;
                    let known = groups.iter().position(|(known, _)| known.module == kernel.module);
                    let group = known.unwrap_or(groups.len());
                    if known.is_none() {
                        groups.push((kernel, Vec::with_capacity(batch.items.len())));
                    }
                    let (_, blocks) = groups.get_mut(group).ok_or(EngineError::Abandoned)?;
                    blocks.push(DecodeBlock {
                        src: item.src,
                        dst: item.dst,
                        scratch: item.scratch,
                        src_len: u32::try_from(span.len).unwrap_or(u32::MAX),
                        dst_len: item.dst_len,
                        row_len: item.row_len,
                        status,
                        samples: item.form.samples,
                        sample: item.form.sample,
                        missing: item.form.missing,
                    });
                    (Some(base + arenas.decoded + item.dst), Some(status))
                }
            };
            let end = place.add_item(run, item, src, status, base + arenas.pixels)?;
            landing = landing.max(end);
        }
        groups.sort_by_key(|(kernel, _)| kernel.module);
        let row = size_of::<DecodeBlock>() + size_of::<PlaceTask>() + size_of::<u32>();
        let bytes = Vec::with_capacity(batch.items.len() * row + PACKED_BESIDES);
        let mut packer = Packer { address: base + arenas.tables, bytes };
        let mut pending = vec![PENDING; statuses as usize];
        pending.extend(place.finds().then_some(0));
        let statuses_at = packer.put(&pending);
        let counters = packer.put(&vec![0u32; groups.len()]);
        let (mut decode, mut calls) = (Vec::new(), Vec::new());
        let mut room = base + arenas.room;
        for (counter, (kernel, blocks)) in (0u64..).zip(groups) {
            let args = DecodeArgs {
                encoded: base + arenas.encoded,
                decoded: base + arenas.decoded,
                scratch: base + arenas.scratch,
                blocks: packer.put(&blocks),
                statuses: statuses_at,
                counter: counters + 4 * counter,
                count: u32::try_from(blocks.len()).unwrap_or(0),
                reserved: 0,
            };
            let memory = (room, base + arenas.room_end);
            let call = match &run.decoders {
                Some(decoders) => decoders.call(&run.device, (kernel, args, &blocks), memory)?,
                None => None,
            };
            match call {
                None => decode.push((kernel, args)),
                Some((call, next)) => {
                    calls.push(call);
                    room = next;
                }
            }
        }
        let place = place.pack(&mut packer, (statuses_at, statuses));
        if packer.bytes.len() as u64 > arenas.tables_len {
            return Err(EngineError::Abandoned.into());
        }
        Ok(Self { bytes: packer.bytes, arenas: *arenas, statuses, landing, decode, calls, place })
    }

    /// Queues the decompressors. `load` is how many blocks are in flight including these; each launch is shaped for its
    /// share of the device. Returns the end of each pass if a trace is kept.
    pub(crate) fn decode(&self, run: &Run, stream: &Stream, load: usize) -> Result<Passes, Stop> {
        let (device, mut passes) = (&run.device, Passes::new());
        for call in &self.calls {
            let decoders = run.decoders.as_ref().ok_or(EngineError::Abandoned)?;
            call.queue(decoders, device, stream)?;
        }
        for (kernel, args) in &self.decode {
            for pass in kernel.passes {
                let function = device.function(kernel.module, pass.entry)?;
                let share =
                    u64::from(device.facts().multiprocessors) * u64::from(args.count) / load.max(1) as u64;
                let grid = (pass.grid)(args.count, u32::try_from(share).unwrap_or(u32::MAX).max(1));
                // SAFETY: `batch` laid the blocks out inside the arenas of this flight, with the slack that kernels may
                // read; the job holds the memory until the stream has been waited for.
                unsafe { launch(stream, &function, (grid, 1), pass.threads, args) }?;
                if run.context.trace.is_some() {
                    passes.push((pass.entry, stream.record_timed()?));
                }
            }
        }
        Ok(passes)
    }
}

/// Returns the layout of a crop copied to the host, and its length.
fn crop_spec(
    output: &OutputSpec,
    bands: usize,
    placement: &Placement,
) -> Result<(OutputSpec, u64), EngineError> {
    let make = if lands_by_band(output) { OutputSpec::band_first } else { OutputSpec::band_last };
    let bands = u32::try_from(bands).map_err(|_| EngineError::Abandoned)?;
    let spec = make(output.data_type, bands, placement.height, placement.width);
    let spec = spec.map_err(|_| EngineError::Abandoned)?;
    let len = spec.len().map_err(|_| EngineError::Abandoned)? as u64;
    Ok((spec, len))
}

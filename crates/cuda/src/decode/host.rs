//! Work of the host engine for the device. It places pixels requested in host memory, and decodes blocks without a
//! kernel and blocks whose kernel reported a problem. Its verdict on those counts, so a fault is the same on every
//! device.

#![expect(unsafe_code, reason = "outputs in parts of pinned memory")]

use crate::decode::back::back_to_host;
use crate::decode::batch::{Item, aligned};
use crate::decode::landing::Landing;
use crate::decode::plan::{crop_len, is_host};
use crate::decode::run::{Run, Stop, Tally};
use crate::decode::tables::PlaceTables;
use crate::memory::{DeviceBuffer, Pinned};
use crate::stream::Stream;
use std::io;
use std::sync::Arc;
use std::time::Instant;
use strile_engine::{
    BlockLayout, BlockTask, Claim, Context, DecodeJob, Encoded, EngineError, LocatedFault, Output,
    OutputSpec, Placement, ReadAt, Span,
};
use strile_tiff::DataType;

/// Pinned memory as a source that is read in place.
struct Landed(Pinned);

impl ReadAt for Landed {
    fn read_at<'a>(&'a self, span: Span, _scratch: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        let start = usize::try_from(span.offset).ok();
        let len = usize::try_from(span.len).ok();
        let bytes = start.zip(len).and_then(|(start, len)| self.0.get(start..)?.get(..len));
        bytes.ok_or(io::ErrorKind::UnexpectedEof.into())
    }
}

/// Returns whether crops for an output land band by band: they do if the output's rows of a band have no gaps.
pub(crate) fn lands_by_band(spec: &OutputSpec) -> bool {
    spec.strides.column == spec.data_type.size()
}

impl Run {
    fn is_host(&self, task: &BlockTask) -> bool {
        is_host(&self.outputs, task)
    }

    /// Returns the job's outputs for the host engine: what this job has claimed of each, by `Claim::delegate` for
    /// blocks and by `Claim::delegate_converted` for pixels.
    fn delegates(&self, delegate: fn(&Arc<Claim>) -> Output) -> Result<Vec<Output>, EngineError> {
        let count = self.claims.keys().next_back().map_or(0, |&last| last as usize + 1);
        let any = delegate(self.claims.values().next().ok_or(EngineError::Abandoned)?);
        Ok((0..count)
            .map(|index| {
                let claim = u32::try_from(index).ok().and_then(|index| self.claims.get(&index));
                claim.map_or_else(|| any.clone(), delegate)
            })
            .collect())
    }

    /// Returns a task's requested pixels, in the output's type, as stored blocks: one, or several if rows are longer
    /// than a kernel accepts.
    fn crop_blocks(&self, task: &BlockTask) -> Vec<Crop> {
        let data_type = self.claims.get(&task.output).map_or(DataType::U8, |claim| claim.spec().data_type);
        let bands = self.job.selections().get(task.selection as usize).map_or(0, Vec::len);
        let bands = u16::try_from(bands).unwrap_or(u16::MAX);
        let Placement { width, height, out_x, out_y, first_band, .. } = task.placement;
        let pixel = (u64::from(bands) * data_type.size() as u64).max(1);
        let at_once = u32::try_from(LONGEST_ROW / pixel).unwrap_or(u32::MAX).max(1);
        if width <= at_once {
            let layout = BlockLayout::stored(data_type, (width, height), bands);
            return vec![Crop { layout, placement: whole(&task.placement, first_band), at: 0 }];
        }
        let mut blocks = Vec::new();
        for row in 0..height {
            for x in (0..width).step_by(at_once as usize) {
                let part = at_once.min(width - x);
                let placement = Placement {
                    width: part,
                    height: 1,
                    out_x: out_x + x,
                    out_y: out_y + row,
                    ..task.placement
                };
                blocks.push(Crop {
                    layout: BlockLayout::stored(data_type, (part, 1), bands),
                    placement: whole(&placement, first_band),
                    at: (u64::from(row) * u64::from(width) + u64::from(x)) * pixel,
                });
            }
        }
        blocks
    }

    /// Returns the context for the host's part of the work; `counts` says whether it reports progress.
    fn host_context(&self, counts: bool) -> Context {
        let progress = self.context.progress.clone().filter(|_| counts);
        Context { progress, ..self.context.clone() }
    }

    /// Puts pixels copied from the device into their host outputs.
    pub(crate) fn land(&self, pixels: Pinned, items: &[&Item], tally: &mut Tally) -> Result<(), Stop> {
        let start = Instant::now();
        let mut layouts: Vec<Arc<BlockLayout>> = Vec::new();
        let mut selections: Vec<Vec<u16>> = Vec::new();
        let mut tasks = Vec::new();
        for item in items {
            let Some(task) = self.job.tasks().get(item.task).filter(|task| self.is_host(task)) else {
                continue;
            };
            let Some(spec) = self.claims.get(&task.output).map(|claim| claim.spec()) else { continue };
            let bands = self.job.selections().get(task.selection as usize).map_or(0, Vec::len);
            let Placement { width, height, .. } = task.placement;
            let by_band = lands_by_band(spec);
            let samples = if by_band { 1 } else { u16::try_from(bands).unwrap_or(u16::MAX) };
            let size = spec.data_type.size();
            let same = |layout: &Arc<BlockLayout>| {
                (layout.data_type, layout.width, layout.height, layout.samples)
                    == (spec.data_type, width, height, samples)
            };
            // There are few: a whole block, and those cut by edges and windows.
            let layout = layouts.iter().position(same).unwrap_or_else(|| {
                layouts.push(Arc::new(BlockLayout::stored(spec.data_type, (width, height), samples)));
                selections.push((0..samples).collect());
                layouts.len() - 1
            });
            let layout = u32::try_from(layout).unwrap_or(u32::MAX);
            let part = u64::from(width) * u64::from(height) * u64::from(samples) * size as u64;
            for (at, band) in (0u64..).zip((0..bands).step_by(usize::from(samples.max(1)))) {
                let first_band =
                    task.placement.first_band.saturating_add(u32::try_from(band).unwrap_or(u32::MAX));
                tasks.push(BlockTask {
                    source: 0,
                    layout,
                    selection: layout,
                    span: Some(Span { offset: item.pixels + at * part, len: part }),
                    placement: whole(&task.placement, first_band),
                    ..task.clone()
                });
            }
        }
        let source = Arc::new(Landed(pixels));
        let encoded = Encoded::Pulled(vec![Arc::clone(&source) as Arc<dyn ReadAt>]);
        let job = DecodeJob::new(layouts, selections, tasks).map_err(|_| EngineError::Abandoned)?;
        let outputs = self.delegates(Claim::delegate_converted)?;
        let report = self.host.decode(job, encoded, &outputs, &self.host_context(false))?;
        if !report.faults.is_empty() {
            return Err(EngineError::Abandoned.into());
        }
        if let Some(Landed(pixels)) = Arc::into_inner(source) {
            self.spare.give_pinned(pixels);
        }
        tally.times.host += start.elapsed();
        Ok(())
    }
}

/// Longest row of a stored block. Kernels accept rows twice as long.
const LONGEST_ROW: u64 = 512 << 20;

/// A part of a task's requested pixels as a stored block.
struct Crop {
    layout: BlockLayout,
    placement: Placement,
    /// Offset among the task's pixels.
    at: u64,
}

/// Returns the placement of a crop that is a block of its own.
fn whole(placement: &Placement, first_band: u32) -> Placement {
    Placement {
        rows: placement.height,
        image_rows: placement.height,
        block_x: 0,
        block_y: 0,
        first_band,
        ..*placement
    }
}

/// Blocks that the host decodes.
pub(crate) struct Leftover<'a> {
    pub(crate) run: &'a Run,
    pub(crate) stream: &'a Stream,
    /// The job's memory, no longer used by anything else.
    pub(crate) memory: &'a DeviceBuffer,
}

impl Leftover<'_> {
    /// Decodes tasks: directly into host outputs, and in groups with one copy each for device outputs.
    pub(crate) fn decode(&self, tasks: &[usize], tally: &mut Tally) -> Result<(), Stop> {
        if tasks.is_empty() {
            return Ok(());
        }
        let start = Instant::now();
        let run = self.run;
        let all = run.job.tasks();
        let wanted: Vec<(usize, BlockTask)> =
            tasks.iter().filter_map(|&index| Some((index, all.get(index)?.clone()))).collect();
        let (encoded, wanted) = self.on_host(wanted)?;
        let (direct, rest): (Vec<_>, Vec<_>) = wanted.into_iter().partition(|(_, task)| run.is_host(task));
        tally.host_blocks += (direct.len() + rest.len()) as u64;
        if !direct.is_empty() {
            self.submit(&direct, encoded.clone(), &run.delegates(Claim::delegate)?, tally)?;
        }
        let mut group: Vec<(usize, BlockTask)> = Vec::new();
        let mut len = 0;
        for next in rest {
            let more = aligned(crop_len(&run.job, &run.outputs, &next.1));
            if !group.is_empty() && len + more > self.room(group.len() + 1) {
                self.upload(std::mem::take(&mut group), len, encoded.clone(), tally)?;
                len = 0;
            }
            group.push(next);
            len += more;
        }
        if !group.is_empty() {
            self.upload(group, len, encoded, tally)?;
        }
        tally.times.host += start.elapsed();
        Ok(())
    }

    /// Returns the bytes of pixels that fit beside the tables of this many blocks.
    fn room(&self, blocks: usize) -> u64 {
        self.memory.len().saturating_sub(self.run.plan.upload_tables(blocks))
    }

    /// Returns encoded bytes that the host can read. Bytes on a device come back by one gather and one copy.
    fn on_host(
        &self,
        mut tasks: Vec<(usize, BlockTask)>,
    ) -> Result<(Encoded, Vec<(usize, BlockTask)>), Stop> {
        let bytes = match &self.run.encoded {
            Encoded::Device(bytes) => bytes,
            there => return Ok((there.clone(), tasks)),
        };
        let spans: Vec<Span> = tasks.iter().filter_map(|(_, task)| task.span).collect();
        let run = self.run;
        let (arena, moved) = back_to_host(&run.device, &run.spare, self.stream, bytes, &spans, &run.context)?;
        let mut moved = moved.into_iter();
        for (_, task) in &mut tasks {
            if task.span.is_some() {
                task.span = moved.next().or(task.span);
            }
        }
        Ok((Encoded::Staged(Arc::new(arena)), tasks))
    }

    /// Runs one job of the host engine and assigns its faults to their tasks.
    fn submit(
        &self,
        tasks: &[(usize, BlockTask)],
        encoded: Encoded,
        outputs: &[Output],
        tally: &mut Tally,
    ) -> Result<(), Stop> {
        let run = self.run;
        let layouts = run.job.layouts().to_vec();
        let plain = tasks.iter().map(|(_, task)| task.clone()).collect();
        let job = DecodeJob::new(layouts, run.job.selections().to_vec(), plain);
        let job = job.map_err(|_| EngineError::Abandoned)?;
        let report = run.host.decode(job, encoded, outputs, &run.host_context(true))?;
        tally.blocks += report.blocks;
        tally.encoded_bytes += report.encoded_bytes;
        tally.found = tally.found.max(report.found);
        // Faults are in task order: each belongs to the next task of its address.
        let mut tasks = tasks.iter();
        for fault in report.faults {
            let LocatedFault { source, address, .. } = fault;
            let same = |(_, task): &&(usize, BlockTask)| task.source == source && task.address == address;
            if let Some((index, _)) = tasks.by_ref().find(same) {
                tally.faults.push((*index, fault));
            }
        }
        Ok(())
    }

    /// Decodes a group into pinned memory, copies it to the device once, and places it there.
    fn upload(
        &self,
        group: Vec<(usize, BlockTask)>,
        len: u64,
        encoded: Encoded,
        tally: &mut Tally,
    ) -> Result<(), Stop> {
        let run = self.run;
        let bytes = usize::try_from(len).map_err(|_| EngineError::Abandoned)?;
        let _lease = run.context.budget.take(len, "blocks decoded on the host").map_err(EngineError::from)?;
        let mut tables = PlaceTables::default();
        let (mut outputs, mut decoding) = (Vec::new(), Vec::new());
        let pinned = Landing::new(run.spare.pinned(&run.device, bytes)?);
        // All blocks before the tables, which identify a layout by its address.
        let blocks: Vec<Vec<Crop>> = group.iter().map(|(_, task)| run.crop_blocks(task)).collect();
        let tables_len = run.plan.upload_tables(blocks.iter().map(Vec::len).sum());
        let pixels = self.memory.part(tables_len, len)?;
        let mut at = 0u64;
        for (slot, (index, task)) in (0u32..).zip(group) {
            let selection = run.job.selections().get(task.selection as usize);
            let claim = run.claims.get(&task.output);
            let (Some(selection), Some(claim)) = (selection, claim) else {
                return Err(EngineError::Abandoned.into());
            };
            let (spec, bands) = (claim.spec(), u16::try_from(selection.len()).unwrap_or(u16::MAX));
            let Placement { width, height, .. } = task.placement;
            let crop = OutputSpec::band_last(spec.data_type, bands.into(), height, width);
            let crop = crop.map_err(|_| EngineError::Abandoned)?;
            // SAFETY: parts follow each other, each as long as its crop.
            let part = unsafe { pinned.output(crop, at) };
            let part = part.ok_or(EngineError::Abandoned)?;
            // Pixels are uploaded with the output's final values.
            let part = match claim.output().convert() {
                None => part,
                Some(convert) => part.converting(*convert).map_err(|_| EngineError::Abandoned)?,
            };
            outputs.push(match claim.output().sought() {
                None => part,
                Some(sought) => part.looking_for(*sought).map_err(|_| EngineError::Abandoned)?,
            });
            let every: Vec<u16> = (0..bands).collect();
            for crop in blocks.get(slot as usize).ok_or(EngineError::Abandoned)? {
                let moved = BlockTask { placement: crop.placement, ..task.clone() };
                let src = Some(pixels + at + crop.at);
                tables.add(&crop.layout, &every, &moved, claim.output(), None, src, None)?;
            }
            at += aligned(crop_len(&run.job, &run.outputs, &task));
            let placement = Placement { out_x: 0, out_y: 0, first_band: 0, ..task.placement };
            decoding.push((index, BlockTask { output: slot, placement, ..task }));
        }
        self.submit(&decoding, encoded, &outputs, tally)?;
        drop(outputs);
        let pinned = pinned.into_memory().ok_or(EngineError::Abandoned)?;
        let up = self.memory.upload(self.stream, tables_len, pinned, bytes)?;
        let table = tables.bytes(self.memory.address(), (0, 0));
        let mut rows = run.spare.pinned(&run.device, table.bytes.len())?;
        let rows_len = table.bytes.len();
        rows.get_mut(..rows_len).ok_or(EngineError::Abandoned)?.copy_from_slice(&table.bytes);
        let rows = self.memory.upload(self.stream, 0, rows, rows_len)?;
        table.launch(&run.device, self.stream)?;
        self.stream.synchronize()?;
        run.spare.give_pinned(up.wait()?);
        run.spare.give_pinned(rows.wait()?);
        Ok(())
    }
}

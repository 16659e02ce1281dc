//! Assigns parts of an output to threads, and writes them.
//!
//! `Slots` hands out every task of a job once, with the `Target` that is its part of the output, and the tasks of one
//! block together (`Shares` numbers them). That makes writing from many threads sound: a job's tasks are disjoint
//! (`DecodeJob::new`), claims of jobs are disjoint (`Output::claim`), and no other code can make a target. Of the
//! placing code only this file, `simd` and `split` use `unsafe`.

#![expect(unsafe_code, reason = "writes into output memory that many threads share, each its own part")]

use crate::cast::Cast;
use crate::search::{holds, is_sample};
use crate::shares::Shares;
use crate::simd::Picker;
use crate::split::{WORDS, split3, split8_words};
use std::collections::BTreeMap;
use std::slice;
use strile_engine::{
    BlockLayout, BlockTask, Claim, DecodeJob, EngineError, Fill, Location, Output, OutputRow, Placement,
    Sought, claim_outputs,
};

/// Tasks of a job with the claims that allow them to write.
pub(crate) struct Slots {
    job: DecodeJob,
    claims: BTreeMap<u32, Claim>,
    /// First task of each block, if tasks of one block are placed together, followed by the number of tasks.
    firsts: Vec<u32>,
    /// Tracks which of these blocks were handed out.
    shares: Shares,
}

/// Maximum number of tasks of one block that one thread places: files may use one block for all their tiles, and the
/// limit leaves work for other threads and allows cancellation in between.
const MOST_TOGETHER: usize = 64;
/// Maximum pixels placed together, unless a single task has more.
const MOST_PIXELS: u64 = 1 << 22;

/// One block with its data: consecutive tasks of the job that place parts of the same block.
pub(crate) struct Slot<'a> {
    /// Number of the first task in the job; the others follow.
    pub index: usize,
    /// The first task.
    pub task: &'a BlockTask,
    /// The layout of the block.
    pub layout: &'a BlockLayout,
    /// Whether earlier tasks placed parts of the block.
    pub again: bool,
    /// Destination of each task's pixels.
    pub targets: Vec<Target<'a>>,
}

/// The part of an output that one task writes.
pub(crate) struct Target<'a> {
    claim: &'a Claim,
    placement: Placement,
    selection: &'a [u16],
    fill: Fill,
    cast: Option<Cast>,
    sought: Option<Sought>,
    interleaved: bool,
    /// First row of the first band; the last row of the last band was checked to lie in the claim too.
    first: OutputRow,
}

// SAFETY: a target is the only one for its samples and writes them through `&mut self` only, so it may move to another
// thread like a mutable slice. The rest of it is shared between threads already (`Slots`).
unsafe impl Send for Target<'_> {}

/// Returns how many tasks from `index` on one thread places together: their block is read once. `None` at the end.
pub(crate) fn together(tasks: &[BlockTask], index: usize) -> Option<usize> {
    let (first, rest) = tasks.get(index..)?.split_first()?;
    let area = |task: &BlockTask| u64::from(task.placement.width) * u64::from(task.placement.height);
    let mut pixels = area(first);
    let more = rest.iter().take(MOST_TOGETHER - 1).take_while(|task| {
        pixels = pixels.saturating_add(area(task));
        pixels <= MOST_PIXELS && task.is_of_same_block(first)
    });
    Some(1 + more.count())
}

/// Returns the shares of the blocks between these tasks.
fn shares_of(firsts: &[u32], workers: usize) -> Shares {
    Shares::new(u32::try_from(firsts.len().saturating_sub(1)).unwrap_or(u32::MAX), workers)
}

impl Slots {
    /// Checks the outputs of a job and claims the boxes it writes. A single worker has all blocks.
    pub(crate) fn new(job: DecodeJob, outputs: &[Output]) -> Result<Self, EngineError> {
        let claims = claim_outputs(&job, outputs, &[Location::Host])?;
        let (mut firsts, mut index) = (Vec::with_capacity(job.tasks().len() + 1), 0);
        while let Some(count) = together(job.tasks(), index) {
            firsts.push(u32::try_from(index).map_err(|_| EngineError::Abandoned)?);
            index += count;
        }
        firsts.push(u32::try_from(index).map_err(|_| EngineError::Abandoned)?);
        Ok(Self { job, claims, shares: shares_of(&firsts, 1), firsts })
    }

    /// Divides the blocks among `workers`. No blocks may have been handed out yet.
    pub(crate) fn shared_by(self, workers: usize) -> Self {
        Self { shares: shares_of(&self.firsts, workers), ..self }
    }

    /// Returns the job.
    pub(crate) fn job(&self) -> &DecodeJob {
        &self.job
    }

    /// Returns the next block of a worker, numbered from 0; `None` once all are handed out.
    pub(crate) fn next(&self, worker: usize) -> Option<Slot<'_>> {
        let tasks = self.job.tasks();
        let firsts = self.firsts.get(self.shares.next(worker)? as usize..)?;
        let &[index, end] = firsts.first_chunk()?;
        let index = index as usize;
        let slice = tasks.get(index..end as usize)?;
        let task = slice.first()?;
        let layout = self.job.layouts().get(task.layout as usize)?;
        let targets = slice.iter().map(|task| self.target(task, layout)).collect::<Option<Vec<_>>>()?;
        let before = index.checked_sub(1).and_then(|before| tasks.get(before));
        let again = before.is_some_and(|before| task.is_of_same_block(before));
        Some(Slot { index, task, layout, again, targets })
    }

    fn target<'a>(&'a self, task: &'a BlockTask, layout: &'a BlockLayout) -> Option<Target<'a>> {
        let selection = self.job.selections().get(task.selection as usize)?;
        let claim = self.claims.get(&task.output)?;
        let spec = claim.spec();
        let (size, samples) = (spec.data_type.size(), usize::from(layout.samples));
        let all_in_order =
            selection.len() == samples && selection.iter().zip(0..).all(|(&sample, i)| sample == i);
        let pixel_by_pixel = samples == 1 || spec.strides.band == size;
        let interleaved = all_in_order && pixel_by_pixel && spec.strides.column == size * samples;
        let p = task.placement;
        let bands = u32::try_from(selection.len()).ok()?;
        let last_band = p.first_band.checked_add(bands)?.checked_sub(1)?;
        let last_row = p.out_y.checked_add(p.height)?.checked_sub(1)?;
        let columns = (p.out_x, p.out_x.checked_add(p.width)?);
        // SAFETY: rows of this task's part of the box, which no other target shares (see the module); targets write no
        // sample outside it.
        let first = unsafe { claim.row(p.first_band, p.out_y, columns) }?;
        // SAFETY: as above; only checks that it exists.
        unsafe { claim.row(last_band, last_row, columns) }?;
        let cast =
            claim.output().convert().map(|convert| Cast::new(convert, layout.data_type, spec.data_type));
        let fill = layout.extras.fill;
        let fill = cast.map_or(fill, |cast| cast.fill(&fill));
        let sought = claim.output().sought().copied();
        Some(Target { claim, placement: p, selection, fill, cast, sought, interleaved, first })
    }
}

impl Target<'_> {
    /// Returns the crop and its destination.
    pub(crate) fn placement(&self) -> &Placement {
        &self.placement
    }

    /// Divides the target into targets of up to `rows` rows, for several threads.
    pub(crate) fn by_rows(&mut self, rows: u32) -> impl Iterator<Item = Target<'_>> + Send {
        let Placement { block_y, out_y, height, .. } = self.placement;
        (0..height).step_by(rows.max(1) as usize).filter_map(move |row| {
            let placement = Placement {
                block_y: block_y + row,
                out_y: out_y + row,
                height: rows.min(height - row),
                ..self.placement
            };
            Some(Target { placement, first: self.band_row(0, row)?, ..*self })
        })
    }

    /// Returns the samples to pick from each pixel, in the order of their destination bands.
    pub(crate) fn selection(&self) -> &[u16] {
        self.selection
    }

    /// Returns the conversion of samples before they are written.
    pub(crate) fn cast(&self) -> Option<Cast> {
        self.cast
    }

    /// Returns the wanted pixels of row `row` of the target if the output stores them like the block, pixel by pixel;
    /// otherwise `None`.
    pub(crate) fn pixels(&mut self, row: u32) -> Option<&mut [u8]> {
        let (start, len) = self.pixel_row(row)?;
        // SAFETY: `pixel_row` returns bytes inside the claim; all samples in them belong to this target, which is
        // borrowed for the lifetime of the slice.
        Some(unsafe { slice::from_raw_parts_mut(start, len) })
    }

    /// Returns the wanted pixels of all rows, like `pixels` does for one.
    pub(crate) fn lines(&mut self) -> Option<impl Iterator<Item = &mut [u8]>> {
        let (start, len) = self.pixel_row(0)?;
        let stride = self.claim.spec().strides.row;
        Some((0..self.placement.height as usize).map(move |row| {
            // SAFETY: as in `pixels`: the last row lies in the claim, so those before it do. Rows share no bytes.
            unsafe { slice::from_raw_parts_mut(start.add(row * stride), len) }
        }))
    }

    /// Returns the whole target if it is one run of bytes in the order of the block.
    pub(crate) fn whole(&mut self) -> Option<&mut [u8]> {
        let (start, len) = self.pixel_row(0)?;
        let rows = self.placement.height;
        if rows > 1 && self.claim.spec().strides.row != len {
            return None;
        }
        let (last, _) = self.pixel_row(rows.checked_sub(1)?)?;
        let all = (last.addr() - start.addr()).checked_add(len)?;
        // SAFETY: rows follow each other without gaps, the last one inside the claim, so all bytes between are samples
        // of this target, which is borrowed for the lifetime of the slice.
        Some(unsafe { slice::from_raw_parts_mut(start, all) })
    }

    /// Writes the samples that `picker` picks from the wanted `pixels` to band `band` of the target.
    pub(crate) fn put(&mut self, band: u32, row: u32, pixels: &[u8], picker: &Picker) {
        let Some(out) = self.band_row(band, row) else { return };
        if out.stride == picker.size() || self.placement.width == 1 {
            // SAFETY: a row inside the claim without gaps; its samples belong to this target, borrowed here.
            picker.pick(pixels, unsafe { slice::from_raw_parts_mut(out.start, out.len) });
            return;
        }
        match picker.size() {
            1 => scatter::<1>(&out, pixels, picker),
            2 => scatter::<2>(&out, pixels, picker),
            4 => scatter::<4>(&out, pixels, picker),
            8 => scatter::<8>(&out, pixels, picker),
            _ => scatter::<16>(&out, pixels, picker),
        }
    }

    /// Writes all samples of the wanted `pixels`, which have three one-byte samples, if each goes to its own band
    /// without gaps. Returns whether they were written.
    pub(crate) fn put_three(&mut self, row: u32, pixels: &[u8]) -> bool {
        let &[a, b, c] = self.selection else { return false };
        if self.claim.spec().data_type.size() != 1 || self.first.stride != 1 {
            return false;
        }
        let band_of =
            |sample: u16| [a, b, c].iter().zip(0..).find(|(own, _)| **own == sample).map(|(_, band)| band);
        let (Some(x), Some(y), Some(z)) = (band_of(0), band_of(1), band_of(2)) else { return false };
        let (Some(x), Some(y), Some(z)) =
            (self.band_row(x, row), self.band_row(y, row), self.band_row(z, row))
        else {
            return false;
        };
        // SAFETY: rows of three different bands inside the claim, without gaps, so they share no bytes; their samples
        // belong to this target, borrowed here.
        let rows = unsafe {
            [
                slice::from_raw_parts_mut(x.start, x.len),
                slice::from_raw_parts_mut(y.start, y.len),
                slice::from_raw_parts_mut(z.start, z.len),
            ]
        };
        split3(pixels, rows);
        true
    }

    /// Writes two-byte samples of the wanted `pixels`, which have `samples` samples each, to `WORDS` bands from `band`
    /// on, if the samples are consecutive and the bands have no gaps. Returns whether they were written.
    pub(crate) fn put_words(&mut self, band: usize, row: u32, pixels: &[u8], samples: usize) -> bool {
        let selection = self.selection.get(band..).unwrap_or_default();
        let Some(&wanted) = selection.first_chunk::<WORDS>() else { return false };
        let first = usize::from(wanted[0]);
        if self.claim.spec().data_type.size() != 2
            || self.first.stride != 2
            || first + WORDS > samples
            || !wanted.iter().zip(first..).all(|(&sample, number)| usize::from(sample) == number)
        {
            return false;
        }
        let mut rows: [&mut [u8]; WORDS] = Default::default();
        for (to, band) in rows.iter_mut().zip((0..).skip(band)) {
            let Some(row) = self.band_row(band, row) else { return false };
            // SAFETY: rows of different bands inside the claim, without gaps, so they share no bytes; their samples
            // belong to this target, borrowed here.
            *to = unsafe { slice::from_raw_parts_mut(row.start, row.len) };
        }
        split8_words(pixels, 2 * samples, 2 * first, rows);
        true
    }

    /// Writes the layout's fill value, converted if the output converts, to every sample of the target.
    pub(crate) fn fill(&mut self) {
        let size = self.claim.spec().data_type.size();
        let fill = self.fill.0;
        let Some(sample) = fill.get(..size) else { return };
        // One pixel of one sample, repeated across the row.
        let mut line = Vec::new();
        for _ in 0..self.placement.width {
            line.extend_from_slice(sample);
        }
        let picker = Picker::new(size, 1, 0);
        for band in (0..).take(self.selection.len()) {
            for row in 0..self.placement.height {
                self.put(band, row, &line, &picker);
            }
        }
    }

    /// Returns whether the target, which must be completely written, contains the value that its output searches for.
    pub(crate) fn holds_sought(&self) -> bool {
        let Some(sought) = &self.sought else { return false };
        let size = self.claim.spec().data_type.size();
        let bands = if self.interleaved { 1 } else { u32::try_from(self.selection.len()).unwrap_or(0) };
        let mut rows = (0..bands).flat_map(|band| (0..self.placement.height).map(move |row| (band, row)));
        rows.any(|(band, row)| {
            let run = match self.pixel_row(row).filter(|_| self.interleaved) {
                Some((start, len)) => Some(OutputRow { start, len, stride: size }),
                None => self.band_row(band, row),
            };
            let Some(OutputRow { start, len, stride }) = run else { return false };
            if stride == size || len == size {
                // SAFETY: a row inside the claim without gaps, whose samples were written; they belong to this target.
                return holds(sought, size, unsafe { slice::from_raw_parts(start, len) });
            }
            (0..len).step_by(stride).any(|at| {
                // SAFETY: a sample of the row, which ends within the row's `len` bytes.
                is_sample(sought, unsafe { slice::from_raw_parts(start.add(at), size) })
            })
        })
    }

    fn band_row(&self, band: u32, row: u32) -> Option<OutputRow> {
        if row >= self.placement.height || band as usize >= self.selection.len() {
            return None;
        }
        let strides = self.claim.spec().strides;
        let offset = band as usize * strides.band + row as usize * strides.row;
        // SAFETY: at most the last row of the last band, which lies in the claim.
        let start = unsafe { self.first.start.add(offset) };
        Some(OutputRow { start, len: self.first.len, stride: self.first.stride })
    }

    fn pixel_row(&self, row: u32) -> Option<(*mut u8, usize)> {
        if !self.interleaved {
            return None;
        }
        let first = self.band_row(0, row)?;
        let last = self.band_row(u32::try_from(self.selection.len()).ok()?.checked_sub(1)?, row)?;
        Some((first.start, (last.start.addr() - first.start.addr()).checked_add(last.len)?))
    }
}

/// Writes samples that lie `out.stride` bytes apart and leaves the bytes between unchanged.
fn scatter<const SIZE: usize>(out: &OutputRow, pixels: &[u8], picker: &Picker) {
    let samples = pixels.chunks_exact(picker.step().max(1));
    let samples = samples.filter_map(|pixel| pixel.get(picker.offset()..)?.first_chunk::<SIZE>());
    let mut at = 0;
    for sample in samples {
        if at + SIZE > out.len {
            return;
        }
        // SAFETY: `at + SIZE` is within the row's `len` bytes, checked above; those bytes are a sample of the target
        // the row was taken from.
        unsafe { out.start.add(at).copy_from_nonoverlapping(sample.as_ptr(), SIZE) };
        at += out.stride;
    }
}

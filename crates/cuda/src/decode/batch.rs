//! Cuts a job into batches: the blocks of each launch, their offsets in the arenas, and the bytes to read. Pure
//! arithmetic; every offset is a prefix sum, so an arena is one allocation whatever the number of blocks.

use crate::decode::codec::{self, Form, Kernel, kernel};
use crate::decode::picture::Which;
use crate::decode::place;
use strile_engine::{BlockLayout, BlockTask, DecodeJob, Span};
use strile_tiff::Compression;

/// Bytes that may be read past the end of a block, and the alignment of every arena; as in `abi.h`.
const SLACK: u64 = 64;
pub(crate) const ALIGNMENT: u64 = 256;
/// Largest block: kernels count bytes in 32 bits, with room to spare.
const LARGEST_BLOCK: u64 = 1 << 30;
/// Blocks at most this far apart in a file are read as one range.
const MERGE_GAP: u64 = 16 << 10;

/// Capacity of a batch. A single block that is larger becomes a batch of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Encoded bytes.
    pub(crate) encoded: u64,
    /// Decoded bytes, scratch, and pixels to be copied to the host.
    pub(crate) working: u64,
    /// Whether the first batches are smaller, so that the first kernels start soon after the first read.
    pub(crate) ramp: bool,
}

impl Limits {
    /// The usual limits. Several batches are in flight at once, so one need not fill the device. Measured over rasters
    /// of 256 to 512 MiB in docs/bench/gpu.md: half of these limits costs up to a fifth in launches, twice as much
    /// gains nothing.
    pub(crate) const USUAL: Self = Self { encoded: 64 << 20, working: 128 << 20, ramp: true };

    /// Returns the limits for blocks that take `each` bytes. A batch of large blocks holds enough to occupy every
    /// multiprocessor, if `most` bytes allow it: one large block takes long to decode, and many fill the device.
    /// Measured in docs/bench/batch.md.
    pub(crate) fn for_blocks(self, each: u64, most: u64) -> Self {
        const BLOCKS: u64 = 384;
        let factor = each.saturating_mul(BLOCKS).min(most) / self.working.max(1);
        let factor = factor.clamp(1, 4);
        Self { encoded: self.encoded * factor, working: self.working * factor, ..self }
    }

    /// Returns the limits of a batch by its number.
    fn of(self, batch: usize) -> Self {
        let shift = if self.ramp { 2usize.saturating_sub(batch) } else { 0 };
        Self { encoded: self.encoded >> shift, working: self.working >> shift, ..self }
    }

    /// Returns half of these limits; `None` if launches would then have only a handful of blocks.
    pub(crate) fn halved(self) -> Option<Self> {
        let half = Self { encoded: self.encoded / 2, working: self.working / 2, ..self };
        (half.working >= 4 << 20).then_some(half)
    }
}

/// How a task is processed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Route {
    /// Filled on the device (a sparse block).
    Fill,
    /// Decompressed by this kernel and placed; `None`: placed directly from the encoded bytes.
    Device(Option<&'static Kernel>),
    /// Decoded by the picture decoder of its layout and placed.
    Picture,
    /// Left to the host engine.
    Host(Why),
}

/// Why a block is left to the host engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// No kernel supports its layout.
    NoKernel,
    /// It has fewer or more bytes than kernels accept, or lies outside the available bytes.
    Size,
    /// It is longer than this and would occupy the device for long.
    Long(u64),
    /// The device has too little memory for it.
    Memory,
}

/// How blocks of a layout are decoded on the device.
#[derive(Debug, Clone)]
pub(crate) enum How {
    /// By this kernel; `None`: they are stored uncompressed.
    Kernel(Option<&'static Kernel>),
    /// By this picture decoder.
    Picture(Which),
}

/// Returns how blocks of a layout are decoded on the device, or why they are not.
pub(crate) fn on_device(layout: &BlockLayout) -> Result<How, String> {
    let name = layout.compression.name();
    if layout.extras.reduce > 0 && !layout.compression.is_jpeg2000() {
        return Err(format!("no lower resolution of {name}"));
    }
    let how = match (Which::of(layout), kernel(layout.compression, layout.extras.lerc)) {
        (Some(which), _) => {
            How::Picture(which.map_err(|reason| format!("no kernel for {name} with {reason}"))?)
        }
        (None, _) if layout.compression == Compression::None => How::Kernel(None),
        (None, Some(kernel)) if layout.reverse_bits => {
            return Err(format!("no kernel for {} with reversed bits", kernel.module));
        }
        (None, Some(kernel)) => {
            codec::takes(layout).map_err(|reason| format!("no kernel for {name} with {reason}"))?;
            How::Kernel(Some(kernel))
        }
        (None, None) => return Err(format!("no kernel for {name}")),
    };
    place::support(layout)?;
    Ok(how)
}

/// Decoded sizes of a job's blocks. Most blocks have the size of the preceding one, which is computed once.
pub(crate) struct Lens<'a> {
    job: &'a DecodeJob,
    known: Option<((u32, u32), Option<u64>)>,
}

impl<'a> Lens<'a> {
    pub(crate) fn new(job: &'a DecodeJob) -> Self {
        Self { job, known: None }
    }

    /// Returns the decoded bytes of a task's block; `None` if they are more than memory can address.
    pub(crate) fn of(&mut self, task: &BlockTask) -> Option<u64> {
        let kind = (task.layout, task.placement.rows);
        match self.known {
            Some((of, len)) if of == kind => len,
            _ => {
                let layout = self.job.layouts().get(task.layout as usize);
                let len = layout.and_then(|layout| layout.decoded_len(task.placement.rows));
                let len = len.map(|len| len as u64);
                self.known = Some((kind, len));
                len
            }
        }
    }
}

/// Returns the route of a task with this many decoded bytes. `how` is the result of `on_device` for its layout.
pub(crate) fn route(task: &BlockTask, decoded: Option<u64>, how: &Result<How, String>) -> Route {
    let Some(span) = task.span else {
        return if how.is_ok() { Route::Fill } else { Route::Host(Why::NoKernel) };
    };
    let fits = |len: u64| (1..=LARGEST_BLOCK).contains(&len);
    match (how, decoded) {
        (Ok(how), Some(decoded))
            if fits(decoded) && fits(span.len) && span.end().is_some_and(|end| end < u64::MAX / 2) =>
        {
            match how {
                How::Picture(_) => Route::Picture,
                // The host reports stored blocks that have too few bytes.
                How::Kernel(None) if span.len < decoded => Route::Host(Why::Size),
                How::Kernel(kernel) => Route::Device(*kernel),
            }
        }
        (Err(_), _) => Route::Host(Why::NoKernel),
        (Ok(_), _) => Route::Host(Why::Size),
    }
}

/// A block of a batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Item {
    /// Index of its task in the job.
    pub(crate) task: usize,
    pub(crate) kernel: Option<&'static Kernel>,
    /// `None` for a block that is filled.
    pub(crate) span: Option<Span>,
    /// Offset in the arena of encoded bytes.
    pub(crate) src: u64,
    /// Offset in the arena of decoded bytes.
    pub(crate) dst: u64,
    /// Offset in the arena of scratch.
    pub(crate) scratch: u64,
    /// Offset among the pixels copied to the host.
    pub(crate) pixels: u64,
    /// Decoded bytes.
    pub(crate) dst_len: u32,
    /// Bytes per packed row.
    pub(crate) row_len: u32,
    /// Form of its samples.
    pub(crate) form: Form,
    /// Whether it has the same block as the preceding item, which decodes it.
    pub(crate) shares: bool,
}

/// One range of a source, and its offset in the arena of encoded bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) source: u32,
    pub(crate) offset: u64,
    pub(crate) len: u64,
    pub(crate) at: u64,
}

/// The blocks of a launch.
#[derive(Debug, Clone, Default)]
pub(crate) struct Batch {
    pub(crate) items: Vec<Item>,
    pub(crate) reads: Vec<Read>,
    pub(crate) size: Size,
}

/// Bytes of each arena.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) encoded: u64,
    pub(crate) decoded: u64,
    pub(crate) scratch: u64,
    pub(crate) pixels: u64,
    pub(crate) items: u64,
}

impl Size {
    /// Returns the larger of each size.
    pub(crate) fn max(self, other: Self) -> Self {
        Self {
            encoded: self.encoded.max(other.encoded),
            decoded: self.decoded.max(other.decoded),
            scratch: self.scratch.max(other.scratch),
            pixels: self.pixels.max(other.pixels),
            items: self.items.max(other.items),
        }
    }

    fn working(&self) -> u64 {
        self.decoded.saturating_add(self.scratch).saturating_add(self.pixels)
    }
}

/// Rounds `len` up to the alignment of arenas.
pub(crate) fn aligned(len: u64) -> u64 {
    len.div_ceil(ALIGNMENT).saturating_mul(ALIGNMENT)
}

/// Cuts the tasks that `routes` sends to the device into batches. `pixels` returns how many bytes of a task's pixels go
/// to the host. `merge` says whether nearby ranges of a source are read together (bytes on a device are gathered
/// separately).
pub(crate) fn batches(
    job: &DecodeJob,
    routes: &[Route],
    limits: Limits,
    pixels: impl Fn(&BlockTask) -> u64,
    merge: bool,
) -> Vec<Batch> {
    let mut done = Vec::new();
    let mut batch = Batch::default();
    let shares = |batch: &Batch, task: &BlockTask| {
        let before = batch.items.last().filter(|item| item.span == task.span);
        before.and_then(|item| job.tasks().get(item.task)).is_some_and(|before| task.is_of_same_block(before))
    };
    let module = |kernel: Option<&Kernel>| kernel.map_or("", |kernel| kernel.module);
    let order = by_kernel(routes);
    let mixed = order.is_some();
    let mut most = limits.of(0);
    // Sizes and form for the preceding tasks, which most tasks share.
    let (mut known, mut facts) = (None, (0, 0, Form::default()));
    for at in 0..routes.len() {
        let index = order.as_ref().and_then(|order| order.get(at)).copied().unwrap_or(at);
        let (Some(task), Some(route)) = (job.tasks().get(index), routes.get(index)) else { continue };
        let kernel = match route {
            Route::Host(_) | Route::Picture => continue,
            Route::Fill => None,
            Route::Device(kernel) => *kernel,
        };
        let kind = (task.layout, task.placement.rows);
        if known != Some(kind) {
            let Some(layout) = job.layouts().get(task.layout as usize) else { continue };
            let number = |len: Option<usize>| u32::try_from(len.unwrap_or(0)).unwrap_or(0);
            let rows = number(layout.decoded_len(task.placement.rows));
            facts = (rows, number(layout.decoded_len(1)), Form::of(layout));
            known = Some(kind);
        }
        let (dst_len, row_len, form) = facts;
        let span = task.span.filter(|_| !matches!(route, Route::Fill));
        let mut item = Item {
            task: index,
            kernel,
            span,
            src: 0,
            dst: 0,
            scratch: 0,
            pixels: 0,
            dst_len,
            row_len,
            form,
            shares: kernel.is_some() && shares(&batch, task),
        };
        let mut size = grown(batch.size, &item, pixels(task));
        let Limits { encoded, working, .. } = most;
        let other = |last: &Item| mixed && module(last.kernel) != module(kernel);
        let over =
            size.encoded > encoded || size.working() > working || batch.items.last().is_some_and(other);
        if over && !batch.items.is_empty() {
            done.push(finished(std::mem::take(&mut batch), merge, job));
            most = limits.of(done.len());
            item.shares = false;
            size = grown(Size::default(), &item, pixels(task));
        }
        let own = (batch.size.decoded, batch.size.scratch);
        let before = batch.items.last().filter(|_| item.shares).map(|before| (before.dst, before.scratch));
        (item.dst, item.scratch) = before.unwrap_or(own);
        item.pixels = batch.size.pixels;
        if batch.items.is_empty() {
            // As many as fit if all are like the first, so that the list is not reallocated while it grows.
            let fit = usize::try_from(most.working / size.working().max(1)).unwrap_or(usize::MAX);
            batch.items.reserve(fit.saturating_add(1).min(routes.len() - at));
        }
        batch.items.push(item);
        batch.size = size;
    }
    if !batch.items.is_empty() {
        done.push(finished(batch, merge, job));
    }
    done
}

/// Returns the tasks in the order of the kernels that decode them; `None` unless there are several kernels. Launches of
/// one batch run in sequence, those of several batches concurrently.
fn by_kernel(routes: &[Route]) -> Option<Vec<usize>> {
    let kernel = |route: &Route| match route {
        Route::Device(kernel) => *kernel,
        _ => None,
    };
    let module = |route: &Route| kernel(route).map_or("", |kernel| kernel.module);
    let mut kernels = routes.iter().filter_map(kernel);
    let first = kernels.next()?;
    if !kernels.any(|other| !std::ptr::eq(other, first) && other.module != first.module) {
        return None;
    }
    let mut order: Vec<usize> = (0..routes.len()).collect();
    order.sort_by_key(|&index| routes.get(index).map_or("", module));
    Some(order)
}

/// Returns the mean of decoded bytes and scratch per block, over the blocks that kernels decode.
pub(crate) fn mean_working(job: &DecodeJob, routes: &[Route]) -> u64 {
    let (mut sum, mut blocks) = (0u64, 0u64);
    let mut lens = Lens::new(job);
    for (task, route) in job.tasks().iter().zip(routes) {
        let (Route::Device(Some(kernel)), Some(span)) = (route, task.span) else { continue };
        let decoded = lens.of(task).unwrap_or(0);
        let [src, dst] = [span.len, decoded].map(|len| u32::try_from(len).unwrap_or(u32::MAX));
        sum = sum.saturating_add(u64::from(dst)).saturating_add((kernel.scratch)(src, dst));
        blocks += 1;
    }
    sum / blocks.max(1)
}

/// Returns the sizes with one more block; encoded bytes as if each block were read separately.
fn grown(size: Size, item: &Item, pixels: u64) -> Size {
    let placed = Size { pixels: size.pixels.saturating_add(aligned(pixels)), items: size.items + 1, ..size };
    if item.shares {
        return placed;
    }
    let encoded = item.span.map_or(0, |span| aligned(span.len.saturating_add(SLACK)));
    let src_len = item.span.map_or(0, |span| u32::try_from(span.len).unwrap_or(u32::MAX));
    let decoded = item.kernel.map_or(0, |_| aligned(item.dst_len.into()));
    let scratch = item.kernel.map_or(0, |kernel| aligned((kernel.scratch)(src_len, item.dst_len)));
    Size {
        encoded: size.encoded.saturating_add(encoded),
        decoded: size.decoded.saturating_add(decoded),
        scratch: size.scratch.saturating_add(scratch),
        ..placed
    }
}

/// Lays out the reads of a batch: ranges in sequence, each with its slack.
fn finished(mut batch: Batch, merge: bool, job: &DecodeJob) -> Batch {
    let source_of = |item: &Item| job.tasks().get(item.task).map_or(0, |task| task.source);
    let mut wanted: Vec<(u32, Span)> = Vec::with_capacity(batch.items.len());
    wanted.extend(batch.items.iter().filter_map(|item| Some((source_of(item), item.span?))));
    // Blocks are mostly in file order.
    wanted.sort_by_key(|(source, span)| (*source, span.offset));
    let gap = if merge { MERGE_GAP } else { 0 };
    let mut reads: Vec<Read> = Vec::new();
    for (source, span) in wanted {
        let (start, end) = (span.offset, span.offset.saturating_add(span.len));
        match reads.last_mut().filter(|last| last.source == source) {
            Some(last) if start <= last.offset.saturating_add(last.len).saturating_add(gap) => {
                last.len = last.len.max(end - last.offset);
            }
            _ => reads.push(Read { source, offset: start, len: end - start, at: 0 }),
        }
    }
    let mut at = 0;
    for read in &mut reads {
        read.at = at;
        at += aligned(read.len + SLACK);
    }
    batch.size.encoded = at;
    let mut last: Option<Read> = None;
    for item in &mut batch.items {
        let Some(span) = item.span else { continue };
        let source = source_of(item);
        let holds = |read: &Read| {
            read.source == source && span.offset.checked_sub(read.offset).is_some_and(|at| at < read.len)
        };
        if !last.as_ref().is_some_and(holds) {
            let after = reads.partition_point(|read| (read.source, read.offset) <= (source, span.offset));
            last = after.checked_sub(1).and_then(|index| reads.get(index)).copied();
        }
        if let Some(read) = last {
            item.src = read.at + (span.offset - read.offset);
        }
    }
    batch.reads = reads;
    batch
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use strile_engine::{BlockAddress, CodecExtras, Fill, Placement};
    use strile_tiff::{ByteOrder, DataType, LercWrapper, Photometric, Predictor, SampleFormat, SampleType};

    fn layout() -> BlockLayout {
        BlockLayout {
            width: 100,
            height: 10,
            samples: 1,
            sample: SampleType { format: SampleFormat::Uint, bits: 8 },
            mixed_bits: None,
            data_type: DataType::U8,
            byte_order: ByteOrder::NATIVE,
            reverse_bits: false,
            compression: Compression::Lzw,
            predictor: Predictor::None,
            is_strip: true,
            extras: CodecExtras {
                photometric: Photometric::MinIsBlack,
                ycbcr: None,
                jpeg_tables: None,
                lerc: LercWrapper::None,
                fax_options: 0,
                fill: Fill::default(),
                reduce: 0,
            },
        }
    }

    fn job(spans: &[Option<(u32, u64, u64)>]) -> DecodeJob {
        let task = |(row, span): (u32, &Option<(u32, u64, u64)>)| BlockTask {
            source: span.map_or(0, |(source, ..)| source),
            layout: 0,
            selection: 0,
            output: 0,
            span: span.map(|(_, offset, len)| Span { offset, len }),
            address: BlockAddress { row, ..BlockAddress::default() },
            placement: Placement {
                rows: 10,
                image_rows: 10,
                block_x: 0,
                block_y: 0,
                width: 100,
                height: 10,
                out_x: 0,
                out_y: row * 10,
                first_band: 0,
            },
        };
        let tasks = (0..).zip(spans).map(task).collect();
        DecodeJob::new(vec![Arc::new(layout())], vec![vec![0]], tasks).unwrap()
    }

    const KERNEL: Kernel =
        Kernel { module: "lzw", passes: &[], scratch: |_, dst_len| u64::from(dst_len) + 1 };

    #[test]
    fn near_ranges_are_read_as_one_and_every_block_has_its_slack() {
        let gap = MERGE_GAP;
        let spans =
            [Some((0, 1000, 500)), Some((0, 1500 + gap, 7)), None, Some((1, 10, 300)), Some((0, 90_000, 64))];
        let job = job(&spans);
        let routes: Vec<Route> =
            spans.iter().map(|span| span.map_or(Route::Fill, |_| Route::Device(Some(&KERNEL)))).collect();
        let made = batches(&job, &routes, Limits::USUAL, |_| 0, true);
        let [batch] = made.as_slice() else { panic!("{} batches", made.len()) };
        let first = 507 + gap;
        let second = aligned(first + SLACK);
        let third = second + aligned(64 + SLACK);
        assert_eq!(
            batch.reads,
            [
                Read { source: 0, offset: 1000, len: first, at: 0 },
                Read { source: 0, offset: 90_000, len: 64, at: second },
                Read { source: 1, offset: 10, len: 300, at: third },
            ]
        );
        let places: Vec<u64> = batch.items.iter().map(|item| item.src).collect();
        assert_eq!(places, [0, 500 + gap, 0, third, second]);
        assert_eq!(batch.size.encoded, third + 512);
        let decoded: Vec<u64> = batch.items.iter().map(|item| item.dst).collect();
        assert_eq!(decoded, [0, 1024, 2048, 2048, 3072], "what is filled has nothing decoded");
        assert_eq!((batch.size.decoded, batch.size.scratch, batch.size.items), (4096, 4096, 5));
    }

    #[test]
    fn batches_hold_no_more_than_they_may_and_lose_no_block() {
        let spans: Vec<_> = (0..40).map(|i| Some((0, i * 200_000, 100 + i))).collect();
        let job = job(&spans);
        let routes = vec![Route::Device(Some(&KERNEL)); 40];
        // Two blocks: decoded, scratch and pixels of 1024 bytes each.
        let limits = Limits { encoded: 1 << 20, working: 7 * 1024, ramp: false };
        let made = batches(&job, &routes, limits, |_| 1000, true);
        assert_eq!(made.len(), 20);
        assert!(made.iter().all(|batch| batch.size.working() == 6 * 1024 && batch.items.len() == 2));
        let tasks: Vec<usize> = made.iter().flat_map(|batch| &batch.items).map(|item| item.task).collect();
        assert_eq!(tasks, (0..40).collect::<Vec<_>>());
        // One block exceeds the limits: it becomes a batch of its own.
        let small = Limits { encoded: 1, working: 1, ramp: false };
        assert_eq!(batches(&job, &routes, small, |_| 0, true).len(), 40);
    }

    #[test]
    fn a_batch_is_of_one_kernel() {
        const OTHER: Kernel = Kernel { module: "deflate", ..KERNEL };
        let job = job(&[Some((0, 0, 9)), Some((1, 9, 9)), None, Some((0, 20, 9)), Some((1, 9, 9))]);
        let [one, other] = [&KERNEL, &OTHER].map(|kernel| Route::Device(Some(kernel)));
        let tasks = |routes: &[Route]| -> Vec<Vec<usize>> {
            let made = batches(&job, routes, Limits::USUAL, |_| 0, true);
            made.iter().map(|batch| batch.items.iter().map(|item| item.task).collect()).collect()
        };
        assert_eq!(tasks(&[one, other, Route::Fill, one, other]), [vec![2], vec![1, 4], vec![0, 3]]);
        // Filled blocks stay with the blocks around them if one kernel decodes those.
        assert_eq!(tasks(&[one, one, Route::Fill, one, one]), [vec![0, 1, 2, 3, 4]]);
    }

    #[test]
    fn large_blocks_make_large_batches_as_far_as_allowed() {
        let working = |each, most| Limits::USUAL.for_blocks(each, most).working >> 20;
        assert_eq!(working(300 << 10, u64::MAX), 128, "those that were measured stay");
        assert_eq!(working(1 << 20, u64::MAX), 384);
        assert_eq!(working(64 << 20, u64::MAX), 512);
        assert_eq!(working(64 << 20, 100 << 20), 128);
        assert_eq!(Limits::USUAL.for_blocks(1 << 20, u64::MAX).encoded >> 20, 192);
        let job = job(&[Some((0, 0, 9)), None, Some((1, 9, 9))]);
        let routes = [Route::Device(Some(&KERNEL)), Route::Fill, Route::Device(Some(&KERNEL))];
        assert_eq!(mean_working(&job, &routes), 1000 + 1001);
    }

    #[test]
    fn a_block_of_several_tasks_is_decoded_once_in_a_batch() {
        let job = job(&[Some((0, 0, 9)), Some((0, 9, 9)), Some((0, 9, 9)), Some((0, 9, 9)), Some((1, 9, 9))]);
        let routes = vec![Route::Device(Some(&KERNEL)); 5];
        let made = batches(&job, &routes, Limits::USUAL, |_| 500, true);
        let [batch] = made.as_slice() else { panic!("{} batches", made.len()) };
        let items: Vec<_> = batch.items.iter().map(|item| (item.shares, item.dst, item.pixels)).collect();
        let wanted =
            [(false, 0, 0), (false, 1024, 512), (true, 1024, 1024), (true, 1024, 1536), (false, 2048, 2048)];
        assert_eq!(items, wanted);
        assert_eq!((batch.size.decoded, batch.size.items, batch.size.pixels), (3072, 5, 2560));
        // In a separate batch it is decoded again.
        let small = Limits { encoded: 1, working: 1, ramp: false };
        let made = batches(&job, &routes, small, |_| 500, true);
        assert!(made.len() == 5 && made.iter().all(|batch| !batch.items[0].shares));
        // Stored blocks are placed directly from the encoded bytes.
        let stored = batches(&job, &[Route::Device(None); 5], Limits::USUAL, |_| 0, true);
        assert!(stored[0].items.iter().all(|item| !item.shares));
    }

    #[test]
    fn what_is_no_plain_block_is_the_hosts() {
        let job = job(&[Some((0, u64::MAX - 3, 3)), Some((0, 0, LARGEST_BLOCK + 1)), Some((0, 5, 5)), None]);
        let routes = |how: &Result<How, String>| -> Vec<bool> {
            let mut lens = Lens::new(&job);
            job.tasks().iter().map(|task| matches!(route(task, lens.of(task), how), Route::Host(_))).collect()
        };
        assert_eq!(routes(&Ok(How::Kernel(Some(&KERNEL)))), [true, true, false, false]);
        assert_eq!(
            routes(&Ok(How::Kernel(None))),
            [true, true, true, false],
            "five bytes are no stored block"
        );
        assert_eq!(routes(&Err("no kernel".into())), [true; 4]);
    }
}

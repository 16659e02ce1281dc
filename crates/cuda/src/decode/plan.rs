//! Plans a job's batches, memory and launches before anything is allocated.

use crate::abi::DecodeBlock;
use crate::decode::batch::{
    Batch, How, Lens, Limits, Route, Size, Why, aligned, batches, mean_working, on_device, route,
};
use crate::decode::codec::{self, Kernel, Split};
use crate::decode::picture::{MOST_UP, Pictures, Sizes, Supplies, Which};
use crate::decode::place::{PlaceLayout, PlaceTask};
use crate::decode::run::Stop;
use crate::device::Device;
use crate::vendor::{Decoders, NVCOMP};
use strile_engine::{BlockLayout, BlockTask, DecodeJob, Location, OutputKind, Supply};

/// Most batches in flight: some are read and copied while others are decoded, and kernels of several together fill the
/// device.
pub(crate) const FLIGHTS: usize = 4;
/// A batch of large blocks may take the device's memory divided by this.
const PART_OF_DEVICE: u64 = 256;
/// Bytes of a batch's tables, at most or nearly so.
const TABLES: u64 = 8 << 20;
/// Bytes of pixels per copy for blocks that the host decodes.
const HOST_GROUP: u64 = 64 << 20;

/// Parts into which a block with very long rows may be cut; its tables have room for this many.
const PARTS: usize = 512;

/// Bytes of a conversion's numbers.
const CONVERSION: usize = 6 * 4;

/// Returns the bytes that tables need besides their rows: alignment, selections, and the tables of chroma and of mixed
/// depths.
fn tables_extra(job: &DecodeJob) -> u64 {
    const ALIGNMENT: u64 = 64 << 10;
    const CHROMA: u64 = 5 * 256 * 4;
    // A crop that comes from the host is selected whole, which takes as many numbers again.
    let selections: u64 = job.selections().iter().map(|bands| bands.len() as u64 * 4).sum();
    let layouts: u64 = job.layouts().iter().map(|layout| CHROMA + u64::from(layout.samples) * 8).sum();
    aligned(ALIGNMENT + selections + layouts)
}

/// Batches, memory and launches of a job on the device.
pub(crate) struct Plan {
    pub(crate) routes: Vec<Route>,
    pub(crate) batches: Vec<Batch>,
    pub(crate) flights: usize,
    /// Per flight: the largest sizes of its batches.
    sizes: Vec<Size>,
    /// Bytes of tables besides their rows.
    tables_extra: u64,
    /// Bytes that libraries take per flight.
    room: u64,
    /// All device memory of the job.
    pub(crate) memory: u64,
    /// Pinned memory per flight for pixels copied to the host.
    landing: u64,
    /// Pictures, by decoder; they use the memory after the batches.
    pub(crate) pictures: Vec<Pictures>,
}

/// Libraries that may decode, if requested.
#[derive(Clone, Copy)]
pub(crate) struct Libraries<'a> {
    pub(crate) decoders: Option<(&'a Decoders, &'a Device)>,
}

/// The requested library that decodes a layout, if any.
#[derive(Debug, Clone, Default)]
pub(crate) struct Chosen {
    /// Its name and the reason; `None` leaves the layout to kernels.
    pub(crate) library: Option<(&'static str, String)>,
    /// Why other libraries do not decode it.
    pub(crate) declined: Vec<String>,
}

impl Libraries<'_> {
    /// Returns how blocks of a layout are decoded on the device and by which library, or why they are not.
    pub(crate) fn how(&self, layout: &BlockLayout) -> Result<(How, Chosen), String> {
        let mut how = on_device(layout)?;
        let mut chosen = Chosen::default();
        match self.decoders.map(|(decoders, _)| decoders.takes(layout)) {
            Some(Ok((kernel, why))) => {
                (how, chosen.library) = (How::Kernel(Some(kernel)), Some((NVCOMP, why)));
            }
            Some(Err(why)) => chosen.declined.push(why),
            None => {}
        }
        Ok((how, chosen))
    }
}

/// Resources that a job may use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allowed {
    /// Limits of a batch.
    pub(crate) limits: Limits,
    /// Free device memory.
    pub(crate) free: u64,
    /// Most device memory that can be available.
    pub(crate) most: u64,
    /// Most host memory that can be available.
    pub(crate) host: u64,
    /// Threads that read and parse.
    pub(crate) threads: usize,
    /// Whether streams are split.
    pub(crate) split: Split,
    /// Multiprocessors of the device.
    pub(crate) multiprocessors: u32,
}

/// Offsets of the arenas of one flight in the job's memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arenas {
    pub(crate) tables: u64,
    pub(crate) tables_len: u64,
    pub(crate) encoded: u64,
    pub(crate) decoded: u64,
    pub(crate) scratch: u64,
    pub(crate) pixels: u64,
    pub(crate) room: u64,
    pub(crate) room_end: u64,
}

/// Returns the bytes of a task's requested pixels in the output's type.
pub(crate) fn crop_len(job: &DecodeJob, outputs: &[OutputKind], task: &BlockTask) -> u64 {
    let bands = job.selections().get(task.selection as usize).map_or(0, |bands| bands.len() as u64);
    let size = outputs.get(task.output as usize).map_or(0, |output| output.data_type.size() as u64);
    let pixels = u64::from(task.placement.width) * u64::from(task.placement.height);
    pixels.saturating_mul(bands).saturating_mul(size)
}

/// Returns whether a task's pixels are requested in host memory.
pub(crate) fn is_host(outputs: &[OutputKind], task: &BlockTask) -> bool {
    outputs.get(task.output as usize).is_some_and(|output| output.location == Location::Host)
}

/// Returns how many bytes of a task's pixels go to the host.
pub(crate) fn landing_len(job: &DecodeJob, outputs: &[OutputKind], task: &BlockTask) -> u64 {
    if is_host(outputs, task) { crop_len(job, outputs, task) } else { 0 }
}

/// Returns an upper bound of the bytes of tables that place this many blocks, with `extra` besides their rows.
fn tables_len(items: u64, extra: u64) -> u64 {
    let row = size_of::<DecodeBlock>() + size_of::<PlaceTask>() + size_of::<PlaceLayout>() + 2 * 4;
    let row = row + CONVERSION;
    aligned(items.saturating_mul(row as u64)).saturating_add(extra)
}

/// Pictures of one decoder: their tasks, the expected sizes of each, and the bytes of all their streams.
#[derive(Default)]
struct Found {
    tasks: Vec<usize>,
    sizes: Vec<Sizes>,
    streams: u64,
    /// The most memory that parsing one of them takes besides its stream.
    parsing: u64,
}

/// Plans the pictures among the tasks, by decoder; `how` holds the decoder of each layout. Pictures that would not fit
/// the device alone, or would occupy it for too long, are left to the host.
fn pictures(
    job: &DecodeJob,
    outputs: &[OutputKind],
    how: &[Result<How, String>],
    routes: &mut [Route],
    allowed: Allowed,
) -> Vec<Pictures> {
    let extra = tables_extra(job);
    let place_len = |pictures: u64| tables_len(pictures, extra);
    let mut all: Vec<(&Which, Found)> = Vec::new();
    for (index, (task, route)) in job.tasks().iter().zip(routes).enumerate() {
        if !matches!(route, Route::Picture) {
            continue;
        }
        let at = task.layout as usize;
        let (Some(layout), Some(Ok(How::Picture(which))), Some(span)) =
            (job.layouts().get(at), how.get(at), task.span)
        else {
            continue;
        };
        let rows = task.placement.rows;
        let decoded = layout.decoded_len(rows).map_or(u64::MAX, |len| len as u64);
        let need = which.estimate(layout, rows, span.len);
        let parsing = which.parsing(layout, rows);
        let held = span.len.saturating_mul(2).saturating_add(parsing);
        let sizes = Sizes { held, ..Sizes::of(need, decoded, landing_len(job, outputs, task)) };
        let too_large = Sizes::fixed(which.fixed()).plus(sizes).parts(place_len).end > allowed.most;
        if too_large || span.len > which.longest() {
            *route = Route::Host(if too_large { Why::Memory } else { Why::Long(which.longest()) });
            continue;
        }
        if !all.iter().any(|(known, _)| *known == which) {
            all.push((which, Found::default()));
        }
        if let Some((_, found)) = all.iter_mut().find(|(known, _)| *known == which) {
            found.tasks.push(index);
            found.sizes.push(sizes);
            found.streams = found.streams.saturating_add(span.len);
            found.parsing = found.parsing.max(parsing);
        }
    }
    let Allowed { limits, free, host, threads, .. } = allowed;
    let plan = |(which, Found { tasks, sizes, streams, parsing }): (&Which, Found)| {
        let (working, up) = match limits == Limits::USUAL {
            true => (which.working(), MOST_UP),
            false => (limits.working, limits.working),
        };
        let parsing = parsing.saturating_mul(threads.min(tasks.len()) as u64);
        let supplies = Supplies { working, up, ramp: limits.ramp, free, host, parsing };
        let fixed = Sizes::fixed(which.fixed());
        Pictures::new((*which, tasks), (fixed, sizes, streams), place_len, supplies)
    };
    all.into_iter().map(plan).collect()
}

/// Returns the routes with those streams split that are too few or too large to fill the device; `None` if there are
/// none.
fn split(job: &DecodeJob, routes: &[Route], allowed: Allowed) -> Option<Vec<Route>> {
    let mut lens = Lens::new(job);
    let mut decoded = |task: &BlockTask| lens.of(task).unwrap_or(0);
    let (mut total, mut largest) = (0u64, None::<(&'static Kernel, u64)>);
    let mut before: Option<&BlockTask> = None;
    for (task, route) in job.tasks().iter().zip(routes) {
        let again = before.is_some_and(|before| task.is_of_same_block(before));
        before = Some(task);
        if let Route::Device(Some(kernel)) = route
            && !again
        {
            let len = decoded(task);
            total = total.saturating_add(len);
            if codec::splits(kernel) && largest.is_none_or(|(_, known)| known < len) {
                largest = Some((*kernel, len));
            }
        }
    }
    // If the largest is not split, none is.
    let (kernel, len) = largest?;
    allowed.split.of(kernel, (len, total), allowed.multiprocessors)?;
    let mut choose = |(task, route): (&BlockTask, &Route)| match route {
        Route::Device(Some(kernel)) => {
            let sizes = (decoded(task), total);
            let split = allowed.split.of(kernel, sizes, allowed.multiprocessors);
            Route::Device(Some(split.unwrap_or(kernel)))
        }
        _ => *route,
    };
    let routes: Vec<Route> = job.tasks().iter().zip(routes).map(&mut choose).collect();
    let is_split = |route: &Route| matches!(route, Route::Device(Some(kernel)) if codec::is_split(kernel));
    routes.iter().any(is_split).then_some(routes)
}

impl Plan {
    /// Returns the plan with the most flights and the largest batches that free device memory allows, or the smallest
    /// plan.
    pub(crate) fn new(
        job: &DecodeJob,
        outputs: &[OutputKind],
        supply: Supply,
        allowed: Allowed,
        libraries: Libraries<'_>,
    ) -> Result<Self, Stop> {
        let there = match supply {
            Supply::Device(len) => Some(len),
            Supply::Staged | Supply::Pulled => None,
        };
        let merge = there.is_none();
        let outside = |task: &BlockTask| {
            let end = task.span.and_then(|span| span.end());
            there.zip(end).is_some_and(|(len, end)| end > len)
        };
        let how: Vec<_> =
            job.layouts().iter().map(|layout| libraries.how(layout).map(|(how, _)| how)).collect();
        let decoders = libraries.decoders;
        let (mut routes, mut lens) = (Vec::with_capacity(job.tasks().len()), Lens::new(job));
        for task in job.tasks() {
            let found = how.get(task.layout as usize).filter(|_| !outside(task));
            routes.push(found.map_or(Route::Host(Why::Size), |how| route(task, lens.of(task), how)));
        }
        let pictures = pictures(job, outputs, &how, &mut routes, allowed);
        let Allowed { limits, free, most: device, .. } = allowed;
        let sized = |routes: &[Route]| match limits == Limits::USUAL {
            true => limits.for_blocks(mean_working(job, routes), device / PART_OF_DEVICE),
            false => limits,
        };
        let mut plan = None;
        if let Some(split) = split(job, &routes, allowed) {
            let limits = sized(&split);
            let of_split = Self::fitting(job, outputs, merge, &split, (limits, free), decoders)?;
            plan = Some((of_split, split)).filter(|(plan, _)| plan.memory <= free);
        }
        let (mut plan, routes) = match plan {
            Some(plan) => plan,
            None => (Self::fitting(job, outputs, merge, &routes, (sized(&routes), free), decoders)?, routes),
        };
        plan.routes = routes;
        plan.memory = pictures.iter().map(Pictures::memory).fold(plan.memory, u64::max);
        plan.pictures = pictures;
        Ok(plan)
    }

    /// Returns the plan for these routes with the most flights and the largest batches that `free` bytes allow, or the
    /// smallest one. It lacks the routes themselves and pictures.
    fn fitting(
        job: &DecodeJob,
        outputs: &[OutputKind],
        merge: bool,
        routes: &[Route],
        (mut limits, free): (Limits, u64),
        decoders: Option<(&Decoders, &Device)>,
    ) -> Result<Self, Stop> {
        let mut most = FLIGHTS;
        loop {
            let plan = Self::with(job, outputs, merge, routes, limits, most, decoders)?;
            let halved = limits.halved();
            // Reduce flights before batches: smaller batches leave the device idle.
            match halved {
                _ if plan.memory <= free => {}
                _ if most > 2 => {
                    most /= 2;
                    continue;
                }
                Some(half) => {
                    limits = half;
                    continue;
                }
                None => {}
            }
            return Ok(plan);
        }
    }

    /// Returns the host memory for pixels copied to the host and for pictures copied to the device.
    pub(crate) fn host(&self) -> u64 {
        let landing = self.landing.saturating_mul(self.flights as u64);
        self.pictures.iter().map(Pictures::host).fold(landing, u64::max)
    }

    fn with(
        job: &DecodeJob,
        outputs: &[OutputKind],
        merge: bool,
        routes: &[Route],
        limits: Limits,
        most: usize,
        decoders: Option<(&Decoders, &Device)>,
    ) -> Result<Self, Stop> {
        let batches = batches(job, routes, limits, |task| landing_len(job, outputs, task), merge);
        let size = batches.iter().fold(Size::default(), |size, batch| size.max(batch.size));
        let flights = batches.len().min(most);
        let mut room = 0;
        for batch in &batches {
            if let Some((decoders, device)) = decoders {
                room = room.max(decoders.room(device, &batch.items)?);
            }
        }
        let mut plan = Self {
            routes: Vec::new(),
            batches,
            flights,
            sizes: Vec::new(),
            tables_extra: tables_extra(job),
            room,
            memory: 0,
            landing: size.pixels,
            pictures: Vec::new(),
        };
        // Pixels that the host decodes for the device are uploaded through the same memory: one block of them must fit.
        let (mut largest, mut all) = (0, 0u64);
        let kind =
            |task: &BlockTask| (task.output, task.selection, task.placement.width, task.placement.height);
        // Crop of the preceding tasks, which most tasks share.
        let mut known = None;
        for (task, route) in job.tasks().iter().zip(routes) {
            if is_host(outputs, task) || matches!(route, Route::Fill) {
                continue;
            }
            let crop = match known {
                Some((of, crop)) if of == kind(task) => crop,
                _ => aligned(crop_len(job, outputs, task)),
            };
            known = Some((kind(task), crop));
            largest = largest.max(crop);
            if matches!(route, Route::Host(_)) {
                all = all.saturating_add(crop);
            }
        }
        let upload = match largest {
            0 => 0,
            _ => all.min(HOST_GROUP).max(largest).saturating_add(plan.upload_tables(PARTS)),
        };
        // If blocks exceed the limits of a batch, at most two batches are in flight.
        let usual = (limits.encoded + limits.working + TABLES).saturating_mul(FLIGHTS as u64);
        let fit = usize::try_from(usual / plan.flight_len(size).max(1)).unwrap_or(usize::MAX);
        plan.flights = plan.flights.min(fit.max(2));
        plan.sizes = vec![Size::default(); plan.flights];
        for (index, batch) in plan.batches.iter().enumerate() {
            if let Some(size) = plan.sizes.get_mut(index % plan.flights) {
                *size = size.max(batch.size);
            }
        }
        let lens = plan.sizes.iter().map(|&size| plan.flight_len(size));
        plan.memory = lens.fold(0, u64::saturating_add).max(upload);
        Ok(plan)
    }

    /// Returns an upper bound of the bytes of tables that place this many blocks.
    pub(crate) fn tables_len(&self, items: u64) -> u64 {
        tables_len(items, self.tables_extra)
    }

    /// Returns an upper bound of the bytes of tables that place this many blocks from the host.
    pub(crate) fn upload_tables(&self, blocks: usize) -> u64 {
        let row = size_of::<PlaceTask>() + size_of::<PlaceLayout>();
        aligned((blocks as u64).saturating_mul(row as u64)).saturating_add(self.tables_extra)
    }

    fn flight_len(&self, size: Size) -> u64 {
        let Size { encoded, decoded, scratch, pixels, items } = size;
        [self.tables_len(items), aligned(encoded), decoded, scratch, pixels, self.room]
            .into_iter()
            .fold(0, u64::saturating_add)
    }

    /// Returns the offsets of a flight's arenas.
    pub(crate) fn arenas(&self, flight: usize) -> Arenas {
        let size = self.sizes.get(flight).copied().unwrap_or_default();
        let tables_len = self.tables_len(size.items);
        let tables: u64 = self.sizes.iter().take(flight).map(|&size| self.flight_len(size)).sum();
        let encoded = tables + tables_len;
        let decoded = encoded + aligned(size.encoded);
        let scratch = decoded + size.decoded;
        let pixels = scratch + size.scratch;
        let room = pixels + size.pixels;
        let room_end = room + self.room;
        Arenas { tables, tables_len, encoded, decoded, scratch, pixels, room, room_end }
    }
}

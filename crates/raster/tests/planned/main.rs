//! The plan that prints is the plan that runs: a source that counts its reads, the budget's peak and the peak of the
//! device's pool are held against what the plan says, on the CPU and on a device.
//!
//! What is done after a read was cancelled is counted, too.
//!
//! Bytes, blocks and batches are exact. Memory is an upper bound, and less than twice what is taken, but for pixels that
//! come back from a device: they are placed band by band, which takes a band's part of what the plan allows for.
//!
//! The device is the stand-in, which runs the real kernels by emulation; with `STRILE_REQUIRE_GPU=1` it is the first GPU.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "a test fails by panicking"
)]

mod kinds;

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use strile::batch::{BatchWindow, Sampling, plan_batch, read_batch_on_device};
use strile::cache::Cache;
use strile::grid::{Grid as OntoGrid, WarpOptions, WarpSampling};
use strile::io::{ReadDone, ReadOp, Source, Version};
use strile::read::{Fetch, ReadPlan};
use strile::tiff::geo::GeoTransform;
use strile::tiff::{ByteOrder, SampleFormat, SampleType};
use strile::vrt::VrtOptions;
use strile::{
    BatchOptions, Context, Dataset, Layer, Location, OpenOptions, Processor, ReadOptions, Vrt, Window,
    crs::Crs, read_batch,
};
use strile_cuda::device::Device;
use strile_engine::{Budget, ReadAt, Span, Trace};
use testkit::{
    Codec, FileFrame, FileOrder, Grid, ImageSpec, Pattern, Pixels, Tag, Value, geo_tags, nodata_tag,
};

const UINT16: SampleType = SampleType { format: SampleFormat::Uint, bits: 16 };
const UINT8: SampleType = SampleType { format: SampleFormat::Uint, bits: 8 };
const ENGINES: [Processor; 2] = [Processor::Cpu, Processor::Cuda(0)];

/// Puts the stand-in in the place of the driver, once.
fn device() -> Arc<Device> {
    static READY: OnceLock<()> = OnceLock::new();
    READY.get_or_init(|| {
        if std::env::var_os("STRILE_REQUIRE_GPU").is_none_or(|value| value != "1") {
            strile_emulate::StandIn::load().unwrap();
        }
    });
    Device::open(0).unwrap()
}

/// Reads of one source: the ranges of each call.
type Calls = Vec<Vec<Range<u64>>>;

/// A file in memory that counts what is read of it; its threads read it themselves if it is local.
#[derive(Clone)]
struct Counting {
    bytes: Arc<Vec<u8>>,
    is_local: bool,
    calls: Arc<Mutex<Calls>>,
}

impl Counting {
    fn new(bytes: Vec<u8>, is_local: bool) -> Self {
        Self { bytes: Arc::new(bytes), is_local, calls: Arc::default() }
    }

    fn open(&self) -> Dataset {
        Dataset::from_source(Arc::new(self.clone()), &OpenOptions::default()).unwrap()
    }

    fn count(&self, ranges: Vec<Range<u64>>) {
        self.calls.lock().unwrap().push(ranges);
    }

    /// Calls since the last time.
    fn taken(&self) -> Calls {
        std::mem::take(&mut self.calls.lock().unwrap())
    }
}

impl Source for Counting {
    fn name(&self) -> &str {
        "counting.tif"
    }

    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn version(&self) -> Version {
        Version { len: self.len(), mark: String::new() }
    }

    fn submit(&self, ops: Vec<ReadOp>, done: &mpsc::Sender<ReadDone>, _cancel: &strile::Cancel) {
        self.count(ops.iter().map(|op| op.offset..op.offset + op.into.len() as u64).collect());
        for ReadOp { id, offset, mut into } in ops {
            let bytes = self.bytes.get(offset as usize..offset as usize + into.len());
            let result =
                bytes.map(|bytes| into.copy_from_slice(bytes)).ok_or(io::ErrorKind::UnexpectedEof.into());
            let _gave_up = done.send(ReadDone { id, into, result });
        }
    }

    fn local(&self) -> Option<Arc<dyn ReadAt>> {
        self.is_local.then(|| Arc::new(self.clone()) as Arc<dyn ReadAt>)
    }
}

impl ReadAt for Counting {
    fn read_at<'a>(&'a self, span: Span, _: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        let range = span.offset..span.end().unwrap();
        let bytes = self.bytes.get(range.start as usize..range.end as usize);
        self.count(vec![range]);
        bytes.ok_or(io::ErrorKind::UnexpectedEof.into())
    }
}

fn context(limit: u64) -> Context {
    let budget = Arc::new(Budget::new(limit));
    Context { budget, trace: Some(Arc::new(Trace::default())), ..Context::default() }
}

const AMPLE: u64 = 1 << 32;

/// How much more memory a plan may name than is taken.
const TWICE: u64 = 2;

/// Bytes of a source of a mosaic, once as it is and once as it is laid.
const BLENDED: u64 = 2 * 250 * 200 * 2;
/// What a thread takes to decode a block of such a source: 64 × 64 pixels, encoded and decoded.
const BLOCK: u64 = 16 << 10;

/// Held by what takes memory of the device, which is counted for the whole process.
static ALONE: Mutex<()> = Mutex::new(());

/// Plans and reads, and holds one against the other. Returns the plan.
fn held<R>(
    name: &str,
    (files, limit, factor): (&[&Counting], u64, u64),
    plan: impl Fn(&Context) -> ReadPlan,
    read: impl Fn(&Context) -> R,
) -> ReadPlan {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let taken = || files.iter().map(|file| file.taken()).collect::<Vec<_>>();
    // Once before: what engines keep from read to read is there.
    drop(read(&context(AMPLE)));
    taken();
    let plan = plan(&context(limit));
    let tables = taken();
    let (context, pool) = (context(limit), device());
    let before = pool.pool().current();
    pool.pool().reset_peak();
    let done = read(&context);
    let on_device = pool.pool().peak() - before;
    drop(done);
    let figures = plan.figures();
    let name = format!("{name} by {}: {plan}\n", plan.engine);
    if !files.is_empty() {
        let (mut ranges, mut joined, mut bytes, mut calls) = (0, 0, 0, 0);
        for (table, found) in tables.into_iter().zip(taken()) {
            // Tables of blocks are read to plan, and to read.
            let mut known: BTreeMap<Vec<(u64, u64)>, usize> = BTreeMap::new();
            let key = |call: &Vec<Range<u64>>| {
                call.iter().map(|range| (range.start, range.end)).collect::<Vec<_>>()
            };
            table.iter().for_each(|call| *known.entry(key(call)).or_default() += 1);
            let mut own: Vec<Range<u64>> = Vec::new();
            for call in found {
                match known.get_mut(&key(&call)).filter(|left| **left > 0) {
                    Some(left) => *left -= 1,
                    None => {
                        calls += 1;
                        own.extend(call);
                    }
                }
            }
            bytes += own.iter().map(|range| range.end - range.start).sum::<u64>();
            ranges += own.len();
            own.sort_by_key(|range| range.start);
            // Parts of a read onto a grid may read a block again.
            let mut end = None;
            for range in own {
                joined += usize::from(end.is_none_or(|end| range.start > end));
                end = end.max(Some(range.end));
            }
        }
        assert_eq!(bytes, figures.range_bytes, "bytes, {name}");
        match (plan.fetch, plan.engine.as_str()) {
            (Fetch::Staged, _) => {
                assert_eq!(ranges, figures.ranges, "ranges, {name}");
                if plan.files == 1 {
                    assert_eq!(calls, figures.batches, "batches, {name}");
                }
            }
            (_, "cpu") => assert_eq!(ranges, figures.ranges, "ranges, {name}"),
            // A range is read in pieces, by several threads.
            _ => assert!(
                joined <= figures.ranges && figures.ranges <= ranges,
                "{joined}..={ranges} ranges, {name}"
            ),
        }
    }
    // What a mosaic does to blend its sources is not in the plan.
    let blended = plan.mosaics.map_or(0, |mosaic| mosaic.blended);
    if plan.engine != "cpu" && blended == 0 {
        let slices = context.trace.as_ref().unwrap().slices();
        let batches = slices.iter().filter(|slice| slice.name == "place").count();
        assert_eq!(batches, figures.engine_batches, "batches of the engine, {name}");
    }
    let (memory, on_host) = (plan.memory, context.budget.peak());
    let counted = blended == 0 || plan.engine == "cpu";
    // Nor is what it takes to find and to blend them.
    let each = BLENDED + context.threads.get() as u64 * BLOCK;
    let beside = plan.mosaics.map_or(0, |_| (64 << 10) + blended as u64 * each);
    assert!(
        !counted || on_host <= memory.host + beside,
        "{on_host} bytes of host memory, {memory:?}, {name}"
    );
    assert!(memory.host <= on_host * factor, "only {on_host} bytes of host memory, {memory:?}, {name}");
    assert!(!counted || on_device <= memory.device, "{on_device} bytes of device memory, {memory:?}, {name}");
    assert!(
        memory.device <= on_device * TWICE,
        "only {on_device} bytes of device memory, {memory:?}, {name}"
    );
    plan
}

/// One read of one file, by both engines, into host memory and into that of the device.
fn everywhere(name: &str, bytes: &[u8], options: &ReadOptions, limit: u64) -> Vec<ReadPlan> {
    let mut plans = Vec::new();
    for is_local in [true, false] {
        let file = Counting::new(bytes.to_vec(), is_local);
        let dataset = file.open();
        for engine in ENGINES {
            device();
            let options = options.clone().decode_on(engine);
            let factor = if engine == Processor::Cpu { TWICE } else { 4 };
            plans.push(held(
                name,
                (&[&file], limit, factor),
                |context| dataset.plan(&options, context).unwrap(),
                |context| dataset.read(&options, context).unwrap(),
            ));
        }
        let options = options.clone().decode_on(Processor::Cuda(0));
        plans.push(held(
            name,
            (&[&file], limit, TWICE),
            |context| dataset.plan_on_device(0, &options, context).unwrap(),
            |context| dataset.read_on_device(0, &options, context).unwrap(),
        ));
    }
    plans
}

fn image(codec: Codec, grid: Grid) -> ImageSpec {
    ImageSpec::new(UINT16).codec(codec).grid(grid)
}

fn built(spec: &ImageSpec, size: [usize; 3]) -> Vec<u8> {
    spec.build(&Pixels::generate(Pattern::Dem, spec.sample, size, 3), ByteOrder::Little, false).bytes
}

#[test]
fn a_window_and_a_whole_image() {
    let bytes = built(&image(Codec::Deflate, Grid::Tiles(64, 64)), [3, 300, 350]);
    everywhere("whole", &bytes, &ReadOptions::new(), AMPLE);
    let window = ReadOptions::new().window(Window::new(70, 30, 100, 120)).bands([2]);
    let plans = everywhere("window", &bytes, &window, AMPLE);
    assert!(plans.iter().all(|plan| plan.figures().blocks == 6));
    let bytes = built(&image(Codec::None, Grid::Tiles(64, 64)), [1, 300, 350]);
    everywhere("stored", &bytes, &ReadOptions::new(), AMPLE);
}

#[test]
fn strips_and_sparse_blocks() {
    let bytes = built(&image(Codec::Lzw, Grid::Strips(16)), [1, 300, 350]);
    everywhere("strips", &bytes, &ReadOptions::new(), AMPLE);
    let sparse: Vec<usize> = (0..30).filter(|at| at % 3 != 0).collect();
    let bytes = built(&image(Codec::PackBits, Grid::Tiles(64, 64)).sparse(&sparse), [1, 300, 350]);
    let plans = everywhere("sparse", &bytes, &ReadOptions::new(), AMPLE);
    assert!(plans.iter().all(|plan| (plan.figures().blocks, plan.figures().sparse) == (10, 20)));
    // No kernel: the host decodes for the device.
    let bytes = built(&image(Codec::Lzma, Grid::Tiles(64, 64)), [1, 300, 350]);
    let file = Counting::new(bytes, true);
    let dataset = file.open();
    let options = ReadOptions::new().decode_on(Processor::Cuda(0));
    device();
    let plan = dataset.plan_on_device(0, &options, &context(AMPLE)).unwrap();
    file.taken();
    {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        dataset.read_on_device(0, &options, &context(AMPLE)).unwrap();
    }
    assert!(
        file.taken().into_iter().flatten().map(|range| range.end - range.start).sum::<u64>()
            >= plan.figures().range_bytes
    );
    assert_eq!((plan.figures().ranges, plan.figures().engine_batches), (30, 0));
}

#[test]
fn masks_of_an_image() {
    let frame = FileFrame { order: ByteOrder::Little, big: false, file_order: FileOrder::default() };
    let grid = Grid::Tiles(64, 64);
    let mask = ImageSpec::new(UINT8).grid(grid).codec(Codec::Deflate).photometric(4).subfile_type(4);
    let [pixels, valid] = [(UINT16, 2), (UINT8, 1)]
        .map(|(sample, bands)| Pixels::generate(Pattern::Noise, sample, [bands, 200, 250], 5));
    let bytes = image(Codec::Lzw, grid).build_with(&pixels, &[(mask, valid)], frame).bytes;
    let plans = everywhere("masked", &bytes, &ReadOptions::new().masked(true), AMPLE);
    assert!(plans.iter().all(|plan| plan.memory.scratch == 200 * 250 && plan.masked_by.is_some()));
}

/// Missing by a value, which is placed as NaN, or by alpha; masks as pixels.
#[test]
fn masks_by_nodata_and_by_alpha() {
    let spec = || image(Codec::Deflate, Grid::Tiles(64, 64));
    let nodata = built(&spec().tag(nodata_tag("7")), [2, 200, 250]);
    let alpha = built(&spec().tag(Tag::new(338, Value::Short(vec![2]))), [2, 200, 250]);
    for bytes in [&nodata, &alpha] {
        everywhere("masked", bytes, &ReadOptions::new().masked(true), AMPLE);
        everywhere("mask", bytes, &ReadOptions::new().layer(Layer::Mask), AMPLE);
    }
}

/// An image that is turned by its Orientation, and one that is inverted.
#[test]
fn the_last_step() {
    let spec = image(Codec::Lzw, Grid::Tiles(64, 64));
    let turned = built(&spec.clone().tag(Tag::short(274, 6)), [1, 200, 250]);
    everywhere("turned", &turned, &ReadOptions::new(), AMPLE);
    let inverted = built(&spec.photometric(0), [1, 200, 250]);
    everywhere("inverted", &inverted, &ReadOptions::new(), AMPLE);
}

/// Pixels of 10 m in UTM zone 33.
fn placed(codec: Codec, size: [usize; 3]) -> Vec<u8> {
    let mut spec = image(codec, Grid::Tiles(64, 64)).tag(nodata_tag("7"));
    for tag in geo_tags(32633, (500_000.0, 5_538_630.0), 10.0, false) {
        spec = spec.tag(tag);
    }
    built(&spec, size)
}

/// Web Mercator over these.
fn mercator(width: u32, height: u32) -> OntoGrid {
    let transform = GeoTransform { a: 17.0, b: 0.0, c: 1_669_600.0, d: 0.0, e: -17.0, f: 6_446_500.0 };
    OntoGrid::new(Crs::from_epsg(3857).unwrap(), transform, width, height).unwrap()
}

/// Memory for one worker and not for two; a device with room for small batches only.
#[test]
fn little_memory() {
    let bytes = built(&image(Codec::Deflate, Grid::Tiles(256, 256)), [1, 2048, 2048]);
    let file = Counting::new(bytes, true);
    let dataset = file.open();
    let cpu = ReadOptions::new().decode_on(Processor::Cpu);
    let ample = dataset.plan(&cpu, &context(AMPLE)).unwrap().memory;
    let limit = ample.host - ample.decoding + ample.scratch_per_thread * 3 / 2;
    let planned = |context: &Context| dataset.plan(&cpu, context).unwrap();
    let plan =
        held("one worker", (&[&file], limit, TWICE), planned, |context| dataset.read(&cpu, context).unwrap());
    assert_eq!(plan.memory.decoding, plan.memory.scratch_per_thread);
    device();
    let cuda = ReadOptions::new().decode_on(Processor::Cuda(0)).device_memory(20 << 20);
    let plan = held(
        "small batches",
        (&[&file], AMPLE, TWICE),
        |context| dataset.plan_on_device(0, &cuda, context).unwrap(),
        |context| dataset.read_on_device(0, &cuda, context).unwrap(),
    );
    assert!(plan.figures().engine_batches > 1 && plan.memory.device <= 20 << 20, "{plan}");
}

/// Several batches are staged, two of them in flight.
#[test]
fn staged_batches() {
    device();
    let bytes = built(&ImageSpec::new(UINT8).grid(Grid::Strips(512)), [1, 20 << 10, 4 << 10]);
    let file = Counting::new(bytes, false);
    let dataset = file.open();
    let options = ReadOptions::new().decode_on(Processor::Cpu);
    let plan = held(
        "staged",
        (&[&file], AMPLE, TWICE),
        |context| dataset.plan(&options, context).unwrap(),
        |context| dataset.read(&options, context).unwrap(),
    );
    assert_eq!((plan.figures().batches, plan.memory.staging), (3, 64 << 20));
}

#[test]
fn a_batch_of_files() {
    device();
    for is_local in [true, false] {
        let files: Vec<Counting> = [Codec::Deflate, Codec::Lzw, Codec::None, Codec::Zstd]
            .into_iter()
            .map(|codec| Counting::new(built(&image(codec, Grid::Tiles(64, 64)), [2, 200, 250]), is_local))
            .collect();
        let datasets: Vec<Dataset> = files.iter().map(Counting::open).collect();
        let counted: Vec<&Counting> = files.iter().collect();
        let windows: Vec<BatchWindow> = (0..16)
            .map(|at| BatchWindow::of_pixels(at % 4, at as i64 * 9 - 10, at as i64 * 7, (64, 64)))
            .collect();
        for sized in [None, Some((32, 32))] {
            for engine in ENGINES {
                let mut options = BatchOptions::new().decode_on(engine).sampling(Sampling::Nearest);
                options.size = sized;
                let name = format!("batch, local {is_local}, size {sized:?}");
                // A remote file may hold its answer beside the arena, and these do not.
                let factor = if engine == Processor::Cpu { TWICE } else { 4 };
                held(
                    &name,
                    (&counted, AMPLE, factor),
                    |context| plan_batch(Location::Host, &datasets, &windows, &options, context).unwrap(),
                    |context| read_batch(&datasets, &windows, &options, context).unwrap(),
                );
            }
            let mut options = BatchOptions::new().decode_on(Processor::Cuda(0)).sampling(Sampling::Nearest);
            options.size = sized;
            held(
                "batch on the device",
                (&counted, AMPLE, TWICE),
                |context| plan_batch(Location::Cuda(0), &datasets, &windows, &options, context).unwrap(),
                |context| read_batch_on_device(0, &datasets, &windows, &options, context).unwrap(),
            );
        }
    }
}

/// Files of a mosaic are opened by its path: their bytes are counted by the report of the read. `more` is what the band says
/// besides.
fn mosaic(folder: &std::path::Path, more: &str) -> Vrt {
    mosaic_of(folder, more, "")
}

/// The same with more sources above its own.
fn mosaic_of(folder: &std::path::Path, more: &str, above: &str) -> Vrt {
    let mut sources = String::new();
    for (at, codec) in [Codec::Deflate, Codec::Lzw, Codec::None].into_iter().enumerate() {
        let bytes = placed(codec, [1, 200, 250]);
        std::fs::write(folder.join(format!("{at}.tif")), bytes).unwrap();
        sources += &format!(
            "<SimpleSource><SourceFilename relativeToVRT=\"1\">{at}.tif</SourceFilename><SourceBand>1</SourceBand>\
             <SrcRect xOff=\"0\" yOff=\"0\" xSize=\"250\" ySize=\"200\"/>\
             <DstRect xOff=\"{}\" yOff=\"{}\" xSize=\"250\" ySize=\"200\"/></SimpleSource>",
            at * 200,
            at * 30
        );
    }
    let path = folder.join("mosaic.vrt");
    let band =
        format!("<VRTRasterBand dataType=\"UInt16\" band=\"1\">{more}{sources}{above}</VRTRasterBand>");
    let place = "<SRS>EPSG:32633</SRS><GeoTransform>500000,10,0,5538630,0,-10</GeoTransform>";
    let text = format!("<VRTDataset rasterXSize=\"700\" rasterYSize=\"300\">{place}{band}</VRTDataset>");
    std::fs::write(&path, text).unwrap();
    Vrt::open(&path, &VrtOptions::default()).unwrap()
}

/// One read of a mosaic, by both engines, into host memory and into that of the device. Encoded bytes are exact, too.
fn of_mosaic(name: &str, vrt: &Vrt, options: &ReadOptions) -> Vec<ReadPlan> {
    device();
    let mut plans = Vec::new();
    let read_bytes = std::cell::Cell::new(0);
    let done = |pixels: strile::Pixels| {
        read_bytes.set(pixels.report.encoded_bytes);
        pixels
    };
    for (engine, to) in ENGINES.map(|engine| (engine, None)).into_iter().chain([(ENGINES[1], Some(0))]) {
        // Blocks of files are kept from read to read.
        let options = options.clone().decode_on(engine).cache(Cache::Off);
        let factor = if to.is_none() && engine != Processor::Cpu { 4 } else { TWICE };
        let plan = held(
            &format!("{name}, to {to:?}"),
            (&[], AMPLE, factor),
            |context| match to {
                None => vrt.plan(&options, context).unwrap(),
                Some(device) => vrt.plan_on_device(device, &options, context).unwrap(),
            },
            |context| match to {
                None => done(vrt.read(&options, context).unwrap()),
                Some(device) => done(vrt.read_on_device(device, &options, context).unwrap()),
            },
        );
        assert_eq!(plan.figures().encoded_bytes, read_bytes.get(), "{name}, to {to:?}: {plan}");
        plans.push(plan);
    }
    plans
}

#[test]
fn a_mosaic() {
    let folder = tempfile::tempdir().unwrap();
    let vrt = mosaic(folder.path(), "");
    let mut plans = of_mosaic("copied", &vrt, &ReadOptions::new());
    let masked = mosaic(folder.path(), "<NoDataValue>7</NoDataValue>");
    plans.extend(of_mosaic("copied, masked", &masked, &ReadOptions::new().masked(true)));
    for plan in plans {
        assert!(plan.figures().encoded_bytes > 0 && plan.figures().range_bytes > 0, "{plan}");
    }
}

/// Cancels a call after so many blocks.
struct CancelsAfter {
    cancel: strile::Cancel,
    left: AtomicU64,
}

impl strile::engine::Progress for CancelsAfter {
    fn advance(&self, blocks: u64) {
        let left = self.left.load(Ordering::Relaxed);
        self.left.store(left.saturating_sub(blocks), Ordering::Relaxed);
        if left <= blocks {
            self.cancel.cancel();
        }
    }
}

/// A context that is cancelled after so many blocks.
fn cancelled_after(blocks: u64) -> Context {
    let context = Context { threads: 2.try_into().unwrap(), ..context(AMPLE) };
    let progress = CancelsAfter { cancel: context.cancel.clone(), left: blocks.into() };
    Context { progress: Some(Arc::new(progress)), ..context }
}

/// What is done after a call was cancelled is bounded by what is under way, not by what the plan has left.
#[test]
fn a_cancelled_read_does_little_more() {
    let bytes = built(&image(Codec::None, Grid::Tiles(64, 64)), [1, 1024, 2048]);
    let file = Counting::new(bytes, true);
    let dataset = file.open();
    let cpu = ReadOptions::new().decode_on(Processor::Cpu);
    file.taken();
    let cancelled = |result: strile::Result<strile::Pixels>| {
        assert!(matches!(result, Err(strile::Error::Cancelled)), "it was done before it was cancelled");
    };
    cancelled(dataset.read(&cpu, &cancelled_after(3)));
    let blocks = file.taken().len();
    assert!((3..=3 + 2 * 2).contains(&blocks), "{blocks} of 512 blocks, by two threads");
    // Onto a grid: no row of it is made.
    let onto = Counting::new(placed(Codec::None, [1, 900, 900]), true);
    let scene = onto.open();
    onto.taken();
    let warp = cpu.clone().onto(mercator(600, 600), WarpOptions::new().resampling(WarpSampling::Cubic));
    cancelled(scene.read(&warp, &cancelled_after(3)));
    let blocks = onto.taken().len();
    assert!((3..=3 + 2 * 2).contains(&blocks), "{blocks} blocks, by two threads");
}

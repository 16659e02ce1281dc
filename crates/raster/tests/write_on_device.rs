//! Writing on a device: with `reproducible` the bytes of the CPU, streamed as eager, from host memory and from the device's,
//! whichever the codec, the shape and the sink; read back by both engines.
//!
//! The device is the stand-in, which runs the real kernels by emulation; with `STRILE_REQUIRE_GPU=1` it is the first
//! GPU. Emulated kernels are slow: rasters are small.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking, and its numbers are small"
)]

use std::ffi::{c_int, c_void};
use std::io::Write;
use std::sync::{Arc, Mutex, OnceLock};
use strile::convert::LoadedImage;
use strile::io::{FileSink, MemorySink, MemorySource, Sink, StreamSink};
use strile::read::Interleave;
use strile::tiff::Planar;
use strile::tiff::gdal::NoData;
use strile::tiff::{SampleFormat, SampleType};
use strile::write::{
    BlockChoice, Format, Overviews, PartAddress, PartBytes, PartTarget, Parts, Piece, WriteReport,
};
use strile::{
    Compression, Context, ConvertOptions, Dataset, Location, OpenOptions, Processor, RasterSpec, ReadOptions,
    Resampling, Result, Window, WriteOptions, Writer,
};
use testkit::{Pattern, Pixels};

/// Puts the stand-in in the place of the driver, once.
fn device() -> Processor {
    static READY: OnceLock<()> = OnceLock::new();
    READY.get_or_init(|| {
        if std::env::var_os("STRILE_REQUIRE_GPU").is_none_or(|value| value != "1") {
            strile_emulate::StandIn::load().unwrap();
        }
    });
    Processor::Cuda(0)
}

const TILES: BlockChoice = BlockChoice::Tiles { width: 32, height: 16 };
const CODECS: [Compression; 6] = [
    Compression::None,
    Compression::Deflate,
    Compression::Zstd,
    Compression::Lzw,
    Compression::PackBits,
    Compression::Lz4,
];

/// A raster to write.
struct Case {
    spec: RasterSpec,
    pixels: Pixels,
    mask: Option<Vec<u8>>,
    options: WriteOptions,
    /// The same pixels in a file, from which a device has them.
    stored: Dataset,
}

/// In whose memory pieces are.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Memory {
    Host,
    Device,
}

fn pixels(format: SampleFormat, bits: u16, bands: usize) -> Pixels {
    Pixels::generate(Pattern::Dem, SampleType { format, bits }, [bands, 45, 70], 7)
}

fn open(bytes: Vec<u8>) -> Dataset {
    Dataset::from_source(Arc::new(MemorySource::new("written", bytes)), &OpenOptions::default()).unwrap()
}

impl Case {
    fn new(pixels: Pixels, options: WriteOptions) -> Self {
        let (width, height) = (pixels.width as u32, pixels.height as u32);
        let spec = RasterSpec::new(width, height, pixels.bands as u16, pixels.data_type);
        let plain = WriteOptions::new().compression(Compression::None);
        let sink = MemorySink::new();
        let handle = sink.handle();
        let mut writer = Writer::create(Box::new(sink), spec.clone(), &plain, &Context::default()).unwrap();
        let window = Window::new(0, 0, width, height);
        let first = Interleave::BandFirst;
        let piece = Piece::contiguous(window, spec.bands, spec.data_type, first, &pixels.bytes).unwrap();
        writer.write(&piece).unwrap();
        writer.finish().unwrap();
        let stored = open(handle.take().unwrap().bytes);
        let options = options.reproducible(true).blocks(TILES);
        Self { spec, pixels, mask: None, options, stored }
    }

    /// The file, in pieces of so many rows.
    fn write(&self, by: Processor, memory: Memory, rows: u32, buffer: Option<u64>) -> Vec<u8> {
        let sink = MemorySink::new();
        let handle = sink.handle();
        self.write_to(Box::new(sink), by, memory, rows, buffer).unwrap();
        handle.take().unwrap().bytes
    }

    fn write_to(
        &self,
        sink: Box<dyn Sink>,
        by: Processor,
        memory: Memory,
        rows: u32,
        buffer: Option<u64>,
    ) -> Result<WriteReport> {
        let options = self.options.clone().encode_on(by).buffer(buffer);
        let RasterSpec { width, height, bands, data_type, .. } = self.spec;
        let mut writer = Writer::create(sink, self.spec.clone(), &options, &Context::default())?;
        for (y, interleave) in (0..height)
            .step_by(rows as usize)
            .zip([Interleave::BandFirst, Interleave::BandLast].into_iter().cycle())
        {
            let window = Window::new(0, y, width, rows.min(height - y));
            let read = ReadOptions::new().window(window).interleave(interleave);
            let cells =
                width as usize * window.row as usize..width as usize * (window.row + window.height) as usize;
            let mask = self.mask.as_ref().map(|mask| &mask[cells]);
            let held;
            let mut piece = match memory {
                Memory::Device => {
                    let raster = self.stored.read_on_device(0, &read, &Context::default())?;
                    let bytes = raster.device_bytes().cloned().unwrap();
                    Piece::on_device(window, raster.spec().unwrap(), bytes)
                }
                Memory::Host => {
                    held = self.stored.read(&read.decode_on(Processor::Cpu), &Context::default())?;
                    Piece::contiguous(window, bands, data_type, interleave, held.bytes().unwrap()).unwrap()
                }
            };
            if let Some(mask) = mask {
                piece = piece.with_mask(mask);
            }
            writer.write(&piece)?;
        }
        writer.finish()
    }

    /// The CPU's file; every way of writing it on the device gives the same.
    fn check(&self, name: &str) -> Vec<u8> {
        let all = self.spec.height;
        let expected = self.write(Processor::Cpu, Memory::Host, all, None);
        let ways = [
            (Memory::Device, all, None),
            (Memory::Device, all, Some(1 << 14)),
            (Memory::Host, 7, Some(1 << 14)),
            (Memory::Device, 19, Some(1 << 18)),
            (Memory::Device, 16, Some(1)),
        ];
        for (memory, rows, buffer) in ways {
            let found = self.write(device(), memory, rows, buffer);
            assert!(found == expected, "{name}: {memory:?} in {rows} rows with {buffer:?} gives other bytes");
        }
        expected
    }

    /// Both engines read the pixels.
    fn read_back(&self, name: &str, file: Vec<u8>) {
        let written = open(file);
        for by in [Processor::Cpu, device()] {
            let read = ReadOptions::new().decode_on(by);
            let found = written.read(&read, &Context::default()).unwrap();
            assert!(found.bytes().unwrap() == self.pixels.bytes, "{name}: {by:?} reads other pixels");
        }
    }
}

#[test]
fn every_codec_is_the_cpus_byte_for_byte() {
    for compression in CODECS {
        for (format, bits, bands) in [(SampleFormat::Uint, 8, 3), (SampleFormat::Float, 32, 1)] {
            let name = format!("{compression:?}, {format:?} {bits}");
            let options = WriteOptions::new().compression(compression);
            let case = Case::new(pixels(format, bits, bands), options);
            let file = case.check(&name);
            case.read_back(&name, file);
        }
    }
}

#[test]
fn levels_are_the_cpus() {
    for (compression, level) in [
        (Compression::Deflate, 1),
        (Compression::Deflate, 9),
        (Compression::Zstd, 1),
        (Compression::Zstd, 19),
    ] {
        let options = WriteOptions::new().compression(compression).level(level);
        let case = Case::new(pixels(SampleFormat::Uint, 16, 1), options);
        case.check(&format!("{compression:?} {level}"));
    }
}

/// Samples of 7 bits are packed by the host; the device's encoders have one name, and so one kind of bytes.
#[test]
fn what_the_host_encodes_for_a_device_is_portable_too() {
    let mut case = Case::new(
        pixels(SampleFormat::Uint, 8, 1),
        WriteOptions::new().compression(Compression::Deflate).bits(7),
    );
    case.pixels.bytes.iter_mut().for_each(|sample| *sample &= 127);
    case = Case::new(case.pixels, case.options);
    let cpu = case.write(Processor::Cpu, Memory::Host, 45, None);
    case.options.reproducible = false;
    assert!(case.write(device(), Memory::Device, 45, None) == cpu);
    assert!(case.write(Processor::Cpu, Memory::Host, 45, None) != cpu, "the CPU has a faster one");
}

#[test]
fn strips_planes_and_big_endian() {
    let options = WriteOptions::new().planar(Planar::Separate).byte_order(strile::tiff::ByteOrder::Big);
    let mut case = Case::new(pixels(SampleFormat::Float, 64, 2), options);
    case.options.blocks = BlockChoice::Strips { rows: 11 };
    let file = case.check("strips");
    case.read_back("strips", file);
}

#[test]
fn holes_of_nan_and_blocks_of_nothing() {
    let options = WriteOptions::new().nan_to_nodata(true).sparse(true);
    let mut case = Case::new(pixels(SampleFormat::Float, 32, 1).with_nan_holes(), options);
    case.spec.metadata.nodata = Some(NoData::Integer(-9999));
    case.check("holes");
}

#[test]
fn cloud_optimized_files_are_reduced_on_the_device() {
    for resampling in [Resampling::Average, Resampling::Nearest, Resampling::Cubic, Resampling::Mode] {
        // PackBits is the cheapest to emulate; the test is about reducing.
        let options =
            WriteOptions::new().format(Format::Cog).compression(Compression::PackBits).resampling(resampling);
        let mut case = Case::new(pixels(SampleFormat::Uint, 16, 1), options);
        case.spec.metadata.nodata = Some(NoData::Integer(7));
        let file = case.check(resampling.name());
        case.read_back(resampling.name(), file);
    }
}

/// An array that is on the device is given at once: its overviews stay there until the smallest is known, and nothing waits in
/// a spool. Tiles of a level are put together by one launch, however many there are.
#[test]
fn overviews_of_an_array_on_the_device_wait_in_no_spool() {
    if !alone("overviews_of_an_array_on_the_device_wait_in_no_spool") {
        return;
    }
    let options = WriteOptions::new().format(Format::Cog).compression(Compression::PackBits);
    let case = Case::new(pixels(SampleFormat::Uint, 16, 1), options);
    let all = case.spec.height;
    let expected = case.write(Processor::Cpu, Memory::Host, all, None);
    let device = device();
    let write = |rows: u32, buffer: Option<u64>| {
        let sink = MemorySink::new();
        let handle = sink.handle();
        let report = case.write_to(Box::new(sink), device, Memory::Device, rows, buffer).unwrap();
        assert!(handle.take().unwrap().bytes == expected, "in {rows} rows with {buffer:?}");
        report.spooled
    };
    let emulated = std::env::var_os("STRILE_REQUIRE_GPU").is_none_or(|value| value != "1");
    let log = || if emulated { strile_emulate::StandIn::load().unwrap().calls() } else { Vec::new() };
    drop(log());
    assert_eq!(write(all, None), 0);
    let assembled = log().iter().filter(|call| call.fact("kernel") == Some("assemble")).count();
    // Two levels are put together, of four tiles and of one.
    assert!(!emulated || (1..=3).contains(&assembled), "{assembled} launches");
    assert!(write(16, None) > 0, "pieces are not given twice");
    assert!(write(all, Some(1)) > 0, "there is no memory to keep overviews in");
}

/// Levels that are made and not stored are reduced on the device like others, and never encoded.
#[test]
fn levels_that_are_left_out_are_only_reduced() {
    for (resampling, format) in [(Resampling::Average, Format::GeoTiff), (Resampling::Cubic, Format::Cog)] {
        let options = WriteOptions::new()
            .format(format)
            .compression(Compression::PackBits)
            .resampling(resampling)
            .overviews(Overviews::factors(&[4]).unwrap());
        let file = Case::new(pixels(SampleFormat::Uint, 16, 1), options).check(resampling.name());
        let dataset = open(file);
        let levels = dataset.pages()[0].levels.iter().map(|level| (level.image.width, level.image.height));
        assert_eq!(levels.collect::<Vec<_>>(), [(70, 45), (18, 12)]);
    }
}

#[test]
fn masks_go_along() {
    let options = WriteOptions::new().format(Format::Cog);
    let mut case = Case::new(pixels(SampleFormat::Uint, 8, 3), options);
    case.spec.mask = true;
    let cells = case.spec.width * case.spec.height;
    case.mask = Some((0..cells).map(|cell| if cell % 70 / 9 % 3 == 0 { 0 } else { 255 }).collect());
    case.check("mask");
}

/// Parts of a raster of one band, encoded by turns on the device and on the CPU, and what they hand on.
fn in_parts(case: &Case) -> Vec<u8> {
    let by = |encode_on| case.options.clone().encode_on(encode_on);
    let plan = |device| Parts::new(case.spec.clone(), &by(device), (32, 32)).unwrap();
    let (context, sample) = (Context::default(), case.spec.data_type.size());
    let engines = [plan(device()), plan(Processor::Cpu)];
    let sink = MemorySink::new();
    let handle = sink.handle();
    let mut assembly = engines[1].assemble(Box::new(sink), &context).unwrap();
    let mut level = case.pixels.bytes.clone();
    for (number, tier) in engines[1].tiers().iter().enumerate() {
        let halved = |side: u32| side.div_ceil(1 << tier.levels) as usize;
        let row = halved(tier.image.0) * sample;
        let mut above = vec![0; row * halved(tier.image.1)];
        for at in (0..tier.rows * tier.columns).map(|at| (at / tier.columns, at % tier.columns)) {
            let parts = &engines[(at.0 + at.1) as usize % 2];
            let at = PartAddress { tier: number as u32, row: at.0, column: at.1 };
            let need = parts.part(at).unwrap().need;
            let mut writer = parts.encode(at, PartTarget::Memory, &context).unwrap();
            let host = writer.location() == Some(Location::Host) || number > 0;
            if host {
                let stride = tier.image.0 as usize * sample;
                let first = need.row as usize * stride + need.column as usize * sample;
                let rows = (0..need.height as usize).map(|y| first + y * stride);
                let cut: Vec<u8> =
                    rows.flat_map(|at| level[at..at + need.width as usize * sample].to_vec()).collect();
                let first = Interleave::BandFirst;
                writer.write(&Piece::contiguous(need, 1, case.spec.data_type, first, &cut).unwrap()).unwrap();
            } else {
                let read = ReadOptions::new().window(need).decode_on(device());
                let raster = case.stored.read_on_device(0, &read, &context).unwrap();
                let bytes = raster.device_bytes().cloned().unwrap();
                writer.write(&Piece::on_device(need, raster.spec().unwrap(), bytes)).unwrap();
            }
            let part = writer.finish().unwrap();
            if let Some(beyond) = &part.beyond {
                let wide = beyond.window.width as usize * sample;
                for (y, line) in beyond.pixels.chunks(wide).enumerate() {
                    let at = (beyond.window.row as usize + y) * row + beyond.window.column as usize * sample;
                    above[at..at + wide].copy_from_slice(line);
                }
            }
            let records = PartBytes::Memory(Arc::new(part.records.unwrap()));
            assembly.add(&engines[1], at, &part.index, records).unwrap();
        }
        level = above;
    }
    assembly.lay_out().unwrap();
    assembly.commit().unwrap();
    handle.take().unwrap().bytes
}

#[test]
fn parts_of_both_engines_make_one_file() {
    for resampling in [Resampling::Average, Resampling::Cubic] {
        let options = WriteOptions::new()
            .format(Format::Cog)
            .compression(Compression::PackBits)
            .resampling(resampling)
            .overviews(Overviews::Count(3));
        let case = Case::new(pixels(SampleFormat::Uint, 16, 1), options);
        let expected = case.write(Processor::Cpu, Memory::Host, case.spec.height, None);
        assert!(in_parts(&case) == expected, "{resampling:?}");
    }
}

/// What takes bytes and nothing else.
#[derive(Clone, Default)]
struct Pipe(Arc<Mutex<Vec<u8>>>);

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn every_sink_gets_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("written.tif");
    for format in [Format::GeoTiff, Format::Cog] {
        let options = WriteOptions::new().format(format).spooled(true);
        let case = Case::new(pixels(SampleFormat::Uint, 8, 1), options);
        let expected = case.write(Processor::Cpu, Memory::Host, case.spec.height, None);
        let sink = FileSink::create(&path, true).unwrap();
        case.write_to(Box::new(sink), device(), Memory::Device, 13, Some(1 << 14)).unwrap();
        assert!(std::fs::read(&path).unwrap() == expected, "{format:?}: a file");
        let pipe = Pipe::default();
        let sink = StreamSink::new("pipe", pipe.clone());
        case.write_to(Box::new(sink), device(), Memory::Device, 13, Some(1 << 14)).unwrap();
        assert!(*pipe.0.lock().unwrap() == expected, "{format:?}: a pipe");
    }
}

#[test]
fn an_image_on_the_device_is_written_as_it_is_stored() {
    let case = Case::new(pixels(SampleFormat::Uint, 16, 1), WriteOptions::default());
    let input = open(case.write(Processor::Cpu, Memory::Host, case.spec.height, None));
    let mut options = ConvertOptions::like(&input, Format::GeoTiff).unwrap();
    (options.read.execution.decode_on, options.write.encode_on) = (device(), device());
    options.write.reproducible = true;
    let image = LoadedImage::read(&input, &options, Location::Cuda(0), &Context::default()).unwrap();
    assert_eq!((image.location(), image.bytes()), (Location::Cuda(0), case.pixels.bytes.len() as u64));
    let sink = MemorySink::new();
    let handle = sink.handle();
    let written = image.write(Box::new(sink), &Context::default()).unwrap();
    assert_eq!((written.engine.as_str(), written.encoder.as_str()), ("cuda:0", "portable-1"));
    let file = handle.take().unwrap().bytes;
    assert_eq!(written.report.file_len, file.len() as u64);
    assert!(image.is_in(&open(file), &Context::default()).unwrap());
}

#[test]
fn a_device_that_fails_leaves_no_file() {
    if !alone("a_device_that_fails_leaves_no_file") {
        return;
    }
    if std::env::var_os("STRILE_REQUIRE_GPU").is_some_and(|value| value == "1") {
        return;
    }
    let case = Case::new(pixels(SampleFormat::Uint, 16, 1), WriteOptions::default());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("written.tif");
    let device = device();
    strile_emulate::StandIn::load().unwrap().set("fail=cuLaunchKernel:4:700");
    let sink = FileSink::create(&path, false).unwrap();
    let error = case.write_to(Box::new(sink), device, Memory::Host, 7, Some(1 << 14)).unwrap_err();
    assert!(error.to_string().contains("700"), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Orders to the stand-ins are for the whole process, so tests that give some run in one of their own: whether this is it.
fn alone(test: &str) -> bool {
    const MARK: &str = "STRILE_TEST_ALONE";
    if std::env::var_os(MARK).is_some() {
        return true;
    }
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    let ended = command.args([test, "--exact", "--nocapture"]).env(MARK, "1").output().unwrap();
    let said = [ended.stdout, ended.stderr].map(|said| String::from_utf8_lossy(&said).into_owned()).concat();
    assert!(ended.status.success(), "{test}, in a process of its own:\n{said}");
    false
}

/// Loads the stand-in for nvCOMP; `None` on a device, where it is what is installed.
fn nvcomp() -> Option<&'static strile_emulate::StandIn> {
    extern "C" fn refuses(
        _codec: c_int,
        _src: *const c_void,
        _src_len: usize,
        _dst: *mut c_void,
        _room: usize,
        _written: *mut usize,
    ) -> c_int {
        12
    }
    device();
    if std::env::var_os("STRILE_REQUIRE_GPU").is_some_and(|value| value == "1") {
        eprintln!("skipped: a device is required, and this is about the stand-ins");
        return None;
    }
    strile_emulate::load_nvcomp(6000, refuses).unwrap();
    Some(strile_emulate::StandIn::load().unwrap())
}

fn by_nvcomp(compression: Compression, effort: u8) -> Case {
    let options = WriteOptions::new().compression(compression).nvcomp_effort(effort);
    let mut case = Case::new(pixels(SampleFormat::Uint, 16, 1), options);
    case.options.reproducible = false;
    case
}

#[test]
fn nvcomp_compresses_where_it_is_asked_for() {
    if !alone("nvcomp_compresses_where_it_is_asked_for") {
        return;
    }
    let Some(standin) = nvcomp() else { return };
    let calls = [
        (Compression::Deflate, 0, "nvcompBatchedDeflateCompressAsync"),
        (Compression::Deflate, 5, "nvcompBatchedDeflateCompressAsync"),
        (Compression::Zstd, 0, "nvcompBatchedZstdCompressAsync"),
    ];
    for (compression, effort, call) in calls {
        let name = format!("{compression:?} by nvCOMP, effort {effort}");
        let case = by_nvcomp(compression, effort);
        standin.calls();
        let file = case.write(device(), Memory::Device, 45, None);
        let made = standin.calls();
        assert!(made.iter().all(|call| call.name != "!"), "{name}: misuse");
        let compressed: Vec<_> = made.iter().filter(|made| made.name == call).collect();
        let [one] = compressed.as_slice() else { panic!("{name}: {} calls", compressed.len()) };
        assert_eq!(one.fact("count"), Some("9"), "{name}: all blocks in one");
        assert_eq!(one.fact("effort"), Some(effort.to_string().as_str()), "{name}");
        for (memory, rows, buffer) in [(Memory::Host, 7, Some(1 << 14)), (Memory::Device, 16, Some(1))] {
            assert!(case.write(device(), memory, rows, buffer) == file, "{name}: streamed gives other bytes");
        }
        case.read_back(&name, file);
    }
}

/// Overviews, a mask, sparse blocks and strips whose last is short.
#[test]
fn nvcomp_takes_every_shape() {
    if !alone("nvcomp_takes_every_shape") {
        return;
    }
    if nvcomp().is_none() {
        return;
    }
    let mut cog = by_nvcomp(Compression::Deflate, 1);
    cog.options.format = Format::Cog;
    cog.spec.mask = true;
    cog.mask = Some((0..45 * 70).map(|i| u8::from(i % 7 != 0)).collect());
    let mut strips = by_nvcomp(Compression::Zstd, 0);
    strips.options.blocks = BlockChoice::Strips { rows: 19 };
    let mut sparse = by_nvcomp(Compression::Deflate, 2);
    sparse.options.sparse = true;
    sparse.pixels.bytes.iter_mut().take(70 * 2 * 16).for_each(|byte| *byte = 0);
    let sparse = {
        let options = sparse.options.clone();
        let mut case = Case::new(sparse.pixels, options);
        case.options.reproducible = false;
        case
    };
    for (name, case) in [("cog", cog), ("strips", strips), ("sparse", sparse)] {
        let file = case.write(device(), Memory::Device, 45, None);
        assert!(case.write(device(), Memory::Device, 16, Some(1)) == file, "{name}: streamed");
        case.read_back(name, file);
    }
}

#[test]
fn what_nvcomp_cannot_is_refused_before_anything_is_written() {
    if !alone("what_nvcomp_cannot_is_refused_before_anything_is_written") {
        return;
    }
    let refusal = |case: &Case, by: Processor| {
        let sink = MemorySink::new();
        let refused = case.write_to(Box::new(sink), by, Memory::Host, 45, None);
        refused.expect_err("it cannot").to_string()
    };
    let deflate = || by_nvcomp(Compression::Deflate, 2);
    if std::env::var_os("STRILE_REQUIRE_GPU").is_none_or(|value| value != "1") {
        // No library yet.
        let error = refusal(&deflate(), device());
        assert!(error.contains("no nvCOMP: `libnvcomp.so.6`"), "{error}");
    }
    let error = refusal(&deflate(), Processor::Cpu);
    assert!(error.contains("`nvcomp` encodes on a GPU, not on the CPU"), "{error}");
    for (compression, effort, most) in [(Compression::Deflate, 6, 5), (Compression::Zstd, 1, 0)] {
        let error = refusal(&by_nvcomp(compression, effort), device());
        let name = compression.name();
        let told = format!("expected an nvCOMP effort from 0 to {most} for {name}, got {effort}");
        assert!(error.contains(&told), "{error}");
    }
    let error = refusal(&by_nvcomp(Compression::Lzw, 0), device());
    assert!(error.contains("nvCOMP does not write lzw here"), "{error}");
    let mut case = deflate();
    case.options.reproducible = true;
    assert!(refusal(&case, device()).contains("reproducible"));
    let mut case = deflate();
    case.options.level = Some(6);
    assert!(refusal(&case, device()).contains("leave the level out"));
    let Some(standin) = nvcomp() else { return };
    // A chunk that it does not compress, and a call that fails: errors of the job, with no file.
    standin.set("fail=nvcompChunk:3:12");
    let error = refusal(&deflate(), device());
    assert!(error.contains("in state 1"), "{error}");
    standin.set("fail=nvcompBatchedDeflateCompressAsync:1:21");
    let error = refusal(&deflate(), device());
    assert!(error.contains("batch too large"), "{error}");
}

//! Files of a batch, their pixels as single reads give them, and the device.

use crate::sources::{open, open_bucket};
use std::sync::{Arc, OnceLock};
use strile::batch::{BatchWindow, read_batch_on_device};
use strile::read::Area;
use strile::tiff::{ByteOrder, SampleFormat, SampleType};
use strile::{BatchOptions, Context, Dataset, Processor, ReadOptions, read_batch};
use testkit::{Codec, FileFrame, FileOrder, Grid, ImageSpec, Pattern, Pixels, Random, nodata_tag};

pub const UINT16: SampleType = SampleType { format: SampleFormat::Uint, bits: 16 };

/// Whether tests run on the stand-in driver instead of a GPU.
pub fn is_stand_in() -> bool {
    std::env::var_os("STRILE_REQUIRE_GPU").is_none_or(|value| value != "1")
}

/// Puts the stand-in in the place of the driver, once.
pub fn device() -> Processor {
    static READY: OnceLock<()> = OnceLock::new();
    READY.get_or_init(|| {
        if is_stand_in() {
            strile_emulate::StandIn::load().unwrap();
        }
    });
    Processor::Cuda(0)
}

/// An image of three bands, 150 columns and 110 rows, with one overview.
pub fn spec(codec: Codec) -> ImageSpec {
    ImageSpec::new(UINT16).grid(Grid::Tiles(64, 48)).codec(codec)
}

pub fn bytes_of(spec: &ImageSpec, seed: u64) -> Vec<u8> {
    let full = Pixels::generate(Pattern::Noise, spec.sample, [3, 110, 150], seed);
    let reduced = ImageSpec { subfile_type: 1, sparse: vec![], ..spec.clone() };
    let order = if seed.is_multiple_of(2) { ByteOrder::Little } else { ByteOrder::Big };
    let frame = FileFrame { order, big: seed.is_multiple_of(3), file_order: FileOrder::default() };
    spec.build_with(&full, &[(reduced, full.halved())], frame).bytes
}

/// Files of every codec that a device decodes and of one that it does not, tiles and strips, planes together and apart,
/// with blocks that are not stored.
pub fn bytes_of_files() -> Vec<Vec<u8>> {
    let codecs = [
        Codec::None,
        Codec::PackBits,
        Codec::Lzw,
        Codec::Deflate,
        Codec::Zstd,
        Codec::Lz4,
        Codec::Lzma,
        Codec::Deflate,
        Codec::Lzw,
    ];
    let file = |(seed, codec): (u64, Codec)| {
        let mut spec = spec(codec).planar(seed % 4 == 3).sparse(&[2, 5]).tag(nodata_tag("7"));
        if seed > 6 {
            spec = spec.grid(Grid::Strips(20));
        }
        bytes_of(&spec, seed)
    };
    (0..).zip(codecs).map(file).collect()
}

pub fn files() -> Vec<Arc<Dataset>> {
    bytes_of_files().iter().map(|bytes| Arc::new(open(bytes))).collect()
}

/// The same files, where no thread can read them at once.
pub fn buckets() -> Vec<Arc<Dataset>> {
    bytes_of_files().iter().map(|bytes| Arc::new(open_bucket(bytes).1)).collect()
}

/// A window of any file and level, over the edge more often than not.
pub fn any_window(random: &mut Random, files: &[Arc<Dataset>], size: (u32, u32)) -> BatchWindow {
    let file = random.below(files.len());
    let level = [0, 0, 1][random.below(3)];
    let (x, y) = (random.below(220) as i64 - 60, random.below(180) as i64 - 50);
    BatchWindow::of_pixels(file, x, y, size).level(level)
}

/// The whole of the level that a window is of.
pub fn whole(files: &[Arc<Dataset>], window: &BatchWindow, options: &BatchOptions) -> strile::Pixels {
    let mut options = ReadOptions::new()
        .page(window.page)
        .level(window.level)
        .masked(options.meaning.masked)
        .unpack(options.meaning.unpack)
        .float_type(options.meaning.float_type)
        .decode_on(Processor::Cpu);
    options.place.bands.clone_from(&window.bands);
    files[window.file].read(&options, &Context::default()).unwrap()
}

/// What a window must hold: the crop of the whole, and `fill` around it.
pub fn expected(whole: &strile::Pixels, window: &BatchWindow, fill: &[u8]) -> Vec<u8> {
    expected_of(whole, (whole.bytes().unwrap(), whole.data_type.size()), window, fill)
}

/// The same of a whole whose samples, of this size, were changed.
pub fn expected_of(
    whole: &strile::Pixels,
    (bytes, size): (&[u8], usize),
    window: &BatchWindow,
    fill: &[u8],
) -> Vec<u8> {
    let Area::Pixels { column: x, row: y, width, height } = window.area else { panic!("of pixels") };
    let mut pixels = Vec::new();
    for band in 0..i64::from(whole.bands) {
        for row in y..y + i64::from(height) {
            for column in x..x + i64::from(width) {
                let inside = (0..i64::from(whole.rows)).contains(&row)
                    && (0..i64::from(whole.columns)).contains(&column);
                let at = (band * i64::from(whole.rows) + row) * i64::from(whole.columns) + column;
                let at = if inside { at as usize * size } else { 0 };
                pixels.extend_from_slice(if inside { &bytes[at..at + size] } else { &fill[..size] });
            }
        }
    }
    pixels
}

/// A batch by both engines, into host memory and that of a GPU: all the same, and so is this.
pub fn by_both(
    files: &[Arc<Dataset>],
    windows: &[BatchWindow],
    options: &BatchOptions,
) -> (strile::Pixels, Vec<u8>) {
    let context = Context::default();
    let cpu = options.clone().decode_on(Processor::Cpu);
    let seen = read_batch(files, windows, &cpu, &context).unwrap();
    let pixels = seen.bytes().unwrap().to_vec();
    let cuda = options.clone().decode_on(device());
    let there = read_batch_on_device(0, files, windows, &cuda, &context).unwrap();
    assert_eq!(there.location(), strile::Location::Cuda(0));
    assert_eq!((there.shape(), &there.faults), (seen.shape(), &seen.faults));
    assert_eq!(
        first_difference(&pixels, &there.into_host(&context).unwrap().into_bytes().unwrap()),
        None,
        "device"
    );
    let copied = read_batch_on_device(0, files, windows, &cpu, &context).unwrap();
    assert_eq!(copied.location(), strile::Location::Cuda(0));
    assert_eq!(
        first_difference(&pixels, &copied.into_host(&context).unwrap().into_bytes().unwrap()),
        None,
        "copied to the device"
    );
    let back = read_batch(files, windows, &cuda, &context).unwrap();
    assert_eq!(back.location(), strile::Location::Host);
    assert_eq!(
        first_difference(&pixels, &back.into_host(&context).unwrap().into_bytes().unwrap()),
        None,
        "host"
    );
    (seen, pixels)
}

/// Short where it fails: tensors are long.
pub fn first_difference(a: &[u8], b: &[u8]) -> Option<usize> {
    if a.len() != b.len() {
        return Some(a.len().min(b.len()));
    }
    a.iter().zip(b).position(|(a, b)| a != b)
}

//! Files that ask for implausibly much are refused by every way to read them, with one error that names the option
//! which raises the limit; and nothing panics where the system has no more threads.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

use std::path::Path;
use std::sync::Arc;
use strile::batch::{BatchWindow, plan_batch, write_header_index};
use strile::compare::CompareOptions;
use strile::convert::Conversion;
use strile::engine::Budget;
use strile::error::Limited;
use strile::io::MemorySink;
use strile::overview::{OverviewOptions, add_overviews};
use strile::read::PieceLimits;
use strile::tiff::{ByteOrder, SampleFormat, SampleType};
use strile::vrt::VrtOptions;
use strile::{
    BatchOptions, Context, ConvertOptions, Dataset, Error, Input, Layer, Location, OpenOptions, Processor,
    ReadOptions, Vrt, Window,
};
use testkit::{Codec, Grid, ImageSpec, Pattern, Pixels, Tag};

const UINT8: SampleType = SampleType { format: SampleFormat::Uint, bits: 8 };
const SIDE: u32 = 60_000;
const SAMPLES: u64 = SIDE as u64 * SIDE as u64;

/// Enough for any plan, and for no large result.
fn context() -> Context {
    Context { budget: Arc::new(Budget::new(64 << 20)), ..Context::default() }
}

/// An image of 60,000 × 60,000 pixels in some hundred kilobytes: all tiles of it are left out.
fn large(folder: &Path) -> std::path::PathBuf {
    let pixels = Pixels::generate(Pattern::Noise, UINT8, [1, 16, 16], 1);
    let spec = ImageSpec::new(UINT8).grid(Grid::Tiles(16, 16)).codec(Codec::Deflate).sparse(&[0]);
    let tiles = |tag: u16| Tag::long(tag, 512);
    let spec = spec.tag(Tag::long(256, SIDE)).tag(Tag::long(257, SIDE)).tag(tiles(322)).tag(tiles(323));
    let path = folder.join("large.tif");
    std::fs::write(&path, spec.build(&pixels, ByteOrder::Little, false).bytes).unwrap();
    path
}

/// The refusal of what the result is larger than.
fn refusal<T>(result: Result<T, Error>, what: &str) -> String {
    let error = result.err().unwrap_or_else(|| panic!("{what} is not refused"));
    let within = match &error {
        Error::Window { error, .. } => error.as_ref(),
        error => error,
    };
    assert!(matches!(within, Error::Limit { limited: Limited::Pixels, .. }), "{what}: {error:?}");
    error.to_string()
}

/// Limits were those of `dump`, `convert` and Python's `open_geotiff` alone: a megabyte became 9.6 GB by other ways.
#[test]
fn every_way_to_read_has_the_same_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = large(folder.path());
    let (file, context) = (Dataset::open(&path).unwrap(), context());
    let with = |max_pixels| {
        let mut options = ReadOptions::new().decode_on(Processor::Cpu);
        options.execution.max_pixels = max_pixels;
        options
    };
    let compare = |max_pixels| {
        let mut options = CompareOptions::new().decode_on(Processor::Cpu);
        options.max_pixels = max_pixels;
        file.compare(&Dataset::open(&path).unwrap(), &options, &context).map(drop)
    };
    let convert = |max_pixels| {
        let options = ConvertOptions::new().read(with(max_pixels));
        let input = Input::open(&path, &OpenOptions::default()).unwrap();
        Conversion::plan(&input, Box::new(MemorySink::new()), &options, &context).map(drop)
    };
    let batch = |max_pixels| {
        let mut options = BatchOptions::new().decode_on(Processor::Cpu);
        options.execution.max_pixels = max_pixels;
        plan_batch(
            Location::Host,
            &[&file],
            &[BatchWindow::of_pixels(0, 0, 0, (SIDE, SIDE))],
            &options,
            &context,
        )
        .map(drop)
    };
    let overviews = |max_pixels| {
        let options = OverviewOptions::new().max_pixels(max_pixels).external(true);
        add_overviews(&path, &options, &context).map(drop)
    };
    let mask = |max_pixels| file.read(&with(max_pixels).layer(Layer::Mask), &context).map(drop);
    let pieces = |max_pixels| file.pieces(&with(max_pixels), &PieceLimits::default(), &context).map(drop);
    type Door<'a> = (&'a str, &'a dyn Fn(Option<u64>) -> Result<(), Error>);
    let doors: [Door<'_>; 9] = [
        ("read", &|max| file.read(&with(max), &context).map(drop)),
        ("read_on_device", &|max| file.read_on_device(0, &with(max), &context).map(drop)),
        ("plan", &|max| file.plan(&with(max), &context).map(drop)),
        ("mask", &mask),
        ("pieces", &pieces),
        ("batch", &batch),
        ("convert", &convert),
        ("compare", &compare),
        ("overviews", &overviews),
    ];
    for (name, door) in doors {
        let refused = refusal(door(None), name);
        assert!(
            refused.contains("decodes to 3.4 GiB, more than 1024 times the size of the file"),
            "{refused}"
        );
        assert!(refused.contains("set `max_pixels` to 3600000000 or more, or read a window"), "{refused}");
        let refused = refusal(door(Some(SAMPLES - 1)), name);
        assert!(refused.contains("cannot read 3600000000 samples: `max_pixels` is 3599999999"), "{refused}");
        // Allowed: what is left to refuse is the budget's.
        if !["compare", "overviews"].contains(&name)
            && let Err(error) = door(Some(SAMPLES))
        {
            assert!(matches!(error, Error::Memory { .. }), "{name}: {error}");
        }
    }
    let window = Some(Window::new(59_000, 59_000, 100, 100));
    let part = file.read(&with(None).window(window), &context).unwrap();
    assert!(part.bytes().unwrap().iter().all(|&pixel| pixel == 0));
}

/// A few words of XML may state any size, too.
#[test]
fn mosaics_are_held_against_their_sources() {
    let folder = tempfile::tempdir().unwrap();
    let context = context();
    let mosaic = |band: &str| {
        let text = format!(
            "<VRTDataset rasterXSize=\"{SIDE}\" rasterYSize=\"{SIDE}\"><VRTRasterBand dataType=\"Byte\" \
             band=\"1\">{band}</VRTRasterBand></VRTDataset>"
        );
        Vrt::from_text("all.vrt", &text, folder.path(), &VrtOptions::default()).unwrap()
    };
    let source = |name: &str| {
        format!("<SimpleSource><SourceFilename relativeToVRT=\"1\">{name}</SourceFilename></SimpleSource>")
    };
    let refused = refusal(mosaic("").read(&ReadOptions::default(), &context), "an empty mosaic");
    assert!(
        refused.contains("decodes to 3.4 GiB, more than 1024 times the size of its sources (0 B)"),
        "{refused}"
    );
    let limits = PieceLimits::default();
    refusal(mosaic("").pieces(&ReadOptions::default(), &limits, &context), "pieces of an empty mosaic");
    let allowed = ReadOptions::new().max_pixels(SAMPLES);
    assert!(mosaic("").pieces(&allowed, &limits, &context).is_ok());

    std::fs::write(folder.path().join("tile.tif"), vec![0; 4 << 20]).unwrap();
    let nested = format!(
        "<VRTDataset rasterXSize=\"{SIDE}\" rasterYSize=\"{SIDE}\"><VRTRasterBand dataType=\"Byte\" band=\"1\">{}\
         </VRTRasterBand></VRTDataset>",
        source("tile.tif")
    );
    std::fs::write(folder.path().join("nested.vrt"), nested).unwrap();
    for name in ["tile.tif", "nested.vrt"] {
        assert!(mosaic(&source(name)).pieces(&ReadOptions::default(), &limits, &context).is_ok(), "{name}");
    }
}

/// One pixel of a tile of 60,000 × 60,000 took 3.5 GB to decode.
#[test]
fn blocks_far_larger_than_their_image_are_refused() {
    let pixels = Pixels::generate(Pattern::Noise, UINT8, [1, 1, 1], 1);
    let spec = ImageSpec::new(UINT8).grid(Grid::Tiles(16, 16)).codec(Codec::Deflate);
    let padded = spec.tag(Tag::long(322, SIDE)).tag(Tag::long(323, SIDE));
    let bytes = padded.build(&pixels, ByteOrder::Little, false).bytes;
    let source = Arc::new(strile::io::MemorySource::new("padded", bytes));
    let file = Dataset::from_source(source, &OpenOptions::default()).unwrap();
    let options = ReadOptions::new().decode_on(Processor::Cpu);
    let refused = refusal(file.read(&options, &context()), "a block of padding");
    assert!(
        refused.contains(
            "blocks of 60000 × 60000 pixels decode to 3.4 GiB each, which is implausible for an image of 1 × 1 pixels"
        ),
        "{refused}"
    );
    let windows = [BatchWindow::of_pixels(0, 0, 0, (1, 1))];
    let batch = BatchOptions::new().decode_on(Processor::Cpu);
    refusal(
        plan_batch(Location::Host, &[&file], &windows, &batch, &context()),
        "a block of padding in a batch",
    );
    let allowed = options.clone().max_pixels(SAMPLES);
    assert!(file.plan(&allowed, &context()).is_ok());
    let strict = allowed.max_block_bytes(1 << 30);
    let refused = refusal(file.plan(&strict, &context()), "a block larger than allowed");
    assert!(refused.contains("`max_block_bytes` is 1073741824"), "{refused}");
}

/// Does what starts threads; run by the test below in a process that gets none.
#[test]
#[ignore = "a part of another test"]
fn without_threads() {
    let folder = tempfile::tempdir().unwrap();
    let pixels = Pixels::generate(Pattern::Dem, UINT8, [3, 400, 300], 5);
    let spec = ImageSpec::new(UINT8).grid(Grid::Tiles(64, 64)).codec(Codec::Deflate);
    let bytes = spec.build(&pixels, ByteOrder::Little, false).bytes;
    let paths: Vec<_> = (0..4).map(|file| folder.path().join(format!("{file}.tif"))).collect();
    for path in &paths {
        std::fs::write(path, &bytes).unwrap();
    }
    assert!(std::thread::Builder::new().spawn(|| ()).is_err(), "there are threads");
    let context = Context { threads: 4.try_into().unwrap(), ..Context::default() };
    let index = folder.path().join("headers.index");
    let report = write_header_index(&index, &paths, &OpenOptions::default(), &context).unwrap();
    assert_eq!(report.files, 4);
    let options = ReadOptions::new().decode_on(Processor::Cpu);
    let read = Dataset::open(&paths[0]).unwrap().read(&options, &context).unwrap();
    assert_eq!(read.bytes().unwrap().len(), 3 * 400 * 300);
    println!("all was done without threads");
}

/// Threads that could not be started were a panic.
#[cfg(target_os = "linux")]
#[test]
fn nothing_panics_where_no_thread_can_be_made() {
    let run = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["without_threads", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        // Stacks larger than all addresses there are.
        .env("RUST_MIN_STACK", (1u64 << 47).to_string())
        .output()
        .unwrap();
    let told = [run.stdout, run.stderr].concat();
    let told = String::from_utf8_lossy(&told);
    assert!(run.status.success() && told.contains("all was done without threads"), "{told}");
}

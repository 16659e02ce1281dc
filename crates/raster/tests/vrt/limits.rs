//! Work and memory of mosaics that are damaged, cut to pieces, or masked.

use crate::Folder;
use crate::engines::{Laid, copied, mosaic, tiles};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use strile::batch::BatchWindow;
use strile::engine::Budget;
use strile::engine::Progress;
use strile::tiff::{ByteOrder, SampleFormat, SampleType};
use strile::vrt::{Missing, VrtOptions};
use strile::{BatchOptions, Context, Layer, Processor, ReadOptions, Vrt, read_batch};
use testkit::{Codec, Grid, ImageSpec, Pattern, Pixels};

const UINT16: SampleType = SampleType { format: SampleFormat::Uint, bits: 16 };

#[derive(Default)]
struct Counter(AtomicU64);

impl Progress for Counter {
    fn advance(&self, blocks: u64) {
        self.0.fetch_add(blocks, Ordering::Relaxed);
    }
}

/// The whole was read again for each damaged source.
#[test]
fn damaged_sources_are_left_out_together() {
    let folder = Folder::new("many-damaged");
    let count = 24;
    tiles(&folder, count, &[Codec::Deflate]);
    let names: Vec<String> = (0..count).map(|n| format!("{n}.tif")).collect();
    for name in names.iter().take(20) {
        let path = folder.0.join(name);
        let mut bytes = std::fs::read(&path).unwrap();
        let damaged = 100..bytes.len() / 2;
        bytes[damaged].fill(0xff);
        std::fs::write(path, bytes).unwrap();
    }
    let laid = (0..).zip(&names).map(|(n, name)| copied(name, "1", (n % 3 * 40, n / 3 * 12))).collect();
    let path = mosaic(&folder, "m.vrt", &[("<NoDataValue>9</NoDataValue>", laid)]);
    let whole =
        (0..).zip(&names).skip(20).map(|(n, name)| copied(name, "1", (n % 3 * 40, n / 3 * 12))).collect();
    let whole = mosaic(&folder, "w.vrt", &[("<NoDataValue>9</NoDataValue>", whole)]);
    let options = ReadOptions::new().decode_on(Processor::Cpu);
    let expected = Vrt::open(&whole, &VrtOptions::default()).unwrap();
    let expected = expected.read(&options, &Context::default()).unwrap();
    // Room for two passes over the sources, not for twenty.
    let max_work = 5 * 24 * 4096;
    let warn = VrtOptions::new().missing(Missing::Warn).max_work(max_work);
    let vrt = Vrt::open(&path, &warn).unwrap();
    let counter = Arc::new(Counter::default());
    let context = Context { progress: Some(Arc::clone(&counter) as _), ..Context::default() };
    let raster = vrt.read(&options, &context).unwrap();
    let holes = &raster.holes;
    assert!(raster.bytes().unwrap() == expected.bytes().unwrap());
    assert_eq!(holes.len(), 20, "{holes:?}");
    let told = counter.0.load(Ordering::Relaxed);
    assert!(told <= 3 * count, "{told} sources were counted");
    let window = [BatchWindow::of_pixels(0, 0, 0, (130, 100))];
    let batch = BatchOptions::new().decode_on(Processor::Cpu);
    let tensor = read_batch(&[vrt], &window, &batch, &Context::default()).unwrap();
    assert_eq!(tensor.holes.len(), 20);
    assert!(
        tensor.into_host(&Context::default()).unwrap().into_bytes().unwrap() == expected.bytes().unwrap()
    );
}

/// An image of one block.
fn one_block(folder: &Folder, name: &str, (columns, rows): (usize, usize)) {
    let pixels = Pixels::generate(Pattern::Dem, UINT16, [1, rows, columns], 1);
    let spec = ImageSpec::new(UINT16).codec(Codec::Deflate).grid(Grid::Strips(rows as u32));
    std::fs::write(folder.0.join(name), spec.build(&pixels, ByteOrder::Little, false).bytes).unwrap();
}

/// A block that others cut into many rectangles is decoded once for some of them.
#[test]
fn blocks_that_are_cut_are_counted() {
    let folder = Folder::new("cut");
    tiles(&folder, 1, &[Codec::None]);
    one_block(&folder, "large.tif", (1000, 1000));
    let read = |stripes: i32| {
        let large =
            Laid { file: "large.tif", band: "1", from: [0, 0, 130, 100], to: [0, 0, 130, 100], more: "" };
        let stripe = |n: i32| Laid {
            from: [0, 0, 1, 1],
            to: [n % 60 * 2, n / 60 * 2, 1, 1],
            ..copied("0.tif", "1", (0, 0))
        };
        let laid = std::iter::once(large).chain((0..stripes).map(stripe)).collect();
        let path = mosaic(&folder, "m.vrt", &[("", laid)]);
        let vrt = Vrt::open(&path, &VrtOptions::new().max_work(400_000)).unwrap();
        let read = vrt.read(&ReadOptions::default(), &Context::default());
        read.map(|raster| raster.bytes().unwrap().len()).map_err(|error| error.to_string())
    };
    assert_eq!(read(20), Ok(130 * 100 * 2));
    let problem = read(110).unwrap_err();
    assert!(problem.contains("max_work"), "{problem}");
}

/// The memory of a read without an engine's threads to spare.
fn peak(path: &std::path::Path, options: &ReadOptions) -> u64 {
    let budget = Arc::new(Budget::new(1 << 30));
    let context = Context { budget, threads: std::num::NonZeroUsize::MIN, ..Context::default() };
    let vrt = Vrt::open(path, &VrtOptions::default()).unwrap();
    vrt.read(&options.clone().decode_on(Processor::Cpu), &context).unwrap();
    context.budget.peak()
}

/// Pixels that are blended were given back to the budget while they were read.
#[test]
fn blended_pixels_stay_in_the_budget() {
    let folder = Folder::new("held");
    tiles(&folder, 1, &[Codec::Deflate]);
    one_block(&folder, "large.tif", (800, 700));
    let whole = Laid { file: "large.tif", band: "1", from: [0, 0, 800, 700], to: [0, 0, 800, 700], more: "" };
    let more = "<ScaleOffset>5</ScaleOffset>";
    let small = Laid { from: [0, 0, 9, 9], to: [3, 3, 9, 9], more, ..copied("0.tif", "1", (0, 0)) };
    let path = mosaic(&folder, "m.vrt", &[("", vec![whole, small])]);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(
        &path,
        text.replace("XSize=\"130\"", "XSize=\"800\"").replace("YSize=\"100\"", "YSize=\"700\""),
    )
    .unwrap();
    let plain = folder.0.join("plain.vrt");
    let text = std::fs::read_to_string(&path).unwrap();
    let (first, last) = (text.find("<ComplexSource").unwrap(), text.find("</VRTRasterBand").unwrap());
    std::fs::write(&plain, format!("{}{}", &text[..first], &text[last..])).unwrap();
    // The result, and the block that is decoded, at once.
    let (blended, plain) = (peak(&path, &ReadOptions::default()), peak(&plain, &ReadOptions::default()));
    assert!(blended >= plain && blended < plain + 100_000, "{blended}, without a layer {plain}");
}

/// Bands were held beside the masks that are made of them.
#[test]
fn bands_that_become_a_mask_are_in_the_budget() {
    let folder = Folder::new("mask-memory");
    tiles(&folder, 1, &[Codec::None]);
    let pixels = 130 * 100;
    let mask = ReadOptions::new().layer(Layer::Mask);
    let nodata = "<NoDataValue>9</NoDataValue>";
    let band = |extra| (extra, vec![copied("0.tif", "1", (0, 0))]);
    let path = mosaic(&folder, "n.vrt", &[band(nodata), band(nodata)]);
    // A band of two bytes a pixel, its mask, and that of all bands.
    let found = peak(&path, &mask);
    assert!(found >= 4 * pixels, "{found}");
    let path = mosaic(&folder, "a.vrt", &[band(""), band("<ColorInterp>Alpha</ColorInterp>")]);
    let found = peak(&path, &mask);
    assert!(found >= 3 * pixels, "{found}");
}

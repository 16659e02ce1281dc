//! Any part of an image equals that part of the whole, whatever bands, order, threads and batches.
//!
//! Windows and bands are drawn with a fixed seed over every fixture, so that a failure comes again.

use crate::fixtures::readable;
use crate::sources::{Bucket, Trouble, open, open_bucket, pixels_of, read};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;
use strile::engine::{Output, Progress};
use strile::read::Interleave;
use strile::tiff::{ByteOrder, SampleFormat, SampleType};
use strile::{Context, Dataset, OpenOptions, ReadOptions, Window};
use testkit::{Grid, ImageSpec, Pixels, Random, TiffBuilder};

/// A window inside an image, small ones and thin ones as likely as large ones.
fn any_window(random: &mut Random, (width, height): (usize, usize)) -> Window {
    let mut side = |size: usize| {
        let most = if random.below(2) == 0 { size } else { size.min(20) };
        let len = 1 + random.below(most);
        (random.below(size - len + 1) as u32, len as u32)
    };
    let ((x, width), (y, height)) = (side(width), side(height));
    Window::new(x, y, width, height)
}

/// Bands in any order, some perhaps twice.
fn any_bands(random: &mut Random, bands: usize) -> Vec<u16> {
    (0..1 + random.below(bands + 1)).map(|_| 1 + random.below(bands) as u16).collect()
}

fn selected(pixels: &Pixels, bands: &[u16]) -> Pixels {
    let plane = pixels.bytes.len() / pixels.bands;
    let bytes = bands.iter().flat_map(|&band| &pixels.bytes[plane * usize::from(band - 1)..][..plane]);
    Pixels { bands: bands.len(), bytes: bytes.copied().collect(), ..pixels.clone() }
}

fn part(whole: &Pixels, window: Window, bands: &[u16]) -> Pixels {
    let rows = (window.row as usize, window.height as usize);
    selected(&whole.crop(rows, (window.column as usize, window.width as usize)), bands)
}

#[test]
fn any_window_of_any_bands_is_that_part_of_the_whole() {
    let mut random = Random::new(2026);
    for fixture in readable() {
        let (here, staged) = (open(fixture.bytes()), open_bucket(fixture.bytes()).1);
        let whole = pixels_of(&read(&here, &ReadOptions::default()));
        for dataset in [&here, &staged] {
            for _ in 0..3 {
                let window = any_window(&mut random, (whole.width, whole.height));
                let bands = any_bands(&mut random, whole.bands);
                let options = ReadOptions::new().window(window).bands(bands.clone());
                let found = pixels_of(&read(dataset, &options));
                let message = format!("{}: window {window}, bands {bands:?}", fixture.name);
                assert!(found == part(&whole, window, &bands), "{message}");
            }
        }
    }
}

#[test]
fn a_window_of_every_single_pixel_of_a_small_image() {
    let fixture = readable().find(|f| f.name == "tile_rectangular").unwrap();
    let dataset = open(fixture.bytes());
    for y in 0..fixture.expected.height {
        for x in (0..fixture.expected.width).step_by(3) {
            let window = Window::new(x as u32, y as u32, 1, 1);
            let options = ReadOptions::new().window(window);
            assert_eq!(
                read(&dataset, &options).bytes().unwrap(),
                fixture.expected.sample(0, y, x),
                "{x} {y}"
            );
        }
    }
}

/// Pixel by pixel from band by band.
fn transposed(raster: &strile::Pixels) -> Vec<u8> {
    let (size, bands) = (raster.data_type.size(), raster.bands as usize);
    let plane = raster.bytes().unwrap().len() / bands;
    let pixels = (0..plane / size).flat_map(|at| (0..bands).map(move |band| band * plane + at * size));
    pixels.flat_map(|at| raster.bytes().unwrap()[at..at + size].to_vec()).collect()
}

#[test]
fn band_last_is_band_first_transposed() {
    let mut random = Random::new(7);
    for fixture in readable().filter(|f| f.expected.bands > 1) {
        let dataset = open(fixture.bytes());
        let window = any_window(&mut random, (fixture.expected.width, fixture.expected.height));
        let bands = any_bands(&mut random, fixture.expected.bands);
        let first = ReadOptions::new().window(window).bands(bands);
        let last = first.clone().interleave(Interleave::BandLast);
        assert!(
            read(&dataset, &last).bytes().unwrap() == transposed(&read(&dataset, &first)),
            "{}",
            fixture.name
        );
    }
}

#[test]
fn any_number_of_threads_gives_the_same_pixels() {
    for fixture in readable().step_by(5) {
        let dataset = open(fixture.bytes());
        let with = |threads| {
            let context = Context { threads: NonZeroUsize::new(threads).unwrap(), ..Context::default() };
            dataset.read(&ReadOptions::default(), &context).unwrap().into_bytes().unwrap()
        };
        let one = with(1);
        for threads in [2, 3, 64] {
            assert!(with(threads) == one, "{} with {threads} threads", fixture.name);
        }
    }
}

/// Stored tiles of 4 MiB, more than two batches of them: every byte says which tile it is in and where.
fn large() -> (Vec<u8>, Dataset) {
    const SIDE: usize = 2048;
    let (across, down) = (4, 5);
    let sample = SampleType { format: SampleFormat::Uint, bits: 8 };
    let spec = ImageSpec::new(sample).grid(Grid::Tiles(SIDE as u32, SIDE as u32));
    let tiny = Pixels::zeroed(sample.data_type().unwrap(), 1, 1, 1);
    let mut directory = spec.directory(&tiny, ByteOrder::Little, true);
    directory.set(testkit::Tag::long(256, (across * SIDE - 100) as u32));
    directory.set(testkit::Tag::long(257, (down * SIDE - 7) as u32));
    directory.blocks = (0..across * down)
        .map(|tile| Some((0..SIDE * SIDE).map(|at| (tile * 31 + at / SIDE + at * 7) as u8).collect()))
        .collect();
    let bytes = TiffBuilder::new(ByteOrder::Little, true).directory(directory).build().bytes;
    let dataset = open(&bytes);
    (bytes, dataset)
}

#[test]
fn batches_that_are_staged_one_after_the_other_give_the_whole() {
    let (bytes, here) = large();
    let whole = read(&here, &ReadOptions::default());
    let (bucket, staged) = open_bucket(&bytes);
    let batches = staged.plan(&ReadOptions::default(), &Context::default()).unwrap().figures().batches;
    assert_eq!(batches, 3, "80 MiB, two rows of 16 MiB each at a time");
    bucket.requests();
    assert!(read(&staged, &ReadOptions::default()).bytes().unwrap() == whole.bytes().unwrap());
    assert_eq!(bucket.requests().len(), batches, "one call a batch");
    let window = Window::new(2000, 2000, 100, 4200);
    let options = ReadOptions::new().window(window);
    assert!(read(&staged, &options).bytes().unwrap() == read(&here, &options).bytes().unwrap());
}

#[test]
fn after_an_error_nobody_writes_to_the_output() {
    /// Holds up the first batch while the next is fetched.
    struct Slow;
    impl Progress for Slow {
        fn advance(&self, _: u64) {
            std::thread::sleep(Duration::from_millis(100));
        }
    }
    let (bytes, here) = large();
    let refused = Bucket::new(&bytes).with(Trouble::Refused(bytes.len() as u64 / 2));
    let staged = Dataset::from_source(Arc::new(refused), &OpenOptions::default()).unwrap();
    let spec = here.plan(&ReadOptions::default(), &Context::default()).unwrap().output;
    let output = Output::new(spec).unwrap();
    let context = Context { progress: Some(Arc::new(Slow)), ..Context::default() };
    assert!(staged.read_into(&output, &ReadOptions::default(), &context).is_err());
    assert!(output.into_vec().is_some(), "nobody holds the memory");
}

#[test]
fn many_readers_of_one_dataset_at_once() {
    let fixture = readable().find(|f| f.name == "deflate_p3_f32_tile_planar_be_big").unwrap();
    let dataset = Arc::new(open(fixture.bytes()));
    std::thread::scope(|scope| {
        for seed in 0..8 {
            let (dataset, expected) = (Arc::clone(&dataset), &fixture.expected);
            scope.spawn(move || {
                let mut random = Random::new(seed);
                for _ in 0..20 {
                    let window = any_window(&mut random, (expected.width, expected.height));
                    let options = ReadOptions::new().window(window);
                    let all: Vec<u16> = (1..=expected.bands as u16).collect();
                    assert!(pixels_of(&read(&dataset, &options)) == part(expected, window, &all), "{window}");
                }
            });
        }
    });
}

//! Pixels and faults are the same with and without the cache.

use crate::{LIMIT, Named, alone};
use strile::batch::BatchWindow;
use strile::cache::Cache;
use strile::read::{Interleave, OnFault};
use strile::tiff::{ByteOrder, SampleFormat, SampleType};
use strile::{BatchOptions, Context, Dataset, Layer, ReadOptions, Window, cache, read_batch};
use testkit::{Codec, Fixture, Grid, ImageSpec, Pattern, Pixels};

/// Reads of a file that together touch everything it holds, in several ways.
fn requests(dataset: &Dataset) -> Vec<ReadOptions> {
    let mut all = Vec::new();
    for (page, levels) in dataset.pages().iter().enumerate() {
        for (level, of) in levels.levels.iter().enumerate() {
            let base = ReadOptions::new().page(page).level(level);
            let (width, height) = (of.image.width, of.image.height);
            let part = Window::new(width / 3, height / 3, (width / 2).max(1), (height / 2).max(1));
            all.push(base.clone());
            all.push(base.clone().window(part));
            all.push(base.clone().window(part).interleave(Interleave::BandLast));
            all.push(base.clone().window(part).bands([of.image.samples]));
            if of.image.samples > 1 {
                all.push(base.clone().bands([of.image.samples, 1]));
            }
            all.push(base.clone().masked(true));
            all.push(base.clone().layer(Layer::Mask).window(part));
        }
    }
    all
}

/// The result of a read, or its error in words.
fn outcome(dataset: &Dataset, options: &ReadOptions) -> Result<(Vec<u8>, usize), String> {
    let raster = dataset.read(options, &Context::default()).map_err(|error| error.to_string())?;
    let faults = raster.faults.len();
    Ok((raster.into_bytes().unwrap(), faults))
}

fn check(fixture: &Fixture) {
    for is_local in [true, false] {
        let file = Named::new(fixture.bytes(), is_local);
        let dataset = file.open();
        for options in requests(&dataset) {
            let expected = outcome(&dataset, &options.clone().cache(Cache::Off));
            for cache in [Cache::Decoded, Cache::Encoded, Cache::Auto, Cache::Decoded, Cache::Auto] {
                let found = outcome(&dataset, &options.clone().cache(cache));
                assert!(found == expected, "{}, local {is_local}, {cache:?}, {options:?}", fixture.name);
            }
        }
    }
}

fn check_group(part: usize) {
    let _alone = alone();
    let fixtures = testkit::fixtures();
    let of_part = fixtures.iter().enumerate().filter(|(at, _)| at % 4 == part);
    of_part.for_each(|(_, fixture)| check(fixture));
    let stats = cache::stats();
    assert!(stats.hits > 1000 && stats.bytes <= stats.limit, "{stats:?}");
}

#[test]
fn all_fixtures_a() {
    check_group(0);
}

#[test]
fn all_fixtures_b() {
    check_group(1);
}

#[test]
fn all_fixtures_c() {
    check_group(2);
}

#[test]
fn all_fixtures_d() {
    check_group(3);
}

/// Blocks come and go all the time.
#[test]
fn with_hardly_any_room() {
    let _alone = alone();
    let fixtures = testkit::fixtures();
    for limit in [40_000, 400_000] {
        cache::set_limit(limit);
        fixtures.iter().step_by(7).for_each(check);
        assert!(cache::stats().bytes <= limit);
    }
    cache::set_limit(0);
    fixtures.iter().step_by(19).for_each(check);
    assert_eq!(cache::stats().blocks, 0);
    cache::set_limit(LIMIT);
}

/// A block that is faulty is so every time, and its neighbours are kept.
#[test]
fn faults_are_not_kept() {
    let _alone = alone();
    let sample = SampleType { format: SampleFormat::Uint, bits: 16 };
    let spec = ImageSpec::new(sample).grid(Grid::Tiles(64, 64)).codec(Codec::Deflate);
    let pixels = Pixels::generate(Pattern::Noise, sample, [2, 200, 200], 3);
    let mut bytes = spec.build(&pixels, ByteOrder::Big, false).bytes;
    let at = bytes.len() / 2;
    bytes[at..at + 64].fill(0xff);
    for is_local in [true, false] {
        let dataset = Named::new(&bytes, is_local).open();
        let fill = ReadOptions::new().on_fault(OnFault::Fill);
        let off = dataset.read(&fill.clone().cache(Cache::Off), &Context::default()).unwrap();
        assert_eq!(off.faults.len(), 1);
        for _ in 0..3 {
            let found = dataset.read(&fill.clone().cache(Cache::Decoded), &Context::default()).unwrap();
            assert!(found.bytes().unwrap() == off.bytes().unwrap() && found.faults == off.faults);
        }
        assert_eq!(cache::stats().blocks, 15, "all but the faulty one");
        let fail = |cache| outcome(&dataset, &ReadOptions::new().cache(cache)).unwrap_err();
        assert_eq!(fail(Cache::Decoded), fail(Cache::Off));
        cache::clear();
    }
}

/// Windows of one block, of blocks that are found and of blocks that are not, leave their images and are resampled.
#[test]
fn batches() {
    let _alone = alone();
    let sample = SampleType { format: SampleFormat::Uint, bits: 16 };
    let codecs = [Codec::Deflate, Codec::Lzw, Codec::None, Codec::Zstd];
    let file = |codec| {
        let spec = ImageSpec::new(sample).grid(Grid::Tiles(64, 64)).codec(codec);
        let pixels = Pixels::generate(Pattern::Dem, sample, [2, 200, 250], 3);
        spec.build(&pixels, ByteOrder::Little, false).bytes
    };
    for is_local in [true, false] {
        let datasets: Vec<Dataset> =
            codecs.clone().map(|codec| Named::new(&file(codec), is_local).open()).into();
        for size in [None, Some((32, 40))] {
            for round in 0..6 {
                let at = |at: i64| {
                    let file = usize::try_from(at % 4).unwrap();
                    BatchWindow::of_pixels(file, at * 9 - 10 + round, at * 7 - 5, (64, 64))
                };
                let windows: Vec<BatchWindow> = (0..24).map(at).collect();
                let mut options = BatchOptions::new().masked(round % 2 == 0);
                options.size = size;
                let read = |cache| {
                    let tensor =
                        read_batch(&datasets, &windows, &options.clone().cache(cache), &Context::default());
                    tensor.unwrap().into_bytes().unwrap()
                };
                let off = read(Cache::Off);
                for cache in [Cache::Auto, Cache::Decoded, Cache::Encoded] {
                    assert!(read(cache) == off, "local {is_local}, {size:?}, {round}, {cache:?}");
                }
            }
        }
    }
    assert!(cache::stats().hits > 100, "{:?}", cache::stats());
}

//! The conformance corpus through the library: pixels, overviews and masks that other readers agree on, and files
//! made to do harm. Without the corpus each test is skipped.
//!
//! Every file passes, except those that are listed here; docs/correctness.md has the reasons.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a test fails by panicking, and knows its numbers"
)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use strile::engine::Budget;
use strile::{Context, Dataset, Error, Layer, ReadOptions, Result};
use testkit::{Accept, AcceptPixels, Corpus, Expect, Pixels, to_f64};

/// Files whose pixels are not those that the corpus follows: CMYK rendered, chroma of 4 × 4, 5-6-5 bits of big-endian files,
/// signed 24 bits, JPEG XR.
const PIXELS_DIFFER: [&str; 6] = [
    "files/BitMiracle__libtiff.net/TestCase/Expected.Tiff/tiger-separated-strip-planar-08.tif_converted_jpeg.tif",
    "files/BitMiracle__libtiff.net/TestCase/flower-ycbcr44-contig-08.tif",
    "files/Daniel-Alievsky__algart-tiff/src/test/resources/demo/images/tiff/algart/deflate_rgb_stripped_5_6_5_bits.tiff",
    "files/Daniel-Alievsky__algart-tiff/src/test/resources/demo/images/tiff/algart/depth/big-endian/test-rgb-5-6-5.tif",
    "files/OSGeo__gdal/autotest/gcore/data/int24.tif",
    "files/generated/tf_jpegxr_lossy.tif",
];
/// CMYK with alpha, whose mask GDAL takes to be all valid.
const MASKS_DIFFER: [&str; 1] = ["files/image-rs__image-tiff/tests/images/cmyk-4c-8b.tiff"];

/// A hostile file gets its record's memory, and never more than a small machine has.
const MOST_MB: u64 = 1024;

fn pixels_of(raster: strile::Pixels) -> Pixels {
    Pixels {
        bands: raster.bands as usize,
        height: raster.rows as usize,
        width: raster.columns as usize,
        data_type: raster.data_type,
        bytes: raster.into_bytes().unwrap(),
    }
}

fn read(path: &std::path::Path, options: &ReadOptions, context: &Context) -> Result<Pixels> {
    Ok(pixels_of(Dataset::open(path)?.read(options, context)?))
}

/// Whether pixels are one of the answers; else why not.
fn judge(corpus: &Corpus, found: &Pixels, accept: &[Accept]) -> std::result::Result<(), String> {
    let mut digest = None;
    let mut why = Vec::new();
    for answer in accept {
        let shape = [found.bands, found.height, found.width];
        if (shape, found.data_type.name()) != (answer.shape, answer.dtype.as_str()) {
            why.push(format!(
                "{shape:?} {} found, {:?} {} expected",
                found.data_type, answer.shape, answer.dtype
            ));
            continue;
        }
        let differs = match &answer.pixels {
            AcceptPixels::Digest(expected) => {
                let digest = digest.get_or_insert_with(|| found.sha256());
                (digest != expected).then(|| "pixels differ".to_owned())
            }
            near @ AcceptPixels::Near { .. } => far_from(corpus, found, near),
        };
        match differs {
            None => return Ok(()),
            Some(reason) => why.push(reason),
        }
    }
    Err(why.join("; "))
}

/// Why pixels are too far from a reference; `None` where they are near.
fn far_from(corpus: &Corpus, found: &Pixels, near: &AcceptPixels) -> Option<String> {
    let AcceptPixels::Near { reference, window, mae, p99, max, band_mean } = near else { return None };
    let [row, column, rows, columns] = *window;
    let part = found.crop((row, rows), (column, columns));
    let numbers = npy(&std::fs::read(corpus.path(reference)).unwrap());
    let size = found.data_type.size();
    let values = |bytes: &[u8]| bytes.chunks(size).map(|s| to_f64(s, found.data_type)).collect::<Vec<f64>>();
    let found_part = values(&part.bytes);
    assert_eq!(numbers.len(), found_part.len(), "{reference}");
    let mut differences: Vec<f64> = numbers.iter().zip(found_part).map(|(a, b)| (a - b).abs()).collect();
    differences.sort_by(f64::total_cmp);
    let mean = |numbers: &[f64]| numbers.iter().sum::<f64>() / numbers.len() as f64;
    let (found_mae, found_p99) = (mean(&differences), differences[(differences.len() - 1) * 99 / 100]);
    let found_max = differences[differences.len() - 1];
    let plane = found.bytes.len() / found.bands;
    let off = found.bytes.chunks(plane).map(|band| mean(&values(band))).zip(band_mean);
    let off = off.map(|(found, expected)| (found - expected).abs()).fold(0.0, f64::max);
    let is_near = found_mae <= *mae
        && found_p99 <= *p99
        && max.is_none_or(|max| found_max <= max)
        && off <= f64::max(1.0, 2.0 * mae);
    (!is_near).then(|| {
        format!("mean difference {found_mae}, 99% {found_p99}, largest {found_max}, band mean {off}")
    })
}

/// The numbers of a `.npy` file.
fn npy(bytes: &[u8]) -> Vec<f64> {
    let header_len = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let (header, data) = bytes[10..].split_at(header_len);
    let header = String::from_utf8_lossy(header);
    let descr = header.split("'descr': '").nth(1).and_then(|rest| rest.split('\'').next()).unwrap();
    macro_rules! numbers {
        ($ty:ty) => {
            data.as_chunks().0.iter().map(|&chunk| <$ty>::from_le_bytes(chunk) as f64).collect()
        };
    }
    match descr.trim_start_matches(['<', '|']) {
        "u1" => numbers!(u8),
        "i1" => numbers!(i8),
        "u2" => numbers!(u16),
        "i2" => numbers!(i16),
        "u4" => numbers!(u32),
        "f4" => numbers!(f32),
        "f8" => numbers!(f64),
        other => panic!("{other} in a .npy file"),
    }
}

/// Runs `check` over `items` on a few threads and counts what passes, or prints why not.
fn count<T: Sync>(
    items: &[T],
    check: impl Fn(&T) -> std::result::Result<(), String> + Sync,
) -> (usize, Vec<String>) {
    let (next, passed, failed) = (AtomicUsize::new(0), AtomicUsize::new(0), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get).min(4);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    match check(item) {
                        Ok(()) => _ = passed.fetch_add(1, Ordering::Relaxed),
                        Err(why) => failed.lock().unwrap().push(why),
                    }
                }
            });
        }
    });
    let mut failed = failed.into_inner().unwrap();
    failed.sort();
    (passed.into_inner(), failed)
}

/// All pass but those that are listed, and all that are listed differ.
fn assert_all_but(what: &str, (passed, failed): (usize, Vec<String>), listed: &[&str]) {
    println!("{what}: {passed} of {} pass", passed + failed.len());
    assert!(passed > 0, "no {what} were found");
    let is_of =
        |why: &String, name: &str| why.strip_prefix(name).is_some_and(|rest| rest.starts_with([':', ' ']));
    let strange: Vec<&String> =
        failed.iter().filter(|why| !listed.iter().any(|name| is_of(why, name))).collect();
    assert!(strange.is_empty(), "{} {what} fail that are not listed: {strange:#?}", strange.len());
    let right: Vec<_> = listed.iter().filter(|name| !failed.iter().any(|why| is_of(why, name))).collect();
    assert!(right.is_empty(), "{what} that are listed as different pass: {right:#?}");
}

#[test]
fn pixels_are_those_that_other_readers_agree_on() {
    let Some(corpus) = Corpus::find() else { return };
    let outcome = count(&corpus.files, |record| {
        let found = read(&corpus.path(&record.name), &ReadOptions::default(), &Context::default());
        let judged =
            found.map_err(|error| error.to_string()).and_then(|found| judge(&corpus, &found, &record.accept));
        judged.map_err(|why| format!("{}: {why}", record.name))
    });
    assert_all_but("files", outcome, &PIXELS_DIFFER);
}

#[test]
fn overviews_are_those_that_other_readers_agree_on() {
    let Some(corpus) = Corpus::find() else { return };
    let levels =
        corpus.files.iter().flat_map(|record| record.overviews.iter().map(move |level| (record, level)));
    let levels: Vec<_> = levels.filter(|(_, level)| !level.lossy).collect();
    let outcome = count(&levels, |(record, level)| {
        let options = ReadOptions::new().level(level.level + 1);
        let found = read(&corpus.path(&record.name), &options, &Context::default());
        let place = format!("{} overview {}", record.name, level.level);
        let found = found.map_err(|error| format!("{place}: {error}"))?;
        let same = ([found.bands, found.height, found.width], found.data_type.name())
            == (level.shape, level.dtype.as_str())
            && found.sha256() == level.sha256;
        if same { Ok(()) } else { Err(format!("{place}: pixels differ")) }
    });
    assert_all_but("overviews", outcome, &[]);
}

#[test]
fn masks_are_those_that_other_readers_agree_on() {
    let Some(corpus) = Corpus::find() else { return };
    let masks: Vec<_> =
        corpus.files.iter().filter_map(|record| Some((record, record.mask.as_ref()?))).collect();
    let masks: Vec<_> =
        masks.into_iter().filter(|(_, mask)| mask.kinds.iter().any(|kind| kind == "per_dataset")).collect();
    let outcome = count(&masks, |(record, mask)| {
        let options = ReadOptions::new().layer(Layer::Mask);
        let found = read(&corpus.path(&record.name), &options, &Context::default());
        let found = found.map_err(|error| format!("{}: {error}", record.name))?;
        let same =
            [found.height, found.width] == mask.shape && found.bands == 1 && found.sha256() == mask.sha256;
        if same { Ok(()) } else { Err(format!("{}: mask differs", record.name)) }
    });
    assert_all_but("masks", outcome, &MASKS_DIFFER);
}

#[test]
fn hostile_files_do_no_harm() {
    let Some(corpus) = Corpus::find() else { return };
    let outcome = count(&corpus.hostile, |hostile| {
        let say = |why: String| Err(format!("{}: {why}", hostile.name));
        let budget = Arc::new(Budget::new((hostile.rss_mb as u64).min(MOST_MB) << 20));
        let context = Context { budget: Arc::clone(&budget), ..Context::default() };
        let start = Instant::now();
        let found = read(&corpus.path(&hostile.name), &ReadOptions::default(), &context);
        if start.elapsed() > Duration::from_secs_f64(hostile.seconds) {
            return say(format!("took {:?}", start.elapsed()));
        }
        if budget.take(budget.limit(), "all of it").is_err() {
            return say("memory stays lent".into());
        }
        match (found, hostile.expect) {
            (Err(error @ Error::Engine(_)), _) => say(error.to_string()),
            (Err(_), Expect::Error | Expect::ErrorOrData) | (Ok(_), Expect::ErrorOrData) => Ok(()),
            (Err(error), Expect::Data) => say(format!("must be read: {error}")),
            (Ok(_), Expect::Error) => say("was accepted".into()),
            (Ok(found), Expect::Data) => judge(&corpus, &found, &hostile.accept).or_else(say),
        }
    });
    assert_all_but("hostile files", outcome, &[]);
}

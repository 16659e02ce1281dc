//! Samples that become floats, each file by its own nodata, scale and offset.

use crate::made::{UINT16, by_both, bytes_of, expected_of, spec, whole};
use crate::sources::open;
use std::sync::Arc;
use strile::batch::{BatchWindow, Sampling};
use strile::read::FloatType;
use strile::tiff::gdal::NoData;
use strile::tiff::{SampleFormat, SampleType};
use strile::{BatchOptions, DataType, Dataset};
use testkit::{Codec, ImageSpec, metadata_tag, nodata_tag};

const INT8: SampleType = SampleType { format: SampleFormat::Int, bits: 8 };
const FLOAT32: SampleType = SampleType { format: SampleFormat::Float, bits: 32 };

fn scaled(spec: ImageSpec, scale: &str, offset: &str) -> ImageSpec {
    let item = |at: usize| {
        format!(
            "<Item name=\"OFFSET\" sample=\"{at}\" role=\"offset\">{offset}</Item>\
             <Item name=\"SCALE\" sample=\"{at}\" role=\"scale\">{scale}</Item>"
        )
    };
    let items: String = (0..3).map(item).collect();
    spec.tag(metadata_tag(&format!("<GDALMetadata>{items}</GDALMetadata>")))
}

/// Types, codecs, nodata and scales that all differ.
fn files() -> Vec<Arc<Dataset>> {
    let of = |codec, sample| ImageSpec { sample, ..spec(codec) };
    let specs = [
        scaled(of(Codec::Deflate, UINT16).tag(nodata_tag("3")), "0.5", "-100"),
        of(Codec::Lzw, INT8).tag(nodata_tag("2")),
        scaled(of(Codec::Zstd, UINT16).tag(nodata_tag("3")), "2", "7.25"),
        of(Codec::Lz4, FLOAT32),
        of(Codec::None, UINT16).tag(nodata_tag("9")),
        of(Codec::PackBits, UINT16),
    ];
    (0..).zip(&specs).map(|(seed, spec)| Arc::new(open(&bytes_of(spec, seed)))).collect()
}

fn windows() -> Vec<BatchWindow> {
    (0..18)
        .map(|at| BatchWindow::of_pixels(at % 6, at as i64 * 10 - 30, at as i64 * 8 - 20, (40, 25)))
        .collect()
}

fn check(options: &BatchOptions, fill: f32) {
    let (files, windows) = (files(), windows());
    let (tensor, pixels) = by_both(&files, &windows, options);
    assert_eq!(tensor.shape(), [18, 3, 25, 40]);
    let len = pixels.len() / windows.len();
    for (window, found) in windows.iter().zip(pixels.chunks(len)) {
        let whole = whole(&files, window, options);
        let mut bytes = whole.bytes().unwrap().to_vec();
        if whole.data_type != DataType::F32 {
            // A file where there is nothing to mask and nothing to scale: a single read leaves it as it is.
            let value = |bytes: &[u8]| match whole.data_type {
                DataType::U16 => f32::from(u16::from_ne_bytes(bytes.try_into().unwrap())),
                DataType::I8 => f32::from(bytes[0] as i8),
                other => panic!("{other}"),
            };
            let size = whole.data_type.size();
            bytes = bytes.chunks(size).flat_map(|bytes| value(bytes).to_ne_bytes()).collect();
        }
        let expected = expected_of(&whole, (&bytes, 4), window, &fill.to_ne_bytes());
        let same = expected == found;
        assert!(same, "{window:?} of {}", files[window.file].name());
    }
}

#[test]
fn nodata_becomes_nan_by_file() {
    check(&BatchOptions::new().masked(true), f32::from_bits(0x7FC0_0000));
}

#[test]
fn values_are_scaled_by_file() {
    let float_type = Some(FloatType::Float32);
    let options = BatchOptions::new().unpack(true).float_type(float_type);
    check(&options, f32::from_bits(0x7FC0_0000));
    check(&options.fill(NoData::Float(-1.5)), -1.5);
}

#[test]
fn types_that_differ_become_one() {
    let options = BatchOptions::new().float_type(FloatType::Float32).fill(NoData::Integer(5));
    check(&options, 5.0);
}

#[test]
fn the_type_of_floats_holds_all_stored_values() {
    let wide = SampleType { format: SampleFormat::Int, bits: 32 };
    let mut all = files();
    all.push(Arc::new(open(&bytes_of(&ImageSpec { sample: wide, ..spec(Codec::Lzw) }, 2))));
    let windows: Vec<_> = (0..7).map(|file| BatchWindow::of_pixels(file, 0, 0, (8, 8))).collect();
    let options = BatchOptions::new().masked(true);
    assert_eq!(by_both(&all, &windows, &options).1.len(), 7 * 3 * 64 * 8);
    assert_eq!(by_both(&all, &windows[..6], &options).1.len(), 6 * 3 * 64 * 4);
}

#[test]
fn halves_are_the_nearest_ones() {
    let (files, windows) = (files(), windows());
    let options = |float_type| BatchOptions::new().float_type(float_type);
    let (tensor, halves) = by_both(&files, &windows, &options(FloatType::Float16));
    assert_eq!((tensor.shape(), halves.len()), ([18, 3, 25, 40], 18 * 3 * 25 * 40 * 2));
    let (_, floats) = by_both(&files, &windows, &options(FloatType::Float32));
    let mut seen = [0; 3];
    for (half, float) in halves.as_chunks::<2>().0.iter().zip(floats.as_chunks::<4>().0) {
        let (bits, value) = (u16::from_ne_bytes(*half), f32::from_ne_bytes(*float));
        // Integers here: exact up to 2048, above it at every second, fourth … number.
        let size = value.abs();
        if value.is_nan() || size < 1.0 || value.fract() != 0.0 {
            seen[0] += 1;
            continue;
        }
        let step = (size.log2().floor() - 10.0).exp2();
        let nearest = (size / step).round_ties_even() * step;
        let (exponent, fraction) = (i32::from(bits >> 10 & 31), f32::from(bits & 1023));
        let found =
            if exponent == 31 { f32::INFINITY } else { (1024.0 + fraction) * 2f32.powi(exponent - 25) };
        assert_eq!(found, if nearest > 65504.0 { f32::INFINITY } else { nearest }, "{value}");
        assert_eq!(bits >> 15 == 1, value < 0.0);
        seen[if step > 1.0 { 1 } else { 2 }] += 1;
    }
    assert!(seen[1] > 1000 && seen[2] > 1000, "{seen:?}");
}

/// 2049 and the like are other numbers as halves, and do not count as what they were.
#[test]
fn nodata_that_no_half_holds_does_not_count() {
    let windows = [BatchWindow::of_pixels(0, 10, 10, (40, 24))];
    let file = |nodata: Option<u16>| {
        let spec = ImageSpec { sample: UINT16, ..spec(Codec::Deflate) };
        let spec = nodata.map(|value| spec.clone().tag(nodata_tag(&value.to_string()))).unwrap_or(spec);
        [Arc::new(open(&bytes_of(&spec, 5)))]
    };
    let (_, stored) = by_both(&file(None), &windows, &BatchOptions::default());
    let stored: Vec<u16> = stored.as_chunks::<2>().0.iter().map(|bytes| u16::from_ne_bytes(*bytes)).collect();
    // One that no other sample becomes as a half.
    let alone = |value: u16| stored.iter().all(|&other| other == value || other.abs_diff(value) > 40);
    let odd = |value: u16| value > 2048 && value < 60_000 && value % 2 == 1;
    let nodata = stored.iter().copied().find(|&value| odd(value) && alone(value)).unwrap();
    let made = |float_type, nodata| {
        let options = BatchOptions::new().float_type(float_type).size((20, 12)).sampling(Sampling::Average);
        by_both(&file(nodata), &windows, &options).1
    };
    let floats = |bytes: Vec<u8>| -> Vec<f32> {
        bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect()
    };
    let wanted = floats(made(FloatType::Float32, Some(nodata)));
    assert_ne!(wanted, floats(made(FloatType::Float32, None)), "nodata is seen");
    for (half, wanted) in made(FloatType::Float16, Some(nodata)).as_chunks::<2>().0.iter().zip(wanted) {
        let bits = u16::from_ne_bytes(*half);
        let found = (1024.0 + f32::from(bits & 1023)) * 2f32.powi(i32::from(bits >> 10 & 31) - 25);
        // Each sample was rounded to a half, and their mean once more.
        assert!(wanted > 60_000.0 || (found - wanted).abs() <= wanted / 500.0 + 1.0, "{found} {wanted}");
    }
}

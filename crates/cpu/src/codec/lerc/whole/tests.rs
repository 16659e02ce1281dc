//! The library decodes what it encoded; this decoder must give the same bytes, or leave a blob to the library.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_lossless,
    clippy::cast_precision_loss,
    reason = "small numbers made here"
)]

use super::super::super::byte_testing::Random;
use super::super::super::testing;
use super::*;
use lerc_core::{PixelData, RasterView};
use lerc_writer::{EncodeOptions, EncoderProfile};
use strile_tiff::Compression;

/// Not a multiple of the side of a micro-block.
const SIZE: (u32, u32) = (37, 29);

fn layout(data_type: DataType, samples: u16) -> BlockLayout {
    let layout = testing::layout(Compression::Lerc, SIZE, (samples, 8));
    BlockLayout { data_type, ..layout }
}

/// A name, and a function that returns the value of every sample.
type Values = (&'static str, fn(u32) -> f64);

/// Returns values that lead to units of all kinds: slopes, noise, few values, one value, and steps too large for a
/// scale.
fn values() -> [Values; 5] {
    [
        ("slopes", |i| f64::from(i % 37) * 0.7 + f64::from(i / 37) * 0.3),
        ("noise", |i| f64::from(i.wrapping_mul(2_654_435_761) >> 25)),
        ("few", |i| [3.0, 90.0, 17.0][(i.wrapping_mul(2_654_435_761) >> 20) as usize % 3]),
        ("one", |i| if i < 500 { 7.0 } else { f64::from(i % 90) }),
        ("zeros", |i| if i % 37 < 16 { 0.0 } else { f64::from(i % 120) }),
    ]
}

fn bytes_of(pixels: &PixelData) -> Vec<u8> {
    match pixels {
        PixelData::I8(v) => v.iter().flat_map(|v| v.to_ne_bytes()).collect(),
        PixelData::U8(v) => v.clone(),
        PixelData::I16(v) => v.iter().flat_map(|v| v.to_ne_bytes()).collect(),
        PixelData::U16(v) => v.iter().flat_map(|v| v.to_ne_bytes()).collect(),
        PixelData::I32(v) => v.iter().flat_map(|v| v.to_ne_bytes()).collect(),
        PixelData::U32(v) => v.iter().flat_map(|v| v.to_ne_bytes()).collect(),
        PixelData::F32(v) => v.iter().flat_map(|v| v.to_ne_bytes()).collect(),
        PixelData::F64(v) => v.iter().flat_map(|v| v.to_ne_bytes()).collect(),
    }
}

/// Returns whether this decoder decodes a blob, with plain code and with code for newer CPUs; both must agree with the
/// library.
fn is_decoded(blob: &[u8], layout: &BlockLayout, what: &str) -> bool {
    let len = layout.samples_len(SIZE.1).unwrap();
    let (mut found, mut plain) = (vec![0xA5; len], vec![0x5A; len]);
    let stop = Stop::default();
    let is_done = decode(blob, &mut found, layout, &stop).is_some();
    assert_eq!(decode_typed(blob, &mut plain, layout, &stop).is_some(), is_done, "{what}");
    if is_done {
        let decoded = lerc_reader::decode_first(blob).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(decoded.mask.is_none(), "{what}");
        assert!(bytes_of(&decoded.pixels) == found, "{what}");
        assert!(found == plain, "{what}: both ways are one");
    }
    is_done
}

macro_rules! check {
    ($type:ty, $data_type:ident, $errors:expr, $scale:expr) => {
        for samples in [1_u16, 3] {
            for (name, value) in values() {
                for error in $errors {
                    let count = SIZE.0 * SIZE.1 * u32::from(samples);
                    let pixels: Vec<$type> = (0..count).map(|i| (value(i) * $scale) as $type).collect();
                    let raster = RasterView::new(SIZE.0, SIZE.1, samples.into(), &pixels).unwrap();
                    let options =
                        EncodeOptions::new().with_max_z_error(error).with_profile(EncoderProfile::Gdal);
                    let blob = lerc_writer::encode(raster, None, options).unwrap();
                    let what = format!("{} {name} × {samples}, error {error}", stringify!($type));
                    let layout = layout(DataType::$data_type, samples);
                    let decoded = is_decoded(&blob, &layout, &what);
                    // Huffman codes are left to the library.
                    assert!(decoded || (error <= 0.5 && size_of::<$type>() == 1), "{what}");
                    mutate(&blob, &layout, &what);
                }
            }
        }
    };
}

/// Decodes blobs with a valid checksum and wrong bytes.
fn mutate(blob: &[u8], layout: &BlockLayout, what: &str) {
    let mut random = Random::new(blob.len() as u64);
    for _ in 0..60 {
        let mut mutant = random.mutant(blob);
        mutant.truncate(blob.len());
        let stated = mutant.get(34..38).map(|len| u32::from_le_bytes(len.try_into().unwrap()) as usize);
        if let Some(summed) = stated.and_then(|len| mutant.get(14..len)) {
            let sum = lerc_core::fletcher32(summed);
            mutant[10..14].copy_from_slice(&sum.to_le_bytes());
        }
        is_decoded(&mutant, layout, what);
    }
}

#[test]
fn integers_are_those_of_the_library() {
    check!(i8, I8, [0.0, 0.5, 2.0], 0.7);
    check!(u8, U8, [0.0, 0.5, 2.0], 1.0);
    check!(i16, I16, [0.5, 3.0], -200.0);
    check!(u16, U16, [0.5, 3.0], 500.0);
    check!(i32, I32, [0.5, 10.0], 1e6);
    check!(u32, U32, [0.5, 10.0], 1e7);
}

#[test]
fn floats_are_those_of_the_library() {
    check!(f32, F32, [0.0, 0.01, 1.0], 1.0);
    check!(f64, F64, [0.0, 0.001, 1.0], 1e5);
}

/// Files of another encoder: libLerc in GDAL.
#[test]
fn files_of_gdal_are_decoded_here() {
    let blob = include_bytes!("../../../../tests/data/rgb_u16.lerc");
    let layout = testing::layout(Compression::Lerc, (13, 9), (3, 16));
    let mut found = vec![0; layout.samples_len(9).unwrap()];
    decode(blob, &mut found, &layout, &Stop::default()).unwrap();
    assert_eq!(found, testing::picture_bytes(3, 16));
}

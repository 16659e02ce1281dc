//! Halving by the CPU engine: against GDAL's overviews, and what GDAL has no case for.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "code of tests: it fails by panicking, and knows its numbers"
)]

#[path = "reduce/gdal.rs"]
mod gdal;

use std::sync::Arc;
use strile_cpu::CpuEngine;
use strile_engine::{
    Context, Engine, Fill, OutputSpec, ReduceJob, ReduceTask, Resampling, SharedPixels, Strides, Support,
};
use strile_tiff::DataType;

fn fill(bytes: &[u8]) -> Option<Fill> {
    let mut fill = Fill::default();
    fill.0[..bytes.len()].copy_from_slice(bytes);
    Some(fill)
}

struct Bytes {
    pixels: Vec<u8>,
    mask: Option<Vec<u8>>,
}

fn reduce(
    method: Resampling,
    spec: OutputSpec,
    bytes: Vec<u8>,
    nodata: Option<Fill>,
    mask: Option<&[u8]>,
) -> Bytes {
    let (columns, rows) = (spec.columns, spec.rows);
    let mut pixels = vec![SharedPixels::new(spec, Arc::new(bytes)).unwrap()];
    if let Some(mask) = mask {
        let spec = OutputSpec::band_first(DataType::U8, 1, rows, columns).unwrap();
        pixels.push(SharedPixels::new(spec, Arc::new(mask.to_vec())).unwrap());
    }
    let task = ReduceTask {
        pixels: 0,
        mask: mask.map(|_| 1),
        origin: (0, 0),
        image: (columns, rows),
        target: (0, 0),
        size: (columns.div_ceil(2), rows.div_ceil(2)),
    };
    let job = ReduceJob { method, nodata, tasks: vec![task] };
    let reduced =
        CpuEngine::new().reduce(job, &pixels, &Context::default()).unwrap().wait().unwrap().remove(0);
    Bytes { pixels: reduced.pixels.bytes().to_vec(), mask: reduced.mask.map(|mask| mask.bytes().to_vec()) }
}

/// Helper of one type: one band, band first.
macro_rules! typed {
    ($name:ident, $type:ty, $data_type:expr) => {
        fn $name(method: Resampling, columns: u32, samples: &[$type], nodata: Option<$type>) -> Vec<$type> {
            let rows = samples.len() as u32 / columns;
            let spec = OutputSpec::band_first($data_type, 1, rows, columns).unwrap();
            let bytes = samples.iter().flat_map(|v| v.to_ne_bytes()).collect();
            let nodata = nodata.and_then(|v| fill(&v.to_ne_bytes()));
            let reduced = reduce(method, spec, bytes, nodata, None).pixels;
            let (samples, _) = reduced.as_chunks();
            samples.iter().map(|bytes| <$type>::from_ne_bytes(*bytes)).collect()
        }
    };
}

typed!(of_u8, u8, DataType::U8);
typed!(of_i8, i8, DataType::I8);
typed!(of_u16, u16, DataType::U16);
typed!(of_i16, i16, DataType::I16);
typed!(of_u64, u64, DataType::U64);
typed!(of_i64, i64, DataType::I64);
typed!(of_f32, f32, DataType::F32);
typed!(of_f64, f64, DataType::F64);

/// What may differ from GDAL: nothing in integers but for the convolutions, one there.
fn tolerance(method: Resampling) -> f64 {
    match method {
        Resampling::Bilinear | Resampling::Cubic | Resampling::Lanczos | Resampling::Gauss => 1.0,
        _ => 0.0,
    }
}

macro_rules! integers_as_gdal {
    ($name:ident, $of:ident, $all:ident, $holed:ident, $reduced:ident) => {
        #[test]
        fn $name() {
            for (method, all, holed) in gdal::$reduced {
                let near = |found: Vec<_>, expected: [_; 12]| {
                    let far = found.iter().zip(expected).position(|(found, expected)| {
                        (f64::from(*found) - f64::from(expected)).abs() > tolerance(method)
                    });
                    assert_eq!(far, None, "{}: {found:?}, expected {expected:?}", method.name());
                };
                near($of(method, 8, &gdal::$all, None), all);
                near($of(method, 8, &gdal::$holed, Some(7)), holed);
            }
        }
    };
}

integers_as_gdal!(u8_as_gdal, of_u8, U8, U8_HOLED, U8_REDUCED);
integers_as_gdal!(u16_as_gdal, of_u16, U16, U16_HOLED, U16_REDUCED);
integers_as_gdal!(i16_as_gdal, of_i16, I16, I16_HOLED, I16_REDUCED);

#[test]
fn floats_as_gdal() {
    for (method, all, holed) in gdal::F32_REDUCED {
        let exact = matches!(method, Resampling::Nearest | Resampling::Average | Resampling::Mode);
        let near = |found: Vec<f32>, expected: [f32; 12]| {
            for (found, expected) in found.iter().zip(expected) {
                let allowed = if exact { 0.0 } else { 1e-6 * expected.abs() };
                assert!(
                    (found - expected).abs() <= allowed,
                    "{}: {found}, expected {expected}",
                    method.name()
                );
            }
        };
        near(of_f32(method, 8, &gdal::F32, None), all);
        near(of_f32(method, 8, &gdal::F32_HOLED, Some(7.0)), holed);
    }
}

#[test]
fn masks_as_gdal() {
    for (method, pixels, mask) in gdal::U8_MASKED {
        let spec = OutputSpec::band_first(DataType::U8, 1, 6, 8).unwrap();
        let reduced = reduce(method, spec, gdal::U8.to_vec(), None, Some(&gdal::MASK));
        let found = reduced.mask.unwrap();
        assert_eq!(found, mask, "{}", method.name());
        for (found, expected) in reduced.pixels.iter().zip(pixels) {
            assert!(
                f64::from(found.abs_diff(expected)) <= tolerance(method),
                "{}: {found} {expected}",
                method.name()
            );
        }
    }
}

#[test]
fn nothing_valid_is_nodata_else_nan_else_0() {
    let nodata = |method| of_u8(method, 3, &[7; 9], Some(7));
    let nan = |method, nodata| of_f32(method, 3, &[f32::NAN; 9], nodata);
    let masked = |method| {
        let spec = OutputSpec::band_first(DataType::U8, 1, 3, 3).unwrap();
        reduce(method, spec, vec![9; 9], None, Some(&[0; 9]))
    };
    for method in Resampling::ALL {
        assert_eq!(nodata(method), [7; 4], "{}", method.name());
        assert!(nan(method, None).iter().all(|v| v.is_nan()), "{}", method.name());
        assert_eq!(masked(method).mask, Some(vec![0; 4]));
        // Nearest takes the pixel with its mask.
        let nearest = method == Resampling::Nearest;
        assert_eq!(masked(method).pixels, [if nearest { 9 } else { 0 }; 4], "{}", method.name());
        assert!(nearest || nan(method, Some(-1.0)) == [-1.0; 4], "{}", method.name());
    }
}

/// Once the lower of the two middle values was taken.
#[test]
fn a_median_of_two_or_four_is_the_mean_of_the_middle_ones() {
    let pixels = [7.0, 1.0, 4.0, 2.0f32];
    assert_eq!(of_f32(Resampling::Median, 2, &pixels, None), [3.0]);
    assert_eq!(of_f32(Resampling::Median, 2, &pixels, Some(7.0)), [2.0]);
    assert_eq!(of_f32(Resampling::Median, 2, &[7.0, 1.0, f32::NAN, 7.0], Some(7.0)), [1.0]);
    assert_eq!(of_f32(Resampling::Median, 2, &[f32::NAN, 1.0, f32::NAN, 6.0], None), [3.5]);
    let huge = [f32::MAX, f32::MAX, f32::MIN, f32::INFINITY];
    assert_eq!(of_f32(Resampling::Median, 2, &huge, None), [f32::MAX]);
    assert_eq!(of_u8(Resampling::Median, 2, &[255, 254, 0, 9], None), [132]);
    assert_eq!(of_u8(Resampling::Median, 2, &[255, 254, 9, 9], Some(9)), [255]);
}

#[test]
fn an_odd_edge_has_only_its_own_pixels() {
    // Three by three; the last column and row stand alone.
    let pixels = [10, 20, 31, 40, 50, 62, 71, 82, 99];
    assert_eq!(of_u8(Resampling::Nearest, 3, &pixels, None), [10, 31, 71, 99]);
    assert_eq!(of_u8(Resampling::Average, 3, &pixels, None), [30, 47, 77, 99]);
    assert_eq!(of_u8(Resampling::Min, 3, &pixels, None), [10, 31, 71, 99]);
    assert_eq!(of_u8(Resampling::Max, 3, &pixels, None), [50, 62, 82, 99]);
    assert_eq!(of_u8(Resampling::Median, 3, &pixels, None), [30, 47, 77, 99]);
    assert_eq!(of_f32(Resampling::Average, 3, &pixels.map(f32::from), None), [30.0, 46.5, 76.5, 99.0]);
}

#[test]
fn valid_pixels_never_become_nodata() {
    use Resampling::{Average, Bilinear, Gauss, Rms};
    // Averages of 10, which is nodata; GDAL gives 11 too, but for the rounded 9.75, where it gives 10.
    assert_eq!(of_u8(Average, 2, &[9, 11, 9, 11], Some(10)), [11]);
    assert_eq!(of_i8(Average, 2, &[9, 11, 8, 11], Some(10)), [11]);
    assert_eq!(of_u8(Average, 2, &[9, 11, 10, 10], Some(10)), [11], "with holes");
    assert_eq!(of_u8(Bilinear, 2, &[9, 11, 9, 11], Some(10)), [11]);
    assert_eq!(of_u8(Average, 2, &[254, 254, 254, 255], Some(255)), [254]);
    assert_eq!(of_i8(Average, 2, &[-1, 1, -1, 1], Some(0)), [1]);
    assert_eq!(of_i16(Rms, 2, &[9, 11, 9, 11], Some(10)), [11]);
    assert_eq!(of_f32(Average, 2, &[0.0, 20.0, 0.0, 20.0], Some(10.0)), [10.0f32.next_up()]);
    assert_eq!(of_f64(Gauss, 2, &[-9.0; 4], Some(9.0)), [-9.0]);
    assert_eq!(of_f64(Average, 2, &[-1.0, 1.0, -1.0, 1.0], Some(0.0)), [f64::from_bits(1)]);
}

#[test]
fn halves_go_away_from_zero() {
    assert_eq!(of_i8(Resampling::Average, 2, &[-1, 0, -1, 0], None), [-1]);
    assert_eq!(of_i8(Resampling::Average, 2, &[-1, 0, 0, 0], None), [0]);
    assert_eq!(of_i16(Resampling::Average, 2, &[1, 0, 1, 0], None), [1]);
    assert_eq!(of_i8(Resampling::Average, 2, &[-5, -5, -6, 99], Some(99)), [-5]);
}

#[test]
fn averages_of_64_bits_are_exact() {
    let top = u64::MAX;
    assert_eq!(of_u64(Resampling::Average, 2, &[top, top, top, top - 1], None), [top]);
    assert_eq!(of_u64(Resampling::Average, 2, &[top, top - 1, top - 2, 5], Some(5)), [top - 1]);
    assert_eq!(
        of_i64(Resampling::Average, 2, &[i64::MIN, i64::MIN, i64::MIN, i64::MIN + 3], None),
        [i64::MIN + 1]
    );
    // Filters compute in f64 and end at the ends of the type.
    assert_eq!(of_u64(Resampling::Bilinear, 2, &[top; 4], None), [top]);
    assert_eq!(of_i64(Resampling::Rms, 2, &[i64::MIN; 4], None), [i64::MAX]);
}

#[test]
fn floats_do_not_leave_their_range_on_the_way() {
    assert_eq!(of_f32(Resampling::Average, 2, &[f32::MAX; 4], None), [f32::MAX]);
    assert_eq!(of_f64(Resampling::Average, 2, &[f64::MAX; 4], Some(0.0)), [f64::MAX]);
    assert_eq!(of_f64(Resampling::Rms, 2, &[1e200; 4], None), [1e200]);
    assert_eq!(of_f64(Resampling::Rms, 2, &[1e-200; 4], None), [1e-200]);
    assert_eq!(of_f32(Resampling::Average, 2, &[f32::INFINITY, 1.0, f32::NAN, 1.0], None), [f32::INFINITY]);
    assert!(of_f32(Resampling::Average, 2, &[f32::INFINITY, f32::NEG_INFINITY, 1.0, 1.0], None)[0].is_nan());
}

#[test]
fn half_floats() {
    use half::f16;
    let samples = [1.0, 2.0, 4.0, 6.0].map(f16::from_f32);
    let spec = OutputSpec::band_first(DataType::F16, 1, 2, 2).unwrap();
    let bytes: Vec<u8> = samples.iter().flat_map(|v| v.to_ne_bytes()).collect();
    let of = |method, nodata: f32| {
        let nodata = fill(&f16::from_f32(nodata).to_ne_bytes());
        let reduced = reduce(method, spec.clone(), bytes.clone(), nodata, None).pixels;
        f16::from_ne_bytes(reduced.try_into().unwrap())
    };
    assert_eq!(of(Resampling::Average, 9.0), f16::from_f32(3.25));
    assert_eq!(of(Resampling::Average, 1.0), f16::from_f32(4.0));
    assert_eq!(of(Resampling::Average, 3.25), f16::from_bits(f16::from_f32(3.25).to_bits() + 1));
    assert_eq!(of(Resampling::Max, 9.0), f16::from_f32(6.0));
}

#[test]
fn complex_samples_are_averaged_by_parts_and_valid_as_a_whole() {
    let average = |pairs: [[f32; 2]; 4], nodata: Option<[f32; 2]>| {
        let spec = OutputSpec::band_first(DataType::C64, 1, 2, 2).unwrap();
        let bytes = pairs.iter().flatten().flat_map(|v| v.to_ne_bytes()).collect();
        let nodata = nodata.and_then(|v| fill(&[v[0].to_ne_bytes(), v[1].to_ne_bytes()].concat()));
        let reduced = reduce(Resampling::Average, spec, bytes, nodata, None).pixels;
        [0, 4].map(|at| f32::from_ne_bytes(reduced[at..at + 4].try_into().unwrap()))
    };
    let pairs = [[1.0, 10.0], [2.0, 20.0], [3.0, f32::NAN], [0.0, 60.0]];
    assert_eq!(average(pairs, None), [1.0, 30.0]);
    assert_eq!(average(pairs, Some([0.0, 60.0])), [1.5, 15.0]);
    assert_eq!(average(pairs, Some([1.0, 60.0])), [1.0, 30.0], "one part alone is not nodata");
    assert_eq!(average(pairs, Some([1.0, 30.0])), [1.0f32.next_up(), 30.0]);
    assert!(matches!(CpuEngine::new().reduces(Resampling::Max, DataType::C64), Support::No(_)));
    assert_eq!(CpuEngine::new().reduces(Resampling::Nearest, DataType::C128), Support::Yes);
}

#[test]
fn pixels_with_gaps_are_read_by_their_strides() {
    // Two bands of 2 × 2 with a byte between samples and three between rows, and the same without.
    let strides = Strides { band: 1, row: 11, column: 4 };
    let spec = OutputSpec { data_type: DataType::U8, bands: 2, rows: 2, columns: 2, strides };
    let bytes = vec![1, 10, 0, 0, 2, 20, 0, 0, 0, 0, 0, 3, 30, 0, 0, 6, 60];
    for (method, expected) in
        [(Resampling::Average, [3, 30]), (Resampling::Nearest, [1, 10]), (Resampling::Gauss, [4, 39])]
    {
        assert_eq!(
            reduce(method, spec.clone(), bytes.clone(), None, None).pixels,
            expected,
            "{}",
            method.name()
        );
    }
}

#[test]
fn nan_is_the_same_on_every_processor() {
    // Infinities of both signs: which NaN their sum is depends on the processor.
    let samples = [f32::INFINITY, f32::NEG_INFINITY, 1.0, 2.0];
    let bytes: Vec<u8> = samples.iter().flat_map(|v| v.to_ne_bytes()).collect();
    for method in [Resampling::Average, Resampling::Gauss, Resampling::Bilinear] {
        for nodata in [None, fill(&9f32.to_ne_bytes())] {
            let spec = OutputSpec::band_first(DataType::F32, 1, 2, 2).unwrap();
            let reduced = reduce(method, spec, bytes.clone(), nodata, None);
            assert_eq!(reduced.pixels, 0x7FC0_0000u32.to_ne_bytes(), "{}", method.name());
        }
    }
}

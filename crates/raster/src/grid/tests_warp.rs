//! Compares warped rasters with GDAL. `xtask/python/make_warped.py` generates the table and documents its format.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::unreachable,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a wrong fixture should stop the test"
)]

use super::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use strile_cpu::CpuEngine;
use strile_crs::{DatumShift, TransformOptions};
use strile_engine::{
    Context, Engine, Fill, Output, OutputSpec, SharedPixels, WarpBlend, WarpJob, WarpRect, WarpSampling,
    WarpWindow,
};
use strile_tiff::DataType;

fn grid(system: &str, place: &str) -> Grid {
    let words: Vec<&str> = place.split(' ').collect();
    let numbers: Vec<f64> = words[2..].iter().map(|v| v.parse().unwrap()).collect();
    let transform = GeoTransform::from_coefficients(numbers.try_into().unwrap());
    let crs = Crs::from_user_input(system).unwrap();
    Grid::new(crs, transform, words[0].parse().unwrap(), words[1].parse().unwrap()).unwrap()
}

fn sampling(name: &str) -> WarpSampling {
    use WarpSampling as W;
    match name {
        "nearest" => W::Nearest,
        "bilinear" => W::Bilinear,
        "cubic" => W::Cubic,
        "cubic_spline" => W::CubicSpline,
        "lanczos" => W::Lanczos,
        "average" => W::Average,
        "mode" => W::Mode,
        "min" => W::Min,
        "max" => W::Max,
        "med" => W::Median,
        "q1" => W::Q1,
        "q3" => W::Q3,
        "rms" => W::Rms,
        "sum" => W::Sum,
        _ => unreachable!("{name}"),
    }
}

fn bytes(data_type: DataType, value: f64) -> Vec<u8> {
    match data_type {
        DataType::F32 => (value as f32).to_ne_bytes().to_vec(),
        DataType::I16 => (value as i16).to_ne_bytes().to_vec(),
        _ => vec![value as u8],
    }
}

fn value(data_type: DataType, bytes: &[u8]) -> f64 {
    match data_type {
        DataType::F32 => f32::from_ne_bytes(bytes.try_into().unwrap()).into(),
        DataType::I16 => i16::from_ne_bytes(bytes.try_into().unwrap()).into(),
        _ => bytes[0].into(),
    }
}

fn fill(data_type: DataType, value: f64) -> Fill {
    let mut fill = Fill::default();
    let bytes = bytes(data_type, value);
    fill.0[..bytes.len()].copy_from_slice(&bytes);
    fill
}

/// Warps one case in two windows. The source is not read beyond the window of the map.
fn warped(words: &[&str]) -> Vec<Option<f64>> {
    let (source, target) = (grid(words[4], words[5]), grid(words[6], words[7]));
    let (data_type, offset, none) = match words[0] {
        "float32" => (DataType::F32, 20.0, -99.0),
        "int16" => (DataType::I16, 20.0, if words[1] == "-" { -99.0 } else { -20.0 }),
        _ => (DataType::U8, 0.0, 255.0),
    };
    let sampling = sampling(words[2]);
    let scale: f64 = words[3].parse().unwrap();
    let consent = TransformOptions::default().datum_shift(DatumShift::None);
    let options = MapOptions::default().tolerance(0.0).points(WarpPoints::of(sampling));
    let map = CoordinateMap::new(&target, &source, &consent, &options).unwrap();
    let half = target.height() / 2;
    let spec = OutputSpec::band_first(data_type, 1, target.height(), target.width()).unwrap();
    let output = Output::new(spec).unwrap();
    for (row, height) in [(0, half), (half, target.height() - half)] {
        let part = WarpRect::new(0, row, target.width(), height);
        let sheet = map.map().source_window(part, sampling, (scale, scale)).unwrap_or_default();
        let mut samples = Vec::new();
        for y in sheet.row..sheet.row + sheet.height {
            for x in sheet.column..sheet.column + sheet.width {
                let sample = f64::from((7 * x + 13 * y + x * y) % 101) - offset;
                samples.extend(bytes(data_type, sample));
            }
        }
        let spec = OutputSpec::band_first(data_type, 1, sheet.height, sheet.width).unwrap();
        let window = WarpWindow {
            map: Arc::clone(map.map()),
            target: part,
            first_band: 0,
            row,
            column: 0,
            source_band: 0,
            mask: 0,
            bands: 1,
            sheet,
            scale: (scale, scale),
            nodata: words[1].parse().ok().map(|value| fill(data_type, value)),
            avoid: Some(fill(data_type, none)),
            fill: fill(data_type, none),
            blend: WarpBlend::Fill,
        };
        let job = WarpJob { sampling, windows: vec![window] };
        let pixels = SharedPixels::new(spec, Arc::new(samples)).unwrap();
        CpuEngine::new().warp(&job, &pixels, None, &output, &Context::default()).unwrap();
    }
    let all = output.into_vec().unwrap();
    let values = all.chunks(data_type.size()).map(|sample| value(data_type, sample));
    values.map(|value| (value != none).then_some(value)).collect()
}

#[test]
fn warped_pixels_are_gdals() {
    let (mut pixels, mut halves, mut wrong) = (0, 0, BTreeMap::<String, Vec<String>>::new());
    for line in include_str!("warped.txt").lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split('\t').collect();
        let found = warped(&words);
        for (i, (found, wanted)) in found.iter().step_by(5).zip(words[8].split(' ')).enumerate() {
            let wanted: Option<f64> = wanted.parse().ok();
            pixels += 1;
            let near = match (found, wanted) {
                (Some(found), Some(wanted)) => {
                    (found - wanted).abs() <= if words[0] == "float32" { 2e-3 } else { 0.0 }
                }
                (None, None) => true,
                _ => false,
            };
            // GDAL's running mean and a sum that is divided once may be on different sides of a half.
            let half = words[0] != "float32" && words[2] == "average";
            if half && found.zip(wanted).is_some_and(|(found, wanted)| (found - wanted).abs() == 1.0) {
                halves += 1;
            } else if !near {
                let list = wrong.entry(words[..7].join(" ")).or_default();
                list.push(format!("{found:?} for {wanted:?} at {i}"));
            }
        }
    }
    let text: Vec<String> = wrong
        .iter()
        .map(|(head, list)| {
            format!("{head}: {} pixels, {}", list.len(), list[..list.len().min(4)].join("; "))
        })
        .collect();
    assert!(wrong.is_empty(), "of {pixels}\n{}", text.join("\n"));
    assert!(halves < 10, "{halves} of {pixels} means are rounded otherwise");
}

//! Warped rasters against GDAL; `xtask/python/make_warped.py` makes the table and says how it is written.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a wrong fixture should stop the test")]

use super::*;
use crate::window::Window;
use strile_crs::{DatumShift, TransformOptions};

fn grid(system: &str, place: &str) -> Grid {
    let words: Vec<&str> = place.split(' ').collect();
    let numbers: Vec<f64> = words[2..].iter().map(|v| v.parse().unwrap()).collect();
    let transform = GeoTransform::from_coefficients(numbers.try_into().unwrap());
    let crs = Crs::from_user_input(system).unwrap();
    Grid::new(crs, transform, words[0].parse().unwrap(), words[1].parse().unwrap()).unwrap()
}

/// Warps one case with samples of one type, in two windows. The source is read no further than the map says.
fn warped<T: WarpSample>(words: &[&str], offset: i32, tolerance: f64) -> Vec<Option<f64>> {
    let (source, target) = (grid(words[3], words[4]), grid(words[5], words[6]));
    let kernel = if words[2] == "nearest" { WarpKernel::Nearest } else { WarpKernel::Bilinear };
    let nodata = words[1].parse::<f64>().ok().map(T::from_f64);
    let consent = TransformOptions::default().datum_shift(DatumShift::None);
    let options = MapOptions::default().tolerance(tolerance);
    let map = CoordinateMap::new(&target, &source, &consent, &options).unwrap();
    // A value that no sample has.
    let fill = T::from_f64(if offset == 0 { 255.0 } else { -99.0 });
    let half = target.height() / 2;
    let mut all = Vec::new();
    for (row, height) in [(0, half), (half, target.height() - half)] {
        let window = Window::new(0, row, target.width(), height);
        let mut out = vec![fill; (target.width() * height) as usize];
        if let Some(under) = map.source_window(window, 1.0) {
            let mut samples = Vec::new();
            for y in under.row..under.row + under.height {
                for x in under.column..under.column + under.width {
                    samples.push(T::from_f64(f64::from((7 * x + 13 * y + x * y) % 101) - f64::from(offset)));
                }
            }
            let samples = SourceSamples { samples: &samples, window: under, nodata };
            warp(&map, &samples, kernel, window, fill, &mut out).unwrap();
        }
        all.extend(out);
    }
    all.into_iter().map(|v| (v != fill).then(|| v.to_f64())).collect()
}

#[test]
fn warped_pixels_are_gdals() {
    let (mut pixels, mut differ, mut wrong) = (0, 0, Vec::new());
    for line in include_str!("warped.txt").lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split('\t').collect();
        let found = match words[0] {
            "float32" => warped::<f32>(&words, 20, 0.0),
            "int16" => warped::<i16>(&words, 20, 0.0),
            _ => warped::<u8>(&words, 0, 0.0),
        };
        let head = words[..6].join(" ");
        for (i, (found, wanted)) in found.iter().step_by(3).zip(words[7].split(' ')).enumerate() {
            let wanted: Option<f64> = wanted.parse().ok();
            pixels += 1;
            let near = match (found, wanted) {
                (Some(found), Some(wanted)) => {
                    (found - wanted).abs() <= if words[0] == "float32" { 2e-3 } else { 0.0 }
                }
                (None, None) => true,
                _ => false,
            };
            if !near {
                differ += 1;
                wrong.push(format!("{head}: {found:?} for {wanted:?} at {i}"));
            }
        }
    }
    println!("{pixels} pixels, {differ} differ");
    assert!(wrong.is_empty(), "{} of {pixels}\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
}

#[test]
fn what_does_not_fit_is_an_error() {
    let source = grid("EPSG:32633", "60 50 10 0 500000 0 -10 5538630");
    let target = grid("EPSG:3857", "64 48 12 0 1669780 0 -12 6446330");
    let map =
        CoordinateMap::new(&target, &source, &TransformOptions::default(), &MapOptions::default()).unwrap();
    let all = vec![1_u8; 3000];
    let whole = Window::new(0, 0, 60, 50);
    let run = |samples: &[u8], under: Window, window: Window, room: usize| {
        let samples = SourceSamples { samples, window: under, nodata: None };
        warp(&map, &samples, WarpKernel::Bilinear, window, 0, &mut vec![0; room]).map_err(|e| e.to_string())
    };
    assert_eq!(run(&all, whole, Window::new(0, 0, 64, 48), 64 * 48), Ok(()));
    assert!(run(&all, whole, Window::new(0, 0, 64, 49), 64 * 49).unwrap_err().contains("outside the grid"));
    assert!(run(&all, whole, Window::new(u32::MAX, 0, 2, 1), 2).unwrap_err().contains("outside the grid"));
    assert!(run(&all, whole, Window::new(0, 0, 64, 48), 10).unwrap_err().contains("room for 3072"));
    assert!(
        run(&all[1..], whole, Window::new(0, 0, 64, 48), 64 * 48)
            .unwrap_err()
            .contains("expected 3000 samples")
    );
    let few = run(&all[..100], Window::new(0, 0, 10, 10), Window::new(0, 0, 64, 48), 64 * 48);
    assert!(few.unwrap_err().contains("is needed and not in the window"));
    // Integers stop at their limits, and halves round up.
    assert_eq!(
        (u8::from_f64(300.0), u8::from_f64(-3.0), i16::from_f64(-2.5), u8::from_f64(2.5)),
        (255, 0, -2, 3)
    );
}

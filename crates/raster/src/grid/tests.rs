#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a wrong fixture should stop the test; small numbers made here"
)]

use super::*;
use strile_crs::{Area, DatumShift, TransformOptions, Transformer};

fn crs(text: &str) -> Crs {
    Crs::from_user_input(text).unwrap()
}

fn bounds(min_x: f64, min_y: f64, max_x: f64, max_y: f64) -> Bounds {
    Bounds { min_x, min_y, max_x, max_y }
}

#[test]
fn bounds_and_resolutions_are_gdalwarps() {
    // gdalwarp -te 10.3 20.7 29.9 41.2 -tr 2 3, without and with -tap.
    let area = bounds(10.3, 20.7, 29.9, 41.2);
    let plain = Grid::from_bounds(crs("EPSG:32633"), area, (2.0, 3.0), false).unwrap();
    assert_eq!((plain.width(), plain.height()), (10, 7));
    assert_eq!(plain.transform().to_gdal(), [10.3, 2.0, 0.0, 41.2, 0.0, -3.0]);
    let aligned = Grid::from_bounds(crs("EPSG:32633"), area, (2.0, 3.0), true).unwrap();
    assert_eq!((aligned.width(), aligned.height()), (10, 8));
    assert_eq!(aligned.transform().to_gdal(), [10.0, 2.0, 0.0, 42.0, 0.0, -3.0]);
    let sized =
        Grid::from_bounds_and_size(crs("EPSG:4326"), bounds(-180.0, -90.0, 180.0, 90.0), 720, 360).unwrap();
    assert_eq!(sized.transform().to_gdal(), [-180.0, 0.5, 0.0, 90.0, 0.0, -0.5]);
}

#[test]
fn tiles_are_those_of_web_maps() {
    let world = Grid::xyz_tile(0, 0, 0, 256).unwrap();
    assert_eq!(world.bounds().min_x, -HALF_EQUATOR);
    assert_eq!(world.bounds().max_y, HALF_EQUATOR);
    // mercantile.xy_bounds(486, 332, 10).
    let tile = Grid::xyz_tile(10, 486, 332, 512).unwrap().bounds();
    let wanted = [-1_017_529.720_5, 7_005_300.768_3, -978_393.962_1, 7_044_436.526_8];
    let found = [tile.min_x, tile.min_y, tile.max_x, tile.max_y];
    assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-3), "{found:?}");
    for (z, x, y, size) in [(1, 2, 0, 256), (1, 0, 2, 256), (31, 0, 0, 256), (255, 0, 0, 256), (3, 1, 1, 0)] {
        assert!(Grid::xyz_tile(z, x, y, size).is_err(), "{z}/{x}/{y} {size}");
    }
}

#[test]
fn absurd_grids_are_errors() {
    let utm = || crs("EPSG:32633");
    let t = |a, e, c| GeoTransform { a, b: 0.0, c, d: 0.0, e, f: 0.0 };
    for (transform, width, height) in [
        (t(f64::NAN, -1.0, 0.0), 1, 1),
        (t(1.0, f64::INFINITY, 0.0), 1, 1),
        (t(0.0, -1.0, 0.0), 1, 1),
        (t(1.0, -1.0, 0.0), 0, 1),
        (t(1.0, -1.0, 0.0), 1, u32::MAX),
        (t(1e308, -1.0, 0.0), 1000, 1),
        (t(1.0, -1.0, 1e300), 10, 10),
        (t(1e-12, -1e-12, 5e5), 10, 10),
        (t(5e-324, -1.0, 0.0), 10, 10),
    ] {
        assert!(Grid::new(utm(), transform, width, height).is_err(), "{transform:?} {width} {height}");
    }
    for area in [
        bounds(0.0, 0.0, 0.0, 1.0),
        bounds(1.0, 0.0, 0.0, 1.0),
        bounds(f64::NAN, 0.0, 1.0, 1.0),
        bounds(0.0, 0.0, f64::INFINITY, 1.0),
        bounds(-1e308, -1e308, 1e308, 1e308),
    ] {
        assert!(Grid::from_bounds(utm(), area, (10.0, 10.0), false).is_err(), "{area:?}");
        assert!(Grid::from_bounds(utm(), area, (10.0, 10.0), true).is_err(), "{area:?}");
        assert!(Grid::from_bounds_and_size(utm(), area, 0, 10).is_err(), "{area:?}");
    }
    for resolution in
        [(0.0, 1.0), (-1.0, 1.0), (f64::NAN, 1.0), (1e-300, 1e-300), (f64::INFINITY, 1.0), (1e-5, 1e-5)]
    {
        assert!(
            Grid::from_bounds(utm(), bounds(0.0, 0.0, 1e6, 1e6), resolution, false).is_err(),
            "{resolution:?}"
        );
    }
    assert!(Grid::like(&Georeference::default(), 10, 10).is_err());
}

/// Expected: `rasterio.warp.calculate_default_transform` of rasterio 1.4.4 (GDAL 3.10.3) with
/// CHECK_WITH_INVERT_PROJ=YES.
#[test]
fn suggestions_are_gdals() {
    let (mut rows, mut wrong) = (0, Vec::new());
    for line in include_str!("suggested.txt").lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split('\t').collect();
        let numbers = |text: &str| -> Vec<f64> { text.split(' ').map(|v| v.parse().unwrap()).collect() };
        let (from, given, to, wanted) = (words[0], numbers(words[1]), words[2], numbers(words[3]));
        let source = GeoTransform::from_gdal(given[2..].try_into().unwrap());
        let grid = Grid::new(crs(from), source, given[0] as u32, given[1] as u32).unwrap();
        let options = TransformOptions::default().datum_shift(DatumShift::None);
        let suggested = grid.suggest(&crs(to), &options).unwrap();
        let mut found = vec![f64::from(suggested.width()), f64::from(suggested.height())];
        found.extend(suggested.transform().to_gdal());
        let pixel = wanted[3];
        // Coordinates by PROJ 9.7 and by another operation between NAD83 or ETRS89 and WGS 84 are almost the same.
        let near = found.iter().zip(&wanted).all(|(a, b)| (a - b).abs() <= 1e-4 * pixel)
            && found[..2] == wanted[..2];
        if !near {
            wrong.push(format!("{line}: {found:?}"));
        }
        rows += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(rows, 32);
}

/// Expected: GDAL 3.10's `WarpedVRT(file, crs=file.crs).transform`.
#[test]
fn a_raster_has_its_own_grid_in_its_own_system() {
    let there = |text: &str, gt: [f64; 6]| {
        let grid = Grid::new(crs("EPSG:32633"), GeoTransform::from_gdal(gt), 100, 80).unwrap();
        grid.suggest(&crs(text), &TransformOptions::default()).unwrap().transform().to_gdal()
    };
    for text in ["EPSG:32633", "+proj=utm +zone=33 +datum=WGS84 +units=m"] {
        let oblong = [499_500.0, 10.0, 0.0, 5_539_000.0, 0.0, -20.0];
        assert_eq!(there(text, oblong), oblong);
        let mirrored = [500_500.0, -10.0, 0.0, 5_539_000.0, 0.0, -10.0];
        assert_eq!(there(text, mirrored), mirrored);
        let south_up = [499_500.0, 10.0, 0.0, 5_538_000.0, 0.0, 10.0];
        assert_eq!(there(text, south_up), [499_500.0, 10.0, 0.0, 5_538_800.0, 0.0, -10.0]);
        // A rotated raster gets square pixels.
        let turned = there(text, [499_500.0, 9.0, 4.0, 5_539_000.0, 4.0, -9.0]);
        assert!(turned[2] == 0.0 && turned[1] == -turned[5], "{turned:?}");
    }
    let unknown =
        Grid::new(crs("EPSG:27200"), GeoTransform::from_gdal([2.5e6, 10.0, 0.0, 6e6, 0.0, -10.0]), 9, 9);
    let unknown = unknown.unwrap();
    assert_eq!(unknown.suggest(&crs("EPSG:27200"), &TransformOptions::default()).unwrap(), unknown);
}

/// Compares a map with exact coordinates of sampled pixels. Returns points and exact pixels.
fn compare(target: &Grid, source: &Grid, tolerance: f64) -> (u64, usize, usize) {
    let consent = TransformOptions::default().datum_shift(DatumShift::None);
    let options = MapOptions { tolerance, ..MapOptions::default() };
    let map = CoordinateMap::new(target, source, &consent, &options).unwrap();
    let edges = target.bounds();
    let area = Area::of(target.crs(), (edges.min_x, edges.min_y), (edges.max_x, edges.max_y)).unwrap();
    let exact = Transformer::new(target.crs(), source.crs(), &consent.area(area)).unwrap();
    let inverse = source.transform().inverse().unwrap();
    let whole = crate::window::Window::new(0, 0, target.width(), target.height());
    let under = map.source_window(whole, WarpSampling::Nearest);
    let turn = exact.target_period().map(|period| period * inverse.a);
    let (mut state, mut outside) = (12345_u64, 0);
    for _ in 0..20_000 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let (column, row) = ((state >> 40) as u32 % target.width(), (state >> 16) as u32 % target.height());
        let (x, y) = target.transform().to_world(f64::from(column) + 0.5, f64::from(row) + 0.5);
        match (map.at(column, row), exact.transform(x, y)) {
            (None, None) => outside += 1,
            (Some(found), Some((x, y))) => {
                let wanted = inverse.to_world(x, y);
                let mut across = (found.0 - wanted.0).abs();
                if let Some(turn) = turn {
                    across = (across - (across / turn).round() * turn).abs();
                }
                if exact.to_is_geographic() {
                    across *= y.to_radians().cos();
                }
                if found.0 >= 0.0
                    && found.0 < f64::from(source.width())
                    && found.1 >= 0.0
                    && found.1 < f64::from(source.height())
                {
                    let (x, y) = (found.0 as u32, found.1 as u32);
                    let window = crate::window::Window::new(column, row, 1, 1);
                    for under in [under.unwrap(), map.source_window(window, WarpSampling::Nearest).unwrap()] {
                        assert!(under.column <= x && x - under.column < under.width, "{x} in {under:?}");
                        assert!(under.row <= y && y - under.row < under.height, "{y} in {under:?}");
                    }
                }
                let miss = across.max((found.1 - wanted.1).abs());
                // Between the tested points the error is hardly larger than at them.
                assert!(miss <= tolerance * 1.1 + 1e-9, "{column} {row}: {found:?} for {wanted:?}");
            }
            // A domain that touches a cell between its points.
            (None, Some(_)) => outside += 1,
            (found @ Some(_), None) => assert_eq!(found, None, "{column} {row} is outside"),
        }
    }
    (map.points(), map.exact_pixels(), outside)
}

fn square(text: &str, x: f64, y: f64, pixel: f64, side: u32) -> Grid {
    let half = pixel * f64::from(side) / 2.0;
    Grid::from_bounds_and_size(crs(text), bounds(x - half, y - half, x + half, y + half), side, side).unwrap()
}

#[test]
fn interpolated_places_are_within_the_tolerance() {
    let eighth = 0.125;
    let utm = square("EPSG:32633", 5e5, 5_538_630.0, 10.0, 8192);
    // UTM onto Web Mercator: 6 points per cell of 256, none exact.
    let mercator = square("EPSG:3857", 1_670_000.0, 6_446_000.0, 15.5, 8192);
    let (points, exact, outside) = compare(&mercator, &utm, eighth);
    assert_eq!((exact, outside), (0, 0));
    assert_eq!(points, 65 * 65 + 2 * 32 * 32);
    compare(&mercator, &utm, 1.0 / 1024.0);
    // Longitude and latitude, the pole and all longitudes inside.
    let world =
        Grid::from_bounds_and_size(crs("EPSG:4326"), bounds(-180.0, -90.0, 180.0, 90.0), 36_000, 18_000)
            .unwrap();
    let pole = square("EPSG:3413", 0.0, 0.0, 1000.0, 2048);
    let (points, exact, outside) = compare(&pole, &world, eighth);
    assert_eq!(outside, 0);
    assert!(points < 400_000 && exact < 2048 * 2048 / 50, "{points} points, {exact} exact pixels");
    // The antimeridian inside.
    let (_, exact, outside) = compare(&square("EPSG:3413", -1e6, 1e6, 400.0, 2048), &world, eighth);
    assert_eq!((exact, outside), (0, 0));
    let fiji = square("EPSG:32701", 1.8e5, 8.1e6, 30.0, 2048);
    assert_eq!(compare(&fiji, &world, eighth).2, 0);
    // MODIS, whose map ends at an outline.
    let modis = "+proj=sinu +lon_0=0 +R=6371007.181 +units=m";
    let sinusoidal = square(modis, 0.0, 0.0, 4633.127, 8640);
    compare(&square("EPSG:4326", 120.0, 40.0, 0.01, 4096), &sinusoidal, eighth);
    let (_, _, outside) = compare(&square(modis, 1.5e7, 6e6, 3000.0, 4096), &world, eighth);
    assert!(outside > 1000, "{outside}");
    // A disc.
    let (_, _, outside) = compare(&square("EPSG:3035", 4.3e6, 3.2e6, 8000.0, 4096), &world, eighth);
    assert!(outside > 1000, "{outside}");
}

/// An error that is antisymmetric around an axis is zero in the middle of a cell there, and on its edges, however large
/// it is elsewhere.
#[test]
fn cells_around_an_axis_are_within_the_tolerance() {
    let earth = square("EPSG:6933", 0.0, 0.0, 9000.0, 3000);
    for side in [8, 64, 256] {
        // One cell, with the equator in the middle, unchanged or rotated.
        let pixel = 2.4e6 / f64::from(side);
        compare(&square("EPSG:3857", 3e6, 0.0, pixel, side), &earth, 0.125);
        for (sine, cosine) in
            [(0.5_f64.sqrt(), 0.5_f64.sqrt()), (-0.5_f64.sqrt(), 0.5_f64.sqrt()), (1.0, 0.0)]
        {
            let (a, b) = (cosine * pixel, sine * pixel);
            let half = f64::from(side) / 2.0;
            let transform = GeoTransform { a, b, c: 3e6 - (a + b) * half, d: b, e: -a, f: (a - b) * half };
            let turned = Grid::new(crs("EPSG:3857"), transform, side, side).unwrap();
            compare(&turned, &earth, 0.125);
        }
    }
}

#[test]
fn every_pixel_is_exact_at_a_tolerance_of_zero() {
    let source = square("EPSG:32633", 5e5, 5_538_630.0, 10.0, 1000);
    let target = square("EPSG:3857", 1_670_000.0, 6_446_000.0, 15.5, 100);
    let (_, exact, _) = compare(&target, &source, 0.0);
    assert_eq!(exact, 13 * 13 * 64);
}

#[test]
fn turned_rasters_and_grids() {
    let (sine, cosine) = 0.3_f64.sin_cos();
    let turned = |x: f64, y: f64, pixel: f64| GeoTransform {
        a: cosine * pixel,
        b: sine * pixel,
        c: x,
        d: sine * pixel,
        e: -cosine * pixel,
        f: y,
    };
    let source = Grid::new(crs("EPSG:32633"), turned(4e5, 5.6e6, 10.0), 3000, 2000).unwrap();
    let target = Grid::new(crs("EPSG:3857"), turned(1.6e6, 6.5e6, 15.0), 2000, 2000).unwrap();
    compare(&target, &source, 0.125);
    let back = source.suggest(&crs("EPSG:4326"), &TransformOptions::default()).unwrap();
    assert!(back.transform().is_north_up());
}

#[test]
fn work_is_bounded() {
    let source = square("EPSG:32633", 5e5, 5_538_630.0, 10.0, 1000);
    let huge = square("EPSG:3857", 1_670_000.0, 6_446_000.0, 0.01, 100_000_000);
    let default = TransformOptions::default();
    let message =
        CoordinateMap::new(&huge, &source, &default, &MapOptions::default()).unwrap_err().to_string();
    assert!(message.contains("coordinates are needed"), "{message}");
    let small = square("EPSG:3857", 1_670_000.0, 6_446_000.0, 15.5, 100);
    for tolerance in [-1.0, f64::NAN, f64::INFINITY] {
        let options = MapOptions { tolerance, ..MapOptions::default() };
        assert!(CoordinateMap::new(&small, &source, &default, &options).is_err());
    }
    let map = CoordinateMap::new(&small, &source, &default, &MapOptions::default()).unwrap();
    assert!(map.at(99, 99).is_some() && map.at(100, 0).is_none() && map.at(0, u32::MAX).is_none());
    let window = |column, row, width, height| crate::window::Window::new(column, row, width, height);
    assert_eq!(map.source_window(window(0, 0, 0, 5), WarpSampling::Bilinear), None);
    assert_eq!(map.source_window(window(100, 0, 5, 5), WarpSampling::Bilinear), None);
    assert_eq!(map.source_window(window(u32::MAX, 0, 5, 5), WarpSampling::Bilinear), None);
    let narrow = map.source_window(window(0, 0, 100, 100), WarpSampling::Bilinear).unwrap();
    let wide = map.source_window(window(0, 0, 100, 100), WarpSampling::Lanczos).unwrap();
    assert_eq!((wide.width, wide.height), (narrow.width + 4, narrow.height + 4));
    assert!(map.bytes() < 1000, "{}", map.bytes());
}

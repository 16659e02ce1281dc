//! Cuts and threads do not change results, and hostile maps do no harm.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "code of tests: it fails by panicking, and knows its numbers"
)]

use super::*;
use std::num::NonZeroUsize;
use std::sync::Arc;
use strile_engine::{Fill, OutputSpec, WarpBlend, WarpMap, WarpMapParts, WarpPoints, WarpRect, WarpSampling};

const GRID: (u32, u32) = (150, 90);
const SOURCE: (u32, u32) = (70, 60);

/// Returns a map of consecutive smooth cells over a plane that is rotated a little.
fn map(points: WarpPoints) -> Arc<WarpMap> {
    let mut parts = WarpMapParts { size: GRID, source: SOURCE, points, ..WarpMapParts::default() };
    for (row, column) in (0..2_u32).flat_map(|row| (0..3_u32).map(move |column| (row, column))) {
        let at = |x: u32, y: u32| {
            let (x, y) = (f64::from(64 * (column + x)), f64::from(64 * (row + y)));
            [0.45 * x + 0.02 * y + 1.3, 0.6 * y - 0.03 * x + 2.2]
        };
        parts.cells.push(WarpMap::SMOOTH | parts.corners.len() as u32);
        let [a, b, c, d] = [at(0, 0), at(1, 0), at(0, 1), at(1, 1)];
        parts.corners.push([a[0], a[1], b[0], b[1], c[0], c[1], d[0], d[1]]);
    }
    Arc::new(WarpMap::new(parts).unwrap())
}

fn value(x: u32, y: u32) -> f32 {
    ((7 * x + 13 * y + x * y) % 101) as f32 - 20.0
}

/// Computes the grid in pieces of `size`, each from the part of the source that it needs.
fn made(sampling: WarpSampling, size: (u32, u32), threads: usize) -> Vec<u8> {
    let map = map(WarpPoints::of(sampling));
    let scale = (0.4, 0.7);
    let output = Output::new(OutputSpec::band_first(DataType::F32, 1, GRID.1, GRID.0).unwrap()).unwrap();
    let context = Context { threads: NonZeroUsize::new(threads).unwrap(), ..Context::default() };
    for row in (0..GRID.1).step_by(size.1 as usize) {
        for column in (0..GRID.0).step_by(size.0 as usize) {
            let (width, height) = (size.0.min(GRID.0 - column), size.1.min(GRID.1 - row));
            let target = WarpRect::new(column, row, width, height);
            let sheet = map.source_window(target, sampling, scale).unwrap_or_default();
            let rows = sheet.row..sheet.row + sheet.height;
            let columns = sheet.column..sheet.column + sheet.width;
            let samples = rows.flat_map(|y| columns.clone().flat_map(move |x| value(x, y).to_ne_bytes()));
            let spec = OutputSpec::band_first(DataType::F32, 1, sheet.height, sheet.width).unwrap();
            let pixels = SharedPixels::new(spec, Arc::new(samples.collect())).unwrap();
            let mut fill = Fill::default();
            fill.0[..4].copy_from_slice(&(-99f32).to_ne_bytes());
            let window = WarpWindow {
                map: Arc::clone(&map),
                target,
                first_band: 0,
                row,
                column,
                source_band: 0,
                mask: 0,
                bands: 1,
                sheet,
                scale,
                nodata: None,
                avoid: None,
                fill,
                blend: WarpBlend::Fill,
            };
            warp(&WarpJob { sampling, windows: vec![window] }, &pixels, None, &output, &context).unwrap();
        }
    }
    output.into_vec().unwrap()
}

#[test]
fn cuts_and_threads_change_nothing() {
    for sampling in WarpSampling::ALL {
        let whole = made(sampling, GRID, 1);
        assert!(whole == made(sampling, (37, 11), 3), "{sampling:?}");
        assert!(whole == made(sampling, (64, 64), 2), "{sampling:?}");
        let fill = (-99f32).to_ne_bytes();
        assert!(whole.chunks(4).filter(|sample| **sample != fill).count() > 8000, "{sampling:?}");
    }
}

/// Contiguous samples without a mask are gathered by a faster path with the same bits.
#[test]
fn a_mask_without_holes_changes_nothing() {
    let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 0.0, -7.0, 1e-40, f32::MAX];
    let samples: Vec<f32> = (0..SOURCE.0 * SOURCE.1)
        .map(|i| match (i * 31 + i / 70 * 17) % 41 {
            at @ 0..8 if i % 3 == 0 => odd[at as usize],
            _ => value(i % 70, i / 70),
        })
        .collect();
    let bytes: Arc<Vec<u8>> = Arc::new(samples.iter().flat_map(|sample| sample.to_ne_bytes()).collect());
    let spec = OutputSpec::band_first(DataType::F32, 1, SOURCE.1, SOURCE.0).unwrap();
    let mask = OutputSpec::band_first(DataType::U8, 1, SOURCE.1, SOURCE.0).unwrap();
    let mask = SharedPixels::new(mask, Arc::new(vec![255; samples.len()])).unwrap();
    let pixels = SharedPixels::new(spec, bytes).unwrap();
    let of = |number: f32| {
        let mut fill = Fill::default();
        fill.0[..4].copy_from_slice(&number.to_ne_bytes());
        fill
    };
    for sampling in WarpSampling::ALL {
        for (nodata, scale) in [(None, (1.0, 1.0)), (Some(-7.0), (1.0, 1.0)), (Some(f32::NAN), (0.4, 0.7))] {
            let made = |valid: Option<&SharedPixels>| {
                let output =
                    Output::new(OutputSpec::band_first(DataType::F32, 1, GRID.1, GRID.0).unwrap()).unwrap();
                let window = WarpWindow {
                    map: map(WarpPoints::of(sampling)),
                    target: WarpRect::new(0, 0, GRID.0, GRID.1),
                    first_band: 0,
                    row: 0,
                    column: 0,
                    source_band: 0,
                    mask: 0,
                    bands: 1,
                    sheet: WarpRect::new(0, 0, SOURCE.0, SOURCE.1),
                    scale,
                    nodata: nodata.map(of),
                    avoid: None,
                    fill: of(-99.0),
                    blend: WarpBlend::Fill,
                };
                let job = WarpJob { sampling, windows: vec![window] };
                warp(&job, &pixels, valid, &output, &Context::default()).unwrap();
                output.into_vec().unwrap()
            };
            assert!(made(None) == made(Some(&mask)), "{sampling:?} {nodata:?}");
        }
    }
}

#[test]
fn a_sheet_that_lacks_a_sample_is_refused() {
    let map = map(WarpPoints::Centres);
    let target = WarpRect::new(10, 10, 20, 20);
    let needs = map.source_window(target, WarpSampling::Lanczos, (1.0, 1.0)).unwrap();
    let output = Output::new(OutputSpec::band_first(DataType::U8, 1, 20, 20).unwrap()).unwrap();
    let run = |sheet: WarpRect, target: WarpRect, sampling, row| {
        let spec = OutputSpec::band_first(DataType::U8, 1, 60, 70).unwrap();
        let pixels = SharedPixels::new(spec, Arc::new(vec![1; 4200])).unwrap();
        let window = WarpWindow {
            map: Arc::clone(&map),
            target,
            first_band: 0,
            row,
            column: 0,
            source_band: 0,
            mask: 0,
            bands: 1,
            sheet,
            scale: (1.0, 1.0),
            nodata: None,
            avoid: None,
            fill: Fill::default(),
            blend: WarpBlend::Fill,
        };
        let job = WarpJob { sampling, windows: vec![window] };
        warp(&job, &pixels, None, &output, &Context::default()).map_err(|error| error.to_string())
    };
    assert_eq!(run(needs, target, WarpSampling::Lanczos, 0), Ok(()));
    let less = WarpRect { width: needs.width - 1, ..needs };
    assert!(run(less, target, WarpSampling::Lanczos, 0).unwrap_err().contains("expected all of"));
    assert_eq!(run(less, target, WarpSampling::Nearest, 0), Ok(()));
    assert!(run(needs, target, WarpSampling::Average, 0).unwrap_err().contains("Corners for Average"));
    assert!(run(needs, target, WarpSampling::Lanczos, 1).unwrap_err().contains("output"));
    let beyond = WarpRect { column: 140, ..target };
    assert!(run(needs, beyond, WarpSampling::Lanczos, 0).unwrap_err().contains("one within"));
}

#[test]
fn a_stopped_job_says_so() {
    let context = Context::default();
    context.cancel.cancel();
    let map = map(WarpPoints::Centres);
    let spec = OutputSpec::band_first(DataType::U8, 1, 60, 70).unwrap();
    let pixels = SharedPixels::new(spec, Arc::new(vec![1; 4200])).unwrap();
    let output = Output::new(OutputSpec::band_first(DataType::U8, 1, 90, 150).unwrap()).unwrap();
    let window = WarpWindow {
        map,
        target: WarpRect::new(0, 0, GRID.0, GRID.1),
        first_band: 0,
        row: 0,
        column: 0,
        source_band: 0,
        mask: 0,
        bands: 1,
        sheet: WarpRect::new(0, 0, SOURCE.0, SOURCE.1),
        scale: (1.0, 1.0),
        nodata: None,
        avoid: None,
        fill: Fill::default(),
        blend: WarpBlend::Fill,
    };
    let job = WarpJob { sampling: WarpSampling::Bilinear, windows: vec![window] };
    let stopped = warp(&job, &pixels, None, &output, &context);
    assert!(matches!(stopped, Err(EngineError::Cancelled)));
}

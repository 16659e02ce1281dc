//! Rasters placed by rational polynomials with heights of an elevation model.

use super::{DemSampling, Placing, RpcDem};
use crate::engine::Budget;
use crate::grid::{Grid, WarpOptions, WarpSampling, plan_onto};
use crate::io::{MemorySink, MemorySource};
use crate::read::Interleave;
use crate::write::{BlockChoice, Piece};
use crate::{
    Context, DataType, Dataset, Input, OpenOptions, RasterSpec, ReadOptions, Window, WriteOptions, Writer,
};
use std::sync::Arc;
use strile_crs::Crs;
use strile_engine::Location;
use strile_tiff::gdal::NoData;
use strile_tiff::geo::{Bounds, GeoTransform, Rpc};

const HOLE: f32 = -9999.0;
const FILL: f32 = -1.0;

fn crs(text: &str) -> Crs {
    Crs::from_user_input(text).unwrap()
}

fn written(spec: RasterSpec, pixels: &[f32], name: &str) -> Dataset {
    let sink = MemorySink::new();
    let handle = sink.handle();
    let window = Window::full(spec.width, spec.height);
    let blocks = BlockChoice::Tiles { width: 64, height: 64 };
    let options = WriteOptions { blocks, ..WriteOptions::default() };
    let mut writer = Writer::create(Box::new(sink), spec, &options, &Context::default()).unwrap();
    let bytes: Vec<u8> = pixels.iter().flat_map(|value| value.to_ne_bytes()).collect();
    let piece = Piece::contiguous(window, 1, DataType::F32, Interleave::BandFirst, &bytes).unwrap();
    writer.write(&piece).unwrap();
    writer.finish().unwrap();
    let bytes = handle.take().unwrap().bytes;
    Dataset::from_source(Arc::new(MemorySource::new(name, bytes)), &OpenOptions::default()).unwrap()
}

/// Returns an image of 200 × 200 pixels around 15° east and 50° north. It moves by one pixel to the east per 100 m of
/// height, and the value of each pixel is its column.
fn image() -> Dataset {
    let term = |at: usize, factor: f64| std::array::from_fn(|term| if term == at { factor } else { 0.0 });
    let mut spec = RasterSpec::new(200, 200, 1, DataType::F32);
    spec.metadata.georeference.rpc = Some(Rpc {
        err_bias: None,
        err_rand: None,
        line: (99.5, 100.0),
        sample: (99.5, 100.0),
        latitude: (50.0, 0.1),
        longitude: (15.0, 0.1),
        height: (300.0, 500.0),
        line_numerator: term(2, -1.0),
        line_denominator: term(0, 1.0),
        sample_numerator: std::array::from_fn(|at| [0.0, 1.0, 0.0, 0.05].get(at).copied().unwrap_or(0.0)),
        sample_denominator: term(0, 1.0),
    });
    let columns: Vec<f32> = (0..200 * 200_u16).map(|at| f32::from(at % 200)).collect();
    written(spec, &columns, "image.tif")
}

/// Returns a model of square pixels over the image, with these heights by column and row.
fn dem(side: u16, height: impl Fn(u16, u16) -> f32) -> Dataset {
    let mut spec = RasterSpec::new(side.into(), side.into(), 1, DataType::F32);
    let pixel = 0.24 / f64::from(side);
    let geo = &mut spec.metadata.georeference;
    geo.crs = Some(crs("EPSG:4326"));
    geo.transform = Some(GeoTransform { a: pixel, b: 0.0, c: 14.88, d: 0.0, e: -pixel, f: 50.12 });
    spec.metadata.nodata = Some(NoData::Float(HOLE.into()));
    let heights: Vec<f32> = (0..side)
        .flat_map(|row| (0..side).map(move |column| (column, row)))
        .map(|(x, y)| height(x, y))
        .collect();
    written(spec, &heights, "dem.tif")
}

fn grid() -> Grid {
    let bounds = Bounds { min_x: 495_000.0, min_y: 5_533_000.0, max_x: 507_000.0, max_y: 5_545_000.0 };
    Grid::from_bounds(crs("EPSG:32633"), bounds, (83.0, 83.0), false).unwrap()
}

fn options(placing: Placing) -> ReadOptions {
    let warp = WarpOptions::new()
        .tolerance(0.0)
        .resampling(WarpSampling::Bilinear)
        .fill(NoData::Float(FILL.into()))
        .placing(placing);
    ReadOptions::new().onto(grid(), warp)
}

fn read(placing: Placing) -> Vec<f32> {
    image().read(&options(placing), &Context::default()).unwrap().samples::<f32>().unwrap().into_owned()
}

fn with(dem: Dataset) -> RpcDem {
    RpcDem::new(Input::Tiff(Box::new(dem)))
}

fn by(dem: RpcDem) -> Placing {
    Placing::default().rpc_dem(Arc::new(dem))
}

#[test]
fn a_level_model_is_a_height() {
    let wanted = read(Placing::default().rpc_height(300.0));
    assert!(wanted.iter().filter(|value| **value != FILL).count() > 5_000);
    for sampling in [DemSampling::Nearest, DemSampling::Bilinear, DemSampling::Cubic] {
        let found = read(by(with(dem(50, |_, _| 250.0)).sampling(sampling)).rpc_height(50.0));
        let off = wanted.iter().zip(&found).filter(|(a, b)| (*a - *b).abs() > 1e-3).count();
        assert_eq!(off, 0, "{sampling:?}");
    }
}

#[test]
fn slopes_move_pixels_and_holes_have_none() {
    let level = read(Placing::default().rpc_height(0.0));
    // 10 m more per column of 240 columns of 0.001°, each of about a pixel of the image: a tenth of a pixel to the east
    // per column.
    let slope = |x: u16, y: u16| {
        if (100..110).contains(&x) && (80..90).contains(&y) { HOLE } else { 10.0 * f32::from(x) }
    };
    let found = read(by(with(dem(240, slope))));
    // The last column continues to the edge.
    let both: Vec<_> =
        level.iter().zip(&found).filter(|(a, b)| **a != FILL && **b != FILL && **b < 198.5).collect();
    assert!(both.len() > 3_000);
    // The height at column x of the image is about 10 (x + 23) m.
    for (before, after) in both {
        assert!((after - before - (before + 23.0) / 10.0).abs() < 0.05, "{before} {after}");
    }
    let filled = read(by(with(dem(240, slope)).missing_value(1050.0)));
    let holes = filled.iter().zip(&found).filter(|(a, b)| **a != FILL && **b == FILL).count();
    assert!((50..400).contains(&holes), "{holes}");
}

#[test]
fn memory_is_that_of_a_part_of_the_model() {
    let large = dem(2400, |x, y| f32::from(x % 97) + f32::from(y % 89));
    let placing = by(with(large));
    let image = image();
    let wanted = image.read(&options(placing.clone()), &Context::default()).unwrap();
    // All heights take 46 MB.
    let context = Context { budget: Arc::new(Budget::new(24 << 20)), ..Context::default() };
    let found = image.read(&options(placing.clone()), &context).unwrap();
    assert_eq!(found.bytes().unwrap(), wanted.bytes().unwrap());
    let plan = plan_onto(Location::Host, &[&image], &options(placing), &context).unwrap().to_string();
    assert!(
        plan.contains(
            "rational polynomials at heights of dem.tif (bilinear; heights count as above the ellipsoid)"
        ),
        "{plan}"
    );
}

#[test]
fn what_is_wrong_is_said() {
    let scene = dem(50, |_, _| 1.0);
    let problem = scene.read(&options(by(with(dem(50, |_, _| 1.0)))), &Context::default()).unwrap_err();
    assert!(
        problem.to_string().contains("`rpc_dem` is for rasters placed by rational polynomials"),
        "{problem}"
    );
    let problem = image().read(&options(by(with(image()))), &Context::default()).unwrap_err().to_string();
    assert!(problem.contains("image.tif"), "{problem}");
    assert!(DemSampling::named("lanczos").is_err());
    assert_eq!(DemSampling::named("NEAR").unwrap(), DemSampling::Nearest);
}

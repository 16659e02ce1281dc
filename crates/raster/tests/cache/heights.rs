//! Elevation models that rational polynomials take heights from: what reads after the first one read of them.

use super::{Named, alone};
use std::sync::Arc;
use strile::crs::Crs;
use strile::grid::{Grid, Placing, RpcDem, WarpOptions, WarpSampling};
use strile::io::MemorySink;
use strile::read::Interleave;
use strile::tiff::geo::{Bounds, GeoTransform, Rpc};
use strile::write::{BlockChoice, Piece};
use strile::{
    Context, DataType, Dataset, Input, RasterSpec, ReadOptions, Window, WriteOptions, Writer, cache,
};

const SIDE: u16 = 1200;

fn written(spec: RasterSpec, values: &[f32]) -> Vec<u8> {
    let sink = MemorySink::new();
    let handle = sink.handle();
    let window = Window::full(spec.width, spec.height);
    let blocks = BlockChoice::Tiles { width: 64, height: 64 };
    let options = WriteOptions::new().blocks(blocks);
    let mut writer = Writer::create(Box::new(sink), spec, &options, &Context::default()).unwrap();
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
    let piece = Piece::contiguous(window, 1, DataType::F32, Interleave::BandFirst, &bytes).unwrap();
    writer.write(&piece).unwrap();
    writer.finish().unwrap();
    handle.take().unwrap().bytes
}

/// An image of 200 × 200 pixels around 15° east and 50° north, which heights move to the east.
fn image() -> Dataset {
    let terms = |factors: &[(usize, f64)]| {
        std::array::from_fn(|at| {
            factors.iter().find(|(term, _)| *term == at).map_or(0.0, |(_, factor)| *factor)
        })
    };
    let mut spec = RasterSpec::new(200, 200, 1, DataType::F32);
    spec.metadata.georeference.rpc = Some(Rpc {
        err_bias: None,
        err_rand: None,
        line: (99.5, 100.0),
        sample: (99.5, 100.0),
        latitude: (50.0, 0.1),
        longitude: (15.0, 0.1),
        height: (300.0, 500.0),
        line_numerator: terms(&[(2, -1.0)]),
        line_denominator: terms(&[(0, 1.0)]),
        sample_numerator: terms(&[(1, 1.0), (3, 0.05)]),
        sample_denominator: terms(&[(0, 1.0)]),
    });
    let columns: Vec<f32> = (0..200 * 200_u16).map(|at| f32::from(at % 200)).collect();
    Named::new(&written(spec, &columns), true).open()
}

/// A model that is larger than the image.
fn model(height: impl Fn(u16, u16) -> f32) -> Named {
    let mut spec = RasterSpec::new(SIDE.into(), SIDE.into(), 1, DataType::F32);
    let pixel = 0.24 / f64::from(SIDE);
    spec.metadata.georeference.crs = Some(Crs::from_user_input("EPSG:4326").unwrap());
    spec.metadata.georeference.transform =
        Some(GeoTransform { a: pixel, b: 0.0, c: 14.88, d: 0.0, e: -pixel, f: 50.12 });
    let all = (0..SIDE).flat_map(|row| (0..SIDE).map(move |column| (column, row)));
    let heights: Vec<f32> = all.map(|(column, row)| height(column, row)).collect();
    Named::new(&written(spec, &heights), true)
}

fn opened(model: &Named) -> Arc<RpcDem> {
    Arc::new(RpcDem::new(Input::Tiff(Box::new(model.open()))))
}

/// A read of so many pixels of so many metres, from a corner on.
fn read(
    image: &Dataset,
    dem: &Arc<RpcDem>,
    (east, north): (f64, f64),
    (side, metres): (u32, f64),
) -> Vec<f32> {
    let (min_x, max_y) = (497_000.0 + east, 5_543_000.0 + north);
    let reach = f64::from(side) * metres;
    let bounds = Bounds { min_x, min_y: max_y - reach, max_x: min_x + reach, max_y };
    let grid =
        Grid::from_bounds(Crs::from_user_input("EPSG:32633").unwrap(), bounds, (metres, metres), false)
            .unwrap();
    let placing = Placing::default().rpc_dem(Arc::clone(dem));
    let warp = WarpOptions::new().tolerance(0.0).resampling(WarpSampling::Bilinear).placing(placing);
    let pixels = image.read(&ReadOptions::new().onto(grid, warp), &Context::default()).unwrap();
    pixels.samples::<f32>().unwrap().into_owned()
}

#[test]
fn a_model_is_read_once() {
    let _alone = alone();
    let (image, model) = (image(), model(|x, y| f32::from(x % 97) + f32::from(y % 89)));
    let dem = opened(&model);
    model.taken();
    let first = read(&image, &dem, (0.0, 0.0), (100, 40.0));
    let whole = model.taken();
    assert!(whole > model.bytes.len() as u64 / 2, "{whole} of {}", model.bytes.len());
    for dem in [&dem, &opened(&model)] {
        model.taken();
        assert_eq!(read(&image, dem, (0.0, 0.0), (100, 40.0)), first);
        assert_eq!(model.taken(), 0);
    }
    // It is the cache of the process that keeps it: what that gives back is read again.
    cache::clear();
    assert_eq!(read(&image, &dem, (0.0, 0.0), (100, 40.0)), first);
    assert!(model.taken() > 0);
}

#[test]
fn heights_along_the_edge_are_read_once() {
    let _alone = alone();
    cache::set_limit(0);
    let (image, model) = (image(), model(|x, y| f32::from(x % 97) + f32::from(y % 89)));
    let dem = opened(&model);
    model.taken();
    let corner = read(&image, &dem, (0.0, 0.0), (3, 2.0));
    let whole = model.taken();
    // Another place under the same model needs the tiles there alone: cells of 512 m are looked at.
    read(&image, &dem, (4_000.0, -4_000.0), (3, 2.0));
    let part = model.taken();
    assert!(0 < part && part < whole / 4, "{part} of {whole}");
    assert_eq!(read(&image, &dem, (0.0, 0.0), (3, 2.0)), corner);
    // A model that is opened again may be another one.
    let again = opened(&model);
    model.taken();
    assert_eq!(read(&image, &again, (0.0, 0.0), (3, 2.0)), corner);
    assert_eq!(model.taken(), whole);
}

#[test]
fn models_are_told_apart_and_closed() {
    let _alone = alone();
    let (image, low, high) = (image(), opened(&model(|_, _| 0.0)), opened(&model(|_, _| 1000.0)));
    let [first, second] = [&low, &high].map(|dem| read(&image, dem, (0.0, 0.0), (20, 40.0)));
    // 1000 m are two of the polynomials' units of height: ten columns to the east.
    let off = first.iter().zip(&second).filter(|(low, high)| (*high - *low - 10.0).abs() > 1e-3).count();
    assert_eq!(off, 0);
    assert_eq!([&low, &high].map(|dem| read(&image, dem, (0.0, 0.0), (20, 40.0))), [first, second]);
    // What the image knows does not hold the model open.
    for dem in [low, high] {
        let weak = Arc::downgrade(&dem);
        drop(dem);
        assert!(weak.upgrade().is_none());
    }
}

//! Reads onto grids: which pixels they take, which level, what is missing, and that neither threads nor memory nor the cut
//! change a pixel.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a test fails by panicking"
)]

use std::num::NonZeroUsize;
use std::sync::Arc;
use strile::crs::{Crs, TransformOptions};
use strile::engine::Budget;
use strile::grid::{
    CoordinateMap, Grid, MapOptions, PlacedBy, Placement, Placing, Polygon, Top, WarpOptions, WarpSampling,
    files_onto, plan_onto, read_onto,
};
use strile::io::{MemorySink, MemorySource};
use strile::read::Interleave;
use strile::tiff::gdal::NoData;
use strile::tiff::geo::{Bounds, Gcp, GeoTransform, Rpc};
use strile::write::{BlockChoice, Format, Piece};
use strile::{
    Context, DataType, Dataset, Layer, Location, OpenOptions, Processor, RasterSpec, ReadOptions, Window,
    WriteOptions, Writer,
};

const UTM: (f64, f64) = (500_000.0, 5_538_630.0);

fn crs(text: &str) -> Crs {
    Crs::from_user_input(text).unwrap()
}

/// A value that tells pixels and bands apart.
fn value(band: u32, column: u32, row: u32) -> u16 {
    ((column * 7 + row * 13 + column * row + band * 1000) % 60_000 + 1) as u16
}

/// A raster of 10 m pixels in UTM zone 33, from `UTM` on.
fn spec((width, height): (u32, u32), bands: u16) -> RasterSpec {
    let mut spec = RasterSpec::new(width, height, bands, DataType::U16);
    spec.metadata.georeference.crs = Some(crs("EPSG:32633"));
    let transform = GeoTransform { a: 10.0, b: 0.0, c: UTM.0, d: 0.0, e: -10.0, f: UTM.1 };
    spec.metadata.georeference.transform = Some(transform);
    spec
}

fn written(spec: RasterSpec, options: &WriteOptions, pixels: &[u16], mask: Option<&[u8]>) -> Dataset {
    let sink = MemorySink::new();
    let handle = sink.handle();
    let window = Window::full(spec.width, spec.height);
    let (bands, data_type) = (spec.bands, spec.data_type);
    let mut writer = Writer::create(Box::new(sink), spec, options, &Context::default()).unwrap();
    let bytes: Vec<u8> = pixels.iter().flat_map(|v| v.to_ne_bytes()).collect();
    let piece = Piece::contiguous(window, bands, data_type, Interleave::BandFirst, &bytes).unwrap();
    match mask {
        Some(mask) => writer.write(&piece.with_mask(mask)).unwrap(),
        None => writer.write(&piece).unwrap(),
    }
    writer.finish().unwrap();
    let bytes = handle.take().unwrap().bytes;
    Dataset::from_source(Arc::new(MemorySource::new("scene.tif", bytes)), &OpenOptions::default()).unwrap()
}

fn values((width, height): (u32, u32), bands: u32) -> Vec<u16> {
    let all = (0..bands).flat_map(|b| (0..height).flat_map(move |y| (0..width).map(move |x| value(b, x, y))));
    all.collect()
}

fn tiles(side: u32) -> WriteOptions {
    WriteOptions::new().blocks(BlockChoice::Tiles { width: side, height: side })
}

fn small_tiles() -> WriteOptions {
    tiles(64)
}

fn scene(size: (u32, u32), bands: u16) -> Dataset {
    written(spec(size, bands), &small_tiles(), &values(size, bands.into()), None)
}

/// Web Mercator over the scene, with pixels of about that many metres on the ground.
fn mercator(metres: f64, (width, height): (u32, u32)) -> Grid {
    let pixel = metres / 0.643;
    let transform = GeoTransform { a: pixel, b: 0.0, c: 1_669_600.0, d: 0.0, e: -pixel, f: 6_446_500.0 };
    Grid::new(crs("EPSG:3857"), transform, width, height).unwrap()
}

fn samples(pixels: &[u8]) -> Vec<u16> {
    pixels.chunks_exact(2).map(|v| u16::from_ne_bytes([v[0], v[1]])).collect()
}

fn map_of(grid: &Grid, dataset: &Dataset, tolerance: f64) -> CoordinateMap {
    let image = &dataset.pages()[0].levels[0].image;
    let source = Grid::like(&dataset.metadata().georeference, image.width, image.height).unwrap();
    let options = MapOptions::default().tolerance(tolerance);
    CoordinateMap::new(grid, &source, &TransformOptions::default(), &options).unwrap()
}

#[test]
fn nearest_takes_the_pixel_under_each_centre() {
    let size = (300, 260);
    let dataset = scene(size, 2);
    let grid = mercator(11.0, (310, 290));
    for tolerance in [0.0, 0.125] {
        let map = map_of(&grid, &dataset, tolerance);
        let options = ReadOptions::new()
            .bands([2, 1])
            .onto(grid.clone(), WarpOptions::new().tolerance(tolerance).fill(NoData::Integer(65_535)));
        let raster = dataset.read(&options, &Context::default()).unwrap();
        assert_eq!((raster.bands, raster.rows, raster.columns), (2, 290, 310));
        let (found, mut inside) = (samples(raster.bytes().unwrap()), 0);
        for (at, &found) in found.iter().enumerate() {
            let at = at as u32;
            let (band, row, column) = (1 - at / (310 * 290), at / 310 % 290, at % 310);
            let place = map.at(column, row).filter(|(x, y)| {
                (0.0..f64::from(size.0)).contains(x) && (0.0..f64::from(size.1)).contains(y)
            });
            let wanted = place.map_or(65_535, |(x, y)| value(band, x as u32, y as u32));
            assert_eq!(found, wanted, "band {band}, column {column}, row {row}");
            inside += usize::from(place.is_some());
        }
        assert!(inside > 100_000 && inside < found.len(), "{inside}");
    }
}

#[test]
fn neither_windows_nor_threads_nor_memory_change_a_pixel() {
    let dataset = scene((2600, 2300), 1);
    let grid = mercator(9.0, (2900, 2700));
    for sampling in WarpSampling::ALL {
        if !matches!(sampling, WarpSampling::Nearest | WarpSampling::Bilinear) {
            continue;
        }
        let options = ReadOptions::new().onto(grid.clone(), WarpOptions::new().resampling(sampling));
        let read = |options: &ReadOptions, threads: usize, memory: u64| {
            let context = Context {
                threads: NonZeroUsize::new(threads).unwrap(),
                budget: Arc::new(Budget::new(memory)),
                ..Context::default()
            };
            let plan = dataset.plan(options, &context).unwrap();
            (dataset.read(options, &context).unwrap(), plan.onto.unwrap().parts)
        };
        let (whole, parts) = read(&options, 1, 1 << 30);
        assert_eq!(parts, 1);
        let (other, parts) = read(&options, 5, 40 << 20);
        assert!(parts > 1, "{parts}");
        assert!(whole.bytes().unwrap() == other.bytes().unwrap());
        let whole = samples(whole.bytes().unwrap());
        for window in
            [Window::new(0, 0, 100, 100), Window::new(2000, 37, 777, 900), Window::new(1, 2699, 2899, 1)]
        {
            let (part, _) = read(&options.clone().window(window), 2, 1 << 30);
            for (at, found) in samples(part.bytes().unwrap()).into_iter().enumerate() {
                let (x, y) = (at as u32 % window.width, at as u32 / window.width);
                let wanted = whole[((window.row + y) * 2900 + window.column + x) as usize];
                assert_eq!(found, wanted, "{window} at {x}, {y}");
            }
        }
    }
}

#[test]
fn the_level_is_the_coarsest_that_suffices() {
    let size = (1024, 1024);
    let options = tiles(128).format(Format::Cog);
    let dataset = written(spec(size, 1), &options, &values(size, 1), None);
    assert!(dataset.pages()[0].levels.len() >= 3);
    let context = Context::default();
    let chosen = |metres: f64, warp: WarpOptions| {
        let side = (10_240.0 / metres) as u32;
        let options = ReadOptions::new().onto(mercator(metres, (side, side)), warp);
        let plan = dataset.plan(&options, &context).unwrap();
        let file = plan.onto.as_ref().unwrap().files[0].clone();
        let known = files_onto(&[&dataset], &options, &context).unwrap().remove(0);
        assert_eq!((known.level, known.ratio), (file.level, file.ratio));
        (file.level, plan.figures().blocks)
    };
    let (full, all) = chosen(10.0, WarpOptions::new());
    assert_eq!(full, 0);
    let found: Vec<usize> = [12.0, 19.5, 25.0, 39.5, 60.0]
        .into_iter()
        .map(|metres| chosen(metres, WarpOptions::new()).0)
        .collect();
    assert_eq!(found, [0, 1, 1, 2, 2]);
    assert!(chosen(39.5, WarpOptions::new()).1 < all / 4);
    assert_eq!(chosen(39.5, WarpOptions::new().level(0)).0, 0);
    let options = ReadOptions::new().onto(mercator(10.0, (64, 64)), WarpOptions::new().level(9));
    let problem = dataset.read(&options, &context).unwrap_err().to_string();
    assert!(problem.contains("there is no level 9"), "{problem}");
}

#[test]
fn only_blocks_under_the_grid_are_read() {
    let dataset = scene((1280, 1280), 1);
    let context = Context::default();
    // A strip from one corner to the other.
    let turned = GeoTransform { a: 7.0, b: 7.0, c: UTM.0, d: -7.0, e: 7.0, f: UTM.1 - 40.0 };
    let strip = Grid::new(crs("EPSG:32633"), turned, 1800, 8).unwrap();
    let options = ReadOptions::new().onto(strip, WarpOptions::new());
    let plan = dataset.plan(&options, &context).unwrap();
    let onto = plan.onto.as_ref().unwrap();
    assert!(onto.files[0].windows >= 4, "{onto}");
    assert!(plan.figures().blocks < 400 / 3, "{plan}");
    let raster = dataset.read(&options, &context).unwrap();
    let report = &raster.report;
    assert_eq!(report.encoded_bytes, plan.figures().encoded_bytes);
    // In parts, as they are planned.
    let threads = NonZeroUsize::new(2).unwrap();
    let small = Context { budget: Arc::new(Budget::new(2 << 20)), threads, ..Context::default() };
    let parts = dataset.plan(&options, &small).unwrap();
    assert!(parts.onto.as_ref().unwrap().parts > 1, "{parts}");
    let again = dataset.read(&options, &small).unwrap();
    let report = &again.report;
    assert_eq!(report.encoded_bytes, parts.figures().encoded_bytes);
    assert!(again.bytes().unwrap() == raster.bytes().unwrap());
    let found = samples(raster.bytes().unwrap());
    for (column, row) in [(0, 0), (900, 3), (1700, 7)] {
        let (x, y) = turned.to_world(f64::from(column) + 0.5, f64::from(row) + 0.5);
        let place = (((x - UTM.0) / 10.0) as u32, ((UTM.1 - y) / 10.0) as u32);
        assert_eq!(found[(row * 1800 + column) as usize], value(0, place.0, place.1));
    }
}

#[test]
fn missing_pixels_are_filled_or_nan() {
    let size = (128, 128);
    let all = values(size, 1);
    let mask: Vec<u8> = (0..128 * 128).map(|i| if i % 128 < 64 { 0 } else { 255 }).collect();
    let gone: Vec<u16> = all.iter().zip(&mask).map(|(v, m)| if *m == 0 { 7 } else { *v }).collect();
    let masked = written(spec(size, 1).mask(true), &small_tiles(), &all, Some(&mask));
    let mut nodata = spec(size, 1);
    nodata.metadata.nodata = Some(NoData::Integer(7));
    let nodata = written(nodata, &small_tiles(), &gone, None);
    let plain = written(spec(size, 1), &small_tiles(), &gone, None);
    let context = Context::default();
    let grid = mercator(10.0, (128, 128));
    let read = |dataset: &Dataset, options: ReadOptions, warp: WarpOptions| {
        dataset.read(&options.onto(grid.clone(), warp), &context).unwrap()
    };
    let by_mask = read(&masked, ReadOptions::new(), WarpOptions::new().fill(NoData::Integer(7)));
    let by_value = read(&nodata, ReadOptions::new(), WarpOptions::new());
    let by_option = read(&plain, ReadOptions::new(), WarpOptions::new().nodata(NoData::Integer(7)));
    assert_eq!(by_mask.bytes().unwrap(), by_value.bytes().unwrap());
    assert_eq!(by_option.bytes().unwrap(), by_value.bytes().unwrap());
    assert_eq!(u16::from_ne_bytes([by_value.fill.0[0], by_value.fill.0[1]]), 7);
    let found = samples(by_value.bytes().unwrap());
    assert!(found.iter().filter(|v| **v == 7).count() > 128 * 60 && found.iter().any(|v| *v != 7));
    for (dataset, warp) in [
        (&masked, WarpOptions::new()),
        (&nodata, WarpOptions::new()),
        (&plain, WarpOptions::new().nodata(NoData::Integer(7))),
    ] {
        let floats = read(dataset, ReadOptions::new().masked(true), warp);
        assert_eq!(floats.data_type, DataType::F32);
        for (float, wanted) in floats.bytes().unwrap().chunks_exact(4).zip(&found) {
            let float = f32::from_ne_bytes(float.try_into().unwrap());
            match wanted {
                7 => assert!(float.is_nan()),
                wanted => assert_eq!(float, f32::from(*wanted)),
            }
        }
    }
}

#[test]
fn the_mask_tells_where_pixels_have_a_value() {
    let size = (128, 128);
    let gone = |i: u32| i % 128 < 30 + i / 128 / 2;
    let mask: Vec<u8> = (0..128 * 128).map(|i| if gone(i) { 0 } else { 255 }).collect();
    // Some values are 0, which is no reason to be missing.
    let all: Vec<u16> = values(size, 1).iter().map(|v| if v % 5 == 0 { 0 } else { v + 7 }).collect();
    let holes: Vec<u16> = all.iter().zip(&mask).map(|(v, m)| if *m == 0 { 7 } else { *v }).collect();
    let mut nodata = spec(size, 1);
    nodata.metadata.nodata = Some(NoData::Integer(7));
    let files = [
        written(spec(size, 1).mask(true), &small_tiles(), &all, Some(&mask)),
        written(nodata, &small_tiles(), &holes, None),
        written(spec(size, 1), &small_tiles(), &all, None),
    ];
    let context = Context::default();
    for (file, dataset) in files.iter().enumerate() {
        for sampling in WarpSampling::ALL {
            let warp = WarpOptions::new().resampling(sampling);
            let onto = ReadOptions::new().onto(mercator(11.0, (150, 140)), warp);
            let floats = dataset.read(&onto.clone().masked(true), &context).unwrap();
            let floats = floats.bytes().unwrap().chunks_exact(4);
            let wanted: Vec<u8> = floats
                .map(|float| if f32::from_ne_bytes(float.try_into().unwrap()).is_nan() { 0 } else { 255 })
                .collect();
            let onto = onto.layer(Layer::Mask);
            let found = dataset.read(&onto, &context).unwrap();
            assert_eq!(
                (found.data_type, found.bands, found.rows, found.columns),
                (DataType::U8, 1, 140, 150)
            );
            assert!(found.bytes().unwrap() == wanted, "file {file}, {sampling:?}");
            assert!(wanted.contains(&0) && wanted.contains(&255));
            let plan = dataset.plan(&onto, &context).unwrap().to_string();
            assert!(plan.contains("the mask where the result has a value"), "{plan}");
        }
    }
}

#[test]
fn several_files_lie_on_each_other_in_order() {
    let size = (200, 200);
    let context = Context::default();
    let low = scene(size, 1);
    let mut high = spec(size, 1);
    // In the next zone, and shifted by half the scene.
    high.metadata.georeference.crs = Some(crs("EPSG:32632"));
    high.metadata.nodata = Some(NoData::Integer(60_001));
    let transform = GeoTransform { a: 10.0, b: 0.0, c: 930_700.0, d: 0.0, e: -10.0, f: 5_556_000.0 };
    high.metadata.georeference.transform = Some(transform);
    let mut pixels = vec![60_000_u16; 200 * 200];
    pixels.iter_mut().step_by(3).for_each(|v| *v = 60_001);
    let high = written(high, &small_tiles(), &pixels, None);
    let grid = mercator(10.0, (260, 260));
    let read = |files: &[&Dataset], top: Top| {
        let warp = WarpOptions::new().top(top).fill(NoData::Integer(65_535));
        let raster = read_onto(files, &ReadOptions::new().onto(grid.clone(), warp), &context).unwrap();
        samples(raster.bytes().unwrap())
    };
    let (one, other) = (read(&[&low], Top::Last), read(&[&high], Top::Last));
    let over = |top: &[u16], below: &[u16]| -> Vec<u16> {
        top.iter().zip(below).map(|(top, below)| if *top == 65_535 { *below } else { *top }).collect()
    };
    assert_eq!(read(&[&low, &high], Top::Last), over(&other, &one));
    assert_eq!(read(&[&low, &high], Top::First), over(&one, &other));
    let both = over(&one, &other);
    assert!(both != one && both != other && both != over(&other, &one));
    let options = ReadOptions::new().onto(grid.clone(), WarpOptions::new());
    let plan = plan_onto(Location::Host, &[&low, &high], &options, &context).unwrap();
    let shown = plan.to_string();
    for words in ["EPSG:3857", "EPSG:32633", "EPSG:32632", "level", "datum", "nodes", "nearest"] {
        assert!(shown.contains(words), "{words}\n{shown}");
    }
}

#[test]
fn a_grid_beside_the_file_is_filled_and_nothing_is_read() {
    let dataset = scene((128, 128), 2);
    let context = Context::default();
    let bounds = Bounds { min_x: 0.0, min_y: 0.0, max_x: 640.0, max_y: 640.0 };
    let grid = Grid::from_bounds(crs("EPSG:3857"), bounds, (10.0, 10.0), false).unwrap();
    let options = ReadOptions::new().onto(grid, WarpOptions::new().fill(NoData::Integer(9)));
    let plan = dataset.plan(&options, &context).unwrap();
    assert_eq!((plan.figures().blocks, plan.figures().encoded_bytes), (0, 0));
    let raster = dataset.read(&options, &context).unwrap();
    assert_eq!((raster.bands, raster.rows, raster.columns), (2, 64, 64));
    assert!(samples(raster.bytes().unwrap()).iter().all(|v| *v == 9));
}

#[test]
fn types_are_cast_and_what_does_not_fit_is_refused() {
    let dataset = scene((128, 128), 1);
    let context = Context::default();
    let grid = mercator(10.0, (64, 64));
    let read =
        |options: ReadOptions, warp: WarpOptions| dataset.read(&options.onto(grid.clone(), warp), &context);
    let own = samples(&read(ReadOptions::new(), WarpOptions::new()).unwrap().into_bytes().unwrap());
    let bytes = read(ReadOptions::new(), WarpOptions::new().data_type(DataType::U8)).unwrap();
    assert_eq!(bytes.bytes().unwrap(), own.iter().map(|v| (*v).min(255) as u8).collect::<Vec<_>>());
    for (options, warp, words) in [
        (ReadOptions::new().level(1), WarpOptions::new(), "`level`"),
        (ReadOptions::new(), WarpOptions::new().fill(NoData::Integer(-1)), "give another `fill`"),
        (ReadOptions::new(), WarpOptions::new().tolerance(f64::NAN), "tolerance"),
        (ReadOptions::new().masked(true), WarpOptions::new().data_type(DataType::U8), "give another `fill`"),
        (ReadOptions::new().window(Window::new(60, 0, 5, 5)), WarpOptions::new(), "inside the grid"),
    ] {
        let problem = read(options, warp).unwrap_err().to_string();
        assert!(problem.contains(words), "{words}: {problem}");
    }
}

#[test]
fn absurd_grids_are_errors_after_bounded_work() {
    let dataset = scene((64, 64), 1);
    let context = Context { budget: Arc::new(Budget::new(64 << 20)), ..Context::default() };
    let huge = GeoTransform { a: 1e-3, b: 0.0, c: 1_669_600.0, d: 0.0, e: -1e-3, f: 6_446_500.0 };
    let grid = Grid::new(crs("EPSG:3857"), huge, i32::MAX as u32, i32::MAX as u32).unwrap();
    let begun = std::time::Instant::now();
    let options = ReadOptions::new().onto(grid, WarpOptions::new());
    assert!(dataset.read(&options, &context).is_err());
    assert!(dataset.plan(&options, &context).is_err());
    // As large as memory may hold, of a file of a few bytes.
    let grid = Grid::new(crs("EPSG:3857"), huge, 40_000, 40_000).unwrap();
    let options = ReadOptions::new().max_pixels(u64::MAX).onto(grid, WarpOptions::new());
    let problem = dataset.read(&options, &context).unwrap_err();
    assert_eq!(problem.kind(), strile::ErrorKind::Memory, "{problem}");
    assert!(begun.elapsed().as_secs() < 10);
    let local = GeoTransform { a: 10.0, b: 0.0, c: f64::NAN, d: 0.0, e: -10.0, f: 0.0 };
    assert!(Grid::new(crs("EPSG:3857"), local, 10, 10).is_err());
}

/// On the CPU, and on the stand-in for a GPU, or with `STRILE_REQUIRE_GPU=1` on the first GPU.
#[test]
fn a_polygon_clips_the_result_and_what_is_read() {
    if std::env::var_os("STRILE_REQUIRE_GPU").is_none_or(|value| value != "1") {
        strile_emulate::StandIn::load().unwrap();
    }
    let dataset = scene((900, 800), 2);
    let grid = mercator(11.0, (700, 600));
    let (transform, context) = (grid.transform(), Context::default());
    // A triangle, in columns and rows.
    let corners = [(100.3, 90.1), (420.7, 200.83), (150.2, 480.4)];
    let ring = corners.map(|(x, y)| transform.to_world(x, y)).to_vec();
    let polygon = Polygon::new(None, vec![ring]).unwrap();
    let inside = |x: f64, y: f64| {
        let side = |(ax, ay): (f64, f64), (bx, by): (f64, f64)| (bx - ax) * (y - ay) - (by - ay) * (x - ax);
        let sides =
            [side(corners[0], corners[1]), side(corners[1], corners[2]), side(corners[2], corners[0])];
        sides.iter().all(|v| *v > 0.0) || sides.iter().all(|v| *v < 0.0)
    };
    let warp = WarpOptions::new().resampling(WarpSampling::Bilinear).fill(NoData::Integer(65_535));
    let whole = ReadOptions::new().onto(grid.clone(), warp.clone());
    let clipped = ReadOptions::new().onto(grid.clone(), warp.polygon(polygon.clone()));
    let all = samples(&dataset.read(&whole, &context).unwrap().into_bytes().unwrap());
    let found = dataset.read(&clipped, &context).unwrap().into_bytes().unwrap();
    let mut count = 0;
    for (at, &found) in samples(&found).iter().enumerate() {
        let (row, column) = (at / 700 % 600, at % 700);
        let within = inside(column as f64 + 0.5, row as f64 + 0.5);
        assert_eq!(found, if within { all[at] } else { 65_535 }, "column {column}, row {row}");
        count += usize::from(within);
    }
    assert!(count > 50_000);
    let blocks = |options: &ReadOptions| dataset.plan(options, &context).unwrap().figures().blocks;
    assert!(blocks(&clipped) * 2 < blocks(&whole), "{} of {}", blocks(&clipped), blocks(&whole));
    let device = clipped.clone().decode_on(Processor::Cuda(0)).window(Window::new(90, 80, 120, 100));
    let there = dataset.read_on_device(0, &device, &context).unwrap().into_host(&context).unwrap();
    let here = dataset.read(&device.decode_on(Processor::Cpu), &context).unwrap();
    assert!(there.bytes().unwrap() == here.bytes().unwrap());
    // The part that its box touches, and one that it does not lie on.
    let part = grid.cropped_to(&polygon, strile::crs::DatumShift::Required).unwrap();
    assert_eq!((part.width(), part.height()), (421 - 100, 481 - 90));
    let far = Polygon::from_text("POLYGON ((0 0, 1 0, 1 1))").unwrap();
    assert!(grid.cropped_to(&far, strile::crs::DatumShift::Required).is_err());
}

/// On the stand-in for a GPU, which runs the kernels on the CPU; with `STRILE_REQUIRE_GPU=1` on the first GPU.
#[test]
fn a_device_has_the_pixels_of_the_cpu() {
    if std::env::var_os("STRILE_REQUIRE_GPU").is_none_or(|value| value != "1") {
        strile_emulate::StandIn::load().unwrap();
    }
    let size = (150, 130);
    let mask: Vec<u8> = (0..size.0 * size.1).map(|at| if at % 7 == 0 { 0 } else { 255 }).collect();
    let mut with_nodata = spec(size, 2);
    with_nodata.metadata.nodata = Some(NoData::Integer(500));
    let files = [
        scene(size, 2),
        written(with_nodata, &small_tiles(), &values(size, 2), None),
        written(spec(size, 1).mask(true), &small_tiles(), &values(size, 1), Some(&mask)),
    ];
    let context = Context::default();
    for (file, dataset) in files.iter().enumerate() {
        for (sampling, metres) in
            WarpSampling::ALL.into_iter().flat_map(|method| [(method, 9.0), (method, 27.0)])
        {
            let grid = mercator(metres, (90, 80));
            let onto = ReadOptions::new().onto(grid, WarpOptions::new().resampling(sampling));
            for options in [onto.clone(), onto.clone().layer(Layer::Mask), onto.masked(true)] {
                let host = dataset.read(&options.clone().decode_on(Processor::Cpu), &context).unwrap();
                let device = options.decode_on(Processor::Cuda(0));
                let there = dataset.read_on_device(0, &device, &context).unwrap();
                assert_eq!(there.location(), Location::Cuda(0));
                let there = there.into_host(&context).unwrap();
                assert!(
                    host.bytes().unwrap() == there.bytes().unwrap(),
                    "file {file}, {sampling:?}, {metres} m"
                );
            }
        }
    }
}

/// The points of a raster that a transform places.
fn points_of(transform: GeoTransform, (width, height): (u32, u32)) -> Vec<Gcp> {
    let at = |column: u32, row: u32| {
        let (column, row) = (f64::from(column), f64::from(row));
        let (x, y) = transform.to_world(column, row);
        Gcp { column, row, x, y, z: 0.0, id: String::new() }
    };
    let places = (0..3).flat_map(|row| (0..3).map(move |column| (column * width / 2, row * height / 2)));
    places.map(|(column, row)| at(column, row)).collect()
}

#[test]
fn control_points_place_a_raster_as_its_transform_does() {
    let size = (300, 260);
    let plain = scene(size, 1);
    let mut placed = spec(size, 1);
    let geo = &mut placed.metadata.georeference;
    (geo.gcps, geo.gcp_crs) = (points_of(geo.transform.take().unwrap(), size), geo.crs.take());
    let by_points = written(placed, &small_tiles(), &values(size, 1), None);
    assert_eq!(by_points.metadata().georeference.gcps.len(), 9);
    let grid = mercator(11.0, (310, 290));
    let options = |by| {
        let warp = WarpOptions::new().fill(NoData::Integer(65_535)).placing(Placing::by(by));
        ReadOptions::new().onto(grid.clone(), warp)
    };
    let wanted = plain.read(&options(PlacedBy::Any), &Context::default()).unwrap().into_bytes().unwrap();
    assert!(samples(&wanted).iter().filter(|value| **value != 65_535).count() > 10_000);
    for (by, words) in [
        (PlacedBy::Any, "polynomial of order 2 near 9 control points"),
        (PlacedBy::Polynomial(1), "polynomial of order 1 near 9 control points"),
        (PlacedBy::ThinPlate, "thin-plate spline through 9 control points"),
    ] {
        let options = options(by);
        let found = by_points.read(&options, &Context::default()).unwrap();
        assert!(found.bytes().unwrap() == wanted, "{by:?}");
        let plan = plan_onto(Location::Host, &[&by_points], &options, &Context::default()).unwrap();
        assert!(plan.to_string().contains(words), "{plan}");
    }
    for (file, by, words) in [
        (&plain, PlacedBy::ThinPlate, "no ground control points"),
        (&plain, PlacedBy::Rational, "no rational polynomials"),
        (&by_points, PlacedBy::Polynomial(4), "order 1 to 3, got 4"),
        (&by_points, PlacedBy::Polynomial(3), "needs 10"),
    ] {
        let problem = file.read(&options(by), &Context::default()).unwrap_err().to_string();
        assert!(problem.contains(words), "{problem}");
    }
    // The grid that is suggested for the points is that of the transform.
    let choice = |file: &Dataset| {
        let (place, context) = (&file.metadata().georeference, Context::default());
        let placement = Placement::of(place, size.0, size.1, &Placing::default(), &context).unwrap();
        placement.suggest(&crs("EPSG:3857"), &TransformOptions::default()).unwrap()
    };
    let (one, other) = (choice(&plain), choice(&by_points));
    assert_eq!((one.width(), one.height()), (other.width(), other.height()));
    assert!((one.bounds().min_x - other.bounds().min_x).abs() < 1e-3);
}

#[test]
fn rational_polynomials_place_a_raster_as_its_transform_does() {
    let size = (200, 200);
    let mut placed = spec(size, 1);
    let geo = &mut placed.metadata.georeference;
    geo.crs = Some(crs("EPSG:4326"));
    geo.transform = Some(GeoTransform { a: 0.001, b: 0.0, c: 14.9, d: 0.0, e: -0.001, f: 50.1 });
    let plain = written(placed.clone(), &small_tiles(), &values(size, 1), None);
    let term = |at: usize, factor: f64| {
        let mut factors = [0.0; 20];
        factors[at] = factor;
        factors
    };
    let geo = &mut placed.metadata.georeference;
    (geo.crs, geo.transform) = (None, None);
    geo.rpc = Some(Rpc {
        err_bias: None,
        err_rand: None,
        line: (99.5, 100.0),
        sample: (99.5, 100.0),
        latitude: (50.0, 0.1),
        longitude: (15.0, 0.1),
        height: (300.0, 500.0),
        line_numerator: term(2, -1.0),
        line_denominator: term(0, 1.0),
        // A pixel to the east for each 100 m.
        sample_numerator: std::array::from_fn(|at| [0.0, 1.0, 0.0, 0.05].get(at).copied().unwrap_or(0.0)),
        sample_denominator: term(0, 1.0),
    });
    let rational = written(placed, &small_tiles(), &values(size, 1), None);
    let grid = Grid::from_bounds(
        crs("EPSG:32633"),
        Bounds { min_x: 495_000.0, min_y: 5_533_000.0, max_x: 507_000.0, max_y: 5_545_000.0 },
        (83.0, 83.0),
        false,
    )
    .unwrap();
    let read = |file: &Dataset, height: f64| {
        let warp = WarpOptions::new()
            .tolerance(0.0)
            .fill(NoData::Integer(65_535))
            .placing(Placing::by(PlacedBy::Any).rpc_height(height));
        let read = file.read(&ReadOptions::new().onto(grid.clone(), warp), &Context::default()).unwrap();
        samples(read.bytes().unwrap())
    };
    let wanted = read(&plain, 0.0);
    assert!(wanted.iter().filter(|value| **value != 65_535).count() > 5_000);
    // At the height of the offset the third term is 0.
    let differ = |one: &[u16], other: &[u16]| one.iter().zip(other).filter(|(a, b)| a != b).count();
    assert!(differ(&read(&rational, 300.0), &wanted) < 20);
    assert!(differ(&read(&rational, 800.0), &wanted) > 5_000);
    let warp = WarpOptions::new().source_crs(crs("EPSG:4326"));
    let problem =
        rational.read(&ReadOptions::new().onto(grid.clone(), warp), &Context::default()).unwrap_err();
    assert!(problem.to_string().contains("leave out `source_crs`"), "{problem}");
}

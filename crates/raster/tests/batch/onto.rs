//! Windows of files in several reference systems, put onto one: each as a read of its own would make it.

use std::sync::Arc;
use strile::batch::{
    BatchOutput, BatchWindow, plan_batch, read_batch_into, read_batch_on_device, sufficient_levels,
};
use strile::crs::{Crs, DatumShift, TransformOptions, Transformer};
use strile::engine::{Output, OutputSpec};
use strile::grid::{Grid, Top, WarpOptions, WarpSampling, read_onto, transform_bounds};
use strile::io::{MemorySink, MemorySource};
use strile::read::{Area, FloatType, Interleave};
use strile::tiff::gdal::NoData;
use strile::tiff::geo::{Bounds, GeoTransform};
use strile::write::Piece;
use strile::{
    BatchOptions, Context, DataType, Dataset, Layer, Location, OpenOptions, Processor, RasterSpec,
    ReadOptions, Window, WriteOptions, Writer, read_batch,
};

/// A scene of 10 m pixels around 15° or 9° east, at 50° north.
fn scene(zone: u32, data_type: DataType, seed: u32) -> Dataset {
    scene_in(32600 + zone, data_type, seed)
}

/// The same in another system.
fn scene_in(code: u32, data_type: DataType, seed: u32) -> Dataset {
    let (width, height, bands) = (300_u32, 280_u32, 2_u32);
    let mut spec = RasterSpec::new(width, height, 2, data_type);
    spec.metadata.georeference.crs = Some(crs(code));
    let (x, y) = there(code, (12.0, 50.0));
    let transform = GeoTransform { a: 10.0, b: 0.0, c: x - 1500.0, d: 0.0, e: -10.0, f: y + 1400.0 };
    spec.metadata.georeference.transform = Some(transform);
    spec.metadata.nodata = Some(NoData::Integer(0));
    let value = |at: u32| {
        u16::try_from((at.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 16) % 5000).unwrap_or(1)
    };
    let all = 0..width * height * bands;
    let pixels: Vec<u8> = match data_type {
        DataType::F32 => all.flat_map(|at| f32::from(value(at)).to_ne_bytes()).collect(),
        _ => all.flat_map(|at| value(at).to_ne_bytes()).collect(),
    };
    let sink = MemorySink::new();
    let handle = sink.handle();
    let mut writer =
        Writer::create(Box::new(sink), spec, &WriteOptions::default(), &Context::default()).unwrap();
    let window = Window::full(width, height);
    writer.write(&Piece::contiguous(window, 2, data_type, Interleave::BandFirst, &pixels).unwrap()).unwrap();
    writer.finish().unwrap();
    let source = MemorySource::new(format!("system{code}.tif"), handle.take().unwrap().bytes);
    Dataset::from_source(Arc::new(source), &OpenOptions::default()).unwrap()
}

fn crs(code: u32) -> Crs {
    Crs::from_epsg(code).unwrap()
}

fn there(code: u32, (east, north): (f64, f64)) -> (f64, f64) {
    let options = TransformOptions::default().datum_shift(DatumShift::None);
    let to = Transformer::new(&crs(4326), &crs(code), &options).unwrap();
    to.transform(east, north).unwrap()
}

/// Web Mercator with pixels of 12 m, from a corner near the scenes on.
fn grid() -> Grid {
    let (x, y) = there(3857, (12.0, 50.0));
    let transform = GeoTransform { a: 12.0, b: 0.0, c: x - 900.0, d: 0.0, e: -12.0, f: y + 900.0 };
    Grid::new(crs(3857), transform, 40, 40).unwrap()
}

fn windows() -> Vec<BatchWindow> {
    let at = |file: usize, column: i64, row: i64| BatchWindow::of_pixels(file, column, row, (48, 40));
    // Inside, over an edge, outside of the grid, and far from any file.
    vec![at(0, 10, 20), at(1, 60, 50), at(2, -30, -45), at(1, -300, 40), at(0, 100_000, 5), at(2, 31, 7)]
}

/// The window as a grid of its own.
#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn chip(window: &BatchWindow) -> Grid {
    let Area::Pixels { column, row, width, height } = window.area else { panic!("pixels") };
    let (c, f) = grid().transform().to_world(column as f64, row as f64);
    Grid::new(grid().crs().clone(), GeoTransform { c, f, ..grid().transform() }, width, height).unwrap()
}

#[test]
fn windows_onto_a_grid_are_reads_of_their_own() {
    let files = [scene(32, DataType::U16, 1), scene(33, DataType::U16, 2), scene(31, DataType::U16, 3)];
    let (windows, context) = (windows(), Context::default());
    for sampling in [WarpSampling::Nearest, WarpSampling::Bilinear, WarpSampling::Average] {
        let warp = WarpOptions::new().resampling(sampling);
        for masked in [false, true] {
            let options = BatchOptions::new().masked(masked).onto(grid(), warp.clone());
            let tensor = read_batch(&files, &windows, &options, &context).unwrap();
            assert_eq!(tensor.shape(), [6, 2, 40, 48]);
            let mut wanted = Vec::new();
            for window in &windows {
                let options = ReadOptions::new().masked(masked).onto(chip(window), warp.clone());
                wanted.extend(files[window.file].read(&options, &context).unwrap().into_bytes().unwrap());
            }
            assert!(
                tensor.into_host(&context).unwrap().into_bytes().unwrap() == wanted,
                "{sampling:?} {masked}"
            );
        }
    }
    // In the order of the bands asked for, into memory of the caller.
    let turned: Vec<_> = windows.iter().map(|window| window.clone().bands([2, 1])).collect();
    let options = BatchOptions::new().onto(grid(), WarpOptions::new());
    let both = read_batch(&files, &turned, &options, &context)
        .unwrap()
        .into_host(&context)
        .unwrap()
        .into_bytes()
        .unwrap();
    let output = Output::new(OutputSpec::band_first(DataType::U16, 12, 40, 48).unwrap()).unwrap();
    let output = BatchOutput::new(output, 6).unwrap();
    read_batch_into(&output, &files, &turned, &options, &context).unwrap();
    assert!(output.into_output().into_vec().unwrap() == both);
    let plan = plan_batch(Location::Host, &files, &windows, &options, &context).unwrap();
    assert_eq!((plan.shape, plan.onto.as_ref().unwrap().windows), ([6, 2, 40, 48], 6));
    assert!(plan.to_string().contains("6 windows"), "{plan}");
}

#[test]
fn boxes_and_places_are_those_of_the_grids_system() {
    let files = [scene(32, DataType::U16, 1), scene(33, DataType::F32, 2)];
    let context = Context::default();
    let (x, y) = there(3857, (12.0, 50.0));
    let size = (30, 20);
    let sides = [x - 300.0, y - 200.0, x + 300.0, y + 200.0];
    let windows = [BatchWindow::new(0, Area::Bounds(sides)), BatchWindow::new(1, Area::Bounds(sides))];
    let options = BatchOptions::new().size(size).onto(grid(), WarpOptions::new());
    let problem = read_batch(&files, &windows, &options, &context).err().unwrap().to_string();
    assert!(problem.contains("ask for a float type"), "{problem}");
    let options = options.float_type(FloatType::Float32);
    let tensor = read_batch(&files, &windows, &options, &context).unwrap();
    assert_eq!(tensor.shape(), [2, 2, 20, 30]);
    let transform = GeoTransform { a: 20.0, b: 0.0, c: sides[0], d: 0.0, e: -20.0, f: sides[3] };
    let own = Grid::new(crs(3857), transform, 30, 20).unwrap();
    let mut wanted = Vec::new();
    for file in &files {
        let warp = WarpOptions::new().data_type(DataType::F32);
        wanted.extend(
            file.read(&ReadOptions::new().onto(own.clone(), warp), &context).unwrap().into_bytes().unwrap(),
        );
    }
    assert!(tensor.into_host(&context).unwrap().into_bytes().unwrap() == wanted);
    let point = BatchWindow::new(0, Area::Point { x: x + 6.0, y: y - 6.0, width: 9, height: 7 });
    let options = BatchOptions::new().onto(grid(), WarpOptions::new());
    let around = read_batch(&files, &[point], &options, &context)
        .unwrap()
        .into_host(&context)
        .unwrap()
        .into_bytes()
        .unwrap();
    let same = BatchWindow::of_pixels(0, 75 - 4, 75 - 3, (9, 7));
    assert!(
        around
            == read_batch(&files, &[same], &options, &context)
                .unwrap()
                .into_host(&context)
                .unwrap()
                .into_bytes()
                .unwrap()
    );
}

#[test]
fn what_a_batch_onto_a_grid_cannot_do_is_refused() {
    let files = [scene(32, DataType::U16, 1)];
    let context = Context::default();
    let options = BatchOptions::new().onto(grid(), WarpOptions::new());
    let of = |column: i64, size| BatchWindow::of_pixels(0, column, 0, size);
    for (windows, words) in [
        (vec![], "no window"),
        (vec![of(0, (8, 8)), of(0, (8, 9))], "one size"),
        (vec![of(0, (8, 8)).level(1)], "options of the warp"),
        (vec![of(0, (8, 8)).page(1)], "pages"),
        (vec![of(0, (8, 8)), of(0, (8, 8)).bands([1])], "same bands"),
        (vec![BatchWindow::of_pixels(3, 0, 0, (8, 8))], "there is no file 3"),
        (vec![BatchWindow::new(0, Area::Bounds([0.0, 0.0, f64::NAN, 1.0]))], "box"),
        (vec![of(i64::MAX, (8, 8))], "window 0"),
    ] {
        let problem = read_batch(&files, &windows, &options, &context).err().unwrap().to_string();
        assert!(problem.contains(words), "{words}: {problem}");
    }
}

/// Each window, and each file of a read, has the operation that the plan tells.
#[test]
fn results_tell_the_operation_between_the_datums() {
    // ED50, and two files of which one has that datum.
    let (x, y) = there(23032, (12.0, 50.0));
    let transform = GeoTransform { a: 12.0, b: 0.0, c: x - 300.0, d: 0.0, e: -12.0, f: y + 300.0 };
    let grid = Grid::new(crs(23032), transform, 40, 40).unwrap();
    let files = [scene(32, DataType::U16, 1), scene_in(23032, DataType::U16, 2)];
    let context = Context::default();
    let windows: Vec<_> =
        [0, 1, 0].into_iter().map(|file| BatchWindow::of_pixels(file, 2, 3, (20, 20))).collect();
    let options = BatchOptions::new().onto(grid.clone(), WarpOptions::new());
    let batch = read_batch(&files, &windows, &options, &context).unwrap();
    let plan = plan_batch(Location::Host, &files, &windows, &options, &context).unwrap();
    let planned: Vec<_> = plan.onto.unwrap().files.into_iter().map(|file| file.operation).collect();
    assert_eq!((batch.operations.len(), planned.len()), (3, 3));
    assert!(batch.operations.iter().zip(&planned).all(|(own, planned)| **own == *planned));
    let shifted = batch.operation(0).unwrap();
    assert!(
        shifted.steps.iter().any(|step| step.code.is_some()) && shifted.accuracy > Some(0.0),
        "{shifted}"
    );
    let same = batch.operation(1).unwrap();
    assert!(same.steps.is_empty() && same.accuracy == Some(0.0), "{same}");
    assert!(Arc::ptr_eq(&batch.operations[0], &batch.operations[2]) && batch.operation(3).is_none());
    assert_eq!(batch.to_host(&context).unwrap().operations, batch.operations);
    // In the order of the caller, whichever lies on top, of masks, too.
    for top in [Top::Last, Top::First] {
        let read = ReadOptions::new().onto(grid.clone(), WarpOptions::new().top(top));
        for read in [read.clone(), read.layer(Layer::Mask)] {
            let pixels = read_onto(&files, &read, &context).unwrap();
            assert_eq!((pixels.operation(0), pixels.operation(1)), (Some(shifted), Some(same)), "{top:?}");
            assert_eq!(pixels.operations.len(), 2);
        }
    }
    let plain = files[0].read(&ReadOptions::new(), &context).unwrap();
    assert!(plain.operations.is_empty() && plain.operation(0).is_none());
}

/// On the stand-in for a GPU, which runs the kernels on the CPU; with `STRILE_REQUIRE_GPU=1` on the first GPU.
#[test]
fn a_device_puts_windows_onto_a_grid_as_the_cpu_does() {
    if std::env::var_os("STRILE_REQUIRE_GPU").is_none_or(|value| value != "1") {
        strile_emulate::StandIn::load().unwrap();
    }
    let files = [scene(32, DataType::U16, 1), scene(33, DataType::U16, 2), scene(31, DataType::U16, 3)];
    let (windows, context) = (windows(), Context::default());
    for masked in [false, true] {
        let warp = WarpOptions::new().resampling(WarpSampling::Bilinear);
        let options = BatchOptions::new().masked(masked).onto(grid(), warp);
        let host =
            read_batch(&files, &windows, &options.clone().decode_on(Processor::Cpu), &context).unwrap();
        let device = options.decode_on(Processor::Cuda(0));
        let there = read_batch_on_device(0, &files, &windows, &device, &context).unwrap();
        assert_eq!((there.location(), there.shape()), (Location::Cuda(0), host.shape()));
        assert!(
            there.into_host(&context).unwrap().into_bytes().unwrap()
                == host.into_host(&context).unwrap().into_bytes().unwrap()
        );
    }
}

/// A box around 12° east, 50° north, in degrees, moved east by some minutes.
fn degrees(minutes: f64) -> Bounds {
    let min_x = 11.995 + minutes / 60.0;
    Bounds { min_x, min_y: 49.996, max_x: min_x + 0.008, max_y: 50.003 }
}

fn sides(Bounds { min_x, min_y, max_x, max_y }: Bounds) -> Area {
    Area::Bounds([min_x, min_y, max_x, max_y])
}

#[test]
fn boxes_and_points_of_another_system() {
    let files = [scene(32, DataType::U16, 1), scene(33, DataType::U16, 2), scene(31, DataType::U16, 3)];
    let (wgs84, context, plain) = (Arc::new(crs(4326)), Context::default(), TransformOptions::default());
    let onto = BatchOptions::new().onto(grid(), WarpOptions::new().resampling(WarpSampling::Bilinear));
    let utm = Arc::new(crs(32633));
    for (options, is_onto) in
        [(onto.clone().size((24, 20)), true), (BatchOptions::new().size((24, 20)), false)]
    {
        let own = |file: usize| if is_onto { crs(3857) } else { crs([32632, 32633, 32631][file]) };
        let (mut given, mut wanted) = (Vec::new(), Vec::new());
        for file in 0..3_u8 {
            let (place, file) = (degrees(f64::from(file) / 10.0), usize::from(file));
            given.push(BatchWindow::new(file, sides(place)).bounds_crs(&wgs84));
            let there = transform_bounds(&wgs84, &own(file), place, &plain).unwrap();
            wanted.push(BatchWindow::new(file, sides(there)));
        }
        // A box of a third system, and one that is in that of the grid or file.
        let place = transform_bounds(&wgs84, &utm, degrees(0.2), &plain).unwrap();
        given.push(BatchWindow::new(0, sides(place)).bounds_crs(&utm));
        wanted.push(BatchWindow::new(0, sides(transform_bounds(&utm, &own(0), place, &plain).unwrap())));
        let same = Arc::new(own(1));
        given.push(wanted[1].clone().bounds_crs(&same));
        wanted.push(wanted[1].clone());
        let pixels = |windows: &[BatchWindow]| {
            read_batch(&files, windows, &options, &context).unwrap().into_bytes().unwrap()
        };
        assert_eq!(pixels(&given), pixels(&wanted));
        assert!(pixels(&given).iter().any(|&byte| byte != 0));
        let planned = |windows| plan_batch(Location::Host, &files, windows, &options, &context).unwrap();
        assert_eq!(planned(&given).to_string(), planned(&wanted).to_string());
        if !is_onto {
            let levels = |windows| sufficient_levels(&files, windows, (24, 20)).unwrap();
            assert_eq!(levels(&given), levels(&wanted));
        }
        // Points.
        let (x, y) = (12.001, 50.001);
        let there = Transformer::new(&wgs84, &own(1), &plain).unwrap().transform(x, y).unwrap();
        let point = |(x, y)| BatchWindow::new(1, Area::Point { x, y, width: 8, height: 6 });
        let mut unsized_options = options.clone();
        unsized_options.size = None;
        let read =
            |window| read_batch(&files, &[window], &unsized_options, &context).unwrap().into_bytes().unwrap();
        assert_eq!(read(point((x, y)).bounds_crs(&wgs84)), read(point(there)));
        // Refusals name the window.
        for (window, words) in [
            (BatchWindow::of_pixels(0, 0, 0, (3, 3)), "given in pixels"),
            (BatchWindow::new(0, Area::Bounds([12.0, 50.0, 11.0, 51.0])), "not empty"),
            (BatchWindow::new(0, Area::Bounds([11.0, 50.0, 12.0, 95.0])), ""),
        ] {
            let windows = [given[0].clone(), window.bounds_crs(&wgs84)];
            let error = read_batch(&files, &windows, &options, &context).unwrap_err().to_string();
            assert!(error.contains("window 1") && error.contains(words), "{error}");
        }
    }
}

#[test]
fn boxes_over_the_antimeridian_and_the_poles() {
    let plain = TransformOptions::default();
    let bounds = |[min_x, min_y, max_x, max_y]: [f64; 4]| Bounds { min_x, min_y, max_x, max_y };
    let to_degrees = |code, sides| transform_bounds(&crs(code), &crs(4326), bounds(sides), &plain).unwrap();
    let found = to_degrees(32660, [690_000.0, 6_000_000.0, 710_000.0, 6_020_000.0]);
    assert!(179.8 < found.min_x && found.min_x < 180.0 && 180.0 < found.max_x && found.max_x < 180.3);
    // The whole world stays the whole world.
    let half = 20_037_508.342_789_244;
    let found = to_degrees(3857, [-half, -half, half, half]);
    assert!((found.min_x + 180.0).abs() < 1e-9 && (found.max_x - 180.0).abs() < 1e-9, "{found:?}");
    // Around a pole: all longitudes, and latitudes up to it.
    let far = 1_000_000.0;
    let found = to_degrees(3413, [-far, -far, far, far]);
    assert_eq!((found.min_x, found.max_x, found.max_y), (-180.0, 180.0, 90.0));
    assert!(76.0 < found.min_y && found.min_y < 78.0, "{found:?}");
    let found = to_degrees(3031, [-far, -far, far, far]);
    assert_eq!((found.min_x, found.max_x, found.min_y), (-180.0, 180.0, -90.0));
    assert!(-78.0 < found.max_y && found.max_y < -76.0, "{found:?}");
    // Beside it.
    let found = to_degrees(3413, [10_000.0, 10_000.0, far, far]);
    assert!(found.max_x - found.min_x < 95.0 && found.max_y < 90.0, "{found:?}");
    let error = transform_bounds(&crs(3413), &crs(3857), bounds([-far, -far, far, far]), &plain).unwrap_err();
    assert!(error.to_string().contains("around"), "{error}");
}

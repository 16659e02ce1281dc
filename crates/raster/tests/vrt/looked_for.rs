//! Whether pixels of mosaics hold a value: counted by the read itself, through every door, and equal to a search of the result.

use crate::Folder;
use crate::engines::{device, mosaics, open};
use crate::masked;
use strile::batch::{BatchWindow, Sampling, read_batch_on_device};
use strile::crs::Crs;
use strile::engine::Output;
use strile::grid::{Grid, WarpOptions};
use strile::read::{Interleave, LookFor};
use strile::tiff::gdal::NoData;
use strile::tiff::geo::GeoTransform;
use strile::{
    BatchOptions, Context, DataType, Input, Layer, OpenOptions, Pixels, Processor, ReadOptions, Vrt, Window,
    read_batch,
};

/// Whether a sample is the value; NaN is looked for among floats of masked reads.
fn is(sample: f64, value: Option<f64>) -> bool {
    value.is_some_and(|value| sample == value || (sample.is_nan() && value.is_nan()))
}

/// Searches pixels in host memory, (window, band, row, column), each band for its value.
fn holds(pixels: &Pixels, values: &[Option<f64>]) -> bool {
    let numbers: Vec<f64> = match pixels.data_type {
        DataType::U16 => pixels.samples::<u16>().unwrap().iter().map(|&v| f64::from(v)).collect(),
        DataType::F32 => pixels.samples::<f32>().unwrap().iter().map(|&v| f64::from(v)).collect(),
        other => panic!("{other}"),
    };
    let plane = pixels.rows as usize * pixels.columns as usize;
    numbers.iter().enumerate().any(|(at, &number)| is(number, values[at / plane % values.len()]))
}

/// What each band is searched for.
fn values(vrt: &Vrt, look_for: LookFor, masked: bool) -> Vec<Option<f64>> {
    let of_band = |band: u16| match look_for {
        _ if masked => Some(f64::NAN),
        LookFor::Value(value) => Some(value.as_f64()),
        _ => vrt.nodata(band).map(|value| value.as_f64()),
    };
    (1..=vrt.bands()).map(of_band).collect()
}

const LOOKS: [LookFor; 4] = [
    LookFor::Value(NoData::Integer(7)),
    LookFor::Value(NoData::Integer(9)),
    LookFor::Value(NoData::Float(0.5)),
    LookFor::Nodata,
];

/// Windows with and without the values.
const WINDOWS: [Option<Window>; 3] = [
    None,
    Some(Window { column: 60, row: 20, width: 9, height: 7 }),
    Some(Window { column: 0, row: 0, width: 2, height: 2 }),
];

fn check(vrt: &Vrt, name: &str, seen: &mut [bool; 2]) {
    let context = Context::default();
    let cases = LOOKS.into_iter().flat_map(|look| [false, true].map(|masked| (look, masked)));
    for (look_for, masked) in cases {
        let values = values(vrt, look_for, masked);
        for (window, engine) in
            WINDOWS.iter().flat_map(|window| [Processor::Cpu, device()].map(|engine| (*window, engine)))
        {
            // Kernels are emulated, which is slow.
            let is_whole = window.is_none() && matches!(look_for, LookFor::Nodata);
            if engine != Processor::Cpu && !is_whole {
                continue;
            }
            let mut options = ReadOptions::new().look_for(look_for).masked(masked).decode_on(engine);
            options.place.window = window;
            let read = vrt.read(&options, &context).unwrap();
            // Bands without anything that is missing are not converted.
            let own = match read.data_type {
                DataType::U16 => self::values(vrt, look_for, false),
                _ => values.clone(),
            };
            let expected = Some(holds(&read, &own));
            let what = format!("{name} {look_for:?} {masked} {window:?} by {engine:?}");
            assert_eq!(read.report.found, expected, "{what}");
            seen[usize::from(expected == Some(true))] = true;
            let output = Output::new(read.spec().unwrap()).unwrap();
            assert_eq!(vrt.read_into(&output, &options, &context).unwrap().found, expected, "{what}");
            if engine != Processor::Cpu {
                let there = vrt.read_on_device(0, &options, &context).unwrap();
                assert_eq!(there.report.found, expected, "{what}");
            }
            let last = vrt.read(&options.clone().interleave(Interleave::BandLast), &context).unwrap();
            assert_eq!(last.report.found, expected, "{what}");
        }
    }
}

#[test]
fn a_value_is_looked_for_in_mosaics() {
    let folder = Folder::new("looked-for");
    let mut seen = [false; 2];
    for path in mosaics(&folder) {
        check(&open(&path), &path.display().to_string(), &mut seen);
    }
    for (path, ..) in masked::mosaics(&folder) {
        check(&open(&path), &path.display().to_string(), &mut seen);
    }
    assert_eq!(seen, [true; 2]);
}

#[test]
fn a_value_is_looked_for_in_batches_and_on_grids() {
    let folder = Folder::new("looked-for-in-batches");
    let context = Context::default();
    let mut seen = [false; 2];
    for (path, ..) in masked::mosaics(&folder) {
        let vrt = open(&path);
        let name = path.display().to_string();
        let inputs = [Input::open(&path, &OpenOptions::default()).unwrap()];
        let places = [(-10, -5, (60, 50)), (40, 30, (60, 50))];
        let windows = places.map(|(x, y, size)| BatchWindow::of_pixels(0, x, y, size));
        let grid = own_grid();
        for (look_for, masked) in
            LOOKS.into_iter().flat_map(|look| [false, true].map(|masked| (look, masked)))
        {
            let values = values(&vrt, look_for, masked);
            let plain = BatchOptions::new().look_for(look_for).masked(masked);
            let sized = plain.clone().size((20, 16)).sampling(Sampling::Nearest).fill(NoData::Integer(3));
            for options in [plain, sized] {
                let read = read_batch(&inputs, &windows, &options, &context).unwrap();
                let expected = Some(holds(&read, &values));
                assert_eq!(read.report.found, expected, "{name} {options:?}");
                seen[usize::from(expected == Some(true))] = true;
                let options = options.decode_on(device());
                let there = read_batch_on_device(0, &inputs, &windows, &options, &context).unwrap();
                assert_eq!(there.report.found, expected, "{name} {options:?}");
            }
            let onto =
                ReadOptions::new().look_for(look_for).masked(masked).onto(grid.clone(), WarpOptions::new());
            for band in 1..=vrt.bands() {
                let onto = onto.clone().bands([band]).decode_on(Processor::Cpu);
                let read = vrt.read(&onto, &context).unwrap();
                let fill = vrt.nodata(band).map_or(0.0, |value| value.as_f64());
                let value = match look_for {
                    _ if masked => f64::NAN,
                    LookFor::Value(value) => value.as_f64(),
                    _ => fill,
                };
                let expected = Some(holds(&read, &[Some(value)]));
                assert_eq!(read.report.found, expected, "{name} {look_for:?} {masked} band {band}");
                let there = vrt.read_on_device(0, &onto.decode_on(device()), &context).unwrap();
                assert_eq!(there.report.found, expected, "{name} {look_for:?} {masked} band {band}");
            }
        }
    }
    assert_eq!(seen, [true; 2]);
}

/// Bands whose nodata values differ, or that a value and alpha mask in turn: on a grid of its own pixels a mosaic has the masked
/// pixels that it has without one.
#[test]
fn masked_mosaics_on_their_own_grid_are_what_they_are() {
    let folder = Folder::new("own-grid");
    let context = Context::default();
    let mut checked = 0;
    for (path, ..) in masked::mosaics(&folder) {
        let vrt = open(&path);
        let name = path.file_name().unwrap().to_str().unwrap();
        if !["values.vrt", "both.vrt", "turns.vrt"].contains(&name) {
            continue;
        }
        let expected = vrt.read(&ReadOptions::new().masked(true), &context).unwrap();
        let expected = expected.samples::<f32>().unwrap();
        for engine in [Processor::Cpu, device()] {
            let onto = ReadOptions::new().masked(true).onto(own_grid(), WarpOptions::new()).decode_on(engine);
            let output = Output::new(vrt.read(&onto, &context).unwrap().spec().unwrap()).unwrap();
            vrt.read_into(&output, &onto, &context).unwrap();
            let found = output.into_vec().unwrap();
            let found = found.as_chunks::<4>().0.iter().map(|bytes| f32::from_ne_bytes(*bytes));
            let differ = found.zip(expected.iter()).filter(|(a, b)| a != *b && !(a.is_nan() && b.is_nan()));
            assert_eq!(differ.count(), 0, "{name} by {engine:?}");
            let mask = onto.clone().layer(Layer::Mask).masked(false);
            // Alpha says which pixels of the image are valid, nodata values do without alpha.
            let own = vrt.read(&ReadOptions::new().layer(Layer::Mask), &context).unwrap();
            let own: Vec<u8> = own.bytes().unwrap().iter().map(|&v| if v > 0 { 255 } else { 0 }).collect();
            if name == "values.vrt" {
                assert!(vrt.read(&mask, &context).unwrap().bytes().unwrap() == own, "{name} by {engine:?}");
                let there = vrt.read_on_device(0, &mask, &context).unwrap().into_host(&context).unwrap();
                assert!(there.bytes().unwrap() == own, "{name} by {engine:?}");
            }
            checked += 1;
        }
    }
    assert_eq!(checked, 6);
}

/// The pixels of the mosaics.
fn own_grid() -> Grid {
    let transform = GeoTransform { a: 1.0, b: 0.0, c: 0.0, d: 0.0, e: -1.0, f: 100.0 };
    Grid::new(Crs::from_user_input("EPSG:32632").unwrap(), transform, 130, 100).unwrap()
}

//! Every window equals the crop of the whole.

use crate::made::{
    any_window, buckets, by_both, bytes_of, device, expected, files, first_difference, spec, whole,
};
use crate::sources::open;
use std::sync::Arc;
use strile::batch::{BatchOutput, BatchWindow, Sampling, read_batch_into};
use strile::engine::{Output, OutputSpec, Strides};
use strile::read::Area;
use strile::{BatchOptions, Context, DataType, Dataset, Processor, ReadOptions, Window, read_batch};
use testkit::{Codec, Random, geo_tags};

fn check(
    files: &[Arc<Dataset>],
    windows: &[BatchWindow],
    options: &BatchOptions,
    pixels: &[u8],
    fill: &[u8],
) {
    let len = pixels.len() / windows.len();
    for (window, found) in windows.iter().zip(pixels.chunks(len)) {
        let expected = expected(&whole(files, window, options), window, fill);
        assert_eq!(first_difference(&expected, found), None, "{window:?}");
    }
}

#[test]
fn windows_of_all_codecs_and_levels_over_all_edges() {
    let files = files();
    let mut random = Random::new(11);
    for size in [(40, 30), (1, 1), (200, 3), (64, 48)] {
        let windows: Vec<_> = (0..40).map(|_| any_window(&mut random, &files, size)).collect();
        let (tensor, pixels) = by_both(&files, &windows, &BatchOptions::default());
        assert_eq!(tensor.shape(), [40, 3, size.1, size.0]);
        check(&files, &windows, &BatchOptions::default(), &pixels, &7u16.to_ne_bytes());
    }
}

#[test]
fn bytes_from_afar_are_asked_for_together() {
    let (files, buckets) = (files(), buckets());
    let mut random = Random::new(5);
    let windows: Vec<_> = (0..30).map(|_| any_window(&mut random, &files, (50, 60))).collect();
    let (_, local) = by_both(&files, &windows, &BatchOptions::default());
    let (_, far) = by_both(&buckets, &windows, &BatchOptions::default());
    assert_eq!(first_difference(&local, &far), None);
}

#[test]
fn bands_are_those_asked_for_in_that_order() {
    let files = files();
    let mut random = Random::new(3);
    let windows: Vec<_> = (0..24)
        .map(|at| {
            let bands = [[3, 1], [2, 2], [1, 3]][at % 3];
            any_window(&mut random, &files, (33, 20)).bands(bands)
        })
        .collect();
    let (tensor, pixels) = by_both(&files, &windows, &BatchOptions::default());
    assert_eq!(tensor.shape(), [24, 2, 20, 33]);
    check(&files, &windows, &BatchOptions::default(), &pixels, &7u16.to_ne_bytes());
}

#[test]
fn what_is_outside_becomes_the_value_given() {
    let files = files();
    let options = BatchOptions::new().fill(strile::tiff::gdal::NoData::Integer(65_535));
    let windows = [
        BatchWindow::of_pixels(3, -20, -20, (30, 30)),
        BatchWindow::of_pixels(4, 5000, 5000, (30, 30)),
        BatchWindow::of_pixels(5, 140, 100, (30, 30)),
    ];
    let (tensor, pixels) = by_both(&files, &windows, &options);
    check(&files, &windows, &options, &pixels, &65_535u16.to_ne_bytes());
    assert_eq!(tensor.faults, []);
}

/// Pixels of 10 metres from (1000, 2000) on: pixel (column, row) begins at (1000 + 10 column, 2000 - 10 row).
#[test]
fn boxes_and_places_are_found_in_the_level_they_are_asked_of() {
    let mut spec = spec(Codec::Lzw);
    spec.tags.extend(geo_tags(32633, (1000.0, 2000.0), 10.0, false));
    let files = [Arc::new(open(&bytes_of(&spec, 4)))];
    let of = |level, area| BatchWindow::of_pixels(0, 0, 0, (1, 1)).level(level).area(area);
    let pixels = |column, row| Area::Pixels { column, row, width: 20, height: 10 };
    for (level, area, same) in [
        (0, Area::Bounds([1050.0, 1850.0, 1250.0, 1950.0]), pixels(5, 5)),
        (0, Area::Bounds([950.0, 1950.0, 1150.0, 2050.0]), pixels(-5, -5)),
        (0, Area::Bounds([1051.0, 1851.0, 1249.0, 1949.0]), pixels(5, 5)),
        (0, Area::Point { x: 1200.0, y: 1900.0, width: 20, height: 10 }, pixels(10, 5)),
        (0, Area::Point { x: 1209.9, y: 1890.1, width: 20, height: 10 }, pixels(10, 5)),
        (1, Area::Point { x: 1200.0, y: 1900.0, width: 20, height: 10 }, pixels(0, 0)),
        (1, Area::Bounds([1100.0, 1700.0, 1500.0, 1900.0]), pixels(5, 5)),
    ] {
        let read = |area| {
            let options = BatchOptions::new().decode_on(Processor::Cpu);
            let tensor = read_batch(&files, &[of(level, area)], &options, &Context::default()).unwrap();
            tensor.into_host(&Context::default()).unwrap().into_bytes().unwrap()
        };
        assert_eq!(read(area), read(same), "{area} as {same}");
    }
    // The same box as a single read has it.
    let options = ReadOptions::new().decode_on(Processor::Cpu);
    let window = files[0].window_of_box(&options.place, [1053.0, 1853.0, 1247.0, 1947.0]).unwrap();
    assert_eq!(window, Window::new(5, 5, 20, 10));
}

#[test]
fn an_output_of_the_callers_is_used_again_and_left_alone_between_its_samples() {
    let files = files();
    let mut random = Random::new(21);
    let context = Context::default();
    // Every row has 6 bytes more than it needs.
    let strides = Strides { band: 12 * 66, row: 66, column: 2 };
    let spec = OutputSpec { data_type: DataType::U16, bands: 24, rows: 12, columns: 30, strides };
    for device in [Processor::Cpu, device()] {
        let mut memory = vec![0xABu8; spec.len().unwrap() + 6];
        for _ in 0..3 {
            let windows: Vec<_> = (0..8).map(|_| any_window(&mut random, &files, (30, 12))).collect();
            let options = BatchOptions::new().decode_on(device);
            let output = BatchOutput::new(Output::from_vec(spec.clone(), memory).unwrap(), 8).unwrap();
            let (report, faults) = read_batch_into(&output, &files, &windows, &options, &context).unwrap();
            assert_eq!((report.faults, faults), (vec![], vec![]));
            memory = output.into_output().into_vec().unwrap();
            let rows: Vec<u8> = memory.chunks(66).flat_map(|row| row[..60].to_vec()).collect();
            check(&files, &windows, &options, &rows, &7u16.to_ne_bytes());
            assert!(memory.chunks(66).all(|row| row[60..].iter().all(|&byte| byte == 0xAB)));
        }
    }
}

#[test]
fn blocks_that_several_windows_show_are_in_each() {
    let files = files();
    let windows: Vec<_> = (0..20).map(|at| BatchWindow::of_pixels(4, 20 + at % 3, 20, (30, 30))).collect();
    let (_, pixels) = by_both(&files, &windows, &BatchOptions::default());
    check(&files, &windows, &BatchOptions::default(), &pixels, &[0; 2]);
}

#[test]
fn resampled_windows_are_the_same_by_both_and_nearest_takes_pixels_as_they_are() {
    let files = files();
    let mut random = Random::new(8);
    for (size, sampling) in
        [((17, 9), Sampling::Nearest), ((17, 9), Sampling::Average), ((60, 50), Sampling::Bilinear)]
    {
        let mut windows: Vec<_> = (0..12).map(|_| any_window(&mut random, &files, (40, 30))).collect();
        windows.push(BatchWindow::of_pixels(1, 900, 900, (5, 70)));
        let options = BatchOptions::new().size(size).sampling(sampling);
        let (tensor, pixels) = by_both(&files, &windows, &options);
        assert_eq!(tensor.shape(), [13, 3, size.1, size.0]);
        if sampling != Sampling::Nearest {
            continue;
        }
        for (window, found) in windows.iter().zip(pixels.chunks(pixels.len() / 13)) {
            let Area::Pixels { column: x, row: y, width, height } = window.area else { panic!("of pixels") };
            let whole = whole(&files, window, &options);
            let mut expected = Vec::new();
            for band in 0..3 {
                for row in 0..size.1 {
                    for column in 0..size.0 {
                        let at = |start: i64, len: u32, index: u32, count: u32| {
                            start
                                + ((f64::from(index) + 0.5) * f64::from(len) / f64::from(count)).floor()
                                    as i64
                        };
                        let one = BatchWindow::of_pixels(
                            window.file,
                            at(x, width, column, size.0),
                            at(y, height, row, size.1),
                            (1, 1),
                        );
                        let pixel = crate::made::expected(&whole, &one, &7u16.to_ne_bytes());
                        expected.extend_from_slice(&pixel[band * 2..band * 2 + 2]);
                    }
                }
            }
            assert_eq!(first_difference(&expected, found), None, "{window:?}");
        }
    }
    let nothing = BatchOptions::new().size((0, 4)).decode_on(Processor::Cpu);
    let windows = [BatchWindow::of_pixels(0, 0, 0, (8, 8))];
    assert!(read_batch(&files, &windows, &nothing, &Context::default()).is_err());
}

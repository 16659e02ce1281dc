//! Resampled windows equal those of GDAL, to the last bit of their floats (`resampled.py` wrote them).

use crate::made::by_both;
use crate::sources::open;
use std::sync::Arc;
use strile::batch::{BatchWindow, Sampling};
use strile::tiff::{ByteOrder, SampleFormat, SampleType};
use strile::{BatchOptions, DataType};
use testkit::{Codec, Grid, ImageSpec, Pixels, nodata_tag};

const FLOAT32: SampleType = SampleType { format: SampleFormat::Float, bits: 32 };

#[test]
fn windows_are_resampled_as_gdal_does() {
    let value = |at: u32| {
        let (row, column) = (at / 24, at % 24);
        ((row * row * 5 + column * 11 + row * column * 3) % 251) as f32
    };
    let bytes = (0..480).flat_map(|at| value(at).to_ne_bytes()).collect();
    let pixels = Pixels { bands: 1, height: 20, width: 24, data_type: DataType::F32, bytes };
    let mut seen = 0;
    for line in include_str!("resampled.txt").lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        let (told, values) = words.split_at(8);
        let number = |at: usize| told[at].parse::<u32>().unwrap();
        let sampling = match told[0] {
            "nearest" => Sampling::Nearest,
            "average" => Sampling::Average,
            "bilinear" => Sampling::Bilinear,
            other => panic!("{other}"),
        };
        let mut spec = ImageSpec::new(FLOAT32).grid(Grid::Tiles(16, 16)).codec(Codec::Deflate);
        if told[7] != "-" {
            spec = spec.tag(nodata_tag(told[7]));
        }
        let file = Arc::new(open(&spec.build(&pixels, ByteOrder::Little, false).bytes));
        let (x, y) = (i64::from(number(1)), i64::from(number(2)));
        let window = BatchWindow::of_pixels(0, x, y, (number(3), number(4)));
        let options = BatchOptions::new().size((number(6), number(5))).sampling(sampling);
        let (_, found) = by_both(&[file], &[window], &options);
        let wanted: Vec<u8> =
            values.iter().flat_map(|value| value.parse::<f32>().unwrap().to_ne_bytes()).collect();
        let differs = found.chunks(4).zip(wanted.chunks(4)).position(|(a, b)| a != b);
        assert_eq!((differs, found.len()), (None, wanted.len()), "{}", told.join(" "));
        seen += 1;
    }
    assert_eq!(seen, 7);
}

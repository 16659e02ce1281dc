//! Pixels as arrays of the crate `ndarray`: axes, strides, batches, refusals.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::sync::Arc;
use strile::batch::BatchWindow;
use strile::io::MemorySource;
use strile::read::Interleave;
use strile::tiff::{ByteOrder, SampleFormat, SampleType};
use strile::{BatchOptions, Context, Dataset, OpenOptions, ReadOptions, read_batch};
use testkit::{ImageSpec, Pixels};

/// Three bands of 4 rows and 5 columns: the value of a sample is 100 × band + 10 × row + column.
fn dataset() -> Dataset {
    let sample = SampleType { format: SampleFormat::Uint, bits: 16 };
    let mut pixels = Pixels::zeroed(sample.data_type().unwrap(), 3, 4, 5);
    let values = (0..3u16).flat_map(|band| (0..20).map(move |at| 100 * band + 10 * (at / 5) + at % 5));
    pixels.bytes = values.flat_map(u16::to_ne_bytes).collect();
    let bytes = ImageSpec::new(sample).build(&pixels, ByteOrder::Little, false).bytes;
    Dataset::from_source(Arc::new(MemorySource::new("made.tif", bytes)), &OpenOptions::default()).unwrap()
}

fn value(band: usize, row: usize, column: usize) -> u16 {
    u16::try_from(100 * band + 10 * row + column).unwrap()
}

#[test]
fn axes_are_band_row_column_in_both_layouts() {
    let (dataset, context) = (dataset(), Context::default());
    for interleave in [Interleave::BandFirst, Interleave::BandLast] {
        let pixels = dataset.read(&ReadOptions::new().interleave(interleave), &context).unwrap();
        let memory = pixels.samples::<u16>().unwrap().as_ptr();
        let array = pixels.as_ndarray::<u16>().unwrap();
        assert_eq!(array.shape(), [3, 4, 5]);
        assert!(array.is_view() && array.as_ptr() == memory, "no copy");
        for ((band, row, column), found) in array.indexed_iter() {
            assert_eq!(*found, value(band, row, column), "{interleave:?} {band} {row} {column}");
        }
        let (strides, four) = (array.strides().to_vec(), pixels.as_ndarray4::<u16>().unwrap());
        assert_eq!((four.shape(), four[[0, 2, 3, 4]]), (&[1, 3, 4, 5][..], 234));
        let view = array.to_owned();
        drop((array, four));
        let own = pixels.into_ndarray::<u16>().unwrap();
        assert_eq!(own, view);
        assert_eq!(own.strides(), strides, "{interleave:?}");
    }
}

#[test]
fn batches_have_four_axes() {
    let (dataset, context) = (dataset(), Context::default());
    let windows = [BatchWindow::of_pixels(0, 0, 0, (2, 3)), BatchWindow::of_pixels(0, 3, 1, (2, 3))];
    let pixels = read_batch(&[dataset], &windows, &BatchOptions::new(), &context).unwrap();
    let refused = pixels.as_ndarray::<u16>().unwrap_err().to_string();
    assert_eq!(
        refused,
        "batch of 2 windows: expected one window, got a batch; use the arrays of four dimensions"
    );
    let array = pixels.into_ndarray4::<u16>().unwrap();
    assert_eq!(array.shape(), [2, 3, 3, 2]);
    for ((window, band, row, column), found) in array.indexed_iter() {
        assert_eq!(*found, value(band, row + window, column + 3 * window));
    }
}

#[test]
fn other_types_are_refused() {
    let pixels = dataset().read(&ReadOptions::new(), &Context::default()).unwrap();
    let refused = pixels.as_ndarray::<f32>().unwrap_err();
    assert_eq!(refused.to_string(), "expected samples of type float32, got uint16");
    assert!(pixels.into_ndarray4::<i16>().is_err());
}

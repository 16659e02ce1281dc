//! Missing pixels become NaN whatever says that they are missing: a nodata value, a mask image, or alpha; in single reads
//! and in batches, on the CPU and on a device, into new memory and into the caller's.

use crate::made::{UINT16, by_both, device, expected, first_difference};
use crate::sources::{open, open_bucket};
use std::sync::Arc;
use strile::batch::{BatchWindow, Sampling};
use strile::engine::{Output, OutputSpec};
use strile::read::Interleave;
use strile::tiff::{ByteOrder, SampleFormat, SampleType};
use strile::{BatchOptions, Context, DataType, Dataset, Layer, Processor, ReadOptions, Window};
use testkit::{Codec, FileFrame, FileOrder, Grid, ImageSpec, Pattern, Pixels, nodata_tag};

const UINT8: SampleType = SampleType { format: SampleFormat::Uint, bits: 8 };
const BIT: SampleType = SampleType { format: SampleFormat::Uint, bits: 1 };

fn frame() -> FileFrame {
    FileFrame { order: ByteOrder::Little, big: false, file_order: FileOrder::default() }
}

/// What is missing in a file, and its bytes: an image of 150 × 110 pixels.
fn file(kind: &str, codec: Codec) -> Vec<u8> {
    let grid = Grid::Tiles(64, 48);
    let image = |bands, seed| Pixels::generate(Pattern::Noise, UINT16, [bands, 110, 150], seed);
    let spec = ImageSpec::new(UINT16).grid(grid).codec(codec);
    let mask_of = |sample: SampleType, seed| {
        let mut mask = Pixels::generate(Pattern::Noise, sample, [1, 110, 150], seed);
        // Half of the pixels, and whole blocks of either kind.
        mask.bytes.iter_mut().enumerate().for_each(|(at, valid)| {
            let (row, column) = (at / 150, at % 150);
            let some = (row * 7 + column * 3) % 5 < 3;
            let valid_here = (row / 48, column / 64) == (0, 0) || some && (row / 48, column / 64) != (1, 1);
            *valid = if valid_here { if sample.bits == 1 { 1 } else { 200 } } else { 0 };
        });
        mask
    };
    match kind {
        "mask" | "nodata and mask" | "mask of bits" => {
            let sample = if kind == "mask of bits" { BIT } else { UINT8 };
            let mask = ImageSpec::new(sample).grid(grid).codec(Codec::Deflate).photometric(4).subfile_type(4);
            let mut pixels = image(3, 5);
            pixels.bytes.chunks_mut(26).for_each(|run| run[..2].copy_from_slice(&7u16.to_ne_bytes()));
            let spec = if kind == "nodata and mask" { spec.tag(nodata_tag("7")) } else { spec };
            spec.build_with(&pixels, &[(mask, mask_of(sample, 1))], frame()).bytes
        }
        "alpha" => {
            let mut pixels = image(4, 6);
            let plane = 110 * 150 * 2;
            for at in 0..110 * 150 {
                let missing = (at % 11 == 3) || (at / 150 > 50 && at % 150 < 64);
                let value: u16 = if missing { 0 } else { 256 };
                pixels.bytes[3 * plane + at * 2..][..2].copy_from_slice(&value.to_ne_bytes());
            }
            let spec = ImageSpec { extra_samples: Some(vec![2]), ..spec.photometric(2) };
            spec.build(&pixels, ByteOrder::Little, false).bytes
        }
        "nodata" => {
            let mut pixels = image(3, 7);
            pixels.bytes.chunks_mut(26).for_each(|run| run[..2].copy_from_slice(&7u16.to_ne_bytes()));
            spec.tag(nodata_tag("7")).build(&pixels, ByteOrder::Little, false).bytes
        }
        other => panic!("{other}"),
    }
}

const KINDS: [&str; 5] = ["mask", "nodata and mask", "mask of bits", "alpha", "nodata"];

/// The pixels as floats with NaN, made from an unmasked read and a read of the mask, one pixel at a time.
fn by_hand(dataset: &Dataset, kind: &str, window: Option<Window>) -> Vec<f32> {
    let read = |layer| {
        let options = ReadOptions::new().layer(layer).window(window).decode_on(Processor::Cpu);
        dataset.read(&options, &Context::default()).unwrap()
    };
    let (pixels, mask) = (read(Layer::Pixels), read(Layer::Mask));
    let plane = (pixels.rows * pixels.columns) as usize;
    let value = |at: usize| u16::from_ne_bytes(pixels.bytes().unwrap()[at * 2..][..2].try_into().unwrap());
    (0..pixels.bands as usize * plane)
        .map(|at| {
            let missing = match kind {
                "nodata" | "nodata and mask" => value(at) == 7,
                "alpha" if at / plane == 3 => false,
                _ => mask.bytes().unwrap()[at % plane] == 0,
            };
            if missing { f32::NAN } else { f32::from(value(at)) }
        })
        .collect()
}

fn floats(raster: &strile::Pixels) -> Vec<f32> {
    assert_eq!(raster.data_type, DataType::F32);
    raster.bytes().unwrap().chunks(4).map(|bytes| f32::from_ne_bytes(bytes.try_into().unwrap())).collect()
}

fn same(a: &[f32], b: &[f32]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan())
}

#[test]
fn every_kind_of_mask_through_every_door_on_both_engines() {
    let context = Context::default();
    let window = Some(Window::new(30, 20, 90, 77));
    for kind in KINDS {
        for codec in [Codec::Deflate, Codec::Zstd, Codec::Lzma] {
            let bytes = file(kind, codec.clone());
            for dataset in [open(&bytes), open_bucket(&bytes).1] {
                for window in [None, window] {
                    let wanted = by_hand(&dataset, kind, window);
                    assert!(wanted.iter().any(|v| v.is_nan()) && wanted.iter().any(|v| !v.is_nan()));
                    for device in [Processor::Cpu, device()] {
                        let options = ReadOptions::new().masked(true).window(window).decode_on(device);
                        let host = dataset.read(&options, &context).unwrap();
                        assert!(same(&floats(&host), &wanted), "{kind} {codec:?} {device:?}");
                        let there = dataset.read_on_device(0, &options, &context).unwrap();
                        assert_eq!(there.location(), strile::Location::Cuda(0));
                        let there = there.into_host(&context).unwrap();
                        assert!(same(&floats(&there), &wanted), "{kind} {codec:?} {device:?} on the device");
                        let spec = OutputSpec::band_last(DataType::F32, host.bands, host.rows, host.columns);
                        let output = Output::new(spec.unwrap()).unwrap();
                        dataset.read_into(&output, &options, &context).unwrap();
                        let last = options.interleave(Interleave::BandLast);
                        let last = dataset.read(&last, &context).unwrap();
                        assert_eq!(
                            first_difference(&output.into_vec().unwrap(), last.bytes().unwrap()),
                            None,
                            "{kind}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn windows_of_files_with_different_masks_make_one_batch() {
    let codecs = [Codec::Deflate, Codec::Zstd, Codec::Lzw, Codec::None, Codec::Lz4];
    let files: Vec<_> =
        KINDS.into_iter().zip(codecs).map(|(kind, codec)| Arc::new(open(&file(kind, codec)))).collect();
    let windows: Vec<_> = (0..20)
        .map(|at| {
            let (column, row) = (at as i64 * 9 - 40, at as i64 * 6 - 30);
            BatchWindow::of_pixels(at % 5, column, row, (50, 40)).bands([1, 3])
        })
        .collect();
    let options = BatchOptions::new().masked(true);
    let (tensor, pixels) = by_both(&files, &windows, &options);
    assert_eq!(tensor.shape(), [20, 2, 40, 50]);
    for (window, found) in windows.iter().zip(pixels.chunks(pixels.len() / windows.len())) {
        let mut whole = ReadOptions::new().masked(true).decode_on(Processor::Cpu);
        whole.place.bands.clone_from(&window.bands);
        let whole = files[window.file].read(&whole, &Context::default()).unwrap();
        let wanted = expected(&whole, window, &f32::NAN.to_ne_bytes());
        assert_eq!(first_difference(&wanted, found), None, "{} {window:?}", KINDS[window.file]);
    }
    // A value of the caller's for pixels outside stays, whatever the mask's memory held there.
    let filled = options.clone().fill(strile::tiff::gdal::NoData::Float(5.0));
    let (_, pixels) = by_both(&files, &windows, &filled);
    for (window, found) in windows.iter().zip(pixels.chunks(pixels.len() / windows.len())) {
        let mut whole = ReadOptions::new().masked(true).decode_on(Processor::Cpu);
        whole.place.bands.clone_from(&window.bands);
        let whole = files[window.file].read(&whole, &Context::default()).unwrap();
        let wanted = expected(&whole, window, &5f32.to_ne_bytes());
        assert_eq!(first_difference(&wanted, found), None, "{} {window:?}", KINDS[window.file]);
    }
}

/// Missing pixels do not count in means: a mean of valid ones stays among their values.
#[test]
fn masked_pixels_do_not_count_when_windows_are_resampled() {
    let files: Vec<_> = KINDS.map(|kind| Arc::new(open(&file(kind, Codec::Deflate)))).into();
    let windows: Vec<_> = (0..5).map(|at| BatchWindow::of_pixels(at, 10, 10, (60, 60)).bands([2])).collect();
    let options = BatchOptions::new().masked(true).size((20, 20)).sampling(Sampling::Average);
    let (_, pixels) = by_both(&files, &windows, &options);
    for (at, found) in pixels.chunks(pixels.len() / windows.len()).enumerate() {
        let window = Some(Window::new(10, 10, 60, 60));
        let whole = ReadOptions::new().masked(true).bands([2]).window(window).decode_on(Processor::Cpu);
        let whole = floats(&files[at].read(&whole, &Context::default()).unwrap());
        for (pixel, found) in found.chunks(4).map(|b| f32::from_ne_bytes(b.try_into().unwrap())).enumerate() {
            let under = (0..9).map(|i| whole[(pixel / 20 * 3 + i / 3) * 60 + pixel % 20 * 3 + i % 3]);
            let valid: Vec<f64> = under.filter(|v| !v.is_nan()).map(f64::from).collect();
            let mean = valid.iter().sum::<f64>() / valid.len() as f64;
            assert!(
                (f64::from(found) - mean).abs() < 0.01 || found.is_nan() && valid.is_empty(),
                "{}",
                KINDS[at]
            );
        }
    }
}

#[test]
fn a_plan_names_the_mask_and_counts_its_memory() {
    let context = Context::default();
    let options = ReadOptions::new().masked(true).decode_on(Processor::Cpu);
    let plan = open(&file("mask", Codec::Deflate)).plan(&options, &context).unwrap();
    assert!(plan.to_string().contains("mask     by the mask image, missing pixels to NaN\n"), "{plan}");
    assert_eq!(plan.memory.scratch, 150 * 110);
    let plan = open(&file("alpha", Codec::Deflate)).plan(&options, &context).unwrap();
    assert!(plan.to_string().contains("mask     by alpha in band 4, missing pixels to NaN\n"), "{plan}");
    assert_eq!(plan.memory.scratch, 2 * 150 * 110);
}

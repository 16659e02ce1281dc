//! Resampled windows of very different sizes: each as it is alone, in memory near the sum of them.

use crate::made::{UINT16, by_both, bytes_of, device, files, first_difference, spec};
use crate::sources::open;
use std::sync::Arc;
use strile::batch::{BatchOutput, BatchWindow, Sampling, plan_batch, read_batch_into};
use strile::engine::Budget;
use strile::engine::{Output, OutputSpec, Strides};
use strile::tiff::{ByteOrder, SampleFormat, SampleType};
use strile::{BatchOptions, Context, DataType, Dataset, Processor, read_batch};
use testkit::{Codec, Grid, ImageSpec, Pattern, Pixels, Random};

fn alone(files: &[Arc<Dataset>], window: &BatchWindow, options: &BatchOptions) -> Vec<u8> {
    let options = options.clone().decode_on(Processor::Cpu);
    let windows = std::slice::from_ref(window);
    read_batch(files, windows, &options, &Context::default())
        .unwrap()
        .into_host(&Context::default())
        .unwrap()
        .into_bytes()
        .unwrap()
}

/// Large and small, high and wide, some over the edge and some outside.
fn windows(files: usize) -> Vec<BatchWindow> {
    let mut random = Random::new(5);
    let sizes = [(150, 110), (3, 2), (1, 1), (140, 4), (2, 100), (60, 50), (5, 5), (900, 3)];
    let window = |at: usize| {
        let (x, y) = (random.below(60) as i64 - 20, random.below(60) as i64 - 20);
        BatchWindow::of_pixels(at % files, x, y, sizes[at % sizes.len()])
    };
    let mut windows: Vec<_> = (0..24).map(window).collect();
    windows.push(BatchWindow::of_pixels(0, 9000, 9000, (7, 7)));
    windows
}

#[test]
fn each_window_is_as_it_is_alone() {
    let mut files = files();
    let float = SampleType { format: SampleFormat::Float, bits: 32 };
    files.push(Arc::new(open(&bytes_of(&ImageSpec { sample: float, ..spec(Codec::Lzw) }, 2))));
    let (same_type, all) = (files.len() - 1, files.len());
    for (files_used, masked, sampling) in [
        (same_type, false, Sampling::Nearest),
        (same_type, false, Sampling::Average),
        (all, true, Sampling::Bilinear),
    ] {
        let (used, windows) = (&files[..files_used], windows(files_used));
        let options = BatchOptions::new().size((9, 7)).sampling(sampling).masked(masked);
        let (_, pixels) = by_both(used, &windows, &options);
        for (window, found) in windows.iter().zip(pixels.chunks(pixels.len() / windows.len())) {
            assert_eq!(first_difference(&alone(used, window, &options), found), None, "{window:?}");
        }
    }
}

#[test]
fn they_find_their_places_in_an_output_of_the_callers() {
    let (files, windows, context) = (files(), windows(3), Context::default());
    let plain = BatchOptions::new().size((9, 7));
    let expected: Vec<u8> = windows.iter().flat_map(|window| alone(&files, window, &plain)).collect();
    let strides = Strides { band: 7 * 20, row: 20, column: 2 };
    let bands = 3 * windows.len() as u32;
    let spec = OutputSpec { data_type: DataType::U16, bands, rows: 7, columns: 9, strides };
    for device in [Processor::Cpu, device()] {
        let output = Output::from_vec(spec.clone(), vec![0xAB; spec.len().unwrap() + 2]).unwrap();
        let output = BatchOutput::new(output, windows.len() as u32).unwrap();
        let options = plain.clone().decode_on(device);
        read_batch_into(&output, &files, &windows, &options, &context).unwrap();
        let memory = output.into_output().into_vec().unwrap();
        let found: Vec<u8> = memory.chunks(20).flat_map(|row| row[..18].to_vec()).collect();
        assert_eq!(first_difference(&expected, &found), None, "{device:?}");
        assert!(memory.chunks(20).all(|row| row[18..] == [0xAB; 2]));
    }
}

#[test]
fn one_large_window_among_small_ones_takes_little_more_than_itself() {
    const SIDE: u32 = 4096;
    let pixels = Pixels::generate(Pattern::Dem, UINT16, [1, SIDE as usize, SIDE as usize], 1);
    let image = ImageSpec::new(UINT16).grid(Grid::Tiles(256, 256)).codec(Codec::None);
    let files = [Arc::new(open(&image.build(&pixels, ByteOrder::Little, false).bytes))];
    let mut windows: Vec<_> =
        (0..100).map(|at| BatchWindow::of_pixels(0, 40 * at, 40 * at, (16, 16))).collect();
    windows.insert(50, BatchWindow::of_pixels(0, 0, 0, (SIDE, SIDE)));
    let options = BatchOptions::new().size((32, 32)).sampling(Sampling::Average).decode_on(Processor::Cpu);
    let sum = 2 * (u64::from(SIDE * SIDE) + 100 * 16 * 16);
    let budget = Arc::new(Budget::new(sum + (2 << 20)));
    let context = Context { budget: Arc::clone(&budget), ..Default::default() };
    let tensor = read_batch(&files, &windows, &options, &context).unwrap();
    assert!(budget.peak() > sum, "what is decoded is counted");
    let found = tensor.into_host(&context).unwrap().into_bytes().unwrap();
    for (window, found) in windows.iter().zip(found.chunks(found.len() / 101)) {
        assert_eq!(first_difference(&alone(&files, window, &options), found), None, "{window:?}");
    }
    let told = plan_batch(strile::Location::Host, &files, &windows, &options, &context).unwrap().to_string();
    assert!(told.ends_with("resampled from 100 × 16 × 16, 1 × 4096 × 4096"), "{told}");
}

/// So many pixels under each of the result that a device takes another kernel for them.
#[test]
fn means_of_very_many_pixels_are_the_same_by_both() {
    let pixels = Pixels::generate(Pattern::Dem, UINT16, [2, 300, 700], 3);
    let image = ImageSpec::new(UINT16).grid(Grid::Tiles(256, 256)).codec(Codec::None);
    let files = [Arc::new(open(&image.build(&pixels, ByteOrder::Little, false).bytes))];
    let windows =
        [BatchWindow::of_pixels(0, 0, 0, (700, 300)), BatchWindow::of_pixels(0, -200, 30, (700, 300))];
    let read = |device| {
        let options = BatchOptions::new().size((3, 2)).sampling(Sampling::Average).decode_on(device);
        let context = Context::default();
        read_batch(&files, &windows, &options, &context)
            .unwrap()
            .into_host(&context)
            .unwrap()
            .into_bytes()
            .unwrap()
    };
    assert_eq!(read(Processor::Cpu), read(device()));
}

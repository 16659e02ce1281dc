//! What is wrong with a batch, in words, with the file and the window.

use crate::made::{by_both, bytes_of, bytes_of_files, device, files, spec};
use crate::sources::open;
use std::sync::Arc;
use strile::batch::{BatchOutput, BatchWindow, read_batch_into};
use strile::engine::Budget;
use strile::engine::{Output, OutputSpec};
use strile::io::MemorySource;
use strile::read::{Area, OnFault};
use strile::tiff::gdal::NoData;
use strile::tiff::{SampleFormat, SampleType};
use strile::{BatchOptions, Context, DataType, Dataset, OpenOptions, Processor, read_batch};
use testkit::{Codec, ImageSpec};

fn refusal(files: &[Arc<Dataset>], windows: &[BatchWindow], options: &BatchOptions) -> String {
    let mut words = Vec::new();
    for device in [Processor::Cpu, device()] {
        let options = options.clone().decode_on(device);
        words.push(read_batch(files, windows, &options, &Context::default()).err().unwrap().to_string());
    }
    assert_eq!(words[0], words[1]);
    words.swap_remove(0)
}

#[test]
fn a_request_that_makes_no_tensor() {
    let mut files = files();
    let int16 = SampleType { format: SampleFormat::Int, bits: 16 };
    files.push(Arc::new(open(&bytes_of(&ImageSpec { sample: int16, ..spec(Codec::Lzw) }, 2))));
    let at = |file| BatchWindow::of_pixels(file, 0, 0, (10, 10));
    let plain = BatchOptions::default();
    assert_eq!(refusal(&files, &[], &plain), "batch of 0 windows: no window is asked for");
    assert_eq!(
        refusal(&files, &[at(0), at(9)], &plain),
        "batch of 2 windows: made.tif stores uint16 and made.tif stores int16: ask for a float type, or read them in \
         batches of their own"
    );
    assert_eq!(
        refusal(&files, &[at(0), at(10)], &plain),
        "window 1 (10 × 10 pixels from 0,0): batch of 2 windows: there is no file 10, the batch has 10 (from 0)"
    );
    let mut inverted = plain.clone();
    inverted.meaning.invert_min_is_white = true;
    assert_eq!(
        refusal(&files, &[at(0)], &inverted),
        "batch of 1 windows: `invert_min_is_white` is not available in batches; read stored values"
    );
    let one = at(1).bands([2]);
    assert_eq!(
        refusal(&files, &[at(0), one], &plain),
        "batch of 2 windows: 3 bands of made.tif and 1 of made.tif: ask for as many of each"
    );
    assert_eq!(
        refusal(&files, &[at(0), BatchWindow::of_pixels(1, 3, 4, (10, 11))], &plain),
        "window 1 (10 × 11 pixels from 3,4): made.tif: a batch has windows of one size: expected 10 × 10 pixels as \
         in window 0, got 10 × 11; set `size` to resample all windows to one size"
    );
    let level = at(0).level(2);
    assert_eq!(
        refusal(&files, &[level], &plain),
        "window 0 (10 × 10 pixels from 0,0): made.tif: there is no level 2, page 0 has 2 (0 is full resolution)"
    );
    let place = at(0).area(Area::Point { x: 1.0, y: 2.0, width: 4, height: 4 });
    assert_eq!(
        refusal(&files, &[place], &plain),
        "window 0 (4 × 4 pixels around 1,2): made.tif: has no georeference that coordinates could be found with"
    );
    assert_eq!(
        refusal(&files, &[at(0)], &plain.fill(NoData::Float(0.5))),
        "batch of 1 windows: the fill value 0.5 is not one of uint16"
    );
}

#[test]
fn an_output_of_another_shape_or_type_is_refused_untouched() {
    let files = files();
    let windows = [BatchWindow::of_pixels(0, 0, 0, (10, 10)), BatchWindow::of_pixels(1, 0, 0, (10, 10))];
    for (windows_of_it, data_type, bands, columns, told) in [
        (2, DataType::U16, 8, 10, "2 windows × 4 bands × 10 × 10 of uint16"),
        (2, DataType::I16, 6, 10, "2 windows × 3 bands × 10 × 10 of int16"),
        (2, DataType::U16, 6, 11, "2 windows × 3 bands × 10 × 11 of uint16"),
        // As many samples, of other windows.
        (3, DataType::U16, 6, 10, "3 windows × 2 bands × 10 × 10 of uint16"),
    ] {
        let spec = OutputSpec::band_first(data_type, bands, 10, columns).unwrap();
        let output = BatchOutput::new(Output::new(spec).unwrap(), windows_of_it).unwrap();
        let options = BatchOptions::new().decode_on(Processor::Cpu);
        let error = read_batch_into(&output, &files, &windows, &options, &Context::default()).err().unwrap();
        let gives = "the batch gives 2 windows × 3 bands × 10 × 10 of uint16";
        assert_eq!(error.to_string(), format!("batch of 2 windows: the output is {told}, {gives}"));
        assert!(output.into_output().into_vec().unwrap().iter().all(|&byte| byte == 0));
    }
    for windows in [0, 4] {
        let spec = OutputSpec::band_first(DataType::U16, 6, 10, 10).unwrap();
        let error = BatchOutput::new(Output::new(spec).unwrap(), windows).err().unwrap().to_string();
        assert!(error.contains(&format!("6 bands are not those of {windows} windows")), "{error}");
    }
}

#[test]
fn memory_is_asked_for_before_anything_is_read() {
    let files = files();
    let context = Context { budget: Arc::new(Budget::new(10_000)), ..Default::default() };
    let windows = [BatchWindow::of_pixels(0, 0, 0, (100, 100))];
    let error = read_batch(&files, &windows, &BatchOptions::default(), &context).err().unwrap();
    assert!(error.to_string().contains("the pixels of the batch"), "{error}");
    // An area larger than any memory is no reason to try.
    let windows = [BatchWindow::of_pixels(0, 0, 0, (u32::MAX, u32::MAX))];
    assert!(read_batch(&files, &windows, &BatchOptions::default(), &Context::default()).is_err());
}

/// Deflate streams of one file, those of a tile, are spoiled in the middle.
fn with_a_damaged_file(tile: usize) -> Vec<Arc<Dataset>> {
    let mut all = bytes_of_files();
    let spoiled = &mut all[3];
    let dataset = open(spoiled);
    let table = dataset.pages()[0].levels[0].image.table.clone();
    let strile::tiff::BlockArray::Here(offsets) = &table.offsets else { panic!("small") };
    // Of the three planes, where it has them; tile 4 has columns 64 to 127 and rows 48 to 95.
    for index in [tile, 9 + tile, 18 + tile] {
        let at = offsets.get(index).copied().unwrap_or(offsets[tile]) as usize;
        spoiled[at + 20..at + 40].fill(0xFF);
    }
    let opened = |(at, bytes): (usize, &Vec<u8>)| {
        let source = Arc::new(MemorySource::new(format!("scene {at}.tif"), bytes.clone()));
        Arc::new(Dataset::from_source(source, &OpenOptions::default()).unwrap())
    };
    all.iter().enumerate().map(opened).collect()
}

#[test]
fn a_damaged_file_is_named_with_the_window_that_shows_it() {
    let files = with_a_damaged_file(4);
    let windows = [
        BatchWindow::of_pixels(2, 70, 50, (10, 10)),
        BatchWindow::of_pixels(3, 0, 0, (10, 10)),
        BatchWindow::of_pixels(3, 70, 50, (10, 10)),
        BatchWindow::of_pixels(4, 70, 50, (10, 10)),
        BatchWindow::of_pixels(3, 60, 50, (10, 10)),
    ];
    let words = refusal(&files, &windows, &BatchOptions::default());
    assert!(
        words.starts_with("window 2 (10 × 10 pixels from 70,50): scene 3.tif: block (column 1, row 1"),
        "{words}"
    );
    let options = BatchOptions::new().on_fault(OnFault::Fill);
    let (tensor, pixels) = by_both(&files, &windows, &options);
    let told: Vec<_> = tensor.faults.iter().map(|fault| (fault.window, fault.file.as_str())).collect();
    assert!(told.contains(&(2, "scene 3.tif")) && told.contains(&(4, "scene 3.tif")), "{told:?}");
    assert!(told.iter().all(|(window, _)| [2, 4].contains(window)), "{told:?}");
    let len = pixels.len() / windows.len();
    assert!(pixels[2 * len..3 * len].chunks(2).any(|sample| sample == 7u16.to_ne_bytes()), "filled");
    // The others are whole.
    for (at, window) in windows.iter().enumerate().filter(|(at, _)| ![2, 4].contains(at)) {
        let (_, alone) = by_both(&files, std::slice::from_ref(window), &BatchOptions::default());
        assert_eq!(alone, pixels[at * len..(at + 1) * len]);
    }
}

#[test]
fn a_window_that_is_only_filled_has_no_fault_of_its_files_first_block() {
    let files = with_a_damaged_file(0);
    let windows =
        [BatchWindow::of_pixels(3, 5000, 5000, (10, 10)), BatchWindow::of_pixels(3, 0, 0, (10, 10))];
    let words = refusal(&files, &windows, &BatchOptions::default());
    assert!(
        words.starts_with("window 1 (10 × 10 pixels from 0,0): scene 3.tif: block (column 0, row 0"),
        "{words}"
    );
    let options = BatchOptions::new().on_fault(OnFault::Fill);
    let (tensor, _) = by_both(&files, &windows, &options);
    let told: Vec<_> = tensor.faults.iter().map(|fault| fault.window).collect();
    assert!(!told.is_empty() && told.iter().all(|&window| window == 1), "{told:?}");
}

#[test]
fn a_batch_stops_where_it_is_asked_to() {
    let context = Context::default();
    context.cancel.cancel();
    let windows = [BatchWindow::of_pixels(0, 0, 0, (10, 10))];
    let error = read_batch(&files(), &windows, &BatchOptions::default(), &context).err().unwrap();
    assert_eq!(error.to_string(), "cancelled");
}

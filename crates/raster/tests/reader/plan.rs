//! What a read says before it is done, what it may take, and reading into the caller's memory.

use crate::fixtures::readable;
use crate::sources::{open, open_bucket, read};
use std::sync::Arc;
use strile::engine::Budget;
use strile::engine::Strides;
use strile::engine::{Output, OutputSpec, Progress};
use strile::read::{Interleave, PlanFigures};
use strile::tiff::{ByteOrder, SampleFormat, SampleType};
use strile::{Cancel, Context, DataType, Error};
use strile::{ReadOptions, Window};
use testkit::{Codec, FileFrame, FileOrder, Grid, ImageSpec, Pattern, Pixels};

const UINT16: SampleType = SampleType { format: SampleFormat::Uint, bits: 16 };

fn pixels() -> Pixels {
    Pixels::generate(Pattern::LandCover, UINT16, [3, 600, 500], 5)
}

/// 8 × 10 stored tiles of 64 × 64 and 3 samples, the third left out; an overview of one strip.
fn file() -> Vec<u8> {
    let spec = ImageSpec::new(UINT16).grid(Grid::Tiles(64, 64)).sparse(&[2]);
    let reduced = ImageSpec::new(UINT16).grid(Grid::Strips(300)).subfile_type(1);
    let frame = FileFrame { order: ByteOrder::Little, big: false, file_order: FileOrder::DirectoriesFirst };
    spec.build_with(&pixels(), &[(reduced, pixels().halved())], frame).bytes
}

fn limited(bytes: u64) -> Context {
    Context { budget: Arc::new(Budget::new(bytes)), ..Context::default() }
}

#[test]
fn a_plan_is_told_in_words() {
    let (_, staged) = open_bucket(&file());
    let here = open(&file());
    // The memory of one thread.
    let context = Context { threads: std::num::NonZeroUsize::MIN, ..Context::default() };
    let device = strile::Processor::Cpu;
    assert_eq!(
        here.plan(&ReadOptions::new().decode_on(device), &context).unwrap().to_string(),
        "read     page 0, full size, 500 × 600 pixels, window 0,0,500,600\n\
         blocks   79 tiles of 64 × 64, none, 1 more are sparse and filled\n\
         bytes    1.9 MiB encoded, in 79 ranges of 1.9 MiB, one per block\n\
         fetch    read by the decoding threads\n\
         engine   cpu (asked for)\n\
         output   3 bands × 600 × 500 uint16, 1.7 MiB\n\
         memory   up to 1.8 MiB: 1.7 MiB + 25.1 KiB per thread + 0 B staging"
    );
    let window = Some(Window::new(60, 60, 100, 10));
    assert_eq!(
        staged
            .plan(&ReadOptions::new().window(window).bands([2]).decode_on(device), &context)
            .unwrap()
            .to_string(),
        "read     page 0, full size, 500 × 600 pixels, window 60,60,100,10\n\
         blocks   5 tiles of 64 × 64, none, 1 more are sparse and filled\n\
         bytes    120.0 KiB encoded, in 2 ranges of 120.0 KiB after merging\n\
         fetch    staged in 1 batch\n\
         remote   2 requests for 120.0 KiB\n\
         engine   cpu (asked for)\n\
         output   1 band × 10 × 100 uint16, 2.0 KiB\n\
         memory   up to 125.1 KiB: 2.0 KiB + 1.1 KiB per thread + 120.0 KiB staging"
    );
    let overview = ReadOptions::new().level(1);
    assert_eq!(
        staged.plan(&overview, &context).unwrap().to_string().lines().take(2).collect::<Vec<_>>(),
        [
            "read     page 0, level 1, 250 × 300 pixels, window 0,0,250,300",
            "blocks   1 strip of 250 × 300, none"
        ]
    );
}

#[test]
fn a_plan_counts_what_will_be_done() {
    let plan = open(&file()).plan(&ReadOptions::default(), &Context::default()).unwrap();
    let encoded_bytes = 79 * 64 * 64 * 6;
    assert_eq!(
        plan.figures(),
        PlanFigures {
            blocks: 79,
            sparse: 1,
            cached: 0,
            cached_bytes: 0,
            encoded_bytes,
            ranges: 79,
            range_bytes: encoded_bytes,
            requests: 0,
            request_bytes: 0,
            batches: 1,
            engine_batches: 1,
        }
    );
    assert_eq!((plan.bands, plan.level_size), (vec![1, 2, 3], (500, 600)));
}

#[test]
fn memory_is_refused_before_it_is_taken() {
    let (bucket, dataset) = open_bucket(&file());
    bucket.requests();
    let context = limited(1_000_000);
    let error = dataset.read(&ReadOptions::default(), &context).unwrap_err();
    assert!(matches!(error, Error::Memory { .. }));
    assert_eq!(
        error.to_string(),
        "cannot take 1800000 bytes of memory for the decoded image: 1000000 of the limit of 1000000 are free; raise \
         `memory`, or read a window"
    );
    assert!(bucket.requests().is_empty(), "nothing was read");
    // A window fits, and what it took is given back.
    let window = Some(Window::new(0, 0, 64, 64));
    dataset.read(&ReadOptions::new().window(window), &context).unwrap();
    assert!(context.budget.take(1_000_000, "all of it").is_ok());
}

#[test]
fn staging_and_scratch_are_asked_from_the_budget_too() {
    let window = Some(Window::new(0, 0, 10, 10));
    let options = ReadOptions::new().window(window);
    let needs =
        |dataset: &strile::Dataset, limit| dataset.read(&options, &limited(limit)).map_err(|e| e.to_string());
    // One tile of 24,576 bytes, in one batch.
    let staged = needs(&open_bucket(&file()).1, 10_000).unwrap_err();
    assert!(
        staged.starts_with("cannot take 24576 bytes of memory for staging of encoded blocks: "),
        "{staged}"
    );
    let spec = ImageSpec::new(UINT16).grid(Grid::Tiles(64, 64)).codec(Codec::Lzw);
    let packed = open(&spec.build(&pixels(), ByteOrder::Little, false).bytes);
    let scratch = needs(&packed, 10_000).unwrap_err();
    assert!(scratch.contains("bytes of memory for decoding scratch: "), "{scratch}");
    assert!(needs(&packed, 200_000).is_ok());
}

#[test]
fn an_image_of_any_size_is_refused_not_tried() {
    use testkit::Tag;
    let spec = ImageSpec::new(UINT16).grid(Grid::Strips(u32::MAX)).sparse(&[0]);
    let tags = [Tag::long(256, u32::MAX), Tag::long(257, u32::MAX), Tag::long(278, u32::MAX)];
    let spec = tags.into_iter().fold(spec, ImageSpec::tag);
    let dataset = open(&spec.build(&pixels(), ByteOrder::Little, false).bytes);
    for options in [ReadOptions::default(), ReadOptions::new().window(Window::full(u32::MAX, 1))] {
        let error = dataset.read(&options, &limited(1 << 30)).unwrap_err();
        assert!(
            matches!(error, Error::Memory { .. } | Error::Unsupported { .. } | Error::Request { .. }),
            "{error}"
        );
    }
}

#[test]
fn pixels_go_into_the_callers_memory_and_nowhere_else() {
    let dataset = open(&file());
    let window = Some(Window::new(50, 130, 40, 30));
    let options = ReadOptions::new().window(window).bands([3, 1]);
    let expected = read(&dataset, &options);
    // Two samples a pixel and two bytes of something else; 6 bytes after each row.
    let strides = Strides { band: 2, row: 40 * 6 + 6, column: 6 };
    let spec = OutputSpec { data_type: DataType::U16, bands: 2, rows: 30, columns: 40, strides };
    let output = Output::from_vec(spec, vec![0xEE; 30 * strides.row]).unwrap();
    let report = dataset.read_into(&output, &options, &Context::default()).unwrap();
    assert_eq!((report.blocks, report.faults.len()), (2, 0));
    let mut memory = output.into_vec().unwrap();
    for band in 0..2 {
        for at in 0..30 * 40 {
            let place = at / 40 * strides.row + at % 40 * strides.column + band * 2;
            assert_eq!(memory[place..place + 2], expected.bytes().unwrap()[(band * 1200 + at) * 2..][..2]);
            memory[place..place + 2].fill(0xEE);
        }
    }
    assert!(memory.iter().all(|&byte| byte == 0xEE), "bytes between strides");
}

#[test]
fn an_output_of_another_shape_or_type_is_refused() {
    let dataset = open(&file());
    let into = |spec: OutputSpec| {
        let output = Output::new(spec).unwrap();
        let read = dataset.read_into(&output, &ReadOptions::default(), &Context::default());
        read.unwrap_err().to_string()
    };
    assert_eq!(
        into(OutputSpec::band_first(DataType::U16, 3, 500, 600).unwrap()),
        "made.tif: the output is 3 × 500 × 600 uint16, the read gives 3 × 600 × 500 uint16"
    );
    assert_eq!(
        into(OutputSpec::band_last(DataType::I16, 3, 600, 500).unwrap()),
        "made.tif: the output is 3 × 600 × 500 int16, the read gives 3 × 600 × 500 uint16"
    );
}

#[test]
fn an_output_of_the_other_interleaving_is_as_good() {
    let dataset = open(&file());
    let output = Output::new(OutputSpec::band_last(DataType::U16, 3, 600, 500).unwrap()).unwrap();
    dataset.read_into(&output, &ReadOptions::default(), &Context::default()).unwrap();
    let last = ReadOptions::new().interleave(Interleave::BandLast);
    assert!(output.into_vec().unwrap() == read(&dataset, &last).bytes().unwrap());
}

/// Reads into an output of the plan's shape and compares with `read`; a refusal is as good, other pixels are not.
fn check_read_into(fixture: &str, options: &ReadOptions) {
    let fixture = readable().find(|f| f.name == fixture).unwrap();
    let dataset = open(fixture.bytes());
    let expected = read(&dataset, options);
    let spec = OutputSpec::band_first(expected.data_type, expected.bands, expected.rows, expected.columns);
    let output = Output::new(spec.unwrap()).unwrap();
    if dataset.read_into(&output, options, &Context::default()).is_ok() {
        assert!(output.into_vec().unwrap() == expected.bytes().unwrap(), "{}: {options:?}", fixture.name);
    }
}

#[test]
fn reading_into_memory_fills_as_reading_does() {
    check_read_into("sparse_tile_i16_nodata", &ReadOptions::default());
}

#[test]
fn reading_into_memory_does_what_the_options_say() {
    check_read_into("mask", &ReadOptions::new().layer(strile::Layer::Mask));
    check_read_into("orientation_4", &ReadOptions::new().apply_orientation(true));
    check_read_into("min_is_white", &ReadOptions::new().invert_min_is_white(true));
}

#[test]
fn a_cancelled_read_is_an_error_and_progress_counts_blocks() {
    struct Stop(Cancel, std::sync::atomic::AtomicU64);
    impl Progress for Stop {
        fn advance(&self, blocks: u64) {
            self.1.fetch_add(blocks, std::sync::atomic::Ordering::Relaxed);
            self.0.cancel();
        }
    }
    let dataset = open(&file());
    let context = Context::default();
    // Cancelled by the first block that is done.
    let stop = Arc::new(Stop(context.cancel.clone(), Default::default()));
    let context = Context { progress: Some(Arc::<Stop>::clone(&stop)), ..context };
    let error = dataset.read(&ReadOptions::default(), &context).unwrap_err();
    assert_eq!(error.to_string(), "cancelled");
    let done = stop.1.load(std::sync::atomic::Ordering::Relaxed);
    assert!((1..80).contains(&done), "{done} of 80 blocks");
    assert!(context.budget.take(context.budget.limit(), "all of it").is_ok(), "nothing stays lent");
}

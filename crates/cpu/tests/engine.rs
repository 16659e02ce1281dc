//! What is the CPU engine's own: its words about sources and memory, and what it refuses. What every engine must do
//! is in `conformance`.

#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking, and knows its numbers"
)]

use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use strile_cpu::CpuEngine;
use strile_cpu::codec::{self, StoredBlock, Workspace};
use strile_engine::*;
use strile_tiff::{
    ByteOrder, Compression, DataType, LercWrapper, Photometric, Predictor, SampleFormat, SampleType, YCbCr,
};

/// A source that lends its bytes.
struct Memory(Vec<u8>);

impl ReadAt for Memory {
    fn read_at<'a>(&'a self, span: Span, _: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        let (start, end) = (span.offset as usize, span.end().unwrap() as usize);
        self.0.get(start..end).ok_or(io::ErrorKind::UnexpectedEof.into())
    }
}

fn layout(width: u32, height: u32, samples: u16, format: SampleFormat, bits: u16) -> BlockLayout {
    let sample = SampleType { format, bits };
    BlockLayout {
        width,
        height,
        samples,
        sample,
        mixed_bits: None,
        data_type: sample.data_type().unwrap(),
        byte_order: ByteOrder::NATIVE,
        reverse_bits: false,
        compression: Compression::None,
        predictor: Predictor::None,
        is_strip: false,
        extras: CodecExtras {
            photometric: Photometric::MinIsBlack,
            ycbcr: None,
            jpeg_tables: None,
            lerc: LercWrapper::None,
            fax_options: 0,
            fill: Fill::default(),
            reduce: 0,
        },
    }
}

/// A block of `layout`, whole, at the top left of output 0.
fn task(layout: &BlockLayout, offset: u64) -> BlockTask {
    BlockTask {
        source: 0,
        layout: 0,
        selection: 0,
        output: 0,
        span: Some(Span { offset, len: layout.decoded_len(layout.height).unwrap() as u64 }),
        address: BlockAddress::default(),
        placement: Placement {
            rows: layout.height,
            image_rows: layout.height,
            block_x: 0,
            block_y: 0,
            width: layout.width,
            height: layout.height,
            out_x: 0,
            out_y: 0,
            first_band: 0,
        },
    }
}

fn all(layout: &BlockLayout) -> Vec<Vec<u16>> {
    vec![(0..layout.samples).collect()]
}

fn run(job: DecodeJob, bytes: Vec<u8>, output: &Output) -> Report {
    run_on(NonZeroUsize::MAX, job, bytes, output)
}

fn run_on(threads: NonZeroUsize, job: DecodeJob, bytes: Vec<u8>, output: &Output) -> Report {
    let sources: Vec<Arc<dyn ReadAt>> = vec![Arc::new(Memory(bytes))];
    let context = Context { threads, ..Context::default() };
    let ticket =
        CpuEngine::new().submit(job, Encoded::Pulled(sources), std::slice::from_ref(output), &context);
    ticket.unwrap().wait().unwrap()
}

#[test]
fn the_end_of_a_file_is_named() {
    let layout = layout(4, 4, 1, SampleFormat::Uint, 8);
    let output = Output::new(OutputSpec::band_first(DataType::U8, 1, 4, 4).unwrap()).unwrap();
    let job = DecodeJob::new(vec![Arc::new(layout.clone())], all(&layout), vec![task(&layout, 8)]).unwrap();
    let report = run(job, vec![0; 20], &output);
    let message = report.faults[0].to_string();
    assert_eq!(
        message,
        "block (column 0, row 0): cannot be read: 16 bytes at offset 8: the file ends before their end"
    );
}

#[test]
fn the_budget_can_refuse() {
    let mut layout = layout(100, 100, 1, SampleFormat::Uint, 8);
    layout.compression = Compression::Lzw;
    let output = Output::new(OutputSpec::band_first(DataType::U8, 1, 100, 100).unwrap()).unwrap();
    let job = DecodeJob::new(vec![Arc::new(layout.clone())], all(&layout), vec![task(&layout, 0)]).unwrap();
    let budget = Arc::new(Budget::new(9_999));
    let context = Context { budget: Arc::clone(&budget), ..Context::default() };
    let staged = Encoded::Staged(Arc::new(Arena::from_vec(vec![0; 16])));
    let refused = CpuEngine::new().submit(job, staged, std::slice::from_ref(&output), &context).err();
    let Some(EngineError::Budget(error)) = refused else { panic!("{refused:?}") };
    assert_eq!((error.purpose, error.limit), ("decoding scratch", 9_999));
    assert!(error.need >= 10_000);
    // A span that no memory holds is refused as well, not read.
    let mut huge = task(&layout, 0);
    huge.span = Some(Span { offset: 0, len: u64::MAX });
    let job = DecodeJob::new(vec![Arc::new(layout.clone())], all(&layout), vec![huge]).unwrap();
    let sources: Vec<Arc<dyn ReadAt>> = vec![Arc::new(Memory(vec![]))];
    let refused = CpuEngine::new().submit(job, Encoded::Pulled(sources), &[output], &Context::default());
    assert!(matches!(refused.err(), Some(EngineError::Budget(_))));
    assert!(budget.take(9_999, "all of it").is_ok(), "nothing stays lent");
}

#[test]
fn what_cannot_be_decoded_is_said_before() {
    let mut wide = layout(1, 1, 1, SampleFormat::ComplexFloat, 128);
    assert_eq!(CpuEngine::new().support(&wide), Support::Yes);
    wide.predictor = Predictor::Horizontal;
    let reason = "predictor 2 on samples of 128-bit complex float".to_owned();
    assert_eq!(CpuEngine::new().support(&wide), Support::No(reason));
    wide.compression = Compression::JpegXr;
    assert!(matches!(CpuEngine::new().support(&wide), Support::No(_)));
}

#[test]
fn a_source_that_is_not_there_is_refused() {
    let layout = layout(4, 4, 1, SampleFormat::Uint, 8);
    let output = Output::new(OutputSpec::band_first(DataType::U8, 1, 4, 4).unwrap()).unwrap();
    let job = DecodeJob::new(vec![Arc::new(layout.clone())], all(&layout), vec![task(&layout, 0)]).unwrap();
    let refused = CpuEngine::new().submit(job, Encoded::Pulled(vec![]), &[output], &Context::default());
    let message = refused.err().unwrap().to_string();
    assert_eq!(message, "the job does not fit its sources: expected source 0, got 0 sources");
}

#[test]
fn three_bytes_are_bits_as_any_odd_depth_swapped_in_big_endian_files() {
    for (order, value) in [(ByteOrder::Little, 0x03_0201u32), (ByteOrder::Big, 0x01_0203)] {
        let mut layout = layout(1, 1, 1, SampleFormat::Uint, 24);
        layout.byte_order = order;
        let output = Output::new(OutputSpec::band_first(DataType::U32, 1, 1, 1).unwrap()).unwrap();
        let job =
            DecodeJob::new(vec![Arc::new(layout.clone())], all(&layout), vec![task(&layout, 0)]).unwrap();
        assert_eq!(run(job, vec![3, 2, 1], &output).faults, []);
        assert_eq!(output.into_vec().unwrap(), value.to_ne_bytes(), "{order:?}");
    }
}

#[test]
fn chroma_units_have_no_predictor() {
    let mut units = layout(3, 3, 3, SampleFormat::Uint, 8);
    units.extras.photometric = Photometric::YCbCr;
    units.extras.ycbcr = Some(YCbCr::default());
    assert_eq!(CpuEngine::new().support(&units), Support::Yes);
    units.predictor = Predictor::Horizontal;
    assert!(matches!(CpuEngine::new().support(&units), Support::No(_)));
}

/// Helpers of a block take memory that the plan counts; a small budget has none for them, and a single thread decodes.
#[test]
fn plans_count_the_memory_of_helpers() {
    let layout = BlockLayout {
        compression: Compression::Deflate,
        predictor: Predictor::Horizontal,
        ..layout(2000, 4000, 1, SampleFormat::Uint, 8)
    };
    let mut state = 5_u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 27) as u8
    };
    let pixels: Vec<u8> = (0..8_000_000).map(|_| noise()).collect();
    let params =
        EncodeParams { encoder: Encoder::Fast, level: 6, quality: 90, lossless: true, max_error: 0.0 };
    let (stored, mut encoded) = (StoredBlock { layout: &layout, rows: layout.height }, Vec::new());
    codec::encode(&pixels, &mut encoded, stored, &params, &mut Workspace::default()).unwrap();
    let mut outputs = Vec::new();
    for limit in [1 << 30, 40 << 20] {
        let spec = OutputSpec::band_first(DataType::U8, 1, layout.height, layout.width).unwrap();
        let output = Output::new(spec).unwrap();
        let budget = Arc::new(Budget::new(limit));
        let context = Context { budget, threads: NonZeroUsize::MAX, ..Context::default() };
        let mut task = task(&layout, 0);
        task.span = Some(Span { offset: 0, len: encoded.len() as u64 });
        let job = DecodeJob::new(vec![Arc::new(layout.clone())], all(&layout), vec![task]).unwrap();
        let kinds = [OutputKind::from(&output)];
        let submission = Submission { supply: Supply::Pulled, outputs: &kinds, held: Held::default() };
        let memory = CpuEngine::new().plan(&job, &submission, &context).unwrap().memory;
        let source: Arc<dyn ReadAt> = Arc::new(Memory(encoded.clone()));
        let ticket = CpuEngine::new().submit(
            job,
            Encoded::Pulled(vec![source]),
            std::slice::from_ref(&output),
            &context,
        );
        assert_eq!(ticket.unwrap().wait().unwrap().faults, []);
        let peak = context.budget.peak();
        assert!(peak <= memory.host && memory.host <= limit, "{peak} taken, {memory:?}, limit {limit}");
        outputs.push(output.into_vec().unwrap());
    }
    assert!(outputs[0] == outputs[1]);
}

/// Several threads place the rows of a strip of 5 MB as one thread does. Outputs are larger than the block: what lies
/// around it must not change.
#[test]
fn threads_that_share_a_block_place_it_like_one() {
    let plain = |samples, format, bits, columns: u32| BlockLayout {
        height: 5_000_000 / (columns * u32::from(samples) * u32::from(bits) / 8),
        ..layout(columns, 1, samples, format, bits)
    };
    let swapped = if ByteOrder::NATIVE == ByteOrder::Little { ByteOrder::Big } else { ByteOrder::Little };
    let (uint, float) = (SampleFormat::Uint, SampleFormat::Float);
    let mut chroma = plain(3, uint, 8, 1001);
    chroma.extras.photometric = Photometric::YCbCr;
    chroma.extras.ycbcr = Some(YCbCr::default());
    let layouts = [
        plain(1, uint, 8, 2000),
        BlockLayout { predictor: Predictor::Horizontal, byte_order: swapped, ..plain(1, uint, 16, 1500) },
        BlockLayout { predictor: Predictor::FloatingPoint, ..plain(1, float, 32, 700) },
        BlockLayout { predictor: Predictor::Horizontal, ..plain(3, uint, 8, 900) },
        BlockLayout { predictor: Predictor::Horizontal, ..plain(10, uint, 16, 300) },
        plain(1, uint, 12, 2000),
        chroma,
    ];
    let mut state = 9_u32;
    let bytes: Vec<u8> = (0..6_000_000)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .collect();
    for layout in layouts {
        for (interleaved, crop, converts) in
            [(false, 0, false), (true, 0, false), (true, 7, false), (false, 7, true)]
        {
            let (bands, width, height) =
                (u32::from(layout.samples), layout.width - 2 * crop, layout.height - crop);
            let new = if interleaved { OutputSpec::band_last } else { OutputSpec::band_first };
            let data_type = if converts { DataType::F32 } else { layout.data_type };
            let spec = new(data_type, bands, height + 3, width + 5).unwrap();
            let decoded = |threads| {
                let mut task = task(&layout, 0);
                let placement = task.placement;
                task.placement = Placement {
                    block_x: crop,
                    block_y: crop,
                    width,
                    height,
                    out_x: 5,
                    out_y: 2,
                    ..placement
                };
                let memory = vec![0xA5; spec.len().unwrap()];
                let mut output = Output::from_vec(spec.clone(), memory).unwrap();
                if converts {
                    let convert = Convert { nodata: None, scale: 0.5, offset: 3.0 };
                    output = output.converting(convert).unwrap();
                }
                let job = DecodeJob::new(vec![Arc::new(layout.clone())], all(&layout), vec![task]).unwrap();
                assert_eq!(run_on(threads, job, bytes.clone(), &output).faults, []);
                output.into_vec().unwrap()
            };
            let (one, several) = (decoded(NonZeroUsize::MIN), decoded(NonZeroUsize::MAX));
            assert!(one == several, "{layout:?} {interleaved} {crop} {converts}");
        }
    }
}

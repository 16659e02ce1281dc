//! Behaviour of the CPU engine on uncompressed blocks made by hand: tickets, placement, faults, limits.

#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking, and knows its numbers"
)]

use std::io;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use strile_cpu::CpuEngine;
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

/// A source that answers when its gate is opened.
struct Gated(Memory, Arc<(Mutex<bool>, Condvar)>);

impl ReadAt for Gated {
    fn read_at<'a>(&'a self, span: Span, scratch: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        let mut open = self.1.0.lock().unwrap();
        while !*open {
            open = self.1.1.wait(open).unwrap();
        }
        self.0.read_at(span, scratch)
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

/// Tiles of one band side by side, `across` × `down` of them, one after the other in the source.
fn grid(layout: &BlockLayout, across: u32, down: u32) -> Vec<BlockTask> {
    let one = task(layout, 0);
    let len = one.span.unwrap().len;
    let place = |index: u32| {
        let (row, column) = (index / across, index % across);
        let mut task = task(layout, u64::from(index) * len);
        task.address = BlockAddress { row, column, ..Default::default() };
        task.placement.out_x = column * layout.width;
        task.placement.out_y = row * layout.height;
        task
    };
    (0..across * down).map(place).collect()
}

fn run(job: DecodeJob, bytes: Vec<u8>, output: &Output) -> Report {
    let sources: Vec<Arc<dyn ReadAt>> = vec![Arc::new(Memory(bytes))];
    let ticket = CpuEngine::new().submit(
        job,
        Encoded::Pulled(sources),
        std::slice::from_ref(output),
        &Context::default(),
    );
    ticket.unwrap().wait().unwrap()
}

/// Decodes one block alone, band by band.
fn decoded(layout: BlockLayout, bytes: Vec<u8>) -> Vec<u8> {
    let spec =
        OutputSpec::band_first(layout.data_type, layout.samples.into(), layout.height, layout.width).unwrap();
    let output = Output::new(spec).unwrap();
    let job = DecodeJob::new(vec![Arc::new(layout.clone())], all(&layout), vec![task(&layout, 0)]).unwrap();
    let report = run(job, bytes, &output);
    assert_eq!(report.faults, []);
    output.into_vec().unwrap()
}

fn noise(len: usize) -> Vec<u8> {
    (0..len).map(|i| (((i * i) >> 3) ^ (i * 37)) as u8).collect()
}

#[test]
fn two_tickets_in_flight() {
    let layout = layout(4, 4, 1, SampleFormat::Uint, 8);
    let output = Output::new(OutputSpec::band_first(DataType::U8, 1, 4, 8).unwrap()).unwrap();
    let gate = Arc::new((Mutex::new(false), Condvar::new()));
    let submit = |source: Arc<dyn ReadAt>, out_x: u32| {
        let mut task = task(&layout, 0);
        task.placement.out_x = out_x;
        let job = DecodeJob::new(vec![Arc::new(layout.clone())], all(&layout), vec![task]).unwrap();
        CpuEngine::new().submit(
            job,
            Encoded::Pulled(vec![source]),
            std::slice::from_ref(&output),
            &Context::default(),
        )
    };
    // Both are under way before either can end: the sources answer only once the gate is open.
    let left = submit(Arc::new(Gated(Memory(vec![1; 16]), Arc::clone(&gate))), 0).unwrap();
    let right = submit(Arc::new(Gated(Memory(vec![2; 16]), Arc::clone(&gate))), 4).unwrap();
    let again = submit(Arc::new(Memory(vec![3; 16])), 4);
    assert_eq!(again.err(), Some(EngineError::Busy { output: 0 }), "the right half is being written");
    *gate.0.lock().unwrap() = true;
    gate.1.notify_all();
    // In the other order than they were started.
    assert_eq!(right.wait().unwrap().blocks, 1);
    assert_eq!(left.wait().unwrap().blocks, 1);
    submit(Arc::new(Memory(vec![4; 16])), 0).unwrap().wait().unwrap();
    assert_eq!(output.into_vec().unwrap(), [4, 4, 4, 4, 2, 2, 2, 2].repeat(4));
}

#[test]
fn one_job_over_two_files() {
    // One file of 16-bit tiles in the other byte order, one of 8-bit RGB; each to an output of its own.
    let mut first = layout(2, 2, 1, SampleFormat::Uint, 16);
    first.byte_order =
        if ByteOrder::NATIVE == ByteOrder::Little { ByteOrder::Big } else { ByteOrder::Little };
    let second = layout(2, 1, 3, SampleFormat::Uint, 8);
    let to_second = BlockTask { source: 1, layout: 1, selection: 1, output: 1, ..task(&second, 3) };
    let job = DecodeJob::new(
        vec![Arc::new(first.clone()), Arc::new(second)],
        vec![vec![0], vec![2, 0]],
        vec![task(&first, 0), to_second],
    );
    let numbers: Vec<u8> = [1u16, 2, 3, 0x1234].iter().flat_map(|v| v.swap_bytes().to_ne_bytes()).collect();
    let sources: Vec<Arc<dyn ReadAt>> =
        vec![Arc::new(Memory(numbers)), Arc::new(Memory(vec![0, 0, 0, 10, 20, 30, 11, 21, 31]))];
    let outputs = [
        Output::new(OutputSpec::band_first(DataType::U16, 1, 2, 2).unwrap()).unwrap(),
        Output::new(OutputSpec::band_last(DataType::U8, 2, 1, 2).unwrap()).unwrap(),
    ];
    let ticket =
        CpuEngine::new().submit(job.unwrap(), Encoded::Pulled(sources), &outputs, &Context::default());
    assert_eq!(ticket.unwrap().wait().unwrap(), Report { blocks: 2, encoded_bytes: 14, faults: vec![] });
    let [first, second] = outputs.map(|output| output.into_vec().unwrap());
    assert_eq!(first, [1u16, 2, 3, 0x1234].map(u16::to_ne_bytes).concat());
    assert_eq!(second, [30, 10, 31, 11], "blue then red, pixel by pixel");
}

#[test]
fn any_crop_equals_the_crop_of_the_whole() {
    for (format, bits, predictor, samples) in [
        (SampleFormat::Uint, 8, Predictor::None, 3),
        (SampleFormat::Uint, 16, Predictor::Horizontal, 1),
        (SampleFormat::Float, 32, Predictor::FloatingPoint, 2),
        (SampleFormat::Uint, 12, Predictor::None, 1),
        (SampleFormat::Uint, 1, Predictor::None, 1),
    ] {
        let mut layout = layout(37, 5, samples, format, bits);
        layout.predictor = predictor;
        let bytes = noise(layout.decoded_len(5).unwrap());
        let whole = decoded(layout.clone(), bytes.clone());
        let size = layout.data_type.size();
        for (x, y, width, height) in
            [(0, 0, 37, 5), (0, 0, 1, 1), (5, 1, 31, 3), (36, 4, 1, 1), (1, 0, 36, 5)]
        {
            let spec = OutputSpec::band_first(layout.data_type, samples.into(), height, width).unwrap();
            let output = Output::new(spec).unwrap();
            let mut task = task(&layout, 0);
            task.placement = Placement { block_x: x, block_y: y, width, height, ..task.placement };
            let job = DecodeJob::new(vec![Arc::new(layout.clone())], all(&layout), vec![task]).unwrap();
            assert_eq!(run(job, bytes.clone(), &output).faults, []);
            let mut want = Vec::new();
            for band in 0..u32::from(samples) {
                for row in y..y + height {
                    let start = (((band * 5 + row) * 37) + x) as usize * size;
                    want.extend_from_slice(&whole[start..start + width as usize * size]);
                }
            }
            assert_eq!(
                output.into_vec().unwrap(),
                want,
                "{bits} bits, {predictor:?}, crop {x} {y} {width} {height}"
            );
        }
    }
}

#[test]
fn interleavings_agree_and_bytes_between_strides_stay() {
    for bits in [8, 16, 32, 64] {
        let layout = layout(21, 3, 3, SampleFormat::Uint, bits);
        let size = layout.data_type.size();
        let bytes = noise(layout.decoded_len(3).unwrap());
        let planes = decoded(layout.clone(), bytes.clone());
        // Pixel by pixel is the file's own order.
        let spec = OutputSpec::band_last(layout.data_type, 3, 3, 21).unwrap();
        let output = Output::new(spec).unwrap();
        let job =
            DecodeJob::new(vec![Arc::new(layout.clone())], all(&layout), vec![task(&layout, 0)]).unwrap();
        run(job, bytes.clone(), &output);
        assert_eq!(output.into_vec().unwrap(), bytes);
        // A gap of one byte after each pixel, of five after each row; bands 2 and 0 only.
        let column = 2 * size + 1;
        let strides = Strides { band: size, row: 21 * column + 5, column };
        let spec = OutputSpec {
            data_type: layout.data_type,
            bands: 2,
            rows: 3,
            columns: 21,
            strides,
            fill: Fill::default(),
        };
        let output = Output::from_vec(spec, vec![0xee; 3 * strides.row]).unwrap();
        let job =
            DecodeJob::new(vec![Arc::new(layout.clone())], vec![vec![2, 0]], vec![task(&layout, 0)]).unwrap();
        run(job, bytes.clone(), &output);
        let mut memory = output.into_vec().unwrap();
        for (band, sample) in [2, 0].into_iter().enumerate() {
            for i in 0..3 * 21 {
                let at = i / 21 * strides.row + i % 21 * column + band * size;
                assert_eq!(memory[at..at + size], planes[(sample * 63 + i) * size..][..size]);
                memory[at..at + size].fill(0xee);
            }
        }
        assert!(memory.iter().all(|&byte| byte == 0xee), "bytes between strides");
    }
}

#[test]
fn sparse_and_faulty_blocks_get_the_fill_value() {
    let layout = layout(2, 1, 1, SampleFormat::Uint, 16);
    let mut tasks = grid(&layout, 3, 1);
    tasks[1].span = None;
    tasks[2].span = Some(Span { offset: 8, len: 3 });
    let mut spec = OutputSpec::band_first(DataType::U16, 1, 1, 6).unwrap();
    spec.fill.0[..2].copy_from_slice(&(-9999i16).to_ne_bytes());
    let output = Output::new(spec).unwrap();
    let job = DecodeJob::new(vec![Arc::new(layout.clone())], all(&layout), tasks).unwrap();
    let report = run(job, [7u16; 6].map(u16::to_ne_bytes).concat(), &output);
    assert_eq!((report.blocks, report.encoded_bytes, report.faults.len()), (3, 7, 1));
    assert_eq!(report.faults[0].fault, BlockFault::truncated(3, 4));
    let fill = (-9999i16).cast_unsigned();
    assert_eq!(output.into_vec().unwrap(), [7, 7, fill, fill, fill, fill].map(u16::to_ne_bytes).concat());
}

#[test]
fn faults_come_in_the_order_of_tasks_whatever_the_threads() {
    let layout = layout(4, 4, 1, SampleFormat::Uint, 8);
    let mut reports = Vec::new();
    for threads in [1, 2, 8] {
        let mut tasks = grid(&layout, 16, 16);
        for bad in [3, 77, 78, 200, 255] {
            tasks[bad].span = Some(Span { offset: u64::MAX - 1, len: 16 + bad as u64 });
        }
        let job = DecodeJob::new(vec![Arc::new(layout.clone())], all(&layout), tasks).unwrap();
        let output = Output::new(OutputSpec::band_first(DataType::U8, 1, 64, 64).unwrap()).unwrap();
        let context = Context { threads: NonZeroUsize::new(threads).unwrap(), ..Context::default() };
        let staged = Encoded::Staged(Arena::from_vec(noise(256 * 16)));
        let report = CpuEngine::new()
            .submit(job, staged, std::slice::from_ref(&output), &context)
            .unwrap()
            .wait()
            .unwrap();
        let places: Vec<u32> = report.faults.iter().map(|f| f.address.row * 16 + f.address.column).collect();
        assert_eq!(places, [3, 77, 78, 200, 255]);
        assert!(report.faults.iter().all(|f| f.fault.kind == FaultKind::Unreadable));
        reports.push((report, output.into_vec().unwrap()));
    }
    assert_eq!(reports[0], reports[1]);
    assert_eq!(reports[0], reports[2]);
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
fn cancelling_stops_a_job() {
    let layout = layout(4, 4, 1, SampleFormat::Uint, 8);
    let output = Output::new(OutputSpec::band_first(DataType::U8, 1, 64, 64).unwrap()).unwrap();
    let job = || DecodeJob::new(vec![Arc::new(layout.clone())], all(&layout), grid(&layout, 16, 16)).unwrap();
    let context = Context::default();
    context.cancel.cancel();
    let submit = |context| {
        let staged = Encoded::Staged(Arena::from_vec(vec![0; 256 * 16]));
        CpuEngine::new().submit(job(), staged, std::slice::from_ref(&output), context).unwrap().wait()
    };
    assert_eq!(submit(&context), Err(EngineError::Cancelled));
    assert_eq!(submit(&Context::default()).unwrap().blocks, 256, "the output is free again");
}

#[test]
fn the_budget_can_refuse() {
    let mut layout = layout(100, 100, 1, SampleFormat::Uint, 8);
    layout.compression = Compression::Lzw;
    let output = Output::new(OutputSpec::band_first(DataType::U8, 1, 100, 100).unwrap()).unwrap();
    let job = DecodeJob::new(vec![Arc::new(layout.clone())], all(&layout), vec![task(&layout, 0)]).unwrap();
    let budget = Arc::new(Budget::new(9_999));
    let context = Context { budget: Arc::clone(&budget), ..Context::default() };
    let staged = Encoded::Staged(Arena::from_vec(vec![0; 16]));
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
fn a_job_must_fit_what_it_is_given() {
    let layout = layout(4, 4, 1, SampleFormat::Uint, 8);
    let submit = |outputs: &[Output]| {
        let job =
            DecodeJob::new(vec![Arc::new(layout.clone())], all(&layout), vec![task(&layout, 0)]).unwrap();
        let error = CpuEngine::new().submit(job, Encoded::Pulled(vec![]), outputs, &Context::default()).err();
        error.map(|e| e.to_string()).unwrap()
    };
    assert_eq!(submit(&[]), "the job does not fit its sources: found 0 sources, expected source 0");
    let submit = |outputs: &[Output]| {
        let job =
            DecodeJob::new(vec![Arc::new(layout.clone())], all(&layout), vec![task(&layout, 0)]).unwrap();
        let staged = Encoded::Staged(Arena::from_vec(vec![0; 16]));
        let error = CpuEngine::new().submit(job, staged, outputs, &Context::default()).err();
        error.map(|e| e.to_string()).unwrap()
    };
    let output = |ty, columns| Output::new(OutputSpec::band_first(ty, 1, 4, columns).unwrap()).unwrap();
    assert_eq!(submit(&[]), "the job does not fit its outputs: found 0 outputs, expected output 0");
    assert_eq!(
        submit(&[output(DataType::I8, 4)]),
        "the job does not fit its outputs: found int8 in output 0, expected uint8"
    );
    assert_eq!(
        submit(&[output(DataType::U8, 3)]),
        "the job does not fit its outputs: found 1 × 4 × 3 samples in output 0, expected 1 × 4 × 4 or more"
    );
}

#[test]
fn progress_counts_every_block() {
    struct Count(AtomicU64);
    impl Progress for Count {
        fn advance(&self, blocks: u64) {
            self.0.fetch_add(blocks, Ordering::Relaxed);
        }
    }
    let count = Arc::new(Count(AtomicU64::new(0)));
    let layout = layout(4, 4, 1, SampleFormat::Uint, 8);
    let output = Output::new(OutputSpec::band_first(DataType::U8, 1, 64, 64).unwrap()).unwrap();
    let job = DecodeJob::new(vec![Arc::new(layout.clone())], all(&layout), grid(&layout, 16, 16)).unwrap();
    let progress: Arc<dyn Progress> = Arc::<Count>::clone(&count);
    let context = Context { progress: Some(progress), ..Context::default() };
    let staged = Encoded::Staged(Arena::from_vec(vec![0; 256 * 16]));
    CpuEngine::new().submit(job, staged, &[output], &context).unwrap().wait().unwrap();
    assert_eq!(count.0.load(Ordering::Relaxed), 256);
}

#[test]
fn bits_reversed_in_every_byte() {
    let mut layout = layout(12, 1, 1, SampleFormat::Uint, 1);
    layout.reverse_bits = true;
    assert_eq!(decoded(layout, vec![0b0000_0101, 0b0000_1000]), [1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
}

#[test]
fn whole_byte_depths_follow_the_byte_order_and_odd_ones_do_not() {
    for (order, bytes) in [(ByteOrder::Little, [1, 2, 3]), (ByteOrder::Big, [3, 2, 1])] {
        let mut three_bytes = layout(1, 1, 1, SampleFormat::Uint, 24);
        three_bytes.byte_order = order;
        assert_eq!(decoded(three_bytes, bytes.to_vec()), 0x03_0201u32.to_ne_bytes());
        let mut twelve = layout(2, 1, 1, SampleFormat::Uint, 12);
        twelve.byte_order = order;
        assert_eq!(decoded(twelve, vec![0xab, 0xcd, 0xef]), [0xabcu16, 0xdef].map(u16::to_ne_bytes).concat());
        // The two halves of a complex number are swapped each for itself.
        let mut complex = layout(1, 1, 1, SampleFormat::ComplexInt, 32);
        complex.byte_order = order;
        let pair =
            [-2i16, 300].map(|v| if order == ByteOrder::Big { v.to_be_bytes() } else { v.to_le_bytes() });
        assert_eq!(decoded(complex, pair.concat()), [-2f32, 300.0].map(f32::to_ne_bytes).concat());
    }
}

#[test]
fn predictor_3_does_not_depend_on_the_byte_order() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let mut floats = layout(3, 1, 1, SampleFormat::Float, 32);
        floats.byte_order = order;
        floats.predictor = Predictor::FloatingPoint;
        // 1.0, 2.0, 0.5: planes 3f 40 3f | 80 00 00 | 00 00 00 | 00 00 00, then differences.
        let bytes = vec![0x3f, 0x01, 0xff, 0x41, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00];
        assert_eq!(decoded(floats, bytes), [1f32, 2.0, 0.5].map(f32::to_ne_bytes).concat());
    }
}

#[test]
fn chroma_units_become_rgb() {
    let mut units = layout(3, 3, 3, SampleFormat::Uint, 8);
    units.extras.photometric = Photometric::YCbCr;
    units.extras.ycbcr = Some(YCbCr::default());
    // 2 × 2 units of 2 × 2 pixels, all without colour; luma says which pixel.
    let unit = |y: [u8; 4]| [&y[..], &[128, 128]].concat();
    let bytes =
        [unit([0, 1, 3, 4]), unit([2, 99, 5, 99]), unit([6, 7, 99, 99]), unit([8, 99, 99, 99])].concat();
    let planes = decoded(units.clone(), bytes);
    assert_eq!(planes, [0, 1, 2, 3, 4, 5, 6, 7, 8].repeat(3));
    units.predictor = Predictor::Horizontal;
    assert!(matches!(CpuEngine::new().support(&units), Support::No(_)));
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

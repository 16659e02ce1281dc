//! Every pixel comes to where the job says, and nothing else is touched.

use super::jobs::{Float, Memory, Uint, decoded, grid, job, layout, noise, output, run, staged, task};
use std::sync::Arc;
use strile_engine::{
    BlockLayout, BlockTask, Context, DecodeJob, Encoded, Engine, Output, OutputSpec, Placement, ReadAt,
    Report, Strides,
};
use strile_tiff::{ByteOrder, DataType, Predictor};

pub(super) fn any_crop_equals_the_crop_of_the_whole(engine: &dyn Engine) {
    for (format, bits, predictor, samples) in [
        (Uint, 8, Predictor::None, 3),
        (Uint, 16, Predictor::Horizontal, 1),
        (Float, 32, Predictor::FloatingPoint, 2),
        (Uint, 12, Predictor::None, 1),
        (Uint, 1, Predictor::None, 1),
    ] {
        let mut layout = layout(37, 5, samples, format, bits);
        layout.predictor = predictor;
        let bytes = noise(layout.decoded_len(5).unwrap());
        let Some(whole) = decoded(engine, &layout, &bytes) else { continue };
        let size = layout.data_type.size();
        for (x, y, width, height) in
            [(0, 0, 37, 5), (0, 0, 1, 1), (5, 1, 31, 3), (36, 4, 1, 1), (1, 0, 36, 5)]
        {
            let output = output(layout.data_type, samples.into(), height, width);
            let mut task = task(&layout, 0);
            task.placement = Placement { block_x: x, block_y: y, width, height, ..task.placement };
            assert_eq!(run(engine, job(&layout, vec![task]), &bytes, &output).faults, []);
            let mut want = Vec::new();
            for band in 0..u32::from(samples) {
                for row in y..y + height {
                    let start = (((band * 5 + row) * 37) + x) as usize * size;
                    want.extend_from_slice(&whole[start..start + width as usize * size]);
                }
            }
            let found = output.into_vec().unwrap();
            assert_eq!(found, want, "{bits} bits, {predictor:?}, crop {x} {y} {width} {height}");
        }
    }
}

/// An image of 10 × 7 pixels in tiles of 4 × 4 (3 × 2 of them), then in strips of 4 rows.
pub(super) fn blocks_at_the_edges_are_cut(engine: &dyn Engine) {
    let mut tiles = layout(4, 4, 1, Uint, 16);
    let mut strips = layout(10, 4, 1, Uint, 16);
    strips.is_strip = true;
    let value = |x: u32, y: u32| (100 * y + x) as u16;
    let image: Vec<u8> = (0..70).flat_map(|at| value(at % 10, at / 10).to_ne_bytes()).collect();
    for short_tiles in [false, true] {
        let mut bytes = Vec::new();
        let mut tasks = grid(&tiles, 3, 2);
        for task in &mut tasks {
            let p = &mut task.placement;
            (p.width, p.height) = (p.width.min(10 - p.out_x), p.height.min(7 - p.out_y));
            p.image_rows = p.height;
            // Tiles are whole, but some writers leave out the rows below the image.
            let rows = if short_tiles { p.height } else { 4 };
            let span = task.span.as_mut().unwrap();
            (span.offset, span.len) = (bytes.len() as u64, u64::from(rows * 4 * 2));
            let pixels = (0..rows * 4).map(|at| value(p.out_x + at % 4, p.out_y + at / 4));
            bytes.extend(pixels.flat_map(u16::to_ne_bytes));
        }
        let output = output(DataType::U16, 1, 7, 10);
        assert_eq!(run(engine, job(&tiles, tasks), &bytes, &output).faults, []);
        assert_eq!(output.into_vec().unwrap(), image);
    }
    // The last strip has three rows, and is right with four.
    for last_rows in [3, 4] {
        let mut tasks = grid(&strips, 1, 2);
        let p = &mut tasks[1].placement;
        (p.rows, p.image_rows, p.height) = (3, 3, 3);
        tasks[1].span.as_mut().unwrap().len = last_rows * 20;
        let bytes = [&image[..], &[0xEE; 20]].concat();
        let output = output(DataType::U16, 1, 7, 10);
        assert_eq!(run(engine, job(&strips, tasks), &bytes, &output).faults, [], "{last_rows} rows");
        assert_eq!(output.into_vec().unwrap(), image);
    }
    // A column less is a fault in a tile and in a strip.
    (tiles.height, strips.height) = (1, 1);
    for layout in [tiles, strips] {
        let mut short = task(&layout, 0);
        short.span.as_mut().unwrap().len -= 2;
        let output = output(DataType::U16, 1, 1, layout.width);
        assert_eq!(run(engine, job(&layout, vec![short]), &image, &output).faults.len(), 1);
    }
}

pub(super) fn bands_come_in_the_order_asked_for(engine: &dyn Engine) {
    for bits in [8, 16, 32, 64] {
        let layout = layout(5, 3, 4, Uint, bits);
        let bytes = noise(layout.decoded_len(3).unwrap());
        let Some(planes) = decoded(engine, &layout, &bytes) else { continue };
        let plane = planes.len() / 4;
        for selection in [vec![0], vec![3], vec![2, 0], vec![3, 2, 1, 0], vec![1, 1, 0, 3, 1]] {
            let want: Vec<u8> =
                selection.iter().flat_map(|&s| &planes[usize::from(s) * plane..][..plane]).copied().collect();
            let bands = selection.len() as u32;
            let output = output(layout.data_type, bands, 3, 5);
            let job = DecodeJob::new(vec![Arc::new(layout.clone())], vec![selection], vec![task(&layout, 0)]);
            run(engine, job.unwrap(), &bytes, &output);
            assert_eq!(output.into_vec().unwrap(), want, "{bits} bits");
        }
    }
}

/// Wide rows of three bytes and of many words, which engines may spread over bands in other ways than one by one.
pub(super) fn bands_of_wide_rows_come_in_the_order_asked_for(engine: &dyn Engine) {
    let turned: Vec<u16> = (0..10).rev().collect();
    let halves = [(2..10).collect::<Vec<u16>>(), vec![1, 0]].concat();
    let (three, many) = (
        vec![vec![0, 1, 2], vec![2, 0, 1], vec![1, 1, 0], vec![2, 1]],
        vec![(0..10).collect(), (1..10).collect(), turned, halves, vec![4; 9]],
    );
    for (samples, bits, selections) in [(3, 8, three), (10, 16, many)] {
        let (width, size) = (70, usize::from(bits / 8));
        let layout = layout(width, 3, samples, Uint, bits);
        let bytes = noise(layout.decoded_len(3).unwrap());
        for selection in selections {
            let of = |&sample: &u16| {
                let from = usize::from(sample) * size;
                bytes.chunks(usize::from(samples) * size).flat_map(move |pixel| &pixel[from..from + size])
            };
            let want: Vec<u8> = selection.iter().flat_map(of).copied().collect();
            let output = output(layout.data_type, selection.len() as u32, 3, width);
            let job = DecodeJob::new(
                vec![Arc::new(layout.clone())],
                vec![selection.clone()],
                vec![task(&layout, 0)],
            );
            assert_eq!(run(engine, job.unwrap(), &bytes, &output).faults, []);
            assert!(output.into_vec().unwrap() == want, "{bits} bits, {selection:?}");
        }
    }
}

/// Three blocks of one sample each, to bands 2, 0 and 1 of an output that is pixel by pixel.
pub(super) fn planes_make_one_output(engine: &dyn Engine) {
    let layout = layout(2, 1, 1, Uint, 8);
    let place = |(index, band): (u64, u32)| {
        let mut task = task(&layout, index * 2);
        task.placement.first_band = band;
        task.address.plane = band;
        task
    };
    let tasks = (0..).zip([2, 0, 1]).map(place).collect();
    let output = Output::new(OutputSpec::band_last(DataType::U8, 3, 1, 2).unwrap()).unwrap();
    run(engine, job(&layout, tasks), &[20, 21, 0, 1, 10, 11], &output);
    assert_eq!(output.into_vec().unwrap(), [0, 10, 20, 1, 11, 21]);
}

pub(super) fn bytes_between_strides_stay(engine: &dyn Engine) {
    for bits in [8, 16, 32, 64] {
        let layout = layout(21, 3, 3, Uint, bits);
        let size = layout.data_type.size();
        let bytes = noise(layout.decoded_len(3).unwrap());
        let Some(planes) = decoded(engine, &layout, &bytes) else { continue };
        // Pixel by pixel is the file's own order.
        let output = Output::new(OutputSpec::band_last(layout.data_type, 3, 3, 21).unwrap()).unwrap();
        run(engine, job(&layout, vec![task(&layout, 0)]), &bytes, &output);
        assert_eq!(output.into_vec().unwrap(), bytes);
        // A gap of one byte after each pixel, of five after each row; bands 2 and 0 only.
        let column = 2 * size + 1;
        let strides = Strides { band: size, row: 21 * column + 5, column };
        let spec = OutputSpec { data_type: layout.data_type, bands: 2, rows: 3, columns: 21, strides };
        let output = Output::from_vec(spec, vec![0xEE; 3 * strides.row]).unwrap();
        let job =
            DecodeJob::new(vec![Arc::new(layout.clone())], vec![vec![2, 0]], vec![task(&layout, 0)]).unwrap();
        run(engine, job, &bytes, &output);
        let mut memory = output.into_vec().unwrap();
        for (band, sample) in [2, 0].into_iter().enumerate() {
            for i in 0..3 * 21 {
                let at = i / 21 * strides.row + i % 21 * column + band * size;
                assert_eq!(memory[at..at + size], planes[(sample * 63 + i) * size..][..size]);
                memory[at..at + size].fill(0xEE);
            }
        }
        assert!(memory.iter().all(|&byte| byte == 0xEE), "bytes between strides");
    }
}

/// One file of 16-bit tiles in the other byte order, one of 8-bit RGB; each to an output of its own.
pub(super) fn one_job_over_two_files(engine: &dyn Engine) {
    let mut first = layout(2, 2, 1, Uint, 16);
    first.byte_order = match ByteOrder::NATIVE {
        ByteOrder::Little => ByteOrder::Big,
        ByteOrder::Big => ByteOrder::Little,
    };
    let second = layout(2, 1, 3, Uint, 8);
    let files: [Vec<u8>; 2] = [
        [1u16, 2, 3, 0x1234].iter().flat_map(|v| v.swap_bytes().to_ne_bytes()).collect(),
        vec![0, 0, 0, 10, 20, 30, 11, 21, 31],
    ];
    // Where bytes are staged, the second file lies behind the first.
    let base = if engine.pulls() { 0 } else { files[0].len() as u64 };
    let to_second = BlockTask { source: 1, layout: 1, selection: 1, output: 1, ..task(&second, base + 3) };
    let job = DecodeJob::new(
        vec![Arc::new(first.clone()), Arc::new(second)],
        vec![vec![0], vec![2, 0]],
        vec![task(&first, 0), to_second],
    );
    let encoded = match engine.pulls() {
        true => Encoded::Pulled(files.map(|bytes| Arc::new(Memory(bytes)) as Arc<dyn ReadAt>).into()),
        false => staged(engine, &files.concat()),
    };
    let outputs = [
        output(DataType::U16, 1, 2, 2),
        Output::new(OutputSpec::band_last(DataType::U8, 2, 1, 2).unwrap()).unwrap(),
    ];
    let ticket = engine.submit(job.unwrap(), encoded, &outputs, &Context::default());
    let report = ticket.unwrap().wait().unwrap();
    assert_eq!((report.blocks, report.encoded_bytes, report.faults), (2, 14, vec![]));
    let [first, second] = outputs.map(|output| output.into_vec().unwrap());
    assert_eq!(first, [1u16, 2, 3, 0x1234].map(u16::to_ne_bytes).concat());
    assert_eq!(second, [30, 10, 31, 11], "blue then red, pixel by pixel");
}

/// 8 × 6 tiles as one job, and as jobs of some rows of tiles each, all in flight.
pub(super) fn any_cut_into_jobs_gives_the_same_pixels(engine: &dyn Engine) {
    let layout = layout(16, 8, 3, Uint, 16);
    let bytes = noise(layout.decoded_len(8).unwrap() * 48);
    let read = |rows_of_a_job: usize| {
        let output = output(DataType::U16, 3, 48, 128);
        let jobs = grid(&layout, 8, 6)
            .chunks(8 * rows_of_a_job)
            .map(|t| job(&layout, t.to_vec()))
            .collect::<Vec<_>>();
        let submit = |job| {
            let encoded = staged(engine, &bytes);
            engine.submit(job, encoded, std::slice::from_ref(&output), &Context::default()).unwrap()
        };
        let tickets: Vec<_> = jobs.into_iter().map(submit).collect();
        let blocks: u64 = tickets.into_iter().map(|ticket| ticket.wait().unwrap().blocks).sum();
        assert_eq!(blocks, 48);
        output.into_vec().unwrap()
    };
    let whole = read(6);
    assert!(whole.iter().any(|&byte| byte != 0));
    for rows in [1, 2, 4, 5] {
        assert!(read(rows) == whole, "{rows} rows of tiles in a job");
    }
}

pub(super) fn staged_equals_pulled(engine: &dyn Engine) {
    if !engine.pulls() {
        return;
    }
    let layout: BlockLayout = layout(16, 8, 2, Float, 32);
    let bytes = noise(layout.decoded_len(8).unwrap() * 12);
    let mut tasks = grid(&layout, 4, 3);
    // One that ends early and one that is not there: the kind of fault is the same as well.
    tasks[5].span.as_mut().unwrap().len -= 1;
    tasks[7].span.as_mut().unwrap().offset = 1 << 40;
    let outputs = [output(DataType::F32, 2, 24, 64), output(DataType::F32, 2, 24, 64)];
    let pulled = Encoded::Pulled(vec![Arc::new(Memory(bytes.clone()))]);
    let pulled =
        engine.submit(job(&layout, tasks.clone()), pulled, &outputs[..1], &Context::default()).unwrap();
    let staged = engine
        .submit(job(&layout, tasks), staged(engine, &bytes), &outputs[1..], &Context::default())
        .unwrap();
    let kinds = |report: Report| {
        let faults = report.faults.into_iter().map(|fault| (fault.address, fault.fault.kind));
        (report.blocks, report.encoded_bytes, faults.collect::<Vec<_>>())
    };
    assert_eq!(kinds(pulled.wait().unwrap()), kinds(staged.wait().unwrap()));
    let [pulled, staged] = outputs.map(|output| output.into_vec().unwrap());
    assert!(pulled == staged);
}

/// The number of samples is 16 bits wide: counting past the last must not overflow.
pub(super) fn as_many_samples_as_a_layout_can_have(engine: &dyn Engine) {
    let layout = layout(2, 1, u16::MAX, Uint, 8);
    let bytes = noise(2 * usize::from(u16::MAX));
    let Some(planes) = decoded(engine, &layout, &bytes) else { return };
    for band in [0, 1, 40_000, 65_534] {
        assert_eq!(planes[band * 2..][..2], [bytes[band], bytes[65_535 + band]], "band {band}");
    }
}

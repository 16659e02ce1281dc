//! The kernels of `place.cu` equal the CPU engine, bit for bit: layouts, crops, selections and strides drawn at random, many
//! tasks a launch, every output full of garbage that must stay between its strides.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "code of tests: it fails by panicking, and knows its numbers"
)]

use std::sync::Arc;
use strile_cpu::CpuEngine;
use strile_cuda::decode::place::{self, NO_STATUS, PlaceArgs, PlaceLayout, PlaceTask, TaskPlaces};
use strile_emulate::{Emulator, Garbage, Poisoned};
use strile_engine::{
    Arena, BlockAddress, BlockLayout, BlockTask, CodecExtras, Context, Convert, DecodeJob, Encoded, Engine,
    Fill, Output, OutputSpec, Placement, Span, Strides, Support,
};
use strile_tiff::{
    ByteOrder, Compression, DataType, LercWrapper, Photometric, Predictor, SampleFormat as F, SampleType,
    YCbCr,
};

/// One block with where it goes.
#[derive(Debug, Clone)]
struct Case {
    layout: BlockLayout,
    placement: Placement,
    selection: Vec<u16>,
    spec: OutputSpec,
    /// Bytes before the block in its arena.
    skip: usize,
    /// Bytes before the output in its memory.
    out_skip: usize,
    fill: bool,
    faulty: bool,
    convert: Option<Convert>,
}

struct Draw(Garbage);

impl Draw {
    fn below(&mut self, n: u32) -> u32 {
        (self.0.word() >> 16) as u32 % n.max(1)
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u32) as usize]
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.0.fill(&mut bytes);
        bytes
    }
}

fn layout(width: u32, height: u32, samples: u16, format: F, bits: u16) -> BlockLayout {
    let sample = SampleType { format, bits };
    BlockLayout {
        width,
        height,
        samples,
        sample,
        mixed_bits: None,
        data_type: sample.data_type().unwrap(),
        byte_order: ByteOrder::Little,
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

fn any_layout(draw: &mut Draw) -> BlockLayout {
    // Mostly few; now and then as many as a multispectral scene has.
    let most = if draw.below(4) == 0 { 20 } else { 5 };
    let mut samples = 1 + draw.below(most) as u16;
    let width = 1 + draw.below(70);
    let height = 1 + draw.below(6);
    let (format, bits) = match draw.below(8) {
        0 => (F::Uint, 1 + draw.below(64) as u16),
        1 => (F::Int, 1 + draw.below(64) as u16),
        2 => (F::Uint, draw.one(&[1, 2, 4, 8, 10, 12, 14, 16, 24])),
        3 | 4 => (F::Uint, draw.one(&[8, 16, 32, 64])),
        5 => (F::ComplexInt, draw.one(&[16, 32, 64])),
        6 => (F::ComplexFloat, draw.one(&[64, 128])),
        _ => (F::Float, draw.one(&[16, 24, 32, 64])),
    };
    let mut block = layout(width, height, samples, format, bits);
    block.byte_order = draw.one(&[ByteOrder::Little, ByteOrder::Big]);
    block.predictor = draw.one(&[Predictor::None, Predictor::Horizontal, Predictor::FloatingPoint]);
    block.reverse_bits = draw.below(8) == 0;
    match draw.below(12) {
        0 if matches!(format, F::Uint | F::Int) => {
            let most = block.data_type.size() as u32 * 8;
            block.mixed_bits = Some((0..samples).map(|_| 1 + draw.below(most) as u16).collect());
        }
        1 => {
            samples = 3;
            block = layout(width, height, samples, F::Uint, 8);
            let subsampling = (draw.one(&[1, 2, 4]), draw.one(&[1, 2, 4]));
            block.extras.ycbcr = Some(YCbCr { subsampling, ..YCbCr::default() });
            block.extras.photometric = Photometric::YCbCr;
        }
        _ => {}
    }
    draw.0.fill(&mut block.extras.fill.0);
    block
}

/// A crop, bands and strides for a layout.
fn any_case(block: BlockLayout, draw: &mut Draw) -> Case {
    let data_type = block.data_type;
    any_case_of(block, data_type, draw)
}

fn any_case_of(block: BlockLayout, data_type: DataType, draw: &mut Draw) -> Case {
    let whole = draw.below(2) == 0;
    let block_x = if whole { 0 } else { draw.below(block.width) };
    let block_y = if whole { 0 } else { draw.below(block.height) };
    let width = if whole { block.width } else { 1 + draw.below(block.width - block_x) };
    let height = if whole { block.height } else { 1 + draw.below(block.height - block_y) };
    let samples = block.samples;
    let selection: Vec<u16> = match draw.below(4) {
        0 => vec![draw.below(samples.into()) as u16],
        1 => (0..=draw.below(3)).map(|_| draw.below(samples.into()) as u16).collect(),
        _ => (0..samples).collect(),
    };
    let (out_x, out_y, first_band) = (draw.below(4), draw.below(3), draw.below(2));
    let (columns, rows) = (out_x + width + draw.below(3), out_y + height + draw.below(2));
    let bands = first_band + selection.len() as u32 + draw.below(2);
    let size = data_type.size();
    let gap =
        |draw: &mut Draw, unit: usize| if draw.below(2) == 0 { 0 } else { unit * draw.below(4) as usize };
    let unit = if draw.below(4) == 0 { 1 } else { size };
    let mut axes = [(0, bands as usize), (1, rows as usize), (2, columns as usize)];
    match draw.below(5) {
        0 | 1 => axes.reverse(),
        2 => axes = [axes[0], axes[2], axes[1]],
        3 => axes = [axes[1], axes[0], axes[2]],
        _ => axes.reverse(),
    }
    if draw.below(2) == 0 {
        axes = [(0, bands as usize), (2, columns as usize), (1, rows as usize)];
    }
    let mut strides = [0; 3];
    let mut extent = size;
    for (axis, n) in axes {
        strides[axis] = extent + gap(draw, unit);
        extent += strides[axis] * (n - 1);
    }
    let spec = OutputSpec {
        data_type,
        bands,
        rows,
        columns,
        strides: Strides { band: strides[0], row: strides[1], column: strides[2] },
    };
    spec.len().unwrap();
    let placement = Placement {
        rows: block.height,
        image_rows: block.height,
        block_x,
        block_y,
        width,
        height,
        out_x,
        out_y,
        first_band,
    };
    let out_skip = if draw.below(3) == 0 { unit * draw.below(16) as usize } else { 0 };
    let skip = if draw.below(2) == 0 { draw.below(16) as usize } else { 0 };
    let fill = draw.below(12) == 0;
    let faulty = draw.below(16) == 0;
    Case { layout: block, placement, selection, spec, skip, out_skip, fill, faulty, convert: None }
}

/// What the CPU engine makes of it, starting from `before`; `None` where it does not decode such blocks.
fn expected(case: &Case, packed: &[u8], before: &[u8]) -> Option<Vec<u8>> {
    let engine = CpuEngine::new();
    if engine.support(&case.layout) != Support::Yes {
        return None;
    }
    let (padding, memory) = before.split_at(case.out_skip);
    let mut output = Output::from_vec(case.spec.clone(), memory.to_vec()).unwrap();
    if let Some(convert) = case.convert {
        output = output.converting(convert).unwrap();
    }
    let task = BlockTask {
        source: 0,
        layout: 0,
        selection: 0,
        output: 0,
        span: (!case.fill).then_some(Span { offset: 0, len: packed.len() as u64 }),
        address: BlockAddress::default(),
        placement: case.placement,
    };
    let layouts = vec![Arc::new(case.layout.clone())];
    let job = DecodeJob::new(layouts, vec![case.selection.clone()], vec![task]).unwrap();
    let encoded = Encoded::Staged(Arc::new(Arena::from_vec(packed.to_vec())));
    let report = engine.submit(job, encoded, std::slice::from_ref(&output), &Context::default()).unwrap();
    assert_eq!(report.wait().unwrap().faults, []);
    Some([padding, &output.into_vec().unwrap()].concat())
}

fn bytes_of<T>(items: &[T], f: impl Fn(&T) -> Vec<u8>) -> Vec<u8> {
    items.iter().flat_map(f).collect()
}

/// The memory of a `repr(C)` twin.
#[expect(unsafe_code, reason = "the bytes of plain structs without padding")]
fn raw<T: Copy>(item: &T) -> Vec<u8> {
    // SAFETY: plain data with no padding (its size is the sum of its fields), read for as long as it lives.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(item).cast(), size_of::<T>()) }.to_vec()
}

/// Runs all cases in one launch for each seed and compares every output, gaps included.
fn run(cases: &[Case], seeds: std::ops::Range<u64>, draw: &mut Draw) {
    struct Prepared<'a> {
        case: &'a Case,
        layout: PlaceLayout,
        arena: Vec<u8>,
        before: Vec<u8>,
        after: Vec<u8>,
        selection: usize,
    }
    let (mut tables, mut selections, mut prepared) = (Vec::new(), Vec::new(), Vec::new());
    for case in cases {
        let len = case.layout.decoded_len(case.layout.height).unwrap();
        let arena = draw.bytes(case.skip + len);
        let before = draw.bytes(case.out_skip + case.spec.len().unwrap());
        let Some(after) = expected(case, &arena[case.skip..], &before) else {
            assert!(place::support(&case.layout).is_err(), "the CPU refuses {:?}", case.layout);
            continue;
        };
        let layout = match &case.convert {
            None => place::layout(&case.layout, &case.spec, &mut tables),
            Some(convert) => place::converting_layout(&case.layout, &case.spec, convert, &mut tables),
        };
        let Ok(layout) = layout else {
            // The host decodes these: nothing but what the kernel is known not to take.
            let chroma = case.layout.extras.ycbcr.is_some() && case.layout.predictor != Predictor::None;
            assert!(chroma, "refused: {:?}", case.layout);
            continue;
        };
        let after = if case.faulty { before.clone() } else { after };
        let selection = selections.len();
        selections.extend_from_slice(&case.selection);
        prepared.push(Prepared { case, layout, arena, before, after, selection });
    }
    assert!(prepared.len() * 2 > cases.len(), "{} of {} cases are left", prepared.len(), cases.len());
    let statuses: Vec<u32> = prepared.iter().map(|p| if p.case.faulty { 5 } else { 0 }).collect();
    let kernels = Emulator::module("place").unwrap();
    for seed in seeds {
        let buffers: Vec<(Poisoned, Poisoned)> = prepared
            .iter()
            .map(|p| (Poisoned::from_bytes(&p.arena, seed), Poisoned::from_bytes(&p.before, seed)))
            .collect();
        let layouts: Vec<PlaceLayout> = prepared.iter().map(|p| p.layout).collect();
        let mut tasks: Vec<PlaceTask> = prepared
            .iter()
            .zip(&buffers)
            .zip(0..)
            .map(|((p, (arena, out)), index)| {
                let places = TaskPlaces {
                    src: (!p.case.fill).then_some(arena.address() + p.case.skip as u64),
                    output: out.address() + p.case.out_skip as u64,
                    layout: index,
                    status: if index % 3 == 0 && !p.case.faulty { NO_STATUS } else { index },
                    selection: p.selection as u32,
                };
                p.layout.task(&p.case.placement, &p.case.selection, &places)
            })
            .collect();
        let launches = place::launches(&mut tasks, &layouts);
        let on_device = |bytes: Vec<u8>| Poisoned::from_bytes(&bytes, seed);
        let (task_bytes, layout_bytes) =
            (on_device(bytes_of(&tasks, raw)), on_device(bytes_of(&layouts, raw)));
        let selection_bytes = on_device(bytes_of(&selections, raw));
        let status_bytes = on_device(bytes_of(&statuses, raw));
        let table_bytes = on_device(bytes_of(&tables, raw));
        for launch in launches {
            let args = PlaceArgs {
                tasks: task_bytes.address() + (launch.tasks.start * size_of::<PlaceTask>()) as u64,
                layouts: layout_bytes.address(),
                selections: selection_bytes.address(),
                statuses: status_bytes.address(),
                tables: table_bytes.address(),
                count: launch.tasks.len() as u32,
                reserved: 0,
            };
            assert_eq!(kernels.threads(launch.entry), Some(place::THREADS));
            let (count, parts) = launch.grid(1);
            // Few parts: rows of a task are then taken one after the other by the same warps.
            let parts = if seed % 2 == 0 { 1 } else { parts.min(3) };
            kernels.launch(launch.entry, (count, parts), place::THREADS, &args, seed).unwrap();
        }
        for (p, (_, mut out)) in prepared.iter().zip(buffers) {
            out.check().unwrap();
            if let Some(at) = out.iter().zip(&p.after).position(|(a, b)| a != b) {
                let at = at as isize - p.case.out_skip as isize;
                panic!("seed {seed}: byte {at} differs of {:#?}\n{:?}", p.case, p.layout);
            }
        }
    }
}

#[test]
fn any_layout_equals_the_cpu() {
    for round in 0..16 {
        let mut draw = Draw(Garbage::new(round));
        let cases: Vec<Case> = (0..120)
            .map(|_| {
                let block = any_layout(&mut draw);
                any_case(block, &mut draw)
            })
            .collect();
        run(&cases, round..round + 1, &mut draw);
    }
}

/// The same for outputs that convert: of all that the CPU takes, but complex samples.
#[test]
fn any_layout_converts_as_the_cpu() {
    for round in 100..110 {
        let mut draw = Draw(Garbage::new(round));
        let mut cases = Vec::new();
        while cases.len() < 100 {
            let block = any_layout(&mut draw);
            if !Convert::takes(block.data_type) {
                continue;
            }
            let target = draw.one(&[DataType::F32, DataType::F64]);
            // A byte that any block has many of, so that samples of 8 bits meet it.
            let nodata = {
                let few = Fill([draw.below(2) as u8; 16]);
                draw.one(&[None, Some(few), Some(block.extras.fill)])
            };
            let (scale, offset) = draw.one(&[(1.0, -0.0), (0.1, 273.15), (-3e200, 1e-3), (1e-44, 0.0)]);
            let mut case = any_case_of(block, target, &mut draw);
            case.convert = Some(Convert { nodata, scale, offset });
            cases.push(case);
        }
        run(&cases, round..round + 1, &mut draw);
    }
}

/// The layouts that have a way of their own through the kernel, at widths around their chunks.
#[test]
fn common_layouts_equal_the_cpu_at_every_seed() {
    let mut draw = Draw(Garbage::new(77));
    let mut cases = Vec::new();
    let kinds = [(F::Uint, 8), (F::Uint, 16), (F::Uint, 32), (F::Float, 16), (F::Float, 32), (F::Float, 64)];
    for (format, bits) in kinds {
        for samples in [1, 2, 3, 4, 5, 10, 35] {
            for predictor in [Predictor::None, Predictor::Horizontal, Predictor::FloatingPoint] {
                let width = draw.one(&[31, 64, 128, 130, 256, 257, 260, 300]);
                let mut block = layout(width, 3, samples, format, bits);
                block.predictor = predictor;
                block.byte_order = draw.one(&[ByteOrder::Little, ByteOrder::Big]);
                let mut case = any_case(block, &mut draw);
                (case.fill, case.faulty) = (false, false);
                cases.push(case);
            }
        }
    }
    run(&cases, Emulator::seeds(), &mut draw);
}

/// A whole block into an output without gaps.
fn whole(block: BlockLayout, data_type: DataType, band_last: bool) -> Case {
    let spec = if band_last { OutputSpec::band_last } else { OutputSpec::band_first };
    let (width, height, samples) = (block.width, block.height, block.samples);
    Case {
        placement: Placement {
            rows: height,
            image_rows: height,
            block_x: 0,
            block_y: 0,
            width,
            height,
            out_x: 0,
            out_y: 0,
            first_band: 0,
        },
        selection: (0..samples).collect(),
        spec: spec(data_type, samples.into(), height, width).unwrap(),
        layout: block,
        skip: 0,
        out_skip: 0,
        fill: false,
        faulty: false,
        convert: None,
    }
}

const KINDS: [(F, u16); 6] =
    [(F::Uint, 8), (F::Uint, 16), (F::Uint, 32), (F::Float, 16), (F::Float, 32), (F::Float, 64)];
const PREDICTORS: [Predictor; 3] = [Predictor::None, Predictor::Horizontal, Predictor::FloatingPoint];

/// Blocks whose rows lie at multiples of 16 bytes, of which several are taken at once where they are short.
#[test]
fn aligned_blocks_equal_the_cpu() {
    let mut draw = Draw(Garbage::new(5));
    let mut cases = Vec::new();
    for (format, bits) in KINDS {
        for samples in [1, 2, 3, 4, 5, 10, 35] {
            for predictor in PREDICTORS {
                for width in [64, 256, draw.one(&[16, 128, 192, 320, 512, 528, 640, 1040])] {
                    let mut block = layout(width, 1 + draw.below(40), samples, format, bits);
                    block.predictor = predictor;
                    block.byte_order = draw.one(&[ByteOrder::Little, ByteOrder::Big]);
                    let data_type = block.data_type;
                    let mut case = whole(block, data_type, draw.below(2) == 0);
                    if draw.below(4) == 0 {
                        // Fewer columns than the block has, as at the right edge of a picture.
                        case.placement.width = width / 2;
                    }
                    cases.push(case);
                }
            }
        }
    }
    run(&cases, 0..4, &mut draw);
}

/// The same where the output converts.
#[test]
fn aligned_blocks_convert_as_the_cpu() {
    let mut draw = Draw(Garbage::new(8));
    let mut cases = Vec::new();
    let signed = [(F::Int, 8), (F::Int, 16), (F::Int, 32)];
    for (format, bits) in KINDS.into_iter().chain(signed) {
        for samples in [1, 3, 4] {
            for predictor in PREDICTORS {
                for target in [DataType::F32, DataType::F64] {
                    let width = draw.one(&[64, 128, 256, 512, 640]);
                    let mut block = layout(width, 1 + draw.below(20), samples, format, bits);
                    block.predictor = predictor;
                    block.byte_order = draw.one(&[ByteOrder::Little, ByteOrder::Big]);
                    draw.0.fill(&mut block.extras.fill.0);
                    let nodata = draw.one(&[None, Some(Fill([1; 16])), Some(block.extras.fill)]);
                    let (scale, offset) = draw.one(&[(1.0, -0.0), (1.0, 0.0), (0.1, 273.15), (-3e200, 1e-3)]);
                    let mut case = whole(block, target, draw.below(2) == 0);
                    case.convert = Some(Convert { nodata, scale, offset });
                    cases.push(case);
                }
            }
        }
    }
    run(&cases, 0..2, &mut draw);
}

#[test]
fn rows_wider_than_a_piece_equal_the_cpu() {
    let mut draw = Draw(Garbage::new(6));
    let mut cases = Vec::new();
    for bits in [8, 16, 32, 64] {
        for predictor in [Predictor::None, Predictor::Horizontal] {
            let mut block = layout(1500 + draw.below(20), 2, 1, F::Uint, bits);
            block.predictor = predictor;
            block.byte_order = draw.one(&[ByteOrder::Little, ByteOrder::Big]);
            cases.push(any_case(block, &mut draw));
        }
    }
    // So wide that sums of bytes, carried from chunk to chunk, would leave the half of a word they are kept in.
    let mut colours = layout(6000, 1, 3, F::Uint, 8);
    colours.predictor = Predictor::Horizontal;
    let mut floats = layout(1500, 1, 1, F::Float, 32);
    floats.predictor = Predictor::FloatingPoint;
    for block in [colours, floats] {
        let mut case = any_case(block, &mut draw);
        (case.fill, case.faulty) = (false, false);
        cases.push(case);
    }
    run(&cases, 0..4, &mut draw);
}

#[test]
fn what_is_refused_says_why() {
    let mut block = layout(4, 4, 1, F::ComplexFloat, 128);
    block.predictor = Predictor::Horizontal;
    assert!(place::support(&block).unwrap_err().contains("predictor 2"));
    let mut block = layout(4, 4, 3, F::Uint, 8);
    block.extras.ycbcr = Some(YCbCr::default());
    assert_eq!(place::support(&block), Ok(()));
    block.predictor = Predictor::Horizontal;
    assert_eq!(place::support(&block), Err("a predictor on YCbCr".to_owned()));
    assert!(place::support(&layout(u32::MAX, 1, 1, F::Uint, 8)).is_err());
    // What another decoder leaves as samples is placed as it is.
    let mut block = layout(4, 4, 3, F::Uint, 16);
    (block.compression, block.byte_order) = (Compression::Jpeg2000, ByteOrder::Big);
    assert_eq!(place::support(&block), Ok(()));
}

#[test]
fn few_tasks_are_cut_finer() {
    let block = layout(256, 256, 1, F::Float, 32);
    let spec = OutputSpec::band_first(block.data_type, 1, 256, 256).unwrap();
    let layout = place::layout(&block, &spec, &mut Vec::new()).unwrap();
    let mut task = PlaceTask::default();
    (task.width, task.height, task.bands) = (256, 256, 1);
    let grid = |tasks: &mut [PlaceTask]| {
        let launches = place::launches(tasks, &[layout]);
        launches.iter().map(|launch| launch.grid(132)).collect::<Vec<_>>()
    };
    assert_eq!(grid(&mut []), []);
    assert_eq!(grid(&mut [task]), [(1, 128)]);
    assert_eq!(grid(&mut [task; 4096]), [(4096, 8)]);
}

//! The kernels of `cut.cu` equal the CPU engine, bit for bit: layouts, types, strides, edges, predictors, byte orders, NaN
//! and sparse blocks drawn at random, many tasks a launch, every output full of garbage that must stay around the blocks.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "code of tests: it fails by panicking, and knows its numbers"
)]

use std::collections::BTreeSet;
use std::sync::Arc;
use strile_cpu::CpuEngine;
use strile_cuda::encode::abi::{DONE, PACKED, PENDING, SLACK, SPARSE, UNFIT};
use strile_cuda::encode::cut::{self, CutArgs, CutPlaces, CutTask, Recipe};
use strile_emulate::{Emulator, Garbage, Poisoned};
use strile_engine::{
    BlockAddress, BlockLayout, CodecExtras, Context, EncodeJob, EncodeLayout, EncodeParams, EncodeTask,
    Encoder, Engine, Fill, OutputSpec, SharedPixels, Strides,
};
use strile_tiff::{
    ByteOrder, Compression, LercWrapper, Photometric, Predictor, SampleFormat as F, SampleType, YCbCr,
};

struct Draw(Garbage);

impl Draw {
    fn below(&mut self, n: u32) -> u32 {
        (self.0.word() >> 16) as u32 % n.max(1)
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u32) as usize]
    }

    fn chance(&mut self, of: u32) -> bool {
        self.below(of) == 0
    }
}

/// What the samples of an image are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    Garbage,
    /// Floats that are NaN now and then.
    Holes,
    /// The fill, or NaN that becomes it.
    Fill,
    /// The same but for one sample of the block.
    AllButOne,
    /// Bytes of 0 and 1.
    Bits,
    /// The same, but for a 2.
    NotBits,
}

/// One block and the image it is cut from.
#[derive(Debug, Clone)]
struct Case {
    layout: EncodeLayout,
    spec: OutputSpec,
    task: EncodeTask,
    content: Content,
    /// Bytes before the image in its memory.
    skip: usize,
    memory: Vec<u8>,
}

/// What the CPU engine makes of it.
#[derive(Debug, PartialEq, Eq)]
enum Made {
    Packed(Vec<u8>),
    Sparse,
    Unfit,
}

fn block(width: u32, height: u32, samples: u16, format: F, bits: u16) -> BlockLayout {
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

fn encode_layout(block: BlockLayout) -> EncodeLayout {
    let params =
        EncodeParams { encoder: Encoder::Fast, level: 1, quality: 75, lossless: true, max_error: 0.0 };
    EncodeLayout { block: Arc::new(block), params, nan_to: None, sparse: None }
}

/// An image in which bands, rows and columns lie in any order, with or without gaps.
fn any_spec(block: &BlockLayout, extent: (u32, u32, u32), draw: &mut Draw) -> OutputSpec {
    let (bands, rows, columns) = extent;
    let size = block.data_type.size();
    let unit = if draw.chance(6) { 1 } else { size };
    let (b, r, c) = ((0, bands as usize), (1, rows as usize), (2, columns as usize));
    let axes = match draw.below(8) {
        0..=2 => [c, r, b],
        3..=5 => [b, c, r],
        6 => [r, c, b],
        _ => [c, b, r],
    };
    let gaps = draw.below(3);
    let mut strides = [0; 3];
    let mut extent = size;
    for (place, (axis, n)) in axes.into_iter().enumerate() {
        let gap = match gaps {
            // Rows at multiples of 16, as images that were allocated with care have them.
            0 if place > 0 && axis != 2 => extent.next_multiple_of(16) - extent,
            1 if draw.chance(2) => unit * draw.below(4) as usize,
            _ => 0,
        };
        strides[axis] = extent + gap;
        extent += strides[axis] * (n - 1);
    }
    OutputSpec {
        data_type: block.data_type,
        bands,
        rows,
        columns,
        strides: Strides { band: strides[0], row: strides[1], column: strides[2] },
    }
}

fn sample_at(case: &Case, band: u32, row: u32, column: u32) -> usize {
    let strides = case.spec.strides;
    case.skip + band as usize * strides.band + row as usize * strides.row + column as usize * strides.column
}

fn nan_of(block: &BlockLayout, draw: &mut Draw) -> Vec<u8> {
    let noise = draw.0.word();
    let half = match (block.sample.format, block.sample.bits) {
        (F::Float, 16) => vec![noise as u8 | 1, 0x7C | (noise >> 8) as u8 & 0x83],
        (F::Float, 32) | (F::ComplexFloat, 64) => (0xFF80_0001 | noise as u32).to_le_bytes().to_vec(),
        _ => (0xFFF0_0000_0000_0001 | noise).to_le_bytes().to_vec(),
    };
    let mut sample = half.clone();
    if block.sample.format == F::ComplexFloat {
        let other = vec![0; half.len()];
        sample = if draw.chance(2) { [half, other].concat() } else { [other, half].concat() };
    }
    sample
}

fn put_content(case: &mut Case, draw: &mut Draw) {
    let block = Arc::clone(&case.layout.block);
    draw.0.fill(&mut case.memory);
    let floats = matches!(block.sample.format, F::Float | F::ComplexFloat);
    let fill = case.layout.sparse.unwrap_or_default().0[..block.data_type.size()].to_vec();
    let fill_is_nan = floats && case.layout.nan_to.is_some() && case.layout.nan_to == case.layout.sparse;
    for band in 0..case.spec.bands {
        for row in 0..case.spec.rows {
            for column in 0..case.spec.columns {
                let at = sample_at(case, band, row, column);
                let bytes = match case.content {
                    Content::Garbage => continue,
                    Content::Holes if floats && draw.chance(4) => nan_of(&block, draw),
                    Content::Holes => continue,
                    Content::Fill | Content::AllButOne if fill_is_nan && draw.chance(3) => {
                        nan_of(&block, draw)
                    }
                    Content::Fill | Content::AllButOne => fill.clone(),
                    Content::Bits | Content::NotBits => vec![draw.below(2) as u8],
                };
                case.memory[at..at + bytes.len()].copy_from_slice(&bytes);
            }
        }
    }
    let task = case.task;
    let band = task.first_band + draw.below(block.samples.into());
    let at = sample_at(case, band, task.y + draw.below(task.height), task.x + draw.below(task.width));
    match case.content {
        Content::AllButOne => case.memory[at] ^= 1,
        Content::NotBits => case.memory[at] = 2,
        _ => {}
    }
}

fn any_case(draw: &mut Draw) -> Case {
    let (format, bits) = match draw.below(10) {
        0 => (F::Uint, 1),
        1..=3 => (F::Uint, draw.one(&[8, 16, 32, 64])),
        4 => (F::Int, draw.one(&[8, 16, 32, 64])),
        5 => (F::ComplexFloat, draw.one(&[64, 128])),
        _ => (F::Float, draw.one(&[16, 32, 64])),
    };
    let samples = if draw.chance(8) { 1 + draw.below(12) } else { 1 + draw.below(4) } as u16;
    let tile = draw.chance(2);
    let width = if tile { 16 * (1 + draw.below(5)) } else { 1 + draw.below(90) };
    let height = if tile { 16 * (1 + draw.below(3)) } else { 1 + draw.below(40) };
    case_of(block(width, height, samples, format, bits), draw)
}

fn case_of(mut block: BlockLayout, draw: &mut Draw) -> Case {
    let single_bit = block.sample.bits == 1;
    block.byte_order = draw.one(&[ByteOrder::Little, ByteOrder::Big]);
    block.is_strip = draw.chance(2);
    let size = block.data_type.size();
    let predictors = match (block.sample.format, size) {
        _ if single_bit => &[Predictor::None][..],
        (_, 16) => &[Predictor::None],
        (F::Float, _) => {
            &[Predictor::None, Predictor::Horizontal, Predictor::FloatingPoint, Predictor::FloatingPoint]
        }
        _ => &[Predictor::None, Predictor::Horizontal, Predictor::Horizontal],
    };
    block.predictor = draw.one(predictors);
    // Packed bytes are what a file without compression holds; a predictor needs a codec.
    let stored = block.predictor == Predictor::None && draw.chance(2);
    block.compression = if stored { Compression::None } else { Compression::Deflate };
    let whole = draw.chance(2);
    let (width, height) = (block.width, block.height);
    let rows = if block.is_strip && draw.chance(3) { 1 + draw.below(height) } else { height };
    let task = EncodeTask {
        layout: 0,
        pixels: 0,
        address: BlockAddress::default(),
        rows,
        x: if draw.chance(2) { 0 } else { draw.below(20) },
        y: draw.below(4),
        width: if whole { width } else { 1 + draw.below(width) },
        height: if whole { rows } else { 1 + draw.below(rows) },
        first_band: draw.below(3),
    };
    let bands = task.first_band + u32::from(block.samples) + draw.below(2);
    let extent = (bands, task.y + task.height + draw.below(2), task.x + task.width + draw.below(3));
    let exact = draw.chance(2) && task.first_band == 0;
    let (task, extent) = match exact {
        true => (EncodeTask { x: 0, ..task }, (block.samples.into(), extent.1, task.width)),
        false => (task, extent),
    };
    let spec = any_spec(&block, extent, draw);
    let mut layout = encode_layout(block);
    let fill = |draw: &mut Draw| {
        let mut fill = Fill::default();
        draw.0.fill(&mut fill.0[..size]);
        if single_bit {
            fill.0[0] %= 3;
        }
        Some(fill)
    };
    if draw.chance(2) {
        layout.nan_to = fill(draw);
    }
    if draw.chance(2) {
        layout.sparse = if draw.chance(2) && layout.nan_to.is_some() { layout.nan_to } else { fill(draw) };
    }
    let content = match (single_bit, layout.sparse.is_some(), draw.below(4)) {
        (_, true, 0) => Content::Fill,
        (_, true, 1) => Content::AllButOne,
        (true, _, 2) => Content::NotBits,
        (true, ..) => Content::Bits,
        (.., 3) => Content::Garbage,
        _ => Content::Holes,
    };
    let skip = if draw.chance(2) { 0 } else { size * draw.below(8) as usize };
    let memory = vec![0; skip + spec.len().unwrap()];
    let mut case = Case { layout, spec, task, content, skip, memory };
    put_content(&mut case, draw);
    case
}

fn by_the_cpu(case: &Case) -> Made {
    let engine = CpuEngine::new();
    let pixels = SharedPixels::new(case.spec.clone(), Arc::new(case.memory[case.skip..].to_vec())).unwrap();
    let layout = engine.prepare(case.layout.clone()).unwrap();
    let job = EncodeJob { layouts: vec![layout], tasks: vec![case.task] };
    let made = engine.encode(job, &[pixels], &Context::default()).unwrap().wait().unwrap();
    let Some(span) = made.blocks[0].span else {
        return if made.faults.is_empty() { Made::Sparse } else { Made::Unfit };
    };
    let bytes = &made.slab.bytes()[span.offset as usize..][..span.len as usize];
    if case.layout.block.compression == Compression::None {
        return Made::Packed(bytes.to_vec());
    }
    let mut packed = vec![0; case.layout.block.decoded_len(case.task.rows).unwrap()];
    let len = libdeflater::Decompressor::new().zlib_decompress(bytes, &mut packed).unwrap();
    assert_eq!(len, packed.len());
    Made::Packed(packed)
}

/// The memory of a `repr(C)` twin.
#[expect(unsafe_code, reason = "the bytes of plain structs without padding")]
fn raw<T: Copy>(items: &[T]) -> Vec<u8> {
    // SAFETY: plain data with no padding (its size is the sum of its fields), read for as long as it lives.
    unsafe { std::slice::from_raw_parts(items.as_ptr().cast(), size_of_val(items)) }.to_vec()
}

/// Bytes that belong to a block of `len` packed bytes.
fn room(case: &Case, len: usize) -> usize {
    let slack = if case.layout.block.compression == Compression::None { 0 } else { SLACK as usize };
    len.next_multiple_of(16) + slack
}

/// Cuts all cases and compares every block, its state, and what is around it. Gives the entry points taken.
fn run(cases: &[Case], seed: u64) -> BTreeSet<&'static str> {
    let kernels = Emulator::module("cut").unwrap();
    let recipes: Vec<Recipe> = cases.iter().map(|case| cut::on_device(&case.layout).unwrap()).collect();
    let expected: Vec<Made> = cases.iter().map(by_the_cpu).collect();
    let images: Vec<Poisoned> = cases.iter().map(|case| Poisoned::from_bytes(&case.memory, seed)).collect();
    let mut offsets = Vec::new();
    let mut end = 0;
    for (case, recipe) in cases.iter().zip(&recipes) {
        let len = recipe.packed_len(case.task.rows).unwrap() as usize;
        assert_eq!(Some(len), case.layout.block.decoded_len(case.task.rows));
        offsets.push((end, len));
        end += room(case, len) + 16 * (len % 3);
    }
    let mut out = Poisoned::new(end, seed);
    let before = out.to_vec();
    let count = cases.len();
    // States in another order than tasks.
    let index = |i: usize| (count - 1 - i) as u32;
    let mut tasks: Vec<CutTask> = Vec::new();
    for (i, ((case, recipe), image)) in cases.iter().zip(&recipes).zip(&images).enumerate() {
        let places = CutPlaces {
            pixels: image.address() + case.skip as u64,
            dst: out.address() + offsets[i].0 as u64,
            recipe: i as u32,
            index: index(i),
            stored: case.layout.block.compression == Compression::None,
        };
        tasks.push(recipe.task(&case.task, &case.spec, &places).unwrap());
    }
    let launches = cut::launches(&mut tasks, &recipes);
    let on_device = |bytes: Vec<u8>| Poisoned::from_bytes(&bytes, seed);
    let (task_bytes, recipe_bytes) = (on_device(raw(&tasks)), on_device(raw(&recipes)));
    let mut states = on_device(raw(&vec![PENDING; count]));
    let mut sizes = on_device(raw(&vec![0x5555_5555u32; count]));
    for launch in &launches {
        let args = CutArgs {
            tasks: task_bytes.address() + (launch.tasks.start * size_of::<CutTask>()) as u64,
            recipes: recipe_bytes.address(),
            states: states.address(),
            sizes: sizes.address(),
            count: launch.tasks.len() as u32,
            reserved: 0,
        };
        assert_eq!(kernels.threads(launch.entry), Some(cut::THREADS));
        let (count, parts) = launch.grid(1);
        let parts = if seed.is_multiple_of(2) { 1 } else { parts.clamp(2, 3) };
        kernels.launch(launch.entry, (count, parts), cut::THREADS, &args, seed).unwrap();
    }
    for buffer in [&mut out, &mut states, &mut sizes] {
        buffer.check().unwrap();
    }
    let mut at = 0;
    for (i, (case, made)) in cases.iter().zip(&expected).enumerate() {
        let word = |bytes: &Poisoned| {
            u32::from_ne_bytes(*bytes[4 * index(i) as usize..].first_chunk::<4>().unwrap())
        };
        let stored = case.layout.block.compression == Compression::None;
        let state = match made {
            Made::Packed(_) if stored => DONE,
            Made::Packed(_) => PACKED,
            Made::Sparse => SPARSE,
            Made::Unfit => UNFIT,
        };
        let (start, len) = offsets[i];
        let unfit_at_least = case.layout.block.sample.bits == 1 && word(&states) == UNFIT;
        let left_to_host = unfit_at_least && case.layout.sparse.is_some_and(|fill| fill.0[0] > 1);
        assert!(
            word(&states) == state || left_to_host,
            "state {} of {case:#?}, {state} expected",
            word(&states)
        );
        assert_eq!(word(&sizes), if stored { len as u32 } else { 0x5555_5555 });
        assert_eq!(out[at..start], before[at..start], "before {case:#?}");
        at = start + room(case, len);
        if !stored {
            let behind = &out[start + len.next_multiple_of(16)..at];
            assert!(behind.iter().all(|&byte| byte == 0), "behind {case:#?}");
        }
        if let Made::Packed(packed) = made
            && let Some(wrong) = out[start..start + len].iter().zip(packed).position(|(a, b)| a != b)
        {
            let mut case = case.clone();
            case.memory.clear();
            let (found, want) = (out[start + wrong], packed[wrong]);
            panic!("seed {seed}: byte {wrong} of {len} is {found}, {want} expected, of {case:#?}");
        }
    }
    assert_eq!(out[at..], before[at..]);
    launches.iter().map(|launch| launch.entry).collect()
}

#[test]
fn any_layout_equals_the_cpu() {
    let mut entries = BTreeSet::new();
    for round in 0..12 {
        let mut draw = Draw(Garbage::new(round));
        let cases: Vec<Case> = (0..80).map(|_| any_case(&mut draw)).collect();
        entries.extend(run(&cases, round));
    }
    let all: BTreeSet<&str> = Emulator::module("cut").unwrap().kernels().collect();
    assert_eq!(entries, all, "every entry point was taken");
}

/// A block at the beginning of an image, of which so much has pixels.
fn whole_task(width: u32, height: u32, rows: u32) -> EncodeTask {
    let address = BlockAddress::default();
    EncodeTask { layout: 0, pixels: 0, address, rows, x: 0, y: 0, width, height, first_band: 0 }
}

/// A block of one type and shape out of images in all the usual strides.
#[test]
fn usual_layouts_by_their_own_ways() {
    let ways = [
        ((F::Uint, 8), 1, Predictor::None),
        ((F::Uint, 8), 1, Predictor::Horizontal),
        ((F::Uint, 8), 3, Predictor::Horizontal),
        ((F::Uint, 16), 1, Predictor::Horizontal),
        ((F::Uint, 16), 4, Predictor::Horizontal),
        ((F::Float, 32), 1, Predictor::FloatingPoint),
        ((F::Float, 32), 3, Predictor::FloatingPoint),
        ((F::Float, 64), 1, Predictor::FloatingPoint),
    ];
    let mut entries = BTreeSet::new();
    let mut draw = Draw(Garbage::new(99));
    let mut cases = Vec::new();
    for ((format, bits), samples, predictor) in ways {
        // Whole, over the right edge, and over the lower one by more than is near.
        for (width, height) in [(256, 48), (100, 48), (256, 17), (1, 1)] {
            for band_last in [false, true] {
                let mut block = block(256, 48, samples, format, bits);
                block.predictor = predictor;
                block.compression = Compression::Deflate;
                let make = if band_last { OutputSpec::band_last } else { OutputSpec::band_first };
                let spec = make(block.data_type, samples.into(), height, width).unwrap();
                let task = whole_task(width, height, 48);
                let memory = vec![0; spec.len().unwrap()];
                let layout = encode_layout(block);
                let mut case = Case { layout, spec, task, content: Content::Garbage, skip: 0, memory };
                put_content(&mut case, &mut draw);
                cases.push(case);
            }
        }
    }
    entries.extend(run(&cases, 1));
    let each = entries.contains("cut_each");
    let want = ["cut_runs", "cut_rows_1_1", "cut_rows_1_3", "cut_bands_1_3", "cut_rows_2_1", "cut_planes_4"];
    assert!(want.iter().all(|entry| entries.contains(entry)), "{entries:?}");
    assert!(each, "bands of floats with predictor 3 have no way of their own");
}

#[test]
fn what_has_no_kernel_is_refused_in_words() {
    let refused = |block: BlockLayout| cut::on_device(&encode_layout(block)).unwrap_err();
    let of = |format, bits| block(64, 64, 1, format, bits);
    assert_eq!(refused(of(F::Uint, 12)), "samples of 12-bit unsigned integer");
    assert_eq!(refused(of(F::Float, 24)), "samples of 24-bit float");
    assert_eq!(refused(of(F::ComplexInt, 32)), "samples of 32-bit complex integer");
    let with = |change: fn(&mut BlockLayout)| {
        let mut block = of(F::Uint, 8);
        change(&mut block);
        refused(block)
    };
    assert_eq!(with(|block| block.compression = Compression::Jpeg), "jpeg, a codec of pictures");
    assert_eq!(with(|block| block.reverse_bits = true), "bits in reverse order");
    assert_eq!(with(|block| block.mixed_bits = Some([8].into())), "samples of mixed depths");
    assert_eq!(with(|block| block.extras.ycbcr = Some(YCbCr::default())), "units of luma and chroma");
    assert_eq!(with(|block| block.width = u32::MAX), "rows of more than 1 GiB");
    assert_eq!(
        with(|block| block.predictor = Predictor::FloatingPoint),
        "predictor 3 on samples of 8-bit unsigned integer"
    );
    let mut bits = of(F::Uint, 1);
    bits.predictor = Predictor::Horizontal;
    assert_eq!(refused(bits), "a predictor on samples of 1-bit unsigned integer");
    let whole = cut::on_device(&encode_layout(of(F::Uint, 8))).unwrap();
    assert_eq!((whole.row_len(), whole.packed_len(64), whole.packed_len(1 << 25)), (64, Some(4096), None));
}

#[test]
fn a_large_task_among_many_does_not_ask_for_endless_blocks() {
    let block = block(1 << 15, 1 << 12, 1, F::Uint, 8);
    let spec = OutputSpec::band_first(block.data_type, 1, block.height, block.width).unwrap();
    let whole = whole_task(block.width, block.height, block.height);
    let recipe = cut::on_device(&encode_layout(block)).unwrap();
    let places = CutPlaces { pixels: 0, dst: 0, recipe: 0, index: 0, stored: false };
    let task = recipe.task(&whole, &spec, &places).unwrap();
    let launches = cut::launches(&mut [task; 3], &[recipe]);
    let (count, parts) = launches[0].grid(132);
    assert_eq!(count, 3);
    assert!(parts > 700 && parts < 5000, "{parts}");
}

//! Encoding: what is encoded reads back, whatever the layout; the same bytes whatever the threads and the jobs; what
//! is left out, replaced, repeated or refused. A layout that an engine does not prepare is left out.

use super::jobs::{Float, Uint, layout};
use super::pictures::{Picture, Random, decoded, encoded, params, tasks_over, value_noise};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use strile_engine::{
    BlockLayout, Budget, Context, EncodeJob, EncodeLayout, Engine, EngineError, Fill, OutputSpec, Progress,
    SharedPixels, Strides,
};
use strile_tiff::{ByteOrder, Compression, Predictor, SampleFormat};

/// Codecs that keep every bit of every sample.
const LOSSLESS: [Compression; 7] = [
    Compression::None,
    Compression::PackBits,
    Compression::Lzw,
    Compression::Deflate,
    Compression::Zstd,
    Compression::Lz4,
    Compression::Lzma,
];

fn depths() -> Vec<(SampleFormat, u16)> {
    let odd = [1, 2, 3, 4, 5, 7, 9, 10, 12, 14, 15, 17, 24, 31, 33, 48, 63];
    let whole = [8, 16, 32, 64];
    let integers = [Uint, SampleFormat::Int]
        .into_iter()
        .flat_map(|format| odd.into_iter().chain(whole).map(move |bits| (format, bits)));
    let floats = [16, 24, 32, 64].map(|bits| (Float, bits));
    let pairs = [16, 32, 64].map(|bits| (SampleFormat::ComplexInt, bits));
    let complex = [64, 128].map(|bits| (SampleFormat::ComplexFloat, bits));
    integers.chain(floats).chain(pairs).chain(complex).collect()
}

/// Encodes the picture in blocks of `block`, where the engine prepares it, and reads it back.
fn reads_back(engine: &dyn Engine, block: BlockLayout, picture: &Picture) -> bool {
    let Ok(prepared) = engine.prepare(plain(block)) else { return false };
    let tasks = tasks_over(&prepared.block, picture.spec());
    let blocks = encoded(engine, &prepared, tasks.clone(), picture.pixels(), &Context::default());
    assert_eq!(blocks.faults, [], "{:?}", prepared.block);
    for (task, block) in tasks.iter().zip(&blocks.blocks) {
        assert_eq!((block.address, block.layout), (task.address, task.layout));
        let bound = engine.encoded_bound(&prepared, task.rows);
        assert!(block.span.unwrap().len <= bound, "{:?} over {bound}: {:?}", block.span, prepared.block);
    }
    let found = decoded(engine, &prepared.block, &tasks, &blocks, picture.spec());
    assert!(found == picture.band_first(), "{:?}", prepared.block);
    true
}

fn plain(block: BlockLayout) -> EncodeLayout {
    EncodeLayout { params: params(block.compression), block: Arc::new(block), nan_to: None, sparse: None }
}

pub(super) fn encoding_keeps_every_sample(engine: &dyn Engine) {
    let mut random = Random::new(1);
    for compression in LOSSLESS {
        for (format, bits) in depths() {
            for predictor in [Predictor::None, Predictor::Horizontal, Predictor::FloatingPoint] {
                for byte_order in [ByteOrder::Little, ByteOrder::Big] {
                    // Sizes, samples and order of bands by chance: all of them are met often enough.
                    let (width, height) = (1 + random.below(20), 1 + random.below(9));
                    let samples = 1 + random.below(5) as u16;
                    let mut block = layout(width, height, samples, format, bits);
                    block.is_strip = random.below(2) == 0;
                    (block.compression, block.predictor, block.byte_order) =
                        (compression, predictor, byte_order);
                    let bands = u32::from(samples) * (1 + random.below(2));
                    let size = (bands, 1 + random.below(2 * height + 3), 1 + random.below(2 * width + 3));
                    reads_back(engine, block.clone(), &Picture::new(&block, size, &mut random));
                }
            }
        }
    }
}

pub(super) fn fax_keeps_every_pixel(engine: &dyn Engine) {
    let mut random = Random::new(2);
    for compression in
        [Compression::CcittRle, Compression::CcittRleWord, Compression::CcittGroup3, Compression::CcittGroup4]
    {
        for options in [0, 1, 4, 5] {
            for round in 0..12 {
                let wide = if round == 0 { 5300 } else { 1 + random.below(90) };
                let mut block = layout(wide, 1 + random.below(12), 1, Uint, 1);
                block.is_strip = random.below(2) == 0;
                block.compression = compression;
                block.extras.fax_options = options;
                let size = (1, 1 + random.below(30), 1 + random.below(2 * wide));
                reads_back(engine, block.clone(), &Picture::new(&block, size, &mut random));
            }
        }
    }
}

/// An engine says no in words to what it cannot encode, and never gets a block of it.
pub(super) fn what_cannot_be_encoded_is_said_before(engine: &dyn Engine) {
    let refused = |change: &dyn Fn(&mut EncodeLayout, &mut BlockLayout)| {
        let mut block = layout(16, 16, 1, Uint, 16);
        block.compression = Compression::Deflate;
        let mut encode = plain(block.clone());
        change(&mut encode, &mut block);
        encode.block = Arc::new(block);
        engine.prepare(encode).unwrap_err().to_string()
    };
    let message = refused(&|encode, _| encode.params.level = 13);
    assert_eq!(message, "expected a deflate level from 1 to 12, got 13");
    assert!(refused(&|_, block| block.reverse_bits = true).contains("FillOrder"));
    assert!(refused(&|_, block| block.predictor = Predictor::FloatingPoint).contains("predictor 3"));
    let odd = refused(&|_, block| {
        (block.sample.bits, block.predictor) = (12, Predictor::Horizontal);
    });
    assert!(odd.contains("predictor 2"), "{odd}");
    let none = refused(&|_, block| {
        (block.compression, block.predictor) = (Compression::PackBits, Predictor::Horizontal);
    });
    assert!(none.contains("packbits"), "{none}");
    assert!(refused(&|_, block| block.compression = Compression::JpegXl).contains("jxl"));
    let fax = refused(&|_, block| block.compression = Compression::CcittGroup4);
    assert!(fax.contains("1 bit"), "{fax}");
}

/// Noise, 0 and 255 in turn, and a constant: the longest and the shortest a codec can give.
pub(super) fn the_bound_holds_for_the_worst(engine: &dyn Engine) {
    let mut random = Random::new(3);
    for compression in LOSSLESS {
        for (width, height) in [(1, 1), (3, 2), (128, 1), (129, 7), (255, 300)] {
            let mut block = layout(width, height, 1, Uint, 8);
            block.compression = compression;
            for kind in 0..4 {
                let bytes: Vec<u8> = (0..width * height)
                    .map(|i| match kind {
                        0 => random.below(256) as u8,
                        1 => (i % 2 * 255) as u8,
                        2 => 7,
                        // Runs of two between single bytes: the worst for PackBits.
                        _ => ((i / 3) * 2 + u32::from(i % 3 == 0)) as u8,
                    })
                    .collect();
                let spec = OutputSpec::band_first(block.data_type, 1, height, width).unwrap();
                reads_back(engine, block.clone(), &Picture::of(spec, bytes));
            }
        }
    }
}

fn noisy_words(block: &BlockLayout, size: (u32, u32)) -> SharedPixels {
    let spec = OutputSpec::band_first(block.data_type, 1, size.0, size.1).unwrap();
    let bytes = value_noise(spec.len().unwrap());
    SharedPixels::new(spec, Arc::new(bytes)).unwrap()
}

pub(super) fn bytes_do_not_depend_on_threads_or_jobs(engine: &dyn Engine) {
    for compression in LOSSLESS {
        let mut block = layout(32, 16, 1, Uint, 16);
        block.compression = compression;
        if !matches!(compression, Compression::None | Compression::PackBits) {
            block.predictor = Predictor::Horizontal;
        }
        let Ok(prepared) = engine.prepare(plain(block)) else { continue };
        let pixels = noisy_words(&prepared.block, (100, 130));
        let tasks = tasks_over(&prepared.block, pixels.spec());
        let threads = |n| Context { threads: NonZeroUsize::new(n).unwrap(), ..Context::default() };
        let one = encoded(engine, &prepared, tasks.clone(), &pixels, &threads(1));
        for n in [2, 3, 16] {
            let many = encoded(engine, &prepared, tasks.clone(), &pixels, &threads(n));
            assert!(
                many.slab.bytes() == one.slab.bytes() && many.blocks == one.blocks,
                "{compression:?}, {n} threads"
            );
        }
        // Other blocks before it in the job, on the thread and on the context do not change a block.
        let mut backwards = tasks;
        backwards.reverse();
        for (task, block) in backwards.chunks(3).flat_map(|tasks| {
            let part = encoded(engine, &prepared, tasks.to_vec(), &pixels, &threads(2));
            let bytes = |b: &strile_engine::EncodedBlock| {
                let span = b.span.unwrap();
                part.slab.bytes()[span.offset as usize..][..span.len as usize].to_vec()
            };
            tasks.iter().copied().zip(part.blocks.iter().map(bytes)).collect::<Vec<_>>()
        }) {
            let whole = one.blocks.iter().find(|b| b.address == task.address).unwrap().span.unwrap();
            let whole = &one.slab.bytes()[whole.offset as usize..][..whole.len as usize];
            assert!(whole == block, "{compression:?}, {:?}", task.address);
        }
    }
}

pub(super) fn the_edge_is_repeated(engine: &dyn Engine) {
    let block = layout(4, 3, 2, Uint, 8);
    let prepared = engine.prepare(plain(block)).unwrap();
    // Two rows of three pixels of bands a and b, band by band.
    let spec = OutputSpec::band_first(prepared.block.data_type, 2, 2, 3).unwrap();
    let pixels = SharedPixels::new(spec, Arc::new(vec![1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16])).unwrap();
    let tasks = tasks_over(&prepared.block, pixels.spec());
    let blocks = encoded(engine, &prepared, tasks, &pixels, &Context::default());
    let last = [4, 14, 5, 15, 6, 16, 6, 16];
    assert_eq!(blocks.slab.bytes(), [&[1, 11, 2, 12, 3, 13, 3, 13][..], &last, &last].concat());
}

/// Near the image the edge is repeated, further down there is one value.
pub(super) fn far_padding_is_one_value(engine: &dyn Engine) {
    let prepared = engine.prepare(plain(layout(40, 48, 1, Uint, 8))).unwrap();
    let spec = OutputSpec::band_first(prepared.block.data_type, 1, 20, 20).unwrap();
    let bytes: Vec<u8> = (0..400u32).map(|i| (i * 7 % 251) as u8).collect();
    let pixels = SharedPixels::new(spec, Arc::new(bytes.clone())).unwrap();
    let tasks = tasks_over(&prepared.block, pixels.spec());
    let blocks = encoded(engine, &prepared, tasks, &pixels, &Context::default());
    for (y, row) in blocks.slab.bytes().chunks(40).enumerate() {
        for (x, &got) in row.iter().enumerate() {
            let expected = if y < 32 { bytes[y.min(19) * 20 + x.min(19)] } else { bytes[399] };
            assert_eq!(got, expected, "row {y}, column {x}");
        }
    }
}

pub(super) fn strides_of_pixels_are_followed(engine: &dyn Engine) {
    let mut random = Random::new(4);
    for bits in [8, 16, 32, 64] {
        for samples in 1..=5u16 {
            let block = layout(5, 4, samples, Uint, bits);
            let size = usize::from(bits / 8);
            let (bands, rows, columns) = (u32::from(samples) + 1, 4, 11);
            // Room between pixels, not a multiple of a sample, and between rows and bands.
            let column = size * bands as usize + 3;
            let row = column * columns as usize + 5;
            let apart = OutputSpec {
                data_type: block.data_type,
                bands,
                rows,
                columns,
                strides: Strides { band: size, row, column },
            };
            let bytes: Vec<u8> = (0..apart.len().unwrap()).map(|_| random.below(256) as u8).collect();
            let at = |b: usize, y: usize, x: usize| &bytes[b * size + y * row + x * column..][..size];
            let (all, first) = (0..5usize, 1usize);
            let mut want = Vec::new();
            for y in 0..4 {
                for x in all.clone() {
                    (0..usize::from(samples)).for_each(|s| want.extend(at(first + s, y, 6 + x)));
                }
            }
            let pixels = SharedPixels::new(apart, Arc::new(bytes.clone())).unwrap();
            let prepared = engine.prepare(plain(block)).unwrap();
            let mut task = tasks_over(&prepared.block, pixels.spec())[0];
            (task.x, task.width, task.height, task.first_band) = (6, 5, 4, 1);
            let blocks = encoded(engine, &prepared, vec![task], &pixels, &Context::default());
            assert_eq!(blocks.slab.bytes(), want, "{bits} bits, {samples} samples");
        }
    }
}

pub(super) fn sparse_blocks_are_left_out(engine: &dyn Engine) {
    let mut block = layout(2, 2, 1, Float, 32);
    block.compression = Compression::Deflate;
    let mut fill = Fill::default();
    fill.0[..4].copy_from_slice(&(-9999f32).to_ne_bytes());
    let mut wanted = plain(block);
    (wanted.nan_to, wanted.sparse) = (Some(fill), Some(fill));
    let Ok(prepared) = engine.prepare(wanted) else { return };
    // Four blocks: all sentinel; sentinel and NaN; one other value; minus zero, which is not the sentinel.
    let (hole, nan) = (-9999f32, f32::NAN);
    let rows = [[hole, hole, hole, nan, hole, hole, -0.0], [hole, hole, nan, nan, hole, 1.0, -0.0]];
    let bytes = rows.concat().iter().flat_map(|v| v.to_ne_bytes()).collect();
    let spec = OutputSpec::band_first(prepared.block.data_type, 1, 2, 7).unwrap();
    let pixels = SharedPixels::new(spec, Arc::new(bytes)).unwrap();
    let tasks = tasks_over(&prepared.block, pixels.spec());
    let blocks = encoded(engine, &prepared, tasks, &pixels, &Context::default());
    let stored: Vec<bool> = blocks.blocks.iter().map(|b| b.span.is_some()).collect();
    assert_eq!(stored, [false, false, true, true]);
    assert_eq!(blocks.blocks[2].span.unwrap().offset, 0, "nothing is kept of what is left out");
}

pub(super) fn nan_becomes_the_sentinel(engine: &dyn Engine) {
    let check = |bits: u16, format, fill: &[u8], samples: &[u8], want: &[u8]| {
        let mut block = layout(3, 1, 1, format, bits);
        block.compression = Compression::Deflate;
        let mut wanted = plain(block);
        let mut sentinel = Fill::default();
        sentinel.0[..fill.len()].copy_from_slice(fill);
        wanted.nan_to = Some(sentinel);
        let Ok(prepared) = engine.prepare(wanted) else { return };
        let spec = OutputSpec::band_first(prepared.block.data_type, 1, 1, 3).unwrap();
        let picture = Picture::of(spec, samples.to_vec());
        let tasks = tasks_over(&prepared.block, picture.spec());
        let blocks = encoded(engine, &prepared, tasks.clone(), picture.pixels(), &Context::default());
        assert_eq!(decoded(engine, &prepared.block, &tasks, &blocks, picture.spec()), want, "{bits} bits");
        assert_eq!(picture.pixels().bytes(), samples, "the caller's pixels stay as they are");
    };
    let nan = f32::NAN;
    let floats = |v: &[f32]| v.iter().flat_map(|v| v.to_ne_bytes()).collect::<Vec<u8>>();
    let doubles = |v: &[f64]| v.iter().flat_map(|v| v.to_ne_bytes()).collect::<Vec<u8>>();
    check(32, Float, &floats(&[-1.0]), &floats(&[1.0, nan, -nan]), &floats(&[1.0, -1.0, -1.0]));
    check(64, Float, &doubles(&[5.0]), &doubles(&[f64::NAN, 2.0, 3.0]), &doubles(&[5.0, 2.0, 3.0]));
    let (half_nan, one) = (0x7E00u16, 0x3C00u16);
    let halves = |v: [u16; 3]| v.map(u16::to_ne_bytes).concat();
    check(16, Float, &one.to_ne_bytes(), &halves([half_nan, 0xFC00, 0xFE01]), &halves([one, 0xFC00, one]));
    // A pair of which either half is no number is replaced whole.
    let pairs = floats(&[1.0, 2.0, nan, 3.0, 4.0, nan]);
    let want = floats(&[1.0, 2.0, 7.0, 8.0, 7.0, 8.0]);
    check(64, SampleFormat::ComplexFloat, &floats(&[7.0, 8.0]), &pairs, &want);
}

pub(super) fn values_without_a_place_are_faults(engine: &dyn Engine) {
    let block = layout(2, 1, 1, Uint, 4);
    let prepared = engine.prepare(plain(block)).unwrap();
    let spec = OutputSpec::band_first(prepared.block.data_type, 1, 1, 6).unwrap();
    let pixels = SharedPixels::new(spec, Arc::new(vec![1, 2, 15, 16, 3, 4])).unwrap();
    let tasks = tasks_over(&prepared.block, pixels.spec());
    let blocks = encoded(engine, &prepared, tasks, &pixels, &Context::default());
    assert_eq!(blocks.slab.bytes(), [0x12, 0x34]);
    let messages: Vec<String> = blocks.faults.iter().map(ToString::to_string).collect();
    assert_eq!(
        messages,
        ["block (column 1, row 0): cannot be stored: expected 0 to 15 in a sample of 4 bits, got 16"]
    );
    assert_eq!(blocks.blocks[1].span, None);
}

struct Count(AtomicU64);

impl Progress for Count {
    fn advance(&self, blocks: u64) {
        self.0.fetch_add(blocks, Ordering::Relaxed);
    }
}

pub(super) fn an_encode_job_is_held_against_what_it_is_given(engine: &dyn Engine) {
    let block = layout(8, 8, 1, Uint, 16);
    let prepared = engine.prepare(plain(block.clone())).unwrap();
    let pixels = noisy_words(&block, (20, 20));
    let good = tasks_over(&block, pixels.spec());
    let submit = |change: &dyn Fn(&mut strile_engine::EncodeTask), context: &Context| {
        let mut tasks = good.clone();
        change(&mut tasks[1]);
        let job = EncodeJob { layouts: vec![prepared.clone()], tasks };
        engine.encode(job, std::slice::from_ref(&pixels), context).and_then(strile_engine::Ticket::wait)
    };
    let context = Context::default();
    for change in [
        (&|t: &mut strile_engine::EncodeTask| t.layout = 1) as &dyn Fn(&mut strile_engine::EncodeTask),
        &|t| t.pixels = 1,
        &|t| t.x = u32::MAX,
        &|t| t.y = 13,
        &|t| t.first_band = 1,
        &|t| t.width = 0,
        &|t| t.width = 9,
        &|t| t.height = 9,
        &|t| t.rows = 7,
        &|t| t.rows = u32::MAX,
    ] {
        assert!(matches!(submit(change, &context), Err(EngineError::Mismatch { .. })));
    }
    let other = layout(8, 8, 1, Uint, 32);
    let job = EncodeJob { layouts: vec![plain(other)], tasks: good.clone() };
    let refused = engine.encode(job, std::slice::from_ref(&pixels), &context);
    assert!(matches!(refused.err(), Some(EngineError::Mismatch { .. })), "another type");

    let count = Arc::new(Count(AtomicU64::new(0)));
    let watched = Context { progress: Some(Arc::clone(&count) as Arc<dyn Progress>), ..Context::default() };
    assert_eq!(submit(&|_| {}, &watched).unwrap().blocks.len(), 9);
    assert_eq!(count.0.load(Ordering::Relaxed), 9);
    let cancelled = Context::default();
    cancelled.cancel.cancel();
    assert_eq!(submit(&|_| {}, &cancelled).err(), Some(EngineError::Cancelled));
    let poor = Context { budget: Arc::new(Budget::new(10)), ..Context::default() };
    assert!(matches!(submit(&|_| {}, &poor), Err(EngineError::Budget(_))));
    let none = EncodeJob { layouts: vec![], tasks: vec![] };
    let nothing = engine.encode(none, &[], &context).unwrap().wait().unwrap();
    assert!(nothing.slab.bytes().is_empty() && nothing.blocks.is_empty());
}

/// One job may hold blocks of several layouts and images.
pub(super) fn one_job_encodes_two_layouts(engine: &dyn Engine) {
    let (words, bytes) = (layout(4, 4, 1, Uint, 16), layout(4, 4, 1, Uint, 8));
    let layouts = [words, bytes].map(|block| engine.prepare(plain(block)).unwrap());
    let images = layouts.each_ref().map(|layout| noisy_words(&layout.block, (4, 4)));
    let mut tasks: Vec<_> =
        layouts.iter().zip(&images).map(|(l, image)| tasks_over(&l.block, image.spec())[0]).collect();
    (tasks[1].layout, tasks[1].pixels) = (1, 1);
    let job = EncodeJob { layouts: layouts.to_vec(), tasks };
    let blocks = engine.encode(job, &images, &Context::default()).unwrap().wait().unwrap();
    assert_eq!(blocks.slab.bytes(), [images[0].bytes(), images[1].bytes()].concat());
}

//! Outputs that look for a value: it is found if it was written, in whatever memory, and nowhere else.

use super::jobs::{Float, Uint, job, layout, noise, run, task};
use super::kinds::{Kind, kinds};
use std::sync::Arc;
use strile_engine::{
    BlockLayout, BlockTask, Change, Context, Convert, DecodeJob, Engine, EngineError, Fill, FindJob,
    FindPart, Location, OutputSpec, ReplaceJob, Sought, Strides,
};
use strile_tiff::DataType;
use strile_tiff::SampleFormat::{ComplexFloat, Int};

/// Rows of many lengths: shorter than a word, and longer than what threads take at once.
const WIDTHS: [u32; 3] = [3, 37, 600];
const HEIGHT: u32 = 3;

fn fill_of(bytes: &[u8]) -> Fill {
    let mut fill = Fill::default();
    fill.0[..bytes.len()].copy_from_slice(bytes);
    fill
}

/// The parts of a sample as numbers: whole ones exactly.
fn numbers(data_type: DataType, sample: &[u8]) -> Vec<(i128, f64)> {
    let float = |value: f64| (0, value);
    let single = |bytes: &[u8]| float(f32::from_ne_bytes(bytes.try_into().unwrap()).into());
    let double = |bytes: &[u8]| float(f64::from_ne_bytes(bytes.try_into().unwrap()));
    match data_type {
        DataType::F16 => {
            let bits = u16::from_ne_bytes(sample.try_into().unwrap());
            // Its own value is of no matter, only which bits are NaN and which are a zero.
            let value = if bits & 0x7FFF > 0x7C00 { f64::NAN } else { 0.0 };
            vec![(if bits & 0x7FFF == 0 { 0 } else { bits.into() }, value)]
        }
        DataType::F32 => vec![single(sample)],
        DataType::F64 => vec![double(sample)],
        DataType::C64 => sample.chunks(4).map(single).collect(),
        DataType::C128 => sample.chunks(8).map(double).collect(),
        _ => {
            let mut wide = [0; 16];
            wide[..sample.len()].copy_from_slice(sample);
            vec![(i128::from_ne_bytes(wide), 0.0)]
        }
    }
}

/// Whether a sample has the value, written down once more.
fn has(data_type: DataType, sample: &[u8], value: &[u8]) -> bool {
    let (sample, value) = (numbers(data_type, sample), numbers(data_type, value));
    if value[0].1.is_nan() {
        return sample.iter().any(|number| number.1.is_nan());
    }
    let same = |a: (i128, f64), b: (i128, f64)| a.0 == b.0 && a.1 == b.1;
    same(sample[0], value[0]) && sample[1..].iter().all(|number| same(*number, (0, 0.0)))
}

/// Whether a sample that a task wrote has the value.
fn written(spec: &OutputSpec, found: &[u8], tasks: &[BlockTask], bands: u32, value: &[u8]) -> bool {
    let Strides { band, row, column } = spec.strides;
    let size = spec.data_type.size();
    tasks.iter().any(|task| {
        let p = task.placement;
        (0..bands * p.height * p.width).any(|at| {
            let (x, y) = (p.out_x + at % p.width, p.out_y + at / p.width % p.height);
            let at = (at / p.width / p.height) as usize * band + y as usize * row + x as usize * column;
            has(spec.data_type, &found[at..at + size], value)
        })
    })
}

/// One block, whole, and parts of the same further down: without its last column, and without its first.
fn tasks(block: &BlockLayout) -> Vec<Vec<BlockTask>> {
    let at = |row: u32, left: u32, width: u32| {
        let mut task = task(block, 0);
        task.address.row = row;
        task.placement.out_y = row * HEIGHT;
        (task.placement.block_x, task.placement.width) = (left, width);
        task
    };
    let (mut sparse, mut faulty) = (at(1, 0, block.width), at(2, 0, block.width));
    sparse.span = None;
    faulty.span = faulty.span.map(|span| strile_engine::Span { len: 1, ..span });
    let parts = [at(0, 0, block.width), sparse, faulty, at(3, 0, block.width - 1), at(4, 1, block.width - 1)];
    let mut all: Vec<Vec<BlockTask>> = parts.iter().map(|task| vec![task.clone()]).collect();
    all.push(parts.to_vec());
    all
}

fn check(
    engine: &dyn Engine,
    block: &BlockLayout,
    bytes: &[u8],
    kind: &Kind,
    value: &[u8],
    seen: &mut [bool; 2],
) {
    let bands = kind.spec.bands;
    let sought = Sought::new(block.data_type, &fill_of(value));
    for tasks in tasks(block) {
        let output = kind.output(engine).looking_for(sought).unwrap();
        let all = (0..block.samples).collect();
        let job = DecodeJob::new(vec![Arc::new(block.clone())], vec![all], tasks.clone()).unwrap();
        let report = run(engine, job, bytes, &output);
        assert_eq!(report.blocks, tasks.len() as u64);
        let found = kind.bytes(engine, output);
        let wanted = written(&kind.spec, &found, &tasks, bands, value);
        let what = (block.sample, block.width, kind.spec.strides, kind.on_device, value, tasks.len());
        assert_eq!(report.found, Some(wanted), "{what:?}");
        seen[usize::from(wanted)] = true;
    }
}

/// Values at which comparing goes wrong: both zeros, NaN of more than one kind, and the ends of integers.
fn specials(data_type: DataType) -> Vec<Vec<u8>> {
    let of = |words: &[&[u8]]| words.iter().map(|word| word.to_vec()).collect();
    match data_type {
        DataType::F16 => of(&[
            &0u16.to_ne_bytes(),
            &0x8000u16.to_ne_bytes(),
            &0x7E00u16.to_ne_bytes(),
            &0xFC01u16.to_ne_bytes(),
        ]),
        DataType::F32 => of(&[
            &0f32.to_ne_bytes(),
            &(-0f32).to_ne_bytes(),
            &f32::NAN.to_ne_bytes(),
            &0xFF80_0001u32.to_ne_bytes(),
        ]),
        DataType::F64 => of(&[&0f64.to_ne_bytes(), &(-0f64).to_ne_bytes(), &f64::NAN.to_ne_bytes()]),
        DataType::C64 => of(&[&[0; 8], &[f32::NAN.to_ne_bytes(), [0; 4]].concat()]),
        DataType::C128 => of(&[&[0; 16], &[f64::NAN.to_ne_bytes(), [0; 8]].concat()]),
        _ => of(&[&vec![0; data_type.size()], &vec![0xFF; data_type.size()]]),
    }
}

pub(super) fn a_value_is_found_where_it_is_written(engine: &dyn Engine) {
    let types = [
        (Uint, &[8u16, 16, 32, 64][..]),
        (Int, &[8, 16, 32, 64]),
        (Float, &[16, 32, 64]),
        (ComplexFloat, &[64, 128]),
    ];
    let mut turn = 0;
    for (format, bits) in
        types.into_iter().flat_map(|(format, depths)| depths.iter().map(move |&bits| (format, bits)))
    {
        let mut seen = [false; 2];
        for (width, samples) in WIDTHS.into_iter().flat_map(|width| [(width, 1), (width, 3)]) {
            let mut block = layout(width, HEIGHT, samples, format, bits);
            let size = block.data_type.size();
            let mut bytes = noise(block.decoded_len(HEIGHT).unwrap());
            let last = bytes.len() - size;
            let (first, absent) = (bytes[..size].to_vec(), vec![0x5A; size]);
            let mut values = specials(block.data_type);
            // The second special lies in the last column alone, if anywhere.
            bytes[last..].copy_from_slice(&values[1]);
            values.extend([first, absent]);
            for (at, value) in values.iter().enumerate() {
                block.extras.fill = fill_of(if at % 2 == 0 { value } else { &values[0] });
                let kinds = kinds(engine, block.data_type, samples.into(), (5 * HEIGHT, width));
                turn += 1;
                check(engine, &block, &bytes, &kinds[turn % kinds.len()], value, &mut seen);
            }
        }
        assert_eq!(seen, [true; 2], "{format:?} of {bits} bits: found and not found");
    }
    // An output that looks for nothing says nothing.
    let block = layout(3, HEIGHT, 1, Uint, 8);
    let output = kinds(engine, DataType::U8, 1, (HEIGHT, 3))[0].output(engine);
    assert_eq!(run(engine, job(&block, vec![task(&block, 0)]), &noise(9), &output).found, None);
}

/// What is looked for is a sample of the output, after it was converted.
pub(super) fn converted_samples_are_searched(engine: &dyn Engine) {
    for (width, target) in WIDTHS.into_iter().zip([DataType::F32, DataType::F64, DataType::F16]) {
        let block = layout(width, HEIGHT, 1, Int, 16);
        let nodata = (-99i16).to_ne_bytes();
        let plain = 7i16.to_ne_bytes().repeat((width * HEIGHT) as usize);
        let mut holed = plain.clone();
        let last = holed.len() - 2;
        holed[last..].copy_from_slice(&nodata);
        for kind in kinds(engine, target, 1, (HEIGHT, width)) {
            for (bytes, wanted) in [(&plain, false), (&holed, true)] {
                let output =
                    kind.output(engine).converting(Convert::masking(Some(fill_of(&nodata)))).unwrap();
                let output = output.looking_for(Sought::nan(target)).unwrap();
                let report = run(engine, job(&block, vec![task(&block, 0)]), bytes, &output);
                assert_eq!(report.found, Some(wanted), "{target}, {:?}", kind.spec.strides);
            }
        }
    }
}

/// Finished pixels are searched band by band, each band for its own value.
pub(super) fn finished_pixels_are_searched(engine: &dyn Engine) {
    let sizes = [(1, 1), (33, 7), (129, 5)];
    for (turn, (format, bits)) in
        [(Uint, 8), (Int, 16), (Float, 32), (Float, 64), (ComplexFloat, 64)].into_iter().enumerate()
    {
        for ((columns, rows), bands) in sizes.into_iter().flat_map(|size| [(size, 1), (size, 3)]) {
            let block = layout(columns, rows, bands, format, bits);
            let size = block.data_type.size();
            let value = &specials(block.data_type)[turn % 2];
            // Nothing but the last sample is the value.
            let other = vec![0x5A; size];
            let mut bytes = other.repeat(usize::from(bands) * (columns * rows) as usize);
            let last = bytes.len() - size;
            bytes[last..].copy_from_slice(value);
            let [own, absent] =
                [value, &vec![0x33; size]].map(|value| Sought::new(block.data_type, &fill_of(value)));
            let part = |first_band, bands, sought| FindPart { first_band, bands, sought };
            let count = u32::from(bands);
            let jobs = [
                (FindJob::all(count, own), true),
                (FindJob::all(count, absent), false),
                (FindJob { parts: vec![part(count - 1, 1, own)] }, true),
                (FindJob { parts: vec![part(0, count - 1, own), part(count - 1, 1, absent)] }, false),
                (FindJob { parts: vec![part(0, count - 1, absent), part(count - 1, 1, own)] }, true),
                (FindJob::default(), false),
            ];
            for kind in kinds(engine, block.data_type, count, (rows, columns)) {
                if engine.location() != Location::Host && !kind.on_device {
                    continue;
                }
                let output = kind.output(engine);
                run(engine, job(&block, vec![task(&block, 0)]), &bytes, &output);
                for (job, wanted) in &jobs {
                    let found = engine.find(job, &output, &Context::default()).unwrap();
                    assert_eq!(found, *wanted, "{}, {:?}: {job:?}", block.sample, kind.spec);
                }
                let beyond = FindJob { parts: vec![part(count, 1, own)] };
                let refused = engine.find(&beyond, &output, &Context::default());
                assert!(matches!(refused, Err(EngineError::Mismatch { .. })), "{refused:?}");
                let context = Context::default();
                context.cancel.cancel();
                assert_eq!(engine.find(&jobs[0].0, &output, &context), Err(EngineError::Cancelled));
            }
        }
    }
}

/// Samples that are a value become another one, band by band, and all others stay as they are. Of complex ones the real part counts.
pub(super) fn values_are_replaced(engine: &dyn Engine) {
    for ((format, bits), (columns, rows)) in
        [(Float, 32), (Float, 64), (ComplexFloat, 64), (ComplexFloat, 128), (Int, 16)]
            .into_iter()
            .flat_map(|kind| [(1, 1), (33, 7), (129, 5)].map(|size| (kind, size)))
    {
        let block = layout(columns, rows, 3, format, bits);
        let (data_type, size) = (block.data_type, block.data_type.size());
        let count = 3 * (columns * rows) as usize;
        // Every third sample is the value, by turns in each band; parts behind the first number are others.
        let number = if format == ComplexFloat { size / 2 } else { size };
        let (value, other) = (vec![0x41; number], vec![0x5A; number]);
        let sample = |at: usize| {
            let first = if at % 4 == 1 { &value } else { &other };
            [first.as_slice(), &other].concat()[..size].to_vec()
        };
        let bytes: Vec<u8> = (0..count).flat_map(sample).collect();
        let new = fill_of(&vec![0x77; size]);
        let (sought, _) = Change::differs(data_type, &fill_of(&value)).sought(data_type).unwrap();
        let part = |first_band, bands| FindPart { first_band, bands, sought };
        for parts in [vec![part(0, 3)], vec![part(2, 1), part(0, 1)], vec![]] {
            let named = |band: u32| {
                parts.iter().any(|part| (part.first_band..part.first_band + part.bands).contains(&band))
            };
            for kind in kinds(engine, data_type, 3, (rows, columns)) {
                if engine.location() != Location::Host && !kind.on_device {
                    continue;
                }
                let output = kind.output(engine);
                run(engine, job(&block, vec![task(&block, 0)]), &bytes, &output);
                let replaced = ReplaceJob { parts: parts.clone(), value: new };
                engine.replace(&replaced, &output, &Context::default()).unwrap();
                let found = kind.bytes(engine, output);
                let Strides { band: down, row: along, column: across } = kind.spec.strides;
                for (at, stored) in bytes.chunks(size).enumerate() {
                    let (pixel, band) = (at / 3, at % 3);
                    let (row, column) = (pixel / columns as usize, pixel % columns as usize);
                    let is_value = stored[..number] == value && named(band as u32);
                    let wanted = if is_value { &new.0[..size] } else { stored };
                    let at = band * down + row * along + column * across;
                    assert_eq!(&found[at..at + size], wanted, "{data_type}, {:?}, {parts:?}", kind.spec);
                }
            }
        }
        let twice = ReplaceJob { parts: vec![part(0, 2), part(1, 1)], value: new };
        let kind = &kinds(engine, data_type, 3, (rows, columns))[0];
        let refused = engine.replace(&twice, &kind.output(engine), &Context::default());
        assert!(matches!(refused, Err(EngineError::Mismatch { .. })), "{refused:?}");
    }
}

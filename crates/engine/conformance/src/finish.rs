//! The last step of a read: samples are changed and images turned as the contract says, in place and into other memory.

use super::jobs::{job, layout, noise, run, task};
use super::kinds::{GAP, Kind, kinds};
use std::sync::Arc;
use strile_engine::{
    Change, Context, Engine, EngineError, Fill, FinishJob, Location, Output, OutputSpec, SharedPixels,
    Strides, Turn,
};
use strile_tiff::DataType;
use strile_tiff::SampleFormat::{ComplexFloat, Float, Int, Uint};

/// Longer and shorter than what engines take at once.
const SIZES: [(u32, u32); 3] = [(1, 1), (70, 35), (3, 130)];

const TYPES: [(strile_tiff::SampleFormat, u16); 13] = [
    (Uint, 8),
    (Int, 8),
    (Uint, 16),
    (Int, 16),
    (Uint, 32),
    (Int, 32),
    (Uint, 64),
    (Int, 64),
    (Float, 16),
    (Float, 32),
    (Float, 64),
    (ComplexFloat, 64),
    (ComplexFloat, 128),
];

/// The kinds of output that a step works on: those in the memory of the engine.
fn own_kinds(engine: &dyn Engine, data_type: DataType, bands: u32, (columns, rows): (u32, u32)) -> Vec<Kind> {
    let here = engine.location() != Location::Host;
    kinds(engine, data_type, bands, (rows, columns))
        .into_iter()
        .filter(|kind| kind.on_device == here)
        .collect()
}

/// An output that holds `bytes`, pixel after pixel.
fn filled(
    engine: &dyn Engine,
    kind: &Kind,
    (format, bits): (strile_tiff::SampleFormat, u16),
    bytes: &[u8],
) -> Output {
    let OutputSpec { bands, rows, columns, .. } = kind.spec;
    let block = layout(columns, rows, bands as u16, format, bits);
    let output = kind.output(engine);
    assert_eq!(run(engine, job(&block, vec![task(&block, 0)]), bytes, &output).faults, []);
    output
}

fn shared(output: Output) -> SharedPixels {
    let spec = output.spec().clone();
    match output.device_bytes() {
        Some(bytes) => SharedPixels::on_device(spec, bytes.clone()).unwrap(),
        None => SharedPixels::new(spec, Arc::new(output.into_vec().unwrap())).unwrap(),
    }
}

/// What a pixel becomes, all its bands, written down once more.
fn changed(change: Change, data_type: DataType, pixel: &[u8]) -> Vec<u8> {
    let size = data_type.size();
    let byte = |is: bool| if is { 255 } else { 0 };
    let any = |sample: &[u8]| sample.iter().any(|byte| *byte != 0);
    match change {
        Change::Nothing => pixel.to_vec(),
        Change::Invert(bits) => {
            let flip = |(at, byte): (usize, &u8)| {
                let bits = usize::from(bits).saturating_sub(8 * (at % size)).min(8);
                byte ^ ((1u32 << bits) - 1) as u8
            };
            pixel.iter().enumerate().map(flip).collect()
        }
        Change::Negate => {
            let sign = |(at, byte): (usize, &u8)| if at % size == size - 1 { byte ^ 0x80 } else { *byte };
            pixel.iter().enumerate().map(sign).collect()
        }
        Change::NotZero => pixel.chunks(size).map(|sample| byte(any(sample))).collect(),
        Change::Alpha => pixel
            .chunks(size)
            .map(|sample| match data_type {
                DataType::U8 => sample[0],
                DataType::U16 => {
                    let value = u16::from_ne_bytes(sample.try_into().unwrap());
                    // 65535 is 257 times 255.
                    if value > 0 { ((value / 257) as u8).max(1) } else { 0 }
                }
                _ => byte(any(sample)),
            })
            .collect(),
        Change::Differs(_) => {
            let value = value_of(data_type);
            let real = if matches!(data_type, DataType::C64 | DataType::C128) { size / 2 } else { size };
            let is = |sample: &[u8]| {
                let (a, b) = (&sample[..real], &value.0[..real]);
                let number = |bytes: &[u8]| match data_type {
                    DataType::F32 | DataType::C64 => {
                        Some(f64::from(f32::from_ne_bytes(bytes.try_into().unwrap())))
                    }
                    DataType::F64 | DataType::C128 => Some(f64::from_ne_bytes(bytes.try_into().unwrap())),
                    DataType::F16 => {
                        let bits = u16::from_ne_bytes(bytes.try_into().unwrap());
                        let magnitude = bits & 0x7FFF;
                        // Its own value is of no matter, only which bits are NaN and which are a zero.
                        Some(if magnitude > 0x7C00 {
                            f64::NAN
                        } else if magnitude == 0 {
                            0.0
                        } else {
                            bits.into()
                        })
                    }
                    _ => None,
                };
                match (number(a), number(b)) {
                    (Some(a), Some(b)) => a == b || (a.is_nan() && b.is_nan()),
                    _ => a == b,
                }
            };
            vec![byte(!pixel.chunks(size).all(is))]
        }
    }
}

/// Where the picture's pixel (row, column) is stored, as TIFF 6.0 says of the first row and the first column.
fn stored((row, column): (u32, u32), orientation: u8, (columns, rows): (u32, u32)) -> (u32, u32) {
    match orientation {
        1 => (row, column),
        2 => (row, columns - 1 - column),
        3 => (rows - 1 - row, columns - 1 - column),
        4 => (rows - 1 - row, column),
        5 => (column, row),
        6 => (rows - 1 - column, row),
        7 => (rows - 1 - column, columns - 1 - row),
        _ => (column, columns - 1 - row),
    }
}

fn check(
    engine: &dyn Engine,
    sample: (strile_tiff::SampleFormat, u16),
    change: Change,
    orientation: u8,
    at: usize,
) {
    let size = SIZES[at % SIZES.len()];
    let bands = 1 + (at % 3) as u32;
    let block = layout(size.0, size.1, bands as u16, sample.0, sample.1);
    let data_type = block.data_type;
    let pixel = data_type.size() * bands as usize;
    let mut bytes = noise(block.decoded_len(size.1).unwrap());
    if let Change::Differs(_) = change {
        let value = value_of(data_type);
        for (at, sample) in bytes.chunks_mut(data_type.size()).enumerate().filter(|(at, _)| at % 7 < 4) {
            sample.copy_from_slice(&value.0[..data_type.size()]);
            // The other zero, and another NaN.
            if at % 7 == 0 && value.0[..data_type.size()].iter().all(|byte| *byte == 0) && sample.len() == 4 {
                sample.copy_from_slice(&(-0.0f32).to_ne_bytes());
            }
        }
    }
    let job = FinishJob { change, turn: Turn::of_orientation(orientation) };
    let (gives, made_bands) = change.gives(data_type, bands);
    let to_size = job.turn.size(size);
    let from_kinds = own_kinds(engine, data_type, bands, size);
    let to_kinds = own_kinds(engine, gives, made_bands, to_size);
    let from = &from_kinds[at % from_kinds.len()];
    let to = &to_kinds[at / 2 % to_kinds.len()];
    let made_pixel = gives.size() * made_bands as usize;
    let in_place = job.is_in_place(data_type);
    for alone in [false, true].into_iter().filter(|alone| in_place || !alone) {
        let kind = if alone { from } else { to };
        let output = match alone {
            true => {
                let output = filled(engine, from, sample, &bytes);
                engine.finish(&job, None, &output, &Context::default()).unwrap();
                output
            }
            false => {
                let (pixels, output) = (shared(filled(engine, from, sample, &bytes)), to.output(engine));
                engine.finish(&job, Some(&pixels), &output, &Context::default()).unwrap();
                output
            }
        };
        let found = kind.bytes(engine, output);
        let Strides { band, row, column } = kind.spec.strides;
        let mut written = vec![false; found.len()];
        for (y, x) in (0..to_size.1).flat_map(|y| (0..to_size.0).map(move |x| (y, x))) {
            let (from_y, from_x) = stored((y, x), orientation, size);
            let start = (from_y as usize * size.0 as usize + from_x as usize) * pixel;
            let wanted = changed(change, data_type, &bytes[start..start + pixel]);
            assert_eq!(wanted.len(), made_pixel);
            for (number, wanted) in wanted.chunks(gives.size()).enumerate() {
                let start = number * band + y as usize * row + x as usize * column;
                let what = (data_type, job, size, bands, alone, &kind.spec, (number, y, x));
                assert_eq!(&found[start..start + gives.size()], wanted, "{what:?}");
                written[start..start + gives.size()].fill(true);
            }
        }
        let gaps = found.iter().zip(written).filter(|(_, written)| !written);
        assert!(
            gaps.into_iter().all(|(byte, _)| *byte == GAP),
            "{job:?}: bytes between samples were written"
        );
    }
}

/// The value that `Differs` compares samples of a type with.
fn value_of(data_type: DataType) -> Fill {
    let mut fill = Fill::default();
    let bytes: &[u8] = match data_type {
        DataType::F16 => &0x7E00u16.to_ne_bytes(),
        DataType::F32 => &0f32.to_ne_bytes(),
        DataType::F64 => &f64::NAN.to_ne_bytes(),
        DataType::C64 => &2.5f32.to_ne_bytes(),
        _ => &[0xC3; 16],
    };
    fill.0[..bytes.len()].copy_from_slice(bytes);
    fill
}

pub(super) fn images_are_turned_every_way(engine: &dyn Engine) {
    let mut at = 0;
    for sample in TYPES {
        for orientation in 1..=8 {
            check(engine, sample, Change::Nothing, orientation, at);
            at += 1;
        }
    }
}

pub(super) fn samples_are_changed_and_turned(engine: &dyn Engine) {
    let mut at = 0;
    for sample in TYPES {
        let data_type = layout(1, 1, 1, sample.0, sample.1).data_type;
        let differs = Change::differs(data_type, &value_of(data_type));
        let (whole, part) = (Change::Invert(sample.1.min(64)), Change::Invert(sample.1.min(64) / 2 + 1));
        let negated = matches!(sample.0, Float).then_some(Change::Negate);
        for change in [whole, part, Change::NotZero, Change::Alpha, differs].into_iter().chain(negated) {
            for orientation in [1, 1, 4, 6] {
                check(engine, sample, change, orientation, at);
                at += 1;
            }
        }
    }
}

pub(super) fn a_finish_job_must_fit_its_pixels(engine: &dyn Engine) {
    let sample = (Uint, 8);
    let [kind, ..] = &own_kinds(engine, DataType::U8, 2, (5, 4))[..] else { panic!("no kind") };
    let bytes = noise(40);
    let (pixels, output) = (shared(filled(engine, kind, sample, &bytes)), kind.output(engine));
    let turned = FinishJob { turn: Turn::of_orientation(6), ..FinishJob::default() };
    let refused = |job: &FinishJob, pixels: Option<&SharedPixels>| {
        let error = engine.finish(job, pixels, &output, &Context::default()).unwrap_err();
        assert!(matches!(error, EngineError::Mismatch { .. }), "{error}");
    };
    refused(&turned, Some(&pixels));
    refused(&turned, None);
    let differs = Change::differs(DataType::U8, &Fill::default());
    refused(&FinishJob { change: differs, ..FinishJob::default() }, Some(&pixels));
    let context = Context::default();
    context.cancel.cancel();
    let inverted = FinishJob { change: Change::Invert(8), ..FinishJob::default() };
    assert_eq!(engine.finish(&inverted, None, &output, &context), Err(EngineError::Cancelled));
}

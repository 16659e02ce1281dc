//! The kernel of `finish.cu` equals the CPU engine, bit for bit: every change and every turn, samples of every type, any
//! strides, in place and not.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "code of tests: it fails by panicking, and knows its numbers"
)]

use std::sync::Arc;
use strile_cpu::CpuEngine;
use strile_cuda::steps::finish;
use strile_emulate::{Emulator, Garbage, Poisoned};
use strile_engine::{
    Change, Context, Engine, Fill, FinishJob, Output, OutputSpec, SharedPixels, Strides, Turn,
};
use strile_tiff::DataType;

fn below(draw: &mut Garbage, n: u32) -> u32 {
    (draw.word() >> 16) as u32 % n.max(1)
}

/// Band after band, pixel after pixel, or with bytes between rows and samples, which are not aligned in the last style.
fn spec(data_type: DataType, bands: u32, (columns, rows): (u32, u32), style: u32) -> OutputSpec {
    let size = data_type.size();
    if style == 1 {
        return OutputSpec::band_last(data_type, bands, rows, columns).unwrap();
    }
    let column = [size, 0, 3 * size, size + 1][style as usize];
    let row = columns as usize * column + [0, 0, size, 3][style as usize];
    let strides = Strides { band: row * rows as usize, row, column };
    OutputSpec { data_type, bands, rows, columns, strides }
}

/// Samples of which some are the value, 0, or another NaN.
fn fill_samples(spec: &OutputSpec, bytes: &mut [u8], value: &Fill, draw: &mut Garbage) {
    let (Strides { band, row, column }, size) = (spec.strides, spec.data_type.size());
    for plane in 0..spec.bands as usize {
        for y in 0..spec.rows as usize {
            for x in 0..spec.columns as usize {
                let at = plane * band + y * row + x * column;
                let sample = &mut bytes[at..at + size];
                match below(draw, 4) {
                    0 => sample.copy_from_slice(&value.0[..size]),
                    1 => sample.fill(0),
                    2 => sample.fill(0xFF),
                    _ => sample.iter_mut().for_each(|byte| *byte = draw.word() as u8),
                }
            }
        }
    }
}

fn compare(data_type: DataType, change: Change, turn: Turn, seed: u64) {
    let mut draw = Garbage::new(seed);
    let size = (1 + below(&mut draw, 80), 1 + below(&mut draw, 70));
    let from = spec(data_type, 1 + below(&mut draw, 3), size, below(&mut draw, 4));
    let job = FinishJob { change, turn };
    let value = if let Change::Differs(_) = change { value_of(data_type) } else { Fill([7; 16]) };
    let (gives, bands) = change.gives(data_type, from.bands);
    let in_place = job.is_in_place(data_type) && below(&mut draw, 2) == 0;
    let to = if in_place { from.clone() } else { spec(gives, bands, turn.size(size), below(&mut draw, 4)) };
    let mut pixels = Poisoned::new(from.len().unwrap(), seed);
    fill_samples(&from, &mut pixels, &value, &mut draw);
    let mut found = if in_place {
        Poisoned::from_bytes(&pixels, seed)
    } else {
        Poisoned::new(to.len().unwrap(), seed ^ 1)
    };
    let shared = SharedPixels::new(from.clone(), Arc::new(pixels.to_vec())).unwrap();
    let output = Output::from_vec(to.clone(), found.to_vec()).unwrap();
    CpuEngine::new().finish(&job, (!in_place).then_some(&shared), &output, &Context::default()).unwrap();
    let wanted = output.into_vec().unwrap();
    let src = (!in_place).then_some((&from, pixels.address()));
    let planned = finish::plan(&job, src, (&to, found.address())).unwrap();
    let kernels = Emulator::module(finish::MODULE).unwrap();
    assert_eq!(kernels.threads(finish::MODULE), Some(finish::THREADS));
    kernels.launch(finish::MODULE, (planned.grid, 1), finish::THREADS, &planned.args, seed).unwrap();
    found.check().unwrap();
    pixels.check().unwrap();
    let differs = found.iter().zip(&wanted).position(|(a, b)| a != b);
    assert_eq!(differs, None, "{data_type}, {job:?}, in place: {in_place}, seed {seed}, {from:?} to {to:?}");
}

fn value_of(data_type: DataType) -> Fill {
    let mut fill = Fill::default();
    let bytes: &[u8] = match data_type {
        DataType::F16 => &0x7E00u16.to_le_bytes(),
        DataType::F32 | DataType::C64 => &f32::NAN.to_le_bytes(),
        DataType::F64 => &(-0.0f64).to_le_bytes(),
        DataType::C128 => &2.5f64.to_le_bytes(),
        _ => &[0xFF; 8],
    };
    fill.0[..bytes.len()].copy_from_slice(bytes);
    fill
}

#[test]
fn every_change_and_turn_as_on_the_cpu() {
    let mut seed = 0;
    for data_type in DataType::ALL {
        let bits = 8 * data_type.size() as u16;
        let changes = [
            Change::Nothing,
            Change::Invert(bits.min(64)),
            Change::Invert(bits / 2 + 1),
            Change::NotZero,
            Change::Alpha,
            Change::differs(data_type, &value_of(data_type)),
        ];
        for change in changes {
            for orientation in 1..=8 {
                compare(data_type, change, Turn::of_orientation(orientation), seed);
                seed += 1;
            }
        }
    }
}

#[test]
fn what_a_launch_cannot_have_is_refused() {
    let huge = spec(DataType::U8, 1, (1 << 20, 1 << 12), 0);
    let job = FinishJob { change: Change::Invert(8), ..FinishJob::default() };
    let refused = finish::plan(&job, None, (&huge, 512)).unwrap_err().to_string();
    assert!(refused.contains("fewer than a launch can have"), "{refused}");
}

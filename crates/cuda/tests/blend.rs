//! The kernel of `blend.cu` equals the CPU engine, bit for bit: every pair of types, every way, masks, tables, picks, any
//! strides.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "code of tests: it fails by panicking, and knows its numbers"
)]

use std::sync::Arc;
use strile_cpu::CpuEngine;
use strile_cuda::steps::blend::{self, Places};
use strile_emulate::{Emulator, Garbage, Poisoned};
use strile_engine::number::{Number, sample_of};
use strile_engine::{
    Blend, BlendJob, BlendLayer, BlendSamples, BlendScaling, BlendValues, BlendWay, Context, Engine, Fill,
    Output, OutputSpec, Picks, SharedPixels, Strides,
};
use strile_tiff::DataType;

fn below(draw: &mut Garbage, n: u32) -> u32 {
    (draw.word() >> 16) as u32 % n.max(1)
}

/// Band after band, or with bytes between rows and samples, which are not aligned in the last style.
fn spec(data_type: DataType, bands: u32, (columns, rows): (u32, u32), style: u32) -> OutputSpec {
    let size = data_type.size();
    let column = [size, 3 * size, size + 1][style as usize];
    let row = columns as usize * column + [0, size, 3][style as usize];
    let strides = Strides { band: row * rows as usize, row, column };
    OutputSpec { data_type, bands, rows, columns, strides }
}

/// Values at which rounding, clamping and comparing turn.
const VALUES: [f64; 34] = [
    0.0,
    -0.0,
    0.4999999701976776,
    0.5,
    -0.5,
    1.0,
    1.5,
    -1.5,
    2.5,
    7.0,
    7.000000834465027,
    7.00001,
    15.0,
    16.0,
    127.5,
    -128.5,
    254.5,
    255.49999,
    256.0,
    -300.7,
    32767.5,
    65535.0,
    65536.0,
    2147483647.0,
    2147483648.0,
    4294967295.5,
    -9223372036854775808.0,
    9223372036854775808.0,
    18446744073709551616.0,
    3.4028234663852886e38,
    -3.40282347e38,
    1e300,
    f64::INFINITY,
    f64::NAN,
];

fn any_value(draw: &mut Garbage) -> f64 {
    VALUES[below(draw, VALUES.len() as u32) as usize]
}

/// A sample: one of the values, or anything.
fn put_sample(data_type: DataType, sample: &mut [u8], draw: &mut Garbage) {
    if data_type != DataType::F16 && below(draw, 3) != 0 {
        let value = any_value(draw);
        sample.copy_from_slice(&sample_of(Number::Double(value), data_type)[..sample.len()]);
        return;
    }
    match below(draw, 4) {
        0 => sample.fill(0xFF),
        1 => sample.fill(0),
        _ => sample.iter_mut().for_each(|byte| *byte = draw.word() as u8),
    }
}

fn fill_samples(spec: &OutputSpec, bytes: &mut [u8], draw: &mut Garbage) {
    let (Strides { band, row, column }, size) = (spec.strides, spec.data_type.size());
    for plane in 0..spec.bands as usize {
        for y in 0..spec.rows as usize {
            for x in 0..spec.columns as usize {
                let at = plane * band + y * row + x * column;
                put_sample(spec.data_type, &mut bytes[at..at + size], draw);
            }
        }
    }
}

fn table(draw: &mut Garbage) -> Vec<(f64, f64)> {
    let mut values: Vec<f64> = (0..below(draw, 6)).map(|_| any_value(draw)).collect();
    values.retain(|value| !value.is_nan());
    values.sort_by(f64::total_cmp);
    if below(draw, 3) == 0 {
        values.insert(0, f64::NAN);
    }
    values.into_iter().map(|value| (value, any_value(draw))).collect()
}

fn any_blend(draw: &mut Garbage) -> Blend {
    let scaling = match below(draw, 3) {
        0 => BlendScaling::None,
        1 => BlendScaling::Linear { offset: 0.1, ratio: 1.0 / 3.0 },
        _ => BlendScaling::Linear { offset: any_value(draw), ratio: any_value(draw) },
    };
    let nodata = (below(draw, 2) == 0).then(|| any_value(draw));
    let values = match below(draw, 4) {
        0 => None,
        1 => Some(BlendValues { nodata, ..BlendValues::default() }),
        _ => Some(BlendValues { nodata, uses_mask: below(draw, 2) == 0, scaling, table: table(draw) }),
    };
    let largest = (below(draw, 3) == 0).then(|| (1i32 << (1 + below(draw, 30))) - 1);
    Blend { nodata: nodata.filter(|_| values.is_some()), values: values.map(Arc::new), largest }
}

fn any_picks(count: u32, pixels: u32, draw: &mut Garbage) -> Picks {
    if count <= pixels && below(draw, 2) == 0 {
        return Picks::Run;
    }
    let mut picks: Vec<u32> = (0..count).map(|_| below(draw, pixels)).collect();
    picks.sort_unstable();
    Picks::Each(picks.into())
}

fn compare(from_type: DataType, to_type: DataType, seed: u64) -> BlendWay {
    let mut draw = Garbage::new(seed);
    let size = (1 + below(&mut draw, 40), 1 + below(&mut draw, 19));
    let source = (1 + below(&mut draw, 50), 1 + below(&mut draw, 30));
    let around = (size.0 + below(&mut draw, 4), size.1 + below(&mut draw, 4));
    let blend = any_blend(&mut draw);
    let way = blend.way(from_type, to_type);
    let at = (below(&mut draw, around.0 - size.0 + 1), below(&mut draw, around.1 - size.1 + 1));
    let job = BlendJob {
        band: below(&mut draw, 2),
        at,
        size,
        columns: any_picks(size.0, source.0, &mut draw),
        rows: any_picks(size.1, source.1, &mut draw),
        blend,
    };
    let from = spec(from_type, 1, source, below(&mut draw, 3));
    let of_mask = spec(DataType::U8, 1, source, below(&mut draw, 2));
    let to = spec(to_type, 2, around, below(&mut draw, 3));
    let mut pixels = Poisoned::new(from.len().unwrap(), seed);
    fill_samples(&from, &mut pixels, &mut draw);
    let mut mask = Poisoned::new(of_mask.len().unwrap(), seed ^ 2);
    mask.iter_mut().for_each(|byte| *byte = [0, 1, 255][below(&mut draw, 3) as usize]);
    let is_masked = matches!(way, BlendWay::Change(_)) && below(&mut draw, 2) == 0;
    let is_one = below(&mut draw, 6) == 0;
    let mut one = Fill::default();
    put_sample(from_type, &mut one.0[..from_type.size()], &mut draw);
    let mut found = Poisoned::new(to.len().unwrap(), seed ^ 1);
    let shared = SharedPixels::new(from.clone(), Arc::new(pixels.to_vec())).unwrap();
    let shared_mask = SharedPixels::new(of_mask, Arc::new(mask.to_vec())).unwrap();
    let layer = BlendLayer {
        samples: if is_one { BlendSamples::One(from_type, one) } else { BlendSamples::Pixels(&shared) },
        mask: is_masked.then_some(&shared_mask),
    };
    let output = Output::from_vec(to.clone(), found.to_vec()).unwrap();
    CpuEngine::new().blend(&job, &layer, &output, &Context::default()).unwrap();
    let wanted = output.into_vec().unwrap();
    let places = Places {
        pixels: (!is_one).then(|| pixels.address()),
        mask: is_masked.then(|| mask.address()),
        output: found.address(),
    };
    let planned = blend::plan(&job, &layer, &to, places).unwrap();
    let tables = Poisoned::from_bytes(&planned.tables, seed);
    let kernels = Emulator::module(blend::MODULE).unwrap();
    assert_eq!(kernels.threads(blend::MODULE), Some(blend::THREADS));
    let args = planned.args(tables.address());
    kernels.launch(blend::MODULE, (planned.grid, 1), blend::THREADS, &args, seed).unwrap();
    found.check().unwrap();
    pixels.check().unwrap();
    let differs = found.iter().zip(&wanted).position(|(a, b)| a != b);
    assert_eq!(
        differs, None,
        "{from_type} upon {to_type}, seed {seed}: {job:?}, {way:?}, {from:?} to {to:?}"
    );
    way
}

#[test]
fn every_pair_of_types_as_on_the_cpu() {
    let mut ways = [0; 4];
    for (index, from) in (0u64..).zip(DataType::ALL) {
        for (other, to) in (0u64..).zip(DataType::ALL).filter(|(_, to)| *to != DataType::F16) {
            for round in 0..12 {
                let way = compare(from, to, (index * 20 + other) * 100 + round);
                ways[match way {
                    BlendWay::Copy => 0,
                    BlendWay::Convert { .. } => 1,
                    BlendWay::Unless(_) => 2,
                    BlendWay::Change(_) => 3,
                }] += 1;
            }
        }
    }
    assert!(ways.iter().all(|count| *count > 5), "{ways:?}");
}

#[test]
fn what_a_launch_cannot_have_is_refused() {
    let huge = spec(DataType::U8, 1, (1 << 20, 1 << 12), 0);
    let layer = BlendLayer { samples: BlendSamples::One(DataType::U8, Fill::default()), mask: None };
    let places = Places { pixels: None, mask: None, output: 512 };
    let job = |blend| BlendJob {
        band: 0,
        at: (0, 0),
        size: (1 << 20, 1 << 12),
        columns: Picks::Run,
        rows: Picks::Run,
        blend,
    };
    let plain = Blend::default();
    let refused = blend::plan(&job(plain), &layer, &huge, places).unwrap_err().to_string();
    assert!(refused.contains("fewer than a launch can have"), "{refused}");
    let scaling = BlendScaling::Power { exponent: 2.0, from: (0.0, 1.0), to: (0.0, 1.0), clip: true };
    let values = Some(Arc::new(BlendValues { scaling, ..BlendValues::default() }));
    let power = Blend { values, ..Blend::default() };
    let small = BlendJob { size: (3, 3), ..job(power) };
    let refused = blend::plan(&small, &layer, &huge, places).unwrap_err().to_string();
    assert!(refused.contains("raised to a power"), "{refused}");
}

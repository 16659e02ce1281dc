//! Layers of mosaics: samples are picked, converted, changed and left out as the contract says, and nothing else is written.

use super::jobs::{job, layout, run, task};
use super::kinds::{GAP, Kind, kinds};
use std::sync::Arc;
use strile_engine::number::{Number, reader, sample_of};
use strile_engine::{
    Blend, BlendJob, BlendLayer, BlendSamples, BlendScaling, BlendValues, Context, Engine, EngineError, Fill,
    Location, Output, OutputSpec, Picks, SharedPixels, Strides, Support,
};
use strile_tiff::{DataType, SampleFormat};

/// Columns and rows of the layer, and of the output.
const LAYER: (u32, u32) = (37, 21);
const OUTPUT: (u32, u32) = (45, 30);

/// Numbers that every engine draws alike.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n.max(1)
    }

    fn value(&mut self) -> f64 {
        const VALUES: [f64; 16] = [
            0.0,
            0.5,
            -0.5,
            1.5,
            2.5,
            7.0,
            7.000_000_5,
            15.5,
            -300.7,
            254.5,
            65_535.5,
            4e9,
            -1e19,
            1e38,
            1e300,
            f64::NAN,
        ];
        VALUES[self.below(16) as usize]
    }

    fn picks(&mut self, count: u32, pixels: u32) -> Picks {
        if count <= pixels && self.below(2) == 0 {
            return Picks::Run;
        }
        let mut picks: Vec<u32> = (0..count).map(|_| self.below(pixels.into()) as u32).collect();
        picks.sort_unstable();
        Picks::Each(picks.into())
    }

    fn blend(&mut self) -> Blend {
        let nodata = (self.below(2) == 0).then(|| self.value());
        let scaling = match self.below(3) {
            0 => BlendScaling::None,
            _ => BlendScaling::Linear { offset: 0.1, ratio: 1.0 / 3.0 },
        };
        let mut table: Vec<(f64, f64)> = Vec::new();
        if self.below(3) == 0 {
            table = vec![(f64::NAN, 9.0), (-3.0, 1.0), (7.0, 250.0), (7.0, 3.0), (1e6, -40.0)];
            table.drain(..self.below(4) as usize);
        }
        let values = match self.below(4) {
            0 => None,
            1 => Some(BlendValues { nodata, ..BlendValues::default() }),
            _ => Some(BlendValues { nodata, uses_mask: true, scaling, table }),
        };
        let largest = (self.below(3) == 0).then(|| (1 << (1 + self.below(20))) - 1);
        Blend { nodata: nodata.filter(|_| values.is_some()), values: values.map(Arc::new), largest }
    }

    /// Contiguous samples of a type.
    fn samples(&mut self, data_type: DataType, count: usize) -> Vec<u8> {
        let size = data_type.size();
        let mut bytes = Vec::new();
        for _ in 0..count {
            match self.below(3) {
                // No sample of a VRT is written as a half.
                0 if data_type != DataType::F16 => {
                    bytes.extend(&sample_of(Number::Double(self.value()), data_type)[..size]);
                }
                _ => bytes.extend((0..size).map(|_| self.below(256) as u8)),
            }
        }
        bytes
    }
}

/// The stored kind of samples of a type.
fn stored(data_type: DataType) -> (SampleFormat, u16) {
    use DataType as D;
    let format = match data_type {
        D::U8 | D::U16 | D::U32 | D::U64 => SampleFormat::Uint,
        D::I8 | D::I16 | D::I32 | D::I64 => SampleFormat::Int,
        D::F16 | D::F32 | D::F64 => SampleFormat::Float,
        D::C64 | D::C128 => SampleFormat::ComplexFloat,
    };
    (format, (data_type.size() * 8) as u16)
}

/// An output that holds `bytes`, pixel after pixel.
fn filled(engine: &dyn Engine, kind: &Kind, bytes: &[u8]) -> Output {
    let OutputSpec { bands, rows, columns, data_type, .. } = kind.spec;
    let (format, bits) = stored(data_type);
    let block = layout(columns, rows, bands as u16, format, bits);
    let output = kind.output(engine);
    assert_eq!(run(engine, job(&block, vec![task(&block, 0)]), bytes, &output).faults, []);
    output
}

fn own_kinds(engine: &dyn Engine, data_type: DataType, bands: u32, (columns, rows): (u32, u32)) -> Vec<Kind> {
    let here = engine.location() != Location::Host;
    let all = kinds(engine, data_type, bands, (rows, columns));
    all.into_iter().filter(|kind| kind.on_device == here).collect()
}

fn shared(output: Output) -> SharedPixels {
    let spec = output.spec().clone();
    match output.device_bytes() {
        Some(bytes) => SharedPixels::on_device(spec, bytes.clone()).unwrap(),
        None => SharedPixels::new(spec, Arc::new(output.into_vec().unwrap())).unwrap(),
    }
}

/// What a sample becomes, by GDAL's rule for each kind of source, written down once more; `None` where what is below shows.
fn laid(blend: &Blend, (from, to): (DataType, DataType), sample: &[u8], masked: bool) -> Option<Vec<u8>> {
    use DataType as D;
    let (real, imaginary) = reader(from)(sample);
    let written = |real: Number, imaginary: Number| {
        let mut bytes = sample_of(real, to)[..to.size()].to_vec();
        if matches!(to, D::C64 | D::C128) {
            let part = if to == D::C64 { D::F32 } else { D::F64 };
            bytes[to.size() / 2..].copy_from_slice(&sample_of(imaginary, part)[..part.size()]);
        }
        bytes
    };
    let clamped = |number: Number| match (number, blend.largest) {
        (Number::Integer(value), Some(largest)) => Number::Integer(value.min(largest.into())),
        _ => number,
    };
    let simple = || match from == to && blend.largest.is_none() {
        true => sample.to_vec(),
        false => written(clamped(real), imaginary),
    };
    let Some(values) = &blend.values else { return Some(simple()) };
    let exact = matches!(from, D::U8 | D::U16 | D::I16);
    if exact && !values.uses_mask {
        let held = blend.nodata.filter(|nodata| {
            let (low, high) = match from {
                D::U8 => (0.0, 255.0),
                D::U16 => (0.0, 65_535.0),
                _ => (-32_768.0, 32_767.0),
            };
            (low..=high).contains(nodata)
        });
        let Some(nodata) = held else { return Some(simple()) };
        if real.as_f64() == nodata.trunc() {
            return None;
        }
        return Some(if from == to { sample.to_vec() } else { written(real, imaginary) });
    }
    if masked {
        return None;
    }
    let is_wide = |t: D| matches!(t, D::I32 | D::U32 | D::I64 | D::U64);
    let double = is_wide(from) || is_wide(to) || matches!(to, D::F64 | D::C128);
    let working = |v: f64| if double { Number::Double(v) } else { Number::Single(v as f32) };
    let taken = |v: Number| if double { Number::Double(v.as_f64()) } else { Number::Single(v.as_f32()) };
    let value = taken(real);
    let pair = matches!(to, D::C64 | D::C128);
    if let Some(nodata) =
        blend.nodata.filter(|v| !pair && (double || v.is_nan() || v.abs() <= f64::from(f32::MAX)))
    {
        let both = (value.as_f64().is_nan(), nodata.is_nan());
        if both == (true, true) || (both == (false, false) && value.is_near(taken(Number::Double(nodata)))) {
            return None;
        }
    }
    let changed = |number: Number| {
        let mut value = number.as_f64();
        if let BlendScaling::Linear { offset, ratio } = values.scaling {
            value = working(value * ratio + offset).as_f64();
        }
        if values.table.is_empty() {
            return working(value);
        }
        let rows: Vec<_> = values.table.iter().filter(|(from, _)| !from.is_nan()).collect();
        if value.is_nan() && rows.len() < values.table.len() {
            return working(values.table[0].1);
        }
        let after = rows.iter().position(|(from, _)| *from >= value || value.is_nan()).unwrap_or(rows.len());
        working(match (after.checked_sub(1).map(|at| rows[at]), rows.get(after)) {
            (None, Some((_, to))) | (Some((_, to)), None) => *to,
            (Some(_), Some((from, to))) if *from == value => *to,
            (Some((x0, y0)), Some((x1, y1))) => y0 + (value - x0) * ((y1 - y0) / (x1 - x0)),
            (None, None) => value,
        })
    };
    if pair {
        return Some(written(changed(value), changed(taken(imaginary))));
    }
    let mut value = changed(value);
    if let Some(largest) =
        blend.largest.filter(|largest| value.as_f64() > taken(Number::Integer((*largest).into())).as_f64())
    {
        value = taken(Number::Integer(largest.into()));
    }
    Some(written(if to == D::U8 { Number::Single(value.as_f32()) } else { value }, Number::Integer(0)))
}

/// Lays one layer and compares every byte of the output.
fn check(engine: &dyn Engine, from: DataType, to: DataType, seed: u64) {
    let mut draw = Draw(seed);
    let blend = draw.blend();
    let size = (1 + draw.below(OUTPUT.0.into()) as u32, 1 + draw.below(OUTPUT.1.into()) as u32);
    let at = (
        draw.below((OUTPUT.0 - size.0 + 1).into()) as u32,
        draw.below((OUTPUT.1 - size.1 + 1).into()) as u32,
    );
    let job = BlendJob {
        band: draw.below(2) as u32,
        at,
        size,
        columns: draw.picks(size.0, LAYER.0),
        rows: draw.picks(size.1, LAYER.1),
        blend,
    };
    let (layer_kinds, to_kinds) = (own_kinds(engine, from, 1, LAYER), own_kinds(engine, to, 2, OUTPUT));
    let mask_kinds = own_kinds(engine, DataType::U8, 1, LAYER);
    let turn = seed as usize;
    let kind = &to_kinds[turn % to_kinds.len()];
    let samples = draw.samples(from, (LAYER.0 * LAYER.1) as usize);
    let below = draw.samples(to, 2 * (OUTPUT.0 * OUTPUT.1) as usize);
    let mask: Vec<u8> = (0..LAYER.0 * LAYER.1).map(|_| [0, 1, 255][draw.below(3) as usize]).collect();
    let pixels = shared(filled(engine, &layer_kinds[turn % layer_kinds.len()], &samples));
    let masks = shared(filled(engine, &mask_kinds[turn % mask_kinds.len()], &mask));
    let uses_mask = job.blend.values.as_ref().is_some_and(|values| values.uses_mask) && draw.below(2) == 0;
    let one = (draw.below(5) == 0).then(|| Fill(sample_of(Number::Double(draw.value()), from)));
    let one = one.filter(|_| from != DataType::F16);
    let layer = BlendLayer {
        samples: one.map_or(BlendSamples::Pixels(&pixels), |one| BlendSamples::One(from, one)),
        mask: uses_mask.then_some(&masks),
    };
    let output = filled(engine, kind, &below);
    engine.blend(&job, &layer, &output, &Context::default()).unwrap();
    let found = kind.bytes(engine, output);
    let Strides { band, row, column } = kind.spec.strides;
    let mut written = vec![false; found.len()];
    for (plane, y, x) in
        (0..2).flat_map(|b| (0..OUTPUT.1).flat_map(move |y| (0..OUTPUT.0).map(move |x| (b, y, x))))
    {
        let place = ((y * OUTPUT.0 + x) * 2 + plane) as usize * to.size();
        let mut wanted = below[place..place + to.size()].to_vec();
        let inside =
            plane == job.band && (at.0..at.0 + size.0).contains(&x) && (at.1..at.1 + size.1).contains(&y);
        if inside {
            let (px, py) = (job.columns.get(x - at.0), job.rows.get(y - at.1));
            let pixel = (py * LAYER.0 + px) as usize;
            let sample = &samples[pixel * from.size()..(pixel + 1) * from.size()];
            let sample = one.as_ref().map_or(sample, |one| &one.0[..from.size()]);
            if let Some(laid) = laid(&job.blend, (from, to), sample, uses_mask && mask[pixel] == 0) {
                wanted = laid;
            }
        }
        let start = plane as usize * band + y as usize * row + x as usize * column;
        let what = (from, to, &job, (plane, y, x), seed);
        assert_eq!(&found[start..start + to.size()], wanted, "{what:?}");
        written[start..start + to.size()].fill(true);
    }
    let gaps = found.iter().zip(written).filter(|(_, written)| !written);
    assert!(gaps.into_iter().all(|(byte, _)| *byte == GAP), "{job:?}: bytes between samples were written");
}

pub(super) fn layers_are_laid_as_gdal_does(engine: &dyn Engine) {
    let mut seed = 0;
    for from in DataType::ALL {
        for to in DataType::ALL.into_iter().filter(|to| *to != DataType::F16) {
            for _ in 0..4 {
                check(engine, from, to, seed);
                seed += 1;
            }
        }
    }
}

pub(super) fn a_layer_must_fit_its_output(engine: &dyn Engine) {
    let [kind, ..] = &own_kinds(engine, DataType::U8, 1, (5, 4))[..] else { panic!("no kind") };
    let (pixels, output) = (shared(filled(engine, kind, &[7; 20])), kind.output(engine));
    let layer = BlendLayer { samples: BlendSamples::Pixels(&pixels), mask: None };
    let job = |size, columns| BlendJob {
        band: 0,
        at: (0, 0),
        size,
        columns,
        rows: Picks::Run,
        blend: Blend::default(),
    };
    let refused = |job: &BlendJob, layer: &BlendLayer<'_>| {
        let error = engine.blend(job, layer, &output, &Context::default()).unwrap_err();
        assert!(matches!(error, EngineError::Mismatch { .. }), "{error}");
    };
    refused(&job((6, 4), Picks::Run), &layer);
    refused(&job((2, 4), Picks::Each([0, 5].into())), &layer);
    refused(&job((5, 4), Picks::Run), &BlendLayer { mask: Some(&pixels), ..layer });
    let context = Context::default();
    context.cancel.cancel();
    let cancelled = engine.blend(&job((5, 4), Picks::Run), &layer, &output, &context);
    assert_eq!(cancelled, Err(EngineError::Cancelled));
    // What an engine does not blend, it refuses.
    let scaling = BlendScaling::Power { exponent: 1.5, from: (0.0, 9.0), to: (0.0, 90.0), clip: true };
    let values = Some(Arc::new(BlendValues { scaling, ..BlendValues::default() }));
    let power = BlendJob { blend: Blend { values, ..Blend::default() }, ..job((5, 4), Picks::Run) };
    let done = engine.blend(&power, &layer, &output, &Context::default());
    assert_eq!(done.is_ok(), engine.blends(&power.blend) == Support::Yes);
}

//! Outputs that convert: every stored type becomes floats by the arithmetic written down here, wherever the output lies.

use super::jobs::{Float, Uint, decoded, job, layout, noise, output, run, staged, task};
use super::kinds::{GAP, Kind, kinds};
use std::sync::Arc;
use strile_engine::{
    BlockLayout, BlockTask, Context, Convert, DecodeJob, Engine, Fill, Output, Placement, Span, Strides,
};
use strile_tiff::{ByteOrder, DataType, Predictor, SampleFormat::Int};

const WIDTH: u32 = 9;
const HEIGHT: u32 = 3;

/// Factors and offsets: none, one that rounds twice, one that overflows, one that is all but lost, one
/// that makes halves below the normal ones.
const SCALES: [(f64, f64); 5] = [(1.0, -0.0), (0.1, -273.15), (1e300, 1e-3), (-2.5e-45, 0.0), (3e-6, 0.0)];

fn fill_of(bytes: &[u8]) -> Fill {
    let mut fill = Fill::default();
    fill.0[..bytes.len()].copy_from_slice(bytes);
    fill
}

/// Every type and every way to store one that has a loop of its own somewhere.
fn layouts() -> Vec<BlockLayout> {
    let mut all = Vec::new();
    for (format, depths) in
        [(Uint, &[8, 16, 32, 64, 1, 12][..]), (Int, &[8, 16, 32, 64, 5]), (Float, &[16, 32, 64, 24])]
    {
        for &bits in depths {
            all.push(layout(WIDTH, HEIGHT, 1, format, bits));
        }
    }
    for (format, bits, predictor, samples) in [
        (Uint, 8, Predictor::Horizontal, 3),
        (Int, 16, Predictor::Horizontal, 1),
        (Uint, 16, Predictor::None, 4),
        (Float, 32, Predictor::FloatingPoint, 1),
        (Float, 64, Predictor::FloatingPoint, 2),
    ] {
        let mut block = layout(WIDTH, HEIGHT, samples, format, bits);
        block.predictor = predictor;
        all.push(block.clone());
        block.byte_order = match ByteOrder::NATIVE {
            ByteOrder::Little => ByteOrder::Big,
            ByteOrder::Big => ByteOrder::Little,
        };
        all.push(block);
    }
    all
}

/// The values at which comparing and rounding go wrong, as bytes of a float type.
fn specials(data_type: DataType) -> Vec<u8> {
    match data_type {
        DataType::F16 => [0x7C01u16, 0xFE00, 0x0000, 0x8000, 0x7C00, 0xFC00, 0x0001, 0x83FF, 0x7BFF, 0x3E00]
            .map(u16::to_ne_bytes)
            .concat(),
        DataType::F32 => {
            [0x7F80_0001u32, 0xFFC0_0123, 0, 1 << 31, 0x7F80_0000, 0xFF80_0000, 1, 0x7F7F_FFFF, 0x3FC0_0000]
                .map(u32::to_ne_bytes)
                .concat()
        }
        DataType::F64 => [
            0x7FF0_0000_0000_0001u64,
            0xFFF8_0000_0000_0123,
            0,
            1 << 63,
            0x7FF0_0000_0000_0000,
            0xFFF0_0000_0000_0000,
            1,
            0x7FEF_FFFF_FFFF_FFFF,
            0x36A0_0000_0000_0000,
            // Half way between two numbers of 32 bits.
            0x3FF0_0000_1000_0000,
            0x3FF8_0000_0000_0000,
        ]
        .map(u64::to_ne_bytes)
        .concat(),
        _ => Vec::new(),
    }
}

/// Zeros and NaN of a float type, 0 of an integer.
fn zeros_and_nan(data_type: DataType) -> Vec<Fill> {
    match data_type {
        DataType::F16 => [0u16, 0x8000, 0x7E00].iter().map(|v| fill_of(&v.to_ne_bytes())).collect(),
        DataType::F32 => [0.0f32, -0.0, f32::NAN].iter().map(|v| fill_of(&v.to_ne_bytes())).collect(),
        DataType::F64 => [0.0f64, -0.0, f64::NAN].iter().map(|v| fill_of(&v.to_ne_bytes())).collect(),
        _ => vec![Fill::default()],
    }
}

/// A sample as a number, exactly where it has 64 bits and is an integer.
enum Number {
    Integer(i128),
    Float(f64),
}

fn number(data_type: DataType, bytes: &[u8]) -> Number {
    match data_type {
        DataType::U8 => Number::Integer(bytes[0].into()),
        DataType::I8 => Number::Integer(i8::from_ne_bytes([bytes[0]]).into()),
        DataType::U16 => Number::Integer(u16::from_ne_bytes(bytes[..2].try_into().unwrap()).into()),
        DataType::I16 => Number::Integer(i16::from_ne_bytes(bytes[..2].try_into().unwrap()).into()),
        DataType::U32 => Number::Integer(u32::from_ne_bytes(bytes[..4].try_into().unwrap()).into()),
        DataType::I32 => Number::Integer(i32::from_ne_bytes(bytes[..4].try_into().unwrap()).into()),
        DataType::U64 => Number::Integer(u64::from_ne_bytes(bytes[..8].try_into().unwrap()).into()),
        DataType::I64 => Number::Integer(i64::from_ne_bytes(bytes[..8].try_into().unwrap()).into()),
        DataType::F16 => {
            let bits = u64::from(u16::from_ne_bytes(bytes[..2].try_into().unwrap()));
            let (sign, exponent, fraction) = (bits >> 15 << 63, bits >> 10 & 31, bits & 1023);
            let wide = match exponent {
                31 => sign | 2047 << 52 | fraction << 42,
                0 => sign | (fraction as f64 / 16_777_216.0).to_bits(),
                _ => sign | (exponent + 1008) << 52 | fraction << 42,
            };
            Number::Float(f64::from_bits(wide))
        }
        DataType::F32 => Number::Float(f32::from_ne_bytes(bytes[..4].try_into().unwrap()).into()),
        DataType::F64 => Number::Float(f64::from_ne_bytes(bytes[..8].try_into().unwrap())),
        DataType::C64 | DataType::C128 => panic!("no number"),
    }
}

/// What must become of a sample.
fn wanted(stored: DataType, sample: &[u8], convert: &Convert, target: DataType) -> Vec<u8> {
    let nodata = convert.nodata.map(|Fill(bytes)| number(stored, &bytes));
    let (masked, value) = match (number(stored, sample), nodata) {
        (Number::Integer(value), Some(Number::Integer(nodata))) => (value == nodata, value as f64),
        (Number::Float(value), Some(Number::Float(nodata))) => {
            (if nodata.is_nan() { value.is_nan() } else { value == nodata }, value)
        }
        (Number::Integer(value), _) => (false, value as f64),
        (Number::Float(value), _) => (false, value),
    };
    let product = value * convert.scale;
    let result = product + convert.offset;
    let is_nan = masked || result.is_nan();
    match target {
        DataType::F16 if is_nan => 0x7E00u16.to_ne_bytes().to_vec(),
        DataType::F16 => nearest_half(result).to_ne_bytes().to_vec(),
        DataType::F32 if is_nan => 0x7FC0_0000u32.to_ne_bytes().to_vec(),
        DataType::F32 => (result as f32).to_ne_bytes().to_vec(),
        _ if is_nan => 0x7FF8_0000_0000_0000u64.to_ne_bytes().to_vec(),
        _ => result.to_ne_bytes().to_vec(),
    }
}

/// The half nearest to a number: of the two around it, found among all, the nearer or the even one.
fn nearest_half(value: f64) -> u16 {
    let magnitude = |bits: u16| match bits {
        // Where the next would lie.
        0x7C00 => 65_536.0,
        _ => match number(DataType::F16, &bits.to_ne_bytes()) {
            Number::Float(value) => value,
            Number::Integer(_) => 0.0,
        },
    };
    let (mut low, mut high) = (0u16, 0x7C00u16);
    while high - low > 1 {
        let middle = u16::midpoint(low, high);
        if magnitude(middle) <= value.abs() { low = middle } else { high = middle }
    }
    let (below, above) = (value.abs() - magnitude(low), magnitude(high) - value.abs());
    let bits = if below < above || (below == above && low % 2 == 0) { low } else { high };
    bits | if value.is_sign_negative() { 0x8000 } else { 0 }
}

/// Four blocks: one whole, one that is sparse, one that is faulty, and a part of one.
fn four(block: &BlockLayout) -> Vec<BlockTask> {
    let whole = task(block, 0);
    let at = |row: u32, column: u32| {
        let mut task = whole.clone();
        (task.address.row, task.address.column) = (row, column);
        (task.placement.out_x, task.placement.out_y) = (column * WIDTH, row * HEIGHT);
        task
    };
    let (mut sparse, mut faulty, mut cut) = (at(0, 1), at(1, 0), at(1, 1));
    sparse.span = None;
    faulty.span = Some(Span { offset: 0, len: 1 });
    let Placement { width, height, .. } = cut.placement;
    cut.placement =
        Placement { block_x: 2, block_y: 1, width: width - 3, height: height - 1, ..cut.placement };
    vec![at(0, 0), sparse, faulty, cut]
}

pub(super) fn samples_become_floats(engine: &dyn Engine) {
    for (number, mut block) in layouts().into_iter().enumerate() {
        let (stored, size) = (block.data_type, block.data_type.size());
        let mut bytes = noise(block.decoded_len(HEIGHT).unwrap());
        if usize::from(block.sample.bits) == 8 * size && block.predictor == Predictor::None {
            let specials = specials(stored);
            bytes[..specials.len()].copy_from_slice(&specials);
        }
        let Some(plain) = decoded(engine, &block, &bytes) else { continue };
        let in_plain = fill_of(&plain[size * 20..size * 21]);
        let mut nodata = vec![None, Some(in_plain)];
        nodata.extend(zeros_and_nan(stored).into_iter().map(Some));
        // Not all samples, and not in their order, where there is more than one.
        let selections = [
            (0..block.samples).collect::<Vec<u16>>(),
            (0..block.samples).rev().skip(usize::from(block.samples > 2)).collect(),
        ];
        for (at, nodata) in nodata.into_iter().enumerate() {
            // What is missing is nodata, or some value.
            block.extras.fill = if at % 2 == 0 { fill_of(&plain[..size]) } else { nodata.unwrap() };
            for (turn, selection) in selections.iter().enumerate() {
                let (scale, offset) = SCALES[(at + number) % SCALES.len()];
                let target = [DataType::F32, DataType::F64, DataType::F16][(at + number + turn) % 3];
                let convert = Convert { nodata, scale, offset };
                // One kind of output each: all of them with all of the rest say no more.
                let kinds = kinds(engine, target, selection.len() as u32, (2 * HEIGHT, 2 * WIDTH));
                let kind = &kinds[(number + 2 * at + target.size() / 8) % kinds.len()];
                check(engine, &block, (&bytes, &plain), selection, kind, convert);
            }
        }
    }
}

fn check(
    engine: &dyn Engine,
    block: &BlockLayout,
    (bytes, plain): (&[u8], &[u8]),
    selection: &[u16],
    kind: &Kind,
    convert: Convert,
) {
    let (stored, target) = (block.data_type, kind.spec.data_type);
    let (from, to) = (stored.size(), target.size());
    let output = kind.output(engine).converting(convert).unwrap();
    let tasks = four(block);
    let job = DecodeJob::new(vec![Arc::new(block.clone())], vec![selection.to_vec()], tasks.clone()).unwrap();
    let report = run(engine, job, bytes, &output);
    assert_eq!((report.blocks, report.faults.len()), (4, 1));
    let found = kind.bytes(engine, output);
    let mut seen = vec![false; found.len()];
    for (index, task) in tasks.iter().enumerate() {
        let p = task.placement;
        for (band, &sample) in selection.iter().enumerate() {
            for (y, x) in (0..p.height).flat_map(|y| (0..p.width).map(move |x| (y, x))) {
                let at = (u32::from(sample) * HEIGHT + p.block_y + y) * WIDTH + p.block_x + x;
                let sample = match index {
                    1 | 2 => &block.extras.fill.0[..from],
                    _ => &plain[at as usize * from..][..from],
                };
                let Strides { band: bands, row, column } = kind.spec.strides;
                let at = band * bands + (p.out_y + y) as usize * row + (p.out_x + x) as usize * column;
                assert_eq!(
                    found[at..at + to],
                    wanted(stored, sample, &convert, target),
                    "block {index}, band {band}, row {y}, column {x}: {sample:?} of {} to {target} by {convert:?}, {:?}, {:?}",
                    block.sample,
                    kind.spec.strides,
                    block.predictor,
                );
                seen[at..at + to].fill(true);
            }
        }
    }
    if !kind.on_device {
        assert!(found.iter().zip(seen).all(|(&byte, seen)| seen || byte == GAP), "all else stays");
    }
}

/// What has a conversion, and what has none, is said before anything is decoded.
pub(super) fn only_real_samples_are_converted(engine: &dyn Engine) {
    let submit = |job: DecodeJob, bytes: &[u8], output: &Output| {
        let ticket =
            engine.submit(job, staged(engine, bytes), std::slice::from_ref(output), &Context::default());
        ticket.err().map(|error| error.to_string())
    };
    let complex = layout(2, 1, 1, strile_tiff::SampleFormat::ComplexFloat, 64);
    let floats = output(DataType::F32, 1, 1, 4).converting(Convert::masking(None)).unwrap();
    assert_eq!(
        submit(job(&complex, vec![task(&complex, 0)]), &[0; 16], &floats).unwrap(),
        "the job does not fit its outputs: expected complex64, which has no conversion, as it is, got float32 in output 0 that converts"
    );
    let (bytes, words) = (Arc::new(layout(2, 1, 1, Uint, 8)), Arc::new(layout(2, 1, 1, Uint, 16)));
    let mut second = BlockTask { layout: 1, ..task(&words, 0) };
    second.placement.out_x = 2;
    let both = || {
        DecodeJob::new(
            vec![Arc::clone(&bytes), Arc::clone(&words)],
            vec![vec![0]],
            vec![task(&bytes, 0), second.clone()],
        )
    };
    let masked = output(DataType::F32, 1, 1, 4).converting(Convert::masking(Some(Fill::default()))).unwrap();
    assert_eq!(
        submit(both().unwrap(), &[0; 4], &masked).unwrap(),
        "the job does not fit its outputs: expected blocks of one type, got uint8 and uint16 for output 0, which makes one nodata value NaN"
    );
    // Without a nodata value two types go into one output.
    assert_eq!(run(engine, both().unwrap(), &[1, 2, 0, 0], &floats).faults, []);
    let found = floats.into_vec().unwrap();
    let words = [u16::from_ne_bytes([1, 2]), 0].map(f32::from);
    assert_eq!(found, [1.0, 2.0, words[0], words[1]].map(f32::to_ne_bytes).concat());
}

//! The kernels of `warp.cu` equal the CPU engine, bit for bit: every method and type, with and without nodata and masks,
//! maps of all kinds of cells, turned, torn, around the Earth and hostile ones, sheets at all edges, any strides.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "code of tests: it fails by panicking, and knows its numbers"
)]

use std::sync::Arc;
use strile_cpu::CpuEngine;
use strile_cuda::steps::warp;
use strile_emulate::{Emulator, Garbage, Poisoned};
use strile_engine::{
    Context, Engine, Fill, Output, OutputSpec, SharedPixels, Strides, WarpBlend, WarpJob, WarpMap,
    WarpMapParts, WarpPoints, WarpRect, WarpSampling, WarpWindow,
};
use strile_tiff::DataType;

struct Draw(Garbage);

impl Draw {
    fn below(&mut self, n: u32) -> u32 {
        (self.0.word() >> 16) as u32 % n.max(1)
    }

    fn part(&mut self) -> f64 {
        f64::from(self.below(1 << 20)) / f64::from(1 << 20)
    }

    fn often(&mut self, one_of: u32) -> bool {
        self.below(one_of) != 0
    }
}

/// A sample: a few small numbers that are often equal, any bits, or one of the ends.
fn sample(data_type: DataType, draw: &mut Draw) -> [u8; 16] {
    use DataType as D;
    let mut sample = [0; 16];
    let size = data_type.size();
    let few = draw.below(5);
    let bits = match (data_type, draw.below(8)) {
        (_, 0) => draw.0.word(),
        (D::F16, 1) => [0x7C00, 0xFC00, 0x7E01, 0x8000, 1][few as usize],
        (D::F16, _) => u64::from(0x3C00 + draw.below(0x1000)),
        (D::F32, 1) => u64::from([f32::INFINITY, -0.0, f32::NAN, f32::MAX, 1e-45][few as usize].to_bits()),
        (D::F32, 2 | 3) => u64::from((f64::from(few) as f32 - 1.5).to_bits()),
        (D::F32, _) => u64::from((f64::from(few) as f32 * 100.0 - draw.part() as f32).to_bits()),
        (D::F64, 1) => [f64::NEG_INFINITY, -0.0, f64::NAN, f64::MAX, 5e-324][few as usize].to_bits(),
        (D::F64, _) => (f64::from(few) * 100.0 - draw.part()).to_bits(),
        (_, 1) => [u64::MAX, 0, 1, u64::MAX / 2, 0x80][few as usize],
        (_, 2..5) => u64::from(few),
        _ => u64::from(draw.below(250)),
    };
    sample[..size.min(8)].copy_from_slice(&bits.to_le_bytes()[..size.min(8)]);
    if size > 8 {
        sample[8..].copy_from_slice(&draw.0.word().to_le_bytes());
    }
    sample
}

/// Band after band, with bytes between rows and samples in the second style, which are not aligned in the third.
fn spec(data_type: DataType, bands: u32, (columns, rows): (u32, u32), style: u32) -> OutputSpec {
    let size = data_type.size();
    let column = [size, 3 * size, size + 1][style as usize];
    let row = columns as usize * column + [0, size, 3][style as usize];
    let strides = Strides { band: row * rows as usize, row, column };
    OutputSpec { data_type, bands, rows, columns, strides }
}

/// Places of a grid: a plane with a bend, of which some are nowhere, or anything.
struct Ground {
    affine: [f64; 6],
    bend: f64,
    hole: f64,
    wild: bool,
}

impl Ground {
    fn draw(source: (u32, u32), size: (u32, u32), scale: f64, draw: &mut Draw) -> Self {
        let angle = if draw.often(3) { draw.part() * 0.1 } else { draw.part() * 6.3 };
        let (sin, cos) = (angle.sin() / scale, angle.cos() / scale);
        let (x, y) = (f64::from(source.0) * draw.part(), f64::from(source.1) * draw.part());
        let (u, v) = (f64::from(size.0) * draw.part(), f64::from(size.1) * draw.part());
        let affine = [cos, -sin, x - cos * u + sin * v, sin, cos, y - sin * u - cos * v];
        Self {
            affine,
            bend: if draw.often(2) { draw.part() * 0.01 } else { 0.0 },
            hole: if draw.often(3) { 0.0 } else { draw.part() * 0.2 },
            wild: !draw.often(12),
        }
    }

    fn at(&self, u: f64, v: f64, draw: &mut Draw) -> [f64; 2] {
        let [a, b, c, d, e, f] = self.affine;
        if draw.part() < self.hole {
            return [f64::NAN; 2];
        }
        if self.wild {
            let any = |draw: &mut Draw| match draw.below(6) {
                0 => f64::INFINITY,
                1 => -f64::INFINITY,
                2 => 1e300,
                3 => f64::from_bits(draw.0.word()),
                4 => -1e12,
                _ => draw.part() * 20.0,
            };
            return [any(draw), any(draw)];
        }
        [a * u + b * v + c + self.bend * v * v, d * u + e * v + f - self.bend * u * u]
    }
}

/// A map of cells of all kinds.
fn map(size: (u32, u32), source: (u32, u32), points: WarpPoints, scale: f64, draw: &mut Draw) -> WarpMap {
    let ground = Ground::draw(source, size, scale, draw);
    let turn = match draw.below(4) {
        0 => Some((f64::from(source.0), 0.0)),
        1 => Some((-f64::from(source.0) * (1.0 + draw.part()), draw.part())),
        _ => None,
    };
    let mut parts = WarpMapParts { size, source, turn, points, ..WarpMapParts::default() };
    let (across, down) = (size.0.div_ceil(64), size.1.div_ceil(64));
    for (row, column) in (0..down).flat_map(|row| (0..across).map(move |column| (row, column))) {
        let kind = draw.below(4);
        let corners = |draw: &mut Draw, x: u32, y: u32, side: u32| {
            let mut corners = [0.0; 8];
            for (i, (right, low)) in [(0, 0), (side, 0), (0, side), (side, side)].into_iter().enumerate() {
                let place = ground.at(f64::from(x + right), f64::from(y + low), draw);
                corners[2 * i..2 * i + 2].copy_from_slice(&place);
            }
            corners
        };
        if kind < 2 {
            parts.cells.push(WarpMap::SMOOTH | parts.corners.len() as u32);
            parts.corners.push(corners(draw, column * 64, row * 64, 64));
            continue;
        }
        if kind == 3 && draw.below(4) == 0 {
            parts.cells.push(WarpMap::OUTSIDE);
            continue;
        }
        parts.cells.push(WarpMap::CUT | parts.small.len() as u32);
        for (v, u) in (0..8).flat_map(|v| (0..8).map(move |u| (v, u))) {
            let (x, y) = (column * 64 + u * 8, row * 64 + v * 8);
            match draw.below(8) {
                0 => parts.small.push(WarpMap::OUTSIDE),
                1..4 => {
                    parts.small.push(WarpMap::SMOOTH | parts.corners.len() as u32);
                    parts.corners.push(corners(draw, x, y, 8));
                }
                _ => {
                    parts.small.push(WarpMap::CUT | parts.exact.len() as u32);
                    let middle = if points == WarpPoints::Centres { 0.5 } else { 0.0 };
                    for (j, i) in (0..points.across()).flat_map(|j| (0..points.across()).map(move |i| (j, i)))
                    {
                        let at = ground.at(f64::from(x + i) + middle, f64::from(y + j) + middle, draw);
                        parts.exact.push(at);
                    }
                }
            }
        }
    }
    WarpMap::new(parts).unwrap()
}

fn fill_with(memory: &mut [u8], spec: &OutputSpec, mut value: impl FnMut(u32) -> [u8; 16]) {
    let size = spec.data_type.size();
    for band in 0..spec.bands {
        for (row, column) in (0..spec.rows).flat_map(|row| (0..spec.columns).map(move |column| (row, column)))
        {
            let Strides { band: bands, row: rows, column: columns } = spec.strides;
            let at = band as usize * bands + row as usize * rows + column as usize * columns;
            memory[at..at + size].copy_from_slice(&value(band)[..size]);
        }
    }
}

/// Compares one drawn job; says how many pixels have a value.
fn compare(sampling: WarpSampling, (from, to): (DataType, DataType), seed: u64) -> usize {
    let mut draw = Draw(Garbage::new(seed));
    let points = WarpPoints::of(sampling);
    let source = (1 + draw.below(40), 1 + draw.below(30));
    let grid = (1 + draw.below(90), 1 + draw.below(80));
    let scale = [1.0, 0.6, 0.5, 0.3, 2.0][draw.below(5) as usize];
    let map = Arc::new(map(grid, source, points, scale, &mut draw));
    let (count, bands) = (1 + draw.below(2), 1 + draw.below(2));
    let size = (grid.0.min(1 + draw.below(40)), grid.1.min(1 + draw.below(20)));
    let mut windows = Vec::new();
    for number in 0..count {
        let target = WarpRect::new(
            draw.below(grid.0 - size.0 + 1),
            draw.below(grid.1 - size.1 + 1),
            1 + draw.below(size.0),
            1 + draw.below(size.1),
        );
        let scale = (scale, scale * (1.0 + draw.part()));
        let sheet = map.source_window(target, sampling, scale).unwrap_or_default();
        let value = |data_type, draw: &mut Draw| Fill(sample(data_type, draw));
        windows.push(WarpWindow {
            map: Arc::clone(&map),
            target,
            first_band: number * bands,
            row: draw.below(3),
            column: draw.below(3),
            source_band: number * bands,
            mask: number,
            bands,
            sheet,
            scale,
            nodata: draw.often(2).then(|| value(from, &mut draw)),
            avoid: draw.often(2).then(|| value(to, &mut draw)),
            fill: value(to, &mut draw),
            blend: if draw.often(3) { WarpBlend::Fill } else { WarpBlend::Keep },
        });
    }
    let most = |of: fn(&WarpWindow) -> u32| windows.iter().map(of).max().unwrap().max(1);
    let read = (most(|window| window.sheet.width), most(|window| window.sheet.height));
    let read = spec(from, count * bands, read, draw.below(3));
    let made = (most(|w| w.column + w.target.width), most(|w| w.row + w.target.height));
    let made = spec(to, count * bands, made, draw.below(3));
    let mut memory = Poisoned::new(read.len().unwrap(), seed);
    fill_with(&mut memory, &read, |band| match windows[(band / bands) as usize].nodata {
        Some(Fill(nodata)) if draw.below(5) == 0 => nodata,
        _ => sample(from, &mut draw),
    });
    let masks =
        spec([DataType::U8, DataType::U16][draw.below(2) as usize], count, (read.columns, read.rows), 0);
    let mut mask = Poisoned::new(masks.len().unwrap(), seed);
    fill_with(&mut mask, &masks, |_| [u8::from(draw.often(5)); 16]);
    let masked = draw.often(2);
    let job = WarpJob { sampling, windows };
    let mut found = Poisoned::new(made.len().unwrap(), seed ^ 1);
    let before = found.to_vec();
    let pixels = SharedPixels::new(read.clone(), Arc::new(memory.to_vec())).unwrap();
    let valid = SharedPixels::new(masks.clone(), Arc::new(mask.to_vec())).unwrap();
    let output = Output::from_vec(made.clone(), before).unwrap();
    let valid = masked.then_some(&valid);
    CpuEngine::new().warp(&job, &pixels, valid, &output, &Context::default()).unwrap();
    let wanted = output.into_vec().unwrap();
    let device_masks = masked.then(|| (&masks, mask.address()));
    let planned =
        warp::plan(&job, (&read, memory.address()), device_masks, (&made, found.address())).unwrap();
    let mut tables = Poisoned::new(planned.len, seed);
    let address = tables.address();
    planned.write(address, &mut tables);
    let kernels = Emulator::module(warp::MODULE).unwrap();
    assert_eq!(kernels.threads(planned.kernel), Some(warp::THREADS));
    kernels.launch(planned.kernel, (planned.grid, 1), warp::THREADS, &planned.args(address), seed).unwrap();
    found.check().unwrap();
    let differs = found.iter().zip(&wanted).position(|(a, b)| a != b);
    assert_eq!(differs, None, "{sampling:?} of {from} to {to}, seed {seed}, {}", planned.kernel);
    let fill = &job.windows[0].fill.0[..to.size()];
    wanted.chunks(made.strides.column).filter(|sample| !sample.starts_with(fill)).count()
}

const REAL: [DataType; 11] = [
    DataType::U8,
    DataType::I8,
    DataType::U16,
    DataType::I16,
    DataType::U32,
    DataType::I32,
    DataType::U64,
    DataType::I64,
    DataType::F16,
    DataType::F32,
    DataType::F64,
];

fn every_type(sampling: WarpSampling) {
    let mut values = 0;
    for (index, from) in (0u64..).zip(REAL) {
        for round in 0..6 {
            let seed = index * 1000 + round;
            let to = if round < 3 { from } else { REAL[((seed / 3 + round) % 11) as usize] };
            values += compare(sampling, (from, to), seed);
        }
    }
    assert!(values > 1000, "{values} pixels with a value");
}

macro_rules! methods {
    ($($name:ident $sampling:ident,)+) => {
        $(#[test]
        fn $name() {
            every_type(WarpSampling::$sampling);
        })+
    };
}

methods! {
    nearest_as_on_the_cpu Nearest,
    bilinear_as_on_the_cpu Bilinear,
    cubic_as_on_the_cpu Cubic,
    cubic_spline_as_on_the_cpu CubicSpline,
    lanczos_as_on_the_cpu Lanczos,
    average_as_on_the_cpu Average,
    mode_as_on_the_cpu Mode,
    min_as_on_the_cpu Min,
    max_as_on_the_cpu Max,
    median_as_on_the_cpu Median,
    q1_as_on_the_cpu Q1,
    q3_as_on_the_cpu Q3,
    rms_as_on_the_cpu Rms,
    sum_as_on_the_cpu Sum,
}

#[test]
fn complex_samples_as_on_the_cpu() {
    for data_type in [DataType::C64, DataType::C128] {
        (0..8).for_each(|seed| {
            compare(WarpSampling::Nearest, (data_type, data_type), 50_000 + seed);
        });
    }
}

//! The kernel of `resample.cu` equals the CPU engine, bit for bit: every method and type, with and without nodata, windows
//! over all edges and of no pixels, any strides.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "code of tests: it fails by panicking, and knows its numbers"
)]
#![expect(unsafe_code, reason = "memory of the host stands for that of a device")]

use std::sync::Arc;
use strile_cpu::CpuEngine;
use strile_cuda::steps::resample::{self, ResampleEntry};
use strile_emulate::{Emulator, Garbage, Poisoned};
use strile_engine::{
    Context, Convert, Engine, Fill, Output, OutputSpec, ResampleJob, ResampleWindow, Sampling, SharedPixels,
    Strides,
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
}

/// A sample: any bits, a small number, or one of the ends.
fn sample(data_type: DataType, draw: &mut Draw) -> [u8; 16] {
    use DataType as D;
    let mut sample = [0; 16];
    let size = data_type.size();
    let few = draw.below(5);
    let bits = match (data_type, draw.below(6)) {
        (_, 0) => draw.0.word(),
        (D::F16, 1) => [0x7C00, 0xFC00, 0x7E01, 0x8000, 1][few as usize],
        (D::F16, _) => u64::from(0x3C00 + draw.below(0x1000)),
        (D::F32, 1) => u64::from([f32::INFINITY, -0.0, f32::NAN, f32::MAX, 1e-45][few as usize].to_bits()),
        (D::F32, _) => u64::from((f64::from(few) - 1.5 + draw.part()).to_bits() as u32 >> 9) | 0x3F80_0000,
        (D::F64, 1) => [f64::NEG_INFINITY, -0.0, f64::NAN, f64::MAX, 5e-324][few as usize].to_bits(),
        (D::F64, _) => (f64::from(few) * 100.0 - draw.part()).to_bits(),
        (_, 1) => [u64::MAX, 0, 1, u64::MAX / 2, 0x80][few as usize],
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

fn window(from: (u32, u32), data_type: DataType, draw: &mut Draw) -> ResampleWindow {
    let size = (draw.below(from.0 + 1), draw.below(from.1 + 1));
    let exact = match draw.below(3) {
        // All of it; more than it has, on some sides; a part of a pixel.
        0 => [0.0, 0.0, f64::from(size.0.max(1)), f64::from(size.1.max(1))],
        1 => [-3.5 + draw.part(), draw.part() * 4.0 - 2.0, 1.0 + draw.part() * 20.0, 0.5 + draw.part() * 9.0],
        _ => [draw.part() * 3.0, draw.part() * 2.0, 1e-3 + draw.part(), 1e-16],
    };
    let nodata = (draw.below(2) == 0).then(|| Fill(sample(data_type, draw)));
    ResampleWindow { exact, size, nodata, fill: Fill(sample(data_type, draw)) }
}

fn compare(data_type: DataType, sampling: Sampling, seed: u64) {
    let mut draw = Draw(Garbage::new(seed));
    let count = 1 + draw.below(4);
    let from = (1 + draw.below(12), 1 + draw.below(9));
    let to = (1 + draw.below(24), 1 + draw.below(17));
    let windows: Vec<_> = (0..count).map(|_| window(from, data_type, &mut draw)).collect();
    let kernel = compare_windows(data_type, sampling, windows, (from, to), draw, seed);
    assert_eq!(kernel, resample::MODULE);
}

fn compare_windows(
    data_type: DataType,
    sampling: Sampling,
    windows: Vec<ResampleWindow>,
    (from, to): ((u32, u32), (u32, u32)),
    mut draw: Draw,
    seed: u64,
) -> &'static str {
    let (count, bands) = (windows.len() as u32, 1 + draw.below(3));
    let source = spec(data_type, count * bands, from, draw.below(3));
    let result = spec(data_type, count * bands, to, draw.below(3));
    let mut memory = Poisoned::new(source.len().unwrap(), seed);
    for plane in 0..count * bands {
        let nodata = windows[(plane / bands) as usize].nodata;
        for (row, column) in (0..from.1).flat_map(|row| (0..from.0).map(move |column| (row, column))) {
            let Strides { band: bands, row: rows, column: columns } = source.strides;
            let at = plane as usize * bands + row as usize * rows + column as usize * columns;
            let value = match nodata {
                Some(Fill(nodata)) if draw.below(4) == 0 => nodata,
                _ => sample(data_type, &mut draw),
            };
            memory[at..at + data_type.size()].copy_from_slice(&value[..data_type.size()]);
        }
    }
    let job = ResampleJob { sampling, windows };
    let mut found = Poisoned::new(result.len().unwrap(), seed ^ 1);
    let pixels = SharedPixels::new(source.clone(), Arc::new(memory.to_vec())).unwrap();
    let output = Output::from_vec(result.clone(), found.to_vec()).unwrap();
    CpuEngine::new().resample(&job, &pixels, &output, &Context::default()).unwrap();
    let wanted = output.into_vec().unwrap();
    let planned = resample::plan(&job, (&source, memory.address()), (&result, found.address())).unwrap();
    let table = Poisoned::from_bytes(&table(&planned.windows), seed);
    let kernels = Emulator::module(resample::MODULE).unwrap();
    assert_eq!(kernels.threads(planned.kernel), Some(resample::THREADS));
    let args = planned.args(table.address());
    kernels.launch(planned.kernel, (planned.grid, 1), resample::THREADS, &args, seed).unwrap();
    found.check().unwrap();
    let differs = found.iter().zip(&wanted).position(|(a, b)| a != b);
    assert_eq!(differs, None, "{sampling:?} of {data_type}, seed {seed}: {job:?}, {source:?} to {result:?}");
    assert!(found.len() == wanted.len());
    planned.kernel
}

fn table(windows: &[ResampleEntry]) -> Vec<u8> {
    // SAFETY: plain numbers without padding.
    unsafe { std::slice::from_raw_parts(windows.as_ptr().cast::<u8>(), size_of_val(windows)).to_vec() }
}

#[test]
fn every_method_and_type_as_on_the_cpu() {
    for (index, data_type) in (0u64..).zip(DataType::ALL) {
        for (which, sampling) in (0u64..).zip([Sampling::Nearest, Sampling::Bilinear, Sampling::Average]) {
            if sampling != Sampling::Nearest && !Convert::takes(data_type) {
                continue;
            }
            (0..12).for_each(|round| compare(data_type, sampling, (index * 3 + which) * 100 + round));
        }
    }
}

/// Rows of several pieces, more pieces than a CUDA block has threads, windows of a few pixels among them.
#[test]
fn means_of_many_pixels_as_on_the_cpu() {
    let types = [DataType::U8, DataType::I16, DataType::F16, DataType::F32, DataType::F64, DataType::U64];
    for (seed, data_type) in (7000..).zip(types) {
        for (from, to) in [((700, 301), (2, 3)), ((600, 9), (1, 1)), ((70, 900), (3, 2))] {
            let mut draw = Draw(Garbage::new(seed));
            let all = [0.0, 0.0, f64::from(from.0), f64::from(from.1)];
            let over = [-0.5 - draw.part(), 0.25, f64::from(from.0) * 1.5, f64::from(from.1) - draw.part()];
            let windows = [(all, from), (over, from), ([0.5, 0.0, 3.0, 1.0], (3, 2)), (all, (0, 0))];
            let windows = windows.map(|(exact, size)| {
                let nodata = (draw.below(2) == 0).then(|| Fill(sample(data_type, &mut draw)));
                ResampleWindow { exact, size, nodata, fill: Fill(sample(data_type, &mut draw)) }
            });
            let kernel =
                compare_windows(data_type, Sampling::Average, windows.to_vec(), (from, to), draw, seed);
            assert_eq!(kernel, resample::WIDE);
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let small = spec(DataType::U8, 2, (4, 4), 0);
    let window =
        ResampleWindow { exact: [0.0, 0.0, 4.0, 4.0], size: (4, 4), nodata: None, fill: Fill::default() };
    let job = |window, count| ResampleJob { sampling: Sampling::Average, windows: vec![window; count] };
    let refused = |job: &ResampleJob, from: &OutputSpec, to: &OutputSpec| {
        resample::plan(job, (from, 256), (to, 512)).unwrap_err().to_string()
    };
    assert!(resample::plan(&job(window, 2), (&small, 256), (&small, 512)).is_ok());
    assert!(refused(&job(window, 0), &small, &small).contains("0 windows"));
    assert!(refused(&job(window, 3), &small, &small).contains("as many of each window"));
    let larger = ResampleWindow { size: (5, 4), ..window };
    assert!(refused(&job(larger, 2), &small, &small).contains("inside the pixels"));
    for exact in [[f64::NAN, 0.0, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, f64::INFINITY, 1.0]] {
        let odd = ResampleWindow { exact, ..window };
        assert!(refused(&job(odd, 2), &small, &small).contains("inside the pixels"));
    }
    let complex = spec(DataType::C64, 2, (4, 4), 0);
    assert!(refused(&job(window, 2), &complex, &complex).contains("nearest alone"));
    let other = spec(DataType::U16, 2, (4, 4), 0);
    assert!(refused(&job(window, 2), &small, &other).contains("the same type"));
    let huge = spec(DataType::U8, 2, (1 << 20, 1 << 12), 0);
    assert!(refused(&job(window, 2), &small, &huge).contains("fewer than a launch can have"));
}

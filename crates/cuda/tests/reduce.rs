//! The kernels of `reduce.cu` equal the CPU engine, bit for bit: every method, type, nodata, mask, layout and cut, samples
//! drawn from what is awkward (NaN, infinities, zeros of both signs, ends of ranges, neighbours of nodata).
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "code of tests: it fails by panicking, and knows its numbers"
)]
#![expect(unsafe_code, reason = "memory of the host stands for that of a device")]

use std::sync::Arc;
use strile_cpu::CpuEngine;
use strile_cuda::encode::reduce::{self, ReducePart};
use strile_emulate::{Emulator, Garbage, Poisoned};
use strile_engine::{
    Context, DeviceBytes, Engine, EngineError, Fill, OutputSpec, ReduceJob, ReduceTask, Resampling,
    SharedPixels, Strides, Support,
};
use strile_tiff::DataType;

struct Draw(Garbage);

impl Draw {
    fn below(&mut self, n: u32) -> u32 {
        (self.0.word() >> 16) as u32 % n.max(1)
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u32) as usize]
    }
}

/// Bits of awkward numbers of a type; of complex ones those of a part.
fn awkward(data_type: DataType) -> Vec<u64> {
    use DataType as D;
    let size = data_type.size() as u32 * 8;
    match data_type {
        D::U8 | D::U16 | D::U32 | D::U64 => {
            let max = u64::MAX >> (64 - size);
            vec![0, 1, 2, max, max - 1, max / 2, max / 2 + 1, max / 3]
        }
        D::I8 | D::I16 | D::I32 | D::I64 => {
            let max = u64::MAX >> (65 - size);
            vec![0, 1, 2, !0, !1, max, max - 1, !max, !max + 1, max / 2, !(max / 2)]
        }
        D::F16 => vec![
            0, 0x8000, 1, 0x8001, 0x3C00, 0xBC00, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E01, 0x7D00, 0x3FF,
            0x400,
        ],
        D::F32 | D::C64 => [
            0.0f32,
            -0.0,
            1.0,
            -1.5,
            f32::MAX,
            f32::MIN,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::MIN_POSITIVE,
            f32::from_bits(1),
            f32::from_bits(0x8000_0003),
            f32::from_bits(0x7FC0_1234),
            f32::from_bits(0xFF80_0001),
            16_777_216.0,
        ]
        .iter()
        .map(|v| u64::from(v.to_bits()))
        .collect(),
        D::F64 | D::C128 => [
            0.0f64,
            -0.0,
            1.0,
            -1.5,
            f64::MAX,
            f64::MIN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::MIN_POSITIVE,
            f64::from_bits(1),
            f64::from_bits(0x7FF8_0000_0000_1234),
            f64::from_bits(0xFFF0_0000_0000_0001),
            1e200,
            -1e-200,
        ]
        .iter()
        .map(|v| v.to_bits())
        .collect(),
    }
}

/// Bits of an everyday number.
fn mild(data_type: DataType, draw: &mut Draw) -> u64 {
    use DataType as D;
    let small = f64::from(draw.below(4000)) / 7.0 - 200.0;
    let few = draw.below(5);
    let value = if draw.below(2) == 0 { small } else { f64::from(few) - 2.0 };
    match data_type {
        D::F16 => u64::from(half(value as f32)),
        D::F32 | D::C64 => u64::from((value as f32).to_bits()),
        D::F64 | D::C128 => value.to_bits(),
        D::U8 | D::U16 | D::U32 | D::U64 => value.abs() as u64,
        D::I8 | D::I16 | D::I32 | D::I64 => value as i64 as u64,
    }
}

/// A number of `float16` near the value: its fraction cut off.
fn half(value: f32) -> u16 {
    let bits = value.to_bits();
    let exponent = (bits >> 23 & 255) as i32 - 112;
    if exponent <= 0 {
        0
    } else {
        (bits >> 16 & 0x8000) as u16 | (exponent as u16) << 10 | (bits >> 13 & 0x3FF) as u16
    }
}

/// One sample.
type Sample = [u8; 16];

fn sample(data_type: DataType, draw: &mut Draw, wild: bool) -> Sample {
    let part = |draw: &mut Draw| match draw.below(8) {
        0 | 1 if wild => draw.0.word(),
        2..6 if wild => {
            let of = awkward(data_type);
            draw.one(&of)
        }
        _ => mild(data_type, draw),
    };
    let mut sample = [0; 16];
    let size = match data_type {
        DataType::C64 | DataType::C128 => data_type.size() / 2,
        _ => data_type.size(),
    };
    sample[..size].copy_from_slice(&part(draw).to_le_bytes()[..size]);
    if size != data_type.size() {
        sample[size..2 * size].copy_from_slice(&part(draw).to_le_bytes()[..size]);
    }
    sample
}

/// A number next to a sample, of complex ones in the real part: its last byte is one less.
fn next_to(mut sample: Sample) -> Sample {
    sample[0] = sample[0].wrapping_sub(1);
    sample
}

struct Image {
    data_type: DataType,
    bands: u32,
    rows: u32,
    columns: u32,
    samples: Vec<Sample>,
    mask: Option<Vec<u8>>,
    nodata: Option<Sample>,
}

impl Image {
    fn new(data_type: DataType, (bands, rows, columns): (u32, u32, u32), draw: &mut Draw) -> Self {
        let wild = draw.below(3) != 0;
        let nodata = (draw.below(2) == 0).then(|| sample(data_type, draw, wild));
        // How many of eight are nodata.
        let holes = draw.one(&[0, 1, 3, 6]);
        let every = |draw: &mut Draw| match (nodata, draw.below(8)) {
            (Some(nodata), n) if n < holes => nodata,
            (Some(nodata), 7) => next_to(nodata),
            _ => sample(data_type, draw, wild),
        };
        let samples = (0..bands * rows * columns).map(|_| every(draw)).collect();
        let masked = draw.below(2) == 0;
        let holes = draw.one(&[0, 1, 4, 7]);
        let mask = masked.then(|| {
            (0..rows * columns)
                .map(|_| if draw.below(8) < holes { 0 } else { draw.one(&[1, 128, 255]) })
                .collect()
        });
        Self { data_type, bands, rows, columns, samples, mask, nodata }
    }

    fn fill(&self) -> Option<Fill> {
        self.nodata.map(Fill)
    }
}

/// Bytes between bands, rows and columns of a window, in one of several orders, and bytes before it.
fn strides(style: u32, size: usize, (bands, rows, columns): (u32, u32, u32)) -> (Strides, usize) {
    let (bands, rows, columns) = (bands as usize, rows as usize, columns as usize);
    match style {
        0 => (Strides { band: rows * columns * size, row: columns * size, column: size }, 0),
        1 => (Strides { band: size, row: columns * bands * size, column: bands * size }, 0),
        // Gaps everywhere.
        2 => {
            let row = columns * 2 * size + 3 * size;
            (Strides { band: rows * row + size, row, column: 2 * size }, size)
        }
        3 => {
            let column = (bands + 1) * size;
            (Strides { band: size, row: columns * column + 5 * size, column }, 3 * size)
        }
        // Columns far apart.
        4 => (Strides { band: rows * columns * size, row: size, column: rows * size }, 0),
        // Bands between rows.
        5 => (Strides { band: columns * size, row: bands * columns * size, column: size }, 0),
        // Not aligned.
        6 => (
            Strides {
                band: rows * (columns * (size + 1) + 1),
                row: columns * (size + 1) + 1,
                column: size + 1,
            },
            1,
        ),
        _ => {
            let column = bands * size + 1;
            (Strides { band: size, row: columns * column + 2, column }, 3)
        }
    }
}

/// The same pixels on the host and on the device.
fn both(
    spec: OutputSpec,
    skip: usize,
    draw: &mut Draw,
    put: impl Fn(&mut [u8]),
) -> (SharedPixels, SharedPixels) {
    let len = spec.len().unwrap();
    let mut memory = Poisoned::new(skip + len, draw.0.word());
    put(&mut memory[skip..]);
    let host = SharedPixels::new(spec.clone(), Arc::new(memory[skip..].to_vec())).unwrap();
    let address = memory.address() + skip as u64;
    // SAFETY: the emulator's device is the host, and the owner is the memory.
    let bytes = unsafe { DeviceBytes::new(0, address, len as u64, Arc::new(memory)) };
    (host, SharedPixels::on_device(spec, bytes).unwrap())
}

impl Image {
    /// A window of the image and of its mask, each in a layout of its own.
    fn window(
        &self,
        (x, y): (u32, u32),
        (columns, rows): (u32, u32),
        draw: &mut Draw,
    ) -> Vec<(SharedPixels, SharedPixels)> {
        let size = self.data_type.size();
        let (layout, skip) = strides(draw.below(8), size, (self.bands, rows, columns));
        let spec =
            OutputSpec { data_type: self.data_type, bands: self.bands, rows, columns, strides: layout };
        let at = |row: u32, column: u32| ((y + row) * self.columns + x + column) as usize;
        let plane = (self.rows * self.columns) as usize;
        let mut windows = vec![both(spec, skip, draw, |to| {
            for band in 0..self.bands as usize {
                for (row, column) in each(rows, columns) {
                    let sample = &self.samples[band * plane + at(row, column)][..size];
                    let start =
                        band * layout.band + row as usize * layout.row + column as usize * layout.column;
                    to[start..start + size].copy_from_slice(sample);
                }
            }
        })];
        if let Some(mask) = &self.mask {
            let (layout, skip) = strides(draw.one(&[0, 2, 4]), 1, (1, rows, columns));
            let spec = OutputSpec { data_type: DataType::U8, bands: 1, rows, columns, strides: layout };
            windows.push(both(spec, skip, draw, |to| {
                for (row, column) in each(rows, columns) {
                    to[row as usize * layout.row + column as usize * layout.column] = mask[at(row, column)];
                }
            }));
        }
        windows
    }
}

fn each(rows: u32, columns: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..rows).flat_map(move |row| (0..columns).map(move |column| (row, column)))
}

/// Reduces an image cut into parts of at most this size, and compares.
fn compare(image: &Image, method: Resampling, cut: (u32, u32), draw: &mut Draw, seed: u64) {
    let (across, down) = (image.columns.div_ceil(2), image.rows.div_ceil(2));
    let (mut host, mut device, mut tasks) = (Vec::new(), Vec::new(), Vec::new());
    for (y, x) in each(down.div_ceil(cut.1), across.div_ceil(cut.0)) {
        let target = (x * cut.0, y * cut.1);
        let size = (cut.0.min(across - target.0), cut.1.min(down - target.1));
        let task = ReduceTask {
            pixels: host.len() as u32,
            mask: image.mask.is_some().then_some(host.len() as u32 + 1),
            origin: (0, 0),
            image: (image.columns, image.rows),
            target,
            size,
        };
        let (columns, rows) = (task.source_columns(method), task.source_rows(method));
        let origin = (columns.start, rows.start);
        for (on_host, on_device) in image.window(origin, (columns.len() as u32, rows.len() as u32), draw) {
            host.push(on_host);
            device.push(on_device);
        }
        tasks.push(ReduceTask { origin, ..task });
    }
    let job = ReduceJob { method, nodata: image.fill(), tasks };
    let reduction = reduce::plan(&job, &device).unwrap();
    assert!(reduction.launches.len() <= 2, "one launch for all parts, one for all masks");
    let mut output = Poisoned::new(reduction.len as usize, seed);
    let mut want = output.to_vec();
    let table = Poisoned::from_bytes(&table(&reduction.parts), seed);
    let kernels = Emulator::module(reduce::MODULE).unwrap();
    for launch in &reduction.launches {
        assert_eq!(kernels.threads(launch.entry), Some(reduce::THREADS));
        let args = launch.args(table.address(), output.address());
        kernels.launch(launch.entry, launch.grid, reduce::THREADS, &args, seed).unwrap();
    }
    output.check().unwrap();
    let name = format!(
        "{} of {} × {} × {} {}, nodata {:?}, mask {}, cut {cut:?}",
        method.name(),
        image.bands,
        image.rows,
        image.columns,
        image.data_type,
        image.nodata,
        image.mask.is_some()
    );
    let reduced = CpuEngine::new().reduce(job, &host, &Context::default()).unwrap().wait().unwrap();
    for (index, (reduced, places)) in reduced.iter().zip(&reduction.places).enumerate() {
        let pairs =
            [(Some(&reduced.pixels), Some(&places.pixels)), (reduced.mask.as_ref(), places.mask.as_ref())];
        for (expected, place) in pairs {
            let (Some(expected), Some(place)) = (expected, place) else {
                assert!(expected.is_none() && place.is_none(), "{name}, part {index}");
                continue;
            };
            assert_eq!(expected.spec(), &place.spec, "{name}, part {index}");
            let (start, len) = (place.offset as usize, expected.spec().len().unwrap());
            want[start..start + len].copy_from_slice(&expected.bytes()[..len]);
            let n = place.spec.data_type.size();
            let found = output[start..start + len].chunks(n);
            for (at, (found, expected)) in found.zip(expected.bytes()[..len].chunks(n)).enumerate() {
                assert!(
                    found == expected,
                    "{name}, part {index}, sample {at} of {:?}: {found:02x?}, expected {expected:02x?}",
                    place.spec
                );
            }
        }
    }
    assert!(output.iter().eq(&want), "{name}: bytes between results");
}

fn table(parts: &[ReducePart]) -> Vec<u8> {
    // SAFETY: plain numbers without padding.
    unsafe { std::slice::from_raw_parts(parts.as_ptr().cast::<u8>(), size_of_val(parts)).to_vec() }
}

fn defined() -> impl Iterator<Item = (Resampling, DataType)> {
    let all =
        Resampling::ALL.into_iter().flat_map(|method| DataType::ALL.map(|data_type| (method, data_type)));
    all.filter(|(method, data_type)| reduce::reduces(*method, *data_type) == Support::Yes)
}

#[test]
fn every_method_and_type_as_on_the_cpu() {
    for (index, (method, data_type)) in defined().enumerate() {
        for round in 0..10 {
            let seed = index as u64 * 1000 + round;
            let mut draw = Draw(Garbage::new(seed));
            let size = (draw.one(&[1, 1, 2, 3, 4, 5]), 1 + draw.below(23), 1 + draw.below(37));
            let image = Image::new(data_type, size, &mut draw);
            let cut = draw.one(&[(1000, 1000), (1000, 1000), (5, 3), (16, 4), (7, 100)]);
            compare(&image, method, cut, &mut draw, seed);
        }
    }
}

#[test]
fn images_of_several_tiles() {
    use Resampling::{Average, Bilinear, Cubic, Lanczos, Max, Nearest, Rms};
    let mut draw = Draw(Garbage::new(77));
    for (seed, method) in [Nearest, Average, Max, Rms, Bilinear, Cubic, Lanczos].into_iter().enumerate() {
        for (data_type, size) in
            [(DataType::U8, (3, 41, 301)), (DataType::F32, (1, 150, 70)), (DataType::I16, (2, 9, 1100))]
        {
            let image = Image::new(data_type, size, &mut draw);
            compare(&image, method, (1000, 1000), &mut draw, seed as u64);
        }
    }
}

#[test]
fn the_order_of_threads_does_not_show() {
    for seed in Emulator::seeds() {
        let mut draw = Draw(Garbage::new(5));
        let image = Image::new(DataType::F32, (1, 33, 45), &mut draw);
        compare(&image, Resampling::Lanczos, (40, 12), &mut draw, seed);
        compare(&image, Resampling::Average, (40, 12), &mut draw, seed);
    }
}

#[test]
fn halves_of_float16_are_rounded_as_on_the_cpu() {
    // Means of every number and 0: every exponent, ties included.
    let samples = (0..=u16::MAX).flat_map(|bits| {
        let mut sample = [0; 16];
        sample[..2].copy_from_slice(&bits.to_le_bytes());
        [sample, [0; 16]]
    });
    let (rows, columns) = (64, 2048);
    let image = Image {
        data_type: DataType::F16,
        bands: 1,
        rows,
        columns,
        samples: samples.collect(),
        mask: None,
        nodata: None,
    };
    let mut draw = Draw(Garbage::new(1));
    for method in [Resampling::Average, Resampling::Rms, Resampling::Gauss] {
        compare(&image, method, (1024, 32), &mut draw, 1);
    }
}

#[test]
fn jobs_that_do_not_fit_are_refused() {
    let mut draw = Draw(Garbage::new(3));
    let image = Image::new(DataType::U8, (1, 9, 9), &mut draw);
    let (host, device): (Vec<_>, Vec<_>) = image.window((0, 0), (9, 9), &mut draw).into_iter().unzip();
    let task =
        ReduceTask { pixels: 0, mask: None, origin: (0, 0), image: (9, 9), target: (0, 0), size: (5, 5) };
    let plan = |method, task: ReduceTask, pixels: &[SharedPixels]| {
        reduce::plan(&ReduceJob { method, nodata: None, tasks: vec![task] }, pixels)
    };
    let refused =
        |result: Result<_, EngineError>| assert!(matches!(result, Err(EngineError::Mismatch { .. })));
    assert!(plan(Resampling::Average, task, &device).is_ok());
    refused(plan(Resampling::Average, task, &host).map(drop));
    refused(plan(Resampling::Average, ReduceTask { pixels: 9, ..task }, &device).map(drop));
    refused(plan(Resampling::Average, ReduceTask { size: (6, 5), ..task }, &device).map(drop));
    refused(plan(Resampling::Average, ReduceTask { origin: (1, 0), ..task }, &device).map(drop));
    refused(plan(Resampling::Cubic, ReduceTask { image: (20, 9), size: (4, 5), ..task }, &device).map(drop));
    let none = ReduceJob { method: Resampling::Mode, nodata: None, tasks: Vec::new() };
    let nothing = reduce::plan(&none, &device).unwrap();
    assert!(nothing.launches.is_empty() && nothing.len == 0);
}

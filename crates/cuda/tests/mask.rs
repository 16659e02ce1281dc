//! The kernel of `mask.cu` equals the CPU engine, bit for bit: masks and outputs of every type, any strides, bands that are
//! spared, windows in any order.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "code of tests: it fails by panicking, and knows its numbers"
)]
#![expect(unsafe_code, reason = "memory of the host stands for that of a device")]

use std::sync::Arc;
use strile_cpu::CpuEngine;
use strile_cuda::steps::mask::{self, MaskEntry};
use strile_emulate::{Emulator, Garbage, Poisoned};
use strile_engine::{Context, Engine, Fill, MaskJob, MaskWindow, Output, OutputSpec, SharedPixels, Strides};
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

fn compare(masked_by: DataType, data_type: DataType, seed: u64) {
    let mut draw = Garbage::new(seed);
    let size = (1 + below(&mut draw, 40), 1 + below(&mut draw, 19));
    let mut windows = Vec::new();
    let mut first_band = below(&mut draw, 2);
    for _ in 0..1 + below(&mut draw, 4) {
        let bands = 1 + below(&mut draw, 3);
        let spared = (below(&mut draw, 3) == 0).then(|| first_band + below(&mut draw, bands));
        windows.push(MaskWindow { first_band, bands, spared });
        first_band += bands + below(&mut draw, 2);
    }
    if below(&mut draw, 2) == 0 {
        windows.reverse();
    }
    let from = spec(masked_by, windows.len() as u32, size, below(&mut draw, 3));
    let to = spec(data_type, first_band + 1, size, below(&mut draw, 3));
    let mut masks = Poisoned::new(from.len().unwrap(), seed);
    let Strides { band, row, column } = from.strides;
    for plane in 0..from.bands as usize {
        for at in 0..(size.0 * size.1) as usize {
            let at = plane * band + at / size.0 as usize * row + at % size.0 as usize * column;
            let sample = &mut masks[at..at + masked_by.size()];
            sample.fill(0);
            if below(&mut draw, 2) == 0 {
                // One bit anywhere makes a pixel valid.
                let byte = below(&mut draw, masked_by.size() as u32) as usize;
                sample[byte] = 1 << below(&mut draw, 8);
            }
        }
    }
    let mut value = Fill::default();
    value.0[..8].copy_from_slice(&draw.word().to_le_bytes());
    value.0[8..].copy_from_slice(&draw.word().to_le_bytes());
    let job = MaskJob { windows, value };
    let mut found = Poisoned::new(to.len().unwrap(), seed ^ 1);
    let pixels = SharedPixels::new(from.clone(), Arc::new(masks.to_vec())).unwrap();
    let output = Output::from_vec(to.clone(), found.to_vec()).unwrap();
    CpuEngine::new().mask(&job, &pixels, &output, &Context::default()).unwrap();
    let wanted = output.into_vec().unwrap();
    let masks_any = job.windows.iter().any(|window| window.bands > u32::from(window.spared.is_some()));
    let changed = wanted.iter().zip(found.iter()).any(|(a, b)| a != b);
    assert!(changed || !masks_any || size.0 * size.1 < 16, "nothing was masked, seed {seed}");
    let planned = mask::plan(&job, (&from, masks.address()), (&to, found.address())).unwrap();
    let table = Poisoned::from_bytes(&table(&planned.windows), seed);
    let kernels = Emulator::module(mask::MODULE).unwrap();
    assert_eq!(kernels.threads(mask::MODULE), Some(mask::THREADS));
    let args = planned.args(table.address());
    kernels.launch(mask::MODULE, (planned.grid, 1), mask::THREADS, &args, seed).unwrap();
    found.check().unwrap();
    masks.check().unwrap();
    let differs = found.iter().zip(&wanted).position(|(a, b)| a != b);
    assert_eq!(differs, None, "{masked_by} over {data_type}, seed {seed}: {job:?}, {from:?} to {to:?}");
}

fn table(windows: &[MaskEntry]) -> Vec<u8> {
    // SAFETY: plain numbers without padding.
    unsafe { std::slice::from_raw_parts(windows.as_ptr().cast::<u8>(), size_of_val(windows)).to_vec() }
}

#[test]
fn every_type_as_on_the_cpu() {
    for (index, data_type) in (0u64..).zip(DataType::ALL) {
        for (other, masked_by) in (0u64..).zip(DataType::ALL) {
            (0..3).for_each(|round| compare(masked_by, data_type, (index * 20 + other) * 10 + round));
        }
    }
}

#[test]
fn what_a_launch_cannot_have_is_refused() {
    let job = MaskJob {
        windows: vec![MaskWindow { first_band: 0, bands: 1, spared: None }],
        value: Fill::default(),
    };
    let huge = spec(DataType::U8, 1, (1 << 20, 1 << 12), 0);
    let refused = mask::plan(&job, (&huge, 256), (&huge, 512)).unwrap_err().to_string();
    assert!(refused.contains("fewer than a launch can have"), "{refused}");
}

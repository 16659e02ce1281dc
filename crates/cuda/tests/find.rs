//! The kernel of `find.cu`: values of every type are found in outputs of any strides and at any address, at the last sample
//! as at the first, and not between samples, nor in blocks whose status is a fault.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "code of tests: it fails by panicking, and knows its numbers"
)]
#![expect(unsafe_code, reason = "memory of the host stands for that of a device")]

use strile_cuda::decode::place::{self, NO_STATUS, PlaceArgs, PlaceLayout, PlaceTask, TaskPlaces};
use strile_cuda::launch::TaskLaunch;
use strile_cuda::steps::find::{self, Values};
use strile_emulate::{Emulator, Garbage, Poisoned};
use strile_engine::{BlockLayout, Fill, OutputSpec, Placement, Sought, Strides};
use strile_tiff::DataType;

fn below(draw: &mut Garbage, n: u32) -> u32 {
    (draw.word() >> 16) as u32 % n.max(1)
}

/// Band after band, pixel after pixel, or with bytes between rows and samples, which are then not aligned.
fn spec(data_type: DataType, bands: u32, (columns, rows): (u32, u32), style: u32) -> OutputSpec {
    match style {
        0 => OutputSpec::band_first(data_type, bands, rows, columns).unwrap(),
        1 => OutputSpec::band_last(data_type, bands, rows, columns).unwrap(),
        _ => {
            let column = data_type.size() + 1;
            let row = columns as usize * column + 3;
            let strides = Strides { band: row * rows as usize, row, column };
            OutputSpec { data_type, bands, rows, columns, strides }
        }
    }
}

fn bytes_of<T: Copy>(items: &[T]) -> Vec<u8> {
    // SAFETY: structs of plain numbers without padding, as their sizes say.
    unsafe { std::slice::from_raw_parts(items.as_ptr().cast::<u8>(), size_of_val(items)).to_vec() }
}

/// Which sample of the task has the value, if any.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Hidden {
    Nowhere,
    First,
    Last,
    /// Beside the task's part of the output.
    Outside,
    /// At the last sample of a task that looks for another value.
    OfAnother,
    /// At the last sample of a block that is left to the host.
    Refused,
}

fn check(data_type: DataType, style: u32, hidden: Hidden, seed: u64) {
    let mut draw = Garbage::new(seed);
    let bands = if below(&mut draw, 2) == 0 { 1 } else { 3 };
    let size = (1 + below(&mut draw, 90) * (1 + below(&mut draw, 8)), 1 + below(&mut draw, 9));
    // The output has a column more than the block, which no task writes.
    let spec = spec(data_type, bands, (size.0 + 1, size.1), style);
    let block = BlockLayout::stored(data_type, size, bands as u16);
    let skip = if style == 2 { below(&mut draw, 16) as usize } else { 0 };
    let bytes = data_type.size();
    let value = vec![0x31; bytes];
    let mut out = Poisoned::new(skip + spec.len().unwrap(), seed);
    out.iter_mut().for_each(|byte| *byte = 0x77);
    // Of complex samples the imaginary part is 0.
    let mut sample = value.clone();
    if matches!(data_type, DataType::C64 | DataType::C128) {
        sample[bytes / 2..].fill(0);
    }
    let (x, y, band) = match hidden {
        Hidden::First => (0, 0, 0),
        Hidden::Outside => (size.0, size.1 - 1, bands - 1),
        _ => (size.0 - 1, size.1 - 1, bands - 1),
    };
    let at = skip + band as usize * spec.strides.band + y as usize * spec.strides.row;
    let at = at + x as usize * spec.strides.column;
    if hidden != Hidden::Nowhere {
        out[at..at + bytes].copy_from_slice(&sample);
    }
    let mut fill = Fill::default();
    fill.0[..bytes].copy_from_slice(&value);
    let layout: PlaceLayout = place::layout(&block, &spec, &mut Vec::new()).unwrap();
    let placement = Placement {
        rows: size.1,
        image_rows: size.1,
        block_x: 0,
        block_y: 0,
        width: size.0,
        height: size.1,
        out_x: 0,
        out_y: 0,
        first_band: 0,
    };
    let places = TaskPlaces {
        src: Some(256),
        output: out.address() + skip as u64,
        layout: 0,
        status: if hidden == Hidden::Refused || seed.is_multiple_of(2) { 0 } else { NO_STATUS },
        selection: 0,
    };
    let every: Vec<u16> = (0..bands as u16).collect();
    let mut tasks: Vec<PlaceTask> = vec![layout.task(&placement, &every, &places)];
    let mut values = Values::default();
    let other = Sought::new(DataType::U8, &Fill([9; 16]));
    let sought = Sought::new(data_type, &fill);
    values.set(&mut tasks[0], if hidden == Hidden::OfAnother { &other } else { &sought }).unwrap();
    let launches = place::launches(&mut tasks, &[layout]);
    let table = Poisoned::from_bytes(&bytes_of(&tasks), seed);
    let layouts = Poisoned::from_bytes(&bytes_of(&[layout]), seed);
    let refused = u32::from(hidden == Hidden::Refused);
    let mut statuses = Poisoned::from_bytes(&bytes_of(&[refused, 0]), seed);
    let all = PlaceArgs {
        tasks: table.address(),
        layouts: layouts.address(),
        statuses: statuses.address(),
        count: 1,
        ..PlaceArgs::default()
    };
    let kernels = Emulator::module(find::MODULE).unwrap();
    assert_eq!(kernels.threads(find::MODULE), Some(find::THREADS));
    for args in values.args(&all, statuses.address() + 4) {
        let (count, parts) = TaskLaunch::grid_of_all(&launches, 1);
        let parts = if seed.is_multiple_of(3) { 1 } else { parts.min(3) };
        kernels.launch(find::MODULE, (count, parts), find::THREADS, &args, seed).unwrap();
    }
    out.check().unwrap();
    statuses.check().unwrap();
    let wanted = u32::from(matches!(hidden, Hidden::First | Hidden::Last));
    let found = u32::from_ne_bytes(statuses[4..8].try_into().unwrap());
    assert_eq!(found, wanted, "{data_type}, {hidden:?}, style {style}, seed {seed}: {spec:?}");
}

#[test]
fn every_type_is_found_at_its_first_and_last_sample_and_nowhere_else() {
    use Hidden::{First, Last, Nowhere, OfAnother, Outside, Refused};
    let mut seed = 0;
    for data_type in DataType::ALL {
        for style in 0..3 {
            for hidden in [Nowhere, First, Last, Last, Outside, OfAnother, Refused] {
                seed += 1;
                check(data_type, style, hidden, seed);
            }
        }
    }
}

//! Reducing jobs: halve parts of images on the threads of `pool`.
//!
//! `part` checks a task once and provides its rows; `sample` is the arithmetic of each type; `nearest`, `four` (methods
//! over two by two pixels), `mean` (the most common of them) and `filter` (Gauss and the convolutions) are the loops;
//! `running` divides the work among threads. `reduce.md` of the engine crate defines every method.

mod filter;
mod four;
mod mean;
mod nearest;
mod part;
mod running;
pub(crate) mod sample;

use half::f16;
use part::Part;
use std::ops::Range;
use strile_engine::{Fill, Resampling};
use strile_tiff::DataType;

pub(crate) use running::submit;

/// Parameters of a job that are the same for all tasks.
#[derive(Debug, Clone, Copy)]
struct Manner {
    method: Resampling,
    nodata: Option<Fill>,
}

/// Rows of a part of a reduced image, band by band if the pixels are band-first, and their mask.
struct Rows {
    pixels: Vec<u8>,
    mask: Option<Vec<u8>>,
}

/// Computes rows of a part.
fn rows(manner: Manner, part: &Part<'_>, rows: Range<u32>) -> Rows {
    use DataType as D;
    if manner.method == Resampling::Nearest {
        return nearest::rows(part, rows);
    }
    match part.data_type() {
        D::U8 => real::<u8>(manner, part, rows),
        D::I8 => real::<i8>(manner, part, rows),
        D::U16 => real::<u16>(manner, part, rows),
        D::I16 => real::<i16>(manner, part, rows),
        D::U32 => real::<u32>(manner, part, rows),
        D::I32 => real::<i32>(manner, part, rows),
        D::U64 => real::<u64>(manner, part, rows),
        D::I64 => real::<i64>(manner, part, rows),
        D::F16 => real::<f16>(manner, part, rows),
        D::F32 => real::<f32>(manner, part, rows),
        D::F64 => real::<f64>(manner, part, rows),
        // `support` allows only the average for these.
        D::C64 => four::complex::<f32>(manner, part, rows),
        D::C128 => four::complex::<f64>(manner, part, rows),
    }
}

fn real<T: sample::Sample>(manner: Manner, part: &Part<'_>, rows: Range<u32>) -> Rows {
    match filter::Kernel::of(manner.method) {
        Some(kernel) => filter::rows::<T>(&kernel, manner, part, rows),
        None => four::rows::<T>(manner, part, rows),
    }
}

//! `count_missing`: how many samples of an array are NaN, and how many equal a value.
//!
//! One pass over the memory, on all cores. Axes that repeat samples (stride 0) count each sample once per repetition.

#![expect(unsafe_code, reason = "memory of arrays is taken by address")]

use crate::array::View;
use crate::contains::{Grid, Wanted};
use crate::error::refused;
use crate::{call, device};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use strile::{DataType, Location};

/// Samples between additions to what all threads count.
const CHUNK: usize = 1024;

/// How many samples of an array in host memory are NaN, and how many equal a value.
#[pyfunction]
pub(crate) fn count_missing(
    py: Python<'_>,
    array: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
) -> PyResult<(u64, u64)> {
    let view = View::new(array, None)?;
    if view.location != Location::Host {
        let place = device::name(view.location);
        return Err(refused(format!("expected an array in host memory, got one on {place}")));
    }
    if view.shape.contains(&0) {
        return Ok((0, 0));
    }
    let wanted = Wanted::of(value, view.data_type)?;
    let repeated = view.shape.iter().zip(&view.strides).filter(|(_, stride)| **stride == 0);
    let repeats: u64 = repeated.map(|(count, _)| *count).product();
    let grid = Grid::of(&view)?;
    let (nans, equal) = (AtomicU64::new(0), AtomicU64::new(0));
    call::detached(py, || {
        grid.visit(view.data_type.size(), |address, count| {
            let found = in_row(address, count, grid.step(), view.data_type, wanted);
            nans.fetch_add(found.0, Ordering::Relaxed);
            equal.fetch_add(found.1, Ordering::Relaxed);
            false
        });
    })?;
    Ok((nans.into_inner() * repeats, equal.into_inner() * repeats))
}

/// NaN and equal samples among `count` samples `apart` bytes apart.
fn in_row(
    address: usize,
    count: usize,
    apart: usize,
    data_type: DataType,
    wanted: Option<Wanted>,
) -> (u64, u64) {
    use DataType as D;
    macro_rules! counted {
        ($type:ty, $is_nan:expr, $is_equal:expr) => {{
            let start = std::ptr::with_exposed_provenance::<$type>(address);
            let (is_nan, is_equal) = ($is_nan, $is_equal);
            if apart == size_of::<$type>() && start.is_aligned() {
                // SAFETY: the array says that these samples are there, one after the other, and is kept during the
                // count; any bits are a value of the type.
                let samples = unsafe { std::slice::from_raw_parts(start, count) };
                // Short sums of small numbers, so that it is done by vectors.
                samples.chunks(CHUNK).fold((0, 0), |(nans, equal), part| {
                    let found = part.iter().fold((0_u32, 0_u32), |(nans, equal), &sample| {
                        (nans + u32::from(is_nan(sample)), equal + u32::from(is_equal(sample)))
                    });
                    (nans + u64::from(found.0), equal + u64::from(found.1))
                })
            } else {
                (0..count).fold((0, 0), |(nans, equal), at| {
                    // SAFETY: as above, `apart` bytes apart.
                    let sample = unsafe { start.byte_add(at * apart).read_unaligned() };
                    (nans + u64::from(is_nan(sample)), equal + u64::from(is_equal(sample)))
                })
            }
        }};
    }
    let bits = if let Some(Wanted::Bits(bits)) = wanted { Some(bits) } else { None };
    let number = if let Some(Wanted::Float(number)) = wanted { number } else { f64::NAN };
    #[expect(clippy::cast_possible_truncation, reason = "the type holds it exactly")]
    let single = number as f32;
    match data_type {
        D::U8 | D::I8 => counted!(u8, |_| false, |v: u8| Some(u64::from(v)) == bits),
        D::U16 | D::I16 => counted!(u16, |_| false, |v: u16| Some(u64::from(v)) == bits),
        D::U32 | D::I32 => counted!(u32, |_| false, |v: u32| Some(u64::from(v)) == bits),
        D::U64 | D::I64 => counted!(u64, |_| false, |v: u64| Some(v) == bits),
        D::F32 => counted!(f32, |v: f32| v.is_nan(), |v: f32| v == single),
        D::F64 => counted!(f64, |v: f64| v.is_nan(), |v: f64| v == number),
        // Half floats and complex numbers are stored otherwise, or have no nodata value that could be mixed up.
        D::F16 | D::C64 | D::C128 => (0, 0),
    }
}

//! Whether an array holds a value: `contains`.
//!
//! The value is compared exactly: whole numbers never by way of floats, and a float that the type of the array cannot
//! hold is in none. NaN means any NaN; the zeros are one value; of complex samples the real part is meant, with no
//! imaginary one, or a NaN in either.

#![expect(unsafe_code, reason = "memory of arrays is taken by address")]

use crate::array::View;
use crate::error::refused;
use crate::keys::{float, integer, shown};
use crate::{call, device};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use strile::tiff::{from_half, to_half};
use strile::{DataType, Location};

/// Bytes that a thread is worth having for.
const SHARE: usize = 4 << 20;
/// Samples between looks whether another thread has found it.
const STEP: usize = 1 << 16;

/// Whether an array in host memory holds a value.
#[pyfunction]
pub(crate) fn contains(py: Python<'_>, array: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let view = View::new(array, None)?;
    if view.location != Location::Host {
        let place = device::name(view.location);
        return Err(refused(format!("the array is on {place}, expected one in host memory")));
    }
    let Some(wanted) = Wanted::of(value, view.data_type)? else { return Ok(false) };
    if view.shape.contains(&0) {
        return Ok(false);
    }
    let grid = Grid::of(&view)?;
    call::detached(py, || search(&grid, view.data_type, wanted))
}

/// What a sample is compared with.
#[derive(Clone, Copy)]
pub(crate) enum Wanted {
    /// The low bytes of a whole number, as its type has them.
    Bits(u64),
    /// A float that the type holds, or NaN.
    Float(f64),
}

impl Wanted {
    /// `None` where the type cannot hold the value.
    pub(crate) fn of(value: &Bound<'_, PyAny>, data_type: DataType) -> PyResult<Option<Self>> {
        use DataType as D;
        let whole = integer(value);
        let number = match whole {
            Some(_) => 0.0,
            None => float(value)
                .ok_or_else(|| PyTypeError::new_err(format!("value {}: expected a number", shown(value))))?,
        };
        let is_float = matches!(data_type, D::F16 | D::F32 | D::F64 | D::C64 | D::C128);
        if is_float {
            let number = whole.map_or(Some(number), exact);
            return Ok(number.filter(|number| holds(data_type, *number)).map(Self::Float));
        }
        let whole = whole.or_else(|| exact_integer(number));
        macro_rules! bits {
            ($type:ty) => {
                whole.and_then(|whole| <$type>::try_from(whole).ok()).map(|v| {
                    let mut low = [0; 8];
                    low.iter_mut().zip(v.to_le_bytes()).for_each(|(to, from)| *to = from);
                    u64::from_le_bytes(low)
                })
            };
        }
        let bits = match data_type {
            D::U8 => bits!(u8),
            D::I8 => bits!(i8),
            D::U16 => bits!(u16),
            D::I16 => bits!(i16),
            D::U32 => bits!(u32),
            D::I32 => bits!(i32),
            D::U64 => bits!(u64),
            D::I64 => bits!(i64),
            D::F16 | D::F32 | D::F64 | D::C64 | D::C128 => None,
        };
        Ok(bits.map(Self::Bits))
    }
}

/// The float that is exactly this whole number.
fn exact(whole: i128) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "looked at in the next line")]
    let number = whole as f64;
    (exact_integer(number) == Some(whole)).then_some(number)
}

/// The whole number that is exactly this float.
fn exact_integer(number: f64) -> Option<i128> {
    const LIMIT: f64 = 1.0e38;
    if number.fract() != 0.0 || number.abs() >= LIMIT {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "a whole number within the limit")]
    let whole = number as i128;
    Some(whole)
}

/// Whether a type of floats has a value.
fn holds(data_type: DataType, number: f64) -> bool {
    #[expect(clippy::cast_possible_truncation, reason = "looked at for what it loses")]
    let single = number as f32;
    let is_single = f64::from(single) == number || number.is_nan();
    match data_type {
        DataType::F16 => number.is_nan() || from_half(to_half(number)) == number,
        DataType::F32 | DataType::C64 => is_single,
        _ => true,
    }
}

/// Rows of samples that lie at equal distances.
pub(crate) struct Grid {
    /// The first sample of each row is found by these: how many, and how far apart in bytes.
    outer: Vec<(usize, isize)>,
    rows: usize,
    /// Samples of a row, and their distance in bytes.
    count: usize,
    step: isize,
    /// Of the first sample.
    address: usize,
}

impl Grid {
    /// An array with its axes put in the order of memory, and joined where there is nothing between them.
    pub(crate) fn of(view: &View) -> PyResult<Self> {
        let large = |_| refused("the array is larger than memory can address");
        let mut axes: Vec<(usize, isize)> = Vec::new();
        let mut address = view.address;
        for (&count, &stride) in view.shape.iter().zip(&view.strides) {
            let (count, stride) =
                (usize::try_from(count).map_err(large)?, isize::try_from(stride).map_err(large)?);
            // An axis that repeats samples is one of them.
            if count == 1 || stride == 0 {
                continue;
            }
            if stride < 0 {
                address = address.wrapping_sub(stride.unsigned_abs().wrapping_mul(count - 1));
            }
            axes.push((count, stride.abs()));
        }
        axes.sort_by_key(|&(_, stride)| std::cmp::Reverse(stride));
        let mut joined: Vec<(usize, isize)> = Vec::new();
        for (count, stride) in axes {
            match joined.last_mut() {
                Some(before)
                    if Some(before.1) == isize::try_from(count).ok().and_then(|n| stride.checked_mul(n)) =>
                {
                    *before = (before.0 * count, stride);
                }
                _ => joined.push((count, stride)),
            }
        }
        let size = isize::try_from(view.data_type.size()).map_err(large)?;
        let (count, step) = joined.pop().unwrap_or((1, size));
        let rows = joined.iter().map(|&(count, _)| count).product();
        Ok(Self { outer: joined, rows, count, step, address })
    }

    /// Gives all samples to `look`, on all cores: the address of the first, and how many. Ends early where it says so.
    pub(crate) fn visit(&self, size: usize, look: impl Fn(usize, usize) -> bool + Sync) {
        let shares = (self.rows * self.count).saturating_mul(size) / SHARE;
        // The number of cores takes longer to ask for than a small array to search.
        let threads = match shares {
            0 | 1 => 1,
            _ => shares.min(std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get)),
        };
        // Parts of rows, so that one long row is shared too.
        let pieces_per_row = self.count.div_ceil(STEP);
        let pieces = self.rows * pieces_per_row;
        let next = std::sync::atomic::AtomicUsize::new(0);
        // A thread takes some at once, of about as many samples as a long row has in one.
        let taken = (STEP / self.count.min(STEP)).max(1);
        let work = || {
            loop {
                let first = next.fetch_add(taken, Ordering::Relaxed);
                if first >= pieces {
                    return;
                }
                for piece in first..pieces.min(first + taken) {
                    let (row, start) = (piece / pieces_per_row, piece % pieces_per_row * STEP);
                    let address = self.row(row) + start * self.step.unsigned_abs();
                    if look(address, self.count.min(start + STEP) - start) {
                        return;
                    }
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads {
                // Fewer threads are slower and no less right.
                let _unneeded = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
    }

    /// The distance of two samples in bytes.
    pub(crate) fn step(&self) -> usize {
        self.step.unsigned_abs()
    }

    /// The address of the first sample of a row.
    fn row(&self, mut row: usize) -> usize {
        let mut offset = 0;
        for &(count, stride) in self.outer.iter().rev() {
            offset += (row % count) * stride.unsigned_abs();
            row /= count;
        }
        self.address + offset
    }
}

fn search(grid: &Grid, data_type: DataType, wanted: Wanted) -> bool {
    let found = AtomicBool::new(false);
    grid.visit(data_type.size(), |address, count| {
        if in_row(address, count, grid.step, data_type, wanted) {
            found.store(true, Ordering::Relaxed);
        }
        found.load(Ordering::Relaxed)
    });
    found.into_inner()
}

/// Looks at `count` samples `step` bytes apart.
fn in_row(address: usize, count: usize, step: isize, data_type: DataType, wanted: Wanted) -> bool {
    use DataType as D;
    macro_rules! any {
        ($type:ty, $is:expr) => {{
            let start = std::ptr::with_exposed_provenance::<$type>(address);
            let is = $is;
            let apart = step.unsigned_abs();
            if apart == size_of::<$type>() && start.is_aligned() {
                // SAFETY: the array says that these samples are there, one after the other, and is kept during the
                // search; any bits are a value of the type.
                let samples = unsafe { std::slice::from_raw_parts(start, count) };
                // Without a way out in between, so that it is done by vectors.
                samples.chunks(1024).any(|part| part.iter().fold(false, |any, &sample| any | is(sample)))
            } else {
                // SAFETY: as above, `step` bytes apart.
                (0..count).any(|at| is(unsafe { start.byte_add(at * apart).read_unaligned() }))
            }
        }};
    }
    match wanted {
        Wanted::Bits(bits) => match data_type.size() {
            1 => any!(u8, |sample: u8| u64::from(sample) == bits),
            2 => any!(u16, |sample: u16| u64::from(sample) == bits),
            4 => any!(u32, |sample: u32| u64::from(sample) == bits),
            _ => any!(u64, |sample: u64| sample == bits),
        },
        Wanted::Float(number) if number.is_nan() => match data_type {
            D::F16 => any!(u16, |sample: u16| sample & 0x7fff > 0x7c00),
            D::F32 => any!(f32, |sample: f32| sample.is_nan()),
            D::C64 => any!([f32; 2], |[real, imaginary]: [f32; 2]| real.is_nan() | imaginary.is_nan()),
            D::C128 => any!([f64; 2], |[real, imaginary]: [f64; 2]| real.is_nan() | imaginary.is_nan()),
            _ => any!(f64, |sample: f64| sample.is_nan()),
        },
        Wanted::Float(number) => {
            #[expect(clippy::cast_possible_truncation, reason = "the type holds it exactly")]
            let single = number as f32;
            match data_type {
                D::F16 => {
                    let bits = to_half(number);
                    let is_zero = number == 0.0;
                    any!(u16, |sample: u16| sample == bits || (is_zero && sample & 0x7fff == 0))
                }
                D::F32 => any!(f32, |sample: f32| sample == single),
                D::C64 => any!([f32; 2], |[real, imaginary]: [f32; 2]| (real == single) & (imaginary == 0.0)),
                D::C128 => {
                    any!([f64; 2], |[real, imaginary]: [f64; 2]| (real == number) & (imaginary == 0.0))
                }
                _ => any!(f64, |sample: f64| sample == number),
            }
        }
    }
}

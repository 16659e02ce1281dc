//! Counts samples equal to a value in callers' arrays in host memory, with any strides. Follows the rules of
//! [`Sought`]: both zeros are one value, NaN matches every NaN, and of complex samples the real part is compared.

#![expect(unsafe_code, reason = "memory of arrays is taken by address")]

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use strile_engine::{SampleParts, Sought};

/// Bytes per additional thread.
const SHARE: usize = 4 << 20;
/// Samples that a thread counts at a time.
const STEP: usize = 1 << 16;
/// Samples per vectorised partial sum: the sums stay short.
const TOGETHER: usize = 1024;

/// An array in host memory.
#[derive(Debug, Clone, Copy)]
pub struct Strided<'a> {
    /// Address of the first sample.
    pub address: usize,
    /// Bytes of a sample.
    pub size: usize,
    /// Samples along each axis.
    pub shape: &'a [u64],
    /// Bytes from one sample to the next along each axis.
    pub strides: &'a [i64],
}

/// Counts, on all cores, the samples of an array that match each of `sought`. Returns `None` if the array is larger
/// than memory can address.
///
/// # Safety
/// The array is in readable memory, and is not written to until this returns.
pub unsafe fn count<const N: usize>(array: &Strided<'_>, sought: [Option<Sought>; N]) -> Option<[u64; N]> {
    if array.shape.contains(&0) {
        return Some([0; N]);
    }
    let grid = Grid::of(array)?;
    let repeated = array.shape.iter().zip(array.strides).filter(|(_, stride)| **stride == 0);
    let repeats: u64 = repeated.map(|(count, _)| *count).product();
    let found = [(); N].map(|()| AtomicU64::new(0));
    grid.visit(array.size, |address, count| {
        for (sought, found) in sought.iter().zip(&found) {
            let here = sought.map_or(0, |sought| sought_in(address, count, grid.apart, array.size, sought));
            found.fetch_add(here, Ordering::Relaxed);
        }
    });
    Some(found.map(|found| found.into_inner() * repeats))
}

/// Rows of equidistant samples.
struct Grid {
    /// Count and distance in bytes per axis; these locate the first sample of each row.
    outer: Vec<(usize, isize)>,
    rows: usize,
    /// Samples of a row, and their distance in bytes.
    count: usize,
    apart: usize,
    /// Address of the first sample.
    address: usize,
}

impl Grid {
    /// Returns an array with its axes sorted into memory order, and joined if contiguous.
    fn of(array: &Strided<'_>) -> Option<Self> {
        let mut axes: Vec<(usize, isize)> = Vec::new();
        let mut address = array.address;
        for (&count, &stride) in array.shape.iter().zip(array.strides) {
            let (count, stride) = (usize::try_from(count).ok()?, isize::try_from(stride).ok()?);
            // An axis that repeats samples counts as one of them.
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
        let size = isize::try_from(array.size).ok()?;
        let (count, step) = joined.pop().unwrap_or((1, size));
        let rows = joined.iter().map(|&(count, _)| count).product();
        Some(Self { outer: joined, rows, count, apart: step.unsigned_abs(), address })
    }

    /// Calls `look` for all samples, on all cores, with the address of the first sample of a piece and the number of
    /// samples.
    fn visit(&self, size: usize, look: impl Fn(usize, usize) + Sync) {
        let shares = (self.rows * self.count).saturating_mul(size) / SHARE;
        // Querying the number of cores takes longer than searching a small array.
        let threads = match shares {
            0 | 1 => 1,
            _ => shares.min(thread::available_parallelism().map_or(1, NonZeroUsize::get)),
        };
        // Rows are split, so that a single long row is shared too.
        let pieces_per_row = self.count.div_ceil(STEP);
        let pieces = self.rows * pieces_per_row;
        let next = AtomicUsize::new(0);
        // A thread takes several short rows at a time, with about as many samples as a piece of a long row.
        let taken = (STEP / self.count.min(STEP)).max(1);
        let work = || {
            loop {
                let first = next.fetch_add(taken, Ordering::Relaxed);
                if first >= pieces {
                    return;
                }
                for piece in first..pieces.min(first + taken) {
                    let (row, start) = (piece / pieces_per_row, piece % pieces_per_row * STEP);
                    let address = self.row(row) + start * self.apart;
                    look(address, self.count.min(start + STEP) - start);
                }
            }
        };
        thread::scope(|scope| {
            for _ in 1..threads {
                // Fewer threads are slower but still correct.
                let _unneeded = thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
    }

    /// Returns the address of the first sample of a row.
    fn row(&self, mut row: usize) -> usize {
        let mut offset = 0;
        for &(count, stride) in self.outer.iter().rev() {
            offset += (row % count) * stride.unsigned_abs();
            row /= count;
        }
        self.address + offset
    }
}

/// Returns how many of `count` samples of `size` bytes, `apart` bytes apart, match `sought`.
fn sought_in(address: usize, count: usize, apart: usize, size: usize, sought: Sought) -> u64 {
    macro_rules! counted {
        ($number:ty) => {{
            #[allow(
                clippy::cast_possible_truncation,
                reason = "bits of a number of that size; the largest has all of them"
            )]
            let (mask, low, span) = (sought.mask as $number, sought.low as $number, sought.span as $number);
            let is = |number: $number| (number & mask).wrapping_sub(low) <= span;
            match sought.parts {
                SampleParts::One => in_row(address, count, apart, is),
                SampleParts::Either => in_row(address, count, apart, |[a, b]: [$number; 2]| is(a) | is(b)),
                SampleParts::FirstAndZero => {
                    in_row(address, count, apart, |[a, b]: [$number; 2]| is(a) & (b << 1 == 0))
                }
            }
        }};
    }
    match if sought.parts == SampleParts::One { size } else { size / 2 } {
        1 => counted!(u8),
        2 => counted!(u16),
        4 => counted!(u32),
        _ => counted!(u64),
    }
}

/// Returns how many of `count` numbers, `apart` bytes apart, pass a test.
fn in_row<T: Copy>(address: usize, count: usize, apart: usize, is: impl Fn(T) -> bool) -> u64 {
    let start = std::ptr::with_exposed_provenance::<T>(address);
    if apart == size_of::<T>() && start.is_aligned() {
        // SAFETY: the array guarantees that these samples exist, consecutively, and stay unchanged during the search;
        // any bits are a value of the type.
        let samples = unsafe { std::slice::from_raw_parts(start, count) };
        let some = |part: &[T]| part.iter().fold(0_u32, |found, &sample| found + u32::from(is(sample)));
        samples.chunks(TOGETHER).map(|part| u64::from(some(part))).sum()
    } else {
        // SAFETY: as above, `apart` bytes apart.
        (0..count).map(|at| u64::from(is(unsafe { start.byte_add(at * apart).read_unaligned() }))).sum()
    }
}

//! The wavelets of `inverse_wavelet`, line by line into separate memory, for planes that one thread transforms.
//!
//! A row is lifted horizontally while it is copied to its place, and rows before it are lifted vertically as soon as
//! both neighbouring rows are available. Besides the bands this touches only the last few rows, which stay in the L1
//! cache, and bands are read once.

use super::super::workspace::resize;
use super::inverse_wavelet::{ALPHA, BETA, Coefficient, DELTA, GAMMA, INVERSE_K, K, Line, low_items};
use super::lanes::{Loops, wide};
use crate::pool::Buffer;
use crate::stop::Stop;
use strile_codestream::jpeg2000::Rect;
use strile_engine::BlockFault;

/// Maximum samples of a plane transformed in this way, since it takes the plane's memory twice.
pub(super) const MOST: u64 = 1 << 22;

/// Memory of a transform, reused between planes with unspecified contents.
#[derive(Default)]
pub(super) struct Spare<T> {
    /// As many values as the plane, and as its next lower resolution.
    whole: Vec<T>,
    small: Vec<T>,
    /// Halves of a row.
    line: Vec<T>,
}

impl<T: 'static> Spare<T> {
    pub(super) fn buffers<'a>(&'a mut self, all: &mut Vec<&'a mut dyn Buffer>)
    where
        Vec<T>: Buffer,
    {
        all.extend([&mut self.whole, &mut self.small].map(|values| values as &mut dyn Buffer));
    }
}

/// Returns the working memory in bytes for planes with up to `samples` samples.
pub(super) fn working_len(samples: u64) -> u64 {
    samples.min(MOST) * 5
}

/// Lifting steps, in execution order. The odd ones change low items, the others high ones.
pub(super) trait Steps: Coefficient {
    const STEPS: usize;

    /// Changes a row of items by the items before and after them, or by one of them twice.
    fn step(number: usize, row: &mut [Self], before: &[Self], after: &[Self]);

    /// Returns an item scaled for the first step.
    fn scaled(self, high: bool) -> Self;
}

impl Steps for i32 {
    const STEPS: usize = 2;

    #[inline(always)]
    fn step(number: usize, row: &mut [i32], before: &[i32], after: &[i32]) {
        if number == 1 {
            each(row, before, after, |value, a, b| {
                value.wrapping_sub(a.wrapping_add(b).wrapping_add(2) >> 2)
            });
        } else {
            each(row, before, after, |value, a, b| value.wrapping_add(a.wrapping_add(b) >> 1));
        }
    }

    #[inline(always)]
    fn scaled(self, _: bool) -> i32 {
        self
    }
}

impl Steps for f32 {
    const STEPS: usize = 4;

    #[inline(always)]
    fn step(number: usize, row: &mut [f32], before: &[f32], after: &[f32]) {
        let factor = match number {
            1 => DELTA,
            2 => GAMMA,
            3 => BETA,
            _ => ALPHA,
        };
        each(row, before, after, |value, a, b| value - factor * (a + b));
    }

    #[inline(always)]
    fn scaled(self, high: bool) -> f32 {
        self * if high { INVERSE_K } else { K }
    }
}

/// Changes every value by the values with the same index on both sides.
#[inline(always)]
#[expect(clippy::indexing_slicing, reason = "all slices are cut to the same length")]
fn each<T: Copy>(row: &mut [T], before: &[T], after: &[T], lift: impl Fn(T, T, T) -> T) {
    let count = row.len().min(before.len()).min(after.len());
    let (row, before, after) = (&mut row[..count], &before[..count], &after[..count]);
    for at in 0..count {
        row[at] = lift(row[at], before[at], after[at]);
    }
}

/// Transforms a plane of coefficients to samples; `resolutions` begin with the lowest, and the rows of the plane are
/// those of the last. Returns early if cancelled.
pub(super) fn inverse<T: Steps>(
    plane: &mut Vec<T>,
    spare: &mut Spare<T>,
    resolutions: &[Rect],
    stop: &Stop,
) -> Result<(), BlockFault> {
    let Some((last, lower)) = resolutions.split_last() else { return Ok(()) };
    let area = |rect: &Rect| rect.width() as usize * rect.height() as usize;
    let Some(next) = lower.last() else { return Ok(()) };
    resize(&mut spare.whole, area(last), "JPEG 2000 coefficients", stop)?;
    resize(&mut spare.small, area(next), "JPEG 2000 coefficients", stop)?;
    let stride = last.width() as usize;
    // Lower resolutions alternate between the two buffers, so that the last one reads from the smaller buffer.
    let levels = resolutions.len() - 1;
    let rects = resolutions.get(1..).unwrap_or_default();
    for (level, rect) in rects.iter().enumerate() {
        stop.check()?;
        if area(rect) == 0 {
            continue;
        }
        let to_whole = (levels - 1 - level).is_multiple_of(2);
        let (to, from) = match to_whole {
            true => (&mut spare.whole, &spare.small),
            false => (&mut spare.small, &spare.whole),
        };
        let below = resolutions.get(level).map_or(0, |rect| rect.width() as usize);
        let (lowest, lowest_stride) = if level == 0 { (&*plane, stride) } else { (from, below) };
        let width = rect.width() as usize;
        let rows = to.get_mut(..area(rect)).unwrap_or_default().chunks_exact_mut(width).collect();
        wide(Level {
            lowest,
            lowest_stride,
            bands: plane,
            stride,
            across: Line { odd: rect.x0 % 2 == 1, low: low_items(rect.x0, rect.x1) },
            down: Line { odd: rect.y0 % 2 == 1, low: low_items(rect.y0, rect.y1) },
            rows,
            line: &mut spare.line,
        });
    }
    if area(last) > 0 {
        std::mem::swap(plane, &mut spare.whole);
    }
    Ok(())
}

/// A resolution, computed from the one below it and three bands.
struct Level<'a, T> {
    lowest: &'a [T],
    lowest_stride: usize,
    /// The plane: the bands lie right of, below, and diagonally below the lower resolution.
    bands: &'a [T],
    stride: usize,
    across: Line,
    down: Line,
    /// Destination rows.
    rows: Vec<&'a mut [T]>,
    line: &'a mut Vec<T>,
}

impl<T: Steps> Loops for Level<'_, T> {
    #[inline(always)]
    fn run(mut self) {
        let height = self.rows.len();
        for now in 0..height + T::STEPS {
            self.make(now);
            if height == 1 {
                return;
            }
            for number in 1..=T::STEPS {
                let row = now.wrapping_sub(number);
                if row < height && self.is_high(row) == number.is_multiple_of(2) {
                    lift(&mut self.rows, row, number);
                }
            }
        }
    }
}

impl<T: Steps> Level<'_, T> {
    #[inline(always)]
    fn is_high(&self, row: usize) -> bool {
        row.is_multiple_of(2) == self.down.odd
    }

    /// Copies a row to its place, lifted horizontally and scaled for the vertical steps.
    #[inline(always)]
    fn make(&mut self, row: usize) {
        let high = self.is_high(row);
        let only = self.rows.len() == 1;
        let Some(to) = self.rows.get_mut(row) else { return };
        let (number, split) = (row / 2, self.across.low);
        let below = if high { self.down.low + number } else { number };
        let line = self.bands.get(below * self.stride..).unwrap_or_default();
        let (left, right) = line.split_at(split.min(line.len()));
        let left = match high {
            true => left,
            false => self.lowest.get(number * self.lowest_stride..).unwrap_or_default(),
        };
        let left = left.get(..split).unwrap_or_default();
        let right = right.get(..to.len() - split.min(to.len())).unwrap_or_default();
        let odd = self.across.odd;
        match (only, high) {
            (false, true) => across(left, right, odd, self.line, to, |value| value.scaled(true)),
            (false, false) => across(left, right, odd, self.line, to, |value| value.scaled(false)),
            (true, true) => across(left, right, odd, self.line, to, T::halved),
            (true, false) => across(left, right, odd, self.line, to, |value| value),
        }
    }
}

/// Lifts a row horizontally: combines its low and high halves to items and applies `finished` to each.
#[inline(always)]
fn across<T: Steps>(
    left: &[T],
    right: &[T],
    odd: bool,
    line: &mut Vec<T>,
    to: &mut [T],
    finished: impl Fn(T) -> T,
) {
    if let [to] = to {
        *to = finished(match (left, right) {
            ([], [only]) => only.halved(),
            ([only], _) => *only,
            _ => T::default(),
        });
        return;
    }
    line.resize(to.len(), T::default());
    let (low, high) = line.split_at_mut(left.len().min(to.len()));
    copy(low, left, |value| value.scaled(false));
    copy(high, right, |value| value.scaled(true));
    for number in 1..=T::STEPS {
        match number % 2 {
            1 => step_across(number, low, high, odd),
            _ => step_across(number, high, low, !odd),
        }
    }
    let (first, second) = if odd { (&*high, &*low) } else { (&*low, &*high) };
    weave(to, first, second, finished);
}

#[inline(always)]
#[expect(clippy::indexing_slicing, reason = "both slices are cut to the same length")]
fn copy<T: Copy>(to: &mut [T], from: &[T], make: impl Fn(T) -> T) {
    let count = to.len().min(from.len());
    let (to, from) = (&mut to[..count], &from[..count]);
    for at in 0..count {
        to[at] = make(from[at]);
    }
}

/// Interleaves the items of both halves.
#[inline(always)]
#[expect(clippy::indexing_slicing, reason = "all slices are cut to the same length")]
fn weave<T: Copy>(to: &mut [T], first: &[T], second: &[T], make: impl Fn(T) -> T) {
    let (pairs, last) = to.as_chunks_mut::<2>();
    let count = pairs.len().min(first.len()).min(second.len());
    let (pairs, a, b) = (&mut pairs[..count], &first[..count], &second[..count]);
    for at in 0..count {
        pairs[at] = [make(a[at]), make(b[at])];
    }
    if let ([to], Some(from)) = (last, first.last()) {
        *to = make(*from);
    }
}

/// Applies a step to one half of a row, like `inverse_wavelet::step`.
#[inline(always)]
fn step_across<T: Steps>(number: usize, target: &mut [T], source: &[T], late: bool) {
    let shifted = source.get(1..).unwrap_or_default();
    let rest = if late {
        target
    } else {
        let (first, rest) = target.split_at_mut(1.min(target.len()));
        T::step(number, first, source, source);
        rest
    };
    let (middle, end) = rest.split_at_mut(shifted.len().min(rest.len()));
    T::step(number, middle, source, shifted);
    let last = source.get(source.len().saturating_sub(1)..).unwrap_or_default();
    T::step(number, end, last, last);
}

/// Applies a step to a row, using those above and below it.
#[inline(always)]
fn lift<T: Steps>(rows: &mut [&mut [T]], row: usize, number: usize) {
    let (above, rest) = rows.split_at_mut(row.min(rows.len()));
    let Some((row, below)) = rest.split_first_mut() else { return };
    match (above.last(), below.first()) {
        (Some(above), Some(below)) => T::step(number, row, above, below),
        (Some(only), None) | (None, Some(only)) => T::step(number, row, only, only),
        (None, None) => {}
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "small numbers made here")]
mod tests {
    use super::super::super::byte_testing::Random;
    use super::super::inverse_wavelet;
    use super::*;
    use crate::crew::Crew;

    /// Both transforms give the same bits, for planes at any place and of any size.
    #[test]
    fn lines_equal_the_transform_in_place() {
        let mut random = Random::new(11);
        let (mut integers_spare, mut floats_spare) = (Spare::default(), Spare::default());
        for case in 0..400 {
            let (x0, y0) = (random.below(9) as u32, random.below(9) as u32);
            let (width, height) = (1 + random.below(90) as u32, 1 + random.below(90) as u32);
            let levels = random.below(8) as u32;
            let at = |by: u32| Rect {
                x0: x0.div_ceil(1 << by),
                y0: y0.div_ceil(1 << by),
                x1: (x0 + width).div_ceil(1 << by),
                y1: (y0 + height).div_ceil(1 << by),
            };
            let resolutions: Vec<Rect> = (0..=levels).rev().map(at).collect();
            let stride = width as usize;
            let integers: Vec<i32> =
                (0..width * height).map(|_| random.below(1 << 18) as i32 - (1 << 17)).collect();
            let floats: Vec<f32> = integers.iter().map(|&value| value as f32 * 0.37).collect();
            let (mut expected, mut made) = (integers.clone(), integers);
            inverse_wavelet::inverse(&mut expected, stride, &resolutions, &Crew::alone());
            inverse(&mut made, &mut integers_spare, &resolutions, &Stop::default()).unwrap();
            assert!(made == expected, "{case}: {resolutions:?}");
            let (mut expected, mut made) = (floats.clone(), floats);
            inverse_wavelet::inverse(&mut expected, stride, &resolutions, &Crew::alone());
            inverse(&mut made, &mut floats_spare, &resolutions, &Stop::default()).unwrap();
            assert!(made == expected, "{case}: {resolutions:?}");
        }
    }
}

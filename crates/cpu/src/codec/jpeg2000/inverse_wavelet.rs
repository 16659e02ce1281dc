//! Wavelets of the JPEG 2000 decoder (ISO 15444-1, annex F): 5/3 in integers, 9/7 in floats, in place.
//!
//! Results are bit-identical to `spec.md` of the codestream crate. Rows are lifted in place, columns a few at a time in
//! memory that stays in the cache. Either way the lifted values and their neighbours are contiguous, so that loops run
//! over whole vectors. Planes of one thread are transformed line by line instead (`line_wavelet`).

use super::lanes::{Loops, wide};
use crate::crew::Crew;
use strile_codestream::jpeg2000::Rect;

/// Columns that are lifted together: a few cache lines.
const STRIP: usize = 32;
/// Rows that a helper takes at a time.
const ROWS: usize = 16;
/// Pixels of a resolution below which helper threads cost more than they save.
const WORTH_SHARING: usize = 1 << 16;

pub(super) const ALPHA: f32 = -1.586_134_3;
pub(super) const BETA: f32 = -0.052_980_117;
pub(super) const GAMMA: f32 = 0.882_911_1;
pub(super) const DELTA: f32 = 0.443_506_87;
pub(super) const K: f32 = 1.230_174_1;
pub(super) const INVERSE_K: f32 = 0.812_893_1;

/// A value of a plane.
pub(super) trait Coefficient: Copy + Default + Send + Sync {
    /// Lifts the items of both halves; `odd` if the first item is a high one. An item is `unit` values, and there are
    /// at least two items.
    fn lift(low: &mut [Self], high: &mut [Self], unit: usize, odd: bool);

    /// Returns the only item of a line at an odd place.
    fn halved(self) -> Self;
}

impl Coefficient for i32 {
    #[inline(always)]
    fn lift(low: &mut [i32], high: &mut [i32], unit: usize, odd: bool) {
        step(low, high, unit, odd, |value, a, b| value.wrapping_sub(a.wrapping_add(b).wrapping_add(2) >> 2));
        step(high, low, unit, !odd, |value, a, b| value.wrapping_add(a.wrapping_add(b) >> 1));
    }

    fn halved(self) -> i32 {
        self / 2
    }
}

impl Coefficient for f32 {
    #[inline(always)]
    fn lift(low: &mut [f32], high: &mut [f32], unit: usize, odd: bool) {
        for value in low.iter_mut() {
            *value *= K;
        }
        for value in high.iter_mut() {
            *value *= INVERSE_K;
        }
        step(low, high, unit, odd, |value, a, b| value - DELTA * (a + b));
        step(high, low, unit, !odd, |value, a, b| value - GAMMA * (a + b));
        step(low, high, unit, odd, |value, a, b| value - BETA * (a + b));
        step(high, low, unit, !odd, |value, a, b| value - ALPHA * (a + b));
    }

    fn halved(self) -> f32 {
        self * 0.5
    }
}

/// Changes every item of a half by its two neighbours in the other half: those with the preceding and with its own
/// index or, if `late`, those with its own and the next index. A missing neighbour is replaced by the other one.
#[inline(always)]
fn step<T: Copy>(target: &mut [T], source: &[T], unit: usize, late: bool, lift: impl Fn(T, T, T) -> T) {
    let once = |target: &mut [T], source: &[T]| {
        for (value, a) in target.iter_mut().zip(source) {
            *value = lift(*value, *a, *a);
        }
    };
    let unit = unit.min(source.len());
    let (middle, pairs) = if late {
        (target, source.get(unit..).unwrap_or_default())
    } else {
        let (first, rest) = target.split_at_mut(unit.min(target.len()));
        once(first, source);
        (rest, source.get(unit..).unwrap_or_default())
    };
    let (middle, last) = middle.split_at_mut(pairs.len().min(middle.len()));
    for ((value, a), b) in middle.iter_mut().zip(source).zip(pairs) {
        *value = lift(*value, *a, *b);
    }
    once(last, source.get(source.len() - unit..).unwrap_or_default());
}

/// Transforms a plane of coefficients with rows of `stride` to samples; `resolutions` begin with the lowest.
pub(super) fn inverse<T: Coefficient>(plane: &mut [T], stride: usize, resolutions: &[Rect], crew: &Crew) {
    for rect in resolutions.iter().skip(1) {
        let (width, height) = (rect.width() as usize, rect.height() as usize);
        if width == 0 || height == 0 {
            continue;
        }
        let alone = Crew::alone();
        let crew = if width * height < WORTH_SHARING { &alone } else { crew };
        let across = Line { odd: rect.x0 % 2 == 1, low: low_items(rect.x0, rect.x1) };
        let rows = plane.chunks_mut(ROWS * stride.max(1)).take(height.div_ceil(ROWS)).enumerate();
        crew.share(rows, Vec::new, |spare, (group, rows)| {
            let count = ROWS.min(height - group * ROWS);
            wide(Rows { line: across, rows, stride, width, count, spare });
        });
        if crew.stop().is_set() {
            return;
        }
        let down = Line { odd: rect.y0 % 2 == 1, low: low_items(rect.y0, rect.y1) };
        let mut strips: Vec<Vec<&mut [T]>> = Vec::new();
        strips.resize_with(width.div_ceil(STRIP), || Vec::with_capacity(height));
        for row in plane.chunks_mut(stride.max(1)).take(height) {
            let row = row.get_mut(..width).unwrap_or_default();
            strips.iter_mut().zip(row.chunks_mut(STRIP)).for_each(|(strip, part)| strip.push(part));
        }
        crew.share(strips.into_iter(), Vec::new, |spare, mut strip| {
            wide(Columns { line: down, rows: &mut strip, spare });
        });
    }
}

/// Rows of a resolution to lift, `count` of `width` values.
struct Rows<'a, T> {
    line: Line,
    rows: &'a mut [T],
    stride: usize,
    width: usize,
    count: usize,
    spare: &'a mut Vec<T>,
}

impl<T: Coefficient> Loops for Rows<'_, T> {
    #[inline(always)]
    fn run(self) {
        for row in self.rows.chunks_mut(self.stride.max(1)).take(self.count) {
            self.line.row(row.get_mut(..self.width).unwrap_or_default(), self.spare);
        }
    }
}

/// Columns of a resolution to lift: the rows of a strip.
struct Columns<'a, 'b, T> {
    line: Line,
    rows: &'a mut [&'b mut [T]],
    spare: &'a mut Vec<T>,
}

impl<T: Coefficient> Loops for Columns<'_, '_, T> {
    #[inline(always)]
    fn run(self) {
        self.line.columns(self.rows, self.spare);
    }
}

/// Returns the number of even positions in a range.
pub(super) fn low_items(first: u32, end: u32) -> usize {
    (end.div_ceil(2) - first.div_ceil(2)) as usize
}

/// Lines of a resolution.
#[derive(Clone, Copy)]
pub(super) struct Line {
    /// Whether the first item is a high one.
    pub(super) odd: bool,
    /// Number of low items.
    pub(super) low: usize,
}

impl Line {
    #[inline(always)]
    fn row<T: Coefficient>(self, row: &mut [T], spare: &mut Vec<T>) {
        if let [only] = row {
            if self.odd {
                *only = only.halved();
            }
            return;
        }
        let (low, high) = row.split_at_mut(self.low.min(row.len()));
        T::lift(low, high, 1, self.odd);
        let (first, second) = if self.odd { (&*high, &*low) } else { (&*low, &*high) };
        spare.resize(first.len() + second.len(), T::default());
        let (pairs, last) = spare.as_chunks_mut::<2>();
        for ((pair, a), b) in pairs.iter_mut().zip(first).zip(second) {
            *pair = [*a, *b];
        }
        if let ([to], Some(from)) = (last, first.last()) {
            *to = *from;
        }
        row.copy_from_slice(spare);
    }

    /// Lifts adjacent columns: the rows of a strip.
    #[inline(always)]
    fn columns<T: Coefficient>(self, rows: &mut [&mut [T]], spare: &mut Vec<T>) {
        if let [only] = rows {
            if self.odd {
                only.iter_mut().for_each(|value| *value = value.halved());
            }
            return;
        }
        let unit = rows.first().map_or(0, |row| row.len());
        spare.resize(unit * rows.len(), T::default());
        for (from, to) in rows.iter().zip(spare.chunks_exact_mut(unit.max(1))) {
            copy(to, from);
        }
        let end_of_low = (self.low * unit).min(spare.len());
        let (low, high) = spare.split_at_mut(end_of_low);
        T::lift(low, high, unit, self.odd);
        let (low, high) = (low.chunks_exact(unit.max(1)), high.chunks_exact(unit.max(1)));
        let (mut first, mut second) = if self.odd { (high, low) } else { (low, high) };
        let mut from_first = true;
        for row in rows {
            let half = if from_first { &mut first } else { &mut second };
            if let Some(from) = half.next() {
                copy(row, from);
            }
            from_first = !from_first;
        }
    }
}

/// Copies a row of a strip. Most strips have the same width, which is copied without a call.
#[inline(always)]
fn copy<T: Copy>(to: &mut [T], from: &[T]) {
    match (<&mut [T; STRIP]>::try_from(&mut *to), <&[T; STRIP]>::try_from(from)) {
        (Ok(to), Ok(from)) => *to = *from,
        _ => to.iter_mut().zip(from).for_each(|(to, from)| *to = *from),
    }
}

#[cfg(test)]
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "small numbers made here"
)]
mod tests {
    use super::super::super::byte_testing::Random;
    use super::super::wavelet;
    use super::*;

    /// Returns the rectangles of all resolutions of a plane, lowest first.
    fn resolutions(rect: Rect, levels: u32) -> Vec<Rect> {
        let down = |n: u32, by: u32| n.div_ceil(1 << by);
        let at = |by| Rect {
            x0: down(rect.x0, by),
            y0: down(rect.y0, by),
            x1: down(rect.x1, by),
            y1: down(rect.y1, by),
        };
        (0..=levels).rev().map(at).collect()
    }

    /// Applies the forward transform to a line at any place, item by item as in F.4.8.
    fn forward(line: &[i32], first: u32) -> Vec<i32> {
        if let [only] = line {
            return vec![if first % 2 == 1 { only * 2 } else { *only }];
        }
        let last = line.len() as i64 - 1;
        let mirror = |at: i64| {
            (if at < 0 {
                -at
            } else if at > last {
                2 * last - at
            } else {
                at
            }) as usize
        };
        let mut line = line.to_vec();
        for high in [true, false] {
            for at in 0..=last {
                if ((at as u32 + first) % 2 == 1) == high {
                    let sum = line[mirror(at - 1)] + line[mirror(at + 1)];
                    line[at as usize] += if high { -(sum >> 1) } else { (sum + 2) >> 2 };
                }
            }
        }
        let half = |odd: u32| line.iter().enumerate().filter(move |(at, _)| (*at as u32 + first) % 2 == odd);
        half(0).chain(half(1)).map(|(_, value)| *value).collect()
    }

    fn forward_plane(plane: &mut [i32], stride: usize, rect: Rect) {
        let (width, height) = (rect.width() as usize, rect.height() as usize);
        for x in 0..width {
            let column: Vec<i32> = (0..height).map(|y| plane[y * stride + x]).collect();
            forward(&column, rect.y0).into_iter().enumerate().for_each(|(y, v)| plane[y * stride + x] = v);
        }
        for row in plane.chunks_mut(stride).take(height) {
            let line = forward(&row[..width], rect.x0);
            row[..width].copy_from_slice(&line);
        }
    }

    #[test]
    fn undoes_the_forward_transform_at_any_place_and_size() {
        let mut random = Random::new(3);
        for case in 0..300 {
            let (x0, y0) = (random.below(9) as u32, random.below(9) as u32);
            let (width, height) = (1 + random.below(70) as u32, 1 + random.below(70) as u32);
            let rect = Rect { x0, y0, x1: x0 + width, y1: y0 + height };
            let stride = width as usize + case % 2;
            let expected: Vec<i32> =
                (0..stride * height as usize).map(|_| random.below(1 << 16) as i32 - (1 << 15)).collect();
            let mut plane = expected.clone();
            let resolutions = resolutions(rect, random.below(8) as u32);
            for rect in resolutions.iter().skip(1).rev() {
                forward_plane(&mut plane, stride, *rect);
            }
            inverse(&mut plane, stride, &resolutions, &Crew::new(case % 3));
            assert!(plane == expected, "{rect:?} {}", resolutions.len());
        }
    }

    #[test]
    fn undoes_the_encoders_transforms() {
        let mut random = Random::new(5);
        for (width, height) in [(64, 64), (97, 33), (1, 40), (300, 270)] {
            let levels = wavelet::levels(width, height);
            let rect = Rect { x0: 0, y0: 0, x1: width as u32, y1: height as u32 };
            let integers: Vec<i32> = (0..width * height).map(|_| random.below(1 << 12) as i32).collect();
            let mut plane = integers.clone();
            wavelet::reversible(&mut plane, width, levels);
            inverse(&mut plane, width, &resolutions(rect, levels), &Crew::alone());
            assert_eq!(plane, integers);
            let floats: Vec<f32> = integers.iter().map(|&value| value as f32).collect();
            let mut plane = floats.clone();
            wavelet::irreversible(&mut plane, width, levels);
            inverse(&mut plane, width, &resolutions(rect, levels), &Crew::alone());
            let worst = plane.iter().zip(&floats).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(worst < 0.05, "{width} x {height}: {worst}");
        }
    }

    /// The formulas of the specification, item by item.
    #[test]
    fn floats_are_lifted_as_specified_to_the_bit() {
        let mut random = Random::new(8);
        for (first, len) in [(0, 2), (1, 2), (0, 9), (1, 9), (0, 64), (1, 65)] {
            let coefficients: Vec<f32> =
                (0..len).map(|_| random.below(20_000) as f32 * 0.37 - 3_000.0).collect();
            let low = low_items(first, first + len as u32);
            let is_high = |at: i64| (at as u32 + first) % 2 == 1;
            let (mut next_low, mut next_high) = (0, low);
            let mut line: Vec<f32> = (0..len)
                .map(|at| {
                    let next = if is_high(at) { &mut next_high } else { &mut next_low };
                    *next += 1;
                    coefficients[*next - 1] * if is_high(at) { INVERSE_K } else { K }
                })
                .collect();
            let last = len - 1;
            let mirror = |at: i64| {
                (if at < 0 {
                    -at
                } else if at > last {
                    2 * last - at
                } else {
                    at
                }) as usize
            };
            for (high, factor) in [(false, DELTA), (true, GAMMA), (false, BETA), (true, ALPHA)] {
                for at in (0..len).filter(|&at| is_high(at) == high) {
                    line[at as usize] -= factor * (line[mirror(at - 1)] + line[mirror(at + 1)]);
                }
            }
            let rect = |x0, x1| Rect { x0, y0: 0, x1, y1: 1 };
            let end = first + len as u32;
            let mut row = coefficients.clone();
            let resolutions = [rect(first.div_ceil(2), end.div_ceil(2)), rect(first, end)];
            inverse(&mut row, len as usize, &resolutions, &Crew::alone());
            assert_eq!(row, line);
            let mut column = coefficients;
            let turned = resolutions.map(|r| Rect { x0: 0, y0: r.x0, x1: 1, y1: r.x1 });
            inverse(&mut column, 1, &turned, &Crew::alone());
            assert_eq!(column, line);
        }
    }
}

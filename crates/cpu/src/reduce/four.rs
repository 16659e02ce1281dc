//! Methods over the two by two pixels under each reduced one.
//!
//! A row or column that an odd image lacks at its edge is treated as a copy of the last: for every method here that is
//! the same as omitting it. If nothing can be invalid (no nodata, no mask, integers), the loops have no checks. Floats
//! are averaged without checks too, and the few pixels that become NaN are computed again.

use super::mean::Means;
use super::part::{Group, Part};
use super::sample::{Sample, count};
use super::{Manner, Rows};
use std::ops::Range;
use strile_engine::Resampling;

/// Computes rows of a part with real samples.
pub(super) fn rows<T: Sample>(manner: Manner, part: &Part<'_>, rows: Range<u32>) -> Rows {
    let valid = Validity { nodata: manner.nodata.map(|fill| T::of_fill(&fill, 0)), mask: part.mask() };
    let plain = valid.nodata.is_none() && valid.mask.is_none();
    let asks = !plain || (T::FLOAT && manner.method != Resampling::Average);
    let mut pixels = Vec::with_capacity(part.row_len() * rows.len());
    let mut lines = Lines::<T>::default();
    let mut reduced = Vec::new();
    let (mut above, mut below) = (Vec::new(), Vec::new());
    for group in part.groups() {
        let means = Means::of(manner.method, part.data_type(), group.count).filter(|_| plain);
        for row in rows.clone() {
            let (upper, lower) = pair(part, row);
            let appended = means.is_some_and(|means| {
                let (top, bottom) = (part.row(group, upper, &mut above), part.row(group, lower, &mut below));
                means.append(top, bottom, &mut pixels)
            });
            if appended {
                continue;
            }
            lines.load(part, group, group.count, row);
            reduced.resize(lines.top.len() / 2, T::default());
            if asks {
                valid.fill(&mut lines, group.count, row);
                holed(manner.method, &valid, &lines, group.count, &mut reduced);
            } else {
                whole(manner.method, &lines, group.count, &mut reduced);
                if T::FLOAT && reduced.iter().any(|sample| sample.is_nan()) {
                    valid.fill(&mut lines, group.count, row);
                    without_nan(&lines, group.count, &mut reduced);
                }
            }
            T::store(&reduced, &mut pixels);
        }
    }
    Rows { pixels, mask: part.mask().map(|mask| any_of_four(&mask, rows)) }
}

/// Averages complex samples, real and imaginary parts separately; a sample is valid as a whole.
pub(super) fn complex<T: Sample>(manner: Manner, part: &Part<'_>, rows: Range<u32>) -> Rows {
    let nodata = manner.nodata.map(|fill| (T::of_fill(&fill, 0), T::of_fill(&fill, 1)));
    let (nothing, mask) = (nodata.unwrap_or((T::VOID, T::VOID)), part.mask());
    let mut pixels = Vec::with_capacity(part.row_len() * rows.len());
    let mut lines = Lines::<T>::default();
    let mut reduced = Vec::new();
    let is_valid = |pair: [T; 2]| {
        !pair[0].is_nan() && !pair[1].is_nan() && nodata.is_none_or(|(re, im)| pair != [re, im])
    };
    for group in part.groups() {
        for row in rows.clone() {
            lines.load(part, group, group.count * 2, row);
            lines.load_masks(mask.as_ref(), row);
            reduced.clear();
            let (top, bottom) = (lines.top.as_chunks::<2>().0, lines.bottom.as_chunks::<2>().0);
            let pairs = top.chunks_exact(group.count * 2).zip(bottom.chunks_exact(group.count * 2));
            for (column, (top, bottom)) in pairs.enumerate() {
                let unmasked = lines.unmasked(column);
                let ((a, b), (c, d)) = (top.split_at(group.count), bottom.split_at(group.count));
                for (((&a, &b), &c), &d) in a.iter().zip(b).zip(c).zip(d) {
                    let four = [a, b, c, d];
                    let mut valid = four.map(is_valid);
                    valid.iter_mut().zip(unmasked).for_each(|(valid, unmasked)| *valid &= unmasked);
                    if count(valid) == 0 {
                        reduced.extend([nothing.0, nothing.1]);
                        continue;
                    }
                    let mean = (T::mean(four.map(|v| v[0]), valid), T::mean(four.map(|v| v[1]), valid));
                    let by_accident = nodata == Some(mean);
                    reduced.extend([if by_accident { mean.0.beside() } else { mean.0 }, mean.1]);
                }
            }
            T::store(&reduced, &mut pixels);
        }
    }
    Rows { pixels, mask: mask.map(|mask| any_of_four(&mask, rows)) }
}

/// The two source rows of a reduced row, padded to an even number of pixels.
#[derive(Default)]
struct Lines<T> {
    top: Vec<T>,
    bottom: Vec<T>,
    /// Validity of each sample.
    top_valid: Vec<bool>,
    bottom_valid: Vec<bool>,
    /// Mask; empty if there is none.
    top_mask: Vec<u8>,
    bottom_mask: Vec<u8>,
    bytes: Vec<u8>,
}

impl<T: Sample> Lines<T> {
    /// Loads pixels of `samples` numbers.
    fn load(&mut self, part: &Part<'_>, group: Group, samples: usize, row: u32) {
        let (upper, lower) = pair(part, row);
        T::load(part.row(group, upper, &mut self.bytes), &mut self.top);
        even(&mut self.top, samples);
        T::load(part.row(group, lower, &mut self.bytes), &mut self.bottom);
        even(&mut self.bottom, samples);
    }

    fn load_masks(&mut self, mask: Option<&Part<'_>>, row: u32) {
        let Some(mask) = mask else { return };
        for group in mask.groups() {
            let (upper, lower) = pair(mask, row);
            u8::load(mask.row(group, upper, &mut self.bytes), &mut self.top_mask);
            even(&mut self.top_mask, 1);
            u8::load(mask.row(group, lower, &mut self.bytes), &mut self.bottom_mask);
            even(&mut self.bottom_mask, 1);
        }
    }

    /// Returns the mask of the four pixels under a column.
    fn unmasked(&self, column: usize) -> [bool; 4] {
        let of =
            |mask: &[u8]| mask.as_chunks::<2>().0.get(column).map_or([true; 2], |two| two.map(|v| v != 0));
        let ([a, b], [c, d]) = (of(&self.top_mask), of(&self.bottom_mask));
        [a, b, c, d]
    }
}

/// Returns the source rows of a reduced row; the last row of an odd image counts twice.
fn pair(part: &Part<'_>, row: u32) -> (u32, u32) {
    (row * 2, (row * 2 + 1).min(part.image().1 - 1))
}

/// Repeats the last pixel of a row with an odd number of pixels.
fn even<T: Copy>(row: &mut Vec<T>, samples: usize) {
    if !(row.len() / samples).is_multiple_of(2) {
        row.extend_from_within(row.len() - samples..);
    }
}

/// Conditions that make samples invalid, besides NaN.
struct Validity<'a, T> {
    nodata: Option<T>,
    mask: Option<Part<'a>>,
}

impl<T: Sample> Validity<'_, T> {
    fn fill(&self, lines: &mut Lines<T>, samples: usize, row: u32) {
        lines.load_masks(self.mask.as_ref(), row);
        let Lines { top, bottom, top_valid, bottom_valid, top_mask, bottom_mask, .. } = lines;
        for (row, valid, mask) in [(top, top_valid, top_mask), (bottom, bottom_valid, bottom_mask)] {
            valid.clear();
            match self.nodata {
                Some(nodata) => valid.extend(row.iter().map(|v| *v != nodata && !v.is_nan())),
                None => valid.extend(row.iter().map(|v| !v.is_nan())),
            }
            unmask(valid, mask, samples);
        }
    }
}

/// Marks the samples of masked pixels as invalid; an empty mask masks nothing.
pub(super) fn unmask(valid: &mut [bool], mask: &[u8], samples: usize) {
    match samples {
        1 => valid.iter_mut().zip(mask).for_each(|(valid, mask)| *valid &= *mask != 0),
        _ => {
            for (valid, mask) in valid.chunks_exact_mut(samples).zip(mask) {
                valid.iter_mut().for_each(|valid| *valid &= *mask != 0);
            }
        }
    }
}

/// Reduces a row without invalid samples.
fn whole<T: Sample>(method: Resampling, lines: &Lines<T>, samples: usize, reduced: &mut [T]) {
    match method {
        Resampling::Min => each(lines, samples, reduced, |a, b, c, d| least(least(a, b), least(c, d))),
        Resampling::Max => each(lines, samples, reduced, |a, b, c, d| most(most(a, b), most(c, d))),
        Resampling::Median => each(lines, samples, reduced, median_of_four),
        Resampling::Mode => each(lines, samples, reduced, mode_of_four),
        Resampling::Rms => each(lines, samples, reduced, T::rms_of_four),
        // Other methods do not reach this module.
        _ => each(lines, samples, reduced, T::mean_of_four),
    }
}

/// Reduces a row that may contain invalid samples.
fn holed<T: Sample>(
    method: Resampling,
    validity: &Validity<'_, T>,
    lines: &Lines<T>,
    samples: usize,
    reduced: &mut [T],
) {
    let nodata = validity.nodata;
    let all = |valid: &[bool]| valid.iter().fold(true, |all, valid| all & valid);
    // Roots are rounded differently if all samples are valid, and so are means of floats.
    let exact = !T::FLOAT && method != Resampling::Rms;
    if exact && all(&lines.top_valid) && all(&lines.bottom_valid) {
        whole(method, lines, samples, reduced);
        if let Some(nodata) = nodata {
            let beside = nodata.beside();
            reduced.iter_mut().for_each(|v| *v = if *v == nodata { beside } else { *v });
        }
        return;
    }
    match method {
        Resampling::Min => each_valid(lines, samples, reduced, |v, valid| settle(nodata, min, v, valid)),
        Resampling::Max => each_valid(lines, samples, reduced, |v, valid| settle(nodata, max, v, valid)),
        Resampling::Median => {
            each_valid(lines, samples, reduced, |v, valid| settle(nodata, median, v, valid))
        }
        Resampling::Mode => each_valid(lines, samples, reduced, |v, valid| settle(nodata, mode, v, valid)),
        Resampling::Rms => each_valid(lines, samples, reduced, |v, valid| settle(nodata, T::rms, v, valid)),
        // Other methods do not reach this module.
        _ => each_valid(lines, samples, reduced, |v, valid| settle(nodata, T::mean, v, valid)),
    }
}

/// Returns the result of four pixels: nodata if and only if none is valid.
fn settle<T: Sample>(
    nodata: Option<T>,
    computed: impl Fn([T; 4], [bool; 4]) -> T,
    values: [T; 4],
    valid: [bool; 4],
) -> T {
    if count(valid) == 0 {
        return nodata.unwrap_or(T::VOID);
    }
    let value = computed(values, valid);
    if nodata == Some(value) { value.beside() } else { value }
}

/// Averages the pixels that became NaN again, without their NaNs.
fn without_nan<T: Sample>(lines: &Lines<T>, samples: usize, reduced: &mut [T]) {
    let mut again = vec![T::default(); reduced.len()];
    each_valid(lines, samples, &mut again, |values, valid| match count(valid) {
        // With four valid samples, only infinities of both signs give NaN.
        0 | 4 => T::VOID,
        _ => T::mean(values, valid),
    });
    for (sample, again) in reduced.iter_mut().zip(again).filter(|(sample, _)| sample.is_nan()) {
        *sample = again;
    }
}

/// Applies `compute` to every four pixels of a row.
fn each<T: Sample>(lines: &Lines<T>, samples: usize, reduced: &mut [T], compute: impl Fn(T, T, T, T) -> T) {
    match samples {
        1 => each_of::<T, 1>(lines, samples, reduced, compute),
        2 => each_of::<T, 2>(lines, samples, reduced, compute),
        3 => each_of::<T, 3>(lines, samples, reduced, compute),
        4 => each_of::<T, 4>(lines, samples, reduced, compute),
        _ => each_of::<T, 0>(lines, samples, reduced, compute),
    }
}

/// The same for a number of samples known at compile time, or any number if `SAMPLES` is 0.
#[expect(clippy::indexing_slicing, reason = "chunks of 2 × samples, indices below samples")]
fn each_of<T: Sample, const SAMPLES: usize>(
    lines: &Lines<T>,
    samples: usize,
    reduced: &mut [T],
    compute: impl Fn(T, T, T, T) -> T,
) {
    let n = if SAMPLES == 0 { samples } else { SAMPLES };
    let above = lines.top.chunks_exact(2 * n).zip(lines.bottom.chunks_exact(2 * n));
    for (reduced, (top, bottom)) in reduced.chunks_exact_mut(n).zip(above) {
        for i in 0..n {
            reduced[i] = compute(top[i], top[i + n], bottom[i], bottom[i + n]);
        }
    }
}

/// Applies `compute` to every four pixels of a row and their validity.
fn each_valid<T: Sample>(
    lines: &Lines<T>,
    samples: usize,
    reduced: &mut [T],
    compute: impl Fn([T; 4], [bool; 4]) -> T,
) {
    match samples {
        1 => each_valid_of::<T, 1>(lines, samples, reduced, compute),
        3 => each_valid_of::<T, 3>(lines, samples, reduced, compute),
        4 => each_valid_of::<T, 4>(lines, samples, reduced, compute),
        _ => each_valid_of::<T, 0>(lines, samples, reduced, compute),
    }
}

#[expect(clippy::indexing_slicing, reason = "chunks of 2 × samples, indices below samples")]
fn each_valid_of<T: Sample, const SAMPLES: usize>(
    lines: &Lines<T>,
    samples: usize,
    reduced: &mut [T],
    compute: impl Fn([T; 4], [bool; 4]) -> T,
) {
    let n = if SAMPLES == 0 { samples } else { SAMPLES };
    let above = lines.top.chunks_exact(2 * n).zip(lines.bottom.chunks_exact(2 * n));
    let valid = lines.top_valid.chunks_exact(2 * n).zip(lines.bottom_valid.chunks_exact(2 * n));
    for (reduced, ((top, bottom), (t, b))) in reduced.chunks_exact_mut(n).zip(above.zip(valid)) {
        for i in 0..n {
            reduced[i] =
                compute([top[i], top[i + n], bottom[i], bottom[i + n]], [t[i], t[i + n], b[i], b[i + n]]);
        }
    }
}

/// Returns the lesser value, the first of equals, as in `min`.
fn least<T: Sample>(a: T, b: T) -> T {
    if b < a { b } else { a }
}

fn most<T: Sample>(a: T, b: T) -> T {
    if b > a { b } else { a }
}

/// Returns the mean of the two middle values.
fn median_of_four<T: Sample>(a: T, b: T, c: T, d: T) -> T {
    let (one, other) = (most(least(a, b), least(c, d)), least(most(a, b), most(c, d)));
    mean_of_two(one, other)
}

fn mean_of_two<T: Sample>(one: T, other: T) -> T {
    T::mean([one, other, T::default(), T::default()], [true, true, false, false])
}

/// Returns the first value to reach the largest count, in pixel order.
fn mode_of_four<T: Sample>(a: T, b: T, c: T, d: T) -> T {
    if a == b || a == c || (b != c && a == d) {
        a
    } else if b == c || b == d {
        b
    } else if c == d {
        c
    } else {
        a
    }
}

fn taken<T: Sample>(values: [T; 4], valid: [bool; 4]) -> impl Iterator<Item = T> {
    values.into_iter().zip(valid).filter_map(|(value, valid)| valid.then_some(value))
}

fn min<T: Sample>(values: [T; 4], valid: [bool; 4]) -> T {
    if valid == [true; 4] {
        return least(least(values[0], values[1]), least(values[2], values[3]));
    }
    taken(values, valid).reduce(least).unwrap_or(T::VOID)
}

fn max<T: Sample>(values: [T; 4], valid: [bool; 4]) -> T {
    if valid == [true; 4] {
        return most(most(values[0], values[1]), most(values[2], values[3]));
    }
    taken(values, valid).reduce(most).unwrap_or(T::VOID)
}

/// Returns the middle value; of two or four, the mean of the two middle ones.
fn median<T: Sample>(values: [T; 4], valid: [bool; 4]) -> T {
    if valid == [true; 4] {
        return median_of_four(values[0], values[1], values[2], values[3]);
    }
    let below = |value: T| taken(values, valid).filter(|other| *other < value).count();
    let upto = |value: T| taken(values, valid).filter(|other| *other <= value).count();
    let at = |rank: usize| {
        taken(values, valid).find(|&value| below(value) <= rank && rank < upto(value)).unwrap_or(T::VOID)
    };
    let count = usize::from(count(valid));
    let low = at(count.saturating_sub(1) / 2);
    if count.is_multiple_of(2) { mean_of_two(low, at(count / 2)) } else { low }
}

fn mode<T: Sample>(values: [T; 4], valid: [bool; 4]) -> T {
    if valid == [true; 4] {
        return mode_of_four(values[0], values[1], values[2], values[3]);
    }
    let (mut best, mut most) = (T::VOID, 0);
    for (index, value) in taken(values, valid).enumerate() {
        let times = taken(values, valid).take(index + 1).filter(|other| *other == value).count();
        if times > most {
            (best, most) = (value, times);
        }
    }
    best
}

/// Returns 255 if any pixel of the four is not 0.
fn any_of_four(mask: &Part<'_>, rows: Range<u32>) -> Vec<u8> {
    let mut any = Vec::with_capacity(mask.row_len() * rows.len());
    let mut lines = Lines::<u8>::default();
    let mut reduced = Vec::new();
    for group in mask.groups() {
        for row in rows.clone() {
            lines.load(mask, group, 1, row);
            reduced.resize(lines.top.len() / 2, 0);
            each(&lines, 1, &mut reduced, |a, b, c, d| if (a | b | c | d) == 0 { 0 } else { 255 });
            any.extend_from_slice(&reduced);
        }
    }
    any
}

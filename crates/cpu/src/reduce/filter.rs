//! Gauss, bilinear, cubic and Lanczos: weighted sums over a neighbourhood, first along rows, then down columns.
//!
//! All arithmetic is in `f64`, adding terms in pixel order. Taps outside the image or over invalid samples are omitted,
//! and the sum is divided by the remaining weights. A source row is filtered once and kept while rows of the reduced
//! image need it; rows without invalid samples take a loop without checks.

use super::four::unmask;
use super::part::{Group, Part};
use super::sample::Sample;
use super::{Manner, Rows};
use std::collections::VecDeque;
use std::ops::Range;
use strile_engine::Resampling;

/// Weights along one axis.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kernel {
    weights: &'static [f64],
    /// Number of pixels by which the taps begin before the first of the two pixels under a reduced one.
    before: u32,
    /// Whether to divide after filtering along rows; otherwise only once, by the weights of both axes.
    divides_rows: bool,
    /// Whether some weights are negative: then less than half of the taps in one run give no value.
    wants_run: bool,
}

impl Kernel {
    /// Returns the kernel of a method; `None` if it has none.
    pub(super) fn of(method: Resampling) -> Option<Self> {
        let (weights, before, divides_rows, wants_run): (&[f64], _, _, _) = match method {
            Resampling::Gauss => (&[1.0, 2.0, 1.0], 0, false, false),
            Resampling::Bilinear => (&[0.25, 0.75, 0.75, 0.25], 1, true, false),
            Resampling::Cubic => (&CUBIC, 3, true, true),
            Resampling::Lanczos => (&LANCZOS, 5, true, true),
            Resampling::Nearest
            | Resampling::Average
            | Resampling::Min
            | Resampling::Max
            | Resampling::Median
            | Resampling::Mode
            | Resampling::Rms => return None,
        };
        Some(Self { weights, before, divides_rows, wants_run })
    }

    /// Returns the weights of the taps of a reduced pixel inside an image of `size` pixels, and the first pixel.
    fn taps(&self, target: u32, size: u32) -> (&'static [f64], u32) {
        let skipped = self.before.saturating_sub(target * 2);
        let start = (target * 2).saturating_sub(self.before);
        let weights = self.weights.get(skipped as usize..).unwrap_or_default();
        let room = size.saturating_sub(start) as usize;
        (weights.get(..room.min(weights.len())).unwrap_or_default(), start)
    }
}

/// Keys with a = -1/2 at distances 7/8, 5/8, 3/8 and 1/8 of the radius of two.
const CUBIC: [f64; 8] =
    [-0.0234375, -0.0703125, 0.2265625, 0.8671875, 0.8671875, 0.2265625, -0.0703125, -0.0234375];

/// sinc(x) sinc(x / 3) at x = 11/4, 9/4, 7/4, 5/4, 3/4 and 1/4.
const LANCZOS: [f64; 12] = [
    0.00735592604719417,
    0.030021091449581563,
    -0.06779133590054288,
    -0.13287101836506404,
    0.27018982304623407,
    0.8900670517104946,
    0.8900670517104946,
    0.27018982304623407,
    -0.13287101836506404,
    -0.06779133590054288,
    0.030021091449581563,
    0.00735592604719417,
];

/// Computes rows of a part.
pub(super) fn rows<T: Sample>(kernel: &Kernel, manner: Manner, part: &Part<'_>, rows: Range<u32>) -> Rows {
    let nodata = manner.nodata.map(|fill| T::of_fill(&fill, 0));
    let pixels = filtered::<T>(kernel, nodata, part, rows.clone());
    // The mask is set wherever filtering the mask alone gives a value.
    let mask = part.mask().map(|mask| {
        let mut mask = filtered::<u8>(kernel, Some(0), &mask, rows);
        mask.iter_mut().for_each(|sample| *sample = if *sample == 0 { 0 } else { 255 });
        mask
    });
    Rows { pixels, mask }
}

/// Filters samples of one type.
fn filtered<T: Sample>(kernel: &Kernel, nodata: Option<T>, part: &Part<'_>, rows: Range<u32>) -> Vec<u8> {
    let mut pixels = Vec::with_capacity(part.row_len() * rows.len());
    let mut source = Source::<T>::new(nodata, part);
    let mut reduced = Vec::new();
    for group in part.groups() {
        let mut lines: VecDeque<Line> = VecDeque::new();
        for row in rows.clone() {
            let (weights, start) = kernel.taps(row, part.image().1);
            let mut spare = None;
            while lines.front().is_some_and(|line| line.row < start) {
                spare = lines.pop_front();
            }
            let mut next = lines.back().map_or(start, |line| line.row + 1);
            while lines.len() < weights.len() {
                let mut line = spare.take().unwrap_or_default();
                source.along(kernel, group, next, &mut line);
                lines.push_back(line);
                next += 1;
            }
            down(kernel, weights, &lines, nodata, &mut reduced);
            T::store(&reduced, &mut pixels);
        }
    }
    pixels
}

/// A row of the source image, filtered horizontally.
#[derive(Default)]
struct Line {
    row: u32,
    /// Weighted sums, divided if the kernel divides rows; 0 if there is no value.
    values: Vec<f64>,
    /// Their weights: 1 if the sums are divided, 0 if there is no value.
    weights: Vec<f64>,
    /// Whether every sample has a value.
    full: bool,
}

/// Rows of the source image.
struct Source<'a, T> {
    part: &'a Part<'a>,
    mask: Option<Part<'a>>,
    nodata: Option<T>,
    bytes: Vec<u8>,
    samples: Vec<T>,
    values: Vec<f64>,
    valid: Vec<bool>,
}

impl<'a, T: Sample> Source<'a, T> {
    fn new(nodata: Option<T>, part: &'a Part<'a>) -> Self {
        let (bytes, samples, values, valid) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { part, mask: part.mask(), nodata, bytes, samples, values, valid }
    }

    /// Filters a row horizontally.
    fn along(&mut self, kernel: &Kernel, group: Group, row: u32, line: &mut Line) {
        T::load(self.part.row(group, row, &mut self.bytes), &mut self.samples);
        self.values.clear();
        self.values.extend(self.samples.iter().map(|sample| sample.to_f64()));
        line.row = row;
        self.valid.clear();
        if self.nodata.is_none() && self.mask.is_none() {
            self.pixels(kernel, group.count, line);
            if !T::FLOAT || !line.values.iter().any(|value| value.is_nan()) {
                return;
            }
        }
        self.mark_valid(group.count, row);
        self.pixels(kernel, group.count, line);
    }

    fn mark_valid(&mut self, samples: usize, row: u32) {
        let nodata = self.nodata;
        self.valid.extend(
            self.samples.iter().map(|sample| nodata.is_none_or(|nd| *sample != nd) && !sample.is_nan()),
        );
        let Some(mask) = &self.mask else { return };
        for group in mask.groups() {
            let mask = mask.row(group, row, &mut self.bytes);
            unmask(&mut self.valid, mask, samples);
        }
    }

    /// Filters every pixel of the line; all samples count if `valid` is empty.
    #[expect(
        clippy::indexing_slicing,
        reason = "taps lie in the image, and its columns under the part are loaded"
    )]
    fn pixels(&self, kernel: &Kernel, samples: usize, line: &mut Line) {
        line.values.clear();
        line.weights.clear();
        let first = self.part.source_columns().start;
        let (mut all, divisor) = (true, kernel.weights.iter().fold(0.0, |sum, weight| sum + weight));
        for column in self.part.target_columns() {
            let (weights, start) = kernel.taps(column, self.part.image().0);
            let start = (start - first) as usize * samples;
            if self.valid.is_empty() && weights.len() == kernel.weights.len() {
                for sample in 0..samples {
                    let sum = weighted(weights, &self.values[start + sample..], samples);
                    line.values.push(if kernel.divides_rows { sum / divisor } else { sum });
                    line.weights.push(if kernel.divides_rows { 1.0 } else { divisor });
                }
                continue;
            }
            for sample in 0..samples {
                let mut sums = Sums::default();
                for (tap, weight) in weights.iter().enumerate() {
                    let at = start + tap * samples + sample;
                    sums.add(*weight, self.values[at], self.valid.is_empty() || self.valid[at]);
                }
                let counts = sums.counts(kernel, weights.len());
                all &= counts;
                let (value, weight) = match (counts, kernel.divides_rows) {
                    (false, _) => (0.0, 0.0),
                    (true, true) => (sums.value / sums.weight, 1.0),
                    (true, false) => (sums.value, sums.weight),
                };
                line.values.push(value);
                line.weights.push(weight);
            }
        }
        line.full = all;
    }
}

/// Returns the weighted sum of every `samples`-th value.
fn weighted(weights: &[f64], values: &[f64], samples: usize) -> f64 {
    match samples {
        1 => weights.iter().zip(values).fold(0.0, |sum, (weight, value)| sum + weight * value),
        _ => {
            let values = values.iter().step_by(samples);
            weights.iter().zip(values).fold(0.0, |sum, (weight, value)| sum + weight * value)
        }
    }
}

/// Sums over the taps of a pixel.
#[derive(Default)]
struct Sums {
    value: f64,
    weight: f64,
    run: usize,
    longest: usize,
}

impl Sums {
    fn add(&mut self, weight: f64, value: f64, valid: bool) {
        if valid {
            self.value += weight * value;
            self.weight += weight;
            self.run += 1;
            self.longest = self.longest.max(self.run);
        } else {
            self.run = 0;
        }
    }

    /// Returns whether the taps give a value.
    fn counts(&self, kernel: &Kernel, taps: usize) -> bool {
        self.weight > 0.0 && (!kernel.wants_run || self.longest >= taps / 2)
    }
}

/// Filters lines vertically.
fn down<T: Sample>(
    kernel: &Kernel,
    weights: &[f64],
    lines: &VecDeque<Line>,
    nodata: Option<T>,
    reduced: &mut Vec<T>,
) {
    let len = lines.front().map_or(0, |line| line.values.len());
    let (mut values, mut totals) = (vec![0.0; len], vec![0.0; len]);
    for (line, weight) in lines.iter().zip(weights) {
        for (sum, value) in values.iter_mut().zip(&line.values) {
            *sum += weight * value;
        }
        for (sum, value) in totals.iter_mut().zip(&line.weights) {
            *sum += weight * value;
        }
    }
    reduced.clear();
    reduced.extend(values.iter().zip(&totals).map(|(value, total)| {
        if *total > 0.0 { settled(nodata, T::of_f64(value / total)) } else { nodata.unwrap_or(T::VOID) }
    }));
    if kernel.wants_run && lines.iter().any(|line| !line.full) {
        for (column, reduced) in reduced.iter_mut().enumerate() {
            let mut sums = Sums::default();
            for (line, weight) in lines.iter().zip(weights) {
                sums.add(*weight, 0.0, line.weights.get(column).is_some_and(|weight| *weight > 0.0));
            }
            if !sums.counts(kernel, weights.len()) {
                *reduced = nodata.unwrap_or(T::VOID);
            }
        }
    }
}

fn settled<T: Sample>(nodata: Option<T>, value: T) -> T {
    if nodata == Some(value) { value.beside() } else { value }
}

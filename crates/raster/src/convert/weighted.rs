//! Resamples pixels by weights: rows of the input are taken in order, and rows of the result are completed as soon as
//! all their rows were taken. Only sums are kept, so memory does not grow with the number of pixels per result pixel.
//!
//! Nodata samples, NaN, and masked pixels do not count. A filter divides by the weights that count, along a row and
//! then down the column; areas are summed in both directions and divided once.

use super::numbers::{Counts, load, row_of};
use super::taps::{Axis, Method};
use super::values::{Scratch, State, Values};
use crate::raster::Raster;
use std::collections::{HashMap, VecDeque};
use std::ops::Range;

/// State shared by all workers of a panel.
#[derive(Clone, Copy)]
pub(super) struct Panel<'a> {
    pub(super) method: Method,
    /// Taps of all rows of the result.
    pub(super) rows: &'a Axis,
    pub(super) values: &'a Values,
    /// Number of bands that are read.
    pub(super) bands: usize,
    /// Whether a mask is read and produced.
    pub(super) masked: bool,
    /// The band, if it is alpha, that says which pixels are valid.
    pub(super) alpha: Option<usize>,
}

/// Rows of the input.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) pixels: &'a Raster,
    pub(super) mask: Option<&'a Raster>,
    /// Position of its first pixel in the image: column, row.
    pub(super) origin: (u32, u32),
}

/// Sums for a pixel.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    value: f64,
    weight: f64,
    /// Length of the current run of valid rows, and of the longest.
    run: u32,
    longest: u32,
}

/// Pending sums for a row of the result.
enum Waiting {
    /// A sum per column, for each band of the input and the mask.
    Sums(Vec<Sum>),
    /// Like `Sums`, with the weight of every value, and the value with the largest weight.
    Modes(Vec<(HashMap<u64, f64>, (f64, f64))>),
}

/// Some columns of the result.
pub(super) struct Worker<'a> {
    panel: Panel<'a>,
    columns: Axis,
    under: Range<u32>,
    waiting: VecDeque<Waiting>,
    /// Range of pending rows.
    first: usize,
    end: usize,
    /// Finished rows: samples row by row, band after band within a row; and the same for the mask.
    pub(super) done: Vec<u8>,
    pub(super) mask: Vec<u8>,
    pub(super) rows_done: usize,
    pub(super) counts: Counts,
    numbers: Vec<f64>,
    counted: Vec<bool>,
    shown: Vec<bool>,
    line: Vec<(f64, f64)>,
    scratch: Scratch,
}

impl<'a> Worker<'a> {
    pub(super) fn new(panel: Panel<'a>, columns: Axis) -> Self {
        let under = columns.under();
        Self {
            panel,
            columns,
            under,
            waiting: VecDeque::new(),
            first: 0,
            end: 0,
            done: Vec::new(),
            mask: Vec::new(),
            rows_done: 0,
            counts: Counts::default(),
            numbers: Vec::new(),
            counted: Vec::new(),
            shown: Vec::new(),
            line: Vec::new(),
            scratch: Scratch::default(),
        }
    }

    /// Returns the number of columns of the result.
    pub(super) fn width(&self) -> usize {
        self.columns.len()
    }

    /// Returns the number of sums of a row: one per band, the mask, and column.
    fn sums(&self) -> usize {
        (self.panel.bands + usize::from(self.panel.masked)) * self.width()
    }

    /// Takes rows `range` of the image, which follow the previous ones.
    pub(super) fn take(&mut self, rows: &Rows<'_>, range: Range<u32>) {
        for row in range {
            self.open(row);
            self.take_row(rows, row);
            self.close(row + 1);
        }
    }

    /// Completes all pending rows after the last input.
    pub(super) fn finish(&mut self) {
        self.open(u32::MAX);
        self.close(u32::MAX);
    }

    /// Adds pending rows of the result that begin at or before this row of the image.
    fn open(&mut self, row: u32) {
        while self.end < self.panel.rows.len() {
            let taps = self.panel.rows.get(self.end);
            if !taps.is_empty() && taps.first > row {
                return;
            }
            let count = self.sums();
            self.waiting.push_back(match self.panel.method {
                Method::Mode => Waiting::Modes(vec![(HashMap::new(), (0.0, 0.0)); count]),
                _ => Waiting::Sums(vec![Sum::default(); count]),
            });
            self.end += 1;
        }
    }

    /// Completes rows that end before this row of the image.
    fn close(&mut self, row: u32) {
        while self.first < self.end {
            let taps = self.panel.rows.get(self.first);
            if !taps.is_empty() && taps.end() > row {
                return;
            }
            if let Some(waiting) = self.waiting.pop_front() {
                self.emit(&waiting, self.first);
            }
            self.first += 1;
        }
    }

    fn take_row(&mut self, rows: &Rows<'_>, row: u32) {
        let at = (row - rows.origin.1) as usize;
        let first = (self.under.start.saturating_sub(rows.origin.0)) as usize;
        let count = (self.under.end - self.under.start) as usize;
        let width = self.width();
        self.show(rows, (at, first, count));
        for band in 0..self.panel.bands + usize::from(self.panel.masked) {
            self.numbers.clear();
            self.counted.clear();
            if band < self.panel.bands {
                let (bytes, stride) = row_of(rows.pixels, band, at, first);
                let bytes = bytes.get(..bytes.len().min(count * stride)).unwrap_or_default();
                load(rows.pixels.data_type, bytes, stride, &mut self.numbers);
                let nodata = self.panel.values.source_nodata.get(band).copied().flatten();
                let counts = |(number, shown): (&f64, &bool)| {
                    *shown && !number.is_nan() && nodata.is_none_or(|nodata| *number != nodata)
                };
                self.counted.extend(self.numbers.iter().zip(&self.shown).map(counts));
            } else {
                self.numbers.resize(count, 1.0);
                self.counted.extend_from_slice(&self.shown);
            }
            if self.panel.method == Method::Mode {
                self.take_modes(row, band);
                continue;
            }
            self.make_line();
            let sums = self.waiting.iter_mut().zip(self.first..);
            for (waiting, index) in sums {
                let taps = self.panel.rows.get(index);
                let weight = row.checked_sub(taps.first).and_then(|at| taps.weights.get(at as usize));
                let (Some(&weight), Waiting::Sums(sums)) = (weight, waiting) else { continue };
                let own = sums.iter_mut().skip(band * width).zip(&self.line);
                match self.panel.method.is_filter() {
                    true => own.for_each(|(sum, &(value, counts))| sum.filter(weight, value, counts > 0.0)),
                    false => own.for_each(|(sum, &(value, counts))| {
                        sum.value += weight * value;
                        sum.weight += weight * counts;
                    }),
                }
            }
        }
    }

    /// Finds which pixels of a row are neither masked out nor transparent.
    fn show(&mut self, rows: &Rows<'_>, (row, first, count): (usize, usize, usize)) {
        self.shown.clear();
        if let Some(mask) = rows.mask {
            let (bytes, stride) = row_of(mask, 0, row, first);
            self.shown.extend(bytes.chunks(stride.max(1)).take(count).map(|v| v.first() != Some(&0)));
        } else if let Some(alpha) = self.panel.alpha {
            let (bytes, stride) = row_of(rows.pixels, alpha, row, first);
            self.numbers.clear();
            let bytes = bytes.get(..bytes.len().min(count * stride)).unwrap_or_default();
            load(rows.pixels.data_type, bytes, stride, &mut self.numbers);
            self.shown.extend(self.numbers.iter().map(|alpha| *alpha != 0.0));
        }
        self.shown.resize(count, rows.mask.is_none());
    }

    /// Sums up a row of the image along the columns of the result: values and weights, or with a filter values and
    /// whether there is one.
    fn make_line(&mut self) {
        self.line.clear();
        let method = self.panel.method;
        for taps in self.columns.iter() {
            let from = taps.first.saturating_sub(self.under.start) as usize;
            let under = from..from + taps.weights.len();
            let numbers = self.numbers.get(under.clone()).unwrap_or_default();
            let counted = self.counted.get(under).unwrap_or_default();
            let (mut sum, mut run, mut longest) = ((0.0, 0.0), 0, 0);
            for ((number, counts), weight) in numbers.iter().zip(counted).zip(taps.weights) {
                if *counts {
                    let number = if method == Method::Rms { number * number } else { *number };
                    sum = (sum.0 + weight * number, sum.1 + weight);
                    run += 1;
                    longest = longest.max(run);
                } else {
                    run = 0;
                }
            }
            if method.is_filter() {
                let enough = !method.has_negative_weights() || longest >= taps.weights.len() / 2;
                let is_there = sum.1 > 0.0 && enough;
                sum = if is_there { (sum.0 / sum.1, 1.0) } else { (0.0, 0.0) };
            }
            self.line.push(sum);
        }
    }

    fn take_modes(&mut self, row: u32, band: usize) {
        let width = self.width();
        for (waiting, index) in self.waiting.iter_mut().zip(self.first..) {
            let taps = self.panel.rows.get(index);
            let down = row.checked_sub(taps.first).and_then(|at| taps.weights.get(at as usize));
            let (Some(&down), Waiting::Modes(modes)) = (down, waiting) else { continue };
            for ((weights, best), taps) in modes.iter_mut().skip(band * width).zip(self.columns.iter()) {
                let from = taps.first.saturating_sub(self.under.start) as usize;
                let numbers = self.numbers.iter().zip(&self.counted).skip(from).zip(taps.weights);
                for ((number, _), across) in numbers.filter(|((_, counts), _)| **counts) {
                    let weight = weights.entry(number.to_bits()).or_insert(0.0);
                    *weight += across * down;
                    if *weight > best.0 * (1.0 + 1e-12) {
                        *best = (*weight, *number);
                    }
                }
            }
        }
    }

    /// Produces a row of the result.
    fn emit(&mut self, waiting: &Waiting, row: usize) {
        let (width, size) = (self.width(), self.panel.values.to.size());
        let taps = self.panel.rows.get(row).weights.len();
        let is_outside = |column: usize| taps == 0 || self.columns.get(column).is_empty();
        let number = |at: usize| match waiting {
            Waiting::Sums(sums) => sums.get(at).and_then(|sum| sum.result(self.panel.method, taps)),
            Waiting::Modes(modes) => {
                modes.get(at).map(|(_, best)| *best).filter(|best| best.0 > 0.0).map(|best| best.1)
            }
        };
        for (band, map) in &self.panel.values.maps {
            self.scratch.numbers.clear();
            self.scratch.states.clear();
            for column in 0..width {
                let number = number(band * width + column);
                self.scratch.numbers.push(number.unwrap_or(0.0));
                self.scratch.states.push(match number {
                    Some(_) => State::Valid,
                    None if is_outside(column) => State::Outside,
                    None => State::Empty,
                });
            }
            let start = self.done.len();
            self.done.resize(start + width * size, 0);
            let out = self.done.get_mut(start..).unwrap_or_default();
            self.counts.add(self.panel.values.finish(map, &mut self.scratch, (out, size)));
        }
        if self.panel.masked {
            let first = self.panel.bands * width;
            self.mask.extend((0..width).map(|column| if number(first + column).is_some() { 255 } else { 0 }));
        }
        self.rows_done += 1;
    }
}

impl Sum {
    fn filter(&mut self, weight: f64, value: f64, counts: bool) {
        if counts {
            self.value += weight * value;
            self.weight += weight;
            self.run += 1;
            self.longest = self.longest.max(self.run);
        } else {
            self.run = 0;
        }
    }

    fn result(&self, method: Method, taps: usize) -> Option<f64> {
        let enough = !method.has_negative_weights() || self.longest as usize >= taps / 2;
        let mean = (self.weight > 0.0 && enough).then_some(self.value / self.weight)?;
        Some(if method == Method::Rms { mean.sqrt() } else { mean })
    }
}

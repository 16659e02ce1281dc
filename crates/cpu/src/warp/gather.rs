//! Methods that use samples around the source position of a pixel's centre.

use super::sheet::{HAIR, NOWHERE, Packed, Sample, Sheet, Whole};
use super::weights::{self, Kernel};
use super::{Made, Places, RUN};
use strile_engine::{PixelPoint, WarpRule, WarpSampling, WarpWindow};

/// Minimum sum of weights for a value, of four samples and of a kernel. As in GDAL.
const LEAST_OF_FOUR: f64 = 0.00001;
const LEAST: f64 = 0.000001;

/// Source positions of the centres of a run of pixels.
pub(super) struct Centres<'a> {
    window: &'a WarpWindow,
    places: Places,
    len: usize,
    /// Offsets of the nearest samples in each band, set by `locate`.
    offsets: [usize; RUN],
    is_located: bool,
}

impl<'a> Centres<'a> {
    pub(super) fn new(window: &'a WarpWindow) -> Self {
        Self { window, places: Places::new(), len: 0, offsets: [NOWHERE; RUN], is_located: false }
    }

    /// Computes the positions of pixels of the grid.
    pub(super) fn place(&mut self, at: (u32, u32), len: usize) {
        self.places.place(self.window, PixelPoint::Centre, at, len);
        self.len = len;
        self.is_located = false;
        if self.window.map.parts().turn.is_some() {
            for (x, y) in self.places.x.iter_mut().zip(&mut self.places.y).take(len) {
                (*x, *y) = self.window.map.in_source((*x, *y));
            }
        }
    }

    /// Returns the source pixel under a centre.
    pub(super) fn pixel<S: Sample>(&self, i: usize, sheet: &Sheet<'_, S>) -> Option<(i64, i64)> {
        sheet.pixel(*self.places.x.get(i)?, *self.places.y.get(i)?)
    }

    pub(super) fn make<S: Sample>(
        &mut self,
        sampling: WarpSampling,
        sheet: &Sheet<'_, S>,
        weights: &mut Vec<f64>,
        made: &mut Made,
    ) {
        let rule = sampling.rule(self.window.scale);
        // A single line of samples is not interpolated.
        let line = sheet.source.0 == 1 || sheet.source.1 == 1;
        match rule {
            _ if line => self.nearest(sheet, made),
            WarpRule::Four => self.values(made, sheet, (0, 1), |x, y| four(sheet, x, y), four_of),
            WarpRule::Sixteen => self.values(made, sheet, (1, 2), |x, y| sixteen(sheet, x, y), sixteen_of),
            WarpRule::Kernel(_) => {
                let kernel = match sampling {
                    WarpSampling::Bilinear => Kernel::Linear,
                    WarpSampling::Cubic => Kernel::Cubic,
                    WarpSampling::Lanczos => Kernel::Lanczos,
                    _ => Kernel::Spline,
                };
                let wide = Wide::new(kernel, self.window.scale);
                self.each(made, sheet, |x, y| wide.value(sheet, x, y, weights));
            }
            WarpRule::Pixel | WarpRule::Footprint => self.nearest(sheet, made),
        }
    }

    fn nearest<S: Sample>(&mut self, sheet: &Sheet<'_, S>, made: &mut Made) {
        made.chosen = true;
        if !self.is_located {
            self.locate(sheet);
        }
        for (at, (bits, found)) in
            self.offsets.iter().zip(made.bits.iter_mut().zip(&mut made.found)).take(self.len)
        {
            let sample = sheet.at(*at);
            *found = (*at != NOWHERE) & sheet.counts(sample);
            *bits = sample.bits();
        }
    }

    /// Finds the offsets of the samples in all bands.
    fn locate<S: Sample>(&mut self, sheet: &Sheet<'_, S>) {
        let inside = sheet.inside((0, 0));
        let places = self.places.x.iter().zip(&self.places.y).take(self.len);
        for ((x, y), at) in places.zip(&mut self.offsets) {
            *at = if inside.has(*x, *y) & inside.has(x + HAIR, y + HAIR) {
                sheet.located(Whole::of(x + HAIR).index, Whole::of(y + HAIR).index)
            } else {
                sheet.pixel(*x, *y).map_or(NOWHERE, |(column, row)| sheet.located(column, row))
            };
        }
        self.is_located = true;
    }

    /// Computes a number for every pixel whose centre lies in a valid sample: with `quick` if the sheet has all samples
    /// around the position, from `around.0` before it to `around.1` after it, and all of them are valid; otherwise with
    /// `value`.
    #[inline(always)]
    fn values<S: Sample>(
        &self,
        made: &mut Made,
        sheet: &Sheet<'_, S>,
        around: (i64, i64),
        value: impl Fn(f64, f64) -> Option<f64>,
        quick: impl Fn(&Packed<'_, S>, f64, f64) -> Option<f64>,
    ) {
        let Some(packed) = sheet.packed() else { return self.each(made, sheet, value) };
        let inside = sheet.inside(around);
        made.chosen = false;
        let places = self.places.x.iter().zip(&self.places.y).take(self.len);
        for ((x, y), (to, found)) in places.zip(made.values.iter_mut().zip(&mut made.found)) {
            let number = if inside.has(x - 0.5, y - 0.5) { quick(&packed, *x, *y) } else { None };
            let number = match number {
                Some(number) => Some(number),
                None => one(sheet, *x, *y, &value),
            };
            *found = number.is_some();
            *to = number.unwrap_or(0.0);
        }
    }

    /// Computes a number for every pixel whose centre lies in a valid sample.
    #[inline(always)]
    fn each<S: Sample>(
        &self,
        made: &mut Made,
        sheet: &Sheet<'_, S>,
        mut value: impl FnMut(f64, f64) -> Option<f64>,
    ) {
        made.chosen = false;
        let places = self.places.x.iter().zip(&self.places.y).take(self.len);
        for ((x, y), (to, found)) in places.zip(made.values.iter_mut().zip(&mut made.found)) {
            let number = one(sheet, *x, *y, &mut value);
            *found = number.is_some();
            *to = number.unwrap_or(0.0);
        }
    }
}

/// Computes the number for a position that lies in a valid sample.
fn one<S: Sample>(
    sheet: &Sheet<'_, S>,
    x: f64,
    y: f64,
    mut value: impl FnMut(f64, f64) -> Option<f64>,
) -> Option<f64> {
    let (column, row) = sheet.pixel(x, y)?;
    sheet.sample(column, row)?;
    value(x, y)
}

/// Returns the integer part of a position that lies in the source, or at most one pixel before it.
#[inline(always)]
#[allow(clippy::cast_possible_truncation, reason = "-1 to 2³²")]
fn floor(place: f64) -> i64 {
    // A conversion truncates towards 0.
    let whole = place as i64;
    whole - i64::from(place < number(whole))
}

#[inline(always)]
#[allow(clippy::cast_precision_loss, reason = "at most 2³²")]
fn number(column: i64) -> f64 {
    column as f64
}

/// Interpolates two by two samples of the sheet; `None` if any is invalid.
#[inline(always)]
fn four_of<S: Sample>(packed: &Packed<'_, S>, x: f64, y: f64) -> Option<f64> {
    let (column, row) = (Whole::of(x - 0.5), Whole::of(y - 0.5));
    let ([a, b], [c, d]) = (packed.two(column.index, row.index)?, packed.two(column.index, row.index + 1)?);
    let (u, v) = (1.5 - (x - column.number), 1.5 - (y - row.number));
    let missing = packed.is_nodata(a) | packed.is_nodata(b) | packed.is_nodata(c) | packed.is_nodata(d);
    let value = between([a.value(), b.value(), c.value(), d.value()], u, v);
    // A NaN sample has made the value NaN.
    (!(missing | value.is_nan())).then_some(value)
}

/// Interpolates two by two samples.
fn four<S: Sample>(sheet: &Sheet<'_, S>, x: f64, y: f64) -> Option<f64> {
    let (column, row) = (floor(x - 0.5), floor(y - 0.5));
    let (u, v) = (1.5 - (x - number(column)), 1.5 - (y - number(row)));
    let samples = [
        sheet.sample(column, row),
        sheet.sample(column + 1, row),
        sheet.sample(column, row + 1),
        sheet.sample(column + 1, row + 1),
    ];
    if let [Some(a), Some(b), Some(c), Some(d)] = samples {
        return Some(between([a.value(), b.value(), c.value(), d.value()], u, v));
    }
    let weights = [u * v, (1.0 - u) * v, u * (1.0 - v), (1.0 - u) * (1.0 - v)];
    let (mut sum, mut weight) = (0.0, 0.0);
    for (sample, own) in samples.into_iter().zip(weights) {
        if let Some(sample) = sample {
            sum += sample.value() * own;
            weight += own;
        }
    }
    (weight >= LEAST_OF_FOUR).then(|| sum / weight)
}

#[inline(always)]
fn between([a, b, c, d]: [f64; 4], u: f64, v: f64) -> f64 {
    let upper = a * u + b * (1.0 - u);
    let lower = c * u + d * (1.0 - u);
    upper * v + lower * (1.0 - v)
}

/// Interpolates four by four samples of the sheet; `None` if any is invalid.
#[inline(always)]
fn sixteen_of<S: Sample>(packed: &Packed<'_, S>, x: f64, y: f64) -> Option<f64> {
    let (column, row) = (Whole::of(x - 0.5), Whole::of(y - 0.5));
    let across = weights::four(x - 0.5 - column.number);
    let down = weights::four(y - 0.5 - row.number);
    let mut rows = [0.0; 4];
    let mut missing = false;
    for (line, sum) in (row.index - 1..).zip(&mut rows) {
        let [a, b, c, d] = packed.four(column.index - 1, line)?;
        missing |= packed.is_nodata(a) | packed.is_nodata(b) | packed.is_nodata(c) | packed.is_nodata(d);
        *sum = convolve([a.value(), b.value(), c.value(), d.value()], across);
    }
    let value = convolve(rows, down);
    // A NaN sample has made the value NaN.
    (!(missing | value.is_nan())).then_some(value)
}

/// Interpolates four by four samples, or two by two if one of them is missing.
fn sixteen<S: Sample>(sheet: &Sheet<'_, S>, x: f64, y: f64) -> Option<f64> {
    let (column, row) = (floor(x - 0.5), floor(y - 0.5));
    let within = column > sheet.left && row > sheet.top && column + 2 < sheet.right && row + 2 < sheet.bottom;
    if !within {
        return four(sheet, x, y);
    }
    let across = weights::four(x - 0.5 - number(column));
    let down = weights::four(y - 0.5 - number(row));
    let mut rows = [0.0; 4];
    for (line, sum) in (row - 1..).zip(&mut rows) {
        let mut values = [0.0; 4];
        for (at, value) in (column - 1..).zip(&mut values) {
            let Some(sample) = sheet.sample(at, line) else { return four(sheet, x, y) };
            *value = sample.value();
        }
        *sum = convolve(values, across);
    }
    Some(convolve(rows, down))
}

#[inline(always)]
fn convolve([a, b, c, d]: [f64; 4], [wa, wb, wc, wd]: [f64; 4]) -> f64 {
    a * wa + b * wb + c * wc + d * wd
}

/// A kernel that may be wider than its samples.
struct Wide {
    kernel: Kernel,
    /// Number of steps to the last sample used.
    taps: (f64, f64),
    /// Kernel pixels per source pixel.
    scale: (f64, f64),
}

impl Wide {
    fn new(kernel: Kernel, scale: (f64, f64)) -> Self {
        let taps = |scale| WarpSampling::taps(kernel.radius(), scale);
        let at_most_1 = |scale: f64| if scale < 1.0 { scale } else { 1.0 };
        Self { kernel, taps: (taps(scale.0), taps(scale.1)), scale: (at_most_1(scale.0), at_most_1(scale.1)) }
    }

    fn value<S: Sample>(&self, sheet: &Sheet<'_, S>, x: f64, y: f64, weights: &mut Vec<f64>) -> Option<f64> {
        let (column, row) = (floor(x - 0.5), floor(y - 0.5));
        let (dx, dy) = (x - 0.5 - number(column), y - 0.5 - number(row));
        let (first, last) = range(column, self.taps.0, sheet.left, sheet.right);
        let (top, bottom) = range(row, self.taps.1, sheet.top, sheet.bottom);
        weights.clear();
        weights
            .extend((first..=last).map(|at| self.kernel.weight((number(at - column) - dx) * self.scale.0)));
        let (mut sum, mut weight) = (0.0, 0.0);
        for line in top..=bottom {
            let own = self.kernel.weight((number(line - row) - dy) * self.scale.1);
            let (mut part, mut part_weight) = (0.0, 0.0);
            for (at, own) in (first..=last).zip(weights.iter()) {
                if let Some(sample) = sheet.sample(at, line) {
                    part += sample.value() * own;
                    part_weight += own;
                }
            }
            sum += part * own;
            weight += part_weight * own;
        }
        (weight >= LEAST).then(|| sum / weight)
    }
}

/// Returns the first and the last pixel used, within the available ones.
#[allow(clippy::cast_possible_truncation, reason = "within -1 to 2³²")]
fn range(middle: i64, taps: f64, low: i64, high: i64) -> (i64, i64) {
    let first = number(middle) + 1.0 - taps;
    let last = number(middle) + taps;
    let first = if first > number(low) { first as i64 } else { low };
    let last = if last < number(high - 1) { last as i64 } else { high - 1 };
    (first, last)
}

//! Methods that use all samples under a pixel.
//!
//! As in GDAL the footprint is the box between the source positions of the pixel's upper left and lower right corner.
//! The first and last column and row count by the fraction inside the box, others fully. `Sum` uses the area of the
//! quadrilateral of the four corners instead.

use super::area::Quad;
use super::rank;
use super::sheet::{HAIR, Packed, Sample, Sheet, Whole};
use super::{Made, Places};
use std::collections::HashMap;
use strile_engine::{PixelPoint, WarpJob, WarpSampling, WarpWindow};

/// Footprints with more samples are scanned repeatedly instead of kept.
const KEPT: usize = 1 << 16;

/// Buffers of a thread, reused between pixels.
#[derive(Default)]
pub(super) struct Scratch {
    /// Horizontal weights of a kernel.
    pub(super) weights: Vec<f64>,
    keys: Vec<u64>,
    counts: HashMap<u64, f32>,
}

impl Scratch {
    /// Returns the maximum bytes that a thread needs.
    pub(super) fn most(job: &WarpJob) -> u64 {
        let of = |window: &WarpWindow| {
            let sheet = (f64::from(window.sheet.width), f64::from(window.sheet.height));
            let side = |scale: f64, side: f64| (3.0 / scale).ceil().min(side) + 8.0;
            let (across, down) = (side(window.scale.0, sheet.0), side(window.scale.1, sheet.1));
            // Keys and weights, and a table of counts with spare room.
            match job.sampling {
                WarpSampling::Mode => across * down * 48.0,
                sampling if sampling.is_footprint() => 8.0 * (across + KEPT as f64),
                _ => 8.0 * across,
            }
        };
        let most = job.windows.iter().map(of).fold(0.0, f64::max);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "stops at the limit")]
        let most = most as u64;
        most.saturating_add(64 << 10)
    }
}

/// Corners of a run of pixels.
pub(super) struct Corners<'a> {
    window: &'a WarpWindow,
    /// Upper left, lower right, and for areas upper right and lower left.
    places: [Places; 4],
    /// Number of corners that are needed.
    needed: usize,
    len: usize,
    /// Source pixels by which a footprint may exceed the source, across and down.
    margin: (f64, f64),
}

/// Samples under a pixel.
struct Footprint {
    low: (f64, f64),
    high: (f64, f64),
    /// First column and the one after the last; may exceed the width of a source around the Earth, where columns wrap.
    columns: (i64, i64),
    rows: (i64, i64),
}

impl<'a> Corners<'a> {
    pub(super) fn new(window: &'a WarpWindow, sampling: WarpSampling) -> Self {
        let margin = |scale: f64| 2.0 * (1.0 / scale).ceil().max(1.0);
        let needed = if sampling == WarpSampling::Sum { 4 } else { 2 };
        let margin = (margin(window.scale.0), margin(window.scale.1));
        Self { window, places: std::array::from_fn(|_| Places::new()), needed, len: 0, margin }
    }

    /// Computes the corners of pixels of the grid.
    pub(super) fn place(&mut self, at: (u32, u32), len: usize) {
        let corners = [(0, 0), (1, 1), (1, 0), (0, 1)];
        for (places, (right, down)) in self.places.iter_mut().zip(corners).take(self.needed) {
            places.place(self.window, PixelPoint::Corner(right, down), at, len);
        }
        self.len = len;
    }

    /// Returns the corners of a pixel, each within half a turn of the first.
    fn corners(&self, i: usize) -> Option<[(f64, f64); 4]> {
        let mut corners = [(f64::NAN, f64::NAN); 4];
        for (corner, places) in corners.iter_mut().zip(&self.places).take(self.needed) {
            *corner = (*places.x.get(i)?, *places.y.get(i)?);
        }
        let first = corners[0];
        if let Some((x, y)) = self.window.map.parts().turn {
            let square = x * x + y * y;
            for corner in corners.iter_mut().take(self.needed).skip(1) {
                let along = (corner.0 - first.0) * x + (corner.1 - first.1) * y;
                let turns = (along / square + 0.5).floor();
                if turns != 0.0 {
                    *corner = (corner.0 - turns * x, corner.1 - turns * y);
                }
            }
        }
        Some(corners)
    }

    /// Returns the samples under a box; `None` if it lies outside the source or is not a box.
    fn footprint(&self, one: (f64, f64), other: (f64, f64), source: (i64, i64)) -> Option<Footprint> {
        let (mut x, mut y) = (sorted(one.0, other.0), sorted(one.1, other.1));
        #[allow(clippy::cast_precision_loss, reason = "at most 2³²")]
        let (width, height) = (source.0 as f64, source.1 as f64);
        let meets = |x: (f64, f64), y: (f64, f64)| {
            x.1 > -HAIR && x.0 < width + HAIR && y.1 > -HAIR && y.0 < height + HAIR
        };
        let wraps = self.window.map.wraps();
        if let Some((turn_x, turn_y)) = self.window.map.parts().turn {
            let turned = |turns: f64| {
                let (by_x, by_y) = (turns * turn_x, turns * turn_y);
                ((x.0 + by_x, x.1 + by_x), (y.0 + by_y, y.1 + by_y))
            };
            let [ahead, back] = [turned(1.0), turned(-1.0)];
            // If the source wraps around the Earth, the box must begin in it.
            let fits = |(x, y): ((f64, f64), (f64, f64))| meets(x, y) && !(wraps && x.0 < -HAIR);
            if !fits((x, y)) {
                if fits(ahead) {
                    (x, y) = ahead;
                } else if fits(back) {
                    (x, y) = back;
                }
            }
        }
        if !meets(x, y) {
            return None;
        }
        // A discontinuous pixel is far larger than its neighbours.
        let (mx, my) = self.margin;
        let end = if wraps { 2.0 * width } else { width };
        if !(x.0 >= -mx && x.1 - end <= mx && y.0 >= -my && y.1 - height <= my) {
            return None;
        }
        let columns = whole(x, source.0, wraps);
        let rows = whole(y, source.1, false);
        Some(Footprint { low: (x.0, y.0), high: (x.1, y.1), columns, rows })
    }

    pub(super) fn make<S: Sample>(
        &self,
        sampling: WarpSampling,
        sheet: &Sheet<'_, S>,
        scratch: &mut Scratch,
        made: &mut Made,
    ) {
        made.chosen = sampling.selects();
        match sampling {
            WarpSampling::Average => return self.means(sheet, made, |v| v, |mean| mean),
            WarpSampling::Rms => return self.means(sheet, made, |v| v * v, f64::sqrt),
            _ => {}
        }
        for i in 0..self.len {
            let (mut value, mut bits) = (None, None);
            if let Some([one, other, right, low]) = self.corners(i) {
                if sampling == WarpSampling::Sum {
                    value = self.sum(sheet, [one, right, other, low]);
                } else if let Some(under) = self.footprint(one, other, sheet.source) {
                    match sampling {
                        WarpSampling::Mode => bits = under.mode(sheet, scratch),
                        WarpSampling::Min => bits = under.least(sheet, |key| key),
                        WarpSampling::Max => bits = under.least(sheet, |key| !key),
                        WarpSampling::Q1 => bits = under.rank(sheet, scratch, 1),
                        WarpSampling::Q3 => bits = under.rank(sheet, scratch, 3),
                        _ => bits = under.rank(sheet, scratch, 2),
                    }
                }
            }
            if let Some(((to, to_bits), found)) =
                made.values.get_mut(i).zip(made.bits.get_mut(i)).zip(made.found.get_mut(i))
            {
                *found = value.is_some() || bits.is_some();
                *to = value.unwrap_or(0.0);
                *to_bits = bits.unwrap_or(0);
            }
        }
    }

    /// Averages `of` the samples, and stores `end` of the means.
    fn means<S: Sample>(
        &self,
        sheet: &Sheet<'_, S>,
        made: &mut Made,
        of: impl Fn(f64) -> f64,
        end: impl Fn(f64) -> f64,
    ) {
        // Footprints at the edges and around the Earth take the general path.
        let packed = sheet.packed().filter(|_| self.window.map.parts().turn.is_none());
        let (low, high) =
            ((number(sheet.left), number(sheet.top)), (number(sheet.right - 1), number(sheet.bottom - 1)));
        let [one, other, ..] = &self.places;
        let places = one.x.iter().zip(&one.y).zip(other.x.iter().zip(&other.y));
        let to = made.values.iter_mut().zip(&mut made.found);
        for (i, (((x0, y0), (x1, y1)), (to, found))) in places.zip(to).enumerate().take(self.len) {
            let (x, y) = (sorted(*x0, *x1), sorted(*y0, *y1));
            let inside = (x.0 >= low.0) & (y.0 >= low.1) & (x.1 <= high.0) & (y.1 <= high.1);
            let mean = match &packed {
                Some(packed) if inside => {
                    quick_mean(packed, x, y, &of).or_else(|| Footprint::inside(x, y).mean(sheet, &of))
                }
                _ => self
                    .corners(i)
                    .and_then(|[one, other, ..]| self.footprint(one, other, sheet.source)?.mean(sheet, &of)),
            };
            *found = mean.is_some();
            *to = mean.map_or(0.0, &end);
        }
    }

    /// Returns the sum of samples, weighted by the fraction of each that the pixel covers.
    fn sum<S: Sample>(&self, sheet: &Sheet<'_, S>, corners: [(f64, f64); 4]) -> Option<f64> {
        let low = corners.iter().fold(corners[0], |low, p| (low.0.min(p.0), low.1.min(p.1)));
        let high = corners.iter().fold(corners[0], |high, p| (high.0.max(p.0), high.1.max(p.1)));
        if corners.iter().any(|(x, y)| x.is_nan() || y.is_nan()) {
            return None;
        }
        let under = self.footprint(low, high, sheet.source)?;
        // The box may have been shifted by a turn.
        let (by_x, by_y) = (under.low.0 - low.0, under.low.1 - low.1);
        let quad = Quad::new(corners.map(|(x, y)| (x + by_x, y + by_y)));
        let (mut sum, mut found) = (0.0, false);
        under.rows(sheet, |row, columns| {
            let strip = quad.row(number(row));
            let mut part = 0.0;
            for (at, column) in columns {
                let area = strip.area(number(at));
                if area > 0.0
                    && let Some(sample) = sheet.sample(column, row)
                {
                    part += sample.value() * area;
                    found = true;
                }
            }
            sum += part;
        });
        found.then_some(sum)
    }
}

/// Returns the first pixel of a range and the one after the last; the range may continue past the side if it wraps.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "from 0 to twice the side")]
fn whole((low, high): (f64, f64), side: i64, wraps: bool) -> (i64, i64) {
    let (low, high) = (low + HAIR, high - HAIR);
    // A conversion truncates towards 0 and, unlike `floor` and `ceil`, is not a call.
    let first = if low > 0.0 { low as i64 } else { 0 };
    let most = if wraps { first + side } else { side };
    let cut = high as i64;
    let end = if high <= (most - 1) as f64 { cut + i64::from(high > cut as f64) } else { most };
    (first, if first == end && end < side { end + 1 } else { end })
}

#[inline(always)]
fn sorted(a: f64, b: f64) -> (f64, f64) {
    if a > b { (b, a) } else { (a, b) }
}

#[inline(always)]
#[allow(clippy::cast_precision_loss, reason = "at most 2³³")]
fn number(column: i64) -> f64 {
    column as f64
}

/// Returns the fraction of a pixel inside a range.
#[inline(always)]
fn part(at: i64, (first, end): (i64, i64), low: f64, high: f64) -> f64 {
    if at == first {
        if first + 1 == end { 1.0 } else { 1.0 - (low - number(first)) }
    } else if at + 1 == end {
        1.0 - (number(end) - high)
    } else {
        1.0
    }
}

/// Returns the mean of two by two valid samples, under a box as in `Footprint::inside`; `None` if the general path is
/// needed.
#[inline(always)]
fn quick_mean<S: Sample>(
    packed: &Packed<'_, S>,
    x: (f64, f64),
    y: (f64, f64),
    of: impl Fn(f64) -> f64,
) -> Option<f64> {
    let (column, row) = (Whole::of(x.0 + HAIR), Whole::of(y.0 + HAIR));
    let end = |place: f64| {
        let cut = Whole::of(place).number;
        if place > cut { cut + 1.0 } else { cut }
    };
    let (right, bottom) = (end((x.1 - HAIR).max(0.0)), end((y.1 - HAIR).max(0.0)));
    if (right - column.number != 2.0) | (bottom - row.number != 2.0) {
        return None;
    }
    let ([a, b], [c, d]) = (packed.two(column.index, row.index)?, packed.two(column.index, row.index + 1)?);
    let missing = packed.is_nodata(a) | packed.is_nodata(b) | packed.is_nodata(c) | packed.is_nodata(d);
    // The same as `part`.
    let (first, last) = (1.0 - (x.0 - column.number), 1.0 - (right - x.1));
    let (upper, lower) = (1.0 - (y.0 - row.number), 1.0 - (bottom - y.1));
    // Sums begin at 0, as in `mean`: -0 becomes 0.
    let line = |a: S, b: S| 0.0 + of(a.value()) * first + of(b.value()) * last;
    let sum = 0.0 + line(a, b) * upper + line(c, d) * lower;
    let width = 0.0 + first + last;
    let weight = 0.0 + width * upper + width * lower;
    let mean = sum / weight;
    // A NaN sample has made the mean NaN.
    (!(missing | mean.is_nan()) & (weight > 0.0)).then_some(mean)
}

impl Footprint {
    /// Calls `each` for every row of the sheet, with its columns: their positions and their indices in the source.
    fn rows<S: Sample>(
        &self,
        sheet: &Sheet<'_, S>,
        mut each: impl FnMut(i64, &mut dyn Iterator<Item = (i64, i64)>),
    ) {
        for row in self.rows.0.max(sheet.top)..self.rows.1.min(sheet.bottom) {
            let width = sheet.source.0;
            let columns = self.columns.0..self.columns.1;
            each(row, &mut columns.map(|at| (at, if at >= width { at - width } else { at })));
        }
    }

    /// Returns the samples under a box that lies in the source and ends at least one pixel before its end, like
    /// `whole`.
    #[inline(always)]
    fn inside(x: (f64, f64), y: (f64, f64)) -> Self {
        let range = |(low, high): (f64, f64)| {
            let (first, last) = (Whole::of(low + HAIR), (high - HAIR).max(0.0));
            let cut = Whole::of(last);
            let end = cut.index + i64::from(last > cut.number);
            (first.index, if end == first.index { end + 1 } else { end })
        };
        Self { low: (x.0, y.0), high: (x.1, y.1), columns: range(x), rows: range(y) }
    }

    /// Returns the mean of `of` the samples, weighted by the covered fraction of each.
    fn mean<S: Sample>(&self, sheet: &Sheet<'_, S>, of: impl Fn(f64) -> f64) -> Option<f64> {
        let (mut sum, mut weight) = (0.0, 0.0);
        let has_all = self.columns.0 >= sheet.left && self.columns.1 <= sheet.right;
        if let Some(packed) = sheet.packed().filter(|_| has_all) {
            let wide = |at: i64| part(at, self.columns, self.low.0, self.high.0);
            let (first, last) = (wide(self.columns.0), wide(self.columns.1 - 1));
            let count = usize::try_from(self.columns.1 - self.columns.0).unwrap_or(0);
            for row in self.rows.0.max(sheet.top)..self.rows.1.min(sheet.bottom) {
                let high = part(row, self.rows, self.low.1, self.high.1);
                let (mut row_sum, mut row_weight) = (0.0, 0.0);
                let mut add = |bytes: &[u8], wide: f64| {
                    let sample = S::of(bytes);
                    if packed.counts(sample) {
                        row_sum += of(sample.value()) * wide;
                        row_weight += wide;
                    }
                };
                let bytes = packed.bytes(self.columns.0, row, count)?;
                let (one, rest) = bytes.split_at_checked(size_of::<S>())?;
                add(one, first);
                if let Some((middle, end)) = rest.split_at_checked(rest.len().saturating_sub(size_of::<S>()))
                    && !end.is_empty()
                {
                    middle.chunks_exact(size_of::<S>()).for_each(|bytes| add(bytes, 1.0));
                    add(end, last);
                }
                sum += row_sum * high;
                weight += row_weight * high;
            }
            return (weight > 0.0).then(|| sum / weight);
        }
        for row in self.rows.0.max(sheet.top)..self.rows.1.min(sheet.bottom) {
            let high = part(row, self.rows, self.low.1, self.high.1);
            let (mut row_sum, mut row_weight) = (0.0, 0.0);
            for at in self.columns.0..self.columns.1 {
                let column = if at >= sheet.source.0 { at - sheet.source.0 } else { at };
                if let Some(sample) = sheet.sample(column, row) {
                    let wide = part(at, self.columns, self.low.0, self.high.0);
                    row_sum += of(sample.value()) * wide;
                    row_weight += wide;
                }
            }
            sum += row_sum * high;
            weight += row_weight * high;
        }
        (weight > 0.0).then(|| sum / weight)
    }

    /// Calls `each` with every valid sample, in order.
    fn each<S: Sample>(&self, sheet: &Sheet<'_, S>, mut each: impl FnMut(S, i64, i64)) {
        for row in self.rows.0.max(sheet.top)..self.rows.1.min(sheet.bottom) {
            for at in self.columns.0..self.columns.1 {
                let column = if at >= sheet.source.0 { at - sheet.source.0 } else { at };
                if let Some(sample) = sheet.sample(column, row) {
                    each(sample, at, row);
                }
            }
        }
    }

    /// Returns the sample with the least key after applying `order`.
    fn least<S: Sample>(&self, sheet: &Sheet<'_, S>, order: impl Fn(u64) -> u64) -> Option<u64> {
        let mut least = None;
        self.each(sheet, |sample, _, _| {
            let key = sample.key();
            if least.is_none_or(|least| order(key) < order(least)) {
                least = Some(key);
            }
        });
        least.map(|key| S::of_key(key).bits())
    }

    /// Returns the quartile: the sample at a number of quarters of the sorted samples.
    fn rank<S: Sample>(&self, sheet: &Sheet<'_, S>, scratch: &mut Scratch, quarters: u64) -> Option<u64> {
        let keys = &mut scratch.keys;
        keys.clear();
        let mut count = 0_u64;
        self.each(sheet, |sample, _, _| {
            count += 1;
            if keys.len() < KEPT {
                keys.push(sample.key());
            }
        });
        let at = rank::place(count, quarters)?;
        let key = if keys.len() as u64 == count {
            let at = usize::try_from(at).ok()?;
            *keys.select_nth_unstable(at).1
        } else {
            rank::search(at, |key| {
                let mut below = 0;
                self.each(sheet, |sample, _, _| below += u64::from(sample.key() < key));
                below
            })
        };
        Some(S::of_key(key).bits())
    }

    /// Returns the sample value that covers most: see `warp.md`.
    fn mode<S: Sample>(&self, sheet: &Sheet<'_, S>, scratch: &mut Scratch) -> Option<u64> {
        let counts = &mut scratch.counts;
        counts.clear();
        let mut most: Option<(u64, f32)> = None;
        self.each(sheet, |sample, column, row| {
            let key = sample.key();
            let weight = part(row, self.rows, self.low.1, self.high.1)
                * part(column, self.columns, self.low.0, self.high.0);
            #[expect(clippy::cast_possible_truncation, reason = "rounded to the nearest float, as in GDAL")]
            let weight = weight as f32;
            let old = counts.get(&key).copied();
            let count = old.map_or(weight, |old| old + weight);
            counts.insert(key, count);
            let wins =
                most.is_none_or(|(of, most)| of == key || ((S::SHORT || old.is_some()) && count > most));
            if wins {
                most = Some((key, count));
            }
        });
        most.map(|(key, _)| S::of_key(key).bits())
    }
}

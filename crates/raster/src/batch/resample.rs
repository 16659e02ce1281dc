//! Windows made another size, on the host, after they were decoded at the size they have.
//!
//! The centre of result pixel (i, j) lies at left + (i + ½)·width/columns, top + (j + ½)·height/rows of its patch, in pixels
//! of the image from their outer corners. Only pixels of the image that are neither nodata nor NaN count, by weights that are
//! divided by their sum; where none counts the result is the fill value. Sums are of `f64`; integers are rounded to the
//! nearest, halves away from zero, within the range of their type. A mean that happens to be the nodata value becomes its
//! neighbour: valid pixels never turn into nodata.

use super::options::Sampling;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use strile_engine::{Context, Fill, OutputSpec};
use strile_tiff::DataType;

/// How one window is made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Patch {
    /// Left, top, width and height of what is wanted, in pixels from the first one that was decoded.
    pub(super) exact: [f64; 4],
    /// Columns and rows that were decoded: all there are of the image around it, none where it lies outside.
    pub(super) size: (u32, u32),
    /// The sample that does not count.
    pub(super) nodata: Option<Fill>,
    /// What becomes of pixels that nothing counts for.
    pub(super) fill: Fill,
}

/// The windows of `pixels`, which has the shape `from`, resampled to the shape `to`; `None` where that was stopped.
pub(super) fn resample(
    pixels: &[u8],
    from: &OutputSpec,
    to: &OutputSpec,
    (patches, sampling): (&[Patch], Sampling),
    context: &Context,
) -> Option<Vec<u8>> {
    let mut out = vec![0; to.len().ok()?];
    let bands = (to.bands as usize).checked_div(patches.len())?;
    let (read, write) = (from.strides.band, to.strides.band);
    if read == 0 || write == 0 {
        return Some(out);
    }
    let planes = Mutex::new(pixels.chunks(read).zip(out.chunks_mut(write)).enumerate());
    let stopped = AtomicBool::new(false);
    let work = || loop {
        let next = planes.lock().unwrap_or_else(PoisonError::into_inner).next();
        let Some((plane, (source, target))) = next else { return };
        if context.cancel.is_cancelled() {
            stopped.store(true, Ordering::Relaxed);
            return;
        }
        let Some(patch) = patches.get(plane / bands.max(1)) else { return };
        let plane = Plane { source, row: from.strides.row, patch, columns: to.columns, rows: to.rows };
        plane.make(target, to.data_type, sampling);
    };
    std::thread::scope(|scope| {
        for _ in 1..context.threads.get().min(patches.len()) {
            scope.spawn(work);
        }
        work();
    });
    (!stopped.into_inner()).then_some(out)
}

/// One band of one window.
struct Plane<'a> {
    source: &'a [u8],
    /// Bytes of a row.
    row: usize,
    patch: &'a Patch,
    columns: u32,
    rows: u32,
}

/// Pixels along an axis that a result pixel is made of, from the first on, with their weights.
struct Taps {
    first: usize,
    weights: Vec<f64>,
}

impl Plane<'_> {
    fn make(&self, target: &mut [u8], data_type: DataType, sampling: Sampling) {
        let [left, top, width, height] = self.patch.exact;
        let across = taps(left, width, (self.columns, self.patch.size.0), sampling);
        let down = taps(top, height, (self.rows, self.patch.size.1), sampling);
        let size = data_type.size();
        let fill = self.patch.fill.0.get(..size).unwrap_or_default();
        if sampling == Sampling::Nearest {
            for (out, row) in target.chunks_mut(size * across.len()).zip(&down) {
                for (pixel, column) in out.chunks_mut(size).zip(&across) {
                    pixel.copy_from_slice(self.nearest(row, column, size).unwrap_or(fill));
                }
            }
            return;
        }
        match data_type {
            DataType::U8 => self.mean::<u8>(target, (&down, &across), fill),
            DataType::I8 => self.mean::<i8>(target, (&down, &across), fill),
            DataType::U16 => self.mean::<u16>(target, (&down, &across), fill),
            DataType::I16 => self.mean::<i16>(target, (&down, &across), fill),
            DataType::U32 => self.mean::<u32>(target, (&down, &across), fill),
            DataType::I32 => self.mean::<i32>(target, (&down, &across), fill),
            DataType::U64 => self.mean::<u64>(target, (&down, &across), fill),
            DataType::I64 => self.mean::<i64>(target, (&down, &across), fill),
            DataType::F16 => self.mean::<Half>(target, (&down, &across), fill),
            DataType::F32 => self.mean::<f32>(target, (&down, &across), fill),
            DataType::F64 => self.mean::<f64>(target, (&down, &across), fill),
            // Refused before anything is read.
            DataType::C64 | DataType::C128 => {}
        }
    }

    fn nearest(&self, row: &Taps, column: &Taps, size: usize) -> Option<&[u8]> {
        row.weights.first().and(column.weights.first())?;
        let at = row.first.checked_mul(self.row)?.checked_add(column.first.checked_mul(size)?)?;
        self.source.get(at..at.checked_add(size)?)
    }

    fn mean<T: Sample>(&self, target: &mut [u8], (down, across): (&[Taps], &[Taps]), fill: &[u8]) {
        let nodata = self.patch.nodata.and_then(|Fill(bytes)| T::read(&bytes));
        for (out, row) in target.chunks_mut(T::SIZE * across.len()).zip(down) {
            for (pixel, column) in out.chunks_mut(T::SIZE).zip(across) {
                let (mut sum, mut weights) = (0.0, 0.0);
                for (y, high) in (row.first..).zip(&row.weights) {
                    let line = self.source.get(y * self.row..).unwrap_or_default();
                    let samples = line.chunks_exact(T::SIZE).skip(column.first);
                    for (bytes, wide) in samples.zip(&column.weights) {
                        let Some(value) = T::read(bytes) else { continue };
                        if !value.is_nan() && nodata != Some(value) {
                            sum += value * (high * wide);
                            weights += high * wide;
                        }
                    }
                }
                match weights > 0.0 {
                    true => T::write(sum / weights, nodata, pixel),
                    false => pixel.copy_from_slice(fill),
                }
            }
        }
    }
}

/// The taps of `count` result pixels over `len` from `start`, in an axis of `size` pixels.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a pixel of the axis, checked before"
)]
fn taps(start: f64, len: f64, (count, size): (u32, u32), sampling: Sampling) -> Vec<Taps> {
    let none = || Taps { first: 0, weights: Vec::new() };
    let size = f64::from(size);
    // Multiplied first: where a result pixel begins at a pixel, it does so exactly.
    let place = |index: f64| start + index * len / f64::from(count.max(1));
    let one = |index: u32| {
        let index = f64::from(index);
        let (low, centre, high) = (place(index), place(index + 0.5), place(index + 1.0));
        if !(0.0..size).contains(&centre) {
            return none();
        }
        match sampling {
            Sampling::Nearest => Taps { first: centre.floor() as usize, weights: vec![1.0] },
            Sampling::Bilinear => {
                // Between the centres of two pixels; beyond the outermost there is one.
                let (before, part) = ((centre - 0.5).floor(), (centre - 0.5) - (centre - 0.5).floor());
                match (before < 0.0, before + 1.0 >= size) {
                    (true, _) => Taps { first: 0, weights: vec![1.0] },
                    (false, true) => Taps { first: before as usize, weights: vec![1.0] },
                    (false, false) => Taps { first: before as usize, weights: vec![1.0 - part, part] },
                }
            }
            Sampling::Average => {
                let (low, high) = (low.max(0.0), high.min(size));
                let (first, end) = (low.floor(), high.ceil().max(low.floor() + 1.0).min(size));
                let weight = |at: f64| (high.min(at + 1.0) - low.max(at)).max(0.0);
                let weights: Vec<f64> = (first as u32..end as u32).map(|at| weight(f64::from(at))).collect();
                Taps { first: first as usize, weights }
            }
        }
    };
    (0..count).map(one).collect()
}

/// A type that means are made of and in.
trait Sample {
    const SIZE: usize;
    fn read(bytes: &[u8]) -> Option<f64>;
    /// Writes a value that is not nodata.
    fn write(value: f64, nodata: Option<f64>, into: &mut [u8]);
}

macro_rules! integers {
    ($($t:ty)+) => {$(
        impl Sample for $t {
            const SIZE: usize = size_of::<$t>();

            #[allow(clippy::cast_lossless, clippy::cast_precision_loss, reason = "of 64 bits the nearest one")]
            fn read(bytes: &[u8]) -> Option<f64> {
                Some(<$t>::from_ne_bytes(*bytes.first_chunk()?) as f64)
            }

            #[expect(clippy::cast_possible_truncation, reason = "the end of the range is wanted")]
            #[allow(
                clippy::cast_sign_loss,
                clippy::cast_lossless,
                clippy::cast_precision_loss,
                reason = "of some of the types: the end of the range, or the nearest value, is wanted"
            )]
            fn write(value: f64, nodata: Option<f64>, into: &mut [u8]) {
                let mut sample = value.round() as $t;
                if nodata == Some(sample as f64) {
                    sample = sample.checked_add(1).unwrap_or_else(|| sample - 1);
                }
                into.copy_from_slice(&sample.to_ne_bytes());
            }
        }
    )+};
}

integers!(u8 u16 u32 u64 i8 i16 i32 i64);

impl Sample for f32 {
    const SIZE: usize = 4;

    fn read(bytes: &[u8]) -> Option<f64> {
        Some(Self::from_ne_bytes(*bytes.first_chunk()?).into())
    }

    #[expect(clippy::cast_possible_truncation, reason = "rounding is what is wanted")]
    fn write(value: f64, nodata: Option<f64>, into: &mut [u8]) {
        let mut sample = value as Self;
        if nodata == Some(sample.into()) {
            sample = if sample == Self::MAX { sample.next_down() } else { sample.next_up() };
        }
        into.copy_from_slice(&sample.to_ne_bytes());
    }
}

impl Sample for f64 {
    const SIZE: usize = 8;

    fn read(bytes: &[u8]) -> Option<f64> {
        Some(Self::from_ne_bytes(*bytes.first_chunk()?))
    }

    fn write(value: f64, nodata: Option<f64>, into: &mut [u8]) {
        let next = if value == Self::MAX { value.next_down() } else { value.next_up() };
        let sample = if nodata == Some(value) { next } else { value };
        into.copy_from_slice(&sample.to_ne_bytes());
    }
}

/// IEEE binary16.
struct Half;

impl Sample for Half {
    const SIZE: usize = 2;

    fn read(bytes: &[u8]) -> Option<f64> {
        let mut sample = [0; 16];
        sample.get_mut(..2)?.copy_from_slice(bytes.get(..2)?);
        strile_engine::Convert::value_of(DataType::F16, &Fill(sample))
    }

    fn write(value: f64, nodata: Option<f64>, into: &mut [u8]) {
        use strile_tiff::gdal::NoData;
        // The nearest half: `to_sample` takes those that are one, so the value is rounded to 11 bits first.
        let nearest = round_to_half(value);
        let value = if nodata == Some(nearest) {
            round_to_half(nearest + nearest.abs().max(1e-3) * 1e-3)
        } else {
            nearest
        };
        let sample = NoData::Float(value).to_sample(DataType::F16).unwrap_or_default();
        if let Some(bytes) = sample.get(..2) {
            into.copy_from_slice(bytes);
        }
    }
}

/// A value rounded to what a half holds: 11 bits, and no finer than 2^-24.
fn round_to_half(value: f64) -> f64 {
    if !value.is_finite() || value == 0.0 {
        return value;
    }
    let exponent = value.abs().log2().floor().max(-14.0);
    let unit = (exponent - 10.0).exp2();
    let rounded = (value / unit).round_ties_even() * unit;
    if rounded.abs() > 65_504.0 { f64::INFINITY.copysign(value) } else { rounded }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(pixels: &[u8], size: (u32, u32), exact: [f64; 4], to: (u32, u32), sampling: Sampling) -> Vec<u8> {
        let from = OutputSpec::band_first(DataType::U8, 1, size.1.max(1), size.0.max(1)).unwrap();
        let result = OutputSpec::band_first(DataType::U8, 1, to.1, to.0).unwrap();
        let (mut nodata, mut fill) = (Fill::default(), Fill::default());
        (nodata.0[0], fill.0[0]) = (200, 99);
        let patch = Patch { exact, size, nodata: Some(nodata), fill };
        resample(pixels, &from, &result, (&[patch], sampling), &Context::default()).unwrap()
    }

    #[test]
    fn the_same_size_changes_nothing() {
        let pixels: Vec<u8> = (0..12).collect();
        for sampling in [Sampling::Nearest, Sampling::Bilinear, Sampling::Average] {
            assert_eq!(made(&pixels, (4, 3), [0.0, 0.0, 4.0, 3.0], (4, 3), sampling), pixels, "{sampling:?}");
        }
    }

    #[test]
    fn halves_and_doubles_as_worked_out_by_hand() {
        let pixels = [10, 20, 30, 40];
        let wide = [0.0, 0.0, 4.0, 1.0];
        assert_eq!(made(&pixels, (4, 1), wide, (2, 1), Sampling::Average), [15, 35]);
        assert_eq!(made(&pixels, (4, 1), wide, (2, 1), Sampling::Nearest), [20, 40]);
        // Centres at 1 and 3: half of either neighbour.
        assert_eq!(made(&pixels, (4, 1), wide, (2, 1), Sampling::Bilinear), [15, 35]);
        // Centres at 0.25, 0.75, 1.25 …: a quarter of the way between neighbours, the ends as they are.
        assert_eq!(
            made(&[10, 20], (2, 1), [0.0, 0.0, 2.0, 1.0], (4, 1), Sampling::Bilinear),
            [10, 13, 18, 20]
        );
        // A third of 10, a whole 20, two thirds of 30, over two pixels.
        let part = [2.0 / 3.0, 0.0, 2.0, 1.0];
        assert_eq!(made(&pixels, (4, 1), part, (1, 1), Sampling::Average), [22]);
    }

    #[test]
    fn nodata_and_what_is_outside_do_not_count() {
        let pixels = [10, 200, 200, 200];
        let wide = [0.0, 0.0, 4.0, 1.0];
        assert_eq!(made(&pixels, (4, 1), wide, (2, 1), Sampling::Average), [10, 99]);
        assert_eq!(made(&pixels, (4, 1), wide, (2, 1), Sampling::Nearest), [200, 200]);
        assert_eq!(made(&pixels, (4, 1), [-4.0, 0.0, 8.0, 1.0], (4, 1), Sampling::Average), [99, 99, 10, 99]);
        assert_eq!(made(&[7], (0, 0), wide, (2, 2), Sampling::Bilinear), [99; 4]);
        // 199 and 201 mean 200, which is nodata.
        assert_eq!(made(&[199, 201], (2, 1), [0.0, 0.0, 2.0, 1.0], (1, 1), Sampling::Average), [201]);
    }

    #[test]
    fn halves_are_rounded_to_what_they_hold() {
        for value in [0.0, 1.0, -2.5, 65_504.0, 5.960_464_477_539_063e-8, 0.333_251_953_125] {
            assert_eq!(round_to_half(value), value);
        }
        assert_eq!(round_to_half(1.0 / 3.0), 0.333_251_953_125);
        assert_eq!(round_to_half(1e9), f64::INFINITY);
    }
}

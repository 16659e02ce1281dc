//! Pixels of a source put onto a grid, on the host: nearest neighbour and bilinear, as GDAL's warper has them where the
//! grid is not coarser than the source.
//!
//! A pixel of the grid has a value where its centre lies in a pixel of the source that has one. Bilinear values weigh the four samples around
//! the place; samples beyond the edge or without a value are left out and the other weights make up for them. Each
//! product and each sum is rounded to f64, in a fixed order.

use strile_tiff::InvalidValue;

use super::map::CoordinateMap;
use crate::window::Window;

/// How the value of a pixel is made from samples of the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum WarpKernel {
    /// The sample whose pixel holds the place.
    #[default]
    Nearest,
    /// The four samples around the place, by their distances.
    Bilinear,
}

/// A type of samples that can be warped.
pub trait WarpSample: Copy + PartialEq {
    /// The sample as a number.
    fn to_f64(self) -> f64;
    /// The nearest sample to a number; integers round halves up and stop at their limits.
    fn from_f64(value: f64) -> Self;
}

macro_rules! integers {
    ($($rust:ty),*) => {$(
        impl WarpSample for $rust {
            fn to_f64(self) -> f64 {
                self as f64
            }

            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` stops at the limits")]
            fn from_f64(value: f64) -> Self {
                (value + 0.5).floor() as Self
            }
        }
    )*};
}

integers!(u8, i8, u16, i16, u32, i32, u64, i64);

impl WarpSample for f32 {
    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    #[expect(clippy::cast_possible_truncation, reason = "rounded to the nearest float")]
    fn from_f64(value: f64) -> Self {
        value as Self
    }
}

impl WarpSample for f64 {
    fn to_f64(self) -> f64 {
        self
    }

    fn from_f64(value: f64) -> Self {
        value
    }
}

/// Samples of one band of a source raster, row by row.
#[derive(Debug, Clone, Copy)]
pub struct SourceSamples<'a, T> {
    /// The samples of the window.
    pub samples: &'a [T],
    /// Where they lie in the source; see [`CoordinateMap::source_window`].
    pub window: Window,
    /// The value that stands for a missing sample; NaN stands for every NaN.
    pub nodata: Option<T>,
}

/// Fills `out`, row by row, with the values of a window of the grid; pixels without a value become `fill`.
///
/// # Errors
/// If a slice has another length than its window, the window reaches out of the grid, or a sample that is needed lies
/// outside the samples that are given.
pub fn warp<T: WarpSample>(
    map: &CoordinateMap,
    source: &SourceSamples<'_, T>,
    kernel: WarpKernel,
    window: Window,
    fill: T,
    out: &mut [T],
) -> Result<(), InvalidValue> {
    let Window { column, row, width, height } = window;
    let count = |window: &Window| u64::from(window.width) * u64::from(window.height);
    let reaches_out = column.checked_add(width).is_none_or(|right| right > map.width())
        || row.checked_add(height).is_none_or(|bottom| bottom > map.height());
    if reaches_out {
        return Err(
            format!("window {window:?} lies outside the grid of {} × {}", map.width(), map.height()).into()
        );
    }
    if u64::try_from(out.len()) != Ok(count(&window))
        || u64::try_from(source.samples.len()) != Ok(count(&source.window))
    {
        return Err(format!(
            "expected {} samples and room for {}, got {} and {}",
            count(&source.window),
            count(&window),
            source.samples.len(),
            out.len()
        )
        .into());
    }
    let reader = Reader { source, size: map.source_size() };
    let mut slots = out.iter_mut();
    for y in row..row + height {
        for x in column..column + width {
            let value = match (map.at(x, y), kernel) {
                (None, _) => None,
                (Some(place), WarpKernel::Nearest) => reader.nearest(place)?,
                (Some(place), WarpKernel::Bilinear) => reader.bilinear(place)?,
            };
            if let Some(slot) = slots.next() {
                *slot = value.unwrap_or(fill);
            }
        }
    }
    Ok(())
}

/// Least sum of weights that makes a value, as in GDAL.
const LEAST: f64 = 0.00001;

struct Reader<'a, T> {
    source: &'a SourceSamples<'a, T>,
    size: (u32, u32),
}

impl<T: WarpSample> Reader<'_, T> {
    /// The pixel that holds a place; `None` beside the source.
    fn pixel(&self, (x, y): (f64, f64)) -> Option<(i64, i64)> {
        // A place on the last edge belongs to the last pixel, and one a hair before an edge to the pixel behind it.
        let index = |v: f64, side: u32| {
            let side = f64::from(side);
            if !(v >= 0.0 && v <= side) {
                return None;
            }
            let whole = (v + 1e-10).floor().min(side - 1.0);
            #[expect(clippy::cast_possible_truncation, reason = "0 to 2³²")]
            Some(whole as i64)
        };
        Some((index(x, self.size.0)?, index(y, self.size.1)?))
    }

    /// The sample of a pixel; `None` outside the source and where it is missing.
    fn sample(&self, column: i64, row: i64) -> Result<Option<T>, InvalidValue> {
        if column < 0 || row < 0 || column >= i64::from(self.size.0) || row >= i64::from(self.size.1) {
            return Ok(None);
        }
        let Window { column: left, row: top, width, height } = self.source.window;
        let (x, y) = (column - i64::from(left), row - i64::from(top));
        let inside = (0..i64::from(width)).contains(&x) && (0..i64::from(height)).contains(&y);
        let at = usize::try_from(y * i64::from(width) + x).ok().filter(|_| inside);
        let sample = at.and_then(|at| self.source.samples.get(at)).copied();
        let Some(sample) = sample else {
            return Err(
                format!("the sample at column {column}, row {row} is needed and not in the window").into()
            );
        };
        let is_nan = |v: T| v.to_f64().is_nan();
        let missing =
            self.source.nodata.is_some_and(|nodata| sample == nodata || (is_nan(nodata) && is_nan(sample)));
        Ok((!missing).then_some(sample))
    }

    fn nearest(&self, place: (f64, f64)) -> Result<Option<T>, InvalidValue> {
        match self.pixel(place) {
            Some((column, row)) => self.sample(column, row),
            None => Ok(None),
        }
    }

    fn bilinear(&self, (x, y): (f64, f64)) -> Result<Option<T>, InvalidValue> {
        if self.nearest((x, y))?.is_none() {
            return Ok(None);
        }
        let (left, top) = ((x - 0.5).floor(), (y - 0.5).floor());
        let (u, v) = (1.5 - (x - left), 1.5 - (y - top));
        #[expect(clippy::cast_possible_truncation, reason = "-1 to 2³²")]
        let (column, row) = (left as i64, top as i64);
        let four = [
            self.sample(column, row)?,
            self.sample(column + 1, row)?,
            self.sample(column, row + 1)?,
            self.sample(column + 1, row + 1)?,
        ];
        if let [Some(a), Some(b), Some(c), Some(d)] = four.map(|sample| sample.map(T::to_f64)) {
            let upper = a * u + b * (1.0 - u);
            let lower = c * u + d * (1.0 - u);
            return Ok(Some(T::from_f64(upper * v + lower * (1.0 - v))));
        }
        let weights = [u * v, (1.0 - u) * v, u * (1.0 - v), (1.0 - u) * (1.0 - v)];
        let (mut sum, mut weight) = (0.0, 0.0);
        for (sample, own) in four.into_iter().zip(weights) {
            if let Some(sample) = sample {
                sum += sample.to_f64() * own;
                weight += own;
            }
        }
        Ok((weight >= LEAST).then(|| T::from_f64(sum / weight)))
    }
}

//! The pixels of an axis that contribute to a resampled pixel, and their weights.
//!
//! Pixel *i* of *n* lies from place(*i*) to place(*i* + 1), where place(*t*) = start + *t* · length / *n*, in pixels of
//! the input. A pixel of which less than half lies in the image has no taps. The weights are those of GDAL: filters are
//! stretched where the image shrinks, so that every pixel contributes, and taps outside the image are left out.

use std::ops::Range;

/// Resampling methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Method {
    /// The unchanged pixel under the centre.
    #[default]
    Nearest,
    /// A triangle filter.
    Bilinear,
    /// Cubic convolution (Keys, a = −½).
    Cubic,
    /// A cubic B-spline.
    CubicSpline,
    /// A windowed sinc of three lobes.
    Lanczos,
    /// The mean of the pixels underneath, weighted by area.
    Average,
    /// The root of the mean of the squares, weighted by area.
    Rms,
    /// The value that covers most of the area; on ties, the first to reach that area.
    Mode,
}

impl Method {
    /// Every method.
    pub const ALL: [Self; 8] = [
        Self::Nearest,
        Self::Bilinear,
        Self::Cubic,
        Self::CubicSpline,
        Self::Lanczos,
        Self::Average,
        Self::Rms,
        Self::Mode,
    ];

    /// Returns GDAL's name, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nearest => "nearest",
            Self::Bilinear => "bilinear",
            Self::Cubic => "cubic",
            Self::CubicSpline => "cubicspline",
            Self::Lanczos => "lanczos",
            Self::Average => "average",
            Self::Rms => "rms",
            Self::Mode => "mode",
        }
    }

    /// Returns the method with a name, in any case; `near` is `nearest`.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let name = if name == "near" { "nearest" } else { &name };
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// Returns whether the method yields only values of the input, which indices need.
    pub(crate) const fn keeps_values(self) -> bool {
        matches!(self, Self::Nearest | Self::Mode)
    }

    /// Returns the pixels on each side of the centre if the image does not shrink; `None` for methods by area.
    const fn radius(self) -> Option<f64> {
        match self {
            Self::Bilinear => Some(1.0),
            Self::Cubic | Self::CubicSpline => Some(2.0),
            Self::Lanczos => Some(3.0),
            Self::Nearest | Self::Average | Self::Rms | Self::Mode => None,
        }
    }

    /// Returns whether the method is a filter.
    pub(super) const fn is_filter(self) -> bool {
        self.radius().is_some()
    }

    /// Returns whether some weights are negative: then results from scattered valid pixels are meaningless.
    pub(super) const fn has_negative_weights(self) -> bool {
        matches!(self, Self::Cubic | Self::Lanczos)
    }

    fn weight(self, x: f64) -> f64 {
        let x = x.abs();
        match self {
            Self::Bilinear => (1.0 - x).max(0.0),
            Self::Cubic if x <= 1.0 => (1.5 * x - 2.5) * x * x + 1.0,
            Self::Cubic if x <= 2.0 => ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0,
            Self::CubicSpline => {
                let cube = |x: f64| if x > 0.0 { x * x * x } else { 0.0 };
                (cube(x + 2.0) - 4.0 * cube(x + 1.0) + 6.0 * cube(x) - 4.0 * cube(x - 1.0)) / 6.0
            }
            Self::Lanczos if x == 0.0 => 1.0,
            Self::Lanczos if x < 3.0 => {
                let pi_x = std::f64::consts::PI * x;
                3.0 * pi_x.sin() * (pi_x / 3.0).sin() / (pi_x * pi_x)
            }
            _ => 0.0,
        }
    }
}

/// An axis of an image: the range of it that is used, and the number of pixels that it becomes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Span {
    pub(super) start: f64,
    pub(super) len: f64,
    /// Number of pixels of the result.
    pub(super) count: u32,
    /// Number of pixels of the image.
    pub(super) size: u32,
}

/// The taps of a pixel: `weights` of the pixels from `first`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Taps<'a> {
    pub(super) first: u32,
    pub(super) weights: &'a [f64],
}

impl Taps<'_> {
    pub(super) fn end(&self) -> u32 {
        self.first.saturating_add(u32::try_from(self.weights.len()).unwrap_or(u32::MAX))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }
}

/// The taps of some pixels of an axis, in order.
#[derive(Debug, Clone, Default)]
pub(super) struct Axis {
    /// First tap, and the index of its first weight.
    pixels: Vec<(u32, usize)>,
    weights: Vec<f64>,
}

/// Tolerance for rounding that would put a pixel's edge on the wrong side of a pixel of the image.
const EDGE: f64 = 1e-9;

impl Span {
    /// Returns the maximum number of taps per pixel.
    pub(super) fn most_taps(&self, method: Method) -> f64 {
        let ratio = self.len / f64::from(self.count.max(1));
        match method.radius() {
            Some(radius) => 2.0 * radius * ratio.max(1.0) + 2.0,
            None => ratio + 2.0,
        }
    }

    /// Returns the taps of the pixels of a range.
    pub(super) fn axis(&self, method: Method, range: Range<u32>) -> Axis {
        let mut axis = Axis::default();
        let ratio = self.len / f64::from(self.count.max(1));
        for index in range {
            axis.pixels.push((0, axis.weights.len()));
            let centre = self.start + (f64::from(index) + 0.5) * ratio;
            // A pixel that lies half inside counts as inside, as in GDAL.
            if !(centre >= -EDGE && centre <= f64::from(self.size) + EDGE) {
                continue;
            }
            let first = match (method, method.radius()) {
                (Method::Nearest, _) => {
                    axis.weights.push(1.0);
                    whole(centre + 1e-10).min(self.size.saturating_sub(1))
                }
                (_, Some(radius)) => self.filter(method, (centre, radius, ratio), &mut axis.weights),
                (_, None) => {
                    let low = self.start + f64::from(index) * ratio;
                    let high = self.start + (f64::from(index) + 1.0) * ratio;
                    self.area((low, high, centre), &mut axis.weights)
                }
            };
            if let Some(pixel) = axis.pixels.last_mut() {
                pixel.0 = first;
            }
        }
        axis
    }

    fn filter(&self, method: Method, (centre, radius, ratio): (f64, f64, f64), out: &mut Vec<f64>) -> u32 {
        let narrow = if ratio > 1.0 { 1.0 / ratio } else { 1.0 };
        let reach = radius / narrow;
        let first = whole((centre - reach + 0.5).floor().max(0.0));
        let end = whole(centre + reach + 0.5).min(self.size);
        let weight = |pixel: u32| method.weight(narrow * (f64::from(pixel) - centre + 0.5));
        out.extend((first..end.max(first)).map(weight));
        first
    }

    fn area(&self, (low, high, centre): (f64, f64, f64), out: &mut Vec<f64>) -> u32 {
        let (low, high) = (low.max(0.0), high.min(f64::from(self.size)));
        let first = whole((low + EDGE).floor()).min(self.size.saturating_sub(1));
        let end = whole((high - EDGE).ceil()).min(self.size);
        if end <= first {
            out.push(1.0);
            return whole(centre).min(self.size.saturating_sub(1));
        }
        let overlap = |pixel: u32| high.min(f64::from(pixel) + 1.0) - low.max(f64::from(pixel));
        out.extend((first..end).map(overlap));
        first
    }
}

impl Axis {
    pub(super) fn get(&self, index: usize) -> Taps<'_> {
        let Some(&(first, start)) = self.pixels.get(index) else { return Taps { first: 0, weights: &[] } };
        let end = self.pixels.get(index + 1).map_or(self.weights.len(), |&(_, next)| next);
        Taps { first, weights: self.weights.get(start..end).unwrap_or_default() }
    }

    pub(super) fn len(&self) -> usize {
        self.pixels.len()
    }

    /// Returns the taps of every pixel, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = Taps<'_>> {
        (0..self.len()).map(|index| self.get(index))
    }

    /// Returns the range of pixels of the image that contribute to any pixel.
    pub(super) fn under(&self) -> Range<u32> {
        let used = || self.iter().filter(|taps| !taps.is_empty());
        let first = used().map(|taps| taps.first).min().unwrap_or(0);
        first..used().map(|taps| taps.end()).max().unwrap_or(first)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates, which is inside no image"
)]
fn whole(v: f64) -> u32 {
    v as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taps(method: Method, span: Span, index: u32) -> (u32, Vec<f64>) {
        let axis = span.axis(method, 0..span.count);
        let taps = axis.get(index as usize);
        (taps.first, taps.weights.to_vec())
    }

    const HALF: Span = Span { start: 0.0, len: 8.0, count: 4, size: 8 };

    #[test]
    fn areas_weigh_what_they_cover() {
        assert_eq!(taps(Method::Average, HALF, 1), (2, vec![1.0, 1.0]));
        let thirds = Span { start: 0.0, len: 4.0, count: 3, size: 4 };
        let (first, weights) = taps(Method::Average, thirds, 1);
        assert_eq!((first, weights.len()), (1, 2));
        assert!(weights.iter().all(|weight| (weight - 2.0 / 3.0).abs() < 1e-12), "{weights:?}");
    }

    #[test]
    fn filters_are_stretched_where_the_image_shrinks() {
        let (first, weights) = taps(Method::Bilinear, HALF, 1);
        assert_eq!((first, weights), (1, vec![0.25, 0.75, 0.75, 0.25]));
        let (first, weights) = taps(Method::Cubic, HALF, 2);
        assert_eq!((first, weights.len()), (1, 7));
        assert_eq!(weights[..4], [-0.0234375, -0.0703125, 0.2265625, 0.8671875]);
    }

    #[test]
    fn pixels_outside_have_no_taps() {
        let outside = Span { start: -4.0, ..HALF };
        assert_eq!(taps(Method::Nearest, outside, 1), (0, vec![]));
        assert_eq!(taps(Method::Nearest, outside, 2), (1, vec![1.0]));
        assert_eq!(outside.axis(Method::Nearest, 0..4).under(), 1..4);
        let half = Span { start: 1.0, ..HALF };
        assert_eq!(taps(Method::Nearest, half, 3), (7, vec![1.0]));
    }
}

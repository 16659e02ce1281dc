//! Areas of a level, given by pixels or by coordinates.

use crate::error::{Error, Result};
use crate::file::dataset::Dataset;
use crate::options::Place;
use crate::window::Window;
use std::fmt;
use strile_tiff::geo::GeoTransform;

/// An area of a level. It may extend beyond the image on any side; pixels outside are filled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Area {
    /// These pixels of the level.
    Pixels {
        /// First column.
        column: i64,
        /// First row.
        row: i64,
        /// Columns.
        width: u32,
        /// Rows.
        height: u32,
    },
    /// A part of the level with fractional pixel limits: left, top, width, height. Exact if the batch is resampled,
    /// else the pixels it touches.
    Part([f64; 4]),
    /// The pixels that a box of coordinates touches: west, south, east, north. Exactly the box if the batch is
    /// resampled.
    Bounds([f64; 4]),
    /// Pixels around a place: the pixel that contains it is at column `width / 2` and row `height / 2` of the window.
    Point {
        /// First coordinate.
        x: f64,
        /// Second coordinate.
        y: f64,
        /// Columns.
        width: u32,
        /// Rows.
        height: u32,
    },
}

impl From<Window> for Area {
    fn from(window: Window) -> Self {
        let Window { column, row, width, height } = window;
        Self::Pixels { column: column.into(), row: row.into(), width, height }
    }
}

impl fmt::Display for Area {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pixels { column, row, width, height } => {
                write!(f, "{width} × {height} pixels from {column},{row}")
            }
            Self::Part([left, top, width, height]) => {
                write!(f, "{width} × {height} pixels from {left},{top}")
            }
            Self::Bounds([west, south, east, north]) => write!(f, "box {west},{south},{east},{north}"),
            Self::Point { x, y, width, height } => write!(f, "{width} × {height} pixels around {x},{y}"),
        }
    }
}

/// An area in pixels of its level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Frame {
    pub(crate) x: i64,
    pub(crate) y: i64,
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// Left, top, width and height as requested, not rounded to pixels.
    pub(crate) exact: [f64; 4],
}

/// No image has pixels beyond this, and doubles still count in halves.
const FAR: f64 = 1_099_511_627_776.0;
/// Tolerance in pixels: a box that ends this close to a pixel's edge ends at it, because coordinates are rounded.
const EDGE: f64 = 1e-6;

impl Frame {
    /// Returns the pixels of an area, in a level of a dataset.
    pub(crate) fn of(area: &Area, dataset: &Dataset, level: &Place) -> Result<Self> {
        Self::found(
            area,
            || dataset.stored_transform(&level.all()),
            |problem| dataset.refuse(problem.to_owned()),
        )
    }

    /// Returns the pixels of an area, in an image with that transform.
    pub(crate) fn found(
        area: &Area,
        transform: impl FnOnce() -> Result<Option<GeoTransform>>,
        refuse: impl Fn(&str) -> Error,
    ) -> Result<Self> {
        let transform = || {
            let inverse = transform()?.and_then(|transform| transform.inverse());
            inverse.ok_or_else(|| refuse("has no georeference that coordinates could be found with"))
        };
        let far = || refuse("coordinates that are not finite, or far outside the image");
        match *area {
            Area::Pixels { column, row, width, height } => {
                Self::whole(column, row, (width, height)).map_err(&refuse)
            }
            Area::Point { x, y, width, height } => {
                let (column, row) = transform()?.to_world(x, y);
                let (column, row) = whole(column.floor()).zip(whole(row.floor())).ok_or_else(far)?;
                Self::whole(column - i64::from(width / 2), row - i64::from(height / 2), (width, height))
                    .map_err(&refuse)
            }
            Area::Bounds([west, south, east, north]) => {
                if !(west < east && south < north) {
                    return Err(refuse("a box is west, south, east, north, each below the one opposite"));
                }
                let pixels = transform()?.bounds(west, south, east - west, north - south);
                let (width, height) = (pixels.max_x - pixels.min_x, pixels.max_y - pixels.min_y);
                Self::touched([pixels.min_x, pixels.min_y, width, height]).ok_or_else(far)
            }
            Area::Part(exact) => {
                let [_, _, width, height] = exact;
                if !(width > 0.0 && height > 0.0) {
                    return Err(refuse("a window without pixels"));
                }
                Self::touched(exact).ok_or_else(far)
            }
        }
    }

    /// Returns the pixels that a part of the level touches; `None` if it is not finite or too far away.
    fn touched(exact: [f64; 4]) -> Option<Self> {
        let [left, top, wide, high] = exact;
        let side = |low: f64, high: f64| {
            let (first, end) = whole((low + EDGE).floor()).zip(whole((high - EDGE).ceil()))?;
            Some((first, u32::try_from((end - first).max(1)).ok()?))
        };
        let ((x, width), (y, height)) = side(left, left + wide).zip(side(top, top + high))?;
        Some(Self { x, y, width, height, exact })
    }

    /// Returns the frame of a window that lies in its image.
    pub(crate) fn exactly(Window { column: x, row: y, width, height }: Window) -> Self {
        let exact = [x.into(), y.into(), width.into(), height.into()];
        Self { x: x.into(), y: y.into(), width, height, exact }
    }

    #[expect(clippy::cast_precision_loss, reason = "below 2^53, checked")]
    fn whole(x: i64, y: i64, (width, height): (u32, u32)) -> std::result::Result<Self, &'static str> {
        const FAR: i64 = 1 << 40;
        if width == 0 || height == 0 {
            return Err("a window without pixels");
        }
        if x.checked_abs().is_none_or(|x| x > FAR) || y.checked_abs().is_none_or(|y| y > FAR) {
            return Err("a window far outside the image");
        }
        Ok(Self { x, y, width, height, exact: [x as f64, y as f64, width.into(), height.into()] })
    }

    /// Returns the pixels of an image of this size that a resampled window is computed from: those under it, and
    /// `margin` more on every side. The frame is empty if there are none.
    pub(crate) fn under(&self, margin: f64, size: (u32, u32)) -> Self {
        let [left, top, width, height] = self.exact;
        let side = |start: f64, len: f64, pixels: u32| {
            let first = whole((start - margin).floor().max(-1.0))?;
            let end = whole((start + len + margin).ceil().min(f64::from(pixels) + 1.0))?;
            // At least one pixel: a very short range may vanish in rounding.
            Some((first, u32::try_from(end.max(first + 1) - first).ok()?))
        };
        let sides = side(left, width, size.0).zip(side(top, height, size.1));
        let all = sides.map(|((x, width), (y, height))| Self { x, y, width, height, exact: self.exact });
        match all.and_then(|all| all.inside(size)) {
            Some(Window { column: x, row: y, width, height }) => {
                Self { x: x.into(), y: y.into(), width, height, exact: self.exact }
            }
            None => Self { x: 0, y: 0, width: 0, height: 0, exact: self.exact },
        }
    }

    /// Returns the part of it inside an image of this size.
    pub(crate) fn inside(&self, (width, height): (u32, u32)) -> Option<Window> {
        let side = |start: i64, len: u32, size: u32| {
            let (first, end) = (start.max(0), (start + i64::from(len)).min(size.into()));
            let len = u32::try_from(end - first).ok().filter(|&len| len > 0)?;
            Some((u32::try_from(first).ok()?, len))
        };
        let (x, width) = side(self.x, self.width, width)?;
        let (y, height) = side(self.y, self.height, height)?;
        Some(Window::new(x, y, width, height))
    }

    /// Returns the pixels of the window around `inside`: above, below, left and right of it.
    pub(crate) fn around(&self, inside: Option<Window>) -> Vec<Window> {
        let all = Window::full(self.width, self.height);
        let Some(inside) = inside.and_then(|inside| self.seen(inside)) else {
            return if self.width > 0 && self.height > 0 { vec![all] } else { Vec::new() };
        };
        all.around(&inside).collect()
    }

    /// Converts pixels of the image, inside this frame, to pixels of the window.
    pub(crate) fn seen(&self, inside: Window) -> Option<Window> {
        let x = u32::try_from(i64::from(inside.column) - self.x).ok()?;
        let y = u32::try_from(i64::from(inside.row) - self.y).ok()?;
        Some(Window { column: x, row: y, ..inside })
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a whole number below 2^40, checked")]
fn whole(value: f64) -> Option<i64> {
    (value.abs() <= FAR).then_some(value as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(x: i64, y: i64, width: u32, height: u32) -> Frame {
        Frame::whole(x, y, (width, height)).unwrap()
    }

    #[test]
    fn what_is_inside_and_what_is_around_it_cover_the_window_once() {
        for (x, y, width, height) in
            [(-3, -2, 20, 20), (0, 0, 5, 5), (4, 1, 1, 1), (7, -9, 3, 10), (100, 0, 4, 4), (-5, 3, 6, 90)]
        {
            let frame = frame(x, y, width, height);
            let inside = frame.inside((10, 8));
            let mut seen = vec![0; (width * height) as usize];
            let own = inside.and_then(|inside| frame.seen(inside));
            for part in frame.around(inside).into_iter().chain(own) {
                for row in part.row..part.row + part.height {
                    for column in part.column..part.column + part.width {
                        seen[(row * width + column) as usize] += 1;
                    }
                }
            }
            assert!(seen.iter().all(|&times| times == 1), "{frame:?}");
        }
    }

    #[test]
    fn windows_far_away_and_without_pixels_are_refused() {
        assert!(Frame::whole(i64::MIN, 0, (1, 1)).is_err());
        assert!(Frame::whole(0, i64::MAX, (1, 1)).is_err());
        assert!(Frame::whole(0, 0, (0, 1)).is_err());
        assert_eq!(whole(f64::NAN), None);
        assert_eq!(whole(-1e300), None);
        assert_eq!(frame(1 << 40, 0, u32::MAX, 1).inside((5, 5)), None);
    }
}

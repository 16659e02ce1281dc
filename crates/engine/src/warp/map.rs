//! Source positions of the pixels of a grid.
//!
//! Positions are stored at the corners of cells of 64 × 64 pixels and interpolated in between. Cells may be cut into
//! cells of 8 × 8, and those may have a separate position for every pixel. The map consists of flat arrays, and its
//! arithmetic is simple: each product and each sum is rounded to f64, in the order of `lerp`.

use crate::warp::WarpSampling;
use crate::warp::under::{BLOCK, boxes};
use strile_tiff::InvalidValue;

/// Points of pixels with positions in a map. Interpolated cells have both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum WarpPoints {
    /// Centres: exact cells have 8 × 8 positions.
    #[default]
    Centres,
    /// Corners, for methods that use all samples under a pixel: exact cells have 9 × 9 positions.
    Corners,
}

impl WarpPoints {
    /// Returns the points that a method needs.
    pub const fn of(sampling: WarpSampling) -> Self {
        if sampling.is_footprint() { Self::Corners } else { Self::Centres }
    }

    /// Returns the positions per row of an exact cell.
    pub const fn across(self) -> u32 {
        match self {
            Self::Centres => WarpMap::SMALL,
            Self::Corners => WarpMap::SMALL + 1,
        }
    }
}

/// A point of a pixel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PixelPoint {
    /// Its centre.
    Centre,
    /// A corner: 1 for the right one, 1 for the lower one.
    Corner(u8, u8),
}

/// The arrays of a map.
#[derive(Debug, Clone, Default)]
pub struct WarpMapParts {
    /// Columns and rows of the grid.
    pub size: (u32, u32),
    /// Columns and rows of the source.
    pub source: (u32, u32),
    /// Change of position for one turn around the Earth, if the source's coordinates repeat.
    pub turn: Option<(f64, f64)>,
    /// Points of pixels in exact cells.
    pub points: WarpPoints,
    /// One entry per large cell, row by row: its kind in the two upper bits, and the index of its values.
    pub cells: Vec<u32>,
    /// The same for small cells, 64 per cut large cell.
    pub small: Vec<u32>,
    /// Positions of cell corners: x and y of the upper left, upper right, lower left and lower right.
    pub corners: Vec<[f64; 8]>,
    /// Positions of single points, row by row, of small cells that are not interpolated; NaN outside.
    pub exact: Vec<[f64; 2]>,
}

/// A map whose entries all lie in its arrays.
#[derive(Debug, Clone)]
pub struct WarpMap {
    parts: WarpMapParts,
    across: u32,
    wraps: bool,
    /// Boxes around blocks of cells; see `under`.
    boxes: Vec<[f64; 4]>,
}

impl WarpMap {
    /// Pixels on the side of a large cell.
    pub const LARGE: u32 = 64;
    /// Pixels on the side of a small cell.
    pub const SMALL: u32 = 8;
    /// Small cells on the side of a large one.
    pub const SMALL_ACROSS: u32 = Self::LARGE / Self::SMALL;
    /// Kind of a cell without positions.
    pub const OUTSIDE: u32 = 0;
    /// Kind of an interpolated cell; its values are in `corners`.
    pub const SMOOTH: u32 = 1 << 30;
    /// Kind of a large cell whose values are in `small`, and of a small cell whose values are in `exact`.
    pub const CUT: u32 = 2 << 30;
    /// Mask of the kind bits.
    pub const KIND: u32 = 3 << 30;

    /// Makes a map, after checking that all entries lie in its arrays.
    ///
    /// # Errors
    /// If an array is too short for the entries that refer to it.
    pub fn new(mut parts: WarpMapParts) -> Result<Self, InvalidValue> {
        let wrong = |what: &str| InvalidValue::from(format!("a map of coordinates with {what}"));
        let (columns, rows) = parts.size;
        let across = columns.div_ceil(Self::LARGE);
        let cells = u64::from(across) * u64::from(rows.div_ceil(Self::LARGE));
        if u64::try_from(parts.cells.len()) != Ok(cells) {
            return Err(wrong("another number of cells than its grid"));
        }
        let exact = usize::try_from(parts.points.across().pow(2)).unwrap_or(usize::MAX);
        let small = usize::try_from(Self::SMALL_ACROSS.pow(2)).unwrap_or(usize::MAX);
        let has = |entry: u32, cut: usize, len: usize| match entry & Self::KIND {
            Self::OUTSIDE => true,
            Self::SMOOTH => start(entry) < parts.corners.len(),
            Self::CUT => start(entry).checked_add(cut).is_some_and(|end| end <= len),
            _ => false,
        };
        let all = parts.cells.iter().all(|entry| has(*entry, small, parts.small.len()))
            && parts.small.iter().all(|entry| has(*entry, exact, parts.exact.len()));
        if !all {
            return Err(wrong("cells that have no values"));
        }
        if parts.turn.is_some_and(|(x, y)| !(x.is_finite() && y.is_finite() && (x != 0.0 || y != 0.0))) {
            return Err(wrong("a turn that is not a distance"));
        }
        /// Largest difference between the width and a turn, in pixels.
        const NEAR: f64 = 1e-3;
        let width = f64::from(parts.source.0);
        let wraps = parts.turn.is_some_and(|(x, y)| y == 0.0 && (x.abs() - width).abs() < NEAR);
        // A position just before the first column must become one in the last column. With rounding, a full turn would
        // move it to the width, where there is no pixel.
        if wraps && let Some((x, _)) = &mut parts.turn {
            *x = x.abs().min(width.next_down()).copysign(*x);
        }
        let boxes = boxes(&parts);
        Ok(Self { parts, across, wraps, boxes })
    }

    /// Returns the arrays.
    pub const fn parts(&self) -> &WarpMapParts {
        &self.parts
    }

    /// Returns the number of large cells per row.
    pub const fn across(&self) -> u32 {
        self.across
    }

    /// Returns whether the source goes around the Earth: its first column follows its last one.
    pub const fn wraps(&self) -> bool {
        self.wraps
    }

    /// Returns the bounding box of a block of cells.
    pub(super) fn block_box(&self, column: u32, row: u32) -> [f64; 4] {
        let across = self.parts.size.0.div_ceil(BLOCK);
        let at = row.checked_mul(across).and_then(|at| at.checked_add(column)).map(index);
        at.and_then(|at| self.boxes.get(at)).copied().unwrap_or([f64::NAN; 4])
    }

    /// Returns the size of the map in bytes.
    pub fn bytes(&self) -> usize {
        let parts = &self.parts;
        4 * (parts.cells.len() + parts.small.len())
            + 64 * parts.corners.len()
            + 16 * parts.exact.len()
            + 32 * self.boxes.len()
    }

    /// Returns the source position under the centre of a pixel, in columns and rows from the source's outer corner.
    /// `None` if the pixel is outside the grid or has no position, and for maps of corners. The position may lie
    /// outside the source.
    pub fn at(&self, column: u32, row: u32) -> Option<(f64, f64)> {
        let (columns, rows) = self.parts.size;
        if column >= columns || row >= rows {
            return None;
        }
        let (mut x, mut y) = ([f64::NAN], [f64::NAN]);
        self.places(PixelPoint::Centre, row, column, &mut x, &mut y);
        let place = self.in_source((x[0], y[0]));
        (!place.0.is_nan()).then_some(place)
    }

    /// Writes the positions of a point of the pixels from `column` on in a row, in columns and rows of the source from
    /// its outer corner; NaN if there is none. Both slices have the same length. Positions are not wrapped into the
    /// source.
    pub fn places(&self, point: PixelPoint, row: u32, column: u32, xs: &mut [f64], ys: &mut [f64]) {
        let fits = match (point, self.parts.points) {
            (PixelPoint::Centre, WarpPoints::Centres) | (PixelPoint::Corner(..), WarpPoints::Corners) => true,
            (PixelPoint::Centre, WarpPoints::Corners) | (PixelPoint::Corner(..), WarpPoints::Centres) => {
                false
            }
        };
        let (mut xs, mut ys, mut column) = (xs, ys, column);
        while !xs.is_empty() {
            let left = usize::try_from(Self::LARGE - column % Self::LARGE).unwrap_or(1).min(xs.len());
            let (x, x_rest) = xs.split_at_mut(left);
            let (y, y_rest) = ys.split_at_mut(left.min(ys.len()));
            let at = u64::from(row / Self::LARGE) * u64::from(self.across) + u64::from(column / Self::LARGE);
            let cell = usize::try_from(at).ok().and_then(|at| self.parts.cells.get(at)).copied();
            match cell.filter(|_| fits && column < self.parts.size.0).unwrap_or(Self::OUTSIDE) {
                cell if cell & Self::KIND == Self::SMOOTH => {
                    self.smooth(cell, point, (column, row), Self::LARGE, x, y);
                }
                cell if cell & Self::KIND == Self::CUT => self.cut(cell, point, (column, row), x, y),
                _ => nowhere(x, y),
            }
            (xs, ys, column) = (x_rest, y_rest, column.saturating_add(Self::LARGE - column % Self::LARGE));
        }
    }

    fn smooth(
        &self,
        cell: u32,
        point: PixelPoint,
        at: (u32, u32),
        size: u32,
        xs: &mut [f64],
        ys: &mut [f64],
    ) {
        let Some(corners) = self.parts.corners.get(start(cell)) else { return nowhere(xs, ys) };
        let (right, down) = match point {
            PixelPoint::Centre => (0.5, 0.5),
            PixelPoint::Corner(right, down) => (f64::from(right), f64::from(down)),
        };
        // Sizes are powers of two: the fractions are exact.
        let part = 1.0 / f64::from(size);
        let v = (f64::from(at.1 % size) + down) * part;
        for ((x, y), i) in xs.iter_mut().zip(ys).zip(at.0 % size..) {
            let u = (f64::from(i) + right) * part;
            (*x, *y) = lerp(corners, u, v);
        }
    }

    /// Writes the positions of pixels of a cut cell.
    fn cut(&self, cell: u32, point: PixelPoint, (column, row): (u32, u32), xs: &mut [f64], ys: &mut [f64]) {
        let (mut xs, mut ys, mut column) = (xs, ys, column);
        while !xs.is_empty() {
            let left = usize::try_from(Self::SMALL - column % Self::SMALL).unwrap_or(1).min(xs.len());
            let (x, x_rest) = xs.split_at_mut(left);
            let (y, y_rest) = ys.split_at_mut(left.min(ys.len()));
            let (across, down) = (column % Self::LARGE / Self::SMALL, row % Self::LARGE / Self::SMALL);
            let at = start(cell) + index(down * Self::SMALL_ACROSS + across);
            let small = self.parts.small.get(at).copied().unwrap_or(Self::OUTSIDE);
            match small & Self::KIND {
                Self::SMOOTH => self.smooth(small, point, (column, row), Self::SMALL, x, y),
                Self::CUT => {
                    let (right, down) = match point {
                        PixelPoint::Centre => (0, 0),
                        PixelPoint::Corner(right, down) => (u32::from(right), u32::from(down)),
                    };
                    let line = (row % Self::SMALL + down) * self.parts.points.across();
                    let from = start(small) + index(line + column % Self::SMALL + right);
                    let places = self.parts.exact.get(from..).unwrap_or_default();
                    for ((x, y), place) in x.iter_mut().zip(y).zip(places) {
                        [*x, *y] = *place;
                    }
                }
                _ => nowhere(x, y),
            }
            (xs, ys, column) = (x_rest, y_rest, column.saturating_add(Self::SMALL - column % Self::SMALL));
        }
    }

    /// Returns a position wrapped into the source by one turn, if that is possible and needed.
    pub fn in_source(&self, place: (f64, f64)) -> (f64, f64) {
        let Some((turn_x, turn_y)) = self.parts.turn else { return place };
        let (width, height) = (f64::from(self.parts.source.0), f64::from(self.parts.source.1));
        let is_in = |(x, y): (f64, f64)| x >= 0.0 && x < width && y >= 0.0 && y < height;
        if is_in(place) {
            return place;
        }
        let turned = [(place.0 + turn_x, place.1 + turn_y), (place.0 - turn_x, place.1 - turn_y)];
        turned.into_iter().find(|place| is_in(*place)).unwrap_or(place)
    }
}

fn nowhere(xs: &mut [f64], ys: &mut [f64]) {
    xs.fill(f64::NAN);
    ys.fill(f64::NAN);
}

/// Returns the index of a cell's values.
pub(super) fn start(cell: u32) -> usize {
    index(cell & !WarpMap::KIND)
}

pub(super) fn index(at: u32) -> usize {
    usize::try_from(at).unwrap_or(usize::MAX)
}

/// Returns the position at fractions `u` across and `v` down a cell.
pub(super) fn lerp(corners: &[f64; 8], u: f64, v: f64) -> (f64, f64) {
    let [x0, y0, x1, y1, x2, y2, x3, y3] = *corners;
    let (top_x, top_y) = (x0 + (x1 - x0) * u, y0 + (y1 - y0) * u);
    let (low_x, low_y) = (x2 + (x3 - x2) * u, y2 + (y3 - y2) * u);
    (top_x + (low_x - top_x) * v, top_y + (low_y - top_y) * v)
}

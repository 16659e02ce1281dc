//! Which place of a source raster lies under each pixel of a grid.
//!
//! Exact coordinates of every pixel would cost minutes. They are computed at the corners of cells of 64 × 64 pixels
//! and interpolated between, where the middle of the cell and of each edge, computed exactly, is within the tolerance.
//! Other cells are cut into cells of 8 × 8, tested in the same way, and those that fail have an exact place for every
//! pixel. A cell that is partly outside the domain of a projection is never interpolated; one whose points are all
//! outside is outside.
//!
//! The map is made of flat arrays, and its arithmetic is plain: each product and each sum is rounded to f64, in the
//! order in which `lerp` has them, so that another processor computes the same bits.

use strile_crs::{Area, TransformOptions, Transformer};
use strile_tiff::InvalidValue;
use strile_tiff::geo::GeoTransform;

use super::Grid;
use crate::window::Window;

/// Pixels on the side of a large and of a small cell, and small cells on the side of a large one.
const LARGE: u32 = 64;
const SMALL: u32 = 8;
const SMALL_ACROSS: u32 = LARGE / SMALL;

/// How a [`CoordinateMap`] is made.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MapOptions {
    /// How far an interpolated place may be from the exact one, in pixels of the source; 0 computes every pixel
    /// exactly. GDAL's default is 1/8 too.
    pub tolerance: f64,
    /// Most coordinates that are computed; a map that needs more is an error. Each takes at most 16 bytes.
    pub most_points: u64,
}

impl Default for MapOptions {
    fn default() -> Self {
        Self { tolerance: 0.125, most_points: 1 << 24 }
    }
}

impl MapOptions {
    /// Sets how far an interpolated place may be from the exact one, in pixels of the source.
    #[must_use]
    pub const fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Sets how many coordinates may be computed.
    #[must_use]
    pub const fn most_points(mut self, most_points: u64) -> Self {
        self.most_points = most_points;
        self
    }
}

/// The places of a source raster under the pixels of a grid.
///
/// ```
/// use strile::crs::{Crs, TransformOptions};
/// use strile::grid::{CoordinateMap, Grid, MapOptions};
/// use strile::tiff::geo::Bounds;
///
/// let bounds = Bounds { min_x: 399_960.0, min_y: 5_490_240.0, max_x: 509_760.0, max_y: 5_600_040.0 };
/// let source = Grid::from_bounds(Crs::from_user_input("EPSG:32633")?, bounds, (10.0, 10.0), false)?;
/// // The tile of a web map that shows a part of it.
/// let tile = Grid::xyz_tile(12, 2218, 1391, 256)?;
/// let map = CoordinateMap::new(&tile, &source, &TransformOptions::default(), &MapOptions::default())?;
/// let (column, row) = map.at(128, 128).ok_or_else(|| "outside".to_owned())?;
/// assert!((0.0..10_980.0).contains(&column) && (0.0..10_980.0).contains(&row));
/// # Ok::<(), strile::InvalidValue>(())
/// ```
#[derive(Debug, Clone)]
pub struct CoordinateMap {
    /// Large cells in a row.
    across: u32,
    width: u32,
    height: u32,
    source: (u32, u32),
    /// What one turn around the Earth adds to a place, where the source's coordinates repeat.
    turn: Option<(f64, f64)>,
    /// One entry per large cell: its kind in the two upper bits, and where its values begin.
    cells: Vec<u32>,
    /// The same for small cells, 64 of each large cell that is cut.
    small: Vec<u32>,
    /// Places of the corners of cells: x and y of the upper left, upper right, lower left and lower right.
    corners: Vec<[f64; 8]>,
    /// Places of single pixels, 64 of each small cell that is not interpolated; NaN outside.
    exact: Vec<[f64; 2]>,
    points: u64,
}

/// Kinds of cells.
const OUTSIDE: u32 = 0;
const SMOOTH: u32 = 1 << 30;
const CUT: u32 = 2 << 30;
const KIND: u32 = 3 << 30;

impl CoordinateMap {
    /// Makes the map from the pixels of `target` to those of `source`.
    ///
    /// # Errors
    /// If coordinates cannot be transformed from one system to the other, the tolerance is not a number of at least 0,
    /// or more than [`MapOptions::most_points`] coordinates are needed.
    pub fn new(
        target: &Grid,
        source: &Grid,
        transform: &TransformOptions,
        options: &MapOptions,
    ) -> Result<Self, InvalidValue> {
        if !options.tolerance.is_finite() || options.tolerance < 0.0 {
            return Err(
                format!("expected a tolerance of at least 0 pixels, got {}", options.tolerance).into()
            );
        }
        let mut transform = transform.clone();
        if transform.area.is_none() {
            let bounds = target.bounds();
            let area = Area::of(&target.crs, (bounds.min_x, bounds.min_y), (bounds.max_x, bounds.max_y));
            transform.area = Some(area.map_err(|e| e.to_string())?);
        }
        let transformer =
            Transformer::new(&target.crs, &source.crs, &transform).map_err(|e| e.to_string())?;
        let inverse =
            source.transform.inverse().ok_or_else(|| "the source has no inverse transform".to_owned())?;
        let period = transformer.target_period();
        let across = target.width.div_ceil(LARGE);
        let mut making = Making {
            target: target.transform,
            transformer,
            inverse,
            period,
            tolerance: options.tolerance,
            most_points: options.most_points,
            map: Self {
                across,
                width: target.width,
                height: target.height,
                source: (source.width, source.height),
                turn: period.map(|period| (inverse.a * period, inverse.d * period)),
                cells: Vec::new(),
                small: Vec::new(),
                corners: Vec::new(),
                exact: Vec::new(),
                points: 0,
            },
        };
        making.run(target.height.div_ceil(LARGE))?;
        Ok(making.map)
    }

    /// Returns the place in the source, in columns and rows from its outer corner, that lies under the centre of a
    /// pixel. `None` where the pixel is outside the grid or the domain. The place may lie outside the source.
    pub fn at(&self, column: u32, row: u32) -> Option<(f64, f64)> {
        if column >= self.width || row >= self.height {
            return None;
        }
        let cell = u64::from(row / LARGE) * u64::from(self.across) + u64::from(column / LARGE);
        let cell = *self.cells.get(usize::try_from(cell).ok()?)?;
        let (x, y) = (column % LARGE, row % LARGE);
        let place = match cell & KIND {
            OUTSIDE => return None,
            SMOOTH => lerp(self.corners.get(start(cell))?, x, y, LARGE),
            _ => {
                let at = start(cell) + usize::try_from(y / SMALL * SMALL_ACROSS + x / SMALL).ok()?;
                let cell = *self.small.get(at)?;
                let (x, y) = (x % SMALL, y % SMALL);
                match cell & KIND {
                    OUTSIDE => return None,
                    SMOOTH => lerp(self.corners.get(start(cell))?, x, y, SMALL),
                    _ => {
                        let [x, y] = *self.exact.get(start(cell) + usize::try_from(y * SMALL + x).ok()?)?;
                        (x, y)
                    }
                }
            }
        };
        let place = self.in_source(place);
        (!place.0.is_nan()).then_some(place)
    }

    /// A place beside the source that lies in it one turn further.
    fn in_source(&self, place: (f64, f64)) -> (f64, f64) {
        let Some((turn_x, turn_y)) = self.turn else { return place };
        let (width, height) = (f64::from(self.source.0), f64::from(self.source.1));
        let is_in = |(x, y): (f64, f64)| x >= 0.0 && x < width && y >= 0.0 && y < height;
        if is_in(place) {
            return place;
        }
        let turned = [(place.0 + turn_x, place.1 + turn_y), (place.0 - turn_x, place.1 - turn_y)];
        turned.into_iter().find(|place| is_in(*place)).unwrap_or(place)
    }

    /// Returns the window of the source that lies under a window of the grid, widened by `radius` source pixels on each
    /// side for a kernel; `None` where none of the source does. The window may be larger than needed: where it reaches over
    /// the seam of a raster around the Earth it has the raster's whole width.
    pub fn source_window(&self, window: Window, radius: f64) -> Option<Window> {
        let Window { column, row, width, height } = window;
        let (right, bottom) =
            (column.checked_add(width)?.min(self.width), row.checked_add(height)?.min(self.height));
        let mut under = Under { map: self, radius: radius.max(0.0), found: None };
        for cell_row in row / LARGE..bottom.div_ceil(LARGE) {
            for cell_column in column / LARGE..right.div_ceil(LARGE) {
                let at = u64::from(cell_row) * u64::from(self.across) + u64::from(cell_column);
                under.add(*self.cells.get(usize::try_from(at).ok()?)?);
            }
        }
        under.found.filter(|_| column < right && row < bottom).and_then(|[left, top, right, bottom]| {
            let (left, right) = inside(left, right, self.source.0)?;
            let (top, bottom) = inside(top, bottom, self.source.1)?;
            Some(Window::new(left, top, right - left, bottom - top))
        })
    }

    /// Returns the width of the grid.
    pub const fn width(&self) -> u32 {
        self.width
    }

    /// Returns the height of the grid.
    pub const fn height(&self) -> u32 {
        self.height
    }

    /// Returns the width and height of the source.
    pub const fn source_size(&self) -> (u32, u32) {
        self.source
    }

    /// Returns how many coordinates were computed to make the map.
    pub const fn points(&self) -> u64 {
        self.points
    }

    /// Returns how many pixels have an exact place of their own.
    pub fn exact_pixels(&self) -> usize {
        self.exact.len()
    }

    /// Returns the bytes that the map holds.
    pub fn bytes(&self) -> usize {
        4 * (self.cells.len() + self.small.len()) + 64 * self.corners.len() + 16 * self.exact.len()
    }
}

/// Columns or rows from `low` to `high`, whole, within a side.
fn inside(low: f64, high: f64, side: u32) -> Option<(u32, u32)> {
    let side = f64::from(side);
    let (low, high) = (low.floor().max(0.0), high.ceil().min(side));
    if low.is_nan() || high.is_nan() || low >= high {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole, from 0 to the side")]
    Some((low as u32, high as u32))
}

/// Collects the part of a source that lies under cells.
struct Under<'a> {
    map: &'a CoordinateMap,
    radius: f64,
    /// Left, top, right, bottom.
    found: Option<[f64; 4]>,
}

impl Under<'_> {
    /// Adds a large cell.
    fn add(&mut self, cell: u32) {
        match cell & KIND {
            OUTSIDE => {}
            SMOOTH => self.corners(start(cell)),
            _ => {
                let count = usize::try_from(SMALL_ACROSS * SMALL_ACROSS).unwrap_or(0);
                for small in self.map.small.iter().skip(start(cell)).take(count) {
                    match small & KIND {
                        OUTSIDE => {}
                        SMOOTH => self.corners(start(*small)),
                        _ => {
                            let count = usize::try_from(SMALL * SMALL).unwrap_or(0);
                            for [x, y] in self.map.exact.iter().skip(start(*small)).take(count) {
                                self.place([*x, *y, *x, *y]);
                            }
                        }
                    }
                }
            }
        }
    }

    fn corners(&mut self, at: usize) {
        if let Some([x0, y0, x1, y1, x2, y2, x3, y3]) = self.map.corners.get(at) {
            let low = |a: f64, b: f64, c: f64, d: f64| a.min(b).min(c).min(d);
            let high = |a: f64, b: f64, c: f64, d: f64| a.max(b).max(c).max(d);
            let (x, y) = ((*x0, *x1, *x2, *x3), (*y0, *y1, *y2, *y3));
            self.place([
                low(x.0, x.1, x.2, x.3),
                low(y.0, y.1, y.2, y.3),
                high(x.0, x.1, x.2, x.3),
                high(y.0, y.1, y.2, y.3),
            ]);
        }
    }

    /// Adds what of a box lies in the source, here or one turn further.
    fn place(&mut self, [left, top, right, bottom]: [f64; 4]) {
        if left.is_nan() || top.is_nan() {
            return;
        }
        let (turn_x, turn_y) = self.map.turn.unwrap_or((0.0, 0.0));
        let (width, height) = (f64::from(self.map.source.0), f64::from(self.map.source.1));
        for turns in [0.0, 1.0, -1.0] {
            let (x, y) = (turns * turn_x, turns * turn_y);
            let part = [
                (left + x - self.radius).max(0.0),
                (top + y - self.radius).max(0.0),
                (right + x + self.radius).min(width),
                (bottom + y + self.radius).min(height),
            ];
            if part[0] <= part[2] && part[1] <= part[3] {
                self.found = Some(match self.found {
                    None => part,
                    Some(old) => {
                        [old[0].min(part[0]), old[1].min(part[1]), old[2].max(part[2]), old[3].max(part[3])]
                    }
                });
            }
            if self.map.turn.is_none() {
                break;
            }
        }
    }
}

/// Where the values of a cell begin.
fn start(cell: u32) -> usize {
    usize::try_from(cell & !KIND).unwrap_or(usize::MAX)
}

/// The place of a pixel's centre between the corners of its cell. Sizes are powers of two: the fractions are exact.
fn lerp(corners: &[f64; 8], column: u32, row: u32, size: u32) -> (f64, f64) {
    let [x0, y0, x1, y1, x2, y2, x3, y3] = *corners;
    let u = (f64::from(column) + 0.5) / f64::from(size);
    let v = (f64::from(row) + 0.5) / f64::from(size);
    let (top_x, top_y) = (x0 + (x1 - x0) * u, y0 + (y1 - y0) * u);
    let (low_x, low_y) = (x2 + (x3 - x2) * u, y2 + (y3 - y2) * u);
    (top_x + (low_x - top_x) * v, top_y + (low_y - top_y) * v)
}

/// Coordinates in the source's system; `None` outside.
type Point = Option<(f64, f64)>;

struct Making {
    target: GeoTransform,
    transformer: Transformer,
    inverse: GeoTransform,
    period: Option<f64>,
    tolerance: f64,
    most_points: u64,
    map: CoordinateMap,
}

/// What becomes of a cell.
enum Judged {
    Outside,
    Smooth([f64; 8]),
    Rough,
}

impl Making {
    fn run(&mut self, down: u32) -> Result<(), InvalidValue> {
        let halves = 2 * u64::from(self.map.across) + 1;
        // Counted before memory is taken.
        self.take(halves.saturating_mul(2 * u64::from(down) + 1))?;
        reserve(&mut self.map.cells, u64::from(self.map.across) * u64::from(down))?;
        // Rows of points half a cell apart: above, through the middle and below a row of cells.
        let mut above = self.row(0, halves)?;
        for cell_row in 0..down {
            let top = u64::from(cell_row) * u64::from(LARGE);
            let middle = self.row(top + u64::from(LARGE / 2), halves)?;
            let below = self.row(top + u64::from(LARGE), halves)?;
            for cell in 0..self.map.across {
                let at = usize::try_from(cell).unwrap_or(usize::MAX).saturating_mul(2);
                let of = |row: &[Point]| -> [Point; 3] {
                    std::array::from_fn(|i| row.get(at + i).copied().flatten())
                };
                let entry = match self.judge([of(&above), of(&middle), of(&below)]) {
                    Judged::Smooth(corners) => self.smooth(corners)?,
                    Judged::Outside | Judged::Rough => self.cut(u64::from(cell) * u64::from(LARGE), top)?,
                };
                self.map.cells.push(entry);
            }
            above = below;
        }
        Ok(())
    }

    /// A row of points, half a large cell apart.
    fn row(&self, row: u64, count: u64) -> Result<Vec<Point>, InvalidValue> {
        let mut points = Vec::new();
        reserve(&mut points, count)?;
        for i in 0..count {
            points.push(self.exact(whole(i * u64::from(LARGE / 2)), whole(row)));
        }
        Ok(points)
    }

    /// Counts points before they are computed.
    fn take(&mut self, count: u64) -> Result<(), InvalidValue> {
        self.map.points = self.map.points.saturating_add(count);
        if self.map.points <= self.most_points {
            return Ok(());
        }
        Err(format!(
            "more than {} coordinates are needed for {} × {} pixels; raise `tolerance` or `most_points`, or use a smaller grid",
            self.most_points, self.map.width, self.map.height
        )
        .into())
    }

    fn exact(&self, column: f64, row: f64) -> Point {
        let (x, y) = self.target.to_world(column, row);
        self.transformer.transform(x, y)
    }

    /// The place in the source of its coordinates, with x within half a turn of `near`.
    fn place(&self, (x, y): (f64, f64), near: f64) -> (f64, f64) {
        let x = match self.period {
            Some(period) => x + ((near - x) / period).round() * period,
            None => x,
        };
        self.inverse.to_world(x, y)
    }

    /// Judges a cell by its corners, the middles of its edges and its centre, in rows from the top.
    fn judge(&self, points: [[Point; 3]; 3]) -> Judged {
        let [[p00, p10, p20], [p01, p11, p21], [p02, p12, p22]] = points;
        let all = [p00, p10, p20, p01, p11, p21, p02, p12, p22];
        if all.iter().all(Option::is_none) {
            return Judged::Outside;
        }
        let Some(centre) = p11 else { return Judged::Rough };
        if self.tolerance == 0.0 || all.iter().any(Option::is_none) {
            return Judged::Rough;
        }
        let [a, n, b, w, m, e, c, s, d] =
            all.map(|point| self.place(point.unwrap_or((f64::NAN, f64::NAN)), centre.0));
        // Degrees of longitude shrink towards the poles; what counts is the distance on the ground.
        let shrink = match self.transformer.to_is_geographic() {
            true => ground(&self.inverse, centre, self.period),
            false => 1.0,
        };
        let mean = |p: (f64, f64), q: (f64, f64)| ((p.0 + q.0) / 2.0, (p.1 + q.1) / 2.0);
        let tests = [
            (m, mean(mean(a, b), mean(c, d))),
            (n, mean(a, b)),
            (s, mean(c, d)),
            (w, mean(a, c)),
            (e, mean(b, d)),
        ];
        let is_near = |(exact, between): &((f64, f64), (f64, f64))| {
            (exact.0 - between.0).abs() * shrink <= self.tolerance
                && (exact.1 - between.1).abs() <= self.tolerance
        };
        if tests.iter().all(is_near) {
            Judged::Smooth([a.0, a.1, b.0, b.1, c.0, c.1, d.0, d.1])
        } else {
            Judged::Rough
        }
    }

    fn smooth(&mut self, corners: [f64; 8]) -> Result<u32, InvalidValue> {
        let entry = entry(SMOOTH, self.map.corners.len())?;
        reserve(&mut self.map.corners, 1)?;
        self.map.corners.push(corners);
        Ok(entry)
    }

    /// Cuts a large cell into small ones.
    fn cut(&mut self, column: u64, row: u64) -> Result<u32, InvalidValue> {
        let halves = u64::from(2 * SMALL_ACROSS + 1);
        self.take(halves * halves)?;
        let half = u64::from(SMALL / 2);
        let mut points = Vec::new();
        reserve(&mut points, halves * halves)?;
        for v in 0..halves {
            for u in 0..halves {
                points.push(self.exact(whole(column + u * half), whole(row + v * half)));
            }
        }
        if points.iter().all(Option::is_none) {
            return Ok(OUTSIDE);
        }
        let begin = entry(CUT, self.map.small.len())?;
        reserve(&mut self.map.small, u64::from(SMALL_ACROSS * SMALL_ACROSS))?;
        for v in 0..SMALL_ACROSS {
            for u in 0..SMALL_ACROSS {
                let of = |down: u32, right: u32| -> Point {
                    let at = u64::from(2 * v + down) * halves + u64::from(2 * u + right);
                    points.get(usize::try_from(at).ok()?).copied().flatten()
                };
                let judged = self.judge(std::array::from_fn(|i| {
                    let down = u32::try_from(i).unwrap_or(0);
                    [of(down, 0), of(down, 1), of(down, 2)]
                }));
                let (x, y) = (column + u64::from(u * SMALL), row + u64::from(v * SMALL));
                let beyond = x >= u64::from(self.map.width) || y >= u64::from(self.map.height);
                let entry = match judged {
                    _ if beyond => OUTSIDE,
                    Judged::Outside => OUTSIDE,
                    Judged::Smooth(corners) => self.smooth(corners)?,
                    Judged::Rough => self.pixels(x, y)?,
                };
                self.map.small.push(entry);
            }
        }
        Ok(begin)
    }

    /// An exact place for each pixel of a small cell.
    fn pixels(&mut self, column: u64, row: u64) -> Result<u32, InvalidValue> {
        let count = u64::from(SMALL * SMALL);
        self.take(count)?;
        let begin = entry(CUT, self.map.exact.len())?;
        reserve(&mut self.map.exact, count)?;
        for v in 0..u64::from(SMALL) {
            for u in 0..u64::from(SMALL) {
                let point = self.exact(whole(column + u) + 0.5, whole(row + v) + 0.5);
                let place = point.map_or((f64::NAN, f64::NAN), |(x, y)| self.inverse.to_world(x, y));
                self.map.exact.push([place.0, place.1]);
            }
        }
        Ok(begin)
    }
}

/// How much shorter a degree of longitude is than one of latitude.
fn ground(inverse: &GeoTransform, (_, latitude): (f64, f64), period: Option<f64>) -> f64 {
    // Turned rasters have longitudes in both columns and rows: nothing is gained there.
    if !inverse.is_axis_aligned() {
        return 1.0;
    }
    let turn = period.unwrap_or(360.0);
    (latitude / turn * std::f64::consts::TAU).cos().abs()
}

fn entry(kind: u32, at: usize) -> Result<u32, InvalidValue> {
    let at = u32::try_from(at).ok().filter(|at| at & KIND == 0);
    at.map(|at| kind | at).ok_or_else(|| "the map of coordinates has too many cells".to_owned().into())
}

/// Room for more, or an error where there is no memory.
fn reserve<T>(list: &mut Vec<T>, more: u64) -> Result<(), InvalidValue> {
    let more = usize::try_from(more).unwrap_or(usize::MAX);
    if list.capacity() - list.len() >= more {
        return Ok(());
    }
    let more = more.max(list.len() / 2);
    list.try_reserve_exact(more).map_err(|_| "no memory for the map of coordinates".to_owned().into())
}

/// A count of pixels as a number: below 2³² + 64, exact.
#[expect(clippy::cast_precision_loss, reason = "below 2⁵³")]
fn whole(count: u64) -> f64 {
    count as f64
}

//! Maps each pixel of a grid to its place in a source raster.
//!
//! Exact coordinates of every pixel would take minutes. They are computed at the corners of cells of 64 × 64 pixels and
//! interpolated in between, if the middle of the cell and of each edge, and points beside them, are within the
//! tolerance of exact coordinates. The points beside them detect cells around an axis of symmetry, such as the equator:
//! their middles are exact whatever lies between. If a quarter of the tolerance suffices at 256 × 256 pixels, the
//! corners of cells are interpolated, too, because they took most of the time. Other cells are cut into cells of 8 × 8,
//! tested in the same way; those that fail have an exact place for every pixel. A cell that is partly outside the
//! domain of a projection is never interpolated; one whose points are all outside is outside.
//!
//! The arrays and their arithmetic are in `strile_engine::WarpMap`, which engines read.

use std::sync::Arc;
use strile_crs::{Area, TransformOptions, Transformer};
use strile_engine::{WarpMap, WarpMapParts, WarpPoints, WarpRect, WarpSampling};
use strile_tiff::InvalidValue;
use strile_tiff::geo::GeoTransform;

use super::Grid;
use super::map_options::MapOptions;
use super::placing::Route;
use super::scale::scale;
use crate::window::Window;

const LARGE: u32 = WarpMap::LARGE;
const SMALL: u32 = WarpMap::SMALL;
const SMALL_ACROSS: u32 = WarpMap::SMALL_ACROSS;
/// Pixels per side of the cells that are tried first. Maps of parts of a grid must begin at multiples of it, so that
/// parts have the places of the whole.
pub(crate) const HUGE: u32 = 256;
/// Large cells per side of a huge one.
const HUGE_SIDE: u32 = HUGE / LARGE;
/// Fraction of the tolerance for huge cells: few of their points are tested, and the error between large cells adds to
/// the error within them.
const OF_TOLERANCE: f64 = 0.25;

/// A map from the pixels of a grid to places in a source raster.
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
/// # Ok::<(), strile::error::InvalidValue>(())
/// ```
#[derive(Debug, Clone)]
pub struct CoordinateMap {
    map: Arc<WarpMap>,
    scale: (f64, f64),
    points: u64,
}

impl CoordinateMap {
    /// Computes the map from the pixels of `target` to those of `source`.
    ///
    /// # Errors
    /// If coordinates cannot be transformed from one system to the other, the tolerance is not a number of at least 0,
    /// more than [`MapOptions::most_points`] coordinates are needed, or the computation was cancelled.
    pub fn new(
        target: &Grid,
        source: &Grid,
        transform: &TransformOptions,
        options: &MapOptions,
    ) -> Result<Self, InvalidValue> {
        let mut transform = transform.clone();
        if transform.area.is_none() {
            let bounds = target.bounds();
            let area = Area::of(&target.crs, (bounds.min_x, bounds.min_y), (bounds.max_x, bounds.max_y));
            transform.area = Some(area.map_err(|e| e.to_string())?);
        }
        let transformer =
            Transformer::new(&target.crs, &source.crs, &transform).map_err(|e| e.to_string())?.into();
        let whole = Window::full(target.width, target.height);
        let making = Making::run((target, whole), source, &transformer, options)?;
        let scale = making.scale((target.width, target.height), 1);
        let points = making.points;
        Ok(Self { map: Arc::new(WarpMap::new(making.map)?), scale, points })
    }

    /// Computes the map of a window of `target` that begins at whole large cells: a pixel has the same place in every
    /// map. `transformer` leads from the target to the source.
    pub(crate) fn of_window(
        (target, window): (&Grid, Window),
        source: &Grid,
        (transformer, scale): (&Route, (f64, f64)),
        options: &MapOptions,
    ) -> Result<Self, InvalidValue> {
        let making = Making::run((target, window), source, transformer, options)?;
        transformer.check()?;
        let points = making.points;
        Ok(Self { map: Arc::new(WarpMap::new(making.map)?), scale, points })
    }

    /// Returns the scale of a whole grid; see [`scale`](Self::scale).
    pub(crate) fn scale_of(
        target: &Grid,
        source: &Grid,
        transformer: &Route,
        threads: usize,
    ) -> Result<(f64, f64), InvalidValue> {
        let options = MapOptions::default();
        let making = Making::new((target, Window::full(1, 1)), source, transformer, &options)?;
        Ok(making.scale((target.width, target.height), threads))
    }
}

impl<'a> Making<'a> {
    fn new(
        (target, window): (&Grid, Window),
        source: &Grid,
        transformer: &'a Route,
        options: &'a MapOptions,
    ) -> Result<Self, InvalidValue> {
        if !options.tolerance.is_finite() || options.tolerance < 0.0 {
            return Err(
                format!("expected a tolerance of at least 0 pixels, got {}", options.tolerance).into()
            );
        }
        let inverse =
            source.transform.inverse().ok_or_else(|| "the source has no inverse transform".to_owned())?;
        let period = transformer.target_period();
        Ok(Self {
            target: target.transform,
            origin: (f64::from(window.column), f64::from(window.row)),
            transformer,
            inverse,
            period,
            options,
            // Terrain between two places is arbitrary.
            tolerance: if transformer.is_uneven() { 0.0 } else { options.tolerance },
            across: window.width.div_ceil(LARGE),
            points: 0,
            map: WarpMapParts {
                size: (window.width, window.height),
                source: (source.width, source.height),
                turn: period.map(|period| (inverse.a * period, inverse.d * period)),
                points: options.points,
                ..WarpMapParts::default()
            },
        })
    }

    fn run(
        target: (&Grid, Window),
        source: &Grid,
        transformer: &'a Route,
        options: &'a MapOptions,
    ) -> Result<Self, InvalidValue> {
        let mut making = Self::new(target, source, transformer, options)?;
        making.cells(target.1.height.div_ceil(LARGE))?;
        Ok(making)
    }

    /// Returns the width and height of a source pixel in pixels of a grid of this size.
    fn scale(&self, size: (u32, u32), threads: usize) -> (f64, f64) {
        scale(size, threads, |column, row| {
            let (x, y) = self.target.to_world(column, row);
            self.transformer.transform(x, y).map(|(x, y)| self.inverse.to_world(x, y))
        })
    }
}

impl CoordinateMap {
    /// Returns the arrays that engines read.
    pub const fn map(&self) -> &Arc<WarpMap> {
        &self.map
    }

    /// Returns the width and height of a source pixel in pixels of the grid, by GDAL's rule: the mean over up to 10 ×
    /// 10 pixels of the whole grid. Kernels are widened if it is below 1.
    pub const fn scale(&self) -> (f64, f64) {
        self.scale
    }

    /// Returns the place in the source under the centre of a pixel, in columns and rows from the source's outer corner.
    /// `None` if the pixel is outside the grid or the domain, and for maps of corners. The place may lie outside the
    /// source.
    pub fn at(&self, column: u32, row: u32) -> Option<(f64, f64)> {
        self.map.at(column, row)
    }

    /// Returns the window of the source that a method reads for a window of the grid, with the [`scale`](Self::scale)
    /// of the map; `None` if it reads nothing. May be larger than needed.
    pub fn source_window(&self, window: Window, sampling: WarpSampling) -> Option<Window> {
        let Window { column, row, width, height } = window;
        let target = WarpRect::new(column, row, width, height);
        let under = self.map.source_window(target, sampling, self.scale)?;
        Some(Window::new(under.column, under.row, under.width, under.height))
    }

    /// Returns the width of the grid.
    pub fn width(&self) -> u32 {
        self.map.parts().size.0
    }

    /// Returns the height of the grid.
    pub fn height(&self) -> u32 {
        self.map.parts().size.1
    }

    /// Returns the width and height of the source.
    pub fn source_size(&self) -> (u32, u32) {
        self.map.parts().source
    }

    /// Returns the number of coordinates computed for the map.
    pub const fn points(&self) -> u64 {
        self.points
    }

    /// Returns the number of pixel points with an exact place of their own.
    pub fn exact_pixels(&self) -> usize {
        self.map.parts().exact.len()
    }

    /// Returns the size of the map in bytes.
    pub fn bytes(&self) -> usize {
        self.map.bytes()
    }
}

/// Coordinates in the source's system; `None` outside.
type Point = Option<(f64, f64)>;

struct Making<'a> {
    target: GeoTransform,
    /// The first column and row.
    origin: (f64, f64),
    transformer: &'a Route,
    inverse: GeoTransform,
    period: Option<f64>,
    options: &'a MapOptions,
    /// Largest distance of an interpolated place from the exact one.
    tolerance: f64,
    /// Large cells per row.
    across: u32,
    points: u64,
    map: WarpMapParts,
}

/// The result of testing a cell.
enum Judged {
    Outside,
    Smooth([f64; 8]),
    Rough,
}

impl Making<'_> {
    /// Computes all large cells, sixteen at a time: those of a huge cell.
    fn cells(&mut self, down: u32) -> Result<(), InvalidValue> {
        let (huge_across, huge_down) = (self.across.div_ceil(HUGE_SIDE), down.div_ceil(HUGE_SIDE));
        let halves = 2 * u64::from(huge_across) + 1;
        // Counted before memory is allocated.
        self.take(halves.saturating_mul(2 * u64::from(huge_down) + 1))?;
        let count = u64::from(self.across) * u64::from(down);
        reserve(&mut self.map.cells, count)?;
        self.map.cells.resize(usize::try_from(count).unwrap_or(0), WarpMap::OUTSIDE);
        // Rows of points half a cell apart: above, through the middle of, and below a row of cells.
        let mut above = self.row(0, halves)?;
        for v in 0..huge_down {
            self.take(0)?;
            let top = u64::from(v) * u64::from(HUGE);
            let middle = self.row(top + u64::from(HUGE / 2), halves)?;
            let below = self.row(top + u64::from(HUGE), halves)?;
            for u in 0..huge_across {
                let at = usize::try_from(u).unwrap_or(usize::MAX).saturating_mul(2);
                let of = |row: &[Point]| -> [Point; 3] {
                    std::array::from_fn(|i| row.get(at + i).copied().flatten())
                };
                let tolerance = self.tolerance * OF_TOLERANCE;
                let cell = (u64::from(u) * u64::from(HUGE), top, HUGE);
                match self.judge(cell, [of(&above), of(&middle), of(&below)], tolerance)? {
                    Judged::Smooth(corners) if self.is_beside(&corners) => {}
                    Judged::Smooth(corners) => self.spread((u, v), corners)?,
                    Judged::Outside | Judged::Rough => self.large((u, v))?,
                }
            }
            above = below;
        }
        Ok(())
    }

    /// Returns whether an interpolated cell lies beside the source in every turn, so that no pixel of it has a value.
    /// Files that do not lie under a grid take no memory for cells.
    fn is_beside(&self, [ax, ay, bx, by, cx, cy, dx, dy]: &[f64; 8]) -> bool {
        /// Pixels beyond the edge of the source that still count as part of it.
        const EDGE: f64 = 1.0;
        let (width, height) = (f64::from(self.map.source.0), f64::from(self.map.source.1));
        let (turn_x, turn_y) = self.map.turn.unwrap_or((0.0, 0.0));
        let turns: &[f64] = if self.map.turn.is_some() { &[0.0, 1.0, -1.0] } else { &[0.0] };
        turns.iter().all(|turns| {
            let beyond = |all: [&f64; 4], by: f64, side: f64| {
                all.iter().all(|at| **at + by < -EDGE) || all.iter().all(|at| **at + by > side + EDGE)
            };
            beyond([ax, bx, cx, dx], turns * turn_x, width)
                || beyond([ay, by, cy, dy], turns * turn_y, height)
        })
    }

    /// Computes a row of points, half a huge cell apart.
    fn row(&self, row: u64, count: u64) -> Result<Vec<Point>, InvalidValue> {
        let mut points = Vec::new();
        reserve(&mut points, count)?;
        for i in 0..count {
            points.push(self.exact(whole(i * u64::from(HUGE / 2)), whole(row)));
        }
        Ok(points)
    }

    /// Returns the large cells of a huge one that are in the map: column and row in the huge cell, and index in the
    /// list.
    fn within(&self, (u, v): (u32, u32)) -> impl Iterator<Item = ((u32, u32), usize)> + use<> {
        let (across, count) = (self.across, self.map.cells.len());
        (0..HUGE_SIDE * HUGE_SIDE).filter_map(move |at| {
            let (i, j) = (at % HUGE_SIDE, at / HUGE_SIDE);
            let (column, row) = (u * HUGE_SIDE + i, v * HUGE_SIDE + j);
            let place = usize::try_from(u64::from(row) * u64::from(across) + u64::from(column)).ok()?;
            (column < across && place < count).then_some(((i, j), place))
        })
    }

    /// Adds large cells with corners interpolated from those of their huge cell.
    fn spread(&mut self, huge: (u32, u32), corners: [f64; 8]) -> Result<(), InvalidValue> {
        let [ax, ay, bx, by, cx, cy, dx, dy] = corners;
        let part = |i: u32| f64::from(i) / f64::from(HUGE_SIDE);
        let between = |a: f64, b: f64, c: f64, d: f64, (x, y): (f64, f64)| {
            let (upper, lower) = (a + (b - a) * x, c + (d - c) * x);
            upper + (lower - upper) * y
        };
        for ((i, j), place) in self.within(huge) {
            let mut own = [0.0; 8];
            for (pair, (x, y)) in
                own.chunks_exact_mut(2).zip([(i, j), (i + 1, j), (i, j + 1), (i + 1, j + 1)])
            {
                let at = (part(x), part(y));
                pair.copy_from_slice(&[between(ax, bx, cx, dx, at), between(ay, by, cy, dy, at)]);
            }
            let entry = self.smooth(own)?;
            self.set(place, entry);
        }
        Ok(())
    }

    /// Tests the large cells of a huge one separately.
    fn large(&mut self, (u, v): (u32, u32)) -> Result<(), InvalidValue> {
        let halves = 2 * HUGE_SIDE + 1;
        self.take(u64::from(halves * halves))?;
        let (left, top) = (u64::from(u) * u64::from(HUGE), u64::from(v) * u64::from(HUGE));
        let half = u64::from(LARGE / 2);
        let mut points = Vec::new();
        reserve(&mut points, u64::from(halves * halves))?;
        for down in 0..u64::from(halves) {
            for right in 0..u64::from(halves) {
                points.push(self.exact(whole(left + right * half), whole(top + down * half)));
            }
        }
        for ((i, j), place) in self.within((u, v)) {
            let of = |down: u32, right: u32| -> Point {
                let at = (2 * j + down) * halves + 2 * i + right;
                points.get(usize::try_from(at).ok()?).copied().flatten()
            };
            let (column, row) = (left + u64::from(i * LARGE), top + u64::from(j * LARGE));
            let rows = std::array::from_fn(|row| {
                let down = u32::try_from(row).unwrap_or(0);
                [of(down, 0), of(down, 1), of(down, 2)]
            });
            let entry = match self.judge((column, row, LARGE), rows, self.tolerance)? {
                Judged::Smooth(corners) => self.smooth(corners)?,
                Judged::Outside | Judged::Rough => self.cut(column, row)?,
            };
            self.set(place, entry);
        }
        Ok(())
    }

    fn set(&mut self, place: usize, entry: u32) {
        if let Some(cell) = self.map.cells.get_mut(place) {
            *cell = entry;
        }
    }

    /// Counts points before they are computed.
    fn take(&mut self, count: u64) -> Result<(), InvalidValue> {
        if self.options.cancel.is_cancelled() {
            return Err("cancelled while the map of coordinates was made".to_owned().into());
        }
        self.points = self.points.saturating_add(count);
        if self.points <= self.options.most_points {
            return Ok(());
        }
        Err(format!(
            "more than {} coordinates are needed for {} × {} pixels; raise `tolerance` or `most_points`, or use a smaller grid",
            self.options.most_points, self.map.size.0, self.map.size.1
        )
        .into())
    }

    fn exact(&self, column: f64, row: f64) -> Point {
        let (x, y) = self.target.to_world(column + self.origin.0, row + self.origin.1);
        self.transformer.transform(x, y)
    }

    /// Returns the place of coordinates in the source, with x within half a turn of `near`.
    fn place(&self, (x, y): (f64, f64), near: f64) -> (f64, f64) {
        let x = match self.period {
            Some(period) => x + ((near - x) / period).round() * period,
            None => x,
        };
        self.inverse.to_world(x, y)
    }

    /// Tests a cell by its corners, the middles of its edges and its centre, in rows from the top, and by other points
    /// if these pass. `cell` has its first column and row, and its side.
    fn judge(
        &mut self,
        cell: (u64, u64, u32),
        points: [[Point; 3]; 3],
        tolerance: f64,
    ) -> Result<Judged, InvalidValue> {
        let [[p00, p10, p20], [p01, p11, p21], [p02, p12, p22]] = points;
        let all = [p00, p10, p20, p01, p11, p21, p02, p12, p22];
        if all.iter().all(Option::is_none) {
            return Ok(Judged::Outside);
        }
        let Some(centre) = p11 else { return Ok(Judged::Rough) };
        if tolerance == 0.0 || all.iter().any(Option::is_none) {
            return Ok(Judged::Rough);
        }
        let [a, n, b, w, m, e, c, s, d] =
            all.map(|point| self.place(point.unwrap_or((f64::NAN, f64::NAN)), centre.0));
        // Degrees of longitude shrink towards the poles; the distance on the ground counts.
        let shrink = match self.transformer.to_is_geographic() {
            true => ground(&self.inverse, centre, self.period),
            false => 1.0,
        };
        let between =
            |p: (f64, f64), q: (f64, f64), part: f64| (p.0 + (q.0 - p.0) * part, p.1 + (q.1 - p.1) * part);
        let mean = |p: (f64, f64), q: (f64, f64)| ((p.0 + q.0) / 2.0, (p.1 + q.1) / 2.0);
        let tests = [
            (m, mean(mean(a, b), mean(c, d))),
            (n, mean(a, b)),
            (s, mean(c, d)),
            (w, mean(a, c)),
            (e, mean(b, d)),
        ];
        let is_near = |(exact, between): &((f64, f64), (f64, f64))| {
            (exact.0 - between.0).abs() * shrink <= tolerance && (exact.1 - between.1).abs() <= tolerance
        };
        if !tests.iter().all(is_near) {
            return Ok(Judged::Rough);
        }
        // An error that is antisymmetric around the centre is zero at all of the points above: a quarter of the side
        // away it is near its maximum. One of the two points there is off the diagonal along which it may be zero.
        // Small cells, which are many, alternate between them.
        let (column, row, side) = cell;
        let quarter = u64::from(side / 4);
        let quarters: &[(u64, f64)] = match (side == SMALL, (column + row) / u64::from(SMALL) % 2) {
            (false, _) => &[(1, 0.25), (3, 0.75)],
            (true, 0) => &[(1, 0.25)],
            (true, _) => &[(3, 0.75)],
        };
        self.take(quarters.len() as u64)?;
        for &(times, part) in quarters {
            let point = self.exact(whole(column + times * quarter), whole(row + quarter));
            let Some(point) = point else { return Ok(Judged::Rough) };
            let expected = between(between(a, b, part), between(c, d, part), 0.25);
            if !is_near(&(self.place(point, centre.0), expected)) {
                return Ok(Judged::Rough);
            }
        }
        Ok(Judged::Smooth([a.0, a.1, b.0, b.1, c.0, c.1, d.0, d.1]))
    }

    fn smooth(&mut self, corners: [f64; 8]) -> Result<u32, InvalidValue> {
        let entry = entry(WarpMap::SMOOTH, self.map.corners.len())?;
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
        let is_uneven = self.transformer.is_uneven();
        if points.iter().all(Option::is_none) && !is_uneven {
            return Ok(WarpMap::OUTSIDE);
        }
        let begin = entry(WarpMap::CUT, self.map.small.len())?;
        reserve(&mut self.map.small, u64::from(SMALL_ACROSS * SMALL_ACROSS))?;
        for v in 0..SMALL_ACROSS {
            for u in 0..SMALL_ACROSS {
                let of = |down: u32, right: u32| -> Point {
                    let at = u64::from(2 * v + down) * halves + u64::from(2 * u + right);
                    points.get(usize::try_from(at).ok()?).copied().flatten()
                };
                let (x, y) = (column + u64::from(u * SMALL), row + u64::from(v * SMALL));
                let rows = std::array::from_fn(|i| {
                    let down = u32::try_from(i).unwrap_or(0);
                    [of(down, 0), of(down, 1), of(down, 2)]
                });
                let judged = self.judge((x, y, SMALL), rows, self.tolerance)?;
                let beyond = x >= u64::from(self.map.size.0) || y >= u64::from(self.map.size.1);
                let entry = match judged {
                    _ if beyond => WarpMap::OUTSIDE,
                    // An elevation model may have heights at single pixels.
                    Judged::Outside if !is_uneven => WarpMap::OUTSIDE,
                    Judged::Smooth(corners) => self.smooth(corners)?,
                    Judged::Outside | Judged::Rough => self.pixels(x, y)?,
                };
                self.map.small.push(entry);
            }
        }
        Ok(begin)
    }

    /// Computes an exact place for each pixel of a small cell: of its centre, or of all corners.
    fn pixels(&mut self, column: u64, row: u64) -> Result<u32, InvalidValue> {
        let across = u64::from(self.options.points.across());
        let middle = if self.options.points == WarpPoints::Centres { 0.5 } else { 0.0 };
        self.take(across * across)?;
        let begin = entry(WarpMap::CUT, self.map.exact.len())?;
        reserve(&mut self.map.exact, across * across)?;
        for v in 0..across {
            for u in 0..across {
                let point = self.exact(whole(column + u) + middle, whole(row + v) + middle);
                let place = point.map_or((f64::NAN, f64::NAN), |(x, y)| self.inverse.to_world(x, y));
                self.map.exact.push([place.0, place.1]);
            }
        }
        Ok(begin)
    }
}

/// Returns the length of a degree of longitude relative to a degree of latitude.
fn ground(inverse: &GeoTransform, (_, latitude): (f64, f64), period: Option<f64>) -> f64 {
    // Rotated rasters have longitudes in both columns and rows, so nothing is gained.
    if !inverse.is_axis_aligned() {
        return 1.0;
    }
    let turn = period.unwrap_or(360.0);
    (latitude / turn * std::f64::consts::TAU).cos().abs()
}

fn entry(kind: u32, at: usize) -> Result<u32, InvalidValue> {
    let at = u32::try_from(at).ok().filter(|at| at & WarpMap::KIND == 0);
    at.map(|at| kind | at).ok_or_else(|| "the map of coordinates has too many cells".to_owned().into())
}

/// Reserves room for more elements. Fails if there is no memory.
fn reserve<T>(list: &mut Vec<T>, more: u64) -> Result<(), InvalidValue> {
    let more = usize::try_from(more).unwrap_or(usize::MAX);
    if list.capacity() - list.len() >= more {
        return Ok(());
    }
    let more = more.max(list.len() / 2);
    list.try_reserve_exact(more).map_err(|_| "no memory for the map of coordinates".to_owned().into())
}

/// Converts a count of pixels exactly: it is below 2³² + 64.
#[expect(clippy::cast_precision_loss, reason = "below 2⁵³")]
fn whole(count: u64) -> f64 {
    count as f64
}

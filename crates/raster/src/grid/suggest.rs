//! The grid that GDAL suggests for a raster in another reference system (`GDALSuggestedWarpOutput2`).
//!
//! The edge of the raster is transformed in steps; if that fails or is not invertible, points inside are used. Pixels
//! are square, and as many as the raster has lie on the diagonal from its first to its last corner. A side whose edge
//! falls outside the raster is shortened by up to one pixel.

use crate::side_by_side::side_by_side_few;
use strile_crs::{Crs, TransformOptions, Transformer};
use strile_tiff::InvalidValue;
use strile_tiff::geo::GeoTransform;

use super::placing::Route;
use super::{Grid, Placement, pixels};

impl Grid {
    /// Returns the grid that GDAL suggests for a raster on this grid in another reference system: the same extent,
    /// about the same resolution. If the area of `options` is not set, it is that of the grid.
    ///
    /// # Errors
    /// If coordinates cannot be transformed from one system to the other, or too few of the raster's coordinates are in
    /// the domain of the other system.
    pub fn suggest(&self, crs: &Crs, options: &TransformOptions) -> Result<Self, InvalidValue> {
        Placement::from(self.clone()).suggest(crs, options)
    }

    /// Returns the same pixels with rows from north to south, if rows and columns follow the axes.
    fn north_up(&self) -> Option<Self> {
        let GeoTransform { b, d, e, f, .. } = self.transform;
        let transform = match e > 0.0 {
            true => GeoTransform { e: -e, f: f + f64::from(self.height) * e, ..self.transform },
            false => self.transform,
        };
        (b == 0.0 && d == 0.0).then(|| Self { transform, ..self.clone() })
    }

    /// Returns the number of steps along each edge.
    fn steps(&self) -> f64 {
        (f64::from(self.width.min(self.height)) / 50.0 + 0.5).floor().clamp(20.0, 100.0)
    }

    /// Returns the number of pixels of this raster per pixel of `target`, by which GDAL chooses an overview. It is that
    /// of the suggested grid in pixels of `target`. `None` if too few of the raster's pixels lie in the domain.
    pub(super) fn pixels_along(&self, target: &Self, there: &Route, threads: usize) -> Option<f64> {
        let (inverse, onto) = self.transform.inverse().zip(target.transform.inverse())?;
        let back = there.inverse();
        let onto = Some((onto, target.transform));
        let search = Search { grid: self, there, back: &back, inverse, onto, steps: self.steps(), threads };
        let Survey { extent, corners, count, failed } = search.survey();
        let pixel = search.pixel(&extent, corners);
        (failed <= count.saturating_sub(10) && pixel.is_finite() && pixel > 0.0).then(|| 1.0 / pixel)
    }
}

impl Placement {
    /// Returns the grid that GDAL suggests for the raster in another reference system: the same extent, about the same
    /// resolution. In its own system a raster keeps its pixels, with rows from north to south, unless it is rotated. If
    /// the area of `options` is not set, it is that of the raster.
    ///
    /// # Errors
    /// As [`Grid::suggest`].
    pub fn suggest(&self, crs: &Crs, options: &TransformOptions) -> Result<Grid, InvalidValue> {
        let is_same = crs.is_same(self.crs());
        if let (true, None, Some(grid)) = (is_same, self.name(), self.grid.north_up()) {
            return Ok(Grid { crs: crs.clone(), ..grid });
        }
        let mut options = options.clone();
        if options.area.is_none() && !is_same {
            options.area = Some(self.area()?);
        }
        let there = Transformer::new(self.crs(), crs, &options).map_err(|e| e.to_string())?;
        let there = Route::from_raster(self, there);
        let back = there.inverse();
        let grid = &self.grid;
        let inverse = grid.transform.inverse().ok_or_else(|| "the transform has no inverse".to_owned())?;
        let search =
            Search { grid, there: &there, back: &back, inverse, onto: None, steps: grid.steps(), threads: 1 };
        let found = search.run(crs);
        self.check()?;
        found
    }
}

/// The extent of some points of a raster in the other system.
#[derive(Debug)]
struct Extent {
    min_x: f64,
    min_y: f64,
    max_x: f64,
    max_y: f64,
}

impl Extent {
    const EMPTY: Self = Self {
        min_x: f64::INFINITY,
        min_y: f64::INFINITY,
        max_x: f64::NEG_INFINITY,
        max_y: f64::NEG_INFINITY,
    };

    fn add(&mut self, (x, y): (f64, f64)) {
        self.min_x = self.min_x.min(x);
        self.min_y = self.min_y.min(y);
        self.max_x = self.max_x.max(x);
        self.max_y = self.max_y.max(y);
    }
}

type Point = Option<(f64, f64)>;

struct Search<'a> {
    grid: &'a Grid,
    there: &'a Route,
    back: &'a Route,
    inverse: GeoTransform,
    /// From coordinates to pixels of another grid and back, if requested.
    onto: Option<(GeoTransform, GeoTransform)>,
    /// Steps along each edge, a whole number.
    steps: f64,
    /// Number of threads.
    threads: usize,
}

/// Points that a thread transforms at once.
const FEW: usize = 26;
/// How often an interval in which the line jumps or ends is halved.
const HALVINGS: usize = 16;

/// Results of transforming the edge of a raster, or points inside it.
struct Survey {
    extent: Extent,
    /// The first corner and the last one.
    corners: Option<((f64, f64), (f64, f64))>,
    count: u32,
    failed: u32,
}

impl Search<'_> {
    fn run(&self, crs: &Crs) -> Result<Grid, InvalidValue> {
        let Survey { mut extent, corners, count, failed } = self.survey();
        if failed > count.saturating_sub(10) {
            return Err(format!(
                "{failed} of {count} points of the raster have no coordinates in `{}`",
                crs.name.escape_debug()
            )
            .into());
        }
        self.add_poles(crs, &mut extent);
        self.fit(crs, &extent, corners)
    }

    /// Transforms the edge of the raster, or points inside if the edge is not invertible.
    fn survey(&self) -> Survey {
        let (width, height) = (f64::from(self.grid.width), f64::from(self.grid.height));
        let steps = self.count();
        let ratios: Vec<f64> = (0..=steps).map(|i| f64::from(i) / self.steps).collect();
        let forward = |(column, row)| self.forward(column, row);
        let along = side_by_side_few(4 * ratios.len(), FEW, self.threads, |at| forward(self.on_edge(at)));
        let mut edges = [const { Vec::new() }; 4];
        for (edge, points) in edges.iter_mut().zip(along.chunks(ratios.len())) {
            *edge = points.to_vec();
        }
        self.join_at_antimeridian(&mut edges);
        let mut extent = Extent::EMPTY;
        let (first, last, count, failed);
        if self.leads_back(&edges) {
            let [top, bottom, left, right] = &edges;
            self.along_row(top, 0.0, &mut extent);
            self.along_row(bottom, height, &mut extent);
            left.iter().chain(right).flatten().for_each(|point| extent.add(*point));
            (first, last) = (top.first().copied().flatten(), right.last().copied().flatten());
            (count, failed) = (4 * (steps + 1), 0);
        } else {
            let rows: Vec<Vec<Point>> = ratios
                .iter()
                .map(|v| ratios.iter().map(|u| self.forward(u * width, v * height)).collect())
                .collect();
            for (row, ratio) in rows.iter().zip(&ratios) {
                self.along_row(row, ratio * height, &mut extent);
            }
            let all = || rows.iter().flatten();
            (first, last) = (all().next().copied().flatten(), all().last().copied().flatten());
            count = (steps + 1) * (steps + 1);
            failed = u32::try_from(all().filter(|point| point.is_none()).count()).unwrap_or(u32::MAX);
        }
        Survey { extent, corners: first.zip(last), count, failed }
    }

    /// Returns whether the coordinates are degrees.
    fn in_degrees(&self, crs: &Crs) -> bool {
        let is_degree = |size: f64| (size.to_degrees() - 1.0).abs() < 1e-9;
        self.there.to_is_geographic() && crs.unit.as_ref().is_none_or(|unit| is_degree(unit.size))
    }

    /// Extends a raster with a pole inside to all longitudes, and latitudes up to the pole.
    fn add_poles(&self, crs: &Crs, extent: &mut Extent) {
        if !self.in_degrees(crs) {
            return;
        }
        let (width, height) = (f64::from(self.grid.width), f64::from(self.grid.height));
        for pole in [-90.0, 90.0] {
            let inside = self.backward((0.0, pole));
            if inside.is_some_and(|(x, y)| (0.0..=width).contains(&x) && (0.0..=height).contains(&y)) {
                extent.add((-180.0, pole));
                extent.add((180.0, pole));
            }
        }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "20 to 100, whole")]
    fn count(&self) -> u32 {
        self.steps as u32
    }

    /// Returns the coordinates of a place in the raster.
    fn forward(&self, column: f64, row: f64) -> Point {
        let (x, y) = self.grid.transform.to_world(column, row);
        let (x, y) = self.there.transform(x, y)?;
        Some(self.onto.map_or((x, y), |(to_pixels, _)| to_pixels.to_world(x, y)))
    }

    /// Returns the place of coordinates in the raster.
    fn backward(&self, (x, y): (f64, f64)) -> Point {
        let (x, y) = self.onto.map_or((x, y), |(_, from_pixels)| from_pixels.to_world(x, y));
        let (x, y) = self.back.transform(x, y)?;
        Some(self.inverse.to_world(x, y))
    }

    /// Changes longitudes of -180 among eastern ones to 180, and vice versa.
    fn join_at_antimeridian(&self, edges: &mut [Vec<Point>; 4]) {
        if self.onto.is_some() {
            return;
        }
        let all = || edges.iter().flatten().flatten();
        let is_on =
            |sign: f64, x: f64| (sign * x > 0.0 && sign * x <= 180.0) || (x - sign * -180.0).abs() < 1e-8;
        // The side of the first point counts: the western side, if it is on both.
        let Some(sign) = [-1.0, 1.0].into_iter().find(|sign| all().next().is_some_and(|p| is_on(*sign, p.0)))
        else {
            return;
        };
        if !all().all(|point| is_on(sign, point.0)) {
            return;
        }
        for point in edges.iter_mut().flatten().flatten() {
            if (point.0 - sign * -180.0).abs() < 1e-8 {
                let places = (self.backward((-180.0, point.1)), self.backward((180.0, point.1)));
                if let (Some(a), Some(b)) = places
                    && (a.0 - b.0).abs() < 1e-8
                    && (a.1 - b.1).abs() < 1e-8
                {
                    point.0 = sign * 180.0;
                }
            }
        }
    }

    /// Returns whether all points of the edge have coordinates that lead back to them, within a step.
    fn leads_back(&self, edges: &[Vec<Point>; 4]) -> bool {
        let (width, height) = (f64::from(self.grid.width), f64::from(self.grid.height));
        let near = |point: &Point, (column, row): (f64, f64)| {
            point.and_then(|point| self.backward(point)).is_some_and(|(x, y)| {
                (x - column).abs() <= width / self.steps && (y - row).abs() <= height / self.steps
            })
        };
        let points: Vec<&Point> = edges.iter().flatten().collect();
        let leads = |at: usize| points.get(at).is_some_and(|point| near(point, self.on_edge(at)));
        side_by_side_few(points.len(), FEW, self.threads, leads).into_iter().all(|leads| leads)
    }

    /// Returns the place of a point of the upper, lower, left and right edge, counted one edge after the other.
    fn on_edge(&self, at: usize) -> (f64, f64) {
        let (width, height) = (f64::from(self.grid.width), f64::from(self.grid.height));
        let points = self.count() as usize + 1;
        let ratio = (at % points) as f64 / self.steps;
        match at / points {
            0 => (ratio * width, 0.0),
            1 => (ratio * width, height),
            2 => (0.0, ratio * height),
            _ => (width, ratio * height),
        }
    }

    /// Adds the points of a row. If x jumps from one side of 0 to the other, or the line ends, also adds points close
    /// to there.
    fn along_row(&self, points: &[Point], row: f64, extent: &mut Extent) {
        let width = f64::from(self.grid.width);
        let mut column = 0.0;
        for pair in points.windows(2) {
            let [before, after] = pair else { continue };
            let next = column + width / self.steps;
            let (mut low, mut high) = (column, next);
            let (mut before, mut after) = (before.map(|p| p.0), after.map(|p| p.0));
            column = next;
            if before.is_none() && after.is_none() {
                continue;
            }
            for _ in 0..HALVINGS {
                if matches!((before, after), (Some(before), Some(after)) if before * after >= 0.0) {
                    break;
                }
                let middle = (low + high) / 2.0;
                match self.forward(middle, row) {
                    None if before.is_none() => low = middle,
                    None if after.is_none() => high = middle,
                    None => break,
                    Some(point) => {
                        extent.add(point);
                        if before.is_none_or(|before| before * point.0 < 0.0) {
                            (after, high) = (Some(point.0), middle);
                        } else {
                            (before, low) = (Some(point.0), middle);
                        }
                    }
                }
            }
        }
        points.iter().flatten().for_each(|point| extent.add(*point));
    }

    /// Returns the side of a pixel with which as many pixels as the raster has lie on its diagonal.
    fn pixel(&self, extent: &Extent, corners: Option<((f64, f64), (f64, f64))>) -> f64 {
        let whole = (extent.max_x - extent.min_x, extent.max_y - extent.min_y);
        let diagonal = corners.map(|(first, last)| (last.0 - first.0, last.1 - first.1));
        let (x, y) = diagonal.filter(|(x, y)| *x != 0.0 && *y != 0.0).unwrap_or(whole);
        x.hypot(y) / f64::from(self.grid.width).hypot(f64::from(self.grid.height))
    }

    /// Returns the grid of square pixels over an extent.
    fn fit(
        &self,
        crs: &Crs,
        extent: &Extent,
        corners: Option<((f64, f64), (f64, f64))>,
    ) -> Result<Grid, InvalidValue> {
        let whole = (extent.max_x - extent.min_x, extent.max_y - extent.min_y);
        let pixel = self.pixel(extent, corners);
        let (width, height) = (pixels(whole.0 / pixel)?, pixels(whole.1 / pixel)?);
        let mut transform =
            GeoTransform { a: pixel, b: 0.0, c: extent.min_x, d: 0.0, e: -pixel, f: extent.max_y };
        let (columns, rows) = (f64::from(width), f64::from(height));
        for ratio in [0.0, 0.001, 0.01, 0.1, 1.0] {
            let tried = GeoTransform { a: pixel - pixel * ratio / columns, ..transform };
            let edge = tried.to_world(columns, 0.0).0;
            if self.meets(&tried, |r| (edge, transform.f + transform.e * r * rows)) {
                transform = tried;
                break;
            }
        }
        for ratio in [0.0, 0.001, 0.01, 0.1, 1.0] {
            let tried = GeoTransform { e: -(pixel - pixel * ratio / rows), ..transform };
            let edge = tried.to_world(0.0, rows).1;
            if self.meets(&tried, |r| (transform.c + transform.a * r * columns, edge)) {
                transform = tried;
                break;
            }
        }
        if self.in_degrees(crs) {
            let east = transform.c + columns * transform.a;
            if (extent.max_x <= 180.0 && east > 180.0) || extent.max_x == 180.0 {
                transform.a = (180.0 - transform.c) / columns;
            }
            let south = transform.f + rows * transform.e;
            if extent.min_y >= -90.0 && south < -90.0 {
                transform.e = -(transform.f + 90.0) / rows;
            }
        }
        Grid::new(crs.clone(), transform, width, height)
    }

    /// Returns whether some point of an edge is found again by way of the raster, within a pixel.
    fn meets(&self, pixel: &GeoTransform, edge: impl Fn(f64) -> (f64, f64)) -> bool {
        (0..=20).map(|i| edge(f64::from(i) / 20.0)).any(|(x, y)| {
            let again = self.back.transform(x, y).and_then(|(x, y)| self.there.transform(x, y));
            again.is_some_and(|again| (again.0 - x).abs() <= pixel.a && (again.1 - y).abs() <= -pixel.e)
        })
    }
}

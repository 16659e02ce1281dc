//! A polygon on a grid: its edges in columns and rows.
//!
//! Edges are straight in the reference system of the polygon. In another system they are split until the middle of each
//! part is within a tenth of a pixel of the straight line.

use super::{Inside, Polygon};
use crate::grid::Grid;
use crate::window::Window;
use strile_crs::{Area, DatumShift, TransformOptions, Transformer};
use strile_engine::Cancel;
use strile_tiff::InvalidValue;

/// Largest distance of a straight part from the edge, in pixels.
const CLOSE: f64 = 0.1;
/// How often an edge is halved, at most.
const DEEPEST: u32 = 16;
/// Maximum number of parts of all edges.
const MOST_EDGES: usize = 1 << 22;
/// Maximum number of crossings of edges and rows.
const MOST_CROSSINGS: u64 = 1 << 31;

/// An edge that is not horizontal: its upper and its lower end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edge {
    pub(super) top: (f64, f64),
    pub(super) bottom: (f64, f64),
}

/// A polygon in columns and rows of a grid, counted from its outer corner.
#[derive(Debug)]
pub(crate) struct Outline {
    /// Sorted by their upper ends.
    edges: Vec<Edge>,
    /// Horizontal edges that go to the left, which GDAL counts with their row: row, first and last column.
    level: Vec<(f64, f64, f64)>,
}

impl Grid {
    /// Returns the part of the grid that the box around a polygon touches.
    ///
    /// # Errors
    /// If the polygon does not lie on the grid, or its coordinates cannot be transformed.
    pub fn cropped_to(&self, polygon: &Polygon, shift: DatumShift) -> Result<Self, InvalidValue> {
        let Window { column, row, width, height } = self.window_of_polygon(polygon, shift)?;
        let transform = self.transform().window(column.into(), row.into());
        Self::new(self.crs().clone(), transform, width, height)
    }

    /// Returns the pixels that the box around a polygon touches.
    pub(crate) fn window_of_polygon(
        &self,
        polygon: &Polygon,
        shift: DatumShift,
    ) -> Result<Window, InvalidValue> {
        let window = Outline::new(polygon, self, shift)?.window((self.width(), self.height()));
        window.ok_or_else(|| "the polygon lies outside the raster".to_owned().into())
    }
}

impl Outline {
    /// Converts a polygon to a grid.
    pub(crate) fn new(polygon: &Polygon, grid: &Grid, shift: DatumShift) -> Result<Self, InvalidValue> {
        let inverse =
            grid.transform().inverse().ok_or_else(|| "the grid has no inverse transform".to_owned())?;
        let transformer = match polygon.crs() {
            None => None,
            Some(crs) => {
                let bounds = polygon.bounds();
                let area = Area::of(crs, (bounds.min_x, bounds.min_y), (bounds.max_x, bounds.max_y));
                let area = area.map_err(|error| error.to_string())?;
                let options = TransformOptions::default().datum_shift(shift).area(area);
                Some(Transformer::new(crs, grid.crs(), &options).map_err(|error| error.to_string())?)
            }
        };
        let place = |(x, y): (f64, f64)| -> Result<(f64, f64), InvalidValue> {
            let there = match &transformer {
                None => Some((x, y)),
                Some(transformer) => transformer.transform(x, y),
            };
            let there =
                there.map(|(x, y)| inverse.to_world(x, y)).filter(|(x, y)| x.is_finite() && y.is_finite());
            there.ok_or_else(|| {
                format!(
                    "the vertex {x},{y} of the polygon lies outside the domain of `{}`",
                    grid.crs().name.escape_debug()
                )
                .into()
            })
        };
        let mut own = Self { edges: Vec::new(), level: Vec::new() };
        for ring in polygon.rings() {
            let Some(&last) = ring.last() else { continue };
            let mut from = (last, place(last)?);
            for &vertex in ring {
                let to = (vertex, place(vertex)?);
                match transformer {
                    None => own.add(from.1, to.1)?,
                    Some(_) => own.bent(from, to, &place)?,
                }
                from = to;
            }
        }
        own.edges.sort_by(|one, other| one.top.1.total_cmp(&other.top.1));
        Ok(own)
    }

    /// Adds an edge whose parts may be curved.
    fn bent(
        &mut self,
        from: ((f64, f64), (f64, f64)),
        to: ((f64, f64), (f64, f64)),
        place: &impl Fn((f64, f64)) -> Result<(f64, f64), InvalidValue>,
    ) -> Result<(), InvalidValue> {
        let mut waiting = vec![(from, to, 0)];
        while let Some((from, to, depth)) = waiting.pop() {
            let middle = ((from.0.0 + to.0.0) / 2.0, (from.0.1 + to.0.1) / 2.0);
            let there = place(middle)?;
            let off = |a: f64, b: f64, c: f64| ((a + b) / 2.0 - c).abs();
            let off = off(from.1.0, to.1.0, there.0).max(off(from.1.1, to.1.1, there.1));
            // The middle alone may lie on the line by chance.
            if depth >= DEEPEST || (depth > 1 && off <= CLOSE) {
                self.add(from.1, there)?;
                self.add(there, to.1)?;
                continue;
            }
            waiting.push(((middle, there), to, depth + 1));
            waiting.push((from, (middle, there), depth + 1));
        }
        Ok(())
    }

    fn add(&mut self, from: (f64, f64), to: (f64, f64)) -> Result<(), InvalidValue> {
        if self.edges.len() + self.level.len() >= MOST_EDGES {
            return Err(format!("the polygon has more than {MOST_EDGES} edges on the grid").into());
        }
        if from.1 < to.1 {
            self.edges.push(Edge { top: from, bottom: to });
        } else if from.1 > to.1 {
            self.edges.push(Edge { top: to, bottom: from });
        } else if from.0 > to.0 {
            self.level.push((from.1, to.0, from.0));
        }
        Ok(())
    }

    /// Returns the pixels of a grid of that size that the box around all edges touches.
    pub(crate) fn window(&self, (width, height): (u32, u32)) -> Option<Window> {
        let ends = self.edges.iter().flat_map(|edge| [edge.top, edge.bottom]);
        let level = self.level.iter().flat_map(|(y, from, to)| [(*from, *y), (*to, *y)]);
        let first = (f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY);
        let (left, top, right, bottom) = ends
            .chain(level)
            .fold(first, |all, (x, y)| (all.0.min(x), all.1.min(y), all.2.max(x), all.3.max(y)));
        let side = |from: f64, to: f64, len: u32| {
            let (from, to) = (from.floor().max(0.0), to.ceil().min(f64::from(len)));
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "0 to the size of the grid"
            )]
            (from < to).then_some((from as u32, (to - from) as u32))
        };
        let ((column, width), (row, height)) = side(left, right, width).zip(side(top, bottom, height))?;
        Some(Window { column, row, width, height })
    }

    /// Finds the pixels of a window that have their centre within.
    pub(crate) fn inside(&self, window: Window, cancel: &Cancel) -> Result<Inside, InvalidValue> {
        let (first, end) = (f64::from(window.row), f64::from(window.row) + f64::from(window.height));
        let until = self.edges.partition_point(|edge| edge.top.1 < end);
        let near: Vec<Edge> =
            self.edges.iter().take(until).filter(|edge| edge.bottom.1 > first).copied().collect();
        let crossings =
            near.iter().fold(0.0, |sum, edge| sum + (edge.bottom.1.min(end) - edge.top.1.max(first)) + 1.0);
        #[expect(clippy::cast_precision_loss, reason = "a limit")]
        if crossings > MOST_CROSSINGS as f64 {
            return Err(format!(
                "the edges of the polygon cross the rows of the grid {crossings:.0} times; simplify the polygon"
            )
            .into());
        }
        Inside::new(window, &near, &self.level, cancel)
    }
}

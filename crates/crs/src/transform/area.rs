//! Areas on the Earth, in degrees from Greenwich and the equator.

use std::fmt;

use super::Side;
use super::TransformError;
use crate::Crs;

/// A rectangle of longitudes and latitudes in degrees. `west > east` crosses the antimeridian.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Area {
    /// Western edge, degrees east of Greenwich.
    pub west: f64,
    /// Southern edge, degrees north.
    pub south: f64,
    /// Eastern edge.
    pub east: f64,
    /// Northern edge.
    pub north: f64,
}

impl fmt::Display for Area {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}..{:.3}° east, {:.3}..{:.3}° north", self.west, self.east, self.south, self.north)
    }
}

/// Number of points along each edge of bounds that are transformed.
const SAMPLES: u32 = 32;

impl Area {
    const EARTH: Self = Self { west: -180.0, south: -90.0, east: 180.0, north: 90.0 };

    /// Returns the area that bounds in the coordinates of a system cover, as (x, y) of two opposite corners. The edges
    /// are transformed in steps, so an edge that bulges between two of them is slightly off.
    ///
    /// # Errors
    /// If coordinates of the system cannot be computed, or none of the bounds lies in its domain.
    pub fn of(crs: &Crs, (x0, y0): (f64, f64), (x1, y1): (f64, f64)) -> Result<Self, TransformError> {
        let side = Side::new(crs)?;
        let failed = |reason: &str| TransformError::new(crs, reason.to_owned());
        if ![x0, y0, x1, y1].iter().all(|v| v.is_finite()) {
            return Err(failed("the bounds are not finite"));
        }
        let at = |u: f64, v: f64| side.unproject(x0 + (x1 - x0) * u, y0 + (y1 - y0) * v);
        let steps = || (0..=SAMPLES).map(|i| f64::from(i) / f64::from(SAMPLES));
        let mut track = Track::default();
        // Around the edge, so that each longitude is close to the previous one.
        let edge = steps()
            .map(|t| (t, 0.0))
            .chain(steps().map(|t| (1.0, t)))
            .chain(steps().map(|t| (1.0 - t, 1.0)))
            .chain(steps().map(|t| (0.0, 1.0 - t)));
        for (u, v) in edge {
            track.add(at(u, v));
        }
        let mut inside = Track::default();
        for v in steps() {
            for u in steps() {
                inside.add(at(u, v));
            }
        }
        if inside.count == 0 {
            return Err(failed("the bounds lie outside its domain"));
        }
        let (mut south, mut north) = (inside.south.min(track.south), inside.north.max(track.north));
        let mut whole = track.turns() || track.missed > 0 && inside.east - inside.west > 180.0;
        for pole in [-90.0, 90.0] {
            let (x_low, x_high) = (x0.min(x1), x0.max(x1));
            let (y_low, y_high) = (y0.min(y1), y0.max(y1));
            if let Some((x, y)) = side.project(0.0, pole)
                && !side.is_geographic()
                && (x_low..=x_high).contains(&x)
                && (y_low..=y_high).contains(&y)
            {
                south = south.min(pole);
                north = north.max(pole);
                whole = true;
            }
        }
        let (low, high) =
            if track.count == 0 { (inside.west, inside.east) } else { (track.west, track.east) };
        if whole || high - low >= 360.0 {
            return Ok(Self { south, north, ..Self::EARTH });
        }
        Ok(Self { west: normal(low), south, east: normal(high), north })
    }

    /// Returns the degrees from west to east.
    fn width(&self) -> f64 {
        if self.west == -180.0 && self.east == 180.0 {
            360.0
        } else if self.east >= self.west {
            (self.east - self.west).min(360.0)
        } else {
            self.east - self.west + 360.0
        }
    }

    /// Returns whether an area (`None`: the whole Earth) lies in this one.
    pub(super) fn holds(&self, other: Option<Self>) -> bool {
        let other = other.unwrap_or(Self::EARTH);
        let width = self.width();
        let start = (other.west - self.west).rem_euclid(360.0);
        // A longitude slightly west of the edge is almost one turn east of it.
        let start = if start > 360.0 - 1e-9 { 0.0 } else { start };
        let across = width >= 360.0 || start + other.width() <= width + 1e-9;
        across && self.south <= other.south && other.north <= self.north
    }

    /// Returns a measure of its surface.
    pub(super) fn size(&self) -> f64 {
        self.width() * (self.north.to_radians().sin() - self.south.to_radians().sin())
    }

    /// Returns a point in it: (0, 0) is the south-western corner, (1, 1) the north-eastern.
    pub(super) fn at(&self, u: f64, v: f64) -> (f64, f64) {
        (normal(self.west + self.width() * u), self.south + (self.north - self.south) * v)
    }
}

/// Returns a longitude in ±180.
fn normal(longitude: f64) -> f64 {
    if (-180.0..=180.0).contains(&longitude) {
        longitude
    } else {
        (longitude + 180.0).rem_euclid(360.0) - 180.0
    }
}

/// The extent of a line; longitudes continue beyond 180 if the line does.
#[derive(Debug)]
struct Track {
    west: f64,
    east: f64,
    south: f64,
    north: f64,
    first: Option<f64>,
    last: Option<f64>,
    count: usize,
    missed: usize,
}

impl Default for Track {
    fn default() -> Self {
        let (low, high) = (f64::INFINITY, f64::NEG_INFINITY);
        Self { west: low, east: high, south: low, north: high, first: None, last: None, count: 0, missed: 0 }
    }
}

impl Track {
    fn add(&mut self, place: Option<(f64, f64)>) {
        let Some((longitude, latitude)) = place else {
            self.missed += 1;
            return;
        };
        let longitude = match self.last {
            Some(last) => last + ((longitude - last + 180.0).rem_euclid(360.0) - 180.0),
            None => longitude,
        };
        self.first.get_or_insert(longitude);
        self.last = Some(longitude);
        self.count += 1;
        self.west = self.west.min(longitude);
        self.east = self.east.max(longitude);
        self.south = self.south.min(latitude);
        self.north = self.north.max(latitude);
    }

    /// Returns whether a closed line goes around the Earth.
    fn turns(&self) -> bool {
        matches!((self.first, self.last), (Some(first), Some(last)) if (last - first).abs() > 180.0)
    }
}

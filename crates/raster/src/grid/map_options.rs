//! Options of coordinate maps.

use strile_engine::{Cancel, WarpPoints};

/// Options of a [`CoordinateMap`](super::CoordinateMap).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MapOptions {
    /// Largest distance of an interpolated place from the exact one, in pixels of the source; 0 computes every pixel
    /// exactly. GDAL's default is 1/8 too.
    pub tolerance: f64,
    /// Maximum number of computed coordinates; a map that needs more is an error. Each takes at most 16 bytes.
    pub most_points: u64,
    /// The points of pixels that have places: [`WarpPoints::of`] the resampling method.
    pub points: WarpPoints,
    /// Cancels the computation of the map, which then fails.
    pub cancel: Cancel,
}

impl Default for MapOptions {
    fn default() -> Self {
        Self {
            tolerance: 0.125,
            most_points: 1 << 24,
            points: WarpPoints::Centres,
            cancel: Cancel::default(),
        }
    }
}

impl MapOptions {
    /// Sets the largest distance of an interpolated place from the exact one, in pixels of the source.
    #[must_use]
    pub const fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Sets the maximum number of computed coordinates.
    #[must_use]
    pub const fn most_points(mut self, most_points: u64) -> Self {
        self.most_points = most_points;
        self
    }

    /// Sets which points of pixels have places.
    #[must_use]
    pub const fn points(mut self, points: WarpPoints) -> Self {
        self.points = points;
        self
    }

    /// Sets the token that cancels the computation of the map.
    #[must_use]
    pub fn cancel(mut self, cancel: Cancel) -> Self {
        self.cancel = cancel;
        self
    }
}

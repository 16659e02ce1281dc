//! How a map of coordinates is made.

use strile_engine::{Cancel, WarpPoints};

/// How a [`CoordinateMap`](super::CoordinateMap) is made.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MapOptions {
    /// How far an interpolated place may be from the exact one, in pixels of the source; 0 computes every pixel
    /// exactly. GDAL's default is 1/8 too.
    pub tolerance: f64,
    /// Most coordinates that are computed; a map that needs more is an error. Each takes at most 16 bytes.
    pub most_points: u64,
    /// The points of pixels that have places: [`WarpPoints::of`] a method of resampling.
    pub points: WarpPoints,
    /// Stops the making of the map, which is then an error.
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

    /// Sets which points of pixels have places.
    #[must_use]
    pub const fn points(mut self, points: WarpPoints) -> Self {
        self.points = points;
        self
    }

    /// Sets what stops the making of the map.
    #[must_use]
    pub fn cancel(mut self, cancel: Cancel) -> Self {
        self.cancel = cancel;
        self
    }
}

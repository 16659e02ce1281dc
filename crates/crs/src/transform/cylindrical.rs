//! Two cylindrical projections for which strile has its own ellipsoidal formulas.
//!
//! The Equidistant Cylindrical of EPSG (method 1028) has true scale along the parallel and along every meridian of the
//! ellipsoid; Miller's projection is computed on the sphere with the ellipsoid's surface. PROJ computes both like this
//! since version 9.8. Angles are in radians, longitudes from the central meridian, lengths in metres without false
//! origins.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4};

use super::definition::Ellipsoid;

/// Equidistant Cylindrical, also named Equirectangular and Plate Carrée.
#[derive(Debug, Clone)]
pub(super) struct Equidistant {
    arc: MeridianArc,
    /// Radius of the parallel of true scale.
    radius: f64,
    /// Length of the meridian from the equator to the latitude of origin.
    origin: f64,
}

impl Equidistant {
    /// Creates the projection. `parallel` is the latitude of true scale. Returns `None` if it is at or beyond a pole.
    pub fn new(ellipsoid: Ellipsoid, parallel: f64, origin: f64) -> Option<Self> {
        if parallel.abs() >= FRAC_PI_2 || origin.abs() > FRAC_PI_2 {
            return None;
        }
        let arc = MeridianArc::new(ellipsoid);
        let sine = parallel.sin();
        let radius =
            ellipsoid.major * parallel.cos() / (1.0 - ellipsoid.eccentricity_squared() * sine * sine).sqrt();
        Some(Self { radius, origin: arc.length(origin), arc })
    }

    pub fn forward(&self, longitude: f64, latitude: f64) -> (f64, f64) {
        (self.radius * longitude, self.arc.length(latitude) - self.origin)
    }

    pub fn inverse(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        Some((x / self.radius, self.arc.latitude(y + self.origin)?))
    }
}

/// Miller Cylindrical.
#[derive(Debug, Clone)]
pub(super) struct Miller {
    /// Radius of the sphere with the surface of the ellipsoid.
    radius: f64,
}

impl Miller {
    pub fn new(ellipsoid: Ellipsoid) -> Self {
        Self { radius: ellipsoid.authalic_radius() }
    }

    pub fn forward(&self, longitude: f64, latitude: f64) -> (f64, f64) {
        (self.radius * longitude, self.radius * 1.25 * (FRAC_PI_4 + 0.4 * latitude).tan().ln())
    }

    pub fn inverse(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        let latitude = 2.5 * ((0.8 * y / self.radius).exp().atan() - FRAC_PI_4);
        (latitude.abs() <= FRAC_PI_2 + 1e-12).then_some((x / self.radius, latitude))
    }
}

/// Lengths along the meridian, by the series in the third flattening: errors are below a nanometre for every ellipsoid
/// that `Ellipsoid::new` accepts.
#[derive(Debug, Clone)]
struct MeridianArc {
    ellipsoid: Ellipsoid,
    scale: f64,
    /// Coefficients of sin 2φ, sin 4φ, …
    terms: [f64; 5],
}

impl MeridianArc {
    fn new(ellipsoid: Ellipsoid) -> Self {
        let n = ellipsoid.third_flattening();
        let (n2, n3) = (n * n, n * n * n);
        let (n4, n5, n6) = (n2 * n2, n2 * n3, n3 * n3);
        Self {
            ellipsoid,
            scale: ellipsoid.major / (1.0 + n) * (1.0 + n2 / 4.0 + n4 / 64.0 + n6 / 256.0),
            terms: [
                -3.0 / 2.0 * n + 9.0 / 16.0 * n3 - 3.0 / 32.0 * n5,
                15.0 / 16.0 * n2 - 15.0 / 32.0 * n4 + 135.0 / 2048.0 * n6,
                -35.0 / 48.0 * n3 + 105.0 / 256.0 * n5,
                315.0 / 512.0 * n4 - 189.0 / 512.0 * n6,
                -693.0 / 1280.0 * n5,
            ],
        }
    }

    fn length(&self, latitude: f64) -> f64 {
        let mut sum = latitude;
        let mut angle = 2.0 * latitude;
        for term in self.terms {
            sum += term * angle.sin();
            angle += 2.0 * latitude;
        }
        self.scale * sum
    }

    /// Returns the latitude by Newton's method on `length`, whose slope is almost constant. `None` beyond the poles.
    fn latitude(&self, length: f64) -> Option<f64> {
        let quarter = self.scale * FRAC_PI_2;
        if length.is_nan() || length.abs() > quarter * (1.0 + 1e-12) {
            return None;
        }
        let e2 = self.ellipsoid.eccentricity_squared();
        let mut latitude = length / self.scale;
        for _ in 0..6 {
            let sine = latitude.sin();
            let slope = self.ellipsoid.major * (1.0 - e2) / (1.0 - e2 * sine * sine).powf(1.5);
            let step = (length - self.length(latitude)) / slope;
            latitude += step;
            if step.abs() < 1e-15 {
                break;
            }
        }
        Some(latitude.clamp(-FRAC_PI_2, FRAC_PI_2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_meridian_is_as_long_as_geographiclib_says() {
        let wgs84 = Ellipsoid::new(6378137.0, 298.257223563).unwrap();
        let arc = MeridianArc::new(wgs84);
        assert!((arc.length(FRAC_PI_2) - 10_001_965.729_312_723).abs() < 1e-7, "{}", arc.length(FRAC_PI_2));
        for degrees in -90..=90 {
            let latitude = f64::from(degrees).to_radians();
            let back = arc.latitude(arc.length(latitude)).unwrap();
            assert!((back - latitude).abs() < 1e-15 * 4.0, "{degrees}");
        }
        assert_eq!(arc.latitude(10_002_000.0), None);
        assert_eq!(arc.latitude(f64::NAN), None);
    }
}

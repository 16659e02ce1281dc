//! Rasters placed by rational polynomials (RPC00B): from longitude, latitude and height to pixels.
//!
//! The inverse is found iteratively from the middle of the image. With an elevation model the height depends on the
//! place: the place is computed at one height, and again at the height of the result.

use super::heights::Heights;
use super::newton::back;
use strile_tiff::geo::Rpc;

/// RPCs count columns and rows from the centre of the first pixel; strile counts from its corner.
const CORNER: f64 = 0.5;
/// Distance of the places whose difference gives the slope, and the longest step, as fractions of the image.
const STEP: (f64, f64) = (1e-6, 1.0);

/// Maximum number of heights at which a place is computed.
const HEIGHTS: usize = 60;
/// Number of steps after which only half steps are taken: on steep slopes, steps may alternate.
const WHOLE_STEPS: usize = 15;
/// Distance in pixels at which a place with an elevation model counts as found.
const NEAR: f64 = 1e-3;

/// The polynomials at a height above the ellipsoid, or above an elevation model.
#[derive(Debug)]
pub(super) struct Rational {
    rpc: Rpc,
    height: f64,
    heights: Option<Heights>,
}

impl Rational {
    pub(super) const fn new(rpc: Rpc, height: f64, heights: Option<Heights>) -> Self {
        Self { rpc, height, heights }
    }

    /// Returns the elevation model.
    pub(super) const fn heights(&self) -> Option<&Heights> {
        self.heights.as_ref()
    }

    /// Returns the height at a place.
    fn height_at(&self, longitude: f64, latitude: f64) -> Option<f64> {
        match &self.heights {
            None => Some(self.height),
            Some(heights) => Some(self.height + heights.at(longitude, latitude)?),
        }
    }

    /// Returns the terms of the polynomials at a place, as fractions of the image.
    fn terms(&self, x: f64, y: f64, height: f64) -> [f64; 20] {
        let h = (height - self.rpc.height.0) / self.rpc.height.1;
        [
            1.0,
            x,
            y,
            h,
            x * y,
            x * h,
            y * h,
            x * x,
            y * y,
            h * h,
            x * y * h,
            x * x * x,
            x * y * y,
            x * h * h,
            x * x * y,
            y * y * y,
            y * h * h,
            x * x * h,
            y * y * h,
            h * h * h,
        ]
    }

    /// Returns the pixel of a place given as fractions of the image.
    fn pixel(&self, x: f64, y: f64, height: f64) -> Option<(f64, f64)> {
        let terms = self.terms(x, y, height);
        let sum =
            |factors: &[f64; 20]| factors.iter().zip(terms).map(|(factor, term)| factor * term).sum::<f64>();
        let Rpc { sample, line, .. } = self.rpc;
        let column =
            sum(&self.rpc.sample_numerator) / sum(&self.rpc.sample_denominator) * sample.1 + sample.0;
        let row = sum(&self.rpc.line_numerator) / sum(&self.rpc.line_denominator) * line.1 + line.0;
        (column.is_finite() && row.is_finite()).then_some((column + CORNER, row + CORNER))
    }

    pub(super) fn to_pixel(&self, longitude: f64, latitude: f64) -> Option<(f64, f64)> {
        let mut east = longitude - self.rpc.longitude.0;
        // Longitudes of images across 180° continue.
        if east.abs() > 270.0 {
            east -= 360.0_f64.copysign(east);
        }
        let height = self.height_at(longitude, latitude)?;
        self.pixel(
            east / self.rpc.longitude.1,
            (latitude - self.rpc.latitude.0) / self.rpc.latitude.1,
            height,
        )
    }

    pub(super) fn to_world(&self, column: f64, row: f64) -> Option<(f64, f64)> {
        let (longitude, latitude) = (self.rpc.longitude, self.rpc.latitude);
        let world = |(x, y): (f64, f64)| (x * longitude.1 + longitude.0, y * latitude.1 + latitude.0);
        let at = |height: f64, start: (f64, f64)| {
            back(|x, y| self.pixel(x, y, height), start, (column, row), STEP)
        };
        if self.heights.is_none() {
            return at(self.height, (0.0, 0.0)).map(world);
        }
        let mut height = self.rpc.height.0;
        let mut place = at(height, (0.0, 0.0))?;
        for step in 0..HEIGHTS {
            let (x, y) = world(place);
            let found = match self.height_at(x, y) {
                Some(found) => found,
                // The first height is a guess, which may lead outside the model.
                None if step == 0 => height,
                None => return None,
            };
            let (there, down) = self.pixel(place.0, place.1, found)?;
            if (there - column).abs() < NEAR && (down - row).abs() < NEAR && step > 0 {
                return Some((x, y));
            }
            height = if step < WHOLE_STEPS { found } else { (height + found) / 2.0 };
            place = at(height, place)?;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the first coefficients, followed by the others.
    fn factors<const N: usize>(first: [f64; N], rest: impl Fn(f64) -> f64) -> [f64; 20] {
        let mut number = 0.0;
        std::array::from_fn(|at| match first.get(at) {
            Some(factor) => *factor,
            None => {
                number += 1.0;
                rest(number)
            }
        })
    }

    fn rpc() -> Rpc {
        let line = [
            0.01, 0.02, -1.01, 0.03, 1e-3, -5e-4, 4e-4, 3e-4, -2e-4, 1e-5, 1e-6, 2e-6, -3e-6, 4e-6, 1e-6,
            2e-6, -1e-6, 1e-7, 2e-7, 3e-7,
        ];
        let sample = [
            -0.02, 1.02, 0.015, -0.04, -6e-4, 4e-4, -2e-4, 1e-4, 3e-4, -2e-5, 3e-6, 1e-6, 2e-6, -1e-6, 2e-6,
            -2e-6, 1e-6, 2e-7, -1e-7, 1e-7,
        ];
        Rpc {
            err_bias: None,
            err_rand: None,
            line: (2000.5, 2100.0),
            sample: (2500.25, 2600.0),
            latitude: (50.25, 0.06),
            longitude: (15.1, 0.08),
            height: (350.0, 500.0),
            line_numerator: line,
            line_denominator: factors([1.0, 0.001, -0.002, 0.0005], |at| 1e-6 * at),
            sample_numerator: sample,
            sample_denominator: factors([1.0, -0.001, 0.0015, 0.0004], |at| -1e-6 * at),
        }
    }

    /// Results of rasterio's `RPCTransformer` (GDAL 3.10.3): columns, then rows.
    #[test]
    fn pixels_are_gdals() {
        let places = [(15.1, 50.25), (15.05, 50.29), (15.17, 50.2)];
        for (height, columns, rows) in [
            (
                0.0,
                [2_521.530_196_33, 893.987_846_61, 4_816.009_927_64],
                [1_977.901_930_73, 532.598_833_15, 3_778.078_895_42],
            ),
            (
                120.0,
                [2_496.578_205_08, 868.985_351_98, 4_791.122_255_17],
                [1_993.022_545_17, 548.222_975_26, 3_792.543_732_93],
            ),
        ] {
            let rational = Rational::new(rpc(), height, None);
            for ((longitude, latitude), expected) in places.into_iter().zip(columns.into_iter().zip(rows)) {
                let (column, row) = rational.to_pixel(longitude, latitude).unwrap();
                assert!(
                    (column - expected.0).abs() < 1e-7 && (row - expected.1).abs() < 1e-7,
                    "{column} {row}"
                );
                let again = rational.to_world(column, row).unwrap();
                assert!(
                    (again.0 - longitude).abs() < 1e-10 && (again.1 - latitude).abs() < 1e-10,
                    "{again:?}"
                );
                // One turn further is the same place.
                assert!(
                    rational
                        .to_pixel(longitude - 360.0, latitude)
                        .is_some_and(|found| (found.0 - column).abs() < 1e-6)
                );
            }
        }
    }

    #[test]
    fn hostile_numbers_have_no_place() {
        let flat = Rpc { sample_denominator: [0.0; 20], ..rpc() };
        assert_eq!(Rational::new(flat, 0.0, None).to_pixel(15.1, 50.25), None);
        let still = Rpc { line_numerator: [0.0; 20], ..rpc() };
        assert_eq!(Rational::new(still, 0.0, None).to_world(10.0, 10.0), None);
        assert_eq!(
            Rational::new(Rpc { longitude: (15.1, 0.0), ..rpc() }, 0.0, None).to_pixel(15.1, 50.25),
            None
        );
    }
}

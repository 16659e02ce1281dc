//! Transforms from the coordinates of pixel centres, as in coordinate arrays.

use strile_tiff::InvalidValue;
use strile_tiff::geo::GeoTransform;

/// Largest deviation of a step from the others, in steps: float32 coordinates of a fine grid far from 0 still count as
/// even.
const UNEVEN: f64 = 1e-3;

/// Largest deviation of coordinates from a stated transform, in pixels.
const ASTRAY: f64 = 1e-2;

/// Coordinates of the pixel centres along an axis.
#[derive(Debug, Clone, Copy)]
pub struct Centres<'a> {
    /// Name of the axis, for messages.
    pub name: &'a str,
    /// The coordinates.
    pub values: &'a [f64],
    /// The distance of the largest coordinate to its neighbour in the type in which they are stored. `None` for
    /// integers, which count pixels and state no places.
    pub spacing: Option<f64>,
}

impl Centres<'_> {
    /// Returns whether they are pixel numbers, or the centres of numbered pixels.
    pub fn count_pixels(&self) -> bool {
        self.spacing.is_none() || self.values.iter().all(|value| value.rem_euclid(1.0) == 0.5)
    }

    /// Converts a place on an axis of pixels to the pixels of these coordinates. The coordinates are pixel numbers on
    /// that axis.
    pub fn place(&self, place: f64) -> Result<f64, InvalidValue> {
        self.check_even()?;
        let Some(first) = self.values.first() else { return Ok(place) };
        Ok((place - 0.5 - first) / self.step().unwrap_or(1.0) + 0.5)
    }

    /// Checks that they are finite, and evenly spaced if there are several.
    fn check_even(&self) -> Result<(), InvalidValue> {
        let name = self.name;
        if !self.values.iter().all(|value| value.is_finite()) {
            return Err(invalid(format!("coordinate '{name}' has values that are not finite")));
        }
        let (Some(mean), Some(first)) = (self.mean_step(), self.first_step()) else { return Ok(()) };
        if mean == 0.0 || first == 0.0 {
            let value = self.values.first().copied().unwrap_or_default();
            return Err(invalid(format!(
                "coordinate '{name}' is constant at {value:?}: expected evenly spaced values"
            )));
        }
        let steps = self.values.windows(2).map(|pair| match pair {
            [one, next] => next - one,
            _ => mean,
        });
        let farther = |one: (usize, f64), other: (usize, f64)| {
            if (other.1 - mean).abs() > (one.1 - mean).abs() { other } else { one }
        };
        let (after, step) = steps.enumerate().reduce(farther).unwrap_or((0, mean));
        if (step - mean).abs() > UNEVEN * mean.abs() {
            return Err(invalid(format!(
                "coordinate '{name}' is not evenly spaced: step {step:?} after index {after}, expected {mean:?}"
            )));
        }
        Ok(())
    }

    fn first_step(&self) -> Option<f64> {
        let &[first, second, ..] = self.values else { return None };
        Some(second - first)
    }

    fn mean_step(&self) -> Option<f64> {
        let &[first, .., last] = self.values else { return None };
        let steps = u32::try_from(self.values.len() - 1).ok()?;
        Some((last - first) / f64::from(steps))
    }

    /// Returns the size of a pixel; `None` for one coordinate.
    fn step(&self) -> Option<f64> {
        let (first, mean) = (self.first_step()?, self.mean_step()?);
        // The mean is the better estimate. If both agree, the first step is the intended number.
        let close = (first - mean).abs() <= 1e-12 * first.abs().max(mean.abs());
        Some(if close { first } else { mean })
    }

    /// Returns the size of a pixel and the start of the first one: the stated ones, or those of the coordinates if
    /// these are elsewhere.
    fn along(&self, size: f64, start: f64) -> Result<(f64, f64), InvalidValue> {
        let (Some(spacing), Some(first)) = (self.spacing, self.values.first()) else {
            return Ok((size, start));
        };
        let allowed = ASTRAY * size.abs() + 4.0 * spacing;
        let mut centres = (0_u32..).map(|pixel| start + size * (f64::from(pixel) + 0.5));
        if self
            .values
            .iter()
            .all(|value| centres.next().is_some_and(|centre| (value - centre).abs() <= allowed))
        {
            return Ok((size, start));
        }
        self.check_even()?;
        let step = self.step().unwrap_or(size);
        Ok((step, first - step / 2.0))
    }
}

fn invalid(problem: String) -> InvalidValue {
    problem.into()
}

/// Returns a stated transform of pixel corners, corrected along each axis if the coordinates are elsewhere.
pub fn moved(
    stated: &GeoTransform,
    x: Option<&Centres<'_>>,
    y: Option<&Centres<'_>>,
) -> Result<GeoTransform, InvalidValue> {
    let along = |axis: Option<&Centres<'_>>, size, start| match axis {
        Some(axis) => axis.along(size, start),
        None => Ok((size, start)),
    };
    let ((a, c), (e, f)) = (along(x, stated.a, stated.c)?, along(y, stated.e, stated.f)?);
    Ok(GeoTransform { a, b: 0.0, c, d: 0.0, e, f })
}

/// Returns the transform of pixel corners for coordinates. `None` if an axis has none, or if a single coordinate does
/// not determine the size of a pixel. With `square`, the other axis determines it.
pub fn from_centres(
    x: Option<&Centres<'_>>,
    y: Option<&Centres<'_>>,
    square: bool,
) -> Result<Option<GeoTransform>, InvalidValue> {
    for axis in [y, x].into_iter().flatten() {
        axis.check_even()?;
    }
    let (Some(x), Some(y)) = (x, y) else { return Ok(None) };
    let other = |size: Option<f64>| size.filter(|_| square).map(f64::abs);
    let (across, down) = (x.step(), y.step());
    let (across, down) = (across.or(other(down)), down.or(other(across).map(|size| -size)));
    let ((Some(a), Some(e)), (Some(left), Some(top))) =
        ((across, down), (x.values.first(), y.values.first()))
    else {
        return Ok(None);
    };
    Ok(Some(GeoTransform { a, b: 0.0, c: left - a / 2.0, d: 0.0, e, f: top - e / 2.0 }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis<'a>(name: &'a str, values: &'a [f64]) -> Centres<'a> {
        Centres { name, values, spacing: Some(1e-12) }
    }

    #[test]
    fn coordinates_of_centres_make_corners() {
        let (x, y) = (axis("x", &[5.0, 15.0, 25.0]), axis("y", &[90.0, 80.0]));
        let made = from_centres(Some(&x), Some(&y), false).unwrap().unwrap();
        assert_eq!((made.a, made.c, made.e, made.f), (10.0, 0.0, -10.0, 95.0));
        let row = axis("y", &[90.0]);
        assert!(from_centres(Some(&x), Some(&row), false).unwrap().is_none());
        assert_eq!(from_centres(Some(&x), Some(&row), true).unwrap().unwrap().e, -10.0);
        assert!(from_centres(Some(&x), None, false).unwrap().is_none());
    }

    #[test]
    fn uneven_coordinates_are_refused() {
        let problem = |values: &[f64]| axis("x", values).check_even().unwrap_err().to_string();
        assert!(problem(&[0.0, 10.0, 20.0, 60.0]).contains("step 40.0 after index 2, expected 20.0"));
        assert!(problem(&[3.0, 3.0]).contains("constant at 3.0"));
        assert!(problem(&[0.0, f64::NAN]).contains("not finite"));
    }

    /// The stated numbers are kept bit for bit if both agree.
    #[test]
    fn stated_transforms_follow_selected_pixels() {
        let stated = GeoTransform { a: 0.1, b: 0.0, c: 0.3, d: 0.0, e: -0.1, f: 7.7 };
        let (here, there) = (axis("x", &[0.35, 0.45]), axis("x", &[0.55, 0.65]));
        assert_eq!(moved(&stated, Some(&here), None).unwrap(), stated);
        let found = moved(&stated, Some(&there), None).unwrap();
        assert!((found.c - 0.5).abs() < 1e-12 && found.f == stated.f);
        let pixels = Centres { spacing: None, ..there };
        assert_eq!(moved(&stated, Some(&pixels), None).unwrap(), stated);
        assert_eq!(Centres { name: "y", values: &[2.5, 4.5], spacing: Some(0.0) }.place(3.0).unwrap(), 0.5);
    }
}

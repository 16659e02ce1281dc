//! Inverts a function of places.

/// A pair of numbers.
pub(super) type Pair = (f64, f64);

/// Maximum number of steps.
const STEPS: usize = 40;

/// Returns the place that `forward` maps to `wanted`, by Newton's method from `start`. Slopes are taken over the
/// distance `apart`; a step below a thousandth of that ends the search, and no step is longer than `most`. `None` if it
/// does not converge.
pub(super) fn back(
    forward: impl Fn(f64, f64) -> Option<Pair>,
    start: Pair,
    wanted: Pair,
    (apart, most): (f64, f64),
) -> Option<Pair> {
    let (mut x, mut y) = start;
    for _ in 0..STEPS {
        let here = forward(x, y)?;
        let (east, north) = (forward(x + apart, y)?, forward(x, y + apart)?);
        let [a, b] = [east.0 - here.0, north.0 - here.0];
        let [c, d] = [east.1 - here.1, north.1 - here.1];
        let (right, up, area) = (wanted.0 - here.0, wanted.1 - here.1, a * d - b * c);
        let (dx, dy) = ((d * right - b * up) / area * apart, (a * up - c * right) / area * apart);
        if !(dx.is_finite() && dy.is_finite()) {
            return None;
        }
        (x, y) = (x + dx.clamp(-most, most), y + dy.clamp(-most, most));
        if dx.abs() < apart / 1000.0 && dy.abs() < apart / 1000.0 {
            return Some((x, y));
        }
    }
    None
}

//! An elevation model that looks like mountains: ridges of smooth noise, each octave half as wide.

use std::f64::consts::FRAC_1_SQRT_2;

/// Octaves, the widest of `WIDEST` pixels and `HIGHEST` metres.
const OCTAVES: u32 = 8;
const WIDEST: f64 = 640.0;
const HIGHEST: f64 = 700.0;
/// Heights are multiples of this: smaller differences are noise that no instrument measures.
const STEP: f64 = 1.0 / 16.0;

/// A square of heights in metres, row by row.
pub struct Terrain {
    /// Floats of 32 bits.
    pub bytes: Vec<u8>,
    size: u32,
}

impl Terrain {
    /// Returns the height at a place, or at the nearest one in the square.
    pub fn height(&self, x: u32, y: u32) -> f64 {
        let last = self.size.saturating_sub(1);
        let at = u64::from(y.min(last)) * u64::from(self.size) + u64::from(x.min(last));
        let sample = usize::try_from(at * 4).ok().and_then(|at| self.bytes.get(at..)?.first_chunk());
        sample.map_or(0.0, |bytes| f64::from(f32::from_ne_bytes(*bytes)))
    }
}

/// Generates a square of `size` × `size` pixels.
pub fn generate(size: u32) -> Terrain {
    let places = (0..size).flat_map(|y| (0..size).map(move |x| (x, y)));
    #[expect(clippy::cast_possible_truncation, reason = "a float of 32 bits is what is stored")]
    let sample = |(x, y)| (((height(f64::from(x), f64::from(y)) / STEP).round() * STEP) as f32).to_ne_bytes();
    Terrain { bytes: places.flat_map(sample).collect(), size }
}

fn height(x: f64, y: f64) -> f64 {
    let (mut x, mut y, mut high, mut weight, mut sum) = (x / WIDEST, y / WIDEST, HIGHEST, 1.0, 0.0);
    for octave in 0..OCTAVES {
        let ridge = (1.0 - 1.4 * noise(x, y, octave).abs()).max(0.0);
        // Valleys stay smooth: the weight of an octave is the height of the one before it.
        sum += high * weight * ridge * ridge;
        weight = (weight * ridge * 1.5).min(1.0);
        high /= 2.1;
        // Twice as fine, and rotated (by the angle of 0.6 and 0.8), to hide the lattices.
        (x, y) = (2.0 * (0.8 * x - 0.6 * y) + 0.5, 2.0 * (0.6 * x + 0.8 * y) + 0.5);
    }
    sum
}

/// Perlin's gradient noise: 0 at integers, smooth in between, about −0.7 to 0.7.
fn noise(x: f64, y: f64, seed: u32) -> f64 {
    let smooth = |t: f64| t * t * t * (t * (t * 6.0 - 15.0) + 10.0);
    let mix = |a: f64, b: f64, t: f64| a + (b - a) * t;
    let (left, top) = (x.floor(), y.floor());
    let corner = |dx: f64, dy: f64| {
        let (gx, gy) = gradient(left + dx, top + dy, seed);
        gx * (x - left - dx) + gy * (y - top - dy)
    };
    let (tx, ty) = (smooth(x - left), smooth(y - top));
    mix(mix(corner(0.0, 0.0), corner(1.0, 0.0), tx), mix(corner(0.0, 1.0), corner(1.0, 1.0), tx), ty)
}

/// Returns one of sixteen directions by place: splitmix64 of the bits.
fn gradient(x: f64, y: f64, seed: u32) -> (f64, f64) {
    // cos and sin of 0, 22.5, 45 and 67.5 degrees.
    const QUARTER: [(f64, f64); 4] =
        [(1.0, 0.0), (0.92388, 0.38268), (FRAC_1_SQRT_2, FRAC_1_SQRT_2), (0.38268, 0.92388)];
    let mut z = x.to_bits() ^ y.to_bits().rotate_left(23) ^ u64::from(seed).rotate_left(47);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^= z >> 31;
    let [first, second, third, fourth] = QUARTER;
    let (a, b) = match z >> 62 {
        0 => first,
        1 => second,
        2 => third,
        _ => fourth,
    };
    match (z >> 60) & 3 {
        0 => (a, b),
        1 => (-b, a),
        2 => (-a, -b),
        _ => (b, -a),
    }
}

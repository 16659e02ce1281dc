//! An elevation model that looks like mountains: ridges of smooth noise, each octave half as wide and high.

use strile::DataType;
use testkit::Pixels;

/// Octaves, the widest of `WIDEST` pixels and `HIGHEST` metres.
const OCTAVES: u32 = 8;
const WIDEST: f64 = 640.0;
const HIGHEST: f64 = 1400.0;
/// Heights are whole multiples of this: what is below is noise that no instrument measures.
const STEP: f64 = 1.0 / 16.0;

/// A square of `size` × `size` heights in metres.
pub fn generate(size: usize) -> Pixels {
    let mut pixels = Pixels::zeroed(DataType::F32, 1, size, size);
    for (y, row) in (0u32..).zip(pixels.bytes.chunks_exact_mut((size * 4).max(1))) {
        for (x, sample) in (0u32..).zip(row.chunks_exact_mut(4)) {
            let height = (height(f64::from(x), f64::from(y)) / STEP).round() * STEP;
            #[expect(clippy::cast_possible_truncation, reason = "a float of 32 bits is what is stored")]
            sample.copy_from_slice(&(height as f32).to_ne_bytes());
        }
    }
    pixels
}

fn height(x: f64, y: f64) -> f64 {
    let (mut sum, mut width, mut high, mut weight) = (0.0, WIDEST, HIGHEST, 1.0);
    for octave in 0..OCTAVES {
        let ridge = 1.0 - (2.0 * noise(x / width, y / width, octave) - 1.0).abs();
        // Valleys stay smooth: an octave counts as much as the one before it is high.
        sum += high * weight * ridge * ridge;
        weight = (weight * ridge * 1.6).min(1.0);
        width /= 2.0;
        high /= 2.0;
    }
    sum
}

/// 0 to 1, random at whole numbers and smooth between.
fn noise(x: f64, y: f64, seed: u32) -> f64 {
    let smooth = |t: f64| t * t * t * (t * (t * 6.0 - 15.0) + 10.0);
    let mix = |a: f64, b: f64, t: f64| a + (b - a) * t;
    let (left, top) = (x.floor(), y.floor());
    let (tx, ty) = (smooth(x - left), smooth(y - top));
    let above = mix(random(left, top, seed), random(left + 1.0, top, seed), tx);
    let below = mix(random(left, top + 1.0, seed), random(left + 1.0, top + 1.0, seed), tx);
    mix(above, below, ty)
}

/// 0 to 1 by place: splitmix64 of the bits.
fn random(x: f64, y: f64, seed: u32) -> f64 {
    let mut z = x.to_bits() ^ y.to_bits().rotate_left(23) ^ u64::from(seed).rotate_left(47);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    f64::from(u32::try_from((z ^ (z >> 31)) >> 32).unwrap_or(0)) / f64::from(u32::MAX)
}

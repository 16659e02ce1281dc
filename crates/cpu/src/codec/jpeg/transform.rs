//! Forward DCT and quantisation of the JPEG encoder.
//!
//! Uses floats after Arai, Agui and Nakajima: eight lanes per step, the same operations in the same order everywhere,
//! so that a block has the same bytes on every machine. The transform leaves coefficients transposed; the tables here
//! undo that.

use super::tables::ZIGZAG;

type Row = [f32; 8];

/// Factors by which the transform leaves row and column `k` too large, besides 8.
const SCALE: Row = [1.0, 1.387_039_8, 1.306_563, 1.175_875_6, 1.0, 0.785_694_96, 0.541_196_1, 0.275_899_38];

/// Added to a float below 2^22, this rounds it to the nearest integer, which is then in the low bits.
const ROUNDING: f32 = 12_582_912.0;

/// Multipliers of the transformed coefficients.
pub(super) struct Quantiser([Row; 8]);

impl Quantiser {
    /// Returns the quantiser for divisors in row-major order.
    pub(super) fn new(divisors: &[u8; 64]) -> Self {
        let mut factors = [[0.0; 8]; 8];
        let (rows, _) = divisors.as_chunks::<8>();
        for (y, (row, y_scale)) in rows.iter().zip(SCALE).enumerate() {
            for ((factors, divisor), x_scale) in factors.iter_mut().zip(row).zip(SCALE) {
                if let Some(factor) = factors.get_mut(y) {
                    *factor = 1.0 / (f32::from(*divisor) * y_scale * x_scale * 8.0);
                }
            }
        }
        Self(factors)
    }

    /// Transforms eight rows of samples minus 128 and returns the quantised coefficients in the stream's order.
    #[expect(clippy::indexing_slicing, reason = "constant tables of indices below 64")]
    #[expect(clippy::cast_possible_truncation, reason = "coefficients of 8-bit samples are below 2^11")]
    #[expect(clippy::cast_possible_wrap, reason = "bits of a float, taken as a number")]
    pub(super) fn transform(&self, mut block: [Row; 8]) -> [i16; 64] {
        pass(&mut block);
        let mut turned = transpose(&block);
        pass(&mut turned);
        let mut coefficients = [0_i16; 64];
        for ((out, row), factors) in coefficients.as_chunks_mut::<8>().0.iter_mut().zip(&turned).zip(&self.0)
        {
            for ((out, value), factor) in out.iter_mut().zip(row).zip(factors) {
                let rounded = (value * factor + ROUNDING).to_bits() as i32 - ROUNDING.to_bits() as i32;
                *out = rounded as i16;
            }
        }
        std::array::from_fn(|k| coefficients[TURNED_ZIGZAG[k] as usize])
    }
}

/// `ZIGZAG` for transposed coefficients.
#[expect(clippy::indexing_slicing, reason = "evaluated when compiling")]
const TURNED_ZIGZAG: [u8; 64] = {
    let mut turned = ZIGZAG;
    let mut k = 0;
    while k < 64 {
        turned[k] = (ZIGZAG[k] % 8) * 8 + ZIGZAG[k] / 8;
        k += 1;
    }
    turned
};

#[expect(clippy::indexing_slicing, reason = "8 by 8")]
fn transpose(block: &[Row; 8]) -> [Row; 8] {
    std::array::from_fn(|y| std::array::from_fn(|x| block[x][y]))
}

#[expect(clippy::indexing_slicing, reason = "eight lanes")]
#[inline(always)]
fn lanes(a: Row, b: Row, f: impl Fn(f32, f32) -> f32) -> Row {
    std::array::from_fn(|i| f(a[i], b[i]))
}

#[inline(always)]
fn add(a: Row, b: Row) -> Row {
    lanes(a, b, |a, b| a + b)
}

#[inline(always)]
fn sub(a: Row, b: Row) -> Row {
    lanes(a, b, |a, b| a - b)
}

#[inline(always)]
fn scale(a: Row, by: f32) -> Row {
    a.map(|a| a * by)
}

/// Transforms one dimension of all columns at once.
#[inline(always)]
fn pass(block: &mut [Row; 8]) {
    let [d0, d1, d2, d3, d4, d5, d6, d7] = *block;
    let (s0, s1, s2, s3) = (add(d0, d7), add(d1, d6), add(d2, d5), add(d3, d4));
    let (t0, t1, t2, t3) = (sub(d0, d7), sub(d1, d6), sub(d2, d5), sub(d3, d4));
    // Even coefficients.
    let (e0, e3, e1, e2) = (add(s0, s3), sub(s0, s3), add(s1, s2), sub(s1, s2));
    let z1 = scale(add(e2, e3), std::f32::consts::FRAC_1_SQRT_2);
    // Odd coefficients.
    let (o0, o1, o2) = (add(t3, t2), add(t2, t1), add(t1, t0));
    let z5 = scale(sub(o0, o2), 0.382_683_43);
    let z2 = add(scale(o0, 0.541_196_1), z5);
    let z4 = add(scale(o2, 1.306_563), z5);
    let z3 = scale(o1, std::f32::consts::FRAC_1_SQRT_2);
    let (z11, z13) = (add(t0, z3), sub(t0, z3));
    *block = [
        add(e0, e1),
        add(z11, z4),
        add(e3, z1),
        sub(z13, z2),
        sub(e0, e1),
        add(z13, z2),
        sub(e3, z1),
        sub(z11, z4),
    ];
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "small numbers made here")]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    /// Transforms by the definition (T.81, A.3.3), in the stream's order, without dividing.
    fn by_definition(block: &[Row; 8]) -> [i16; 64] {
        let norm = |k: usize| if k == 0 { 0.5_f64.sqrt() } else { 1.0 };
        ZIGZAG.map(|at| {
            let (v, u) = (usize::from(at) / 8, usize::from(at) % 8);
            let mut sum = 0.0;
            for (y, row) in block.iter().enumerate() {
                for (x, value) in row.iter().enumerate() {
                    let cosine = |at: usize, k: usize| ((2 * at + 1) as f64 * k as f64 * PI / 16.0).cos();
                    sum += f64::from(*value) * cosine(x, u) * cosine(y, v);
                }
            }
            (0.25 * norm(u) * norm(v) * sum).round() as i16
        })
    }

    #[test]
    fn is_the_transform_of_the_standard() {
        let block = std::array::from_fn(|y| {
            std::array::from_fn(|x| ((x * x * 7 + y * 31 + x * y * 11) % 256) as f32 - 128.0)
        });
        let found = Quantiser::new(&[1; 64]).transform(block);
        for (found, expected) in found.into_iter().zip(by_definition(&block)) {
            // A coefficient halfway between two integers may be rounded either way.
            assert!(found.abs_diff(expected) <= 1, "{found} {expected}");
        }
        let flat = Quantiser::new(&[16; 64]).transform([[-128.0; 8]; 8]);
        assert_eq!(flat[0], -64);
        assert!(flat[1..].iter().all(|&c| c == 0));
    }
}

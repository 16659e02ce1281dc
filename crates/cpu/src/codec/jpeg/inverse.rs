//! Inverse cosine transform of Loeffler, Ligtenberg and Moschytz with 13-bit constants, bit-identical to libjpeg's
//! accurate integer method ("islow") and to `kernels/jpeg/jpeg_transform.cuh`. Sums wrap if corrupt data makes them too
//! large.

#![expect(clippy::indexing_slicing, reason = "arrays of eight, by constant indices")]
#![cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "loads of whole vectors"))]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// Eight numbers processed alike.
type Lanes = [i32; 8];

#[inline(always)]
fn each(a: Lanes, b: Lanes, of: impl Fn(i32, i32) -> i32) -> Lanes {
    let mut result = [0; 8];
    for i in 0..8 {
        result[i] = of(a[i], b[i]);
    }
    result
}

#[inline(always)]
fn add(a: Lanes, b: Lanes) -> Lanes {
    each(a, b, i32::wrapping_add)
}

#[inline(always)]
fn subtract(a: Lanes, b: Lanes) -> Lanes {
    each(a, b, i32::wrapping_sub)
}

#[inline(always)]
fn times(a: Lanes, by: i32) -> Lanes {
    a.map(|v| v.wrapping_mul(by))
}

/// Transforms one dimension of eight lines at once; drops `SHIFT` bits with rounding.
#[inline(always)]
fn transform<const SHIFT: u32>(v: &[Lanes; 8]) -> [Lanes; 8] {
    let half = [1 << (SHIFT - 1); 8];
    let z1 = times(add(v[2], v[6]), 4433);
    let (even2, even3) = (subtract(z1, times(v[6], 15137)), add(z1, times(v[2], 6270)));
    let even0 = add(times(add(v[0], v[4]), 1 << 13), half);
    let even1 = add(times(subtract(v[0], v[4]), 1 << 13), half);
    let (a0, a3) = (add(even0, even3), subtract(even0, even3));
    let (a1, a2) = (add(even1, even2), subtract(even1, even2));

    let (z3, z4) = (add(v[7], v[3]), add(v[5], v[1]));
    let z5 = times(add(z3, z4), 9633);
    let (y1, y2) = (times(add(v[7], v[1]), 7373), times(add(v[5], v[3]), 20995));
    let (y3, y4) = (subtract(z5, times(z3, 16069)), subtract(z5, times(z4, 3196)));
    let b0 = add(subtract(times(v[7], 2446), y1), y3);
    let b1 = add(subtract(times(v[5], 16819), y2), y4);
    let b2 = add(subtract(times(v[3], 25172), y2), y3);
    let b3 = add(subtract(times(v[1], 12299), y1), y4);

    let down = |lanes: Lanes| lanes.map(|v| v >> SHIFT);
    [
        down(add(a0, b3)),
        down(add(a1, b2)),
        down(add(a2, b1)),
        down(add(a3, b0)),
        down(subtract(a3, b0)),
        down(subtract(a2, b1)),
        down(subtract(a1, b2)),
        down(subtract(a0, b3)),
    ]
}

#[inline(always)]
fn transposed(v: &[Lanes; 8]) -> [Lanes; 8] {
    let mut result = [[0; 8]; 8];
    for (y, line) in v.iter().enumerate() {
        for (x, &value) in line.iter().enumerate() {
            result[x][y] = value;
        }
    }
    result
}

#[inline(always)]
#[expect(clippy::cast_sign_loss, reason = "clamped to 0 to 255")]
fn sample(v: i32) -> u8 {
    v.wrapping_add(128).clamp(0, 255) as u8
}

/// Returns the samples of a data unit, row by row, from its coefficients, row by row, and their quantisation steps.
#[inline(always)]
pub(super) fn inverse(unit: &[i16; 64], steps: &[i32; 64]) -> [[u8; 8]; 8] {
    let mut rows = [[0; 8]; 8];
    for y in 0..8 {
        for x in 0..8 {
            rows[y][x] = i32::from(unit[8 * y + x]).wrapping_mul(steps[8 * y + x]);
        }
    }
    let columns = transposed(&transform::<11>(&rows));
    transposed(&transform::<18>(&columns)).map(|line| line.map(sample))
}

/// Transforms one dimension like [`transform`].
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn transform_wide<const SHIFT: i32>(v: [__m256i; 8]) -> [__m256i; 8] {
    let times = |v, by| _mm256_mullo_epi32(v, _mm256_set1_epi32(by));
    let (add, subtract) = (|a, b| _mm256_add_epi32(a, b), |a, b| _mm256_sub_epi32(a, b));
    let half = _mm256_set1_epi32(1 << (SHIFT - 1));
    let z1 = times(add(v[2], v[6]), 4433);
    let (even2, even3) = (subtract(z1, times(v[6], 15137)), add(z1, times(v[2], 6270)));
    let even0 = add(_mm256_slli_epi32::<13>(add(v[0], v[4])), half);
    let even1 = add(_mm256_slli_epi32::<13>(subtract(v[0], v[4])), half);
    let (a0, a3) = (add(even0, even3), subtract(even0, even3));
    let (a1, a2) = (add(even1, even2), subtract(even1, even2));

    let (z3, z4) = (add(v[7], v[3]), add(v[5], v[1]));
    let z5 = times(add(z3, z4), 9633);
    let (y1, y2) = (times(add(v[7], v[1]), 7373), times(add(v[5], v[3]), 20995));
    let (y3, y4) = (subtract(z5, times(z3, 16069)), subtract(z5, times(z4, 3196)));
    let b0 = add(subtract(times(v[7], 2446), y1), y3);
    let b1 = add(subtract(times(v[5], 16819), y2), y4);
    let b2 = add(subtract(times(v[3], 25172), y2), y3);
    let b3 = add(subtract(times(v[1], 12299), y1), y4);

    let down = |v| _mm256_srai_epi32::<SHIFT>(v);
    [
        down(add(a0, b3)),
        down(add(a1, b2)),
        down(add(a2, b1)),
        down(add(a3, b0)),
        down(subtract(a3, b0)),
        down(subtract(a2, b1)),
        down(subtract(a1, b2)),
        down(subtract(a0, b3)),
    ]
}

/// Interleaves halves of columns of four rows: each of the eight vectors has the same rows of two columns that are four
/// columns apart.
///
/// This function and those below avoid passing closures to library functions: those are compiled for any machine and
/// cannot inline such closures.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn half_columns(a: __m256i, b: __m256i, c: __m256i, d: __m256i) -> [__m256i; 4] {
    let (low_ab, high_ab) = (_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
    let (low_cd, high_cd) = (_mm256_unpacklo_epi32(c, d), _mm256_unpackhi_epi32(c, d));
    [
        _mm256_unpacklo_epi64(low_ab, low_cd),
        _mm256_unpackhi_epi64(low_ab, low_cd),
        _mm256_unpacklo_epi64(high_ab, high_cd),
        _mm256_unpackhi_epi64(high_ab, high_cd),
    ]
}

/// Transposes rows to columns; the last four columns are zeros if `FEW` says so.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn transposed_wide<const FEW: bool>(v: [__m256i; 8]) -> [__m256i; 8] {
    let upper = half_columns(v[0], v[1], v[2], v[3]);
    let lower = half_columns(v[4], v[5], v[6], v[7]);
    let mut columns = [_mm256_setzero_si256(); 8];
    for i in 0..4 {
        columns[i] = _mm256_permute2x128_si256::<0x20>(upper[i], lower[i]);
        if !FEW {
            columns[i + 4] = _mm256_permute2x128_si256::<0x31>(upper[i], lower[i]);
        }
    }
    columns
}

/// Largest zigzag index up to which all coefficients are in the first four rows and columns.
#[cfg(target_arch = "x86_64")]
const LAST_OF_FEW: u32 = 9;

/// Like [`inverse`], for a unit whose coefficients after zigzag index `last` are 0.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn inverse_wide(unit: &[i16; 64], steps: &[i32; 64], last: u32) -> [[u8; 8]; 8] {
    if last <= LAST_OF_FEW { inverse_rows::<true>(unit, steps) } else { inverse_rows::<false>(unit, steps) }
}

/// Like [`inverse`]; with `FEW` only the first four rows and columns are used.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn inverse_rows<const FEW: bool>(unit: &[i16; 64], steps: &[i32; 64]) -> [[u8; 8]; 8] {
    let mut rows = [_mm256_setzero_si256(); 8];
    for (y, row) in rows.iter_mut().enumerate().take(if FEW { 4 } else { 8 }) {
        // SAFETY: eight numbers from index 8 * y on are inside both arrays; the loads need no alignment.
        let (unit, steps) = unsafe {
            let unit = _mm_loadu_si128(unit.as_ptr().add(8 * y).cast());
            (unit, _mm256_loadu_si256(steps.as_ptr().add(8 * y).cast()))
        };
        *row = _mm256_mullo_epi32(_mm256_cvtepi16_epi32(unit), steps);
    }
    let columns = transposed_wide::<FEW>(transform_wide::<11>(rows));
    let rows = transposed_wide::<false>(transform_wide::<18>(columns));
    let mut samples = [[0; 8]; 8];
    let level = _mm256_set1_epi16(128);
    for i in [0, 4] {
        // After the shift the values fit 16 bits, also with the level added.
        let words = [
            _mm256_add_epi16(_mm256_packs_epi32(rows[i], rows[i + 1]), level),
            _mm256_add_epi16(_mm256_packs_epi32(rows[i + 2], rows[i + 3]), level),
        ];
        // Four samples of each of four rows, then the other four of each.
        let halves = _mm256_packus_epi16(words[0], words[1]);
        let four = _mm256_permutevar8x32_epi32(halves, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
        // SAFETY: 32 bytes from row `i`, 0 or 4, on are inside the array of eight rows; the store needs no alignment.
        unsafe { _mm256_storeu_si256(samples.as_mut_ptr().add(i).cast(), four) };
    }
    samples
}

/// Returns the one value of a data unit that has only DC, by both dimensions of [`transform`], each of which wraps.
#[inline(always)]
pub(super) fn flat(dc: i16, step: i32) -> u8 {
    let column = i32::from(dc).wrapping_mul(step).wrapping_mul(1 << 13).wrapping_add(1 << 10) >> 11;
    sample(column.wrapping_mul(1 << 13).wrapping_add(1 << 17) >> 18)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a sample by the definition, in floating point (T.81, A.3.3).
    fn exact(unit: &[i16; 64], x: usize, y: usize) -> f64 {
        let wave = |at: usize, u: usize| {
            let scale = if u == 0 { 0.5_f64.sqrt() } else { 1.0 };
            scale * ((2 * at + 1) as f64 * u as f64 * std::f64::consts::PI / 16.0).cos()
        };
        let sum: f64 = (0..64).map(|i| f64::from(unit[i]) * wave(x, i % 8) * wave(y, i / 8)).sum();
        (sum / 4.0 + 128.0).clamp(0.0, 255.0)
    }

    #[test]
    fn is_the_transform_of_the_standard() {
        let mut state = 1_u32;
        for _ in 0..50 {
            let unit: [i16; 64] = std::array::from_fn(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                i16::try_from(state >> 16 & 127).unwrap() - 64
            });
            let rows = inverse(&unit, &[1; 64]);
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the CPU features were checked above.
                assert_eq!(unsafe { inverse_wide(&unit, &[1; 64], 63) }, rows);
                let mut few = unit;
                few.iter_mut().enumerate().filter(|(i, _)| i % 8 > 3 || i / 8 > 3).for_each(|(_, v)| *v = 0);
                // SAFETY: as above.
                assert_eq!(unsafe { inverse_wide(&few, &[1; 64], 9) }, inverse(&few, &[1; 64]));
            }
            for (y, row) in rows.iter().enumerate() {
                for (x, &value) in row.iter().enumerate() {
                    assert!((f64::from(value) - exact(&unit, x, y)).abs() < 0.6, "{x} {y}");
                }
            }
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn few_coefficients_are_in_the_first_rows_and_columns() {
        let few = strile_codestream::jpeg::ZIGZAG.iter().take(LAST_OF_FEW as usize + 1);
        assert!(few.map(|&place| usize::from(place)).all(|place| place % 8 < 4 && place / 8 < 4));
    }

    /// Covers corrupt data that makes sums wrap.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn both_wrap_alike() {
        if !is_x86_feature_detected!("avx2") {
            return;
        }
        let mut state = 1_u32;
        for steps in [[255; 64], [65_535; 64]] {
            for _ in 0..200 {
                let unit: [i16; 64] = std::array::from_fn(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    ((state >> 16) as u16).cast_signed()
                });
                // SAFETY: the CPU features were checked above.
                assert_eq!(unsafe { inverse_wide(&unit, &steps, 63) }, inverse(&unit, &steps));
            }
        }
    }

    #[test]
    fn a_flat_unit_is_a_unit() {
        // Also corrupt data that makes sums wrap.
        let large = [i16::MIN, i16::MIN + 1, -20_000, -2049, 2048, 20_000, i16::MAX];
        for (dc, step) in
            (-300..300).chain(large).flat_map(|dc| [1, 7, 99, 255, 4000, 65_535].map(|step| (dc, step)))
        {
            let mut unit = [0; 64];
            unit[0] = dc;
            assert_eq!(inverse(&unit, &[step; 64]), [[flat(dc, step); 8]; 8], "{dc} {step}");
        }
    }
}

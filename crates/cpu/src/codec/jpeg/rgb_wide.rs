//! YCbCr to RGB, sixteen pixels at a time in 16-bit lanes, bit-identical to `upsample::to_rgb`.
//!
//! Constants above 1 are split into an integer part, which is added, and the rest, whose product keeps its upper 16
//! bits. Doubling the factor keeps one more bit, by which the product is rounded.

#![expect(unsafe_code, reason = "loads and stores of whole vectors")]

use super::upsample::TOGETHER;
use std::arch::x86_64::*;

/// 1.402 minus 1, and 1.772 minus 2, times 2^16.
const RED_OF_CR: i16 = 26_345;
const BLUE_OF_CB: i16 = -14_942;
/// Factors of green, with 1 added to -0.714: Cb's in the low half, Cr's in the high half.
const GREEN: i32 = 18_734 << 16 | (-22_554 & 0xFFFF);

/// Like `upsample::to_rgb`.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn to_rgb_wide(
    y: &[u8; TOGETHER],
    cb: &[u8; TOGETHER],
    cr: &[u8; TOGETHER],
) -> [u8; 3 * TOGETHER] {
    let (y, middle) = (words(y), _mm256_set1_epi16(128));
    let (cb, cr) = (_mm256_sub_epi16(words(cb), middle), _mm256_sub_epi16(words(cr), middle));
    let red = _mm256_add_epi16(y, _mm256_add_epi16(cr, product(cr, RED_OF_CR)));
    let twice = _mm256_add_epi16(cb, cb);
    let blue = _mm256_add_epi16(y, _mm256_add_epi16(twice, product(cb, BLUE_OF_CB)));
    let half = _mm256_set1_epi32(1 << 15);
    let factors = _mm256_set1_epi32(GREEN);
    let low = _mm256_madd_epi16(_mm256_unpacklo_epi16(cb, cr), factors);
    let high = _mm256_madd_epi16(_mm256_unpackhi_epi16(cb, cr), factors);
    let low = _mm256_srai_epi32::<16>(_mm256_add_epi32(low, half));
    let high = _mm256_srai_epi32::<16>(_mm256_add_epi32(high, half));
    let green = _mm256_add_epi16(_mm256_sub_epi16(y, cr), _mm256_packs_epi32(low, high));
    weave(bytes(red), bytes(green), bytes(blue))
}

#[inline]
#[target_feature(enable = "avx2")]
fn words(samples: &[u8; TOGETHER]) -> __m256i {
    // SAFETY: the array has the sixteen bytes that are loaded, at any alignment.
    _mm256_cvtepu8_epi16(unsafe { _mm_loadu_si128(samples.as_ptr().cast()) })
}

/// Multiplies numbers of at most 8 bits and a sign by a factor in units of 2^-16, with rounding.
#[inline]
#[target_feature(enable = "avx2")]
fn product(numbers: __m256i, factor: i16) -> __m256i {
    let twice = _mm256_mulhi_epi16(_mm256_add_epi16(numbers, numbers), _mm256_set1_epi16(factor));
    _mm256_srai_epi16::<1>(_mm256_add_epi16(twice, _mm256_set1_epi16(1)))
}

/// Clamps numbers to 0 to 255 and returns them as samples.
#[inline]
#[target_feature(enable = "avx2")]
fn bytes(numbers: __m256i) -> __m128i {
    let packed = _mm256_packus_epi16(numbers, numbers);
    _mm256_castsi256_si128(_mm256_permute4x64_epi64::<0b00_00_10_00>(packed))
}

/// Interleaves three bands to pixels.
#[inline]
#[target_feature(enable = "avx2")]
fn weave(red: __m128i, green: __m128i, blue: __m128i) -> [u8; 3 * TOGETHER] {
    // Source indices of each third of the pixels; negative ones come from another band.
    let pick = |band: __m128i, from: [i8; 16]| {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = from;
        _mm_shuffle_epi8(band, _mm_setr_epi8(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p))
    };
    let any = |a, b, c| _mm_or_si128(_mm_or_si128(a, b), c);
    const X: i8 = -1;
    let thirds = [
        any(
            pick(red, [0, X, X, 1, X, X, 2, X, X, 3, X, X, 4, X, X, 5]),
            pick(green, [X, 0, X, X, 1, X, X, 2, X, X, 3, X, X, 4, X, X]),
            pick(blue, [X, X, 0, X, X, 1, X, X, 2, X, X, 3, X, X, 4, X]),
        ),
        any(
            pick(red, [X, X, 6, X, X, 7, X, X, 8, X, X, 9, X, X, 10, X]),
            pick(green, [5, X, X, 6, X, X, 7, X, X, 8, X, X, 9, X, X, 10]),
            pick(blue, [X, 5, X, X, 6, X, X, 7, X, X, 8, X, X, 9, X, X]),
        ),
        any(
            pick(red, [X, 11, X, X, 12, X, X, 13, X, X, 14, X, X, 15, X, X]),
            pick(green, [X, X, 11, X, X, 12, X, X, 13, X, X, 14, X, X, 15, X]),
            pick(blue, [10, X, X, 11, X, X, 12, X, X, 13, X, X, 14, X, X, 15]),
        ),
    ];
    let mut pixels = [0; 3 * TOGETHER];
    for (to, third) in pixels.as_chunks_mut::<16>().0.iter_mut().zip(thirds) {
        // SAFETY: the array has the sixteen bytes that are stored, at any alignment.
        unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), third) };
    }
    pixels
}

#[cfg(test)]
mod tests {
    use super::super::upsample::to_rgb;
    use super::*;

    #[test]
    fn all_colours_are_those_of_the_plain_loop() {
        if !is_x86_feature_detected!("avx2") {
            return;
        }
        for cb in 0..=255_u8 {
            for cr in 0..=255_u8 {
                // All luma values in sixteen steps, so that no two consecutive ones share a vector.
                for first in 0..16_u8 {
                    let y = std::array::from_fn(|i| first + 16 * u8::try_from(i).unwrap());
                    let (cb, cr) = ([cb; TOGETHER], [cr; TOGETHER]);
                    // SAFETY: the CPU features were checked above.
                    assert_eq!(unsafe { to_rgb_wide(&y, &cb, &cr) }, to_rgb(&y, &cb, &cr));
                }
            }
        }
        // Chroma that differs from pixel to pixel.
        let y = std::array::from_fn(|i| u8::try_from(i * 16 + 3).unwrap());
        let cb = std::array::from_fn(|i| u8::try_from(i * 7).unwrap());
        let cr = std::array::from_fn(|i| u8::try_from(255 - i * 13).unwrap());
        // SAFETY: as above.
        assert_eq!(unsafe { to_rgb_wide(&y, &cb, &cr) }, to_rgb(&y, &cb, &cr));
    }
}

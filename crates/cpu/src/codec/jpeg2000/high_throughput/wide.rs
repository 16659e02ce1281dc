//! Coefficients of two quads at a time, on machines with AVX2.

#![expect(unsafe_code, reason = "vector loads and stores through pointers, and calls of an AVX2 function")]

use super::cleanup::{Magnitudes, PAIR, Quad};

/// Reads the coefficients of a row of quads with at most `most` bits each, and the exponents of its lower row, as
/// `Magnitudes::row` does. Returns false and reads nothing if the machine or the number of bits does not allow it.
#[inline(always)]
pub(super) fn row(
    magnitudes: &mut Magnitudes<'_>,
    quads: &[[Quad; 2]],
    most: u32,
    rows: (&mut [i32], &mut [i32]),
    exponents: &mut [[u8; PAIR]],
) -> bool {
    #[cfg(target_arch = "x86_64")]
    if most <= avx2::MOST_BITS && is_x86_feature_detected!("avx2") {
        // SAFETY: the machine has AVX2, asked just now.
        unsafe { avx2::row(magnitudes, quads, rows, exponents) };
        return true;
    }
    _ = (magnitudes, quads, most, rows, exponents);
    false
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::super::cleanup::{Magnitudes, PAIR, Quad, copy};
    use std::arch::x86_64::*;

    /// Most bits of a coefficient that four bytes hold, wherever its first bit is in its byte.
    pub(super) const MOST_BITS: u32 = 25;

    #[target_feature(enable = "avx2")]
    pub(super) fn row(
        magnitudes: &mut Magnitudes<'_>,
        quads: &[[Quad; 2]],
        (upper, lower): (&mut [i32], &mut [i32]),
        exponents: &mut [[u8; PAIR]],
    ) {
        let (bytes, end) = (magnitudes.bits.bytes(), magnitudes.bits.len());
        let shift = _mm_cvtsi32_si128(i32::from(magnitudes.planes) - 1);
        let mut at = magnitudes.at;
        let mut lower = lower.chunks_mut(PAIR);
        for ((pair, upper), exponents) in quads.iter().zip(upper.chunks_mut(PAIR)).zip(exponents) {
            // Ones follow the end, more of them than a pair has bits.
            at = at.min(end);
            let (values, told, len) = two_quads(pair, bytes, at, shift);
            at += len;
            store(upper, _mm256_castsi256_si128(values));
            store(lower.next().unwrap_or_default(), _mm256_extracti128_si256::<1>(values));
            *exponents = bits_of(_mm256_extracti128_si256::<1>(told)).to_le_bytes();
        }
        magnitudes.at = at;
    }

    /// Reads the coefficients of two quads whose bits begin at bit `at`. Returns them, their magnitudes as told, and how
    /// many bits they have. The upper row of both quads comes first, then the lower.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn two_quads(pair: &[Quad; 2], bytes: &[u8], at: usize, shift: __m128i) -> (__m256i, __m256i, usize) {
        let (zero, one) = (_mm256_setzero_si256(), _mm256_set1_epi32(1));
        let quads = halves(_mm_set1_epi32(pair[0].0.cast_signed()), _mm_set1_epi32(pair[1].0.cast_signed()));
        let index = _mm256_setr_epi32(0, 1, 2, 3, 0, 1, 2, 3);
        let bits_4 = _mm256_srlv_epi32(quads, _mm256_add_epi32(index, _mm256_set1_epi32(4)));
        let bits_8 = _mm256_srlv_epi32(quads, _mm256_add_epi32(index, _mm256_set1_epi32(8)));
        let bits_12 = _mm256_srlv_epi32(quads, _mm256_add_epi32(index, _mm256_set1_epi32(12)));
        let significant = _mm256_and_si256(bits_4, one);
        let bound = _mm256_and_si256(_mm256_srli_epi32::<16>(quads), _mm256_sub_epi32(zero, significant));
        let lens = _mm256_sub_epi32(bound, _mm256_and_si256(bits_12, one));
        // The sums of the lengths up to each coefficient of its quad.
        let sums = _mm256_add_epi32(lens, _mm256_slli_si256::<4>(lens));
        let sums = _mm256_add_epi32(sums, _mm256_slli_si256::<8>(sums));
        let first_len = _mm256_extract_epi32::<3>(sums).cast_unsigned() as usize;
        let second_len = _mm256_extract_epi32::<7>(sums).cast_unsigned() as usize;
        let next = at + first_len;
        let begin = halves(begin_in_byte(at), begin_in_byte(next));
        let begin = _mm256_add_epi32(begin, _mm256_sub_epi32(sums, lens));
        // Four bytes for each, from the one of its first bit on.
        let data = halves(load(bytes, at), load(bytes, next));
        let lowest = _mm_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12);
        let place = _mm256_shuffle_epi8(_mm256_srli_epi32::<3>(begin), halves(lowest, lowest));
        let place = _mm256_add_epi8(place, _mm256_set1_epi32(0x0302_0100));
        let in_byte = _mm256_and_si256(begin, _mm256_set1_epi32(7));
        let bits = _mm256_srlv_epi32(_mm256_shuffle_epi8(data, place), in_byte);
        let told = _mm256_andnot_si256(_mm256_sllv_epi32(_mm256_set1_epi32(-1), lens), bits);
        let highest = _mm256_sllv_epi32(_mm256_and_si256(bits_8, one), lens);
        let told = _mm256_or_si256(told, _mm256_or_si256(highest, significant));
        let magnitude = _mm256_add_epi32(told, _mm256_add_epi32(significant, significant));
        let magnitude = _mm256_and_si256(_mm256_sll_epi32(magnitude, shift), _mm256_set1_epi32(i32::MAX));
        let negative = _mm256_sub_epi32(zero, _mm256_and_si256(bits, significant));
        let values = _mm256_sub_epi32(_mm256_xor_si256(magnitude, negative), negative);
        let by_rows = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
        (
            _mm256_permutevar8x32_epi32(values, by_rows),
            _mm256_permutevar8x32_epi32(told, by_rows),
            first_len + second_len,
        )
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn halves(low: __m128i, high: __m128i) -> __m256i {
        _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high)
    }

    /// The place of a bit in its byte.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn begin_in_byte(at: usize) -> __m128i {
        _mm_set1_epi32(i32::from(at.to_le_bytes()[0] & 7))
    }

    /// The 16 bytes from that of bit `at` on; zeros if they are not all there.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(bytes: &[u8], at: usize) -> __m128i {
        let chunk = bytes.get(at / 8..).and_then(|rest| rest.first_chunk::<16>());
        let chunk = chunk.unwrap_or(&[0; 16]);
        // SAFETY: the array has the 16 bytes that are read; no alignment is asked.
        unsafe { _mm_loadu_si128(chunk.as_ptr().cast()) }
    }

    /// A row of a pair, as far as it lies within the code-block.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn store(to: &mut [i32], values: __m128i) {
        let mut made = [0; PAIR];
        // SAFETY: the array has the 16 bytes that are written; no alignment is asked.
        unsafe { _mm_storeu_si128(made.as_mut_ptr().cast(), values) };
        copy(to, made);
    }

    /// The bits of four numbers below 2^26, one byte each.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn bits_of(told: __m128i) -> u32 {
        // The exponent of a float, which is not rounded up: the second bit is 0.
        let floats = _mm_cvtepi32_ps(_mm_andnot_si128(_mm_srli_epi32::<1>(told), told));
        let exponents = _mm_srli_epi32::<23>(_mm_castps_si128(floats));
        let bits = _mm_subs_epu16(exponents, _mm_set1_epi32(126));
        let bytes = _mm_packus_epi16(_mm_packs_epi32(bits, bits), bits);
        _mm_cvtsi128_si32(bytes).cast_unsigned()
    }
}

//! Rows of quads on CPUs with AVX2: the coefficients of two quads at a time, the contexts and bounds of eight.

#![expect(unsafe_code, reason = "vector loads and stores through pointers, and calls of an AVX2 function")]

use super::cleanup::{Above, Beside, Contexts, Magnitudes, PAIR, Quad, Quads};

/// Reads the coefficients of a row of quads with at most `most` bits each, and the exponents of its lower row, like
/// `Magnitudes::row`, and calls `beside` for every pair. Returns `false` and reads nothing if the CPU or the number of
/// bits does not allow it.
#[inline(always)]
pub(super) fn row(
    magnitudes: &mut Magnitudes<'_>,
    quads: &[[Quad; 2]],
    most: u32,
    rows: (&mut [i32], &mut [i32]),
    exponents: &mut [[u8; PAIR]],
    beside: &mut impl Beside,
) -> bool {
    #[cfg(target_arch = "x86_64")]
    if most <= avx2::MOST_BITS && is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2") {
        // SAFETY: AVX2 and BMI2 were checked above.
        unsafe { avx2::row(magnitudes, quads, rows, exponents, beside) };
        return true;
    }
    _ = (magnitudes, quads, most, rows, exponents, beside);
    false
}

/// Sets the contributions of a row of `count` quads to the contexts of the next row. Returns how many are set.
#[inline(always)]
pub(super) fn contexts(quads: &Quads, count: usize, contexts: &mut Contexts) -> usize {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: AVX2 was checked above.
        unsafe { avx2::contexts(quads, count, contexts) };
        return count;
    }
    _ = (quads, count, contexts);
    0
}

/// Adds the contribution of the row above to the coded exponents of a row, eight quads at a time. Returns the number of
/// quads done, and the maximum bits of one of them.
#[inline(always)]
pub(super) fn bounds(quads: &mut Quads, count: usize, exponents: &Above) -> (usize, u32) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: AVX2 was checked above.
        return (count / 8 * 8, unsafe { avx2::bounds(quads, count, exponents) });
    }
    _ = (quads, count, exponents);
    (0, 0)
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::super::cleanup::{Above, Beside, Contexts, MOST_QUADS, Magnitudes, PAIR, Quad, Quads, copy};
    use std::arch::x86_64::*;

    /// Maximum bits of a coefficient that four bytes hold, wherever its first bit is in its byte.
    pub(super) const MOST_BITS: u32 = 25;

    /// Like the outer function. Loops use indices: zipped iterators are not inlined here and would be called for every
    /// pair.
    #[target_feature(enable = "avx2,bmi2")]
    pub(super) fn row(
        magnitudes: &mut Magnitudes<'_>,
        quads: &[[Quad; 2]],
        (upper, lower): (&mut [i32], &mut [i32]),
        exponents: &mut [[u8; PAIR]],
        beside: &mut impl Beside,
    ) {
        let (bytes, end) = (magnitudes.bits.bytes(), magnitudes.bits.len());
        let shift = _mm_cvtsi32_si128(i32::from(magnitudes.planes) - 1);
        let mut at = magnitudes.at;
        for index in 0..quads.len() {
            beside.pair(index);
            let (Some(pair), Some(exponents)) = (quads.get(index), exponents.get_mut(index)) else { break };
            // Ones follow the end, more of them than a pair has bits.
            at = at.min(end);
            let (values, told, len) = two_quads(pair, bytes, at, shift);
            at += len;
            store(upper, index, _mm256_castsi256_si128(values));
            store(lower, index, _mm256_extracti128_si256::<1>(values));
            *exponents = bits_of(_mm256_extracti128_si256::<1>(told)).to_le_bytes();
        }
        magnitudes.at = at;
    }

    /// Sets the contexts of at least `count` quads.
    #[target_feature(enable = "avx2")]
    pub(super) fn contexts(quads: &Quads, count: usize, contexts: &mut Contexts) {
        let one = _mm256_set1_epi32(1);
        let mut at = 0;
        while at < count && at + 8 <= MOST_QUADS {
            // SAFETY: the eight quads from `at` on, and those one and two later, are among the `MOST_QUADS + 2`, which
            // have 4 bytes each; no alignment is required.
            let (west, own, east) = unsafe {
                let first = quads.as_ptr().add(at);
                (
                    _mm256_loadu_si256(first.cast()),
                    _mm256_loadu_si256(first.add(1).cast()),
                    _mm256_loadu_si256(first.add(2).cast()),
                )
            };
            let left = _mm256_or_si256(_mm256_srli_epi32::<7>(west), _mm256_srli_epi32::<5>(own));
            let right = _mm256_or_si256(_mm256_srli_epi32::<7>(own), _mm256_srli_epi32::<5>(east));
            let left = _mm256_slli_epi32::<7>(_mm256_and_si256(left, one));
            let right = _mm256_slli_epi32::<9>(_mm256_and_si256(right, one));
            // SAFETY: the eight contexts from `at` on are among the `MOST_QUADS`; no alignment is required.
            unsafe {
                _mm256_storeu_si256(contexts.as_mut_ptr().add(at).cast(), _mm256_or_si256(left, right))
            };
            at += 8;
        }
    }

    /// Adds the bounds of groups of eight quads. Returns the maximum.
    #[target_feature(enable = "avx2")]
    pub(super) fn bounds(quads: &mut Quads, count: usize, exponents: &Above) -> u32 {
        let (one, zero) = (_mm256_set1_epi32(1), _mm256_setzero_si256());
        let mut most = zero;
        let mut at = 0;
        while at + 8 <= count.min(MOST_QUADS) {
            // SAFETY: the 18 bytes from `2 * at` on are among the `2 * MOST_QUADS + 5`; no alignment is required.
            let (near, far) = unsafe {
                let first = exponents.as_ptr().add(2 * at);
                (_mm_loadu_si128(first.cast()), _mm_loadu_si128(first.add(2).cast()))
            };
            let pairs = _mm_max_epu8(near, far);
            let largest = _mm_max_epu8(pairs, _mm_srli_epi16::<8>(pairs));
            let largest = _mm256_cvtepu16_epi32(_mm_and_si128(largest, _mm_set1_epi16(255)));
            let known = _mm256_max_epi32(_mm256_sub_epi32(largest, one), one);
            // SAFETY: the eight quads from `at + 1` on are among the `MOST_QUADS + 2`; no alignment is required.
            let place = unsafe { quads.as_mut_ptr().add(at + 1) }.cast::<__m256i>();
            // SAFETY: as above.
            let own = unsafe { _mm256_loadu_si256(place) };
            let significance = _mm256_and_si256(own, _mm256_set1_epi32(0xF0));
            let without_first = _mm256_sub_epi32(significance, _mm256_set1_epi32(0x10));
            let one_or_none = _mm256_cmpeq_epi32(_mm256_and_si256(significance, without_first), zero);
            let bound = _mm256_blendv_epi8(known, one, one_or_none);
            let own = _mm256_add_epi32(own, _mm256_slli_epi32::<16>(bound));
            // SAFETY: as above.
            unsafe { _mm256_storeu_si256(place, own) };
            most = _mm256_max_epi32(most, _mm256_srli_epi32::<16>(own));
            at += 8;
        }
        let most = _mm_max_epi32(_mm256_castsi256_si128(most), _mm256_extracti128_si256::<1>(most));
        let most = _mm_max_epi32(most, _mm_shuffle_epi32::<0b00_00_11_10>(most));
        let most = _mm_max_epi32(most, _mm_shuffle_epi32::<1>(most));
        _mm_cvtsi128_si32(most).cast_unsigned()
    }

    /// Reads the coefficients of two quads whose bits begin at bit `at`. Returns them, their magnitudes as coded, and
    /// their number of bits. The upper row of both quads comes first, then the lower.
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
        // Prefix sums of the lengths within each quad.
        let sums = _mm256_add_epi32(lens, _mm256_slli_si256::<4>(lens));
        let sums = _mm256_add_epi32(sums, _mm256_slli_si256::<8>(sums));
        let first_len = _mm256_extract_epi32::<3>(sums).cast_unsigned() as usize;
        let second_len = _mm256_extract_epi32::<7>(sums).cast_unsigned() as usize;
        let next = at + first_len;
        let begin = halves(begin_in_byte(at), begin_in_byte(next));
        let begin = _mm256_add_epi32(begin, _mm256_sub_epi32(sums, lens));
        // Four bytes for each, starting with the byte of its first bit.
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

    /// Returns the position of a bit in its byte.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn begin_in_byte(at: usize) -> __m128i {
        _mm_set1_epi32(i32::from(at.to_le_bytes()[0] & 7))
    }

    /// Returns the 16 bytes from that of bit `at` on; zeros if they are not all available.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(bytes: &[u8], at: usize) -> __m128i {
        let chunk = bytes.get(at / 8..).and_then(|rest| rest.first_chunk::<16>());
        let chunk = chunk.unwrap_or(&[0; 16]);
        // SAFETY: the array has the 16 bytes that are read; no alignment is required.
        unsafe { _mm_loadu_si128(chunk.as_ptr().cast()) }
    }

    /// Writes the row of pair number `index`, clipped to the code-block.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn store(row: &mut [i32], index: usize, values: __m128i) {
        let at = index * PAIR;
        if at + PAIR <= row.len() {
            // SAFETY: the row has the four values that are written from `at` on; no alignment is required.
            unsafe { _mm_storeu_si128(row.as_mut_ptr().add(at).cast(), values) };
            return;
        }
        let mut made = [0; PAIR];
        // SAFETY: the array has the 16 bytes that are written; no alignment is required.
        unsafe { _mm_storeu_si128(made.as_mut_ptr().cast(), values) };
        copy(row.get_mut(at..).unwrap_or_default(), made);
    }

    /// Returns the number of bits of four numbers below 2^26, one byte each.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn bits_of(told: __m128i) -> u32 {
        // The exponent of the number as a float, which is not rounded up: the second bit is 0.
        let floats = _mm_cvtepi32_ps(_mm_andnot_si128(_mm_srli_epi32::<1>(told), told));
        let exponents = _mm_srli_epi32::<23>(_mm_castps_si128(floats));
        let bits = _mm_subs_epu16(exponents, _mm_set1_epi32(126));
        let bytes = _mm_packus_epi16(_mm_packs_epi32(bits, bits), bits);
        _mm_cvtsi128_si32(bytes).cast_unsigned()
    }
}

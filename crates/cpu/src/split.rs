//! Splits pixels of several samples into one row per band, reading each byte once, for consecutive bands: three bytes,
//! as in colour pictures, and eight two-byte samples of pixels that have at least eight, as from sensors.

#![expect(unsafe_code, reason = "vector loads and stores through pointers, and calls of an AVX2 function")]

/// Splits pixels of three bytes, as many as all slices hold.
pub(crate) fn split3(pixels: &[u8], bands: [&mut [u8]; 3]) {
    let [a, b, c] = bands;
    let count = (pixels.len() / 3).min(a.len()).min(b.len()).min(c.len());
    let (Some(a), Some(b), Some(c)) = (a.get_mut(..count), b.get_mut(..count), c.get_mut(..count)) else {
        return;
    };
    #[cfg(target_arch = "x86_64")]
    let done = if is_x86_feature_detected!("avx2") {
        // SAFETY: AVX2 was checked above.
        unsafe { avx2::split3(pixels, [&mut *a, &mut *b, &mut *c]) }
    } else {
        0
    };
    #[cfg(not(target_arch = "x86_64"))]
    let done = 0;
    let rest = pixels.as_chunks::<3>().0.iter().zip(a).zip(b).zip(c).skip(done);
    for ((([from_a, from_b, from_c], a), b), c) in rest {
        (*a, *b, *c) = (*from_a, *from_b, *from_c);
    }
}

/// Splits eight two-byte samples that begin `offset` bytes after the start of each pixel of `step` bytes, for as many
/// pixels as all slices hold.
pub(crate) fn split8_words(pixels: &[u8], step: usize, offset: usize, mut bands: [&mut [u8]; WORDS]) {
    if step < offset.saturating_add(2 * WORDS) {
        return;
    }
    let shortest = bands.iter().map(|band| band.len() / 2).min().unwrap_or(0);
    let count = (pixels.len() / step).min(shortest);
    #[cfg(target_arch = "x86_64")]
    let done = sse2::split8_words(pixels, (step, offset), count, &mut bands);
    #[cfg(not(target_arch = "x86_64"))]
    let done = 0;
    for (at, pixel) in pixels.chunks_exact(step).enumerate().take(count).skip(done) {
        let samples = pixel.get(offset..).unwrap_or_default().as_chunks::<2>().0;
        for (band, sample) in bands.iter_mut().zip(samples) {
            if let Some(to) = band.as_chunks_mut::<2>().0.get_mut(at) {
                *to = *sample;
            }
        }
    }
}

/// Two-byte samples that are split together.
pub(crate) const WORDS: usize = 8;

#[cfg(target_arch = "x86_64")]
mod sse2 {
    use super::WORDS;
    use std::arch::x86_64::*;

    /// Splits groups of eight pixels, of at most `count` that all slices have; returns the number of pixels done.
    pub(super) fn split8_words(
        pixels: &[u8],
        (step, offset): (usize, usize),
        count: usize,
        bands: &mut [&mut [u8]; WORDS],
    ) -> usize {
        let shortest = bands.iter().map(|band| band.len() / 2).min().unwrap_or(0);
        let pixels_there = if offset + 2 * WORDS <= step { pixels.len() / step } else { 0 };
        let count = count.min(shortest).min(pixels_there) / 8 * 8;
        let mut at = 0;
        while at < count {
            // SAFETY: `at + 8` pixels exist, each has 16 bytes from `offset` on. No alignment is required.
            let row = |number: usize| unsafe {
                _mm_loadu_si128(pixels.as_ptr().add((at + number) * step + offset).cast())
            };
            let columns = transposed([row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7)]);
            for (band, column) in bands.iter_mut().zip(columns) {
                // SAFETY: each slice has the 16 bytes of the samples from `at` to `at + 8`. No alignment is required.
                unsafe { _mm_storeu_si128(band.as_mut_ptr().add(2 * at).cast(), column) };
            }
            at += 8;
        }
        count
    }

    /// Returns the columns of eight rows of eight words.
    #[inline(always)]
    fn transposed(rows: [__m128i; 8]) -> [__m128i; 8] {
        // SAFETY: every CPU of this architecture has SSE2.
        unsafe {
            let [a, b, c, d, e, f, g, h] = rows;
            let (ab, ef) = (_mm_unpacklo_epi16(a, b), _mm_unpacklo_epi16(e, f));
            let (ab_high, ef_high) = (_mm_unpackhi_epi16(a, b), _mm_unpackhi_epi16(e, f));
            let (cd, gh) = (_mm_unpacklo_epi16(c, d), _mm_unpacklo_epi16(g, h));
            let (cd_high, gh_high) = (_mm_unpackhi_epi16(c, d), _mm_unpackhi_epi16(g, h));
            // Words 0 and 1, 2 and 3, and so on, of four rows each.
            let (x0, y0) = (_mm_unpacklo_epi32(ab, cd), _mm_unpacklo_epi32(ef, gh));
            let (x1, y1) = (_mm_unpackhi_epi32(ab, cd), _mm_unpackhi_epi32(ef, gh));
            let (x2, y2) = (_mm_unpacklo_epi32(ab_high, cd_high), _mm_unpacklo_epi32(ef_high, gh_high));
            let (x3, y3) = (_mm_unpackhi_epi32(ab_high, cd_high), _mm_unpackhi_epi32(ef_high, gh_high));
            [
                _mm_unpacklo_epi64(x0, y0),
                _mm_unpackhi_epi64(x0, y0),
                _mm_unpacklo_epi64(x1, y1),
                _mm_unpackhi_epi64(x1, y1),
                _mm_unpacklo_epi64(x2, y2),
                _mm_unpackhi_epi64(x2, y2),
                _mm_unpacklo_epi64(x3, y3),
                _mm_unpackhi_epi64(x3, y3),
            ]
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    /// Pixels that are split together.
    const GROUP: usize = 32;

    /// Splits whole groups; returns the number of pixels done.
    #[target_feature(enable = "avx2")]
    pub(super) fn split3(pixels: &[u8], [a, b, c]: [&mut [u8]; 3]) -> usize {
        let count = (pixels.len() / 3).min(a.len()).min(b.len()).min(c.len()) / GROUP * GROUP;
        // Every third of 48 bytes is needed, at different positions in each of the three vectors of 16 bytes, so they
        // are blended into one vector first and then reordered.
        let [in_second, in_third] = [both(MASKS[0]), both(MASKS[1])];
        let orders = [both(ORDERS[0]), both(ORDERS[1]), both(ORDERS[2])];
        let mut at = 0;
        while at < count {
            // SAFETY: `count` is at most a third of the available bytes, and a multiple of the group: 96 bytes are
            // available from `3 * at` on. No alignment is required.
            let (x, y, z) = unsafe {
                let from = pixels.as_ptr().add(3 * at);
                (halves(from), halves(from.add(16)), halves(from.add(32)))
            };
            // The first byte of a pixel lies at 0, 3, … of the first 16 bytes, at 2, 5, … of the second and at 1, 4, …
            // of the third. For the second byte of a pixel the second vector comes first, for the third the third.
            let first = _mm256_blendv_epi8(_mm256_blendv_epi8(x, y, in_second), z, in_third);
            let second = _mm256_blendv_epi8(_mm256_blendv_epi8(y, z, in_second), x, in_third);
            let third = _mm256_blendv_epi8(_mm256_blendv_epi8(z, x, in_second), y, in_third);
            // SAFETY: each slice has the 32 bytes from `at` on, since `at + GROUP <= count`. No alignment is required.
            unsafe {
                _mm256_storeu_si256(a.as_mut_ptr().add(at).cast(), _mm256_shuffle_epi8(first, orders[0]));
                _mm256_storeu_si256(b.as_mut_ptr().add(at).cast(), _mm256_shuffle_epi8(second, orders[1]));
                _mm256_storeu_si256(c.as_mut_ptr().add(at).cast(), _mm256_shuffle_epi8(third, orders[2]));
            }
            at += GROUP;
        }
        count
    }

    /// Masks of positions 2, 5, … and 1, 4, … of 16 bytes.
    const MASKS: [[u8; 16]; 2] = [every_third(2), every_third(1)];
    /// Indices of each band's bytes, in order.
    const ORDERS: [[u8; 16]; 3] = [order(0), order(1), order(2)];

    #[expect(clippy::indexing_slicing, reason = "evaluated when compiling")]
    const fn every_third(first: usize) -> [u8; 16] {
        let mut mask = [0; 16];
        let mut at = first;
        while at < 16 {
            mask[at] = 0x80;
            at += 3;
        }
        mask
    }

    #[expect(clippy::indexing_slicing, reason = "evaluated when compiling")]
    const fn order(band: u8) -> [u8; 16] {
        let mut order = [0; 16];
        let mut at = 0_u8;
        while at < 16 {
            order[at as usize] = (3 * at + band) % 16;
            at += 1;
        }
        order
    }

    #[target_feature(enable = "avx2")]
    fn both(bytes: [u8; 16]) -> __m256i {
        // SAFETY: the array has the 16 bytes that are read; no alignment is required.
        _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) })
    }

    /// Loads 16 bytes, and those 48 bytes later.
    ///
    /// # Safety
    /// 64 bytes must be readable at `from`.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn halves(from: *const u8) -> __m256i {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let low = _mm256_castsi128_si256(_mm_loadu_si128(from.cast()));
            _mm256_inserti128_si256::<1>(low, _mm_loadu_si128(from.add(48).cast()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_goes_to_its_band() {
        for count in 0..300_usize {
            let pixels: Vec<u8> = (0..3 * count).map(|at| (at * at / 7 % 251).to_le_bytes()[0]).collect();
            let mut bands = [vec![0xAA; count], vec![0xAA; count + count % 2], vec![0xAA; count]];
            let [a, b, c] = &mut bands;
            split3(&pixels, [a, b, c]);
            for (band, made) in bands.iter().enumerate() {
                let expected: Vec<u8> = pixels.iter().skip(band).step_by(3).copied().collect();
                assert_eq!(made[..count], expected, "{count} {band}");
                assert!(made[count..].iter().all(|&byte| byte == 0xAA), "{count} {band}");
            }
        }
    }

    #[test]
    fn every_word_goes_to_its_band() {
        for samples in [8, 9, 10, 13, 16] {
            for count in 0..60_usize {
                let step = 2 * samples;
                let pixels: Vec<u8> =
                    (0..step * count).map(|at| (at * at / 5 % 253).to_le_bytes()[0]).collect();
                for first in [0, samples - 8] {
                    let mut bands: [Vec<u8>; 8] = std::array::from_fn(|_| vec![0xAA; 2 * count]);
                    split8_words(&pixels, step, 2 * first, bands.each_mut().map(Vec::as_mut_slice));
                    for (band, made) in bands.iter().enumerate() {
                        let from = 2 * (first + band);
                        let expected: Vec<u8> =
                            pixels.chunks(step).flat_map(|pixel| pixel[from..from + 2].to_vec()).collect();
                        assert_eq!(*made, expected, "{samples} {count} {first} {band}");
                    }
                }
            }
        }
    }
}

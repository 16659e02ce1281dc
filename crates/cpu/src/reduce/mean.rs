//! Means of two by two valid pixels, computed directly from rows in memory: bytes with up to four samples, and words
//! with one. Most rasters are of these kinds; other types and sample counts use `four`.

#![expect(unsafe_code, reason = "vector loads and stores through pointers, and calls of AVX2 functions")]

use strile_engine::Resampling;
use strile_tiff::DataType;

/// Means of rows of one kind.
#[derive(Debug, Clone, Copy)]
pub(super) struct Means {
    words: bool,
    samples: usize,
}

impl Means {
    /// Returns the means for pixels of `samples` samples of a type; `None` if another method is requested, or if this
    /// module does not support them.
    pub(super) fn of(method: Resampling, data_type: DataType, samples: usize) -> Option<Self> {
        let words = data_type == DataType::U16;
        let known = match data_type {
            DataType::U8 => samples <= 4,
            _ => words && samples == 1,
        };
        (method == Resampling::Average && known).then_some(Self { words, samples })
    }

    /// Appends the means of a row and the one below it; `false` if the number of pixels is odd and nothing was
    /// appended.
    pub(super) fn append(self, top: &[u8], bottom: &[u8], to: &mut Vec<u8>) -> bool {
        let pair = 2 * self.samples * if self.words { 2 } else { 1 };
        if top.len() != bottom.len() || !top.len().is_multiple_of(pair) {
            return false;
        }
        let start = to.len();
        to.resize(start + top.len() / 2, 0);
        let new = to.get_mut(start..).unwrap_or_default();
        match (self.words, self.samples) {
            (true, _) => words(top, bottom, new),
            (_, 1) => bytes::<1>(top, bottom, new),
            (_, 2) => bytes::<2>(top, bottom, new),
            (_, 3) => bytes::<3>(top, bottom, new),
            _ => bytes::<4>(top, bottom, new),
        }
        true
    }
}

fn bytes<const SAMPLES: usize>(top: &[u8], bottom: &[u8], to: &mut [u8]) {
    #[cfg(target_arch = "x86_64")]
    let done = if is_x86_feature_detected!("avx2") {
        // SAFETY: AVX2 was checked above.
        unsafe { avx2::bytes::<SAMPLES>(top, bottom, to) }
    } else {
        0
    };
    #[cfg(not(target_arch = "x86_64"))]
    let done = 0;
    let pairs = top.chunks_exact(2 * SAMPLES).zip(bottom.chunks_exact(2 * SAMPLES));
    for (means, (top, bottom)) in to.chunks_exact_mut(SAMPLES).zip(pairs).skip(done) {
        let ((a, b), (c, d)) = (top.split_at(SAMPLES), bottom.split_at(SAMPLES));
        let four = a.iter().zip(b).zip(c.iter().zip(d));
        for (mean, ((a, b), (c, d))) in means.iter_mut().zip(four) {
            let sum = [a, b, c, d].into_iter().map(|&sample| u16::from(sample)).sum::<u16>();
            *mean = ((sum + 2) >> 2).to_le_bytes()[0];
        }
    }
}

fn words(top: &[u8], bottom: &[u8], to: &mut [u8]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: AVX2 was checked above.
        return unsafe { avx2::words(top, bottom, to) };
    }
    plain_words(top, bottom, to);
}

#[inline(always)]
fn plain_words(top: &[u8], bottom: &[u8], to: &mut [u8]) {
    let pairs = top.as_chunks::<4>().0.iter().zip(bottom.as_chunks::<4>().0);
    for (to, (top, bottom)) in to.as_chunks_mut::<2>().0.iter_mut().zip(pairs) {
        let (top, bottom) = (u32::from_ne_bytes(*top), u32::from_ne_bytes(*bottom));
        let sum = (top & 0xFFFF) + (top >> 16) + (bottom & 0xFFFF) + (bottom >> 16);
        #[expect(clippy::cast_possible_truncation, reason = "a mean of words is a word")]
        let mean = ((sum + 2) >> 2) as u16;
        *to = mean.to_ne_bytes();
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    /// Bytes of a row that are loaded at a time.
    const LOADED: usize = 16;

    /// Computes means from the left; returns the number of pixels done.
    #[target_feature(enable = "avx2")]
    pub(super) fn bytes<const SAMPLES: usize>(top: &[u8], bottom: &[u8], to: &mut [u8]) -> usize {
        let whole = LOADED / (2 * SAMPLES) * (2 * SAMPLES);
        let order = order::<SAMPLES>();
        // SAFETY: the array has the 16 bytes that are read; no alignment is required.
        let order = unsafe { _mm_loadu_si128(order.as_ptr().cast()) };
        let half = _mm256_set1_epi16(2);
        let len = top.len().min(bottom.len());
        let (mut from, mut at) = (0, 0);
        while from + LOADED + SAMPLES <= len && at + LOADED / 2 <= to.len() {
            // Adds to each sample that of the pixel to its right, in both rows. Of every two pixels the first is kept.
            // SAFETY: both rows have the 16 bytes from `from` on, and those `SAMPLES` later. No alignment is required.
            let (left, right) = unsafe {
                let (top, bottom) = (top.as_ptr().add(from), bottom.as_ptr().add(from));
                let left = _mm256_add_epi16(wide(top), wide(bottom));
                (left, _mm256_add_epi16(wide(top.add(SAMPLES)), wide(bottom.add(SAMPLES))))
            };
            let means = _mm256_srli_epi16::<2>(_mm256_add_epi16(_mm256_add_epi16(left, right), half));
            let (low, high) = (_mm256_castsi256_si128(means), _mm256_extracti128_si256::<1>(means));
            let wanted = _mm_shuffle_epi8(_mm_packus_epi16(low, high), order);
            // SAFETY: eight bytes exist from `at` on; those that are not means are overwritten later. No alignment is
            // required.
            unsafe { _mm_storel_epi64(to.as_mut_ptr().add(at).cast(), wanted) };
            from += whole;
            at += whole / 2;
        }
        at / SAMPLES
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn words(top: &[u8], bottom: &[u8], to: &mut [u8]) {
        super::plain_words(top, bottom, to);
    }

    /// Loads 16 bytes as words.
    ///
    /// # Safety
    /// 16 bytes must be readable at `from`.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn wide(from: *const u8) -> __m256i {
        // SAFETY: guaranteed by the caller.
        _mm256_cvtepu8_epi16(unsafe { _mm_loadu_si128(from.cast()) })
    }

    /// Returns the indices, among `LOADED` bytes, of the samples of the first of every two pixels.
    #[expect(clippy::indexing_slicing, reason = "below 8, of 16")]
    fn order<const SAMPLES: usize>() -> [u8; 16] {
        let mut order = [0x80; 16];
        let (mut at, mut from) = (0, 0_u8);
        while at < LOADED / (2 * SAMPLES) * SAMPLES {
            order[at] = from;
            at += 1;
            from += 1;
            if at.is_multiple_of(SAMPLES) {
                from += SAMPLES.to_le_bytes()[0];
            }
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(len: usize, seed: usize) -> Vec<u8> {
        (0..len).map(|at| (at * at / 3 + at * seed + (at >> 2) * 89).to_le_bytes()[0]).collect()
    }

    /// Returns the means of pixels of samples of `size` bytes, one by one.
    fn expected(top: &[u8], bottom: &[u8], samples: usize, size: usize) -> Vec<u8> {
        let sample = |row: &[u8], pixel: usize, number: usize| {
            let at = (pixel * samples + number) * size;
            (0..size).map(|byte| u32::from(row[at + byte]) << (8 * byte)).sum::<u32>()
        };
        let mut means = Vec::new();
        for pixel in 0..top.len() / samples / size / 2 {
            for number in 0..samples {
                let both = |row: &[u8]| sample(row, 2 * pixel, number) + sample(row, 2 * pixel + 1, number);
                let mean = (both(top) + both(bottom) + 2) / 4;
                means.extend_from_slice(&mean.to_le_bytes()[..size]);
            }
        }
        means
    }

    #[test]
    fn means_are_those_of_each_pixel() {
        let kinds =
            [(DataType::U8, 1), (DataType::U8, 2), (DataType::U8, 3), (DataType::U8, 4), (DataType::U16, 1)];
        for (data_type, samples) in kinds {
            let means = Means::of(Resampling::Average, data_type, samples).unwrap();
            for pixels in (0..200).step_by(2).chain([1024]) {
                let len = pixels * samples * data_type.size();
                let rows = [(noise(len, 7), noise(len, 90)), (vec![255; len], vec![255; len])];
                for (top, bottom) in rows {
                    let mut made = vec![1, 2, 3];
                    assert!(means.append(&top, &bottom, &mut made));
                    assert_eq!(made[..3], [1, 2, 3]);
                    let expected = expected(&top, &bottom, samples, data_type.size());
                    assert_eq!(made[3..], expected, "{pixels} pixels of {samples} of {data_type}");
                }
            }
            let (odd, mut made) = (noise(5 * samples * data_type.size(), 1), Vec::new());
            assert!(!means.append(&odd, &odd, &mut made) && made.is_empty(), "an odd number of pixels");
        }
    }

    #[test]
    fn other_kinds_are_left_to_others() {
        assert!(Means::of(Resampling::Average, DataType::U8, 5).is_none());
        assert!(Means::of(Resampling::Average, DataType::U16, 2).is_none());
        assert!(Means::of(Resampling::Average, DataType::I16, 1).is_none());
        assert!(Means::of(Resampling::Median, DataType::U8, 1).is_none());
    }
}

//! Inner loops of the placement pass, vectorised if the CPU supports it: running sums (both predictors), interleaving
//! byte planes to samples (predictor 3), byte swaps, and picking one sample out of pixels.
//!
//! Every function accepts any slices and accesses nothing else: lengths that do not match end the loop early and are
//! never assumed. AVX2 is detected at run time; without it, and on architectures other than x86-64, the plain loops at
//! the end of the file do all the work, with the same results.

#![expect(unsafe_code, reason = "vector loads and stores through pointers, and calls of AVX2 functions")]
#![expect(
    clippy::indexing_slicing,
    reason = "indices are below constant array lengths, or checked in the loop's condition"
)]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// Writes the running sums of `src` to `dst`: each lane of `lane` bytes is added to the one `distance` bytes before.
///
/// `lane` is 1, 2, 4 or 8 bytes, native order; `distance` is a multiple of it. The shorter slice determines the length.
pub(crate) fn running_sum(src: &[u8], dst: &mut [u8], lane: usize, distance: usize) {
    let len = src.len().min(dst.len()) / lane.max(1) * lane.max(1);
    let (src, dst) = (&src[..len], &mut dst[..len]);
    #[cfg(target_arch = "x86_64")]
    let done = if is_x86_feature_detected!("avx2") {
        // SAFETY: AVX2 was checked above.
        unsafe { sum_dispatch(src, dst, lane, distance) }
    } else {
        0
    };
    #[cfg(not(target_arch = "x86_64"))]
    let done = 0;
    plain_sum(src, dst, lane, distance, done);
}

/// Interleaves byte planes, most significant plane first, to samples of `size` bytes in native order.
///
/// Makes as many samples as `dst` holds, the first ones of each plane; a plane is one `size`-th of `planes`.
pub(crate) fn weave(planes: &[u8], dst: &mut [u8], size: usize) {
    if size == 0 {
        return;
    }
    let plane = planes.len() / size;
    let count = (dst.len() / size).min(plane);
    #[cfg(target_arch = "x86_64")]
    let done = weave_sse2(planes, plane, &mut dst[..count * size], size);
    #[cfg(not(target_arch = "x86_64"))]
    let done = 0;
    for index in done..count {
        for byte in 0..size {
            let at = if cfg!(target_endian = "little") { size - 1 - byte } else { byte };
            dst[index * size + at] = planes[byte * plane + index];
        }
    }
}

/// Copies `src` to `dst`, reversing the bytes of every unit of 2, 3, 4 or 8 bytes (other units are copied unchanged).
pub(crate) fn swap(src: &[u8], dst: &mut [u8], unit: usize) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: AVX2 was checked above.
        return unsafe { swap_avx2(src, dst, unit) };
    }
    swap_units(src, dst, unit);
}

/// Picks one sample of every pixel.
pub(crate) struct Picker {
    size: usize,
    samples: usize,
    sample: usize,
    /// For each 16 input bytes of an output vector of 16: the source index of each output byte, 0x80 for "not here".
    #[cfg(target_arch = "x86_64")]
    shuffles: [[u8; 16]; 4],
}

impl Picker {
    /// Returns a picker of sample number `sample` from pixels of `samples` samples of `size` bytes.
    pub(crate) fn new(size: usize, samples: usize, sample: usize) -> Self {
        #[cfg(target_arch = "x86_64")]
        let mut shuffles = [[0x80; 16]; 4];
        #[cfg(target_arch = "x86_64")]
        if samples <= 4 && matches!(size, 1 | 2 | 4 | 8) {
            for at in 0..16u8 {
                let from = usize::from(at) / size * samples * size + sample * size + usize::from(at) % size;
                if let Some(slot) = shuffles.get_mut(from / 16) {
                    slot[usize::from(at)] = (from % 16).to_le_bytes()[0];
                }
            }
        }
        Self {
            size,
            samples,
            sample,
            #[cfg(target_arch = "x86_64")]
            shuffles,
        }
    }

    /// Returns the bytes of a pixel.
    pub(crate) fn step(&self) -> usize {
        self.samples * self.size
    }

    /// Returns the bytes of a sample.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Returns the offset of the sample in a pixel.
    pub(crate) fn offset(&self) -> usize {
        self.sample * self.size
    }

    /// Picks from pixels into consecutive samples, as many as both slices hold.
    pub(crate) fn pick(&self, src: &[u8], dst: &mut [u8]) {
        if self.samples == 1 {
            let len = src.len().min(dst.len());
            dst[..len].copy_from_slice(&src[..len]);
            return;
        }
        #[cfg(target_arch = "x86_64")]
        let done = if matches!(self.size, 1 | 2 | 4 | 8) && is_x86_feature_detected!("avx2") {
            // SAFETY: AVX2 was checked above.
            unsafe {
                match self.samples {
                    2 => pick_avx2::<2>(src, dst, &self.shuffles),
                    3 => pick_avx2::<3>(src, dst, &self.shuffles),
                    4 => pick_avx2::<4>(src, dst, &self.shuffles),
                    _ => 0,
                }
            }
        } else {
            0
        };
        #[cfg(not(target_arch = "x86_64"))]
        let done = 0;
        let src = src.get(done * self.samples..).unwrap_or_default();
        let dst = &mut dst[done..];
        match self.size {
            1 => plain_pick::<1>(src, dst, self.step(), self.offset()),
            2 => plain_pick::<2>(src, dst, self.step(), self.offset()),
            4 => plain_pick::<4>(src, dst, self.step(), self.offset()),
            8 => plain_pick::<8>(src, dst, self.step(), self.offset()),
            _ => plain_pick::<16>(src, dst, self.step(), self.offset()),
        }
    }
}

/// Shuffles of a running sum over vectors of 32 bytes with `distance` bytes between the lanes added.
#[cfg(target_arch = "x86_64")]
struct SumShuffles {
    /// Step k moves bytes up by `distance << k` inside each half; 0x80 gives a zero.
    steps: [[u8; 32]; 4],
    /// The last `distance` bytes of a half, repeated in alignment with the next half.
    across: [u8; 32],
    /// The same from the upper half of one vector to both halves of the next.
    carry: [u8; 32],
}

#[cfg(target_arch = "x86_64")]
const fn sum_shuffles(distance: u8) -> SumShuffles {
    let mut tables = SumShuffles { steps: [[0x80; 32]; 4], across: [0; 32], carry: [0; 32] };
    let mut i = 0u8;
    while i < 16 {
        let at = i as usize;
        let mut k = 0;
        while k < 4 {
            let up = (distance as usize) << k;
            if at >= up {
                let from = i - (distance << k);
                tables.steps[k][at] = from;
                tables.steps[k][at + 16] = from;
            }
            k += 1;
        }
        let once = 16 - distance + i % distance;
        let twice = 16 - distance + once % distance;
        tables.across[at] = once;
        tables.across[at + 16] = once;
        tables.carry[at] = once;
        tables.carry[at + 16] = twice;
        i += 1;
    }
    tables
}

/// Selects the function for a lane and a distance; returns how many bytes it summed.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn sum_dispatch(src: &[u8], dst: &mut [u8], lane: usize, distance: usize) -> usize {
    match (lane, distance) {
        (1, 1) => sum_avx2::<1, 1>(src, dst),
        (1, 2) => sum_avx2::<1, 2>(src, dst),
        (1, 3) => sum_avx2::<1, 3>(src, dst),
        (1, 4) => sum_avx2::<1, 4>(src, dst),
        (1, 5) => sum_avx2::<1, 5>(src, dst),
        (2, 2) => sum_avx2::<2, 2>(src, dst),
        (2, 4) => sum_avx2::<2, 4>(src, dst),
        (2, 6) => sum_avx2::<2, 6>(src, dst),
        (2, 8) => sum_avx2::<2, 8>(src, dst),
        (2, 10) => sum_avx2::<2, 10>(src, dst),
        (4, 4) => sum_avx2::<4, 4>(src, dst),
        (4, 8) => sum_avx2::<4, 8>(src, dst),
        (4, 12) => sum_avx2::<4, 12>(src, dst),
        (4, 16) => sum_avx2::<4, 16>(src, dst),
        (8, 8) => sum_avx2::<8, 8>(src, dst),
        (8, 16) => sum_avx2::<8, 16>(src, dst),
        (1, 1..=32) => sum_pixels::<1, 1>(src, dst, distance),
        (2, 1..=32) => sum_pixels::<2, 1>(src, dst, distance),
        (4, 1..=32) => sum_pixels::<4, 1>(src, dst, distance),
        (8, 1..=32) => sum_pixels::<8, 1>(src, dst, distance),
        (2, 33..=64) => sum_pixels::<2, 2>(src, dst, distance),
        (4, 33..=64) => sum_pixels::<4, 2>(src, dst, distance),
        _ => 0,
    }
}

/// Sums pixel by pixel, each of `distance` bytes, which VECTORS hold. Bytes stored beyond a pixel are garbage; the next
/// pixel overwrites them, and those after the last pixel do not count as summed.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn sum_pixels<const LANE: usize, const VECTORS: usize>(src: &[u8], dst: &mut [u8], distance: usize) -> usize {
    let mut sums = [_mm256_setzero_si256(); VECTORS];
    let (mut at, len) = (0, 32 * VECTORS);
    while let (Some(from), Some(to)) = (src.get(at..at + len), dst.get_mut(at..at + len)) {
        let vectors = from.as_chunks::<32>().0.iter().zip(to.as_chunks_mut::<32>().0);
        for (sum, (from, to)) in sums.iter_mut().zip(vectors) {
            *sum = add::<LANE>(*sum, load32(from));
            // SAFETY: the array has the 32 bytes that are written; no alignment is required.
            unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), *sum) };
        }
        at += distance;
    }
    at
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn add<const LANE: usize>(a: __m256i, b: __m256i) -> __m256i {
    match LANE {
        1 => _mm256_add_epi8(a, b),
        2 => _mm256_add_epi16(a, b),
        4 => _mm256_add_epi32(a, b),
        _ => _mm256_add_epi64(a, b),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn load32(bytes: &[u8; 32]) -> __m256i {
    // SAFETY: the array has the 32 bytes that are read; no alignment is required.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

/// Sums whole vectors of 32 bytes. Requires DISTANCE ≤ 16, a multiple of LANE.
///
/// Inside each half of 16 bytes the sum doubles its reach every step; then the lower half's last lanes are added to the
/// upper half, and the last lanes of the previous vector to both.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn sum_avx2<const LANE: usize, const DISTANCE: u8>(src: &[u8], dst: &mut [u8]) -> usize {
    let tables = const { &sum_shuffles(DISTANCE) };
    let steps = [
        load32(&tables.steps[0]),
        load32(&tables.steps[1]),
        load32(&tables.steps[2]),
        load32(&tables.steps[3]),
    ];
    let (across, carry_over) = (load32(&tables.across), load32(&tables.carry));
    let mut carry = _mm256_setzero_si256();
    let (ins, _) = src.as_chunks::<32>();
    let (outs, _) = dst.as_chunks_mut::<32>();
    for (input, output) in ins.iter().zip(outs) {
        let mut x = load32(input);
        if DISTANCE < 16 {
            x = add::<LANE>(x, _mm256_shuffle_epi8(x, steps[0]));
        }
        if DISTANCE < 8 {
            x = add::<LANE>(x, _mm256_shuffle_epi8(x, steps[1]));
        }
        if DISTANCE < 4 {
            x = add::<LANE>(x, _mm256_shuffle_epi8(x, steps[2]));
        }
        if DISTANCE < 2 {
            x = add::<LANE>(x, _mm256_shuffle_epi8(x, steps[3]));
        }
        let low_half_up = _mm256_permute2x128_si256::<0x08>(x, x);
        // The shuffle maps the zeros of the lower half to zeros again.
        x = add::<LANE>(x, _mm256_shuffle_epi8(low_half_up, across));
        x = add::<LANE>(x, carry);
        // SAFETY: the array has the 32 bytes that are written; no alignment is required.
        unsafe { _mm256_storeu_si256(output.as_mut_ptr().cast(), x) };
        carry = _mm256_shuffle_epi8(_mm256_permute2x128_si256::<0x11>(x, x), carry_over);
    }
    src.len().min(dst.len()) / 32 * 32
}

/// Interleaves 16 samples of size 2, 4 or 8 at a time; returns how many. SSE2 is part of x86-64.
#[cfg(target_arch = "x86_64")]
fn weave_sse2(planes: &[u8], plane: usize, dst: &mut [u8], size: usize) -> usize {
    match size {
        2 => weave_groups::<2>(planes, plane, dst, |p| <[__m128i; 2]>::from(unpack8(p[1], p[0]))),
        4 => weave_groups::<4>(planes, plane, dst, weave_fours),
        8 => weave_groups::<8>(planes, plane, dst, |p| {
            let low = weave_fours([p[4], p[5], p[6], p[7]]);
            let high = weave_fours([p[0], p[1], p[2], p[3]]);
            let pairs = [0, 1, 2, 3].map(|i| unpack32(low[i], high[i]));
            let [(a, b), (c, d), (e, f), (g, h)] = pairs;
            [a, b, c, d, e, f, g, h]
        }),
        _ => 0,
    }
}

/// Applies `weave` to 16 bytes of each plane at a time; returns the number of samples made.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn weave_groups<const SIZE: usize>(
    planes: &[u8],
    plane: usize,
    dst: &mut [u8],
    weave: impl Fn([__m128i; SIZE]) -> [__m128i; SIZE],
) -> usize {
    let (outs, _) = dst.as_chunks_mut::<16>();
    let (outs, _) = outs.as_chunks_mut::<SIZE>();
    let groups = outs.len();
    let ins: [&[[u8; 16]]; SIZE] =
        std::array::from_fn(|byte| &planes[byte * plane..][..plane].as_chunks::<16>().0[..groups]);
    for (group, out) in outs.iter_mut().enumerate() {
        // SAFETY: each array has the 16 bytes that are read; no alignment is required.
        let loaded = ins.map(|plane| unsafe { _mm_loadu_si128(plane[group].as_ptr().cast()) });
        for (to, value) in out.iter_mut().zip(weave(loaded)) {
            // SAFETY: the array has the 16 bytes that are written; no alignment is required.
            unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), value) };
        }
    }
    groups * 16
}

/// Interleaves 16 samples of four bytes. Little-endian: the last plane is the least significant.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn weave_fours(p: [__m128i; 4]) -> [__m128i; 4] {
    let ((a0, a1), (b0, b1)) = (unpack8(p[3], p[2]), unpack8(p[1], p[0]));
    let ((c0, c1), (c2, c3)) = (unpack16(a0, b0), unpack16(a1, b1));
    [c0, c1, c2, c3]
}

macro_rules! unpackers {
    ($($name:ident: $low:ident, $high:ident;)+) => {$(
        #[cfg(target_arch = "x86_64")]
        #[inline(always)]
        fn $name(low: __m128i, high: __m128i) -> (__m128i, __m128i) {
            // SAFETY: these instructions need SSE2, which every x86-64 has.
            unsafe { ($low(low, high), $high(low, high)) }
        }
    )+};
}

unpackers! {
    unpack8: _mm_unpacklo_epi8, _mm_unpackhi_epi8;
    unpack16: _mm_unpacklo_epi16, _mm_unpackhi_epi16;
    unpack32: _mm_unpacklo_epi32, _mm_unpackhi_epi32;
}

/// Picks 16 bytes of output from N times 16 of input; returns the bytes of output done.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn pick_avx2<const N: usize>(src: &[u8], dst: &mut [u8], shuffles: &[[u8; 16]; 4]) -> usize {
    let load = |bytes: &[u8; 16]| -> __m128i {
        // SAFETY: the array has the 16 bytes that are read; no alignment is required.
        unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
    };
    // Not with `map`: it is compiled for any machine and cannot inline a closure that needs AVX2.
    let shuffles = [load(&shuffles[0]), load(&shuffles[1]), load(&shuffles[2]), load(&shuffles[3])];
    let (outs, _) = dst.as_chunks_mut::<16>();
    let (ins, _) = src.as_chunks::<16>();
    let (ins, _) = ins.as_chunks::<N>();
    let groups = ins.len().min(outs.len());
    let (ins, outs) = (&ins[..groups], &mut outs[..groups]);
    let (pairs, last) = ins.as_chunks::<2>();
    for ([first, second], output) in pairs.iter().zip(outs.chunks_exact_mut(2)) {
        let both = |k: usize| {
            let low = _mm256_castsi128_si256(load(&first[k]));
            let shuffle = _mm256_broadcastsi128_si256(shuffles[k]);
            _mm256_shuffle_epi8(_mm256_inserti128_si256::<1>(low, load(&second[k])), shuffle)
        };
        let mut x = both(0);
        for k in 1..N {
            x = _mm256_or_si256(x, both(k));
        }
        // SAFETY: the two arrays have the 32 bytes that are written; no alignment is required.
        unsafe { _mm256_storeu_si256(output.as_mut_ptr().cast(), x) };
    }
    if let ([input], Some(output)) = (last, outs.last_mut()) {
        let mut x = _mm_shuffle_epi8(load(&input[0]), shuffles[0]);
        for k in 1..N {
            x = _mm_or_si128(x, _mm_shuffle_epi8(load(&input[k]), shuffles[k]));
        }
        // SAFETY: the array has the 16 bytes that are written; no alignment is required.
        unsafe { _mm_storeu_si128(output.as_mut_ptr().cast(), x) };
    }
    groups * 16
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn swap_avx2(src: &[u8], dst: &mut [u8], unit: usize) {
    swap_units(src, dst, unit);
}

#[inline(always)]
fn swap_units(src: &[u8], dst: &mut [u8], unit: usize) {
    match unit {
        2 => swap_each::<2>(src, dst),
        3 => swap_each::<3>(src, dst),
        4 => swap_each::<4>(src, dst),
        8 => swap_each::<8>(src, dst),
        _ => {
            let len = src.len().min(dst.len());
            dst[..len].copy_from_slice(&src[..len]);
        }
    }
}

#[inline(always)]
fn swap_each<const N: usize>(src: &[u8], dst: &mut [u8]) {
    for (from, to) in src.as_chunks::<N>().0.iter().zip(dst.as_chunks_mut::<N>().0) {
        *to = *from;
        to.reverse();
    }
}

/// Sums from byte `done` on, lane by lane; the bytes before are already summed.
fn plain_sum(src: &[u8], dst: &mut [u8], lane: usize, distance: usize, done: usize) {
    macro_rules! sum {
        ($ty:ty, $lane:literal) => {{
            let (src, _) = src.as_chunks::<$lane>();
            let (dst, _) = dst.as_chunks_mut::<$lane>();
            let back = distance / $lane;
            for i in done / $lane..src.len().min(dst.len()) {
                let before = if i >= back { <$ty>::from_ne_bytes(dst[i - back]) } else { 0 };
                dst[i] = <$ty>::from_ne_bytes(src[i]).wrapping_add(before).to_ne_bytes();
            }
        }};
    }
    match lane {
        1 => sum!(u8, 1),
        2 => sum!(u16, 2),
        4 => sum!(u32, 4),
        _ => sum!(u64, 8),
    }
}

fn plain_pick<const SIZE: usize>(src: &[u8], dst: &mut [u8], step: usize, offset: usize) {
    let pixels = src.chunks_exact(step.max(1));
    for (pixel, to) in pixels.zip(dst.as_chunks_mut::<SIZE>().0) {
        if let Some(from) = pixel.get(offset..).and_then(|rest| rest.first_chunk()) {
            *to = *from;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns bytes of a small generator: every value occurs, without a regular pattern.
    fn noise(len: usize) -> Vec<u8> {
        let mut state = 0x9e37_79b9_u32;
        (0..len)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                state.to_le_bytes()[3]
            })
            .collect()
    }

    #[test]
    fn sums_equal_the_plain_loop_for_all_lanes_widths_and_samples() {
        for lane in [1, 2, 4, 8] {
            for samples in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 16, 17, 31, 32, 33] {
                for width in 1..=if samples > 5 { 20 } else { 200 } {
                    let src = noise(width * samples * lane);
                    let (mut fast, mut plain) = (vec![0xaa; src.len()], vec![0; src.len()]);
                    running_sum(&src, &mut fast, lane, samples * lane);
                    plain_sum(&src, &mut plain, lane, samples * lane, 0);
                    assert_eq!(fast, plain, "lane {lane}, samples {samples}, width {width}");
                }
            }
        }
    }

    #[test]
    fn weaving_puts_the_first_plane_at_the_significant_end() {
        for size in [1, 2, 3, 4, 8] {
            for count in 1..=200 {
                let planes = noise(size * count);
                for wanted in [count, count.div_ceil(2)] {
                    let mut woven = vec![0; wanted * size];
                    weave(&planes, &mut woven, size);
                    for (i, sample) in woven.chunks_exact(size).enumerate() {
                        let big: Vec<u8> = (0..size).map(|byte| planes[byte * count + i]).collect();
                        let mut native = sample.to_vec();
                        if cfg!(target_endian = "little") {
                            native.reverse();
                        }
                        assert_eq!(native, big, "size {size}, sample {i} of {count}");
                    }
                }
            }
        }
    }

    #[test]
    fn picking_takes_one_sample_of_every_pixel() {
        for size in [1, 2, 4, 8, 16] {
            for samples in 1..=5 {
                for width in 1..=200 {
                    let src = noise(width * samples * size);
                    for sample in 0..samples {
                        let mut dst = vec![0; width * size];
                        Picker::new(size, samples, sample).pick(&src, &mut dst);
                        let pixels = src.chunks_exact(samples * size);
                        let want: Vec<u8> =
                            pixels.flat_map(|pixel| pixel[sample * size..][..size].to_vec()).collect();
                        assert_eq!(dst, want, "size {size}, sample {sample} of {samples}, width {width}");
                    }
                }
            }
        }
    }

    #[test]
    fn swapping_reverses_units() {
        for unit in [1, 2, 3, 4, 8] {
            for count in 0..=100 {
                let src = noise(unit * count);
                let mut dst = vec![0; src.len()];
                swap(&src, &mut dst, unit);
                let want: Vec<u8> = src
                    .chunks_exact(unit)
                    .flat_map(|u| u.iter().rev().copied().collect::<Vec<_>>())
                    .collect();
                assert_eq!(dst, want, "unit {unit}, {count} of them");
            }
        }
    }
}

//! Pixel rows from component samples. Subsampled components are upsampled by libjpeg's triangle filters with their
//! alternating rounding if they have half the samples, otherwise by repetition. YCbCr becomes RGB by BT.601 in 16-bit
//! fixed point. Matches `kernels/jpeg/jpeg_pixels.cuh`.

/// How a component is upsampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// One sample per pixel.
    Same,
    /// Half as many samples across.
    Across,
    /// Half as many samples down.
    Down,
    /// Half as many samples in both directions.
    Both,
    /// Each sample is repeated this many times, across and down.
    Repeated(usize, usize),
}

impl Way {
    /// Chooses like libjpeg for a component `width` samples wide with samples of `across` by `down` pixels: no filter
    /// across one or two samples.
    pub(super) fn new(across: u32, down: u32, width: u32) -> Self {
        match (across, down, width > 2) {
            (1, 1, _) => Self::Same,
            (2, 1, true) => Self::Across,
            (1, 2, _) => Self::Down,
            (2, 2, true) => Self::Both,
            _ => Self::Repeated(across as usize, down as usize),
        }
    }
}

/// Samples of a component.
pub(super) struct Samples<'a> {
    pub(super) samples: &'a mut [u8],
    /// Samples from one row to the next.
    pub(super) stride: usize,
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) way: Way,
}

impl Samples<'_> {
    fn row(&self, y: usize) -> &[u8] {
        let begin = y.min(self.height.saturating_sub(1)) * self.stride;
        self.samples.get(begin..begin + self.width).unwrap_or_default()
    }

    /// Returns the row of samples for row `y` of the picture, in `spare` if it has to be computed.
    #[inline(always)]
    pub(super) fn upsampled<'a>(&'a self, y: usize, spare: &'a mut Spare) -> &'a [u8] {
        let near = self.row(match self.way {
            Way::Same | Way::Across => y,
            Way::Down | Way::Both => y / 2,
            Way::Repeated(_, down) => y / down.max(1),
        });
        // The first and the last row are their own outer neighbours.
        let far = self.row(if y.is_multiple_of(2) { (y / 2).saturating_sub(1) } else { y / 2 + 1 });
        match self.way {
            Way::Same => return near,
            Way::Across => {
                spare.sums.clear();
                spare.sums.extend(near.iter().map(|&v| u16::from(v)));
                widen(&spare.sums, &mut spare.row, (1, 2, 2));
            }
            Way::Down => {
                let bias = if y.is_multiple_of(2) { 1 } else { 2 };
                let sums = near.iter().zip(far).map(|(&a, &b)| u16::from(a) * 3 + u16::from(b) + bias);
                spare.row.clear();
                spare.row.extend(sums.map(|v| low(v >> 2)));
            }
            Way::Both => {
                spare.sums.clear();
                spare.sums.extend(near.iter().zip(far).map(|(&a, &b)| u16::from(a) * 3 + u16::from(b)));
                widen(&spare.sums, &mut spare.row, (8, 7, 4));
            }
            Way::Repeated(across, _) => {
                spare.row.clear();
                spare.row.extend(near.iter().flat_map(|&v| std::iter::repeat_n(v, across)));
            }
        }
        &spare.row
    }
}

/// Buffers for a row.
#[derive(Default)]
pub(super) struct Spare {
    row: Vec<u8>,
    sums: Vec<u16>,
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "weights add up to what is shifted out")]
fn low(v: u16) -> u8 {
    v as u8
}

/// Doubles the width: three parts of the nearest and one of the second nearest sample, with different bias for even and
/// odd ones.
#[inline(always)]
fn widen(sums: &[u16], row: &mut Vec<u8>, (even, odd, shift): (u16, u16, u32)) {
    row.resize(2 * sums.len(), 0);
    let (Some(&first), Some(&last)) = (sums.first(), sums.last()) else { return };
    let pairs = row.as_chunks_mut::<2>().0;
    let inner = pairs.iter_mut().skip(1).zip(sums).zip(sums.iter().skip(1)).zip(sums.iter().skip(2));
    for (((pair, before), this), after) in inner {
        *pair = [low((this * 3 + before + even) >> shift), low((this * 3 + after + odd) >> shift)];
    }
    let second = sums.get(1).copied().unwrap_or(first);
    let before_last = sums.len().checked_sub(2).and_then(|at| sums.get(at)).copied().unwrap_or(last);
    if let Some(pair) = pairs.first_mut() {
        *pair = [low((first * 4 + even) >> shift), low((first * 3 + second + odd) >> shift)];
    }
    if let Some(pair) = pairs.last_mut() {
        let before = if sums.len() == 1 { last } else { before_last };
        *pair = [low((last * 3 + before + even) >> shift), low((last * 4 + odd) >> shift)];
    }
}

/// Interleaves rows of components to pixels.
#[inline(always)]
pub(super) fn weave<const C: usize>(rows: [&[u8]; C], pixels: &mut [u8]) {
    for (i, pixel) in pixels.as_chunks_mut::<C>().0.iter_mut().enumerate() {
        *pixel = rows.map(|row| row.get(i).copied().unwrap_or(0));
    }
}

/// Pixels converted at a time.
pub(super) const TOGETHER: usize = 16;

/// Converts rows of Y, Cb and Cr to RGB, by [`to_rgb`] or an equivalent function.
#[inline(always)]
pub(super) fn weave_rgb([y, cb, cr]: [&[u8]; 3], pixels: &mut [u8], to_rgb: impl ToRgb) {
    // Rows of subsampled components may have surplus samples.
    let width = pixels.len() / 3;
    let [y, cb, cr] = [y, cb, cr].map(|row| row.get(..width).unwrap_or(row));
    let (y_chunks, y_rest) = y.as_chunks::<TOGETHER>();
    let (cb_chunks, cb_rest) = cb.as_chunks::<TOGETHER>();
    let (cr_chunks, cr_rest) = cr.as_chunks::<TOGETHER>();
    let mut chunks = pixels.chunks_exact_mut(3 * TOGETHER);
    for (((y, cb), cr), out) in y_chunks.iter().zip(cb_chunks).zip(cr_chunks).zip(&mut chunks) {
        out.copy_from_slice(&to_rgb(y, cb, cr));
    }
    let mut padded = [[0; TOGETHER]; 3];
    let [y, cb, cr] = &mut padded;
    for (to, rest) in [(y, y_rest), (cb, cb_rest), (cr, cr_rest)] {
        to.iter_mut().zip(rest).for_each(|(to, &from)| *to = from);
    }
    let [y, cb, cr] = &padded;
    let last = chunks.into_remainder();
    last.iter_mut().zip(to_rgb(y, cb, cr)).for_each(|(to, from)| *to = from);
}

/// A conversion of consecutive pixels.
pub(super) trait ToRgb:
    Fn(&[u8; TOGETHER], &[u8; TOGETHER], &[u8; TOGETHER]) -> [u8; 3 * TOGETHER] + Copy
{
}

impl<F: Fn(&[u8; TOGETHER], &[u8; TOGETHER], &[u8; TOGETHER]) -> [u8; 3 * TOGETHER] + Copy> ToRgb for F {}

/// Converts by BT.601 with constants times 2^16.
#[inline(always)]
#[expect(clippy::indexing_slicing, reason = "arrays of constant length, by smaller indices")]
pub(super) fn to_rgb(y: &[u8; TOGETHER], cb: &[u8; TOGETHER], cr: &[u8; TOGETHER]) -> [u8; 3 * TOGETHER] {
    const HALF: i32 = 1 << 15;
    let (mut red, mut green, mut blue) = ([0; TOGETHER], [0; TOGETHER], [0; TOGETHER]);
    for i in 0..TOGETHER {
        let (y, cb, cr) = (i32::from(y[i]), i32::from(cb[i]) - 128, i32::from(cr[i]) - 128);
        red[i] = clamped(y + ((91_881 * cr + HALF) >> 16));
        green[i] = clamped(y + ((-22_554 * cb - 46_802 * cr + HALF) >> 16));
        blue[i] = clamped(y + ((116_130 * cb + HALF) >> 16));
    }
    let mut pixels = [0; 3 * TOGETHER];
    for i in 0..TOGETHER {
        pixels[3 * i] = red[i];
        pixels[3 * i + 1] = green[i];
        pixels[3 * i + 2] = blue[i];
    }
    pixels
}

#[inline(always)]
#[expect(clippy::cast_sign_loss, reason = "clamped to 0 to 255")]
fn clamped(v: i32) -> u8 {
    v.clamp(0, 255) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Luma may be the subsampled component, with longer rows than chroma.
    #[test]
    fn every_pixel_has_its_luma_whichever_rows_are_longer() {
        for width in 1..=35 {
            let rows = |spare: [usize; 3]| spare.map(|spare| vec![128_u8; width + spare]);
            let (even, longer) = (rows([0, 0, 0]), rows([1, 0, 0]));
            for [y, cb, cr] in [&even, &longer] {
                let mut pixels = vec![0; 3 * width];
                weave_rgb([y, cb, cr], &mut pixels, to_rgb);
                assert_eq!(pixels, vec![128; 3 * width], "{width}");
            }
        }
    }
}

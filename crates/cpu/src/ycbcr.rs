//! Y, Cb and Cr in units of subsampled chroma to RGB, digit for digit as libtiff's `tif_color.c`.
//!
//! A unit holds h × v luma samples, row by row, then one Cb and one Cr that all of them share: chroma is
//! repeated, not interpolated. Tables hold 16 fractional bits, so results do not depend on the machine.

use strile_engine::BlockLayout;
use strile_tiff::YCbCr;

const FRACTION_BITS: u32 = 16;
const ONE_HALF: i32 = 1 << (FRACTION_BITS - 1);

/// Tables for one set of coefficients and code ranges.
pub(crate) struct ToRgb {
    luma: [i32; 256],
    red_of_cr: [i32; 256],
    green_of_cr: [i32; 256],
    green_of_cb: [i32; 256],
    blue_of_cb: [i32; 256],
    across: usize,
    down: usize,
}

impl ToRgb {
    /// The tables of a layout, `None` where it has no chroma units, or why they cannot be had.
    pub(crate) fn of(layout: &BlockLayout) -> Result<Option<Self>, String> {
        let Some(ycbcr) = layout.extras.ycbcr.filter(|_| layout.has_chroma_units()) else {
            return Ok(None);
        };
        let (across, down) = ycbcr.subsampling;
        if layout.sample.bits != 8 || layout.samples != 3 || layout.mixed_bits.is_some() {
            return Err(format!("YCbCr of {} samples of {}", layout.samples, layout.sample));
        }
        if across == 0 || down == 0 {
            return Err(format!("chroma subsampling {across} × {down}"));
        }
        Ok(Some(Self::new(&ycbcr)))
    }

    fn new(ycbcr: &YCbCr) -> Self {
        let [luma_red, luma_green, luma_blue] = ycbcr.coefficients;
        let [y_black, y_white, cb_black, cb_white, cr_black, cr_white] = ycbcr.reference_black_white;
        let red = 2.0 - 2.0 * luma_red;
        let blue = 2.0 - 2.0 * luma_blue;
        let red_of_cr = fixed(red);
        let green_of_cr = -fixed(luma_red * red / luma_green);
        let blue_of_cb = fixed(blue);
        let green_of_cb = -fixed(luma_blue * blue / luma_green);
        let mut tables = Self {
            luma: [0; 256],
            red_of_cr: [0; 256],
            green_of_cr: [0; 256],
            green_of_cb: [0; 256],
            blue_of_cb: [0; 256],
            across: ycbcr.subsampling.0.max(1).into(),
            down: ycbcr.subsampling.1.max(1).into(),
        };
        let chroma = tables.red_of_cr.iter_mut().zip(&mut tables.green_of_cr);
        for ((code, (red, green)), luma) in (0..).zip(chroma).zip(&mut tables.luma) {
            let cr = value_of_code(code - 128, cr_black - 128.0, cr_white - 128.0, 127.0);
            *red = (red_of_cr * cr + ONE_HALF) >> FRACTION_BITS;
            *green = green_of_cr * cr;
            *luma = value_of_code(code, y_black, y_white, 255.0);
        }
        let chroma = tables.blue_of_cb.iter_mut().zip(&mut tables.green_of_cb);
        for (code, (blue, green)) in (0..).zip(chroma) {
            let cb = value_of_code(code - 128, cb_black - 128.0, cb_white - 128.0, 127.0);
            *blue = (blue_of_cb * cb + ONE_HALF) >> FRACTION_BITS;
            *green = green_of_cb * cb + ONE_HALF;
        }
        tables
    }

    /// Columns of pixels in a unit.
    pub(crate) fn columns_per_unit(&self) -> usize {
        self.across
    }

    /// Rows of pixels in a row of units.
    pub(crate) fn rows_per_unit(&self) -> usize {
        self.down
    }

    /// Converts row `row` (below `rows_per_unit`) of a row of units: the first pixels, as many as `dst` holds.
    pub(crate) fn row(&self, units: &[u8], row: usize, dst: &mut [u8]) {
        let lumas = self.across * self.down;
        let pixels = dst.as_chunks_mut::<3>().0.chunks_mut(self.across);
        for (unit, pixels) in units.chunks_exact(lumas + 2).zip(pixels) {
            let (Some(&[cb, cr]), Some(luma)) = (unit.last_chunk(), unit.get(row * self.across..)) else {
                return;
            };
            for (pixel, &y) in pixels.iter_mut().zip(luma) {
                *pixel = self.pixel(y, cb, cr);
            }
        }
    }

    #[expect(clippy::indexing_slicing, reason = "tables have an entry for each byte")]
    fn pixel(&self, y: u8, cb: u8, cr: u8) -> [u8; 3] {
        let (y, cb, cr) = (self.luma[usize::from(y)], usize::from(cb), usize::from(cr));
        let green = (self.green_of_cb[cb] + self.green_of_cr[cr]) >> FRACTION_BITS;
        [y + self.red_of_cr[cr], y + green, y + self.blue_of_cb[cb]]
            .map(|v| u8::try_from(v.clamp(0, 255)).unwrap_or(0))
    }
}

/// A factor of 0 to 2 with its fraction in 16 bits; what is not a number becomes 0.
#[expect(clippy::cast_possible_truncation, reason = "at most 2 << 16, and libtiff truncates here")]
fn fixed(factor: f32) -> i32 {
    let factor = if factor >= 0.0 { factor.min(2.0) } else { 0.0 };
    (f64::from(factor * 65536.0) + 0.5) as i32
}

/// What a code means: `black` is 0, `white` is `full`. Kept within ±4096, so that products fit 32 bits.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "as libtiff's Code2V, then clamped"
)]
fn value_of_code(code: i32, black: f32, white: f32, full: f32) -> i32 {
    let range = if white - black != 0.0 { white - black } else { 1.0 };
    let value = (code.saturating_sub(black as i32)) as f32 * full / range;
    value.clamp(-4096.0, 4096.0) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grey_stays_grey_and_colours_are_those_of_libtiff() {
        let tables = ToRgb::new(&YCbCr::default());
        for y in 0..=255 {
            assert_eq!(tables.pixel(y, 128, 128), [y; 3]);
        }
        // Full red in ITU-R 601 is (76, 85, 255).
        assert_eq!(tables.pixel(76, 85, 255), [254, 0, 0]);
        assert_eq!(tables.pixel(255, 0, 0), [76, 255, 28]);
    }

    #[test]
    fn units_share_their_chroma() {
        // One unit of 2 × 2 at the left, half a unit at the right edge of a row of three pixels.
        let tables = ToRgb::new(&YCbCr::default());
        let units = [10, 20, 30, 40, 128, 128, 50, 60, 70, 80, 85, 255];
        let mut top = [0; 9];
        tables.row(&units, 0, &mut top);
        assert_eq!(top[..6], [10, 10, 10, 20, 20, 20]);
        assert_eq!(top[6..], tables.pixel(50, 85, 255));
        let mut bottom = [0; 9];
        tables.row(&units, 1, &mut bottom);
        assert_eq!(bottom[..6], [30, 30, 30, 40, 40, 40]);
        assert_eq!(bottom[6..], tables.pixel(70, 85, 255));
    }

    #[test]
    fn nonsense_ranges_do_not_overflow() {
        for range in [[f32::NAN; 6], [0.0; 6], [f32::INFINITY, 1.0, f32::MAX, f32::MIN, -1e30, 1e30]] {
            let nonsense = YCbCr {
                coefficients: [f32::NAN, 0.0, 1e30],
                reference_black_white: range,
                ..YCbCr::default()
            };
            ToRgb::new(&nonsense).pixel(255, 255, 255);
        }
    }
}

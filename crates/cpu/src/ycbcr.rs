//! Converts Y, Cb and Cr in units of subsampled chroma to RGB, with the same results as libtiff's `tif_color.c`.
//!
//! A unit holds h × v luma samples, row by row, then one Cb and one Cr for all of them: chroma is repeated, not
//! interpolated.

use strile_engine::{BlockLayout, CHROMA_FRACTION_BITS, ChromaTables};
use strile_tiff::YCbCr;

/// Converts units of one layout.
pub(crate) struct ToRgb {
    tables: ChromaTables,
    across: usize,
    down: usize,
}

impl ToRgb {
    /// Returns the tables of a layout, or `None` if it has no chroma units; the error says why it cannot be converted.
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
        Self {
            tables: ChromaTables::new(ycbcr),
            across: ycbcr.subsampling.0.max(1).into(),
            down: ycbcr.subsampling.1.max(1).into(),
        }
    }

    /// Returns the columns of pixels in a unit.
    pub(crate) fn columns_per_unit(&self) -> usize {
        self.across
    }

    /// Returns the rows of pixels in a row of units.
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
        let tables = &self.tables;
        let (y, cb, cr) = (tables.luma[usize::from(y)], usize::from(cb), usize::from(cr));
        let green = (tables.green_of_cb[cb] + tables.green_of_cr[cr]) >> CHROMA_FRACTION_BITS;
        [y + tables.red_of_cr[cr], y + green, y + tables.blue_of_cb[cb]]
            .map(|v| u8::try_from(v.clamp(0, 255)).unwrap_or(0))
    }
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
        // One full unit of 2 × 2 on the left, half a unit at the right edge of a row of three pixels.
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

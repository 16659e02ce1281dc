//! Finds the smallest and the largest valid value of bands by reading all of them.

use super::numbers::{load, row_of};
use crate::error::{Error, Result};
use crate::raster::Raster;
use strile_engine::Context;

/// Finds the ranges of some bands, from 0. Nodata, NaN, infinities and masked pixels do not count.
pub(super) struct Ranges<'a> {
    pub(super) bands: &'a [usize],
    pub(super) nodata: &'a [Option<f64>],
}

impl Ranges<'_> {
    /// Finds the ranges in pieces from `read`, until there are no more. The error names the band without a valid value.
    pub(super) fn find(
        &self,
        pieces: impl Iterator<Item = Result<(Raster, Option<Raster>)>>,
        context: &Context,
        refuse: impl Fn(String) -> Error,
    ) -> Result<Vec<(f64, f64)>> {
        let mut found = vec![(f64::INFINITY, f64::NEG_INFINITY); self.bands.len()];
        let mut numbers = Vec::new();
        for piece in pieces {
            if context.cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            let (raster, mask) = piece?;
            for row in 0..raster.rows as usize {
                let shown = mask.as_ref().map(|mask| row_of(mask, 0, row, 0));
                for (&band, range) in self.bands.iter().zip(&mut found) {
                    let nodata = self.nodata.get(band).copied().flatten();
                    let (bytes, stride) = row_of(&raster, band, row, 0);
                    numbers.clear();
                    load(raster.data_type, bytes, stride, &mut numbers);
                    for (at, number) in numbers.iter().enumerate() {
                        let is_shown = shown.is_none_or(|(mask, stride)| mask.get(at * stride) != Some(&0));
                        if is_shown && number.is_finite() && nodata != Some(*number) {
                            *range = (range.0.min(*number), range.1.max(*number));
                        }
                    }
                }
            }
        }
        let empty = self.bands.iter().zip(&found).find(|(_, range)| range.0 > range.1);
        match empty {
            Some((band, _)) => Err(refuse(format!(
                "band {} has no valid value to find a range of; give the range",
                band + 1
            ))),
            None => Ok(found),
        }
    }
}

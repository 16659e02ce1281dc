//! Masking: sets missing pixels to a value.
//!
//! A mask sample is 0 (all its bytes, whatever its type) where pixels are missing. There, the samples of the window's
//! bands become one value, NaN in reads of floats. All other samples stay unchanged.

use crate::{EngineError, Fill, OutputSpec};

/// The bands of an output that one mask band applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaskWindow {
    /// First band.
    pub first_band: u32,
    /// Number of bands.
    pub bands: u32,
    /// Band of the output that stays unchanged: the alpha band that the mask comes from.
    pub spared: Option<u32>,
}

/// Masks to apply: the first mask band to the first window, and so on.
#[derive(Debug, Clone, PartialEq)]
pub struct MaskJob {
    /// Windows.
    pub windows: Vec<MaskWindow>,
    /// Value of missing pixels, a sample of the output's type.
    pub value: Fill,
}

impl MaskJob {
    /// Checks that masks and output fit the job, and that no two windows share a band.
    pub fn check(&self, masks: &OutputSpec, output: &OutputSpec) -> Result<(), EngineError> {
        let mismatch =
            |found: String, expected: String| EngineError::Mismatch { what: "masks", found, expected };
        if u32::try_from(self.windows.len()).ok() != Some(masks.bands) {
            return Err(mismatch(format!("{} masks", masks.bands), format!("{}", self.windows.len())));
        }
        if (masks.rows, masks.columns) != (output.rows, output.columns) {
            return Err(mismatch(
                format!("masks of {} × {}", masks.rows, masks.columns),
                format!("{} × {}", output.rows, output.columns),
            ));
        }
        let mut ranges: Vec<(u32, Option<u32>)> = self
            .windows
            .iter()
            .map(|window| (window.first_band, window.first_band.checked_add(window.bands)))
            .collect();
        ranges.sort_unstable();
        let mut before = 0;
        for (first, end) in ranges {
            let end = end.filter(|end| *end <= output.bands && before <= first);
            let expected = || format!("windows of their own within {} bands", output.bands);
            before = end.ok_or_else(|| mismatch(format!("a window from band {first}"), expected()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strile_tiff::DataType;

    #[test]
    fn windows_that_share_a_band_or_leave_the_output_are_refused() {
        let masks = |bands| OutputSpec::band_first(DataType::U8, bands, 4, 5).unwrap();
        let output = OutputSpec::band_first(DataType::F32, 6, 4, 5).unwrap();
        let window = |first_band, bands| MaskWindow { first_band, bands, spared: None };
        let job = |windows: &[MaskWindow]| MaskJob { windows: windows.to_vec(), value: Fill::default() };
        assert!(job(&[window(3, 3), window(0, 3)]).check(&masks(2), &output).is_ok());
        assert!(job(&[window(0, 3), window(2, 3)]).check(&masks(2), &output).is_err());
        assert!(job(&[window(4, 3)]).check(&masks(1), &output).is_err());
        assert!(job(&[window(u32::MAX, 3)]).check(&masks(1), &output).is_err());
        assert!(job(&[window(0, 3)]).check(&masks(2), &output).is_err());
        let wide = OutputSpec::band_first(DataType::U8, 1, 4, 6).unwrap();
        assert!(job(&[window(0, 3)]).check(&wide, &output).is_err());
    }
}

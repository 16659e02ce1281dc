//! Resampling of windows to another size: the job's description and its arithmetic, which is bit-identical in every
//! engine.
//!
//! Along an axis the result pixel *i* of *n* lies from place(*i*) to place(*i* + 1), its centre at place(*i* + ½),
//! where place(*t*) = start + (*t*·length)/*n* in pixels of the window from the outer corner of its first pixel, every
//! operation rounded separately. If the centre lies outside the window's pixels, no pixel contributes. Otherwise a
//! stretch of the axis contributes, clipped to the window:
//!
//! | method | stretch |
//! |---|---|
//! | nearest | the pixel that the centre lies in |
//! | bilinear | from ½ pixel before the centre to ½ behind it |
//! | average | the result pixel, or as for nearest if that is empty in `f64` |
//!
//! The weight of a pixel is the length of it in the stretch: min(high, *x* + 1) − max(low, *x*), that of two axes their
//! product, rows first. Nearest copies its pixel. The other methods take the pixels with a weight above 0 that are
//! neither nodata nor NaN, and return the sum of value·weight over the sum of weights, in `f64` without fused
//! operations. Each row of contributing pixels is summed in pieces of [`PIECE`] pixels from its first one on, and the
//! sums of the pieces are added row by row: pieces can be computed in parallel at any reduction. The quotient is
//! rounded to the type as in `reduce.md`; if it would equal nodata, the neighbouring value is used. If no pixel
//! contributes, the result is the fill value.

use crate::{Convert, EngineError, Fill, OutputSpec};

/// Pixels of a row that are summed independently.
pub const PIECE: u32 = 256;

/// Resampling method of windows. Pixels outside the image and nodata do not contribute; if none contributes, the result
/// is the value of pixels outside the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sampling {
    /// The pixel that contains the centre, unchanged.
    #[default]
    Nearest,
    /// Interpolation between the four pixels around the centre.
    Bilinear,
    /// The mean of all pixels under it, weighted by the covered part of each.
    Average,
}

/// Resampling of one window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ResampleWindow {
    /// Left, top, width and height of the requested area, in pixels from the window's first one.
    pub exact: [f64; 4],
    /// Columns and rows of pixels that the window has: the first ones of its shape, none if it has no pixels.
    pub size: (u32, u32),
    /// Sample value that does not contribute.
    pub nodata: Option<Fill>,
    /// Result if no pixel contributes.
    pub fill: Fill,
}

/// Windows to resample, all with one method. Their bands are consecutive, one window after the other.
#[derive(Debug, Clone)]
pub struct ResampleJob {
    /// Method.
    pub sampling: Sampling,
    /// Windows.
    pub windows: Vec<ResampleWindow>,
}

impl ResampleJob {
    /// Returns the bands of a window, after checking that the job fits its input and its output.
    pub fn check(&self, from: &OutputSpec, to: &OutputSpec) -> Result<u32, EngineError> {
        let mismatch = |found: String, expected: &str| EngineError::Mismatch {
            what: "pixels",
            found,
            expected: expected.to_owned(),
        };
        let windows = u32::try_from(self.windows.len()).ok().filter(|&windows| windows > 0);
        let bands = windows.and_then(|windows| from.bands.checked_div(windows).zip(Some(windows)));
        let (bands, windows) =
            bands.ok_or_else(|| mismatch(format!("{} windows", self.windows.len()), "at least one"))?;
        if bands == 0 || bands.checked_mul(windows) != Some(from.bands) || from.bands != to.bands {
            let found = format!("{} and {} bands of {windows} windows", from.bands, to.bands);
            return Err(mismatch(found, "as many of each window"));
        }
        if from.data_type != to.data_type || to.rows == 0 || to.columns == 0 {
            let found = format!("{} × {} {} of {}", to.rows, to.columns, to.data_type, from.data_type);
            return Err(mismatch(found, "pixels of the same type"));
        }
        if self.sampling != Sampling::Nearest && !Convert::takes(from.data_type) {
            return Err(mismatch(from.data_type.to_string(), "samples that are resampled by nearest alone"));
        }
        for ResampleWindow { exact, size: (columns, rows), .. } in &self.windows {
            let [.., width, height] = exact;
            let wanted = exact.iter().all(|number| number.is_finite()) && *width > 0.0 && *height > 0.0;
            if !wanted || *columns > from.columns || *rows > from.rows {
                let found = format!("a window of {columns} × {rows} at {exact:?}");
                return Err(mismatch(found, "one inside the pixels it is made of"));
            }
        }
        Ok(bands)
    }
}

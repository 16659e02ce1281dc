//! Windows made another size: what is to be done, plain data, and its arithmetic, which is the same to the last bit in
//! every engine.
//!
//! Along an axis the result pixel *i* of *n* lies from place(*i*) to place(*i* + 1), its centre at place(*i* + ½), where
//! place(*t*) = start + (*t*·length)/*n* in pixels of the window from the outer corner of the first, every operation
//! rounded by itself. Where the centre lies outside the window's pixels nothing counts. Else a stretch of the axis counts,
//! cut off at both ends of the window:
//!
//! | method | stretch |
//! |---|---|
//! | nearest | the pixel that the centre lies in |
//! | bilinear | from ½ pixel before the centre to ½ behind it |
//! | average | that of the result pixel, or, where that is none in `f64`, as of nearest |
//!
//! The weight of a pixel is the length of it in the stretch: min(high, *x* + 1) − max(low, *x*), that of two axes their
//! product, rows first. Nearest gives its pixel as it is. The others take the pixels with a weight above 0 that are
//! neither nodata nor NaN, and give the sum of value·weight over the sum of weights, in `f64` without fused operations.
//! Each row of what counts is summed up in pieces of [`PIECE`] pixels from its first one on, and the sums of the pieces
//! are added row by row: pieces can be made side by side, whatever the reduction. The quotient is rounded to the type as `reduce.md` says, and stands beside nodata where it would be it.
//! Where nothing counts the result is the fill value.

use crate::{Convert, EngineError, Fill, OutputSpec};

/// Pixels of a row that are summed up by themselves.
pub const PIECE: u32 = 256;

/// How windows are resampled. Pixels outside the image and nodata do not count; where nothing counts, the result is what
/// pixels outside their image become.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sampling {
    /// The pixel that the centre lies in, as it is.
    #[default]
    Nearest,
    /// Between the four pixels around the centre.
    Bilinear,
    /// The mean of all pixels under it, each by the part of it that is.
    Average,
}

/// How one window is made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ResampleWindow {
    /// Left, top, width and height of what is wanted, in pixels from the window's first one.
    pub exact: [f64; 4],
    /// Columns and rows that the window has pixels of: of the shape it lies in the first ones, none where it has none.
    pub size: (u32, u32),
    /// The sample that does not count.
    pub nodata: Option<Fill>,
    /// What becomes of pixels that nothing counts for.
    pub fill: Fill,
}

/// Windows to resample, all with one method. Their bands follow each other, one window after the other.
#[derive(Debug, Clone)]
pub struct ResampleJob {
    /// The method.
    pub sampling: Sampling,
    /// The windows.
    pub windows: Vec<ResampleWindow>,
}

impl ResampleJob {
    /// The bands of a window, after checking that the job fits what it reads and what it writes.
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

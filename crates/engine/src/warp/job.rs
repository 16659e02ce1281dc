//! Warp jobs and their checks.

use crate::warp::{WarpMap, WarpPoints, WarpRect, WarpSampling};
use crate::{EngineError, Fill, OutputBox, OutputSpec};
use std::sync::Arc;

/// Treatment of output pixels without a value. More rules may be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum WarpBlend {
    /// Set them to the fill value.
    #[default]
    Fill,
    /// Keep them: the window lies on top of existing pixels.
    Keep,
}

/// Warp of one window.
#[derive(Debug, Clone)]
pub struct WarpWindow {
    /// Positions of its pixels in the source: of centres, or of corners for methods that use footprints
    /// (`WarpPoints::of`).
    pub map: Arc<WarpMap>,
    /// Pixels of the map to compute.
    pub target: WarpRect,
    /// Output band of its first band.
    pub first_band: u32,
    /// Output row of its first row.
    pub row: u32,
    /// Output column of its first column.
    pub column: u32,
    /// Its first band in the input pixels. Several windows may use the same bands.
    pub source_band: u32,
    /// Its mask band in `valid`, if there are masks.
    pub mask: u32,
    /// Number of bands.
    pub bands: u32,
    /// The part of the source that the input pixels cover, from their first one on. Must contain
    /// [`WarpMap::source_window`] of the target; may be empty if that is `None`.
    pub sheet: WarpRect,
    /// Width and height of a source pixel in pixels of the grid, for the whole grid, not a part of it: kernels are
    /// widened where it is below 1.
    pub scale: (f64, f64),
    /// Sample that does not contribute, of the source's type. NaN never contributes.
    pub nodata: Option<Fill>,
    /// Sample of the output's type that results must not have: the neighbouring value is used instead.
    pub avoid: Option<Fill>,
    /// Value of pixels without a result, a sample of the output's type.
    pub fill: Fill,
    /// Treatment of pixels without a value.
    pub blend: WarpBlend,
}

impl WarpWindow {
    /// Returns the box that it writes.
    pub fn output_box(&self) -> Option<OutputBox> {
        let end = |start: u32, len: u32| Some((start, start.checked_add(len)?));
        Some(OutputBox {
            bands: end(self.first_band, self.bands)?,
            rows: end(self.row, self.target.height)?,
            columns: end(self.column, self.target.width)?,
        })
    }
}

/// Windows to warp, all with one method. No two of them write the same pixel.
#[derive(Debug, Clone)]
pub struct WarpJob {
    /// Method.
    pub sampling: WarpSampling,
    /// Windows.
    pub windows: Vec<WarpWindow>,
}

/// Maximum number of windows in a job.
const MOST_WINDOWS: usize = 1 << 16;

impl WarpJob {
    /// Checks that the job fits its input, its masks and its output.
    pub fn check(
        &self,
        from: &OutputSpec,
        valid: Option<&OutputSpec>,
        to: &OutputSpec,
    ) -> Result<(), EngineError> {
        if self.windows.is_empty() || self.windows.len() > MOST_WINDOWS {
            let found = format!("{} windows", self.windows.len());
            return Err(mismatch("windows", found, format!("1 to {MOST_WINDOWS}")));
        }
        if !self.sampling.takes(from.data_type, to.data_type) {
            let found = format!("{:?} of {} into {}", self.sampling, from.data_type, to.data_type);
            let expected = "real samples, or complex ones by nearest into their own type";
            return Err(mismatch("pixels", found, expected.to_owned()));
        }
        if let Some(valid) = valid {
            let needed = self.windows.iter().map(|window| window.mask).max().unwrap_or(0);
            if needed >= valid.bands || (valid.rows, valid.columns) != (from.rows, from.columns) {
                let found = format!("{} masks of {} × {}", valid.bands, valid.rows, valid.columns);
                let expected =
                    format!("at least {} of {} × {}", u64::from(needed) + 1, from.rows, from.columns);
                return Err(mismatch("masks", found, expected));
            }
        }
        let mut boxes = Vec::new();
        boxes.try_reserve_exact(self.windows.len()).map_err(|_| EngineError::Abandoned)?;
        for window in &self.windows {
            boxes.push(self.check_window(window, from, to)?);
        }
        disjoint(&mut boxes)
    }

    fn check_window(
        &self,
        window: &WarpWindow,
        from: &OutputSpec,
        to: &OutputSpec,
    ) -> Result<OutputBox, EngineError> {
        let WarpWindow { map, target, sheet, scale, .. } = window;
        let parts = map.parts();
        if parts.points != WarpPoints::of(self.sampling) {
            let found = format!("places of {:?} of pixels", parts.points);
            let expected = format!("{:?} for {:?}", WarpPoints::of(self.sampling), self.sampling);
            return Err(mismatch("map", found, expected));
        }
        if !target.is_within(parts.size) || target.width == 0 || target.height == 0 {
            let found = format!("a window of {target:?}");
            return Err(mismatch("map", found, format!("one within {:?} pixels", parts.size)));
        }
        let is_scale = |scale: f64| scale.is_finite() && scale > 0.0;
        if !is_scale(scale.0) || !is_scale(scale.1) {
            return Err(mismatch("windows", format!("a scale of {scale:?}"), "above 0".to_owned()));
        }
        let bands = |first: u32, all: u32| first.checked_add(window.bands).is_some_and(|end| end <= all);
        let sheet_fits = sheet.is_within(parts.source)
            && sheet.width <= from.columns
            && sheet.height <= from.rows
            && bands(window.source_band, from.bands);
        if !sheet_fits || window.bands == 0 {
            let found = format!("{} bands of {sheet:?}", window.bands);
            let expected = format!(
                "some within the source's {:?} pixels and {} bands of {} × {}",
                parts.source, from.bands, from.rows, from.columns
            );
            return Err(mismatch("pixels", found, expected));
        }
        let needs = map.source_window(*target, self.sampling, *scale);
        if let Some(needs) = needs.filter(|needs| !sheet.contains(needs)) {
            return Err(mismatch("pixels", format!("{sheet:?}"), format!("all of {needs:?}")));
        }
        let within = |made: &OutputBox| {
            made.bands.1 <= to.bands && made.rows.1 <= to.rows && made.columns.1 <= to.columns
        };
        window.output_box().filter(within).ok_or_else(|| {
            let found = format!("{target:?} at column {}, row {}", window.column, window.row);
            mismatch("output", found, format!("one within {} × {} × {}", to.bands, to.rows, to.columns))
        })
    }
}

/// Checks that no two boxes share a sample.
fn disjoint(boxes: &mut [OutputBox]) -> Result<(), EngineError> {
    boxes.sort_unstable_by_key(|made| (made.bands, made.rows, made.columns));
    for (at, one) in boxes.iter().enumerate() {
        let rest = boxes.get(at + 1..).unwrap_or_default();
        // Later boxes have other bands, or the same bands further down.
        let near = rest.iter().take_while(|other| {
            other.bands.0 < one.bands.1 && (other.bands != one.bands || other.rows.0 < one.rows.1)
        });
        let after = rest.iter().skip_while(|other| other.bands == one.bands);
        let after = after.take_while(|other| other.bands.0 < one.bands.1);
        if near.chain(after).any(|other| other.overlaps(one)) {
            let found = format!("two windows in bands {:?}, rows {:?}", one.bands, one.rows);
            return Err(mismatch("windows", found, "windows of their own pixels".to_owned()));
        }
    }
    Ok(())
}

fn mismatch(what: &'static str, found: String, expected: String) -> EngineError {
    EngineError::Mismatch { what, found, expected }
}

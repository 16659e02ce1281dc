//! The memory that windows are decoded into: the result itself or, if they are resampled, separate sheets.
//!
//! An engine resamples windows of one shape, each in its first rows and columns. If all had the shape of the largest
//! window, one large window among many small ones would take the memory of many large ones. So windows of very
//! different sizes are in separate sheets, and all sheets together have less than four times the pixels of the windows.

use std::collections::BTreeMap;
use strile_engine::{
    Change, Fill, FinishJob, MaskJob, MaskWindow, OutputSpec, ResampleWindow, Sought, Turn, WarpWindow,
};
use strile_tiff::DataType;
use strile_tiff::gdal::NoData;

/// Windows of one shape.
#[derive(Debug)]
pub(super) struct Sheet {
    /// Their numbers in the batch. The bands of consecutive windows follow each other.
    pub(super) windows: Vec<usize>,
    pub(super) spec: OutputSpec,
    /// The next step for each window.
    pub(super) then: Then,
}

/// The next step for decoded windows.
#[derive(Debug)]
pub(super) enum Then {
    /// None: they are the result.
    Nothing,
    /// Their samples are changed, or they are turned.
    Finish(FinishJob),
    /// They become a mask: valid where a band differs from its missing value.
    AnyDiffers(Vec<Sought>),
    /// They are resampled to another size.
    Resample(Vec<ResampleWindow>),
    /// They are warped onto a grid.
    Warp(Vec<WarpWindow>),
}

impl Sheet {
    /// Returns whether its windows are decoded into separate memory, not into the result.
    pub(super) fn is_apart(&self) -> bool {
        self.then.is_resampled()
            || self.then.finish().is_some_and(|job| !job.is_in_place(self.spec.data_type))
    }
}

impl Then {
    /// Returns whether they are resampled or warped.
    pub(super) fn is_resampled(&self) -> bool {
        matches!(self, Self::Resample(_) | Self::Warp(_))
    }

    /// Returns their last step, if they have one; that of the first band if each band has its own.
    pub(super) fn finish(&self) -> Option<FinishJob> {
        match self {
            Self::Finish(job) => Some(*job),
            Self::AnyDiffers(missing) => missing.first().map(|sought| differs(*sought)),
            Self::Nothing | Self::Resample(_) | Self::Warp(_) => None,
        }
    }
}

/// Returns the step that finds where pixels differ from the missing value.
pub(super) fn differs(missing: Sought) -> FinishJob {
    FinishJob { change: Change::Differs(missing), turn: Turn::default() }
}

/// The masks of the windows of one sheet.
#[derive(Debug)]
pub(super) struct Masks {
    /// The sheet of the windows.
    pub(super) sheet: usize,
    /// The type of its samples.
    pub(super) of: DataType,
    /// One band per window.
    pub(super) spec: OutputSpec,
    /// How they are applied, one after the other. Empty if they say which pixels are valid in a warp.
    pub(super) jobs: Vec<MaskJob>,
}

impl Masks {
    /// Adds the mask of a window, which applies to these bands of the sheet. Returns its band.
    pub(super) fn add(&mut self, windows: &[MaskWindow]) -> u32 {
        let band = self.jobs.iter().map(|job| job.windows.len()).max().unwrap_or(0);
        let nothing = MaskWindow { first_band: 0, bands: 0, spared: None };
        let value = NoData::Float(f64::NAN).to_sample(self.of).map(Fill).unwrap_or_default();
        while self.jobs.len() < windows.len().max(1) {
            self.jobs.push(MaskJob { windows: vec![nothing; band], value });
        }
        for (at, job) in self.jobs.iter_mut().enumerate() {
            job.windows.push(windows.get(at).copied().unwrap_or(nothing));
        }
        u32::try_from(band).unwrap_or(u32::MAX)
    }
}

/// Returns the bytes of all sheets.
pub(super) fn len_of(sheets: &[Sheet]) -> u64 {
    let len = |sheet: &Sheet| sheet.spec.len().map_or(u64::MAX, |len| len as u64);
    sheets.iter().map(len).fold(0, u64::saturating_add)
}

/// Returns, per window, its sheet and its place there.
pub(super) fn places_of(sheets: &[Sheet]) -> Vec<(u32, u32)> {
    let all = (0u32..).zip(sheets).flat_map(|(sheet, Sheet { windows, .. })| {
        windows.iter().zip(0u32..).map(move |(&window, place)| (window, (sheet, place)))
    });
    let by_window: BTreeMap<_, _> = all.collect();
    by_window.into_values().collect()
}

/// Columns and rows of a window.
type Size = (u32, u32);

/// Groups windows of these sizes, given by their numbers, into sheets, each with the size that holds them.
pub(super) fn alike(sizes: &[Size]) -> Vec<(Size, Vec<usize>)> {
    let all = (0..sizes.len()).collect();
    // Sufficient for most batches: each additional sheet takes another launch and copy.
    let one = sheet_of(sizes, all);
    let ((columns, rows), windows) = &one;
    let pixels = |columns: u32, rows: u32| u128::from(columns.max(1)) * u128::from(rows.max(1));
    let sum: u128 = sizes.iter().map(|&(columns, rows)| pixels(columns, rows)).sum();
    if pixels(*columns, *rows) * windows.len() as u128 <= 2 * sum {
        return vec![one];
    }
    // Within a power of two, each side is more than half of the longest.
    let power = |side: u32| u32::BITS - side.saturating_sub(1).leading_zeros();
    let mut lists: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (at, &(columns, rows)) in sizes.iter().enumerate() {
        lists.entry((power(columns), power(rows))).or_default().push(at);
    }
    lists.into_values().map(|windows| sheet_of(sizes, windows)).collect()
}

/// Returns the size that holds these windows, at least one pixel.
fn sheet_of(sizes: &[Size], windows: Vec<usize>) -> (Size, Vec<usize>) {
    let held = windows.iter().filter_map(|&at| sizes.get(at));
    let size = held.fold((1, 1), |(columns, rows), size| (size.0.max(columns), size.1.max(rows)));
    (size, windows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_window_is_in_one_sheet_that_holds_it_and_little_is_wasted() {
        let mut state = 9u32;
        let mut next = |most: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % most
        };
        for _ in 0..500 {
            let most = 1 << (1 + next(14));
            let sizes: Vec<Size> = (0..1 + next(40)).map(|_| (next(most), next(most))).collect();
            let sheets = alike(&sizes);
            let mut seen = vec![0; sizes.len()];
            let mut taken = 0u64;
            for ((columns, rows), windows) in &sheets {
                assert!(windows.is_sorted() && !windows.is_empty());
                taken += u64::from(*columns) * u64::from(*rows) * windows.len() as u64;
                for &window in windows {
                    seen[window] += 1;
                    assert!(sizes[window].0 <= *columns && sizes[window].1 <= *rows);
                }
            }
            let sum: u64 = sizes.iter().map(|&(x, y)| u64::from(x.max(1)) * u64::from(y.max(1))).sum();
            assert!(seen.iter().all(|&times| times == 1) && taken < 4 * sum, "{sizes:?}");
        }
    }

    #[test]
    fn windows_of_about_one_size_share_a_sheet() {
        assert_eq!(alike(&[(256, 255), (257, 256), (200, 256)]), [((257, 256), vec![0, 1, 2])]);
        let mut sizes = vec![(16, 16); 5];
        sizes.insert(2, (4096, 4096));
        assert_eq!(alike(&sizes), [((16, 16), vec![0, 1, 3, 4, 5]), ((4096, 4096), vec![2])]);
        assert_eq!(alike(&[(0, 0), (0, 0)]), [((1, 1), vec![0, 1])]);
    }
}

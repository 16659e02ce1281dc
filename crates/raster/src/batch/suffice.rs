//! Which overview suffices for windows that are resampled: the smallest that has as many pixels as are asked for.

use super::window::BatchWindow;
use crate::dataset::Dataset;
use crate::error::Result;
use crate::options::ReadOptions;
use crate::read::{Area, Frame};

/// Sizes of overviews are rounded up: a window may miss a pixel by that.
const ROUNDING: f64 = 1e-6;

/// The windows with the overview that suffices to make each `size` columns and rows large, and with its area in the
/// pixels of that level. Areas are given in pixels of the full image; windows that name an overview stay as they are.
pub fn sufficient_overviews(
    files: &[&Dataset],
    windows: &[BatchWindow],
    size: (u32, u32),
) -> Result<Vec<BatchWindow>> {
    windows.iter().map(|window| sufficient(files, window, size)).collect()
}

fn sufficient(files: &[&Dataset], window: &BatchWindow, size: (u32, u32)) -> Result<BatchWindow> {
    let dataset = files.get(window.file);
    let levels = dataset.and_then(|dataset| dataset.pages().get(window.page)).map(|page| &page.levels);
    let (Some(dataset), Some(levels), None) = (dataset, levels, window.overview) else {
        return Ok(window.clone());
    };
    let Some(full) = levels.first().map(|level| &level.image) else { return Ok(window.clone()) };
    let options = ReadOptions { page: window.page, ..ReadOptions::default() };
    let [left, top, width, height] = Frame::of(&window.area, dataset, &options)?.exact;
    let mut chosen = window.clone();
    let mut pixels = f64::from(full.width) * f64::from(full.height);
    for (number, level) in levels.iter().enumerate().skip(1) {
        let across = f64::from(full.width) / f64::from(level.image.width.max(1));
        let down = f64::from(full.height) / f64::from(level.image.height.max(1));
        let enough = width / across >= f64::from(size.0) * (1.0 - ROUNDING)
            && height / down >= f64::from(size.1) * (1.0 - ROUNDING);
        let own = f64::from(level.image.width) * f64::from(level.image.height);
        if enough && own < pixels {
            pixels = own;
            chosen.overview = Some(number - 1);
            chosen.area = match window.area {
                Area::Bounds(sides) => Area::Bounds(sides),
                Area::Pixels { .. } | Area::Point { .. } | Area::Part(_) => {
                    Area::Part([left / across, top / down, width / across, height / down])
                }
            };
        }
    }
    Ok(chosen)
}

//! Which overview suffices for windows that are resampled: the smallest that has as many pixels as are asked for.

use super::window::BatchWindow;
use crate::error::Result;
use crate::input::{AsInput, InputRef};
use crate::options::ReadOptions;
use crate::read::{Area, Frame};

/// Sizes of overviews are rounded up: a window may miss a pixel by that.
const ROUNDING: f64 = 1e-6;

/// The windows with the overview that suffices to make each `size` columns and rows large, and with its area in the
/// pixels of that level. Areas are given in pixels of the full image; windows that name an overview stay as they are, and so
/// do those of mosaics, which have none.
pub fn sufficient_overviews<F: AsInput>(
    files: &[F],
    windows: &[BatchWindow],
    size: (u32, u32),
) -> Result<Vec<BatchWindow>> {
    windows.iter().map(|window| sufficient(files, window, size)).collect()
}

fn sufficient<F: AsInput>(files: &[F], window: &BatchWindow, size: (u32, u32)) -> Result<BatchWindow> {
    let dataset = files.get(window.file).and_then(|file| match file.as_input() {
        InputRef::Tiff(dataset) => Some(dataset),
        InputRef::Vrt(_) => None,
    });
    let levels = dataset.and_then(|dataset| dataset.pages().get(window.page)).map(|page| &page.levels);
    let (Some(dataset), Some(levels), None) = (dataset, levels, window.overview) else {
        return Ok(window.clone());
    };
    let Some(full) = levels.first().map(|level| &level.image) else { return Ok(window.clone()) };
    let options = ReadOptions { page: window.page, ..ReadOptions::default() };
    let [left, top, width, height] = Frame::of(&window.area, dataset, &options)?.exact;
    let there = levels.iter().skip(1).map(|level| Some((level.image.width, level.image.height)));
    let size_of_full = (full.width, full.height);
    let Some(number) = smallest_sufficient(size_of_full, there, (width, height), size) else {
        return Ok(window.clone());
    };
    let Some(level) = levels.get(number + 1) else { return Ok(window.clone()) };
    let across = f64::from(full.width) / f64::from(level.image.width.max(1));
    let down = f64::from(full.height) / f64::from(level.image.height.max(1));
    let area = match window.area {
        Area::Bounds(sides) => Area::Bounds(sides),
        Area::Pixels { .. } | Area::Point { .. } | Area::Part(_) => {
            Area::Part([left / across, top / down, width / across, height / down])
        }
    };
    Ok(BatchWindow { overview: Some(number), area, ..window.clone() })
}

/// The smallest of some overviews of an image that still has `size` pixels for an area of `extent` pixels of the image;
/// `None`: only the image itself has. An overview that is `None` is passed over.
pub(crate) fn smallest_sufficient(
    full: (u32, u32),
    overviews: impl Iterator<Item = Option<(u32, u32)>>,
    extent: (f64, f64),
    size: (u32, u32),
) -> Option<usize> {
    let count = |(width, height): (u32, u32)| f64::from(width) * f64::from(height);
    let mut chosen = None;
    let mut pixels = count(full);
    for (number, level) in overviews.enumerate() {
        let Some(level) = level else { continue };
        let across = f64::from(full.0) / f64::from(level.0.max(1));
        let down = f64::from(full.1) / f64::from(level.1.max(1));
        let enough = extent.0 / across >= f64::from(size.0) * (1.0 - ROUNDING)
            && extent.1 / down >= f64::from(size.1) * (1.0 - ROUNDING);
        if enough && count(level) < pixels {
            pixels = count(level);
            chosen = Some(number);
        }
    }
    chosen
}

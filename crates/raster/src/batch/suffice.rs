//! Chooses the level for windows that are resampled: the smallest with enough pixels.

use super::located::located;
use super::window::BatchWindow;
use crate::error::Result;
use crate::file::input::{AsInput, InputRef};
use crate::options::Place;
use crate::read::{Area, Frame};

/// Sizes of overviews are rounded up, so a window may lack a pixel.
const ROUNDING: f64 = 1e-6;

/// Returns the windows with the smallest level that suffices for `size` columns and rows each, and with their areas in
/// pixels of that level. Areas are given in pixels of level 0. Windows of other levels are unchanged, and so are those
/// of mosaics, which have no other level.
pub fn sufficient_levels<F: AsInput>(
    files: &[F],
    windows: &[BatchWindow],
    size: (u32, u32),
) -> Result<Vec<BatchWindow>> {
    let windows = located(files, windows, None)?;
    windows.iter().map(|window| sufficient(files, window, size)).collect()
}

fn sufficient<F: AsInput>(files: &[F], window: &BatchWindow, size: (u32, u32)) -> Result<BatchWindow> {
    let dataset = files.get(window.file).and_then(|file| match file.as_input() {
        InputRef::Tiff(dataset) => Some(dataset),
        InputRef::Vrt(_) => None,
    });
    let levels = dataset.and_then(|dataset| dataset.pages().get(window.page)).map(|page| &page.levels);
    let (Some(dataset), Some(levels), 0) = (dataset, levels, window.level) else {
        return Ok(window.clone());
    };
    let Some(full) = levels.first().map(|level| &level.image) else { return Ok(window.clone()) };
    let place = Place::new().page(window.page);
    let [left, top, width, height] = Frame::of(&window.area, dataset, &place)?.exact;
    let there = levels.iter().skip(1).map(|level| Some((level.image.width, level.image.height)));
    let size_of_full = (full.width, full.height);
    let number = smallest_sufficient(size_of_full, there, (width, height), size);
    let Some(level) = levels.get(number).filter(|_| number > 0) else { return Ok(window.clone()) };
    let across = f64::from(full.width) / f64::from(level.image.width.max(1));
    let down = f64::from(full.height) / f64::from(level.image.height.max(1));
    let area = match window.area {
        Area::Bounds(sides) => Area::Bounds(sides),
        Area::Pixels { .. } | Area::Point { .. } | Area::Part(_) => {
            Area::Part([left / across, top / down, width / across, height / down])
        }
    };
    Ok(BatchWindow { level: number, area, ..window.clone() })
}

/// Returns the smallest level of an image that still has `size` pixels for an area of `extent` pixels of the image; 0
/// if only the image itself does. An overview that is `None` is skipped.
pub(crate) fn smallest_sufficient(
    full: (u32, u32),
    overviews: impl Iterator<Item = Option<(u32, u32)>>,
    extent: (f64, f64),
    size: (u32, u32),
) -> usize {
    let count = |(width, height): (u32, u32)| f64::from(width) * f64::from(height);
    let mut chosen = 0;
    let mut pixels = count(full);
    for (number, level) in (1..).zip(overviews) {
        let Some(level) = level else { continue };
        let across = f64::from(full.0) / f64::from(level.0.max(1));
        let down = f64::from(full.1) / f64::from(level.1.max(1));
        let enough = extent.0 / across >= f64::from(size.0) * (1.0 - ROUNDING)
            && extent.1 / down >= f64::from(size.1) * (1.0 - ROUNDING);
        if enough && count(level) < pixels {
            pixels = count(level);
            chosen = number;
        }
    }
    chosen
}

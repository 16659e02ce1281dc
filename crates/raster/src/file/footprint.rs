//! The extent of a request, and the pixels in a box of coordinates.

use super::dataset::{Dataset, Target};
use crate::error::Result;
use crate::grid::Grid;
use crate::options::{Layer, Place, ReadOptions};
use crate::read::{MaskSource, is_turned};
use crate::window::Window;
use strile_tiff::geo::GeoTransform;

/// Tolerance, in pixels: a side of a box this close to a pixel's edge is at the edge, because coordinates are rounded.
const EDGE: f64 = 1e-6;

impl Dataset {
    /// Returns the image whose pixels a request covers. For a mask without an image of its own, this is the masked
    /// image.
    pub(crate) fn footprint(&self, place: &Place) -> Result<Target<'_>> {
        match self.is_derived_mask(place)? {
            true => self.target(&place.of_layer(Layer::Pixels)),
            false => self.target(place),
        }
    }

    pub(crate) fn is_derived_mask(&self, place: &Place) -> Result<bool> {
        Ok(place.layer == Layer::Mask && self.mask_source(place)? != MaskSource::Image)
    }

    /// Returns the transform of a request's own pixels: that of the file, for the level and the window's corner, or
    /// that of the grid for a read onto a grid.
    ///
    /// `None` if the file has none, for pages after the first, and if the result is turned.
    pub fn transform(&self, options: &ReadOptions) -> Result<Option<GeoTransform>> {
        match transform_onto(&options.place) {
            Some(transform) => Ok(Some(transform)),
            None if is_turned(&self.footprint(&options.place)?.image, options.layout) => Ok(None),
            None => self.stored_transform(&options.place),
        }
    }

    /// Returns the transform of pixels in stored order.
    pub(crate) fn stored_transform(&self, place: &Place) -> Result<Option<GeoTransform>> {
        let Target { image, window, .. } = self.footprint(place)?;
        let level = self.level_transform(place, (image.width, image.height));
        Ok(level.map(|transform| transform.window(window.column.into(), window.row.into())))
    }

    fn level_transform(&self, place: &Place, (width, height): (u32, u32)) -> Option<GeoTransform> {
        let full = &self.pages().get(place.page)?.full()?.image;
        let transform = self.metadata().georeference.transform.filter(|_| place.page == 0)?;
        let ratio = |full: u32, level: u32| f64::from(full) / f64::from(level.max(1));
        Some(transform.scaled(ratio(full.width, width), ratio(full.height, height)))
    }

    /// Returns the window of the requested level that covers the part of a box (west, south, east, north) in the image.
    pub fn window_of_box(&self, place: &Place, sides: [f64; 4]) -> Result<Window> {
        if let Some(onto) = &place.onto {
            return window_on(&onto.grid, sides).map_err(|problem| self.refuse(problem));
        }
        let image = self.footprint(&Place { window: None, ..place.clone() })?.image;
        let (width, height) = (image.width, image.height);
        let transform = self.level_transform(place, (width, height));
        window_of(transform, (width, height), sides).map_err(|problem| self.refuse(problem))
    }
}

/// Returns the transform of a read onto a grid.
pub(crate) fn transform_onto(place: &Place) -> Option<GeoTransform> {
    let corner = place.window.map_or((0, 0), |window| (window.column, window.row));
    let onto = place.onto.as_ref()?;
    Some(onto.grid.transform().window(corner.0.into(), corner.1.into()))
}

/// Returns the window of a grid that covers the part of a box in it, or the reason why there is none.
pub(crate) fn window_on(grid: &Grid, sides: [f64; 4]) -> std::result::Result<Window, String> {
    window_of(Some(grid.transform()), (grid.width(), grid.height()), sides)
}

/// Returns the window of an image that covers the part of a box in it, or the reason why there is none.
pub(crate) fn window_of(
    transform: Option<GeoTransform>,
    (width, height): (u32, u32),
    sides: [f64; 4],
) -> std::result::Result<Window, String> {
    let no_transform =
        || "has no georeferencing, so a box cannot be located; give a window of pixels".to_owned();
    let transform = transform.ok_or_else(no_transform)?;
    let inverse = transform.inverse().ok_or_else(no_transform)?;
    let [west, south, east, north] = sides;
    let pixels = inverse.bounds(west, south, east - west, north - south);
    let side = |low: f64, high: f64, size: u32| {
        let (first, end) = ((low + EDGE).floor().max(0.0), (high - EDGE).ceil().min(size.into()));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to size, checked")]
        (first < end).then_some((first as u32, (end - first) as u32))
    };
    let window = side(pixels.min_x, pixels.max_x, width).zip(side(pixels.min_y, pixels.max_y, height));
    let ((x, width), (y, height)) = window.ok_or_else(|| {
        let all = transform.bounds(0.0, 0.0, width.into(), height.into());
        format!(
            "the box {west},{south},{east},{north} does not touch the image, which covers {},{},{},{}",
            all.min_x, all.min_y, all.max_x, all.max_y
        )
    })?;
    Ok(Window::new(x, y, width, height))
}

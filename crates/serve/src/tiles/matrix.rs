//! The file's own tiles: the tile matrix set `Native`.
//!
//! At the largest zoom a pixel of a tile is a pixel of the file; each zoom below halves the resolution, and at zoom 0
//! the image fits into one tile. Column 0 and row 0 begin at the first pixel of the file, regardless of its orientation
//! on the ground.

use crate::answer::Refusal;
use crate::opened::Opened;
use strile::tiff::geo::GeoTransform;

/// Zooms beyond that of the file's pixels.
const OVERZOOM: u32 = 8;

/// A tile, and the pixels of the full image under it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Part {
    /// Left, top, width and height in pixels of the full image.
    pub(super) area: [f64; 4],
    /// Columns and rows of the tile.
    pub(super) size: (u32, u32),
}

impl Part {
    /// Returns the pixels of the full image per pixel of the tile.
    pub(super) fn scale(&self) -> f64 {
        let [_, _, width, height] = self.area;
        (width / f64::from(self.size.0)).min(height / f64::from(self.size.1))
    }

    /// Returns the transform of the tile.
    pub(super) fn transform(&self, full: GeoTransform) -> GeoTransform {
        let [left, top, width, height] = self.area;
        let (across, down) = (width / f64::from(self.size.0), height / f64::from(self.size.1));
        let (c, f) = full.to_world(left, top);
        GeoTransform { a: full.a * across, b: full.b * down, c, d: full.d * across, e: full.e * down, f }
    }
}

/// Returns the zoom at which tiles have the file's own pixels.
pub(super) fn largest_zoom(opened: &Opened, side: u32) -> u32 {
    let longest = opened.width.max(opened.height);
    let mut zoom = 0;
    while u64::from(side) << zoom < u64::from(longest) {
        zoom += 1;
    }
    zoom
}

/// Returns the pixels of the full image per pixel of a tile at a zoom.
pub(super) fn scale_at(opened: &Opened, side: u32, zoom: u32) -> f64 {
    let exponent = i64::from(largest_zoom(opened, side)) - i64::from(zoom);
    2.0_f64.powi(i32::try_from(exponent).unwrap_or(0))
}

/// Returns the columns and rows of tiles at a zoom.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 2^32 · 2^8 / 64")]
pub(super) fn count_at(opened: &Opened, side: u32, zoom: u32) -> (u64, u64) {
    let tile = scale_at(opened, side, zoom) * f64::from(side);
    let count = |size: u32| (f64::from(size) / tile).ceil() as u64;
    (count(opened.width), count(opened.height))
}

/// Returns the pixels of a tile.
pub(super) fn tile(
    opened: &Opened,
    side: u32,
    (zoom, column, row): (u32, u32, u32),
) -> Result<Part, Refusal> {
    let largest = largest_zoom(opened, side) + OVERZOOM;
    if zoom > largest {
        return Err(Refusal::bad(format!("expected a zoom of 0 to {largest}, got {zoom}")));
    }
    let (columns, rows) = count_at(opened, side, zoom);
    if u64::from(column) >= columns || u64::from(row) >= rows {
        return Err(Refusal::not_found(format!(
            "tile {zoom}/{column}/{row} lies outside the image: zoom {zoom} has {columns} columns and {rows} rows"
        )));
    }
    let width = scale_at(opened, side, zoom) * f64::from(side);
    Ok(Part { area: [f64::from(column) * width, f64::from(row) * width, width, width], size: (side, side) })
}

/// Returns the whole image with at most `most` pixels on each side.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to `most`")]
pub(super) fn preview(opened: &Opened, most: u32) -> Part {
    let (width, height) = (f64::from(opened.width), f64::from(opened.height));
    let scale = (width.max(height) / f64::from(most)).max(1.0);
    let side = |side: f64| (side / scale).round().clamp(1.0, f64::from(most)) as u32;
    Part { area: [0.0, 0.0, width, height], size: (side(width), side(height)) }
}

//! A file on a web map: a raster in Web Mercator over its bounds, with levels that halve.

use super::{Describe, info as own};
use crate::answer::{Answer, Refusal, json_answer, number};
use crate::mercator::{self, PIXEL_AT_0};
use crate::opened::{Opened, Place, SMALLEST};
use crate::reduced::Made;
use crate::request::Asked;
use serde_json::{Value, json};
use strile::Context;
use strile::batch::Sampling;
use strile::crs::Crs;
use strile::grid::Grid;
use strile::number::is_complex;
use strile::tiff::geo::GeoTransform;

/// Side of a tile.
const SIDE: u32 = 256;
/// Latitude limit of web maps, in degrees.
const LAST_LATITUDE: f64 = 85.051_128_779_806_6;

/// The raster of a file in Web Mercator.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Map {
    left: f64,
    top: f64,
    /// Metres per pixel.
    pixel: f64,
    width: u32,
    height: u32,
}

/// Returns whether a file can be shown on a web map.
pub(super) fn is_possible(opened: &Opened) -> bool {
    Map::of(opened).is_ok()
}

impl Map {
    fn of(opened: &Opened) -> Result<Self, Refusal> {
        let unable = |problem: &str| {
            Refusal::unable(format!("cannot show {} in Web Mercator: {problem}", opened.name))
        };
        if !mercator::is_placed(opened) {
            return Err(unable("it has no reference system or no transform"));
        }
        if is_complex(opened.data_type) {
            return Err(unable("complex numbers are not resampled"));
        }
        let bounds =
            mercator::bounds(opened).filter(|[west, south, east, north]| west < east && south < north);
        let zooms = mercator::zooms(opened, SIDE);
        let ([west, south, east, north], (_, zoom)) =
            bounds.zip(zooms).ok_or_else(|| unable("its place on the Earth is not known"))?;
        let pixel = PIXEL_AT_0 / f64::from(1_u32 << zoom.min(31));
        let half = PIXEL_AT_0 * f64::from(SIDE) / 2.0;
        let x = |longitude: f64| half * (longitude / 180.0);
        let y = |latitude: f64| {
            let latitude = latitude.clamp(-LAST_LATITUDE, LAST_LATITUDE).to_radians();
            half / std::f64::consts::PI * latitude.tan().asinh()
        };
        // Aligned to pixels of the zoom, like tiles of a basemap.
        let left = ((x(west) + half) / pixel).floor() * pixel - half;
        let top = half - ((half - y(north)) / pixel).floor() * pixel;
        let side = |len: f64| {
            let pixels = (len / pixel).ceil().max(1.0);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 2³¹, checked")]
            (pixels < 2_147_483_648.0).then_some(pixels as u32)
        };
        let (width, height) = side(x(east) - left)
            .zip(side(top - y(south)))
            .ok_or_else(|| unable("it would have too many pixels"))?;
        Ok(Self { left, top, pixel, width, height })
    }

    /// Returns how often the raster is halved until it is small.
    fn halvings(&self) -> u32 {
        let mut halvings = 0;
        while self.side(self.width.max(self.height), halvings) > SMALLEST {
            halvings += 1;
        }
        halvings
    }

    fn side(&self, full: u32, level: u32) -> u32 {
        full.div_ceil(1 << level.min(31)).max(1)
    }

    /// Returns the metres per pixel of a level, and its width and height.
    fn level(&self, level: u32) -> Result<(f64, u32, u32), Refusal> {
        let last = self.halvings();
        if level > last {
            return Err(Refusal::bad(format!(
                "there is no level {level}: the map has {} (from 0)",
                last + 1
            )));
        }
        let pixel = self.pixel * f64::from(1_u32 << level);
        Ok((pixel, self.side(self.width, level), self.side(self.height, level)))
    }

    /// Returns the grid of a tile.
    fn tile(&self, (level, column, row): (u32, u32, u32)) -> Result<Grid, Refusal> {
        let (pixel, width, height) = self.level(level)?;
        let span = |at: u32, side: u32| {
            let start = at.checked_mul(SIDE).filter(|start| *start < side);
            let none =
                || Refusal::bad(format!("there is no tile {at}: the level has {}", side.div_ceil(SIDE)));
            start.map(|start| (start, SIDE.min(side - start))).ok_or_else(none)
        };
        let ((x, across), (y, down)) = (span(column, width)?, span(row, height)?);
        let crs = Crs::from_epsg(3857).ok_or_else(|| Refusal::unable("Web Mercator is not known"))?;
        let transform = GeoTransform {
            a: pixel,
            b: 0.0,
            c: self.left + f64::from(x) * pixel,
            d: 0.0,
            e: -pixel,
            f: self.top - f64::from(y) * pixel,
        };
        Grid::new(crs, transform, across, down).map_err(|error| Refusal::bad(error.to_string()))
    }
}

/// Describes the file on the map, for the page.
pub(super) fn info(
    opened: &Opened,
    describe: Option<&Describe>,
    basemap: Option<&str>,
) -> Result<Answer, Refusal> {
    let map = Map::of(opened)?;
    let mut told = own::told(opened, describe)?;
    let level = |level: u32| {
        let scale = f64::from(1_u32 << level);
        json!({
            "level": level,
            "width": map.side(map.width, level),
            "height": map.side(map.height, level),
            "scale_x": scale,
            "scale_y": scale,
            "tile_width": SIDE,
            "tile_height": SIDE,
            "stored": false,
        })
    };
    let right = map.left + f64::from(map.width) * map.pixel;
    let bottom = map.top - f64::from(map.height) * map.pixel;
    let transform = [map.pixel, 0.0, map.left, 0.0, -map.pixel, map.top].map(number);
    let bounds = [map.left, bottom, right, map.top].map(number);
    let changes = json!({
        "width": map.width,
        "height": map.height,
        "levels": (0..=map.halvings()).map(level).collect::<Value>(),
        "crs": {"name": "WGS 84 / Pseudo-Mercator", "code": "EPSG:3857", "geographic": false},
        "transform": transform,
        "bounds": bounds,
        "mask": "nodata",
        "basemap": basemap,
    });
    if let (Some(told), Value::Object(changes)) = (told.as_object_mut(), changes) {
        told.extend(changes);
    }
    Ok(json_answer(&told))
}

/// Returns the source of a level's pixels.
pub(super) fn source(opened: &Opened, level: u32) -> Result<Place, Refusal> {
    let (pixel, ..) = Map::of(opened)?.level(level)?;
    let scale = mercator::pixel(opened).map_or(1.0, |own| pixel / own);
    Ok(opened.level(opened.level_for(scale))?.place)
}

/// Answers with samples of a tile, by nearest neighbour.
pub(super) fn tile(
    opened: &Opened,
    place: (u32, u32, u32),
    asked: &Asked,
    made: Option<&Made>,
    context: &Context,
) -> Result<Answer, Refusal> {
    let grid = Map::of(opened)?.tile(place)?;
    let bands = super::tile::bands(opened, asked)?;
    let _counted = super::tile::room(opened, (grid.width(), grid.height()), bands.len(), context)?;
    let kept = made.and_then(Made::levels);
    let mut samples = mercator::read(opened, kept, grid, (&bands, Sampling::Nearest), context)?;
    // Either all tiles of a file have a mask, or none.
    let plane = samples.plane();
    samples.valid.get_or_insert_with(|| vec![255; plane]);
    super::tile::answer(samples, None, context)
}

/// Returns the pixel of the file under a pixel of the map.
pub(super) fn pixel_of(opened: &Opened, (x, y): (f64, f64)) -> Result<(f64, f64), Refusal> {
    let map = Map::of(opened)?;
    let outside = || Refusal::bad(format!("pixel {x}, {y} of the map lies outside of the file"));
    let (east, north) = (map.left + (x + 0.5) * map.pixel, map.top - (y + 0.5) * map.pixel);
    let found = || {
        let (east, north) = mercator::from_web(opened)?.transform(east, north)?;
        let own = opened.input.metadata().georeference.transform?.inverse()?;
        let (x, y) = own.to_world(east, north);
        let is_inside =
            (0.0..f64::from(opened.width)).contains(&x) && (0.0..f64::from(opened.height)).contains(&y);
        is_inside.then_some((x, y))
    };
    found().ok_or_else(outside)
}

//! Position of the VRT, and of each file in it: GDAL's arithmetic.

use super::IndexOptions;
use super::tile::Tile;
use crate::vrt::place::snap;
use strile_tiff::geo::GeoTransform;

/// Resolutions that differ by less are equal except for rounding.
const SAME: f64 = 1e-6;

/// The raster of the VRT.
pub(super) struct Grid {
    pub(super) transform: GeoTransform,
    pub(super) size: (u32, u32),
    /// The position of each file; `None` for one outside.
    pub(super) places: Vec<Option<Rectangle>>,
}

/// Left, top, width and height.
pub(super) type Box4 = [f64; 4];

/// A part of a file, and its position.
pub(super) struct Rectangle {
    pub(super) source: Box4,
    pub(super) target: Box4,
}

/// A problem, and the file that has it; `None` for the VRT itself.
type Problem = (Option<String>, String);

/// Computes size and positions.
pub(super) fn grid_of(tiles: &[Tile], options: &IndexOptions) -> Result<Grid, Problem> {
    let none = |problem: &str| (None, problem.to_owned());
    let first = tiles.first().ok_or_else(|| none("expected at least one file, got none"))?;
    if let Some((tile, problem)) = tiles.iter().find_map(|tile| Some((tile, differs(tile, first, options)?)))
    {
        return Err((Some(tile.name.clone()), problem));
    }
    let (a, e) = match options.resolution {
        None => (first.transform.a, first.transform.e),
        Some((x, y)) if x > 0.0 && y > 0.0 && x.is_finite() && y.is_finite() => (x, -y),
        Some((x, y)) => return Err((None, format!("expected a resolution above 0, got {x} × {y}"))),
    };
    let [west, south, east, north] = match options.extent {
        None => tiles.iter().map(bounds).fold(
            [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY],
            |[w, s, e, n], [w1, s1, e1, n1]| [w.min(w1), s.min(s1), e.max(e1), n.max(n1)],
        ),
        Some([west, south, east, north]) if west < east && south < north => [west, south, east, north],
        Some(sides) => {
            let problem = format!("expected an extent of west, south, east and north, got {sides:?}");
            return Err((None, problem));
        }
    };
    let count = |span: f64, step: f64| {
        let count = (span / step + 0.5).floor();
        match (1.0..=f64::from(i32::MAX)).contains(&count) {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range")]
            true => Ok(count as u32),
            false => Err((None, format!("expected 1 to 2147483647 pixels along each side, got {count}"))),
        }
    };
    let size = (count(east - west, a)?, count(north - south, -e)?);
    let transform = GeoTransform { a, b: 0.0, c: west, d: 0.0, e, f: north };
    let places: Vec<_> = tiles.iter().map(|tile| place(tile, &transform, size)).collect();
    if places.iter().all(Option::is_none) {
        return Err(none("no file lies in the extent; it is in the units of the files' reference system"));
    }
    Ok(Grid { transform, size, places })
}

/// Returns west, south, east, north.
fn bounds(tile: &Tile) -> [f64; 4] {
    let GeoTransform { a, c, e, f, .. } = tile.transform;
    [c, f + e * f64::from(tile.size.1), c + a * f64::from(tile.size.0), f]
}

/// Computes GDAL's `GetSrcDstWin`, along both axes.
fn place(tile: &Tile, grid: &GeoTransform, size: (u32, u32)) -> Option<Rectangle> {
    let axis = |first: f64, step: f64, len: u32, start: f64, grid_step: f64, grid_len: u32| {
        let offset = (first - start) / grid_step;
        let ratio = step / grid_step;
        let (from, to) = match offset < 0.0 {
            true => (snap((start - first) / step), 0.0),
            false => (0.0, snap(offset)),
        };
        let mut span = f64::from(len) - from;
        let mut room = snap(span * ratio);
        if to + room > f64::from(grid_len) {
            room = f64::from(grid_len) - to;
            span = snap(room / ratio);
        }
        (span > 0.0 && room > 0.0).then_some((from, span, to, room))
    };
    let own = &tile.transform;
    let (x, width, to_x, to_width) = axis(own.c, own.a, tile.size.0, grid.c, grid.a, size.0)?;
    let (y, height, to_y, to_height) = axis(own.f, own.e, tile.size.1, grid.f, grid.e, size.1)?;
    Some(Rectangle { source: [x, y, width, height], target: [to_x, to_y, to_width, to_height] })
}

/// Returns why a file cannot be combined with the first.
fn differs(tile: &Tile, first: &Tile, options: &IndexOptions) -> Option<String> {
    let same_crs = match (&tile.metadata.georeference.crs, &first.metadata.georeference.crs) {
        (None, None) => true,
        (Some(a), Some(b)) => a.wkt == b.wkt || (a.epsg.is_some() && a.epsg == b.epsg),
        _ => false,
    };
    let close = |a: f64, b: f64| ((a - b) / b).abs() < SAME;
    if !same_crs {
        return Some(format!(
            "has another reference system than {}; reproject one of the two first, or warp all of them onto one grid",
            first.name
        ));
    }
    if tile.bands != first.bands && !options.separate {
        let plural = if first.bands == 1 { "" } else { "s" };
        return Some(format!(
            "expected {} band{plural} as in {}, got {}",
            first.bands, first.name, tile.bands
        ));
    }
    if tile.data_type != first.data_type {
        return Some(format!(
            "expected {} samples as in {}, got {}",
            first.data_type, first.name, tile.data_type
        ));
    }
    let same_size = close(tile.transform.a, first.transform.a) && close(tile.transform.e, first.transform.e);
    if !same_size && options.resolution.is_none() {
        let ((x, y), (fx, fy)) = (tile.transform.resolution(), first.transform.resolution());
        return Some(format!(
            "expected pixels of {fx} × {fy} as in {}, got {x} × {y}; choose a size with `resolution` (`-tr`)",
            first.name
        ));
    }
    None
}

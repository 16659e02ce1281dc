//! Grids that rasters are warped onto: a reference system, a transform and a size.
//!
//! A `Grid` is made from bounds, from a tile of a web map, from a georeferenced raster, or by suggestion (`suggest`):
//! the grid that GDAL would choose for a raster in another system. `map` finds the place in a source under each pixel
//! of a grid, and `scale` the ratio of their pixel sizes. Engines resample the samples. `onto` has the settings of a
//! read onto a grid, `polygon` its clipping polygon, `placed` the level of a raster to read, `plan` the content of its
//! plan.

pub mod centres;
mod chosen;
mod map;
mod map_options;
mod onto;
mod placed;
mod placing;
mod plan;
mod polygon;
mod scale;
mod suggest;
mod words;
mod write;

use strile_crs::Crs;
use strile_tiff::InvalidValue;
use strile_tiff::geo::{Bounds, GeoTransform, Georeference};

pub use crate::read::{files_onto, plan_onto, read_onto, read_onto_device, read_onto_into};
pub use chosen::{GridChoice, transform_bounds};
pub(crate) use chosen::{bounds_by, transformer_of};
pub use map::CoordinateMap;
pub(crate) use map::HUGE;
pub use map_options::MapOptions;
pub(crate) use onto::Avoid;
pub use onto::{Onto, Top, WarpOptions};
pub(crate) use placed::{KnownPlaces, Placed};
pub use placing::{DemSampling, PlacedBy, Placement, Placing, RpcDem};
pub use plan::{WarpFile, WarpPlan};
pub use polygon::Polygon;
pub(crate) use polygon::{Inside, Outline};
pub use strile_engine::{WarpPoints, WarpSampling};
pub use words::{name_of, sampling_named};
pub use write::WarpWriter;

/// The pixels of a raster in a reference system: their positions and their number.
///
/// ```
/// use strile::grid::Grid;
/// use strile::tiff::geo::{Bounds, Crs};
///
/// let crs = Crs::from_user_input("EPSG:32633")?;
/// let bounds = Bounds { min_x: 399_995.0, min_y: 5_500_003.0, max_x: 410_001.0, max_y: 5_510_000.0 };
/// // As GDAL's -te and -tr, with -tap: edges are multiples of the resolution.
/// let grid = Grid::from_bounds(crs, bounds, (10.0, 10.0), true)?;
/// assert_eq!((grid.width(), grid.height()), (1002, 1000));
/// assert_eq!(grid.bounds().min_x, 399_990.0);
/// # Ok::<(), strile::error::InvalidValue>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    crs: Crs,
    transform: GeoTransform,
    width: u32,
    height: u32,
}

/// Longest side of a grid, as in GDAL.
const LONGEST: u32 = i32::MAX.unsigned_abs();
/// Half the circumference of the sphere of web maps.
const HALF_EQUATOR: f64 = 20_037_508.342_789_244;
/// Highest zoom level of web maps.
const MOST_ZOOM: u8 = 30;

impl Grid {
    /// Makes a grid of `width` by `height` pixels; the transform may be rotated or sheared.
    ///
    /// # Errors
    /// If a side is 0 or over 2³¹ - 1, the transform is not finite or has no inverse, or its pixels are too small for
    /// the precision of the coordinates.
    pub fn new(crs: Crs, transform: GeoTransform, width: u32, height: u32) -> Result<Self, InvalidValue> {
        if !(1..=LONGEST).contains(&width) || !(1..=LONGEST).contains(&height) {
            return Err(format!("expected sides of 1 to {LONGEST} pixels, got {width} × {height}").into());
        }
        if !transform.is_finite() || transform.inverse().is_none_or(|inverse| !inverse.is_finite()) {
            return Err("the transform of a grid must be finite and have an inverse".to_owned().into());
        }
        let grid = Self { crs, transform, width, height };
        let bounds = grid.bounds();
        let corners = [bounds.min_x, bounds.min_y, bounds.max_x, bounds.max_y];
        if corners.iter().any(|v| !v.is_finite()) {
            return Err("the corners of the grid are not finite".to_owned().into());
        }
        // A hundredth of a pixel must be larger than the step from one number to the next.
        let (across, down) = transform.resolution();
        let largest = corners.iter().fold(0.0_f64, |largest, v| largest.max(v.abs()));
        if across.min(down) / 100.0 < largest * f64::EPSILON {
            return Err(format!(
                "pixels of {across} × {down} are too small for coordinates of {largest}; use larger pixels"
            )
            .into());
        }
        Ok(grid)
    }

    /// Makes the grid of pixels of size `resolution` (width, height) from the upper left corner of `bounds` on, with
    /// the number of pixels that fits best. With `target_aligned`, the bounds are widened to multiples of the
    /// resolution first, as with GDAL's `-te`, `-tr` and `-tap`.
    ///
    /// # Errors
    /// If the bounds are empty, the resolution is not positive, or as [`Grid::new`].
    pub fn from_bounds(
        crs: Crs,
        bounds: Bounds,
        resolution: (f64, f64),
        target_aligned: bool,
    ) -> Result<Self, InvalidValue> {
        let mut bounds = checked(bounds)?;
        let (across, down) = resolution;
        if !(across.is_finite() && down.is_finite() && across > 0.0 && down > 0.0) {
            return Err(format!("expected a positive resolution, got {across} × {down}").into());
        }
        if target_aligned {
            bounds = Bounds {
                min_x: (bounds.min_x / across).floor() * across,
                min_y: (bounds.min_y / down).floor() * down,
                max_x: (bounds.max_x / across).ceil() * across,
                max_y: (bounds.max_y / down).ceil() * down,
            };
        }
        let width = pixels((bounds.max_x - bounds.min_x) / across)?;
        let height = pixels((bounds.max_y - bounds.min_y) / down)?;
        let transform =
            GeoTransform { a: across, b: 0.0, c: bounds.min_x, d: 0.0, e: -down, f: bounds.max_y };
        Self::new(crs, transform, width, height)
    }

    /// Makes the grid of `width` by `height` pixels that fills `bounds`, as with GDAL's `-te` and `-ts`.
    ///
    /// # Errors
    /// If the bounds are empty, or as [`Grid::new`].
    pub fn from_bounds_and_size(
        crs: Crs,
        bounds: Bounds,
        width: u32,
        height: u32,
    ) -> Result<Self, InvalidValue> {
        let bounds = checked(bounds)?;
        let across = (bounds.max_x - bounds.min_x) / f64::from(width);
        let down = (bounds.max_y - bounds.min_y) / f64::from(height);
        let transform =
            GeoTransform { a: across, b: 0.0, c: bounds.min_x, d: 0.0, e: -down, f: bounds.max_y };
        Self::new(crs, transform, width, height)
    }

    /// Makes the grid of a tile of web maps (`z/x/y`, rows counted from the north) with `size` pixels per side.
    ///
    /// # Errors
    /// If there is no such tile, or as [`Grid::new`].
    pub fn xyz_tile(z: u8, x: u32, y: u32, size: u32) -> Result<Self, InvalidValue> {
        let tiles = 1_u64 << z.min(63);
        if z > MOST_ZOOM || u64::from(x) >= tiles || u64::from(y) >= tiles {
            return Err(format!(
                "tile {z}/{x}/{y} does not exist: expected a zoom of 0 to {MOST_ZOOM} and a column and row below 2^zoom"
            )
            .into());
        }
        let crs = Crs::from_epsg(3857).ok_or_else(|| "EPSG:3857 is not known".to_owned())?;
        // A power of two, so there is no rounding.
        let side = 2.0 * HALF_EQUATOR / f64::from(u32::try_from(tiles).unwrap_or(u32::MAX));
        let pixel = side / f64::from(size);
        let transform = GeoTransform {
            a: pixel,
            b: 0.0,
            c: f64::from(x) * side - HALF_EQUATOR,
            d: 0.0,
            e: -pixel,
            f: HALF_EQUATOR - f64::from(y) * side,
        };
        Self::new(crs, transform, size, size)
    }

    /// Makes the grid of a raster of `width` by `height` pixels that has a transform.
    ///
    /// # Errors
    /// If the raster has no reference system or no transform, or as [`Grid::new`].
    pub fn like(georeference: &Georeference, width: u32, height: u32) -> Result<Self, InvalidValue> {
        let missing = |what: &str| format!("a grid like this raster is not defined: it has no {what}");
        let crs = georeference.crs.clone().ok_or_else(|| missing("reference system"))?;
        let transform = georeference.transform.ok_or_else(|| missing("transform"))?;
        Self::new(crs, transform, width, height)
    }

    /// Returns the reference system.
    pub const fn crs(&self) -> &Crs {
        &self.crs
    }

    /// Returns the transform from columns and rows, counted from the outer corner, to coordinates.
    pub const fn transform(&self) -> GeoTransform {
        self.transform
    }

    /// Returns the number of columns.
    pub const fn width(&self) -> u32 {
        self.width
    }

    /// Returns the number of rows.
    pub const fn height(&self) -> u32 {
        self.height
    }

    /// Returns the rectangle that holds all corners.
    pub fn bounds(&self) -> Bounds {
        self.transform.bounds(0.0, 0.0, f64::from(self.width), f64::from(self.height))
    }
}

/// Returns bounds extended to a point.
fn around(bounds: Option<Bounds>, (x, y): (f64, f64)) -> Bounds {
    let old = bounds.unwrap_or(Bounds { min_x: x, min_y: y, max_x: x, max_y: y });
    Bounds {
        min_x: old.min_x.min(x),
        min_y: old.min_y.min(y),
        max_x: old.max_x.max(x),
        max_y: old.max_y.max(y),
    }
}

fn checked(bounds: Bounds) -> Result<Bounds, InvalidValue> {
    let Bounds { min_x, min_y, max_x, max_y } = bounds;
    let finite = [min_x, min_y, max_x, max_y].iter().all(|v| v.is_finite());
    if finite && min_x < max_x && min_y < max_y {
        return Ok(bounds);
    }
    Err(format!("expected finite bounds that are not empty, got x {min_x}..{max_x}, y {min_y}..{max_y}")
        .into())
}

/// Rounds to a number of pixels, at least one.
fn pixels(count: f64) -> Result<u32, InvalidValue> {
    let rounded = (count + 0.5).floor().max(1.0);
    if rounded.is_nan() || rounded > f64::from(LONGEST) {
        return Err(match count < 1e15 {
            true => format!("{count:.0} pixels on a side; at most {LONGEST} are possible"),
            false => format!("{count:.3e} pixels on a side; at most {LONGEST} are possible"),
        }
        .into());
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 2³¹ - 1, whole")]
    Ok(rounded as u32)
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_warp;

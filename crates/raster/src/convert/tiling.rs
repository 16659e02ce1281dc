//! Files whose tiles are those of a tile matrix set: its pixels, padded to whole tiles.
//!
//! A conversion keeps pixels as they are, so a raster must have the reference system of the set, the pixels of one of its
//! zoom levels, and lie on its grid; what does not is warped onto `grid` first (`strile warp`). What is beyond the raster is not valid: nodata,
//! or masked out.

use crate::grid::{Grid, GridChoice, Placement};
use crate::window::Window;
use crate::write::RasterSpec;
use strile_crs::TransformOptions;
use strile_tiff::gdal::MetadataItem;
use strile_tiff::geo::{Bounds, Crs};
use strile_tiff::{ExtraSample, InvalidValue};

/// A tile matrix set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TilingScheme {
    /// Web Mercator in tiles of 256 pixels, as every web map has it.
    GoogleMapsCompatible,
}

/// Half the circumference of the set's sphere: the left and top edges.
const HALF: f64 = 20_037_508.342_789_244;
/// Sides of the set's tiles.
const TILE: f64 = 256.0;
/// Zoom levels of the set.
const ZOOMS: u32 = 30;

/// Where a raster lies in the tiles of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Aligned {
    zoom: u32,
    /// Pixels beyond the raster on its left and at its top.
    pub(crate) before: (u32, u32),
}

impl TilingScheme {
    /// GDAL's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::GoogleMapsCompatible => "GoogleMapsCompatible",
        }
    }

    /// Returns the grid of whole tiles of `block` pixels around some rasters, at the zoom level whose pixels are nearest to
    /// theirs, as GDAL's COG driver chooses it.
    ///
    /// # Errors
    /// If the rasters have no coordinates in Web Mercator, or lie outside the set.
    pub fn grid<R: Clone + Into<Placement>>(
        self,
        rasters: &[R],
        block: u32,
        transform: &TransformOptions,
    ) -> Result<Grid, InvalidValue> {
        let crs = Crs::from_epsg(3857).ok_or_else(|| "EPSG:3857 is not known".to_owned())?;
        let choice = GridChoice { crs: Some(crs.clone()), ..GridChoice::default() };
        let natural = choice.grid(rasters, transform)?;
        let (wanted, _) = natural.transform().resolution();
        let pixel_of = |zoom: u32| 2.0 * HALF / TILE / f64::from(1u32 << zoom);
        let finer = (0..ZOOMS).find(|zoom| pixel_of(*zoom) < wanted * (1.0 + 1e-8)).unwrap_or(ZOOMS - 1);
        let zoom = match finer.checked_sub(1) {
            Some(coarser) if pixel_of(coarser) / wanted < wanted / pixel_of(finer) => coarser,
            _ => finer,
        };
        let pixel = pixel_of(zoom);
        let tile = pixel * f64::from(block.max(1));
        let bounds = natural.bounds();
        // A box that ends within half a pixel of a tile ends there.
        let low = |v: f64| (((v + pixel / 2.0) / tile).floor() * tile).clamp(0.0, 2.0 * HALF);
        let high = |v: f64| (((v - pixel / 2.0) / tile).ceil() * tile).clamp(0.0, 2.0 * HALF);
        let (left, right) = (low(bounds.min_x + HALF), high(bounds.max_x + HALF));
        let (top, bottom) = (low(HALF - bounds.max_y), high(HALF - bounds.min_y));
        let bounds =
            Bounds { min_x: left - HALF, min_y: HALF - bottom, max_x: right - HALF, max_y: HALF - top };
        Grid::from_bounds(crs, bounds, (pixel, pixel), false)
    }

    /// Pads `spec` to whole blocks of the set, or says why it does not lie on its grid.
    pub(crate) fn align(self, spec: &mut RasterSpec, block: (u32, u32)) -> Result<Aligned, String> {
        let name = self.name();
        let geo = &mut spec.metadata.georeference;
        let epsg = geo.crs.as_ref().and_then(|crs| crs.epsg);
        if epsg != Some(3857) {
            let found = epsg.map_or_else(|| "another system".into(), |code| format!("EPSG:{code}"));
            return Err(format!(
                "tiling scheme {name} is in EPSG:3857, the raster in {found}; warp it first (strile warp)"
            ));
        }
        let transform = geo.transform.ok_or_else(|| format!("tiling scheme {name} needs a transform"))?;
        let (across, down) = (transform.a, -transform.e);
        let zoom_of = |zoom: &u32| {
            let pixel = 2.0 * HALF / TILE / f64::from(1u32 << zoom);
            (across / pixel - 1.0).abs() < 1e-8 && (down / pixel - 1.0).abs() < 1e-8
        };
        let straight = transform.is_north_up();
        let zoom = (0..ZOOMS).find(zoom_of).filter(|_| straight).ok_or_else(|| {
            format!("pixels of {across} × {down} are those of no zoom level of {name}; warp the raster first (strile warp)")
        })?;
        let (x, y) = ((transform.c + HALF) / across, (HALF - transform.f) / down);
        let off = |v: f64| (v - v.round()).abs() > 0.01 || !(-0.5..4e9).contains(&v);
        if off(x) || off(y) {
            return Err(format!(
                "the raster begins at pixel ({x:.2}, {y:.2}) of {name}; warp it to whole pixels first"
            ));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked to be whole and below 2^32"
        )]
        let before = (x.round() as u32 % block.0, y.round() as u32 % block.1);
        let padded = |before: u32, len: u32, block: u32| {
            before.checked_add(len).and_then(|len| len.checked_next_multiple_of(block))
        };
        let size = padded(before.0, spec.width, block.0).zip(padded(before.1, spec.height, block.1));
        let (width, height) =
            size.ok_or_else(|| "the padded raster has more than 2^32 columns or rows".to_owned())?;
        let grows = (width, height) != (spec.width, spec.height);
        geo.transform = Some(transform.window(-f64::from(before.0), -f64::from(before.1)));
        (spec.width, spec.height) = (width, height);
        let alpha = |extra: &ExtraSample| *extra != ExtraSample::Unspecified;
        let told = spec.metadata.nodata.is_some() || spec.extra_samples.iter().flatten().any(alpha);
        spec.mask |= grows && !told;
        for (name, value) in [("NAME", name.to_owned()), ("ZOOM_LEVEL", zoom.to_string())] {
            let domain = "TILING_SCHEME".to_owned();
            let item = MetadataItem { name: name.into(), domain, sample: None, role: None, value };
            spec.metadata.items.push(item);
        }
        Ok(Aligned { zoom, before })
    }
}

impl Aligned {
    /// The parts of a file of `size` columns and rows above and below the raster, which lies at `inner`, each of
    /// at most `step` rows.
    pub(crate) fn above_and_below(inner: Window, size: (u32, u32), step: u32) -> Vec<Window> {
        let bottom = inner.row + inner.height;
        let rows = |from: u32, to: u32| {
            let part = move |y| Window::new(0, y, size.0, step.min(to - y));
            (from..to).step_by(step.max(1) as usize).map(part)
        };
        rows(0, inner.row).chain(rows(bottom, size.1)).collect()
    }

    /// The parts beside a piece of the raster, where it reaches an edge of it. Given with the piece, so that no tile
    /// at an edge has to wait for more than the rows of the piece.
    pub(crate) fn beside(piece: Window, inner: Window, width: u32) -> Vec<Window> {
        let right = inner.column + inner.width;
        let mut parts = Vec::new();
        if piece.column == inner.column && inner.column > 0 {
            parts.push(Window { column: 0, width: inner.column, ..piece });
        }
        if piece.column + piece.width == right && right < width {
            parts.push(Window { column: right, width: width - right, ..piece });
        }
        parts
    }

    /// The zoom level.
    #[cfg(test)]
    fn zoom(self) -> u32 {
        self.zoom
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strile_tiff::DataType;
    use strile_tiff::geo::GeoTransform;

    fn spec(column: f64, row: f64, zoom: u32) -> RasterSpec {
        let pixel = 2.0 * HALF / TILE / f64::from(1u32 << zoom);
        let mut spec = RasterSpec::new(1000, 300, 3, DataType::U8);
        let geo = &mut spec.metadata.georeference;
        geo.crs = Crs::from_epsg(3857);
        let (c, f) = (column * pixel - HALF, HALF - row * pixel);
        geo.transform = Some(GeoTransform { a: pixel, b: 0.0, c, d: 0.0, e: -pixel, f });
        spec
    }

    #[test]
    fn a_raster_on_the_grid_is_padded_to_tiles() {
        let mut raster = spec(5130.0, 600.0, 12);
        let aligned = TilingScheme::GoogleMapsCompatible.align(&mut raster, (256, 256)).unwrap();
        assert_eq!((aligned.zoom(), aligned.before), (12, (10, 88)));
        assert_eq!((raster.width, raster.height, raster.mask), (1024, 512, true));
        let corner = raster.metadata.georeference.transform.unwrap();
        let tile = (corner.c + HALF) / corner.a / 256.0;
        assert!((tile - 20.0).abs() < 1e-6, "{tile}");
        let inner = Window::new(10, 88, 1000, 300);
        let mut parts = Aligned::above_and_below(inner, (1024, 512), 100);
        assert_eq!(parts.iter().map(|part| part.height).collect::<Vec<_>>(), [88, 100, 24]);
        for y in [88, 200] {
            let left = Window::new(10, y, 600, 112);
            let right = Window::new(610, y, 400, 112);
            let cut = |piece: Window| piece.intersection(&inner).unwrap();
            parts.extend([left, right].into_iter().flat_map(|w| Aligned::beside(cut(w), inner, 1024)));
        }
        parts.extend(Aligned::beside(Window { row: 312, height: 76, ..inner }, inner, 1024));
        let pixels: u64 = parts.iter().map(|w| u64::from(w.width) * u64::from(w.height)).sum();
        assert_eq!(pixels, 1024 * 512 - 1000 * 300);
        assert!(parts.iter().all(|part| part.intersection(&inner).is_none()));
    }

    #[test]
    fn the_grid_around_a_raster_is_of_whole_tiles_at_the_nearest_zoom() {
        let transform = GeoTransform { a: 10.0, b: 0.0, c: 5e5, d: 0.0, e: -10.0, f: 5_538_630.0 };
        let scene = Grid::new(Crs::from_epsg(32633).unwrap(), transform, 2000, 1500).unwrap();
        let set = TilingScheme::GoogleMapsCompatible;
        let grid = set.grid(&[scene], 256, &TransformOptions::default()).unwrap();
        assert!(grid.width().is_multiple_of(256) && grid.height().is_multiple_of(256));
        let mut raster = RasterSpec::new(grid.width(), grid.height(), 1, DataType::U8);
        raster.metadata.georeference.crs = Some(grid.crs().clone());
        raster.metadata.georeference.transform = Some(grid.transform());
        let aligned = set.align(&mut raster, (256, 256)).unwrap();
        // 10 m at 50° north are 15.6 m in the set, and its pixels of level 13 have 19.1 m, those of 14 9.55 m.
        assert_eq!((aligned.zoom(), aligned.before), (13, (0, 0)));
        assert_eq!((raster.width, raster.height), (grid.width(), grid.height()));
    }

    #[test]
    fn what_is_not_on_the_grid_is_refused() {
        let align = |mut raster: RasterSpec| {
            TilingScheme::GoogleMapsCompatible.align(&mut raster, (256, 256)).unwrap_err()
        };
        assert!(align(spec(5130.4, 600.0, 12)).contains("whole pixels"));
        let mut other = spec(0.0, 0.0, 3);
        other.metadata.georeference.crs = Crs::from_epsg(32631);
        assert!(align(other).ends_with("the raster in EPSG:32631; warp it first (strile warp)"));
        let mut coarse = spec(0.0, 0.0, 3);
        coarse.metadata.georeference.transform.as_mut().unwrap().a *= 1.1;
        assert!(align(coarse).contains("no zoom level"));
    }
}

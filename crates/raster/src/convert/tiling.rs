//! Files whose tiles are those of a tile matrix set, padded to whole tiles.
//!
//! A raster in the reference system of the set, with the pixels of one of its zoom levels, that lies on its grid keeps
//! its pixels (`align`). Any other raster is warped onto `grid` (`tiled`). Pixels beyond the raster are not valid:
//! nodata, or masked out.

use crate::grid::{Grid, GridChoice, Placement};
use crate::window::Window;
use crate::write::{BlockChoice, RasterSpec, TILE};
use strile_crs::TransformOptions;
use strile_tiff::gdal::MetadataItem;
use strile_tiff::geo::{Bounds, Crs, Georeference};
use strile_tiff::{ExtraSample, InvalidValue};

/// A tile matrix set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TilingScheme {
    /// Web Mercator in tiles of 256 pixels, as used by web maps.
    GoogleMapsCompatible,
}

/// Which of the two zoom levels around the resolution of a raster is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ZoomStrategy {
    /// The one with the nearest pixel size.
    #[default]
    Auto,
    /// The one with larger pixels.
    Lower,
    /// The one with smaller pixels.
    Upper,
}

/// Tiles of a set at one of its zoom levels, chosen as in GDAL's COG driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tiling {
    /// The set.
    pub scheme: TilingScheme,
    /// The zoom level. `None` chooses it by the raster's resolution.
    pub zoom: Option<u32>,
    /// How the zoom level is chosen.
    pub strategy: ZoomStrategy,
    /// Number of levels, including the full image, that begin and end at tiles of their zoom level. At most 10 and the
    /// zoom level.
    pub aligned_levels: u32,
}

impl From<TilingScheme> for Tiling {
    fn from(scheme: TilingScheme) -> Self {
        Self { scheme, zoom: None, strategy: ZoomStrategy::default(), aligned_levels: 0 }
    }
}

/// Half the circumference of the set's sphere: distance of the left and top edges from the origin.
const HALF: f64 = 20_037_508.342_789_244;
/// Number of zoom levels of the set.
const ZOOMS: u32 = 31;
/// Maximum number of aligned levels.
const MOST_ALIGNED: u32 = 10;

/// The position of a raster in the tiles of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Aligned {
    zoom: u32,
    /// Pixels left of the raster and above it.
    pub(crate) before: (u32, u32),
}

impl TilingScheme {
    /// Returns GDAL's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::GoogleMapsCompatible => "GoogleMapsCompatible",
        }
    }
}

/// Returns the size of a pixel at a zoom level whose tiles have `block` pixels per side.
fn pixel_of(zoom: u32, block: u32) -> f64 {
    2.0 * HALF / f64::from(block.max(1)) / f64::from(1u32 << zoom.min(ZOOMS - 1))
}

impl Tiling {
    /// Returns the pixels per side of the tiles that blocks form.
    ///
    /// # Errors
    /// If blocks are not square tiles.
    pub fn block(blocks: BlockChoice) -> Result<u32, InvalidValue> {
        match blocks {
            BlockChoice::Tiles { width, height } if width == height => Ok(width),
            BlockChoice::Auto => Ok(TILE),
            _ => Err("tiles of a matrix set are square".to_owned().into()),
        }
    }

    /// Returns the grid of whole tiles around some rasters, with `block` pixels per side of a tile, as in GDAL's COG
    /// driver.
    ///
    /// # Errors
    /// If the rasters have no coordinates in Web Mercator, lie outside the set, or there is no such zoom level.
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
        let zoom = self.zoom_for(wanted, block)?;
        let pixel = pixel_of(zoom, block);
        let tile = pixel * f64::from(block.max(1));
        let all = f64::from(1u32 << zoom);
        let together = f64::from(self.tiles_together(zoom));
        let bounds = natural.bounds();
        // A box that ends within half a pixel of a tile's edge ends at the edge.
        let near = 0.499 * pixel;
        let low = |v: f64| (((v + near) / tile).floor().max(0.0) / together).floor() * together;
        let high = |v: f64| (((v - near) / tile).ceil().min(all) / together).ceil() * together;
        let (left, right) = (low(bounds.min_x + HALF), high(bounds.max_x + HALF));
        let (top, bottom) = (low(HALF - bounds.max_y), high(HALF - bounds.min_y));
        if left >= right || top >= bottom {
            return Err(format!("the raster lies outside {}", self.scheme.name()).into());
        }
        let bounds = Bounds {
            min_x: left * tile - HALF,
            min_y: HALF - bottom * tile,
            max_x: right * tile - HALF,
            max_y: HALF - top * tile,
        };
        Grid::from_bounds(crs, bounds, (pixel, pixel), false)
    }

    /// Returns the zoom level for pixels of that size.
    fn zoom_for(self, wanted: f64, block: u32) -> Result<u32, InvalidValue> {
        if let Some(zoom) = self.zoom {
            self.check_zoom()?;
            return Ok(zoom);
        }
        let is_same = |pixel: f64| (wanted - pixel).abs() / pixel <= 1e-8;
        let found = (0..ZOOMS).find(|zoom| {
            let pixel = pixel_of(*zoom, block);
            wanted > pixel || is_same(pixel)
        });
        let finer = found.ok_or_else(|| {
            format!("pixels of {wanted} are smaller than those of every zoom level of {}", self.scheme.name())
        })?;
        let pixel = pixel_of(finer, block);
        Ok(match (finer.checked_sub(1), self.strategy) {
            (None, _) | (_, ZoomStrategy::Upper) => finer,
            _ if is_same(pixel) => finer,
            (Some(coarser), ZoomStrategy::Lower) => coarser,
            (Some(coarser), ZoomStrategy::Auto) if pixel_of(coarser, block) / wanted < wanted / pixel => {
                coarser
            }
            _ => finer,
        })
    }

    /// Fails for a zoom level that the set does not have.
    fn check_zoom(self) -> Result<(), InvalidValue> {
        match self.zoom {
            Some(zoom) if zoom >= ZOOMS => {
                Err(format!("{} has no zoom level {zoom}; expected 0 to {}", self.scheme.name(), ZOOMS - 1)
                    .into())
            }
            _ => Ok(()),
        }
    }

    /// Returns the number of aligned levels.
    fn aligned(self, zoom: u32) -> u32 {
        self.aligned_levels.min(MOST_ALIGNED).min(zoom)
    }

    /// Returns the number of tiles per side of a tile of the last aligned level.
    fn tiles_together(self, zoom: u32) -> u32 {
        1 << self.aligned(zoom).saturating_sub(1)
    }

    /// Returns the zoom level with the pixels of a raster, and the raster's first pixel there; or why it does not lie
    /// on the grid of the set.
    fn place(self, geo: &Georeference, block: u32) -> Result<(u32, (u32, u32)), String> {
        let name = self.scheme.name();
        let epsg = geo.crs.as_ref().and_then(|crs| crs.epsg);
        if epsg != Some(3857) {
            let found = epsg.map_or_else(|| "another system".into(), |code| format!("EPSG:{code}"));
            return Err(format!("tiling scheme {name} is in EPSG:3857, the raster in {found}"));
        }
        let transform = geo.transform.ok_or_else(|| format!("tiling scheme {name} needs a transform"))?;
        let (across, down) = (transform.a, -transform.e);
        let zoom_of = |zoom: &u32| {
            let pixel = pixel_of(*zoom, block);
            (across / pixel - 1.0).abs() < 1e-8 && (down / pixel - 1.0).abs() < 1e-8
        };
        let straight = transform.is_north_up();
        let zoom = (0..ZOOMS).find(zoom_of).filter(|_| straight);
        let zoom = zoom.filter(|zoom| self.zoom.is_none_or(|wanted| wanted == *zoom)).ok_or_else(|| {
            let wanted = self
                .zoom
                .map_or_else(|| "no zoom level".into(), |zoom| format!("another zoom level than {zoom}"));
            format!("pixels of {across} × {down} are those of {wanted} of {name}")
        })?;
        let (x, y) = ((transform.c + HALF) / across, (HALF - transform.f) / down);
        let off = |v: f64| (v - v.round()).abs() > 0.01 || !(-0.5..4e9).contains(&v);
        if off(x) || off(y) {
            return Err(format!("the raster begins at pixel ({x:.2}, {y:.2}) of {name}, not at a whole one"));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked to be whole and below 2^32"
        )]
        Ok((zoom, (x.round() as u32, y.round() as u32)))
    }

    /// Returns whether a raster keeps its pixels in tiles of the set.
    pub(crate) fn is_on_grid(self, geo: &Georeference, block: u32) -> bool {
        self.place(geo, block).is_ok()
    }

    /// Pads `spec` to whole blocks of the set, or returns why it does not lie on its grid.
    pub(crate) fn align(self, spec: &mut RasterSpec, block: (u32, u32)) -> Result<Aligned, String> {
        self.check_zoom().map_err(|problem| problem.to_string())?;
        if block.0 != block.1 {
            return Err(format!("tiles of {} are square, got {} × {}", self.scheme.name(), block.0, block.1));
        }
        let geo = &mut spec.metadata.georeference;
        let (zoom, (x, y)) = self.place(geo, block.0)?;
        let step = block
            .0
            .checked_mul(self.tiles_together(zoom))
            .ok_or_else(|| "the aligned levels have more than 2^32 columns or rows".to_owned())?;
        let before = (x % step, y % step);
        let padded = |before: u32, len: u32| {
            before.checked_add(len).and_then(|len| len.checked_next_multiple_of(step))
        };
        let size = padded(before.0, spec.width).zip(padded(before.1, spec.height));
        let (width, height) =
            size.ok_or_else(|| "the padded raster has more than 2^32 columns or rows".to_owned())?;
        let grows = (width, height) != (spec.width, spec.height);
        geo.transform =
            geo.transform.map(|transform| transform.window(-f64::from(before.0), -f64::from(before.1)));
        (spec.width, spec.height) = (width, height);
        spec.mask |= grows && !is_told(spec);
        let mut items = vec![("NAME", self.scheme.name().to_owned()), ("ZOOM_LEVEL", zoom.to_string())];
        if self.aligned(zoom) > 0 {
            items.push(("ALIGNED_LEVELS", self.aligned(zoom).to_string()));
        }
        for (name, value) in items {
            let domain = "TILING_SCHEME".to_owned();
            let item = MetadataItem { name: name.into(), domain, sample: None, role: None, value };
            spec.metadata.items.push(item);
        }
        Ok(Aligned { zoom, before })
    }
}

/// Returns whether nodata or alpha marks missing pixels.
pub(crate) fn is_told(spec: &RasterSpec) -> bool {
    let alpha = |extra: &ExtraSample| *extra != ExtraSample::Unspecified;
    spec.metadata.nodata.is_some() || spec.extra_samples.iter().flatten().any(alpha)
}

impl Aligned {
    /// Returns the parts above and below the raster, which lies at `inner`, of a file of `size` columns and rows, each
    /// of at most `step` rows.
    pub(crate) fn above_and_below(inner: Window, size: (u32, u32), step: u32) -> Vec<Window> {
        let bottom = inner.row + inner.height;
        let rows = |from: u32, to: u32| {
            let part = move |y| Window::new(0, y, size.0, step.min(to - y));
            (from..to).step_by(step.max(1) as usize).map(part)
        };
        rows(0, inner.row).chain(rows(bottom, size.1)).collect()
    }

    /// Returns the parts beside a piece of the raster, if it reaches an edge of the raster. They are written with the
    /// piece, so that no tile at an edge waits for more than the rows of the piece.
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

    /// Returns the zoom level.
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
        let pixel = pixel_of(zoom, 256);
        let mut spec = RasterSpec::new(1000, 300, 3, DataType::U8);
        let geo = &mut spec.metadata.georeference;
        geo.crs = Crs::from_epsg(3857);
        let (c, f) = (column * pixel - HALF, HALF - row * pixel);
        geo.transform = Some(GeoTransform { a: pixel, b: 0.0, c, d: 0.0, e: -pixel, f });
        spec
    }

    fn web() -> Tiling {
        TilingScheme::GoogleMapsCompatible.into()
    }

    #[test]
    fn a_raster_on_the_grid_is_padded_to_tiles() {
        let mut raster = spec(5130.0, 600.0, 12);
        let aligned = web().align(&mut raster, (256, 256)).unwrap();
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
        let set = web();
        let grid = set.grid(&[scene], 256, &TransformOptions::default()).unwrap();
        assert!(grid.width().is_multiple_of(256) && grid.height().is_multiple_of(256));
        let mut raster = RasterSpec::new(grid.width(), grid.height(), 1, DataType::U8);
        raster.metadata.georeference.crs = Some(grid.crs().clone());
        raster.metadata.georeference.transform = Some(grid.transform());
        let aligned = set.align(&mut raster, (256, 256)).unwrap();
        // 10 m at 50° north are 15.6 m in the set; its pixels have 19.1 m at level 13 and 9.55 m at level 14.
        assert_eq!((aligned.zoom(), aligned.before), (13, (0, 0)));
        assert_eq!((raster.width, raster.height), (grid.width(), grid.height()));
    }

    #[test]
    fn what_is_not_on_the_grid_is_refused() {
        let align = |mut raster: RasterSpec| web().align(&mut raster, (256, 256)).unwrap_err();
        assert!(align(spec(5130.4, 600.0, 12)).contains("whole one"));
        let mut other = spec(0.0, 0.0, 3);
        other.metadata.georeference.crs = Crs::from_epsg(32631);
        assert!(align(other).ends_with("the raster in EPSG:32631"));
        let mut coarse = spec(0.0, 0.0, 3);
        coarse.metadata.georeference.transform.as_mut().unwrap().a *= 1.1;
        assert!(align(coarse).contains("no zoom level"));
    }
}

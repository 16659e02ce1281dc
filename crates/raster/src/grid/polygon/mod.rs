//! Polygons that clip a result: rings of coordinates in a reference system.
//!
//! `geojson` and `wkt` parse them, `outline` converts them to a grid, and `inside` finds the pixels with their centre
//! within. `clip` reads images within a polygon.

mod clip;
mod geojson;
mod inside;
mod outline;
mod wkt;

pub(crate) use inside::Inside;
pub(crate) use outline::Outline;

use strile_crs::Crs;
use strile_tiff::InvalidValue;
use strile_tiff::geo::Bounds;

/// Maximum number of vertices of all rings.
const MOST_VERTICES: usize = 1 << 20;
/// Longest text, in bytes.
const MOST_BYTES: usize = 64 << 20;

/// A ring. The last vertex is connected to the first.
type Ring = Vec<(f64, f64)>;

/// A polygon that clips a result, as a list of rings. Pixels whose centre lies within an odd number of rings are
/// inside, so rings within others are holes. Several polygons are represented by all of their rings.
///
/// ```
/// use strile::grid::Polygon;
///
/// let wkt = Polygon::from_text("POLYGON ((0 0, 10 0, 10 10, 0 10, 0 0), (2 2, 4 2, 4 4, 2 4, 2 2))")?;
/// assert_eq!(wkt.bounds().max_x, 10.0);
/// let text = r#"{"type": "Polygon", "coordinates": [[[0, 0], [10, 0], [10, 10], [0, 0]]]}"#;
/// assert_eq!(Polygon::from_text(text)?.crs().and_then(|crs| crs.epsg), Some(4326));
/// # Ok::<(), strile::error::InvalidValue>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Polygon {
    crs: Option<Crs>,
    rings: Vec<Ring>,
    bounds: Bounds,
}

impl Polygon {
    /// Makes a polygon from rings. `crs` is `None` for coordinates in the reference system of the result.
    ///
    /// # Errors
    /// If there is no ring, a ring has fewer than three vertices, a coordinate is not finite, or there are more than
    /// 2²⁰ vertices.
    pub fn new(crs: Option<Crs>, rings: Vec<Vec<(f64, f64)>>) -> Result<Self, InvalidValue> {
        let count = rings.iter().fold(0_usize, |sum, ring| sum.saturating_add(ring.len()));
        if count > MOST_VERTICES {
            return Err(
                format!("the polygon has {count} vertices; at most {MOST_VERTICES} are possible").into()
            );
        }
        if rings.is_empty() {
            return Err("the polygon is empty".to_owned().into());
        }
        let mut bounds: Option<Bounds> = None;
        for ring in &rings {
            if ring.len() < 3 {
                let problem = format!("expected rings of three vertices or more, got one of {}", ring.len());
                return Err(problem.into());
            }
            for &(x, y) in ring {
                if !(x.is_finite() && y.is_finite()) {
                    return Err("a coordinate of the polygon is not finite".to_owned().into());
                }
                bounds = Some(super::around(bounds, (x, y)));
            }
        }
        let bounds = bounds.ok_or_else(|| "the polygon is empty".to_owned())?;
        Ok(Self { crs, rings, bounds })
    }

    /// Parses GeoJSON (a polygon, several, a feature, or a collection of them) or WKT (`POLYGON`, `MULTIPOLYGON`).
    /// GeoJSON coordinates are in WGS 84, longitude first, unless `crs` names another reference system; WKT coordinates
    /// are in that of the result.
    ///
    /// # Errors
    /// If the text is neither, has geometries other than polygons, or as [`Polygon::new`].
    pub fn from_text(text: &str) -> Result<Self, InvalidValue> {
        if text.len() > MOST_BYTES {
            return Err(
                format!("the polygon has {} bytes; at most {MOST_BYTES} are possible", text.len()).into()
            );
        }
        let text = text.trim_start_matches('\u{feff}').trim();
        match text.starts_with('{') {
            true => geojson::polygon(text),
            false => Self::new(None, wkt::rings(text)?),
        }
    }

    /// Sets the reference system of the coordinates; `None` is that of the result.
    #[must_use]
    pub fn with_crs(mut self, crs: Option<Crs>) -> Self {
        self.crs = crs;
        self
    }

    /// Returns the reference system; `None` is that of the result.
    pub const fn crs(&self) -> Option<&Crs> {
        self.crs.as_ref()
    }

    /// Returns the rings.
    pub fn rings(&self) -> &[Vec<(f64, f64)>] {
        &self.rings
    }

    /// Returns the box around all vertices.
    pub const fn bounds(&self) -> Bounds {
        self.bounds
    }
}

#[cfg(test)]
mod tests;

//! Places the pixels of a raster in coordinates: by a transform, ground control points or rational polynomials.

mod heights;
mod newton;
mod points;
mod rational;
mod route;
mod solve;
#[cfg(test)]
mod tests;

pub use heights::{DemSampling, RpcDem};
pub(crate) use route::Route;

use super::Grid;
use heights::Heights;
use points::Points;
use rational::Rational;
use std::sync::Arc;
use strile_crs::{Area, Crs};
use strile_engine::Context;
use strile_tiff::InvalidValue;
use strile_tiff::geo::{Bounds, GeoTransform, Georeference};

/// The reference system of rational polynomials.
const WGS84: u32 = 4326;
/// Points along each side of a raster whose bounds are computed.
const STEPS: u32 = 20;

/// The part of a raster's georeferencing that places its pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum PlacedBy {
    /// As in GDAL: the transform; without one, control points by a polynomial of order 2 (1 if there are fewer than 6);
    /// without those, rational polynomials.
    #[default]
    Any,
    /// Ground control points, by a polynomial of this order from 1 to 3: gdalwarp's `-order`.
    Polynomial(u8),
    /// Ground control points, by a thin-plate spline through all of them: gdalwarp's `-tps`.
    ThinPlate,
    /// Rational polynomials: gdalwarp's `-rpc`.
    Rational,
}

/// Settings of how a raster is placed in coordinates.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Placing {
    /// The part of its georeferencing that is used.
    pub by: PlacedBy,
    /// The height in metres at which rational polynomials are evaluated, above the ellipsoid or above `rpc_dem`: GDAL's
    /// `RPC_HEIGHT`.
    pub rpc_height: f64,
    /// The elevation model that provides heights for rational polynomials. Every place is then computed exactly, as in
    /// gdalwarp, because the terrain between two places is arbitrary.
    pub rpc_dem: Option<Arc<RpcDem>>,
}

/// Compares settings. Elevation models are equal if they are the same opened one.
impl PartialEq for Placing {
    fn eq(&self, other: &Self) -> bool {
        let same_dem = match (&self.rpc_dem, &other.rpc_dem) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        };
        self.by == other.by && self.rpc_height == other.rpc_height && same_dem
    }
}

impl Placing {
    /// Returns the settings that use this part of the georeferencing, at height 0.
    pub const fn by(by: PlacedBy) -> Self {
        Self { by, rpc_height: 0.0, rpc_dem: None }
    }

    /// Sets the height at which rational polynomials are evaluated.
    #[must_use]
    pub const fn rpc_height(mut self, height: f64) -> Self {
        self.rpc_height = height;
        self
    }

    /// Sets the elevation model that provides heights for rational polynomials.
    #[must_use]
    pub fn rpc_dem(mut self, dem: impl Into<Option<Arc<RpcDem>>>) -> Self {
        self.rpc_dem = dem.into();
        self
    }
}

/// The placement of a raster's pixels in coordinates.
///
/// ```
/// use strile::Context;
/// use strile::crs::{Crs, TransformOptions};
/// use strile::grid::{Placement, Placing};
/// use strile::tiff::geo::{Gcp, Georeference};
///
/// let point = |column: f64, row: f64, x: f64, y: f64| Gcp { column, row, x, y, z: 0.0, id: String::new() };
/// let scan = Georeference {
///     gcps: vec![point(0.0, 0.0, 14.0, 51.0), point(100.0, 0.0, 15.0, 51.1), point(0.0, 100.0, 13.9, 50.0)],
///     gcp_crs: Some(Crs::from_user_input("EPSG:4326")?),
///     ..Georeference::default()
/// };
/// let placement = Placement::of(&scan, 100, 100, &Placing::default(), &Context::default())?;
/// let grid = placement.suggest(&Crs::from_user_input("EPSG:3857")?, &TransformOptions::default())?;
/// assert!(grid.width() > 50);
/// # Ok::<(), strile::error::InvalidValue>(())
/// ```
#[derive(Debug, Clone)]
pub struct Placement {
    /// The pixels, in coordinates; with a model, in their own columns and rows.
    pub(super) grid: Grid,
    model: Option<Model>,
}

/// A model that converts columns and rows to coordinates and back.
#[derive(Debug, Clone)]
pub(super) struct Model {
    kind: Kind,
    /// Its description.
    name: Arc<str>,
}

#[derive(Debug, Clone)]
enum Kind {
    Points(Arc<Points>),
    Rational(Arc<Rational>),
}

impl Model {
    /// Returns the elevation model that it takes heights from.
    fn heights(&self) -> Option<&Heights> {
        match &self.kind {
            Kind::Points(_) => None,
            Kind::Rational(rational) => rational.heights(),
        }
    }

    fn to_world(&self, column: f64, row: f64) -> Option<(f64, f64)> {
        let found = match &self.kind {
            Kind::Points(points) => points.to_world(column, row),
            Kind::Rational(rational) => rational.to_world(column, row)?,
        };
        finite(found)
    }

    fn to_pixel(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        let found = match &self.kind {
            Kind::Points(points) => points.to_pixel(x, y)?,
            Kind::Rational(rational) => rational.to_pixel(x, y)?,
        };
        finite(found)
    }
}

fn finite((x, y): (f64, f64)) -> Option<(f64, f64)> {
    (x.is_finite() && y.is_finite()).then_some((x, y))
}

impl From<Grid> for Placement {
    fn from(grid: Grid) -> Self {
        Self { grid, model: None }
    }
}

impl Placement {
    /// Places a raster of `width` by `height` pixels. Elevation models are read with the memory of `context`.
    ///
    /// # Errors
    /// If the raster has no reference system, or lacks the requested georeferencing, or as [`Grid::new`].
    pub fn of(
        georeference: &Georeference,
        width: u32,
        height: u32,
        placing: &Placing,
        context: &Context,
    ) -> Result<Self, InvalidValue> {
        let Georeference { crs, transform, gcps, gcp_crs, rpc, .. } = georeference;
        let by_points = !gcps.is_empty();
        let model = match placing.by {
            PlacedBy::Any => match (transform, rpc) {
                (Some(_), _) => None,
                (None, _) if by_points => {
                    let order = Points::order(gcps);
                    Some(Model::polynomial(Points::polynomial(gcps, order)?, order, gcps.len()))
                }
                (None, Some(_)) => Some(Model::rational(georeference, placing, context)?),
                (None, None) => {
                    let and = if crs.is_none() { "no reference system, " } else { "" };
                    let problem = "no transform, no control points and no rational polynomials";
                    return Err(format!("the raster has {and}{problem}").into());
                }
            },
            PlacedBy::Rational => Some(Model::rational(georeference, placing, context)?),
            PlacedBy::Polynomial(_) | PlacedBy::ThinPlate if !by_points => {
                return Err("the raster has no ground control points".to_owned().into());
            }
            PlacedBy::Polynomial(order @ 1..=3) => {
                Some(Model::polynomial(Points::polynomial(gcps, order)?, order, gcps.len()))
            }
            PlacedBy::Polynomial(order) => {
                return Err(format!("expected a polynomial of order 1 to 3, got {order}").into());
            }
            PlacedBy::ThinPlate => Some(Model {
                kind: Kind::Points(Arc::new(Points::surface(gcps)?)),
                name: format!("thin-plate spline through {} control points", gcps.len()).into(),
            }),
        };
        let is_rational = matches!(model, Some(Model { kind: Kind::Rational(_), .. }));
        let of_rational = [("rpc_height", placing.rpc_height != 0.0), ("rpc_dem", placing.rpc_dem.is_some())];
        if let Some((name, _)) = of_rational.iter().find(|(_, given)| *given && !is_rational) {
            let problem =
                format!("`{name}` is for rasters placed by rational polynomials, and this one is not");
            return Err(problem.into());
        }
        let crs = match &model {
            None => crs.clone(),
            Some(Model { kind: Kind::Points(_), .. }) => gcp_crs.clone().or_else(|| crs.clone()),
            Some(Model { kind: Kind::Rational(_), .. }) => Crs::from_epsg(WGS84),
        };
        let crs = crs.ok_or_else(|| "the raster has no reference system; give `source_crs`".to_owned())?;
        let pixels = GeoTransform { a: 1.0, b: 0.0, c: 0.0, d: 0.0, e: 1.0, f: 0.0 };
        let transform = transform.filter(|_| model.is_none()).unwrap_or(pixels);
        Ok(Self { grid: Grid::new(crs, transform, width, height)?, model })
    }

    /// Returns the reference system of its coordinates.
    pub const fn crs(&self) -> &Crs {
        self.grid.crs()
    }

    /// Returns how it is placed, in words; `None` for a transform.
    pub(super) fn name(&self) -> Option<Arc<str>> {
        self.model.as_ref().map(|model| Arc::clone(&model.name))
    }

    /// Fails if heights of an elevation model could not be read.
    pub(super) fn check(&self) -> Result<(), InvalidValue> {
        let fault = self.model.as_ref().and_then(Model::heights).and_then(Heights::fault);
        fault.map_or(Ok(()), |problem| Err(problem.into()))
    }

    /// Returns whether it is placed by rational polynomials.
    pub(super) fn is_rational(&self) -> bool {
        matches!(self.model, Some(Model { kind: Kind::Rational(_), .. }))
    }

    /// Returns the area on Earth that it covers.
    pub(super) fn area(&self) -> Result<Area, InvalidValue> {
        let Bounds { min_x, min_y, max_x, max_y } = self.bounds()?;
        Area::of(self.crs(), (min_x, min_y), (max_x, max_y)).map_err(|error| error.to_string().into())
    }

    /// Returns the bounding box of its coordinates.
    fn bounds(&self) -> Result<Bounds, InvalidValue> {
        let Some(model) = &self.model else { return Ok(self.grid.bounds()) };
        let side = |at: u32, len: u32| f64::from(at) / f64::from(STEPS) * f64::from(len);
        let all = (0..=STEPS).flat_map(|row| (0..=STEPS).map(move |column| (column, row)));
        let all = all.filter_map(|(column, row)| {
            model.to_world(side(column, self.grid.width()), side(row, self.grid.height()))
        });
        let one = all.map(|(x, y)| Bounds { min_x: x, min_y: y, max_x: x, max_y: y });
        let around = |one: Bounds, other: Bounds| Bounds {
            min_x: one.min_x.min(other.min_x),
            min_y: one.min_y.min(other.min_y),
            max_x: one.max_x.max(other.max_x),
            max_y: one.max_y.max(other.max_y),
        };
        let problem =
            || format!("no pixel of the raster has coordinates by its {}", self.name().unwrap_or_default());
        let found = one.reduce(around);
        self.check()?;
        found.ok_or_else(|| problem().into())
    }
}

impl Model {
    fn polynomial(points: Points, order: u8, count: usize) -> Self {
        let name = format!("polynomial of order {order} near {count} control points").into();
        Self { kind: Kind::Points(Arc::new(points)), name }
    }

    fn rational(
        georeference: &Georeference,
        placing: &Placing,
        context: &Context,
    ) -> Result<Self, InvalidValue> {
        let rpc = georeference
            .rpc
            .clone()
            .ok_or_else(|| "the raster has no rational polynomials (RPC)".to_owned())?;
        if !placing.rpc_height.is_finite() {
            return Err(format!("expected a height in metres, got {}", placing.rpc_height).into());
        }
        let (name, heights) = match &placing.rpc_dem {
            None => (format!("rational polynomials at a height of {} m", placing.rpc_height), None),
            Some(dem) => {
                let above = match placing.rpc_height {
                    0.0 => String::new(),
                    height => format!("{height} m above "),
                };
                let name = format!("rational polynomials at heights {above}of {}, exact places", dem.words());
                (name, Some(Heights::new(Arc::clone(dem), &rpc, context)?))
            }
        };
        let rational = Rational::new(rpc, placing.rpc_height, heights);
        Ok(Self { kind: Kind::Rational(Arc::new(rational)), name: name.into() })
    }
}

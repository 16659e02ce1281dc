//! Chooses a grid for rasters from partial settings, as gdalwarp chooses its output.

use super::{Grid, Placement, pixels};
use crate::options::{optional, setters};
use strile_crs::{Area, Crs, TransformOptions, Transformer};
use strile_tiff::InvalidValue;
use strile_tiff::geo::Bounds;

/// Points along each edge of a box that is transformed.
const STEPS: u32 = 21;

/// Partial settings of a grid. The rest is chosen for the rasters, as in gdalwarp.
///
/// ```
/// use strile::crs::{Crs, TransformOptions};
/// use strile::grid::{Grid, GridChoice};
/// use strile::tiff::geo::Bounds;
///
/// let bounds = Bounds { min_x: 399_960.0, min_y: 5_490_240.0, max_x: 509_760.0, max_y: 5_600_040.0 };
/// let scene = Grid::from_bounds(Crs::from_user_input("EPSG:32633")?, bounds, (10.0, 10.0), false)?;
/// let web = Crs::from_user_input("EPSG:3857")?;
/// let choice = GridChoice::new().crs(web).resolution((20.0, 20.0)).target_aligned(true);
/// let grid = choice.grid(&[scene], &TransformOptions::default())?;
/// assert_eq!(grid.bounds().min_x % 20.0, 0.0);
/// # Ok::<(), strile::error::InvalidValue>(())
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct GridChoice {
    /// The reference system; `None` is that of the first raster.
    pub crs: Option<Crs>,
    /// The extent; `None` is that of all rasters.
    pub bounds: Option<Bounds>,
    /// The reference system of the extent; `None` is that of the grid.
    pub bounds_crs: Option<Crs>,
    /// Width and height of a pixel; `None` keeps about the resolution of the rasters.
    pub resolution: Option<(f64, f64)>,
    /// Columns and rows. One of them may be 0, and is then chosen for square pixels.
    pub size: Option<(u32, u32)>,
    /// Whether the extent is widened to multiples of the resolution, as with GDAL's `-tap`.
    pub target_aligned: bool,
}

impl GridChoice {
    /// Returns the settings for a grid like that of the first raster, around all rasters.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Widens the extent to multiples of the resolution, as with GDAL's `-tap`.
        target_aligned: bool,
    }

    optional! {
        /// Sets the reference system.
        crs: Crs,
        /// Sets the extent.
        bounds: Bounds,
        /// Sets the reference system of the extent.
        bounds_crs: Crs,
        /// Sets width and height of a pixel.
        resolution: (f64, f64),
        /// Sets columns and rows. One of them may be 0, and is then chosen for square pixels.
        size: (u32, u32),
    }

    /// Chooses the grid for rasters with these placements or grids.
    ///
    /// # Errors
    /// If there is no raster, both a resolution and a size are given, `target_aligned` without a resolution, or
    /// coordinates cannot be transformed.
    pub fn grid<R: Clone + Into<Placement>>(
        &self,
        rasters: &[R],
        transform: &TransformOptions,
    ) -> Result<Grid, InvalidValue> {
        let rasters: Vec<Placement> = rasters.iter().cloned().map(Into::into).collect();
        let first = rasters.first().ok_or_else(|| "a grid is chosen for one raster at least".to_owned())?;
        if self.resolution.is_some() && self.size.is_some() {
            return Err("a grid has a resolution or a size, not both".to_owned().into());
        }
        if self.target_aligned && self.resolution.is_none() {
            return Err("a target-aligned grid needs a resolution".to_owned().into());
        }
        let crs = self.crs.as_ref().unwrap_or(first.crs());
        let bounds = match (self.bounds, &self.bounds_crs) {
            (Some(bounds), Some(from)) => Some(transform_bounds(from, crs, bounds, transform)?),
            (bounds, _) => bounds,
        };
        if let (Some(bounds), Some(resolution)) = (bounds, self.resolution) {
            return Grid::from_bounds(crs.clone(), bounds, resolution, self.target_aligned);
        }
        if let (Some(bounds), Some((width, height))) = (bounds, self.size)
            && width > 0
            && height > 0
        {
            return Grid::from_bounds_and_size(crs.clone(), bounds, width, height);
        }
        let mut suggested = Vec::with_capacity(rasters.len());
        for raster in &rasters {
            suggested.push(raster.suggest(crs, transform)?);
        }
        let is_alone = bounds.is_none() && self.resolution.is_none() && self.size.is_none();
        match suggested.as_slice() {
            [one] if is_alone => return Ok(one.clone()),
            _ => {}
        }
        let finest = suggested.iter().fold((f64::INFINITY, f64::INFINITY), |finest, grid| {
            let (across, down) = grid.transform().resolution();
            (finest.0.min(across), finest.1.min(down))
        });
        let around = |one: Bounds, other: Bounds| Bounds {
            min_x: one.min_x.min(other.min_x),
            min_y: one.min_y.min(other.min_y),
            max_x: one.max_x.max(other.max_x),
            max_y: one.max_y.max(other.max_y),
        };
        let all = suggested.iter().map(Grid::bounds).reduce(around);
        let own = bounds.or(all).ok_or_else(|| "the rasters have no extent".to_owned())?;
        let (wide, high) = (own.max_x - own.min_x, own.max_y - own.min_y);
        match (self.resolution, self.size) {
            (Some(resolution), _) => Grid::from_bounds(crs.clone(), own, resolution, self.target_aligned),
            (None, Some((0, 0))) => Err("expected a size above 0".to_owned().into()),
            (None, Some((0, height))) => {
                let width = pixels(wide / (high / f64::from(height)))?;
                Grid::from_bounds_and_size(crs.clone(), own, width, height)
            }
            (None, Some((width, 0))) => {
                let height = pixels(high / (wide / f64::from(width)))?;
                Grid::from_bounds_and_size(crs.clone(), own, width, height)
            }
            (None, Some((width, height))) => Grid::from_bounds_and_size(crs.clone(), own, width, height),
            (None, None) if bounds.is_some() => {
                let (width, height) = (pixels(wide / finest.0)?, pixels(high / finest.1)?);
                Grid::from_bounds_and_size(crs.clone(), own, width, height)
            }
            (None, None) => Grid::from_bounds(crs.clone(), own, finest, false),
        }
    }
}

/// Returns the bounds of a box in another reference system. Its edges are transformed in steps. If the other system is
/// periodic, a box across its seam continues: longitudes exceed 180°.
///
/// ```
/// use strile::crs::{Crs, TransformOptions};
/// use strile::grid::transform_bounds;
/// use strile::tiff::geo::Bounds;
///
/// let (utm, wgs) = (Crs::from_user_input("EPSG:32660")?, Crs::from_user_input("EPSG:4326")?);
/// let bounds = Bounds { min_x: 690_000.0, min_y: 6_000_000.0, max_x: 710_000.0, max_y: 6_020_000.0 };
/// let found = transform_bounds(&utm, &wgs, bounds, &TransformOptions::default())?;
/// assert!(found.min_x < 180.0 && found.max_x > 180.0 && found.max_x < 180.3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If coordinates cannot be transformed, or part of an edge lies outside the domain of the other system.
pub fn transform_bounds(
    from: &Crs,
    to: &Crs,
    bounds: Bounds,
    transform: &TransformOptions,
) -> Result<Bounds, InvalidValue> {
    let bounds = super::checked(bounds)?;
    match transformer_of(from, to, bounds, transform)? {
        None => Ok(bounds),
        Some(transformer) => bounds_by(&transformer, bounds, to),
    }
}

/// Returns the transformer from one system to another within a box; `None` if they are the same.
pub(crate) fn transformer_of(
    from: &Crs,
    to: &Crs,
    Bounds { min_x, min_y, max_x, max_y }: Bounds,
    transform: &TransformOptions,
) -> Result<Option<Transformer>, InvalidValue> {
    if from.is_same(to) {
        return Ok(None);
    }
    let mut transform = transform.clone();
    if transform.area.is_none() {
        let area = Area::of(from, (min_x, min_y), (max_x, max_y));
        transform.area = Some(area.map_err(|error| error.to_string())?);
    }
    Ok(Some(Transformer::new(from, to, &transform).map_err(|error| error.to_string())?))
}

/// Returns the bounds of a box, by a transformer to `to`.
pub(crate) fn bounds_by(transformer: &Transformer, bounds: Bounds, to: &Crs) -> Result<Bounds, InvalidValue> {
    let Bounds { min_x, min_y, max_x, max_y } = super::checked(bounds)?;
    let refuse = |problem: &str| {
        let name = to.name.escape_debug();
        Err(format!("the box {min_x},{min_y},{max_x},{max_y} {problem} `{name}`").into())
    };
    let step = |i: u32| f64::from(i) / f64::from(STEPS);
    let (wide, high) = (max_x - min_x, max_y - min_y);
    let edge = |side: u32, i: u32| match side {
        0 => (min_x + wide * step(i), min_y),
        1 => (max_x, min_y + high * step(i)),
        2 => (min_x + wide * step(STEPS - i), max_y),
        _ => (min_x, min_y + high * step(STEPS - i)),
    };
    // Once around the box: consecutive points are close to each other, whatever turn their coordinates are in.
    let points = (0..4).flat_map(|side| (0..=STEPS).map(move |i| edge(side, i)));
    let period = transformer.target_period();
    let mut found: Option<Bounds> = None;
    let (mut first, mut last) = (None, None);
    for (x, y) in points {
        let Some((mut x, y)) = transformer.transform(x, y) else {
            return refuse("lies partly outside the domain of");
        };
        if let Some((period, last)) = period.zip(last) {
            let turns: f64 = (last - x) / period;
            x += turns.round() * period;
        }
        first.get_or_insert(x);
        last = Some(x);
        found = Some(super::around(found, (x, y)));
    }
    let (Some(found), Some(first), Some(last)) = (found, first, last) else {
        return refuse("has no edges in");
    };
    match period {
        Some(period) if (last - first).abs() > period / 2.0 => {
            around_a_pole(transformer, bounds, found).map_or_else(|| refuse("lies around both poles of"), Ok)
        }
        _ => Ok(found),
    }
}

/// Returns all longitudes from the box's edges to the pole, if the box surrounds one.
fn around_a_pole(transformer: &Transformer, bounds: Bounds, edges: Bounds) -> Option<Bounds> {
    let period = transformer.target_period().filter(|_| transformer.to_is_geographic())?;
    let (back, pole) = (transformer.inverse(), period / 4.0);
    let holds = |latitude: f64| {
        let place = back.transform(0.0, latitude);
        place.is_some_and(|(x, y)| {
            (bounds.min_x..=bounds.max_x).contains(&x) && (bounds.min_y..=bounds.max_y).contains(&y)
        })
    };
    let (min_x, max_x) = (-period / 2.0, period / 2.0);
    match (holds(pole), holds(-pole)) {
        (true, false) => Some(Bounds { min_x, max_x, max_y: pole, ..edges }),
        (false, true) => Some(Bounds { min_x, max_x, min_y: -pole, ..edges }),
        _ => None,
    }
}

//! A raster as the source of a read onto a grid: the level to read, and the operation between the two systems.

use super::placing::Route;
use super::{CoordinateMap, Grid, Onto, Placement, Placing, RpcDem};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use strile_crs::{Crs, DatumShift, Operation, TransformOptions, Transformer};
use strile_engine::{Context, WarpSampling};
use strile_tiff::InvalidValue;
use strile_tiff::geo::{GeoTransform, Georeference};

/// Ratios that differ by less count as equal: sizes of overviews are rounded.
const NEARLY: f64 = 0.1;

/// The placement of a raster under a grid.
#[derive(Debug, Clone)]
pub(crate) struct Placed {
    /// The level to read.
    pub(crate) level: usize,
    /// The pixels of that level.
    pub(crate) grid: Grid,
    /// From coordinates of the target to those of the source, or to its columns and rows.
    pub(crate) route: Route,
    /// How the raster is placed, in words; `None` for a transform.
    pub(crate) placed_by: Option<Arc<str>>,
    /// Pixels of the full image per pixel of the target, if known.
    pub(crate) ratio: Option<f64>,
    /// Width and height of a pixel of the level, in pixels of the target.
    pub(crate) scale: (f64, f64),
    /// Whether the operation was chosen for the area of the raster, not of the target.
    is_own_operation: bool,
}

impl Placed {
    /// Chooses the level of a raster whose levels have these sizes, the full image first.
    pub(crate) fn new(
        georeference: &Georeference,
        levels: &[(u32, u32)],
        onto: &Onto,
        context: &Context,
    ) -> Result<Self, InvalidValue> {
        let placement = placement(georeference, levels, onto, context)?;
        let (there, is_own_operation) = transformer(&placement, onto)?;
        let there = Route::from_raster(&placement, there);
        let ratio = placement.grid.pixels_along(&onto.grid, &there, threads(onto, context));
        let level = match onto.warp.level {
            None => sufficient(levels, ratio.unwrap_or(1.0)),
            Some(level) => level,
        };
        Self::at(&placement, levels, onto, (there, is_own_operation, level, ratio), context)
    }

    /// Returns the raster at a level.
    fn at(
        placement: &Placement,
        levels: &[(u32, u32)],
        onto: &Onto,
        (there, is_own_operation, level, ratio): (Route, bool, usize, Option<f64>),
        context: &Context,
    ) -> Result<Self, InvalidValue> {
        let full = full_size(levels)?;
        let size = *levels.get(level).ok_or_else(|| {
            format!("there is no level {level}, the image has {} (0 is full resolution)", levels.len())
        })?;
        let whole = &placement.grid;
        let along = |full: u32, level: u32| f64::from(full) / f64::from(level.max(1));
        let transform = whole.transform().scaled(along(full.0, size.0), along(full.1, size.1));
        let grid = Grid::new(whole.crs().clone(), transform, size.0, size.1)?;
        let route = there.inverse();
        let scale = scale(onto, &grid, &route, threads(onto, context))?;
        route.check()?;
        Ok(Self { level, grid, route, placed_by: placement.name(), ratio, scale, is_own_operation })
    }

    /// Returns the same raster under a grid at another place, with the same system and pixels; `None` if that may need
    /// another operation.
    pub(crate) fn moved_to(&self, onto: &Onto, context: &Context) -> Result<Option<Self>, InvalidValue> {
        if !self.is_own_operation {
            return Ok(None);
        }
        let scale = scale(onto, &self.grid, &self.route, threads(onto, context))?;
        self.route.check()?;
        Ok(Some(Self { scale, ..self.clone() }))
    }

    /// Returns whether the raster certainly does not lie under a grid: all places of the grid lie beyond it. Judges by
    /// some places, and errs on the side of `false`.
    pub(crate) fn is_outside(&self, target: &Grid) -> bool {
        let Some((inverse, back)) = self.grid.transform().inverse().zip(target.transform().inverse()) else {
            return false;
        };
        // Reads heights of an elevation model.
        if self.route.is_uneven() {
            return false;
        }
        let (width, height) = (f64::from(self.grid.width()), f64::from(self.grid.height()));
        // Mostly the middle of the grid shows pixels, which is found at once.
        let (x, y) =
            target.transform().to_world(f64::from(target.width()) / 2.0, f64::from(target.height()) / 2.0);
        let middle = self.route.transform(x, y).map(|(x, y)| inverse.to_world(x, y));
        if middle.is_some_and(|(x, y)| (0.0..=width).contains(&x) && (0.0..=height).contains(&y)) {
            return false;
        }
        let forth = Spread::of(target, &self.route, inverse);
        match forth {
            Spread { found: None, .. } => {
                // No place of the grid has one in the source. Perhaps the source is small.
                let found = Spread::of(&self.grid, &self.route.inverse(), back).found;
                let sides = [0.0, 0.0, f64::from(target.width()), f64::from(target.height())];
                found.is_none_or(|found| !touch(found, sides))
            }
            Spread { failed: true, .. } => false,
            Spread { found: Some(found), .. } => {
                let turn = self.route.target_period().map_or(0.0, |period| inverse.a * period);
                let sides = |shift: f64| [shift, 0.0, shift + width, height];
                !(-2i8..=2).any(|turns| touch(found, sides(f64::from(turns) * turn)))
            }
        }
    }

    /// Returns the operation from the source to the target, for display.
    pub(crate) fn operation(&self) -> Operation {
        self.route.inverse().operation().clone()
    }
}

/// Where some places of a grid lie among the pixels of another raster.
struct Spread {
    /// Left, top, right and bottom, with a margin for what lies between the places; `None` if no place is known.
    found: Option<[f64; 4]>,
    /// Whether some places are unknown.
    failed: bool,
}

impl Spread {
    /// Steps along each side of the grid.
    const STEPS: u8 = 16;

    fn of(grid: &Grid, route: &Route, to: GeoTransform) -> Self {
        let mut spread = Self { found: None, failed: false };
        let from = grid.transform();
        let at = |len: u32, step: u8| f64::from(len) * f64::from(step) / f64::from(Self::STEPS);
        for down in 0..=Self::STEPS {
            for across in 0..=Self::STEPS {
                let (x, y) = from.to_world(at(grid.width(), across), at(grid.height(), down));
                let place = route.transform(x, y).map(|(x, y)| to.to_world(x, y));
                let Some((x, y)) = place.filter(|(x, y)| x.is_finite() && y.is_finite()) else {
                    spread.failed = true;
                    continue;
                };
                let [left, top, right, bottom] = spread.found.unwrap_or([x, y, x, y]);
                spread.found = Some([left.min(x), top.min(y), right.max(x), bottom.max(y)]);
            }
        }
        spread.found = spread.found.map(|[left, top, right, bottom]| {
            let step = f64::from(Self::STEPS);
            let (across, down) = ((right - left) / step + 1.0, (bottom - top) / step + 1.0);
            [left - across, top - down, right + across, bottom + down]
        });
        spread
    }
}

/// Returns whether two boxes have a place in common.
fn touch(one: [f64; 4], other: [f64; 4]) -> bool {
    let [left, top, right, bottom] = one;
    let [other_left, other_top, other_right, other_bottom] = other;
    left <= other_right && other_left <= right && top <= other_bottom && other_top <= bottom
}

fn full_size(levels: &[(u32, u32)]) -> Result<(u32, u32), InvalidValue> {
    levels.first().copied().ok_or_else(|| "the image has no level".to_owned().into())
}

/// Returns the placement of the full image.
fn placement(
    georeference: &Georeference,
    levels: &[(u32, u32)],
    onto: &Onto,
    context: &Context,
) -> Result<Placement, InvalidValue> {
    let full = full_size(levels)?;
    let mut georeference = georeference.clone();
    if let Some(crs) = &onto.warp.source_crs {
        georeference.crs = Some(crs.clone());
        georeference.gcp_crs = Some(crs.clone());
    }
    let placement = Placement::of(&georeference, full.0, full.1, &onto.warp.placing, context)
        .map_err(|problem| format!("cannot read onto a grid: {problem}"))?;
    if placement.is_rational() && onto.warp.source_crs.is_some() {
        let problem = "cannot read onto a grid: rational polynomials are in WGS 84; leave out `source_crs`";
        return Err(problem.to_owned().into());
    }
    Ok(placement)
}

/// Returns the width and height of a pixel of the level, in pixels of the target. Nearest is the same at every scale,
/// and computing one takes 400 coordinates.
fn scale(onto: &Onto, level: &Grid, route: &Route, threads: usize) -> Result<(f64, f64), InvalidValue> {
    match onto.warp.resampling {
        WarpSampling::Nearest => Ok((1.0, 1.0)),
        _ => CoordinateMap::scale_of(&onto.grid, level, route, threads),
    }
}

/// Number of pixels of a grid above which several threads compute its placement: for smaller grids, starting threads
/// takes longer.
const LARGE: u64 = 1 << 20;

fn threads(onto: &Onto, context: &Context) -> usize {
    let pixels = u64::from(onto.grid.width()) * u64::from(onto.grid.height());
    if pixels < LARGE { 1 } else { context.threads.get() }
}

/// Number of systems and pixel sizes for which a raster's placement is kept.
const KEPT: usize = 32;

/// Caches the placement of a raster under grids, as far as it does not depend on their position. Choosing the level
/// takes hundreds of coordinates along the edge of the raster, more than a map tile needs for its pixels.
#[derive(Debug, Default)]
pub(crate) struct KnownPlaces(Mutex<VecDeque<(Kind, Known)>>);

/// The cached placement of a raster under grids of a kind.
#[derive(Debug, Clone)]
enum Known {
    /// The whole placement.
    Whole(Box<Placed>),
    /// Heights of an elevation model hold memory of their call, and its file. So the raster is placed again, but
    /// without searching the operation and the level, which would read heights along the edge of the raster.
    OverHeights { there: Transformer, level: usize, ratio: Option<f64> },
}

/// The settings that the placement depends on, besides the raster.
#[derive(Debug, PartialEq)]
struct Kind {
    /// The bits of the transform of the grid, without the position of its first pixel.
    pixels: [u64; 4],
    level: Option<usize>,
    datum_shift: DatumShift,
    /// Without the elevation model.
    placing: Placing,
    dem: KnownDem,
    crs: Crs,
    source_crs: Option<Crs>,
}

/// The opened elevation model of a kind. It stays open only as long as a caller holds it.
#[derive(Debug)]
struct KnownDem(Option<Weak<RpcDem>>);

impl PartialEq for KnownDem {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(one), Some(other)) => one.ptr_eq(other),
            _ => false,
        }
    }
}

impl Kind {
    fn of(onto: &Onto) -> Self {
        let GeoTransform { a, b, d, e, .. } = onto.grid.transform();
        Self {
            pixels: [a, b, d, e].map(f64::to_bits),
            level: onto.warp.level,
            datum_shift: onto.warp.datum_shift,
            placing: onto.warp.placing.clone().rpc_dem(None),
            dem: KnownDem(onto.warp.placing.rpc_dem.as_ref().map(Arc::downgrade)),
            crs: onto.grid.crs().clone(),
            source_crs: onto.warp.source_crs.clone(),
        }
    }
}

impl KnownPlaces {
    /// Like `Placed::new`, but reuses the placement under grids with the same pixels.
    pub(crate) fn place(
        &self,
        georeference: &Georeference,
        levels: &[(u32, u32)],
        onto: &Onto,
        context: &Context,
    ) -> Result<Placed, InvalidValue> {
        let kind = Kind::of(onto);
        let known = {
            let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            known.iter().find(|(known, _)| *known == kind).map(|(_, known)| known.clone())
        };
        let known = match known {
            None => None,
            Some(Known::Whole(known)) => known.moved_to(onto, context)?,
            Some(Known::OverHeights { there, level, ratio }) => {
                let placement = placement(georeference, levels, onto, context)?;
                let there = Route::from_raster(&placement, there);
                Some(Placed::at(&placement, levels, onto, (there, true, level, ratio), context)?)
            }
        };
        if let Some(known) = known {
            return Ok(known);
        }
        let placed = Placed::new(georeference, levels, onto, context)?;
        if placed.is_own_operation {
            let found = match onto.warp.placing.rpc_dem {
                None => Known::Whole(Box::new(placed.clone())),
                Some(_) => {
                    let there = placed.route.inverse().into_transformer();
                    Known::OverHeights { there, level: placed.level, ratio: placed.ratio }
                }
            };
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if known.iter().all(|(known, _)| *known != kind) {
                known.truncate(KEPT - 1);
                known.push_front((kind, found));
            }
        }
        Ok(placed)
    }
}

/// Returns the transformer from the source to the target, with an operation valid at the source (as in GDAL), else at
/// the target. Also returns whether it is independent of the target's position.
fn transformer(source: &Placement, onto: &Onto) -> Result<(Transformer, bool), InvalidValue> {
    let everywhere = TransformOptions::default().datum_shift(DatumShift::None);
    if let Ok(found) = Transformer::new(source.crs(), onto.grid.crs(), &everywhere)
        && found.is_same_datum()
    {
        return Ok((found, true));
    }
    let make = |of: &Placement| {
        let options = TransformOptions::default().area(of.area().map_err(|problem| problem.to_string())?);
        let found = Transformer::new(source.crs(), onto.grid.crs(), &options);
        found.map_err(|error| error.to_string())
    };
    let problem = match make(source) {
        Ok(found) => return Ok((found, true)),
        Err(problem) => problem,
    };
    if let Ok(found) = make(&onto.grid.clone().into()) {
        return Ok((found, false));
    }
    match onto.warp.datum_shift {
        DatumShift::Required => Err(problem.into()),
        DatumShift::None => {
            let found = Transformer::new(source.crs(), onto.grid.crs(), &everywhere);
            found.map(|found| (found, false)).map_err(|error| error.to_string().into())
        }
    }
}

/// Returns the coarsest level whose pixels span at most `ratio` pixels of the full image, as with gdalwarp's `-ovr
/// AUTO`.
fn sufficient(levels: &[(u32, u32)], ratio: f64) -> usize {
    let width = levels.first().map_or(0, |level| level.0);
    let (mut best, mut found) = (0, 0.0);
    if ratio.is_nan() || ratio <= 1.0 {
        return 0;
    }
    for (number, level) in levels.iter().enumerate() {
        let own = f64::from(width) / f64::from(level.0.max(1));
        if own >= ratio + NEARLY || own <= found {
            continue;
        }
        (best, found) = (number, own);
        if (ratio - own).abs() < NEARLY {
            break;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::sufficient;

    #[test]
    fn the_coarsest_level_that_suffices() {
        let levels = [(1000, 800), (500, 400), (250, 200), (125, 100)];
        let found = [0.5, 1.0, 1.89, 1.91, 2.0, 3.0, 3.95, 4.0, 7.0, 7.91, 100.0, f64::NAN]
            .map(|ratio| sufficient(&levels, ratio));
        assert_eq!(found, [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 0]);
        // Levels in no particular order, and one that is not smaller.
        assert_eq!(sufficient(&[(1000, 800), (250, 200), (500, 400), (1000, 400)], 3.0), 2);
    }
}

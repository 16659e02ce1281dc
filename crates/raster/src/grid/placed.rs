//! A raster as the source of a read onto a grid: the level that is read, and the operation between the two systems.

use super::{CoordinateMap, Grid, Onto};
use strile_crs::{Area, DatumShift, Operation, TransformOptions, Transformer};
use strile_tiff::InvalidValue;
use strile_tiff::geo::Georeference;

/// Ratios that differ by less are equal: sizes of overviews are rounded.
const NEARLY: f64 = 0.1;

/// Where a raster lies under a grid.
#[derive(Debug, Clone)]
pub(crate) struct Placed {
    /// The level that is read.
    pub(crate) level: usize,
    /// The pixels of that level.
    pub(crate) grid: Grid,
    /// From coordinates of the target to those of the source.
    pub(crate) transformer: Transformer,
    /// Pixels of the full image along a pixel of the target, where that is known.
    pub(crate) ratio: Option<f64>,
    /// Pixels of the target that one of the level is wide and high.
    pub(crate) scale: (f64, f64),
}

impl Placed {
    /// Chooses the level of a raster whose levels have these sizes, the full image first.
    pub(crate) fn new(
        georeference: &Georeference,
        levels: &[(u32, u32)],
        onto: &Onto,
    ) -> Result<Self, InvalidValue> {
        let full = *levels.first().ok_or_else(|| "the image has no level".to_owned())?;
        let mut georeference = georeference.clone();
        if let Some(crs) = &onto.warp.source_crs {
            georeference.crs = Some(crs.clone());
        }
        let whole = placed_grid(&georeference, full)?;
        let there = transformer(&whole, onto)?;
        let ratio = whole.pixels_along(&onto.grid, &there);
        let level = match onto.warp.level {
            None => sufficient(levels, ratio.unwrap_or(1.0)),
            Some(level) => level,
        };
        let size = *levels.get(level).ok_or_else(|| {
            format!("there is no level {level}, the image has {} (0 is full resolution)", levels.len())
        })?;
        let along = |full: u32, level: u32| f64::from(full) / f64::from(level.max(1));
        let transform = whole.transform().scaled(along(full.0, size.0), along(full.1, size.1));
        let grid = Grid::new(whole.crs().clone(), transform, size.0, size.1)?;
        let transformer = there.inverse();
        let scale = CoordinateMap::scale_of(&onto.grid, &grid, &transformer)?;
        Ok(Self { level, grid, transformer, ratio, scale })
    }

    /// From the source to the target, as it is told to people.
    pub(crate) fn operation(&self) -> Operation {
        self.transformer.inverse().operation().clone()
    }
}

/// The pixels of a raster that is placed by a transform.
fn placed_grid(georeference: &Georeference, (width, height): (u32, u32)) -> Result<Grid, InvalidValue> {
    let Georeference { crs, transform, gcps, rpc, .. } = georeference;
    let transform = transform.ok_or_else(|| {
        let by = match (gcps.is_empty(), rpc) {
            (false, _) => "it is placed by ground control points",
            (true, Some(_)) => "it is placed by rational polynomials (RPC)",
            (true, None) => "it has none",
        };
        format!("cannot read onto a grid: the raster needs a transform, and {by}")
    })?;
    let crs = crs.clone().ok_or_else(|| {
        "cannot read onto a grid: the raster has no reference system; give `source_crs`".to_owned()
    })?;
    Grid::new(crs, transform, width, height)
}

/// From the source to the target, by an operation that holds where the source lies (as GDAL chooses it), else where the target
/// does.
fn transformer(source: &Grid, onto: &Onto) -> Result<Transformer, InvalidValue> {
    let everywhere = TransformOptions::default().datum_shift(DatumShift::None);
    if let Ok(found) = Transformer::new(source.crs(), onto.grid.crs(), &everywhere)
        && found.is_same_datum()
    {
        return Ok(found);
    }
    let make = |of: &Grid| {
        let bounds = of.bounds();
        let area = Area::of(of.crs(), (bounds.min_x, bounds.min_y), (bounds.max_x, bounds.max_y));
        let area = area.map_err(|error| error.to_string())?;
        let options = TransformOptions::default().area(area);
        let found = Transformer::new(source.crs(), onto.grid.crs(), &options);
        found.map_err(|error| error.to_string())
    };
    let found = make(source).or_else(|problem| make(&onto.grid).map_err(|_| problem));
    found
        .or_else(|problem| {
            let options = TransformOptions::default().datum_shift(onto.warp.datum_shift);
            match onto.warp.datum_shift {
                DatumShift::Required => Err(problem),
                DatumShift::None => Transformer::new(source.crs(), onto.grid.crs(), &options)
                    .map_err(|error| error.to_string()),
            }
        })
        .map_err(Into::into)
}

/// The coarsest level that still has `ratio` pixels of the full image in one of its own, as gdalwarp's `-ovr AUTO` has it.
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
        // Levels in no order, and one that is not smaller.
        assert_eq!(sufficient(&[(1000, 800), (250, 200), (500, 400), (1000, 400)], 3.0), 2);
    }
}

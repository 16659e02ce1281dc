//! Windows whose boxes and points are coordinates of another reference system. They are converted to that of the file
//! or the grid first.

use super::window::BatchWindow;
use crate::error::Result;
use crate::file::input::{AsInput, InputRef};
use crate::grid::{Onto, bounds_by, transformer_of};
use crate::options::ReadOptions;
use crate::read::Area;
use std::borrow::Cow;
use std::sync::Arc;
use strile_crs::{Crs, CrsKind, TransformOptions, Transformer};
use strile_tiff::InvalidValue;
use strile_tiff::geo::Bounds;

/// Tolerance in degrees: a box that ends this close to the antimeridian ends at it, because coordinates are rounded.
const SEAM: f64 = 1e-6;

/// Returns the windows with areas in the reference system of the grid, or of their files.
pub(super) fn located<'a, F: AsInput>(
    files: &[F],
    windows: &'a [BatchWindow],
    onto: Option<&Onto>,
) -> Result<Cow<'a, [BatchWindow]>> {
    if windows.iter().all(|window| window.bounds_crs.is_none()) {
        return Ok(Cow::Borrowed(windows));
    }
    let mut ways = Ways::default();
    let one = |(at, window): (usize, &BatchWindow)| {
        let there = files.get(window.file).map(|file| in_system_of(window, file.as_input(), onto, &mut ways));
        // The read of the batch reports windows whose file does not exist.
        there.unwrap_or_else(|| Ok(window.clone())).map_err(|error| window.fail(at, error))
    };
    windows.iter().enumerate().map(one).collect::<Result<Vec<_>>>().map(Cow::Owned)
}

fn in_system_of(
    window: &BatchWindow,
    input: InputRef<'_>,
    onto: Option<&Onto>,
    ways: &mut Ways,
) -> Result<BatchWindow> {
    let Some(from) = &window.bounds_crs else { return Ok(window.clone()) };
    let options = ReadOptions::new().page(window.page).level(window.level);
    let (to, datum_shift) = match onto {
        Some(onto) => (Cow::Borrowed(onto.grid.crs()), onto.warp.datum_shift),
        None => (Cow::Owned(input.grid_of(&options)?.crs().clone()), Default::default()),
    };
    let transform = TransformOptions::default().datum_shift(datum_shift);
    let area = match window.area {
        Area::Bounds([min_x, min_y, max_x, max_y]) => {
            let bounds = Bounds { min_x, min_y, max_x, max_y };
            ways.bounds(from, &to, bounds, &transform).map(|found| {
                let Bounds { min_x, min_y, max_x, max_y } = found;
                Area::Bounds([min_x, min_y, max_x, max_y])
            })
        }
        Area::Point { x, y, width, height } => {
            ways.point(from, &to, (x, y), &transform).map(|(x, y)| Area::Point { x, y, width, height })
        }
        Area::Pixels { .. } | Area::Part(_) => {
            Err("`bounds_crs` is for boxes and points, and this window is given in pixels".to_owned().into())
        }
    };
    let area = area.map_err(|problem| input.refuse(problem.to_string()))?;
    if let (Area::Bounds([west, _, east, _]), None) = (area, onto)
        && matches!(to.kind, CrsKind::Geographic | CrsKind::Geographic3D)
        && [-180.0, 180.0].into_iter().any(|seam| west < seam - SEAM && seam + SEAM < east)
    {
        // The other half is at the other end of the file.
        let problem = format!(
            "the box lies over the antimeridian: it goes from {west} to {east}° east in the file; put windows onto a grid"
        );
        return Err(input.refuse(problem));
    }
    Ok(BatchWindow { area, bounds_crs: None, ..window.clone() })
}

/// The transformation that was used last. Windows of a batch mostly need the same one.
#[derive(Default)]
struct Ways(Option<(Arc<Crs>, Crs, Option<Transformer>)>);

impl Ways {
    fn bounds(
        &mut self,
        from: &Arc<Crs>,
        to: &Crs,
        bounds: Bounds,
        transform: &TransformOptions,
    ) -> std::result::Result<Bounds, InvalidValue> {
        match self.way(from, to, bounds, transform)? {
            None => Ok(bounds),
            Some(way) => bounds_by(way, bounds, to),
        }
    }

    fn point(
        &mut self,
        from: &Arc<Crs>,
        to: &Crs,
        (x, y): (f64, f64),
        transform: &TransformOptions,
    ) -> std::result::Result<(f64, f64), InvalidValue> {
        let bounds = Bounds { min_x: x, min_y: y, max_x: x, max_y: y };
        let Some(way) = self.way(from, to, bounds, transform)? else { return Ok((x, y)) };
        way.transform(x, y).ok_or_else(|| {
            format!("the point {x},{y} lies outside the domain of `{}`", to.name.escape_debug()).into()
        })
    }

    /// Returns the transformation for a place. An operation between two datums is valid for an area; within one
    /// datum, all windows use the same transformation.
    fn way(
        &mut self,
        from: &Arc<Crs>,
        to: &Crs,
        bounds: Bounds,
        transform: &TransformOptions,
    ) -> std::result::Result<Option<&Transformer>, InvalidValue> {
        let holds = |(of, there, way): &(Arc<Crs>, Crs, Option<Transformer>)| {
            Arc::ptr_eq(of, from) && there == to && way.as_ref().is_none_or(Transformer::is_same_datum)
        };
        if !self.0.as_ref().is_some_and(holds) {
            let way = transformer_of(from, to, bounds, transform)?;
            self.0 = Some((Arc::clone(from), to.clone(), way));
        }
        Ok(self.0.as_ref().and_then(|(_, _, way)| way.as_ref()))
    }
}

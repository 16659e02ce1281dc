//! Conversions clipped by a polygon: pixels outside become nodata, or 0 and masked out.

use super::options::{ConvertArea, ConvertOptions};
use super::shape::named;
use crate::cache::Cache;
use crate::error::{Error, Result};
use crate::file::input::{AsInput as _, Input};
use crate::grid::{Onto, Outline, Polygon};
use crate::options::{Layer, ReadOptions};
use crate::pixels::Pixels;
use crate::window::Window;
use crate::write::{RasterSpec, alpha_band};
use std::sync::Arc;
use strile_crs::DatumShift;
use strile_engine::{Context, Report};
use strile_tiff::gdal::NoData;

/// The polygon of a conversion, and the value outside.
pub(super) struct Clip {
    polygon: Arc<Polygon>,
    /// The value of pixels outside, in the type of the input; `None` is the input's nodata value, else 0.
    fill: Option<NoData>,
}

/// Returns the options with the area that the box around the polygon touches, if requested.
pub(super) fn cropped(input: &Input, options: &ConvertOptions) -> Result<ConvertOptions> {
    let mut options = options.clone();
    let refuse = |problem: &str| named(input, problem.to_owned());
    match &options.polygon {
        _ if !options.crop_to_polygon => {}
        None => return Err(refuse("`crop_to_polygon` needs a polygon")),
        Some(_) if options.area.is_some() || options.read.place.window.is_some() => {
            return Err(refuse(
                "`crop_to_polygon` and another area cannot be combined: both say which part to write",
            ));
        }
        Some(polygon) => {
            let Window { column, row, width, height } =
                input.as_input().window_of_polygon(&options.read, polygon)?;
            options.area = Some(ConvertArea::Pixels([column, row, width, height].map(f64::from)));
        }
    }
    Ok(options)
}

impl Clip {
    /// Decides the value of pixels outside. Without nodata and alpha, adds a mask to `spec`. `changes` says whether
    /// values or sizes change.
    pub(super) fn plan(
        input: &Input,
        options: &ConvertOptions,
        spec: &mut RasterSpec,
        changes: bool,
    ) -> Result<Option<Self>> {
        let Some(polygon) = options.polygon.clone() else { return Ok(None) };
        let own = input.as_input().nodata(options.read.place.bands.as_deref())?;
        let fill = match options.nodata {
            // Changed values use the new nodata value where the input has its own.
            Some(Some(_)) if changes && own.is_none() => {
                return Err(named(
                    input,
                    "pixels outside the polygon cannot get the new nodata value while values or sizes change, for the \
                     file has none itself; convert twice"
                        .into(),
                ));
            }
            Some(given) if !changes => given,
            _ => own,
        };
        let is_told = options.nodata.unwrap_or(own).is_some() || alpha_band(spec).is_some();
        spec.mask |= !is_told;
        Ok(Some(Self { polygon, fill }))
    }

    /// Returns the options that read clipped pixels. A mask is read without clipping.
    pub(super) fn options(&self, input: &Input, options: &ReadOptions) -> Result<ReadOptions> {
        if options.place.layer == Layer::Mask {
            return Ok(options.clone());
        }
        let mut clipped = input.as_input().clipped(options, Arc::clone(&self.polygon))?;
        clipped.place.onto = clipped.place.onto.map(|onto| {
            let mut warp = onto.warp.clone();
            warp.fill = self.fill;
            Arc::new(Onto { grid: onto.grid.clone(), warp })
        });
        // Blocks at the edges of squares are read twice.
        Ok(clipped.cache(Cache::Auto))
    }

    /// Returns a mask that was read, with 0 outside.
    pub(super) fn mask(
        &self,
        input: &Input,
        options: &ReadOptions,
        mask: Pixels,
        context: &Context,
    ) -> Result<Pixels> {
        let refuse = |problem: strile_tiff::InvalidValue| match context.cancel.is_cancelled() {
            true => Error::Cancelled,
            false => named(input, problem.to_string()),
        };
        let grid = input.as_input().grid_of(options)?;
        let window = options.place.window.unwrap_or(Window::full(grid.width(), grid.height()));
        let outline = Outline::new(&self.polygon, &grid, DatumShift::Required).map_err(refuse)?;
        let inside = outline.inside(window, &context.cancel).map_err(refuse)?;
        let faults = mask.faults.clone();
        let mut raster = mask.into_raster()?;
        let width = window.width as usize;
        for outside in inside.outside() {
            let left = (outside.column - window.column) as usize;
            for row in outside.row..outside.row + outside.height {
                let from = (row - window.row) as usize * width + left;
                if let Some(pixels) = raster.pixels.get_mut(from..from + outside.width as usize) {
                    pixels.fill(0);
                }
            }
        }
        Ok(Pixels::of_raster(raster, Report::default(), faults))
    }
}

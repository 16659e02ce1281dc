//! A conversion of one of two kinds: it keeps the pixels of the input, or warps them onto the tiles of a matrix set.

use super::reads::{Requests, is_remote};
use super::shape::named;
use super::{ConvertOptions, Kept, SourceLevel, Tiling};
use crate::error::Result;
use crate::file::input::{AsInput as _, Input};
use crate::grid::{Placement, Placing, WarpOptions, WarpSampling, WarpWriter};
use crate::options::ReadOptions;
use crate::picture::palette_of;
use crate::sink::Sink;
use crate::write::{Format, Piece, RasterSpec, WriteReport, refused};
use strile_crs::TransformOptions;
use strile_engine::Context;

/// A conversion that is planned but not started.
pub struct Conversion<'a> {
    input: &'a Input,
    way: Way<'a>,
}

enum Way<'a> {
    Kept(Box<Kept<'a>>),
    Warped(Box<WarpWriter<'a>>),
}

impl<'a> Conversion<'a> {
    /// Plans the conversion without touching a pixel. A raster that does not lie on the grid of
    /// [`ConvertOptions::tiling`] is warped onto it.
    pub fn plan(
        input: &'a Input,
        sink: Box<dyn Sink>,
        options: &ConvertOptions,
        context: &Context,
    ) -> Result<Self> {
        let way = match Self::to_be_warped(input, options)? {
            Some(tiling) => Way::Warped(Box::new(warped(input, sink, (options, tiling), context)?)),
            None => Way::Kept(Box::new(Kept::plan(input, sink, options, context)?)),
        };
        Ok(Self { input, way })
    }

    /// Returns the tiles that a raster is warped onto, and the pixels per side of a tile.
    fn to_be_warped(input: &Input, options: &ConvertOptions) -> Result<Option<(Tiling, u32)>> {
        let Some(tiling) = options.tiling else { return Ok(None) };
        // With explicit corners, the raster stays where they place it.
        if options.write.format != Format::Cog || options.transform.is_some() || options.corners.is_some() {
            return Ok(None);
        }
        let block = Tiling::block(options.write.blocks).map_err(|problem| refused(problem.into()))?;
        let mut georeference = input.metadata().georeference.clone();
        georeference.crs = options.crs.clone().or(georeference.crs);
        Ok((!tiling.is_on_grid(&georeference, block)).then_some((tiling, block)))
    }

    /// Describes the plan in words. [`requests`](Self::requests) counts the requests for remote files.
    pub fn explain(&self) -> String {
        match &self.way {
            Way::Kept(kept) => kept.explain(),
            Way::Warped(warp) => warp.explain(),
        }
    }

    /// Returns the number of blocks to encode or copy, for progress reports.
    pub fn blocks(&self) -> u64 {
        match &self.way {
            Way::Kept(kept) => kept.blocks(),
            Way::Warped(warp) => warp.blocks(),
        }
    }

    /// Returns the raster to write; `None` after the file was abandoned.
    pub fn spec(&self) -> Option<&RasterSpec> {
        match &self.way {
            Way::Kept(kept) => kept.spec(),
            Way::Warped(warp) => warp.raster(),
        }
    }

    /// Counts the requests that the conversion will send for pixels of its input; `None` if no file of it is remote. Large
    /// tables of blocks are fetched to count them, and sources of mosaics are opened; no pixel is read.
    pub fn requests(&self, context: &Context) -> Result<Option<Requests>> {
        match &self.way {
            Way::Kept(kept) => kept.requests(context),
            Way::Warped(_) if !is_remote(self.input, &ReadOptions::default())? => Ok(None),
            Way::Warped(warp) => warp.requests(context).map(Some),
        }
    }

    /// Runs the conversion.
    ///
    /// # Errors
    /// If the input cannot be read or the output cannot be written, if memory does not suffice, or if the conversion is
    /// cancelled.
    pub fn run(self, context: &Context) -> Result<WriteReport> {
        self.run_watched(context, &mut |_| {})
    }

    /// Runs the conversion, and passes each piece of changed pixels to `watch` before it is written. Pixels change if
    /// the size, the area or the values change; pieces that are copied unchanged, and padding, are not passed.
    ///
    /// # Errors
    /// Those of [`Conversion::run`].
    pub fn run_watched(self, context: &Context, watch: &mut dyn FnMut(&Piece<'_>)) -> Result<WriteReport> {
        match self.way {
            Way::Kept(kept) => kept.run_watched(context, watch),
            Way::Warped(warp) => warp.run_watched(context, watch),
        }
    }
}

/// Plans the warp of a raster onto tiles.
fn warped<'a>(
    input: &'a Input,
    sink: Box<dyn Sink>,
    (options, (tiling, block)): (&ConvertOptions, (Tiling, u32)),
    context: &Context,
) -> Result<WarpWriter<'a>> {
    let refuse = |problem: String| named(input, problem);
    let name = tiling.scheme.name();
    let given = [
        (options.area.is_some() || options.read.place.window.is_some(), "an area"),
        (options.crop_to_polygon, "`crop_to_polygon`"),
        (options.size.is_some(), "a size"),
        (options.source_level != SourceLevel::Auto, "`source_level`"),
        (options.expand.is_some(), "`expand`"),
        (options.unscale || !options.rescale.is_empty(), "other values"),
        (options.nodata == Some(None), "the removal of nodata"),
        (options.scale.is_some() || options.offset.is_some(), "a scale and an offset"),
        (!options.items.is_empty(), "metadata items"),
        (!options.colours.is_empty() || options.photometric.is_some() || options.alpha.is_some(), "colours"),
    ];
    if let Some((_, what)) = given.iter().find(|(is_given, _)| *is_given) {
        return Err(refuse(format!(
            "the raster is warped onto the tiles of {name}, which is not combined with {what}; convert twice"
        )));
    }
    let mut georeference = input.metadata().georeference.clone();
    if let Some(crs) = &options.crs {
        georeference.crs = Some(crs.clone());
        georeference.gcp_crs = Some(crs.clone());
    }
    let (width, height) = input.as_input().size();
    let placed = Placement::of(&georeference, width, height, &Placing::default(), context);
    let placed = placed.map_err(|problem| refuse(problem.to_string()))?;
    let grid = tiling.grid(&[placed], block, &TransformOptions::default());
    let grid = grid.map_err(|problem| refuse(problem.to_string()))?;
    let usual = match palette_of(input, &options.read.place)? {
        Some(_) => WarpSampling::Nearest,
        None => WarpSampling::Cubic,
    };
    let mut warp = WarpOptions::new()
        .resampling(options.warp_resampling.unwrap_or(usual))
        .source_crs(options.crs.clone())
        .nodata(options.nodata.flatten())
        .data_type(options.data_type);
    warp.polygon = options.polygon.clone();
    let read = options.read.clone().onto(grid, warp);
    WarpWriter::plan(std::slice::from_ref(input), sink, &read, (&options.write, Some(tiling)), context)
}

//! Options of conversions, and their defaults.

use super::Tiling;
use super::taps::Method;
use crate::grid::{Polygon, WarpSampling};
use crate::options::{optional, setters};
use crate::read::PieceLimits;
use crate::{ReadOptions, WriteOptions};
use std::sync::Arc;
use strile_tiff::gdal::NoData;
use strile_tiff::geo::{Crs, GeoTransform};
use strile_tiff::{DataType, ExtraSample, Photometric};

/// Says which part of the input is read, how it is changed, and how it is written.
///
/// The steps are applied in this order: `polygon` clips pixels, `area` and `size` choose the pixels, `resampling`
/// computes them, then their values change (`expand`, `unscale` or `rescale`, `data_type`), then the description
/// changes (`crs` and the following fields).
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ConvertOptions {
    /// Page, level, window, bands, handling of faults and engine. Pixels are read with their mask; `layer` is ignored.
    pub read: ReadOptions,
    /// How the file is written.
    pub write: WriteOptions,
    /// The part of the image to write. `None` is all of it, or `read.window`.
    pub area: Option<ConvertArea>,
    /// Polygon to clip with. Pixels whose centre lies outside become nodata; without nodata and alpha, they become 0
    /// and are masked out. Only blocks under the polygon are read.
    pub polygon: Option<Arc<Polygon>>,
    /// Whether to write only the pixels that the box around the polygon touches. Not allowed together with `area` or
    /// `read.window`.
    pub crop_to_polygon: bool,
    /// Whether an area that lies partly outside the image is an error. Otherwise pixels outside are nodata, or 0
    /// without nodata.
    pub whole_area: bool,
    /// The size to write. `None` keeps the pixels of the area.
    pub size: Option<ConvertSize>,
    /// Resampling method for another size.
    pub resampling: Method,
    /// The level of the input that is resampled to another size.
    pub source_level: SourceLevel,
    /// Expands a palette to bands.
    pub expand: Option<Expand>,
    /// Whether to write sample × scale + offset of each band, and remove scale and offset.
    pub unscale: bool,
    /// Mappings of values from one range to another.
    pub rescale: Vec<Rescale>,
    /// Type of the samples. Values are rounded to the nearest, halves away from zero, and clamped to the type. `None`
    /// keeps the type.
    pub data_type: Option<DataType>,
    /// Another reference system. Pixels are not warped.
    pub crs: Option<Crs>,
    /// Another transform of the part that is written.
    pub transform: Option<GeoTransform>,
    /// The corners of the part that is written, instead of `transform`: x and y of the first, x and y of the last.
    pub corners: Option<[f64; 4]>,
    /// Another nodata value, or `Some(None)` to remove it. Pixels keep their values, unless values change: then nodata
    /// pixels get the new value.
    pub nodata: Option<Option<NoData>>,
    /// Another scale of all bands. Values are unchanged.
    pub scale: Option<f64>,
    /// Another offset of all bands. Values are unchanged.
    pub offset: Option<f64>,
    /// Metadata items to set, as name and value.
    pub items: Vec<(String, String)>,
    /// Colour interpretations, as band (from 1) and GDAL's name.
    pub colours: Vec<(u16, String)>,
    /// Another photometric interpretation of the samples.
    pub photometric: Option<Photometric>,
    /// Another meaning of the last band: alpha of this kind, or no alpha (`Unspecified`).
    pub alpha: Option<ExtraSample>,
    /// Tiles of a matrix set, for cloud-optimized files only. A raster that does not lie on its grid is warped onto it.
    pub tiling: Option<Tiling>,
    /// Resampling method for pixels that are warped onto these tiles. `None` is `Cubic`, or `Nearest` for palettes, as
    /// in GDAL's COG driver.
    pub warp_resampling: Option<WarpSampling>,
    /// Whether to encode every block again, even if blocks of the input could be copied.
    pub reencode: bool,
    /// Limits of the pieces that are read at once.
    pub limits: PieceLimits,
}

impl ConvertOptions {
    /// Returns the options that write the whole image unchanged, as a plain file.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets the page, level, window, bands and engine of the read.
        read: ReadOptions,
        /// Sets how the file is written.
        write: WriteOptions,
        /// Writes only the pixels that the box around the polygon touches.
        crop_to_polygon: bool,
        /// Fails for an area that lies partly outside the image.
        whole_area: bool,
        /// Sets the resampling method for another size.
        resampling: Method,
        /// Sets the level of the input that is resampled to another size.
        source_level: SourceLevel,
        /// Writes sample × scale + offset, and removes scale and offset.
        unscale: bool,
        /// Maps values from one range to another.
        rescale: Vec<Rescale>,
        /// Sets metadata items, as name and value.
        items: Vec<(String, String)>,
        /// Sets colour interpretations, as band (from 1) and GDAL's name.
        colours: Vec<(u16, String)>,
        /// Encodes every block again, even if it could be copied.
        reencode: bool,
        /// Limits the pieces that are read at once.
        limits: PieceLimits,
    }

    optional! {
        /// Writes this part of the image.
        area: ConvertArea,
        /// Clips pixels to a polygon.
        polygon: Arc<Polygon>,
        /// Sets the size to write.
        size: ConvertSize,
        /// Expands a palette to bands.
        expand: Expand,
        /// Sets the type of the samples.
        data_type: DataType,
        /// Sets the reference system. Pixels are not warped.
        crs: Crs,
        /// Sets the transform of the part that is written.
        transform: GeoTransform,
        /// Sets the corners of the part that is written: x and y of the first, x and y of the last.
        corners: [f64; 4],
        /// Sets the scale of all bands. Values are unchanged.
        scale: f64,
        /// Sets the offset of all bands. Values are unchanged.
        offset: f64,
        /// Sets the photometric interpretation of the samples.
        photometric: Photometric,
        /// Sets the meaning of the last band.
        alpha: ExtraSample,
        /// Writes tiles of a matrix set (cloud-optimized files only).
        tiling: Tiling,
        /// Sets the resampling method for pixels that are warped onto these tiles.
        warp_resampling: WarpSampling,
    }

    /// Sets the nodata value; `None` removes it.
    #[must_use]
    pub fn nodata(mut self, nodata: impl Into<Option<NoData>>) -> Self {
        self.nodata = Some(nodata.into());
        self
    }

    /// Returns whether samples of the output may differ from those of the input.
    pub(crate) fn changes_values(&self) -> bool {
        self.expand.is_some() || self.unscale || !self.rescale.is_empty() || self.data_type.is_some()
    }
}

/// A part of an image.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ConvertArea {
    /// Column, row, width and height, in pixels of the image that is read.
    Pixels([f64; 4]),
    /// x and y of the first corner, x and y of the last, in the reference system of the image. With `Nearest` the part
    /// is snapped to whole pixels.
    Corners([f64; 4]),
    /// West, south, east and north, in the reference system of the image: all pixels that it touches.
    Bounds([f64; 4]),
}

/// Size of one side of the output.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Side {
    /// Follows from the other side, with the same proportions.
    Auto,
    /// This many pixels.
    Pixels(u32),
    /// This percentage of the area.
    Percent(f64),
}

/// The size of the output.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ConvertSize {
    /// Columns and rows.
    Sides(Side, Side),
    /// Width and height of a pixel, in the reference system. Both must be above 0.
    Resolution(f64, f64),
}

/// The level that is resampled to another size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SourceLevel {
    /// The smallest level with at least as many pixels as the output.
    #[default]
    Auto,
    /// This level: 0 is full resolution, 1 the largest overview. Without a `size`, the pixels of an overview are
    /// written unchanged.
    Level(usize),
}

/// The bands that a palette is expanded to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expand {
    /// One band, for grey palettes.
    Gray,
    /// Red, green and blue.
    Rgb,
    /// Red, green, blue and alpha.
    Rgba,
}

/// A mapping of values from one range to another: linear, or with an exponent.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Rescale {
    /// The band of the output, from 1. `None` applies to every band without its own mapping.
    pub band: Option<u16>,
    /// The range of the input. `None` is the smallest and the largest valid value of the band, found by reading all of
    /// it.
    pub from: Option<(f64, f64)>,
    /// The range of the output. `None` is all values of an integer type, 0 to 1 for floats.
    pub to: Option<(f64, f64)>,
    /// The exponent; values outside the range are then clamped. `None` is linear, without clamping to the range.
    pub exponent: Option<f64>,
}

//! The options of converting, with all defaults.

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
/// The steps happen in this order: `polygon` clips pixels, `area` and `size` choose the pixels, `resampling` computes them, then their values
/// change (`expand`, `unscale` or `rescale`, `data_type`), then the description changes (`crs` and those after it).
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ConvertOptions {
    /// Page, level, window, bands, faults and engine. Pixels are read with their mask; `layer` is ignored.
    pub read: ReadOptions,
    /// How the file is written.
    pub write: WriteOptions,
    /// The part of the image to write; `None`: all of it, or `read.window`.
    pub area: Option<ConvertArea>,
    /// Pixels whose centre lies outside are nodata, or 0 and masked out without nodata and alpha; only blocks under it are read.
    pub polygon: Option<Arc<Polygon>>,
    /// Write the pixels that the box around the polygon touches; not together with `area` or `read.window`.
    pub crop_to_polygon: bool,
    /// Refuse an area that lies partly outside the image. Otherwise pixels outside are nodata, or 0 without nodata.
    pub whole_area: bool,
    /// The size to write; `None`: one pixel per pixel of the area.
    pub size: Option<ConvertSize>,
    /// How pixels of another size are computed.
    pub resampling: Method,
    /// The level of the input that pixels of another size are computed from.
    pub source_level: SourceLevel,
    /// The colours of a palette as bands of their own.
    pub expand: Option<Expand>,
    /// Write sample × scale + offset of each band, and remove scale and offset.
    pub unscale: bool,
    /// Values mapped from one range to another.
    pub rescale: Vec<Rescale>,
    /// Another type of samples. Values are rounded to the nearest, halves away from zero, and clamped to the type.
    pub data_type: Option<DataType>,
    /// Another reference system; pixels stay where they are.
    pub crs: Option<Crs>,
    /// Another transform of the part that is written.
    pub transform: Option<GeoTransform>,
    /// The corners of the part that is written instead of `transform`: x and y of the first, x and y of the last.
    pub corners: Option<[f64; 4]>,
    /// Another nodata value, or none. Pixels stay as they are, unless their values change: then nodata pixels become
    /// the new value.
    pub nodata: Option<Option<NoData>>,
    /// Another scale of all bands; values stay as they are.
    pub scale: Option<f64>,
    /// Another offset of all bands; values stay as they are.
    pub offset: Option<f64>,
    /// Metadata items to set, as name and value.
    pub items: Vec<(String, String)>,
    /// What bands stand for, as band (from 1) and GDAL's name of the colour.
    pub colours: Vec<(u16, String)>,
    /// Another meaning of the samples.
    pub photometric: Option<Photometric>,
    /// Another meaning of the last band: alpha of this kind, or no alpha (`Unspecified`).
    pub alpha: Option<ExtraSample>,
    /// Tiles of a matrix set; cloud-optimized files alone. A raster that does not lie on its grid is warped onto it.
    pub tiling: Option<Tiling>,
    /// How pixels are computed that are warped onto these tiles; `None`: `Cubic`, or `Nearest` for palettes, as GDAL's COG driver
    /// does.
    pub warp_resampling: Option<WarpSampling>,
    /// Encode every block anew, even where those of the input could be copied.
    pub reencode: bool,
    /// Sizes of the pieces that are read at once.
    pub limits: PieceLimits,
}

impl ConvertOptions {
    /// Returns options that write the whole image as it is, as a plain file.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets the page, level, window, bands and engine of the read.
        read: ReadOptions,
        /// Sets how the file is written.
        write: WriteOptions,
        /// Writes the pixels that the box around the polygon touches.
        crop_to_polygon: bool,
        /// Refuses an area that lies partly outside the image.
        whole_area: bool,
        /// Sets how pixels of another size are computed.
        resampling: Method,
        /// Sets the level of the input that pixels of another size are computed from.
        source_level: SourceLevel,
        /// Writes sample × scale + offset, and removes scale and offset.
        unscale: bool,
        /// Maps values from one range to another.
        rescale: Vec<Rescale>,
        /// Sets metadata items, as name and value.
        items: Vec<(String, String)>,
        /// Sets what bands stand for, as band (from 1) and GDAL's name of the colour.
        colours: Vec<(u16, String)>,
        /// Encodes every block anew, even if it could be copied.
        reencode: bool,
        /// Bounds the pieces that are read at once.
        limits: PieceLimits,
    }

    optional! {
        /// Writes this part of the image.
        area: ConvertArea,
        /// Clips pixels to a polygon.
        polygon: Arc<Polygon>,
        /// Sets the size to write.
        size: ConvertSize,
        /// Writes the colours of a palette as bands.
        expand: Expand,
        /// Sets the type of the samples.
        data_type: DataType,
        /// Sets the reference system; pixels stay where they are.
        crs: Crs,
        /// Sets the transform of the part that is written.
        transform: GeoTransform,
        /// Sets the corners of the part that is written: x and y of the first, x and y of the last.
        corners: [f64; 4],
        /// Sets the scale of all bands; values stay as they are.
        scale: f64,
        /// Sets the offset of all bands; values stay as they are.
        offset: f64,
        /// Sets the meaning of the samples.
        photometric: Photometric,
        /// Sets the meaning of the last band.
        alpha: ExtraSample,
        /// Writes tiles of a matrix set (cloud-optimized files only).
        tiling: Tiling,
        /// Sets how pixels are computed that are warped onto these tiles.
        warp_resampling: WarpSampling,
    }

    /// Sets the nodata value; `None` removes it.
    #[must_use]
    pub fn nodata(mut self, nodata: impl Into<Option<NoData>>) -> Self {
        self.nodata = Some(nodata.into());
        self
    }

    /// Whether samples of the output may have other values than those of the input.
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
    /// is moved to whole pixels.
    Corners([f64; 4]),
    /// West, south, east and north, in the reference system of the image: all whole pixels that touch it.
    Bounds([f64; 4]),
}

/// A side of what is written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Side {
    /// As the other side wants it, to keep the proportions.
    Auto,
    /// This many pixels.
    Pixels(u32),
    /// This many per cent of the area.
    Percent(f64),
}

/// The size of what is written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ConvertSize {
    /// Columns and rows.
    Sides(Side, Side),
    /// Width and height of a pixel, in the reference system; both above 0.
    Resolution(f64, f64),
}

/// The level that pixels of another size are computed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SourceLevel {
    /// The smallest level that has as many pixels as are written.
    #[default]
    Auto,
    /// This level: 0 is full resolution, 1 the largest overview. Without a `size` the pixels of an overview are written.
    Level(usize),
}

/// The bands that a palette becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expand {
    /// One band, for palettes of greys.
    Gray,
    /// Red, green and blue.
    Rgb,
    /// Red, green, blue and alpha.
    Rgba,
}

/// A mapping of values from a range to another: linear, or by a power.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Rescale {
    /// The band that is written, from 1; `None`: every band without a mapping of its own.
    pub band: Option<u16>,
    /// The range of the input; `None`: the smallest and the largest valid value of the band, found by reading it all.
    pub from: Option<(f64, f64)>,
    /// The range of the output; `None`: all values of an integer type, 0 to 1 for floats.
    pub to: Option<(f64, f64)>,
    /// The power; values outside the range are then clamped. `None`: linear, without clamping to the range.
    pub exponent: Option<f64>,
}

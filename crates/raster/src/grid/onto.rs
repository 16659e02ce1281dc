//! What a read onto a grid asks for: the grid, and how pixels get there.

use super::{Grid, Placing, Polygon};
use std::sync::Arc;
use strile_crs::{Crs, DatumShift};
use strile_engine::{WarpSampling, setters};
use strile_tiff::DataType;
use strile_tiff::gdal::NoData;

/// A grid that pixels are read onto, and how; see [`ReadOptions::onto`](crate::ReadOptions::onto).
#[derive(Debug, Clone, PartialEq)]
pub struct Onto {
    /// The grid.
    pub grid: Grid,
    /// How pixels get there.
    pub warp: WarpOptions,
}

/// Which of several files is seen where they overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Top {
    /// The first one.
    First,
    /// The last one, as in gdalwarp.
    #[default]
    Last,
}

/// Which value no pixel becomes that has one: it becomes the next sample.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) enum Avoid {
    /// That of pixels that no source fills.
    #[default]
    Fill,
    /// This one, or none, whatever pixels are that no source fills.
    Only(Option<NoData>),
}

/// How pixels are put onto a grid. All fields have defaults; setters change them.
///
/// ```
/// use strile::grid::{WarpOptions, WarpSampling};
///
/// let options = WarpOptions::new().resampling(WarpSampling::Bilinear).tolerance(0.0);
/// assert_eq!(options.level, None);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct WarpOptions {
    /// How the value of a pixel is made from pixels of the source.
    pub resampling: WarpSampling,
    /// How far an interpolated place may be from the exact one, in pixels of the level that is read; 0 computes every pixel
    /// exactly.
    pub tolerance: f64,
    /// The resolution level that is read, 0 is full resolution. `None` takes the coarsest that suffices, by GDAL's rule.
    pub level: Option<usize>,
    /// What happens where no operation between the datums is known for the area.
    pub datum_shift: DatumShift,
    /// The reference system of the source; `None` is the one that the file states.
    pub source_crs: Option<Crs>,
    /// What of the source's georeferencing places its pixels.
    pub placing: Placing,
    /// The value that means "no data" in the source; `None` is the one that the file states.
    pub nodata: Option<NoData>,
    /// The value of pixels that no source fills; `None` is NaN in masked reads, else nodata, else 0.
    pub fill: Option<NoData>,
    /// What no pixel becomes that has a value.
    pub(crate) avoid: Avoid,
    /// The type of the result; `None` is that of the first file. Values are rounded, and stop at the limits of integers.
    pub data_type: Option<DataType>,
    /// Which of several files is seen where they overlap.
    pub top: Top,
    /// Pixels of the result whose centre lies outside are missing, and only blocks under the polygon are read.
    pub polygon: Option<Arc<Polygon>>,
}

impl Default for WarpOptions {
    fn default() -> Self {
        Self {
            resampling: WarpSampling::default(),
            tolerance: 0.125,
            level: None,
            datum_shift: DatumShift::default(),
            source_crs: None,
            placing: Placing::default(),
            nodata: None,
            fill: None,
            avoid: Avoid::default(),
            data_type: None,
            top: Top::default(),
            polygon: None,
        }
    }
}

impl WarpOptions {
    /// Returns the options that take the nearest pixel, within 1/8 pixel.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads this resolution level, 0 is full resolution; `None` the coarsest that suffices.
    #[must_use]
    pub fn level(mut self, level: impl Into<Option<usize>>) -> Self {
        self.level = level.into();
        self
    }

    /// Sets the reference system of the source; `None` is the one that the file states.
    #[must_use]
    pub fn source_crs(mut self, crs: impl Into<Option<Crs>>) -> Self {
        self.source_crs = crs.into();
        self
    }

    /// Sets the value that means "no data" in the source; `None` is the one that the file states.
    #[must_use]
    pub fn nodata(mut self, nodata: impl Into<Option<NoData>>) -> Self {
        self.nodata = nodata.into();
        self
    }

    /// Sets the value of pixels that no source fills.
    #[must_use]
    pub fn fill(mut self, fill: impl Into<Option<NoData>>) -> Self {
        self.fill = fill.into();
        self
    }

    /// Clips the result by a polygon.
    #[must_use]
    pub fn polygon(mut self, polygon: impl Into<Option<Polygon>>) -> Self {
        self.polygon = polygon.into().map(Arc::new);
        self
    }

    /// Sets the type of the result; `None` is that of the first file.
    #[must_use]
    pub fn data_type(mut self, data_type: impl Into<Option<DataType>>) -> Self {
        self.data_type = data_type.into();
        self
    }

    setters! {
        /// Sets how the value of a pixel is made.
        resampling: WarpSampling,
        /// Sets how far an interpolated place may be from the exact one, in pixels of the source.
        tolerance: f64,
        /// Sets what happens without an operation between the datums.
        datum_shift: DatumShift,
        /// Sets what of the source's georeferencing places its pixels.
        placing: Placing,
        /// Sets which of several files is seen where they overlap.
        top: Top,
    }
}

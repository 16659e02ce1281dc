//! Settings of a read onto a grid: the grid, and how pixels are warped.

use super::{Grid, Placing, Polygon};
use std::sync::Arc;
use strile_crs::{Crs, DatumShift};
use strile_engine::{WarpSampling, setters};
use strile_tiff::DataType;
use strile_tiff::gdal::NoData;

/// A grid that pixels are warped onto, and how; see [`ReadOptions::onto`](crate::ReadOptions::onto).
#[derive(Debug, Clone, PartialEq)]
pub struct Onto {
    /// The grid.
    pub grid: Grid,
    /// How pixels are warped.
    pub warp: WarpOptions,
}

/// Which of several overlapping files is on top.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Top {
    /// The first one.
    First,
    /// The last one, as in gdalwarp.
    #[default]
    Last,
}

/// The value that valid pixels must not get: they get the adjacent sample instead.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) enum Avoid {
    /// The value of pixels that no source fills.
    #[default]
    Fill,
    /// This value, or none, independent of pixels that no source fills.
    Only(Option<NoData>),
}

/// Options of warping pixels onto a grid. All fields have defaults; setters change them.
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
    /// Resampling method.
    pub resampling: WarpSampling,
    /// Largest distance of an interpolated place from the exact one, in pixels of the level that is read; 0 computes
    /// every pixel exactly.
    pub tolerance: f64,
    /// The resolution level to read; 0 is full resolution. `None` is the coarsest sufficient one, by GDAL's rule.
    pub level: Option<usize>,
    /// What to do if no operation between the datums is known for the area.
    pub datum_shift: DatumShift,
    /// The reference system of the source. `None` is the one that the file states.
    pub source_crs: Option<Crs>,
    /// The part of the source's georeferencing that places its pixels.
    pub placing: Placing,
    /// The nodata value of the source. `None` is the one that the file states.
    pub nodata: Option<NoData>,
    /// The value of pixels that no source fills. `None` is NaN in masked reads, else nodata, else 0.
    pub fill: Option<NoData>,
    /// The value that valid pixels must not get.
    pub(crate) avoid: Avoid,
    /// The type of the result. `None` is that of the first file. Values are rounded, and clamped to the range of
    /// integers.
    pub data_type: Option<DataType>,
    /// Which of several overlapping files is on top.
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
    /// Returns the defaults: the nearest pixel, within 1/8 pixel.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the resolution level to read; 0 is full resolution, `None` is the coarsest sufficient one.
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

    /// Sets the nodata value of the source; `None` is the one that the file states.
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
        /// Sets the resampling method.
        resampling: WarpSampling,
        /// Sets the largest distance of an interpolated place from the exact one, in pixels of the source.
        tolerance: f64,
        /// Sets what to do if no operation between the datums is known.
        datum_shift: DatumShift,
        /// Sets the part of the source's georeferencing that places its pixels.
        placing: Placing,
        /// Sets which of several overlapping files is on top.
        top: Top,
    }
}

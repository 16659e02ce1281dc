//! What can be chosen when converting, and every default.

use super::TilingScheme;
use crate::{PieceLimits, ReadOptions, WriteOptions};
use strile_tiff::gdal::NoData;
use strile_tiff::geo::{Crs, GeoTransform};
use strile_tiff::{ExtraSample, Photometric};

/// What of the input is taken, how it is written, and what is said of it differently.
#[derive(Debug, Clone, Default)]
pub struct ConvertOptions {
    /// Page, overview, window, bands, faults and engine; pixels are taken with their mask, whatever `layer` says.
    pub read: ReadOptions,
    /// How it is written.
    pub write: WriteOptions,
    /// Another reference system; pixels stay where they are.
    pub crs: Option<Crs>,
    /// Another transform, of the part that is written.
    pub transform: Option<GeoTransform>,
    /// Another nodata value, or none.
    pub nodata: Option<Option<NoData>>,
    /// Another meaning of the samples.
    pub photometric: Option<Photometric>,
    /// Another meaning of the last band: alpha of this kind, or no alpha (`Unspecified`).
    pub alpha: Option<ExtraSample>,
    /// Tiles of this set, for a raster that lies on its grid; cloud-optimized files alone.
    pub tiling: Option<TilingScheme>,
    /// Encode every block anew, even where those of the input could be copied.
    pub reencode: bool,
    /// Sizes of the pieces that are read at once.
    pub limits: PieceLimits,
}

//! `strile overview`.

use super::EngineArgs;
use super::values::{parse_compression, parse_count, parse_resampling};
use clap::Args;
use std::num::NonZeroU32;
use std::path::PathBuf;
use strile::{Compression, Resampling};

/// Add overviews to a file, replace them, or remove them.
///
/// Overviews are appended to the file, and one pointer is changed last: until then the file reads as before. Overviews
/// that are replaced or removed stay in the file as unused bytes; `strile convert` writes a file without them. A
/// Cloud-Optimized GeoTIFF is no longer one afterwards; `strile convert --of COG` writes one with overviews. An image
/// that fits into one block gets none unless LEVEL or `--count` is given. Levels, `-r` and `-clean` may be written as
/// in gdaladdo.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strile overview dem.tif
  strile overview dem.tif 2 4 8 -r nearest
  strile overview dem.tif --levels 2,4,8 --rebuild
  strile overview dem.tif --count 3 --external --compress zstd
  strile overview dem.tif --clean")]
pub struct OverviewArgs {
    /// The file
    pub file: PathBuf,
    /// Reduction factors, powers of two; by default 2, 4, … until an overview fits into one block
    #[arg(value_name = "LEVEL", conflicts_with_all = ["levels", "count"])]
    pub words: Vec<u32>,
    /// The same as LEVEL, separated by commas
    #[arg(long, value_name = "N,N", value_delimiter = ',', conflicts_with = "count")]
    pub levels: Vec<u32>,
    /// Number of overviews, each half the size of the one before
    #[arg(long, value_name = "N", value_parser = parse_count::<NonZeroU32>)]
    pub count: Option<NonZeroU32>,
    /// Resampling method; by default average, and nearest for palettes and categories
    #[arg(short, long, value_name = "METHOD", value_parser = parse_resampling)]
    pub resampling: Option<Resampling>,
    /// Compression; by default that of the image
    #[arg(long, value_name = "NAME", value_parser = parse_compression)]
    pub compress: Option<Compression>,
    /// Write them beside the file, to FILE.ovr
    #[arg(long)]
    pub external: bool,
    /// Replace existing overviews
    #[arg(long)]
    pub rebuild: bool,
    /// Remove overviews: those in the file, or FILE.ovr with `--external`
    #[arg(long, conflicts_with_all = ["words", "levels", "count", "resampling", "compress", "rebuild"])]
    pub clean: bool,
    #[command(flatten)]
    pub engine: EngineArgs,
}

/// Options of gdaladdo that begin with one dash. Those that `strile overview` does not support are refused by name.
pub(super) const GDAL: &str = "clean ro b minsize partial-refresh-from-source-timestamp partial-refresh-from-projwin partial- \
    refresh-from-source-extent oo";

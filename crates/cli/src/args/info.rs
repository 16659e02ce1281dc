//! `strile info`.

use super::{MosaicArgs, PolygonArgs, RemoteArgs};
use clap::Args;
use std::path::PathBuf;

/// Show a file's size, type, compression, georeferencing and overviews.
///
/// `--stats`, `--hist` and `--checksum` read all pixels of the first image, in pieces, and report the same values as
/// GDAL. Samples are valid unless they are NaN or the nodata value, or, if the file has no such value, unless its mask
/// or alpha hides them. `-cutline` counts only the pixels whose centre lies within a polygon, and reads only the blocks
/// under it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strile info dem.tif
  strile info --stats --hist --checksum dem.tif
  strile info --stats -cutline field.geojson dem.tif
  strile info --json a.tif b.tif
  strile info --explain dem.tif
  strile info https://example.org/dem.tif
  strile info --anonymous --region us-west-2 s3://bucket/dem.tif
  curl -s https://example.org/dem.tif | strile info -")]
pub struct InfoArgs {
    /// Files or URLs; `-` reads standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Print JSON: {"files": […]}
    #[arg(long)]
    pub json: bool,
    /// Per band: smallest, largest, mean, standard deviation, number of valid and of missing samples
    #[arg(long)]
    pub stats: bool,
    /// Per band: how many valid samples lie in each of 256 ranges
    #[arg(long)]
    pub hist: bool,
    /// Per band: the checksum that GDAL computes
    #[arg(long)]
    pub checksum: bool,
    #[command(flatten)]
    pub polygon: PolygonArgs,
    /// Also show what a read of the whole first image would do
    #[arg(long)]
    pub explain: bool,
    #[command(flatten)]
    pub mosaic: MosaicArgs,
    #[command(flatten)]
    pub remote: RemoteArgs,
}

/// Options of gdalinfo that begin with one dash.
pub(super) const GDAL: &str = "stats hist checksum json";

//! `strile sample`.

use super::{EngineArgs, MosaicArgs, RemoteArgs};
use clap::Args;
use std::path::PathBuf;
use strile::tiff::geo::Crs;

/// Write the values of a file's bands at points.
///
/// Points are lines of a CSV file, or one X and Y. Values are those of the pixel that contains the point. Each line is
/// written unchanged, followed by a column per band, named after the band if it has a name. Missing samples (nodata,
/// mask, alpha) and points outside the image are empty. Lines are read in batches of 65,536: each block of pixels is
/// decoded once per batch.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strile sample dem.tif points.csv -o values.csv
  strile sample dem.tif points.csv --columns lon,lat --crs EPSG:4326 --missing-text -9999
  strile sample scene.tif 500010 4399990 --band 4,3
  cut -d, -f2,3 sites.csv | strile sample dem.tif -")]
pub struct SampleArgs {
    /// The file
    pub file: PathBuf,
    /// A CSV file of points, `-` for standard input, or X and Y
    #[arg(required = true, num_args = 1..=2, value_names = ["POINTS", "Y"], allow_negative_numbers = true)]
    pub points: Vec<String>,
    /// The CSV file to write; standard output by default
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Names of the columns with the coordinates; by default `x,y`, `lon,lat`, `longitude,latitude` or `easting,northing`,
    /// and the first two columns of a file without a header
    #[arg(long, value_name = "X,Y")]
    pub columns: Option<String>,
    /// Bands, from 1, in this order; all by default
    #[arg(short, long, alias = "bands", value_name = "N", value_delimiter = ',')]
    pub band: Vec<u16>,
    /// Text for missing values
    #[arg(long, value_name = "TEXT", default_value = "", allow_hyphen_values = true)]
    pub missing_text: String,
    /// Write stored values, even if they are nodata or masked
    #[arg(long)]
    pub raw_values: bool,
    /// The reference system of the points: EPSG:N, WKT or PROJ; that of the file by default
    #[arg(long, value_name = "TEXT", value_parser = Crs::from_user_input, allow_hyphen_values = true)]
    pub crs: Option<Crs>,
    #[command(flatten)]
    pub mosaic: MosaicArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub remote: RemoteArgs,
}

//! `strile vrt`.

use super::Nodata;
use super::values::parse_nodata;
use clap::Args;
use std::path::PathBuf;

/// Write a VRT that places files side by side, as gdalbuildvrt does.
///
/// The files have one reference system and type; later ones are on top. Names, scales, offsets, units, nodata, colours,
/// categories, masks and metadata that all files have in common are kept. Files that contradict each other in the
/// meaning of values are an error; warnings name what the VRT does not keep. Paths are stored relative to the VRT, with
/// `../` if needed. `-separate`, `-te`, `-tr`, `-input_file_list` and `-overwrite` may be written as in GDAL.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strile vrt all.vrt tiles/a.tif tiles/b.tif
  strile vrt all.vrt a.tif b.tif --nodata -9999 --overwrite
  strile vrt stack.vrt -separate red.tif green.tif blue.tif
  strile vrt part.vrt -te 500000 4400000 510000 4410000 -tr 20 20 -input_file_list tiles.txt")]
pub struct VrtArgs {
    /// The VRT to write; its name ends in `.vrt`
    pub output: PathBuf,
    /// Files: GeoTIFFs or VRTs
    #[arg(required_unless_present = "input_file_list", value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Take the names of files from this text file, one per line, after those given as FILE
    #[arg(long, value_name = "LIST")]
    pub input_file_list: Option<PathBuf>,
    /// Put every band of every file into a separate band
    #[arg(long)]
    pub separate: bool,
    /// Extent of the VRT, in the files' reference system; all files by default
    #[arg(long, num_args = 4, value_names = ["XMIN", "YMIN", "XMAX", "YMAX"], allow_negative_numbers = true)]
    pub te: Option<Vec<f64>>,
    /// Size of a pixel; needed if the files differ in it
    #[arg(long, num_args = 2, value_names = ["XRES", "YRES"], allow_negative_numbers = true)]
    pub tr: Option<Vec<f64>>,
    /// The value that is transparent and fills areas that no file covers, or `none`; those of the files by default
    #[arg(long, value_name = "V", value_parser = parse_nodata, allow_hyphen_values = true)]
    pub nodata: Option<Nodata>,
    /// Store absolute paths
    #[arg(long, alias = "write-absolute-path")]
    pub absolute: bool,
    /// Replace OUTPUT if it exists
    #[arg(long)]
    pub overwrite: bool,
}

/// Options of gdalbuildvrt that begin with one dash. Those that `strile vrt` does not support are refused by name.
pub(super) const GDAL: &str = "separate te tr input_file_list overwrite write_absolute_path tileindex resolution tap sd \
    allow_projection_difference optim addalpha hidenodata srcnodata vrtnodata ignore_srcmaskband \
    nodata_max_mask_threshold a_srs oo co of strict non_strict program";

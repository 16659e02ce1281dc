//! `strile dump`.

use super::{CutlineArgs, DecodeArgs, EngineArgs, Explain, Format, GpuArgs, PartArgs, RemoteArgs};
use clap::Args;
use std::path::PathBuf;
use strile::read::Interleave;
use strile::{Layer, ReadOptions};

/// Write pixels to a file or to standard output.
///
/// Samples are those stored in the file; Orientation and white-is-zero are applied only on request. Formats:
/// `raw`, one line of JSON (shape, dtype, geo), then little-endian samples band by band; `npy`, numpy's; `csv`, a line for
/// each pixel; `png`, a picture: one band in grey, three in colours, palettes in theirs, each band stretched from its 2nd to
/// its 98th percentile, missing pixels transparent. A band is alpha only if the file says so. `--raw-values` writes the
/// stored values of 8 and 16-bit unsigned samples into the PNG instead.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strile dump dem.tif -o dem.npy
  strile dump dem.tif --format raw > dem.raw
  strile dump rgb.tif --band 3 --band 2 --band 1 --level 1 -o quicklook.png
  strile dump jpeg2000.tif --reduce 3 -o eighth.png
  strile dump dem.tif --bbox 500000,4400000,510000,4410000 -o part.npy
  strile dump dem.tif -cutline field.geojson -crop_to_cutline --masked -o field.npy
  strile dump damaged.tif --on-fault fill -o rescued.npy
  strile dump dem.tif --window 0,0,4,4 --format csv -o -")]
pub struct DumpArgs {
    /// The file or its URL; `-` reads standard input
    pub file: PathBuf,
    /// Format; by default that of the output's suffix, else raw
    #[arg(long)]
    pub format: Option<Format>,
    /// Output file; `-`, the default, is standard output
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub part: PartArgs,
    #[command(flatten)]
    pub cutline: Box<CutlineArgs>,
    /// Read the mask (0 and 255) instead of pixels
    #[arg(long)]
    pub mask: bool,
    /// Apply the Orientation tag
    #[arg(long)]
    pub orient: bool,
    /// Invert white-is-zero images
    #[arg(long)]
    pub invert_white: bool,
    /// Write nodata as NaN: as float32 if it holds every value, else float64
    #[arg(long, conflicts_with = "mask")]
    pub masked: bool,
    /// As --masked, and apply the scale and offset of each band
    #[arg(long, conflicts_with = "mask")]
    pub unscale: bool,
    /// PNG: write stored values, 8 or 16-bit unsigned, without a stretch, a palette or transparent nodata
    #[arg(long)]
    pub raw_values: bool,
    #[command(flatten)]
    pub decode: DecodeArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub gpu: GpuArgs,
    #[command(flatten)]
    pub remote: RemoteArgs,
    /// Show what would be done; read no pixels (`--explain=json` for programs)
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "text")]
    pub explain: Option<Explain>,
}

impl DumpArgs {
    /// Returns the request. The caller, who has the file, resolves `bbox`.
    pub fn read_options(&self, interleave: Interleave) -> ReadOptions {
        let options = self
            .part
            .read_options(&self.decode, &self.engine)
            .layer(if self.mask { Layer::Mask } else { Layer::Pixels })
            .interleave(interleave)
            .apply_orientation(self.orient)
            .invert_min_is_white(self.invert_white)
            .masked(self.masked)
            .unpack(self.unscale);
        self.gpu.apply(options)
    }
}

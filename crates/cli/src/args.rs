//! What can be asked for. Parsing never acts; defaults are those of `strile`.

mod bench;
mod dump;
mod gpu;
mod info;
mod overview;
mod sample;
mod values;
mod vrt;

pub use bench::BenchArgs;
pub use dump::DumpArgs;
pub use gpu::GpuArgs;
pub use info::InfoArgs;
pub use overview::OverviewArgs;
pub use sample::SampleArgs;
pub use vrt::VrtArgs;

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use strile::tiff::gdal::NoData;
use strile::tiff::geo::Crs;
use strile::{CompareOptions, Device, OnFault, PROFILES, ReadOptions};
use strile::{Missing, VrtOptions, Window};
use values::{parse_bbox, parse_device, parse_nodata, parse_pair, parse_size, parse_tolerance, parse_window};

/// Read and write GeoTIFF and Cloud-Optimized GeoTIFF, fast and safely.
#[derive(Debug, Parser)]
#[command(name = "strile", version, arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Arguments {
    /// Print no warnings, notes or progress; errors only
    #[arg(short, long, global = true)]
    pub quiet: bool,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Info(InfoArgs),
    Dump(DumpArgs),
    Convert(Box<ConvertArgs>),
    Overview(OverviewArgs),
    Sample(SampleArgs),
    Vrt(VrtArgs),
    Index(IndexArgs),
    Compare(CompareArgs),
    /// Check Cloud-Optimized GeoTIFFs
    #[command(
        subcommand,
        after_help = "\
Examples:
  strile cog validate dem.tif"
    )]
    Cog(CogCommand),
    Bench(BenchArgs),
    Devices(DevicesArgs),
    Demo(DemoArgs),
    Completions(CompletionsArgs),
}

const EXAMPLES: &str = "\
Examples:
  strile info dem.tif
  strile dump dem.tif -o dem.npy
  strile dump dem.tif --window 0,0,512,512 -o corner.png
  strile sample dem.tif points.csv -o values.csv
  strile convert dem.tif cog.tif --of COG --co COMPRESS=ZSTD
  strile compare before.tif after.tif
  strile cog validate dem.tif
  strile bench dem.tif
  strile demo

Exit status: 0 done; 1 done, with faults or differences; 2 an error.";

/// Write a GeoTIFF or a Cloud-Optimized GeoTIFF out of a file.
///
/// Pixels, mask, georeference and metadata go along, in pieces: memory does not grow with the raster. Blocks that
/// are stored alike in both files are copied as they are. `--co` takes the creation options of GDAL's GTiff and COG
/// drivers; `-of`, `-co`, `-a_srs`, `-a_nodata` and `-a_ullr` may be written as GDAL has them. OUT is there whole
/// or, after an error, as it was before. Without options: Deflate, tiles of 512 × 512, the best predictor.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strile convert dem.tif cog.tif --of COG --co COMPRESS=ZSTD --co LEVEL=15
  strile convert scene.tif small.tif --profile jpeg --co QUALITY=85
  strile convert dem.tif part.tif --bbox 500000,4400000,510000,4410000 --overwrite
  strile convert dem.tif same.tif -co COMPRESS=LERC -co MAX_Z_ERROR=0.01 -a_nodata -9999
  strile convert --explain dem.tif cog.tif --of COG
  strile convert dem.tif cog.tif --of COG --device cuda:0 --streaming-buffer 128MiB --reproducible
  strile convert dem.tif - --of COG > cog.tif")]
pub struct ConvertArgs {
    /// The file; `-` reads standard input
    pub input: PathBuf,
    /// The file to write; `-` is standard output
    pub output: PathBuf,
    /// Format: GTiff by default, COG with a profile
    #[arg(long, value_name = "FORMAT", ignore_case = true)]
    pub of: Option<FileFormat>,
    /// A creation option, as COMPRESS=ZSTD; again for more
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_pair)]
    pub co: Vec<(String, String)>,
    /// A profile of rio-cogeo, which `--co` may change
    #[arg(short, long, value_name = "NAME", value_parser = PROFILES, ignore_case = true)]
    pub profile: Option<String>,
    /// Replace OUT where it is there
    #[arg(long)]
    pub overwrite: bool,
    #[command(flatten)]
    pub part: PartArgs,
    /// Another reference system, pixels staying where they are: EPSG:N, WKT or PROJ
    #[arg(long, value_name = "TEXT", value_parser = Crs::from_user_input, allow_hyphen_values = true)]
    pub a_srs: Option<Crs>,
    /// Another nodata value, or `none`
    #[arg(long, value_name = "V", value_parser = parse_nodata, allow_hyphen_values = true)]
    pub a_nodata: Option<Nodata>,
    /// Where the part that is written lies: x and y of its first corner and of its last
    #[arg(long, num_args = 4, value_names = ["ULX", "ULY", "LRX", "LRY"], allow_negative_numbers = true)]
    pub a_ullr: Option<Vec<f64>>,
    /// Folder for encoded blocks that wait; that of OUT by default
    #[arg(long, value_name = "DIR")]
    pub spool_dir: Option<PathBuf>,
    /// Encode every block anew, even where it could be copied
    #[arg(long)]
    pub reencode: bool,
    /// Encode so that the bytes of OUT do not tell which device made them; larger or slower than the CPU's own
    #[arg(long)]
    pub reproducible: bool,
    /// Compress on the GPU by nvCOMP with this effort of its own, 0 to 5 for Deflate, 0 for ZSTD; an error where it cannot
    #[arg(long, value_name = "EFFORT", conflicts_with = "reproducible")]
    pub nvcomp_effort: Option<u8>,
    /// Encode JPEG 2000 on the GPU by nvJPEG2000; an error where it cannot
    #[arg(long, conflicts_with_all = ["reproducible", "nvcomp_effort"])]
    pub nvjpeg2000: bool,
    /// What blocks that are encoded may take where they are, as 128MiB; on a GPU all memory of the write
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub streaming_buffer: Option<u64>,
    #[command(flatten)]
    pub engine: EngineArgs,
    /// Tell what would be done; write nothing
    #[arg(long)]
    pub explain: bool,
}

/// Keep the headers of all GeoTIFFs below a folder in one file, so that opening them costs no read.
///
/// What readers of many files use (`strile.Headers(index=…)` in Python, `Headers::with_index` in Rust). A file that is in another state
/// than the index knows, by size and modification time, is opened as if there were none. Exit 1: some files could not
/// be opened, and are not in it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strile index scenes -o scenes/headers.index")]
pub struct IndexArgs {
    /// The folder
    pub folder: PathBuf,
    /// The index to write; one that is there is replaced
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Do not look at files beside files
    #[arg(long)]
    pub no_sidecars: bool,
}

/// Tell how two files differ: size, type, pixels, georeference, metadata, tags.
///
/// Compared are all pages with their overviews and masks, piece by piece. Every NaN equals every NaN, and -0
/// equals 0. Exit 0: equal; 1: different, the first difference named first; 2: could not be compared.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strile compare before.tif after.tif
  strile compare --tolerance 0.01 lossless.tif lossy.tif
  strile compare --structure --json a.tif b.tif")]
pub struct CompareArgs {
    /// A file; `-` reads standard input
    pub a: PathBuf,
    /// The file it is compared with
    pub b: PathBuf,
    /// How far samples may be apart
    #[arg(long, value_name = "X", default_value_t = CompareOptions::default().tolerance, value_parser = parse_tolerance)]
    pub tolerance: f64,
    /// Compare also how pixels are stored: compression, blocks, interleaving, predictor, byte order
    #[arg(long)]
    pub structure: bool,
    /// Print JSON: {"equal": …, "differences": […]}
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub engine: EngineArgs,
}

#[derive(Debug, Subcommand)]
pub enum CogCommand {
    Validate(ValidateArgs),
}

/// Tell whether files are Cloud-Optimized GeoTIFFs.
///
/// The rules are those of GDAL's validator and of `rio cogeo validate`; each finding names whose it is, and a
/// file is valid where neither finds an error. Exit 0: all valid; 1: not all; 2: one could not be checked.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strile cog validate dem.tif
  strile cog validate --strict --json a.tif b.tif")]
pub struct ValidateArgs {
    /// Files; `-` reads standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// A warning makes a file invalid too
    #[arg(long)]
    pub strict: bool,
    /// Print JSON: {"files": […]}
    #[arg(long)]
    pub json: bool,
}

/// List what can decode on this machine.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strile devices
  strile devices --json
  strile devices --calibrate")]
pub struct DevicesArgs {
    /// Measure what reads cost on the CPU and on the first GPU, in some seconds, and keep it in the user's cache folder:
    /// `--device auto` then chooses by it
    #[arg(long)]
    pub calibrate: bool,
    /// Print JSON: {"devices": […]}
    #[arg(long)]
    pub json: bool,
}

/// Make a raster, read it back on every device, check every pixel, show how fast it went.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strile demo
  strile demo --dir demo-files")]
pub struct DemoArgs {
    /// Where files are left; by default a new folder among the system's temporary files
    #[arg(long)]
    pub dir: Option<PathBuf>,
}

/// Print a completion script for a shell.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strile completions bash > ~/.local/share/bash-completion/completions/strile
  strile completions zsh > ~/.zfunc/_strile
  strile completions fish > ~/.config/fish/completions/strile.fish")]
pub struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// What of a file is read.
#[derive(Debug, Args)]
pub struct PartArgs {
    /// Pixels to read, of the chosen level
    #[arg(long, value_name = "X,Y,W,H", value_parser = parse_window, conflicts_with = "bbox")]
    pub window: Option<Window>,
    /// Area to read, in the coordinates of the file's reference system
    #[arg(long, value_name = "W,S,E,N", value_parser = parse_bbox, allow_hyphen_values = true)]
    pub bbox: Option<Bbox>,
    /// Bands to read, from 1, in this order; all by default
    #[arg(short, long, alias = "bands", value_name = "N", value_delimiter = ',')]
    pub band: Vec<u16>,
    /// Read a reduced level: 0 is the largest of them
    #[arg(long, value_name = "K")]
    pub overview: Option<usize>,
    /// Halve the level so many times while it is decoded: JPEG 2000 only, which holds lower resolutions
    #[arg(long, value_name = "TIMES", default_value_t = ReadOptions::default().reduce)]
    pub reduce: u8,
    /// Page of the file, from 0
    #[arg(long, value_name = "N", default_value_t = ReadOptions::default().page)]
    pub page: usize,
    /// What to do with blocks that cannot be decoded
    #[arg(long, default_value = "fail")]
    pub on_fault: FaultPolicy,
    #[command(flatten)]
    pub mosaic: MosaicArgs,
}

/// How a VRT is read.
#[derive(Debug, Args)]
pub struct MosaicArgs {
    /// Let a VRT read files anywhere, not only in its folder
    #[arg(long)]
    pub allow_outside: bool,
    /// Let a VRT read files in this folder, too; repeat for more
    #[arg(long, value_name = "DIR")]
    pub allowed_root: Vec<PathBuf>,
    /// Size of the largest VRT that is read
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value_t = VrtOptions::default().max_bytes)]
    pub vrt_max_bytes: u64,
    /// Samples of sources that a read of a VRT may lay beyond 64 per sample of the result
    #[arg(long, value_name = "N", default_value_t = VrtOptions::default().max_work)]
    pub vrt_max_work: u64,
    /// What to do about sources of a VRT that are not there or are damaged
    #[arg(long, default_value = "raise")]
    pub missing: MissingPolicy,
}

/// What decodes, and what it may take.
#[derive(Debug, Args)]
pub struct EngineArgs {
    /// What decodes and encodes: `auto`, `cpu` or `cuda:N`
    #[arg(long, value_parser = parse_device, default_value = "auto")]
    pub device: Device,
    /// Threads; all by default
    #[arg(short = 'j', long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// Limit on memory, as 2GiB; by default three quarters of what this process may use
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<u64>,
    /// Most samples (width × height × bands) of an image. By default only results over 1 GB that are more than 1024 times
    /// larger than their file are refused
    #[arg(long, value_name = "N")]
    pub max_pixels: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Destination {
    Host,
    Device,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Raw,
    Npy,
    Png,
    Csv,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FileFormat {
    #[value(name = "GTiff")]
    GTiff,
    #[value(name = "COG")]
    Cog,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FaultPolicy {
    /// Stop and name the first
    Fail,
    /// Fill them with nodata, else 0; list them; exit 1
    Fill,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MissingPolicy {
    /// Stop and name one
    Raise,
    /// Leave their place empty and name them
    Warn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Explain {
    Text,
    Json,
}

/// A nodata value, or that there shall be none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Nodata(pub Option<NoData>);

/// West, south, east, north.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bbox(pub [f64; 4]);

impl MosaicArgs {
    pub fn options(&self) -> VrtOptions {
        let missing = match self.missing {
            MissingPolicy::Raise => Missing::Raise,
            MissingPolicy::Warn => Missing::Warn,
        };
        let roots = || self.allowed_root.clone();
        VrtOptions {
            allow_outside: self.allow_outside,
            allowed_roots: (!self.allowed_root.is_empty()).then(roots),
            missing,
            max_bytes: self.vrt_max_bytes,
            max_work: self.vrt_max_work,
            ..VrtOptions::default()
        }
    }
}

impl PartArgs {
    /// The request; `bbox` is resolved by the caller, who has the file.
    pub fn read_options(&self, engine: &EngineArgs) -> ReadOptions {
        ReadOptions {
            page: self.page,
            overview: self.overview,
            reduce: self.reduce,
            window: self.window,
            bands: (!self.band.is_empty()).then(|| self.band.clone()),
            on_fault: match self.on_fault {
                FaultPolicy::Fail => OnFault::Fail,
                FaultPolicy::Fill => OnFault::Fill,
            },
            device: engine.device,
            max_pixels: engine.max_pixels,
            ..ReadOptions::default()
        }
    }
}

/// GDAL's options of more than one letter begin with one dash, which clap has not: they are given two.
pub fn with_long_options(given: impl Iterator<Item = OsString>) -> Vec<OsString> {
    const CONVERT: [(&str, &str); 5] = [
        ("-of", "--of"),
        ("-co", "--co"),
        ("-a_srs", "--a-srs"),
        ("-a_nodata", "--a-nodata"),
        ("-a_ullr", "--a-ullr"),
    ];
    let mut words: Vec<OsString> = given.collect();
    let command = words.iter().skip(1).position(|word| !word.as_encoded_bytes().starts_with(b"-"));
    let Some(first) = command.map(|at| at + 1) else { return words };
    let known: &[(&str, &str)] = match words.get(first).and_then(|word| word.to_str()) {
        Some("convert") => &CONVERT,
        Some("vrt") => &vrt::GDAL,
        Some("overview") => &overview::GDAL,
        Some("info") => &info::GDAL,
        _ => return words,
    };
    for word in words.iter_mut().skip(first).take_while(|word| *word != "--") {
        if let Some((_, long)) = known.iter().find(|(short, _)| word == short) {
            *word = OsString::from(long);
        }
    }
    words
}

#[cfg(test)]
mod tests;

//! Command-line arguments. Parsing has no side effects; defaults are those of `strile`.

mod convert;
mod cutline;
mod dump;
mod gpu;
mod info;
mod overview;
mod remote;
mod renamed;
mod sample;
#[cfg(feature = "serve")]
mod serve;
mod uploads;
mod values;
mod vrt;
mod warp;
mod write;

pub use convert::ConvertArgs;
pub use cutline::{CutlineArgs, PolygonArgs};
pub use dump::DumpArgs;
pub use gpu::GpuArgs;
pub use info::InfoArgs;
pub use overview::OverviewArgs;
pub use remote::RemoteArgs;
pub use sample::SampleArgs;
#[cfg(feature = "serve")]
pub use serve::{ServeArgs, ServerArgs, ViewArgs};
pub use uploads::UploadsArgs;
pub use vrt::VrtArgs;
pub use warp::WarpArgs;
pub use write::WriteArgs;

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use strile::Window;
use strile::compare::CompareOptions;
use strile::read::{OnFault, Place};
use strile::tiff::gdal::NoData;
use strile::tiff::geo::Crs;
use strile::vrt::{Missing, VrtOptions};
use strile::{OpenOptions, Processor, ReadOptions};
use values::{parse_bbox, parse_count, parse_size, parse_tolerance, parse_window};

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
    Warp(Box<WarpArgs>),
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
    #[cfg(feature = "serve")]
    View(ViewArgs),
    #[cfg(feature = "serve")]
    Serve(ServeArgs),
    Uploads(UploadsArgs),
    Devices(DevicesArgs),
    Demo(DemoArgs),
    Completions(CompletionsArgs),
}

impl Command {
    /// Returns whether to print statistics of requests at the end.
    pub fn wants_stats(&self) -> bool {
        let remote = match self {
            Self::Info(args) => &args.remote,
            Self::Dump(args) => &args.remote,
            Self::Convert(args) => &args.remote,
            Self::Sample(args) => &args.remote,
            Self::Warp(args) => &args.remote,
            Self::Index(args) => &args.remote,
            Self::Compare(args) => &args.remote,
            Self::Cog(CogCommand::Validate(args)) => &args.remote,
            #[cfg(feature = "serve")]
            Self::View(args) => &args.remote,
            #[cfg(feature = "serve")]
            Self::Serve(args) => &args.remote,
            _ => return false,
        };
        remote.remote_stats
    }
}

const EXAMPLES: &str = "\
Examples:
  strile info dem.tif
  strile dump dem.tif -o dem.npy
  strile dump dem.tif --window 0,0,512,512 -o corner.png
  strile sample dem.tif points.csv -o values.csv
  strile view dem.tif
  strile convert dem.tif cog.tif --of COG --co COMPRESS=ZSTD
  strile convert scenes/ -o cogs --of COG --jobs 4
  strile warp dem.tif web.tif -t_srs EPSG:3857 -r bilinear
  strile compare before.tif after.tif
  strile cog validate dem.tif
  strile demo

Exit status: 0 done; 1 done, with faults or differences; 2 an error.";

/// Write an index of the headers of GeoTIFFs in folders and behind URLs, so that opening them takes no read and no
/// request.
///
/// Batches use it: `strile.Headers(index=…)` in Python, `Headers::with_index` in Rust. A file whose size or modification time
/// differs from the index is opened without it; a remote object that has changed is an error when it is read. Exit 1: some
/// files could not be opened and are not in the index.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strile index scenes -o scenes/headers.index
  strile index https://example.org/a.tif s3://bucket/b.tif -o remote.index")]
pub struct IndexArgs {
    /// Folders, which are searched for GeoTIFFs, files or URLs
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The index to write; an existing one is replaced
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Ignore sidecar files (`.ovr`, `.aux.xml`, world files)
    #[arg(long)]
    pub no_sidecars: bool,
    #[command(flatten)]
    pub remote: RemoteArgs,
}

/// Show how two files differ: size, type, pixels, georeferencing, metadata, tags.
///
/// Compares all pages with their overviews and masks. NaN equals NaN, and -0 equals 0. Exit 0: equal; 1: different, first
/// difference first; 2: could not be compared. With --quiet, nothing is printed if they are equal.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strile compare before.tif after.tif
  strile compare --tolerance 0.01 lossless.tif lossy.tif
  strile compare --structure --json a.tif b.tif")]
pub struct CompareArgs {
    /// A file or URL; `-` reads standard input
    pub a: PathBuf,
    /// The file or URL to compare it with
    pub b: PathBuf,
    /// Largest allowed difference between two samples
    #[arg(long, value_name = "X", default_value_t = CompareOptions::default().tolerance, value_parser = parse_tolerance)]
    pub tolerance: f64,
    /// Also compare how pixels are stored: compression, blocks, interleaving, predictor, byte order
    #[arg(long)]
    pub structure: bool,
    /// Print JSON: {"equal": …, "differences": […]}
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub decode: DecodeArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub remote: RemoteArgs,
}

#[derive(Debug, Subcommand)]
pub enum CogCommand {
    Validate(ValidateArgs),
}

/// Check whether files are Cloud-Optimized GeoTIFFs.
///
/// Applies the rules of GDAL's validator and of `rio cogeo validate`; each finding names its validator. A file is valid if
/// neither finds an error. Exit 0: all valid; 1: not all; 2: a file could not be checked.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strile cog validate dem.tif
  strile cog validate --strict --json a.tif b.tif
  strile cog validate https://example.org/dem.tif")]
pub struct ValidateArgs {
    /// Files or URLs; `-` reads standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Treat warnings as errors
    #[arg(long)]
    pub strict: bool,
    /// Print JSON: {"files": […]}
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub remote: RemoteArgs,
}

/// List the processors of this machine that can decode: the CPU and NVIDIA GPUs.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strile devices
  strile devices --json
  strile devices --calibrate")]
pub struct DevicesArgs {
    /// Measure the CPU and the first GPU for some seconds and store the result in the user's cache folder, where
    /// `--decode-on auto` uses it
    #[arg(long)]
    pub calibrate: bool,
    /// Print JSON: {"devices": […]}
    #[arg(long)]
    pub json: bool,
}

/// Write a raster, read it back on every device, check every pixel, and show the throughput.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strile demo
  strile demo --dir demo-files")]
pub struct DemoArgs {
    /// Folder for the files; by default a new temporary folder
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

/// The part of a file to read.
#[derive(Debug, Args)]
pub struct PartArgs {
    /// Pixels to read, of the chosen level
    #[arg(long, value_name = "COLUMN,ROW,WIDTH,HEIGHT", value_parser = parse_window, conflicts_with = "bbox")]
    pub window: Option<Window>,
    /// Area to read, in the coordinates of the file's reference system
    #[arg(long, value_name = "W,S,E,N", value_parser = parse_bbox, allow_hyphen_values = true)]
    pub bbox: Option<Bbox>,
    /// Reference system of --bbox: EPSG:N, WKT or PROJ; that of the file by default
    #[arg(long, value_name = "TEXT", value_parser = Crs::from_user_input, allow_hyphen_values = true, requires = "bbox")]
    pub bbox_crs: Option<Crs>,
    /// Bands to read, from 1, in this order; all by default
    #[arg(short, long, alias = "bands", value_name = "N", value_delimiter = ',')]
    pub band: Vec<u16>,
    /// Resolution level: 0 is full resolution, 1 the largest overview
    #[arg(long, value_name = "N", default_value_t = Place::default().level)]
    pub level: usize,
    /// Decode at 1/2ⁿ of the level's resolution (JPEG 2000 only)
    #[arg(long, value_name = "N", default_value_t = Place::default().reduce)]
    pub reduce: u8,
    /// Page of the file, from 0
    #[arg(long, value_name = "N", default_value_t = Place::default().page)]
    pub page: usize,
    /// What to do with blocks that cannot be decoded
    #[arg(long, default_value = "fail")]
    pub on_fault: FaultPolicy,
    #[command(flatten)]
    pub mosaic: MosaicArgs,
}

/// How to read a VRT.
#[derive(Debug, Args)]
pub struct MosaicArgs {
    /// Let a VRT read files anywhere, not only in its folder
    #[arg(long)]
    pub allow_outside: bool,
    /// Also let a VRT read files in this folder; repeat for more
    #[arg(long, value_name = "DIR")]
    pub allowed_root: Vec<PathBuf>,
    /// Also let a VRT read from this host or bucket, such as `example.org` or `s3://bucket`; `*` for all; repeat for more
    #[arg(long, value_name = "HOST")]
    pub allowed_host: Vec<String>,
    /// Largest size of a VRT, in bytes
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value_t = VrtOptions::default().max_bytes)]
    pub vrt_max_bytes: u64,
    /// Limit on the source samples that a read of a VRT processes, in addition to 64 per sample of the result
    #[arg(long, value_name = "N", default_value_t = VrtOptions::default().max_work)]
    pub vrt_max_work: u64,
    /// What to do about sources of a VRT that are missing or damaged
    #[arg(long, default_value = "raise")]
    pub missing: MissingPolicy,
}

/// The processor that decodes.
#[derive(Debug, Args)]
pub struct DecodeArgs {
    /// Processor that decodes: `auto` (the one estimated to be faster), `cpu`, `cuda` or `cuda:N`
    #[arg(long, value_name = "PROCESSOR", default_value = "auto")]
    pub decode_on: Processor,
}

/// Limits on threads and memory.
#[derive(Debug, Args)]
pub struct EngineArgs {
    /// Number of threads; one per core by default
    #[arg(short = 'j', long, value_name = "N", value_parser = parse_count::<NonZeroUsize>)]
    pub threads: Option<NonZeroUsize>,
    /// Memory limit, such as 2GiB; by default three quarters of what this process may use
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<u64>,
    /// Largest number of samples (width × height × bands) to read. By default only results over 1 GB that are more than 1024
    /// times larger than their file are refused
    #[arg(long, value_name = "N")]
    pub max_pixels: Option<u64>,
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
    /// Stop with an error that names the first
    Fail,
    /// Fill them with nodata, else 0; list them and exit with 1
    Fill,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MissingPolicy {
    /// Stop with an error that names one
    Raise,
    /// Leave their area empty and list them
    Warn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Explain {
    Text,
    Json,
}

/// A nodata value, or `None` for no nodata value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Nodata(pub Option<NoData>);

/// West, south, east, north.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bbox(pub [f64; 4]);

impl MosaicArgs {
    pub fn options(&self, open: OpenOptions) -> VrtOptions {
        let missing = match self.missing {
            MissingPolicy::Raise => Missing::Raise,
            MissingPolicy::Warn => Missing::Warn,
        };
        let roots = || self.allowed_root.clone();
        VrtOptions::new()
            .allow_outside(self.allow_outside)
            .allowed_roots((!self.allowed_root.is_empty()).then(roots))
            .allowed_hosts(self.allowed_host.clone())
            .missing(missing)
            .max_bytes(self.vrt_max_bytes)
            .max_work(self.vrt_max_work)
            .open(open)
    }
}

impl FaultPolicy {
    pub fn on_fault(self) -> OnFault {
        match self {
            Self::Fail => OnFault::Fail,
            Self::Fill => OnFault::Fill,
        }
    }
}

impl PartArgs {
    /// Returns the request. The caller, who has the file, resolves `bbox`.
    pub fn read_options(&self, decode: &DecodeArgs, engine: &EngineArgs) -> ReadOptions {
        let mut options = ReadOptions::new()
            .page(self.page)
            .level(self.level)
            .reduce(self.reduce)
            .window(self.window)
            .on_fault(self.on_fault.on_fault())
            .decode_on(decode.decode_on);
        options.place.bands = (!self.band.is_empty()).then(|| self.band.clone());
        options.execution.max_pixels = engine.max_pixels;
        options
    }
}

/// Gives GDAL's options two dashes. Those of more than one letter begin with one dash, which clap does not support.
pub fn with_long_options(given: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = given.collect();
    let Some(first) = command_at(&words) else { return words };
    for warning in renamed::replace(&mut words, first).iter().filter(|_| !renamed::is_quiet(&words)) {
        eprintln!("warning: {warning}");
    }
    let known = match words.get(first).and_then(|word| word.to_str()) {
        Some("convert") => {
            let rest = words.split_off(first + 1);
            words.extend(convert::with_long_options(&rest));
            return words;
        }
        Some("vrt") => vrt::GDAL,
        Some("warp") => warp::GDAL,
        Some("overview") => overview::GDAL,
        Some("info") => info::GDAL,
        Some("dump") => "",
        _ => return words,
    };
    for word in words.iter_mut().skip(first).take_while(|word| *word != "--") {
        if let Some(long) = long_option(&word.to_string_lossy(), known) {
            *word = long.into();
        }
    }
    words
}

/// Returns an option among GDAL's `names`, or of cutlines, in clap's form: with two dashes and without underscores.
fn long_option(word: &str, names: &str) -> Option<String> {
    let name = word.strip_prefix('-')?;
    let name = name.strip_prefix('-').unwrap_or(name);
    let mut known = names.split_whitespace().chain(cutline::GDAL.split_whitespace());
    known.any(|known| known == name).then(|| format!("--{}", name.replace('_', "-")))
}

/// Returns an error for options of GDAL that the command does not support, and for commands that were removed.
pub fn unavailable(words: &[OsString]) -> Option<String> {
    let first = command_at(words)?;
    let rest = words.get(first + 1..)?;
    match words.get(first).and_then(|word| word.to_str()) {
        Some("convert") => convert::unavailable(rest),
        Some("warp") => warp::unavailable(rest),
        Some("bench") => Some(NO_BENCH.to_owned()),
        _ => None,
    }
}

/// The replacement of the command `bench`.
const NO_BENCH: &str = "`strile bench` is no longer a command: `strile demo` measures this machine, and in the source tree \
                        `cargo run --release -p strile-check --bin bench -- FILE` measures files";

/// Returns the position of the command's name.
fn command_at(words: &[OsString]) -> Option<usize> {
    let at = words.iter().skip(1).position(|word| !word.as_encoded_bytes().starts_with(b"-"));
    at.map(|at| at + 1)
}

#[cfg(test)]
mod tests;

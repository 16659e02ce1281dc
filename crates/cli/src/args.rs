//! What can be asked for. Parsing never acts; defaults are those of `strile`.

mod bench;
mod convert;
mod dump;
mod gpu;
mod info;
mod overview;
mod renamed;
mod sample;
mod values;
mod vrt;

pub use bench::BenchArgs;
pub use convert::ConvertArgs;
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
use strile::Window;
use strile::compare::CompareOptions;
use strile::read::OnFault;
use strile::tiff::gdal::NoData;
use strile::vrt::{Missing, VrtOptions};
use strile::{Processor, ReadOptions};
use values::{parse_bbox, parse_size, parse_tolerance, parse_window};

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
  strile convert scenes/ -o cogs --of COG --jobs 4
  strile compare before.tif after.tif
  strile cog validate dem.tif
  strile bench dem.tif
  strile demo

Exit status: 0 done; 1 done, with faults or differences; 2 an error.";

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
    pub decode: DecodeArgs,
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
    /// `--decode-on auto` then chooses by it
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
    #[arg(long, value_name = "COLUMN,ROW,WIDTH,HEIGHT", value_parser = parse_window, conflicts_with = "bbox")]
    pub window: Option<Window>,
    /// Area to read, in the coordinates of the file's reference system
    #[arg(long, value_name = "W,S,E,N", value_parser = parse_bbox, allow_hyphen_values = true)]
    pub bbox: Option<Bbox>,
    /// Bands to read, from 1, in this order; all by default
    #[arg(short, long, alias = "bands", value_name = "N", value_delimiter = ',')]
    pub band: Vec<u16>,
    /// Resolution level: 0 is full resolution, 1 the largest overview
    #[arg(long, value_name = "N", default_value_t = ReadOptions::default().level)]
    pub level: usize,
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

/// Who decodes.
#[derive(Debug, Args)]
pub struct DecodeArgs {
    /// Who decodes: `auto` (whichever is estimated to be faster), `cpu`, `cuda` or `cuda:N`
    #[arg(long, value_name = "WHO", default_value = "auto")]
    pub decode_on: Processor,
}

/// What may be taken of the machine.
#[derive(Debug, Args)]
pub struct EngineArgs {
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
    pub fn read_options(&self, decode: &DecodeArgs, engine: &EngineArgs) -> ReadOptions {
        let on_fault = match self.on_fault {
            FaultPolicy::Fail => OnFault::Fail,
            FaultPolicy::Fill => OnFault::Fill,
        };
        let mut options = ReadOptions::new()
            .page(self.page)
            .level(self.level)
            .reduce(self.reduce)
            .window(self.window)
            .on_fault(on_fault)
            .decode_on(decode.decode_on);
        options.bands = (!self.band.is_empty()).then(|| self.band.clone());
        options.max_pixels = engine.max_pixels;
        options
    }
}

/// Gives GDAL's options two dashes: those of more than one letter begin with one, which clap does not have.
pub fn with_long_options(given: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = given.collect();
    let Some(first) = command_at(&words) else { return words };
    for warning in renamed::replace(&mut words, first).iter().filter(|_| !renamed::is_quiet(&words)) {
        eprintln!("warning: {warning}");
    }
    let known: &[(&str, &str)] = match words.get(first).and_then(|word| word.to_str()) {
        Some("convert") => {
            let rest = words.split_off(first + 1);
            words.extend(convert::with_long_options(&rest));
            return words;
        }
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

/// Returns why a command line cannot be run that has an option of GDAL's which the command does not have.
pub fn unavailable(words: &[OsString]) -> Option<String> {
    let first = command_at(words)?;
    let rest = words.get(first + 1..)?;
    words.get(first).filter(|word| *word == "convert").and_then(|_| convert::unavailable(rest))
}

/// Where the name of the command is.
fn command_at(words: &[OsString]) -> Option<usize> {
    let at = words.iter().skip(1).position(|word| !word.as_encoded_bytes().starts_with(b"-"));
    at.map(|at| at + 1)
}

#[cfg(test)]
mod tests;

//! The command line of `bench`. Options that `strile` has too have the same names.

use clap::{Parser, ValueEnum};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::sync::Arc;
use strile::cache::Cache;
use strile::device::{DirectIo, Nvcomp};
use strile::engine::Budget;
use strile::{Context, Location, Processor, ReadOptions};

/// Measure how fast files are read or written, and where the time goes.
///
/// Prints the best and the median time of several whole reads of the first image into memory, after a warm-up. The timer
/// includes opening the file, planning, allocating memory, and reading and decoding all blocks. It excludes the start of
/// the program and the device, and freeing memory. Each read opens the file again, from the system's page cache. Stages
/// are those of the median read; they overlap, so their sum exceeds the whole. The floor of a read on a GPU is the time
/// that its bytes need on the bus in the busier direction; the best read is given in percent of it.
///
/// With `--write`, files are read once, into host memory or (`--to device`) GPU memory, and their pixels are written several
/// times to a file in DIR, which is then removed. The file is stored like the source unless `--co` says otherwise. The timer
/// includes planning, encoding, writing and syncing. The CPU reads the last file back and compares every bit; exit 1 if it
/// differs.
#[derive(Debug, Parser)]
#[command(
    name = "bench",
    version,
    after_help = "\
Examples:
  bench dem.tif
  bench --threads 1 --repeat 10 a.tif b.tif
  bench --decode-on cpu --json dem.tif
  bench --decode-on cuda --to device --trace trace.json dem.tif
  bench --growth --svg growth.svg dem.tif
  bench --peers dem.tif
  bench --write /dev/shm --co COMPRESS=ZSTD dem.tif
  bench --write /dev/shm --to device --encode-on cuda --streaming-buffer 128MiB dem.tif
  bench --explain dem.tif"
)]
pub struct BenchArgs {
    /// Files
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Processor that decodes: `auto` (the one estimated to be faster), `cpu`, `cuda` or `cuda:N`
    #[arg(long, value_name = "PROCESSOR", default_value = "auto")]
    pub decode_on: Processor,
    /// Number of threads; one per core by default
    #[arg(short = 'j', long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// Memory limit, such as 2GiB; by default three quarters of what this process may use
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<u64>,
    /// Largest number of samples (width × height × bands) to read
    #[arg(long, value_name = "N")]
    pub max_pixels: Option<u64>,
    /// GPU memory limit, such as 8GiB; by default 90 % of free memory
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub device_memory: Option<u64>,
    /// Read local files directly to GPU memory with cuFile: `off`, `auto` or `on`
    #[arg(long, value_name = "WHEN", value_parser = parse_direct_io, default_value = "off")]
    pub direct_io: DirectIo,
    /// Decode with nvCOMP, which does not validate its input: `off`, `trusted` or `trusted-always`
    #[arg(long, value_name = "HOW", value_parser = parse_nvcomp, default_value = "off")]
    pub nvcomp: Nvcomp,
    /// Memory that pixels are read to or written from: of the host, or of the GPU that decodes or encodes (by default the first)
    #[arg(long, default_value = "host")]
    pub to: Destination,
    /// Number of reads or writes to measure
    #[arg(long, value_name = "N", default_value = "5")]
    pub repeat: NonZeroU32,
    /// Bus rate to the GPU in GB/s, for the floor; by default measured with a pinned copy
    #[arg(long, value_name = "RATE", value_parser = parse_rate, conflicts_with = "write")]
    pub link: Option<f64>,
    /// Read or write once more and save a timeline for Perfetto or chrome://tracing
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Also measure other programs that are installed: GDAL through Python's rasterio
    #[arg(long)]
    pub peers: bool,
    /// Read windows of 1, 4, 16, … blocks, and of 1, 10 and 100 % of the image
    #[arg(long, conflicts_with = "write")]
    pub growth: bool,
    /// Draw the growth of the time as an SVG
    #[arg(long, value_name = "FILE", requires = "growth")]
    pub svg: Option<PathBuf>,
    /// Use the block cache: `auto`, `encoded` or `decoded`; by default every read decodes every block
    #[arg(long, value_name = "WHAT", default_value = "off", conflicts_with = "write")]
    pub cache: Cache,
    /// Print JSON: {"results": […]}
    #[arg(long)]
    pub json: bool,
    /// Show the plan of each read; read no pixels
    #[arg(long, conflicts_with_all = ["write", "json"])]
    pub explain: bool,
    /// Write instead, to a file in this folder
    #[arg(long, value_name = "DIR")]
    pub write: Option<PathBuf>,
    /// Processor that encodes: `auto` (the CPU), `cpu`, `cuda` or `cuda:N`
    #[arg(long, value_name = "PROCESSOR", default_value = "auto", requires = "write")]
    pub encode_on: Processor,
    /// Format of the written file; GTiff by default
    #[arg(long, value_name = "FORMAT", ignore_case = true, requires = "write")]
    pub of: Option<FileFormat>,
    /// Set a creation option, such as COMPRESS=ZSTD; repeat for more
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_pair, requires = "write")]
    pub co: Vec<(String, String)>,
    /// Write the same bytes on every device
    #[arg(long, requires = "write")]
    pub reproducible: bool,
    /// Compress on the GPU with nvCOMP and this effort: 0 to 5 for Deflate, 0 for ZSTD
    #[arg(long, value_name = "EFFORT", requires = "write", conflicts_with = "reproducible")]
    pub nvcomp_effort: Option<u8>,
    /// Encode JPEG 2000 on the GPU with nvJPEG2000
    #[arg(long, requires = "write", conflicts_with_all = ["reproducible", "nvcomp_effort"])]
    pub nvjpeg2000: bool,
    /// Memory for blocks that are being encoded, such as 128MiB; on a GPU all memory of the write
    #[arg(long, value_name = "SIZE", value_parser = parse_size, requires = "write")]
    pub streaming_buffer: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Destination {
    Host,
    Device,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FileFormat {
    #[value(name = "GTiff")]
    GTiff,
    #[value(name = "COG")]
    Cog,
}

impl BenchArgs {
    /// Returns the context of a read or write.
    pub fn context(&self) -> Context {
        let mut context = Context::default();
        if let Some(bytes) = self.memory {
            context.budget = Arc::new(Budget::new(bytes));
        }
        context.threads = self.threads.unwrap_or(context.threads);
        context
    }

    /// Returns the request.
    pub fn read_options(&self) -> ReadOptions {
        let mut options = ReadOptions::new().decode_on(self.decode_on).cache(self.cache);
        options = options.direct_io(self.direct_io).nvcomp(self.nvcomp);
        options.execution.max_pixels = self.max_pixels;
        options.execution.device_memory = self.device_memory;
        options
    }

    /// Returns the memory that pixels are read to or written from.
    pub fn location(&self) -> Location {
        let index = |processor| match processor {
            Processor::Cuda(index) => Some(index),
            Processor::Auto | Processor::Cpu => None,
        };
        match self.to {
            Destination::Host => Location::Host,
            Destination::Device => {
                Location::Cuda(index(self.decode_on).or(index(self.encode_on)).unwrap_or(0))
            }
        }
    }
}

fn parse_size(text: &str) -> Result<u64, String> {
    strile::bytes::parse(text).ok_or_else(|| "expected a number of bytes, for example 2GiB or 500MB".into())
}

fn parse_rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate: &f64| rate.is_finite() && *rate > 0.0);
    rate.ok_or_else(|| "expected a number of GB/s above 0, for example 55".into())
}

fn parse_pair(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
    pair.ok_or_else(|| "expected KEY=VALUE, as in COMPRESS=ZSTD".into())
}

fn parse_direct_io(text: &str) -> Result<DirectIo, String> {
    match text {
        "off" => Ok(DirectIo::Off),
        "auto" => Ok(DirectIo::Auto),
        "on" => Ok(DirectIo::On),
        _ => Err("expected `auto`, `on` or `off`".to_owned()),
    }
}

fn parse_nvcomp(text: &str) -> Result<Nvcomp, String> {
    match text {
        "off" => Ok(Nvcomp::Off),
        "trusted" => Ok(Nvcomp::Trusted),
        "trusted-always" => Ok(Nvcomp::TrustedAlways),
        _ => Err("expected `trusted`, `trusted-always` or `off`".to_owned()),
    }
}

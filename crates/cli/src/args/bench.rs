//! What `strile bench` can be asked for.

use super::values::{parse_pair, parse_rate, parse_size};
use super::{DecodeArgs, Destination, EngineArgs, FileFormat, GpuArgs};
use clap::Args;
use std::num::NonZeroU32;
use std::path::PathBuf;
use strile::{Location, Processor, ReadOptions};

/// Measure how fast files are read or written, and where the time goes.
///
/// Gives the seconds of the best and of the median of several whole reads of the first image into memory, after
/// one that is not counted. Inside the timer: opening the file, planning, taking the memory, reading and decoding
/// all blocks. Outside: starting the program and the device, and giving the memory back. The file is opened anew
/// each time and comes from the system's page cache. Stages are those of the median read; they overlap, so their
/// sum is more than the whole. The floor of a read on a GPU is the time its bytes need on the bus, the busier way; the
/// best read is told in percent of it.
///
/// With `--write`, files are read once, into host memory or (`--to device`) the GPU's, and their pixels written
/// several times to a file in DIR, which is removed: as they are stored, where `--co` does not say otherwise. Inside the
/// timer: planning, encoding, writing and syncing the file. The last file is read back by the CPU and compared, bit
/// for bit; exit 1 where it differs.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strile bench dem.tif
  strile bench --threads 1 --repeat 10 a.tif b.tif
  strile bench --decode-on cpu --json dem.tif
  strile bench --decode-on cuda --to device --trace trace.json dem.tif
  strile bench --growth --svg growth.svg dem.tif
  strile bench --peers dem.tif
  strile bench --write /dev/shm --co COMPRESS=ZSTD dem.tif
  strile bench --write /dev/shm --to device --encode-on cuda --streaming-buffer 128MiB dem.tif
  strile bench --explain dem.tif")]
pub struct BenchArgs {
    /// Files
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub decode: DecodeArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub gpu: GpuArgs,
    /// Where pixels end, or begin: in host memory, or in that of the GPU that decodes or encodes (the first by default)
    #[arg(long, default_value = "host")]
    pub to: Destination,
    /// Reads or writes that are counted
    #[arg(long, value_name = "N", default_value = "5")]
    pub repeat: NonZeroU32,
    /// GB/s of the bus to a GPU, for the floor; measured by a pinned copy otherwise
    #[arg(long, value_name = "RATE", value_parser = parse_rate, conflicts_with = "write")]
    pub link: Option<f64>,
    /// Read or write once more and keep what happened when, for Perfetto or chrome://tracing
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// By other programs too, where they are installed: GDAL by Python's rasterio
    #[arg(long)]
    pub peers: bool,
    /// Read windows of 1, 4, 16, … blocks, and of 1, 10 and 100 % of the image
    #[arg(long, conflicts_with = "write")]
    pub growth: bool,
    /// Draw how the time grows
    #[arg(long, value_name = "FILE", requires = "growth")]
    pub svg: Option<PathBuf>,
    /// Print JSON: {"results": […]}
    #[arg(long)]
    pub json: bool,
    /// Tell what would be done and read no pixel
    #[arg(long, conflicts_with = "write")]
    pub explain: bool,
    /// Write instead, to a file in this folder
    #[arg(long, value_name = "DIR")]
    pub write: Option<PathBuf>,
    /// Who encodes: `auto` (the CPU), `cpu`, `cuda` or `cuda:N`
    #[arg(long, value_name = "WHO", default_value = "auto", requires = "write")]
    pub encode_on: Processor,
    /// Format of what is written: GTiff by default
    #[arg(long, value_name = "FORMAT", ignore_case = true, requires = "write")]
    pub of: Option<FileFormat>,
    /// A creation option, as COMPRESS=ZSTD; again for more
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_pair, requires = "write")]
    pub co: Vec<(String, String)>,
    /// Encode so that the bytes do not tell which device made them
    #[arg(long, requires = "write")]
    pub reproducible: bool,
    /// Compress on the GPU by nvCOMP with this effort of its own, 0 to 5 for Deflate, 0 for ZSTD
    #[arg(long, value_name = "EFFORT", requires = "write", conflicts_with = "reproducible")]
    pub nvcomp_effort: Option<u8>,
    /// Encode JPEG 2000 on the GPU by nvJPEG2000
    #[arg(long, requires = "write", conflicts_with_all = ["reproducible", "nvcomp_effort"])]
    pub nvjpeg2000: bool,
    /// What blocks that are encoded may take where they are, as 128MiB; on a GPU all memory of the write
    #[arg(long, value_name = "SIZE", value_parser = parse_size, requires = "write")]
    pub streaming_buffer: Option<u64>,
}

impl BenchArgs {
    /// The request.
    pub fn read_options(&self) -> ReadOptions {
        let mut options = ReadOptions::new().decode_on(self.decode.decode_on);
        options.max_pixels = self.engine.max_pixels;
        self.gpu.apply(options)
    }

    /// The memory that pixels are read to or written from.
    pub fn location(&self) -> Location {
        let index = |processor| match processor {
            Processor::Cuda(index) => Some(index),
            Processor::Auto | Processor::Cpu => None,
        };
        match self.to {
            Destination::Host => Location::Host,
            Destination::Device => {
                Location::Cuda(index(self.decode.decode_on).or(index(self.encode_on)).unwrap_or(0))
            }
        }
    }
}

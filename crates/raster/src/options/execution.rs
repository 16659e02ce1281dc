//! How a read is carried out.

use super::setters::{limits, setters};
use crate::cache::Cache;
use strile_tiff::InvalidValue;

/// The processor that does the work: `decode_on` of a read, `encode_on` of a write. A [`Location`] says where a result lives.
///
/// [`Location`]: crate::Location
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Processor {
    /// The plan chooses. A read into GPU memory is decoded by that GPU, other reads by the processor with the lower
    /// estimate. Writes are encoded by the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// This CUDA device and no other.
    Cuda(u32),
}

impl std::str::FromStr for Processor {
    type Err = InvalidValue;

    /// Reads `auto`, `cpu`, `cuda` (the first CUDA device) or `cuda:N`.
    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        match text {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::Cuda(0)),
            _ => {
                let index = text.strip_prefix("cuda:").and_then(|index| index.parse().ok());
                index
                    .map(Self::Cuda)
                    .ok_or_else(|| format!("expected auto, cpu, cuda or cuda:N, got `{text}`").into())
            }
        }
    }
}

/// How a read handles faulty blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnFault {
    /// Fails, and names the first faulty block.
    #[default]
    Fail,
    /// Fills faulty blocks with nodata, else 0, and lists them in the report.
    Fill,
}

/// Whether a GPU reads local files with cuFile (GPUDirect Storage).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DirectIo {
    /// Never. Files are read through pinned memory, which is as fast as the bus if they are in the page cache.
    #[default]
    Off,
    /// If the kernel module `nvidia-fs` is loaded and supports the file. Otherwise the plan gives the reason.
    Auto,
    /// Always, also in cuFile's compatibility mode. Fails if cuFile is unavailable.
    On,
}

/// Whether a GPU decodes Deflate and ZSTD with nvCOMP. nvCOMP does not validate its input: corrupt data may make it read and
/// write memory outside its buffers. Enable it only for files you trust.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Nvcomp {
    /// Never. strile's own kernels decode, which validate their input.
    #[default]
    Off,
    /// For codecs and block sizes that nvCOMP was measured to decode faster. Fails if its library is unavailable.
    Trusted,
    /// For all blocks that nvCOMP supports.
    TrustedAlways,
}

/// Says how a read is carried out: the processor, limits on size and memory, the cache, and faulty blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Execution {
    /// How to handle faulty blocks.
    pub on_fault: OnFault,
    /// Largest number of samples (width × height × bands) of the result. `None` refuses only implausible sizes: results over
    /// 1 GB that are more than 1024 times larger than their file, and blocks over 256 MiB that are, or that are mostly
    /// padding. A number replaces this rule: larger results fail, all others are allowed.
    pub max_pixels: Option<u64>,
    /// Largest decoded size of a compressed block in bytes. `None` applies the rule of `max_pixels`.
    pub max_block_bytes: Option<u64>,
    /// Most bytes to fetch from remote sources. `None` is unlimited.
    pub max_cloud_bytes: Option<u64>,
    /// Whether to use the block cache of the process; see [`cache`](crate::cache).
    pub cache: Cache,
    /// The processor that decodes. The function decides where the result lives: `read` returns host memory, `read_on_device`
    /// GPU memory.
    pub decode_on: Processor,
    /// GPU memory limit in bytes. Applies to the whole process from this call on. `None` keeps the current limit (initially
    /// 90 % of free memory).
    pub device_memory: Option<u64>,
    /// Whether to read local files with cuFile, straight into GPU memory.
    pub direct_io: DirectIo,
    /// Whether to decode with nvCOMP on the GPU. nvCOMP does not validate its input, so enable this only for files you
    /// trust.
    pub nvcomp: Nvcomp,
}

impl Execution {
    /// Returns the defaults: the plan chooses the processor, and faulty blocks fail the read.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets how to handle faulty blocks.
        on_fault: OnFault,
        /// Sets whether to use the block cache of the process.
        cache: Cache,
        /// Sets the processor that decodes.
        decode_on: Processor,
        /// Sets whether a GPU reads local files with cuFile.
        direct_io: DirectIo,
        /// Sets whether a GPU decodes with nvCOMP. Enable it only for files you trust.
        nvcomp: Nvcomp,
    }

    limits! {
        /// Limits the number of samples of the result.
        max_pixels: u64,
        /// Limits the decoded size of a compressed block in bytes.
        max_block_bytes: u64,
        /// Limits the bytes fetched from remote sources.
        max_cloud_bytes: u64,
        /// Limits GPU memory, in bytes, for the whole process.
        device_memory: u64,
    }
}

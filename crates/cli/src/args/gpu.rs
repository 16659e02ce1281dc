//! Limits and libraries of GPUs.

use super::values::{parse_direct_io, parse_nvcomp, parse_size};
use clap::Args;
use strile::ReadOptions;
use strile::device::{DirectIo, Nvcomp};

/// Limits and libraries of a GPU.
#[derive(Debug, Args)]
pub struct GpuArgs {
    /// GPU memory limit, such as 8GiB; by default 90 % of free memory
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub device_memory: Option<u64>,
    /// Read local files directly to GPU memory with cuFile: `off`, `auto` (if the kernel module nvidia-fs is loaded and accepts
    /// the file) or `on` (or fail)
    #[arg(long, value_name = "WHEN", value_parser = parse_direct_io, default_value = "off")]
    pub direct_io: DirectIo,
    /// Decode with nvCOMP, which does not validate its input: `off`, `trusted` (for files you trust, where it is faster) or
    /// `trusted-always`
    #[arg(long, value_name = "HOW", value_parser = parse_nvcomp, default_value = "off")]
    pub nvcomp: Nvcomp,
}

impl GpuArgs {
    /// Returns the options of a read with these settings.
    pub fn apply(&self, options: ReadOptions) -> ReadOptions {
        let mut options = options.direct_io(self.direct_io).nvcomp(self.nvcomp);
        options.execution.device_memory = self.device_memory;
        options
    }
}

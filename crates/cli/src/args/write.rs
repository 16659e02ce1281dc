//! Options for writing OUT, shared by `strile convert` and `strile warp`.

use super::FileFormat;
use super::values::{parse_pair, parse_size};
use clap::Args;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use strile::write::{Format, PROFILES};
use strile::{Context, ConvertOptions, Processor};

/// How to write OUT.
#[derive(Debug, Args)]
pub struct WriteArgs {
    /// Format: GTiff by default, COG with a profile
    #[arg(long, value_name = "FORMAT", ignore_case = true)]
    pub of: Option<FileFormat>,
    /// Set a creation option, such as COMPRESS=ZSTD; repeat for more
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_pair)]
    pub co: Vec<(String, String)>,
    /// Use a profile of rio-cogeo, which `--co` may change
    #[arg(short, long, value_name = "NAME", value_parser = PROFILES, ignore_case = true)]
    pub profile: Option<String>,
    /// Replace outputs that exist
    #[arg(long)]
    pub overwrite: bool,
    /// Folder for temporary encoded blocks; that of OUT by default
    #[arg(long, value_name = "DIR")]
    pub spool_dir: Option<PathBuf>,
    /// Memory for blocks that are being encoded, such as 128MiB; on a GPU all memory of the write
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub streaming_buffer: Option<u64>,
    /// Processor that encodes: `auto` (the CPU), `cpu`, `cuda` or `cuda:N`
    #[arg(long, value_name = "PROCESSOR", default_value = "auto")]
    pub encode_on: Processor,
}

impl WriteArgs {
    /// Returns the options of a conversion with these settings, and warnings. Creation options may set the threads of
    /// `context`, unless `threads` are given.
    pub fn options(
        &self,
        threads: Option<NonZeroUsize>,
        context: &mut Context,
    ) -> Result<(ConvertOptions, Vec<String>), String> {
        let mut options = ConvertOptions::default();
        match (self.of, &self.profile) {
            (Some(FileFormat::GTiff), Some(profile)) => {
                return Err(format!("profile `{profile}` is of cloud-optimized files, not of GTiff"));
            }
            (_, Some(profile)) => options.set_profile(profile).map_err(String::from)?,
            (Some(FileFormat::Cog), None) => options.write.format = Format::Cog,
            (Some(FileFormat::GTiff) | None, None) => {}
        }
        let notes = options.set_creation_options(&self.co).map_err(String::from)?;
        if let (Some(own), None) = (notes.threads, threads) {
            context.threads = own;
        }
        options.write.encode_on = self.encode_on;
        options.write.spool_dir.clone_from(&self.spool_dir);
        options.write.buffer = self.streaming_buffer;
        Ok((options, notes.warnings))
    }
}

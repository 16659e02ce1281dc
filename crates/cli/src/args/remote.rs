//! Options for files behind URLs, shared by all commands.

use super::values::{parse_header, parse_seconds, parse_size};
use crate::failure::Failure;
use clap::Args;
use std::path::{Path, PathBuf};
use std::time::Duration;
use strile::file::SidecarSearch;
use strile::io::{RemoteOptions, is_remote};
use strile::{Cancel, OpenOptions};

/// Options of URLs: http(s), s3, gs, az, abfs(s).
#[derive(Debug, Args)]
#[command(next_help_heading = "Remote files")]
pub struct RemoteArgs {
    /// Send no credentials: for public buckets
    #[arg(long)]
    pub anonymous: bool,
    /// Region of an S3 bucket
    #[arg(long, value_name = "NAME")]
    pub region: Option<String>,
    /// URL of the service that holds a bucket, instead of the cloud's own
    #[arg(long, value_name = "URL")]
    pub endpoint: Option<String>,
    /// Allow an endpoint without TLS
    #[arg(long)]
    pub allow_http: bool,
    /// Pay for the requests to an S3 bucket whose owner requires it
    #[arg(long)]
    pub request_payer: bool,
    /// Send a header with every request; repeat for more
    #[arg(long, value_name = "NAME: VALUE", value_parser = parse_header)]
    pub header: Vec<(String, String)>,
    /// Refuse hosts on this machine and in private networks
    #[arg(long)]
    pub deny_private_hosts: bool,
    /// Look for `.ovr`, `.msk`, `.aux.xml` and world files beside a URL: `auto` (if the file may need them), `always` or
    /// `never`; `info`, `convert`, `compare` and `cog validate` always look by default
    #[arg(long, value_name = "WHEN")]
    pub sidecars: Option<SidecarSearch>,
    /// Give up a connection that takes longer to establish
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub connect_timeout: Option<Duration>,
    /// Retry a request that receives no data for this long
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub stall_timeout: Option<Duration>,
    /// Give up a read that takes longer, including its retries
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub total_timeout: Option<Duration>,
    /// Retries of a request that fails
    #[arg(long, value_name = "N")]
    pub retries: Option<u32>,
    /// Fetch ranges this close together as one; by default as measured
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub merge_gap: Option<u64>,
    /// Do not repeat a request that takes far longer than others
    #[arg(long)]
    pub no_hedge: bool,
    /// Keep blocks of remote files in a folder for later runs; only you may have access to it (permissions 0700)
    #[arg(long, value_name = "DIR")]
    pub cache_folder: Option<PathBuf>,
    /// Bytes that the folder may hold; the oldest blocks go first
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "10GiB", requires = "cache_folder")]
    pub cache_folder_limit: u64,
    /// Print requests, bytes, retries, hedges, connections and seconds to standard error at the end
    #[arg(long)]
    pub remote_stats: bool,
}

impl RemoteArgs {
    /// Returns the options for opening files. Fails if options of URLs are given and none of `files` is a URL.
    pub fn open_options<'a>(
        &self,
        files: impl IntoIterator<Item = &'a Path>,
        cancel: &Cancel,
    ) -> Result<OpenOptions, Failure> {
        let remote = self.options();
        // A VRT may have remote sources.
        let is_vrt = |file: &Path| file.extension().is_some_and(|end| end.eq_ignore_ascii_case("vrt"));
        let may_use = |file: &Path| file.to_str().is_some_and(is_remote) || is_vrt(file);
        let is_given = self.remote_stats
            || remote != RemoteOptions::new()
            || self.sidecars.is_some()
            || self.cache_folder.is_some();
        if is_given && !files.into_iter().any(may_use) {
            let sentence = "options of remote files are given, and no file is a URL".to_owned();
            return Err(Failure::Request(sentence, Some("URLs begin with https://, s3://, gs:// or az://")));
        }
        if let Some(folder) = &self.cache_folder {
            strile::cache::set_folder(Some(folder), self.cache_folder_limit)?;
        }
        let sidecars = self.sidecars.unwrap_or_default();
        Ok(OpenOptions::new().cancel(cancel.clone()).sidecars(sidecars).remote(remote))
    }

    /// Like [`open_options`](Self::open_options), for commands that show or copy everything in a file.
    pub fn open_all<'a>(
        &self,
        files: impl IntoIterator<Item = &'a Path>,
        cancel: &Cancel,
    ) -> Result<OpenOptions, Failure> {
        let open = self.open_options(files, cancel)?;
        Ok(open.sidecars(self.sidecars.unwrap_or(SidecarSearch::Always)))
    }

    fn options(&self) -> RemoteOptions {
        let mut options = RemoteOptions::new()
            .anonymous(self.anonymous)
            .allow_http(self.allow_http)
            .request_payer(self.request_payer)
            .deny_private_hosts(self.deny_private_hosts)
            .merge_gap(self.merge_gap)
            .hedge(!self.no_hedge);
        options.region.clone_from(&self.region);
        options.endpoint.clone_from(&self.endpoint);
        options.headers.clone_from(&self.header);
        options.connect_timeout = self.connect_timeout.unwrap_or(options.connect_timeout);
        options.stall_timeout = self.stall_timeout.unwrap_or(options.stall_timeout);
        options.total_timeout = self.total_timeout.unwrap_or(options.total_timeout);
        options.retries = self.retries.unwrap_or(options.retries);
        options
    }
}

//! `strile view` and `strile serve`.

use super::values::{parse_count, parse_size};
use super::{DecodeArgs, MosaicArgs, RemoteArgs};
use clap::Args;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Show files in a browser: COGs and any other GeoTIFF, VRTs, folders, URLs.
///
/// Starts a server on this machine, prints its address and opens a browser if there is one. The address has a secret
/// part, and the server refuses requests without it. Files are read directly; nothing is written or converted. On a
/// remote machine, forward the port with `ssh -L`. Ends with Ctrl-C.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strile view dem.tif
  strile view scenes/
  strile view before.tif after.tif
  strile view --port 8000 --no-open https://example.org/dem.tif")]
pub struct ViewArgs {
    /// Files, folders and buckets (`s3://bucket/folder`), which are searched for GeoTIFFs and VRTs, or URLs
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Do not open a browser
    #[arg(long)]
    pub no_open: bool,
    /// End when the page is closed
    #[arg(long)]
    pub exit_with_page: bool,
    /// Show these pictures below files in Web Mercator, such as https://example.org/{z}/{x}/{y}.png. The browser asks for them;
    /// without this option the page loads nothing from elsewhere
    #[arg(long, value_name = "URL")]
    pub basemap: Option<String>,
    /// Port to listen on; 0 for a free one
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub port: u16,
    #[command(flatten)]
    pub server: ServerArgs,
    #[command(flatten)]
    pub decode: DecodeArgs,
    #[command(flatten)]
    pub mosaic: MosaicArgs,
    #[command(flatten)]
    pub remote: RemoteArgs,
}

/// Serve map tiles of files: XYZ tiles, TileJSON, WMTS, values and statistics.
///
/// `/tiles/{z}/{x}/{y}.png?url=NAME` and the other addresses have titiler's parameters: bidx, rescale, colormap_name, nodata,
/// resampling, expression. NAME is a file below one of the folders, one of the files, or a file below a URL that ends in `/`;
/// nothing else is read. `/` lists the addresses. Ends with Ctrl-C.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strile serve scenes/
  strile serve dem.tif --port 8080
  strile serve scenes/ https://example.org/cogs/ --cors '*'
  strile serve s3://bucket/scenes --region eu-central-1")]
pub struct ServeArgs {
    /// Folders, files, buckets (`s3://bucket/folder`) or URLs; a URL that ends in `/` allows all files below it
    #[arg(required = true, value_name = "FOLDER")]
    pub files: Vec<PathBuf>,
    /// Port to listen on; 0 for a free one
    #[arg(long, value_name = "N", default_value_t = 8000)]
    pub port: u16,
    /// Let pages of this origin read the answers, such as https://example.org; `*` for all
    #[arg(long, value_name = "ORIGIN")]
    pub cors: Option<String>,
    /// Seconds that clients may keep a tile
    #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
    pub max_age: u32,
    #[command(flatten)]
    pub server: ServerArgs,
    #[command(flatten)]
    pub decode: DecodeArgs,
    #[command(flatten)]
    pub mosaic: MosaicArgs,
    #[command(flatten)]
    pub remote: RemoteArgs,
}

/// Address and limits of a server.
#[derive(Debug, Args)]
pub struct ServerArgs {
    /// Address to listen on. Others than 127.0.0.1 let other machines read the files
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub host: String,
    /// Also answer requests for this host name, as behind a proxy; `*` for all; repeat for more. Addresses and `localhost` are
    /// always answered
    #[arg(long, value_name = "NAME")]
    pub host_name: Vec<String>,
    /// Most connections at once
    #[arg(long, value_name = "N", default_value_t = 512)]
    pub connections: usize,
    /// Most requests worked on at once, the others wait; by default two per thread
    #[arg(long, value_name = "N", value_parser = parse_count::<NonZeroUsize>)]
    pub requests: Option<NonZeroUsize>,
    /// Number of threads; one per core by default
    #[arg(short = 'j', long, value_name = "N", value_parser = parse_count::<NonZeroUsize>)]
    pub threads: Option<NonZeroUsize>,
    /// Memory limit of all requests together, such as 2GiB; by default three quarters of what this process may use
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<u64>,
}

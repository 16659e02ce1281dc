//! Serves rasters over HTTP: a page to view files, and tiles for maps.
//!
//! ```no_run
//! use strile::Cancel;
//! use strile_serve::{Server, ServerOptions};
//!
//! let server = Server::view(&["dem.tif".into()], ServerOptions::default())?;
//! println!("{}", server.url());
//! server.run(&Cancel::default())?;
//! # Ok::<(), strile_serve::ServeError>(())
//! ```
//!
//! ```text
//! net      connections: their number and timeouts; `host` the names a server answers to
//! request  the parts of an address, decoded and checked        answer  bodies, headers, refusals
//! work     blocking threads: a bounded number, within the memory budget, stopped when the client is gone
//! sources  files that may be read, and open files
//! opened   a file and its levels; `reading` pixels of a level; `reduced` levels that the file lacks, `draft` a first picture of them
//! mercator files on web maps
//! view     the page and its interface: typed tiles, values, statistics, structure
//! tiles    map tiles, TileJSON, WMTS, with titiler's parameters
//! ```

mod answer;
mod counts;
mod draft;
mod figures;
mod host;
mod mercator;
mod net;
mod opened;
mod reading;
mod reduced;
mod request;
mod sources;
mod tiles;
mod view;
mod work;

pub use view::Describe;

use counts::Counts;
use host::Hosts;
use sources::{Allowed, Pool};
use std::net::{SocketAddr, TcpListener, ToSocketAddrs as _};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use strile::device::devices;
use strile::engine::Budget;
use strile::vrt::VrtOptions;
use strile::{Cancel, Processor};
use thiserror::Error;
use tiles::Tiles;
use view::{Basemap, View};
use work::Work;

/// Encodes 8-bit pixels (row, column, channel) as a PNG; `None` if their number does not match the size. The second and
/// the fourth channel are alpha.
pub fn png(pixels: &[u8], (width, height): (u32, u32), channels: usize) -> Option<Vec<u8>> {
    tiles::encode::png(pixels, (width, height), channels).ok()
}

/// Reason why a server could not start, or ended.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct ServeError(String);

/// Address and resource limits of a server.
#[derive(Clone)]
#[non_exhaustive]
pub struct ServerOptions {
    /// The address to listen on.
    pub host: String,
    /// The port; 0 for a free one.
    pub port: u16,
    /// Additional names in the Host header that are accepted; `*` means all. Addresses and `localhost` are always
    /// accepted. A viewer accepts no other name, nor does a tile server that listens only on this machine.
    pub allowed_hosts: Vec<String>,
    /// Maximum number of simultaneous connections.
    pub connections: usize,
    /// Maximum number of requests in progress at once; others wait. `None`: two per thread.
    pub requests: Option<NonZeroUsize>,
    /// Number of threads; `None`: one per core.
    pub threads: Option<NonZeroUsize>,
    /// Memory budget of all requests.
    pub budget: Arc<Budget>,
    /// Options for opening files and mosaics.
    pub open: VrtOptions,
    /// Processor for decoding. Tiles are drawn and encoded by the CPU.
    pub decode_on: Processor,
    /// Returns the output of `strile info` for a file; for the viewer.
    pub describe: Option<Describe>,
    /// Whether to end when the page is closed; for the viewer.
    pub exit_with_page: bool,
    /// URL of background tiles on a web map, `https://example.org/{z}/{x}/{y}.png`; for the viewer. The browser
    /// requests them; without this option nothing is requested.
    pub basemap: Option<String>,
    /// Origin whose pages may read answers: `https://example.org`, or `*`; for the tile server.
    pub cors: Option<String>,
    /// Seconds that clients may cache a tile; for the tile server.
    pub max_age: u32,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            host: "127.0.0.1".into(),
            port: 0,
            allowed_hosts: Vec::new(),
            connections: 512,
            requests: None,
            threads: None,
            budget: Arc::new(Budget::of_process()),
            open: VrtOptions::default(),
            decode_on: Processor::Auto,
            describe: None,
            exit_with_page: false,
            basemap: None,
            cors: None,
            max_age: 3600,
        }
    }
}

enum Kind {
    View(Box<dyn FnOnce(Arc<Work>) -> View + Send>),
    Tiles(Box<dyn FnOnce(Arc<Work>, bool) -> Tiles + Send>),
}

/// A server that listens but does not answer yet.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    options: ServerOptions,
    path: String,
    closed: Arc<AtomicBool>,
    kind: Kind,
}

impl Server {
    /// Prepares the viewer of files, folders, buckets and URLs. Files are opened when the page requests them.
    ///
    /// # Errors
    /// If a path does not exist, a folder has no raster, a bucket cannot be listed, there is no such device, the
    /// basemap is not a tile URL, or listening on the address fails.
    pub fn view(given: &[PathBuf], options: ServerOptions) -> Result<Self, ServeError> {
        check_device(options.decode_on)?;
        let basemap = options.basemap.as_deref().map(Basemap::new).transpose().map_err(ServeError)?;
        let allowed = Allowed::new(given).map_err(ServeError)?;
        let (files, problems) = allowed.list(&options.open.open.remote, &options.open.open.cancel);
        if !problems.is_empty() {
            return Err(ServeError(problems.join("; ")));
        }
        if files.is_empty() {
            let shown = |path: &PathBuf| strile::io::redacted(&path.display().to_string());
            let names: Vec<String> = given.iter().map(shown).collect();
            return Err(ServeError(format!("found no GeoTIFF or VRT in {}", names.join(", "))));
        }
        let token = token()?;
        let path = format!("/{token}/");
        let hosts = Hosts::new(options.allowed_hosts.iter().cloned().chain([options.host.clone()]));
        let closed = Arc::new(AtomicBool::new(false));
        let (describe, open, flag) = (options.describe.clone(), options.open.clone(), Arc::clone(&closed));
        let decode_on = options.decode_on;
        let make = move |work| {
            let counts = Counts::default();
            let pool = Pool::new(open, decode_on, Arc::clone(&counts.bytes_read));
            View { token, hosts, files, pool, work, counts, describe, basemap, closed: flag }
        };
        Self::listen(options, path, closed, Kind::View(Box::new(make)))
    }

    /// Prepares the tile server of files, folders, buckets and URLs; a URL that ends in `/` allows all files below it.
    ///
    /// # Errors
    /// If a path does not exist, there is no such device, or listening on the address fails.
    pub fn tiles(given: &[PathBuf], options: ServerOptions) -> Result<Self, ServeError> {
        check_device(options.decode_on)?;
        let allowed = Allowed::new(given).map_err(ServeError)?;
        let open = (options.open.clone(), options.decode_on);
        let (cors, max_age) = (options.cors.clone(), options.max_age);
        let hosts = Hosts::new(options.allowed_hosts.iter().cloned().chain([options.host.clone()]));
        let make = move |work, is_local| {
            let hosts = if is_local { hosts } else { Hosts::new(["*".to_owned()]) };
            Tiles::new(allowed, open, work, hosts, (cors, max_age))
        };
        Self::listen(options, "/".into(), Arc::default(), Kind::Tiles(Box::new(make)))
    }

    fn listen(
        options: ServerOptions,
        path: String,
        closed: Arc<AtomicBool>,
        kind: Kind,
    ) -> Result<Self, ServeError> {
        let place = format!("{}:{}", options.host, options.port);
        let failed = |error: std::io::Error| ServeError(format!("cannot listen on {place}: {error}"));
        let places: Vec<SocketAddr> =
            (options.host.as_str(), options.port).to_socket_addrs().map_err(failed)?.collect();
        let listener = TcpListener::bind(places.as_slice()).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address, options, path, closed, kind })
    }

    /// Returns the address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the address of the page or the service, for a browser on this machine.
    pub fn url(&self) -> String {
        let host = match self.address {
            SocketAddr::V4(address) if address.ip().is_unspecified() => "127.0.0.1".to_owned(),
            SocketAddr::V6(address) if address.ip().is_unspecified() => "[::1]".to_owned(),
            SocketAddr::V4(address) => address.ip().to_string(),
            SocketAddr::V6(address) => format!("[{}]", address.ip()),
        };
        format!("http://{host}:{}{}", self.address.port(), self.path)
    }

    /// Answers requests until `cancel` is set, or until the page is closed if `exit_with_page` is set. Ends within 0.2
    /// seconds.
    ///
    /// # Errors
    /// If threads cannot be started.
    pub fn run(self, cancel: &Cancel) -> Result<(), ServeError> {
        let failed = |error: std::io::Error| ServeError(format!("cannot start the server: {error}"));
        let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let threads = self.options.threads.unwrap_or(cores);
        let requests = self.options.requests.map_or(threads.get() * 2, NonZeroUsize::get);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads.get().min(4))
            .max_blocking_threads(requests + 3)
            .thread_name("strile-serve")
            .enable_io()
            .enable_time()
            .build()
            .map_err(failed)?;
        let stop = cancel.part();
        let budget = Arc::clone(&self.options.budget);
        let work = Arc::new(Work::new(requests, budget, stop.clone(), threads));
        let (listener, kind, most) = (self.listener, self.kind, self.options.connections.max(1));
        let is_local = self.address.ip().is_loopback();
        let ended = self.options.exit_with_page.then_some(self.closed);
        let served = runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            if let Some(closed) = ended {
                let stop = stop.clone();
                tokio::spawn(async move {
                    while !closed.load(Ordering::Relaxed) {
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                    stop.cancel();
                });
            }
            match kind {
                Kind::View(make) => net::serve(listener, Arc::new(make(work)), most, &stop).await,
                Kind::Tiles(make) => net::serve(listener, Arc::new(make(work, is_local)), most, &stop).await,
            }
            Ok(())
        });
        // Reads in progress stop at their next block.
        stop.cancel();
        runtime.shutdown_timeout(Duration::from_millis(150));
        served.map_err(failed)
    }
}

/// Refuses an unusable GPU before a tile is requested.
fn check_device(decode_on: Processor) -> Result<(), ServeError> {
    let Processor::Cuda(index) = decode_on else { return Ok(()) };
    let (name, all) = (format!("cuda:{index}"), devices());
    let own = all.iter().find(|device| device.name == name || device.name == "cuda");
    match own {
        Some(device) if device.usable => Ok(()),
        Some(device) => Err(ServeError(format!("cannot decode on {name}: {}", device.description))),
        None => {
            let there: Vec<&str> = all.iter().map(|device| device.name.as_str()).collect();
            Err(ServeError(format!("cannot decode on {name}: this machine has {}", there.join(", "))))
        }
    }
}

/// Returns a secret part of an address: 128 random bits from the system.
fn token() -> Result<String, ServeError> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| ServeError(format!("the system gives no random bytes: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

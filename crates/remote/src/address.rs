//! URLs split into the host or bucket and the path. For rules about which objects may be read.

use crate::place::{Service, service_of};
use std::io;
use url::Url;

/// The target of a URL, normalised like in requests: dot segments are resolved, host names are in lower case.
///
/// ```
/// use strile_remote::Address;
///
/// let mosaic = Address::parse("https://example.org/tiles/all.vrt?sig=1")?;
/// let tile = mosaic.folder().join("a/1.tif")?;
/// assert_eq!(tile.url(), "https://example.org/tiles/a/1.tif");
/// assert!(tile.is_in(&mosaic.folder()) && tile.is_on("example.org"));
/// assert!(!mosaic.folder().join("../1.tif")?.is_in(&mosaic.folder()));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    /// `https://example.org:8080`, `s3://bucket`; for Azure with the container.
    site: String,
    /// `example.org`, `bucket`.
    host: String,
    port: Option<u16>,
    is_bucket: bool,
    /// Path from the first slash on.
    path: String,
    /// URL with user and query; not for messages.
    url: String,
}

impl Address {
    /// Parses a URL that [`is_remote`](crate::is_remote).
    pub fn parse(text: &str) -> io::Result<Self> {
        let wrong = |problem: &str| io::Error::new(io::ErrorKind::InvalidInput, problem.to_owned());
        let url = Url::parse(text).map_err(|error| wrong(&format!("the URL is malformed: {error}")))?;
        let service = service_of(url.scheme());
        let service = service.ok_or_else(|| wrong("expected http, https, s3, gs, az or abfs"))?;
        let host = url.host_str().filter(|host| !host.is_empty());
        let host = host.ok_or_else(|| wrong("the URL has no host or bucket"))?.to_owned();
        if service == Service::Http {
            let port = url.port_or_known_default();
            let site = format!("{}://{host}:{}", url.scheme(), port.unwrap_or_default());
            let path = url.path().to_owned();
            return Ok(Self { site, host, port, is_bucket: false, path, url: url.into() });
        }
        // Keys are taken literally.
        let (_, rest) = text.split_once("://").unwrap_or_default();
        let (authority, key) = rest.split_once('/').unwrap_or((rest, ""));
        let mut parts: Vec<&str> = Vec::new();
        for part in key.split('/') {
            match part {
                "." => {}
                ".." => {
                    parts.pop().ok_or_else(|| wrong("`..` leads out of the bucket"))?;
                }
                part => parts.push(part),
            }
        }
        let container = url.username();
        let site = match service {
            Service::Azure if !container.is_empty() => format!("az://{container}@{host}"),
            Service::Azure => format!("az://{host}"),
            Service::Gcs => format!("gs://{host}"),
            _ => format!("s3://{host}"),
        };
        let path = format!("/{}", parts.join("/"));
        let url = format!("{}://{authority}{path}", url.scheme());
        Ok(Self { site, host, port: None, is_bucket: true, path, url })
    }

    /// Returns the URL, with its credentials.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the folder of the object, without the query of the object's own URL.
    #[must_use]
    pub fn folder(&self) -> Self {
        let end = self.path.rfind('/').map_or(0, |at| at + 1);
        let path = self.path.get(..end).unwrap_or("/").to_owned();
        let start = self.url.find("://").map_or(0, |at| at + 3);
        let rest = self.url.get(start..).unwrap_or_default();
        let authority = rest.find(['/', '?', '#']).map_or(self.url.len(), |at| start + at);
        let url = format!("{}{path}", self.url.get(..authority).unwrap_or_default());
        Self { path, url, ..self.clone() }
    }

    /// Returns the object with a name relative to this folder.
    pub fn join(&self, name: &str) -> io::Result<Self> {
        Self::parse(&format!("{}{name}", self.url))
    }

    /// Returns the address of a file beside this one, with a suffix appended to its name. Keeps the query.
    pub fn beside(&self, suffix: &str) -> io::Result<Self> {
        self.with_path(&format!("{}{suffix}", self.path))
    }

    /// Returns the address of a file beside this one, with another extension.
    pub fn with_extension(&self, extension: &str) -> io::Result<Self> {
        let name = self.path.rfind('/').map_or(0, |at| at + 1);
        let dot = self.path.get(name..).and_then(|name| name.rfind('.')).map(|at| name + at);
        let stem = self.path.get(..dot.unwrap_or(self.path.len())).unwrap_or_default();
        self.with_path(&format!("{stem}.{extension}"))
    }

    /// Returns the extension of the object's name; empty without one.
    pub fn extension(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        name.rsplit_once('.').map_or("", |(_, extension)| extension)
    }

    fn with_path(&self, path: &str) -> io::Result<Self> {
        let folder = self.folder();
        let head = folder.url.strip_suffix(folder.path.as_str()).unwrap_or(&folder.url);
        let query = match self.is_bucket {
            true => "",
            false => self.url.find('?').and_then(|at| self.url.get(at..)).unwrap_or_default(),
        };
        Self::parse(&format!("{head}{path}{query}"))
    }

    /// Returns whether both are in one service: the same scheme, host and port, or the same bucket.
    pub fn is_beside(&self, other: &Self) -> bool {
        self.site == other.site
    }

    /// Returns whether the object is in a folder of the same service, or below it.
    pub fn is_in(&self, folder: &Self) -> bool {
        self.is_beside(folder) && self.path.starts_with(&folder.path)
    }

    /// Returns whether a name refers to the host or bucket: `example.org`, `example.org:8080`, `https://example.org`,
    /// `s3://bucket`. A name without a scheme is an http(s) host, without a port it matches any port.
    pub fn is_on(&self, name: &str) -> bool {
        if name.contains("://") {
            return Self::parse(name).is_ok_and(|named| named.site == self.site);
        }
        let with_port = self.port.map(|port| format!("{}:{port}", self.host));
        let is = |text: &str| name.eq_ignore_ascii_case(text);
        !self.is_bucket && (is(&self.host) || with_port.as_deref().is_some_and(is))
    }
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Address").field("site", &self.site).field("path", &self.path).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Address {
        Address::parse(text).unwrap()
    }

    #[test]
    fn names_are_relative_to_the_folder() {
        for (url, name, found, inside) in [
            ("https://h/a/b.vrt?sig=1#x", "c.tif", "https://h/a/c.tif", true),
            ("https://h/a/b.vrt", "d/./c.tif", "https://h/a/d/c.tif", true),
            ("https://h/a/b.vrt", "../c.tif", "https://h/c.tif", false),
            ("https://h/a/b.vrt", "x/%2e%2e/../c.tif", "https://h/c.tif", false),
            ("https://h/a/b.vrt", "..\\c.tif", "https://h/c.tif", false),
            ("https://h/b.vrt", "../../c.tif", "https://h/c.tif", true),
            ("s3://bucket/a/b.vrt", "c d?.tif", "s3://bucket/a/c d?.tif", true),
            ("s3://bucket/a/b.vrt", "../c.tif", "s3://bucket/c.tif", false),
            (
                "abfss://box@me.dfs.core.windows.net/a/b.vrt",
                "c.tif",
                "abfss://box@me.dfs.core.windows.net/a/c.tif",
                true,
            ),
        ] {
            let folder = address(url).folder();
            let joined = folder.join(name).unwrap();
            assert_eq!((joined.url(), joined.is_in(&folder)), (found, inside), "{url} {name}");
        }
        assert!(address("s3://bucket/a.vrt").folder().join("../../b.tif").is_err());
    }

    #[test]
    fn files_beside_a_file() {
        let beside = |url: &str| {
            let of = address(url);
            let found =
                [of.beside(".ovr"), of.with_extension("tfw")].map(|found| found.unwrap().url().to_owned());
            (found, of.extension().to_owned())
        };
        let of = |ovr: &str, tfw: &str, end: &str| ([ovr.to_owned(), tfw.to_owned()], end.to_owned());
        assert_eq!(
            beside("https://h/a.b/c.tif?s=1"),
            of("https://h/a.b/c.tif.ovr?s=1", "https://h/a.b/c.tfw?s=1", "tif")
        );
        assert_eq!(beside("https://h/a.b/c"), of("https://h/a.b/c.ovr", "https://h/a.b/c.tfw", ""));
        assert_eq!(beside("s3://b/c?.TIF"), of("s3://b/c?.TIF.ovr", "s3://b/c?.tfw", "TIF"));
        assert_eq!(
            beside("http://u:p@h:81/c.tif"),
            of("http://u:p@h:81/c.tif.ovr", "http://u:p@h:81/c.tfw", "tif")
        );
    }

    #[test]
    fn hosts_and_buckets_by_name() {
        let https = address("https://u:p@Data.Example.org/a.tif");
        for name in
            ["data.example.org", "DATA.example.ORG", "data.example.org:443", "https://data.example.org"]
        {
            assert!(https.is_on(name), "{name}");
        }
        for name in [
            "example.org",
            "data.example.org:80",
            "http://data.example.org",
            "u",
            "",
            "s3://data.example.org",
        ] {
            assert!(!https.is_on(name), "{name}");
        }
        let bucket = address("s3a://bucket/a.tif");
        assert!(bucket.is_on("s3://bucket") && !bucket.is_on("bucket") && !bucket.is_on("gs://bucket"));
        // Another host in the user part.
        assert!(!address("https://example.org@evil.example/a.tif").is_on("example.org"));
    }
}

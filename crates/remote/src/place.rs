//! Locations of objects, parsed from URLs.

use crate::options::RemoteOptions;
use object_store::path::Path;
use std::io;
use std::sync::{Mutex, PoisonError};
use strile_engine::PerProcess;
use url::Url;

/// Service of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Service {
    Http,
    S3,
    Gcs,
    Azure,
}

/// Location of one object.
pub(crate) struct Place {
    pub(crate) service: Service,
    /// URL with its secrets; not for messages.
    pub(crate) url: Url,
    /// Key in a bucket.
    pub(crate) key: Path,
    /// Target of an earlier redirect: later requests go there directly.
    moved: PerProcess<Mutex<Option<Url>>>,
}

pub(crate) fn service_of(scheme: &str) -> Option<Service> {
    match scheme.to_ascii_lowercase().as_str() {
        "http" | "https" => Some(Service::Http),
        "s3" | "s3a" => Some(Service::S3),
        "gs" | "gcs" => Some(Service::Gcs),
        "az" | "azure" | "abfs" | "abfss" => Some(Service::Azure),
        _ => None,
    }
}

/// Returns whether a text is a URL that [`Object::open`](crate::Object::open) opens: `http(s)`, `s3`, `gs`, `az`, `abfs(s)`.
pub fn is_remote(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| service_of(scheme).is_some())
}

/// Returns the URL of an object without credentials, as [`Object::name`](crate::Object::name) does.
pub fn name_of(url: &str) -> io::Result<String> {
    Ok(Place::parse(url, &RemoteOptions::new())?.name())
}

impl Place {
    pub(crate) fn parse(text: &str, options: &RemoteOptions) -> io::Result<Self> {
        let wrong = |problem: String| io::Error::new(io::ErrorKind::InvalidInput, problem);
        // The text itself may contain credentials.
        let url = Url::parse(text).map_err(|error| {
            wrong(match error {
                url::ParseError::RelativeUrlWithoutBase => {
                    "expected a URL, as in `s3://bucket/folder`, got a local path".into()
                }
                error => format!("the URL is malformed: {error}"),
            })
        })?;
        let service = service_of(url.scheme()).ok_or_else(|| {
            wrong(format!("expected http, https, s3, gs, az or abfs, got a URL of scheme {}", url.scheme()))
        })?;
        if url.host_str().is_none_or(str::is_empty) {
            return Err(wrong("the URL has no host or bucket".into()));
        }
        let key = match service {
            Service::Http => Path::ROOT,
            // Keys are taken literally: `%20` is not a space.
            _ => {
                let (_, rest) = text.split_once("://").unwrap_or_default();
                let (_, key) = rest.split_once('/').unwrap_or_default();
                let key =
                    Path::parse(key).map_err(|_| wrong("the key has empty or relative parts".into()))?;
                if key.as_ref().is_empty() {
                    return Err(wrong("the URL names a bucket, expected an object in it".into()));
                }
                key
            }
        };
        if let Some(option) = service.unused(options) {
            return Err(wrong(format!("`{option}` does not apply to {} URLs", url.scheme())));
        }
        Ok(Self { service, url, key, moved: PerProcess::new() })
    }

    /// Parses a bucket and a prefix of its keys. The place has no key of its own.
    pub(crate) fn parse_prefix(text: &str, options: &RemoteOptions) -> io::Result<(Self, String)> {
        let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let place = Self::parse(&format!("{scheme}://{bucket}/x"), options)?;
        Ok((Self { key: Path::ROOT, ..place }, prefix.to_owned()))
    }

    /// Returns the URL without credentials.
    pub(crate) fn name(&self) -> String {
        let mut shown = self.url.clone();
        let container = shown.username().to_owned();
        let _without_host = shown.set_username("");
        let _without_host = shown.set_password(None);
        if self.service != Service::Http {
            // The account of Azure: `abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/KEY`.
            let at = if self.service == Service::Azure && !container.is_empty() { "@" } else { "" };
            let container = if at.is_empty() { "" } else { container.as_str() };
            let host = shown.host_str().unwrap_or_default();
            return format!("{}://{container}{at}{host}/{}", shown.scheme(), self.key);
        }
        shown.set_query(None);
        shown.set_fragment(None);
        shown.to_string()
    }

    /// Returns the name under which requests are counted: the server, or the bucket.
    pub(crate) fn host(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        match self.service {
            Service::Http => format!("{host}:{}", self.url.port_or_known_default().unwrap_or_default()),
            _ => format!("{}://{host}", self.url.scheme()),
        }
    }

    /// Returns the URL for requests, and whether it comes from a redirect.
    pub(crate) fn target(&self) -> (Url, bool) {
        match &*self.moved.get(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner) {
            Some(moved) => (moved.clone(), true),
            None => (self.url.clone(), false),
        }
    }

    pub(crate) fn set_moved(&self, to: Option<Url>) {
        *self.moved.get(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner) = to;
    }
}

impl Service {
    /// Returns the options without those that this service does not use.
    pub(crate) fn fitting(self, options: &RemoteOptions) -> RemoteOptions {
        let mut fitting = options.clone();
        if self != Self::S3 {
            (fitting.request_payer, fitting.region) = (false, None);
        }
        if self == Self::Http {
            fitting.endpoint = None;
            fitting.settings.clear();
        }
        fitting
    }

    /// Returns an option that this service does not use.
    fn unused(self, options: &RemoteOptions) -> Option<&'static str> {
        let unused = [
            ("request_payer", options.request_payer && self != Self::S3),
            ("region", options.region.is_some() && self != Self::S3),
            ("endpoint", options.endpoint.is_some() && self == Self::Http),
            ("settings", !options.settings.is_empty() && self == Self::Http),
        ];
        unused.iter().find(|(_, given)| *given).map(|(name, _)| *name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str) -> Place {
        Place::parse(text, &RemoteOptions::new()).unwrap()
    }

    #[test]
    fn names_have_no_credentials() {
        for (url, name) in [
            ("https://u:p@h.org:81/a/b%20c.tif?sig=1#x", "https://h.org:81/a/b%20c.tif"),
            ("s3://key:secret@bucket/a b.tif", "s3://bucket/a b.tif"),
            ("s3://bucket/a%20b.tif", "s3://bucket/a%20b.tif"),
            ("gs://bucket/a/b.tif", "gs://bucket/a/b.tif"),
            ("abfss://box@me.dfs.core.windows.net/a.tif", "abfss://box@me.dfs.core.windows.net/a.tif"),
            ("az://box/a.tif", "az://box/a.tif"),
        ] {
            assert_eq!(place(url).name(), name);
        }
    }

    #[test]
    fn what_is_no_object_is_refused() {
        let told = |url: &str, options: RemoteOptions| Place::parse(url, &options).err().unwrap().to_string();
        assert!(told("s3://bucket", RemoteOptions::new()).contains("expected an object"));
        assert!(told("s3://bucket/a//b", RemoteOptions::new()).contains("empty"));
        assert!(told("s3://bucket/../b", RemoteOptions::new()).contains("relative"));
        assert!(told("ftp://h/a", RemoteOptions::new()).contains("ftp"));
        assert!(told("https://h/a", RemoteOptions::new().region("x")).contains("`region`"));
        assert!(told("gs://h/a", RemoteOptions::new().request_payer(true)).contains("`request_payer`"));
        assert!(is_remote("HTTPS://h/a") && is_remote("abfss://c@a/b"));
        assert!(!is_remote("/data/a.tif") && !is_remote("C:\\a") && !is_remote("memory://a"));
    }
}

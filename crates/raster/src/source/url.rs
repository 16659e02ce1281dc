//! URLs instead of paths.

use super::Source;
use crate::error::Result;
use crate::file::open::OpenOptions;
use std::path::Path;
use std::sync::Arc;

/// Returns the URL of a remote object (`SCHEME://…`) if the path is one.
pub(crate) fn url_of(path: &Path) -> Option<&str> {
    let text = path.to_str()?;
    let (scheme, _) = text.split_once("://")?;
    let is_scheme =
        |scheme: &str| scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte));
    (scheme.len() > 1 && is_scheme(scheme) && !scheme.eq_ignore_ascii_case("file")).then_some(text)
}

/// Opens the object of a URL.
#[cfg(feature = "remote")]
pub(crate) fn open_url(url: &str, options: &OpenOptions) -> Result<Arc<dyn Source>> {
    Ok(Arc::new(super::RemoteSource::open(url, &options.remote, &options.cancel)?))
}

/// Fails: remote objects need the feature `remote`.
#[cfg(not(feature = "remote"))]
pub(crate) fn open_url(url: &str, _options: &OpenOptions) -> Result<Arc<dyn Source>> {
    let reason =
        "URLs need the feature `remote` of the crate `strile`, which this program was built without".into();
    Err(crate::error::Error::Unsupported { file: super::redacted(url), reason })
}

/// Returns the URL of a file beside another, whose name has `suffix` appended.
#[cfg(feature = "remote")]
pub(crate) fn beside_url(url: &str, suffix: &str) -> Option<String> {
    Some(strile_remote::Address::parse(url).ok()?.beside(suffix).ok()?.url().to_owned())
}

/// Returns `None`: remote objects need the feature `remote`.
#[cfg(not(feature = "remote"))]
pub(crate) fn beside_url(_url: &str, _suffix: &str) -> Option<String> {
    None
}

/// Returns nothing: remote objects need the feature `remote`.
#[cfg(not(feature = "remote"))]
pub(crate) fn with_url_extension(_url: &str, _extensions: impl Fn(&str) -> Vec<String>) -> Vec<String> {
    Vec::new()
}

/// Returns the URLs of files beside another, with other extensions.
#[cfg(feature = "remote")]
pub(crate) fn with_url_extension(url: &str, extensions: impl Fn(&str) -> Vec<String>) -> Vec<String> {
    let Ok(address) = strile_remote::Address::parse(url) else { return Vec::new() };
    let beside = |extension: &String| Some(address.with_extension(extension).ok()?.url().to_owned());
    extensions(address.extension()).iter().filter_map(beside).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_and_paths() {
        for url in ["https://h/a.tif", "s3://b/a.tif", "memory://a"] {
            assert_eq!(url_of(Path::new(url)), Some(url));
        }
        for path in ["a.tif", "/vsicurl/https://h/a.tif", "C://a", "file:///a.tif", "://", "a b://c"] {
            assert_eq!(url_of(Path::new(path)), None, "{path}");
        }
    }
}

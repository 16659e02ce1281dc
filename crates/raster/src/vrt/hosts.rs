//! Decides which remote objects a VRT may refer to, and how to open them.
//!
//! A remote VRT may refer to objects in its own folder and below; with `allow_outside`, anywhere on its host or in its
//! bucket. Objects of other hosts, and any objects of a local VRT, must be allowed by host (`allowed_hosts`). A remote
//! VRT cannot refer to local files. The rules of the outermost VRT apply to nested VRTs.

use super::VrtOptions;
use super::parse::SourceFile;
use super::paths::{Refusal, not_a_file, shown};
use crate::file::open::OpenOptions;
use crate::source::url_of;
use std::path::{Path, PathBuf};
use strile_remote::{Address, is_remote};

/// GDAL's virtual file systems of objects that strile reads.
const VIRTUAL: [(&str, &str); 5] = [
    ("/vsicurl/", ""),
    ("/vsis3/", "s3://"),
    ("/vsigs/", "gs://"),
    ("/vsiaz/", "az://"),
    ("/vsiadls/", "abfs://"),
];

/// Returns the URL of a remote object, if the name is one.
fn url_in(name: &str) -> Option<String> {
    let virtual_name = VIRTUAL.iter().find_map(|(folder, scheme)| {
        let (head, rest) = name.split_at_checked(folder.len())?;
        head.eq_ignore_ascii_case(folder).then(|| format!("{scheme}{rest}"))
    });
    Some(virtual_name.unwrap_or_else(|| name.to_owned())).filter(|url| is_remote(url))
}

/// Returns the URL of a source of a VRT in `folder`, as a path; `None` for a local file. `root` is the folder of the
/// outermost VRT.
pub(super) fn resolve(
    file: &SourceFile,
    folder: &Path,
    root: Option<&Path>,
    options: &VrtOptions,
) -> Option<Result<PathBuf, Refusal>> {
    let name = file.name.trim();
    let refused = |reason: String| Refusal::Refused(format!("source `{}` {reason}", shown(name)));
    let folder = url_of(folder).and_then(|url| Address::parse(url).ok());
    let address = match (url_in(name), &folder) {
        (Some(url), _) => Address::parse(&url),
        (None, None) => return None,
        (None, Some(folder)) => {
            if let Some(reason) = not_a_file(name) {
                return Some(Err(refused(reason)));
            }
            if !file.relative || name.starts_with(['/', '\\']) || name.get(1..2) == Some(":") {
                return Some(Err(refused("is a local path, which a remote VRT may not name".into())));
            }
            folder.join(name)
        }
    };
    let address = match address {
        Ok(address) => address,
        Err(error) => return Some(Err(refused(format!("is not usable: {error}")))),
    };
    if may_reach(&address, root, options) {
        return Some(Ok(PathBuf::from(address.url())));
    }
    let reason = match own_site(&address, root) {
        true => {
            "is outside the folder of the VRT; if you trust the VRT, allow all of its host with `allow_outside`"
        }
        false => "is on another host; if you trust the VRT, allow that host with `allowed_hosts`",
    };
    Some(Err(refused(reason.into())))
}

fn root_of(root: Option<&Path>) -> Option<Address> {
    Address::parse(url_of(root?)?).ok()
}

fn own_site(address: &Address, root: Option<&Path>) -> bool {
    root_of(root).is_some_and(|root| address.is_beside(&root))
}

fn may_reach(address: &Address, root: Option<&Path>, options: &VrtOptions) -> bool {
    let own = root_of(root)
        .is_some_and(|root| address.is_in(&root) || (options.allow_outside && address.is_beside(&root)));
    own || options.allowed_hosts.iter().any(|host| host == "*" || address.is_on(host))
}

/// Returns the options to open a source. The caller's headers are sent to the host of the VRT and to hosts that are
/// allowed by name.
pub(super) fn open_options(url: &str, root: Option<&Path>, options: &VrtOptions) -> OpenOptions {
    let mut open = options.open.clone();
    open.remote = open.remote.fitting(url);
    let is_named = |address: &Address| options.allowed_hosts.iter().any(|host| address.is_on(host));
    if !Address::parse(url).is_ok_and(|address| own_site(&address, root) || is_named(&address)) {
        open.remote.headers.clear();
    }
    open
}

/// Returns the folder of the VRT at a URL, as a path.
pub(super) fn folder_of(url: &str) -> PathBuf {
    Address::parse(url).map_or_else(|_| PathBuf::new(), |address| PathBuf::from(address.folder().url()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(
        name: &str,
        relative: bool,
        folder: &str,
        options: &VrtOptions,
    ) -> Option<Result<String, String>> {
        let file = SourceFile { name: name.into(), relative };
        let found = resolve(&file, Path::new(folder), Some(Path::new(folder)), options)?;
        Some(found.map(|path| path.display().to_string()).map_err(|refusal| match refusal {
            Refusal::Refused(reason) => reason,
            other => format!("{other:?}"),
        }))
    }

    #[test]
    fn local_files_are_left_to_others() {
        let options = VrtOptions::default();
        for name in ["a.tif", "/a.tif", "/vsizip/a.zip/a.tif", "ftp://h/a.tif", "/vsicurl/ftp://h/a.tif"] {
            assert!(found(name, true, "/data", &options).is_none(), "{name}");
        }
    }

    #[test]
    fn a_local_vrt_reaches_hosts_that_are_allowed() {
        let none = VrtOptions::default();
        let some =
            VrtOptions { allowed_hosts: vec!["h.org".into(), "s3://b".into()], ..VrtOptions::default() };
        let all = VrtOptions { allowed_hosts: vec!["*".into()], ..VrtOptions::default() };
        let outside = VrtOptions { allow_outside: true, ..VrtOptions::default() };
        for (name, url, named) in [
            ("https://h.org/a.tif", "https://h.org/a.tif", true),
            ("/vsicurl/https://h.org/a.tif", "https://h.org/a.tif", true),
            ("/VSIS3/b/k/a.tif", "s3://b/k/a.tif", true),
            ("/vsis3/c/k/a.tif", "s3://c/k/a.tif", false),
            ("/vsigs/b/k/a.tif", "gs://b/k/a.tif", false),
            ("https://h.org@evil.org/a.tif", "https://h.org@evil.org/a.tif", false),
        ] {
            for relative in [false, true] {
                assert_eq!(found(name, relative, "/data", &all).unwrap().unwrap(), url);
                assert_eq!(found(name, relative, "/data", &some).unwrap().is_ok(), named, "{name}");
                for options in [&none, &outside] {
                    let reason = found(name, relative, "/data", options).unwrap().unwrap_err();
                    assert!(
                        reason.contains("is on another host") && reason.contains("`allowed_hosts`"),
                        "{reason}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_remote_vrt_reaches_its_folder() {
        let (none, folder) = (VrtOptions::default(), "https://h.org/v/");
        let outside = VrtOptions { allow_outside: true, ..VrtOptions::default() };
        let told = |name: &str, relative: bool, options: &VrtOptions| {
            found(name, relative, folder, options).unwrap()
        };
        assert_eq!(told("t/a.tif", true, &none).unwrap(), "https://h.org/v/t/a.tif");
        assert_eq!(told("/vsicurl/https://h.org/v/a.tif", false, &none).unwrap(), "https://h.org/v/a.tif");
        for name in ["../a.tif", "%2e%2E/a.tif", "https://h.org/a.tif"] {
            assert!(told(name, true, &none).unwrap_err().contains("`allow_outside`"), "{name}");
            assert_eq!(told(name, true, &outside).unwrap(), "https://h.org/a.tif");
        }
        for (name, relative) in
            [("/etc/passwd", true), ("/etc/passwd", false), ("a.tif", false), ("C:\\a.tif", true)]
        {
            assert!(told(name, relative, &outside).unwrap_err().contains("local path"), "{name}");
        }
        assert!(told("/vsizip/a.zip", true, &outside).unwrap_err().contains("virtual file systems"));
        assert!(told("https://other.org/a.tif", false, &outside).unwrap_err().contains("`allowed_hosts`"));
        let secret = told("https://u:concealed@other.org/a.tif?sig=concealed", false, &none).unwrap_err();
        assert!(!secret.contains("concealed"), "{secret}");
    }

    #[test]
    fn headers_go_to_hosts_that_are_named() {
        let mut options =
            VrtOptions { allowed_hosts: vec!["*".into(), "b.org".into()], ..VrtOptions::default() };
        options.open.remote.headers.push(("X-Key".into(), "concealed".into()));
        let sent =
            |url: &str| open_options(url, Some(Path::new("https://a.org/v/")), &options).remote.headers.len();
        assert_eq!(
            [sent("https://a.org/x.tif"), sent("https://b.org/x.tif"), sent("https://c.org/x.tif")],
            [1, 1, 0]
        );
    }
}

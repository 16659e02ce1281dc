//! Files that may be read, their names, and the open ones.

use crate::answer::Refusal;
use crate::opened::Opened;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use strile::io::{RemoteOptions, redacted};
use strile::vrt::VrtOptions;
use strile::{Cancel, Processor};

/// Maximum number of files kept open.
const MOST_OPEN: usize = 64;
/// A remote file is reopened after this time.
const REMOTE_AGE: Duration = Duration::from_secs(300);
/// Maximum number of listed files in folders.
const MOST_LISTED: usize = 10_000;
/// The list of a bucket is refreshed after this time.
const LISTED_AGE: Duration = Duration::from_secs(60);
/// Maximum depth of searched folders.
const DEEPEST: usize = 8;
/// Maximum length of a requested file name.
const LONGEST_NAME: usize = 1024;

/// A file that may be read: its path or URL, and its name for clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) path: PathBuf,
    pub(crate) name: String,
}

/// A source passed to the server.
#[derive(Debug, Clone)]
enum Given {
    File(Listed),
    /// A folder, as a path without links.
    Folder(PathBuf),
    /// A URL that ends in `/`: all files below it.
    Below(Below),
}

/// All files below a URL.
#[derive(Debug, Clone)]
struct Below {
    /// It ends in `/`.
    url: String,
    /// Files of a bucket, as listed some time ago.
    known: Arc<Mutex<Option<Known>>>,
}

/// Files of a bucket and the time of their listing.
#[derive(Debug)]
struct Known {
    when: Instant,
    files: Vec<Listed>,
}

/// Everything that may be read.
#[derive(Debug, Clone)]
pub(crate) struct Allowed(Vec<Given>);

/// Returns whether a path is a URL.
fn is_url(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.contains("://"))
}

/// Returns whether a name is that of a raster: other files of a folder are not exposed.
fn is_raster(path: &Path) -> bool {
    let end = path.extension().and_then(|end| end.to_str()).unwrap_or("").to_ascii_lowercase();
    ["tif", "tiff", "gtiff", "btf", "vrt"].contains(&end.as_str())
}

impl Allowed {
    /// Checks the given files, folders and URLs.
    pub(crate) fn new(given: &[PathBuf]) -> Result<Self, String> {
        let one = |path: &PathBuf| {
            if let Some(url) = path.to_str().filter(|_| is_url(path)) {
                return Ok(match below(url) {
                    Some(url) => Given::Below(Below { url, known: Arc::default() }),
                    None => Given::File(Listed { path: path.clone(), name: url_name(url) }),
                });
            }
            let failed = |error: std::io::Error| {
                let problem = error.to_string();
                let problem = problem.split(" (os error ").next().unwrap_or_default();
                format!("cannot open {}: {problem}", path.display())
            };
            let real = path.canonicalize().map_err(failed)?;
            match std::fs::metadata(&real).map_err(failed)?.is_dir() {
                true => Ok(Given::Folder(real)),
                false => {
                    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
                    Ok(Given::File(Listed { path: path.clone(), name }))
                }
            }
        };
        given.iter().map(one).collect::<Result<_, String>>().map(Self)
    }

    /// Returns all files, those of folders and buckets sorted by name, and errors of listing.
    pub(crate) fn list(&self, remote: &RemoteOptions, cancel: &Cancel) -> (Vec<Listed>, Vec<String>) {
        let (mut all, mut problems) = (Vec::new(), Vec::new());
        for given in &self.0 {
            match given {
                Given::File(file) => all.push(file.clone()),
                Given::Folder(folder) => {
                    let mut found = Vec::new();
                    walk(folder, folder, DEEPEST, &mut found);
                    found.sort_by(|one, other| one.name.cmp(&other.name));
                    all.extend(found);
                }
                Given::Below(below) => match below.list(remote, cancel) {
                    Ok(found) => all.extend(found),
                    Err(problem) => {
                        problems.push(format!("cannot list {}: {problem}", redacted(&below.url)));
                    }
                },
            }
        }
        all.truncate(MOST_LISTED);
        (all, problems)
    }

    /// Removes the paths of the folders from a text.
    pub(crate) fn hide(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, given| match given {
            Given::Folder(folder) => {
                let path = folder.to_string_lossy();
                text.replace(&format!("{path}{}", std::path::MAIN_SEPARATOR), "").replace(path.as_ref(), ".")
            }
            Given::File(_) | Given::Below(_) => text,
        })
    }

    /// Finds a file by name. Without a name, returns the only given file.
    pub(crate) fn find(&self, name: Option<&str>) -> Result<Listed, Refusal> {
        let Some(name) = name.filter(|name| !name.is_empty()) else {
            return match self.0.as_slice() {
                [Given::File(file)] => Ok(file.clone()),
                _ => Err(Refusal::bad("expected the parameter `url`: the name of a file")),
            };
        };
        if name.len() > LONGEST_NAME {
            return Err(Refusal::bad(format!("expected a name of at most {LONGEST_NAME} bytes")));
        }
        let found = self.0.iter().find_map(|given| match given {
            Given::File(file) => {
                let is_it = file.name == name || file.path.to_str() == Some(name);
                is_it.then(|| file.clone())
            }
            Given::Folder(folder) => below_folder(folder, name),
            Given::Below(below) => below_url(&below.url, name),
        });
        // The same answer whether there is such a file elsewhere or not.
        found.ok_or_else(|| Refusal::not_found("no such file among those that are served"))
    }
}

impl Below {
    fn list(&self, remote: &RemoteOptions, cancel: &Cancel) -> std::io::Result<Vec<Listed>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Known { when, files }) = &*known
            && when.elapsed() < LISTED_AGE
        {
            return Ok(files.clone());
        }
        let wanted = |key: &str| is_raster(Path::new(key));
        let listing = strile::io::list(&self.url, wanted, MOST_LISTED, remote, cancel)?;
        let start = self.url.splitn(4, '/').nth(3).unwrap_or("").len();
        let names = listing.keys.iter().filter_map(|key| key.get(start..));
        let found: Vec<Listed> = names.filter_map(|name| below_url(&self.url, name)).collect();
        *known = Some(Known { when: Instant::now(), files: found.clone() });
        Ok(found)
    }
}

/// Returns the URL of a folder of files: a URL that ends in `/`, a bucket, or a folder in a bucket.
fn below(url: &str) -> Option<String> {
    if url.ends_with('/') {
        return Some(url.to_owned());
    }
    let (scheme, rest) = url.split_once("://")?;
    let is_bucket = !["http", "https"].contains(&scheme.to_ascii_lowercase().as_str());
    let is_folder = !rest.contains('/') || !is_raster(Path::new(url.split(['?', '#']).next().unwrap_or(url)));
    (is_bucket && is_folder).then(|| format!("{url}/"))
}

/// Returns the last part of a URL, without the query.
fn url_name(url: &str) -> String {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(path).to_owned()
}

/// Returns a file below a folder, by a relative name of plain parts. Links that lead out of the folder are not
/// followed.
fn below_folder(folder: &Path, name: &str) -> Option<Listed> {
    let relative = Path::new(name);
    let is_plain = name.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
        && !name.contains('\\')
        && !name.contains(':')
        && relative.components().all(|part| matches!(part, Component::Normal(_)));
    if !is_plain || !is_raster(relative) {
        return None;
    }
    let real = folder.join(relative).canonicalize().ok()?;
    let is_inside = real.starts_with(folder) && is_raster(&real) && real.is_file();
    is_inside.then(|| Listed { path: real, name: name.to_owned() })
}

/// Returns a file below a URL: the same URL, followed by plain parts.
fn below_url(url: &str, name: &str) -> Option<Listed> {
    let rest = name.strip_prefix(url).unwrap_or(name);
    let is_plain = |part: &str| {
        let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~=+,".contains(&byte);
        !part.is_empty() && part != "." && part != ".." && part.bytes().all(is_known)
    };
    let is_inside = rest.split('/').all(is_plain) && is_raster(Path::new(rest));
    is_inside.then(|| Listed { path: PathBuf::from(format!("{url}{rest}")), name: rest.to_owned() })
}

fn walk(root: &Path, folder: &Path, depth: usize, found: &mut Vec<Listed>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if found.len() >= MOST_LISTED {
            return;
        }
        let path = entry.path();
        // A link to a folder is not followed, one to a file only if it stays inside.
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            if depth > 0 && !entry.file_name().to_string_lossy().starts_with('.') {
                walk(root, &path, depth - 1, found);
            }
            continue;
        }
        let name = path.strip_prefix(root).ok().and_then(Path::to_str).map(|name| name.replace('\\', "/"));
        found.extend(name.and_then(|name| below_folder(root, &name)));
    }
}

/// Detects changes of a local file since it was opened.
#[derive(Debug, Clone, PartialEq)]
enum Stamp {
    Local(u64, Option<SystemTime>),
    Remote(Instant),
}

impl Stamp {
    fn of(path: &Path) -> Self {
        match is_url(path) {
            true => Self::Remote(Instant::now()),
            false => {
                let facts = std::fs::metadata(path).ok();
                let facts = facts.map(|facts| (facts.len(), facts.modified().ok()));
                let (len, modified) = facts.unwrap_or((0, None));
                Self::Local(len, modified)
            }
        }
    }

    fn is_current(&self, path: &Path) -> bool {
        match self {
            Self::Local(..) => *self == Self::of(path),
            Self::Remote(opened) => opened.elapsed() < REMOTE_AGE,
        }
    }
}

/// Open files, the last used one at the end.
pub(crate) struct Pool {
    options: VrtOptions,
    decode_on: Processor,
    /// Encoded bytes that were decoded, over all files.
    bytes_read: Arc<AtomicU64>,
    held: Mutex<Vec<(PathBuf, Stamp, Arc<Opened>)>>,
}

impl Pool {
    pub(crate) fn new(options: VrtOptions, decode_on: Processor, bytes_read: Arc<AtomicU64>) -> Self {
        Self { options, decode_on, bytes_read, held: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(PathBuf, Stamp, Arc<Opened>)>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the open file, if it is open and has not changed since.
    pub(crate) fn at_hand(&self, file: &Listed) -> Option<Arc<Opened>> {
        let stamp = {
            let held = self.lock();
            held.iter().find(|(path, ..)| *path == file.path).map(|(_, stamp, _)| stamp.clone())?
        };
        // The file system is queried without the lock.
        let is_current = stamp.is_current(&file.path);
        let mut held = self.lock();
        let at = held.iter().position(|(path, own, _)| *path == file.path && *own == stamp)?;
        let entry = held.remove(at);
        if !is_current {
            return None;
        }
        let opened = Arc::clone(&entry.2);
        held.push(entry);
        Some(opened)
    }

    /// Opens a file, or returns the open one.
    pub(crate) fn open(&self, file: &Listed, cancel: &Cancel) -> Result<Arc<Opened>, Refusal> {
        if let Some(opened) = self.at_hand(file) {
            return Ok(opened);
        }
        let stamp = Stamp::of(&file.path);
        let open = self.options.open.clone().cancel(cancel.clone());
        let options = self.options.clone().open(open);
        let name = file.path.to_string_lossy();
        let opened =
            Opened::open(&file.path, &file.name, &options, self.decode_on, Arc::clone(&self.bytes_read));
        let opened = Arc::new(opened.map_err(|error| error.naming(&name, &file.name))?);
        let mut held = self.lock();
        held.retain(|(path, ..)| *path != file.path);
        if held.len() >= MOST_OPEN {
            held.remove(0);
        }
        held.push((file.path.clone(), stamp, Arc::clone(&opened)));
        Ok(opened)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(allowed: &Allowed) -> Vec<String> {
        let (files, problems) = allowed.list(&RemoteOptions::new(), &Cancel::default());
        assert!(problems.is_empty(), "{problems:?}");
        files.into_iter().map(|file| file.name).collect()
    }

    #[test]
    fn names_never_leave_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("served");
        std::fs::create_dir_all(root.join("deep")).unwrap();
        for path in ["served/a.tif", "served/deep/b.TIFF", "served/c.txt", "secret.tif"] {
            std::fs::write(root.parent().unwrap().join(path), b"II").unwrap();
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(root.parent().unwrap().join("secret.tif"), root.join("link.tif"))
                .unwrap();
            std::os::unix::fs::symlink(root.parent().unwrap(), root.join("up")).unwrap();
            std::os::unix::fs::symlink(root.join("a.tif"), root.join("inner.tif")).unwrap();
            std::os::unix::fs::symlink(root.join("c.txt"), root.join("text.tif")).unwrap();
        }
        let allowed = Allowed::new(std::slice::from_ref(&root)).unwrap();
        for good in ["a.tif", "deep/b.TIFF"] {
            assert_eq!(allowed.find(Some(good)).unwrap().path, root.join(good));
        }
        let secret = root.parent().unwrap().join("secret.tif");
        let secret = secret.to_str().unwrap();
        for bad in [
            "../secret.tif",
            "deep/../../secret.tif",
            "./a.tif",
            "deep//b.TIFF",
            "/a.tif",
            secret,
            "link.tif",
            "up/secret.tif",
            "c.txt",
            "text.tif",
            "deep",
            "",
            "..",
            "a.tif/",
            "a.tif\0",
            "..\\secret.tif",
            "C:\\a.tif",
            "file:///etc/passwd",
            "https://example.org/a.tif",
            "s3://bucket/a.tif",
            "%2e%2e/secret.tif",
            "nothing.tif",
        ] {
            assert!(allowed.find(Some(bad)).is_err(), "{bad}");
        }
        assert!(allowed.find(None).is_err());
        let names = listed(&allowed);
        let mut expected = vec!["a.tif", "deep/b.TIFF"];
        if cfg!(unix) {
            expected.push("inner.tif");
        }
        assert_eq!(names, expected);
    }

    #[test]
    fn urls_lead_nowhere_else() {
        let given = PathBuf::from("https://example.org/scenes/");
        let allowed = Allowed::new(&[given]).unwrap();
        for good in ["a.tif", "2024/b.tif", "https://example.org/scenes/a.tif"] {
            let found = allowed.find(Some(good)).unwrap().path;
            assert!(found.to_str().unwrap().starts_with("https://example.org/scenes/"), "{found:?}");
        }
        for bad in [
            "../a.tif",
            "a/../../b.tif",
            "%2e%2e/a.tif",
            "..%2fa.tif",
            "a.tif?x=1",
            "a.tif#x",
            "@evil.org/a.tif",
            "//evil.org/a.tif",
            "https://evil.org/a.tif",
            "https://example.org/other/a.tif",
            "https://example.org/scenes/../a.tif",
            "https://example.org/scenes/%2e%2e/a.tif",
            "a\\b.tif",
            "/a.tif",
            "https://example.org/scenes",
            "http://example.org/scenes/a.tif",
            "/etc/passwd",
            "a.txt",
        ] {
            assert!(allowed.find(Some(bad)).is_err(), "{bad}");
        }
        let (files, problems) = allowed.list(&RemoteOptions::new(), &Cancel::default());
        assert!(files.is_empty() && problems[0].contains("plain HTTP has no list"), "{problems:?}");
        for (url, prefix) in [
            ("s3://bucket", Some("s3://bucket/")),
            ("s3://bucket/", Some("s3://bucket/")),
            ("gs://bucket/scenes", Some("gs://bucket/scenes/")),
            ("s3://bucket/a.tif", None),
            ("https://example.org/scenes", None),
        ] {
            assert_eq!(below(url).as_deref(), prefix, "{url}");
        }
        let one = Allowed::new(&[PathBuf::from("s3://bucket/a.tif?versionId=1")]).unwrap();
        assert_eq!(one.find(None).unwrap().name, "a.tif");
        assert!(one.find(Some("b.tif")).is_err());
    }
}

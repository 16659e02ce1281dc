//! Decides which files a VRT may refer to: those in its own folder and below, unless more is allowed.
//!
//! Names are checked twice: as written (absolute paths, URLs, `..`), and as the system resolves them, so that a link in
//! the folder cannot lead out of it. Names that are not files of the system are always refused.

use super::parse::SourceFile;
use std::path::{Component, Path, PathBuf};

/// The reason why a name is not opened.
#[derive(Debug)]
pub(super) enum Refusal {
    /// It does not exist.
    Missing,
    /// It may not be opened. Holds the reason.
    Refused(String),
    /// The system returned an error.
    Io(std::io::Error),
}

const ALLOW: &str =
    "if you trust the VRT, allow its folder with `allowed_roots` or every folder with `allow_outside`";

/// Folders that sources must be in or below.
#[derive(Clone, Copy)]
pub(super) struct Roots<'a> {
    /// The folder of the VRT, resolved.
    pub(super) root: &'a Path,
    /// More folders; `None` if there are none and absolute paths are refused.
    pub(super) more: Option<&'a [PathBuf]>,
}

impl Roots<'_> {
    fn hold(&self, path: &Path) -> bool {
        let under = |root: &PathBuf| root.canonicalize().is_ok_and(|root| path.starts_with(root));
        path.starts_with(self.root) || self.more.is_some_and(|more| more.iter().any(under))
    }
}

/// Returns the resolved path of a source of a VRT in the folder `base`. With roots, refuses paths that are not below
/// them.
pub(super) fn resolve(file: &SourceFile, base: &Path, roots: Option<Roots<'_>>) -> Result<PathBuf, Refusal> {
    let name = file.name.as_str();
    let refused = |reason: String| Refusal::Refused(format!("source `{}` {reason}", shown(name)));
    if let Some(reason) = not_a_file(name) {
        return Err(refused(reason));
    }
    let written = Path::new(name);
    let is_absolute =
        written.is_absolute() || written.components().any(|c| matches!(c, Component::Prefix(_)));
    if is_absolute && roots.is_some_and(|roots| roots.more.is_none()) {
        return Err(refused(format!("has an absolute path; {ALLOW}")));
    }
    let path = if file.relative { base.join(written) } else { written.to_owned() };
    // Does not reveal whether files outside exist.
    if let Some(roots) = roots
        && written.components().any(|c| c == Component::ParentDir)
        && !without_parents(&path).is_some_and(|path| roots.hold(&path))
    {
        return Err(refused(format!("leads out of a folder by `..`; {ALLOW}")));
    }
    let path = match path.canonicalize() {
        Ok(path) => path,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(match driver_of(name) {
                Some(driver) => refused(format!("names the driver `{driver}`, which strile does not have")),
                None => Refusal::Missing,
            });
        }
        Err(error) => return Err(Refusal::Io(error)),
    };
    if let Some(roots) = roots {
        let outside = |path: &Path| !roots.hold(path);
        if outside(&path) {
            let more = if roots.more.is_some() { " and the folders allowed besides" } else { "" };
            return Err(refused(format!("is outside the folder of the VRT{more}; {ALLOW}")));
        }
        // Sidecars of a source are read with it.
        for beside in ["ovr", "msk", "aux.xml"] {
            let mut sidecar = path.as_os_str().to_owned();
            sidecar.push(".");
            sidecar.push(beside);
            if Path::new(&sidecar).canonicalize().is_ok_and(|sidecar| outside(&sidecar)) {
                return Err(refused(format!("has a `.{beside}` outside the folder of the VRT; {ALLOW}")));
            }
        }
    }
    Ok(path)
}

/// Returns the target of a path with `..` as written; `None` beyond the root of the system.
fn without_parents(path: &Path) -> Option<PathBuf> {
    let mut plain = std::path::absolute(path).ok()?;
    for component in std::mem::take(&mut plain).components() {
        match component {
            Component::ParentDir => plain.pop().then_some(())?,
            other => plain.push(other),
        }
    }
    Some(plain)
}

/// Returns why GDAL would not open a name with the file system; `None` for names of files.
pub(super) fn not_a_file(name: &str) -> Option<String> {
    let lower = name.trim_start().to_ascii_lowercase().replace('\\', "/");
    if lower.starts_with("/vsi") {
        return Some("is in one of GDAL's virtual file systems, which strile does not have".into());
    }
    if lower.contains("://") {
        return Some("is a URL that strile does not read".into());
    }
    if lower.contains("<vrtdataset") || lower.contains('\0') {
        return Some("is not the name of a file".into());
    }
    None
}

/// Returns `NETCDF` of `NETCDF:file.nc:band`. A drive letter is not a driver.
fn driver_of(name: &str) -> Option<&str> {
    let (head, _) = name.split_once(':')?;
    let is_name = head.len() > 1 && head.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then_some(head)
}

pub(super) fn shown(name: &str) -> String {
    crate::source::redacted(name).chars().take(200).collect::<String>().escape_debug().to_string()
}

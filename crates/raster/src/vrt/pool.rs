//! The files of a mosaic and its nested mosaics: opened when first needed; a bounded number is kept for all of them.
//!
//! A file may be replaced while the mosaic is open. A kept source is used only if the file, and each of its sidecars,
//! is in the state in which it was opened (`Version`). Within one call a source is checked once; a source that changes
//! meanwhile is an error.

use super::call::Call;
use super::opened::{Leaf, Opened};
use super::parse::SourceFile;
use super::warped::{Warp, Warped};
use super::{Missing, NOT_THERE, Vrt, VrtOptions, paths::Refusal};
use crate::batch::header_memory;
use crate::error::{Error, Result};
use crate::file::dataset::Dataset;
use crate::file::open::{Files, OnDisk, OpenOptions};
use crate::read::together;
use crate::source::redacted;
use crate::source::{FilePool, PooledSource, Source, Version, open_url, url_of, version_at};
use std::collections::HashMap;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use strile_engine::{Cancel, Lease};
use strile_tiff::TiffError;

/// Maximum bytes of XML whose mosaics are kept.
const MOST_TEXT: u64 = 16 << 20;
/// Approximate memory per byte of XML, while and after it is parsed.
const PARSED: u64 = 8;
/// Memory of an open remote object: its first bytes.
const REMOTE: u64 = 32 << 10;
/// Number of remote sources that are opened at once.
pub(super) const AHEAD: usize = 32;

/// Opened sources, by their paths in mosaics, and the open files.
pub(super) struct Pool {
    kept: Mutex<Kept>,
    files: Arc<FilePool>,
    /// Remote objects that were examined before any read, by URL: the first read does not request them again.
    looked_at: Mutex<HashMap<String, Arc<dyn Source>>>,
}

#[derive(Default)]
struct Kept {
    sources: HashMap<PathBuf, Entry>,
    clock: u64,
}

struct Entry {
    found: Found,
    used: u64,
}

/// An opened source with the states of its files, the main one first; `None` for a file that does not exist.
#[derive(Clone)]
struct Found {
    opened: Arc<Opened>,
    states: Arc<[State]>,
    /// Bytes of its XML; 0 for a TIFF.
    text: u64,
    /// Its memory in bytes.
    memory: u64,
    /// Whether each of its reads names the opened state, so that it need not be checked.
    is_remote: bool,
}

type State = (PathBuf, Option<Version>);

impl Found {
    fn version(&self) -> Option<&Version> {
        self.states.first().and_then(|(_, version)| version.as_ref())
    }

    /// Returns whether all its files are unchanged.
    fn is_current(&self) -> bool {
        self.is_remote
            || self.states.iter().all(|(path, version)| match version {
                Some(version) => version_at(path).is_ok_and(|now| now.is_same(version)),
                None => !path.exists(),
            })
    }

    fn files(&self) -> usize {
        self.states.iter().filter(|(_, version)| version.is_some()).count()
    }
}

/// A mosaic's handle of the pool. Mosaics in the pool also have a handle: the pool is emptied with the outermost one,
/// or they would keep each other alive for ever.
pub(super) struct Pooled {
    pool: Arc<Pool>,
    is_outermost: bool,
}

impl Pooled {
    /// Creates a pool that keeps at most `most` files open, for the outermost mosaic.
    pub(super) fn new(most: usize) -> Self {
        let files = Arc::new(FilePool::new(most.max(1)));
        let pool = Arc::new(Pool { kept: Mutex::default(), files, looked_at: Mutex::default() });
        Self { pool, is_outermost: true }
    }

    /// Returns the same pool for a nested mosaic.
    fn inside(&self) -> Self {
        Self { pool: Arc::clone(&self.pool), is_outermost: false }
    }
}

impl Deref for Pooled {
    type Target = Pool;

    fn deref(&self) -> &Pool {
        &self.pool
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        if self.is_outermost {
            let gone = std::mem::take(&mut *self.pool.kept());
            drop(gone);
        }
    }
}

impl Pool {
    fn looked_at(&self) -> MutexGuard<'_, HashMap<String, Arc<dyn Source>>> {
        self.looked_at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, path: &Path) -> Option<Found> {
        let mut kept = self.kept();
        kept.clock += 1;
        let now = kept.clock;
        let entry = kept.sources.get_mut(path)?;
        entry.used = now;
        Some(entry.found.clone())
    }

    fn forget(&self, path: &Path) {
        let gone = self.kept().sources.remove(path);
        drop(gone);
    }

    /// Keeps one more source. Removes the least recently used ones, until there are at most `most_files` files.
    fn keep(&self, path: PathBuf, found: Found, most_files: usize) {
        let mut gone = Vec::new();
        let mut kept = self.kept();
        kept.clock += 1;
        let used = kept.clock;
        gone.extend(kept.sources.insert(path, Entry { found, used }));
        loop {
            let files: usize = kept.sources.values().map(|entry| entry.found.files()).sum();
            let text: u64 = kept.sources.values().map(|entry| entry.found.text).sum();
            if kept.sources.len() <= 1 || (files <= most_files.max(1) && text <= MOST_TEXT) {
                break;
            }
            let oldest =
                kept.sources.iter().min_by_key(|(_, entry)| entry.used).map(|(path, _)| path.clone());
            let Some(oldest) = oldest else { break };
            gone.extend(kept.sources.remove(&oldest));
        }
        // Files are closed without the lock.
        drop(kept);
        drop(gone);
    }
}

/// Files of the disk, which are reopened when they are read; records their states.
struct Noted<'a> {
    files: &'a Arc<FilePool>,
    states: Mutex<Vec<State>>,
}

impl Noted<'_> {
    fn note(&self, path: &Path, version: Option<Version>) {
        self.states.lock().unwrap_or_else(PoisonError::into_inner).push((path.to_owned(), version));
    }
}

impl Files for Noted<'_> {
    fn source(&self, path: &Path) -> Result<Arc<dyn Source>> {
        let source = PooledSource::open(path, self.files)?;
        self.note(path, Some(source.version()));
        Ok(Arc::new(source))
    }

    fn exists(&self, path: &Path) -> bool {
        let is_there = OnDisk.exists(path);
        if !is_there {
            self.note(path, None);
        }
        is_there
    }

    fn text(&self, path: &Path) -> Result<Option<(String, Version)>> {
        let found = OnDisk.text(path)?;
        match &found {
            Some((_, version)) => self.note(path, Some(version.clone())),
            // There are too many names of world files to look for each before every read.
            None if path.extension().is_some_and(|end| end == "xml") => self.note(path, None),
            None => {}
        }
        Ok(found)
    }

    fn at_hand(&self, _path: &Path) -> Vec<(u64, Vec<u8>)> {
        Vec::new()
    }
}

/// A source in use, and its memory.
pub(super) struct InUse {
    pub(super) opened: Arc<Opened>,
    _lease: Lease,
}

impl InUse {
    /// Returns the source on the grid of a warped VRT.
    pub(super) fn warped(self: Arc<Self>, warp: &Arc<Warp>, call: &Call<'_>) -> Result<Self> {
        let opened = Arc::new(Opened::Warped(Warped::new(warp, self)?));
        Ok(Self { opened, _lease: call.take(0, "a warped source")? })
    }
}

impl Vrt {
    /// Returns the opened source; `None` if it is missing and should only cause a warning.
    pub(super) fn source(&self, file: u32, call: &Call<'_>) -> Result<Option<Arc<InUse>>> {
        let Some(named) = self.files.get(file as usize) else { return Ok(None) };
        let written = self.written(named);
        if let Some(held) = call.held(&written) {
            self.enter(&held.opened, call)?;
            return Ok(Some(held));
        }
        if let Some(found) = self.pool.get(&written) {
            let used = call.used_before(&written, found.version());
            if used == Some(true) || (used.is_none() && found.is_current()) {
                if let Some(version) = found.version().filter(|_| used.is_none()) {
                    call.uses(&written, version);
                }
                return self.in_use(&written, found, call).map(Some);
            }
            self.pool.forget(&written);
        }
        let path = match self.resolve(named) {
            Ok(path) => path,
            Err(Refusal::Missing) => return self.is_missing(file, named, call).map(|()| None),
            Err(Refusal::Refused(reason)) => return Err(self.unsupported(reason)),
            Err(Refusal::Io(error)) => return Err(Error::io(redacted(&named.name), error)),
        };
        if let Some(url) = url_of(&path) {
            let Some(found) = self.remote(url, &written, call)? else {
                return self.is_missing(file, named, call).map(|()| None);
            };
            return self.fresh(written, found, call).map(Some);
        }
        let found = match super::is_vrt(&path)? {
            true => {
                let len = version_at(&path).map_err(|error| Error::io(&path, error))?.len;
                let lease = call.take(len.saturating_mul(PARSED), "the XML of a mosaic")?;
                let vrt = self.nested(path, call)?;
                drop(lease);
                let version = vrt.version().cloned();
                let text = version.as_ref().map_or(0, |version| version.len);
                let states = [(written.clone(), version)].into();
                let memory = text.saturating_mul(PARSED);
                Found {
                    opened: Arc::new(Opened::Mosaic(Box::new(vrt))),
                    states,
                    text,
                    memory,
                    is_remote: false,
                }
            }
            false => {
                let noted = Noted { files: &self.pool.files, states: Mutex::default() };
                let dataset = Dataset::open_among(&path, &noted, &self.options.open)?;
                let memory = header_memory(&dataset);
                let mut states = noted.states.into_inner().unwrap_or_else(PoisonError::into_inner);
                if let Some((path, _)) = states.first_mut() {
                    // A link may lead to another file later.
                    path.clone_from(&written);
                }
                let opened = Arc::new(Opened::File(Box::new(Leaf::new(dataset)?)));
                Found { opened, states: states.into(), text: 0, memory, is_remote: false }
            }
        };
        self.fresh(written, found, call).map(Some)
    }

    /// Registers a source that was opened just now.
    fn fresh(&self, written: PathBuf, found: Found, call: &Call<'_>) -> Result<Arc<InUse>> {
        if call.used_before(&written, found.version()) == Some(false) {
            let problem = "the file changed while the mosaic was read; read it again";
            let shown = redacted(&written.to_string_lossy());
            return Err(Error::io(shown, std::io::Error::other(problem)));
        }
        if let Some(version) = found.version() {
            call.uses(&written, version);
        }
        self.pool.keep(written.clone(), found.clone(), self.options.max_open);
        self.in_use(&written, found, call)
    }

    /// Returns the source at a URL; `None` if the server has no such object.
    fn remote(&self, url: &str, written: &Path, call: &Call<'_>) -> Result<Option<Found>> {
        // Overviews of sources are not read.
        let open = self.open_options(url).overviews(false).cancel(call.context().cancel.clone());
        let looked_at = self.pool.looked_at().remove(url);
        let source = match looked_at.map_or_else(|| open_url(url, &open), Ok) {
            Err(Error::Io { error, .. }) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let (version, name) = (source.version(), PathBuf::from(source.name()));
        let states = [(written.to_owned(), Some(version.clone()))].into();
        if !super::is_vrt_source(source.as_ref(), &open.cancel)? {
            let dataset = Dataset::open_remote(url, source, &open)?;
            let memory = header_memory(&dataset).saturating_add(REMOTE);
            let opened = Arc::new(Opened::File(Box::new(Leaf::new(dataset)?)));
            return Ok(Some(Found { opened, states, text: 0, memory, is_remote: true }));
        }
        self.check_chain(&name, call)?;
        let lease = call.take(version.len.saturating_mul(PARSED), "the XML of a mosaic")?;
        let options = VrtOptions { data_type: None, ..self.options.clone() };
        let vrt = Self::of_source(url, source.as_ref(), self.root.clone(), self.pool.inside(), &options)?;
        drop(lease);
        let memory = version.len.saturating_mul(PARSED);
        let opened = Arc::new(Opened::Mosaic(Box::new(vrt)));
        Ok(Some(Found { opened, states, text: version.len, memory, is_remote: true }))
    }

    /// Opens the file of a source like reads do, by its path in [`listed_sources`](Self::listed_sources), but without
    /// sidecars.
    pub fn open_source(&self, path: &Path, cancel: &Cancel) -> Result<Dataset> {
        let Some(url) = url_of(path) else {
            return Dataset::open_with(
                path,
                &self.options.open.clone().sidecars(false).cancel(cancel.clone()),
            );
        };
        let open = self.open_options(url).sidecars(false).cancel(cancel.clone());
        let source = open_url(url, &open)?;
        let dataset = Dataset::open_remote(url, Arc::clone(&source), &open)?;
        let mut looked_at = self.pool.looked_at();
        if looked_at.len() < self.options.max_open {
            looked_at.insert(url.to_owned(), source);
        }
        drop(looked_at);
        Ok(dataset)
    }

    /// Returns the options to open the object of a URL.
    fn open_options(&self, url: &str) -> OpenOptions {
        #[cfg(feature = "remote")]
        return super::hosts::open_options(url, self.root.as_deref(), &self.options);
        #[cfg(not(feature = "remote"))]
        return (self.options.open.clone(), url).0;
    }

    /// Opens the remote sources that are needed next at once, so that a round trip is paid once. A failure here occurs
    /// again when the source is used.
    pub(super) fn open_ahead(&self, files: impl Iterator<Item = u32>, call: &Call<'_>) -> Result<()> {
        let mut wanted: Vec<(PathBuf, String)> = Vec::new();
        for file in files {
            let Some(named) = self.files.get(file as usize) else { continue };
            let written = self.written(named);
            let known = call.held(&written).is_some() || self.pool.get(&written).is_some();
            if known || wanted.iter().any(|(other, _)| *other == written) {
                continue;
            }
            let Ok(path) = self.resolve(named) else { continue };
            if let Some(url) = url_of(&path) {
                wanted.push((written, url.to_owned()));
            }
        }
        if wanted.len() < 2 {
            return Ok(());
        }
        let open = |(written, url): (PathBuf, String)| {
            let found = self.remote(&url, &written, call).ok().flatten();
            Ok(found.map(|found| (written, found)))
        };
        for (written, found) in together(wanted, true, &call.context().cancel, open)?.into_iter().flatten() {
            self.pool.keep(written, found, self.options.max_open.max(AHEAD));
        }
        Ok(())
    }

    /// Returns the path that identifies a source.
    fn written(&self, named: &SourceFile) -> PathBuf {
        match named.relative {
            true => self.folder.join(&named.name),
            false => PathBuf::from(&named.name),
        }
    }

    fn in_use(&self, path: &Path, found: Found, call: &Call<'_>) -> Result<Arc<InUse>> {
        self.enter(&found.opened, call)?;
        let lease = call.take(found.memory, "the headers of sources")?;
        let in_use = Arc::new(InUse { opened: found.opened, _lease: lease });
        call.hold(path, &in_use);
        Ok(in_use)
    }

    /// Fails for a nested mosaic that may not be entered from here.
    fn enter(&self, opened: &Opened, call: &Call<'_>) -> Result<()> {
        match opened {
            Opened::Mosaic(vrt) => self.check_chain(vrt.path().unwrap_or(Path::new("")), call),
            Opened::File(_) | Opened::Warped(_) => Ok(()),
        }
    }

    /// Opens a VRT that is a source of this one. It has the same restrictions as this one.
    fn nested(&self, path: PathBuf, call: &Call<'_>) -> Result<Self> {
        self.check_chain(&path, call)?;
        let options = VrtOptions { data_type: None, ..self.options.clone() };
        Self::open_at(path.display().to_string(), path, self.root.clone(), self.pool.inside(), &options)
    }

    /// Fails for a mosaic inside itself, and for one that is nested too deep.
    fn check_chain(&self, path: &Path, call: &Call<'_>) -> Result<()> {
        let (depth, is_inside_itself) = call.chain(path);
        if is_inside_itself {
            return Err(self.invalid(format!("`{}` is a source of itself", path.display())));
        }
        if depth >= self.options.max_depth {
            let (found, limit) = (depth as u64 + 1, self.options.max_depth as u64);
            let what = "depth of VRTs in VRTs (raise it with `VrtOptions::max_depth`)";
            let error = TiffError::Limit { place: "VRT".into(), what, found, limit };
            return Err(Error::File { file: self.name().to_owned(), error });
        }
        Ok(())
    }

    fn is_missing(&self, file: u32, named: &SourceFile, call: &Call<'_>) -> Result<()> {
        if self.options.missing == Missing::Raise {
            let problem = format!(
                "source `{}` is missing; `missing=warn` reads the mosaic without it",
                redacted(&named.name)
            );
            return Err(self.refuse(problem));
        }
        call.hole(file, &redacted(&named.name), NOT_THERE);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::ReadOptions;
    use strile_engine::Context;

    #[test]
    fn mosaics_in_mosaics_are_given_back() {
        let folder = tempfile::tempdir().unwrap();
        let band = |sources: &str| {
            format!(
                "<VRTDataset rasterXSize=\"4\" rasterYSize=\"3\"><VRTRasterBand dataType=\"Byte\" band=\"1\">{sources}\
                 </VRTRasterBand></VRTDataset>"
            )
        };
        let inner = "<SimpleSource><SourceFilename relativeToVRT=\"1\">inner.vrt</SourceFilename>\
                     <SourceBand>1</SourceBand></SimpleSource>";
        std::fs::write(folder.path().join("inner.vrt"), band("")).unwrap();
        std::fs::write(folder.path().join("outer.vrt"), band(inner)).unwrap();
        let vrt = Vrt::open(folder.path().join("outer.vrt"), &VrtOptions::default()).unwrap();
        vrt.read(&ReadOptions::new(), &Context::default()).unwrap();
        let pool = Arc::downgrade(&vrt.pool.pool);
        assert_eq!(vrt.pool.kept().sources.len(), 1);
        drop(vrt);
        assert!(pool.upgrade().is_none());
    }
}

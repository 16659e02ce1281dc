//! The opened files of many batches: thousands of headers, with a bounded number of files open.
//!
//! Size, times, inode and device (`Version`) identify the state of a file, and are checked on every request; a source
//! that is not a file is identified by its size and ETag. Objects of URLs are not kept (`remote`). Headers are bounded
//! in number and in bytes (`memory`), and the least recently used are removed first. A file whose header is kept is
//! open only while it is read, and a bounded number of files are open at a time. An index (`index`) has headers of
//! files that were not opened yet. A sidecar that changes is noticed; a new one is noticed once the file itself
//! changes.

mod index;
mod memory;
mod record;
#[cfg(feature = "remote")]
mod remote;

pub use index::{IndexReport, write_header_index};
pub(crate) use memory::of_dataset as header_memory;

use crate::error::{Error, Result};
use crate::file::dataset::Dataset;
use crate::file::open::{Files, OnDisk, OpenOptions};
use crate::options::setters;
#[cfg(feature = "remote")]
use crate::source::url_of;
use crate::source::{FilePool, PooledSource, Source, Version, changed, version_at};
use index::HeaderIndex;
use record::Record;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use strile_engine::PerProcess;

/// Limits of the headers that are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeaderLimits {
    /// Maximum number of files whose headers are kept.
    pub files: usize,
    /// Maximum memory of these headers and of the index, in bytes. Sources that are not files count their memory
    /// themselves.
    pub bytes: u64,
    /// Maximum number of files that are open at once.
    pub open: usize,
}

impl Default for HeaderLimits {
    /// Sets `open` to half of the descriptors that most systems give a process.
    fn default() -> Self {
        Self { files: 65_536, bytes: 1 << 30, open: 512 }
    }
}

impl HeaderLimits {
    /// Returns the defaults: 65,536 files, 1 GiB, and 512 open files.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Limits the files whose headers are kept.
        files: usize,
        /// Limits the memory of these headers, in bytes.
        bytes: u64,
        /// Limits the files that are open at once.
        open: usize,
    }
}

/// Keeps headers of many files in bounded memory, so that a batch opens each file once. Threads may share it.
pub struct Headers {
    limits: HeaderLimits,
    options: OpenOptions,
    pool: Arc<FilePool>,
    index: Option<HeaderIndex>,
    /// A child of a fork starts without any.
    kept: PerProcess<Mutex<Kept>>,
}

#[derive(Default)]
struct Kept {
    files: HashMap<PathBuf, Entry>,
    /// Files by the time of their last use.
    order: BTreeMap<u64, PathBuf>,
    bytes: u64,
    clock: u64,
}

struct Entry {
    dataset: Arc<Dataset>,
    told_by: ToldBy,
    bytes: u64,
    used: u64,
}

/// The state that a header belongs to.
#[derive(Clone)]
enum ToldBy {
    /// The versions of the file and its sidecars.
    Files(Vec<(PathBuf, Version)>),
    /// The version of the source.
    Source(Version),
}

impl Headers {
    /// Creates a cache of headers with these limits. Files are opened with `options`.
    pub fn new(limits: HeaderLimits, options: OpenOptions) -> Self {
        let pool = Arc::new(FilePool::new(limits.open.max(1)));
        Self { limits, options, pool, index: None, kept: PerProcess::new() }
    }

    /// Adds an index, made by `write_header_index`, which is searched before a header is read. Its memory counts
    /// towards the limit of the headers; fails if it takes more.
    pub fn with_index(self, path: impl AsRef<Path>) -> Result<Self> {
        let index = HeaderIndex::load(path.as_ref(), self.limits.bytes)?;
        Ok(Self { index: Some(index), ..self })
    }

    /// Returns the number of files whose headers are kept, their bytes including the index, and the number of open
    /// files.
    pub fn held(&self) -> (usize, u64, usize) {
        let kept = self.kept();
        (kept.files.len(), kept.bytes.saturating_add(self.index_bytes()), self.pool.open())
    }

    fn index_bytes(&self) -> u64 {
        self.index.as_ref().map_or(0, HeaderIndex::memory)
    }

    /// Removes all headers. Datasets in use stay usable.
    pub fn clear(&self) {
        *self.kept() = Kept::default();
    }

    /// Returns a file: the kept one if it is unchanged, else opens it. The object of a URL is opened each time: without
    /// a request if the index has it; the first read then fails if it has changed since.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Arc<Dataset>> {
        #[cfg(feature = "remote")]
        if let Some(url) = url_of(path.as_ref()) {
            return self.begin(url, &self.options)?.wait(url, &self.options);
        }
        let path = std::path::absolute(path.as_ref()).map_err(|error| Error::io(path.as_ref(), error))?;
        let on_disk = |told_by: &ToldBy| match told_by {
            ToldBy::Files(versions) => versions.iter().all(|(path, version)| is_same(path, version)),
            ToldBy::Source(_) => false,
        };
        if let Some(found) = self.known(&path, on_disk) {
            return Ok(found);
        }
        let seen = Seen { pool: &self.pool, record: self.recorded(&path), versions: Mutex::default() };
        let dataset = Arc::new(Dataset::open_among(&path, &seen, &self.options)?);
        let versions = seen.versions.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.keep(path, Arc::clone(&dataset), ToldBy::Files(versions));
        Ok(dataset)
    }

    /// Returns the dataset of a source that is not a file, by its name: the kept one if its size and mark are the same,
    /// else opens this source, without sidecars. Sources without a mark are identified by size alone.
    pub fn open_source(&self, source: Arc<dyn Source>) -> Result<Arc<Dataset>> {
        let (name, version) = (PathBuf::from(source.name()), source.version());
        let same = |told_by: &ToldBy| matches!(told_by, ToldBy::Source(known) if *known == version);
        if let Some(found) = self.known(&name, same) {
            return Ok(found);
        }
        let dataset = Arc::new(Dataset::from_source(source, &self.options)?);
        self.keep(name, Arc::clone(&dataset), ToldBy::Source(version));
        Ok(dataset)
    }

    /// Opens files in order. Objects of URLs are requested concurrently, with the options `remote`.
    #[cfg(feature = "remote")]
    pub fn open_all(
        &self,
        paths: &[PathBuf],
        remote: &strile_remote::RemoteOptions,
        cancel: &strile_engine::Cancel,
    ) -> Result<Vec<Arc<Dataset>>> {
        remote::open_all(self, paths, remote, cancel)
    }

    /// Returns the record of a file in the index, if the file is unchanged.
    fn recorded(&self, path: &Path) -> Option<Record> {
        let record = self.index.as_ref()?.find(path, self.options.limits.total_value_bytes)?;
        record.is_current(path).then_some(record)
    }

    fn known(&self, path: &Path, is_current: impl Fn(&ToldBy) -> bool) -> Option<Arc<Dataset>> {
        let found =
            self.kept().files.get(path).map(|entry| (Arc::clone(&entry.dataset), entry.told_by.clone()));
        let (dataset, told_by) = found?;
        // Without the lock: a file system may be slow.
        if !is_current(&told_by) {
            self.kept().forget(path);
            return None;
        }
        self.kept().touch(path);
        Some(dataset)
    }

    fn keep(&self, path: PathBuf, dataset: Arc<Dataset>, told_by: ToldBy) {
        let bytes = memory::of_entry(&path, &dataset, &told_by);
        let room = self.limits.bytes.saturating_sub(self.index_bytes());
        let mut kept = self.kept();
        kept.forget(&path);
        if bytes > room {
            // It would displace all others, and then be removed itself.
            return;
        }
        kept.bytes = kept.bytes.saturating_add(bytes);
        kept.files.insert(path.clone(), Entry { dataset, told_by, bytes, used: 0 });
        kept.touch(&path);
        while kept.files.len() > self.limits.files || kept.bytes > room {
            let Some((_, oldest)) = kept.order.pop_first() else { break };
            kept.forget(&oldest);
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.get(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn touch(&mut self, path: &Path) {
        self.clock += 1;
        let Some(entry) = self.files.get_mut(path) else { return };
        self.order.remove(&entry.used);
        entry.used = self.clock;
        self.order.insert(self.clock, path.to_owned());
    }

    fn forget(&mut self, path: &Path) {
        if let Some(entry) = self.files.remove(path) {
            self.order.remove(&entry.used);
            self.bytes = self.bytes.saturating_sub(entry.bytes);
        }
    }
}

/// Returns whether a file is in that state.
fn is_same(path: &Path, version: &Version) -> bool {
    version_at(path).is_ok_and(|now| now.is_same(version))
}

/// The files found while one is opened, with their states.
struct Seen<'a> {
    pool: &'a Arc<FilePool>,
    /// Its record in an index, if current.
    record: Option<Record>,
    versions: Mutex<Vec<(PathBuf, Version)>>,
}

impl Seen<'_> {
    fn note(&self, path: &Path, version: Version) {
        self.versions.lock().unwrap_or_else(PoisonError::into_inner).push((path.to_owned(), version));
    }
}

impl Files for Seen<'_> {
    fn source(&self, path: &Path) -> Result<Arc<dyn Source>> {
        let recorded = self.record.as_ref().and_then(|record| record.version(path));
        let source = match recorded {
            Some(version) => {
                // The current version: the index may come from another machine, which numbers files differently.
                let now = version_at(path).map_err(|error| Error::io(path, error))?;
                if !now.is_same(&version) {
                    return Err(Error::io(path, changed()));
                }
                PooledSource::known(path, now, self.pool)
            }
            None => PooledSource::open(path, self.pool)?,
        };
        self.note(path, source.version());
        Ok(Arc::new(source))
    }

    fn exists(&self, path: &Path) -> bool {
        self.record.as_ref().map_or_else(|| OnDisk.exists(path), |record| record.version(path).is_some())
    }

    fn text(&self, path: &Path) -> Result<Option<(String, Version)>> {
        let found = match &self.record {
            Some(record) => record.text(path).zip(record.version(path)),
            None => OnDisk.text(path)?,
        };
        if let Some((_, version)) = &found {
            self.note(path, version.clone());
        }
        Ok(found)
    }

    fn at_hand(&self, path: &Path) -> Vec<(u64, Vec<u8>)> {
        self.record.as_ref().map(|record| record.header(path)).unwrap_or_default()
    }
}

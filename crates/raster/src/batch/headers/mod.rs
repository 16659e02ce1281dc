//! The opened files of many batches: the headers of thousands, a bounded number of them open.
//!
//! A file is told from its later states by size, times, inode and device (`Version`), which are checked every time it is
//! asked for, and a source that is no file by its size and ETag. Objects of URLs are not kept (`remote`). What is kept is bounded in number and in bytes
//! (`memory`), and what was used longest ago goes first; files whose headers are kept are open only while they are read, and
//! a bounded number of them at a time. An index (`index`) has headers of files that were not opened yet. A sidecar that
//! changes is seen; one that appears later is seen once the file itself changes.

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

/// Bounds of the headers that are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeaderLimits {
    /// The most files whose headers are kept.
    pub files: usize,
    /// The most bytes of memory of these headers and of the index. Sources that are not files count their memory themselves.
    pub bytes: u64,
    /// The most files that are open at once.
    pub open: usize,
}

impl Default for HeaderLimits {
    /// `open` is half of the descriptors that most systems give a process.
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
    /// A child of a fork begins with none.
    kept: PerProcess<Mutex<Kept>>,
}

#[derive(Default)]
struct Kept {
    files: HashMap<PathBuf, Entry>,
    /// By when they were used.
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

/// What must be the same for a header to be that of its file.
#[derive(Clone)]
enum ToldBy {
    /// The file, and what was found beside it.
    Files(Vec<(PathBuf, Version)>),
    /// What the source said.
    Source(Version),
}

impl Headers {
    /// Keeps headers within limits, of files that are opened so.
    pub fn new(limits: HeaderLimits, options: OpenOptions) -> Self {
        let pool = Arc::new(FilePool::new(limits.open.max(1)));
        Self { limits, options, pool, index: None, kept: PerProcess::new() }
    }

    /// The same with an index, made by `write_header_index`, that is looked into before a header is read. It takes of the
    /// bytes that headers may take; an error where it takes more.
    pub fn with_index(self, path: impl AsRef<Path>) -> Result<Self> {
        let index = HeaderIndex::load(path.as_ref(), self.limits.bytes)?;
        Ok(Self { index: Some(index), ..self })
    }

    /// How many files' headers are kept, how many bytes they take with the index, and how many files are open.
    pub fn held(&self) -> (usize, u64, usize) {
        let kept = self.kept();
        (kept.files.len(), kept.bytes.saturating_add(self.index_bytes()), self.pool.open())
    }

    fn index_bytes(&self) -> u64 {
        self.index.as_ref().map_or(0, HeaderIndex::memory)
    }

    /// Forgets everything; datasets that are in use stay usable.
    pub fn clear(&self) {
        *self.kept() = Kept::default();
    }

    /// A file: the one that is kept, where it is still the same, else opened. The object of a URL is opened each time: without a
    /// request if the index has it, and then its first range is an error where it has changed since.
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

    /// A source that is no file, by its name: the one that is kept, where that had the same size and mark, else this one
    /// opened, without what may lie beside it. Sources without a mark are told apart by size alone.
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

    /// Opens files in their order. Objects of URLs are asked for many at once, and reached with the options `remote`.
    #[cfg(feature = "remote")]
    pub fn open_all(
        &self,
        paths: &[PathBuf],
        remote: &strile_remote::RemoteOptions,
        cancel: &strile_engine::Cancel,
    ) -> Result<Vec<Arc<Dataset>>> {
        remote::open_all(self, paths, remote, cancel)
    }

    /// What the index has of a file, where that is still the same.
    fn recorded(&self, path: &Path) -> Option<Record> {
        let record = self.index.as_ref()?.find(path, self.options.limits.total_value_bytes)?;
        record.is_current(path).then_some(record)
    }

    fn known(&self, path: &Path, is_current: impl Fn(&ToldBy) -> bool) -> Option<Arc<Dataset>> {
        let found =
            self.kept().files.get(path).map(|entry| (Arc::clone(&entry.dataset), entry.told_by.clone()));
        let (dataset, told_by) = found?;
        // Not under the lock: a file system may be slow.
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
            // All others would go for it, and then it.
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

/// Whether a file is in that state.
fn is_same(path: &Path, version: &Version) -> bool {
    version_at(path).is_ok_and(|now| now.is_same(version))
}

/// Files as they are found while one is opened, their states kept.
struct Seen<'a> {
    pool: &'a Arc<FilePool>,
    /// What an index has of it, where that is current.
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
                // As it is now: the index may come from another machine, which numbers files differently.
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

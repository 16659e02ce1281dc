//! Files for reading, of which a bounded number is open: the least recently used one is closed for the next.
//!
//! A file that is reopened must be in its previous state (`Version`); another state is an error of the read.

use super::{
    ReadDone, ReadExactAt, ReadOp, Source, Version, check_unchanged, open_regular, state_of, submit,
};
use crate::error::{Error, Result};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use strile_engine::{Cancel, PerProcess, ReadAt, Span};

/// Returns the error of a read if the file is no longer the one whose header is known.
pub(crate) fn changed() -> io::Error {
    io::Error::other("the file has changed since its header was read; open it again")
}

/// Keeps a bounded number of files open and reopens them on demand.
pub(crate) struct FilePool {
    most: usize,
    /// A child of a fork opens its own files.
    files: PerProcess<Mutex<Open>>,
    /// Number of the next source.
    next: AtomicU64,
}

#[derive(Default)]
struct Open {
    /// Open files by the number of their source, with the time of the last use.
    files: HashMap<u64, (Arc<File>, u64)>,
    clock: u64,
}

impl FilePool {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, files: PerProcess::new(), next: AtomicU64::new(0) }
    }

    /// Returns the number of open files.
    pub(crate) fn open(&self) -> usize {
        self.files().files.len()
    }

    fn files(&self) -> MutexGuard<'_, Open> {
        self.files.get(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    fn find(&self, number: u64) -> Option<Arc<File>> {
        let mut files = self.files();
        files.clock += 1;
        let now = files.clock;
        let (file, used) = files.files.get_mut(&number)?;
        *used = now;
        Some(Arc::clone(file))
    }

    fn put(&self, number: u64, file: Arc<File>) {
        let mut files = self.files();
        files.clock += 1;
        let now = files.clock;
        files.files.insert(number, (file, now));
        while files.files.len() > self.most {
            let oldest = files.files.iter().min_by_key(|(_, (_, used))| *used).map(|(&number, _)| number);
            let Some(closed) = oldest.and_then(|oldest| files.files.remove(&oldest)) else { break };
            drop(closed);
        }
    }

    fn close(&self, number: u64) {
        let closed = self.files().files.remove(&number);
        drop(closed);
    }
}

/// A file of a pool.
pub(crate) struct PooledSource {
    name: String,
    file: Arc<PooledFile>,
}

struct PooledFile {
    path: PathBuf,
    version: Version,
    number: u64,
    pool: Arc<FilePool>,
}

impl PooledSource {
    /// Opens a file.
    pub(crate) fn open(path: &Path, pool: &Arc<FilePool>) -> Result<Self> {
        let (file, version) = open_regular(path).map_err(|error| Error::io(path, error))?;
        let source = Self::known(path, version, pool);
        pool.put(source.file.number, Arc::new(file));
        Ok(source)
    }

    /// Creates a source for a file in a known state, without opening it. Reads open it.
    pub(crate) fn known(path: &Path, version: Version, pool: &Arc<FilePool>) -> Self {
        let (name, path) = (path.display().to_string(), path.to_owned());
        let pool = Arc::clone(pool);
        Self { name, file: Arc::new(PooledFile { path, version, number: pool.number(), pool }) }
    }
}

impl PooledFile {
    fn get(&self) -> io::Result<Arc<File>> {
        if let Some(file) = self.pool.find(self.number) {
            return Ok(file);
        }
        let (file, version) = open_regular(&self.path)?;
        if !version.is_same(&self.version) {
            return Err(changed());
        }
        let file = Arc::new(file);
        self.pool.put(self.number, Arc::clone(&file));
        Ok(file)
    }
}

impl Drop for PooledFile {
    fn drop(&mut self) {
        self.pool.close(self.number);
    }
}

impl ReadAt for PooledFile {
    fn read_at<'a>(&'a self, span: Span, scratch: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        let len = usize::try_from(span.len).map_err(|_| io::ErrorKind::OutOfMemory)?;
        if scratch.len() < len {
            scratch.resize(len, 0);
        }
        let into = scratch.get_mut(..len).ok_or(io::ErrorKind::OutOfMemory)?;
        self.read_into(span.offset, into)?;
        Ok(into)
    }

    fn read_into(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.get()?.read_exact_at(into, offset)
    }
}

impl Source for PooledSource {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> u64 {
        self.file.version.len
    }

    fn version(&self) -> Version {
        self.file.version.clone()
    }

    fn state(&self) -> Option<String> {
        state_of(&self.file.version)
    }

    fn submit(&self, ops: Vec<ReadOp>, done: &mpsc::Sender<ReadDone>, _cancel: &Cancel) {
        let file: Arc<dyn ReadAt> = Arc::clone(&self.file) as _;
        submit(&file, ops, done);
    }

    fn local(&self) -> Option<Arc<dyn ReadAt>> {
        Some(Arc::clone(&self.file) as _)
    }

    fn check_unchanged(&self) -> io::Result<()> {
        check_unchanged(self.file.get()?.as_ref(), &self.file.version)
    }
}

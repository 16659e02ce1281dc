//! Caches blocks in memory: one cache per process, for all handles, batches and tasks.
//!
//! ```text
//! State   one state of one source (`Source::state`): its blocks are never those of another state (`key`)
//! Key     a block of it: where it is stored, encoded or decoded (`key`)
//! Store   blocks by key, bounded in bytes; those that were not requested again go first (`store`)
//! Held    blocks of one read as bytes that an engine reads (`held`)
//! Flying  blocks that a read is about to keep, so that others wait for them (`flying`)
//! Folder  encoded blocks of remote files for later processes, if the caller names a folder (`folder`)
//! ```
//!
//! `read/cached.rs` decides which blocks a read takes from the cache and keeps there. The bytes count towards the
//! memory budget of the process and are released when a call needs them.
//!
//! ```
//! use strile::cache;
//!
//! cache::set_limit(64 << 20);
//! assert_eq!(cache::stats().limit, 64 << 20);
//! ```

mod flying;
#[cfg(feature = "remote")]
mod folder;
mod held;
mod key;
mod store;

pub(crate) use flying::{Flying, PATIENCE};
pub(crate) use held::Held;
pub(crate) use key::{Form, Key, State, is_settled};
pub(crate) use store::Block;

use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::Store;
use strile_engine::{BlockLayout, Budget, PerProcess, Spare};
use strile_tiff::InvalidValue;

/// Default limit of a process. With a small budget, it is an eighth of that.
const DEFAULT_LIMIT: u64 = 256 << 20;

/// Reads whose blocks take more than this fraction of the limit do not use the cache.
const MOST_OF_LIMIT: u64 = 4;

/// Whether a read uses the block cache of the process. The pixels are the same either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cache {
    /// `Encoded` for remote files. For local files, compressed blocks that are read for the second time are kept
    /// decoded.
    #[default]
    Auto,
    /// The read does not use the cache.
    Off,
    /// Keeps blocks of remote files encoded, as stored. The operating system does that for local files.
    Encoded,
    /// Keeps blocks that the CPU decodes as pixels, from the first read on. Blocks of remote files that a GPU decodes
    /// are kept encoded.
    Decoded,
}

impl FromStr for Cache {
    type Err = InvalidValue;

    /// Parses `auto`, `off`, `encoded` or `decoded`.
    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        match text {
            "auto" => Ok(Self::Auto),
            "off" => Ok(Self::Off),
            "encoded" => Ok(Self::Encoded),
            "decoded" => Ok(Self::Decoded),
            _ => Err(format!("expected auto, off, encoded or decoded, got `{text}`").into()),
        }
    }
}

/// Size and hit counts of the cache of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheStats {
    /// Limit in bytes.
    pub limit: u64,
    /// Bytes in the cache.
    pub bytes: u64,
    /// Blocks in the cache.
    pub blocks: usize,
    /// Number of blocks that reads found in it.
    pub hits: u64,
    /// Number of blocks that reads looked for and did not find.
    pub misses: u64,
    /// Limit of its folder in bytes; 0 without one.
    pub folder_limit: u64,
    /// Bytes in its folder, as far as this process knows.
    pub folder_bytes: u64,
    /// Number of blocks that reads found in its folder. They are included in the hits.
    pub folder_hits: u64,
}

/// Returns statistics of the cache of the process.
pub fn stats() -> CacheStats {
    let (hits, misses) = process().counted();
    let folder_hits = process().folder_hits.load(Ordering::Relaxed);
    #[cfg(feature = "remote")]
    let (folder_limit, folder_bytes) =
        folder_in_use().map_or((0, 0), |folder| (folder.limit(), folder.bytes()));
    #[cfg(not(feature = "remote"))]
    let (folder_limit, folder_bytes) = (0, 0);
    let store = process().lock();
    CacheStats {
        limit: store.limit(),
        bytes: store.bytes(),
        blocks: store.len(),
        hits,
        misses,
        folder_limit,
        folder_bytes,
        folder_hits,
    }
}

/// Also keeps encoded blocks of remote files in a folder, for later processes; `None` stops that. The folder holds at
/// most `limit` bytes; the oldest blocks are removed first.
///
/// The folder is created if it does not exist, and must be accessible to the user only (permissions 0700). File names
/// reveal nothing of URLs and credentials. A block is found again if the same version of the same object is reached in
/// the same way. Reads that do not use the cache do not use the folder. A child of a fork has no folder.
///
/// ```no_run
/// strile::cache::set_folder(Some("blocks".as_ref()), 10 << 30)?;
/// # Ok::<(), strile::Error>(())
/// ```
#[cfg(feature = "remote")]
pub fn set_folder(path: Option<&std::path::Path>, limit: u64) -> crate::error::Result<()> {
    let opened = path
        .map(|path| folder::Folder::open(path, limit).map_err(|error| crate::error::Error::io(path, error)));
    let opened = opened.transpose()?.map(Arc::new);
    *folder_place().lock().unwrap_or_else(PoisonError::into_inner) = opened;
    Ok(())
}

#[cfg(feature = "remote")]
fn folder_place() -> &'static Mutex<Option<Arc<folder::Folder>>> {
    static FOLDER: PerProcess<Mutex<Option<Arc<folder::Folder>>>> = PerProcess::new();
    FOLDER.get(Mutex::default)
}

/// Returns the folder, if there is one.
#[cfg(feature = "remote")]
fn folder_in_use() -> Option<Arc<folder::Folder>> {
    folder_place().lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Limits the bytes of the process's cache from now on; 0 turns it off for all reads. The default is 256 MiB, or an
/// eighth of the memory budget if that is less. A child of a fork has a separate cache with the same limit.
pub fn set_limit(bytes: u64) {
    LIMIT.store(bytes, Ordering::Relaxed);
    let removed = process().lock().set_limit(bytes);
    drop(removed);
}

/// Empties the cache of the process.
pub fn clear() {
    let removed = process().lock().reclaim(u64::MAX);
    drop(removed);
}

/// Returns the most bytes of blocks with which a read uses the cache.
pub(crate) fn most_of_a_read() -> u64 {
    process().lock().limit() / MOST_OF_LIMIT
}

/// Looks for blocks. A decoded block must have been made with the layout beside its key.
pub(crate) fn find(wanted: &[(Key, Option<&Arc<BlockLayout>>)]) -> Vec<Found> {
    if wanted.is_empty() {
        return Vec::new();
    }
    let mut store = process().lock();
    let find = |(key, layout): &(Key, Option<&Arc<BlockLayout>>)| match store.find(key, *layout) {
        Some(block) => Found::Here(block),
        None if store.was_sought(key) => Found::Again,
        None => Found::Missing,
    };
    let found: Vec<Found> = wanted.iter().map(find).collect();
    drop(store);
    #[cfg(feature = "remote")]
    let found = wanted
        .iter()
        .zip(found)
        .map(|((key, _), found)| match found {
            Found::Here(block) => Found::Here(block),
            missing => in_folder(key).map_or(missing, Found::Here),
        })
        .collect();
    found
}

/// Returns a block from the folder, and keeps it in memory.
#[cfg(feature = "remote")]
fn in_folder(key: &Key) -> Option<Arc<Block>> {
    let named = key.state.2.filter(|_| key.form == Form::Encoded)?;
    let folder = folder_in_use()?;
    let spare = room(usize::try_from(key.len).ok()?)?;
    let bytes = folder.find(named, key.offset, key.len)?;
    process().folder_hits.fetch_add(1, Ordering::Relaxed);
    let block = Arc::new(Block::new(bytes, None, Some(spare)));
    drop(process().lock().insert(*key, Arc::clone(&block)));
    Some(block)
}

/// Counts the hits and misses of a read.
pub(crate) fn note(hits: usize, missed: &[Key]) {
    let of_process = process();
    of_process.hits.fetch_add(hits as u64, Ordering::Relaxed);
    of_process.misses.fetch_add(missed.len() as u64, Ordering::Relaxed);
    if !missed.is_empty() {
        let mut store = of_process.lock();
        missed.iter().for_each(|key| store.note(key));
    }
}

/// The result of looking for a block.
pub(crate) enum Found {
    Here(Arc<Block>),
    /// Not in the cache, but looked for before.
    Again,
    Missing,
}

/// Reserves memory for a block that is about to be kept; `None` if there is no room for it.
pub(crate) fn room(bytes: usize) -> Option<Spare> {
    let bytes = (bytes as u64).saturating_add(store::BESIDE);
    if bytes > most_of_a_read() {
        return None;
    }
    Budget::of_process().spare(bytes, reclaim)
}

/// Keeps a block.
pub(crate) fn keep(key: Key, block: Arc<Block>) {
    #[cfg(feature = "remote")]
    if let Some(named) = key.state.2.filter(|_| key.form == Form::Encoded)
        && let Some(folder) = folder_in_use()
    {
        folder.keep(named, key.offset, block.bytes());
    }
    let removed = process().lock().insert(key, block);
    // Without the lock: freeing takes time, and notifies the budget.
    drop(removed);
}

/// Releases memory that a call needs.
fn reclaim(bytes: u64) {
    let removed = process().lock().reclaim(bytes);
    drop(removed);
}

/// The limit set by `set_limit`.
static LIMIT: AtomicU64 = AtomicU64::new(NOT_SET);
const NOT_SET: u64 = u64::MAX;

struct OfProcess {
    store: Mutex<Store>,
    hits: AtomicU64,
    misses: AtomicU64,
    folder_hits: AtomicU64,
}

impl OfProcess {
    fn lock(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn counted(&self) -> (u64, u64) {
        (self.hits.load(Ordering::Relaxed), self.misses.load(Ordering::Relaxed))
    }
}

fn process() -> &'static OfProcess {
    static CACHE: PerProcess<OfProcess> = PerProcess::new();
    CACHE.get(|| {
        let limit = match LIMIT.load(Ordering::Relaxed) {
            NOT_SET => DEFAULT_LIMIT.min(Budget::of_process().limit() / 8),
            set => set,
        };
        OfProcess {
            store: Mutex::new(Store::new(limit)),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            folder_hits: AtomicU64::new(0),
        }
    })
}

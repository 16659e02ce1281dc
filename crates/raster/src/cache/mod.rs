//! Blocks that were read before, kept in memory: one cache per process, for all handles, batches and tasks.
//!
//! ```text
//! State   one state of one source (`Source::state`): its blocks are never those of another state (`key`)
//! Key     a block of it: where it is stored, encoded or decoded (`key`)
//! Store   blocks by key, bounded in bytes; the ones that nobody asked for again go first (`store`)
//! Held    blocks of one read as bytes that an engine reads (`held`)
//! Flying  blocks that a read is about to keep, so that others wait for them (`flying`)
//! Folder  encoded blocks of remote files for later processes, if the caller names a folder (`folder`)
//! ```
//!
//! What a read takes from the cache and what it leaves there is decided in `read/cached.rs`. The bytes are counted in the
//! memory budget of the process and given back when a call needs them.
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

/// The limit that a process begins with, but for a small budget: then it is an eighth of that.
const DEFAULT_LIMIT: u64 = 256 << 20;

/// A read whose blocks take more than this part of the limit leaves the cache alone.
const MOST_OF_LIMIT: u64 = 4;

/// Whether a read takes blocks from the cache of the process and leaves them there. The pixels are the same either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cache {
    /// `Encoded` for remote files. Of local files, compressed blocks that are read for the second time are kept decoded.
    #[default]
    Auto,
    /// The read does not use the cache.
    Off,
    /// Keeps blocks of remote files as they are stored. The operating system does that for local files.
    Encoded,
    /// Keeps blocks that the CPU decodes as pixels, from the first read on. Blocks of remote files that a GPU decodes are kept as
    /// they are stored.
    Decoded,
}

impl FromStr for Cache {
    type Err = InvalidValue;

    /// Reads `auto`, `off`, `encoded` or `decoded`.
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

/// What the cache of the process holds, and how often it helped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheStats {
    /// The most bytes that it may hold.
    pub limit: u64,
    /// Bytes that it holds.
    pub bytes: u64,
    /// Blocks that it holds.
    pub blocks: usize,
    /// Blocks that reads found in it.
    pub hits: u64,
    /// Blocks that reads looked for and did not find.
    pub misses: u64,
    /// The most bytes that its folder may hold; 0 without one.
    pub folder_limit: u64,
    /// Bytes in its folder, as far as this process knows.
    pub folder_bytes: u64,
    /// Blocks that reads found in its folder; they are among the hits.
    pub folder_hits: u64,
}

/// Returns what the cache of the process holds.
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

/// Keeps encoded blocks of remote files in a folder, too, where later processes find them; `None` ends that. The folder holds at most
/// `limit` bytes, the oldest blocks go first.
///
/// It is made if it is not there, and has to be the user's alone (permissions 0700). Names of files tell nothing of URLs and
/// credentials. Blocks are found again by those who reach the same version of the same object in the same way. Reads
/// that leave the cache alone leave the folder alone. A child of a fork has no folder.
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

/// The folder, if there is one.
#[cfg(feature = "remote")]
fn folder_in_use() -> Option<Arc<folder::Folder>> {
    folder_place().lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Limits the bytes that the cache of the process holds, from now on; 0 turns it off for all reads. At first it is 256 MiB, or
/// an eighth of the memory budget if that is less. A child of a fork has a cache of its own, with the same limit.
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

/// The most bytes of blocks that a read may have to use the cache.
pub(crate) fn most_of_a_read() -> u64 {
    process().lock().limit() / MOST_OF_LIMIT
}

/// Looks for blocks; a decoded one must have been made by the layout beside its key.
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

/// A block of the folder, which is in memory from then on.
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

/// Remembers that a read found so many blocks and missed these.
pub(crate) fn note(hits: usize, missed: &[Key]) {
    let of_process = process();
    of_process.hits.fetch_add(hits as u64, Ordering::Relaxed);
    of_process.misses.fetch_add(missed.len() as u64, Ordering::Relaxed);
    if !missed.is_empty() {
        let mut store = of_process.lock();
        missed.iter().for_each(|key| store.note(key));
    }
}

/// What the cache says of a block.
pub(crate) enum Found {
    Here(Arc<Block>),
    /// It is not there, and was looked for before.
    Again,
    Missing,
}

/// Counts memory of a block that is about to be kept; `None` if there is no room for it.
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
    // Not under the lock: freeing takes time, and tells the budget.
    drop(removed);
}

/// Gives back memory that a call needs.
fn reclaim(bytes: u64) {
    let removed = process().lock().reclaim(bytes);
    drop(removed);
}

/// The limit that was set.
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

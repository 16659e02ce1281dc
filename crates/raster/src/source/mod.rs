//! Sources of bytes.
//!
//! A source takes all reads of a batch before the first is waited for, and completes them in any order. A local source
//! (`local`) can also be read directly by any thread, which saves a CPU engine the staging.

mod file;
mod memory;
mod pooled;
mod redact;
mod regular;
#[cfg(feature = "remote")]
mod remote;
mod url;

pub use file::FileSource;
pub(crate) use file::{ReadExactAt, submit};
pub use memory::MemorySource;
pub(crate) use pooled::{FilePool, PooledSource, changed};
pub use redact::redacted;
pub(crate) use regular::{open_regular, version_at};
#[cfg(feature = "remote")]
pub use remote::{RemoteOpening, RemoteSource};
pub(crate) use url::{beside_url, open_url, url_of, with_url_extension};

use crate::cache::is_settled;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc;
use strile_engine::memory::{try_copy, try_zeroed};
use strile_engine::{Arena, Cancel, ReadAt};
pub use strile_engine::{ReadDone, ReadOp};

/// Default distance up to which ranges are fetched as one.
const MERGE_GAP: u64 = 64 << 10;

/// Identifies a state of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// Size in bytes.
    pub len: u64,
    /// An ETag, or the times and the identity of a local file (see `is_same`); empty if there is neither.
    pub mark: String,
}

impl Version {
    /// Returns whether both are the same state of one source.
    ///
    /// The mark of a local file is `MTIME/INODE.DEVICE.CTIME@MACHINE`, times in nanoseconds since 1970. Inode, device
    /// and change time count only if both marks come from the same machine: another machine that mounts the same
    /// folder, or the same machine after a restart, may number files differently. Then size and modification time
    /// decide.
    pub fn is_same(&self, other: &Self) -> bool {
        self == other || (self.len == other.len && regular::is_same_mark(&self.mark, &other.mark))
    }
}

/// Reads byte ranges of one file, from any number of threads.
///
/// Implemented by [`FileSource`], [`MemorySource`] and, with the feature `remote`, `RemoteSource`. Implement it to read
/// from elsewhere.
#[expect(clippy::len_without_is_empty, reason = "an empty source is an error of whoever opens it")]
pub trait Source: Send + Sync {
    /// Returns the name for messages: a path, a URL.
    fn name(&self) -> &str;

    /// Returns the size in bytes.
    fn len(&self) -> u64;

    /// Returns the version, which identifies this state of the source.
    fn version(&self) -> Version;

    /// Returns a text that identifies this state of this source among all sources of the process, so that its blocks
    /// can be kept in the block cache. The cache stores only a hash of it. The default is `None`: no block of the
    /// source is kept. Return a text only if a source with other bytes can never return the same.
    fn state(&self) -> Option<String> {
        None
    }

    /// Starts all reads. Sends exactly one `ReadDone` per read, possibly before returning. A source that waits for the
    /// network returns an error soon after `cancel` is set.
    fn submit(&self, ops: Vec<ReadOp>, done: &mpsc::Sender<ReadDone>, cancel: &Cancel);

    /// Returns the source as one that any thread can read directly, if it is local.
    fn local(&self) -> Option<Arc<dyn ReadAt>>;

    /// Returns whether `submit` may block. Such sources are submitted to from separate threads. By default, sources
    /// that are not `local` may block.
    fn waits(&self) -> bool {
        self.local().is_none()
    }

    /// Returns the distance up to which ranges are fetched as one. It is constant while the source is open.
    fn merge_gap(&self) -> u64 {
        MERGE_GAP
    }

    /// Returns the size above which ranges are cut into pieces, because pieces arrive sooner: in parallel. `None` if
    /// the whole range is one request.
    fn piece_len(&self) -> Option<u64> {
        None
    }

    /// Returns how many of its first bytes are in memory, so that reading them costs no request.
    fn at_hand(&self) -> u64 {
        0
    }

    /// Returns an error if the source has changed since it was opened. Called after every read: otherwise bytes of two
    /// states could be mixed in one result. Sources that check each read themselves need not implement it.
    fn check_unchanged(&self) -> io::Result<()> {
        Ok(())
    }

    /// Declares that the caller changes the source itself from now on. `check_unchanged` then reports nothing.
    fn expect_changes(&self) {}
}

/// Returns a text that identifies the state of a local file: its inode and its times. `None` if it changed just now.
pub(crate) fn state_of(version: &Version) -> Option<String> {
    is_settled(version, std::time::SystemTime::now())
        .then(|| format!("file {} {}", version.len, version.mark))
}

/// Returns an error if an open file has another size or modification time than its version. Changes of the file's name,
/// mode or number of links do not change its bytes.
pub(crate) fn check_unchanged(file: &std::fs::File, version: &Version) -> io::Result<()> {
    let metadata = file.metadata()?;
    let since = metadata.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let modified = since.map(|since| since.as_nanos().to_string()).unwrap_or_default();
    // The mark begins with the modification time.
    if metadata.len() == version.len && version.mark.split('/').next() == Some(modified.as_str()) {
        return Ok(());
    }
    Err(io::Error::other("the file has changed since it was opened: open it again"))
}

/// Reads several ranges, all submitted before the first is waited for.
pub(crate) fn read_ranges(
    source: &dyn Source,
    ranges: &[Range<u64>],
    cancel: &Cancel,
) -> io::Result<Vec<Vec<u8>>> {
    if ranges.is_empty() {
        return Ok(Vec::new());
    }
    let (sender, done) = mpsc::channel();
    let mut ops = Vec::with_capacity(ranges.len());
    for (id, range) in ranges.iter().enumerate() {
        let len = usize::try_from(range.end - range.start).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let bytes = try_zeroed(len, "ranges of a file").map_err(|_| io::ErrorKind::OutOfMemory)?;
        let split = Arena::from_vec(bytes).split(&[len]);
        let (_, slots) = split.ok_or(io::ErrorKind::OutOfMemory)?;
        ops.extend(slots.into_iter().map(|into| ReadOp { id, offset: range.start, into }));
    }
    source.submit(ops, &sender, cancel);
    drop(sender);
    let mut results = vec![Vec::new(); ranges.len()];
    let mut left = ranges.len();
    for ReadDone { id, into, result } in done {
        result?;
        left = left.saturating_sub(1);
        if let Some(place) = results.get_mut(id) {
            *place = try_copy(&into, "ranges of a file").map_err(|_| io::ErrorKind::OutOfMemory)?;
        }
    }
    match left {
        0 => Ok(results),
        _ => Err(io::Error::other("a source left reads unanswered")),
    }
}

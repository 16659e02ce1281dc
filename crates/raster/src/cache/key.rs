//! Keys of cached blocks.
//!
//! A source says what identifies its state (`Source::state`): the inode and the times of a local file, the address and
//! the ETag of a remote object. Both are secret to some extent (a signed URL), so the cache stores a hash of them, with
//! keys that differ between processes.

use crate::source::{Source, Version};
use std::hash::{BuildHasher as _, RandomState};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use strile_engine::{PerProcess, Span};

/// A state of a source: 128 bits of a keyed hash, and the key of the state in the cache's folder, if there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct State(u64, u64, pub(super) Option<[u8; 16]>);

impl State {
    /// Returns the state of a source; `None` if its blocks must not be kept.
    pub(crate) fn of(source: &dyn Source) -> Option<Self> {
        static KEYS: PerProcess<(RandomState, RandomState)> = PerProcess::new();
        let state = source.state()?;
        let (one, other) = KEYS.get(|| (RandomState::new(), RandomState::new()));
        // The folder has only blocks of remote files.
        #[cfg(feature = "remote")]
        let named = super::folder_in_use().filter(|_| source.local().is_none());
        #[cfg(feature = "remote")]
        let named = named.map(|folder| folder.named(&state));
        #[cfg(not(feature = "remote"))]
        let named = None;
        Some(Self(one.hash_one(&state), other.hash_one(&state), named))
    }

    #[cfg(test)]
    pub(crate) fn in_test(number: u64) -> Self {
        Self(number, number, None)
    }
}

/// The form in which a block is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Form {
    /// Encoded, as stored.
    Encoded,
    /// Decoded. `rows` are stored, `image_rows` lie in the image, and `reduce` wavelet levels were omitted.
    Decoded { rows: u32, image_rows: u32, reduce: u8 },
}

/// A block of one state of a source. Decoded blocks also have a layout, which is compared when they are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) state: State,
    pub(crate) offset: u64,
    pub(crate) len: u64,
    pub(crate) form: Form,
}

impl Key {
    pub(crate) fn new(state: State, span: Span, form: Form) -> Self {
        Self { state, offset: span.offset, len: span.len, form }
    }
}

/// Longest time between two changes of a file that its times may not distinguish: FAT has a resolution of two seconds.
const TICK: Duration = Duration::from_secs(2);

/// Returns whether a later change of a local file would change its times. A file that was changed just now may be
/// changed again with the same times, and without an inode a file cannot be distinguished from another.
pub(crate) fn is_settled(version: &Version, now: SystemTime) -> bool {
    let settled = || {
        let (modified, identity) = version.mark.split_once('/')?;
        let (identity, _) = identity.rsplit_once('@')?;
        let changed = identity.rsplit('.').next()?;
        let last = modified.parse::<u128>().ok()?.max(changed.parse::<u128>().ok()?);
        let now = now.duration_since(UNIX_EPOCH).ok()?.as_nanos();
        Some(last.checked_add(TICK.as_nanos())? < now)
    };
    settled().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_changed_just_now_are_left_out() {
        let at = |seconds: u64| UNIX_EPOCH + Duration::from_secs(seconds);
        let version = |mark: &str| Version { len: 9, mark: mark.into() };
        let second = 1_000_000_000_u64;
        let (modified, changed) = (100 * second, 200 * second);
        let mark = format!("{modified}/5.1.{changed}@a");
        assert!(!is_settled(&version(&mark), at(202)) && is_settled(&version(&mark), at(203)));
        let mark = format!("{changed}/5.1.{modified}@a");
        assert!(!is_settled(&version(&mark), at(202)) && is_settled(&version(&mark), at(203)));
        for mark in ["", "100", "x/5.1.2@a", "1/5.1.x@a", "\"etag\"", "1/2"] {
            assert!(!is_settled(&version(mark), at(1_000_000)), "{mark}");
        }
    }
}

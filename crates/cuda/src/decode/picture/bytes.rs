//! The bytes of one stream on the host: a part of memory that may hold several streams.

use std::ops::{Deref, Range};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use strile_engine::Arena;

/// The bytes of one stream on the host. Clones share them.
#[derive(Debug, Clone)]
pub struct Bytes(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Of(Arc<Lent>, Range<usize>),
    Part(Arc<Arena>, Range<usize>),
}

/// Memory that streams were read into; returned to its buffers on drop.
#[derive(Debug)]
pub(crate) struct Lent {
    pub(crate) bytes: Vec<u8>,
    home: Option<Arc<Buffers>>,
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(home) = &self.home {
            home.give(std::mem::take(&mut self.bytes));
        }
    }
}

/// Memory to read streams into, kept between batches and jobs: fresh memory costs more than reading into it.
#[derive(Debug, Default)]
pub(crate) struct Buffers(Mutex<Vec<Vec<u8>>>);

/// Bytes kept per engine.
pub const KEPT: usize = 128 << 20;

/// Bytes kept by all engines.
static ALL_KEPT: AtomicUsize = AtomicUsize::new(0);

/// Returns the bytes of ordinary memory that engines keep between jobs: at most [`KEPT`] per device. An engine reaches
/// this limit when many jobs read pictures at once.
pub fn kept_bytes() -> usize {
    ALL_KEPT.load(Ordering::Relaxed)
}

/// Minimum size of buffers, so that they are interchangeable.
const LEAST: usize = (1 << 20) + (128 << 10);

impl Buffers {
    /// Lends `len` bytes with unspecified contents; `None` if there is no memory.
    pub(crate) fn lend(self: &Arc<Self>, len: usize) -> Option<Lent> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.iter().rposition(|bytes| bytes.capacity() >= len).map(|at| kept.swap_remove(at));
        drop(kept);
        let mut bytes = found.unwrap_or_default();
        ALL_KEPT.fetch_sub(bytes.capacity(), Ordering::Relaxed);
        bytes.try_reserve_exact(len.max(LEAST).saturating_sub(bytes.len())).ok()?;
        bytes.resize(len, 0);
        Some(Lent { bytes, home: Some(Arc::clone(self)) })
    }

    fn give(&self, bytes: Vec<u8>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let has: usize = kept.iter().map(Vec::capacity).sum();
        if has.saturating_add(bytes.capacity()) <= KEPT {
            ALL_KEPT.fetch_add(bytes.capacity(), Ordering::Relaxed);
            kept.push(bytes);
        }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        let kept = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        ALL_KEPT.fetch_sub(kept.iter().map(Vec::capacity).sum(), Ordering::Relaxed);
    }
}

impl Bytes {
    /// Returns a part of an arena; `None` if it leaves the arena.
    pub fn part(arena: &Arc<Arena>, range: Range<usize>) -> Option<Self> {
        arena.bytes().get(range.clone())?;
        Some(Self(Kind::Part(Arc::clone(arena), range)))
    }

    /// Returns a part of the bytes read; `None` if it leaves them.
    pub(crate) fn of(bytes: &Arc<Lent>, range: Range<usize>) -> Option<Self> {
        bytes.bytes.get(range.clone())?;
        Some(Self(Kind::Of(Arc::clone(bytes), range)))
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        let all = 0..bytes.len();
        Self(Kind::Of(Arc::new(Lent { bytes, home: None }), all))
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Kind::Of(lent, range) => lent.bytes.get(range.clone()).unwrap_or_default(),
            Kind::Part(arena, range) => arena.bytes().get(range.clone()).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_what_it_names_and_nothing_outside_is_had() {
        let arena = Arc::new(Arena::from_vec((0..10).collect()));
        assert_eq!(Bytes::part(&arena, 3..6).as_deref(), Some(&[3, 4, 5][..]));
        assert!(Bytes::part(&arena, 3..11).is_none());
        assert_eq!(Bytes::from(vec![7, 8]).clone().to_vec(), [7, 8]);
    }

    #[test]
    fn buffers_come_back_and_no_more_are_kept_than_may_be() {
        let buffers = Arc::new(Buffers::default());
        let first = buffers.lend(1000).unwrap();
        let at = first.bytes.as_ptr();
        let bytes = Bytes::of(&Arc::new(first), 10..20).unwrap();
        assert!(buffers.0.lock().unwrap().is_empty());
        drop(bytes);
        let again = buffers.lend(LEAST).unwrap();
        assert_eq!((again.bytes.as_ptr(), again.bytes.len()), (at, LEAST));
        let others: Vec<Lent> = (0..200).map(|_| buffers.lend(5).unwrap()).collect();
        drop((again, others));
        let kept = buffers.0.lock().unwrap();
        let bytes = kept.iter().map(Vec::capacity).sum::<usize>();
        assert!(kept.len() > 50 && bytes <= KEPT && kept_bytes() >= bytes);
    }
}

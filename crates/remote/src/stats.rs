//! Counts of this process's requests to servers.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of all remote reads of a process since its start. The difference of two values covers the time between them.
///
/// ```
/// let before = strile_remote::stats();
/// assert_eq!(strile_remote::stats().since(&before), strile_remote::RemoteStats::default());
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteStats {
    /// Requests for objects, with retries, hedges and redirects.
    pub requests: u64,
    /// Bytes of bodies received.
    pub bytes: u64,
    /// Requests that repeat a failed one.
    pub retries: u64,
    /// Requests sent because another one took unusually long.
    pub hedges: u64,
    /// Connections that were opened.
    pub connections: u64,
}

impl RemoteStats {
    /// Returns the counts since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            requests: self.requests.saturating_sub(before.requests),
            bytes: self.bytes.saturating_sub(before.bytes),
            retries: self.retries.saturating_sub(before.retries),
            hedges: self.hedges.saturating_sub(before.hedges),
            connections: self.connections.saturating_sub(before.connections),
        }
    }
}

/// One count.
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

pub(crate) static REQUESTS: Counter = Counter(AtomicU64::new(0));
pub(crate) static BYTES: Counter = Counter(AtomicU64::new(0));
pub(crate) static RETRIES: Counter = Counter(AtomicU64::new(0));
pub(crate) static HEDGES: Counter = Counter(AtomicU64::new(0));
pub(crate) static CONNECTIONS: Counter = Counter(AtomicU64::new(0));

/// Returns the counts of this process so far.
pub fn stats() -> RemoteStats {
    RemoteStats {
        requests: REQUESTS.get(),
        bytes: BYTES.get(),
        retries: RETRIES.get(),
        hedges: HEDGES.get(),
        connections: CONNECTIONS.get(),
    }
}

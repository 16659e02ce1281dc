//! Waits for many remote files at once: the time of a round trip is paid once, not once per file.

use crate::error::{Error, Result};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use strile_engine::{Cancel, thread_builder};

/// Number of files that are waited for at once. Waiting threads cost little, and servers accept this many connections
/// per client.
pub(super) const AT_ONCE: usize = 32;

/// Returns `work` of each item, in order, or the first error by order: items are started in order and none after an
/// error, so all before a faulty one have been tried. If no item is `afar`, runs on one thread.
pub(crate) fn together<T: Send, R: Send>(
    items: Vec<T>,
    afar: bool,
    cancel: &Cancel,
    work: impl Fn(T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let threads = if afar { items.len().min(AT_ONCE) } else { 1 };
    let (queue, found) = (Mutex::new(items.into_iter().enumerate()), Mutex::new(Vec::new()));
    let failed = AtomicBool::new(false);
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let run = || {
        while !failed.load(Ordering::Relaxed) && !cancel.is_cancelled() {
            let Some((at, item)) = next() else { return };
            let result = work(item);
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            found.lock().unwrap_or_else(PoisonError::into_inner).push((at, result));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // If the system has no more threads, the existing ones do the work.
            if thread_builder("strile-together").and_then(|new| new.spawn_scoped(scope, run)).is_err() {
                break;
            }
        }
        run();
    });
    if cancel.is_cancelled() {
        return Err(Error::Cancelled);
    }
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_unstable_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, result)| result).collect()
}

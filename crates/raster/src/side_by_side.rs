//! Runs short work of the host on several threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Returns `make` of each number below `count`, in order, computed by up to `threads` threads.
pub(crate) fn side_by_side<T: Send>(
    count: usize,
    threads: usize,
    make: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
    if threads <= 1 || count <= 1 {
        return (0..count).map(make).collect();
    }
    let (next, all) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(count)));
    strile_cpu::together(threads.min(count), || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= count {
                return;
            }
            let made = make(at);
            all.lock().unwrap_or_else(PoisonError::into_inner).push((at, made));
        }
    });
    let mut all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, made)| made).collect()
}

/// Like [`side_by_side`] for work that may fail: returns all results, or the first error.
pub(crate) fn try_side_by_side<T: Send, E: Send>(
    count: usize,
    threads: usize,
    make: impl Fn(usize) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    side_by_side(count, threads, make).into_iter().collect()
}

/// Like [`side_by_side`] for work that takes microseconds: a thread takes `few` items at once.
pub(crate) fn side_by_side_few<T: Send>(
    count: usize,
    few: usize,
    threads: usize,
    make: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
    let few = few.max(1);
    let some = |at: usize| (at * few..count.min((at + 1) * few)).map(&make).collect::<Vec<T>>();
    side_by_side(count.div_ceil(few), threads, some).into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_keep_their_order_on_any_number_of_threads() {
        for threads in [1, 2, 7] {
            let made = side_by_side(20, threads, |at| at * 2);
            assert_eq!(made, (0..20).map(|at| at * 2).collect::<Vec<_>>());
        }
    }

    #[test]
    fn few_tasks_at_once_keep_their_order() {
        for (count, few) in [(0, 3), (1, 3), (20, 3), (21, 7), (5, 9)] {
            assert_eq!(side_by_side_few(count, few, 3, |at| at), (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn tasks_may_have_tasks() {
        let sums = side_by_side(8, 4, |at| side_by_side(at, 4, |inner| inner).into_iter().sum::<usize>());
        assert_eq!(sums, [0, 0, 1, 3, 6, 10, 15, 21]);
    }
}

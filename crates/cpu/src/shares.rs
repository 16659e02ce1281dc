//! Work divided into one share per worker.
//!
//! A worker takes the items of its share in order. When that is empty, it takes the back half of the largest remaining
//! share. So workers write far apart. If they took neighbouring blocks, all of them would write to the same fresh pages
//! of 2 MiB at the same time, each of which the system may clear more than once (docs/bench/log/notes.md).

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Items, each of which is handed out once.
pub(crate) struct Shares {
    of: Box<[Share]>,
}

/// Remaining items of one worker: the first, and in the high half the one after the last. A share is mostly changed by
/// its own worker, so each has separate cache lines.
#[repr(align(128))]
struct Share(AtomicU64);

fn pack(items: &Range<u32>) -> u64 {
    u64::from(items.end) << 32 | u64::from(items.start)
}

#[expect(clippy::cast_possible_truncation, reason = "the low half is wanted")]
fn unpack(packed: u64) -> Range<u32> {
    packed as u32..(packed >> 32) as u32
}

impl Share {
    fn left(&self) -> Range<u32> {
        unpack(self.0.load(Ordering::Relaxed))
    }

    /// Takes what `cut` returns for the remaining items, and stores the range that remains then.
    fn take<T>(&self, cut: impl Fn(Range<u32>) -> Option<(T, Range<u32>)>) -> Option<T> {
        let mut taken = None;
        let updated = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |packed| {
            let (part, rest) = cut(unpack(packed))?;
            taken = Some(part);
            Some(pack(&rest))
        });
        updated.ok().and(taken)
    }

    fn first(&self) -> Option<u32> {
        self.take(|items| (!items.is_empty()).then(|| (items.start, items.start + 1..items.end)))
    }

    /// Returns the back half, the larger one: the owner is working on an item before it.
    fn back_half(&self) -> Option<Range<u32>> {
        self.take(|items| {
            let middle = items.start + u32::try_from(items.len() / 2).ok()?;
            (!items.is_empty()).then_some((middle..items.end, items.start..middle))
        })
    }
}

impl Shares {
    /// Divides `items` evenly: adjacent items have the same worker.
    pub(crate) fn new(items: u32, workers: usize) -> Self {
        let workers = u32::try_from(workers).unwrap_or(u32::MAX).clamp(1, items.max(1));
        let bound = |worker: u32| {
            let bound = u64::from(items) * u64::from(worker) / u64::from(workers);
            u32::try_from(bound).unwrap_or(items)
        };
        let share = |worker| Share(AtomicU64::new(pack(&(bound(worker)..bound(worker + 1)))));
        Self { of: (0..workers).map(share).collect() }
    }

    /// Returns the next item for a worker; `None` once all are handed out. Workers without a share may call this too.
    pub(crate) fn next(&self, worker: usize) -> Option<u32> {
        let own = self.of.get(worker);
        if let Some(item) = own.and_then(Share::first) {
            return Some(item);
        }
        loop {
            let largest = self.of.iter().max_by_key(|share| share.left().len())?;
            if largest.left().is_empty() {
                return None;
            }
            let Some(own) = own else {
                if let Some(item) = largest.first() {
                    return Some(item);
                }
                continue;
            };
            if let Some(stolen) = largest.back_half() {
                // The own share is empty, and other workers only take from shares that are not.
                own.0.store(pack(&(stolen.start + 1..stolen.end)), Ordering::Relaxed);
                return Some(stolen.start);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_begins_with_its_own_share_and_then_helps_others() {
        let shares = Shares::new(10, 2);
        let taken = |worker| shares.next(worker).unwrap();
        assert_eq!([taken(0), taken(0), taken(1)], [0, 1, 5]);
        // 6 to 9 are left of the second share; its owner takes them from the front, the other worker from the middle.
        assert_eq!([taken(0), taken(0), taken(0)], [2, 3, 4]);
        assert_eq!([taken(0), taken(1), taken(0), taken(1)], [8, 6, 9, 7]);
        assert_eq!((shares.next(0), shares.next(1)), (None, None));
        assert_eq!(Shares::new(0, 4).next(3), None);
        let few = Shares::new(2, 4);
        let all = [few.next(3), few.next(1), few.next(3), few.next(0)];
        assert_eq!(all, [Some(1), Some(0), None, None]);
    }

    #[test]
    fn every_item_is_handed_out_once() {
        for (items, workers) in [(1, 3), (1000, 1), (20_000, 4), (4999, 7)] {
            let shares = Shares::new(items, workers);
            let taken: Vec<Vec<u32>> = std::thread::scope(|scope| {
                let work = |worker| {
                    let shares = &shares;
                    scope.spawn(move || std::iter::from_fn(|| shares.next(worker)).collect())
                };
                let started: Vec<_> = (0..workers).map(work).collect();
                started.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            let mut all = taken.concat();
            all.sort_unstable();
            assert_eq!(all, (0..items).collect::<Vec<_>>());
        }
    }
}

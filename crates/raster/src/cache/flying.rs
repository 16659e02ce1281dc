//! Blocks that a read is about to keep. Other reads that need them wait for them, instead of fetching and decoding them
//! again.
//!
//! Waiting is never necessary, only cheaper. So a read waits for a bounded time, and not at all on a thread that holds
//! back blocks itself: two reads never wait for each other.

use super::key::Key;
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};
use strile_engine::{Cancel, PerProcess};

/// Longest time that a read waits for blocks of others.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);
/// How often a waiting read checks whether it was cancelled.
const LOOK: Duration = Duration::from_millis(50);

#[derive(Default)]
struct UnderWay {
    keys: Mutex<HashSet<Key>>,
    fewer: Condvar,
}

fn under_way() -> &'static UnderWay {
    static UNDER_WAY: PerProcess<UnderWay> = PerProcess::new();
    UNDER_WAY.get(UnderWay::default)
}

thread_local! {
    /// Number of live `Flying` of this thread.
    static HELD: Arc<AtomicUsize> = Arc::default();
}

/// Blocks that a read is about to keep. The announcement ends when they are kept, or when this is dropped.
#[derive(Default)]
pub(crate) struct Flying {
    keys: Vec<Key>,
    held: Option<Arc<AtomicUsize>>,
}

impl Flying {
    /// Announces blocks. Returns `None` after waiting for a read that is about to keep some of them: look for them
    /// again. After `until`, does not wait for them any more.
    pub(crate) fn begin(keys: Vec<Key>, until: Instant, cancel: &Cancel) -> Option<Self> {
        if keys.is_empty() {
            return Some(Self::default());
        }
        let held = HELD.with(Arc::clone);
        let under_way = under_way();
        let mut others = under_way.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let left = until.saturating_duration_since(Instant::now());
        let waits = held.load(Ordering::Relaxed) == 0 && !left.is_zero() && !cancel.is_cancelled();
        if waits && keys.iter().any(|key| others.contains(key)) {
            let woken = under_way.fewer.wait_timeout(others, left.min(LOOK));
            drop(woken.unwrap_or_else(PoisonError::into_inner));
            return None;
        }
        let keys = keys.into_iter().filter(|key| others.insert(*key)).collect();
        held.fetch_add(1, Ordering::Relaxed);
        Some(Self { keys, held: Some(held) })
    }
}

impl Drop for Flying {
    fn drop(&mut self) {
        let Some(held) = self.held.take() else { return };
        held.fetch_sub(1, Ordering::Relaxed);
        let under_way = under_way();
        let mut others = under_way.keys.lock().unwrap_or_else(PoisonError::into_inner);
        for key in &self.keys {
            others.remove(key);
        }
        drop(others);
        under_way.fewer.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::super::key::{Form, State};
    use super::*;
    use strile_engine::Span;

    fn key(offset: u64) -> Key {
        Key::new(State::in_test(offset), Span { offset, len: 1 }, Form::Encoded)
    }

    #[test]
    fn another_thread_waits_until_it_is_over() {
        let go_on = Cancel::default();
        let first = Flying::begin(vec![key(71)], Instant::now(), &go_on).unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        let waiting = std::thread::spawn(move || {
            let go_on = Cancel::default();
            let waits = || Flying::begin(vec![key(70), key(71)], until, &go_on);
            let mut times = 0;
            loop {
                match waits() {
                    Some(flying) => break (flying.keys.len(), times),
                    None => times += 1,
                }
            }
        });
        std::thread::sleep(Duration::from_millis(120));
        drop(first);
        let (keys, times) = waiting.join().unwrap();
        assert!(keys == 2 && times > 0, "{keys} blocks after {times} waits");
    }

    #[test]
    fn nobody_waits_for_itself_nor_for_long_nor_when_cancelled() {
        let (go_on, late) = (Cancel::default(), Instant::now() + Duration::from_secs(60));
        let first = Flying::begin(vec![key(81)], late, &go_on).unwrap();
        let again = Flying::begin(vec![key(81), key(82)], late, &go_on).unwrap();
        assert_eq!(again.keys, [key(82)], "the same thread");
        let other = |until: Instant, cancelled: bool| {
            std::thread::spawn(move || {
                let cancel = Cancel::default();
                if cancelled {
                    cancel.cancel();
                }
                Flying::begin(vec![key(81)], until, &cancel).map(|flying| flying.keys.len())
            })
        };
        assert_eq!(other(Instant::now(), false).join().unwrap(), Some(0));
        assert_eq!(other(late, true).join().unwrap(), Some(0));
        drop((first, again));
        assert_eq!(other(late, false).join().unwrap(), Some(1));
    }
}

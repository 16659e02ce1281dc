//! Helper threads for one large block.
//!
//! Threads normally share work by blocks; a job with fewer blocks than threads gives each block helpers. They are
//! started for one piece of work and end with it, and count together with the workers of the pool, so that the process
//! never has more threads at work than the pool has. A worker never takes other work while it waits for its helpers, so
//! its block completes as early as possible.

use crate::pool;
use crate::stop::Stop;
use std::sync::{Mutex, PoisonError};
use std::thread;
use strile_engine::thread_builder;

/// Number of helper threads, and the signal that stops them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Crew {
    helpers: usize,
    stop: Stop,
}

impl Crew {
    /// Returns a crew of up to `helpers` threads besides the caller.
    pub(crate) fn new(helpers: usize) -> Self {
        Self { helpers, stop: Stop::default() }
    }

    /// Returns the same crew, which takes no further items once `stop` is set.
    pub(crate) fn stopping(self, stop: Stop) -> Self {
        Self { stop, ..self }
    }

    /// Returns the stop signal. After it is set, work may be incomplete.
    pub(crate) fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Returns a crew without helpers.
    pub(crate) fn alone() -> Self {
        Self::default()
    }

    /// Returns whether the crew has no helpers.
    pub(crate) fn is_alone(&self) -> bool {
        self.helpers == 0
    }

    /// Reserves the helpers that are idle now.
    pub(crate) fn enlist(&self) -> Hands<'_> {
        Hands { helpers: pool::helpers(self.helpers), stop: &self.stop }
    }

    /// Runs `work` for every item, starting in order, with several items in parallel; every thread has its own state.
    pub(crate) fn share<T, S>(
        &self,
        items: impl Iterator<Item = T> + Send,
        state: impl Fn() -> S + Sync,
        work: impl Fn(&mut S, T) + Sync,
    ) {
        self.enlist().share(items, state, work);
    }
}

/// Threads that are reserved for a block: the caller and its helpers.
pub(crate) struct Hands<'a> {
    helpers: pool::Helpers,
    stop: &'a Stop,
}

impl<'a> Hands<'a> {
    /// Returns the number of threads.
    pub(crate) fn threads(&self) -> usize {
        1 + self.helpers.count()
    }

    /// Returns the stop signal of the crew.
    pub(crate) fn stop(&self) -> &'a Stop {
        self.stop
    }

    /// See `Crew::share`.
    pub(crate) fn share<T, S>(
        self,
        items: impl Iterator<Item = T> + Send,
        state: impl Fn() -> S + Sync,
        work: impl Fn(&mut S, T) + Sync,
    ) {
        let Self { helpers, stop } = self;
        if helpers.count() == 0 {
            let mut state = state();
            return items.take_while(|_| !stop.is_set()).for_each(|item| work(&mut state, item));
        }
        let items = Mutex::new(items);
        let take_part = || {
            let mut state = state();
            while !stop.is_set() {
                let item = items.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some(item) = item else { break };
                work(&mut state, item);
            }
        };
        thread::scope(|scope| {
            for _ in 0..helpers.count() {
                // If a thread cannot be started, there is one helper less.
                let started =
                    thread_builder("strile-helper").and_then(|new| new.spawn_scoped(scope, take_part));
                if started.is_err() {
                    break;
                }
            }
            take_part();
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn every_item_is_done_once() {
        for helpers in [0, 1, 7] {
            let mut done = vec![0_u8; 1000];
            let states = AtomicUsize::new(0);
            Crew::new(helpers).share(
                done.iter_mut(),
                || states.fetch_add(1, Ordering::Relaxed),
                |_, item| *item += 1,
            );
            assert!(done.iter().all(|&count| count == 1));
            assert!(states.into_inner() <= helpers + 1);
        }
    }
}

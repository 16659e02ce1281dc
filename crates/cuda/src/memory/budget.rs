//! Budget of a device's memory, shared by all jobs of the process.
//!
//! An *output* lease lives as long as its owner wants; a *working* lease ends with its job. So a request that does not
//! fit now waits while working leases exist, and fails otherwise, because waiting would not help. Requests are served
//! in order of arrival; otherwise a large one could wait behind small ones for ever.
//!
//! To prevent deadlock, the holder of a working lease must not call `take`: a job requests its output first and then
//! once all its working memory. `try_take` never waits and is exempt.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use strile_engine::{BudgetError, Cancel, EngineError};

/// A limit on device memory and the bytes lent out.
#[derive(Debug)]
pub struct Budget {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    limit: u64,
    used: u64,
    peak: u64,
    /// Number of working leases.
    working: u64,
    /// Waiting requests, in order of arrival.
    queue: VecDeque<u64>,
    next: u64,
}

/// How long a lease is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// As long as its owner wants.
    Output,
    /// Until the job that holds it ends.
    Working,
}

/// Interval at which a waiting request checks for cancellation.
const LOOKS_EVERY: Duration = Duration::from_millis(20);

impl Budget {
    /// Returns a budget of `limit` bytes.
    pub fn new(limit: u64) -> Self {
        Self { state: Mutex::new(State { limit, ..State::default() }), changed: Condvar::new() }
    }

    /// Sets a new limit; existing leases stay.
    pub fn set_limit(&self, limit: u64) {
        self.lock().limit = limit;
        self.changed.notify_all();
    }

    /// Returns the limit in bytes.
    pub fn limit(&self) -> u64 {
        self.lock().limit
    }

    /// Returns the bytes not lent out.
    pub fn free(&self) -> u64 {
        self.lock().free()
    }

    /// Returns the largest number of bytes ever lent out at once.
    pub fn peak(&self) -> u64 {
        self.lock().peak
    }

    /// Lends `need` bytes until the lease is dropped, after waiting for working leases if necessary.
    pub fn take(
        self: &Arc<Self>,
        kind: Kind,
        need: u64,
        purpose: &'static str,
        cancel: &Cancel,
    ) -> Result<Lease, EngineError> {
        self.take_up_to(kind, (need, need), purpose, cancel)
    }

    /// Lends as much as is free between `least` and `want` bytes; waits only for `least`.
    pub fn take_up_to(
        self: &Arc<Self>,
        kind: Kind,
        (least, want): (u64, u64),
        purpose: &'static str,
        cancel: &Cancel,
    ) -> Result<Lease, EngineError> {
        let mut state = self.lock();
        let ticket = state.next;
        state.next += 1;
        state.queue.push_back(ticket);
        let outcome = loop {
            if cancel.is_cancelled() {
                break Err(EngineError::Cancelled);
            }
            let hopeless = least > state.limit;
            if hopeless || state.queue.front() == Some(&ticket) {
                if least <= state.free() {
                    let bytes = want.min(state.free()).max(least);
                    state.lend(kind, bytes);
                    break Ok(Lease { budget: Arc::clone(self), kind, bytes });
                }
                if hopeless || state.working == 0 {
                    break Err(state.refusal(least, purpose).into());
                }
            }
            let waited = self.changed.wait_timeout(state, LOOKS_EVERY);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        };
        state.queue.retain(|&other| other != ticket);
        drop(state);
        self.changed.notify_all();
        outcome
    }

    /// Lends `need` bytes now or returns why not; takes precedence over waiting requests.
    pub fn try_take(
        self: &Arc<Self>,
        kind: Kind,
        need: u64,
        purpose: &'static str,
    ) -> Result<Lease, BudgetError> {
        let mut state = self.lock();
        if need > state.free() {
            return Err(state.refusal(need, purpose));
        }
        state.lend(kind, need);
        Ok(Lease { budget: Arc::clone(self), kind, bytes: need })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code that can panic runs while the lock is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn free(&self) -> u64 {
        self.limit.saturating_sub(self.used)
    }

    fn lend(&mut self, kind: Kind, bytes: u64) {
        self.used += bytes;
        self.peak = self.peak.max(self.used);
        self.working += u64::from(kind == Kind::Working);
    }

    fn refusal(&self, need: u64, purpose: &'static str) -> BudgetError {
        BudgetError { need, free: self.free(), limit: self.limit, purpose }
    }
}

/// Device memory lent by a budget; returned on drop.
#[derive(Debug)]
pub struct Lease {
    budget: Arc<Budget>,
    kind: Kind,
    bytes: u64,
}

impl Lease {
    /// Returns the number of bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut state = self.budget.lock();
        state.used = state.used.saturating_sub(self.bytes);
        state.working = state.working.saturating_sub(u64::from(self.kind == Kind::Working));
        drop(state);
        self.budget.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::Kind::{Output, Working};
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    fn budget(limit: u64) -> Arc<Budget> {
        Arc::new(Budget::new(limit))
    }

    fn refusal(need: u64, free: u64, limit: u64) -> EngineError {
        BudgetError { need, free, limit, purpose: "pixels" }.into()
    }

    #[test]
    fn fails_at_once_where_waiting_would_be_for_nothing() {
        let (budget, never) = (budget(100), Cancel::default());
        let output = budget.take(Output, 60, "pixels", &never).unwrap();
        assert_eq!(budget.take(Working, 50, "pixels", &never).unwrap_err(), refusal(50, 40, 100));
        assert_eq!(budget.take(Output, 101, "pixels", &never).unwrap_err(), refusal(101, 40, 100));
        assert_eq!(budget.take(Output, u64::MAX, "pixels", &never).unwrap_err(), refusal(u64::MAX, 40, 100));
        drop(output);
        assert_eq!((budget.free(), budget.peak()), (100, 60));
        let all = budget.take(Working, 100, "pixels", &never).unwrap();
        // A request above the limit does not wait for a working lease either.
        assert_eq!(budget.take(Output, 101, "pixels", &never).unwrap_err(), refusal(101, 0, 100));
        assert_eq!(
            budget.try_take(Output, 1, "pixels").unwrap_err(),
            BudgetError { need: 1, free: 0, limit: 100, purpose: "pixels" }
        );
        drop(all);
    }

    #[test]
    fn waits_for_working_leases_and_then_gets_or_fails() {
        let budget = budget(100);
        let working = budget.take(Working, 80, "pixels", &Cancel::default()).unwrap();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| budget.take(Output, 50, "pixels", &Cancel::default()));
            std::thread::sleep(Duration::from_millis(50));
            assert!(!waits.is_finished());
            drop(working);
            assert_eq!(waits.join().unwrap().unwrap().bytes(), 50);
        });
        let output = budget.take(Output, 60, "pixels", &Cancel::default()).unwrap();
        let working = budget.take(Working, 10, "pixels", &Cancel::default()).unwrap();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| budget.take(Working, 50, "pixels", &Cancel::default()));
            std::thread::sleep(Duration::from_millis(50));
            drop(working);
            assert_eq!(waits.join().unwrap().unwrap_err(), refusal(50, 40, 100));
        });
        drop(output);
    }

    #[test]
    fn a_large_request_is_not_overtaken() {
        let budget = budget(100);
        let working = budget.take(Working, 50, "pixels", &Cancel::default()).unwrap();
        let order = AtomicU64::new(0);
        let waiting = |count| {
            while budget.lock().queue.len() < count {
                std::thread::yield_now();
            }
        };
        std::thread::scope(|scope| {
            let large = scope.spawn(|| {
                let lease = budget.take(Working, 90, "pixels", &Cancel::default()).unwrap();
                (lease, order.fetch_add(1, Ordering::SeqCst))
            });
            waiting(1);
            let small = scope.spawn(|| {
                let lease = budget.take(Working, 20, "pixels", &Cancel::default()).unwrap();
                (lease, order.fetch_add(1, Ordering::SeqCst))
            });
            waiting(2);
            drop(working);
            let (lease, first) = large.join().unwrap();
            assert_eq!(first, 0);
            drop(lease);
            assert_eq!(small.join().unwrap().1, 1);
        });
    }

    #[test]
    fn a_request_that_waits_can_be_cancelled() {
        let budget = budget(100);
        let _working = budget.take(Working, 80, "pixels", &Cancel::default()).unwrap();
        let cancel = Cancel::default();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| budget.take(Output, 50, "pixels", &cancel));
            cancel.cancel();
            assert_eq!(waits.join().unwrap().unwrap_err(), EngineError::Cancelled);
        });
        assert!(budget.lock().queue.is_empty());
    }

    #[test]
    fn gives_what_there_is_between_bounds() {
        let budget = budget(100);
        let first = budget.take_up_to(Working, (10, 70), "pixels", &Cancel::default()).unwrap();
        let second = budget.take_up_to(Working, (10, 70), "pixels", &Cancel::default()).unwrap();
        assert_eq!((first.bytes(), second.bytes(), budget.free()), (70, 30, 0));
        budget.set_limit(50);
        assert_eq!(budget.free(), 0);
        drop(first);
        assert_eq!((budget.limit(), budget.free()), (50, 20));
    }

    #[test]
    fn many_threads_never_exceed_the_limit_and_all_get_their_turn() {
        let budget = budget(1000);
        std::thread::scope(|scope| {
            for thread in 0..8u64 {
                let budget = &budget;
                scope.spawn(move || {
                    for turn in 0..200u64 {
                        let need = 1 + (thread * 131 + turn * 37) % 999;
                        drop(budget.take(Working, need, "pixels", &Cancel::default()).unwrap());
                    }
                });
            }
        });
        assert!(budget.peak() <= 1000);
        assert_eq!(budget.free(), 1000);
    }
}

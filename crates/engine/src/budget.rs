//! Memory accounting: memory is reserved from a budget before it is allocated, and a request can be refused.
//!
//! A [`Budget`] is the account of one call in a pool. A call that sets a limit has a pool of its own. All other calls
//! of a process share one pool, so that many threads together stay within the memory of the machine.
//!
//! Requests in a shared pool wait for other calls. These rules prevent deadlock (decision 017):
//! - A request waits only while some call holds working memory (which it returns without outside help) and is not
//!   waiting itself. A request that would close a cycle is refused.
//! - Calls that hold nothing yet are admitted in order of arrival, and only up to three quarters of the limit while
//!   other calls hold memory: the rest is reserved for calls in progress.
//! - No request waits for memory that is held between calls (`take`, `Context::take_kept`).
//! - Decoders take *brief* memory on the threads of the pool. They wait only for other brief memory, whose holders
//!   never wait.
//! - Caches hold *spare* memory. Requests are granted as if caches were empty; caches return the excess before the call
//!   continues.

use crate::machine::{Roots, default_limit};
use crate::{Cancel, EngineError, PerProcess};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use thiserror::Error;

/// A memory limit, private or shared with other calls, and the memory that one call has taken of it.
#[derive(Debug)]
pub struct Budget {
    pool: Arc<Pool>,
    call: u64,
}

/// A request the budget refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("cannot take {need} bytes of memory for {purpose}: {free} of the limit of {limit} are free")]
pub struct BudgetError {
    /// Bytes requested.
    pub need: u64,
    /// Bytes available.
    pub free: u64,
    /// Limit of the budget in bytes.
    pub limit: u64,
    /// Purpose of the memory.
    pub purpose: &'static str,
}

/// How long memory is held, which decides whether other requests may wait for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hold {
    /// Until its owner drops it, possibly between calls: no request waits for it.
    Kept,
    /// Until the call ends.
    Working,
    /// Until a block is decoded, by a thread that does not wait.
    Brief,
}

/// Interval at which a waiting request checks for cancellation and for free memory.
const LOOKS_EVERY: Duration = Duration::from_millis(20);

/// How long a request waits while no memory at all is returned. Reached only if a call waits for its own caller.
const PATIENCE: Duration = Duration::from_secs(600);

impl Budget {
    /// Returns a private budget of `limit` bytes.
    pub fn new(limit: u64) -> Self {
        Self { pool: Arc::new(Pool::new(limit)), call: 0 }
    }

    /// Returns the budget of one call without a limit of its own. All such calls of a process share three quarters of
    /// the memory that the process may use: the least of physical memory, its cgroup limits and its resource limits.
    pub fn of_process() -> Self {
        static POOL: PerProcess<Arc<Pool>> = PerProcess::new();
        let pool = POOL.get(|| Arc::new(Pool::new(default_limit(&Roots::default()))));
        Self::in_pool(pool)
    }

    fn in_pool(pool: &Arc<Pool>) -> Self {
        let mut state = pool.lock();
        state.last_call += 1;
        Self { pool: Arc::clone(pool), call: state.last_call }
    }

    /// Returns the limit in bytes.
    pub fn limit(&self) -> u64 {
        self.pool.limit
    }

    /// Returns the largest number of bytes in use at once, over all calls that share the budget.
    pub fn peak(&self) -> u64 {
        self.pool.lock().peak
    }

    /// Lends `need` bytes until the lease is dropped, or returns an error. Does not wait, and no other call waits for
    /// it.
    pub fn take(&self, need: u64, purpose: &'static str) -> Result<Lease, BudgetError> {
        let state = self.pool.lock();
        let free = self.pool.limit.saturating_sub(state.used);
        match need <= free {
            true => Ok(self.lend(state, need, Hold::Kept)),
            false => Err(self.refusal(&state, need, purpose)),
        }
    }

    /// Reserves `bytes` for a cache if they are free. Calls are lent memory as if the cache were empty. If both
    /// together exceed the limit, `reclaim` is called with the number of bytes that the cache must return, before the
    /// memory is lent; it must not wait for a call.
    pub fn spare(&self, bytes: u64, reclaim: fn(u64)) -> Option<Spare> {
        let mut state = self.pool.lock();
        let held = state.used.saturating_add(state.spare);
        if bytes > self.pool.limit.saturating_sub(held) {
            return None;
        }
        state.spare += bytes;
        state.reclaim = Some(reclaim);
        Some(Spare { pool: Arc::clone(&self.pool), bytes })
    }

    /// Checks that the limit itself is at least `need` bytes; takes nothing.
    pub fn fits(&self, need: u64, purpose: &'static str) -> Result<(), BudgetError> {
        let state = self.pool.lock();
        match need <= self.pool.limit.saturating_sub(state.held(self.call)) {
            true => Ok(()),
            false => Err(self.refusal(&state, need, purpose)),
        }
    }

    /// Returns how many of `wanted` workers fit now, with `each` bytes per worker, after the call has taken `held` more
    /// bytes. At least 1, even if one does not fit.
    pub fn workers(&self, each: u64, wanted: usize, held: u64) -> usize {
        let state = self.pool.lock();
        let room = match held {
            0 => self.room(&state, Hold::Working, None),
            // The call holds memory already, so it does not count as new.
            _ => self.pool.limit.saturating_sub(state.used).saturating_sub(held),
        };
        workers_in(room, each, wanted)
    }

    /// Lends memory for as many of `wanted` workers as fit, with `each` bytes per worker. Waits only for the first
    /// worker's memory.
    pub(crate) fn wait(
        &self,
        (each, wanted): (u64, usize),
        hold: Hold,
        purpose: &'static str,
        cancel: &Cancel,
    ) -> Result<(usize, Lease), EngineError> {
        let mut state = self.pool.lock();
        let mut turn =
            Turn { budget: self, ticket: None, waits: false, seen: (state.returns, Instant::now()) };
        loop {
            let room = self.room(&state, hold, turn.ticket);
            if each <= room {
                let workers = workers_in(room, each, wanted);
                turn.end(&mut state);
                return Ok((workers, self.lend(state, each.saturating_mul(workers as u64), hold)));
            }
            if cancel.is_cancelled() {
                turn.end(&mut state);
                return Err(EngineError::Cancelled);
            }
            if !self.may_wait(&state, each, hold, turn.ticket) || turn.is_over(&state) {
                turn.end(&mut state);
                return Err(self.refusal(&state, each, purpose).into());
            }
            turn.begin(&mut state);
            let waited = self.pool.changed.wait_timeout(state, LOOKS_EVERY);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Lends `need` bytes until the call ends, if they are at most a quarter of what is available now.
    pub(crate) fn now(&self, need: u64) -> Option<Lease> {
        let state = self.pool.lock();
        let room = self.room(&state, Hold::Working, None);
        (need <= room / 4).then(|| self.lend(state, need, Hold::Working))
    }

    /// Returns the bytes that this call may take now.
    fn room(&self, state: &State, hold: Hold, ticket: Option<u64>) -> u64 {
        let limit = self.pool.limit;
        let first = state.queue.front().is_none_or(|&front| Some(front) == ticket);
        let newcomer = state.held(self.call) == 0 && hold != Hold::Brief;
        let most = match (newcomer, first, state.others(self.call).any(|held| held.working > 0)) {
            (false, ..) | (true, true, false) => limit,
            (true, true, true) => limit / 4 * 3,
            // Other calls came first.
            (true, false, _) => 0,
        };
        most.saturating_sub(state.used)
    }

    /// Returns whether a request that does not fit now can be served later.
    fn may_wait(&self, state: &State, need: u64, hold: Hold, ticket: Option<u64>) -> bool {
        if need > self.pool.limit.saturating_sub(state.held(self.call)) && hold != Hold::Brief {
            return false;
        }
        match hold {
            Hold::Brief => state.brief > 0 && need <= self.pool.limit,
            Hold::Kept | Hold::Working => {
                let after_others = state.held(self.call) == 0
                    && state.queue.front().is_some_and(|&front| Some(front) != ticket);
                after_others || state.others(self.call).any(|held| held.working > 0 && held.waiting == 0)
            }
        }
    }

    fn lend(&self, mut state: MutexGuard<'_, State>, bytes: u64, hold: Hold) -> Lease {
        state.used += bytes;
        state.peak = state.peak.max(state.used);
        state.brief += u64::from(hold == Hold::Brief);
        let held = state.calls.entry(self.call).or_default();
        held.bytes += bytes;
        if hold != Hold::Kept {
            held.working += bytes;
        }
        let over = state.used.saturating_add(state.spare).saturating_sub(self.pool.limit);
        let reclaim = state.reclaim.filter(|_| over > 0 && state.spare > 0);
        // Called without the lock: memory that caches return is counted here.
        drop(state);
        if let Some(reclaim) = reclaim {
            reclaim(over);
        }
        Lease { pool: Arc::clone(&self.pool), call: self.call, bytes, hold }
    }

    fn refusal(&self, state: &State, need: u64, purpose: &'static str) -> BudgetError {
        let limit = self.pool.limit;
        BudgetError { need, free: limit.saturating_sub(state.used), limit, purpose }
    }
}

/// Returns how many of `wanted` workers fit, with `each` bytes per worker; at least 1.
fn workers_in(room: u64, each: u64, wanted: usize) -> usize {
    usize::try_from(room / each.max(1)).unwrap_or(usize::MAX).clamp(1, wanted.max(1))
}

/// Memory lent by a budget; returned on drop.
#[derive(Debug)]
pub struct Lease {
    pool: Arc<Pool>,
    call: u64,
    bytes: u64,
    hold: Hold,
}

impl Lease {
    /// Returns the number of bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut state = self.pool.lock();
        state.used = state.used.saturating_sub(self.bytes);
        state.brief = state.brief.saturating_sub(u64::from(self.hold == Hold::Brief));
        state.returns = state.returns.wrapping_add(1);
        if let Some(held) = state.calls.get_mut(&self.call) {
            held.bytes = held.bytes.saturating_sub(self.bytes);
            if self.hold != Hold::Kept {
                held.working = held.working.saturating_sub(self.bytes);
            }
            if *held == Held::default() {
                state.calls.remove(&self.call);
            }
        }
        drop(state);
        self.pool.changed.notify_all();
    }
}

/// Memory that a cache holds; returned on drop.
#[derive(Debug)]
pub struct Spare {
    pool: Arc<Pool>,
    bytes: u64,
}

impl Spare {
    /// Returns the number of bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Spare {
    fn drop(&mut self) {
        let mut state = self.pool.lock();
        state.spare = state.spare.saturating_sub(self.bytes);
    }
}

/// A limit and the memory that all calls have taken of it.
#[derive(Debug)]
struct Pool {
    limit: u64,
    state: Mutex<State>,
    changed: Condvar,
}

impl Pool {
    fn new(limit: u64) -> Self {
        Self { limit, state: Mutex::default(), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code that can panic runs while the lock is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Default)]
struct State {
    used: u64,
    peak: u64,
    /// Bytes held by caches, in addition.
    spare: u64,
    /// Makes caches return this many bytes.
    reclaim: Option<fn(u64)>,
    /// Calls that hold memory or wait.
    calls: BTreeMap<u64, Held>,
    last_call: u64,
    /// Number of outstanding brief leases.
    brief: u64,
    /// Number of leases returned so far.
    returns: u64,
    /// Waiting calls that hold nothing yet, in order of arrival.
    queue: VecDeque<u64>,
    last_ticket: u64,
}

/// State of one call.
#[derive(Debug, Default, PartialEq, Eq)]
struct Held {
    bytes: u64,
    /// Bytes of these that the call returns when it ends.
    working: u64,
    /// Number of waiting requests.
    waiting: u64,
}

impl State {
    fn held(&self, call: u64) -> u64 {
        self.calls.get(&call).map_or(0, |held| held.bytes)
    }

    fn others(&self, call: u64) -> impl Iterator<Item = &Held> {
        self.calls.iter().filter(move |&(&other, _)| other != call).map(|(_, held)| held)
    }
}

/// A request that waits, or is about to.
struct Turn<'a> {
    budget: &'a Budget,
    /// Position in the queue if its call holds nothing.
    ticket: Option<u64>,
    waits: bool,
    /// Count of returned leases, and when this request last saw it change.
    seen: (u64, Instant),
}

impl Turn<'_> {
    fn begin(&mut self, state: &mut State) {
        if std::mem::replace(&mut self.waits, true) {
            return;
        }
        if state.held(self.budget.call) == 0 {
            state.last_ticket += 1;
            self.ticket = Some(state.last_ticket);
            state.queue.push_back(state.last_ticket);
        }
        state.calls.entry(self.budget.call).or_default().waiting += 1;
    }

    fn end(&mut self, state: &mut State) {
        if !std::mem::replace(&mut self.waits, false) {
            return;
        }
        state.queue.retain(|&other| Some(other) != self.ticket);
        if let Some(held) = state.calls.get_mut(&self.budget.call) {
            held.waiting = held.waiting.saturating_sub(1);
            if *held == Held::default() {
                state.calls.remove(&self.budget.call);
            }
        }
        self.budget.pool.changed.notify_all();
    }

    fn is_over(&mut self, state: &State) -> bool {
        if state.returns != self.seen.0 {
            self.seen = (state.returns, Instant::now());
        }
        self.seen.1.elapsed() > PATIENCE
    }
}

#[cfg(test)]
mod tests;

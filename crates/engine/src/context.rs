//! Context of a long call: cancellation, progress and resource limits.

use crate::budget::Hold;
use crate::{Budget, EngineError, Lease, Trace};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// A request to stop running work. Clones share one flag.
#[derive(Debug, Clone, Default)]
pub struct Cancel {
    flag: Arc<AtomicBool>,
    /// Flag of the work that this one is a part of.
    whole: Option<Arc<Cancel>>,
}

impl Cancel {
    /// Requests a stop. Work ends with `EngineError::Cancelled` at its next block, and inside a large block within a
    /// fraction of a second if its decoder can be interrupted (see docs/reliability.md).
    pub fn cancel(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// Returns whether a stop was requested.
    pub fn is_cancelled(&self) -> bool {
        self.flag.load(Ordering::Relaxed) || self.whole.as_ref().is_some_and(|whole| whole.is_cancelled())
    }

    /// Returns a flag for a part of the work: cancelling the whole cancels the part, but not the reverse.
    pub fn part(&self) -> Self {
        Self { flag: Arc::default(), whole: Some(Arc::new(self.clone())) }
    }
}

/// Receives progress: called from worker threads with the blocks finished since the last call.
pub trait Progress: Send + Sync {
    /// Reports that `blocks` more blocks are done.
    fn advance(&self, blocks: u64);
}

/// Cancellation, progress, budget and thread count of one call.
#[derive(Clone)]
pub struct Context {
    /// Cancellation flag.
    pub cancel: Cancel,
    /// Progress receiver.
    pub progress: Option<Arc<dyn Progress>>,
    /// Memory budget. Calls without a limit share the budget of the process.
    pub budget: Arc<Budget>,
    /// Receives timings, if set.
    pub trace: Option<Arc<Trace>>,
    /// Largest number of threads of the process-wide pool that the call may use at once.
    pub threads: NonZeroUsize,
}

/// Returns how many threads this process may run at once. Queried once: the query takes longer than a small read.
fn threads_of_process() -> NonZeroUsize {
    static THREADS: OnceLock<NonZeroUsize> = OnceLock::new();
    *THREADS.get_or_init(|| std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
}

impl Default for Context {
    fn default() -> Self {
        Self {
            cancel: Cancel::default(),
            progress: None,
            budget: Arc::new(Budget::of_process()),
            trace: None,
            threads: threads_of_process(),
        }
    }
}

impl Context {
    /// Lends `need` bytes until the lease is dropped, which must happen before the call ends. If the budget is the
    /// process-wide one and other calls use too much of it, waits for them.
    pub fn take(&self, need: u64, purpose: &'static str) -> Result<Lease, EngineError> {
        self.budget.wait((need, 1), Hold::Working, purpose, &self.cancel).map(|(_, lease)| lease)
    }

    /// Like `take`, for memory that the call can do without: returns `None` if `need` is more than a quarter of what is
    /// free now.
    pub fn take_now(&self, need: u64) -> Option<Lease> {
        self.budget.now(need)
    }

    /// Like `take`, for memory that may be held between calls, for example by a writer. No other call waits for it.
    pub fn take_kept(&self, need: u64, purpose: &'static str) -> Result<Lease, EngineError> {
        self.budget.wait((need, 1), Hold::Kept, purpose, &self.cancel).map(|(_, lease)| lease)
    }

    /// Lends `each` bytes for as many of `wanted` workers as fit, at least one, and returns their number.
    pub fn take_for_workers(
        &self,
        each: u64,
        wanted: usize,
        purpose: &'static str,
    ) -> Result<(usize, Lease), EngineError> {
        self.budget.wait((each, wanted), Hold::Working, purpose, &self.cancel)
    }

    /// Lends memory for one block being decoded on a thread of the pool. Waits only for other such memory. A thread
    /// that holds brief memory must not take more.
    pub fn take_brief(&self, need: u64, purpose: &'static str) -> Result<Lease, EngineError> {
        self.budget.wait((need, 1), Hold::Brief, purpose, &self.cancel).map(|(_, lease)| lease)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_stops_with_the_whole_and_not_the_other_way() {
        let whole = Cancel::default();
        let (one, other) = (whole.part(), whole.part());
        one.cancel();
        assert!(one.is_cancelled() && one.clone().part().is_cancelled());
        assert!(!whole.is_cancelled() && !other.is_cancelled());
        whole.cancel();
        assert!(other.is_cancelled());
    }
}

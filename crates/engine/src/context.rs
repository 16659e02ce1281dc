//! What every long call is given: a way to stop it, to watch it, and what it may take.

use crate::budget::Hold;
use crate::{Budget, EngineError, Lease, Trace};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Asks running work to stop. Clones share one flag.
#[derive(Debug, Clone, Default)]
pub struct Cancel {
    flag: Arc<AtomicBool>,
    /// What this is a part of.
    whole: Option<Arc<Cancel>>,
}

impl Cancel {
    /// Asks for a stop. Work ends with `EngineError::Cancelled` at its next block, and inside a large one within a fraction
    /// of a second if its decoder can be interrupted (see docs/reliability.md).
    pub fn cancel(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// Whether a stop was asked for.
    pub fn is_cancelled(&self) -> bool {
        self.flag.load(Ordering::Relaxed) || self.whole.as_ref().is_some_and(|whole| whole.is_cancelled())
    }

    /// A flag for a part of the work: it stops with the whole, and the whole does not stop with it.
    pub fn part(&self) -> Self {
        Self { flag: Arc::default(), whole: Some(Arc::new(self.clone())) }
    }
}

/// Watches work: called from worker threads with blocks done since the last call.
pub trait Progress: Send + Sync {
    /// `blocks` more are done.
    fn advance(&self, blocks: u64);
}

/// Cancel, progress, budget and threads of one call.
#[derive(Clone)]
pub struct Context {
    /// Stops the call.
    pub cancel: Cancel,
    /// Watches the call.
    pub progress: Option<Arc<dyn Progress>>,
    /// What memory the call may take. Calls that name no limit share that of the process.
    pub budget: Arc<Budget>,
    /// Where what happens when is kept, where someone asks.
    pub trace: Option<Arc<Trace>>,
    /// How many threads of the process-wide pool the call may use at once.
    pub threads: NonZeroUsize,
}

/// The threads that this process may run at once, asked of the system once: its answer takes longer than a small read.
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
    /// Lends `need` bytes until the lease is dropped, which happens before the call ends. Waits for other calls where
    /// the budget is the one of the process and they have taken too much of it.
    pub fn take(&self, need: u64, purpose: &'static str) -> Result<Lease, EngineError> {
        self.budget.wait((need, 1), Hold::Working, purpose, &self.cancel).map(|(_, lease)| lease)
    }

    /// The same for memory that the call can do without: `None` if it is more than a quarter of what is free now.
    pub fn take_now(&self, need: u64) -> Option<Lease> {
        self.budget.now(need)
    }

    /// The same as `take` for memory that may be held between calls, as a writer does. No other call waits for it.
    pub fn take_kept(&self, need: u64, purpose: &'static str) -> Result<Lease, EngineError> {
        self.budget.wait((need, 1), Hold::Kept, purpose, &self.cancel).map(|(_, lease)| lease)
    }

    /// Lends `each` bytes for as many of `wanted` workers as there is room for, at least one, and says for how many.
    pub fn take_for_workers(
        &self,
        each: u64,
        wanted: usize,
        purpose: &'static str,
    ) -> Result<(usize, Lease), EngineError> {
        self.budget.wait((each, wanted), Hold::Working, purpose, &self.cancel)
    }

    /// Lends memory for one block that is being decoded, on a thread of the pool. Waits only for other such memory. Who
    /// holds some takes no more.
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

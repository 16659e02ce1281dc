//! What every long call is given: a way to stop it, to watch it, and what it may take.

use crate::{Budget, Trace};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Asks running work to stop. Clones share one flag.
#[derive(Debug, Clone, Default)]
pub struct Cancel {
    flag: Arc<AtomicBool>,
    /// What this is a part of.
    whole: Option<Arc<Cancel>>,
}

impl Cancel {
    /// Asks for a stop; work ends with `EngineError::Cancelled` at its next block.
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
    /// What memory the call may take.
    pub budget: Arc<Budget>,
    /// Where what happens when is kept, where someone asks.
    pub trace: Option<Arc<Trace>>,
    /// How many threads of the process-wide pool the call may use at once.
    pub threads: NonZeroUsize,
}

impl Default for Context {
    fn default() -> Self {
        Self {
            cancel: Cancel::default(),
            progress: None,
            budget: Arc::new(Budget::for_this_machine()),
            trace: None,
            threads: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        }
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

//! Memory is asked for before it is taken, and the answer can be no.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use thiserror::Error;

/// A limit on memory and how much of it is lent out.
#[derive(Debug)]
pub struct Budget {
    limit: u64,
    used: AtomicU64,
    peak: AtomicU64,
}

/// A request the budget refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{purpose} needs {need} bytes of memory, {free} of the limit of {limit} are free")]
pub struct BudgetError {
    /// Bytes asked for.
    pub need: u64,
    /// Bytes not lent out.
    pub free: u64,
    /// The whole budget.
    pub limit: u64,
    /// What it was for.
    pub purpose: &'static str,
}

impl Budget {
    /// A budget of `limit` bytes.
    pub fn new(limit: u64) -> Self {
        Self { limit, used: AtomicU64::new(0), peak: AtomicU64::new(0) }
    }

    /// Three quarters of the memory this machine has (or the container allows); 4 GiB where neither is known.
    pub fn for_this_machine() -> Self {
        Self::new(machine_memory().map_or(4 << 30, |bytes| bytes / 4 * 3))
    }

    /// The whole budget in bytes.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// The most that was ever lent out at once.
    pub fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }

    /// Lends `need` bytes until the lease is dropped, or says why not.
    pub fn take(self: &Arc<Self>, need: u64, purpose: &'static str) -> Result<Lease, BudgetError> {
        let grant = |used: u64| used.checked_add(need).filter(|&sum| sum <= self.limit);
        match self.used.fetch_update(Ordering::AcqRel, Ordering::Acquire, grant) {
            Ok(before) => {
                self.peak.fetch_max(before + need, Ordering::Relaxed);
                Ok(Lease { budget: Arc::clone(self), bytes: need })
            }
            Err(used) => {
                Err(BudgetError { need, free: self.limit.saturating_sub(used), limit: self.limit, purpose })
            }
        }
    }
}

/// Memory lent by a budget; given back on drop.
#[derive(Debug)]
pub struct Lease {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

fn machine_memory() -> Option<u64> {
    let meminfo = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let total = line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)?;
    let container = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let allowed = container.and_then(|text| text.trim().parse::<u64>().ok());
    Some(allowed.map_or(total, |allowed| allowed.min(total)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lends_up_to_the_limit_and_takes_back() {
        let budget = Arc::new(Budget::new(100));
        let first = budget.take(60, "pixels").unwrap();
        let refused = budget.take(50, "staging").unwrap_err();
        assert_eq!(refused, BudgetError { need: 50, free: 40, limit: 100, purpose: "staging" });
        drop(first);
        budget.take(100, "pixels").unwrap();
        assert_eq!(budget.peak(), 100);
        assert!(budget.take(u64::MAX, "pixels").is_err());
    }
}

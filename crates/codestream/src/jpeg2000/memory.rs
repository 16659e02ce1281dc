//! Memory of the parser: counted against the caller's limit before it is allocated, and allocated fallibly.

use strile_engine::{BlockFault, FaultKind};

/// Memory is not available.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoMemory {
    /// The total would exceed the limit.
    Over {
        /// Bytes held, including the request.
        found: u64,
        /// Limit in bytes.
        allowed: u64,
    },
    /// The system refused this many bytes.
    Refused(u64),
}

impl From<NoMemory> for BlockFault {
    fn from(none: NoMemory) -> Self {
        let (kind, found, expected, detail) = match none {
            NoMemory::Over { found, allowed } => (
                FaultKind::Unsupported,
                found,
                allowed,
                format!(
                    "JPEG 2000: tiles, precincts and code-blocks that take {found} bytes found, {allowed} allowed for its samples and bytes"
                ),
            ),
            NoMemory::Refused(bytes) => {
                (FaultKind::OutOfMemory, 0, bytes, format!("{bytes} bytes for JPEG 2000 code-blocks"))
            }
        };
        Self { kind, found, expected, detail: detail.into() }
    }
}

/// Limit and use of memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Memory {
    allowed: u64,
    used: u64,
}

impl Memory {
    pub(super) fn new(allowed: u64) -> Self {
        Self { allowed, used: 0 }
    }

    /// Returns the bytes held.
    pub(super) fn used(&self) -> u64 {
        self.used
    }

    /// Counts this many items.
    pub(super) fn take<T>(&mut self, count: usize) -> Result<(), NoMemory> {
        let found = self.used.saturating_add(bytes::<T>(count));
        if found > self.allowed {
            return Err(NoMemory::Over { found, allowed: self.allowed });
        }
        self.used = found;
        Ok(())
    }

    /// Returns bytes that are no longer held.
    pub(super) fn give(&mut self, bytes: u64) {
        self.used = self.used.saturating_sub(bytes);
    }

    /// Makes room for more items in a list. Lists that grow gradually grow by half, if the limit allows.
    pub(super) fn reserve<T>(&mut self, list: &mut Vec<T>, more: usize) -> Result<(), NoMemory> {
        let (had, needed) = (list.capacity(), list.len().saturating_add(more));
        if needed <= had {
            return Ok(());
        }
        // Both are allocated while items are moved.
        let ample = needed.max(had.saturating_add(had / 2));
        let wanted = if self.take::<T>(ample).is_ok() {
            ample
        } else {
            self.take::<T>(needed)?;
            needed
        };
        list.try_reserve_exact(wanted - list.len()).map_err(|_| NoMemory::Refused(bytes::<T>(wanted)))?;
        self.give(bytes::<T>(had));
        Ok(())
    }
}

fn bytes<T>(count: usize) -> u64 {
    (count as u64).saturating_mul(size_of::<T>() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_grow_within_what_is_allowed_and_say_what_they_wanted() {
        let mut memory = Memory::new(1000);
        let mut list: Vec<u64> = Vec::new();
        memory.reserve(&mut list, 40).unwrap();
        list.resize(40, 0);
        assert_eq!((memory.used(), list.capacity()), (320, 40));
        memory.reserve(&mut list, 1).unwrap();
        list.push(0);
        assert_eq!((memory.used(), list.capacity()), (480, 60));
        memory.reserve(&mut list, 19).unwrap();
        assert_eq!(list.capacity(), 60, "room is used first");
        list.resize(60, 0);
        memory.reserve(&mut list, 4).unwrap();
        assert_eq!((memory.used(), list.capacity()), (512, 64), "half of it more would be too much");
        list.resize(64, 0);
        let over = memory.reserve(&mut list, 1).unwrap_err();
        assert_eq!(over, NoMemory::Over { found: 512 + 65 * 8, allowed: 1000 });
        let fault = BlockFault::from(over);
        assert_eq!((fault.kind, fault.found, fault.expected), (FaultKind::Unsupported, 1032, 1000));
        assert!(fault.to_string().contains("1032 bytes found, 1000 allowed"), "{fault}");
        let mut huge = Memory::new(u64::MAX);
        let refused = huge.reserve(&mut list, usize::MAX / 16).unwrap_err();
        assert_eq!(BlockFault::from(refused).kind, FaultKind::OutOfMemory);
    }
}

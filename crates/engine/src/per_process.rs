//! A separate value per process: threads, and locks that a thread may hold while another forks.
//!
//! A forked child has none of its parent's threads, and a lock that one of them held stays locked in the child for
//! ever. A value kept here is created anew in a child by the first caller; the parent's value is leaked there, because
//! nothing in it can be released without waiting.
//!
//! Processes are identified by a count of forks as well as by their IDs, because the system reuses the ID of a process
//! that has ended.

#![expect(
    unsafe_code,
    reason = "a value that is replaced while others may use it, and is never freed before its holder"
)]

use std::fmt;
use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// Distinguishes this process from its ancestors and children.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessId {
    /// Forks between the first process and this one.
    forks: u32,
    /// Process ID, for children made without the C library's `fork`, which `forks` does not count.
    number: u32,
}

/// Incremented in the child of every fork.
static FORKS: AtomicU32 = AtomicU32::new(0);

impl ProcessId {
    /// Returns the identity of the calling process.
    pub fn current() -> Self {
        count_forks();
        Self { forks: FORKS.load(Ordering::Relaxed), number: std::process::id() }
    }

    /// Returns the identity as one number, never 0.
    pub fn as_u64(self) -> u64 {
        u64::from(self.number) << 32 | u64::from(self.forks)
    }
}

#[cfg(all(unix, not(miri)))]
fn count_forks() {
    use std::sync::atomic::AtomicBool;
    static COUNTED: AtomicBool = AtomicBool::new(false);
    extern "C" fn forked() {
        FORKS.fetch_add(1, Ordering::Relaxed);
    }
    if COUNTED.load(Ordering::Acquire) {
        return;
    }
    // Not under a lock, which a fork could leave locked: of two concurrent callers both may register, and each fork
    // then counts twice. SAFETY: the handler only increments an atomic, which is allowed in a forked child.
    let registered = unsafe { libc::pthread_atfork(None, None, Some(forked)) };
    // If the system had no memory for it, the process ID has to suffice until the next call.
    COUNTED.store(registered == 0, Ordering::Release);
}

#[cfg(not(all(unix, not(miri))))]
fn count_forks() {}

/// A value that is created once per process.
pub struct PerProcess<T: Send + Sync> {
    now: AtomicPtr<Owned<T>>,
    owns: PhantomData<T>,
}

struct Owned<T> {
    process: ProcessId,
    value: T,
}

impl<T: Send + Sync> PerProcess<T> {
    /// Returns an empty value.
    pub const fn new() -> Self {
        Self { now: AtomicPtr::new(ptr::null_mut()), owns: PhantomData }
    }

    /// Returns the value of this process, created by the first caller. Of several concurrent callers one creates the
    /// value that all get; none waits.
    pub fn get(&self, make: impl FnOnce() -> T) -> &T {
        self.of(ProcessId::current(), make)
    }

    fn of(&self, process: ProcessId, make: impl FnOnce() -> T) -> &T {
        let seen = self.now.load(Ordering::Acquire);
        if let Some(value) = owned(seen, process) {
            return value;
        }
        let made = Box::into_raw(Box::new(Owned { process, value: make() }));
        match self.now.compare_exchange(seen, made, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: it was made above, and nothing is freed before `self` is dropped.
            Ok(_) => unsafe { &(*made).value },
            Err(sooner) => {
                // SAFETY: it was made above and is not shared yet.
                drop(unsafe { Box::from_raw(made) });
                // SAFETY: only a thread of this process can have put something there meanwhile.
                unsafe { &(*sooner).value }
            }
        }
    }
}

/// Returns the value if it belongs to that process.
fn owned<'a, T>(kept: *mut Owned<T>, process: ProcessId) -> Option<&'a T> {
    // SAFETY: it is null or was made by `of`, and nothing is freed before its holder, which `of` borrows.
    let kept = unsafe { kept.as_ref() }?;
    (kept.process == process).then_some(&kept.value)
}

impl<T: Send + Sync> Drop for PerProcess<T> {
    fn drop(&mut self) {
        let kept = *self.now.get_mut();
        if owned(kept, ProcessId::current()).is_some() {
            // SAFETY: made by `of`, and `self` is no longer borrowed.
            drop(unsafe { Box::from_raw(kept) });
        }
    }
}

impl<T: Send + Sync> Default for PerProcess<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Send + Sync> fmt::Debug for PerProcess<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PerProcess")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn one_value_per_process() {
        let process = |number: u32| ProcessId { forks: 0, number };
        let kept = PerProcess::new();
        let first = kept.of(process(1), || 10);
        assert_eq!((first, kept.of(process(1), || 11)), (&10, &10));
        let second = kept.of(process(2), || 20);
        assert_eq!((first, second, kept.of(process(2), || 21)), (&10, &20, &20));
    }

    /// Bug: a process was identified by its ID alone, which the system reuses: a grandchild with the ID of its
    /// grandparent took over its threads and locks.
    #[test]
    fn a_number_that_is_given_again_is_another_process() {
        let kept = PerProcess::new();
        let grandparent = ProcessId { forks: 0, number: 7 };
        assert_eq!(kept.of(grandparent, || 1), &1);
        assert_eq!(kept.of(ProcessId { forks: 2, ..grandparent }, || 2), &2);
    }

    #[test]
    #[cfg(all(unix, not(miri)))]
    fn every_fork_is_counted() {
        let parent = ProcessId::current();
        // SAFETY: the child compares numbers and exits, and takes no lock.
        match unsafe { libc::fork() } {
            0 => {
                let code = i32::from(ProcessId::current().forks <= parent.forks);
                // SAFETY: exits the child without running handlers that the parent registered.
                unsafe { libc::_exit(code) }
            }
            child => {
                let mut status = -1;
                // SAFETY: waits for the child made above.
                assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
                assert_eq!(status, 0, "the child counts more forks than its parent");
                assert_eq!(ProcessId::current(), parent);
            }
        }
    }

    #[test]
    fn threads_get_the_same_and_what_is_left_over_is_dropped() {
        let (kept, value) = (PerProcess::new(), Arc::new(()));
        let addresses: Vec<usize> = std::thread::scope(|scope| {
            let ask = || ptr::from_ref(kept.get(|| Arc::clone(&value))).addr();
            let asked: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
            asked.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(addresses.iter().all(|address| *address == addresses[0]));
        assert_eq!(Arc::strong_count(&value), 2);
        drop(kept);
        assert_eq!(Arc::strong_count(&value), 1);
    }
}

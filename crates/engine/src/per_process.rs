//! A value that each process has for itself: threads, and locks that a thread may hold while another forks.
//!
//! A child of a fork has none of its parent's threads, and a lock that one of them held stays locked in it for ever. What
//! is kept here is made anew in a child by the first who asks; what the parent had is left as it is there, for nothing in it
//! can be let go of without a wait.

#![expect(
    unsafe_code,
    reason = "a value that is replaced while others may use it, and is never freed before its holder"
)]

use std::fmt;
use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// See the module.
pub struct PerProcess<T: Send + Sync> {
    now: AtomicPtr<Owned<T>>,
    owns: PhantomData<T>,
}

struct Owned<T> {
    process: u32,
    value: T,
}

impl<T: Send + Sync> PerProcess<T> {
    /// Nothing, until somebody asks.
    pub const fn new() -> Self {
        Self { now: AtomicPtr::new(ptr::null_mut()), owns: PhantomData }
    }

    /// The value of this process, made by the first who asks. Of several at once one makes what all get; none waits.
    pub fn get(&self, make: impl FnOnce() -> T) -> &T {
        self.of(std::process::id(), make)
    }

    fn of(&self, process: u32, make: impl FnOnce() -> T) -> &T {
        let seen = self.now.load(Ordering::Acquire);
        if let Some(value) = owned(seen, process) {
            return value;
        }
        let made = Box::into_raw(Box::new(Owned { process, value: make() }));
        match self.now.compare_exchange(seen, made, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: it was made above, and nothing is freed before `self` is dropped.
            Ok(_) => unsafe { &(*made).value },
            Err(sooner) => {
                // SAFETY: it was made above and nobody else has seen it.
                drop(unsafe { Box::from_raw(made) });
                // SAFETY: only a thread of this process can have put something there meanwhile.
                unsafe { &(*sooner).value }
            }
        }
    }
}

/// The value, where it is of that process.
fn owned<'a, T>(kept: *mut Owned<T>, process: u32) -> Option<&'a T> {
    // SAFETY: it is null or was made by `of`, and nothing is freed before its holder, which `of` borrows.
    let kept = unsafe { kept.as_ref() }?;
    (kept.process == process).then_some(&kept.value)
}

impl<T: Send + Sync> Drop for PerProcess<T> {
    fn drop(&mut self) {
        let kept = *self.now.get_mut();
        if owned(kept, std::process::id()).is_some() {
            // SAFETY: made by `of`, and nobody borrows `self` any more.
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
    fn one_value_a_process() {
        let kept = PerProcess::new();
        let first = kept.of(1, || 10);
        assert_eq!((first, kept.of(1, || 11)), (&10, &10));
        let second = kept.of(2, || 20);
        assert_eq!((first, second, kept.of(2, || 21)), (&10, &20, &20));
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

//! Memory that a caller lends to jobs for the duration of a call.
//!
//! Jobs run on threads that outlive the call that started them, so they read shared memory. `lend` turns borrowed bytes
//! into shared memory without copying: it returns only when the last reference to that memory is gone.

#![expect(unsafe_code, reason = "borrowed bytes without their lifetime, until no job has them")]

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Shared, read-only bytes in host memory.
pub trait HostMemory: Send + Sync + fmt::Debug {
    /// Returns the bytes, always the same ones.
    fn bytes(&self) -> &[u8];
}

impl HostMemory for Vec<u8> {
    fn bytes(&self) -> &[u8] {
        self
    }
}

/// Lends bytes to `work` as shared memory. Returns when `work` has returned and all references to the memory are gone:
/// `work` must make every holder of a reference drop it.
pub fn lend<R>(bytes: &[u8], work: impl FnOnce(Arc<dyn HostMemory>) -> R) -> R {
    let back = Arc::new(Back::default());
    // Waits on drop, also after a panic of `work`.
    let _waiting = Waiting(&back);
    let (start, len) = (bytes.as_ptr(), bytes.len());
    work(Arc::new(Lent { start, len, back: Arc::clone(&back) }))
}

/// Whether the memory has been returned.
#[derive(Default)]
struct Back {
    is_back: Mutex<bool>,
    came: Condvar,
}

struct Waiting<'a>(&'a Back);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut is_back = self.0.is_back.lock().unwrap_or_else(PoisonError::into_inner);
        while !*is_back {
            is_back = self.0.came.wait(is_back).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Borrowed bytes. `lend` creates it and does not return before it is dropped.
struct Lent {
    start: *const u8,
    len: usize,
    back: Arc<Back>,
}

// SAFETY: the bytes are borrowed until this is dropped, and shared references to bytes may go to any thread.
unsafe impl Send for Lent {}
// SAFETY: as above; the bytes never change.
unsafe impl Sync for Lent {}

impl HostMemory for Lent {
    fn bytes(&self) -> &[u8] {
        // SAFETY: `lend` borrows these bytes and waits for the drop of `self`, which the returned slice borrows.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

impl fmt::Debug for Lent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} lent bytes", self.len)
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        *self.back.is_back.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.back.came.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::Duration;

    /// Reads the memory on a thread that drops it late, and records that it did.
    fn read_late(memory: Arc<dyn HostMemory>, done: &Arc<AtomicBool>) {
        let done = Arc::clone(done);
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(50));
            assert_eq!(memory.bytes(), [1, 2, 3]);
            done.store(true, Ordering::SeqCst);
        });
    }

    #[test]
    fn bytes_are_lent_until_the_last_reference_is_gone() {
        let bytes = vec![1, 2, 3];
        let done = Arc::new(AtomicBool::new(false));
        let len = lend(&bytes, |memory| {
            read_late(Arc::clone(&memory), &done);
            memory.bytes().len()
        });
        assert!(done.load(Ordering::SeqCst), "the call ended while a thread read the bytes");
        assert_eq!(len, 3);
        assert_eq!(lend(&[], |memory| memory.bytes().len()), 0);
    }

    #[test]
    fn a_panic_waits_too() {
        let bytes = vec![1, 2, 3];
        let done = Arc::new(AtomicBool::new(false));
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            lend(&bytes, |memory| {
                read_late(memory, &done);
                assert!(bytes.is_empty(), "the work of the test panics");
            })
        }));
        assert!(panicked.is_err() && done.load(Ordering::SeqCst));
    }
}

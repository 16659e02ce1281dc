//! A counting wrapper of the system's allocator, for use with `#[global_allocator]`.
//!
//! Counts requests of Rust code, over all threads; C libraries (zstd, liblzma, libdeflate) use another allocator and
//! are monitored by the resident size of the process.
#![expect(unsafe_code, reason = "a global allocator is an unsafe trait")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// A larger single request is refused, like on a real machine; code that makes one has already failed.
const REFUSED: usize = 1 << 32;

/// A global allocator that counts live and peak bytes.
pub struct Counting;

/// Returns the bytes in use.
pub fn taken() -> usize {
    NOW.load(Relaxed)
}

/// Resets the peak; returns the bytes in use.
pub fn reset_peak() -> usize {
    let now = taken();
    PEAK.store(now, Relaxed);
    now
}

/// Returns the peak of bytes in use or requested since the last reset.
pub fn peak() -> usize {
    PEAK.load(Relaxed)
}

/// Returns freed memory to the system, so that the resident size of the process shows the memory in use.
pub fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: declared as in glibc's `malloc.h`.
        unsafe extern "C" {
            fn malloc_trim(pad: usize) -> i32;
        }
        // SAFETY: has no preconditions, and may be called by any thread.
        let _released = unsafe { malloc_trim(0) };
    }
}

/// Returns the bytes of the C library's heap that are in use, by Rust code and C libraries, and its free bytes.
pub fn heap() -> (usize, usize) {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: has no preconditions, and may be called by any thread.
        let info = unsafe { libc::mallinfo2() };
        (info.uordblks + info.hblkhd, info.fordblks)
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    (0, 0)
}

/// Counts a request; returns false if it is refused.
fn grant(size: usize) -> bool {
    let refused = size > REFUSED;
    let now = if refused { NOW.load(Relaxed) } else { NOW.fetch_add(size, Relaxed) };
    PEAK.fetch_max(now.saturating_add(size), Relaxed);
    !refused
}

fn ungrant(size: usize) {
    NOW.fetch_sub(size, Relaxed);
}

// SAFETY: every call is passed on to `System` with its layout; counting does not access its memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !grant(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller fulfils the contract of `GlobalAlloc::alloc`, which is that of `System`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !grant(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        ungrant(layout.size());
        // SAFETY: `block` came from `System`, through this allocator, with `layout`.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !grant(size) {
            return std::ptr::null_mut();
        }
        ungrant(layout.size());
        // SAFETY: as in `dealloc`; the caller guarantees that `size` is valid.
        unsafe { System.realloc(block, layout, size) }
    }
}

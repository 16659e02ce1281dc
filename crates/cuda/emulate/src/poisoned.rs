//! A buffer for a kernel: exactly as long as asked for, full of garbage, with guards on both sides.
#![expect(
    unsafe_code,
    reason = "an allocation of a chosen alignment, and the reader AddressSanitizer has to allow"
)]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::garbage::Garbage;

const ALIGN: usize = 256;
const GUARD: usize = 256;

/// Bytes that a kernel may read and write, 256-byte aligned as device allocations are, filled with garbage by the seed.
/// The 256 bytes before and after hold a pattern that [`check`](Self::check) verifies; under AddressSanitizer touching
/// them, or anything else past the end, ends the test.
pub struct Poisoned {
    start: NonNull<u8>,
    len: usize,
    layout: Layout,
    seed: u64,
}

// SAFETY: it owns its memory, as a `Vec<u8>` does.
unsafe impl Send for Poisoned {}
// SAFETY: shared references only read.
unsafe impl Sync for Poisoned {}

impl Poisoned {
    /// `len` bytes of garbage.
    pub fn new(len: usize, seed: u64) -> Self {
        let size = GUARD.saturating_add(len).saturating_add(GUARD);
        let layout = Layout::from_size_align(size, ALIGN).unwrap_or(Layout::new::<[u8; GUARD]>());
        // SAFETY: the size is not 0.
        let Some(start) = NonNull::new(unsafe { alloc(layout) }) else { handle_alloc_error(layout) };
        assert!(layout.size() == size, "a buffer of {len} bytes");
        let mut buffer = Self { start, len, layout, seed };
        let mut garbage = Garbage::new(seed ^ 0x5EED);
        // SAFETY: the allocation is `size` bytes long and nobody else knows it.
        let whole = unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), size) };
        garbage.fill(whole);
        let mut guards = Garbage::new(!seed);
        let (before, rest) = whole.split_at_mut(GUARD);
        let (_, after) = rest.split_at_mut(len);
        guards.fill(before);
        guards.fill(after);
        buffer.shut(true);
        buffer
    }

    /// A buffer holding `bytes`.
    pub fn from_bytes(bytes: &[u8], seed: u64) -> Self {
        let mut buffer = Self::new(bytes.len(), seed);
        buffer.copy_from_slice(bytes);
        buffer
    }

    /// Where it begins, for a kernel's arguments.
    pub fn address(&self) -> u64 {
        self.data().as_ptr().addr() as u64
    }

    /// An error when something outside was written.
    pub fn check(&mut self) -> Result<(), String> {
        self.shut(false);
        let mut guards = Garbage::new(!self.seed);
        let mut expected = [0; GUARD];
        let mut result = Ok(());
        for (start, side) in [(0, "before"), (GUARD + self.len, "after")] {
            guards.fill(&mut expected);
            // SAFETY: both guards are inside the allocation and open to be read now.
            let found = unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(start), GUARD) };
            if let Some(at) = found.iter().zip(&expected).position(|(a, b)| a != b) {
                let place = if start == 0 { GUARD - at } else { at };
                result = Err(format!("a byte {place} {side} a buffer of {} bytes was written", self.len));
            }
        }
        self.shut(true);
        result
    }

    fn data(&self) -> NonNull<u8> {
        // SAFETY: the allocation is longer than the guard.
        unsafe { self.start.add(GUARD) }
    }

    /// Forbids or allows the guards, where AddressSanitizer is in the process.
    fn shut(&mut self, shut: bool) {
        let Some(sanitizer) = crate::compile::address_sanitizer() else { return };
        let change = if shut { sanitizer.poison } else { sanitizer.unpoison };
        // SAFETY: both regions are inside the allocation.
        unsafe {
            change(self.start.as_ptr().cast(), GUARD);
            change(self.start.as_ptr().add(GUARD + self.len).cast(), GUARD);
        }
    }
}

impl Drop for Poisoned {
    fn drop(&mut self) {
        self.shut(false);
        // SAFETY: allocated with this layout in `new`.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

impl Deref for Poisoned {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `len` bytes after the guard belong to the allocation and are initialised.
        unsafe { std::slice::from_raw_parts(self.data().as_ptr(), self.len) }
    }
}

impl DerefMut for Poisoned {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `deref`, and `self` is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.data().as_ptr(), self.len) }
    }
}

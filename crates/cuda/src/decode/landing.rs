//! Pinned memory that the host engine decodes into, one part per block.

#![expect(unsafe_code, reason = "outputs in disjoint parts of one piece of memory")]

use crate::memory::Pinned;
use std::sync::Arc;
use strile_engine::{Output, OutputSpec};

/// Pinned memory that the CPU engine decodes into. It is accessed only through outputs until it is taken back.
pub(crate) struct Landing {
    start: *mut u8,
    memory: Pinned,
}

// SAFETY: the pointer is into the memory, which may be sent to any thread.
unsafe impl Send for Landing {}
// SAFETY: nothing is read or written through a shared reference.
unsafe impl Sync for Landing {}

impl Landing {
    pub(crate) fn new(mut memory: Pinned) -> Arc<Self> {
        let start = memory.as_mut_ptr();
        Arc::new(Self { start, memory })
    }

    /// Returns an output in the part from `at` on; `None` if it does not fit.
    ///
    /// # Safety
    /// The parts of two outputs that are alive at once must not overlap.
    pub(crate) unsafe fn output(self: &Arc<Self>, spec: OutputSpec, at: u64) -> Option<Output> {
        let (at, len) = (usize::try_from(at).ok()?, spec.len().ok()?);
        if at.checked_add(len)? > self.memory.len() {
            return None;
        }
        // SAFETY: the part lies in the memory, checked above, which the output keeps; the caller guarantees that no
        // other output overlaps it.
        unsafe { Output::borrowed(spec, self.start.add(at), len, Box::new(Arc::clone(self))) }.ok()
    }

    /// Returns the memory once no output holds it.
    pub(crate) fn into_memory(self: Arc<Self>) -> Option<Pinned> {
        Some(Arc::into_inner(self)?.memory)
    }
}

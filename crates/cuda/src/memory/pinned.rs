//! Pinned host memory for asynchronous copies, and the same during such a copy.

#![expect(unsafe_code, reason = "memory of the driver's, as slices")]

use crate::device::Context;
use crate::driver::DriverError;
use crate::stream::{Event, Stream};
use cudarc::driver::sys::CU_MEMHOSTALLOC_PORTABLE;
use std::ffi::c_void;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use strile_engine::Arena;

/// Page-locked memory, not write-combined: it is read as fast as it is written. Allocation is slow (0.6 s per GiB).
#[derive(Debug)]
pub struct Pinned {
    start: *mut u8,
    len: usize,
    context: Arc<Context>,
}

// SAFETY: the memory belongs only to its owner, and any thread may free it.
unsafe impl Send for Pinned {}
// SAFETY: shared references only read it.
unsafe impl Sync for Pinned {}

impl Pinned {
    /// Allocates `len` zero bytes.
    pub fn new(context: &Arc<Context>, len: usize) -> Result<Self, DriverError> {
        if len == 0 {
            return Ok(Self::empty(context));
        }
        let mut start: *mut c_void = std::ptr::null_mut();
        let _bound = context.bind()?;
        // SAFETY: `start` outlives the call, and the context is bound.
        unsafe { context.driver().cuMemHostAlloc(&raw mut start, len, CU_MEMHOSTALLOC_PORTABLE) }?;
        // SAFETY: the driver returned this many bytes; they are initialised here, so that slices of them may be made.
        unsafe { start.cast::<u8>().write_bytes(0, len) };
        Ok(Self { start: start.cast(), len, context: Arc::clone(context) })
    }

    /// Returns an empty memory.
    fn empty(context: &Arc<Context>) -> Self {
        Self { start: std::ptr::null_mut(), len: 0, context: Arc::clone(context) }
    }
}

impl Deref for Pinned {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: `new` made this many initialised bytes, which `self` owns.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

impl DerefMut for Pinned {
    fn deref_mut(&mut self) -> &mut [u8] {
        if self.len == 0 {
            return &mut [];
        }
        // SAFETY: as above, and borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.len) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if self.len == 0 {
            return;
        }
        let Ok(_bound) = self.context.bind() else { return };
        // SAFETY: freed only here, and no copy is in progress: `InFlight` and `Slab` wait first.
        let _ = unsafe { self.context.driver().cuMemFreeHost(self.start.cast()) };
    }
}

impl From<Pinned> for Arena {
    fn from(mut memory: Pinned) -> Self {
        let (start, len) = if memory.is_empty() {
            (std::ptr::NonNull::dangling().as_ptr(), 0)
        } else {
            (memory.as_mut_ptr(), memory.len())
        };
        // SAFETY: `memory` keeps the bytes, which are initialised, and does not touch them.
        unsafe { Self::from_raw(start, len, Box::new(memory)) }
    }
}

/// Pinned memory that a copy on a stream reads or writes; dropping it waits for the copy.
#[derive(Debug)]
pub struct InFlight {
    memory: Pinned,
    event: Event,
}

impl InFlight {
    /// Records the event after a copy was queued on the stream.
    pub(super) fn record(memory: Pinned, event: Event, stream: &Stream) -> Result<Self, DriverError> {
        if let Err(error) = event.record(stream) {
            // The end of the copy cannot be detected, so the memory is leaked.
            std::mem::forget(memory);
            return Err(error);
        }
        Ok(Self { memory, event })
    }

    /// Makes work that is queued on a stream from now on wait for the copy.
    pub fn hold(&self, stream: &Stream) -> Result<(), DriverError> {
        stream.wait_on(&self.event)
    }

    /// Returns whether the copy is done.
    pub fn is_done(&self) -> Result<bool, DriverError> {
        self.event.happened()
    }

    /// Waits for the copy and returns the memory.
    pub fn wait(mut self) -> Result<Pinned, DriverError> {
        self.event.synchronize()?;
        let nothing = Pinned::empty(&self.memory.context);
        Ok(std::mem::replace(&mut self.memory, nothing))
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        // On an error the context is lost: nothing in it runs any more.
        let _ = self.event.synchronize();
    }
}

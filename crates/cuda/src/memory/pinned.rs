//! Host memory the device copies from and to by itself, and the same while such a copy is on its way.

#![expect(unsafe_code, reason = "memory of the driver's, as slices")]

use crate::device::Context;
use crate::driver::DriverError;
use crate::stream::{Event, Stream};
use cudarc::driver::sys::CU_MEMHOSTALLOC_PORTABLE;
use std::ffi::c_void;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use strile_engine::Arena;

/// Page-locked memory, not write-combined: it is read as fast as it is written. Taking it is slow (0.6 s a GiB).
#[derive(Debug)]
pub struct Pinned {
    start: *mut u8,
    len: usize,
    context: Arc<Context>,
}

// SAFETY: the memory belongs to its owner alone, and any thread may free it.
unsafe impl Send for Pinned {}
// SAFETY: through a shared reference it is only read.
unsafe impl Sync for Pinned {}

impl Pinned {
    /// `len` zero bytes.
    pub fn new(context: &Arc<Context>, len: usize) -> Result<Self, DriverError> {
        if len == 0 {
            return Ok(Self::empty(context));
        }
        let mut start: *mut c_void = std::ptr::null_mut();
        let _bound = context.bind()?;
        // SAFETY: `start` lives through the call, and the context is bound.
        unsafe { context.driver().cuMemHostAlloc(&raw mut start, len, CU_MEMHOSTALLOC_PORTABLE) }?;
        // SAFETY: the driver gave so many bytes; they are initialised here, so that slices of them may be made.
        unsafe { start.cast::<u8>().write_bytes(0, len) };
        Ok(Self { start: start.cast(), len, context: Arc::clone(context) })
    }

    /// No bytes at all.
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
        // SAFETY: `new` made so many initialised bytes, which `self` owns.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

impl DerefMut for Pinned {
    fn deref_mut(&mut self) -> &mut [u8] {
        if self.len == 0 {
            return &mut [];
        }
        // SAFETY: as above, and borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.len) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if self.len == 0 {
            return;
        }
        let Ok(_bound) = self.context.bind() else { return };
        // SAFETY: nobody else frees it, and no copy is on its way: `InFlight` and `Slab` wait first.
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
    /// After a copy was queued on the stream.
    pub(super) fn record(memory: Pinned, event: Event, stream: &Stream) -> Result<Self, DriverError> {
        if let Err(error) = event.record(stream) {
            // Nobody can tell when the copy is done, so the memory is never freed.
            std::mem::forget(memory);
            return Err(error);
        }
        Ok(Self { memory, event })
    }

    /// What is queued on a stream from now on waits for the copy.
    pub fn hold(&self, stream: &Stream) -> Result<(), DriverError> {
        stream.wait_on(&self.event)
    }

    /// Whether the copy is done.
    pub fn is_done(&self) -> Result<bool, DriverError> {
        self.event.happened()
    }

    /// Waits for the copy and gives the memory back.
    pub fn wait(mut self) -> Result<Pinned, DriverError> {
        self.event.synchronize()?;
        let nothing = Pinned::empty(&self.memory.context);
        Ok(std::mem::replace(&mut self.memory, nothing))
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        // An error means that the context is lost: nothing in it runs any more.
        let _ = self.event.synchronize();
    }
}

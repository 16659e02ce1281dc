//! The ring: pinned slabs that reader threads fill and that are copied to the device, one copy per slab.
//!
//! Pinning is slow, so slabs are made when first needed and kept while the device is open. Reader threads make no other
//! driver calls: the driver's locks are not fair, and a dozen threads that poll for the end of a copy delay the one
//! that has the next slab to send. The sender of a slab holds it until its copy is done.

#![expect(unsafe_code, reason = "copies that outlive the call")]

use super::device::DeviceBuffer;
use super::pinned::Pinned;
use crate::device::Context;
use crate::driver::DriverError;
use crate::stream::{Event, Stream};
use std::ops::{Deref, DerefMut, Range};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use strile_engine::Cancel;

/// Bytes of a slab for encoded blocks.
pub const SLAB_LEN: usize = 2 << 20;

/// Bytes behind them, so that bytes that kernels may read past a block can be copied too.
pub const SLAB_TAIL: usize = 64;

/// Maximum number of slabs per device.
pub const SLABS: usize = 40;

/// Interval at which a thread that waits for a slab checks for cancellation.
const LOOKS_EVERY: Duration = Duration::from_millis(10);

/// The slabs of a device.
#[derive(Debug)]
pub struct Ring {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    returned: Condvar,
    most: usize,
    context: Arc<Context>,
}

#[derive(Debug, Default)]
struct State {
    /// Slabs that are not held and not read by a copy.
    free: Vec<Memory>,
    made: usize,
}

#[derive(Debug)]
struct Memory {
    pinned: Pinned,
    /// Recorded after the last copy.
    sent: Event,
}

impl Ring {
    pub(crate) fn new(context: &Arc<Context>) -> Self {
        Self::with(context, SLABS)
    }

    /// Returns a ring of another size.
    pub fn with(context: &Arc<Context>, most: usize) -> Self {
        let (state, returned) = (Mutex::default(), Condvar::new());
        Self { shared: Arc::new(Shared { state, returned, most: most.max(1), context: Arc::clone(context) }) }
    }

    /// Returns a slab, after waiting if all are in use; `None` when cancelled.
    pub fn take(&self, cancel: &Cancel) -> Result<Option<Slab>, DriverError> {
        let shared = &self.shared;
        // Makes a forked process fail here instead of waiting for ever.
        let _bound = shared.context.bind()?;
        let mut state = shared.lock();
        while !cancel.is_cancelled() {
            if let Some(memory) = state.free.pop() {
                return Ok(Some(Slab { memory: Some(memory), shared: Arc::clone(shared) }));
            }
            if state.made < shared.most {
                state.made += 1;
                drop(state);
                return shared.make().map(Some);
            }
            let waited = shared.returned.wait_timeout(state, LOOKS_EVERY);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(None)
    }

    /// Returns the number of pinned slabs.
    pub fn made(&self) -> usize {
        self.shared.lock().made
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes another slab, which was counted before.
    fn make(self: &Arc<Self>) -> Result<Slab, DriverError> {
        let made = Pinned::new(&self.context, SLAB_LEN + SLAB_TAIL)
            .and_then(|pinned| Ok(Memory { pinned, sent: Event::new(&self.context)? }));
        if made.is_err() {
            self.unmake();
        }
        made.map(|memory| Slab { memory: Some(memory), shared: Arc::clone(self) })
    }

    /// Allows another slab in place of one that is lost.
    fn unmake(&self) {
        self.lock().made -= 1;
        self.returned.notify_one();
    }
}

/// A slab with exclusive access; returned to the ring on drop.
#[derive(Debug)]
pub struct Slab {
    /// `None` once it was returned to the ring.
    memory: Option<Memory>,
    shared: Arc<Shared>,
}

impl Slab {
    /// Queues a copy of a part of it to `offset` of a buffer.
    pub fn send(
        mut self,
        stream: &Stream,
        part: Range<usize>,
        to: &DeviceBuffer,
        offset: u64,
    ) -> Result<SentSlab, DriverError> {
        let Some(memory) = &mut self.memory else { return Ok(SentSlab(self)) };
        let out_of_bounds = DriverError::OutOfBounds {
            offset: part.start as u64,
            len: part.len() as u64,
            size: memory.pinned.len() as u64,
        };
        let from = memory.pinned.get(part).ok_or(out_of_bounds)?;
        if from.is_empty() {
            return Ok(SentSlab(self));
        }
        // SAFETY: the slab is held until the copy is done, or its memory is leaked.
        unsafe { to.copy_from(stream, offset, from) }?;
        if let Err(error) = memory.sent.record(stream) {
            // The end of the copy cannot be detected, so this memory is neither reused nor freed.
            std::mem::forget(self.memory.take());
            self.shared.unmake();
            return Err(error);
        }
        Ok(SentSlab(self))
    }
}

impl Deref for Slab {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.memory.as_ref().map_or(&[], |memory| &memory.pinned)
    }
}

impl DerefMut for Slab {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.memory.as_mut().map_or(&mut [], |memory| &mut memory.pinned)
    }
}

impl Drop for Slab {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take() {
            self.shared.lock().free.push(memory);
            self.shared.returned.notify_one();
        }
    }
}

/// A slab whose copy is in progress. Dropping it waits for the copy and returns the slab to the ring.
#[derive(Debug)]
pub struct SentSlab(Slab);

impl SentSlab {
    /// Returns whether the copy is done.
    pub fn is_done(&self) -> Result<bool, DriverError> {
        self.0.memory.as_ref().map_or(Ok(true), |memory| memory.sent.happened())
    }
}

impl Drop for SentSlab {
    fn drop(&mut self) {
        if let Some(memory) = &self.0.memory {
            // On an error the context is lost: nothing in it runs any more.
            let _ = memory.sent.synchronize();
        }
    }
}

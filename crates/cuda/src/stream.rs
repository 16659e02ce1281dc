//! Streams and events, freed with their owners.
//!
//! Nothing here waits for a whole device, and no stream is the default one. Dropping either while work is queued is
//! safe: the driver finishes that work and frees the handle afterwards.

#![expect(unsafe_code, reason = "calls of the driver")]

mod caller;

pub use caller::wait_for_caller;

use crate::device::Context;
use crate::driver::{DriverError, Handle};
use cudarc::driver::sys::{
    CUevent, CUevent_flags, CUevent_st, CUresult, CUstream, CUstream_flags, CUstream_st,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A queue of work on the device. Clones refer to the same stream.
#[derive(Debug, Clone)]
pub struct Stream(Arc<Owner>);

#[derive(Debug)]
struct Owner {
    handle: Handle<CUstream_st>,
    context: Arc<Context>,
}

impl Stream {
    /// Returns a stream that does not wait for the default stream.
    pub fn new(context: &Arc<Context>) -> Result<Self, DriverError> {
        let _bound = context.bind()?;
        let mut handle: CUstream = std::ptr::null_mut();
        let flags = CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: `handle` outlives the call, and the context is bound.
        unsafe { context.driver().cuStreamCreate(&raw mut handle, flags) }?;
        Ok(Self(Arc::new(Owner { handle: Handle(handle), context: Arc::clone(context) })))
    }

    /// Returns its context.
    pub fn context(&self) -> &Arc<Context> {
        &self.0.context
    }

    pub(crate) fn handle(&self) -> CUstream {
        self.0.handle.0
    }

    /// Makes work queued from now on wait for the event, as it was last recorded.
    pub fn wait_on(&self, event: &Event) -> Result<(), DriverError> {
        let _bound = self.context().bind()?;
        // SAFETY: both handles are alive; the driver keeps what it needs of the event.
        unsafe { self.context().driver().cuStreamWaitEvent(self.handle(), event.handle.0, 0) }
    }

    /// Makes work queued here from now on wait for all work queued on `other` so far.
    pub fn wait_for(&self, other: &Self) -> Result<(), DriverError> {
        self.wait_on(&other.record()?)
    }

    /// Returns an event after all work queued so far.
    pub fn record(&self) -> Result<Event, DriverError> {
        let event = Event::new(self.context())?;
        event.record(self)?;
        Ok(event)
    }

    /// Returns a timed event after all work queued so far.
    pub fn record_timed(&self) -> Result<Event, DriverError> {
        let event = Event::timed(self.context())?;
        event.record(self)?;
        Ok(event)
    }

    /// Waits until all work queued so far is done; reports failed work.
    pub fn synchronize(&self) -> Result<(), DriverError> {
        if self.is_idle()? {
            return Ok(());
        }
        self.record()?.synchronize()
    }

    /// Returns whether all work queued so far is done; reports failed work.
    fn is_idle(&self) -> Result<bool, DriverError> {
        let _bound = self.context().bind()?;
        // SAFETY: the handle is alive.
        ready(unsafe { self.context().driver().cuStreamQuery(self.handle()) })
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let Ok(_bound) = self.context.bind() else { return };
        // Errors of queued work are reported to those who wait for it. SAFETY: the handle is not shared.
        let _ = unsafe { self.context.driver().cuStreamDestroy_v2(self.handle.0) };
    }
}

/// Translates the driver's answer for work that may not be done yet.
fn ready(answer: Result<(), DriverError>) -> Result<bool, DriverError> {
    match answer {
        Ok(()) => Ok(true),
        Err(error) if error.is(CUresult::CUDA_ERROR_NOT_READY) => Ok(false),
        Err(error) => Err(error),
    }
}

/// A point in a stream. On drop its handle is returned to the context for reuse.
#[derive(Debug)]
pub struct Event {
    handle: Handle<CUevent_st>,
    is_timed: bool,
    context: Arc<Context>,
}

/// How long a wait polls before it sleeps: waking up costs about as much.
const LOOKS_FOR: Duration = Duration::from_micros(50);

impl Event {
    /// Returns an event without a time, which is cheaper.
    pub fn new(context: &Arc<Context>) -> Result<Self, DriverError> {
        Self::with(context, false)
    }

    /// Returns an event that records its time.
    pub fn timed(context: &Arc<Context>) -> Result<Self, DriverError> {
        Self::with(context, true)
    }

    fn with(context: &Arc<Context>, is_timed: bool) -> Result<Self, DriverError> {
        let _bound = context.bind()?;
        let handle = match context.events().take(is_timed) {
            Some(handle) => handle,
            None => make_event(context, is_timed)?,
        };
        Ok(Self { handle, is_timed, context: Arc::clone(context) })
    }

    /// Records it after all work queued on the stream so far.
    pub fn record(&self, stream: &Stream) -> Result<(), DriverError> {
        let _bound = self.context.bind()?;
        // SAFETY: both handles are alive.
        unsafe { self.context.driver().cuEventRecord(self.handle.0, stream.handle()) }
    }

    /// Returns whether it has happened, which an event that was never recorded has; reports failed work before it.
    pub fn happened(&self) -> Result<bool, DriverError> {
        let _bound = self.context.bind()?;
        // SAFETY: the handle is alive.
        ready(unsafe { self.context.driver().cuEventQuery(self.handle.0) })
    }

    /// Waits until it has happened; reports failed work before it.
    pub fn synchronize(&self) -> Result<(), DriverError> {
        let start = Instant::now();
        while start.elapsed() < LOOKS_FOR {
            if self.happened()? {
                return Ok(());
            }
            std::hint::spin_loop();
        }
        let _bound = self.context.bind()?;
        // SAFETY: the handle is alive.
        unsafe { self.context.driver().cuEventSynchronize(self.handle.0) }
    }

    /// Returns the time from `earlier` to this; both must be timed and have happened.
    pub fn since(&self, earlier: &Self) -> Result<Duration, DriverError> {
        let _bound = self.context.bind()?;
        let mut milliseconds = 0f32;
        // SAFETY: both handles are alive, and `milliseconds` outlives the call.
        unsafe {
            self.context.driver().cuEventElapsedTime(&raw mut milliseconds, earlier.handle.0, self.handle.0)
        }?;
        Ok(Duration::try_from_secs_f64(f64::from(milliseconds) / 1000.0).unwrap_or_default())
    }
}

/// Creates an event; the context must be bound.
fn make_event(context: &Context, is_timed: bool) -> Result<Handle<CUevent_st>, DriverError> {
    let mut handle: CUevent = std::ptr::null_mut();
    let kind =
        if is_timed { CUevent_flags::CU_EVENT_DEFAULT } else { CUevent_flags::CU_EVENT_DISABLE_TIMING };
    let flags = kind as u32 | CUevent_flags::CU_EVENT_BLOCKING_SYNC as u32;
    // SAFETY: `handle` outlives the call, and the context is bound.
    unsafe { context.driver().cuEventCreate(&raw mut handle, flags) }?;
    Ok(Handle(handle))
}

impl Drop for Event {
    fn drop(&mut self) {
        // Streams that wait for it wait for its record at that time, so it may be recorded anew at once.
        self.context.events().give(self.handle, self.is_timed);
    }
}

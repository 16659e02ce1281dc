//! The primary context of a device, which all libraries of a process share: kept alive while anything of strile is in
//! it.
//!
//! Owners of objects in a context hold it by an `Arc` and bind it around their calls. When the binding ends, the
//! previous context of the thread is restored, so that a caller's own CUDA code on that thread is not disturbed.

#![expect(unsafe_code, reason = "calls of the driver")]

use crate::driver::{Driver, DriverError, Handle};
use cudarc::driver::sys::{CUcontext, CUctx_st, CUdevice, CUevent_st};
use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

/// A retained primary context.
#[derive(Debug)]
pub struct Context {
    driver: &'static Driver,
    device: CUdevice,
    handle: Handle<CUctx_st>,
    events: Events,
}

/// Unused events: a read needs about ten, and creating one takes the driver as long as queueing a copy.
#[derive(Debug, Default)]
pub(crate) struct Events {
    plain: Mutex<Vec<Handle<CUevent_st>>>,
    timed: Mutex<Vec<Handle<CUevent_st>>>,
}

impl Events {
    pub(crate) fn take(&self, is_timed: bool) -> Option<Handle<CUevent_st>> {
        self.of(is_timed).lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    pub(crate) fn give(&self, event: Handle<CUevent_st>, is_timed: bool) {
        self.of(is_timed).lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }

    fn of(&self, is_timed: bool) -> &Mutex<Vec<Handle<CUevent_st>>> {
        if is_timed { &self.timed } else { &self.plain }
    }
}

impl Context {
    pub(super) fn retain(driver: &'static Driver, device: CUdevice) -> Result<Self, DriverError> {
        let mut handle: CUcontext = std::ptr::null_mut();
        // SAFETY: `handle` outlives the call, and `device` is from the driver.
        unsafe { driver.cuDevicePrimaryCtxRetain(&raw mut handle, device) }?;
        Ok(Self { driver, device, handle: Handle(handle), events: Events::default() })
    }

    /// Returns the driver.
    pub fn driver(&self) -> &'static Driver {
        self.driver
    }

    /// Returns the events for reuse.
    pub(crate) fn events(&self) -> &Events {
        &self.events
    }

    /// Returns the driver's number of the device.
    pub(crate) fn device(&self) -> CUdevice {
        self.device
    }

    /// Makes this the current context of the thread until the binding is dropped.
    pub fn bind(&self) -> Result<Bound<'_>, DriverError> {
        let mut before: CUcontext = std::ptr::null_mut();
        // SAFETY: `before` outlives the call.
        unsafe { self.driver.cuCtxGetCurrent(&raw mut before) }?;
        let before = if before == self.handle.0 {
            None
        } else {
            // SAFETY: the context is retained.
            unsafe { self.driver.cuCtxSetCurrent(self.handle.0) }?;
            Some(before)
        };
        Ok(Bound { context: self, before, this_thread: PhantomData })
    }

    /// Returns the free and total bytes of the device's memory, over all processes.
    pub fn memory(&self) -> Result<(u64, u64), DriverError> {
        let _bound = self.bind()?;
        let (mut free, mut total) = (0usize, 0usize);
        // SAFETY: both outlive the call, and the context is bound.
        unsafe { self.driver.cuMemGetInfo_v2(&raw mut free, &raw mut total) }?;
        Ok((free as u64, total as u64))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if let Ok(_bound) = self.bind() {
            for is_timed in [false, true] {
                while let Some(event) = self.events.take(is_timed) {
                    // SAFETY: the handle is not shared; a pending event is freed once it has happened.
                    let _ = unsafe { self.driver.cuEventDestroy_v2(event.0) };
                }
            }
        }
        // If the release fails there is nothing to do: the process ends, or was forked. SAFETY: retained once by
        // `retain`; everything made in it has held this and is gone.
        let _ = unsafe { self.driver.cuDevicePrimaryCtxRelease_v2(self.device) };
    }
}

/// Keeps the context current on this thread.
#[derive(Debug)]
pub struct Bound<'a> {
    context: &'a Context,
    /// The previous context, if it was another one.
    before: Option<CUcontext>,
    this_thread: PhantomData<*const ()>,
}

impl Drop for Bound<'_> {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            // SAFETY: it was current on this thread when the binding began; null means none.
            let _ = unsafe { self.context.driver.cuCtxSetCurrent(before) };
        }
    }
}

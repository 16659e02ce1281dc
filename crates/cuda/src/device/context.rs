//! The primary context of a device, which all libraries of a process share: kept alive while anything of ours is in it.
//!
//! Owners of things in a context hold it by an `Arc` and bind it around their calls. A thread has the context it had
//! before when the binding ends, so that a caller's own CUDA code on that thread is not disturbed.

#![expect(unsafe_code, reason = "calls of the driver")]

use crate::driver::{Driver, DriverError, Handle};
use cudarc::driver::sys::{CUcontext, CUctx_st, CUdevice};
use std::marker::PhantomData;

/// A retained primary context.
#[derive(Debug)]
pub struct Context {
    driver: &'static Driver,
    device: CUdevice,
    handle: Handle<CUctx_st>,
}

impl Context {
    pub(super) fn retain(driver: &'static Driver, device: CUdevice) -> Result<Self, DriverError> {
        let mut handle: CUcontext = std::ptr::null_mut();
        // SAFETY: `handle` lives through the call, and `device` is the driver's.
        unsafe { driver.cuDevicePrimaryCtxRetain(&raw mut handle, device) }?;
        Ok(Self { driver, device, handle: Handle(handle) })
    }

    /// The driver.
    pub fn driver(&self) -> &'static Driver {
        self.driver
    }

    /// The driver's number of the device.
    pub(crate) fn device(&self) -> CUdevice {
        self.device
    }

    /// Makes this the current context of the thread until the binding is dropped.
    pub fn bind(&self) -> Result<Bound<'_>, DriverError> {
        let mut before: CUcontext = std::ptr::null_mut();
        // SAFETY: `before` lives through the call.
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

    /// Free and total bytes of the device's memory, of all processes.
    pub fn memory(&self) -> Result<(u64, u64), DriverError> {
        let _bound = self.bind()?;
        let (mut free, mut total) = (0usize, 0usize);
        // SAFETY: both live through the call, and the context is bound.
        unsafe { self.driver.cuMemGetInfo_v2(&raw mut free, &raw mut total) }?;
        Ok((free as u64, total as u64))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // A release that fails leaves nothing to be done: the process ends, or was forked.
        // SAFETY: retained once by `retain`; everything made in it has held this and is gone.
        let _ = unsafe { self.driver.cuDevicePrimaryCtxRelease_v2(self.device) };
    }
}

/// While it lives, the context is current on this thread.
#[derive(Debug)]
pub struct Bound<'a> {
    context: &'a Context,
    /// What was current, where that was another one.
    before: Option<CUcontext>,
    this_thread: PhantomData<*const ()>,
}

impl Drop for Bound<'_> {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            // SAFETY: it was current on this thread when the binding began; null is none.
            let _ = unsafe { self.context.driver.cuCtxSetCurrent(before) };
        }
    }
}

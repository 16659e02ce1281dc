//! Access to the CUDA driver: found, checked and opened at run time, or a value that says why not.
//!
//! Only types and signatures of cudarc's generated bindings are used. Its functions are never called: they panic if a
//! library or a symbol is missing, and they turn the result into an enum that a newer driver's codes do not fit.
//! `calls` holds separate pointers to the same functions, all looked up before the first is called.
//!
//! The library is `libcuda.so.1`, which the driver installs, found by the dynamic loader's own search (a library of
//! that name that the process has already loaded is used), then the other names that cudarc knows.
//!
//! The functions called, all of them required (`cuDriverGetVersion` is looked up and called first, then the others are
//! looked up, then `cuInit` is called):
//!
//! ```text
//! cuInit cuDriverGetVersion cuGetErrorName
//! cuDeviceGetCount cuDeviceGet cuDeviceGetName cuDeviceGetAttribute cuDeviceTotalMem_v2 cuDeviceGetUuid_v2
//! cuDevicePrimaryCtxRetain cuDevicePrimaryCtxRelease_v2 cuCtxGetCurrent cuCtxSetCurrent cuMemGetInfo_v2
//! cuStreamCreate cuStreamDestroy_v2 cuStreamQuery cuStreamWaitEvent
//! cuEventCreate cuEventDestroy_v2 cuEventRecord cuEventSynchronize cuEventQuery cuEventElapsedTime
//! cuMemPoolCreate cuMemPoolDestroy cuMemPoolSetAttribute cuMemPoolTrimTo cuMemAllocFromPoolAsync cuMemFreeAsync
//! cuMemHostAlloc cuMemFreeHost
//! cuMemcpyHtoDAsync_v2 cuMemcpyDtoHAsync_v2 cuMemcpyDtoDAsync_v2 cuMemsetD8Async cuMemsetD32Async
//! cuModuleLoadData cuModuleUnload cuModuleGetFunction cuFuncGetAttribute cuFuncSetAttribute cuLaunchKernel
//! ```
//!
//! Attributes queried from a device: compute capability major (75) and minor (76), multiprocessors (16). From a
//! function: threads per CUDA block (0), static shared memory (1), registers (4). Set on a pool: the release threshold
//! (4).

#![expect(unsafe_code, reason = "calls into a library opened at run time")]

mod calls;
mod unavailable;

pub use calls::CALLS;
pub use unavailable::{DriverError, Unavailable};

use calls::Calls;
use cudarc::driver::sys;
use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_uint};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use strile_engine::ProcessId;

/// Oldest driver that supports the PTX and the cubins of this crate: CUDA 12.0, which is 525 and newer.
pub const OLDEST_DRIVER: u32 = 12_000;

/// Return value of a driver function; 0 is success.
pub(crate) type Code = c_uint;

/// The driver of this machine, opened once per process and never closed.
#[derive(Debug)]
pub struct Driver {
    calls: Calls,
    /// Takes a number, so that codes newer than the bindings are not undefined behaviour.
    error_name: unsafe extern "C" fn(c_uint, *mut *const c_char) -> Code,
    version: u32,
    process: ProcessId,
    /// Last field, so that nothing above outlives it.
    _library: Library,
}

impl Driver {
    /// Returns the driver. The first call opens it; later calls return the same result.
    pub fn get() -> Result<&'static Self, Unavailable> {
        static DRIVER: OnceLock<Result<Driver, Unavailable>> = OnceLock::new();
        // No lock: a fork could leave it locked.
        static OPENER: AtomicU64 = AtomicU64::new(0);
        let process = ProcessId::current().as_u64();
        let opener = OPENER.compare_exchange(0, process, Ordering::Relaxed, Ordering::Relaxed);
        if DRIVER.get().is_none() && opener.is_err_and(|opener| opener != process) {
            // The parent was forked while it opened the driver: no thread of this process will finish that.
            return Err(Unavailable::Forked);
        }
        let driver = DRIVER.get_or_init(Self::open).as_ref().map_err(Clone::clone)?;
        driver.same_process().map_err(|_| Unavailable::Forked)?;
        Ok(driver)
    }

    /// Returns the newest CUDA version that the driver supports: 1000 × major + 10 × minor.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Returns the number of devices that `CUDA_VISIBLE_DEVICES` lets this process see; none is an error.
    pub fn device_count(&self) -> Result<u32, Unavailable> {
        let mut count: c_int = 0;
        // SAFETY: `count` outlives the call.
        unsafe { self.cuDeviceGetCount(&raw mut count) }?;
        u32::try_from(count).ok().filter(|&count| count > 0).ok_or(Unavailable::NoDevice)
    }

    fn open() -> Result<Self, Unavailable> {
        let library = open_library().ok_or(Unavailable::NoDriver)?;
        let version = version_of(&library)?;
        if version < OLDEST_DRIVER {
            return Err(Unavailable::DriverTooOld { found: version, needed: OLDEST_DRIVER });
        }
        let missing = |call| Unavailable::Failed { call, error: "the driver library lacks it".to_owned() };
        let calls = Calls::load(&library).map_err(missing)?;
        // SAFETY: the signature is from the driver's documentation, with the enum as its number.
        let error_name = unsafe { library.get(b"cuGetErrorName\0") };
        let error_name = *error_name.map_err(|_| missing("cuGetErrorName"))?;
        let driver = Self { calls, error_name, version, process: ProcessId::current(), _library: library };
        // SAFETY: no pointer is passed.
        match unsafe { driver.cuInit(0) } {
            Err(DriverError::Call { code: NO_DEVICE, .. }) => Err(Unavailable::NoDevice),
            other => Ok(other.map(|()| driver)?),
        }
    }

    /// Refuses a driver that was used before a fork: it does not work afterwards, and may do harm.
    pub(crate) fn same_process(&self) -> Result<(), DriverError> {
        if ProcessId::current() == self.process { Ok(()) } else { Err(DriverError::Forked) }
    }

    fn check(&self, call: &'static str, code: Code) -> Result<(), DriverError> {
        if code == 0 { Ok(()) } else { Err(DriverError::Call { call, code, name: self.name_of(code) }) }
    }

    fn name_of(&self, code: Code) -> String {
        let mut name = std::ptr::null();
        // SAFETY: `name` outlives the call; the function accepts any number.
        let found = unsafe { (self.error_name)(code, &raw mut name) };
        if found != 0 || name.is_null() {
            return "an unknown error".to_owned();
        }
        // SAFETY: the driver returns a static string that ends with 0.
        unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
    }
}

const NO_DEVICE: Code = sys::CUresult::CUDA_ERROR_NO_DEVICE as Code;

fn open_library() -> Option<Library> {
    let first = if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so.1" };
    let names = std::iter::once(first.to_owned()).chain(cudarc::get_lib_name_candidates("cuda"));
    // SAFETY: loading runs the library's initialisers, as in every CUDA program.
    names.into_iter().find_map(|name| unsafe { Library::new(name) }.ok())
}

/// Returns the version before anything else is looked up, so that an old driver is reported as old and not as
/// incomplete.
fn version_of(library: &Library) -> Result<u32, Unavailable> {
    const CALL: &str = "cuDriverGetVersion";
    let failed = |error: String| Unavailable::Failed { call: CALL, error };
    let mut version: c_int = 0;
    // SAFETY: the signature is from the driver's documentation, and `version` outlives the call.
    let code = unsafe {
        library
            .get::<unsafe extern "C" fn(*mut c_int) -> Code>(CALL.as_bytes())
            .map(|call| call(&raw mut version))
    };
    match code {
        Ok(0) => u32::try_from(version).map_err(|_| failed(format!("it says {version}"))),
        Ok(code) => Err(failed(format!("error {code}"))),
        Err(_) => Err(failed("the driver library lacks it".to_owned())),
    }
}

/// A driver handle, which any thread may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Handle<T>(pub(crate) *mut T);

// SAFETY: the driver's functions are thread-safe, and only they access what a handle points at.
unsafe impl<T> Send for Handle<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Handle<T> {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_list_above_is_what_is_called() {
        let text = include_str!("driver.rs");
        let list = text.split("```").nth(1).unwrap().trim_start_matches("text");
        let told: BTreeSet<&str> = list.split_whitespace().filter(|word| *word != "//!").collect();
        let called = CALLS.iter().copied().chain(["cuDriverGetVersion", "cuGetErrorName"]).collect();
        assert_eq!(told, called);
    }
}

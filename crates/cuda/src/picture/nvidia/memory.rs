//! Memory for NVIDIA's libraries, given by functions that they call: device memory from the pool of the device, counted
//! by its budget, in the order of the stream they name; pinned memory from the driver. So what they take beside the
//! pictures is never more than the caller allowed, and no allocation of theirs waits for the device.
//!
//! A request beyond the budget fails; the library then fails with its status for that, and the picture is the host's.

#![expect(unsafe_code, reason = "functions that a library calls, and calls of the driver")]

use crate::device::Device;
use crate::memory::{Kind, Lease};
use cudarc::driver::sys::{CU_MEMHOSTALLOC_PORTABLE, CUdeviceptr, CUstream};
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::sync::{Arc, Mutex, PoisonError};

type Allocate = unsafe extern "C" fn(*mut c_void, *mut *mut c_void, usize, *mut c_void) -> c_int;
type Free = unsafe extern "C" fn(*mut c_void, *mut c_void, usize, *mut c_void) -> c_int;

/// `nvjpeg2kDeviceAllocatorV2_t`, `nvjpeg2kPinnedAllocatorV2_t`, `nvjpegDevAllocatorV2_t` and
/// `nvjpegPinnedAllocatorV2_t`, which are alike.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Allocator {
    allocate: Allocate,
    free: Free,
    context: *mut c_void,
}

const _: () = assert!(size_of::<Allocator>() == 24 && std::mem::offset_of!(Allocator, context) == 16);

/// What the functions are called with. Lives as long as the library's handle.
#[derive(Debug)]
struct Source {
    device: Arc<Device>,
    leases: Mutex<BTreeMap<u64, Lease>>,
}

/// The two allocators of one handle.
#[derive(Debug)]
pub(crate) struct Allocators {
    pub(crate) device: Allocator,
    pub(crate) pinned: Allocator,
    source: Box<Source>,
}

// SAFETY: the pointers are to `source`, which is behind locks.
unsafe impl Send for Allocators {}
// SAFETY: as above.
unsafe impl Sync for Allocators {}

impl Allocators {
    /// Boxed, so that their addresses stay: nobody says whether libraries copy them.
    pub(crate) fn new(device: &Arc<Device>) -> Box<Self> {
        let source = Box::new(Source { device: Arc::clone(device), leases: Mutex::default() });
        let context = std::ptr::from_ref::<Source>(&source).cast_mut().cast();
        Box::new(Self {
            device: Allocator { allocate: allocate_device, free: free_device, context },
            pinned: Allocator { allocate: allocate_pinned, free: free_pinned, context },
            source,
        })
    }

    /// Bytes of device memory that the library has.
    pub(crate) fn taken(&self) -> u64 {
        self.source.leases().values().map(Lease::bytes).sum()
    }
}

impl Source {
    fn leases(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, Lease>> {
        self.leases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn allocate_device(&self, len: usize, stream: CUstream) -> Option<CUdeviceptr> {
        // Kept between jobs, so it counts as something whose end nobody waits for.
        let lease = self.device.budget().try_take(Kind::Output, len as u64, "a library for pictures").ok()?;
        let address = self.device.pool().take(len, stream).ok()?;
        self.leases().insert(address, lease);
        if stream.is_null() {
            // What the library runs on streams of ours is not ordered behind the default stream.
            let _bound = self.device.bind().ok()?;
            // SAFETY: the default stream always lives.
            unsafe { self.device.context().driver().cuStreamSynchronize(stream) }.ok()?;
        }
        Some(address)
    }

    fn free_device(&self, address: CUdeviceptr, stream: CUstream) -> Option<()> {
        let lease = self.leases().remove(&address)?;
        // SAFETY: the pool gave it, and the library, which alone has it, is done with it in the order of the stream.
        let freed = unsafe { self.device.pool().give(address, lease.bytes(), stream) };
        freed.ok()
    }
}

fn result<T>(done: Option<T>) -> c_int {
    c_int::from(done.is_none())
}

/// # Safety
/// `context` must be a `Source` that lives, `to` writable.
unsafe extern "C" fn allocate_device(
    context: *mut c_void,
    to: *mut *mut c_void,
    len: usize,
    stream: *mut c_void,
) -> c_int {
    // SAFETY: the caller's.
    let source = unsafe { &*context.cast::<Source>() };
    let address = if len == 0 { Some(0) } else { source.allocate_device(len, stream.cast()) };
    let pointer = address.and_then(|address| usize::try_from(address).ok());
    // SAFETY: the caller's.
    unsafe { *to = std::ptr::with_exposed_provenance_mut(pointer.unwrap_or(0)) };
    result(pointer)
}

/// # Safety
/// `context` must be a `Source` that lives.
unsafe extern "C" fn free_device(
    context: *mut c_void,
    pointer: *mut c_void,
    _len: usize,
    stream: *mut c_void,
) -> c_int {
    // SAFETY: the caller's.
    let source = unsafe { &*context.cast::<Source>() };
    let address = pointer.expose_provenance() as u64;
    if address == 0 { 0 } else { result(source.free_device(address, stream.cast())) }
}

/// # Safety
/// `context` must be a `Source` that lives, `to` writable.
unsafe extern "C" fn allocate_pinned(
    context: *mut c_void,
    to: *mut *mut c_void,
    len: usize,
    _stream: *mut c_void,
) -> c_int {
    // SAFETY: the caller's.
    let source = unsafe { &*context.cast::<Source>() };
    let driver = source.device.context().driver();
    let mut start: *mut c_void = std::ptr::null_mut();
    let bound = source.device.bind().ok();
    let taken = bound.and_then(|_bound| {
        // SAFETY: `start` lives through the call, and the context is bound.
        unsafe { driver.cuMemHostAlloc(&raw mut start, len.max(1), CU_MEMHOSTALLOC_PORTABLE) }.ok()
    });
    // SAFETY: the caller's.
    unsafe { *to = start };
    result(taken)
}

/// # Safety
/// `context` must be a `Source` that lives, and the memory given by `allocate_pinned`.
unsafe extern "C" fn free_pinned(
    context: *mut c_void,
    pointer: *mut c_void,
    _len: usize,
    stream: *mut c_void,
) -> c_int {
    if pointer.is_null() {
        return 0;
    }
    // SAFETY: the caller's.
    let source = unsafe { &*context.cast::<Source>() };
    let driver = source.device.context().driver();
    let bound = source.device.bind().ok();
    result(bound.and_then(|_bound| {
        // Copies that read it may be queued on the stream still.
        // SAFETY: the library's stream lives while the library frees in its order.
        unsafe { driver.cuStreamSynchronize(stream.cast()) }.ok()?;
        // SAFETY: given by the driver, and nothing reads it any more.
        unsafe { driver.cuMemFreeHost(pointer) }.ok()
    }))
}

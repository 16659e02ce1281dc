//! Device memory from stream-ordered pools of our own, counted, freed in the order of the stream it was taken on.
//!
//! To use a buffer on another stream, make that stream wait for the buffer's before the first use, and the buffer's
//! wait for the other before the buffer is dropped (`Stream::wait_for`).

#![expect(unsafe_code, reason = "calls of the driver")]

use super::pinned::{InFlight, Pinned};
use crate::device::Context;
use crate::driver::{DriverError, Handle};
use crate::stream::{Event, Stream};
use cudarc::driver::sys::{
    CUdeviceptr, CUmemAllocationHandleType, CUmemAllocationType, CUmemLocation, CUmemLocationType,
    CUmemPool_attribute, CUmemPoolHandle_st, CUmemPoolProps, CUmemoryPool,
};
use std::ffi::c_void;
use std::ptr::without_provenance_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The driver's handle of its default stream, `CU_STREAM_LEGACY`.
const LEGACY_STREAM: usize = 1;

/// Allocator of device memory. Freed memory stays here up to `keep` bytes; the rest goes back to the driver at the next
/// wait.
///
/// The memory that jobs work in and the results that outlive them come from a pool of the driver each: in a common one a
/// result may take a part of the piece that the last job worked in, and then the next job's piece has to be mapped again.
#[derive(Debug)]
pub struct Pool {
    working: Handle<CUmemPoolHandle_st>,
    lasting: Handle<CUmemPoolHandle_st>,
    current: AtomicU64,
    peak: AtomicU64,
    allocations: AtomicU64,
    context: Arc<Context>,
}

impl Pool {
    pub(crate) fn new(context: &Arc<Context>) -> Result<Self, DriverError> {
        let _bound = context.bind()?;
        let properties = CUmemPoolProps {
            allocType: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            handleTypes: CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
            location: CUmemLocation {
                type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
                id: context.device(),
            },
            win32SecurityAttributes: std::ptr::null_mut(),
            reserved: [0; 64],
        };
        let made = || {
            let mut handle: CUmemoryPool = std::ptr::null_mut();
            // SAFETY: both live through the call.
            unsafe { context.driver().cuMemPoolCreate(&raw mut handle, &raw const properties) }?;
            Ok::<_, DriverError>(Handle(handle))
        };
        let pool = Self {
            working: made()?,
            lasting: made()?,
            current: AtomicU64::new(0),
            peak: AtomicU64::new(0),
            allocations: AtomicU64::new(0),
            context: Arc::clone(context),
        };
        pool.keep(0)?;
        Ok(pool)
    }

    /// Sets how many free bytes stay here; the rest goes back to the driver at the next wait.
    pub fn keep(&self, bytes: u64) -> Result<(), DriverError> {
        let _bound = self.context.bind()?;
        let mut half = bytes / 2;
        let attribute = CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        for pool in [&self.working, &self.lasting] {
            let value = (&raw mut half).cast::<c_void>();
            // SAFETY: the attribute is a 64-bit number, and `half` lives through the call.
            unsafe { self.context.driver().cuMemPoolSetAttribute(pool.0, attribute, value) }?;
        }
        Ok(())
    }

    /// Gives free memory back to the driver, except for `keep` bytes.
    pub fn trim(&self, keep: usize) -> Result<(), DriverError> {
        let _bound = self.context.bind()?;
        for pool in [&self.working, &self.lasting] {
            // SAFETY: the pool lives.
            unsafe { self.context.driver().cuMemPoolTrimTo(pool.0, keep / 2) }?;
        }
        Ok(())
    }

    /// Returns memory for a job to work in, which may be used by what is queued on the stream from now on; aligned to 256
    /// bytes and not initialised.
    pub fn alloc(self: &Arc<Self>, stream: &Stream, len: u64) -> Result<DeviceBuffer, DriverError> {
        self.alloc_from(&self.working, stream, len)
    }

    /// Returns the same for a result that outlives the job.
    pub fn alloc_lasting(self: &Arc<Self>, stream: &Stream, len: u64) -> Result<DeviceBuffer, DriverError> {
        self.alloc_from(&self.lasting, stream, len)
    }

    fn alloc_from(
        self: &Arc<Self>,
        pool: &Handle<CUmemPoolHandle_st>,
        stream: &Stream,
        len: u64,
    ) -> Result<DeviceBuffer, DriverError> {
        let mut address: CUdeviceptr = 0;
        if len > 0 {
            let _bound = self.context.bind()?;
            // The driver refuses a size that does not fit `usize`.
            let size = usize::try_from(len).unwrap_or(usize::MAX);
            // SAFETY: `address` and the handles outlive the call.
            unsafe {
                self.context.driver().cuMemAllocFromPoolAsync(&raw mut address, size, pool.0, stream.handle())
            }?;
            let now = self.current.fetch_add(len, Ordering::Relaxed).saturating_add(len);
            self.peak.fetch_max(now, Ordering::Relaxed);
            self.allocations.fetch_add(1, Ordering::Relaxed);
        }
        Ok(DeviceBuffer { address, len, stream: stream.clone(), shared: false, pool: Arc::clone(self) })
    }

    /// Returns the bytes in live buffers.
    pub fn current(&self) -> u64 {
        self.current.load(Ordering::Relaxed)
    }

    /// Returns the peak of that number.
    pub fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }

    /// Resets the peak.
    pub fn reset_peak(&self) {
        self.peak.store(self.current(), Ordering::Relaxed);
    }

    /// Returns the number of buffers ever made.
    pub fn allocations(&self) -> u64 {
        self.allocations.load(Ordering::Relaxed)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let Ok(_bound) = self.context.bind() else { return };
        for pool in [&self.working, &self.lasting] {
            // SAFETY: every buffer has held this, so all are freed, or will be by what is queued.
            let _ = unsafe { self.context.driver().cuMemPoolDestroy(pool.0) };
        }
    }
}

/// Device memory, freed on its stream when dropped.
#[derive(Debug)]
pub struct DeviceBuffer {
    address: CUdeviceptr,
    len: u64,
    stream: Stream,
    /// Whether foreign code may use it, see `share`.
    shared: bool,
    pool: Arc<Pool>,
}

impl DeviceBuffer {
    /// Returns its address; 0 if it has no bytes.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the stream it is freed on.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Sets the stream it is freed on, in the order of work queued there.
    pub fn set_stream(&mut self, stream: &Stream) {
        self.stream = stream.clone();
    }

    /// Makes the buffer free only after all work that is then queued on the default streams and on streams that wait
    /// for them: foreign code may have queued work that uses it, and does not report when that is done.
    pub fn share(&mut self) {
        self.shared = true;
    }

    /// Returns the address of a part.
    pub fn part(&self, offset: u64, len: u64) -> Result<u64, DriverError> {
        let inside = offset.checked_add(len).is_some_and(|end| end <= self.len);
        let out_of_bounds = DriverError::OutOfBounds { offset, len, size: self.len };
        if inside { Ok(self.address.saturating_add(offset)) } else { Err(out_of_bounds) }
    }

    /// Queues setting a part to one byte value.
    pub fn fill(&self, stream: &Stream, offset: u64, len: u64, byte: u8) -> Result<(), DriverError> {
        let address = self.part(offset, len)?;
        let Some(count) = count(len) else { return Ok(()) };
        let _bound = self.pool.context.bind()?;
        // SAFETY: the part lies in the buffer.
        unsafe { self.pool.context.driver().cuMemsetD8Async(address, byte, count, stream.handle()) }
    }

    /// Queues setting `words` 32-bit numbers from `offset` on, a multiple of 4.
    pub fn fill_u32(&self, stream: &Stream, offset: u64, words: u64, value: u32) -> Result<(), DriverError> {
        let address = self.part(offset, words.saturating_mul(4))?;
        let Some(count) = count(words) else { return Ok(()) };
        let _bound = self.pool.context.bind()?;
        // SAFETY: the part lies in the buffer.
        unsafe { self.pool.context.driver().cuMemsetD32Async(address, value, count, stream.handle()) }
    }

    /// Queues a copy of the first `len` bytes of `from`, which is returned when the copy is done.
    pub fn upload(
        &self,
        stream: &Stream,
        offset: u64,
        from: Pinned,
        len: usize,
    ) -> Result<InFlight, DriverError> {
        let bytes = from.get(..len).ok_or_else(|| out_of(&from, len))?;
        let (address, source) = (self.part(offset, len as u64)?, bytes.as_ptr());
        let event = Event::new(&self.pool.context)?;
        if len > 0 {
            // SAFETY: `InFlight` holds the pinned memory until the copy is done.
            unsafe { copy_in(stream, address, source, len) }?;
        }
        InFlight::record(from, event, stream)
    }

    /// Queues a copy into the first `len` bytes of `to`, which is returned when the copy is done.
    pub fn download(
        &self,
        stream: &Stream,
        offset: u64,
        mut to: Pinned,
        len: usize,
    ) -> Result<InFlight, DriverError> {
        let size = to.len();
        let bytes = to.get_mut(..len);
        let target = bytes.map(<[u8]>::as_mut_ptr).ok_or(DriverError::OutOfBounds {
            offset: 0,
            len: len as u64,
            size: size as u64,
        })?;
        let address = self.part(offset, len as u64)?;
        let event = Event::new(&self.pool.context)?;
        if len > 0 {
            // SAFETY: `InFlight` holds the pinned memory until the copy is done.
            unsafe { copy_out(stream, target, address, len) }?;
        }
        InFlight::record(to, event, stream)
    }

    /// Queues a copy of host memory into a part.
    ///
    /// # Safety
    /// `from` must stay alive and unchanged until the copy is done.
    pub(super) unsafe fn copy_from(
        &self,
        stream: &Stream,
        offset: u64,
        from: &[u8],
    ) -> Result<(), DriverError> {
        let address = self.part(offset, from.len() as u64)?;
        // SAFETY: the part lies in the buffer; the caller guarantees the rest.
        unsafe { copy_in(stream, address, from.as_ptr(), from.len()) }
    }

    /// Copies a part into ordinary memory and waits for it.
    pub fn read(&self, stream: &Stream, offset: u64, to: &mut [u8]) -> Result<(), DriverError> {
        let address = self.part(offset, to.len() as u64)?;
        if to.is_empty() {
            return Ok(());
        }
        // SAFETY: `to` is borrowed until the wait below is over.
        unsafe { copy_out(stream, to.as_mut_ptr(), address, to.len()) }?;
        stream.synchronize()
    }

    /// Copies ordinary memory into a part and waits for it.
    pub fn write(&self, stream: &Stream, offset: u64, from: &[u8]) -> Result<(), DriverError> {
        let address = self.part(offset, from.len() as u64)?;
        if from.is_empty() {
            return Ok(());
        }
        // SAFETY: `from` is borrowed until the wait below is over.
        unsafe { copy_in(stream, address, from.as_ptr(), from.len()) }?;
        stream.synchronize()
    }
}

impl Drop for DeviceBuffer {
    fn drop(&mut self) {
        if self.len == 0 {
            return;
        }
        self.pool.current.fetch_sub(self.len, Ordering::Relaxed);
        let Ok(_bound) = self.pool.context.bind() else { return };
        // On an error the context is lost with all its memory. strile's streams do not wait for foreign work: only the
        // next user of this memory does.
        let stream = if self.shared { without_provenance_mut(LEGACY_STREAM) } else { self.stream.handle() };
        // SAFETY: freed only here; earlier work on the stream uses it before.
        let _ = unsafe { self.pool.context.driver().cuMemFreeAsync(self.address, stream) };
    }
}

/// Queues a copy of host memory to the device.
///
/// # Safety
/// `from` must be readable and unchanged, and `to` memory of the device, both `len` bytes, until the copy is done.
pub unsafe fn copy_in(stream: &Stream, to: u64, from: *const u8, len: usize) -> Result<(), DriverError> {
    let context = stream.context();
    let _bound = context.bind()?;
    // SAFETY: guaranteed by the caller.
    unsafe { context.driver().cuMemcpyHtoDAsync_v2(to, from.cast(), len, stream.handle()) }
}

/// Queues a copy of device memory to the host.
///
/// # Safety
/// `to` must be writable and untouched, and `from` memory of the device, both `len` bytes, until the copy is done.
pub unsafe fn copy_out(stream: &Stream, to: *mut u8, from: u64, len: usize) -> Result<(), DriverError> {
    let context = stream.context();
    let _bound = context.bind()?;
    // SAFETY: guaranteed by the caller.
    unsafe { context.driver().cuMemcpyDtoHAsync_v2(to.cast(), from, len, stream.handle()) }
}

/// Queues a copy within the device's memory.
///
/// # Safety
/// Both must be memory of the device, `len` bytes, that does not overlap, until the copy is done.
pub unsafe fn copy_within(stream: &Stream, to: u64, from: u64, len: usize) -> Result<(), DriverError> {
    let context = stream.context();
    let _bound = context.bind()?;
    // SAFETY: guaranteed by the caller.
    unsafe { context.driver().cuMemcpyDtoDAsync_v2(to, from, len, stream.handle()) }
}

/// Returns a count for the driver; `None` if there is nothing to do. It lies in a buffer, so it fits `usize`.
fn count(len: u64) -> Option<usize> {
    usize::try_from(len).ok().filter(|&len| len > 0)
}

fn out_of(memory: &Pinned, len: usize) -> DriverError {
    DriverError::OutOfBounds { offset: 0, len: len as u64, size: memory.len() as u64 }
}

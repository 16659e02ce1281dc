//! A step over pixels on the device (masks, resampling, warping, finishing): one upload of its tables, one launch, and
//! one wait.

#![expect(unsafe_code, reason = "a kernel is launched")]

use crate::decode::run::Stop;
use crate::device::Device;
use crate::lane::{Lane, Spare};
use crate::launch::launch;
use crate::memory::Kind;
use strile_engine::{Cancel, EngineError, Fill, Location, Output, OutputSpec, SharedPixels};
use strile_tiff::DataType;

/// Launch of a step and the size of its upload.
pub(crate) struct Step {
    /// Purpose of its memory, for messages of the budget.
    pub(crate) purpose: &'static str,
    /// Name of the `.cu` file without its extension, and of the entry point.
    pub(crate) entry: (&'static str, &'static str),
    /// CUDA blocks.
    pub(crate) grid: u32,
    /// Threads per CUDA block.
    pub(crate) threads: u32,
    /// Bytes of the tables; 0 if the arguments suffice.
    pub(crate) len: usize,
}

impl Step {
    /// Runs the step and waits for it. `write` fills the tables, which will lie at an address, and returns the kernel's
    /// arguments.
    ///
    /// # Safety
    /// As for `launch`; memory that the arguments refer to, other than the tables, must live until this returns.
    pub(crate) unsafe fn run<Args: Copy>(
        &self,
        device: &Device,
        spare: &Spare,
        cancel: &Cancel,
        write: impl FnOnce(u64, &mut [u8]) -> Args,
    ) -> Result<(), Stop> {
        let _bound = device.bind()?;
        let _lease = device.budget().take(Kind::Working, self.len as u64, self.purpose, cancel)?;
        let lane = spare.lane(device)?;
        // SAFETY: guaranteed by the caller.
        let queued = unsafe { self.queue(device, spare, &lane, write) };
        let ended = lane.synchronize();
        queued?;
        ended?;
        spare.give_lane(lane);
        Ok(())
    }

    /// Queues the tables and the launch.
    ///
    /// # Safety
    /// As for `run`, until the lane has been waited for.
    unsafe fn queue<Args: Copy>(
        &self,
        device: &Device,
        spare: &Spare,
        lane: &Lane,
        write: impl FnOnce(u64, &mut [u8]) -> Args,
    ) -> Result<(), Stop> {
        let (module, entry) = self.entry;
        let function = device.function(module, entry)?;
        if self.len == 0 {
            // SAFETY: guaranteed by the caller.
            unsafe { launch(&lane.copies, &function, (self.grid, 1), self.threads, &write(0, &mut [])) }?;
            return Ok(());
        }
        let buffer = device.pool().alloc(&lane.copies, self.len as u64)?;
        let mut up = spare.pinned(device, self.len)?;
        let args = write(buffer.address(), up.get_mut(..self.len).ok_or(EngineError::Abandoned)?);
        let sent = buffer.upload(&lane.copies, 0, up, self.len)?;
        // SAFETY: guaranteed by the caller; the tables are freed on the same stream.
        unsafe { launch(&lane.copies, &function, (self.grid, 1), self.threads, &args) }?;
        spare.give_pinned(sent.wait()?);
        Ok(())
    }
}

/// Returns an error if a call was cancelled.
pub(crate) fn not_cancelled(cancel: &Cancel) -> Result<(), EngineError> {
    if cancel.is_cancelled() { Err(EngineError::Cancelled) } else { Ok(()) }
}

/// Returns the address of pixels on a device; an error if they lie elsewhere.
pub(crate) fn address_of(device: &Device, pixels: &SharedPixels) -> Result<u64, EngineError> {
    here(device, pixels.location(), pixels.address())
}

/// Returns the address of an output on a device; an error if it lies elsewhere.
pub(crate) fn address_of_output(device: &Device, output: &Output) -> Result<u64, EngineError> {
    here(device, output.location(), output.device_bytes().map(|bytes| bytes.address()))
}

fn here(device: &Device, location: Location, address: Option<u64>) -> Result<u64, EngineError> {
    let index = device.facts().index;
    address.filter(|_| location == Location::Cuda(index)).ok_or_else(|| EngineError::Mismatch {
        what: "pixels",
        found: format!("pixels in {location}"),
        expected: format!("pixels in cuda:{index}"),
    })
}

/// Returns the strides in bytes: band, row, column.
pub(crate) fn strides(spec: &OutputSpec) -> [u64; 3] {
    [spec.strides.band, spec.strides.row, spec.strides.column].map(|stride| stride as u64)
}

/// Returns the bytes of a value as two numbers.
pub(crate) fn words(Fill(bytes): &Fill) -> [u64; 2] {
    let [low, high] = *bytes.as_chunks::<8>().0 else { return [0; 2] };
    [u64::from_le_bytes(low), u64::from_le_bytes(high)]
}

/// Returns the kind of samples, as `ReduceKind`, and the bytes of the numbers in them, at most 8.
pub(crate) fn numbers(data_type: DataType) -> (u32, u64) {
    use DataType as D;
    let kind = match data_type {
        D::U8 | D::U16 | D::U32 | D::U64 => 0,
        D::I8 | D::I16 | D::I32 | D::I64 => 1,
        D::F16 | D::F32 | D::F64 => 2,
        D::C64 | D::C128 => 3,
    };
    (kind, (data_type.size() as u64).clamp(1, 8))
}

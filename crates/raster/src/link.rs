//! What a process has to do with a GPU besides reads: how fast bytes go to it, and work that others have queued there.

use thiserror::Error;

/// A GPU that cannot be used, or failed, and why.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct DeviceFailure(String);

#[cfg(feature = "cuda")]
impl DeviceFailure {
    fn of(reason: impl std::fmt::Display) -> Self {
        Self(reason.to_string())
    }
}

/// Bytes a second from pinned memory to a CUDA device, measured now, or why not.
#[cfg(feature = "cuda")]
pub fn link_rate(index: u32) -> Result<f64, DeviceFailure> {
    let device = strile_cuda::device::Device::open(index).map_err(DeviceFailure::of)?;
    let rates = strile_cuda::rates::Rates::over_the_bus(&device).map_err(DeviceFailure::of)?;
    Ok(rates.0)
}

/// Bytes a second from pinned memory to a CUDA device, measured now, or why not.
#[cfg(not(feature = "cuda"))]
pub fn link_rate(_index: u32) -> Result<f64, DeviceFailure> {
    Err(DeviceFailure("built without the CUDA engine".to_owned()))
}

/// Waits until all that a caller has queued so far on a stream of a CUDA device is done, so that its memory may be
/// touched: 0 or 1 the default stream, 2 that of this thread, else the handle of a `CUstream` that lives.
#[cfg(feature = "cuda")]
pub fn wait_for_stream(index: u32, stream: u64) -> Result<(), DeviceFailure> {
    let device = strile_cuda::device::Device::open(index).map_err(DeviceFailure::of)?;
    strile_cuda::stream::wait_for_caller(device.context(), stream).map_err(DeviceFailure::of)
}

/// Waits for work on a CUDA device.
#[cfg(not(feature = "cuda"))]
pub fn wait_for_stream(_index: u32, _stream: u64) -> Result<(), DeviceFailure> {
    Err(DeviceFailure("built without the CUDA engine".to_owned()))
}

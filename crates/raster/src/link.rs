//! GPU functions that are not reads: the transfer rate to a device, and waiting for work that others have queued there.

use thiserror::Error;

/// The reason why a GPU cannot be used or has failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct DeviceFailure(String);

#[cfg(feature = "cuda")]
impl DeviceFailure {
    fn of(reason: impl std::fmt::Display) -> Self {
        Self(reason.to_string())
    }
}

/// Measures the transfer rate from pinned memory to a CUDA device, in bytes per second.
#[cfg(feature = "cuda")]
pub fn link_rate(index: u32) -> Result<f64, DeviceFailure> {
    let device = strile_cuda::device::Device::open(index).map_err(DeviceFailure::of)?;
    let rates = strile_cuda::rates::Rates::over_the_bus(&device).map_err(DeviceFailure::of)?;
    Ok(rates.0)
}

/// Measures the transfer rate from pinned memory to a CUDA device, in bytes per second.
#[cfg(not(feature = "cuda"))]
pub fn link_rate(_index: u32) -> Result<f64, DeviceFailure> {
    Err(DeviceFailure("built without the CUDA engine".to_owned()))
}

/// Waits until all work that a caller has queued so far on a stream of a CUDA device is done, so that its memory may be
/// used. `stream` is 0 or 1 for the default stream, 2 for that of this thread, or the handle of a live `CUstream`.
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

//! How fast bytes go to a GPU: the limit of any read into its memory.

/// Bytes a second from pinned memory to a CUDA device, measured now, or why not.
#[cfg(feature = "cuda")]
pub fn link_rate(index: u32) -> Result<f64, String> {
    let device = strile_cuda::device::Device::open(index).map_err(|reason| reason.to_string())?;
    let rates = strile_cuda::rates::Rates::over_the_bus(&device).map_err(|error| error.to_string())?;
    Ok(rates.0)
}

/// Bytes a second from pinned memory to a CUDA device, measured now, or why not.
#[cfg(not(feature = "cuda"))]
pub fn link_rate(_index: u32) -> Result<f64, String> {
    Err("built without the CUDA engine".to_owned())
}

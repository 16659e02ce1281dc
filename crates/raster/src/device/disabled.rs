//! Builds without the CUDA engine.

use super::{DeviceInfo, Gpu};
use std::sync::Arc;
use strile_engine::{BlockLayout, Engine};

/// Why there is no CUDA engine, where that is known beforehand.
pub(super) const ABSENT: Option<&str> = Some(NO_CUDA);
const NO_CUDA: &str = "this build of strile has no CUDA engine";

pub(super) fn open(_index: u32, _gpu: Gpu) -> Result<Arc<dyn Engine>, String> {
    Err(NO_CUDA.to_owned())
}

pub(super) fn kernel(_layout: &BlockLayout) -> Result<(), String> {
    Err(NO_CUDA.to_owned())
}

pub(super) fn devices() -> Result<Vec<DeviceInfo>, String> {
    Err(NO_CUDA.to_owned())
}

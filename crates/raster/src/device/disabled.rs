//! Builds without the CUDA engine.

use super::calibrate::Besides;
use super::constants::Gpu as Identity;
use super::{DeviceInfo, Opened, Work};
use crate::options::Execution;
use std::sync::Arc;
use strile_engine::{BlockLayout, Context, Engine};

/// The reason why there is no CUDA engine, if known in advance.
pub(super) const ABSENT: Option<&str> = Some(NO_CUDA);
const NO_CUDA: &str = "this build of strile has no CUDA engine";

pub(super) fn open(_index: u32, _execution: &Execution, _work: &Work<'_>) -> Result<Opened, String> {
    Err(NO_CUDA.to_owned())
}

pub(super) fn to_hold(_index: u32, _memory: Option<u64>) -> Result<Arc<dyn Engine>, String> {
    Err(NO_CUDA.to_owned())
}

pub(super) fn kernel(_layout: &BlockLayout) -> Result<(), String> {
    Err(NO_CUDA.to_owned())
}

pub(super) fn devices() -> Result<Vec<DeviceInfo>, String> {
    Err(NO_CUDA.to_owned())
}

pub(super) fn is_open(_index: u32) -> bool {
    false
}

pub(super) fn identity(_index: u32) -> Result<Identity, String> {
    Err(NO_CUDA.to_owned())
}

pub(super) fn to_measure(_index: u32, _context: &Context) -> Result<(Arc<dyn Engine>, Besides), String> {
    Err(NO_CUDA.to_owned())
}

//! The engine that tests run on.
#![allow(dead_code, reason = "each test file takes what it needs")]

pub mod picture;

use std::sync::Arc;
use strile_cpu::CpuEngine;
use strile_cuda::{CudaEngine, CudaOptions};

/// Whether the tests are to run on a device.
pub fn on_a_device() -> bool {
    std::env::var_os("STRILE_REQUIRE_GPU").is_some_and(|value| value == "1")
}

/// The engine of the first device, or of the stand-in for one.
pub fn engine() -> Result<CudaEngine, String> {
    if !on_a_device() {
        strile_emulate::StandIn::load().map_err(|error| error.to_string())?;
    }
    CudaEngine::open(0, Arc::new(CpuEngine::new()), CudaOptions::default())
        .map_err(|reason| reason.to_string())
}

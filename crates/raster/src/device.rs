//! The engines of this machine and how one is chosen.

use crate::options::Device;
use strile_cpu::CpuEngine;
use strile_engine::Engine;

/// One device, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceInfo {
    /// `cpu`, `cuda:0`, …
    pub name: String,
    /// What it is, in words.
    pub description: String,
    /// Whether it can be used.
    pub usable: bool,
}

/// An engine, and why it was chosen.
pub(crate) struct Choice {
    pub(crate) engine: Box<dyn Engine>,
    pub(crate) reason: String,
}

/// The devices of this machine.
pub fn devices() -> Vec<DeviceInfo> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    vec![
        DeviceInfo { name: "cpu".into(), description: format!("{threads} threads"), usable: true },
        DeviceInfo { name: "cuda".into(), description: NO_CUDA.into(), usable: false },
    ]
}

const NO_CUDA: &str = "this build of strile has no CUDA engine";

/// The engine for a device, or why it cannot be had.
pub(crate) fn choose(device: Device) -> Result<Choice, String> {
    let cpu = |reason: &str| Choice { engine: Box::new(CpuEngine), reason: reason.to_owned() };
    match device {
        Device::Cpu => Ok(cpu("asked for")),
        Device::Auto => Ok(cpu(NO_CUDA)),
        Device::Cuda(index) => Err(format!("device `cuda:{index}` cannot be used: {NO_CUDA}")),
    }
}

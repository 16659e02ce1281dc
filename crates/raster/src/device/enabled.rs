//! Builds with the CUDA engine: one handle for each device, shared by all reads of the process.

use super::{DeviceInfo, Gpu, GpuInfo};
use crate::bytes::human;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use strile_cpu::CpuEngine;
use strile_cuda::device::Device;
use strile_cuda::{CudaEngine, CudaOptions, DeviceFacts};
use strile_engine::{BlockLayout, Engine};

/// Why there is no CUDA engine, where that is known beforehand.
pub(super) const ABSENT: Option<&str> = None;

/// The device of an engine, the process that opened it (a device does not outlive a fork, the child opens its own and
/// is told that it cannot), and whether it reads files by cuFile.
type Key = (u32, u32, bool);

/// Engines stay open: a context costs a tenth of a second.
static ENGINES: Mutex<Vec<(Key, Arc<CudaEngine>)>> = Mutex::new(Vec::new());

/// The engine of a device.
pub(super) fn open(index: u32, gpu: Gpu) -> Result<Arc<dyn Engine>, String> {
    let engine = engine(index, gpu.direct_io)?;
    if let Some(limit) = gpu.memory {
        engine.device().budget().set_limit(limit);
    }
    Ok(engine)
}

/// Whether blocks of a layout are decoded by kernels, or why not; asks no device.
pub(super) fn kernel(layout: &BlockLayout) -> Result<(), String> {
    CudaEngine::on_device(layout)
}

fn engine(index: u32, direct_io: bool) -> Result<Arc<CudaEngine>, String> {
    let key = (index, std::process::id(), direct_io);
    if let Some(engine) = opened(&engines(), key) {
        return Ok(engine);
    }
    // Not under the lock: a thread that forks meanwhile would leave it locked in its child.
    let engine = CudaEngine::open(index, Arc::new(CpuEngine), CudaOptions { direct_io, ..CudaOptions::default() });
    let engine = Arc::new(engine.map_err(|reason| reason.to_string())?);
    let mut engines = engines();
    if let Some(sooner) = opened(&engines, key) {
        return Ok(sooner);
    }
    engines.push((key, Arc::clone(&engine)));
    Ok(engine)
}

fn engines() -> MutexGuard<'static, Vec<(Key, Arc<CudaEngine>)>> {
    ENGINES.lock().unwrap_or_else(PoisonError::into_inner)
}

fn opened(engines: &[(Key, Arc<CudaEngine>)], key: Key) -> Option<Arc<CudaEngine>> {
    engines.iter().find(|(other, _)| *other == key).map(|(_, engine)| Arc::clone(engine))
}

pub(super) fn devices() -> Result<Vec<DeviceInfo>, String> {
    let found = strile_cuda::devices().map_err(|reason| reason.to_string())?;
    Ok(found.iter().map(info).collect())
}

fn info(facts: &DeviceFacts) -> DeviceInfo {
    // Only an open device says what is free; one that cannot be opened says why.
    let opened = facts.usable().and_then(|()| Device::open(facts.index));
    let free = opened.as_ref().ok().and_then(|device| device.context().memory().ok()).map(|(free, _)| free);
    let gpu = GpuInfo {
        capability: facts.capability,
        memory_free: free,
        memory_total: facts.memory,
        driver: (facts.driver / 1000, facts.driver % 1000 / 10),
    };
    let memory = match free {
        Some(free) => format!("{} of {} free", human(free), human(facts.memory)),
        None => human(facts.memory),
    };
    let (capability, driver) = (gpu.capability, gpu.driver);
    let description = match &opened {
        Ok(_) => format!(
            "{}, compute capability {}.{}, {memory}, driver for CUDA {}.{}",
            facts.name, capability.0, capability.1, driver.0, driver.1
        ),
        Err(reason) => reason.to_string(),
    };
    DeviceInfo { name: format!("cuda:{}", facts.index), description, usable: opened.is_ok(), gpu: Some(gpu) }
}

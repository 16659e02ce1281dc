//! Builds with the CUDA engine: one handle per device, shared by all reads of the process.

use super::calibrate::Besides;
use super::constants::Gpu as Identity;
use super::{DeviceInfo, GpuInfo, Opened, Work};
use crate::bytes::human;
use crate::options::{DirectIo, Execution, Nvcomp};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use strile_cpu::CpuEngine;
use strile_cuda::device::Device;
use strile_cuda::{CudaEngine, CudaOptions, DeviceFacts};
use strile_engine::{BlockLayout, Context, Engine, PerProcess};

/// The reason why there is no CUDA engine, if known in advance.
pub(super) const ABSENT: Option<&str> = None;

/// The device of an engine, and the libraries it may use.
type Key = (u32, strile_cuda::DirectIo, strile_cuda::Nvcomp);

type Engines = Vec<(Key, Arc<CudaEngine>)>;

/// Engines stay open, because a context costs a tenth of a second. They do not survive a fork: the child tries to open
/// its own and gets an error.
static ENGINES: PerProcess<Mutex<Engines>> = PerProcess::new();

/// Opens the engine of a device for a read.
pub(super) fn open(index: u32, execution: &Execution, work: &Work<'_>) -> Result<Opened, String> {
    let engine = engine(index, execution)?;
    limit(&engine, execution.device_memory)?;
    let file = work.local.as_ref().and_then(|local| local.file());
    let direct = match execution.direct_io {
        DirectIo::Off => None,
        // If requested but impossible, fails. Sources that are not files are read as usual.
        DirectIo::On => file.map(|file| engine.reads_directly(file)).transpose()?.map(Ok),
        DirectIo::Auto => file.map(|file| engine.reads_directly(file).map_err(String::from)),
    };
    Ok(Opened { direct, engine })
}

/// Returns the engine of a device that encodes, or whose memory pixels are copied to.
pub(super) fn to_hold(index: u32, memory: Option<u64>) -> Result<Arc<dyn Engine>, String> {
    let engine = engine(index, &Execution::default())?;
    limit(&engine, memory)?;
    Ok(engine)
}

/// Limits the memory of a device for the whole process.
fn limit(engine: &CudaEngine, memory: Option<u64>) -> Result<(), String> {
    let set = |limit| engine.device().set_memory_limit(limit).map_err(|error| error.to_string());
    memory.map_or(Ok(()), set)
}

/// Returns whether kernels decode blocks of a layout, or why not. Does not access a device.
pub(super) fn kernel(layout: &BlockLayout) -> Result<(), String> {
    Ok(CudaEngine::on_device(layout)?)
}

/// Returns whether this process has a device open.
pub(super) fn is_open(index: u32) -> bool {
    any_of(index).is_some()
}

/// Returns the identity of an open device.
pub(super) fn identity(index: u32) -> Result<Identity, String> {
    let engine = any_of(index).ok_or("it is not open")?;
    let facts = engine.device().facts();
    Ok(Identity { uuid: facts.uuid.clone(), driver: facts.driver })
}

/// Returns an engine of a device that this process has open.
fn any_of(index: u32) -> Option<Arc<CudaEngine>> {
    engines().iter().find(|(key, _)| key.0 == index).map(|(_, engine)| Arc::clone(engine))
}

/// Returns the engine of a device, how long it took to open, and how fast ordinary memory is copied to it.
pub(super) fn to_measure(index: u32, context: &Context) -> Result<(Arc<dyn Engine>, Besides), String> {
    const COPIED: usize = 64 << 20;
    let start = Instant::now();
    let engine = engine(index, &Execution::default())?;
    let opening = start.elapsed().as_secs_f64();
    let bytes = vec![1u8; COPIED];
    let mut copying = f64::INFINITY;
    for _ in 0..3 {
        let start = Instant::now();
        drop(engine.upload(&bytes, context).map_err(|error| error.to_string())?);
        copying = copying.min(start.elapsed().as_secs_f64());
    }
    #[expect(clippy::cast_precision_loss, reason = "a measurement")]
    let upload = copying / COPIED as f64;
    Ok((engine, Besides { opening, upload }))
}

fn engine(index: u32, execution: &Execution) -> Result<Arc<CudaEngine>, String> {
    let direct_io = match execution.direct_io {
        DirectIo::Off => strile_cuda::DirectIo::Off,
        DirectIo::Auto => strile_cuda::DirectIo::Auto,
        DirectIo::On => strile_cuda::DirectIo::On,
    };
    let nvcomp = match execution.nvcomp {
        Nvcomp::Off => strile_cuda::Nvcomp::Off,
        Nvcomp::Trusted => strile_cuda::Nvcomp::Trusted,
        Nvcomp::TrustedAlways => strile_cuda::Nvcomp::TrustedAlways,
    };
    let key = (index, direct_io, nvcomp);
    if let Some(engine) = opened(&engines(), key) {
        return Ok(engine);
    }
    // Without the lock: it takes long.
    let options = CudaOptions { direct_io, nvcomp, ..CudaOptions::default() };
    let engine = CudaEngine::open(index, Arc::new(CpuEngine), options);
    let engine = Arc::new(engine.map_err(|reason| reason.to_string())?);
    let mut engines = engines();
    if let Some(sooner) = opened(&engines, key) {
        return Ok(sooner);
    }
    engines.push((key, Arc::clone(&engine)));
    Ok(engine)
}

fn engines() -> MutexGuard<'static, Engines> {
    ENGINES.get(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

fn opened(engines: &[(Key, Arc<CudaEngine>)], key: Key) -> Option<Arc<CudaEngine>> {
    engines.iter().find(|(other, _)| *other == key).map(|(_, engine)| Arc::clone(engine))
}

pub(super) fn devices() -> Result<Vec<DeviceInfo>, String> {
    let found = strile_cuda::devices().map_err(|reason| reason.to_string())?;
    Ok(found.iter().map(info).collect())
}

fn info(facts: &DeviceFacts) -> DeviceInfo {
    // Only an open device reports its free memory. If it cannot be opened, the reason is reported.
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

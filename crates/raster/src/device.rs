//! The engines of this machine, and how one is chosen for a read.
//!
//! The choice is made from figures, before any pixel is touched, and says why. A device is opened only where
//! nothing else has decided: its context costs more than a small read.

#[cfg_attr(feature = "cuda", path = "device/enabled.rs")]
#[cfg_attr(not(feature = "cuda"), path = "device/disabled.rs")]
mod cuda;

use crate::bytes::human;
use crate::options::Device;
use std::sync::Arc;
use strile_cpu::CpuEngine;
use strile_engine::{BlockLayout, Engine, Location};
use strile_tiff::Compression;

/// One device, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceInfo {
    /// `cpu`, `cuda:0`, …; `cuda` where there is no device to number.
    pub name: String,
    /// What it is, or why it cannot be used, in words.
    pub description: String,
    /// Whether it can be used.
    pub usable: bool,
    /// What is known of a GPU.
    pub gpu: Option<GpuInfo>,
}

/// What is known of a GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuInfo {
    /// Compute capability, as 9 and 0.
    pub capability: (u32, u32),
    /// Bytes of its memory that nobody uses, where the driver says so.
    pub memory_free: Option<u64>,
    /// Bytes of its memory.
    pub memory_total: u64,
    /// The version of CUDA that the driver speaks, as 13 and 0.
    pub driver: (u32, u32),
}

/// Blocks from which a GPU is worth it where pixels stay on it: fewer leave most of it idle.
const BLOCKS_FOR_A_GPU: u64 = 32;
/// Decoded bytes from which it is worth it where they come back to the host.
const BYTES_FOR_A_GPU: u64 = 256 << 20;

/// Where decoded pixels are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Destination {
    /// In host memory.
    Host,
    /// In the memory of the engine, whichever that is.
    Engine,
    /// In an output that lies there.
    Output(Location),
}

/// What a choice is made from.
pub(crate) struct Work<'a> {
    pub(crate) layout: &'a BlockLayout,
    pub(crate) blocks: u64,
    /// Bytes of the result.
    pub(crate) decoded: u64,
    pub(crate) to: Destination,
}

/// What is wanted of a GPU.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Gpu {
    /// A limit of its memory for the whole process from now on.
    pub(crate) memory: Option<u64>,
    /// Local files are read by cuFile.
    pub(crate) direct_io: bool,
}

/// Where blocks are decompressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decode {
    /// By the CPU engine.
    Cpu,
    /// By kernels on the device; blocks that a kernel does not take are decided by the CPU engine.
    Kernels,
    /// By the CPU engine for the device, which has no kernel, for this reason.
    Host(String),
}

/// An engine, and why it was chosen.
pub(crate) struct Choice {
    pub(crate) engine: Arc<dyn Engine>,
    /// `Cpu` or `Cuda`.
    pub(crate) device: Device,
    pub(crate) reason: String,
    pub(crate) decode: Decode,
}

impl Choice {
    pub(crate) fn cpu(reason: impl Into<String>) -> Self {
        let engine = Arc::new(CpuEngine);
        Self { engine, device: Device::Cpu, reason: reason.into(), decode: Decode::Cpu }
    }

    fn cuda(index: u32, gpu: Gpu, work: &Work<'_>, reason: String) -> Result<Self, String> {
        let engine = cuda::open(index, gpu)?;
        let decode = cuda::kernel(work.layout).map_or_else(Decode::Host, |()| Decode::Kernels);
        Ok(Self { engine, device: Device::Cuda(index), reason, decode })
    }
}

/// The devices of this machine.
pub fn devices() -> Vec<DeviceInfo> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    let description = format!("{threads} threads");
    let mut devices = vec![DeviceInfo { name: "cpu".into(), description, usable: true, gpu: None }];
    devices.extend(cuda::devices().unwrap_or_else(|description| {
        vec![DeviceInfo { name: "cuda".into(), description, usable: false, gpu: None }]
    }));
    devices
}

/// The engine for a read, or why it cannot be had.
pub(crate) fn choose(device: Device, gpu: Gpu, work: &Work<'_>) -> Result<Choice, String> {
    let unusable =
        |index: u32| move |reason: String| format!("device `cuda:{index}` cannot be used: {reason}");
    let elsewhere =
        |by: &str, place: Location| format!("the output is in {place}, where {by} does not write");
    match (device, work.to) {
        (Device::Cpu, Destination::Output(place @ Location::Cuda(_))) => {
            Err(elsewhere("the CPU engine", place))
        }
        (Device::Cuda(asked), Destination::Output(place @ Location::Cuda(index))) if asked != index => {
            Err(elsewhere(&format!("cuda:{asked}"), place))
        }
        (Device::Cpu, _) => Ok(Choice::cpu("asked for")),
        (Device::Cuda(index), _) => {
            Choice::cuda(index, gpu, work, "asked for".into()).map_err(unusable(index))
        }
        (Device::Auto, Destination::Output(Location::Cuda(index))) => {
            Choice::cuda(index, gpu, work, "the output is in its memory".into()).map_err(unusable(index))
        }
        (Device::Auto, _) => Ok(automatic(gpu, work)),
    }
}

/// The engine that encodes and reduces: there is one.
pub(crate) fn choose_for_writing(device: Device) -> Result<Choice, String> {
    match device {
        Device::Cpu => Ok(Choice::cpu("asked for")),
        Device::Auto => Ok(Choice::cpu("encoding is done by the CPU")),
        Device::Cuda(index) => {
            Err(format!("device `cuda:{index}` cannot be used: encoding is done by the CPU"))
        }
    }
}

/// The first GPU where it is worth it, else the CPU. What costs nothing to find out is asked first.
fn automatic(gpu: Gpu, work: &Work<'_>) -> Choice {
    let reason = match worth_a_gpu(work) {
        Ok(reason) => reason,
        Err(reason) => return Choice::cpu(reason),
    };
    Choice::cuda(0, gpu, work, reason)
        .unwrap_or_else(|reason| Choice::cpu(format!("no usable GPU: {reason}")))
}

/// Whether work of that size gains from a GPU that there may be, and why.
fn worth_a_gpu(work: &Work<'_>) -> Result<String, String> {
    let Work { blocks, decoded, .. } = *work;
    if let Some(reason) = cuda::ABSENT {
        return Err(reason.to_owned());
    }
    cuda::kernel(work.layout)?;
    if work.to == Destination::Engine {
        let counted = format!("{blocks} block{}", if blocks == 1 { "" } else { "s" });
        return match blocks >= BLOCKS_FOR_A_GPU {
            true => Ok(format!("{counted}, and the pixels stay there")),
            false => Err(format!("{counted}: too few for a GPU, worth it from {BLOCKS_FOR_A_GPU} on")),
        };
    }
    let (size, codec) = (human(decoded), work.layout.compression.name());
    if !matches!(work.layout.compression, Compression::Deflate | Compression::Lzw) {
        return Err(format!("into host memory a GPU is worth it for deflate and lzw, not for {codec}"));
    }
    match decoded >= BYTES_FOR_A_GPU {
        true => Ok(format!("{size} of {codec} into host memory")),
        false => {
            let enough = human(BYTES_FOR_A_GPU);
            Err(format!("{size} into host memory: too few for a GPU, worth it from {enough} on"))
        }
    }
}

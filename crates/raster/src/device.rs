//! The engines of this machine, and how one is chosen for a read.
//!
//! The choice is made before any pixel is touched, and gives its reason. If both engines are allowed, the cost of each
//! is estimated (`cost`) from constants of this machine (`constants`, measured by `calibrate`). A device is opened only
//! if its estimate is lower: creating its context costs more than a small read.

mod calibrate;
mod constants;
mod cost;

#[cfg_attr(feature = "cuda", path = "device/enabled.rs")]
#[cfg_attr(not(feature = "cuda"), path = "device/disabled.rs")]
mod cuda;

pub use crate::link::{DeviceFailure, link_rate, wait_for_stream};
pub use crate::options::{DirectIo, Nvcomp};
pub use cost::Estimate;
pub use strile_engine::DeviceBytes;

use crate::error::{Error, Result};
use crate::options::{Execution, Processor};
use constants::{Known, Machine};
use cost::Load;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use strile_cpu::CpuEngine;
use strile_engine::{BlockLayout, Context, Engine, Location, PerProcess, ReadAt, Span};

/// A device of this machine, or the reason why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceInfo {
    /// `cpu`, `cuda:0`, …; `cuda` if there is no device to number.
    pub name: String,
    /// Description of the device, or the reason why it cannot be used.
    pub description: String,
    /// Whether it can be used.
    pub usable: bool,
    /// Properties of a GPU.
    pub gpu: Option<GpuInfo>,
}

/// Properties of a GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuInfo {
    /// Compute capability: 9 and 0 for 9.0.
    pub capability: (u32, u32),
    /// Free bytes of its memory, if the driver reports them.
    pub memory_free: Option<u64>,
    /// Total bytes of its memory.
    pub memory_total: u64,
    /// CUDA version of the driver: 13 and 0 for 13.0.
    pub driver: (u32, u32),
}

/// The properties of a read that an engine is chosen by.
pub(crate) struct Work<'a> {
    pub(crate) layout: &'a BlockLayout,
    /// The byte ranges of its blocks; `None` for those that are filled.
    pub(crate) spans: &'a [Option<Span>],
    /// Bytes of the result.
    pub(crate) output: u64,
    /// Where the result is stored.
    pub(crate) to: Location,
    /// The source of the bytes; `None` for remote sources.
    pub(crate) local: Option<Arc<dyn ReadAt>>,
    /// Threads that may decode.
    pub(crate) threads: usize,
    /// Whether some pixels were blended in the memory of the device, which only the device reads.
    pub(crate) is_blended_there: bool,
}

impl Work<'_> {
    fn load(&self, opening: f64) -> Load {
        let spans = || self.spans.iter().flatten();
        let block = self.layout.decoded_len(self.layout.height).map_or(u64::MAX, |len| len as u64);
        let blocks = spans().count() as u64;
        Load {
            codec: self.layout.compression,
            blocks,
            encoded: spans().fold(0, |sum, span| sum.saturating_add(span.len)),
            decoded: block.saturating_mul(blocks),
            output: self.output,
            on_device: self.to != Location::Host,
            remote: self.local.is_none(),
            threads: self.threads,
            opening,
        }
    }
}

/// An engine on a GPU.
pub(crate) struct Opened {
    engine: Arc<dyn Engine>,
    /// Whether cuFile reads the file, or why not; `None` if it was not requested.
    direct: Option<Reasoned<()>>,
}

/// Where most blocks of a read are decompressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decode {
    /// On the CPU, by the CPU engine.
    Cpu,
    /// On the device, by strile's kernels. Blocks that a kernel rejects are decoded by the CPU engine.
    Kernels,
    /// On the device, by a library such as nvCOMP. Blocks that it does not support are decoded by the CPU engine.
    Library {
        /// Name of the library.
        name: &'static str,
        /// Version of the library, and why it was chosen.
        reason: String,
    },
    /// By the CPU engine on behalf of the device, which has no kernel for them. Holds the reason.
    Host(String),
}

/// An engine, and the reason why it was chosen.
pub(crate) struct Choice {
    pub(crate) engine: Arc<dyn Engine>,
    /// `Cpu` or `Cuda`.
    pub(crate) processor: Processor,
    /// The reason, unless it was chosen by an estimate.
    pub(crate) reason: String,
    /// The estimate it was chosen by, if both engines were allowed.
    pub(crate) judged: Option<Judged>,
    /// Whether cuFile reads the file.
    pub(crate) direct: bool,
    /// Requested features that are not used, with the reasons.
    pub(crate) notes: Vec<String>,
}

/// An estimate of both engines, and the origin of its constants.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// Estimates of both engines.
    pub estimate: Estimate,
    /// Origin of the constants, in words.
    pub constants: String,
}

impl Choice {
    pub(crate) fn cpu(reason: impl Into<String>) -> Self {
        let (engine, processor) = (Arc::new(CpuEngine), Processor::Cpu);
        let (direct, notes) = (false, Vec::new());
        Self { engine, processor, reason: reason.into(), judged: None, direct, notes }
    }

    /// Returns why the engine was chosen, in words. Formatted only on request: reads do not need it.
    pub(crate) fn reason(&self) -> String {
        self.judged.as_ref().map_or_else(|| self.reason.clone(), |judged| judged.estimate.to_string())
    }

    /// Reports GPU options that a read on the CPU does not apply: as an error or as a note, never silently.
    fn without(mut self, execution: &Execution) -> Reasoned<Self> {
        if self.processor != Processor::Cpu {
            return Ok(self);
        }
        if execution.direct_io == DirectIo::On {
            return Err(
                "`direct_io = on` needs a GPU, but the CPU decodes this read; use decode_on `cuda` or \
                        `direct_io = auto`"
                    .to_owned(),
            );
        }
        if execution.nvcomp != Nvcomp::Off {
            self.notes.push("not decoded by nvCOMP: the CPU decodes".to_owned());
        }
        Ok(self)
    }

    fn cuda(index: u32, execution: &Execution, work: &Work<'_>, reason: String) -> Reasoned<Self> {
        let Opened { engine, direct } = cuda::open(index, execution, work)?;
        let processor = Processor::Cuda(index);
        let is_direct = matches!(direct, Some(Ok(())));
        let declined = direct.and_then(Reasoned::err);
        let notes = declined.map(|reason| format!("not read by cuFile: {reason}")).into_iter().collect();
        Ok(Self { engine, processor, reason, judged: None, direct: is_direct, notes })
    }
}

/// A value, or the reason why there is none.
type Reasoned<T> = std::result::Result<T, String>;

/// Lists the devices of this machine.
pub fn devices() -> Vec<DeviceInfo> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    let description = format!("{threads} threads");
    let mut devices = vec![DeviceInfo { name: "cpu".into(), description, usable: true, gpu: None }];
    devices.extend(cuda::devices().unwrap_or_else(|description| {
        vec![DeviceInfo { name: "cuda".into(), description, usable: false, gpu: None }]
    }));
    devices
}

/// Returns whether this process has a CUDA device open. The first read on a device opens it, which takes longer than a
/// small read.
pub fn is_open(device: u32) -> bool {
    cuda::is_open(device)
}

/// Returns the engine for a read, or why it is unavailable. The CPU engine writes host memory only: a result on a GPU
/// is copied there afterwards.
pub(crate) fn choose(execution: &Execution, work: &Work<'_>) -> Reasoned<Choice> {
    let on = |index: u32, reason: &str| {
        Choice::cuda(index, execution, work, reason.into()).map_err(|reason| unusable(index, &reason))
    };
    match (execution.decode_on, work.to) {
        (Processor::Cuda(asked), place @ Location::Cuda(index)) if asked != index => {
            Err(format!("cuda:{asked} cannot decode into {place}; decode on cuda:{index} or on the CPU"))
        }
        (Processor::Cpu, _) => Choice::cpu("asked for").without(execution),
        (Processor::Cuda(index), _) => on(index, "asked for"),
        (Processor::Auto, Location::Cuda(index)) => match faster_on_cpu(execution, work) {
            Some(judged) => Ok(Choice { judged: Some(judged), ..Choice::cpu(String::new()) }),
            None => on(index, "the result is in its memory"),
        },
        (Processor::Auto, Location::Host) => automatic(execution, work).without(execution),
    }
}

/// Returns the estimate of a read into GPU memory if decoding on the CPU and copying is clearly faster: few blocks with
/// a codec that a GPU decodes slowly one by one. Returns `None` otherwise, and if an option needs the GPU.
fn faster_on_cpu(execution: &Execution, work: &Work<'_>) -> Option<Judged> {
    let asks_gpu = execution.direct_io != DirectIo::Off || execution.nvcomp != Nvcomp::Off;
    if asks_gpu || work.is_blended_there || cuda::ABSENT.is_some() || cuda::kernel(work.layout).is_err() {
        return None;
    }
    let known = known();
    let estimate = cost::estimate(&work.load(0.0), &known.constants)?;
    estimate.prefers_cpu().then_some(Judged { estimate, constants: known.words })
}

/// Returns the engine of a GPU whose memory a result is copied to, or why it is unavailable.
pub(crate) fn holder(index: u32, device_memory: Option<u64>) -> Reasoned<Arc<dyn Engine>> {
    cuda::to_hold(index, device_memory).map_err(|reason| unusable(index, &reason))
}

fn unusable(index: u32, reason: &str) -> String {
    format!("device `cuda:{index}` cannot be used: {reason}")
}

/// Returns the engine that encodes and reduces.
pub(crate) fn choose_for_writing(encode_on: Processor) -> Reasoned<Choice> {
    match encode_on {
        Processor::Cpu => Ok(Choice::cpu("asked for")),
        Processor::Auto => Ok(Choice::cpu("the default for encoding; `encode_on` chooses a GPU")),
        Processor::Cuda(index) => {
            let engine = holder(index, None)?;
            Ok(Choice { engine, processor: encode_on, ..Choice::cpu("asked for") })
        }
    }
}

/// The constants of this machine, read once per process.
static KNOWN: PerProcess<Mutex<Option<Known>>> = PerProcess::new();

fn known() -> Known {
    let kept = || KNOWN.get(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = kept().clone() {
        return known;
    }
    let known = constants::load(constants::path().as_deref(), &Machine::this());
    kept().get_or_insert(known).clone()
}

/// Microseconds that earlier reads of this process would have saved on a GPU that was not opened for them.
static MISSED: AtomicU64 = AtomicU64::new(0);

/// Chooses the engine with the lower estimate. Cheap checks come first.
///
/// The read that opens the device pays for it, less what earlier reads would have saved: many small reads open it
/// eventually, a single one does not.
fn automatic(execution: &Execution, work: &Work<'_>) -> Choice {
    if let Err(reason) =
        cuda::ABSENT.map_or_else(|| cuda::kernel(work.layout), |reason| Err(reason.to_owned()))
    {
        return Choice::cpu(reason);
    }
    let known = known();
    let opening = match cuda::is_open(FIRST) {
        true => 0.0,
        false => {
            let missed = Duration::from_micros(MISSED.load(Ordering::Relaxed));
            (known.constants.opening - missed.as_secs_f64()).max(0.0)
        }
    };
    let judge = |known: &Known, opening: f64| {
        let estimate = cost::estimate(&work.load(opening), &known.constants)?;
        Some(Judged { estimate, constants: known.words.clone() })
    };
    let by = |choice: Choice, judged: Judged| Choice { judged: Some(judged), ..choice };
    let cpu = || Choice::cpu(String::new());
    let Some(judged) = judge(&known, opening) else {
        return Choice::cpu(format!("no figures for {}", work.layout.compression.name()));
    };
    if !judged.estimate.prefers_gpu() {
        let Estimate { cpu: host, cuda: device } = judged.estimate;
        let missed = Duration::try_from_secs_f64(host - (device - opening)).unwrap_or_default();
        MISSED.fetch_add(u64::try_from(missed.as_micros()).unwrap_or(0), Ordering::Relaxed);
        return by(cpu(), judged);
    }
    let choice = match Choice::cuda(FIRST, execution, work, String::new()) {
        Ok(choice) => choice,
        Err(reason) => return Choice::cpu(format!("no usable GPU: {reason}")),
    };
    // The device is only identified here: a calibration of another device does not count.
    let known = match cuda::identity(FIRST) {
        Ok(identity) => known.of(&identity),
        Err(_) => known,
    };
    match judge(&known, opening) {
        Some(judged) if judged.estimate.prefers_gpu() => by(choice, judged),
        Some(judged) => by(cpu(), judged),
        None => choice,
    }
}

/// The device that `Auto` uses.
const FIRST: u32 = 0;

/// Measures the cost of reads on the CPU and on the first GPU. Stores it in a file for all later reads of this user on
/// this machine, and returns the path. Takes some seconds, most of the processor and some hundred MiB.
pub fn calibrate(context: &Context) -> Result<PathBuf> {
    let refused = |problem: String| Error::Request { file: "calibration".to_owned(), problem };
    let path =
        constants::path().ok_or_else(|| refused("neither XDG_CACHE_HOME nor HOME is a folder".into()))?;
    let unusable = |reason: String| refused(format!("there is no usable GPU to choose: {reason}"));
    let (engine, besides) = cuda::to_measure(FIRST, context).map_err(unusable)?;
    let identity = cuda::identity(FIRST).map_err(unusable)?;
    let measured = calibrate::measure(&CpuEngine, engine.as_ref(), &besides, context)?;
    constants::store(&path, &measured, &Machine::this(), &identity)?;
    *KNOWN.get(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner) = None;
    Ok(path)
}

//! The engines of this machine, and how one is chosen for a read.
//!
//! The choice is made from figures, before any pixel is touched, and says why: where it is free, both engines are
//! estimated (`cost`) by what they cost on this machine (`constants`, measured by `calibrate`). A device is opened only
//! where the estimate is for it: its context costs more than a small read.

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

/// What a choice is made from.
pub(crate) struct Work<'a> {
    pub(crate) layout: &'a BlockLayout,
    /// Where its blocks lie; `None` for those that are filled.
    pub(crate) spans: &'a [Option<Span>],
    /// Bytes of the result.
    pub(crate) output: u64,
    /// Where the result is wanted.
    pub(crate) to: Location,
    /// Where the bytes are; `None` for those that come from afar.
    pub(crate) local: Option<Arc<dyn ReadAt>>,
    /// Threads that may decode.
    pub(crate) threads: usize,
    /// Whether some of the pixels were blended in the memory of the device, which only the device reads.
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
    /// Whether cuFile reads the file, or why not; `None` if it was not asked for.
    direct: Option<Reasoned<()>>,
}

/// Where most blocks of a read are decompressed, as the engine says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decode {
    /// By the CPU engine.
    Cpu,
    /// By kernels on the device; blocks that a kernel does not take are decided by the CPU engine.
    Kernels,
    /// By a library on the device, such as nvCOMP; what it does not take is decided by the CPU engine.
    Library {
        /// Its name.
        name: &'static str,
        /// Its version, and why it was chosen.
        reason: String,
    },
    /// By the CPU engine for the device, which has no kernel, for this reason.
    Host(String),
}

/// An engine, and why it was chosen.
pub(crate) struct Choice {
    pub(crate) engine: Arc<dyn Engine>,
    /// `Cpu` or `Cuda`.
    pub(crate) processor: Processor,
    /// Why, unless it was chosen by an estimate.
    pub(crate) reason: String,
    /// What it was chosen by, where it was free.
    pub(crate) judged: Option<Judged>,
    /// Whether cuFile reads the file.
    pub(crate) direct: bool,
    /// Why not what was asked for.
    pub(crate) notes: Vec<String>,
}

/// An estimate, and what is to be said of the constants behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// Both engines.
    pub estimate: Estimate,
    /// Where the constants are from, in words.
    pub constants: String,
}

impl Choice {
    pub(crate) fn cpu(reason: impl Into<String>) -> Self {
        let (engine, processor) = (Arc::new(CpuEngine), Processor::Cpu);
        let (direct, notes) = (false, Vec::new());
        Self { engine, processor, reason: reason.into(), judged: None, direct, notes }
    }

    /// Why it was chosen, in words. Made for those who ask: reads do not.
    pub(crate) fn reason(&self) -> String {
        self.judged.as_ref().map_or_else(|| self.reason.clone(), |judged| judged.estimate.to_string())
    }

    /// What was asked of a GPU and a choice of the CPU does not do: an error or a note, never silence.
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

/// Something, or in words why not.
type Reasoned<T> = std::result::Result<T, String>;

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

/// Returns whether this process has a CUDA device open. The first read on a device opens it, which takes longer than a small read.
pub fn is_open(device: u32) -> bool {
    cuda::is_open(device)
}

/// The engine for a read, or why it cannot be had. The CPU engine writes host memory only: a result on a GPU is copied there
/// after it.
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

/// The estimate of a read into the memory of a GPU that the CPU does clearly faster, with the copy there: of few blocks with a
/// codec that a GPU decodes slowly one by one. `None` for others, and if something was asked for that only a GPU does.
fn faster_on_cpu(execution: &Execution, work: &Work<'_>) -> Option<Judged> {
    let asks_gpu = execution.direct_io != DirectIo::Off || execution.nvcomp != Nvcomp::Off;
    if asks_gpu || work.is_blended_there || cuda::ABSENT.is_some() || cuda::kernel(work.layout).is_err() {
        return None;
    }
    let known = known();
    let estimate = cost::estimate(&work.load(0.0), &known.constants)?;
    estimate.prefers_cpu().then_some(Judged { estimate, constants: known.words })
}

/// The engine of a GPU whose memory a result is copied to, or why it cannot be had.
pub(crate) fn holder(index: u32, device_memory: Option<u64>) -> Reasoned<Arc<dyn Engine>> {
    cuda::to_hold(index, device_memory).map_err(|reason| unusable(index, &reason))
}

fn unusable(index: u32, reason: &str) -> String {
    format!("device `cuda:{index}` cannot be used: {reason}")
}

/// The engine that encodes and reduces: there is one.
pub(crate) fn choose_for_writing(encode_on: Processor) -> Reasoned<Choice> {
    match encode_on {
        Processor::Cpu => Ok(Choice::cpu("asked for")),
        Processor::Auto => Ok(Choice::cpu("a GPU encodes where it is asked for")),
        Processor::Cuda(index) => {
            let engine = holder(index, None)?;
            Ok(Choice { engine, processor: encode_on, ..Choice::cpu("asked for") })
        }
    }
}

/// What is known of this machine, read once.
static KNOWN: PerProcess<Mutex<Option<Known>>> = PerProcess::new();

fn known() -> Known {
    let kept = || KNOWN.get(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = kept().clone() {
        return known;
    }
    let known = constants::load(constants::path().as_deref(), &Machine::this());
    kept().get_or_insert(known).clone()
}

/// Microseconds that reads of this process would have saved on a GPU that was not opened for them.
static MISSED: AtomicU64 = AtomicU64::new(0);

/// The engine with the lower estimate. What costs nothing to find out is asked first.
///
/// Opening the device is paid by the read that opens it, less what earlier reads have missed: many small reads
/// open it in the end, a single one does not.
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
    // Only now is it known which device it is: a calibration of another one does not count.
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

/// The device that `Auto` takes.
const FIRST: u32 = 0;

/// Measures what reads cost on the CPU and on the first GPU, and keeps it for all later reads of this user on this
/// machine; the file it is kept in. Takes some seconds, most of the processor and some hundred MiB.
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

//! Reading a batch: the engine is chosen, the job submitted once, and what is faulty is told by window.

use super::options::BatchOptions;
use super::plan::BatchPlan;
use super::resolve::Asked;
use super::stage::stage;
use super::window::{BatchWindow, of_window};
use crate::dataset::Dataset;
use crate::deliver::fetch_back;
use crate::device::{self, Choice, Destination, Gpu, Work};
use crate::error::{Error, Result};
use crate::options::{Interleave, OnFault};
use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::sync::Arc;
use strile_engine::{
    Context, DecodeJob, Encoded, Engine, EngineError, LocatedFault, Location, Output, OutputBox, OutputError,
    OutputSpec, Pixels, ReadAt, Report, ResampleJob, Support,
};

/// The pixels of a batch, where the engine has them: contiguous, native byte order.
pub struct Tensor {
    /// Windows, bands, rows, columns.
    pub shape: [u32; 4],
    /// The memory; its bands are those of all windows, one window after the other.
    pub output: Output,
    /// What the engine did; which blocks are faulty is in `faults`.
    pub report: Report,
    /// Faulty blocks, where they were to be filled.
    pub faults: Vec<WindowFault>,
    engine: Arc<dyn Engine>,
}

/// A faulty block of a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowFault {
    /// The window's number, from 0.
    pub window: usize,
    /// The file.
    pub file: String,
    /// The block, and what is wrong with it.
    pub fault: LocatedFault,
}

impl Tensor {
    /// Where the pixels are.
    pub fn location(&self) -> Location {
        self.output.location()
    }

    /// The pixels in host memory: the same memory where they are there already, else a copy.
    pub fn into_host(self, context: &Context) -> Result<Vec<u8>> {
        match self.location() {
            Location::Host => self.output.into_vec().ok_or(Error::Engine(EngineError::Abandoned)),
            Location::Cuda(_) => self.to_host(context),
        }
    }

    /// A copy, in host memory, of pixels that are on a device; `into_host` gives those that are in host memory.
    pub fn to_host(&self, context: &Context) -> Result<Vec<u8>> {
        let abandoned = || Error::Engine(EngineError::Abandoned);
        let spec = self.output.spec().clone();
        let need = spec.len().map_or(u64::MAX, |len| len as u64);
        let _lease = context.budget.take(need, "the pixels of the batch")?;
        let copy = Output::new(spec).map_err(|_| abandoned())?;
        let bytes = self.output.device_bytes().ok_or_else(abandoned)?;
        fetch_back(bytes, Interleave::BandFirst, self.engine.as_ref(), &copy, context)?;
        copy.into_vec().ok_or_else(abandoned)
    }
}

/// Plans a batch without touching a pixel: what `read_batch_on_device` would do.
pub fn plan_batch<D: Borrow<Dataset>>(
    files: &[D],
    windows: &[BatchWindow],
    options: &BatchOptions,
    context: &Context,
) -> Result<BatchPlan> {
    let files = borrowed(files);
    let asked = Asked { files: &files, windows, options };
    prepare(asked, Destination::Engine, context).map(|(_, plan)| plan)
}

/// Reads windows of files into host memory.
///
/// ```
/// # use std::sync::Arc;
/// # use testkit::{ImageSpec, Pattern, Pixels};
/// use strile::{BatchOptions, BatchWindow, Context, Dataset, FloatType, Sampling, read_batch};
/// # use strile::{MemorySource, OpenOptions, tiff};
/// # let sample = tiff::SampleType { format: tiff::SampleFormat::Uint, bits: 16 };
/// # let scene = |seed| {
/// #     let pixels = Pixels::generate(Pattern::Dem, sample, [2, 60, 80], seed);
/// #     let bytes = ImageSpec::new(sample).build(&pixels, tiff::ByteOrder::Little, false).bytes;
/// #     Dataset::from_source(Arc::new(MemorySource::new("scene.tif", bytes)), &OpenOptions::default())
/// # };
/// # let (spring, autumn) = (scene(1)?, scene(2)?);
/// // Two windows of two files, one of them over the edge, made half their size.
/// let windows =
///     [BatchWindow::of_pixels(0, 10, 20, (32, 32)), BatchWindow::of_pixels(1, 70, -8, (32, 32))];
/// let options = BatchOptions {
///     float_type: Some(FloatType::Float16),
///     size: Some((16, 16)),
///     sampling: Sampling::Average,
///     ..BatchOptions::default()
/// };
/// let context = Context::default();
/// let tensor = read_batch(&[spring, autumn], &windows, &options, &context)?;
/// assert_eq!(tensor.shape, [2, 2, 16, 16]);
/// let halves: Vec<u8> = tensor.into_host(&context)?;
/// assert_eq!(halves.len(), 2 * 2 * 16 * 16 * 2);
/// # Ok::<(), strile::Error>(())
/// ```
pub fn read_batch<D: Borrow<Dataset>>(
    files: &[D],
    windows: &[BatchWindow],
    options: &BatchOptions,
    context: &Context,
) -> Result<Tensor> {
    read(Asked { files: &borrowed(files), windows, options }, Destination::Host, context)
}

/// Reads windows of files and leaves them where the engine has them: on a GPU that decoded them, in host memory where the
/// CPU did.
pub fn read_batch_on_device<D: Borrow<Dataset>>(
    files: &[D],
    windows: &[BatchWindow],
    options: &BatchOptions,
    context: &Context,
) -> Result<Tensor> {
    read(Asked { files: &borrowed(files), windows, options }, Destination::Engine, context)
}

/// Reads windows of files into the caller's output: its bands are those of all windows, one window after the other. It may
/// have any strides, and be used again for the next batch.
pub fn read_batch_into<D: Borrow<Dataset>>(
    output: &Output,
    files: &[D],
    windows: &[BatchWindow],
    options: &BatchOptions,
    context: &Context,
) -> Result<(Report, Vec<WindowFault>)> {
    let files = borrowed(files);
    let asked = Asked { files: &files, windows, options };
    let (choice, plan) = prepare(asked, Destination::Output(output.location()), context)?;
    let (have, want) = (output.spec(), &result_of(asked, &plan)?);
    let shape = |spec: &OutputSpec| (spec.data_type, spec.bands, spec.rows, spec.columns);
    if shape(have) != shape(want) {
        let [windows, bands, rows, columns] = plan.shape;
        return Err(asked.refuse(format!(
            "the output is {} bands × {} × {} of {}, the batch gives {windows} × {bands} bands × {rows} × {columns} \
             of {}",
            have.bands, have.rows, have.columns, have.data_type, want.data_type
        )));
    }
    decode(asked, plan, choice.engine.as_ref(), output, context)
}

fn borrowed<D: Borrow<Dataset>>(files: &[D]) -> Vec<&Dataset> {
    files.iter().map(Borrow::borrow).collect()
}

fn read(asked: Asked<'_>, to: Destination, context: &Context) -> Result<Tensor> {
    let (choice, plan) = prepare(asked, to, context)?;
    let (shape, spec) = (plan.shape, result_of(asked, &plan)?);
    let on_host = to == Destination::Host || choice.engine.location() == Location::Host;
    let need = if on_host { spec.len().map_or(u64::MAX, |len| len as u64) } else { 0 };
    let _lease = context.budget.take(need, "the pixels of the batch")?;
    let refuse = |error: OutputError| asked.refuse(error.to_string());
    let output = match on_host {
        true => Output::new(spec).map_err(refuse)?,
        false => choice.engine.output(spec, context)?,
    };
    let (report, faults) = decode(asked, plan, choice.engine.as_ref(), &output, context)?;
    Ok(Tensor { shape, output, report, faults, engine: choice.engine })
}

fn result_of(asked: Asked<'_>, plan: &BatchPlan) -> Result<OutputSpec> {
    plan.result().map_err(|error| asked.refuse(error.to_string()))
}

/// Decodes a batch into an output, resampled where it is to be: then windows are decoded beside it, where the engine is.
fn decode(
    asked: Asked<'_>,
    mut plan: BatchPlan,
    engine: &dyn Engine,
    output: &Output,
    context: &Context,
) -> Result<(Report, Vec<WindowFault>)> {
    let Some(windows) = plan.patches.take() else { return run(asked, plan, engine, output, context) };
    let abandoned = || Error::Engine(EngineError::Abandoned);
    let refuse = |error: OutputError| asked.refuse(error.to_string());
    let (spec, result) = (plan.spec.clone(), result_of(asked, &plan)?);
    let host = engine.location() == Location::Host;
    let need = if host { spec.len().map_or(u64::MAX, |len| len as u64) } else { 0 };
    let _lease = context.budget.take(need, "windows before they are resampled")?;
    let decoded = engine.scratch(spec.clone(), context)?;
    let done = run(asked, plan, engine, &decoded, context)?;
    let pixels = match decoded.device_bytes() {
        Some(bytes) => Pixels::on_device(spec, bytes.clone()),
        None => Pixels::new(spec, Arc::new(decoded.into_vec().ok_or_else(abandoned)?)),
    };
    let (pixels, job) = (pixels.map_err(refuse)?, ResampleJob { sampling: asked.options.sampling, windows });
    if output.location() == engine.location() {
        engine.resample(&job, &pixels, output, context)?;
        return Ok(done);
    }
    let there = engine.scratch(result, context)?;
    engine.resample(&job, &pixels, &there, context)?;
    let bytes = there.device_bytes().ok_or_else(abandoned)?;
    fetch_back(bytes, Interleave::BandFirst, engine, output, context)?;
    Ok(done)
}

/// The engine of a batch, and its plan.
fn prepare(asked: Asked<'_>, to: Destination, context: &Context) -> Result<(Choice, BatchPlan)> {
    let resolved = asked.resolve()?;
    let output = resolved.spec.len().map_or(u64::MAX, |len| len as u64);
    if matches!(to, Destination::Host | Destination::Output(Location::Host)) {
        // Refused here, before tables of blocks are fetched for pixels that memory cannot hold.
        drop(context.budget.take(output, "the pixels of the batch")?);
    }
    let names: Vec<_> =
        resolved.groups.iter().map(|group| (group.dataset, Arc::clone(&group.facts.layout))).collect();
    let mut plan = BatchPlan::new(asked, resolved, context)?;
    let choice = choose(asked, &plan, (output, to), context)?;
    for (dataset, layout) in names {
        if let Support::No(reason) = choice.engine.support(&layout) {
            return Err(Error::Unsupported { file: dataset.name().to_owned(), reason });
        }
    }
    plan.engine = choice.engine.name().to_owned();
    plan.engine_reason.clone_from(&choice.reason);
    Ok((choice, plan))
}

/// The engine, judged by the layout that most bytes are decoded of, as if all blocks were of it.
fn choose(
    asked: Asked<'_>,
    plan: &BatchPlan,
    (output, to): (u64, Destination),
    context: &Context,
) -> Result<Choice> {
    let mut decoded: BTreeMap<u32, u64> = BTreeMap::new();
    for task in plan.tasks.iter().filter(|task| task.span.is_some()) {
        let layout = plan.layouts.get(task.layout as usize);
        let len = layout.and_then(|layout| layout.decoded_len(task.placement.rows)).unwrap_or(0) as u64;
        let sum = decoded.entry(task.layout).or_default();
        *sum = sum.saturating_add(len);
    }
    let heaviest = decoded.iter().max_by_key(|(_, len)| **len).map_or(0, |(&layout, _)| layout);
    let layout = plan.layouts.get(heaviest as usize).ok_or(EngineError::Abandoned)?;
    let spans: Vec<_> = plan.tasks.iter().map(|task| task.span).collect();
    let local = plan.sources.iter().map(|source| source.local()).collect::<Option<Vec<_>>>();
    let work = Work {
        layout,
        spans: &spans,
        output,
        to,
        local: local.and_then(|locals| locals.into_iter().next()),
        threads: context.threads.get(),
    };
    let gpu = Gpu { memory: asked.options.device_memory, ..Gpu::default() };
    device::choose(asked.options.device, gpu, &work)
        .map_err(|problem| Error::Device { file: asked.name(), problem })
}

fn run(
    asked: Asked<'_>,
    mut plan: BatchPlan,
    engine: &dyn Engine,
    output: &Output,
    context: &Context,
) -> Result<(Report, Vec<WindowFault>)> {
    if context.cancel.is_cancelled() {
        return Err(Error::Cancelled);
    }
    // Where a fault is seen: the plan's own tasks go to the engine.
    let shown: Vec<_> =
        plan.tasks.iter().map(|task| task.span.map(|_| (task.source, task.address))).collect();
    let locals = plan.sources.iter().map(|source| source.local()).collect::<Option<Vec<Arc<dyn ReadAt>>>>();
    let (encoded, outside, _staging) = match locals.filter(|_| engine.pulls()) {
        Some(locals) => (Encoded::Pulled(locals), Vec::new(), None),
        None => {
            let staged = stage(&mut plan.tasks, &plan.sources, engine, context)?;
            (Encoded::Staged(Arc::new(staged.arena)), staged.outside, Some(staged.lease))
        }
    };
    let spec = output.spec();
    let whole = OutputBox { bands: (0, spec.bands), rows: (0, spec.rows), columns: (0, spec.columns) };
    let claim = Arc::new(output.claim(whole).ok_or(EngineError::Busy { output: 0 })?);
    let mut outputs = vec![claim.delegate_converted(), claim.delegate_converted()];
    for &convert in &plan.converts {
        let part = claim.delegate_converting(convert);
        outputs.push(part.map_err(|error| asked.refuse(error.to_string()))?);
    }
    let job = DecodeJob::new(plan.layouts, plan.selections, plan.tasks).map_err(|error| {
        Error::Engine(EngineError::Mismatch {
            what: "plan of the batch",
            found: error.to_string(),
            expected: "a consistent plan".into(),
        })
    })?;
    let mut report = engine.submit(job, encoded, &outputs, context)?.wait()?;
    let mut found = std::mem::take(&mut report.faults);
    found.extend(outside);
    let faults = by_window(found, &shown, &plan.windows, |source| {
        plan.sources.get(source as usize).map_or_else(String::new, |source| source.name().to_owned())
    });
    match (asked.options.on_fault, faults.first()) {
        (OnFault::Fail, Some(WindowFault { window, file, fault })) => {
            let count = faults.len();
            let error = Error::Blocks { file: file.clone(), first: fault.clone(), count };
            Err(asked
                .windows
                .get(*window)
                .map_or_else(|| error.clone(), |w| of_window(*window, w)(error.clone())))
        }
        _ => Ok((report, faults)),
    }
}

/// Faults as windows show them, the first window first; a block that several show is faulty in each.
fn by_window(
    found: Vec<LocatedFault>,
    shown: &[Option<(u32, strile_engine::BlockAddress)>],
    windows: &[u32],
    name: impl Fn(u32) -> String,
) -> Vec<WindowFault> {
    if found.is_empty() {
        return Vec::new();
    }
    let found: BTreeMap<_, _> =
        found.into_iter().map(|located| ((located.source, located.address), located.fault)).collect();
    let mut faults: BTreeMap<_, WindowFault> = BTreeMap::new();
    for (&shown, &window) in shown.iter().zip(windows) {
        let Some((source, address)) = shown else { continue };
        if let Some(fault) = found.get(&(source, address)) {
            let fault = LocatedFault { source, address, fault: fault.clone() };
            let window = window as usize;
            faults.entry((window, source, address)).or_insert_with(|| WindowFault {
                window,
                file: name(source),
                fault,
            });
        }
    }
    faults.into_values().collect()
}

//! Reading a batch: the engine is chosen, the job submitted once, and what is faulty is told by window.

use super::options::BatchOptions;
use super::plan::BatchPlan;
use super::resolve::Asked;
use super::sheet::{Sheet, len_of};
use super::stage::stage;
use super::tensor::{BatchOutput, Tensor, WindowFault};
use super::window::{BatchWindow, of_window};
use crate::dataset::Dataset;
use crate::deliver::place_bands;
use crate::device::{self, Choice, Destination, Gpu, Work};
use crate::error::{Error, Result};
use crate::open::io_error;
use crate::options::OnFault;
use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::sync::Arc;
use strile_engine::{
    Context, DecodeJob, Encoded, Engine, EngineError, Lease, LocatedFault, Location, Output, OutputBox,
    OutputError, OutputSpec, Pixels, ReadAt, Report, ResampleJob, Support,
};
use strile_tiff::DataType;

/// Plans a batch without touching a pixel: what `read_batch_on_device` would do.
pub fn plan_batch<D: Borrow<Dataset>>(
    files: &[D],
    windows: &[BatchWindow],
    options: &BatchOptions,
    context: &Context,
) -> Result<BatchPlan> {
    let files = borrowed(files);
    let asked = Asked { files: &files, windows, options };
    Reader::new(asked, Destination::Engine, context).map(|(_, plan)| plan)
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

/// Reads windows of files into the caller's output, which has exactly the shape and the type of the batch.
pub fn read_batch_into<D: Borrow<Dataset>>(
    output: &BatchOutput,
    files: &[D],
    windows: &[BatchWindow],
    options: &BatchOptions,
    context: &Context,
) -> Result<(Report, Vec<WindowFault>)> {
    let files = borrowed(files);
    let asked = Asked { files: &files, windows, options };
    let (shape, output) = (output.shape(), output.output());
    let (reader, plan) = Reader::new(asked, Destination::Output(output.location()), context)?;
    let (have, want) = ((shape, output.spec().data_type), (plan.shape, plan.data_type));
    if have != want {
        let told = |([windows, bands, rows, columns], data_type): ([u32; 4], DataType)| {
            format!("{windows} windows × {bands} bands × {rows} × {columns} of {data_type}")
        };
        return Err(asked.refuse(format!("the output is {}, the batch gives {}", told(have), told(want))));
    }
    reader.decode(plan, output)
}

fn borrowed<D: Borrow<Dataset>>(files: &[D]) -> Vec<&Dataset> {
    files.iter().map(Borrow::borrow).collect()
}

fn read(asked: Asked<'_>, to: Destination, context: &Context) -> Result<Tensor> {
    let (reader, plan) = Reader::new(asked, to, context)?;
    let (shape, spec) = (plan.shape, plan.result.clone());
    let on_host = to == Destination::Host || reader.engine.location() == Location::Host;
    let need = if on_host { spec.len().map_or(u64::MAX, |len| len as u64) } else { 0 };
    let _lease = context.take(need, "the pixels of the batch")?;
    let output = match on_host {
        true => Output::new(spec).map_err(|error| Error::output(error, |problem| asked.refuse(problem)))?,
        false => reader.engine.output(spec, context)?,
    };
    let (report, faults) = reader.decode(plan, &output)?;
    Ok(Tensor { shape, output, report, faults, engine: reader.engine })
}

/// Who reads a batch.
struct Reader<'a> {
    asked: Asked<'a>,
    engine: Arc<dyn Engine>,
    context: &'a Context,
}

impl<'a> Reader<'a> {
    /// The engine of a batch, and its plan.
    fn new(asked: Asked<'a>, to: Destination, context: &'a Context) -> Result<(Self, BatchPlan)> {
        let resolved = asked.resolve()?;
        if matches!(to, Destination::Host | Destination::Output(Location::Host)) {
            // Refused here, before tables of blocks are fetched for pixels that memory cannot hold.
            let need = resolved.result.len().map_or(u64::MAX, |len| len as u64);
            context.budget.fits(need, "the pixels of the batch")?;
        }
        let names: Vec<_> =
            resolved.groups.iter().map(|group| (group.dataset, Arc::clone(&group.facts.layout))).collect();
        let mut plan = BatchPlan::new(asked, resolved, context)?;
        let choice = choose(asked, &plan, to, context)?;
        for (dataset, layout) in names {
            if let Support::No(reason) = choice.engine.support(&layout) {
                return Err(Error::Unsupported { file: dataset.name().to_owned(), reason });
            }
        }
        plan.engine = choice.engine.name().to_owned();
        plan.engine_reason = choice.reason;
        Ok((Self { asked, engine: choice.engine, context }, plan))
    }

    /// Decodes a batch into an output. Windows that are resampled are decoded beside it, where the engine is.
    fn decode(&self, mut plan: BatchPlan, output: &Output) -> Result<(Report, Vec<WindowFault>)> {
        let sheets = std::mem::take(&mut plan.sheets);
        if sheets.iter().all(|sheet| sheet.patches.is_none()) {
            return self.run(plan, std::slice::from_ref(output));
        }
        let [_, bands, ..] = plan.shape;
        let _lease = self.take(len_of(&sheets), "windows before they are resampled")?;
        let made = |sheet: &Sheet| self.engine.scratch(sheet.spec.clone(), self.context);
        let decoded = sheets.iter().map(made).collect::<std::result::Result<Vec<_>, _>>()?;
        let done = self.run(plan, &decoded)?;
        for (sheet, decoded) in sheets.into_iter().zip(decoded) {
            self.resample(sheet, decoded, bands, output)?;
        }
        Ok(done)
    }

    /// Memory where the engine is, for as long as the lease lives; a device lends its own.
    fn take(&self, need: u64, purpose: &'static str) -> Result<Lease> {
        let need = if self.engine.location() == Location::Host { need } else { 0 };
        Ok(self.context.take(need, purpose)?)
    }

    /// Resamples the windows of a sheet into their bands of `output`: at once where these are all and the engine writes
    /// there, else by way of memory of its own.
    fn resample(&self, sheet: Sheet, decoded: Output, bands: u32, output: &Output) -> Result<()> {
        let Sheet { windows, spec, patches } = sheet;
        let refuse = |error: OutputError| self.asked.refuse(error.to_string());
        let pixels = match decoded.device_bytes() {
            Some(bytes) => Pixels::on_device(spec, bytes.clone()),
            None => Pixels::new(spec, Arc::new(decoded.into_vec().ok_or(EngineError::Abandoned)?)),
        };
        let pixels = pixels.map_err(refuse)?;
        let (all, of_sheet) = (output.spec(), pixels.spec().bands);
        let job = ResampleJob {
            sampling: self.asked.options.sampling,
            windows: patches.ok_or(EngineError::Abandoned)?,
        };
        if output.location() == self.engine.location() && of_sheet == all.bands {
            return Ok(self.engine.resample(&job, &pixels, output, self.context)?);
        }
        let there = OutputSpec::band_first(all.data_type, of_sheet, all.rows, all.columns);
        let there = there.map_err(refuse)?;
        let need = there.len().map_or(u64::MAX, |len| len as u64);
        let _lease = self.take(need, "windows on their way to the result")?;
        let there = self.engine.scratch(there, self.context)?;
        self.engine.resample(&job, &pixels, &there, self.context)?;
        drop(pixels);
        let bands_of = |window: usize| {
            let first = u32::try_from(window).unwrap_or(u32::MAX).saturating_mul(bands);
            first..first.saturating_add(bands)
        };
        let bands: Vec<u32> = windows.into_iter().flat_map(bands_of).collect();
        place_bands(there, &bands, self.engine.as_ref(), output, self.context)
    }

    /// Decodes all blocks by one job, the windows of a sheet into an output each.
    fn run(&self, mut plan: BatchPlan, sheets: &[Output]) -> Result<(Report, Vec<WindowFault>)> {
        let Self { asked, engine, context } = self;
        if context.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        // Where a fault is seen: the plan's own tasks go to the engine.
        let shown: Vec<_> =
            plan.tasks.iter().map(|task| task.span.map(|_| (task.source, task.address))).collect();
        let locals =
            plan.sources.iter().map(|source| source.local()).collect::<Option<Vec<Arc<dyn ReadAt>>>>();
        let (encoded, outside, _staging) = match locals.filter(|_| engine.pulls()) {
            Some(locals) => (Encoded::Pulled(locals), Vec::new(), None),
            None => {
                let staged = stage(&mut plan.tasks, &plan.sources, engine.as_ref(), context)?;
                (Encoded::Staged(Arc::new(staged.arena)), staged.outside, Some(staged.lease))
            }
        };
        let (mut claims, mut outputs) = (Vec::new(), Vec::new());
        for sheet in sheets {
            let spec = sheet.spec();
            let whole =
                OutputBox { bands: (0, spec.bands), rows: (0, spec.rows), columns: (0, spec.columns) };
            let claim = Arc::new(sheet.claim(whole).ok_or(EngineError::Busy { output: 0 })?);
            outputs.extend([claim.delegate_converted(), claim.delegate_converted()]);
            for &convert in &plan.converts {
                let part = claim.delegate_converting(convert);
                outputs.push(part.map_err(|error| asked.refuse(error.to_string()))?);
            }
            claims.push(claim);
        }
        let job = DecodeJob::new(plan.layouts, plan.selections, plan.tasks).map_err(|error| {
            Error::Engine(EngineError::Mismatch {
                what: "plan of the batch",
                found: error.to_string(),
                expected: "a consistent plan".into(),
            })
        })?;
        let mut report = engine.submit(job, encoded, &outputs, context)?.wait()?;
        drop(claims);
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
            _ => {
                for source in &plan.sources {
                    source.check_unchanged().map_err(|error| io_error(source.as_ref(), error))?;
                }
                Ok((report, faults))
            }
        }
    }
}

/// The engine, judged by the layout that most bytes are decoded of, as if all blocks were of it.
fn choose(asked: Asked<'_>, plan: &BatchPlan, to: Destination, context: &Context) -> Result<Choice> {
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
        output: len_of(&plan.sheets),
        to,
        local: local.and_then(|locals| locals.into_iter().next()),
        threads: context.threads.get(),
    };
    let gpu = Gpu { memory: asked.options.device_memory, ..Gpu::default() };
    device::choose(asked.options.device, gpu, &work)
        .map_err(|problem| Error::Device { file: asked.name(), problem })
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

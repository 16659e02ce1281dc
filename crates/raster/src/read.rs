//! Reading from a dataset: a request becomes a plan, the plan pixels, in host memory or where the engine has them.

use crate::dataset::{Dataset, Target};
use crate::deliver::deliver;
use crate::device::{self, Choice, Destination, Work};
use crate::error::{Error, Result};
use crate::limits::{Size, check_block, check_fetched, check_result};
use crate::locate::locate;
use crate::open::io_error;
use crate::options::{Layer, OnFault, ReadOptions};
use crate::plan::{Decided, Facts, Fetch, ReadPlan, fetched_len, layout_of, plan_read};
use crate::raster::{DeviceRaster, Raster};
use crate::window::Window;
use crate::{adjust, mask, mask::MaskSource, pipeline};
use std::sync::Arc;
use strile_engine::memory::probe;
use strile_engine::{
    Context, EngineError, Fill, Lease, Location, Output, OutputBox, OutputSpec, Report, Span, Support, Trace,
};
use strile_tiff::DataType;

/// Offset, size, span and task of a block while a read is planned.
pub(crate) const PLAN_BYTES_PER_BLOCK: u64 = 160;

/// Where the blocks of a read lie, and the memory that its plan takes.
fn spans(facts: &Facts<'_>, context: &Context) -> Result<(Lease, Vec<Option<Span>>)> {
    let need = facts.blocks().saturating_mul(PLAN_BYTES_PER_BLOCK);
    let lease = context.take(need, "the plan of the read")?;
    // Its lists are many and grow as they are made: asked for once, before the first.
    probe(need, "the plan of the read")?;
    Ok((lease, locate(facts.source, &facts.image, facts.stored_len(), &facts.runs())?))
}

impl Dataset {
    /// Plans `read` without touching a pixel; a mask that has no image is read from what it comes from.
    pub fn plan(&self, options: &ReadOptions, context: &Context) -> Result<ReadPlan> {
        let (pixels, after) = self.steps(options)?;
        Ok(self.prepare(&pixels, Destination::Host, after, context)?.1)
    }

    /// Plans `read_on_device`.
    pub fn plan_on_device(&self, options: &ReadOptions, context: &Context) -> Result<ReadPlan> {
        let (pixels, after) = self.steps(options)?;
        Ok(self.prepare(&pixels, Destination::Engine, after, context)?.1)
    }

    /// Reads pixels into new memory.
    pub fn read(&self, options: &ReadOptions, context: &Context) -> Result<Raster> {
        self.read_with_report(options, context).map(|(raster, _)| raster)
    }

    /// Reads pixels into new memory and tells what the engine did for it.
    pub fn read_with_report(&self, options: &ReadOptions, context: &Context) -> Result<(Raster, Report)> {
        if let Some(source) = self.derived(options)? {
            return self.derived_mask(source, options, context);
        }
        let (choice, plan) = self.prepare(options, Destination::Host, vec![], context)?;
        let _lease = context.take(plan.memory.output, "the decoded image")?;
        let (spec, fill) = (plan.output.clone(), plan.fill());
        let output =
            Output::new(spec).map_err(|error| Error::output(error, |problem| self.refuse(problem)))?;
        let report = self.run(&choice, plan, &output, options, context)?;
        let raster = Raster::from_output(output, options.interleave, fill, report.faults.clone())?;
        let image = self.target(options)?.image;
        Ok((adjust::apply(raster, &image, options, context)?, report))
    }

    /// Reads pixels and leaves them where the engine has them: on a GPU that decoded them, in host memory
    /// where the CPU did.
    pub fn read_on_device(&self, options: &ReadOptions, context: &Context) -> Result<DeviceRaster> {
        if self.is_adjusted(options)? {
            // What is done to a whole result is done on the host, and copied to the device after.
            let Choice { engine, device, .. } = self.choose(options, Destination::Engine, context)?;
            let (raster, report) =
                self.read_with_report(&ReadOptions { device, ..options.clone() }, context)?;
            let (spec, interleave, fill) = (raster.spec(), raster.interleave, raster.fill);
            let spec = spec.map_err(|error| self.refuse(error.to_string()))?;
            let output = match engine.location() {
                Location::Host => {
                    Output::from_vec(spec, raster.pixels).map_err(|error| self.refuse(error.to_string()))?
                }
                Location::Cuda(_) => {
                    let output = engine.output(spec, context)?;
                    deliver(raster, engine.as_ref(), &output, context)?;
                    output
                }
            };
            return Ok(DeviceRaster { output, interleave, fill, report, engine });
        }
        let trace = context.trace.as_deref();
        let (choice, plan) = Trace::time(trace, ("read", "plan"), || {
            self.prepare(options, Destination::Engine, vec![], context)
        })?;
        let on_host = choice.engine.location() == Location::Host;
        let _lease = context.take(if on_host { plan.memory.output } else { 0 }, "the decoded image")?;
        let (interleave, fill) = (options.interleave, plan.fill());
        let output =
            Trace::time(trace, ("read", "output"), || choice.engine.output(plan.output.clone(), context))?;
        let report = self.run(&choice, plan, &output, options, context)?;
        Ok(DeviceRaster { output, interleave, fill, report, engine: choice.engine })
    }

    /// Reads pixels into the caller's output, which must have the type and shape that the read gives. An output on
    /// a GPU is written by the engine of that GPU.
    pub fn read_into(&self, output: &Output, options: &ReadOptions, context: &Context) -> Result<Report> {
        let to = Destination::Output(output.location());
        if self.is_adjusted(options)? {
            // What is done to a whole result is done in memory of its own, and put into the output after.
            let (device, engine) = match output.location() {
                Location::Host => (options.device, Choice::cpu("a copy in memory").engine),
                Location::Cuda(_) => {
                    let choice = self.choose(options, to, context)?;
                    (choice.device, choice.engine)
                }
            };
            let (raster, report) =
                self.read_with_report(&ReadOptions { device, ..options.clone() }, context)?;
            self.check_shape(output, raster.data_type, (raster.bands, raster.rows, raster.columns))?;
            deliver(raster, engine.as_ref(), output, context)?;
            return Ok(report);
        }
        let (choice, plan) = self.prepare(options, to, vec![], context)?;
        let spec = &plan.output;
        self.check_shape(output, spec.data_type, (spec.bands, spec.rows, spec.columns))?;
        self.run(&choice, plan, output, options, context)
    }

    /// What a mask without an image of its own comes from; `None` for all other requests.
    fn derived(&self, options: &ReadOptions) -> Result<Option<MaskSource>> {
        if options.layer == Layer::Pixels {
            return Ok(None);
        }
        Ok(Some(self.mask_source(options)?).filter(|source| *source != MaskSource::Image))
    }

    /// Whether something is done to the whole result after decoding.
    fn is_adjusted(&self, options: &ReadOptions) -> Result<bool> {
        Ok(self.derived(options)?.is_some() || adjust::changes(&self.target(options)?.image, options))
    }

    /// What is decoded for a request, and what is done to it after.
    fn steps(&self, options: &ReadOptions) -> Result<(ReadOptions, Vec<String>)> {
        let derived = self.derived(options)?;
        let pixels = derived.and_then(|source| source.pixels(options));
        let pixels = pixels.unwrap_or_else(|| options.clone());
        let mut after = adjust::steps(&self.target(&pixels)?.image, &pixels);
        after.extend(derived.and_then(MaskSource::step));
        Ok((pixels, after))
    }

    fn derived_mask(
        &self,
        source: MaskSource,
        options: &ReadOptions,
        context: &Context,
    ) -> Result<(Raster, Report)> {
        let Some(pixels) = source.pixels(options) else {
            let target = self.target(&ReadOptions { layer: Layer::Pixels, ..options.clone() })?;
            let turned = options.apply_orientation && target.image.orientation >= 5;
            let Window { width, height, .. } = target.window;
            self.check_result(Size::new((1, height, width), 1), options)?;
            let size = if turned { (height, width) } else { (width, height) };
            return Ok((mask::all_valid(size, context)?, Report::default()));
        };
        let (raster, report) = self.read_with_report(&pixels, context)?;
        let mask = match source {
            MaskSource::NoData => mask::from_nodata(&raster, raster.fill),
            _ => mask::from_alpha(raster),
        };
        // What was filled in the pixels is unknown in the mask.
        Ok((Raster { faults: report.faults.clone(), ..mask }, report))
    }

    /// What a read of decoded pixels is planned from.
    pub(crate) fn facts(&self, options: &ReadOptions) -> Result<Facts<'_>> {
        let Target { file, image, window, bands } = self.target(options)?;
        let unsupported = |reason: String| Error::Unsupported { file: self.name().to_owned(), reason };
        let fill = match options.layer {
            Layer::Pixels => self.fill(&image),
            Layer::Mask => Fill::default(),
        };
        let mut layout =
            layout_of(&image, fill).ok_or_else(|| unsupported(format!("{} samples", image.sample)))?;
        layout.extras.reduce = options.reduce;
        let too_large = || {
            let (w, h) = (layout.width, layout.height);
            unsupported(format!("blocks of {w} × {h} pixels are larger than memory can address"))
        };
        layout.decoded_len(layout.height).ok_or_else(too_large)?;
        layout.samples_len(layout.height).ok_or_else(too_large)?;
        let layout = Arc::new(layout);
        let unpacking = self.unpacking(options)?;
        let facts = Facts { source: file.source.as_ref(), image, layout, window, bands, unpacking };
        check_block(self.name(), &facts, self.stored_len(), options)?;
        Ok(facts)
    }

    /// Refuses what is too large; see `limits`.
    pub(crate) fn check_result(&self, size: Size, options: &ReadOptions) -> Result<()> {
        check_result((self.name(), "the file"), size, options.max_pixels, || self.stored_len())
    }

    /// The engine for a request of any kind.
    fn choose(&self, options: &ReadOptions, to: Destination, context: &Context) -> Result<Choice> {
        let source = self.derived(options)?;
        let pixels = match source {
            None => options.clone(),
            Some(source) => source.pixels(options).unwrap_or_else(|| ReadOptions {
                layer: Layer::Pixels,
                masked: false,
                unpack: false,
                ..options.clone()
            }),
        };
        let facts = self.facts(&pixels)?;
        let output = facts.output(options).map_err(|error| self.refuse(error.to_string()))?;
        let spans = match source {
            Some(MaskSource::AllValid) => Vec::new(),
            _ => spans(&facts, context)?.1,
        };
        self.choose_for(&facts, &spans, &output, (options, to, context))
    }

    fn choose_for(
        &self,
        facts: &Facts<'_>,
        spans: &[Option<Span>],
        output: &OutputSpec,
        (options, to, context): (&ReadOptions, Destination, &Context),
    ) -> Result<Choice> {
        let work = Work {
            layout: &facts.layout,
            spans,
            output: output.len().map_or(u64::MAX, |len| len as u64),
            to,
            local: facts.source.local(),
            threads: context.threads.get(),
        };
        let ReadOptions { device_memory: memory, direct_io, nvcomp, nvjpeg, .. } = *options;
        let gpu = device::Gpu { memory, direct_io, nvcomp, nvjpeg };
        let choice = device::choose(options.device, gpu, &work);
        let device = |problem: String| Error::Device { file: self.name().to_owned(), problem };
        let choice = choice.map_err(device)?;
        match choice.engine.support(&facts.layout) {
            Support::Yes => Ok(choice),
            Support::No(reason) => Err(Error::Unsupported { file: self.name().to_owned(), reason }),
        }
    }

    fn prepare(
        &self,
        options: &ReadOptions,
        to: Destination,
        mut after: Vec<String>,
        context: &Context,
    ) -> Result<(Choice, ReadPlan)> {
        let facts = self.facts(options)?;
        let output = facts.output(options).map_err(|error| self.refuse(error.to_string()))?;
        let OutputSpec { data_type, bands, rows, columns, .. } = output;
        self.check_result(Size::new((bands, rows, columns), data_type.size()), options)?;
        // Refused here, before a large block table is fetched for pixels that memory cannot hold.
        let need = output.len().map_or(u64::MAX, |len| len as u64);
        let fits = || context.budget.fits(need, "the decoded image");
        if to == Destination::Host || to == Destination::Output(Location::Host) {
            fits()?;
        }
        let (_lease, spans) = spans(&facts, context)?;
        if options.max_cloud_bytes.is_some() && facts.source.local().is_none() {
            check_fetched(facts.source.name(), fetched_len(&spans, facts.source.len()), options)?;
        }
        let choice = self.choose_for(&facts, &spans, &output, (options, to, context))?;
        let wanted = match to {
            Destination::Host => Location::Host,
            Destination::Engine => choice.engine.location(),
            Destination::Output(place) => place,
        };
        let destination = match (wanted, after.is_empty()) {
            (Location::Cuda(_), false) => {
                after.push(format!("copied to {wanted}"));
                Location::Host
            }
            _ => wanted,
        };
        if to == Destination::Engine && destination == Location::Host {
            fits()?;
        }
        let fetch = match facts.source.local() {
            Some(_) if choice.direct => Fetch::Direct,
            Some(_) if choice.engine.pulls() => Fetch::Pulled,
            _ => Fetch::Staged,
        };
        let decided = Decided {
            engine: choice.engine.name().to_owned(),
            engine_reason: choice.reason.clone(),
            judged: choice.judged.clone(),
            notes: choice.notes.clone(),
            decode: choice.decode.clone(),
            fetch,
            destination,
            after,
            output,
        };
        let plan = plan_read(facts, decided, &spans, options);
        Ok((choice, plan))
    }

    fn check_shape(&self, output: &Output, data_type: DataType, shape: (u32, u32, u32)) -> Result<()> {
        let have = output.spec();
        if (have.data_type, (have.bands, have.rows, have.columns)) == (data_type, shape) {
            return Ok(());
        }
        let (bands, rows, columns) = shape;
        Err(self.refuse(format!(
            "the output is {} × {} × {} {}, the read gives {bands} × {rows} × {columns} {data_type}",
            have.bands, have.rows, have.columns, have.data_type
        )))
    }

    fn run(
        &self,
        choice: &Choice,
        plan: ReadPlan,
        output: &Output,
        options: &ReadOptions,
        context: &Context,
    ) -> Result<Report> {
        let source = &self.target(options)?.file.source;
        let engine = choice.engine.as_ref();
        let report = match plan.convert {
            None => pipeline::run(plan, source.as_ref(), engine, output, context)?,
            Some(convert) => {
                // The output itself stays as it is: what converts is lent for this read.
                let spec = output.spec();
                let (bands, rows, columns) = ((0, spec.bands), (0, spec.rows), (0, spec.columns));
                let claim = output.claim(OutputBox { bands, rows, columns });
                let claim = Arc::new(claim.ok_or(EngineError::Busy { output: 0 })?);
                let lent = claim.delegate_converting(convert);
                let lent = lent.map_err(|error| self.refuse(error.to_string()))?;
                pipeline::run(plan, source.as_ref(), engine, &lent, context)?
            }
        };
        match (options.on_fault, report.faults.first()) {
            (OnFault::Fail, Some(first)) => Err(Error::Blocks {
                file: source.name().to_owned(),
                first: first.clone(),
                count: report.faults.len(),
            }),
            _ => {
                source.check_unchanged().map_err(|error| io_error(source.as_ref(), error))?;
                Ok(report)
            }
        }
    }
}

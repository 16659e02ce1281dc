//! Reads of one window of a dataset, into host or GPU memory.

use super::deliver::fill_boxes;
use super::limits::Size;
use super::mask::MaskSource;
use super::onto::OntoRead;
use super::plan::ReadPlan;
use super::reading::{Done, Reading, len};
use super::request::{Asked, Request};
use super::run::WindowFault;
use super::steps::{Step, is_inverted, is_turned, steps};
use crate::device::{self, Choice};
use crate::error::{Error, Result};
use crate::file::dataset::Dataset;
use crate::file::input::InputRef;
use crate::options::{Interleave, Layer, Meaning, ReadOptions};
use crate::pixels::Pixels;
use crate::window::Window;
use std::sync::Arc;
use strile_engine::{Context, Engine, Fill, Location, Output, OutputSpec, Report, Trace, Turn};
use strile_tiff::DataType;

/// The pixels to decode for a request, and the following steps.
struct Decoded {
    /// `None` if no pixel has to be read: a mask of an image without missing pixels.
    options: Option<ReadOptions>,
    steps: Vec<Step>,
}

impl Dataset {
    /// Plans `read` without touching a pixel.
    pub fn plan(&self, options: &ReadOptions, context: &Context) -> Result<ReadPlan> {
        self.planned(options, Location::Host, context)
    }

    /// Plans `read_on_device`.
    pub fn plan_on_device(&self, device: u32, options: &ReadOptions, context: &Context) -> Result<ReadPlan> {
        self.planned(options, Location::Cuda(device), context)
    }

    fn planned(&self, options: &ReadOptions, to: Location, context: &Context) -> Result<ReadPlan> {
        if options.place.onto.is_some() {
            return OntoRead::new(&[InputRef::Tiff(self)], options, context)?.explained(to);
        }
        let Decoded { options: pixels, steps } = self.decoded(options)?;
        // If a mask needs no pixels, the plan is that of the masked pixels.
        let pixels = pixels.unwrap_or_else(|| options.clone().layer(Layer::Pixels));
        let requests = [Request::of_file(self, &pixels.place)];
        let asked = Asked::one(&requests, &pixels).steps(&steps);
        Reading::new(asked, to, context).and_then(Reading::explained)
    }

    /// Reads pixels into new host memory. They may be decoded on any processor.
    pub fn read(&self, options: &ReadOptions, context: &Context) -> Result<Pixels> {
        self.read_to(Location::Host, options, context)
    }

    /// Reads pixels into new memory of the CUDA device `device`. That GPU decodes them, unless `decode_on` is the CPU;
    /// then the pixels are copied to the GPU.
    pub fn read_on_device(&self, device: u32, options: &ReadOptions, context: &Context) -> Result<Pixels> {
        self.read_to(Location::Cuda(device), options, context)
    }

    /// Reads pixels into new memory `to`.
    pub(crate) fn read_to(&self, to: Location, options: &ReadOptions, context: &Context) -> Result<Pixels> {
        if options.place.onto.is_some() {
            return OntoRead::new(&[InputRef::Tiff(self)], options, context)?.pixels(to);
        }
        let read = self.read_window(to, options, context)?;
        let crs = self.metadata().georeference.crs.as_ref().filter(|_| options.place.page == 0);
        Ok(Pixels { levels: vec![options.place.level], ..read.placed(self.transform(options)?, crs) })
    }

    fn read_window(&self, to: Location, options: &ReadOptions, context: &Context) -> Result<Pixels> {
        let Decoded { options: pixels, steps } = self.decoded(options)?;
        let Some(pixels) = pixels else { return self.all_valid(to, options, context) };
        let requests = [Request::of_file(self, &pixels.place)];
        let asked = Asked::one(&requests, &pixels).steps(&steps);
        let plan = || Reading::new(asked, to, context);
        let reading = Trace::time(context.trace.as_deref(), ("read", "plan"), plan)?;
        let fill = reading.planned.fill();
        Pixels::of_done(reading.delivered()?, None, (pixels.layout.interleave, fill))
    }

    /// Reads pixels into the caller's output, which must have the type and shape of the result. A GPU decodes into an
    /// output in its memory, unless `decode_on` is the CPU; then the pixels are copied to the GPU.
    pub fn read_into(&self, output: &Output, options: &ReadOptions, context: &Context) -> Result<Report> {
        if options.place.onto.is_some() {
            return OntoRead::new(&[InputRef::Tiff(self)], options, context)?.laid_into(output);
        }
        let to = output.location();
        let Decoded { options: pixels, steps } = self.decoded(options)?;
        let Some(pixels) = pixels else {
            self.check_shape(output, &self.all_valid_spec(options)?)?;
            fill_mask(self.holder(to, options)?.as_ref(), output, context)?;
            return Ok(Report::default());
        };
        let requests = [Request::of_file(self, &pixels.place)];
        let asked = Asked::one(&requests, &pixels).steps(&steps);
        let reading = Reading::new(asked, to, context)?;
        self.check_shape(output, &reading.planned.output)?;
        let (report, faults) = reading.delivered_into(output)?;
        Ok(with_faults(report, faults))
    }

    /// Returns the pixels to decode for a request, and the following steps.
    fn decoded(&self, options: &ReadOptions) -> Result<Decoded> {
        let source = match options.place.layer {
            Layer::Pixels => MaskSource::Image,
            Layer::Mask => self.mask_source(&options.place)?,
        };
        // A value is searched for in pixels, not in masks.
        let options = match source {
            MaskSource::Image => {
                let look_for = options.meaning.look_for.filter(|_| options.place.layer == Layer::Pixels);
                Some(options.clone().meaning(Meaning { look_for, ..options.meaning }))
            }
            other => other.pixels(options),
        };
        let Some(options) = options else { return Ok(Decoded { options: None, steps: Vec::new() }) };
        let target = self.target(&options.place)?;
        let inverted = is_inverted(&target.image, &options.meaning);
        let converted = inverted && self.converts(&target.image, &target.bands, &options)?;
        let mut steps = steps(&target.image, &options, converted);
        steps.extend(source.step());
        Ok(Decoded { options: Some(options), steps })
    }

    /// Returns the mask of an image without missing pixels, in new memory.
    fn all_valid(&self, to: Location, options: &ReadOptions, context: &Context) -> Result<Pixels> {
        let spec = self.all_valid_spec(options)?;
        let engine = self.holder(to, options)?;
        let need = if to == Location::Host { len(&spec) } else { 0 };
        let _lease = context.take(need, "the mask")?;
        let output = engine.output(spec, context)?;
        fill_mask(engine.as_ref(), &output, context)?;
        let done = Done { output, report: Report::default(), faults: Vec::new(), engine };
        Pixels::of_done(done, None, (Interleave::BandFirst, Fill::default()))
    }

    /// Returns the shape of the mask of an image without missing pixels.
    fn all_valid_spec(&self, options: &ReadOptions) -> Result<OutputSpec> {
        let target = self.target(&options.place.clone().layer(Layer::Pixels))?;
        let Window { width, height, .. } = target.window;
        self.check_result(Size::new((1, height, width), 1), &options.execution)?;
        let turn = match is_turned(&target.image, options.layout) {
            true => Turn::of_orientation(target.image.orientation),
            false => Turn::default(),
        };
        let (columns, rows) = turn.size((width, height));
        let spec = OutputSpec::band_first(DataType::U8, 1, rows, columns);
        spec.map_err(|error| self.refuse(error.to_string()))
    }

    /// Returns the engine for the memory of a result that needs no decoding.
    fn holder(&self, to: Location, options: &ReadOptions) -> Result<Arc<dyn Engine>> {
        match to {
            Location::Host => Ok(Choice::cpu("a mask in memory").engine),
            Location::Cuda(index) => device::holder(index, options.execution.device_memory)
                .map_err(|problem| Error::Device { file: self.name().to_owned(), problem }),
        }
    }

    fn check_shape(&self, output: &Output, gives: &OutputSpec) -> Result<()> {
        let have = output.spec();
        let shape = |of: &OutputSpec| (of.data_type, of.bands, of.rows, of.columns);
        if shape(have) == shape(gives) {
            return Ok(());
        }
        Err(self.refuse(format!(
            "the output is {} × {} × {} {}, the read gives {} × {} × {} {}",
            have.bands,
            have.rows,
            have.columns,
            have.data_type,
            gives.bands,
            gives.rows,
            gives.columns,
            gives.data_type
        )))
    }
}

/// Makes all pixels of a mask valid.
fn fill_mask(engine: &dyn Engine, output: &Output, context: &Context) -> Result<()> {
    let whole = Window::full(output.spec().columns, output.spec().rows);
    fill_boxes(engine, output, (&[(0, whole)], 1), Fill([u8::MAX; 16]), context)
}

/// Returns the report of one window, with its faults.
pub(super) fn with_faults(report: Report, faults: Vec<WindowFault>) -> Report {
    Report { faults: faults.into_iter().map(|fault| fault.fault).collect(), ..report }
}

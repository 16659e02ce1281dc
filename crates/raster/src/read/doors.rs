//! Reads of one window of a dataset, in host memory or where the engine has the pixels.

use super::deliver::deliver;
use super::limits::Size;
use super::mask::{self, MaskSource};
use super::onto::OntoRead;
use super::plan::ReadPlan;
use super::reading::{Done, Reading};
use super::request::{Asked, Request};
use super::run::WindowFault;
use super::steps::{Step, is_turned, steps};
use crate::dataset::Dataset;
use crate::device::{self, Choice};
use crate::error::{Error, Result};
use crate::input::InputRef;
use crate::options::{Layer, Meaning, ReadOptions};
use crate::pixels::Pixels;
use crate::raster::Raster;
use crate::window::Window;
use std::sync::Arc;
use strile_engine::{Context, Engine, Location, Output, Report, Trace};
use strile_tiff::DataType;

/// What is decoded for a request, and the steps on the result.
struct Decoded {
    /// `None` if no pixel has to be read: a mask of an image without any missing pixel.
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
        // A mask that needs no pixel is explained by the pixels that it is of.
        let pixels = pixels.unwrap_or_else(|| options.clone().layer(Layer::Pixels));
        let requests = [Request::of_file(self, &pixels.place)];
        reading((&requests, &pixels), to, &steps, context).and_then(Reading::explained)
    }

    /// Reads pixels into new host memory, on whichever processor they are decoded.
    pub fn read(&self, options: &ReadOptions, context: &Context) -> Result<Pixels> {
        self.read_to(Location::Host, options, context)
    }

    /// Reads pixels into new memory of the CUDA device `device`. That GPU decodes them, unless `decode_on` is the CPU, whose
    /// pixels are then copied there.
    pub fn read_on_device(&self, device: u32, options: &ReadOptions, context: &Context) -> Result<Pixels> {
        self.read_to(Location::Cuda(device), options, context)
    }

    fn read_to(&self, to: Location, options: &ReadOptions, context: &Context) -> Result<Pixels> {
        if options.place.onto.is_some() {
            return OntoRead::new(&[InputRef::Tiff(self)], options, context)?.pixels(to);
        }
        let read = self.read_window(to, options, context)?;
        let crs = self.metadata().georeference.crs.as_ref().filter(|_| options.place.page == 0);
        Ok(Pixels { levels: vec![options.place.level], ..read.placed(self.transform(options)?, crs) })
    }

    fn read_window(&self, to: Location, options: &ReadOptions, context: &Context) -> Result<Pixels> {
        let Decoded { options: pixels, steps } = self.decoded(options)?;
        let Some(pixels) = pixels else {
            let raster = self.all_valid(options, context)?;
            let holder = match to {
                Location::Host => None,
                Location::Cuda(index) => Some(self.holder(index, options)?),
            };
            return self.moved((raster, Report::default(), Vec::new()), holder, context);
        };
        let requests = [Request::of_file(self, &pixels.place)];
        let plan = || reading((&requests, &pixels), to, &steps, context);
        let reading = Trace::time(context.trace.as_deref(), ("read", "plan"), plan)?;
        if steps.is_empty() && reading.planned.destination == to {
            let fill = reading.planned.fill();
            return Pixels::of_done(reading.read()?, None, (pixels.layout.interleave, fill));
        }
        let holder = match to {
            Location::Host => None,
            Location::Cuda(index) => Some(reading.holder(index)?),
        };
        self.moved(finished(reading, &steps, context)?, holder, context)
    }

    /// Reads pixels into the caller's output, which must have the type and shape that the read gives. A GPU decodes into an
    /// output in its memory, unless `decode_on` is the CPU, whose pixels are then copied there.
    pub fn read_into(&self, output: &Output, options: &ReadOptions, context: &Context) -> Result<Report> {
        if options.place.onto.is_some() {
            return OntoRead::new(&[InputRef::Tiff(self)], options, context)?.laid_into(output);
        }
        let to = output.location();
        let Decoded { options: pixels, steps } = self.decoded(options)?;
        let host = || Choice::cpu("a copy in memory").engine;
        let (raster, report, engine) = match pixels {
            None => {
                let engine = match to {
                    Location::Host => host(),
                    Location::Cuda(index) => self.holder(index, options)?,
                };
                (self.all_valid(options, context)?, Report::default(), engine)
            }
            Some(pixels) => {
                let requests = [Request::of_file(self, &pixels.place)];
                let reading = reading((&requests, &pixels), to, &steps, context)?;
                if steps.is_empty() && reading.planned.destination == to {
                    let spec = &reading.planned.output;
                    self.check_shape(output, spec.data_type, (spec.bands, spec.rows, spec.columns))?;
                    let (report, faults) = reading.read_into(output)?;
                    return Ok(with_faults(report, faults));
                }
                let engine = match to {
                    Location::Host => host(),
                    Location::Cuda(index) => reading.holder(index)?,
                };
                let (raster, report, faults) = finished(reading, &steps, context)?;
                (raster, with_faults(report, faults), engine)
            }
        };
        self.check_shape(output, raster.data_type, (raster.bands, raster.rows, raster.columns))?;
        deliver(raster, engine.as_ref(), output, context)?;
        Ok(report)
    }

    /// What is decoded for a request, and what is done to it.
    fn decoded(&self, options: &ReadOptions) -> Result<Decoded> {
        let source = match options.place.layer {
            Layer::Pixels => MaskSource::Image,
            Layer::Mask => self.mask_source(&options.place)?,
        };
        // A value is looked for in pixels, not in masks.
        let options = match source {
            MaskSource::Image => {
                let look_for = options.meaning.look_for.filter(|_| options.place.layer == Layer::Pixels);
                Some(options.clone().meaning(Meaning { look_for, ..options.meaning }))
            }
            other => other.pixels(options),
        };
        let Some(options) = options else { return Ok(Decoded { options: None, steps: Vec::new() }) };
        let mut steps = steps(&self.target(&options.place)?.image, &options);
        steps.extend(source.step());
        Ok(Decoded { options: Some(options), steps })
    }

    /// The mask of an image that has no missing pixel.
    fn all_valid(&self, options: &ReadOptions, context: &Context) -> Result<Raster> {
        let target = self.target(&options.place.clone().layer(Layer::Pixels))?;
        let turned = is_turned(&target.image, options.layout) && target.image.orientation >= 5;
        let Window { width, height, .. } = target.window;
        self.check_result(Size::new((1, height, width), 1), &options.execution)?;
        mask::all_valid(if turned { (height, width) } else { (width, height) }, context)
    }

    /// The engine of a GPU for a result that needs no decoding.
    fn holder(&self, index: u32, options: &ReadOptions) -> Result<Arc<dyn Engine>> {
        device::holder(index, options.execution.device_memory)
            .map_err(|problem| Error::Device { file: self.name().to_owned(), problem })
    }

    /// A result in host memory, copied to that of a GPU if there is an engine for it.
    fn moved(
        &self,
        (raster, report, faults): Finished,
        holder: Option<Arc<dyn Engine>>,
        context: &Context,
    ) -> Result<Pixels> {
        let Some(engine) = holder else { return Ok(Pixels::of_raster(raster, report, faults)) };
        let (spec, interleave, fill) = (raster.spec(), raster.interleave, raster.fill);
        let spec = spec.map_err(|error| self.refuse(error.to_string()))?;
        let output = engine.output(spec, context)?;
        deliver(raster, engine.as_ref(), &output, context)?;
        Pixels::of_done(Done { output, report, faults, engine }, None, (interleave, fill))
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
}

/// Plans a read of one window.
fn reading<'a>(
    (requests, options): (&'a [Request<'a>], &'a ReadOptions),
    to: Location,
    steps: &[Step],
    context: &'a Context,
) -> Result<Reading<'a>> {
    let asked = Asked::one(requests, options);
    Reading::new(asked, to, steps.iter().map(Step::to_string).collect(), context)
}

/// Pixels in host memory, what the engine did, and faults that were filled.
type Finished = (Raster, Report, Vec<WindowFault>);

/// Reads into host memory and applies the steps.
fn finished(reading: Reading<'_>, steps: &[Step], context: &Context) -> Result<Finished> {
    let (fill, interleave) = (reading.planned.fill(), reading.interleave());
    let Done { output, report, faults, .. } = reading.read()?;
    let raster = Raster::from_output(output, interleave, fill)?;
    let raster = steps.iter().try_fold(raster, |raster, step| step.apply(raster, context))?;
    Ok((raster, report, faults))
}

/// The report of one window, whose faults are its own.
pub(super) fn with_faults(report: Report, faults: Vec<WindowFault>) -> Report {
    Report { faults: faults.into_iter().map(|fault| fault.fault).collect(), ..report }
}

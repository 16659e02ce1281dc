//! Reads of one window of a mosaic, into host or GPU memory.
//!
//! The entry points of a dataset, with one difference: a read may have to be repeated without damaged sources.

use super::Vrt;
use super::call::{Call, Share, Shared, Work};
use super::canvas::{Made, Wanted};
use super::compose::Composed;
use crate::device::Choice;
use crate::error::Result;
use crate::file::input::InputRef;
use crate::options::{Interleave, Layer, Meaning, Place, ReadOptions};
use crate::pixels::Pixels;
use crate::raster::Raster;
use crate::read::{
    Asked, Canvas, Content, Done, Frame, Gap, MaskSource, OntoRead, ReadPlan, Reading, Request, Step,
    WindowFault,
};
use crate::window::Window;
use strile_engine::{Context, Fill, Location, Output, Report};
use strile_tiff::DataType;

/// A checked request.
struct Checked<'a> {
    vrt: &'a Vrt,
    window: Window,
    bands: Vec<u16>,
    options: &'a ReadOptions,
    /// The options for the read path, without those that do not apply to the layer.
    given: ReadOptions,
}

impl Vrt {
    /// Plans `read` without touching a pixel. Sources are opened.
    pub fn plan(&self, options: &ReadOptions, context: &Context) -> Result<ReadPlan> {
        self.planned(options, Location::Host, context)
    }

    /// Plans `read_on_device`.
    pub fn plan_on_device(&self, device: u32, options: &ReadOptions, context: &Context) -> Result<ReadPlan> {
        self.planned(options, Location::Cuda(device), context)
    }

    fn planned(&self, options: &ReadOptions, to: Location, context: &Context) -> Result<ReadPlan> {
        if options.place.onto.is_some() {
            return OntoRead::new(&[InputRef::Vrt(self)], options, context)?.explained(to);
        }
        let checked = self.checked(options)?;
        let work = self.work();
        let shared = Shared::new(self, (&options.execution, to), context, &work);
        let call = shared.call();
        let (wanted, steps) = match checked.wanted(false)? {
            Some((wanted, step)) => (wanted, Vec::from_iter(step)),
            // If a mask needs no pixels, the plan is that of the masked pixels.
            None => (checked.pixels(&checked.bands, false)?, Vec::new()),
        };
        self.allow(&wanted, &call);
        let made = self.made(&wanted, &call)?;
        let requests = [Request::of_mosaic(&made.canvas, None)];
        let asked = Asked::one(&requests, &checked.given).steps(&steps);
        let plan = Reading::new(asked, to, context).and_then(Reading::explained)?;
        let is_result = to == Location::Host && steps.is_empty() && checked.is_stored();
        Ok(match &made.canvas.content {
            Content::Blended(_) if is_result => plan.of_blended(),
            _ => plan,
        })
    }

    /// Reads pixels into new host memory. [`Pixels::holes`] are the sources that were skipped.
    pub fn read(&self, options: &ReadOptions, context: &Context) -> Result<Pixels> {
        self.read_part(options, &self.work(), context)
    }

    /// Reads a part of a longer read, whose parts share one counter of work.
    pub(crate) fn read_part(&self, options: &ReadOptions, work: &Work, context: &Context) -> Result<Pixels> {
        if options.place.onto.is_some() {
            return OntoRead::new(&[InputRef::Vrt(self)], options, context)?.pixels(Location::Host);
        }
        let checked = self.checked(options)?;
        let shared = Shared::new(self, (&options.execution, Location::Host), context, work);
        let (raster, report) = checked.host(&shared.call())?;
        self.told(Pixels::of_raster(raster, report, Vec::new()), options, &shared)
    }

    /// Adds the properties of the read to its pixels.
    fn told(&self, pixels: Pixels, options: &ReadOptions, shared: &Shared<'_>) -> Result<Pixels> {
        let pixels = pixels.placed(self.transform(options)?, self.metadata.georeference.crs.as_ref());
        let found = |(file, fault)| WindowFault { window: 0, file, fault };
        let faults = shared.take_faults().into_iter().map(found).collect();
        Ok(Pixels { faults, holes: shared.holes(), levels: vec![options.place.level], ..pixels })
    }

    /// Reads pixels into new memory of the CUDA device `device`. That GPU decodes them, unless `decode_on` is the CPU;
    /// then the pixels are copied to the GPU.
    pub fn read_on_device(&self, device: u32, options: &ReadOptions, context: &Context) -> Result<Pixels> {
        let to = Location::Cuda(device);
        if options.place.onto.is_some() {
            return OntoRead::new(&[InputRef::Vrt(self)], options, context)?.pixels(to);
        }
        let checked = self.checked(options)?;
        let work = self.work();
        let shared = Shared::new(self, (&options.execution, to), context, &work);
        let pixels = {
            let call = shared.call();
            let read = checked.read(to, &call, |reading| {
                let fill = reading.planned.fill();
                let mut pixels =
                    Pixels::of_done(reading.delivered()?, None, (options.layout.interleave, fill))?;
                let faults = std::mem::take(&mut pixels.faults);
                Ok((pixels, faults))
            });
            read?
        };
        self.told(pixels, options, &shared)
    }

    /// Reads pixels into the caller's output, which must have the type and shape of the result. The engine of a GPU
    /// writes an output on that GPU.
    pub fn read_into(&self, output: &Output, options: &ReadOptions, context: &Context) -> Result<Report> {
        if options.place.onto.is_some() {
            return OntoRead::new(&[InputRef::Vrt(self)], options, context)?.laid_into(output);
        }
        let checked = self.checked(options)?;
        let work = self.work();
        let shared = Shared::new(self, (&options.execution, output.location()), context, &work);
        let report = {
            let call = shared.call();
            let read = checked.read(output.location(), &call, |reading| {
                let (have, gives) = (output.spec(), &reading.planned.output);
                let shape = |spec: &strile_engine::OutputSpec| {
                    format!("{} × {} × {} {}", spec.bands, spec.rows, spec.columns, spec.data_type)
                };
                if shape(have) != shape(gives) {
                    let (have, gives) = (shape(have), shape(gives));
                    return Err(self.refuse(format!("the output is {have}, the read gives {gives}")));
                }
                reading.delivered_into(output)
            });
            read?
        };
        Ok(Report { faults: shared.into_faults(), ..report })
    }

    /// Checks a request.
    fn checked<'a>(&'a self, options: &'a ReadOptions) -> Result<Checked<'a>> {
        let (window, bands) = self.target(&options.place)?;
        self.check_result(
            self.size_of((&options.place, &options.meaning), window, &bands)?,
            &options.execution,
        )?;
        let meaning = match options.place.layer {
            Layer::Pixels => options.meaning,
            Layer::Mask => Meaning::default(),
        };
        let given = ReadOptions { place: Place::default(), meaning, ..*options };
        Ok(Checked { vrt: self, window, bands, options, given })
    }
}

impl Checked<'_> {
    /// Requests bands of the window. `pixels` is `false` for a plan.
    fn pixels(&self, bands: &[u16], pixels: bool) -> Result<Wanted> {
        let place = (Frame::exactly(self.window), Some(self.window));
        self.vrt.wanted(bands, place, (&self.options.place, &self.options.meaning), pixels)
    }

    /// Returns the pixels or the mask to read, and the step that computes the mask. `None` is a mask that needs no
    /// pixels: all of it is valid. `pixels` is `false` for a plan.
    fn wanted(&self, pixels: bool) -> Result<Option<(Wanted, Option<Step>)>> {
        let vrt = self.vrt;
        if self.options.place.layer == Layer::Pixels {
            return Ok(Some((self.pixels(&self.bands, pixels)?, None)));
        }
        Ok(match vrt.mask_source() {
            MaskSource::Image => Some((vrt.wanted_mask(self.window, pixels), None)),
            MaskSource::Alpha(band) => Some((self.pixels(&[band], pixels)?, Some(Step::MaskOfAlpha(band)))),
            MaskSource::NoData => match vrt.missing_samples() {
                Some(missing) => {
                    let mut all = self.pixels(&(1..=vrt.bands()).collect::<Vec<_>>(), pixels)?;
                    all.missing = missing;
                    Some((all, Some(Step::MaskOfNodata)))
                }
                None => None,
            },
            MaskSource::AllValid => None,
        })
    }

    /// Prepares the window and passes it to `read`. Repeats this without damaged sources, if these should only cause
    /// warnings.
    fn made<R>(
        &self,
        wanted: &Wanted,
        call: &Call<'_>,
        mut read: impl FnMut(Made) -> Result<R>,
    ) -> Result<R> {
        self.vrt.allow(wanted, call);
        let before = call.faults();
        loop {
            let made = self.vrt.made(wanted, call)?;
            let (_, named) = made.named();
            match read(made) {
                Err(error) => self.vrt.go_without_all(&named, error, call)?,
                done => return done,
            }
            call.keep_faults(before);
        }
    }

    /// Reads the requested pixels or mask, with its plan.
    fn read<R>(
        &self,
        to: Location,
        call: &Call<'_>,
        mut read: impl FnMut(Reading<'_>) -> Result<(R, Vec<WindowFault>)>,
    ) -> Result<R> {
        let Some((wanted, step)) = self.wanted(true)? else {
            let asked = (&self.all_valid(), &self.given, &[][..]);
            return planned(asked, to, 0, call, |reading| read(reading).map(|(done, _)| done));
        };
        self.made(&wanted, call, |made| {
            let made = made.ready()?;
            let asked = (&made.canvas, &self.given, step.as_slice());
            let (done, faults) = planned(asked, to, made.sources, call, &mut read)?;
            call.found_by(faults);
            Ok(done)
        })
    }

    /// Returns whether blended pixels in host memory are already the result.
    fn is_stored(&self) -> bool {
        self.given.layout.interleave == Interleave::BandFirst && !self.given.meaning.is_masked()
    }

    /// Reads pixels or a mask into host memory.
    fn host(&self, call: &Call<'_>) -> Result<(Raster, Report)> {
        let Some((wanted, None)) = self.wanted(true)?.filter(|_| self.is_stored()) else {
            return self.read(Location::Host, call, |reading| self.raster(reading));
        };
        self.made(&wanted, call, |mut made| {
            let Some(Composed { output, fill, lease: _held }) = made.blended.take() else {
                let made = made.ready()?;
                let asked = (&made.canvas, &self.given, &[][..]);
                return planned(asked, Location::Host, made.sources, call, |reading| {
                    let (raster, faults) = self.raster(reading)?;
                    call.found_by(faults);
                    Ok(raster)
                });
            };
            // The blended pixels are the result.
            let raster = Raster::from_output(output, Interleave::BandFirst, fill)?;
            let requests = [Request::of_mosaic(&made.canvas, None)];
            let engine = Choice::cpu("pixels in host memory").engine;
            let asked = Asked::one(&requests, &self.given);
            let (raster, found) = asked.look_in(raster, engine.as_ref(), call.context())?;
            Ok((raster, Report { found, ..Report::default() }))
        })
    }

    /// Reads into host memory.
    fn raster(&self, reading: Reading<'_>) -> Result<((Raster, Report), Vec<WindowFault>)> {
        let fill = reading.planned.fill();
        let Done { output, report, faults, .. } = reading.read()?;
        Ok(((Raster::from_output(output, self.given.layout.interleave, fill)?, report), faults))
    }

    /// Returns the mask of a window without missing pixels.
    fn all_valid(&self) -> Canvas {
        let whole = Window::full(self.window.width, self.window.height);
        let gaps = vec![Gap { at: whole, bands: (0, 1), fill: Fill([u8::MAX; 16]) }];
        Canvas {
            name: self.vrt.name.clone(),
            mosaic: std::ptr::from_ref(self.vrt).addr(),
            image: (self.vrt.width, self.vrt.height),
            data_type: DataType::U8,
            bands: vec![1],
            fills: vec![Fill::default()],
            nodatas: Vec::new(),
            missing: Vec::new(),
            unpackings: Vec::new(),
            mask: None,
            frame: Frame::exactly(self.window),
            inside: Some(self.window),
            content: Content::Files { tiles: Vec::new(), gaps },
            blended: 0,
            blended_at: Location::Host,
            named: Vec::new(),
        }
    }
}

/// Plans the read of a window with `sources` sources, and passes it to `read`.
fn planned<R>(
    (canvas, options, steps): (&Canvas, &ReadOptions, &[Step]),
    to: Location,
    sources: u64,
    call: &Call<'_>,
    read: impl FnOnce(Reading<'_>) -> Result<R>,
) -> Result<R> {
    let requests = [Request::of_mosaic(canvas, None)];
    let asked = Asked::one(&requests, options).steps(steps);
    let share = Share::new(sources, call);
    let done = read(share.reading(asked, to)?)?;
    share.complete();
    Ok(done)
}

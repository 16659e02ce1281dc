//! Reads of one window of a mosaic, in host memory or where the engine has the pixels.
//!
//! The doors of a dataset, with one difference: a read may have to be repeated without sources that prove damaged.

use super::Vrt;
use super::call::{Call, Share, Shared, Work};
use super::canvas::{Made, Wanted};
use super::number::{Number, reader};
use super::opened::is_nodata;
use crate::error::{Error, Result};
use crate::input::InputRef;
use crate::options::{Interleave, Layer, Meaning, Place, ReadOptions};
use crate::pixels::Pixels;
use crate::raster::Raster;
use crate::read::{
    Asked, Canvas, Content, Done, Frame, MaskSource, OntoRead, ReadPlan, Reading, Request, Step, WindowFault,
    all_valid,
};
use crate::source::MemorySource;
use crate::window::Window;
use std::sync::Arc;
use strile_engine::{Context, EngineError, Fill, LocatedFault, Location, Output, Report};
use strile_tiff::DataType;

/// A request that was checked.
struct Checked<'a> {
    vrt: &'a Vrt,
    window: Window,
    bands: Vec<u16>,
    options: &'a ReadOptions,
    /// What the read path is told: the options without what does not concern the layer.
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
        let shared = Shared::new(self, &options.execution, context, &work);
        let call = shared.call();
        let (mut after, mut steps) = (Vec::new(), Vec::new());
        let wanted = match options.place.layer {
            Layer::Pixels => checked.pixels(&checked.bands, false)?,
            Layer::Mask => match self.mask_source() {
                MaskSource::Image => self.wanted_mask(checked.window, false),
                MaskSource::Alpha(band) => {
                    steps.push(Step::MaskOfAlpha(band));
                    checked.pixels(&[band], false)?
                }
                MaskSource::NoData => {
                    after.push("the mask where a band differs from nodata on the host".to_owned());
                    checked.pixels(&(1..=self.bands()).collect::<Vec<_>>(), false)?
                }
                // A mask that needs no pixel is explained by the pixels that it is of.
                MaskSource::AllValid => checked.pixels(&checked.bands, false)?,
            },
        };
        self.allow(&wanted, &call);
        let made = self.made(&wanted, &call)?;
        let requests = [Request::of_mosaic(&made.canvas, None)];
        let asked = Asked::one(&requests, &checked.given).steps(&steps);
        Reading::new(asked, to, after, context).and_then(Reading::explained)
    }

    /// Reads pixels into new host memory. [`Pixels::holes`] are the sources that it went on without.
    pub fn read(&self, options: &ReadOptions, context: &Context) -> Result<Pixels> {
        self.read_part(options, &self.work(), context)
    }

    /// Reads a part of something longer, whose parts share one counter of work.
    pub(crate) fn read_part(&self, options: &ReadOptions, work: &Work, context: &Context) -> Result<Pixels> {
        if options.place.onto.is_some() {
            return OntoRead::new(&[InputRef::Vrt(self)], options, context)?.pixels(Location::Host);
        }
        let checked = self.checked(options)?;
        let shared = Shared::new(self, &options.execution, context, work);
        let raster = {
            let call = shared.call();
            let raster = match options.place.layer {
                Layer::Pixels => checked.host(&checked.pixels(&checked.bands, true)?, &call),
                Layer::Mask => checked.mask(&call),
            };
            raster?
        };
        self.told(Pixels::of_raster(raster, Report::default(), Vec::new()), options, &shared)
    }

    /// Adds what is known of the read beside its pixels.
    fn told(&self, pixels: Pixels, options: &ReadOptions, shared: &Shared<'_>) -> Result<Pixels> {
        let pixels = pixels.placed(self.transform(options)?, self.metadata.georeference.crs.as_ref());
        let found = |(file, fault)| WindowFault { window: 0, file, fault };
        let faults = shared.take_faults().into_iter().map(found).collect();
        Ok(Pixels { faults, holes: shared.holes(), levels: vec![options.place.level], ..pixels })
    }

    /// Reads pixels into new memory of the CUDA device `device`. That GPU decodes them, unless `decode_on` is the CPU, whose
    /// pixels are then copied there.
    pub fn read_on_device(&self, device: u32, options: &ReadOptions, context: &Context) -> Result<Pixels> {
        let to = Location::Cuda(device);
        if options.place.onto.is_some() {
            return OntoRead::new(&[InputRef::Vrt(self)], options, context)?.pixels(to);
        }
        let checked = self.checked(options)?;
        let work = self.work();
        let shared = Shared::new(self, &options.execution, context, &work);
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

    /// Reads pixels into the caller's output, which must have the type and shape that the read gives. The engine of a GPU
    /// writes an output on that GPU.
    pub fn read_into(
        &self,
        output: &Output,
        options: &ReadOptions,
        context: &Context,
    ) -> Result<Vec<LocatedFault>> {
        if options.place.onto.is_some() {
            return Ok(OntoRead::new(&[InputRef::Vrt(self)], options, context)?.laid_into(output)?.faults);
        }
        let checked = self.checked(options)?;
        let work = self.work();
        let shared = Shared::new(self, &options.execution, context, &work);
        {
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
                let (_, faults): (Report, _) = reading.delivered_into(output)?;
                Ok(((), faults))
            });
            read?;
        }
        Ok(shared.into_faults())
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

    /// Valid where a band is not its nodata.
    fn valid(&self, band: u16, raster: &Raster) -> Raster {
        let nodata = self.nodata(band).map(|nodata| Number::Double(nodata.as_f64()));
        let number = reader(raster.data_type);
        let samples = raster.pixels.chunks_exact(raster.data_type.size());
        let valid = |sample| nodata.is_none_or(|nodata| !is_nodata(number(sample).0, nodata));
        let pixels = samples.map(|sample| if valid(sample) { 255 } else { 0 }).collect();
        Raster { data_type: DataType::U8, pixels, fill: Fill::default(), ..*raster }
    }
}

impl<'a> Checked<'a> {
    /// Bands of the window; `pixels` is `false` for a plan.
    fn pixels(&self, bands: &[u16], pixels: bool) -> Result<Wanted> {
        let place = (Frame::exactly(self.window), Some(self.window));
        self.vrt.wanted(bands, place, (&self.options.place, &self.options.meaning), pixels)
    }

    /// Makes the window and gives it to `read`: again without sources that prove damaged, if these are only to be warned of.
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

    /// Reads what is asked for, pixels or a mask, with the plan that is made of it.
    fn read<R>(
        &self,
        to: Location,
        call: &Call<'_>,
        mut read: impl FnMut(Reading<'_>) -> Result<(R, Vec<WindowFault>)>,
    ) -> Result<R> {
        let (bands, steps) = match (self.options.place.layer, self.vrt.mask_source()) {
            (Layer::Pixels, _) => (self.bands.clone(), Vec::new()),
            (Layer::Mask, MaskSource::Alpha(band)) => (vec![band], vec![Step::MaskOfAlpha(band)]),
            (Layer::Mask, MaskSource::Image | MaskSource::NoData | MaskSource::AllValid) => {
                // The mask is made on the host, and read from there like what was blended.
                let raster = self.mask(call)?;
                let asked = (&self.of_mask(raster), &self.given, &[][..]);
                return planned(asked, to, 0, call, |reading| read(reading).map(|(done, _)| done));
            }
        };
        let wanted = self.pixels(&bands, true)?;
        self.made(&wanted, call, |made| {
            let made = made.ready();
            let asked = (&made.canvas, &self.given, &steps[..]);
            let (done, faults) = planned(asked, to, made.sources, call, &mut read)?;
            call.found_by(faults);
            Ok(done)
        })
    }

    /// Pixels in host memory.
    fn host(&self, wanted: &Wanted, call: &Call<'_>) -> Result<Raster> {
        let (interleave, is_masked) = (self.given.layout.interleave, self.given.meaning.is_masked());
        self.made(wanted, call, |mut made| {
            if interleave == Interleave::BandFirst
                && !is_masked
                && let Some(raster) = made.blended.take()
            {
                return Ok(raster);
            }
            let made = made.ready();
            let asked = (&made.canvas, &self.given, &[][..]);
            planned(asked, Location::Host, made.sources, call, |reading| {
                let fill = reading.planned.fill();
                let Done { output, faults, .. } = reading.read()?;
                call.found_by(faults);
                Raster::from_output(output, interleave, fill)
            })
        })
    }

    /// The mask, in host memory.
    fn mask(&self, call: &Call<'_>) -> Result<Raster> {
        let (vrt, Window { width, height, .. }) = (self.vrt, self.window);
        let lease = || call.take(u64::from(width) * u64::from(height), "the mask");
        // The read gives back what it took; the pixels stay until they are a mask.
        let held = |band: &Raster| call.take(band.pixels.len() as u64, "the band of a mask");
        let given = self.given.clone().interleave(Interleave::BandFirst);
        let by_bands = Checked { vrt, window: self.window, bands: Vec::new(), options: self.options, given };
        let band = |band: u16| by_bands.host(&by_bands.pixels(&[band], true)?, call);
        let mask = match vrt.mask_source() {
            MaskSource::Image => by_bands.host(&vrt.wanted_mask(self.window, true), call)?,
            MaskSource::Alpha(_) => by_bands.read(Location::Host, call, |reading| {
                let Done { output, faults, .. } = reading.read()?;
                Ok((Raster::from_output(output, Interleave::BandFirst, Fill::default())?, faults))
            })?,
            MaskSource::AllValid => all_valid((width, height), call.context())?,
            MaskSource::NoData => {
                let _lease = lease()?;
                let mut valid: Option<Raster> = None;
                for number in 1..=vrt.bands() {
                    let pixels = band(number)?;
                    let _held = held(&pixels)?;
                    let _next = valid.as_ref().map(|_| lease()).transpose()?;
                    let next = vrt.valid(number, &pixels);
                    match &mut valid {
                        None => valid = Some(next),
                        Some(all) => all.pixels.iter_mut().zip(next.pixels).for_each(|(a, b)| *a |= b),
                    }
                }
                valid.ok_or(Error::Engine(EngineError::Abandoned))?
            }
        };
        // Of one band both are the same.
        Ok(Raster { interleave: self.options.layout.interleave, ..mask })
    }

    /// A mask in host memory as a window.
    fn of_mask(&self, mask: Raster) -> Canvas {
        Canvas {
            name: self.vrt.name.clone(),
            mosaic: std::ptr::from_ref(self.vrt).addr(),
            image: (self.vrt.width, self.vrt.height),
            data_type: mask.data_type,
            bands: vec![1],
            fills: vec![Fill::default()],
            nodata: None,
            unpackings: Vec::new(),
            mask: None,
            frame: Frame::exactly(self.window),
            inside: Some(self.window),
            content: Content::Blended(Arc::new(MemorySource::new(self.vrt.name.clone(), mask.pixels))),
            blended: 0,
            named: Vec::new(),
        }
    }
}

/// Plans the read of a window that is made of so many sources, and gives it to `read`.
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

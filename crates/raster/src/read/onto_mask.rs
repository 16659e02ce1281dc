//! The mask of a read onto a grid: 255 where a pixel of the result has a value, else 0.
//!
//! Pixels are read with a fill value of 0, which valid pixels never get (`WarpWindow::avoid`): a pixel whose bands are
//! all 0 is missing. So the mask matches the pixels of a read with the same method, and no type has to be read as
//! floats. Mosaics whose bands differ in nodata are read as floats: a pixel whose bands are all NaN is missing. The
//! mask is computed where the pixels are.

use super::mask::MaskSource;
use super::onto::{Holes, OntoRead};
use super::reading::{Done, len};
use super::run::WindowFault;
use super::sheet::differs;
use crate::device::Choice;
use crate::error::{Error, Result};
use crate::file::input::InputRef;
use crate::grid::Onto;
use crate::options::{Interleave, Layer, LookFor, Meaning, ReadOptions};
use crate::pixels::Pixels;
use std::sync::Arc;
use strile_engine::{
    Convert, Engine, EngineError, Fill, FindJob, Location, Output, OutputError, OutputSpec, Report,
    SampleParts, SharedPixels, Sought,
};
use strile_tiff::DataType;
use strile_tiff::gdal::NoData;

/// Returns the read of pixels from which a mask on a grid is computed.
pub(super) fn pixels_of(inputs: &[InputRef<'_>], options: &ReadOptions, onto: &Onto) -> Result<ReadOptions> {
    let mut by_value = onto.warp.nodata.is_some();
    for input in inputs {
        by_value |= input.mask_source()? == MaskSource::NoData;
    }
    // Nodata is per band; other masks apply to all bands.
    let bands = if by_value { None } else { Some(vec![1]) };
    let mut onto = onto.clone();
    let masked = onto.warp.nodata.is_none() && are_integers_apart(inputs);
    onto.warp.fill = (!masked).then_some(NoData::Float(0.0));
    onto.warp.data_type = None;
    let mut options = options.clone().layer(Layer::Pixels).interleave(Interleave::BandFirst);
    options.place.bands = bands;
    options.place.onto = Some(Arc::new(onto));
    options.meaning = Meaning { masked, unpack: false, float_type: None, look_for: None, ..options.meaning };
    Ok(options)
}

/// Returns whether a mosaic has bands with different nodata, and all files store integers, which cannot be NaN.
fn are_integers_apart(inputs: &[InputRef<'_>]) -> bool {
    let is_whole = |input: &InputRef<'_>| match input {
        InputRef::Vrt(vrt) => is_integer(vrt.data_type()),
        InputRef::Tiff(dataset) => {
            let full = dataset.pages().first().and_then(|page| page.full());
            full.and_then(|level| level.image.sample.data_type()).is_some_and(is_integer)
        }
    };
    inputs.iter().any(|input| input.nodata(None).is_err()) && inputs.iter().all(is_whole)
}

fn is_integer(data_type: DataType) -> bool {
    !matches!(data_type, DataType::C64 | DataType::C128) && !Convert::gives(data_type)
}

impl OntoRead<'_> {
    /// Reads the mask into new memory at `to`.
    pub(super) fn mask(&self, to: Location) -> Result<Pixels> {
        let (pixels, done, holes) = self.decoded(to)?;
        let engine = self.engine_of(&done);
        let spec = self.mask_spec(pixels.spec())?;
        // The pixels that it is computed from are still in memory.
        let need = if to == Location::Host { len(&spec).saturating_add(len(pixels.spec())) } else { 0 };
        let _lease = self.context.take(need, "the mask")?;
        let output = engine.output(spec, self.context)?;
        engine.finish(&differs(self.missing(pixels.spec())), Some(&pixels), &output, self.context)?;
        let Read { report, faults, .. } = done;
        let done = Done { output, report, faults, engine };
        let pixels = Pixels::of_done(done, None, (Interleave::BandFirst, Fill::default()))?;
        let (transform, crs) = self.place();
        Ok(Pixels {
            holes,
            levels: self.levels(),
            operations: self.operations(),
            ..pixels.placed(transform, crs)
        })
    }

    /// Reads the mask into an output, which must have its type and shape.
    pub(super) fn mask_into(&self, output: &Output) -> Result<(Report, Vec<WindowFault>)> {
        let (pixels, done, _) = self.decoded(output.location())?;
        self.check_shape(output.spec(), &self.mask_spec(pixels.spec())?)?;
        let job = differs(self.missing(pixels.spec()));
        self.engine_of(&done).finish(&job, Some(&pixels), output, self.context)?;
        Ok((done.report, done.faults))
    }

    /// Reads the pixels that the mask is computed from.
    fn decoded(&self, to: Location) -> Result<(SharedPixels, Read, Holes)> {
        let is_complex = |data_type: DataType| matches!(data_type, DataType::C64 | DataType::C128);
        let complex = self.stored().find(|(_, data_type)| data_type.is_some_and(is_complex));
        if let Some((name, Some(data_type))) = complex {
            let problem = format!("masks of {data_type} samples are not put onto a grid; read the pixels");
            return Err(Error::Request { file: name.to_owned(), problem });
        }
        let (Done { output, report, faults, engine }, _, holes) = self.read(to)?;
        let spec = output.spec().clone();
        let pixels = match output.device_bytes() {
            Some(bytes) => SharedPixels::on_device(spec, bytes.clone()),
            None => SharedPixels::new(spec, Arc::new(output.into_vec().ok_or(EngineError::Abandoned)?)),
        };
        let pixels = pixels.map_err(|error| self.refuse(error.to_string()))?;
        Ok((pixels, Read { to, report, faults, engine }, holes))
    }

    /// Returns the engine of the memory that pixels were read into.
    fn engine_of(&self, read: &Read) -> Arc<dyn Engine> {
        match read.to {
            Location::Host => Choice::cpu("a mask in memory").engine,
            Location::Cuda(_) => Arc::clone(&read.engine),
        }
    }

    pub(super) fn mask_spec(&self, pixels: &OutputSpec) -> Result<OutputSpec> {
        let spec = OutputSpec::band_first(DataType::U8, 1, pixels.rows, pixels.columns);
        spec.map_err(|error: OutputError| self.refuse(error.to_string()))
    }

    /// Returns the sample of a missing pixel: NaN, or all bits 0.
    fn missing(&self, pixels: &OutputSpec) -> Sought {
        match self.options.meaning.is_masked() {
            true => Sought::nan(pixels.data_type),
            false => Sought { mask: u64::MAX, low: 0, span: 0, parts: SampleParts::One },
        }
    }

    /// Searches the result for a value, if requested. `fill` is the sample of pixels that no file fills.
    pub(super) fn look_in(&self, output: &Output, engine: &dyn Engine, fill: Fill) -> Result<Option<bool>> {
        let Some(look_for) = self.options.meaning.look_for else { return Ok(None) };
        let OutputSpec { data_type, bands, .. } = *output.spec();
        let sample = match look_for {
            _ if self.options.meaning.is_masked() && Convert::gives(data_type) => {
                return Ok(Some(engine.find(
                    &FindJob::all(bands, Sought::nan(data_type)),
                    output,
                    self.context,
                )?));
            }
            LookFor::Value(value) => value.to_sample(data_type).map(Fill),
            LookFor::Nodata => Some(fill),
        };
        // No sample can have the value.
        let Some(sample) = sample else { return Ok(Some(false)) };
        let job = FindJob::all(bands, Sought::new(data_type, &sample));
        Ok(Some(engine.find(&job, output, self.context)?))
    }
}

/// Pixels that a mask is computed from.
struct Read {
    to: Location,
    report: Report,
    faults: Vec<WindowFault>,
    engine: Arc<dyn Engine>,
}

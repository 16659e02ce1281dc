//! A whole image of a file in memory: on the host, or on the device that decoded it. It can be written repeatedly, as
//! one piece, and compared with the written files.

use super::alike::gdal_options;
use super::options::ConvertOptions;
use super::read_for;
use super::spec::{spec_of, write_options};
use crate::error::{Error, Result};
use crate::file::dataset::Dataset;
use crate::options::{Interleave, Layer, Processor, ReadOptions};
use crate::pixels::Pixels;
use crate::sink::Sink;
use crate::window::Window;
use crate::write::{RasterSpec, WriteOptions, WriteReport, Writer, refused};
use strile_engine::{Context, Location, Trace};
use strile_tiff::Planar;

/// An image in memory with the metadata of its file, for writing it more than once.
pub struct LoadedImage {
    spec: RasterSpec,
    write: WriteOptions,
    pixels: Pixels,
    mask: Option<Pixels>,
    interleave: Interleave,
}

/// The result of writing an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Report of the writer.
    pub report: WriteReport,
    /// Name of the engine that encoded the blocks.
    pub engine: String,
    /// Name of its encoder.
    pub encoder: String,
}

impl LoadedImage {
    /// Reads the image that the options select into host or GPU memory, and its mask into host memory.
    pub fn read(input: &Dataset, options: &ConvertOptions, to: Location, context: &Context) -> Result<Self> {
        let interleave = match options.write.planar {
            Planar::Chunky => Interleave::BandLast,
            Planar::Separate => Interleave::BandFirst,
        };
        let read = options.read.clone().layer(Layer::Pixels).interleave(interleave);
        let resized = options.area.is_some() || options.size.is_some() || options.polygon.is_some();
        let changed = read.meaning.is_masked() || options.changes_values();
        if changed || resized || read.layout.apply_orientation || options.tiling.is_some() {
            let problem =
                "an image in memory is written with the values and in the place that it has in its file";
            return Err(input.refuse(problem.into()));
        }
        let spec = spec_of(input, &read.place, options, &mut Vec::new())?;
        let write = write_options(input, &read.place, &spec, options)?;
        let pixels = read_for(input, to, &read, context)?;
        let mask = match spec.mask {
            true => Some(input.read(&read.clone().place(read.place.of_layer(Layer::Mask)), context)?),
            false => None,
        };
        Ok(Self { spec, write, pixels, mask, interleave })
    }

    /// Returns the location of the pixels.
    pub fn location(&self) -> Location {
        self.pixels.location()
    }

    /// Returns the size of the pixels in bytes.
    pub fn bytes(&self) -> u64 {
        let samples = u64::from(self.spec.width) * u64::from(self.spec.height) * u64::from(self.spec.bands);
        samples * self.spec.data_type.size() as u64
    }

    /// Returns the write options as creation options of GDAL's driver of that format.
    pub fn gdal_options(&self) -> Result<Vec<(String, String)>> {
        gdal_options(&self.spec, &self.write).map_err(refused)
    }

    /// Writes the image to `sink`.
    pub fn write(&self, sink: Box<dyn Sink>, context: &Context) -> Result<Written> {
        let trace = context.trace.as_deref();
        let mut writer = Trace::time(trace, ("write", "plan"), || {
            Writer::create(sink, self.spec.clone(), &self.write, context)
        })?;
        let (engine, encoder) = writer.encoder();
        let piece = self.pixels.piece(Window::full(self.spec.width, self.spec.height))?;
        Trace::time(trace, ("write", "pieces"), || match &self.mask {
            Some(mask) => writer.write(&piece.with_mask(mask.bytes()?)),
            None => writer.write(&piece),
        })?;
        let report = Trace::time(trace, ("write", "finish"), || writer.finish())?;
        Ok(Written { report, engine, encoder })
    }

    /// Returns whether a file holds these pixels, bit for bit, and this mask, as read by the CPU engine.
    pub fn is_in(&self, written: &Dataset, context: &Context) -> Result<bool> {
        let read = ReadOptions::new().interleave(self.interleave).decode_on(Processor::Cpu);
        let found = written.read(&read, context)?;
        let equal = |own: &Pixels| {
            let is_alike = own.data_type == found.data_type && own.shape() == found.shape();
            Ok::<_, Error>(is_alike && own.bytes()? == found.bytes()?)
        };
        let same = match self.location() {
            Location::Host => equal(&self.pixels)?,
            Location::Cuda(_) => equal(&self.pixels.to_host(context)?)?,
        };
        match &self.mask {
            Some(mask) if same => {
                let found = written.read(&read.layer(Layer::Mask), context)?;
                // Any value but 0 means valid, and any of them may be written.
                let (mask, found) = (mask.bytes()?.iter(), found.bytes()?.iter());
                Ok(mask.map(|value| *value != 0).eq(found.map(|value| *value != 0)))
            }
            _ => Ok(same),
        }
    }
}

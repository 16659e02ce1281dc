//! Pixels with their shape, in host memory or on a device.

use crate::error::{Error, Result};
use crate::options::Interleave;
use crate::read::fetch_back;
use std::sync::Arc;
use strile_engine::{
    Context, Engine, EngineError, Fill, LocatedFault, Location, Output, OutputError, OutputSpec, Report,
};
use strile_tiff::DataType;

/// Decoded pixels in memory, contiguous, native byte order.
#[derive(Debug, Clone, PartialEq)]
pub struct Raster {
    /// Type of a sample.
    pub data_type: DataType,
    /// Bands.
    pub bands: u32,
    /// Rows.
    pub rows: u32,
    /// Columns.
    pub columns: u32,
    /// How bands lie.
    pub interleave: Interleave,
    /// The bytes.
    pub pixels: Vec<u8>,
    /// What sparse and faulty blocks were filled with.
    pub fill: Fill,
    /// Faulty blocks, where they were to be filled; empty otherwise.
    pub faults: Vec<LocatedFault>,
}

impl Raster {
    /// The shape of its memory.
    pub fn spec(&self) -> std::result::Result<OutputSpec, OutputError> {
        let make = match self.interleave {
            Interleave::BandFirst => OutputSpec::band_first,
            Interleave::BandLast => OutputSpec::band_last,
        };
        make(self.data_type, self.bands, self.rows, self.columns)
    }

    /// The pixels of an output of our own that nobody writes any more.
    pub(crate) fn from_output(
        output: Output,
        interleave: Interleave,
        fill: Fill,
        faults: Vec<LocatedFault>,
    ) -> Result<Self> {
        let OutputSpec { data_type, bands, rows, columns, .. } = *output.spec();
        let pixels = output.into_vec().ok_or(Error::Engine(EngineError::Abandoned))?;
        Ok(Self { data_type, bands, rows, columns, interleave, pixels, fill, faults })
    }
}

/// Decoded pixels in the memory of a GPU. Contiguous, native byte order; type and shape are those of the output.
pub struct DeviceRaster {
    /// The memory, with its shape.
    pub output: Output,
    /// How bands lie.
    pub interleave: Interleave,
    /// What sparse and faulty blocks were filled with.
    pub fill: Fill,
    /// What the engine did; its faults are those of blocks that were to be filled.
    pub report: Report,
    pub(crate) engine: Arc<dyn Engine>,
}

impl DeviceRaster {
    /// Where the pixels are.
    pub fn location(&self) -> Location {
        self.output.location()
    }

    /// The pixels in host memory: the same memory where they are there already, else a copy.
    pub fn into_host(self, context: &Context) -> Result<Raster> {
        match self.location() {
            Location::Host => {
                Raster::from_output(self.output, self.interleave, self.fill, self.report.faults)
            }
            Location::Cuda(_) => self.to_host(context),
        }
    }

    /// A copy, in host memory, of pixels that are on a device; `into_host` gives those that are in host memory.
    pub fn to_host(&self, context: &Context) -> Result<Raster> {
        let abandoned = || Error::Engine(EngineError::Abandoned);
        let spec = self.output.spec().clone();
        let need = spec.len().map_or(u64::MAX, |len| len as u64);
        let _lease = context.take(need, "the decoded image")?;
        let copy = Output::new(spec).map_err(|error| Error::output(error, |_| abandoned()))?;
        let bytes = self.output.device_bytes().ok_or_else(abandoned)?;
        fetch_back(bytes, self.interleave, self.engine.as_ref(), &copy, context)?;
        Raster::from_output(copy, self.interleave, self.fill, self.report.faults.clone())
    }
}

//! Pixels in host memory, as used inside the crate. Callers get [`Pixels`](crate::Pixels).

use crate::error::{Error, Result};
use crate::options::Interleave;
use strile_engine::{EngineError, Fill, Output, OutputError, OutputSpec};
use strile_tiff::DataType;

/// Decoded pixels in memory, contiguous, native byte order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Raster {
    /// Type of a sample.
    pub(crate) data_type: DataType,
    /// Bands.
    pub(crate) bands: u32,
    /// Rows.
    pub(crate) rows: u32,
    /// Columns.
    pub(crate) columns: u32,
    /// Order of bands.
    pub(crate) interleave: Interleave,
    /// The bytes.
    pub(crate) pixels: Vec<u8>,
    /// The value of sparse and faulty blocks.
    pub(crate) fill: Fill,
}

impl Raster {
    /// Returns the shape of its memory.
    pub(crate) fn spec(&self) -> std::result::Result<OutputSpec, OutputError> {
        let make = match self.interleave {
            Interleave::BandFirst => OutputSpec::band_first,
            Interleave::BandLast => OutputSpec::band_last,
        };
        make(self.data_type, self.bands, self.rows, self.columns)
    }

    /// Takes the pixels of an output of our own that is no longer written to.
    pub(crate) fn from_output(output: Output, interleave: Interleave, fill: Fill) -> Result<Self> {
        let OutputSpec { data_type, bands, rows, columns, .. } = *output.spec();
        let pixels = output.into_vec().ok_or(Error::Engine(EngineError::Abandoned))?;
        Ok(Self { data_type, bands, rows, columns, interleave, pixels, fill })
    }
}

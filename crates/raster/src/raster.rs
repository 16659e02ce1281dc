//! Pixels in host memory, as the crate computes with them. Callers get [`Pixels`](crate::Pixels).

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
    /// How bands lie.
    pub(crate) interleave: Interleave,
    /// The bytes.
    pub(crate) pixels: Vec<u8>,
    /// What sparse and faulty blocks were filled with.
    pub(crate) fill: Fill,
}

impl Raster {
    /// The shape of its memory.
    pub(crate) fn spec(&self) -> std::result::Result<OutputSpec, OutputError> {
        let make = match self.interleave {
            Interleave::BandFirst => OutputSpec::band_first,
            Interleave::BandLast => OutputSpec::band_last,
        };
        make(self.data_type, self.bands, self.rows, self.columns)
    }

    /// The pixels of an output of our own that nobody writes any more.
    pub(crate) fn from_output(output: Output, interleave: Interleave, fill: Fill) -> Result<Self> {
        let OutputSpec { data_type, bands, rows, columns, .. } = *output.spec();
        let pixels = output.into_vec().ok_or(Error::Engine(EngineError::Abandoned))?;
        Ok(Self { data_type, bands, rows, columns, interleave, pixels, fill })
    }
}

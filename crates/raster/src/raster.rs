//! Pixels with their shape.

use crate::options::Interleave;
use strile_engine::{Fill, LocatedFault};
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

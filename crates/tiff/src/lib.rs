//! The TIFF and GeoTIFF file format: bytes to checked facts, without I/O and without pixels.

mod byte_order;
mod compression;
mod photometric;
mod sample;

pub use byte_order::ByteOrder;
pub use compression::{Compression, LercWrapper, Predictor};
pub use photometric::{ExtraSample, Photometric, YCbCr};
pub use sample::{DataType, SampleFormat, SampleType};

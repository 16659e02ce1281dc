//! The TIFF and GeoTIFF file format: converts bytes to checked facts, without I/O and without pixels.
//!
//! `header`, `field`, `tag` and `directory` are the elements of a file; `parse` converts bytes to directories, and
//! requests the ranges it needs; `image` converts a directory to facts (with `samples_of`, `colour`, `grid`,
//! `block_table`); `layout` and `serialize` convert facts to bytes; `geo` is georeferencing; `gdal` is GDAL's data in
//! tags and sidecars; `half` has floats of 16 bits; `limits`, `error` and `warning` are used by all; `printable` makes
//! texts of a file safe to show.

mod block_table;
mod byte_order;
mod colour;
mod compression;
mod directory;
mod error;
mod field;
mod field_value;
pub mod gdal;
pub mod geo;
mod grid;
mod half;
mod header;
mod image;
pub mod layout;
mod limits;
mod parse;
mod photometric;
mod printable;
mod sample;
mod samples_of;
mod segments;
mod serialize;
mod tag;
mod warning;

pub use block_table::{BlockArray, BlockTable, FileArray};
pub use byte_order::ByteOrder;
pub use colour::Colour;
pub use compression::{Compression, LercWrapper, Predictor};
pub use directory::{Directory, Entry, Origin, ValueData};
pub use error::TiffError;
pub use field::FieldType;
pub use field_value::FieldValue;
pub use grid::{BlockGrid, BlockKind};
pub use half::{from_half, to_half};
pub use header::{Header, Variant};
pub use image::{Image, Planar, Subfile};
pub use limits::Limits;
pub use parse::{Parser, Step, Tiff};
pub use photometric::{ExtraSample, Photometric, YCbCr};
pub use printable::{printable, printable_lines};
pub use sample::{DataType, SampleFormat, SampleType};
pub use serialize::{BlockSpans, FileForm, NewDirectory, PastClassic};
pub use strile_crs::InvalidValue;
pub use tag::Tag;
pub use warning::{Warning, Warnings};

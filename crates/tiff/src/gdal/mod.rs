//! What GDAL keeps beside the pixels: nodata and metadata tags, `.aux.xml` sidecars, world files.
//!
//! Pure functions from text to facts; reading the files is left to others.

mod metadata;
mod nodata;
pub mod pam;
pub mod world_file;
mod xml;

pub use metadata::{BandMetadata, Metadata, MetadataItem, Statistics};
pub use nodata::NoData;

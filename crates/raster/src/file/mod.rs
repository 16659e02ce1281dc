//! Metadata, pages, levels, stored fields and sidecars of a file; inputs that are a file or a mosaic.

pub(crate) mod beside;
mod block_sizes;
pub(crate) mod dataset;
pub(crate) mod fields;
pub(crate) mod footprint;
pub(crate) mod input;
pub(crate) mod metadata;
pub(crate) mod open;
pub(crate) mod pages;
mod resolution;
pub(crate) mod stated;

pub use fields::StoredField;
pub use input::{AsInput, InputRef};
pub use metadata::Metadata;
pub use open::SidecarSearch;
pub use pages::{Level, Page};
pub use stated::{
    BLOCK_TABLES, PixelGrid, PixelGridOptions, RESOLUTION_UNITS, StatedCrs, StatedFields, colours_name,
    colours_named,
};

//! What a file holds: metadata, pages, levels, stored fields; which files beside it are read; and how functions take a file or a mosaic.

pub use crate::fields::StoredField;
pub use crate::input::{AsInput, InputRef};
pub use crate::metadata::Metadata;
pub use crate::open::SidecarSearch;
pub use crate::pages::{Level, Page};
pub use crate::stated::{
    BLOCK_TABLES, PixelGrid, PixelGridOptions, RESOLUTION_UNITS, StatedCrs, StatedFields, colours_name,
    colours_named,
};

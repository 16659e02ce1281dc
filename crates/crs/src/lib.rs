//! Coordinate reference systems: texts, codes and definitions, and coordinates from one to another; no I/O.
//!
//! `crs` the system as callers see it; `user_input` a code, WKT or PROJ string as people write it; `wkt` the text as
//! a tree; `dialect` any WKT as GDAL's WKT 1; `proj_string` PROJ strings; `method` projection methods and their
//! parameters; `identify` the code of a system that is written out; `registry` and `reference` the tables, from the
//! EPSG Dataset; `datum_names` datums by the names that dialects give them; `transform`
//! coordinates.

mod crs;
mod datum_names;
pub mod dialect;
pub mod identify;
mod invalid;
pub mod key;
pub mod method;
mod proj_string;
mod proj_tables;
pub mod reference;
pub mod registry;
mod transform;
mod user_input;
pub mod wkt;

pub use crs::{Crs, CrsKind, Unit, VerticalCrs};
pub use invalid::InvalidValue;
pub use transform::{
    Area, DatumShift, Operation, OperationStep, TransformError, TransformOptions, Transformer,
};
pub use user_input::is_wkt;

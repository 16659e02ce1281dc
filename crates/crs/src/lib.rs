//! Coordinate reference systems: texts, codes and definitions, and transformation of coordinates; no I/O.
//!
//! `crs` is the system for callers; `user_input` parses a code, WKT or PROJ string given by users; `wkt` parses text
//! into a tree; `dialect` converts any WKT to GDAL's WKT 1; `proj_string` converts PROJ strings; `method` has
//! projection methods and their parameters; `identify` finds the code of a system that is written out; `registry` and
//! `reference` are the tables, from the EPSG Dataset; `datum_names` has the names of datums in all dialects;
//! `transform` transforms coordinates.

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

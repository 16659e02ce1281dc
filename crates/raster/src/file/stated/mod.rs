//! Fields, metadata items, scale and offset, reference system and grid of a file, exactly as stated. Faults that
//! [`Metadata`](crate::file::Metadata) tolerates with a warning are errors here.

mod crs;
mod grid;
mod tags;

pub use crs::StatedCrs;
pub use grid::{PixelGrid, PixelGridOptions};
pub(crate) use grid::{named, unit_of};
pub(crate) use tags::WORDS;
pub use tags::{BLOCK_TABLES, RESOLUTION_UNITS, StatedFields, colours_name, colours_named};

use crate::error::{Error, Misstated};

fn misstated(file: &str, what: Misstated, problem: String) -> Error {
    Error::Misstated { file: file.to_owned(), what, problem }
}

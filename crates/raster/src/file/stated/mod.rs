//! What a file states, as it states it: fields, words, scale and offset, reference system, and where its pixels lie. What
//! [`Metadata`](crate::file::Metadata) tolerates with a warning is an error here.

mod crs;
mod grid;
mod tags;

pub use crs::StatedCrs;
pub use grid::{PixelGrid, PixelGridOptions};
pub(crate) use tags::WORDS;
pub use tags::{BLOCK_TABLES, RESOLUTION_UNITS, StatedFields, colours_name, colours_named};

use crate::error::{Error, Misstated};

fn misstated(file: &str, what: Misstated, problem: String) -> Error {
    Error::Misstated { file: file.to_owned(), what, problem }
}

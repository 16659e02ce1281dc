//! Writing: pieces of pixels to a file.
//!
//! `options`, `spec` what is asked for; `plan` what will be done, `explain` in words; `piece`, `coverage`, `cells`
//! pixels on their way in; `halo` what is reduced; `writer` the loop; `index`, `store` encoded blocks on their way
//! out; `fields`, `describe` the tags; `creation` GDAL's names for the options.

mod cells;
mod coverage;
mod creation;
mod describe;
mod explain;
mod fields;
mod halo;
mod index;
mod options;
mod piece;
mod plan;
mod spec;
mod store;
mod writer;

pub use creation::{CreationNotes, PROFILES};
pub use options::{BigTiff, BlockChoice, Format, Overviews, PredictorChoice, WriteOptions};
pub use piece::Piece;
pub(crate) use cells::refused;
pub(crate) use plan::{Appended, FullImage, chosen_layout};
pub use spec::RasterSpec;
pub use writer::{WriteReport, Writer};

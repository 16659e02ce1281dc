//! Writing: pieces of pixels to a file.
//!
//! `options`, `spec` what is asked for; `check` whether it makes sense, `plan` what will be done, `explain` in words; `piece`, `coverage`, `cells`
//! pixels on their way in; `halo`, `alpha` what is reduced; `writer` the loop, `report` what it tells; `index`, `store` encoded blocks on their way
//! out; `fields`, `describe` the tags; `creation` GDAL's names for the options.

mod alpha;
mod cells;
mod check;
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
mod report;
mod spec;
mod store;
mod writer;

pub(crate) use cells::refused;
pub use creation::{CreationNotes, PROFILES};
pub use options::{BigTiff, BlockChoice, Format, OverviewStorage, Overviews, PredictorChoice, WriteOptions};
pub use piece::{Piece, PieceBytes};
pub(crate) use plan::{Appended, FullImage, block_size, chosen_layout};
pub use report::WriteReport;
pub use spec::RasterSpec;
pub use writer::Writer;

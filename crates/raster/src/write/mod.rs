//! Writing: pieces of pixels to a file.
//!
//! `options`, `spec` what is asked for, `stated` what is taken over from another file; `check` whether it makes sense, `plan` what will be done, `explain` in words; `piece`, `coverage`, `cells`
//! pixels on their way in; `halo`, `alpha`, `beyond` what is reduced; `flow` the loop, `writer` a file by it, `report` what it tells; `index`, `store`, `held`
//! encoded blocks on their way out; `parts` a file by several of them; `fields`, `describe` the tags; `creation` GDAL's names for the options.

mod alpha;
mod beyond;
mod cells;
mod check;
mod coverage;
mod creation;
mod describe;
mod explain;
mod fields;
mod flow;
mod halo;
mod held;
mod index;
mod options;
mod parts;
mod piece;
mod plan;
mod report;
mod run;
mod spec;
mod stated;
mod store;
mod writer;

pub(crate) use alpha::alpha_band;
pub(crate) use cells::refused;
pub use creation::{CreationNotes, PROFILES};
pub(crate) use describe::AUX_XML;
pub use options::{BigTiff, BlockChoice, Format, OverviewStorage, Overviews, PredictorChoice, WriteOptions};
pub use parts::{
    Assembly, Beyond, EncodedPart, FileSegment, LaidOut, PartAddress, PartBytes, PartTarget, PartWindows,
    PartWriter, Parts, Tier,
};
pub use piece::{Piece, PieceBytes};
pub(crate) use plan::{Appended, FullImage, TILE, block_size, chosen_layout, overview_sizes};
pub use report::WriteReport;
pub use spec::RasterSpec;
pub use stated::{ColoursError, StatedColours, StatedItems, is_own_tag, rational};
pub use writer::Writer;
pub(crate) use writer::named;

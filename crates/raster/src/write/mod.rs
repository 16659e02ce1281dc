//! Writes pieces of pixels to a file.
//!
//! `options` and `spec` are the request, `stated` the properties taken over from another file; `check` validates them,
//! `plan` plans the write, `explain` describes it in words. `piece`, `coverage` and `cells` handle incoming pixels;
//! `halo`, `alpha` and `beyond` reduced ones. `flow` is the loop, `writer` writes a file with it, `report` is the
//! result. `index`, `store` and `held` handle encoded blocks; `parts` writes a file in several parts; `fields` and
//! `describe` make the tags; `creation` has GDAL's names of the options.

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

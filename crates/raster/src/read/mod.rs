//! Reads pixels: one path for one window of one file and for thousands of windows of thousands of files.
//!
//! ```text
//! Asked      requests (`request`): a `Place` in each file; one `Meaning`, one `Execution` for all
//! Resolved   images, layouts, frames, conversions (`resolve`, `found`, `facts`, `area`, `unpack`); every limit is checked here
//! Located    one list of blocks over all files (`tasks`, `locate`, `part`), and what windows are decoded into (`sheet`);
//!            windows of mosaics are many files in one window (`canvas`)
//! Planned    what the cache has (`cached`), engine, batches (`planned`, `cut`)
//! ReadPlan   for callers that ask: byte ranges, memory, decoders, as the engine says (`ask`, `plan`); printable (`explain`)
//! run        stage or pull, submit, wait (`run`, `stage`, `together`)
//! steps      masks, resampling, then inversion, orientation and masks as pixels (`steps`), by the engine (`reading`);
//!            values that are looked for (`look`)
//! ```
//!
//! `doors` has the entry points for one window; `batch` those for many.

mod area;
mod ask;
mod band_masks;
mod cached;
mod canvas;
mod chip;
mod cut;
mod deliver;
mod doors;
mod explain;
mod facts;
mod first;
mod found;
mod lay;
mod layout;
mod limits;
mod locate;
mod look;
mod mask;
mod onto;
mod onto_cut;
mod onto_doors;
mod onto_mask;
mod onto_plan;
mod part;
mod plan;
mod planned;
mod ranges;
mod reading;
mod request;
mod resolve;
mod run;
mod sheet;
mod squares;
mod stage;
mod steps;
mod tasks;
mod together;
mod under;
mod unpack;

pub use crate::options::{Execution, FloatType, Interleave, Layout, LookFor, Meaning, OnFault, Place};
pub use crate::pieces::{PieceLimits, Pieces};
pub use area::Area;
pub(crate) use area::Frame;
pub use band_masks::{BandMask, Masking};
pub(crate) use canvas::{Blended, Canvas, CanvasMask, Content, Gap, Tile, alike};
pub(crate) use chip::WantedChip;
pub(crate) use deliver::{fetch_back, moved_to};
pub(crate) use layout::layout_of;
pub(crate) use limits::{Size, check_result};
pub(crate) use locate::{Fetched, locate, table_entries};
pub use mask::MaskSource;
pub(crate) use mask::same;
pub(crate) use onto::OntoRead;
pub use onto_doors::{files_onto, plan_onto, read_onto, read_onto_device, read_onto_into};
pub(crate) use part::rows_of_part;
pub use plan::{Fetch, MemoryNeed, MosaicFigures, PlanFigures, ReadPlan};
pub(crate) use ranges::{coalesce, requests as requests_of};
pub(crate) use reading::{Done, Reading};
pub(crate) use request::{Asked, Request, Shape};
pub use run::WindowFault;
pub(crate) use steps::{Step, is_turned};
pub(crate) use together::together;
pub(crate) use unpack::{Missing, Unpacking, scaling};

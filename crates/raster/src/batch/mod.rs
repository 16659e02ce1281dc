//! Many windows of many files, read into one tensor (window, band, row, column) by one job.
//!
//! `window` says which pixels are wanted, `options` what becomes of them; `resolve`
//! finds the windows in their files, and `plan` makes of them one list of blocks over all
//! files, whatever their codecs, and `read` gives it to an engine as one job; `resample` makes windows another size. Every block is placed where it belongs in the
//! tensor, so nothing is copied after; what lies outside its image is filled by the same job. `headers` keeps the files of many batches opened.

mod headers;
mod options;
mod plan;
mod read;
mod resample;
mod resolve;
mod stage;
mod window;

pub use headers::{HeaderIndex, HeaderLimits, Headers, IndexReport, write_header_index};
pub use options::{BatchOptions, Sampling};
pub use plan::BatchPlan;
pub use read::{Tensor, WindowFault, plan_batch, read_batch, read_batch_into, read_batch_on_device};
pub use window::{Area, BatchWindow};

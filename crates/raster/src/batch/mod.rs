//! Reads many windows of many files into one array (window, band, row, column) by one job.
//!
//! `window` says which pixels to read, `options` how to convert them. `read` passes them to the common path of all
//! reads (`crate::read`), and `output` is the caller's memory for them. `located` converts coordinates of other
//! reference systems, `onto` warps windows onto a grid, `suffice` chooses overviews for windows that are reduced.
//! `ahead` reads the next batches while one is used, and `headers` keeps the headers of many files.

mod ahead;
mod headers;
mod located;
mod onto;
mod options;
mod output;
mod outside;
mod read;
mod sized;
mod suffice;
mod window;

pub use ahead::Batches;
pub(crate) use headers::header_memory;
pub use headers::{HeaderLimits, Headers, IndexReport, write_header_index};
pub use options::BatchOptions;
pub use output::BatchOutput;
pub use outside::outside;
pub use read::{plan_batch, read_batch, read_batch_into, read_batch_on_device};
pub use sized::SizedWindow;
pub use strile_engine::Sampling;
pub(crate) use suffice::smallest_sufficient;
pub use suffice::sufficient_levels;
pub use window::BatchWindow;

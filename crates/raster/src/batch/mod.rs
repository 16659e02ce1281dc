//! Many windows of many files, read into one tensor (window, band, row, column) by one job.
//!
//! `window` says which pixels are wanted, `options` what becomes of them; `resolve` finds the windows in their files,
//! `plan` makes of them one list of blocks over all files, whatever their codecs, and `read` gives it to an engine as one
//! job. Every block is placed where it belongs in the tensor, so nothing is copied after; what lies outside its image is
//! filled by the same job. Windows of another size are decoded beside it (`sheet`) and resampled by the same engine.
//! `suffice` chooses overviews for windows that become smaller. `stage` fetches what comes from afar, of many files at once (`together`), `tensor` has the pixels, `ahead` reads the
//! next batches while one is used, and `headers` keeps the files of many opened.

mod ahead;
mod headers;
mod options;
mod plan;
mod read;
mod resolve;
mod sheet;
mod stage;
mod suffice;
mod tensor;
mod together;
mod window;

pub use ahead::Batches;
pub use headers::{HeaderLimits, Headers, IndexReport, write_header_index};
pub use options::BatchOptions;
pub use plan::BatchPlan;
pub use read::{plan_batch, read_batch, read_batch_into, read_batch_on_device};
pub use strile_engine::Sampling;
pub(crate) use suffice::smallest_sufficient;
pub use suffice::sufficient_overviews;
pub use tensor::{BatchOutput, Tensor, WindowFault};
pub use window::{Area, BatchWindow};

//! What will be done, decided before any pixel is touched: pure functions from facts and options to a plan.

mod batch;
mod coalesce;
mod explain;
mod layout;
mod part;
mod read;

pub(crate) use batch::batches;
pub(crate) use coalesce::coalesce;
pub use explain::PlanFigures;
pub(crate) use layout::layout_of;
pub(crate) use part::{parts, rows_of_part};
pub(crate) use read::{Decided, Facts, fetched_len, fetches, plan_read, tasks_of};
pub use read::{Fetch, MemoryNeed, ReadPlan};

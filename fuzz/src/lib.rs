//! Dev-only: damaged files and streams, to show that none makes strile panic, hang or take memory.
//!
//! `target` the things that are fuzzed, each with its seeds; `mutate` changes that know the format; `stream` facts about
//! compressed streams (where their data begins, their checksums); `watch` what a mutant must not do; `run` many mutants of
//! a target; `tally` what they did, `sums` the tallies of many runs added up; `schedule` many targets in several
//! processes. Mutants are made by their number: the same number gives the same mutant as long as the seeds stay.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "dev-only: a wrong seed should stop the run"
)]

mod distill;
mod mutate;
mod run;
mod schedule;
mod stream;
mod sums;
mod tally;
mod target;
mod watch;

pub use distill::distill;
pub use run::{Failure, Plan, replay, run};
pub use schedule::{Amount, Schedule, work};
pub use sums::Sums;
pub use tally::Tally;
pub use target::{Outcome, Target, Targets, all};

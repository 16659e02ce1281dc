//! Dev-only: damaged files and streams, to show that none makes strile panic, hang or take memory.
//!
//! `target` what is fuzzed, each with its seeds: the `parser`, `codec`s, whole `read`s, `vrt`s, `convert`; `stream` what is known
//! of compressed streams (where their data begins, their checksums); `watch` what a mutant must not do;
//! `tally` what mutants did; `run` many mutants of a target. Mutants are made by
//! their number: the same number is the same mutant as long as fixtures stay.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "dev-only: a wrong seed should stop the run"
)]

mod run;
mod stream;
mod tally;
mod target;
mod watch;

pub use run::{Failure, Plan, replay, run};
pub use tally::Tally;
pub use target::{Outcome, Target, all};

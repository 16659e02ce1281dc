//! Reading, as a user of the library sees it, over files that the test kit makes in memory.
//!
//! `fixtures` every file equals its pixels; `windows` any part equals that part of the whole; `io` which bytes are
//! asked for; `faults` damaged files; `plan` what is said before and where pixels go; `options` what can be asked
//! for; `resolution` JPEG 2000 without its highest levels; `unpack` samples as floats; `sidecars` files on disk and
//! beside; `sources` the sources these tests read from.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking, and knows its numbers"
)]

mod faults;
mod fixtures;
mod io;
mod options;
mod plan;
mod resolution;
mod sidecars;
mod sources;
mod unpack;
mod windows;

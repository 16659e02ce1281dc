//! Batches: every window equals the crop of the whole, whatever codec, level, edge and conversion; by the CPU and by the
//! stand-in for a device, which runs the real kernels by emulation (with `STRILE_REQUIRE_GPU=1` it is the first GPU).
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    dead_code,
    reason = "a test fails by panicking; the sources are those of other tests too"
)]

#[path = "../reader/sources.rs"]
mod sources;

mod ahead;
mod converted;
mod growth;
mod headers;
mod made;
mod masked;
mod onto;
mod peers;
mod refusals;
mod sizes;
mod structure;
mod together;
mod windows;

//! Servers over loopback: tiles against the pixels of files, and requests that mean harm.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "tests"
)]

mod bucket;
mod client;
mod hostile;
mod tiles;
mod view;
mod web;

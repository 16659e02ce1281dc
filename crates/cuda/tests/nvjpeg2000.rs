//! Pictures by nvJPEG2000's encoder: which versions are taken and which refused, how it is called, and that it is that or an
//! error.
//!
//! All of it is about the calls, on a stand-in for the library; the bindings are held against NVIDIA's headers where those
//! are found.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "code of tests: it fails by panicking, and knows its numbers"
)]

#[path = "nvjpeg2000/encode.rs"]
mod encode;
#[path = "nvjpeg2000/headers.rs"]
mod headers;
mod on_any;

use on_any::on_a_device;
use strile_emulate::{Alone, Call, StandIn};

/// The stand-in of the driver for one test at a time; `None` on a device.
fn standin() -> Option<Alone> {
    if on_a_device() {
        eprintln!("skipped: a device is required, and this looks at the calls of the stand-in");
        return None;
    }
    Some(StandIn::load().unwrap().alone())
}

fn count(calls: &[Call], name: &str) -> usize {
    calls.iter().filter(|call| call.name == name).count()
}

fn no_misuse(calls: &[Call]) {
    let misuses: Vec<_> = calls.iter().filter(|call| call.name == "!").collect();
    assert!(misuses.is_empty(), "{misuses:?}");
}

//! The driver layer on the stand-in driver: what it says where there is no GPU, and that nothing is left behind.
//!
//! On a machine with a GPU (`STRILE_REQUIRE_GPU=1`) these have nothing to say: the engine's own tests run there.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

#[path = "driver/absent.rs"]
mod absent;
#[path = "driver/files.rs"]
mod files;
#[path = "driver/owners.rs"]
mod owners;
#[path = "driver/slabs.rs"]
mod slabs;

use strile_emulate::{Alone, Call, StandIn};

/// The stand-in for one test; `None` where a real device is to be tested.
fn standin() -> Option<Alone> {
    if std::env::var_os("STRILE_REQUIRE_GPU").is_some_and(|value| value == "1") {
        eprintln!("skipped: a device is required, and this tests the stand-in");
        return None;
    }
    Some(StandIn::load().unwrap().alone())
}

/// How often a function was called with success.
fn count(calls: &[Call], name: &str) -> usize {
    calls.iter().filter(|call| call.name == name && call.result == 0).count()
}

/// Misuses the stand-in found.
fn misuses(calls: &[Call]) -> Vec<&str> {
    calls.iter().filter(|call| call.name == "!").map(|call| call.facts.as_str()).collect()
}

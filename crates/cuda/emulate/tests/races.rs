//! Under ThreadSanitizer a missing barrier is reported, and nothing else is.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::process::{Command, Output};

use strile_emulate::{Emulator, Poisoned};

/// Cases of the kernel `hand_over`: each odd one lacks the order that the one before it has.
const CASES: u32 = 14;

#[derive(Clone, Copy)]
#[repr(C)]
struct Args {
    data: u64,
    count: u32,
    which: u32,
}

/// Runs a case in this process.
fn hand_over(which: u32) {
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("cpp/selftest.cu");
    let module = Emulator::module_at(&source).unwrap();
    for seed in Emulator::seeds() {
        let mut data = Poisoned::new(4 * 64 * 4, seed);
        let args = Args { data: data.address(), count: 64, which };
        module.launch("hand_over", (4, 1), 64, &args, seed).unwrap();
        data.check().unwrap();
    }
}

/// Runs a case in a process with ThreadSanitizer.
fn watched(which: u32, environment: &[(&str, String)]) -> Output {
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "a_missing_barrier_is_reported", "--nocapture"]);
    again.envs(environment.iter().map(|(name, value)| (name, value)));
    again.env("STRILE_CASE", which.to_string()).output().unwrap()
}

#[test]
fn a_missing_barrier_is_reported() {
    if let Ok(which) = std::env::var("STRILE_CASE") {
        return hand_over(which.parse().unwrap());
    }
    let environment = match strile_emulate::races_environment() {
        Ok(environment) => environment,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    for which in 0..CASES {
        let output = watched(which, &environment);
        let said = String::from_utf8_lossy(&output.stderr);
        if which % 2 == 0 {
            assert!(output.status.success(), "case {which} is in order: {said}");
        } else {
            assert_eq!(output.status.code(), Some(66), "case {which} is a race: {said}");
            assert!(said.contains("data race") && said.contains("selftest.cu:"), "case {which}: {said}");
        }
    }
}

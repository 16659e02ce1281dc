//! A few mutants of every target, each time: `cargo xtask fuzz` runs as many as wanted.

use fuzz::{Plan, Target, Targets};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Memory is counted for the whole process: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Mutants of the slower targets, whole reads, stop by time.
const PLAN: Plan = Plan { mutants: 1500, first: 1 << 32, at_most: Duration::from_secs(2) };

fn run<'a>(targets: impl Iterator<Item = &'a Target>, least: u64) {
    for target in targets {
        let (tally, failures) = fuzz::run(target, PLAN);
        let told: Vec<String> = failures.iter().map(|f| format!("{}: {}", f.mutant, f.reason)).collect();
        assert!(told.is_empty(), "{}", told.join("\n"));
        println!("{}", tally.row());
        assert!(tally.executions >= least, "only {} executions of {}", tally.executions, tally.target);
        assert!(tally.reached * 3 > tally.executions, "{} of {tally:?} reached", tally.reached);
    }
}

#[test]
fn no_mutant_of_any_target_panics_hangs_or_takes_memory() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let all: Targets = fuzz::all();
    run(all.iter().filter(|target| !target.is_device()), 50);
}

#[test]
fn every_codec_that_is_read_is_a_target() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let all = fuzz::all();
    for compression in strile_tiff::Compression::ALL {
        // There is no decoder of JPEG XR.
        let expected = *compression != strile_tiff::Compression::JpegXr;
        let found = all.iter().any(|t| t.is_codec() && t.name() == compression.name());
        assert_eq!(found, expected, "{}", compression.name());
    }
}

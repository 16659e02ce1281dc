//! A few thousand mutants of every target, each time: `cargo run --release -p fuzz` runs as many as wanted.

use fuzz::{Plan, Target};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Memory is counted for the whole process: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Mutants of the slower targets, whole reads, stop by time.
const PLAN: Plan = Plan { mutants: 3000, first: 1 << 32, at_most: Duration::from_secs(4) };

#[test]
fn no_mutant_of_any_target_panics_hangs_or_takes_memory() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for target in fuzz::all() {
        let (tally, failures) = fuzz::run(&target, PLAN);
        let told: Vec<String> = failures.iter().map(|f| format!("{}: {}", f.mutant, f.reason)).collect();
        assert!(told.is_empty(), "{}", told.join("\n"));
        println!("{tally}");
        assert!(tally.mutants >= 100, "only {} mutants of {}", tally.mutants, tally.target);
        assert!(tally.reached * 2 > tally.mutants, "{} of {tally:?} reached", tally.reached);
    }
}

#[test]
fn every_codec_that_is_read_is_a_target() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let names: Vec<String> =
        fuzz::all().iter().filter(|t| t.is_codec()).map(|t| Target::name(t).to_owned()).collect();
    for compression in strile_tiff::Compression::ALL {
        // There is no decoder of JPEG XR.
        let expected = *compression != strile_tiff::Compression::JpegXr;
        assert_eq!(names.iter().any(|name| name == compression.name()), expected, "{}", compression.name());
    }
}

//! Many mutants of one target, and mutants kept from earlier runs.

use crate::tally::Tally;
use crate::target::{Outcome, Target};
use crate::watch::{self, Bounds, watched};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How many mutants, and which.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// How many; a mutant may be several executions.
    pub mutants: u64,
    /// Number of the first.
    pub first: u64,
    /// Stop here, done or not.
    pub at_most: Duration,
}

/// A mutant that did what none may do.
#[derive(Debug)]
pub struct Failure {
    /// Target, number and seed of the mutant.
    pub mutant: String,
    /// What it did.
    pub reason: String,
    /// Its bytes, as `replay` wants them.
    pub bytes: Vec<u8>,
}

impl Failure {
    /// Writes the bytes into a folder, under a name that `replay` understands.
    pub fn keep(&self, folder: &Path) -> std::io::Result<PathBuf> {
        std::fs::create_dir_all(folder)?;
        let path = folder.join(&self.mutant);
        std::fs::write(&path, &self.bytes)?;
        Ok(path)
    }
}

/// A target that fails so often is not run further.
const MOST_FAILURES: usize = 20;

/// Runs mutants until the plan is done.
pub fn run(target: &Target, plan: Plan) -> (Tally, Vec<Failure>) {
    run_telling(target, plan, |_| {})
}

/// The same, and tells the number of each mutant before it runs.
pub(crate) fn run_telling(target: &Target, plan: Plan, mut tell: impl FnMut(u64)) -> (Tally, Vec<Failure>) {
    target.subject().prepare();
    let begin = Instant::now();
    watch::begin(target.name());
    let mut tally = Tally { target: target.name().to_owned(), next: plan.first, ..Tally::default() };
    let mut failures = Vec::new();
    for number in plan.first..plan.first.saturating_add(plan.mutants) {
        if begin.elapsed() > plan.at_most || failures.len() >= MOST_FAILURES {
            break;
        }
        tell(number);
        tally.next = number + 1;
        let (seed, bytes) = target.subject().mutant(number);
        if let Err(reason) = one(target, seed, number, &bytes, &mut tally) {
            let mutant = format!("{}--{}--{number}", target.name(), target.subject().seed_name(seed));
            failures.push(Failure { mutant, reason, bytes });
        }
    }
    tally.failures = failures.len() as u64;
    tally.elapsed = begin.elapsed();
    tally.resident = watch::resident();
    (tally, failures)
}

/// Runs kept bytes on the seed named `seed` (whose layout they need); the error says what went wrong.
pub fn replay(target: &Target, seed: &str, bytes: &[u8]) -> Result<(), String> {
    let seed = target.seed_by_name(seed).ok_or_else(|| format!("there is no seed {seed}"))?;
    one(target, seed, 0, bytes, &mut Tally::default())
}

fn one(target: &Target, seed: usize, number: u64, bytes: &[u8], tally: &mut Tally) -> Result<(), String> {
    let subject = target.subject();
    let bounds = Bounds { bytes: subject.memory_limit(seed), time: subject.slow() };
    let seen = watched(number, bounds, || subject.try_one(seed, number, bytes));
    let panicked = Outcome { reached: true, refused: Some("panic"), ..Outcome::default() };
    let outcome = seen.outcome.unwrap_or(panicked);
    tally.add(&outcome, subject.executions());
    for place in seen.foreign_panics {
        *tally.foreign_panics.entry(place).or_default() += 1;
    }
    if seen.took > tally.slowest {
        (tally.slowest, tally.slowest_mutant) = (seen.took, number);
    }
    tally.peak = tally.peak.max(seen.peak);
    match seen.failure.or(outcome.wrong) {
        Some(reason) => Err(reason),
        None => Ok(()),
    }
}

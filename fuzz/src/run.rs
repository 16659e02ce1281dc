//! Many mutants of one target, and mutants kept from earlier runs.

use crate::tally::Tally;
use crate::target::{Outcome, Target};
use crate::watch::watched;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How many mutants, and which.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// How many.
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

/// Runs mutants until the plan is done.
pub fn run(target: &Target, plan: Plan) -> (Tally, Vec<Failure>) {
    let begin = Instant::now();
    let mut tally = Tally { target: target.name().to_owned(), ..Tally::default() };
    let mut failures = Vec::new();
    for number in plan.first..plan.first.saturating_add(plan.mutants) {
        if begin.elapsed() > plan.at_most || failures.len() >= 20 {
            break;
        }
        let (seed, bytes) = target.mutant(number);
        if let Err(reason) = one(target, seed, number, &bytes, &mut tally) {
            let mutant = format!("{}--{}--{number}", target.name(), target.seed_name(seed));
            failures.push(Failure { mutant, reason, bytes });
        }
    }
    tally.elapsed = begin.elapsed();
    (tally, failures)
}

/// Runs kept bytes on the seed named `seed` (whose layout they need); the error says what went wrong.
pub fn replay(target: &Target, seed: &str, bytes: &[u8]) -> Result<(), String> {
    let seed = target.seed_by_name(seed).ok_or_else(|| format!("there is no seed {seed}"))?;
    one(target, seed, 0, bytes, &mut Tally::default())
}

fn one(target: &Target, seed: usize, number: u64, bytes: &[u8], tally: &mut Tally) -> Result<(), String> {
    let name = || format!("{} {} mutant {number}", target.name(), target.seed_name(seed));
    let seen = watched(name, target.memory_limit(seed), || target.try_one(seed, number, bytes));
    let outcome = seen.outcome.unwrap_or(Outcome { reached: true, refused: Some("panic"), wrong: None });
    tally.add(&outcome);
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

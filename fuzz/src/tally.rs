//! What the mutants of one target did, as one row of a table.

use crate::target::Outcome;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// See the module.
#[derive(Debug, Default)]
pub struct Tally {
    /// Name of the target.
    pub target: String,
    /// Mutants run.
    pub mutants: u64,
    /// Of them, those that got past headers to what the target is about.
    pub reached: u64,
    /// Of them, those that were read without a fault.
    pub accepted: u64,
    /// Faults and errors by kind.
    pub refused: BTreeMap<&'static str, u64>,
    /// Panics inside other people's decoders, by place: turned into faults by the engine.
    pub foreign_panics: BTreeMap<String, u64>,
    /// The longest a mutant took.
    pub slowest: Duration,
    /// The mutant that took it.
    pub slowest_mutant: u64,
    /// The most memory a mutant took, in bytes.
    pub peak: usize,
    /// All mutants together.
    pub elapsed: Duration,
}

impl Tally {
    pub(crate) fn add(&mut self, outcome: &Outcome) {
        self.mutants += 1;
        self.reached += u64::from(outcome.reached);
        match outcome.refused {
            None => self.accepted += 1,
            Some(kind) => *self.refused.entry(kind).or_default() += 1,
        }
    }

    /// The heading that `Display` rows belong under.
    pub fn heading() -> &'static str {
        "| target | mutants | reached | read | refused, by kind | foreign panics | slowest ms | peak MiB | mutants/s |\n\
         |---|---:|---:|---:|---|---:|---:|---:|---:|"
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = |n: u64| 100.0 * n as f64 / self.mutants.max(1) as f64;
        let kinds: Vec<String> = self.refused.iter().map(|(kind, n)| format!("{kind} {n}")).collect();
        write!(
            f,
            "| {} | {} | {:.1} % | {:.1} % | {} | {} | {:.1} | {:.2} | {:.0} |",
            self.target,
            self.mutants,
            share(self.reached),
            share(self.accepted),
            kinds.join(", "),
            self.foreign_panics.values().sum::<u64>(),
            self.slowest.as_secs_f64() * 1e3,
            self.peak as f64 / f64::from(1 << 20),
            self.mutants as f64 / self.elapsed.as_secs_f64().max(1e-9),
        )
    }
}

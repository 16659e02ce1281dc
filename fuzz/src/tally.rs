//! What the mutants of one target did.

use crate::target::Outcome;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// Counts of what the mutants of one target did, and the largest figures among them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    /// Name of the target.
    pub target: String,
    /// Files, texts or streams run.
    pub executions: u64,
    /// Of them, those that got past headers to what the target is about.
    pub reached: u64,
    /// Of them, those that were read without a fault.
    pub accepted: u64,
    /// Faults and errors by kind.
    pub refused: BTreeMap<String, u64>,
    /// Panics inside other people's decoders, by place: turned into faults by the engine.
    pub foreign_panics: BTreeMap<String, u64>,
    /// Mutants that did what none may do.
    pub failures: u64,
    /// The longest a mutant took.
    pub slowest: Duration,
    /// The mutant that took it.
    pub slowest_mutant: u64,
    /// The most memory a mutant took of Rust's allocator, in bytes.
    pub peak: usize,
    /// The most that an opened file held, in bytes.
    pub held: usize,
    /// The most memory the process had, in bytes.
    pub resident: u64,
    /// Number of the first mutant that was not run.
    pub next: u64,
    /// All mutants together, on one core.
    pub elapsed: Duration,
}

impl Tally {
    pub(crate) fn add(&mut self, outcome: &Outcome, executions: u64) {
        self.executions += executions;
        self.reached += if outcome.reached { executions } else { 0 };
        match outcome.refused {
            None => self.accepted += executions,
            Some(kind) => *self.refused.entry(kind.to_owned()).or_default() += executions,
        }
        self.held = self.held.max(outcome.held);
    }

    /// Adds what another run of the same target did.
    pub fn merge(&mut self, other: &Self) {
        self.executions += other.executions;
        self.reached += other.reached;
        self.accepted += other.accepted;
        self.failures += other.failures;
        for (mine, theirs) in
            [(&mut self.refused, &other.refused), (&mut self.foreign_panics, &other.foreign_panics)]
        {
            for (kind, count) in theirs {
                *mine.entry(kind.clone()).or_default() += count;
            }
        }
        if other.slowest > self.slowest {
            (self.slowest, self.slowest_mutant) = (other.slowest, other.slowest_mutant);
        }
        self.peak = self.peak.max(other.peak);
        self.held = self.held.max(other.held);
        self.resident = self.resident.max(other.resident);
        self.next = self.next.max(other.next);
        self.elapsed += other.elapsed;
    }

    /// As JSON, without the name.
    pub fn to_json(&self) -> Value {
        json!({
            "executions": self.executions,
            "reached": self.reached,
            "read": self.accepted,
            "refused": self.refused,
            "foreign_panics": self.foreign_panics,
            "failures": self.failures,
            "slowest_ms": self.slowest.as_micros() as u64 as f64 / 1e3,
            "slowest_mutant": self.slowest_mutant,
            "peak_bytes": self.peak,
            "held_bytes": self.held,
            "resident_bytes": self.resident,
            "next": self.next,
            "core_seconds": (self.elapsed.as_secs_f64() * 1e3).round() / 1e3,
        })
    }

    /// What `to_json` wrote; `None` where it is something else.
    pub fn from_json(target: &str, value: &Value) -> Option<Self> {
        let number = |key: &str| value.get(key)?.as_u64();
        let counts = |key: &str| -> Option<BTreeMap<String, u64>> {
            let counts: &Map<String, Value> = value.get(key)?.as_object()?;
            counts.iter().map(|(kind, count)| Some((kind.clone(), count.as_u64()?))).collect()
        };
        let seconds =
            |key: &str, unit: f64| Duration::try_from_secs_f64(value.get(key)?.as_f64()? / unit).ok();
        Some(Self {
            target: target.to_owned(),
            executions: number("executions")?,
            reached: number("reached")?,
            accepted: number("read")?,
            refused: counts("refused")?,
            foreign_panics: counts("foreign_panics")?,
            failures: number("failures")?,
            slowest: seconds("slowest_ms", 1e3)?,
            slowest_mutant: number("slowest_mutant")?,
            peak: number("peak_bytes")? as usize,
            held: number("held_bytes")? as usize,
            resident: number("resident_bytes")?,
            next: number("next")?,
            elapsed: seconds("core_seconds", 1.0)?,
        })
    }

    /// The heading that `row` belongs under.
    pub fn heading() -> &'static str {
        "| target | executions | reached | read | failures | foreign panics | slowest ms | peak MiB | held MiB | resident MiB | per core second |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    }

    /// One row of a table.
    pub fn row(&self) -> String {
        let share = |n: u64| 100.0 * n as f64 / self.executions.max(1) as f64;
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        format!(
            "| {} | {} | {:.1} % | {:.1} % | {} | {} | {:.1} | {:.2} | {:.2} | {:.0} | {:.0} |",
            self.target,
            grouped(self.executions),
            share(self.reached),
            share(self.accepted),
            self.failures,
            self.foreign_panics.values().sum::<u64>(),
            self.slowest.as_secs_f64() * 1e3,
            mib(self.peak as u64),
            mib(self.held as u64),
            mib(self.resident),
            self.executions as f64 / self.elapsed.as_secs_f64().max(1e-9),
        )
    }
}

/// 1234567 as 1,234,567.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tallies_add_up_and_survive_json() {
        let mut first = Tally { target: "parser".into(), next: 10, ..Tally::default() };
        first.add(&Outcome { reached: true, held: 7, ..Outcome::default() }, 1);
        first.add(&Outcome { refused: Some("invalid"), ..Outcome::default() }, 1);
        first.elapsed = Duration::from_millis(1500);
        let mut second = Tally { next: 25, peak: 99, failures: 1, ..first.clone() };
        second.slowest = Duration::from_millis(3);
        first.merge(&second);
        assert_eq!((first.executions, first.accepted, first.refused["invalid"]), (4, 2, 2));
        assert_eq!((first.next, first.peak, first.held, first.failures), (25, 99, 7, 1));
        assert_eq!(Tally::from_json("parser", &first.to_json()), Some(first));
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped(123), "123");
    }
}

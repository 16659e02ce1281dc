//! `fuzz [TARGET…] [--mutants N] [--first N] [--seconds N] [--keep DIR]`: mutants, and a table of what they did.
//!
//! Targets are `parser`, `text`, `vrt`, `read`, `convert`, the names of codecs, `codecs` for all of these, or nothing for all. Exit 1
//! where a mutant panicked in our code, took too long or too much memory, or was read wrongly.

use fuzz::{Plan, Tally, Target};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

const USAGE: &str = "fuzz [TARGET…|codecs] [--mutants N] [--first N] [--seconds N] [--keep DIR]";

struct Arguments {
    targets: Vec<String>,
    plan: Plan,
    keep: Option<PathBuf>,
}

fn arguments() -> Option<Arguments> {
    let plan = Plan { mutants: 100_000, first: 0, at_most: Duration::from_secs(u64::from(u32::MAX)) };
    let mut arguments = Arguments { targets: Vec::new(), plan, keep: None };
    let mut given = std::env::args().skip(1);
    while let Some(word) = given.next() {
        match word.as_str() {
            "--mutants" => arguments.plan.mutants = given.next()?.parse().ok()?,
            "--first" => arguments.plan.first = given.next()?.parse().ok()?,
            "--seconds" => arguments.plan.at_most = Duration::from_secs(given.next()?.parse().ok()?),
            "--keep" => arguments.keep = Some(given.next()?.into()),
            target if !target.starts_with('-') => arguments.targets.push(word),
            _ => return None,
        }
    }
    Some(arguments)
}

fn is_wanted(target: &Target, names: &[String]) -> bool {
    names.is_empty()
        || names.iter().any(|name| name == target.name() || (name == "codecs" && target.is_codec()))
}

fn main() -> ExitCode {
    let Some(Arguments { targets: names, plan, keep }) = arguments() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let all = fuzz::all();
    let targets: Vec<&Target> = all.iter().filter(|target| is_wanted(target, &names)).collect();
    if targets.is_empty() {
        let known: Vec<&str> = all.iter().map(Target::name).collect();
        eprintln!("no such target; there are {}", known.join(", "));
        return ExitCode::from(2);
    }
    let mut failed = false;
    println!("{}", Tally::heading());
    for target in targets {
        let (tally, failures) = fuzz::run(target, plan);
        println!("{tally}");
        eprintln!("{}: the slowest is mutant {}", tally.target, tally.slowest_mutant);
        for (place, count) in &tally.foreign_panics {
            eprintln!("{}: {count} times a panic in a decoder at {place}", tally.target);
        }
        for failure in failures {
            failed = true;
            eprintln!("{}: {}", failure.mutant, failure.reason);
            if let Some(Err(error)) = keep.as_ref().map(|folder| failure.keep(folder)) {
                eprintln!("cannot keep it: {error}");
            }
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

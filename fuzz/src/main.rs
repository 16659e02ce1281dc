//! `fuzz [TARGET…] [OPTION…]`: runs mutants and prints a table of what they did.
//!
//! `--seconds N` (60) runs all targets for N seconds in total; `--mutants N` runs N mutants of each; `--goals` runs what is
//! missing to the goals of the project. `--sums FILE` adds the figures to a file and goes on where it ends. `--list` prints
//! the targets, `--table FILE` writes the table of the sums into a document, `--add FILE` adds the sums of another machine,
//! `--distill DIR` makes the corpus. Exit 1 where a
//! mutant panicked in our code, took too long or too much memory, or was read wrongly.

use fuzz::{Amount, Schedule, Sums, Target, Targets};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "fuzz [TARGET…|codecs|devices] [--seconds N | --mutants N | --goals] [--jobs N] [--first N] \
    [--sums FILE] [--keep DIR] [--commit NAME] [--list] [--table FILE] [--add FILE] [--distill DIR]";

struct Arguments {
    targets: Vec<String>,
    schedule: Schedule,
    list: bool,
    table: Option<PathBuf>,
    add: Option<PathBuf>,
    distill: Option<PathBuf>,
}

fn arguments() -> Option<Arguments> {
    let schedule = Schedule {
        amount: Amount::Seconds(60),
        jobs: std::thread::available_parallelism().map_or(1, Into::into),
        first: None,
        sums: None,
        keep: PathBuf::from("target/fuzz-failures"),
        commit: "unknown".to_owned(),
    };
    let mut arguments =
        Arguments { targets: Vec::new(), schedule, list: false, table: None, add: None, distill: None };
    let mut given = std::env::args().skip(1);
    while let Some(word) = given.next() {
        let schedule = &mut arguments.schedule;
        match word.as_str() {
            "--seconds" => schedule.amount = Amount::Seconds(given.next()?.parse().ok()?),
            "--mutants" => schedule.amount = Amount::Mutants(given.next()?.parse().ok()?),
            "--goals" => schedule.amount = Amount::Goals,
            "--jobs" => schedule.jobs = given.next()?.parse().ok()?,
            "--first" => schedule.first = Some(given.next()?.parse().ok()?),
            "--sums" => schedule.sums = Some(given.next()?.into()),
            "--keep" => schedule.keep = given.next()?.into(),
            "--commit" => schedule.commit = given.next()?,
            "--list" => arguments.list = true,
            "--table" => arguments.table = Some(given.next()?.into()),
            "--add" => arguments.add = Some(given.next()?.into()),
            "--distill" => arguments.distill = Some(given.next()?.into()),
            target if !target.starts_with('-') => arguments.targets.push(word),
            _ => return None,
        }
    }
    Some(arguments)
}

fn is_wanted(target: &Target, names: &[String]) -> bool {
    let group = |name: &str| match name {
        "codecs" => target.is_codec(),
        "devices" => target.is_device(),
        name => name == target.name(),
    };
    names.is_empty() || names.iter().any(|name| group(name))
}

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    if words.next().as_deref() == Some("--worker") {
        let rest: Vec<String> = words.collect();
        let done = fuzz::work(&fuzz::all(), &rest);
        return if done.is_some() { ExitCode::SUCCESS } else { usage() };
    }
    let Some(arguments) = arguments() else { return usage() };
    match told(arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}

fn told(arguments: Arguments) -> std::io::Result<ExitCode> {
    let Arguments { targets: names, schedule, list, table, add, distill } = arguments;
    if let Some(folder) = distill {
        println!("{} files in {}", fuzz::distill(&folder, 3_000_000)?, folder.display());
        return Ok(ExitCode::SUCCESS);
    }
    let kept = schedule.sums.as_deref().unwrap_or(Path::new("docs/bench/fuzz.json"));
    if let Some(other) = add {
        let mut sums = Sums::load(kept)?;
        sums.absorb(&Sums::load(&other)?);
        sums.save(kept)?;
        return Ok(ExitCode::SUCCESS);
    }
    let all = fuzz::all();
    if let Some(document) = table {
        let sums = Sums::load(kept)?;
        write_table(&document, &sums.table(&all_names(&all)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let targets: Vec<&Target> = all.iter().filter(|target| is_wanted(target, &names)).collect();
    if targets.is_empty() {
        eprintln!("no such target; there are {}", all_names(&all).join(", "));
        return Ok(ExitCode::from(2));
    }
    if list {
        targets.iter().for_each(|target| println!("{} {}", target.name(), target.goal()));
        return Ok(ExitCode::SUCCESS);
    }
    let (sums, failures) = schedule.run(&targets)?;
    println!("{}", sums.table(&all_names(&all)));
    for failure in &failures {
        println!("failed: {failure}");
    }
    if failures.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    println!("{} failures; mutants are kept in {}", failures.len(), schedule.keep.display());
    Ok(ExitCode::FAILURE)
}

fn all_names(targets: &Targets) -> Vec<&str> {
    targets.iter().map(Target::name).collect()
}

/// Puts the table between the two comments that mark its place.
fn write_table(document: &Path, table: &str) -> std::io::Result<()> {
    const BEGIN: &str = "<!-- fuzz table: written by `cargo xtask fuzz --table` -->\n";
    const END: &str = "<!-- end of fuzz table -->";
    let text = std::fs::read_to_string(document)?;
    let cut = text.split_once(BEGIN).and_then(|(head, rest)| Some((head, rest.split_once(END)?.1)));
    let Some((head, tail)) = cut else {
        return Err(std::io::Error::other(format!("{} has no place for the table", document.display())));
    };
    std::fs::write(document, format!("{head}{BEGIN}\n{table}\n{END}{tail}"))
}

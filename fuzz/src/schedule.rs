//! Many targets in several processes, for a fixed time or up to a number of executions.
//!
//! Workers are this program again: one that dies takes no other with it, and memory is that of one mutant at a time. A
//! worker says what it did in lines of JSON. One that died is run once more, slowly, to find the mutant.

use crate::run::{Plan, run_telling};
use crate::sums::Sums;
use crate::tally::Tally;
use crate::target::{Target, Targets};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Seek, Write};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How much is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// So many seconds of wall time for all targets together.
    Seconds(u64),
    /// So many mutants of each target.
    Mutants(u64),
    /// What is missing to the goal of each target.
    Goals,
}

/// What is run, and where that is noted.
#[derive(Debug, Clone)]
pub struct Schedule {
    /// How much.
    pub amount: Amount,
    /// Processes at a time.
    pub jobs: usize,
    /// Number of the first mutant of every target; `None` goes on where the sums end.
    pub first: Option<u64>,
    /// Where sums are kept.
    pub sums: Option<PathBuf>,
    /// Where failing mutants are kept.
    pub keep: PathBuf,
    /// The commit that is fuzzed.
    pub commit: String,
}

/// Some mutants of a target.
#[derive(Debug, Clone)]
struct Range {
    target: String,
    first: u64,
    mutants: u64,
}

/// The work of one process: ranges one after the other, in `seconds` together where there is such a limit.
#[derive(Debug, Clone)]
struct Job {
    ranges: Vec<Range>,
    seconds: Option<u64>,
}

/// What all workers report into.
struct Report {
    all: Sums,
    now: Sums,
    failures: Vec<String>,
}

/// A long run of a target is cut into this many pieces, so that little is lost when it is stopped.
const PIECES: u64 = 96;
/// A piece has at least this many mutants: a worker needs a second to start, and in that time most targets run thousands.
const PIECE: u64 = 20_000;
/// In a fixed time, the kernels' share in percent: they are slow, and need processes of their own.
const DEVICE_SHARE: u64 = 30;
/// A worker that died is given this many seconds to die again.
const AGAIN: u64 = 120;

impl Schedule {
    /// Runs everything; the sums of this run alone, and what failed.
    pub fn run(&self, targets: &[&Target]) -> std::io::Result<(Sums, Vec<String>)> {
        let all = self.sums.as_deref().map(Sums::load).transpose()?.unwrap_or_default();
        let jobs = Mutex::new(self.jobs(targets, &all));
        let report = Mutex::new(Report { all, now: Sums::default(), failures: Vec::new() });
        std::thread::scope(|scope| {
            for _ in 0..self.jobs.max(1) {
                scope.spawn(|| {
                    loop {
                        let next = jobs.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                        let Some(job) = next else { return };
                        if let Err(error) = self.process(&job, &report) {
                            let mut report = report.lock().unwrap_or_else(PoisonError::into_inner);
                            report.failures.push(format!("cannot run a worker: {error}"));
                        }
                    }
                });
            }
        });
        let report = report.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok((report.now, report.failures))
    }

    fn jobs(&self, targets: &[&Target], sums: &Sums) -> VecDeque<Job> {
        let start = |target: &Target| {
            self.first.unwrap_or_else(|| sums.of(target.name()).map_or(0, |done| done.next))
        };
        let range = |target: &Target, mutants| Range {
            target: target.name().to_owned(),
            first: start(target),
            mutants,
        };
        if let Amount::Seconds(seconds) = self.amount {
            let (devices, others): (Vec<&Target>, Vec<&Target>) =
                targets.iter().copied().partition(|target| target.is_device());
            let share = match (devices.is_empty(), others.is_empty()) {
                (true, _) => 0,
                (_, true) => seconds,
                _ => (seconds * DEVICE_SHARE).div_ceil(100),
            };
            let mut jobs = VecDeque::new();
            for (group, seconds) in [(others, seconds - share), (devices, share)] {
                for start in 0..self.jobs.min(group.len()) {
                    let mine = group.iter().skip(start).step_by(self.jobs);
                    let ranges = mine.map(|target| range(target, u64::MAX)).collect();
                    jobs.push_back(Job { ranges, seconds: Some(seconds) });
                }
            }
            return jobs;
        }
        let mut pieces: Vec<(u64, Job)> = Vec::new();
        for target in targets {
            let per_mutant = target.subject().executions();
            let done = sums.of(target.name()).map_or(0, |done| done.executions);
            let mutants = match self.amount {
                Amount::Mutants(mutants) => mutants,
                _ => target.goal().saturating_sub(done).div_ceil(per_mutant),
            };
            let piece = mutants.div_ceil(PIECES).max(PIECE);
            for (turn, offset) in (0..mutants).step_by(piece as usize).enumerate() {
                let whole = range(target, mutants);
                let first = whole.first + offset;
                let part = Range { first, mutants: piece.min(mutants - offset), ..whole };
                pieces.push((turn as u64, Job { ranges: vec![part], seconds: None }));
            }
        }
        // A piece of every target, then the next of every target: stopped early, all have some.
        pieces.sort_by_key(|(turn, _)| *turn);
        pieces.into_iter().map(|(_, job)| job).collect()
    }

    /// Runs a job in a process and takes in what it says.
    fn process(&self, job: &Job, report: &Mutex<Report>) -> std::io::Result<()> {
        let mut left: VecDeque<&Range> = job.ranges.iter().collect();
        let status = self.worker(job, None, |line| {
            let Ok(value) = serde_json::from_str::<Value>(line) else { return };
            let mut report = report.lock().unwrap_or_else(PoisonError::into_inner);
            for failure in value["said"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                eprintln!("{failure}");
                report.failures.push(failure.to_owned());
            }
            let tally = value["target"].as_str().and_then(|name| Tally::from_json(name, &value["tally"]));
            if let Some(tally) = tally {
                left.pop_front();
                eprintln!("{}", tally.row());
                report.now.add(&tally, &self.commit);
                report.all.add(&tally, &self.commit);
                let saved = self.sums.as_deref().map_or(Ok(()), |path| report.all.save(path));
                saved.unwrap_or_else(|error| eprintln!("cannot save the sums: {error}"));
            }
        })?;
        if let (false, Some(&range)) = (status.success(), left.front()) {
            let failure = self.find(range, status)?;
            eprintln!("{failure}");
            report.lock().unwrap_or_else(PoisonError::into_inner).failures.push(failure);
        }
        Ok(())
    }

    /// Runs a range again whose worker died, to name the mutant.
    fn find(&self, range: &Range, status: ExitStatus) -> std::io::Result<String> {
        let progress = std::env::temp_dir().join(format!("strile-fuzz-{}", std::process::id()));
        let job = Job { ranges: vec![range.clone()], seconds: Some(AGAIN) };
        let again = self.worker(&job, Some(&progress), |_| {})?;
        let number = std::fs::read(&progress).ok().and_then(|bytes| bytes.first_chunk().copied());
        let _best_effort = std::fs::remove_file(&progress);
        let Range { target, first, .. } = range;
        Ok(match number.map(u64::from_le_bytes) {
            Some(number) if !again.success() => {
                format!("{target}: mutant {number} ended the process: {again}")
            }
            _ => {
                format!("{target}: a process that began with mutant {first} ended: {status}; not repeatable")
            }
        })
    }

    fn worker(
        &self,
        job: &Job,
        progress: Option<&PathBuf>,
        mut take: impl FnMut(&str),
    ) -> std::io::Result<ExitStatus> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("--worker").arg("--keep").arg(&self.keep);
        if let Some(seconds) = job.seconds {
            command.arg("--seconds").arg(seconds.to_string());
        }
        if let Some(progress) = progress {
            command.arg("--progress").arg(progress);
        }
        for Range { target, first, mutants } in &job.ranges {
            command.arg(format!("{target}:{first}:{mutants}"));
        }
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        lines.map_while(Result::ok).for_each(|line| take(&line));
        child.wait()
    }
}

/// Does the work of one process: `arguments` are those after `--worker`. Returns `None` where they are wrong.
pub fn work(targets: &Targets, arguments: &[String]) -> Option<()> {
    let begin = Instant::now();
    let (mut keep, mut seconds, mut progress, mut ranges) = (None, None, None, Vec::new());
    let mut given = arguments.iter();
    while let Some(word) = given.next() {
        match word.as_str() {
            "--keep" => keep = Some(PathBuf::from(given.next()?)),
            "--seconds" => seconds = Some(Duration::from_secs(given.next()?.parse().ok()?)),
            "--progress" => progress = Some(std::fs::File::create(given.next()?).ok()?),
            range => {
                let mut parts = range.split(':');
                let target = targets.named(parts.next()?)?;
                let (first, mutants) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
                ranges.push((target, first, mutants));
            }
        }
    }
    for (at, (target, first, mutants)) in ranges.iter().enumerate() {
        let share = |all: Duration| all.saturating_sub(begin.elapsed()) / (ranges.len() - at) as u32;
        let at_most = seconds.map_or(Duration::MAX, share);
        let plan = Plan { mutants: *mutants, first: *first, at_most };
        let (tally, failures) = run_telling(target, plan, |number| {
            if let Some(mut file) = progress.as_ref() {
                file.rewind().and_then(|()| file.write_all(&number.to_le_bytes())).unwrap();
            }
        });
        let mut said: Vec<String> =
            failures.iter().map(|failure| format!("{}: {}", failure.mutant, failure.reason)).collect();
        for failure in &failures {
            if let Some(Err(error)) = keep.as_ref().map(|folder| failure.keep(folder)) {
                said.push(format!("cannot keep {}: {error}", failure.mutant));
            }
        }
        println!("{}", json!({ "target": tally.target, "tally": tally.to_json(), "said": said }));
    }
    Some(())
}

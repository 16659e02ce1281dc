//! Reads, writes, converts and aborts on many threads for a long time, and compares every result.
//!
//! `soak [--minutes N] [--device cuda:0] [--threads N] [--seed N] [--round SECONDS] [--files FOLDER] [--json FILE]`
//!
//! Threads read random windows of many files (`files`) on every engine, write and convert them, and cancel some of
//! those calls at random moments (`work`). Every result is compared with the expected pixels. After each round all
//! threads pause and the process is measured (`measure`): memory, descriptors, threads, memory of the device. The
//! result is one JSON object, on standard output or in FILE. Exit status 1 if a result was wrong or a figure grew, 2 if
//! nothing ran.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_possible_wrap,
    reason = "a program for developers: it stops where something is wrong"
)]

mod files;
mod measure;
mod work;

use measure::{Sample, rule, verdict};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};
use strile::Processor;
use strile::engine::Budget;
use work::{Canceller, Counts, Worker};

struct Arguments {
    minutes: f64,
    device: Option<u32>,
    threads: usize,
    seed: u64,
    round: Option<f64>,
    files: Vec<PathBuf>,
    json: Option<PathBuf>,
}

#[global_allocator]
static ALLOCATOR: testkit::allocator::Counting = testkit::allocator::Counting;

/// Memory limit of all calls together in bytes.
const BUDGET: u64 = 2 << 30;

fn main() -> ExitCode {
    let arguments = match parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(problem) => {
            eprintln!("error: {problem}");
            return ExitCode::from(2);
        }
    };
    let folder = tempfile::Builder::new().prefix("strile-soak-").tempdir().unwrap();
    let files = files::make(folder.path(), &arguments.files);
    eprintln!("{} files, {} of them large", files.len(), files.iter().filter(|file| file.large).count());
    let mut engines = vec![Processor::Cpu];
    let gpu = arguments.device.map(|index| {
        engines.push(Processor::Cuda(index));
        measure::Gpu::open(index)
    });
    let budget = Arc::new(Budget::new(BUDGET));
    let (counts, wrong) = (Arc::new(Counts::default()), Arc::new(Mutex::new(Vec::new())));
    let (pause, end) = (Arc::new(Barrier::new(arguments.threads + 1)), Arc::new(AtomicBool::new(false)));
    let deadline = Arc::new(Mutex::new(Instant::now()));
    let total = Duration::from_secs_f64(arguments.minutes * 60.0);
    // At least a dozen samples, but rounds longer than the calls.
    let round =
        arguments.round.map_or_else(|| (total / 24).clamp(SHORTEST, LONGEST), Duration::from_secs_f64);
    let (files, canceller) = (Arc::new(files), Canceller::start());
    let begun = Instant::now();
    *deadline.lock().unwrap() = begun + round;
    let workers: Vec<_> = (0..arguments.threads)
        .map(|number| {
            let folder = folder.path().join(format!("worker-{number}"));
            std::fs::create_dir(&folder).unwrap();
            let mut worker = Worker {
                random: testkit::Random::new(arguments.seed.wrapping_mul(1000) + number as u64),
                folder,
                files: Arc::clone(&files),
                engines: engines.clone(),
                budget: Arc::clone(&budget),
                counts: Arc::clone(&counts),
                wrong: Arc::clone(&wrong),
                canceller: canceller.clone(),
            };
            let (pause, end, deadline) = (Arc::clone(&pause), Arc::clone(&end), Arc::clone(&deadline));
            std::thread::spawn(move || {
                while !end.load(Ordering::Acquire) {
                    let until = *deadline.lock().unwrap();
                    while Instant::now() < until {
                        // A panic is a result too; otherwise the others would wait for this thread for ever.
                        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| worker.step()));
                        if ended.is_err() {
                            worker.wrong.lock().unwrap().push("a call panicked".to_owned());
                        }
                    }
                    pause.wait();
                    // The main thread measures and decides whether there is another round.
                    pause.wait();
                }
            })
        })
        .collect();
    let mut samples = Vec::new();
    while !end.load(Ordering::Acquire) {
        pause.wait();
        if let Err(error) = budget.take(BUDGET, "all of it") {
            wrong.lock().unwrap().push(format!("memory of the budget was not given back: {error}"));
        }
        let sample = Sample::take(begun.elapsed(), counts.total(), gpu.as_ref());
        eprintln!("{sample}");
        samples.push(sample);
        let done = begun.elapsed() >= total || !wrong.lock().unwrap().is_empty();
        *deadline.lock().unwrap() = Instant::now() + round;
        end.store(done, Ordering::Release);
        pause.wait();
    }
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    let wrong = wrong.lock().unwrap().clone();
    let grown = verdict(&samples);
    let ok = wrong.is_empty() && grown.iter().all(|line| line["ok"] == json!(true));
    let result = json!({
        "ok": ok, "machine": measure::machine(gpu.as_ref()), "date": measure::date(), "minutes": arguments.minutes,
        "threads": arguments.threads, "seed": arguments.seed,
        "engines": engines.iter().map(name_of).collect::<Vec<_>>(),
        "files": files.len(), "codecs": files::codecs(&files), "seconds": begun.elapsed().as_secs_f64().round(),
        "operations": counts.json(), "wrong": wrong, "rule": rule(), "growth": grown,
        "samples": samples.iter().map(Sample::json).collect::<Vec<Value>>(),
    });
    let text = serde_json::to_string_pretty(&result).unwrap();
    match &arguments.json {
        Some(path) => std::fs::write(path, text).unwrap(),
        None => println!("{text}"),
    }
    for line in grown.iter().filter(|line| line["ok"] != json!(true)) {
        eprintln!("grew: {line}");
    }
    wrong.iter().for_each(|line| eprintln!("wrong: {line}"));
    eprintln!("{}: {} operations", if ok { "ok" } else { "FAILED" }, counts.total());
    match (counts.total(), ok) {
        (0, _) => ExitCode::from(2),
        (_, true) => ExitCode::SUCCESS,
        (_, false) => ExitCode::from(1),
    }
}

fn name_of(engine: &Processor) -> String {
    match engine {
        Processor::Cuda(index) => format!("cuda:{index}"),
        other => format!("{other:?}").to_lowercase(),
    }
}

const SHORTEST: Duration = Duration::from_secs(2);
const LONGEST: Duration = Duration::from_secs(30);

fn parse(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut found = Arguments {
        minutes: 2.0,
        device: None,
        threads: 8,
        seed: 1,
        round: None,
        files: Vec::new(),
        json: None,
    };
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word}: expected a value"))?;
        let wrong = || format!("{word}: `{value}` is not a number");
        match word.as_str() {
            "--minutes" => found.minutes = value.parse().map_err(|_| wrong())?,
            "--threads" => found.threads = value.parse::<usize>().map_err(|_| wrong())?.max(1),
            "--seed" => found.seed = value.parse().map_err(|_| wrong())?,
            "--round" => found.round = Some(value.parse().map_err(|_| wrong())?),
            "--files" => found.files.push(value.into()),
            "--json" => found.json = Some(value.into()),
            "--device" => {
                let index = value.strip_prefix("cuda:").and_then(|index| index.parse().ok());
                found.device =
                    Some(index.ok_or_else(|| format!("--device: expected cuda:N, got `{value}`"))?);
            }
            _ => return Err(format!("no option is called `{word}`")),
        }
    }
    Ok(found)
}

//! Small files that ask for much, through every command: in a process with hard limits, none may take more memory than
//! the budget allows, nor long, nor die. The files are those of `testkit::hostile::cases`.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tempfile::TempDir;
use testkit::child::{self, Ended, Limits};
use testkit::hostile::cases;

/// Memory beside the budget, over that of the same command with an ordinary small file.
const SPARE: u64 = 64 << 20;
/// The budget that commands with such an option are given.
const BUDGET: u64 = 16 << 20;
/// Budgets are for pixels; what else a read needs may be this many times as much.
const TIMES: u64 = 8;
/// No command may take longer, in a release build.
const TIME: Duration = Duration::from_secs(5);
/// Debug builds are slower, and so is a machine that builds and tests at once.
const SLOWER: u32 = if cfg!(debug_assertions) { 4 } else { 1 };
/// Refused by the system beyond.
const ADDRESS_SPACE: u64 = 4 << 30;

/// A command, and whether it has a budget.
struct Door {
    name: &'static str,
    words: &'static [&'static str],
    has_budget: bool,
}

/// `{file}`, `{folder}` and `{out}` stand for paths.
const DOORS: [Door; 9] = [
    Door { name: "info", words: &["info", "{file}"], has_budget: false },
    Door { name: "info --json", words: &["info", "--json", "{file}"], has_budget: false },
    Door { name: "info --explain", words: &["info", "--explain", "{file}"], has_budget: false },
    Door { name: "dump", words: &["dump", "--memory", "16MiB", "{file}"], has_budget: true },
    Door {
        name: "convert",
        words: &["convert", "--memory", "16MiB", "--overwrite", "{file}", "{out}.tif"],
        has_budget: true,
    },
    Door {
        name: "warp",
        words: &[
            "warp",
            "--memory",
            "16MiB",
            "--overwrite",
            "{file}",
            "{out}.warped.tif",
            "-s_srs",
            "EPSG:32633",
            "-t_srs",
            "EPSG:3857",
            "-ts",
            "600",
            "0",
        ],
        has_budget: true,
    },
    Door {
        name: "sample",
        words: &["sample", "--memory", "16MiB", "{file}", "500055", "5199945"],
        has_budget: true,
    },
    Door { name: "index", words: &["index", "{folder}", "-o", "{out}.index"], has_budget: false },
    Door { name: "cog validate", words: &["cog", "validate", "{file}"], has_budget: false },
];

impl Door {
    fn run(&self, file: &Path, out: &Path) -> Ended {
        let mut command = Command::new(env!("CARGO_BIN_EXE_strile"));
        let case = file.parent().and_then(|folder| folder.file_name()?.to_str());
        let window = case.and_then(cases::window).filter(|_| self.name == "dump");
        for word in self.words {
            let folder = file.parent().unwrap();
            command.arg(
                word.replace("{file}", file.to_str().unwrap())
                    .replace("{folder}", folder.to_str().unwrap())
                    .replace("{out}", out.to_str().unwrap()),
            );
        }
        if let Some([x, y, width, height]) = window {
            command.arg(format!("--window={x},{y},{width},{height}"));
        }
        command.env("RUST_BACKTRACE", "0");
        child::run(&command, Limits { address_space: ADDRESS_SPACE, time: TIME * SLOWER })
    }

    /// What is wrong with a run, where `usual` is what the command takes with an ordinary file.
    fn problem(&self, ended: &Ended, usual: u64) -> Option<String> {
        let allowed = usual + SPARE + if self.has_budget { TIMES * BUDGET } else { 0 };
        let mib = |bytes: u64| bytes >> 20;
        if ended.timed_out {
            return Some(format!("took more than {:?}", TIME * SLOWER));
        }
        if let Some(signal) = ended.signal {
            return Some(format!("ended by signal {signal}: {}", ended.stderr));
        }
        if !matches!(ended.code, Some(0..=2)) || ended.stderr.contains("panicked") {
            return Some(format!("exit status {:?}: {}", ended.code, ended.stderr));
        }
        (ended.peak > allowed)
            .then(|| format!("took {} MiB, {} MiB are allowed", mib(ended.peak), mib(allowed)))
    }
}

/// Writes the files in a process of their own: the memory that making them takes would be counted in every child.
fn written(folder: &Path) -> Vec<(String, PathBuf)> {
    let mut make = Command::new(std::env::current_exe().unwrap());
    make.args(["--ignored", "--exact", "amplification::write_cases", "--nocapture"]);
    assert!(make.env(FOLDER, folder).output().unwrap().status.success());
    let list = std::fs::read_to_string(folder.join(LIST)).unwrap();
    let files = list.lines().map(|line| (line.split_once('/').unwrap().0.to_owned(), folder.join(line)));
    let files: Vec<(String, PathBuf)> = files.collect();
    for (_, file) in &files {
        // Only what has a place is put onto a grid. Some cases have a world file of their own, or a pipe in its place.
        if let Ok(mut world) = std::fs::File::create_new(file.with_extension("tfw")) {
            world.write_all(b"10\n0\n0\n-10\n500005\n5199995\n").unwrap();
        }
    }
    files
}

const FOLDER: &str = "STRILE_CASES";
const LIST: &str = "list";

#[test]
#[ignore = "writes files for another test, which calls it"]
fn write_cases() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let written = cases::write(&folder).unwrap();
    let list: Vec<String> = written.iter().map(|(name, file)| format!("{name}/{file}")).collect();
    std::fs::write(folder.join(LIST), list.join("\n")).unwrap();
}

#[test]
fn small_files_take_little_through_every_command() {
    let folder = TempDir::new().unwrap();
    let cases = written(folder.path());
    assert!(cases.len() > 60, "{} cases", cases.len());
    let usual: Vec<u64> = DOORS
        .iter()
        .map(|door| {
            let good = door.run(&cases[0].1, &folder.path().join("good"));
            assert_eq!(good.code.unwrap_or(9) & !1, 0, "{}: {}", door.name, good.stderr);
            assert!(!door.words.contains(&"EPSG:3857") || good.code == Some(0), "{}", good.stderr);
            good.peak
        })
        .collect();
    let next = AtomicUsize::new(1);
    let problems = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let out = folder.path().join(format!("out{thread}"));
            let (next, problems, cases, usual) = (&next, &problems, &cases, &usual);
            scope.spawn(move || {
                while let Some((name, file)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    for (door, usual) in DOORS.iter().zip(usual) {
                        let ended = door.run(file, &out);
                        if let Some(problem) = door.problem(&ended, *usual) {
                            let mut problems = problems.lock().unwrap_or_else(PoisonError::into_inner);
                            problems.push(format!("{} {name}: {problem}", door.name));
                        }
                    }
                }
            });
        }
    });
    let problems = problems.into_inner().unwrap();
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n"));
}

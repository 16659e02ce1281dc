//! Runs everything that CI runs, step by step; the other steps run even if one fails.
//!
//! The last line is `N passed, N failed, N skipped`: tests, and whole steps that failed or could not run here. Every
//! skipped test is named with its reason.

use crate::corpus::Corpus;
use crate::failure::Failure;
use crate::process;
use crate::ran::{self, Ended, TestsRan};
use crate::workspace::Workspace;
use crate::{
    advisories, checks, docs, examples, faults, features, file_size, fuzz, gpu_verified, kernels, licences,
    packages, page, prose, python, support_table, view,
};
use std::process::Command;
use std::time::{Duration, Instant};

/// Runs all steps, or with `--quick` only the fast ones, and prints a summary.
pub fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), Failure> {
    match arguments {
        [] => everything(workspace),
        [one] if one == "--quick" => quick(workspace),
        _ => Err(Failure::new(format!("expected no argument or `--quick`, got `{}`", arguments.join(" ")))),
    }
}

/// Integration tests of a quick run: parsing, limits, comparison, and the command line, which reads, writes and
/// converts.
const QUICK: [&str; 4] = ["parse", "limits", "compare", "cli"];

/// Runs format, file sizes, lints, unit tests and a few integration tests.
fn quick(workspace: &Workspace) -> Result<(), Failure> {
    let mut steps = Steps::default();
    let mut ran = TestsRan::default();
    let cargo = || process::cargo(&workspace.root);
    steps.step("format", || process::show(cargo().args(["fmt", "--all", "--check"])));
    steps.step("file size", || file_size::run(workspace));
    steps.step("lints", || lints(workspace));
    let targets: Vec<&str> =
        ["--lib", "--bins"].into_iter().chain(QUICK.iter().flat_map(|test| ["--test", test])).collect();
    steps.tests("tests", &mut ran, |ran| {
        if has_nextest(workspace) {
            return nextest(workspace, ran, &targets);
        }
        process::show(cargo().args(["test", "--workspace", "--no-fail-fast"]).args(&targets))
    });
    steps.finish(&ran, Some("this was a quick run: `cargo xtask test` runs everything that CI runs"))
}

fn lints(workspace: &Workspace) -> Result<(), Failure> {
    let mut clippy = process::cargo(&workspace.root);
    process::show(clippy.args(["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"]))
}

/// Runs all steps.
fn everything(workspace: &Workspace) -> Result<(), Failure> {
    let mut steps = Steps::default();
    let mut ran = TestsRan::default();
    let cargo = |args: &[&str]| {
        let mut command = process::cargo(&workspace.root);
        command.args(args);
        command
    };
    steps.step("format", || process::show(&mut cargo(&["fmt", "--all", "--check"])));
    steps.step("file size", || file_size::run(workspace));
    steps.step("prose", || prose::run(workspace));
    steps.step("licences", || licences::run(workspace));
    let mut unchecked = Vec::new();
    steps.step("advisories", || {
        unchecked = advisories::check(workspace)?;
        Ok(())
    });
    for line in &unchecked {
        let (what, reason) = line.split_once(": ").unwrap_or((line, ""));
        ran.skip(format!("step::{what}"), reason);
    }
    steps.step("kernels", || kernels::check(workspace));
    steps.step("page", || page::check(workspace));
    steps.step("lints", || lints(workspace));
    steps.step("features", || features::run(workspace));
    steps.step("packages", || packages::run(workspace));
    steps.tests("tests", &mut ran, |ran| rust_tests(workspace, ran));
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        steps.step("sanitized", || sanitized(workspace));
    } else {
        ran.skip("step::sanitized".to_owned(), "kernels run under AddressSanitizer on x86-64 Linux only");
    }
    steps.step("fuzzing", || fuzz::in_ci(workspace));
    steps.tests("document tests", &mut ran, |ran| document_tests(workspace, ran));
    steps.step("documents", || docs::build(workspace, docs::Reference::Check));
    steps.step("examples", || examples::run(workspace));
    steps.tests("Python checks", &mut ran, |ran| checks::run(workspace, ran));
    steps.tests("Python package", &mut ran, |ran| python::test(workspace, ran));
    steps.tests("browser", &mut ran, |ran| view::test(workspace, ran));
    steps.tests("faults", &mut ran, |ran| faults::test(workspace, ran));
    let mut without_corpus = false;
    steps.step("corpus", || match Corpus::find(workspace)? {
        Some(corpus) => corpus.check(workspace, &workspace.target.join("debug/strile"), &[]),
        None => {
            without_corpus = true;
            Ok(())
        }
    });
    if without_corpus {
        ran.skip("step::corpus".to_owned(), "STRILE_CORPUS names no corpus");
    }
    steps.step("tests kept", || ran.save(workspace));
    let mut warning = None;
    steps.step("GPU check", || {
        warning = gpu_verified::check(workspace)?;
        Ok(())
    });
    steps.step("support table", || support_table::check(workspace, &ran));
    steps.finish(&ran, warning.as_deref())
}

/// Completed steps.
#[derive(Default)]
struct Steps(Vec<Step>);

struct Step {
    name: &'static str,
    took: Duration,
    outcome: Outcome,
}

#[derive(Clone, Copy, PartialEq)]
enum Outcome {
    Passed,
    /// Failed because of tests that are counted separately.
    TestsFailed,
    Failed,
}

impl Steps {
    fn step(&mut self, name: &'static str, work: impl FnOnce() -> Result<(), Failure>) {
        eprintln!("\n== {name}");
        let start = Instant::now();
        let outcome = match work() {
            Ok(()) => Outcome::Passed,
            Err(failure) => {
                eprintln!("{name}: {failure}");
                Outcome::Failed
            }
        };
        self.0.push(Step { name, took: start.elapsed(), outcome });
    }

    /// Runs a step with tests: if it fails without a failed test (for example, it did not build), the step itself
    /// counts as a failure.
    fn tests(
        &mut self,
        name: &'static str,
        ran: &mut TestsRan,
        work: impl FnOnce(&mut TestsRan) -> Result<(), Failure>,
    ) {
        let before = ran.count().failed;
        self.step(name, || work(ran));
        let after = ran.count().failed;
        if let Some(step) = self.0.last_mut()
            && after > before
        {
            step.outcome = Outcome::TestsFailed;
        }
    }

    fn finish(&self, ran: &TestsRan, warning: Option<&str>) -> Result<(), Failure> {
        println!();
        for step in &self.0 {
            let word = if step.outcome == Outcome::Passed { "ok" } else { "FAILED" };
            println!("{:16} {word:6} {:7.1} s", step.name, step.took.as_secs_f64());
        }
        for (test, reason) in ran.skipped() {
            println!("skipped: {test}: {reason}");
        }
        for test in ran.failed() {
            println!("failed: {test}");
        }
        if let Some(warning) = warning {
            println!("\nWARNING: {warning}");
        }
        let mut count = ran.count();
        count.failed += self.0.iter().filter(|step| step.outcome == Outcome::Failed).count();
        println!("\n{count}");
        if count.failed == 0 { Ok(()) } else { Err(Failure::reported()) }
    }
}

/// Runs unit and integration tests, with nextest if it is installed.
fn rust_tests(workspace: &Workspace, ran: &mut TestsRan) -> Result<(), Failure> {
    if has_nextest(workspace) {
        return nextest(workspace, ran, &[]);
    }
    libtests(workspace, ran, &["--lib", "--bins", "--tests"])
}

pub fn has_nextest(workspace: &Workspace) -> bool {
    process::answers(process::cargo(&workspace.root).args(["nextest", "--version"]))
}

/// Runs the tests of those targets with nextest; if empty, all.
fn nextest(workspace: &Workspace, ran: &mut TestsRan, targets: &[&str]) -> Result<(), Failure> {
    let mut nextest = process::cargo(&workspace.root);
    nextest.args(["nextest", "run", "--workspace", "--no-fail-fast", "--color", "never"]).args(targets);
    nextest.args(["--status-level", "all", "--final-status-level", "none"]);
    // A test that skips itself reports it in its output.
    nextest.args(["--success-output", "immediate"]);
    let mut quiet = Quiet::default();
    let ended = process::show_some_and_keep(&mut nextest, |line| quiet.shows(line))?;
    ran.add_nextest(&ended.lines);
    success(ended.success, "nextest")
}

/// Hides the output of passed tests, except for lines that report a skip.
#[derive(Default)]
struct Quiet {
    passed: bool,
}

impl Quiet {
    fn shows(&mut self, line: &str) -> bool {
        if let Some((_, ended)) = ran::nextest_status(line) {
            self.passed = ended == Some(Ended::Passed);
            return true;
        }
        // The output of a test is indented, and so are statuses; the summary begins with a rule.
        self.passed &= !line.starts_with("────");
        !self.passed || line.trim_start().starts_with(ran::SKIPPED)
    }
}

/// Tests that run kernels on the CPU with separate buffers, and tests of the emulation.
const EMULATED: [&str; 10] =
    ["deflate", "deflate_split", "emulator", "gather", "lerc", "lz4", "lzw", "packbits", "place", "zstd"];

/// Runs the kernels once more under AddressSanitizer, which must be in the process from its start.
fn sanitized(workspace: &Workspace) -> Result<(), Failure> {
    let library = process::capture(Command::new("g++").arg("-print-file-name=libasan.so"))?;
    let library = library.trim();
    if !library.starts_with('/') {
        return Err(Failure::new("g++ has no libasan.so; install the sanitizers of GCC (Debian: libasan)"));
    }
    let options = "detect_leaks=0:detect_odr_violation=0";
    let runner = format!("env LD_PRELOAD={library} ASAN_OPTIONS={options} STRILE_SANITIZE=1");
    let mut tests = process::cargo(&workspace.root);
    tests.args(if has_nextest(workspace) {
        &["nextest", "run", "--status-level", "fail"][..]
    } else {
        &["test", "--quiet"]
    });
    // The whole workspace, as above: a part of it would have other features and be recompiled.
    tests.arg("--workspace");
    for test in EMULATED {
        tests.args(["--test", test]);
    }
    process::show(tests.env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER", runner))
}

fn document_tests(workspace: &Workspace, ran: &mut TestsRan) -> Result<(), Failure> {
    // The whole workspace, as above.
    let mut test = process::cargo(&workspace.root);
    let ended = process::show_and_keep(test.args([
        "test",
        "--workspace",
        "--doc",
        "--no-fail-fast",
        "--color",
        "never",
    ]))?;
    ran.add_doctests(&ended.lines);
    success(ended.success, "cargo test --doc")
}

/// Runs `cargo test` per package: its lines do not name the package of a test.
fn libtests(workspace: &Workspace, ran: &mut TestsRan, targets: &[&str]) -> Result<(), Failure> {
    let mut all = true;
    for package in workspace.members() {
        let without_library = !workspace.has_library(package);
        let targets: Vec<&str> =
            targets.iter().copied().filter(|t| !(without_library && *t == "--lib")).collect();
        if targets.is_empty() {
            continue;
        }
        let mut test = process::cargo(&workspace.root);
        let ended = process::show_and_keep(
            test.args(["test", "--package", package, "--no-fail-fast", "--color", "never"])
                .args(&targets)
                .args(["--", "--show-output"]),
        )?;
        ran.add_libtest(package, &ended.lines);
        all &= ended.success;
    }
    success(all, "cargo test")
}

fn success(success: bool, name: &str) -> Result<(), Failure> {
    if success { Ok(()) } else { Err(Failure::new(format!("{name} reports failures"))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_of_tests_that_passed_is_left_out() {
        let mut quiet = Quiet::default();
        let mut shows = |line: &str| quiet.shows(line);
        assert!(shows("   Compiling strile"));
        assert!(shows("        PASS [   0.005s] (1/3) strile-tiff header::big"));
        assert!(!shows("    running 1 test"));
        assert!(shows("    skipped: no GPU"));
        assert!(shows("        FAIL [   0.005s] (2/3) strile-tiff header::small"));
        assert!(shows("    thread panicked"));
        assert!(shows("        PASS [   0.005s] (3/3) strile-tiff header::third"));
        assert!(!shows(""));
        assert!(shows("────────────"));
        assert!(shows("     Summary [   0.100s] 3 tests run: 2 passed, 1 failed"));
    }

    #[test]
    fn a_step_that_fails_by_tests_is_not_counted_twice() {
        let mut steps = Steps::default();
        let mut ran = TestsRan::default();
        steps.tests("tests", &mut ran, |ran| {
            ran.add_python(&["FAIL a: b".to_owned()]);
            Err(Failure::new("one failed"))
        });
        steps.tests("build", &mut ran, |_| Err(Failure::new("does not build")));
        steps.step("format", || Ok(()));
        let outcomes: Vec<Outcome> = steps.0.iter().map(|step| step.outcome).collect();
        assert!(outcomes == [Outcome::TestsFailed, Outcome::Failed, Outcome::Passed]);
        assert!(steps.finish(&ran, None).is_err());
    }
}

//! Records which tests ran and their results, from the output of nextest, libtest and the Python checks.
//!
//! A test's name is its binary's name in nextest, `::`, and its path: `strile-cpu::codec::lzw::tests::x` of a library,
//! `strile-cli::dump::x` of the integration test `tests/dump.rs`, `strile-cli::bin/strile::x` of a binary, `python::x`
//! of a Python check, `view::x` of a browser test, `strile.tests/reading/test_window.py::test_x` of the Python package
//! (all cases of a parametrised test; `…::test_x[case]` is one of them). The list is kept in the target folder for the
//! support table.
//!
//! A Rust test that cannot run on this machine prints a line that starts with `skipped: ` and returns. libtest calls
//! that a pass; here it counts as skipped.

use crate::failure::Failure;
use crate::workspace::Workspace;
use std::collections::BTreeMap;

/// Prefix of the line by which a Rust test reports that it did not run, and why.
pub const SKIPPED: &str = "skipped: ";

/// Result of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Passed,
    Failed,
    Skipped,
}

/// Names and results of tests.
#[derive(Debug, Default, PartialEq)]
pub struct TestsRan {
    ended: BTreeMap<String, Ended>,
    /// Scripts that count their own cases.
    counted: BTreeMap<String, Count>,
    /// Reasons of skipped tests, if stated.
    reasons: BTreeMap<String, String>,
}

/// Numbers of passed, failed and skipped cases.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    pub passed: usize,
    pub failed: usize,
    pub skipped: usize,
}

impl std::fmt::Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

impl TestsRan {
    /// Adds the tests of a nextest run (`--status-level all --success-output immediate`, no colours). The last result
    /// of a retried test counts; filtered-out tests did not run.
    pub fn add_nextest(&mut self, lines: &[String]) {
        let mut last = None;
        for line in lines {
            if let Some((name, ended)) = nextest_status(line) {
                last = ended.map(|ended| {
                    self.ended.insert(name.clone(), ended);
                    name
                });
            } else if let (Some(name), Some(reason)) = (&last, line.trim_start().strip_prefix(SKIPPED)) {
                self.skip(name.clone(), reason);
            }
        }
    }

    /// Adds the tests of `cargo test --workspace --doc`, whose lines name their library.
    pub fn add_doctests(&mut self, lines: &[String]) {
        let begins = |line: &String| line.trim().starts_with("Doc-tests ");
        for of_library in lines.chunk_by(|_, next| !begins(next)) {
            let name = of_library.first().and_then(|line| line.trim().strip_prefix("Doc-tests "));
            if let Some(library) = name {
                self.add_libtest(&library.replace('_', "-"), of_library);
            }
        }
    }

    /// Adds the tests of `cargo test -p PACKAGE -- --show-output`: unit, integration and document tests.
    pub fn add_libtest(&mut self, package: &str, lines: &[String]) {
        let mut binary = package.to_owned();
        // The test whose output is shown, after the results of its binary.
        let mut shown = None;
        for line in lines {
            let line = line.trim();
            if let Some(running) = line.strip_prefix("Running ") {
                (binary, shown) = (binary_name(package, running), None);
            } else if line.starts_with("Doc-tests ") {
                (binary, shown) = (format!("{package}::doc"), None);
            } else if let Some((test, ended)) =
                line.strip_prefix("test ").and_then(|t| t.rsplit_once(" ... "))
            {
                let test = test.trim_end_matches(" - should panic");
                let ended = match ended {
                    "ok" => Ended::Passed,
                    "FAILED" => Ended::Failed,
                    _ => continue,
                };
                self.ended.insert(format!("{binary}::{test}"), ended);
            } else if let Some(test) = line.strip_prefix("---- ").and_then(|l| l.strip_suffix(" stdout ----"))
            {
                shown = Some(format!("{binary}::{test}"));
            } else if let (Some(name), Some(reason)) = (&shown, line.strip_prefix(SKIPPED)) {
                self.skip(name.clone(), reason);
            }
        }
    }

    /// Adds lines `PASS name`, `FAIL name: reason` and `SKIP name: reason` of a Python check.
    pub fn add_python(&mut self, lines: &[String]) {
        self.add_lines("python", lines);
    }

    /// Adds the same lines of the browser tests.
    pub fn add_view(&mut self, lines: &[String]) {
        self.add_lines("view", lines);
    }

    fn add_lines(&mut self, of: &str, lines: &[String]) {
        for line in lines {
            let named = |rest: &str| {
                let (name, reason) = rest.split_once(": ").unwrap_or((rest, ""));
                (format!("{of}::{name}"), reason.to_owned())
            };
            if let Some(name) = line.strip_prefix("PASS ") {
                self.ended.insert(format!("{of}::{name}"), Ended::Passed);
            } else if let Some((name, _)) = line.strip_prefix("FAIL ").map(named) {
                self.ended.insert(name, Ended::Failed);
            } else if let Some((name, reason)) = line.strip_prefix("SKIP ").map(named) {
                self.skip(name, &reason);
            }
        }
    }

    /// Adds a Python check that counts its own cases, by its last line `N passed, N failed`, as one test with this many
    /// cases; `, N skipped` may follow. Without such a line, or without a passed case, it failed.
    pub fn add_counted(&mut self, name: &str, lines: &[String]) -> bool {
        let counted = lines.iter().rev().find_map(|line| counts(line));
        let counted = counted.filter(|counted| counted.passed > 0);
        let name = format!("python::{name}");
        let passed = counted.is_some_and(|counted| counted.failed == 0);
        let failure = Count { failed: 1, ..Count::default() };
        self.counted.insert(name.clone(), counted.unwrap_or(failure));
        self.ended.insert(name, if passed { Ended::Passed } else { Ended::Failed });
        passed
    }

    /// Adds the tests of `pytest -n N -v -rsx --no-fold-skipped` (no colours). A test that passed but whose teardown
    /// failed (`ERROR` after `PASSED`) failed.
    pub fn add_pytest(&mut self, lines: &[String]) {
        for line in lines {
            // `[gw1] [ 12%] PASSED tests/test_read.py::test_x[a b]` while it runs.
            if let Some((_, told)) = line.strip_prefix("[gw").and_then(|line| line.split_once("%] ")) {
                let Some((word, test)) = told.split_once(' ') else { continue };
                match word {
                    "SKIPPED" | "XFAIL" => self.skip(pytest_name(test), ""),
                    "PASSED" => _ = self.ended.entry(pytest_name(test)).or_insert(Ended::Passed),
                    _ => _ = self.ended.insert(pytest_name(test), Ended::Failed),
                }
            }
            // `SKIPPED tests/test_read.py::test_x - Skipped: no GPU` in the summary.
            let summary = ["SKIPPED ", "XFAIL "].iter().find_map(|word| line.strip_prefix(word));
            if let Some((test, reason)) = summary.and_then(|told| told.split_once(" - ")) {
                self.skip(pytest_name(test), reason.trim_start_matches("Skipped: "));
            }
        }
    }

    /// Records a test, or a whole step, that could not run here.
    pub fn skip(&mut self, name: String, reason: &str) {
        // A test that failed before its skip line still failed.
        if self.ended.get(&name) != Some(&Ended::Failed) {
            self.ended.insert(name.clone(), Ended::Skipped);
            self.reasons.insert(name, reason.to_owned());
        }
    }

    /// Returns the result of a test, over all of its cases; `None` if it did not run.
    pub fn ended(&self, name: &str) -> Option<Ended> {
        if let Some(ended) = self.ended.get(name) {
            return Some(*ended);
        }
        let case = format!("{name}[");
        let cases = self.ended.range(case.clone()..).take_while(|(test, _)| test.starts_with(&case));
        let cases: Vec<Ended> = cases.map(|(_, ended)| *ended).collect();
        // One failed case fails the test; a skipped case does not invalidate the others.
        [Ended::Failed, Ended::Passed, Ended::Skipped].into_iter().find(|ended| cases.contains(ended))
    }

    /// Returns the names of failed tests.
    pub fn failed(&self) -> impl Iterator<Item = &str> {
        self.ended.iter().filter(|(_, ended)| **ended == Ended::Failed).map(|(name, _)| name.as_str())
    }

    /// Returns the skipped tests with their reasons.
    pub fn skipped(&self) -> impl Iterator<Item = (&str, &str)> {
        self.reasons
            .iter()
            .filter(|(name, _)| self.ended.get(*name) == Some(&Ended::Skipped))
            .map(|(name, reason)| (name.as_str(), reason.as_str()))
    }

    /// Counts the tests and the cases of scripts.
    pub fn count(&self) -> Count {
        self.ended.iter().fold(Count::default(), |sum, (name, ended)| {
            let one = self.counted.get(name).copied().unwrap_or(Count {
                passed: usize::from(*ended == Ended::Passed),
                failed: usize::from(*ended == Ended::Failed),
                skipped: usize::from(*ended == Ended::Skipped),
            });
            Count {
                passed: sum.passed + one.passed,
                failed: sum.failed + one.failed,
                skipped: sum.skipped + one.skipped,
            }
        })
    }

    /// Saves the list for `support-table`.
    pub fn save(&self, workspace: &Workspace) -> Result<(), Failure> {
        let path = workspace.target.join(FILE);
        let word = |ended: &Ended| match ended {
            Ended::Passed => "pass",
            Ended::Failed => "fail",
            Ended::Skipped => "skip",
        };
        let text: String =
            self.ended.iter().map(|(name, ended)| format!("{} {name}\n", word(ended))).collect();
        std::fs::write(&path, text).map_err(|e| Failure::new(format!("{}: {e}", path.display())))
    }

    /// Loads the list that the last `test` saved.
    pub fn load(workspace: &Workspace) -> Result<Self, Failure> {
        let path = workspace.target.join(FILE);
        let text = std::fs::read_to_string(&path)
            .map_err(|e| Failure::new(format!("{}: {e}; `cargo xtask test` writes it", path.display())))?;
        Ok(Self::parse(&text))
    }

    /// Parses a list in the format of [`Self::save`].
    pub fn parse(text: &str) -> Self {
        let entry = |line: &str| {
            let (word, name) = line.split_once(' ')?;
            let ended = match word {
                "pass" => Ended::Passed,
                "skip" => Ended::Skipped,
                _ => Ended::Failed,
            };
            Some((name.to_owned(), ended))
        };
        Self { ended: text.lines().filter_map(entry).collect(), ..Self::default() }
    }
}

const FILE: &str = "tests-ran.txt";

/// Returns the test in a status line of nextest and its result; `None` for any other line. A slow test has no result
/// yet.
///
/// `    PASS [   0.005s] ( 3/10) strile-tiff header::tests::big`; nextest before 0.9.100 prints no count.
pub fn nextest_status(line: &str) -> Option<(String, Option<Ended>)> {
    let (status, rest) = line.trim_start().split_once(" [")?;
    let (_, rest) = rest.split_once("] ")?;
    let rest = rest.trim_start();
    let named = match rest.strip_prefix('(') {
        Some(count) => count.split_once(')').map_or("", |(_, named)| named.trim_start()),
        None => rest,
    };
    let (binary, test) = named.split_once(' ')?;
    let starts = |words: &[&str]| words.iter().any(|word| status.starts_with(word));
    let ended = if starts(&["FAIL", "ABORT", "SIG", "TIMEOUT", "LEAK-FAIL"]) {
        Some(Ended::Failed)
    } else if starts(&["PASS", "LEAK", "FLAKY"]) {
        Some(Ended::Passed)
    } else if starts(&["SLOW", "SKIP", "START", "TRY"]) {
        None
    } else {
        return None;
    };
    Some((format!("{binary}::{test}"), ended))
}

/// Returns the name of a test of the Python package: pytest prints its path from `python` or from the root.
fn pytest_name(test: &str) -> String {
    let test = test.trim();
    format!("strile.{}", test.strip_prefix("python/").unwrap_or(test))
}

/// Parses a line `N passed, N failed` or `N passed, N failed, N skipped`.
fn counts(line: &str) -> Option<Count> {
    let mut count = Count::default();
    for part in line.trim().split(", ") {
        let (number, word) = part.split_once(' ')?;
        let number = number.parse().ok()?;
        match word {
            "passed" => count.passed = number,
            "failed" => count.failed = number,
            "skipped" => count.skipped = number,
            _ => return None,
        }
    }
    Some(count)
}

/// Returns nextest's name for the binary of cargo's line `Running unittests src/main.rs
/// (target/debug/deps/strile-0123)`.
fn binary_name(package: &str, running: &str) -> String {
    let (source, file) = running.split_once(" (").unwrap_or((running, ""));
    let stem = file.rsplit('/').next().and_then(|f| f.rsplit_once('-')).map_or("", |(stem, _)| stem);
    match source.strip_prefix("unittests ") {
        Some(source) if source.ends_with("main.rs") || source.contains("/bin/") => {
            format!("{package}::bin/{stem}")
        }
        Some(_) => package.to_owned(),
        None => format!("{package}::{stem}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn reads_nextest() {
        let mut ran = TestsRan::default();
        ran.add_nextest(&lines(
            "    Finished `test` profile [optimized] target(s) in 2.3s
     Nextest run ID 1234 with nextest profile: default
        PASS [   0.005s] (  1/10) strile-tiff header::tests::big
  stdout ───

    running 1 test
    test header::tests::big ... ok

        PASS [   0.005s] (  1/10) strile::sinks room::the_disk_is_full
  stderr ───
    skipped: this user may not mount a file system
        FAIL [   0.006s] (  2/10) strile-cli::dump windows::crop
        SLOW [> 60.000s] (─────) strile-cpu codec::tests::slow
     SIGABRT [   0.006s] strile-cli::bin/strile tests::aborts
        SKIP [         ] (  3/10) strile-cpu codec::tests::ignored
     Summary [   0.100s] 3 tests run: 1 passed, 2 failed, 1 skipped
        FAIL [   0.006s] (  2/10) strile-cli::dump windows::crop",
        ));
        let want = "pass strile-tiff::header::tests::big
skip strile::sinks::room::the_disk_is_full
fail strile-cli::dump::windows::crop
fail strile-cli::bin/strile::tests::aborts";
        assert_eq!(ran.ended, TestsRan::parse(want).ended);
        assert_eq!(ran.count(), Count { passed: 1, failed: 2, skipped: 1 });
        let told: Vec<_> = ran.skipped().collect();
        assert_eq!(
            told,
            [("strile::sinks::room::the_disk_is_full", "this user may not mount a file system")]
        );
    }

    #[test]
    fn reads_libtest() {
        let mut ran = TestsRan::default();
        ran.add_libtest(
            "strile-cli",
            &lines(
                "     Running unittests src/main.rs (target/debug/deps/strile-0a1b)
test args::tests::help ... ok
test args::tests::ignored ... ignored
     Running tests/dump.rs (target/debug/deps/dump-0a1b)
test windows::crop ... FAILED
test windows::gpu ... ok

successes:

---- windows::gpu stdout ----
skipped: no GPU

   Doc-tests strile_cli
test crates/cli/src/lib.rs - open (line 3) ... ok
test result: ok. 1 passed; 0 failed; 0 ignored",
            ),
        );
        let want = "pass strile-cli::bin/strile::args::tests::help
fail strile-cli::dump::windows::crop
skip strile-cli::dump::windows::gpu
pass strile-cli::doc::crates/cli/src/lib.rs - open (line 3)";
        assert_eq!(ran.ended, TestsRan::parse(want).ended);
    }

    #[test]
    fn reads_document_tests_of_all_libraries() {
        let mut ran = TestsRan::default();
        ran.add_doctests(&lines(
            "    Finished `test` profile
   Doc-tests strile
test crates/raster/src/lib.rs - (line 3) ... ok
   Doc-tests strile_engine
test crates/engine/src/job.rs - (line 9) ... FAILED",
        ));
        let want = "pass strile::doc::crates/raster/src/lib.rs - (line 3)
fail strile-engine::doc::crates/engine/src/job.rs - (line 9)";
        assert_eq!(ran.ended, TestsRan::parse(want).ended);
    }

    #[test]
    fn reads_python() {
        let mut ran = TestsRan::default();
        ran.add_python(&lines(
            "PASS gdal/deflate_tiles\nFAIL gdal/lzw: pixels differ: 3\nSKIP full/disk: no mount\nother",
        ));
        let want = "pass python::gdal/deflate_tiles\nfail python::gdal/lzw\nskip python::full/disk";
        assert_eq!(ran.ended, TestsRan::parse(want).ended);
        assert_eq!(ran.ended("python::gdal/lzw"), Some(Ended::Failed));
        assert_eq!(ran.ended("python::gdal/none"), None);
        assert_eq!(ran.skipped().collect::<Vec<_>>(), [("python::full/disk", "no mount")]);
    }

    #[test]
    fn reads_pytest() {
        let mut ran = TestsRan::default();
        ran.add_pytest(&lines(
            "============ test session starts ============
tests/test_read.py::test_pixels
[gw0] [ 10%] PASSED tests/test_read.py::test_pixels
[gw1] [ 20%] PASSED tests/test_read.py::test_window[a b-PASSED]
[gw0] [ 30%] FAILED python/tests/test_read.py::test_window[c]
[gw0] [ 40%] SKIPPED tests/test_read.py::test_gpu
[gw1] [ 50%] PASSED tests/test_read.py::test_end
[gw1] [ 50%] ERROR tests/test_read.py::test_end
[gw0] [ 60%] XFAIL tests/test_read.py::test_known
=================== FAILURES ===================
[gw0] linux -- Python 3.11.7
=========== short test summary info ===========
SKIPPED tests/test_read.py::test_gpu - Skipped: no GPU
SKIPPED tests/gpu/test_cupy.py - Skipped: could not import 'cupy': No module named 'cupy'
XFAIL tests/test_read.py::test_known - why
FAILED tests/test_read.py::test_window[c] - AssertionError
======= 2 passed, 1 failed =======",
        ));
        let want = "pass strile.tests/test_read.py::test_pixels
pass strile.tests/test_read.py::test_window[a b-PASSED]
fail strile.tests/test_read.py::test_window[c]
skip strile.tests/test_read.py::test_gpu
skip strile.tests/test_read.py::test_known
skip strile.tests/gpu/test_cupy.py
fail strile.tests/test_read.py::test_end";
        assert_eq!(ran.ended, TestsRan::parse(want).ended);
        assert_eq!(ran.count(), Count { passed: 2, failed: 2, skipped: 3 });
        assert_eq!(ran.skipped().nth(1), Some(("strile.tests/test_read.py::test_gpu", "no GPU")));
        assert_eq!(ran.ended("strile.tests/test_read.py::test_window"), Some(Ended::Failed));
        assert_eq!(ran.ended("strile.tests/test_read.py::test_window[a b-PASSED]"), Some(Ended::Passed));
        assert_eq!(ran.ended("strile.tests/test_read.py::test_win"), None);
    }

    #[test]
    fn counts_what_scripts_count() {
        let mut ran = TestsRan::default();
        assert!(ran.add_counted("vrt", &lines("a line\n1120 passed, 0 failed")));
        assert!(!ran.add_counted("crs", &lines("FAIL x\n240 passed, 3 failed, 2 skipped\n")));
        assert!(!ran.add_counted("empty", &lines("0 passed, 0 failed")));
        assert!(!ran.add_counted("died", &lines("Traceback (most recent call last):")));
        assert_eq!(ran.count(), Count { passed: 1120 + 240, failed: 3 + 1 + 1, skipped: 2 });
        assert_eq!(ran.ended("python::vrt"), Some(Ended::Passed));
        assert_eq!(ran.failed().collect::<Vec<_>>(), ["python::crs", "python::died", "python::empty"]);
    }
}

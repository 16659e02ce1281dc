//! Which tests ran and how they ended, from what nextest, libtest and our Python checks print.
//!
//! A test's name is its binary's name as nextest has it, `::`, and its path: `strile-cpu::codec::lzw::tests::x` of a
//! library, `strile-cli::dump::x` of the integration test `tests/dump.rs`, `strile-cli::bin/strile::x` of a binary,
//! `python::x` of a Python check, `strile.tests/reading/test_window.py::test_x` of the Python package (all cases of a test
//! that has several; `…::test_x[case]` is one of them). The list is kept in the target folder for the support table.

use crate::failure::Failure;
use crate::workspace::Workspace;
use std::collections::BTreeMap;

/// Name of a test, and whether it passed.
#[derive(Debug, Default, PartialEq)]
pub struct TestsRan(BTreeMap<String, bool>, BTreeMap<String, Counted>);

/// How many cases of a test passed and failed, of a script that counts many by itself.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Counted {
    passed: usize,
    failed: usize,
}

impl TestsRan {
    /// Adds the tests of a nextest run (`--status-level all`, no colours). A test that was tried again counts as it
    /// ended last; skipped ones did not run.
    pub fn add_nextest(&mut self, lines: &[String]) {
        for line in lines {
            // `    PASS [   0.005s] ( 3/10) strile-tiff header::tests::big`; nextest before 0.9.100 has no count.
            let Some((status, rest)) = line.trim_start().split_once(" [") else { continue };
            let Some((_, rest)) = rest.split_once("s] ") else { continue };
            let rest = rest.trim_start();
            let named = match rest.strip_prefix('(') {
                Some(count) => count.split_once(')').map_or("", |(_, named)| named.trim_start()),
                None => rest,
            };
            let Some((binary, test)) = named.split_once(' ') else { continue };
            let passed = matches!(status, "PASS" | "LEAK" | "SLOW") || status.starts_with("FLAKY");
            let failed =
                ["FAIL", "ABORT", "SIG", "TIMEOUT", "LEAK-FAIL"].iter().any(|word| status.starts_with(word));
            if (passed && status != "SLOW") || failed {
                self.0.insert(format!("{binary}::{test}"), passed);
            }
        }
    }

    /// Adds the tests of `cargo test --workspace --doc`, whose lines name the library they are of.
    pub fn add_doctests(&mut self, lines: &[String]) {
        let begins = |line: &String| line.trim().starts_with("Doc-tests ");
        for of_library in lines.chunk_by(|_, next| !begins(next)) {
            let name = of_library.first().and_then(|line| line.trim().strip_prefix("Doc-tests "));
            if let Some(library) = name {
                self.add_libtest(&library.replace('_', "-"), of_library);
            }
        }
    }

    /// Adds the tests of `cargo test -p PACKAGE`, unit, integration and document tests.
    pub fn add_libtest(&mut self, package: &str, lines: &[String]) {
        let mut binary = package.to_owned();
        for line in lines {
            let line = line.trim();
            if let Some(running) = line.strip_prefix("Running ") {
                binary = binary_name(package, running);
            } else if line.starts_with("Doc-tests ") {
                binary = format!("{package}::doc");
            } else if let Some((test, ended)) =
                line.strip_prefix("test ").and_then(|t| t.rsplit_once(" ... "))
            {
                let test = test.trim_end_matches(" - should panic");
                match ended {
                    "ok" => self.0.insert(format!("{binary}::{test}"), true),
                    "FAILED" => self.0.insert(format!("{binary}::{test}"), false),
                    _ => None,
                };
            }
        }
    }

    /// Adds lines `PASS name` and `FAIL name: reason` of a Python check.
    pub fn add_python(&mut self, lines: &[String]) {
        for line in lines {
            if let Some(name) = line.strip_prefix("PASS ") {
                self.0.insert(format!("python::{name}"), true);
            } else if let Some(failed) = line.strip_prefix("FAIL ") {
                let name = failed.split_once(": ").map_or(failed, |(name, _)| name);
                self.0.insert(format!("python::{name}"), false);
            }
        }
    }

    /// Adds a Python check that counts its cases itself, by its last line `N passed, N failed`, as one test with so
    /// many cases. No such line, or none that passed, is a failure.
    pub fn add_counted(&mut self, name: &str, lines: &[String]) -> bool {
        let counted = lines.iter().rev().find_map(|line| counts(line));
        let counted = counted.filter(|counted| counted.passed > 0);
        let name = format!("python::{name}");
        let passed = counted.is_some_and(|counted| counted.failed == 0);
        self.1.insert(name.clone(), counted.unwrap_or(Counted { passed: 0, failed: 1 }));
        self.0.insert(name, passed);
        passed
    }

    /// Adds the tests of `pytest -v` (no colours), and says how many were skipped. A test that passed and whose end
    /// failed (`ERROR` after `PASSED`) failed.
    pub fn add_pytest(&mut self, lines: &[String]) -> usize {
        let mut skipped = 0;
        for line in lines {
            // `tests/test_read.py::test_x[a b] PASSED [ 12%]`; a summary's lines start with the word instead.
            let ends = ["PASSED", "XPASS", "FAILED", "ERROR", "SKIPPED", "XFAIL"];
            let Some((test, word)) =
                ends.iter().find_map(|word| Some((line.rsplit_once(&format!(" {word}"))?.0, *word)))
            else {
                continue;
            };
            let Some((file, _)) = test.split_once(".py::") else { continue };
            if file.contains(' ') {
                continue;
            }
            let test = test.strip_prefix("python/").unwrap_or(test).trim_end();
            match word {
                "SKIPPED" | "XFAIL" => skipped += 1,
                word => {
                    let ended = self.0.entry(format!("strile.{test}")).or_insert(true);
                    *ended &= word == "PASSED";
                }
            }
        }
        skipped
    }

    /// How one test ended, all of its cases where it has several; `None` when it did not run.
    pub fn passed(&self, name: &str) -> Option<bool> {
        if let Some(passed) = self.0.get(name) {
            return Some(*passed);
        }
        let case = format!("{name}[");
        let mut cases = self
            .0
            .range(case.clone()..)
            .take_while(|(test, _)| test.starts_with(&case))
            .map(|(_, passed)| *passed);
        let first = cases.next()?;
        Some(cases.fold(first, |all, passed| all && passed))
    }

    /// Names of the tests that failed.
    pub fn failed(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|(_, passed)| !**passed).map(|(name, _)| name.as_str())
    }

    /// How many passed and how many failed.
    pub fn count(&self) -> (usize, usize) {
        let each = self.0.iter().map(|(name, &passed)| match self.1.get(name) {
            Some(counted) => (counted.passed, counted.failed),
            None => (usize::from(passed), usize::from(!passed)),
        });
        each.fold((0, 0), |(passed, failed), (more, wrong)| (passed + more, failed + wrong))
    }

    /// Keeps the list for `support-table`.
    pub fn save(&self, workspace: &Workspace) -> Result<(), Failure> {
        let path = workspace.target.join(FILE);
        let text: String = self
            .0
            .iter()
            .map(|(name, passed)| format!("{} {name}\n", if *passed { "pass" } else { "fail" }))
            .collect();
        std::fs::write(&path, text).map_err(|e| Failure::new(format!("{}: {e}", path.display())))
    }

    /// The list that the last `test` kept.
    pub fn load(workspace: &Workspace) -> Result<Self, Failure> {
        let path = workspace.target.join(FILE);
        let text = std::fs::read_to_string(&path)
            .map_err(|e| Failure::new(format!("{}: {e}; `cargo xtask test` writes it", path.display())))?;
        Ok(Self::parse(&text))
    }

    /// A list as [`Self::save`] writes it.
    pub fn parse(text: &str) -> Self {
        let entry = |line: &str| line.split_once(' ').map(|(ended, name)| (name.to_owned(), ended == "pass"));
        Self(text.lines().filter_map(entry).collect(), BTreeMap::new())
    }
}

const FILE: &str = "tests-ran.txt";

/// The numbers of a line `N passed, N failed`.
fn counts(line: &str) -> Option<Counted> {
    let (passed, failed) = line.trim().strip_suffix(" failed")?.split_once(" passed, ")?;
    Some(Counted { passed: passed.parse().ok()?, failed: failed.parse().ok()? })
}

/// nextest's name for the binary of cargo's line `Running unittests src/main.rs (target/debug/deps/strile-0123)`.
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
        FAIL [   0.006s] (  2/10) strile-cli::dump windows::crop
        SLOW [> 60.000s] (─────) strile-cpu codec::tests::slow
     SIGABRT [   0.006s] strile-cli::bin/strile tests::aborts
        SKIP [         ] (  3/10) strile-cpu codec::tests::ignored
     Summary [   0.100s] 3 tests run: 1 passed, 2 failed, 1 skipped
        FAIL [   0.006s] (  2/10) strile-cli::dump windows::crop",
        ));
        let want = "pass strile-tiff::header::tests::big
fail strile-cli::dump::windows::crop
fail strile-cli::bin/strile::tests::aborts";
        assert_eq!(ran, TestsRan::parse(want));
        assert_eq!(ran.count(), (1, 2));
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
   Doc-tests strile_cli
test crates/cli/src/lib.rs - open (line 3) ... ok
test result: ok. 1 passed; 0 failed; 0 ignored",
            ),
        );
        let want = "pass strile-cli::bin/strile::args::tests::help
fail strile-cli::dump::windows::crop
pass strile-cli::doc::crates/cli/src/lib.rs - open (line 3)";
        assert_eq!(ran, TestsRan::parse(want));
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
        assert_eq!(ran, TestsRan::parse(want));
    }

    #[test]
    fn reads_python() {
        let mut ran = TestsRan::default();
        ran.add_python(&lines("PASS gdal/deflate_tiles\nFAIL gdal/lzw: pixels differ: 3\nother"));
        assert_eq!(ran, TestsRan::parse("pass python::gdal/deflate_tiles\nfail python::gdal/lzw"));
        assert_eq!(ran.passed("python::gdal/lzw"), Some(false));
        assert_eq!(ran.passed("python::gdal/none"), None);
    }

    #[test]
    fn reads_pytest() {
        let mut ran = TestsRan::default();
        let skipped = ran.add_pytest(&lines(
            "============ test session starts ============
tests/test_read.py::test_pixels PASSED                               [ 10%]
tests/test_read.py::test_window[a b-PASSED] PASSED                   [ 20%]
python/tests/test_read.py::test_window[c] FAILED                     [ 30%]
tests/test_read.py::test_gpu SKIPPED (no GPU)                        [ 40%]
tests/test_read.py::test_end PASSED                                  [ 50%]
tests/test_read.py::test_end ERROR                                   [ 50%]
tests/test_read.py::test_known XFAIL (why)                           [ 60%]
=========== short test summary info ===========
SKIPPED [1] tests/test_read.py:12: no GPU
FAILED tests/test_read.py::test_window[c] - AssertionError
======= 2 passed, 1 failed =======",
        ));
        let want = "pass strile.tests/test_read.py::test_pixels
pass strile.tests/test_read.py::test_window[a b-PASSED]
fail strile.tests/test_read.py::test_window[c]
fail strile.tests/test_read.py::test_end";
        assert_eq!(ran, TestsRan::parse(want));
        assert_eq!(skipped, 2);
        assert_eq!(ran.passed("strile.tests/test_read.py::test_window"), Some(false));
        assert_eq!(ran.passed("strile.tests/test_read.py::test_window[a b-PASSED]"), Some(true));
        assert_eq!(ran.passed("strile.tests/test_read.py::test_win"), None);
    }

    #[test]
    fn counts_what_scripts_count() {
        let mut ran = TestsRan::default();
        assert!(ran.add_counted("vrt", &lines("a line\n1120 passed, 0 failed")));
        assert!(!ran.add_counted("crs", &lines("FAIL x\n240 passed, 3 failed\n")));
        assert!(!ran.add_counted("empty", &lines("0 passed, 0 failed")));
        assert!(!ran.add_counted("died", &lines("Traceback (most recent call last):")));
        assert_eq!(ran.count(), (1120 + 240, 3 + 1 + 1));
        assert_eq!(ran.passed("python::vrt"), Some(true));
        assert_eq!(ran.failed().collect::<Vec<_>>(), ["python::crs", "python::died", "python::empty"]);
    }
}

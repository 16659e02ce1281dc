//! Checks `docs/support.md`, which lists the features of strile, each with the tests that prove it.
//!
//! The rows are those of `features.txt`, in order; the last cell of each is `no` or test names in backticks. A test
//! that did not run, or failed, in the last `cargo xtask test` is an error.

use crate::failure::Failure;
use crate::ran::{Ended, TestsRan};
use crate::workspace::Workspace;

const FEATURES: &str = include_str!("features.txt");
const TABLE: &str = "docs/support.md";

/// Checks the table against the tests that the last `test` ran.
pub fn run(workspace: &Workspace) -> Result<(), Failure> {
    check(workspace, &TestsRan::load(workspace)?)
}

/// Checks the table against these tests.
pub fn check(workspace: &Workspace, ran: &TestsRan) -> Result<(), Failure> {
    let text = std::fs::read_to_string(workspace.root.join(TABLE))
        .map_err(|e| Failure::new(format!("{TABLE}: {e}")))?;
    let rows = parse(&text);
    let proven = rows.iter().filter(|row| !row.tests.is_empty()).count();
    println!("{TABLE}: {} rows, {proven} with tests", rows.len());
    Failure::unless_empty(TABLE, &complaints(&rows, ran))
}

/// One row: its number and feature as written, and the named tests. `no` means no tests.
struct Row {
    feature: String,
    tests: Vec<String>,
    /// The last cell, if it is neither `no` nor a list of names.
    unclear: Option<String>,
}

/// Parses rows: lines whose first cell is a number.
fn parse(text: &str) -> Vec<Row> {
    text.lines().filter_map(parse_row).collect()
}

fn parse_row(line: &str) -> Option<Row> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    let (number, rest) = inner.split_once('|')?;
    let number: usize = number.trim().parse().ok()?;
    let (feature, proof) = rest.rsplit_once('|')?;
    let feature = format!("{number} {}", feature.trim());
    let proof = proof.trim();
    let names: Option<Vec<String>> = proof.split(", ").map(name).collect();
    Some(match (proof, names) {
        ("no", _) => Row { feature, tests: Vec::new(), unclear: None },
        (_, Some(tests)) => Row { feature, tests, unclear: None },
        (_, None) => Row { feature, tests: Vec::new(), unclear: Some(proof.to_owned()) },
    })
}

/// Returns the name inside one pair of backticks.
fn name(quoted: &str) -> Option<String> {
    let name = quoted.strip_prefix('`')?.strip_suffix('`')?;
    (!name.is_empty() && !name.contains('`')).then(|| name.to_owned())
}

fn complaints(rows: &[Row], ran: &TestsRan) -> Vec<String> {
    let mut found = Vec::new();
    let wanted: Vec<&str> = FEATURES.lines().collect();
    if rows.len() != wanted.len() {
        found.push(format!("{} rows, {} expected", rows.len(), wanted.len()));
    }
    for (row, wanted) in rows.iter().zip(&wanted) {
        if row.feature != *wanted {
            found.push(format!("row `{}`: `{wanted}` expected", row.feature));
        }
    }
    for row in rows {
        if let Some(unclear) = &row.unclear {
            found.push(format!(
                "row `{}`: found `{unclear}`, `no` or test names in backticks expected",
                row.feature
            ));
        }
        for test in &row.tests {
            match ran.ended(test) {
                Some(Ended::Passed | Ended::Skipped) => {}
                Some(Ended::Failed) => found.push(format!("row `{}`: test `{test}` failed", row.feature)),
                None => {
                    found.push(format!("row `{}`: test `{test}` does not exist or did not run", row.feature))
                }
            }
        }
        // Skipped tests prove nothing; a row needs one that passed.
        if !row.tests.is_empty() && row.tests.iter().all(|test| ran.ended(test) == Some(Ended::Skipped)) {
            found.push(format!("row `{}`: all of its tests were skipped", row.feature));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table_with(third: &str) -> String {
        let row = |(i, feature): (usize, &str)| {
            let (number, words) = feature.split_once(' ').unwrap();
            format!("| {number} | {words} | {} |\n", if i == 2 { third } else { "no" })
        };
        FEATURES.lines().enumerate().map(row).collect()
    }

    fn complaints_of(table: &str) -> Vec<String> {
        complaints(&parse(table), &TestsRan::parse("pass a::x\npass a::y\nfail a::bad\nskip a::gpu"))
    }

    #[test]
    fn features_are_numbered_from_1_to_200() {
        let numbers: Vec<usize> =
            FEATURES.lines().map(|line| line.split_once(' ').unwrap().0.parse().unwrap()).collect();
        assert_eq!(numbers, (1..=200).collect::<Vec<_>>());
    }

    #[test]
    fn the_repository_table_has_every_row() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/support.md");
        let rows = parse(&std::fs::read_to_string(path).unwrap());
        let features: Vec<&str> = rows.iter().map(|row| row.feature.as_str()).collect();
        assert_eq!(features, FEATURES.lines().collect::<Vec<_>>());
        assert!(rows.iter().all(|row| row.unclear.is_none()));
    }

    #[test]
    fn no_and_tests_that_passed_are_right() {
        assert_eq!(complaints_of(&table_with("no")), [""; 0]);
        assert_eq!(complaints_of(&table_with("`a::x`, `a::y`")), [""; 0]);
    }

    #[test]
    fn a_test_that_did_not_run_or_failed_is_named() {
        let row = "row `3 HTTP(S) range read`";
        let missing = complaints_of(&table_with("`a::x`, `a::gone`"));
        assert_eq!(missing, [format!("{row}: test `a::gone` does not exist or did not run")]);
        assert_eq!(complaints_of(&table_with("`a::bad`")), [format!("{row}: test `a::bad` failed")]);
        assert_eq!(complaints_of(&table_with("`a::gpu`, `a::x`")), [""; 0]);
        assert_eq!(complaints_of(&table_with("`a::gpu`")), [format!("{row}: all of its tests were skipped")]);
    }

    #[test]
    fn anything_else_in_the_last_cell_is_unclear() {
        for cell in ["yes", "", "`a::x` soon", "``", "`a::x`,`a::y`"] {
            assert_eq!(complaints_of(&table_with(cell)).len(), 1, "{cell}");
        }
    }

    #[test]
    fn a_lost_or_changed_row_is_an_error() {
        let whole = table_with("no");
        let short: String = whole.lines().take(199).map(|line| format!("{line}\n")).collect();
        assert_eq!(complaints_of(&short), ["199 rows, 200 expected"]);
        let changed = whole.replace("GDS write", "GDS writing");
        assert_eq!(complaints_of(&changed), ["row `17 GDS writing`: `17 GDS write` expected"]);
    }
}

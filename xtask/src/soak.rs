//! Runs the soak program, and writes its recorded results into `docs/reliability.md`.
//!
//! `cargo xtask soak --minutes N [--device cuda:0] [--record NAME]` builds the program `soak` for release and runs it;
//! other options go to it. The result is `target/soak.json`; `--record NAME` keeps it as `docs/bench/soak-NAME.json`
//! too. A GPU machine without Rust runs the same program with `xtask/gpu/check.py soak`; its `soak.json` must be saved
//! manually under such a name. `cargo xtask soak --document` writes the table of all kept results; a test compares it
//! with them.

use crate::failure::Failure;
use crate::process;
use crate::workspace::Workspace;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const DOCUMENT: &str = "docs/reliability.md";
const BEGIN: &str = "<!-- written by `cargo xtask soak --document` from docs/bench/soak-*.json -->";
const END: &str = "<!-- end of what is written -->";

/// Runs the chore.
pub fn run(workspace: &Workspace, rest: &[String]) -> Result<(), Failure> {
    if rest == ["--document"] {
        let path = workspace.root.join(DOCUMENT);
        let text = documented(&workspace.root, &read(&path)?)?;
        return std::fs::write(&path, text).map_err(|e| Failure::new(format!("{DOCUMENT}: {e}")));
    }
    let (mut words, mut record) = (Vec::new(), None);
    let mut given = rest.iter();
    while let Some(word) = given.next() {
        match word.as_str() {
            "--record" => {
                record = Some(given.next().ok_or_else(|| Failure::new("--record: expected a name"))?)
            }
            _ => words.push(word),
        }
    }
    let build = ["build", "--release", "--package", "strile-check", "--bin", "soak"];
    process::show(process::cargo(&workspace.root).args(build))?;
    let json = workspace.target.join("soak.json");
    let mut soak = Command::new(workspace.target.join("release/soak"));
    let ended = process::show(soak.args(words).arg("--json").arg(&json));
    if let Some(name) = record {
        let kept = workspace.root.join(format!("docs/bench/soak-{name}.json"));
        std::fs::copy(&json, &kept).map_err(|e| Failure::new(format!("{}: {e}", kept.display())))?;
        println!("kept as {}; `cargo xtask soak --document` writes the table", kept.display());
    }
    ended
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|e| Failure::new(format!("{}: {e}", path.display())))
}

/// Returns the document with the table of all saved results between its marks.
fn documented(root: &Path, text: &str) -> Result<String, Failure> {
    let missing = || Failure::new(format!("{DOCUMENT}: no lines `{BEGIN}` and `{END}`"));
    let (before, rest) = text.split_once(BEGIN).ok_or_else(missing)?;
    let (_, after) = rest.split_once(END).ok_or_else(missing)?;
    let folder = root.join("docs/bench");
    let entries =
        std::fs::read_dir(&folder).map_err(|e| Failure::new(format!("{}: {e}", folder.display())))?;
    let mut kept: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    kept.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("soak-") && name.ends_with(".json")
    });
    kept.sort();
    let mut table = String::from(
        "| run | machine | engines | minutes | calls | compared | wrong | held | resident | descriptors | threads | device | result |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for path in &kept {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let result: Value = serde_json::from_str(&read(path)?)
            .map_err(|e| Failure::new(format!("{}: {e}", path.display())))?;
        table.push_str(&row(name.trim_start_matches("soak-"), &result));
    }
    if kept.is_empty() {
        table.push_str("| none recorded yet | | | | | | | | | | | | |\n");
    }
    Ok(format!("{before}{BEGIN}\n\n{table}\n{END}{after}"))
}

/// Returns a line of the table.
fn row(name: &str, result: &Value) -> String {
    let words = |key: &str| result.get(key).and_then(Value::as_str).unwrap_or("?").to_owned();
    let count = |pointer: &str| result.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
    let calls = |key: &str| count(&format!("/operations/{key}"));
    let engines: Vec<&str> = result
        .get("engines")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let wrong = result.get("wrong").and_then(Value::as_array).map_or(0, Vec::len);
    let growth = |figure: &str, unit: u64| {
        let lines = result.get("growth").and_then(Value::as_array).into_iter().flatten();
        let line = lines.into_iter().find(|line| line.get("figure").and_then(Value::as_str) == Some(figure));
        let number = |key: &str| line.and_then(|line| line.get(key)?.as_u64()).map(|number| number / unit);
        number("first").zip(number("last")).map(|(first, last)| format!("{first} → {last}"))
    };
    let mib =
        |figure: &str| growth(figure, 1 << 20).map_or_else(|| "–".to_owned(), |words| format!("{words} MiB"));
    let plain = |figure: &str| growth(figure, 1).unwrap_or_else(|| "–".to_owned());
    let total = calls("reads") + calls("batches") + calls("writes") + calls("conversions");
    let minutes = count_minutes(result);
    let ok = result.get("ok").and_then(Value::as_bool) == Some(true);
    format!(
        "| {name}, {} | {} | {} | {minutes} | {total}: {} reads, {} batches, {} writes, {} conversions; {} aborted | {} GiB | \
         {wrong} | {} | {} | {} | {} | {} | {} |\n",
        words("date"),
        words("machine"),
        engines.join(", "),
        calls("reads"),
        calls("batches"),
        calls("writes"),
        calls("conversions"),
        calls("aborted"),
        calls("compared_bytes") >> 30,
        growth("held", 1 << 10).map_or_else(|| "–".to_owned(), |words| format!("{words} KiB")),
        mib("memory"),
        plain("descriptors"),
        plain("threads"),
        mib("device"),
        if ok { "passed" } else { "FAILED" },
    )
}

fn count_minutes(result: &Value) -> String {
    result
        .get("minutes")
        .and_then(Value::as_f64)
        .map_or_else(|| "?".to_owned(), |minutes| format!("{minutes:.0}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> &'static Path {
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
    }

    #[test]
    fn the_document_shows_the_kept_results() {
        let text = read(&root().join(DOCUMENT)).unwrap();
        assert!(documented(root(), &text).unwrap() == text, "run `cargo xtask soak --document`");
    }

    #[test]
    fn a_row_names_what_grew() {
        let result = serde_json::json!({
            "ok": true, "date": "2026-11-16", "machine": "2 cores", "minutes": 30.0, "engines": ["cpu"], "wrong": [],
            "operations": {"reads": 5, "batches": 1, "writes": 2, "conversions": 3, "aborted": 4, "compared_bytes": 3u64 << 30},
            "growth": [{"figure": "held", "first": 7168, "last": 7168, "ok": true},
                       {"figure": "memory", "first": 100u64 << 20, "last": 101u64 << 20, "ok": true},
                       {"figure": "threads", "first": 12, "last": 12, "ok": true}],
        });
        assert_eq!(
            row("cpu", &result),
            "| cpu, 2026-11-16 | 2 cores | cpu | 30 | 11: 5 reads, 1 batches, 2 writes, 3 conversions; 4 aborted | 3 GiB | 0 | \
             7 → 7 KiB | 100 → 101 MiB | – | 12 → 12 | – | passed |\n"
        );
    }
}

//! Checks the dependencies in Cargo.lock against published security advisories, and for yanked versions.
//!
//! Advisories are checked by `cargo deny check advisories`, which needs cargo-deny and a copy of the RustSec database:
//! the folder in `STRILE_ADVISORY_DB`, or the copy that cargo-deny fetches itself if there is a network. Without either
//! the check counts as skipped, with the reason; a named folder that cannot be read is a failure. Yanked versions are
//! found in cargo's own copy of the registry index, which exists on every machine that builds.

use crate::failure::Failure;
use crate::process;
use crate::workspace::Workspace;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Runs the checks that are possible here. Returns one line per skipped check.
pub fn check(workspace: &Workspace) -> Result<Vec<String>, Failure> {
    let mut skipped = Vec::new();
    match yanked(workspace) {
        Index::Checked { complaints, versions } => {
            println!("{versions} versions of Cargo.lock are in cargo's copy of the registry index");
            Failure::unless_empty("yanked versions in Cargo.lock", &complaints)?;
        }
        Index::Absent => skipped.push("yanked versions: cargo has no copy of the registry index".to_owned()),
    }
    if !process::answers(process::cargo(&workspace.root).args(["deny", "--version"])) {
        skipped.push("advisories: cargo-deny is not installed (`cargo install cargo-deny`)".to_owned());
        return Ok(skipped);
    }
    let vendored = std::env::var_os("STRILE_ADVISORY_DB").map(PathBuf::from);
    let mut deny = process::cargo(&workspace.root);
    deny.arg("deny");
    if let Some(folder) = &vendored {
        // cargo-deny takes a database only from its configuration, so a copy of the configuration names the folder.
        let config = with_database(workspace, folder)?;
        deny.args(["--config"]).arg(config);
    }
    deny.args(["check", "advisories"]);
    if vendored.is_some() {
        deny.arg("--disable-fetch");
    }
    let ended = process::show_and_keep(&mut deny)?;
    if ended.success {
        return Ok(skipped);
    }
    let absent = ["failed to fetch advisory database", "unable to load advisory database", "failed to load"];
    let line = ended.lines.iter().find(|line| absent.iter().any(|words| line.contains(words)));
    // A named database must exist.
    if let (Some(line), None) = (line, &vendored) {
        skipped.push(format!(
            "advisories: no RustSec database here (STRILE_ADVISORY_DB names a copy): {}",
            line.trim()
        ));
        return Ok(skipped);
    }
    Err(Failure::new("`cargo deny check advisories` reports advisories or could not check them"))
}

/// Writes a copy of deny.toml with the folder above a vendored database.
fn with_database(workspace: &Workspace, folder: &Path) -> Result<PathBuf, Failure> {
    let text = std::fs::read_to_string(workspace.root.join("deny.toml"))
        .map_err(|e| Failure::new(format!("deny.toml: {e}")))?;
    let path = workspace.target.join("deny-advisories.toml");
    let text = format!("{text}\n[advisories]\ndb-path = {:?}\n", folder.to_string_lossy());
    std::fs::write(&path, text).map_err(|e| Failure::new(format!("{}: {e}", path.display())))?;
    Ok(path)
}

/// Answer of cargo's copy of the registry index.
enum Index {
    Absent,
    Checked { complaints: Vec<String>, versions: usize },
}

fn yanked(workspace: &Workspace) -> Index {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let caches = home.and_then(|home| std::fs::read_dir(home.join("registry/index")).ok());
    let caches: Vec<PathBuf> =
        caches.into_iter().flatten().flatten().map(|entry| entry.path().join(".cache")).collect();
    let (mut complaints, mut versions) = (Vec::new(), 0);
    for package in workspace.packages() {
        let field = |key: &str| package.get(key).and_then(Value::as_str);
        let (Some(name), Some(version), Some(_)) = (field("name"), field("version"), field("source")) else {
            continue;
        };
        let entry = caches.iter().find_map(|cache| std::fs::read(cache.join(place(name))).ok());
        match entry.as_deref().and_then(|entry| is_yanked(entry, version)) {
            Some(true) => {
                complaints.push(format!("{name} {version} was yanked; run `cargo update -p {name}`"))
            }
            Some(false) => {}
            None => continue,
        }
        versions += 1;
    }
    if versions == 0 { Index::Absent } else { Index::Checked { complaints, versions } }
}

/// Returns the index's path of a crate: `1/a`, `2/ab`, `3/a/abc`, `ab/cd/abcd`.
fn place(name: &str) -> String {
    let name = name.to_lowercase();
    let part = |range: std::ops::Range<usize>| name.get(range).unwrap_or_default();
    match name.len() {
        1 | 2 => format!("{}/{name}", name.len()),
        3 => format!("3/{}/{name}", part(0..1)),
        _ => format!("{}/{}/{name}", part(0..2), part(2..4)),
    }
}

/// Looks up a version in an entry of cargo's cache: after a header, version and JSON in turn, separated by zero bytes.
fn is_yanked(entry: &[u8], version: &str) -> Option<bool> {
    let records =
        entry.split(|byte| *byte == 0).filter_map(|part| serde_json::from_slice::<Value>(part).ok());
    let found = records
        .filter(Value::is_object)
        .find(|record| record.get("vers").and_then(Value::as_str) == Some(version))?;
    found.get("yanked").and_then(Value::as_bool)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_crate_and_its_version_in_the_index() {
        assert_eq!(
            [place("a"), place("ab"), place("abc"), place("Serde_json")],
            ["1/a", "2/ab", "3/a/abc", "se/rd/serde_json"]
        );
        let entry = b"\x03\x02\0\0\0etag\x001.0.0\0{\"vers\":\"1.0.0\",\"yanked\":true}\x001.0.1\0{\"vers\":\"1.0.1\",\"yanked\":false}\0";
        assert_eq!(is_yanked(entry, "1.0.0"), Some(true));
        assert_eq!(is_yanked(entry, "1.0.1"), Some(false));
        assert_eq!(is_yanked(entry, "2.0.0"), None);
    }
}

//! The record of the last GPU check: `gpu-verified.toml`, written by `xtask/gpu/check.py` on a machine with a GPU.
//!
//! CI has no GPU. It recomputes the hash of the sources and warns if the file is missing or belongs to other sources. A
//! malformed file is a failure. `xtask/gpu/source_hash.py` computes the same hash.

use crate::failure::Failure;
use crate::process;
use crate::workspace::Workspace;
use sha2::{Digest, Sha256};
use std::path::Path;
use std::process::Command;
use toml::{Table, Value};

/// Path of the file from the root.
pub const FILE: &str = "gpu-verified.toml";

/// Hashed folders, including all files below them.
const ROOTS: [&str; 4] = ["crates/cuda", "crates/codestream", "crates/engine", "crates/raster/src/read"];

/// One check, as recorded.
#[derive(Debug, PartialEq)]
struct Verified {
    hash: String,
    revision: String,
    date: String,
    device: String,
    driver: String,
    /// Parts that failed or were not run, in words.
    not_shown: Vec<String>,
}

/// Returns `None` if the sources are those last verified, else the warning.
pub fn check(workspace: &Workspace) -> Result<Option<String>, Failure> {
    let path = workspace.root.join(FILE);
    if !path.exists() {
        return Ok(Some(format!("{FILE} is missing: the CUDA engine was never checked on a GPU")));
    }
    let text = std::fs::read_to_string(&path).map_err(|e| Failure::new(format!("{FILE}: {e}")))?;
    let verified = parse(&text).map_err(|e| Failure::new(format!("{FILE}: {e}")))?;
    let hash = source_hash(&workspace.root)?;
    let Verified { revision, date, device, driver, not_shown, .. } = &verified;
    if hash == verified.hash {
        println!("verified on {device}, driver {driver}, {date}, revision {revision}");
        let but = || format!("{FILE} is of these sources, and does not show: {}", not_shown.join("; "));
        return Ok((!not_shown.is_empty()).then(but));
    }
    let changed = changed_since(&workspace.root, revision);
    Ok(Some(format!(
        "{FILE} is stale: the CUDA engine was last checked on a GPU at revision {revision} ({date}, {device}); {changed}"
    )))
}

/// Returns the files that differ from a revision, if git knows it.
fn changed_since(root: &Path, revision: &str) -> String {
    let mut git = Command::new("git");
    git.current_dir(root).args(["diff", "--name-only", revision, "--"]).args(ROOTS);
    match process::capture(&mut git) {
        Ok(names) => {
            let names: Vec<&str> = names.lines().collect();
            let shown = names.iter().take(5).copied().collect::<Vec<_>>().join(", ");
            format!("{} files differ since: {shown}", names.len())
        }
        Err(_) => "that revision is not here".to_owned(),
    }
}

/// Parses the file; the error describes the problem.
fn parse(text: &str) -> Result<Verified, String> {
    let table: Table = text.parse().map_err(|e| format!("{e}"))?;
    let version = table.get("version").and_then(Value::as_integer);
    if version != Some(1) {
        return Err(format!("`version` is {version:?}, 1 expected"));
    }
    let inside = |section: &str| -> Result<&Table, String> {
        table.get(section).and_then(Value::as_table).ok_or_else(|| format!("no `[{section}]`"))
    };
    let words = |table: &Table, key: &str| -> Result<String, String> {
        let found = table.get(key).and_then(Value::as_str).filter(|found| !found.is_empty());
        found.map(str::to_owned).ok_or_else(|| format!("no `{key}`, or not words"))
    };
    let number = |table: &Table, key: &str| -> Result<i64, String> {
        table.get(key).and_then(Value::as_integer).ok_or_else(|| format!("no `{key}`, or not a whole number"))
    };
    let hash = words(&table, "hash")?;
    if hash.len() != 64 || !hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return Err(format!("`hash` is `{hash}`, 64 hexadecimal digits expected"));
    }
    let (device, tests, corpus) = (inside("device")?, inside("tests")?, inside("corpus")?);
    let passed = number(tests, "passed")?;
    if passed <= 0 || number(tests, "failed")? != 0 {
        return Err("a check is written when tests ran and all passed".to_owned());
    }
    if number(corpus, "files")? != number(corpus, "same")?
        || number(corpus, "hostile")? != number(corpus, "hostile_same")?
    {
        return Err("a check is written when both engines agree on the whole corpus".to_owned());
    }
    inside("sanitizer")?;
    let told = table.get("not_shown").and_then(Value::as_array).ok_or("no `not_shown`, or not a list")?;
    let not_shown = told.iter().map(|part| part.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>();
    Ok(Verified {
        hash,
        not_shown: not_shown.ok_or("`not_shown` is not a list of words")?,
        revision: words(&table, "revision")?,
        date: words(&table, "date")?,
        device: words(device, "name")?,
        driver: words(device, "driver")?,
    })
}

/// Returns the hash of the sources under a root.
pub fn source_hash(root: &Path) -> Result<String, Failure> {
    let mut files = Vec::new();
    for below in ROOTS {
        gather(root, below, &mut files)?;
    }
    Ok(hash_of(files))
}

/// Returns whether hashed files changed since the last commit.
pub fn is_modified(root: &Path) -> Result<bool, Failure> {
    let mut git = Command::new("git");
    git.current_dir(root).args(["status", "--porcelain", "--"]).args(ROOTS);
    Ok(!process::capture(&mut git)?.trim().is_empty())
}

/// Returns the SHA-256 over path, length and bytes of every file, sorted by path.
fn hash_of(mut files: Vec<(String, Vec<u8>)>) -> String {
    files.sort();
    let mut digest = Sha256::new();
    for (path, bytes) in &files {
        digest.update(path.as_bytes());
        digest.update(format!("\0{}\0", bytes.len()));
        digest.update(bytes);
    }
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn gather(root: &Path, below: &str, files: &mut Vec<(String, Vec<u8>)>) -> Result<(), Failure> {
    let folder = root.join(below);
    let failed = |e: std::io::Error| Failure::new(format!("{}: {e}", folder.display()));
    for entry in std::fs::read_dir(&folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') || name.starts_with("target") || name == "__pycache__" {
            continue;
        }
        let path = format!("{below}/{name}");
        if entry.path().is_dir() {
            gather(root, &path, files)?;
        } else {
            files.push((path, std::fs::read(entry.path()).map_err(failed)?));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(list: &[(&str, &str)]) -> Vec<(String, Vec<u8>)> {
        list.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect()
    }

    #[test]
    fn the_order_of_files_does_not_matter_and_their_paths_do() {
        let one = hash_of(files(&[("crates/cuda/a.cu", "x"), ("crates/cuda/b.cu", "y")]));
        assert_eq!(one, hash_of(files(&[("crates/cuda/b.cu", "y"), ("crates/cuda/a.cu", "x")])));
        assert_ne!(one, hash_of(files(&[("crates/cuda/a.cu", "y"), ("crates/cuda/b.cu", "x")])));
        assert_ne!(one, hash_of(files(&[("crates/cuda/a.cu", "x"), ("crates/cuda/c.cu", "y")])));
        assert_ne!(one, hash_of(files(&[("crates/cuda/a.cu", "xy"), ("crates/cuda/b.cu", "")])));
    }

    /// Computed with Python's hashlib over `a/b.rs\0` + `2\0` + `hi`.
    #[test]
    fn the_hash_is_the_one_the_script_computes() {
        let expected = "336bfc96f542819a6609c44f27d5f713ac2c922c3393c06d2c96d718ab845b70";
        assert_eq!(hash_of(files(&[("a/b.rs", "hi")])), expected);
    }

    const GOOD: &str = r#"
        version = 1
        hash = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
        revision = "00df058"
        modified = false
        date = "2026-11-15"
        not_shown = ["write: no time"]
        [device]
        name = "NVIDIA H200"
        driver = "580.159.04"
        [tests]
        passed = 12
        failed = 0
        [corpus]
        files = 1359
        same = 1359
        hostile = 346
        hostile_same = 346
        [sanitizer]
        memcheck = "clean"
    "#;

    #[test]
    fn reads_what_the_script_writes() {
        let verified = parse(GOOD).unwrap();
        assert_eq!((verified.revision.as_str(), verified.device.as_str()), ("00df058", "NVIDIA H200"));
        assert_eq!(verified.not_shown, ["write: no time"]);
    }

    /// The shortest recorded round: the required parts, and one that failed.
    const ROUND: &str = r#"
import sys
sys.path.insert(0, "gpu")
import verified
tool = {"memcheck": {"result": "clean"}}
parts = {
    "facts": {"ok": True, "date": "2026-11-15", "name": "NVIDIA H200", "driver": "580", "compute_capability": "9.0", "memory_mib": "9"},
    "tests": {"ok": True, "passed": 12, "failed": 0},
    "corpus": {"ok": True, "files": {"files": 3, "same": 3}, "hostile": {"files": 2, "same": 2}, "share": 1.0,
        "blocks": {"lzw": {"device": 4, "host": 0}}},
    "sanitize": {"ok": True, "files": 3, "tools": tool, "writing": tool},
    "soak": {"ok": False, "why": "no time left"},
}
assert verified.lacking(parts) == [], verified.lacking(parts)
assert verified.lacking({**parts, "tests": {"ok": False, "failed": 1}}) == ["tests failed"]
assert "corpus not run" in verified.lacking({name: part for name, part in parts.items() if name != "corpus"})
bundle = {"hash": "01" * 32, "revision": "00df058", "modified": False}
sys.stdout.write(verified.text(bundle, parts))
"#;

    #[test]
    fn a_round_without_benchmarks_is_recorded_and_names_them() {
        let mut python = Command::new("python3");
        python.current_dir(env!("CARGO_MANIFEST_DIR")).args(["-B", "-c", ROUND]);
        let verified = parse(&process::capture(&mut python).unwrap()).unwrap();
        assert_eq!(verified.hash, "01".repeat(32));
        assert!(verified.not_shown.contains(&"soak: no time left".to_owned()), "{:?}", verified.not_shown);
        assert!(verified.not_shown.contains(&"bench: not run".to_owned()), "{:?}", verified.not_shown);
    }

    #[test]
    fn says_what_is_wrong() {
        let wrong = |from: &str, to: &str| parse(&GOOD.replace(from, to)).unwrap_err();
        assert_eq!(wrong("version = 1", "version = 2"), "`version` is Some(2), 1 expected");
        assert_eq!(wrong("0123456789abcdef0123", "0123456789ABCDEF0123").get(..9), Some("`hash` is"));
        assert_eq!(wrong("revision = \"00df058\"", ""), "no `revision`, or not words");
        assert_eq!(wrong("[device]", "[elsewhere]"), "no `[device]`");
        assert_eq!(wrong("[\"write: no time\"]", "[3]"), "`not_shown` is not a list of words");
        assert!(wrong("failed = 0", "failed = 1").contains("all passed"));
        assert!(wrong("same = 1359", "same = 1358").contains("agree"));
        assert_eq!(
            wrong("hostile_same = 346", "hostile_same = \"all\""),
            "no `hostile_same`, or not a whole number"
        );
        assert!(parse("version = ").is_err());
    }
}

//! Limits the length of source files, except for those listed here with a reason.

use crate::failure::Failure;
use crate::workspace::Workspace;
use std::path::Path;

const LIMIT: usize = 600;
const SOURCES: [&str; 11] = ["rs", "py", "pyi", "cu", "cuh", "h", "c", "cpp", "js", "mjs", "css"];

/// Files that may be longer: path from the root, and reason.
const ALLOWED: &[(&str, &str)] = &[];

/// Fails on a long file that is not allowed, and on an allowed file that is no longer long.
pub fn run(workspace: &Workspace) -> Result<(), Failure> {
    let mut files = Vec::new();
    walk(&workspace.root, Path::new(""), &mut files)?;
    println!("{} source files, at most {LIMIT} lines each", files.len());
    Failure::unless_empty("file size", &complaints(&files, ALLOWED))
}

fn complaints(files: &[(String, usize)], allowed: &[(&str, &str)]) -> Vec<String> {
    let is_allowed = |path: &str| allowed.iter().any(|(listed, _)| *listed == path);
    let long = files.iter().filter(|(path, lines)| *lines > LIMIT && !is_allowed(path));
    let mut found: Vec<String> =
        long.map(|(path, lines)| format!("{path}: {lines} lines, at most {LIMIT} expected")).collect();
    for (listed, _) in allowed {
        if !files.iter().any(|(path, lines)| path == listed && *lines > LIMIT) {
            found.push(format!("{listed}: listed as longer than {LIMIT} lines and is not"));
        }
    }
    found
}

/// Collects source files under `root/below` with their numbers of lines; hidden and build folders are skipped.
fn walk(root: &Path, below: &Path, files: &mut Vec<(String, usize)>) -> Result<(), Failure> {
    let folder = root.join(below);
    let failed = |e: std::io::Error| Failure::new(format!("{}: {e}", folder.display()));
    for entry in std::fs::read_dir(&folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = below.join(&name);
        if entry.file_type().map_err(failed)?.is_dir() {
            if !name.starts_with('.')
                && !name.starts_with("target")
                && !["out", "carry", "dist", "node_modules"].contains(&name.as_str())
            {
                walk(root, &path, files)?;
            }
        } else if path.extension().and_then(|e| e.to_str()).is_some_and(|e| SOURCES.contains(&e)) {
            let bytes = std::fs::read(entry.path()).map_err(failed)?;
            let lines = bytes.split(|byte| *byte == b'\n').count().saturating_sub(1);
            files.push((path.to_string_lossy().into_owned(), lines));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, lines: usize) -> (String, usize) {
        (path.to_owned(), lines)
    }

    #[test]
    fn names_the_long_file_only() {
        let found = complaints(&[file("a.rs", 600), file("b.rs", 601)], &[]);
        assert_eq!(found, ["b.rs: 601 lines, at most 600 expected"]);
    }

    #[test]
    fn an_allowed_file_may_be_long_and_must_be() {
        let allowed = [("a.rs", "a table")];
        assert!(complaints(&[file("a.rs", 900)], &allowed).is_empty());
        assert_eq!(complaints(&[file("a.rs", 9)], &allowed).len(), 1);
        assert_eq!(complaints(&[], &allowed).len(), 1);
    }
}

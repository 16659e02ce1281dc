//! Finds phrases that make texts hard to read: `CONTRIBUTING.md` has the rules for prose.
//!
//! Checks Markdown outside of code, string literals of Rust (messages and help) outside of tests, and all of the Python
//! package. Comments are left to reviewers.

use crate::failure::Failure;
use crate::workspace::Workspace;
use std::path::Path;

/// Phrase, and its replacement.
const PHRASES: [(&str, &str); 9] = [
    ("See the module", "say what the item does"),
    (" is no ", "`expected X, got Y`, or `is not a`"),
    (" so many ", "a number, or `n`"),
    ("told apart", "`distinguished`"),
    (" is told of", "`is reported`"),
    ("nobody", "`no caller`, `no program`"),
    ("whoever", "`the caller`"),
    ("Whoever", "`the caller`"),
    ("comes to stand", "`is placed`"),
];

/// Words around ` is no ` that make it plain English.
const BEFORE: [&str; 3] = ["there", "There", "it"];
const AFTER: [&str; 4] = ["longer", "more", "less", "larger"];

const FOLDERS: [&str; 14] = [
    "docs",
    "examples",
    "crates/crs/src",
    "crates/tiff/src",
    "crates/engine/src",
    "crates/codestream/src",
    "crates/cpu/src",
    "crates/cuda/src",
    "crates/remote/src",
    "crates/raster/src",
    "crates/serve/src",
    "crates/cli/src",
    "python/strile",
    "python/src",
];
const PAGES: [&str; 4] = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"];

/// Reports every phrase found.
pub fn run(workspace: &Workspace) -> Result<(), Failure> {
    let mut files: Vec<String> = PAGES.map(str::to_owned).to_vec();
    for folder in FOLDERS {
        walk(&workspace.root, Path::new(folder), &mut files)?;
    }
    let mut found = Vec::new();
    for file in &files {
        let path = workspace.root.join(file);
        let text = std::fs::read_to_string(&path).map_err(|e| Failure::new(format!("{file}: {e}")))?;
        found.extend(complaints(file, &text));
    }
    println!("{} files for users and of messages, {} phrases", files.len(), PHRASES.len());
    Failure::unless_empty("prose", &found)
}

fn complaints(file: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_code = false;
    for (number, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        if file.ends_with(".md") && trimmed.starts_with("```") {
            in_code = !in_code;
        }
        // Unit tests are at the end of a file.
        if file.ends_with(".rs") && trimmed.starts_with("#[cfg(test)]") {
            break;
        }
        let is_message = !trimmed.starts_with("//") && line.contains('"') && !line.contains("reason = \"");
        let is_comment = file.ends_with(".py") && trimmed.starts_with('#');
        if in_code || is_comment || (file.ends_with(".rs") && !is_message) {
            continue;
        }
        for (phrase, instead) in PHRASES {
            if line.match_indices(phrase).any(|(at, _)| !is_plain(line, at, phrase)) {
                found.push(format!("{file}:{}: `{}`: write {instead}", number + 1, phrase.trim()));
            }
        }
    }
    found
}

/// Returns whether the words around a phrase make it plain: `there is no`, `is no longer`.
fn is_plain(line: &str, at: usize, phrase: &str) -> bool {
    if phrase != " is no " {
        return false;
    }
    let words = |text: &str| text.rsplit(|c: char| !c.is_alphanumeric()).next().map(str::to_owned);
    let before = line.get(..at).and_then(words).unwrap_or_default();
    let after =
        line.get(at + phrase.len()..).and_then(|text| text.split_whitespace().next()).unwrap_or_default();
    BEFORE.contains(&before.as_str()) || AFTER.iter().any(|word| after.starts_with(word))
}

fn walk(root: &Path, below: &Path, files: &mut Vec<String>) -> Result<(), Failure> {
    let folder = root.join(below);
    let failed = |e: std::io::Error| Failure::new(format!("{}: {e}", folder.display()));
    for entry in std::fs::read_dir(&folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = below.join(entry.file_name());
        if entry.file_type().map_err(failed)?.is_dir() {
            walk(root, &path, files)?;
        } else if path.extension().is_some_and(|end| ["md", "rs", "py"].iter().any(|known| end == *known))
            && !path.ends_with("tests.rs")
        {
            files.push(path.to_string_lossy().into_owned());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_and_pages_are_looked_at_and_comments_are_not() {
        let of = |file: &str, text: &str| complaints(file, text).len();
        assert_eq!(of("a.rs", "    format!(\"`{name}` is no band\")"), 1);
        assert_eq!(of("a.rs", "    // \"x\" is no band"), 0);
        assert_eq!(of("a.rs", "    format!(\"there is no level {level}\")"), 0);
        assert_eq!(of("a.rs", "#[cfg(test)]\nmod tests { const X: &str = \"x is no band\"; }"), 0);
        assert_eq!(of("a.md", "It is no longer read.\n```\nx is no y\n```\nA mask is no image."), 1);
        assert_eq!(of("a.py", "\"\"\"Reads so many rows.\"\"\""), 1);
    }
}

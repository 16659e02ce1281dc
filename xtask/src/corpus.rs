//! The release binary against the conformance corpus, by the corpus's own checker.
//!
//! The corpus is not part of the repository. `STRILE_CORPUS` names its folder, packed (`unpack`, `check.py`) or unpacked
//! (`manifest.json`); else `../shared/corpus` is looked at. What is packed is unpacked once, into the target folder.

use crate::failure::Failure;
use crate::process;
use crate::venv;
use crate::workspace::Workspace;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Cases that pass today; fewer is a step back. Raise it when more do.
const FLOOR: usize = 1859;

/// Where the checker and the unpacked files lie.
pub struct Corpus {
    checker: PathBuf,
    files: PathBuf,
}

impl Corpus {
    /// Looks for the corpus and unpacks it where needed; `None` when this machine has none.
    pub fn find(workspace: &Workspace) -> Result<Option<Self>, Failure> {
        let named = std::env::var_os("STRILE_CORPUS").map(PathBuf::from);
        let beside = workspace.root.join("../shared/corpus");
        let folders: Vec<&Path> = named.iter().map(PathBuf::as_path).chain([beside.as_path()]).collect();
        let in_folders = |name: &str| folders.iter().map(|f| f.join(name)).find(|path| path.is_file());
        // An unpacked corpus may lie inside the folder that has the checker.
        let checker = in_folders("check.py").or_else(|| in_folders("../check.py"));
        let manifest = in_folders("manifest.json").or_else(|| in_folders("corpus/manifest.json"));
        let Some(checker) = checker else { return Ok(None) };
        if let Some(files) = manifest.as_deref().and_then(Path::parent) {
            return Ok(Some(Self { checker, files: files.to_owned() }));
        }
        let Some(unpack) = in_folders("unpack") else { return Ok(None) };
        let printed = process::capture(Command::new(unpack).arg(workspace.target.join("corpus")))?;
        Ok(Some(Self { checker, files: PathBuf::from(printed.trim()) }))
    }

    /// The folder with `manifest.json`, `files` and `hostile`.
    pub fn folder(&self) -> &Path {
        &self.files
    }

    /// Runs every case, shows the checker's summary and holds its passes against the floor.
    pub fn check(&self, workspace: &Workspace, rest: &[String]) -> Result<(), Failure> {
        let python = venv::CHECKS.python(workspace)?;
        let strile = workspace.release_binary()?;
        let dump = |options: &str| format!("'{}' dump --format raw {options}{{file}}", strile.display());
        let results = workspace.target.join("corpus.json");
        let _ = std::fs::remove_file(&results);
        let command = &mut Command::new(python);
        command.arg(&self.checker).arg(&self.files).args(["--geo", "--overviews", "--masks", "--show", "60"]);
        command.arg("--cmd").arg(dump("")).arg("--ovr-cmd").arg(dump("--overview {level} "));
        command.arg("--mask-cmd").arg(dump("--mask ")).arg("--json").arg(&results).args(rest);
        // Its exit status says whether anything fails at all; the floor is what counts here.
        process::show_and_keep(command)?;
        let json = std::fs::read_to_string(&results)
            .map_err(|e| Failure::new(format!("the checker left no results: {}: {e}", results.display())))?;
        let (passes, cases) = count(&json)?;
        println!("corpus: {passes} of {cases} cases pass, samples and georeferencing");
        // A choice of cases (`--filter`) is not held against the floor of all.
        if rest.is_empty() && passes < FLOOR {
            return Err(Failure::new(format!(
                "{passes} cases of the corpus pass, at least {FLOOR} expected"
            )));
        }
        Ok(())
    }
}

/// The chore: the corpus must be there.
pub fn run(workspace: &Workspace, rest: &[String]) -> Result<(), Failure> {
    let corpus = Corpus::find(workspace)?
        .ok_or_else(|| Failure::new("no corpus: neither in STRILE_CORPUS nor in ../shared/corpus"))?;
    corpus.check(workspace, rest)
}

/// Cases that passed in every respect, and all cases, of the checker's results.
fn count(json: &str) -> Result<(usize, usize), Failure> {
    let results: Vec<Value> =
        serde_json::from_str(json).map_err(|e| Failure::new(format!("the checker's results: {e}")))?;
    let passed = |case: &&Value| {
        case.get("status").and_then(Value::as_str) == Some("pass")
            && case.get("geo").is_none_or(Value::is_null)
    };
    Ok((results.iter().filter(passed).count(), results.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_with_other_georeferencing_is_none() {
        let json = r#"[{"status": "pass", "geo": null}, {"status": "pass", "geo": "epsg 1 want 2"},
                       {"status": "fail", "geo": null}]"#;
        assert_eq!(count(json).unwrap(), (1, 3));
        assert!(count("Traceback").is_err());
    }
}

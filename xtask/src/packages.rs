//! The crates as published: packaged together without a network, small enough for the registry, and complete. To check
//! that, the archives are unpacked into a separate workspace and compiled.

use crate::failure::Failure;
use crate::features::published;
use crate::process;
use crate::python::clear;
use crate::workspace::Workspace;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

/// crates.io accepts at most 10 MiB per archive.
const LARGEST: u64 = 8 << 20;

/// Packages all crates, and checks sizes and contents.
pub fn run(workspace: &Workspace) -> Result<(), Failure> {
    let names: Vec<&str> = published(workspace).filter_map(|package| package.get("name")?.as_str()).collect();
    let archives = workspace.target.join("package");
    clear(&archives)?;
    let mut package = process::cargo(&workspace.root);
    package.args(["package", "--quiet", "--no-verify", "--offline", "--locked", "--allow-dirty"]);
    // Tests are not published, and cargo warns about each.
    let ended = process::show_some_and_keep(
        package.args(names.iter().flat_map(|name| ["--package", name])),
        |line| !line.starts_with("warning: ignoring "),
    )?;
    if !ended.success {
        return Err(Failure::new("`cargo package` reports failures"));
    }
    let folder = workspace.target.join("packaged");
    clear(&folder)?;
    fs::create_dir_all(&folder).map_err(|e| failed(&folder, &e))?;
    let mut large = Vec::new();
    for name in &names {
        let archive = archives.join(format!("{name}-{}.crate", env!("CARGO_PKG_VERSION")));
        let size = fs::metadata(&archive).map_err(|e| failed(&archive, &e))?.len();
        println!("{:>6} KiB  {name}", size >> 10);
        if size > LARGEST {
            large.push(format!("{name}: {size} bytes, at most {LARGEST} expected"));
        }
        // Unpacked files get the current time: cargo sets them all to one date, so files of a later run would seem
        // unchanged.
        process::show(Command::new("tar").arg("-xzmf").arg(&archive).arg("-C").arg(&folder))?;
    }
    Failure::unless_empty("archives are too large", &large)?;
    unpacked(workspace, &folder, &names)
}

/// Checks the unpacked crates, which depend on each other as they would through the registry.
fn unpacked(workspace: &Workspace, folder: &Path, names: &[&str]) -> Result<(), Failure> {
    let root = workspace.root.join("Cargo.toml");
    let own = fs::read_to_string(&root).map_err(|e| failed(&root, &e))?;
    let manifest = folder.join("Cargo.toml");
    fs::write(&manifest, manifest_of(names, &own)).map_err(|e| failed(&manifest, &e))?;
    let lock = workspace.root.join("Cargo.lock");
    fs::copy(&lock, folder.join("Cargo.lock")).map_err(|e| failed(&lock, &e))?;
    let mut check = process::cargo(folder);
    check.args(["check", "--quiet", "--offline", "--workspace", "--target-dir"]);
    process::show(check.arg(&workspace.target))
}

/// Returns a workspace of unpacked crates, with the profile of this workspace, so that dependencies are not checked
/// again.
fn manifest_of(names: &[&str], own: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let mut text = "[workspace]\nresolver = \"3\"\nmembers = [".to_owned();
    for name in names {
        let _infallible = write!(text, "\"{name}-{version}\", ");
    }
    text.push_str("]\n\n[patch.crates-io]\n");
    for name in names {
        let _infallible = writeln!(text, "{name} = {{ path = \"{name}-{version}\" }}");
    }
    let mut inside = false;
    for line in own.lines() {
        if line.starts_with('[') {
            inside = line.starts_with("[profile.dev");
        }
        if inside {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_has_the_crates_and_our_profile() {
        let own = "[workspace]\nmembers = []\n[profile.dev]\nopt-level = 1\n[profile.release]\nlto = true\n";
        let text = manifest_of(&["strile", "strile-cli"], own);
        let version = env!("CARGO_PKG_VERSION");
        assert!(text.contains(&format!("strile-cli = {{ path = \"strile-cli-{version}\" }}")));
        assert!(text.ends_with("[profile.dev]\nopt-level = 1\n"));
        let parsed: toml::Table = text.parse().unwrap();
        assert_eq!(parsed["workspace"]["members"].as_array().unwrap().len(), 2);
    }
}

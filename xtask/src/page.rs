//! The page of `strile view`: built in advance, committed, and compared with its sources.
//!
//! `dist/manifest.toml` lists the hashes of the sources and of the built files, so that a stale page is detected
//! without npm. If npm can install esbuild, a check also rebuilds the page and compares it byte for byte.

use crate::failure::Failure;
use crate::npm::{self, PAGE};
use crate::process;
use crate::workspace::Workspace;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

const BUILT: [&str; 3] = ["app.css", "app.js", "index.html"];
const MANIFEST: &str = "manifest.toml";
const HEADER: &str =
    "# Written by `cargo xtask page`; `cargo xtask page --check` compares it with the sources.\n";

/// Builds the page, or checks it with `--check`.
pub fn run(workspace: &Workspace, args: &[String]) -> Result<(), Failure> {
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => {
            let page = npm::install(workspace)?;
            build(&page, &page.join("dist"))?;
            let text = manifest(&page)?;
            write(&page.join("dist").join(MANIFEST), &text)
        }
        ["--check"] => check(workspace),
        other => Err(Failure::new(format!("`page` takes `--check` or nothing, found `{}`", other.join(" ")))),
    }
}

/// Compares the committed page with its sources: by hashes, then by rebuilding it.
pub fn check(workspace: &Workspace) -> Result<(), Failure> {
    let stale = "crates/serve/page/dist is stale: run `cargo xtask page` and commit it";
    let page = workspace.root.join(PAGE);
    let committed = String::from_utf8_lossy(&read(&page.join("dist").join(MANIFEST))?).into_owned();
    if committed != manifest(&page)? {
        return Err(Failure::new(stale));
    }
    if let Err(failure) = npm::install(workspace) {
        println!("the page was not built again, so hashes alone were compared: {failure}");
        return Ok(());
    }
    let folder = workspace.target.join("page");
    build(&page, &folder)?;
    let mut differ = Vec::new();
    for file in BUILT {
        if read(&folder.join(file))? != read(&page.join("dist").join(file))? {
            differ.push(format!("{file} comes out otherwise"));
        }
    }
    Failure::unless_empty(stale, &differ)
}

fn build(page: &Path, folder: &Path) -> Result<(), Failure> {
    process::show(Command::new("node").current_dir(page).arg("build.mjs").arg(folder))
}

/// Returns the hashes of the sources and of the built files, and the bundler's version.
fn manifest(page: &Path) -> Result<String, Failure> {
    let mut sources = BTreeMap::new();
    hash(page, "build.mjs", &mut sources)?;
    walk(page, "src", &mut sources)?;
    let mut built = BTreeMap::new();
    for file in BUILT {
        hash(&page.join("dist"), file, &mut built)?;
    }
    let package: serde_json::Value = serde_json::from_slice(&read(&page.join("package.json"))?)
        .map_err(|e| Failure::new(format!("package.json: {e}")))?;
    let version = package.pointer("/devDependencies/esbuild").and_then(serde_json::Value::as_str);
    let version = version.ok_or_else(|| Failure::new("package.json names no version of esbuild"))?;
    let lines = |files: &BTreeMap<String, String>| -> String {
        files.iter().map(|(name, sum)| format!("\"{name}\" = \"{sum}\"\n")).collect()
    };
    Ok(format!(
        "{HEADER}esbuild = \"{version}\"\n\n[sources]\n{}\n[built]\n{}",
        lines(&sources),
        lines(&built)
    ))
}

fn walk(root: &Path, below: &str, sums: &mut BTreeMap<String, String>) -> Result<(), Failure> {
    let folder = root.join(below);
    let failed = |e: std::io::Error| Failure::new(format!("{}: {e}", folder.display()));
    for entry in std::fs::read_dir(&folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = format!("{below}/{}", entry.file_name().to_string_lossy());
        if entry.file_type().map_err(failed)?.is_dir() {
            walk(root, &name, sums)?;
        } else {
            hash(root, &name, sums)?;
        }
    }
    Ok(())
}

fn hash(root: &Path, name: &str, sums: &mut BTreeMap<String, String>) -> Result<(), Failure> {
    let sum = Sha256::digest(read(&root.join(name))?);
    sums.insert(name.to_owned(), sum.iter().map(|byte| format!("{byte:02x}")).collect());
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|e| Failure::new(format!("{}: {e}", path.display())))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|e| Failure::new(format!("{}: {e}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_page_is_that_of_its_sources() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(PAGE);
        let committed = std::fs::read_to_string(page.join("dist").join(MANIFEST)).unwrap();
        assert_eq!(committed, manifest(&page).unwrap(), "run `cargo xtask page`");
    }

    #[test]
    fn the_page_loads_nothing_from_elsewhere() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(PAGE);
        for file in BUILT {
            let text = std::fs::read_to_string(page.join("dist").join(file)).unwrap();
            let found = text.find("http://").or_else(|| text.find("https://"));
            assert_eq!(found, None, "{file}");
            assert!(
                !text.contains("style=\"") && !text.contains("onclick=\""),
                "{file}: inline, refused by the policy"
            );
        }
    }
}

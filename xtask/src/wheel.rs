//! The release wheel: built for manylinux_2_28, checked by auditwheel, and tested in a fresh environment of every
//! supported Python on this machine. With `--sdist`, also the source distribution, from which a wheel is built.

use crate::failure::Failure;
use crate::process;
use crate::python;
use crate::venv;
use crate::workspace::Workspace;
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Oldest C library that the wheel supports: glibc 2.28, of 2018.
const PLATFORM: &str = "manylinux_2_28";
const GLIBC: (u32, u32) = (2, 28);

/// Supported minor versions of Python 3.
const MINORS: std::ops::RangeInclusive<u32> = 11..=14;

/// Builds and tests the wheel, and with `--sdist` the source distribution.
pub fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), Failure> {
    let with_source = match arguments {
        [] => false,
        [one] if one == "--sdist" => true,
        _ => {
            return Err(Failure::new(format!(
                "expected no argument or `--sdist`, got `{}`",
                arguments.join(" ")
            )));
        }
    };
    let python = venv::WHEEL.python(workspace)?;
    let folder = workspace.target.join("wheel");
    python::clear(&folder)?;
    let wheel = build(workspace, &python, &folder)?;
    audit(&python, &wheel)?;
    let mut report = vec![format!("{}: {}", file_name(&wheel), size(&wheel)?)];
    for minor in MINORS {
        report.push(match interpreter(minor) {
            Some(base) => try_with(workspace, &base, minor, &wheel)?,
            None => format!("Python 3.{minor}: skipped, not found on the path, below pyenv or by uv"),
        });
    }
    if with_source {
        report.push(source(workspace, &python, &folder)?);
    }
    println!("\n{}", report.join("\n"));
    Ok(())
}

/// Builds the wheel with Zig as C compiler and linker, so that it needs no newer C library than the platform's.
fn build(workspace: &Workspace, python: &Path, folder: &Path) -> Result<PathBuf, Failure> {
    let mut maturin = python::module(workspace, python, "maturin");
    maturin.args(["build", "--release", "--locked", "--zig", "--compatibility", PLATFORM]);
    process::show(
        maturin
            .args(["--manifest-path", "python/Cargo.toml", "--interpreter"])
            .arg(python)
            .arg("--out")
            .arg(folder)
            .env("PATH", path_with(python)?),
    )?;
    python::only_file(folder, "whl")
}

/// Fails unless auditwheel confirms that the wheel runs on the platform.
fn audit(python: &Path, wheel: &Path) -> Result<(), Failure> {
    let told =
        process::capture(Command::new(python).args(["-m", "auditwheel", "show", "--json"]).arg(wheel))?;
    println!("auditwheel: {}", told.trim());
    let json: Value = serde_json::from_str(&told).map_err(|e| Failure::new(format!("auditwheel: {e}")))?;
    let tag = json.get("overall_tag").and_then(Value::as_str).unwrap_or_default();
    match runs_on(tag, GLIBC) {
        true => Ok(()),
        false => Err(Failure::new(format!("{}: expected {PLATFORM}, got `{tag}`", wheel.display()))),
    }
}

/// Returns whether a wheel with a tag such as `manylinux_2_17_x86_64` runs with that glibc version.
fn runs_on(tag: &str, glibc: (u32, u32)) -> bool {
    let version = || {
        let mut numbers = tag.strip_prefix("manylinux_")?.split('_');
        Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    };
    version().is_some_and(|needed: (u32, u32)| needed <= glibc)
}

/// Returns a Python 3.`minor` of this machine: on the path, below pyenv, or known to uv.
fn interpreter(minor: u32) -> Option<PathBuf> {
    let name = format!("python3.{minor}");
    let mut candidates = vec![PathBuf::from(&name)];
    if let Ok(root) = process::capture(Command::new("pyenv").arg("root")) {
        let versions = std::fs::read_dir(Path::new(root.trim()).join("versions"));
        candidates.extend(
            versions.into_iter().flatten().flatten().map(|entry| entry.path().join("bin").join(&name)),
        );
    }
    if let Ok(found) = process::capture(Command::new("uv").args(["python", "find", &format!("3.{minor}")])) {
        candidates.push(found.trim().into());
    }
    let test = format!("import sys, venv; sys.exit(sys.version_info[:2] != (3, {minor}))");
    candidates.into_iter().find(|python| process::answers(Command::new(python).args(["-c", &test])))
}

/// Installs the wheel and its dependencies into a fresh environment and runs the smoke test there.
fn try_with(workspace: &Workspace, base: &Path, minor: u32, wheel: &Path) -> Result<String, Failure> {
    let folder = workspace.target.join(format!("wheel-python-3.{minor}"));
    process::show(Command::new(base).args(["-m", "venv", "--clear"]).arg(&folder))?;
    let python = folder.join("bin/python");
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"];
    process::show(Command::new(&python).args(pip).arg(wheel))?;
    // Outside the checkout, so that the installed package is imported.
    let script = workspace.root.join("xtask/python/wheel_smoke.py");
    let told = process::capture(Command::new(&python).current_dir(&folder).arg("-B").arg(script))?;
    Ok(told.lines().last().unwrap_or_default().to_owned())
}

/// Builds the source distribution, and from it a wheel. That wheel has the dev profile: only the completeness of the
/// files is checked, and dependencies compiled for the tests are reused.
fn source(workspace: &Workspace, python: &Path, folder: &Path) -> Result<String, Failure> {
    process::show(
        python::module(workspace, python, "maturin")
            .args(["sdist", "--manifest-path", "python/Cargo.toml", "--out"])
            .arg(folder),
    )?;
    let archive = python::only_file(folder, "gz")?;
    let built = folder.join("from-sdist");
    process::show(
        Command::new(python)
            .args(["-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"])
            .arg("--wheel-dir")
            .arg(&built)
            .arg(&archive)
            .env("MATURIN_PEP517_ARGS", "--profile dev --auditwheel skip")
            .env("CARGO_TARGET_DIR", &workspace.target)
            .env("PATH", path_with(python)?),
    )?;
    let wheel = python::only_file(&built, "whl")?;
    Ok(format!("{}: {}, builds {}", file_name(&archive), size(&archive)?, file_name(&wheel)))
}

/// Returns a PATH for programs with the environment of that Python first: pip starts its `maturin`, which starts its
/// Zig.
fn path_with(python: &Path) -> Result<OsString, Failure> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = python.parent().map(Path::to_owned).into_iter().chain(std::env::split_paths(&path));
    std::env::join_paths(folders).map_err(|e| Failure::new(format!("PATH: {e}")))
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn size(path: &Path) -> Result<String, Failure> {
    let bytes = std::fs::metadata(path).map_err(|e| Failure::new(format!("{}: {e}", path.display())))?.len();
    Ok(format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wheel_runs_on_its_platform_and_newer_ones() {
        assert!(runs_on("manylinux_2_28_x86_64", GLIBC));
        assert!(runs_on("manylinux_2_17_x86_64", GLIBC));
        assert!(!runs_on("manylinux_2_34_x86_64", GLIBC));
        assert!(!runs_on("linux_x86_64", GLIBC));
        assert!(!runs_on("", GLIBC));
    }
}

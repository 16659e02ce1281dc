//! The Python package as users get it: a wheel of the dev profile, installed into a separate environment, with types
//! checked by mypy and tests run by pytest on the installed copy.

use crate::failure::Failure;
use crate::process;
use crate::ran::TestsRan;
use crate::venv;
use crate::workspace::Workspace;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs only this step of `cargo xtask test`.
pub fn run(workspace: &Workspace) -> Result<(), Failure> {
    let mut ran = TestsRan::default();
    let ended = test(workspace, &mut ran);
    for test in ran.failed() {
        println!("failed: {test}");
    }
    for (test, reason) in ran.skipped() {
        println!("skipped: {test}: {reason}");
    }
    println!("\n{}", ran.count());
    ended
}

/// Builds the wheel and installs it. Returns the environment's Python.
pub fn installed(workspace: &Workspace) -> Result<PathBuf, Failure> {
    let python = venv::PYTHON.python(workspace)?;
    let wheel = build(workspace, &python, "dev", "python-wheel")?;
    install(&python, &wheel)?;
    Ok(python)
}

/// Builds a wheel of the release profile and installs it into another environment, without its dependencies.
pub fn install_release(workspace: &Workspace, into: &Path) -> Result<(), Failure> {
    let python = venv::PYTHON.python(workspace)?;
    let wheel = build(workspace, &python, "release", "release-wheel")?;
    install(into, &wheel)
}

/// Builds, installs, and writes the errors and warnings of all cases to the file that a test compares with.
pub fn messages(workspace: &Workspace) -> Result<(), Failure> {
    let python = installed(workspace)?;
    let script = "python/tests/messages/test_messages.py";
    process::show(Command::new(python).current_dir(&workspace.root).args(["-B", script]))
}

/// Builds, installs, checks and tests.
pub fn test(workspace: &Workspace, ran: &mut TestsRan) -> Result<(), Failure> {
    let python = installed(workspace)?;
    let typed = process::show(
        module(workspace, &python, "mypy")
            .args(["--config-file", "python/pyproject.toml", "--cache-dir"])
            .arg(workspace.target.join("mypy"))
            .arg("python/strile"),
    );
    let mut pytest = module(workspace, &python, "pytest");
    let standin = stand_in(workspace)?;
    match &standin {
        Some(folder) => {
            pytest.env("STRILE_STANDIN", folder);
        }
        None => println!(
            "the stand-in for the CUDA driver is built on x86-64 Linux alone: its tests are left out"
        ),
    }
    pytest.env("STRILE_HOSTILE", hostile(workspace)?);
    // One process per core; the tests of a file run in one process, which keeps their shared state.
    let jobs = std::thread::available_parallelism().map_or(1, usize::from).to_string();
    pytest
        .args(["-c", "python/pyproject.toml", "--rootdir", "python", "-p", "no:cacheprovider"])
        .args(["-n", &jobs, "--dist", "loadfile", "-v", "-rsx", "--no-fold-skipped", "--color", "no"])
        .args(["--durations", "10", "python/tests"]);
    // Hides lines of starting tests: their results are shown.
    let ended = process::show_some_and_keep(&mut pytest, |line| {
        !line.starts_with("python/tests/") && !line.starts_with("tests/")
    })?;
    ran.add_pytest(&ended.lines);
    typed?;
    // Reads onto grids, compared with GDAL's warper: a part of the cases; `check_warp.py --all` runs the others too.
    // Also checks that this finds mistakes.
    counted(workspace, &python, ran, "check_warp_mutants", None)?;
    counted(workspace, &python, ran, "check_warp", None)?;
    if let Some(folder) = &standin {
        counted(workspace, &python, ran, "check_vrt", Some(folder.as_ref()))?;
    }
    if in_ci() {
        Failure::unless_empty("packages that tests need are missing", &missing(&ended.lines))?;
    }
    if ended.success { Ok(()) } else { Err(Failure::new("pytest reports failures")) }
}

/// Runs a program of `xtask/python` that counts its cases; with a stand-in for the driver, on its device.
fn counted(
    workspace: &Workspace,
    python: &Path,
    ran: &mut TestsRan,
    name: &str,
    standin: Option<&Path>,
) -> Result<(), Failure> {
    let mut check = Command::new(python);
    check.current_dir(&workspace.root).args(["-B", &format!("xtask/python/{name}.py")]);
    let mut called = name.to_owned();
    if let Some(folder) = standin {
        check.args(["--device", "cuda:0"]).env("LD_LIBRARY_PATH", folder);
        called.push_str("_on_device");
    }
    let ended = process::show_and_keep(&mut check)?;
    if !(ran.add_counted(&called, &ended.lines) && ended.success) {
        return Err(Failure::new(format!("{called} reports failures")));
    }
    Ok(())
}

/// Packages that may be missing in CI, which has no GPU. All others are pinned, so their absence is a mistake.
const OPTIONAL: [&str; 5] = ["cupy", "jax", "torch", "rmm", "numba"];

/// Returns whether this run is in CI, where all pinned packages must exist.
pub fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

/// Returns pytest's lines about tests that were skipped because a pinned package cannot be imported.
fn missing(lines: &[String]) -> Vec<String> {
    let skips = lines.iter().filter(|line| line.starts_with("SKIPPED "));
    let missing = skips.filter(|line| {
        let Some((_, rest)) = line.split_once("could not import '") else { return false };
        let module = rest.split(['.', '\'']).next().unwrap_or_default();
        !OPTIONAL.contains(&module)
    });
    missing.cloned().collect()
}

/// Returns the folder of the stand-in for the CUDA driver, which runs the kernels on the CPU.
pub fn stand_in(workspace: &Workspace) -> Result<Option<String>, Failure> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Ok(None);
    }
    let example = ["run", "--quiet", "--package", "strile-emulate", "--example", "standin"];
    let folder = process::capture(process::cargo(&workspace.root).args(example))?;
    Ok(Some(folder.trim().to_owned()))
}

/// Recreates a folder of small files that request much: a pipe among them cannot be created twice.
fn hostile(workspace: &Workspace) -> Result<PathBuf, Failure> {
    let folder = workspace.target.join("hostile");
    let failed = |e: std::io::Error| Failure::new(format!("{}: {e}", folder.display()));
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(failed)?;
    }
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let example = ["run", "--quiet", "--package", "testkit", "--example", "hostile", "--"];
    process::show(process::cargo(&workspace.root).args(example).arg(&folder))?;
    Ok(folder)
}

/// Builds the wheel of a profile, in a folder without other wheels.
fn build(workspace: &Workspace, python: &Path, profile: &str, folder: &str) -> Result<PathBuf, Failure> {
    let folder = workspace.target.join(folder);
    clear(&folder)?;
    process::show(
        module(workspace, python, "maturin")
            .args([
                "build",
                "--profile",
                profile,
                "--auditwheel",
                "skip",
                "--manifest-path",
                "python/Cargo.toml",
            ])
            .arg("--interpreter")
            .arg(python)
            .arg("--out")
            .arg(&folder),
    )?;
    only_file(&folder, "whl")
}

/// Removes a folder, if it exists.
pub fn clear(folder: &Path) -> Result<(), Failure> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Failure::new(format!("{}: {error}", folder.display())))
        }
        _ => Ok(()),
    }
}

/// Returns the only file in a folder with this extension.
pub fn only_file(folder: &Path, extension: &str) -> Result<PathBuf, Failure> {
    let entries =
        std::fs::read_dir(folder).map_err(|e| Failure::new(format!("{}: {e}", folder.display())))?;
    let files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    match files.as_slice() {
        [file] => Ok(file.clone()),
        others => Err(Failure::new(format!(
            "{}: expected one file *.{extension}, got {}",
            folder.display(),
            others.len()
        ))),
    }
}

/// Installs a wheel. Its dependencies are already in the environment, pinned: nothing is fetched here.
fn install(python: &Path, wheel: &Path) -> Result<(), Failure> {
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    process::show(Command::new(python).args(pip).args(["--no-deps", "--force-reinstall"]).arg(wheel))
}

/// Returns the command `python -m NAME` at the root of the repository, without writing compiled files.
pub fn module(workspace: &Workspace, python: &Path, name: &str) -> Command {
    let mut command = Command::new(python);
    command.current_dir(&workspace.root).args(["-B", "-m", name]);
    process::without_package(&mut command);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_package_may_not_be_missing_in_ci() {
        let line =
            |module: &str| format!("SKIPPED tests/x.py::test_y - Skipped: could not import '{module}': none");
        let other = "SKIPPED tests/x.py::test_z - Skipped: no GPU".to_owned();
        let lines = [line("cupy"), line("torch"), line("rasterio"), other];
        assert_eq!(missing(&lines), [line("rasterio")]);
        assert_eq!(missing(&[line("dask.array")]), [line("dask.array")]);
    }
}

//! The kernels of `crates/cuda`: compiled in advance, committed, and compared with their sources.
//!
//! `xtask/python/build_kernels.py` does the work. Hashes are compared first, so that a stale tree is detected without
//! the compilers; if those cannot be installed, a check says so and compares only hashes.

use crate::failure::Failure;
use crate::process;
use crate::venv;
use crate::workspace::Workspace;
use std::path::Path;
use std::process::Command;

/// Builds outdated kernels, or checks with `--check`.
pub fn run(workspace: &Workspace, args: &[String]) -> Result<(), Failure> {
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => process::show(&mut script(workspace, &venv::KERNELS.python(workspace)?, "build")),
        ["--release"] => process::show(&mut script(workspace, &venv::KERNELS.python(workspace)?, "release")),
        ["--check"] => check(workspace),
        other => Err(Failure::new(format!(
            "`kernels` takes `--check`, `--release` or nothing, found `{}`",
            other.join(" ")
        ))),
    }
}

/// Compares the committed files with their sources: by hashes, then by compiling again.
pub fn check(workspace: &Workspace) -> Result<(), Failure> {
    let stale = |_| Failure::new("crates/cuda/built is stale: run `cargo xtask kernels` and commit it");
    let machine = venv::KERNELS.machine_python()?;
    process::show(&mut script(workspace, Path::new(&machine), "hashes")).map_err(stale)?;
    match venv::KERNELS.python(workspace) {
        Ok(python) => process::show(&mut script(workspace, &python, "check")).map_err(stale),
        Err(failure) => {
            println!("the compilers could not be installed, so hashes alone were compared: {failure}");
            Ok(())
        }
    }
}

/// Writes cubins with line tables to a folder, for `STRILE_KERNELS`.
pub fn with_lines(workspace: &Workspace, folder: &Path) -> Result<(), Failure> {
    let python = venv::KERNELS.python(workspace)?;
    process::show(script(workspace, &python, "lines").arg(folder))
}

fn script(workspace: &Workspace, python: &Path, chore: &str) -> Command {
    let mut command = Command::new(python);
    command.current_dir(&workspace.root).args(["-B", "xtask/python/build_kernels.py", chore]);
    command
}

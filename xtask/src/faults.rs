//! Runs the fault suite: `xtask/faults/run.py` over the command line and the installed Python package.
//!
//! The suite's shim is built here with `cc` and loaded into the programs by LD_PRELOAD, so the suite requires Linux.
//! The suite runs in the environment of the Python package, which has its oracles.

use crate::failure::Failure;
use crate::process;
use crate::python;
use crate::ran::TestsRan;
use crate::venv;
use crate::workspace::Workspace;
use std::path::PathBuf;
use std::process::Command;

/// Runs the chore: builds the program and the package, then runs the cases whose names contain one of `names`, or all,
/// and the Rust tests of the same kind.
pub fn run(workspace: &Workspace, names: &[String]) -> Result<(), Failure> {
    process::show(process::cargo(&workspace.root).args(["build", "--package", "strile-cli"]))?;
    python::installed(workspace)?;
    let mut ran = TestsRan::default();
    let mut ended = suite(workspace, &mut ran, names);
    if names.is_empty() {
        // Kills at any moment, full disks and file size limits, through the library.
        let tests = ["test", "--package", "strile", "--test", "crash", "--test", "sinks"];
        ended = ended.and(process::show(process::cargo(&workspace.root).args(tests)));
    }
    for (test, reason) in ran.skipped() {
        println!("skipped: {test}: {reason}");
    }
    println!("\n{}", ran.count());
    ended
}

/// Runs the step of `cargo xtask test`, after the steps that build the program and install the package.
pub fn test(workspace: &Workspace, ran: &mut TestsRan) -> Result<(), Failure> {
    suite(workspace, ran, &[])
}

fn suite(workspace: &Workspace, ran: &mut TestsRan, names: &[String]) -> Result<(), Failure> {
    if !cfg!(target_os = "linux") {
        ran.skip("python::faults".to_owned(), "the fault suite preloads a library, on Linux alone");
        return Ok(());
    }
    let shim = shim(workspace)?;
    let mut script = Command::new(venv::PYTHON.python(workspace)?);
    script.current_dir(&workspace.root).args(["-B", "xtask/faults/run.py", "--strile"]);
    script.arg(workspace.target.join("debug/strile")).arg("--shim").arg(shim);
    if let Some(folder) = python::stand_in(workspace)? {
        script.arg("--standin").arg(folder);
    }
    let ended = process::show_and_keep(script.args(names))?;
    ran.add_python(&ended.lines);
    if ended.success { Ok(()) } else { Err(Failure::new("the fault suite reports failures")) }
}

/// Builds the library that makes system calls fail.
fn shim(workspace: &Workspace) -> Result<PathBuf, Failure> {
    let library = workspace.target.join("faults-shim.so");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let mut command = Command::new(compiler);
    command
        .current_dir(&workspace.root)
        .args(["-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o"])
        .arg(&library);
    process::show(command.args(["xtask/faults/shim.c", "-ldl", "-lpthread"]))?;
    Ok(library)
}

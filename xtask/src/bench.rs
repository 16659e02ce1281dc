//! Benchmarks against peers, in separate environments: whole reads of the release build (`docs/bench/cpu_peers.py`),
//! or, with `--peers`, the Python package and every installed peer (`docs/bench/peers/run.py`; `remote.py` with
//! `--remote`).

use crate::failure::Failure;
use crate::process;
use crate::python;
use crate::venv;
use crate::workspace::Workspace;
use std::path::PathBuf;
use std::process::Command;

/// Builds and measures; rasters are in the target folder, further arguments go to the script.
pub fn run(workspace: &Workspace, rest: &[String]) -> Result<(), Failure> {
    match rest.split_first() {
        Some((first, rest)) if first == "--peers" => peers(workspace, rest),
        _ => whole_reads(workspace, rest),
    }
}

fn whole_reads(workspace: &Workspace, rest: &[String]) -> Result<(), Failure> {
    let python = venv::BENCH.python(workspace)?;
    let strile = workspace.release_binary_and_bench()?;
    process::show(
        Command::new(python)
            .current_dir(&workspace.root)
            .arg("docs/bench/cpu_peers.py")
            .arg(workspace.target.join("bench-data"))
            .arg("--strile")
            .arg(strile)
            .args(rest),
    )
}

/// Measures in the Python that `--python` names, with its strile and peers; else in the environment of the benchmarks,
/// with a release build of this tree.
fn peers(workspace: &Workspace, rest: &[String]) -> Result<(), Failure> {
    let (python, rest): (PathBuf, &[String]) = match rest {
        [option, path, rest @ ..] if option == "--python" => (path.into(), rest),
        rest => {
            let python = venv::BENCH.python(workspace)?;
            python::install_release(workspace, &python)?;
            (python, rest)
        }
    };
    let (script, rest) = match rest {
        [option, rest @ ..] if option == "--remote" => ("docs/bench/peers/remote.py", rest),
        rest => ("docs/bench/peers/run.py", rest),
    };
    process::show(
        Command::new(python)
            .current_dir(&workspace.root)
            .args(["-B", "-W", "ignore", script])
            .arg(workspace.target.join("bench-peers"))
            .args(rest),
    )
}

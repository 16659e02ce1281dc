//! Whole reads beside the peers: the release binary given to `docs/bench/cpu_peers.py` in its own environment.

use crate::failure::Failure;
use crate::process;
use crate::venv;
use crate::workspace::Workspace;
use std::process::Command;

/// Builds and measures; rasters lie in the target folder, further arguments go to the script.
pub fn run(workspace: &Workspace, rest: &[String]) -> Result<(), Failure> {
    let python = venv::BENCH.python(workspace)?;
    let strile = workspace.release_binary()?;
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

//! The kernels of `crates/cuda`: compiled ahead, committed, and compared with their sources.
//!
//! `xtask/python/build_kernels.py` does the work. Hashes are compared first, so that a stale tree is told without the
//! compilers; where those cannot be installed a check says so and leaves it at the hashes.

use crate::failure::Failure;
use crate::process;
use crate::venv;
use crate::workspace::Workspace;
use std::path::Path;
use std::process::Command;

/// Builds what is stale, or checks with `--check`.
pub fn run(workspace: &Workspace, args: &[String]) -> Result<(), Failure> {
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => process::show(&mut script(workspace, &venv::KERNELS.python(workspace)?, "build")),
        ["--check"] => check(workspace),
        other => {
            Err(Failure::new(format!("`kernels` takes `--check` or nothing, found `{}`", other.join(" "))))
        }
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

/// Cubins with line tables in a folder, for `STRILE_KERNELS`.
pub fn with_lines(workspace: &Workspace, folder: &Path) -> Result<(), Failure> {
    let python = venv::KERNELS.python(workspace)?;
    process::show(script(workspace, &python, "lines").arg(folder))
}

fn script(workspace: &Workspace, python: &Path, chore: &str) -> Command {
    let mut command = Command::new(python);
    command.current_dir(&workspace.root).args(["-B", "xtask/python/build_kernels.py", chore]);
    command
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    /// Turing, Ampere and Ada, Hopper, and the two kinds of Blackwell: code for the first capability of each runs on all of it.
    const GENERATIONS: [&str; 5] = ["sm75", "sm80", "sm90", "sm100", "sm120"];

    /// PTX is compiled by the driver at its first use, which takes seconds.
    #[test]
    fn every_kernel_has_machine_code_for_every_generation() {
        let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/cuda/built");
        let names: Vec<String> = std::fs::read_dir(built)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let modules: Vec<&str> = names.iter().filter_map(|name| name.strip_suffix(".ptx")).collect();
        assert!(modules.contains(&"deflate"), "{names:?}");
        for module in modules {
            for generation in GENERATIONS {
                let cubin = format!("{module}.{generation}.cubin");
                assert!(names.contains(&cubin), "{cubin} is missing");
            }
        }
    }
}

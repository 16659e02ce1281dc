//! Python environments of the repository, each made once from a list of pinned packages.

use crate::failure::Failure;
use crate::process;
use crate::python;
use crate::workspace::Workspace;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An environment: its location, contents, and the oldest Python that has those packages.
pub struct Environment {
    folder: &'static str,
    requirements: &'static str,
    oldest: (u32, u32),
}

/// For the checks of `cargo xtask test` and the corpus.
pub const CHECKS: Environment =
    Environment { folder: ".venv", requirements: "xtask/python/requirements.txt", oldest: (3, 11) };

/// For the Python package: its build tools, dependencies and reference packages.
pub const PYTHON: Environment = Environment {
    folder: ".venv-python",
    requirements: "xtask/python/requirements-python.txt",
    oldest: (3, 11),
};

/// For the benchmark: only wheels for Python 3.12 and newer have GDAL's LIBERTIFF driver.
pub const BENCH: Environment = Environment {
    folder: ".venv-bench",
    requirements: "xtask/python/requirements-bench.txt",
    oldest: (3, 12),
};

/// For compiling kernels.
pub const KERNELS: Environment = Environment {
    folder: ".venv-kernels",
    requirements: "xtask/python/requirements-kernels.txt",
    oldest: (3, 11),
};

/// For the documentation site.
pub const DOCS: Environment =
    Environment { folder: ".venv-docs", requirements: "xtask/python/requirements-docs.txt", oldest: (3, 11) };

/// For release wheels.
pub const WHEEL: Environment = Environment {
    folder: ".venv-wheel",
    requirements: "xtask/python/requirements-wheel.txt",
    oldest: (3, 11),
};

impl Environment {
    /// Returns the environment's Python, after making the environment, or remaking it if the list has changed.
    pub fn python(&self, workspace: &Workspace) -> Result<PathBuf, Failure> {
        let folder = workspace.root.join(self.folder);
        let requirements = workspace.root.join(self.requirements);
        let python = folder.join("bin/python");
        let stamp = folder.join("installed.txt");
        let wanted = read(&requirements)?;
        if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
            self.check(&python, &requirements)?;
            return Ok(python);
        }
        let base = self.machine_python()?;
        process::show(Command::new(base).args(["-m", "venv", "--clear"]).arg(&folder))?;
        process::show(
            Command::new(&python)
                .args([
                    "-m",
                    "pip",
                    "install",
                    "--quiet",
                    "--disable-pip-version-check",
                    "--only-binary=:all:",
                    "-r",
                ])
                .arg(&requirements),
        )?;
        std::fs::write(&stamp, wanted).map_err(|e| Failure::new(format!("{}: {e}", stamp.display())))?;
        self.check(&python, &requirements)?;
        Ok(python)
    }

    /// Fails if a pinned package is missing or has another version: tests that need it would skip themselves. Outside
    /// of CI this is a warning.
    fn check(&self, python: &Path, requirements: &Path) -> Result<(), Failure> {
        let told = process::capture(Command::new(python).args(["-c", PINNED]).arg(requirements))?;
        let complaints: Vec<String> = told.lines().map(str::to_owned).collect();
        match Failure::unless_empty(self.folder, &complaints) {
            Err(failure) if !python::in_ci() => {
                eprintln!("warning: {failure}");
                Ok(())
            }
            checked => checked,
        }
    }

    /// Returns a Python of the machine that is new enough: `STRILE_PYTHON`, else `python3`, else `python3.MINOR` on the
    /// path.
    pub fn machine_python(&self) -> Result<String, Failure> {
        let (major, minor) = self.oldest;
        let test = format!("import sys, venv; sys.exit(sys.version_info < ({major}, {minor}))");
        let named = std::env::var("STRILE_PYTHON").ok();
        let by_version = (minor..minor + 4).map(|minor| format!("python{major}.{minor}"));
        let mut candidates = named.into_iter().chain(["python3".to_owned()]).chain(by_version);
        candidates.find(|python| process::answers(Command::new(python).args(["-c", &test]))).ok_or_else(|| {
            Failure::new(format!(
                "no Python {major}.{minor} or newer on the path (looked for `python3` and `python{major}.{minor}`); \
                 install it, or name one by STRILE_PYTHON"
            ))
        })
    }
}

/// Prints one line per package that is not installed as pinned.
const PINNED: &str = r##"
import sys
from importlib.metadata import PackageNotFoundError, version
for line in open(sys.argv[1]):
    name, pinned, wanted = line.strip().partition("==")
    if not pinned or name.startswith("#"):
        continue
    try:
        found = version(name)
    except PackageNotFoundError:
        print(f"{name}: expected {wanted}, not installed")
        continue
    if found != wanted:
        print(f"{name}: expected {wanted}, got {found}")
"##;

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|e| Failure::new(format!("{}: {e}", path.display())))
}

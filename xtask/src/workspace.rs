//! Paths: the repository's root, cargo's target folder, and the output of `cargo metadata`.

use crate::failure::Failure;
use crate::process;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The repository and its packages, as cargo sees them.
pub struct Workspace {
    pub root: PathBuf,
    pub target: PathBuf,
    metadata: Value,
}

impl Workspace {
    /// Runs `cargo metadata`.
    pub fn find() -> Result<Self, Failure> {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
        let here = manifest.parent().unwrap_or(manifest);
        let json = process::capture(process::cargo(here).args(["metadata", "--format-version=1"]))?;
        let metadata: Value =
            serde_json::from_str(&json).map_err(|e| Failure::new(format!("cargo metadata: {e}")))?;
        let folder = |key: &str| {
            metadata
                .get(key)
                .and_then(Value::as_str)
                .map(PathBuf::from)
                .ok_or_else(|| Failure::new(format!("cargo metadata has no `{key}`")))
        };
        Ok(Self { root: folder("workspace_root")?, target: folder("target_directory")?, metadata })
    }

    /// Returns every package of the graph: the workspace and all dependencies, for all platforms and features.
    pub fn packages(&self) -> impl Iterator<Item = &Value> {
        self.metadata.get("packages").and_then(Value::as_array).into_iter().flatten()
    }

    /// Returns the names of the workspace's packages.
    pub fn members(&self) -> impl Iterator<Item = &str> {
        self.packages()
            .filter(|package| package.get("source").is_none_or(Value::is_null))
            .filter_map(|package| package.get("name").and_then(Value::as_str))
    }

    /// Returns whether a workspace package has a library, whose documentation may contain tests.
    pub fn has_library(&self, member: &str) -> bool {
        let is_library = |target: &Value| {
            let mut kinds = target.get("kind").and_then(Value::as_array).into_iter().flatten();
            kinds.any(|kind| kind.as_str() == Some("lib"))
        };
        self.packages()
            .filter(|package| package.get("name").and_then(Value::as_str) == Some(member))
            .filter_map(|package| package.get("targets").and_then(Value::as_array))
            .flatten()
            .any(is_library)
    }

    /// Returns the path of `strile`, built for release.
    pub fn release_binary(&self) -> Result<PathBuf, Failure> {
        process::show(process::cargo(&self.root).args(["build", "--release", "--package", "strile-cli"]))?;
        Ok(self.target.join("release/strile"))
    }

    /// Returns the path of `strile`, built for release, with the program `bench` beside it.
    pub fn release_binary_and_bench(&self) -> Result<PathBuf, Failure> {
        let programs =
            ["--package", "strile-cli", "--package", "strile-check", "--bin", "strile", "--bin", "bench"];
        process::show(process::cargo(&self.root).args(["build", "--release"]).args(programs))?;
        Ok(self.target.join("release/strile"))
    }
}

//! Checks that every published library with features compiles without its default features and with each feature alone:
//! a build of the whole workspace enables all of them, and hides code that needs a feature without naming it.

use crate::failure::Failure;
use crate::process;
use crate::workspace::Workspace;
use serde_json::Value;

/// Checks all combinations and names those that fail.
pub fn run(workspace: &Workspace) -> Result<(), Failure> {
    let mut failed = Vec::new();
    for package in published(workspace) {
        let Some(name) = package.get("name").and_then(Value::as_str) else { continue };
        let features = features(package);
        if features.is_empty() || !workspace.has_library(name) {
            continue;
        }
        for feature in std::iter::once(None).chain(features.into_iter().map(Some)) {
            let mut check = process::cargo(&workspace.root);
            check.args(["check", "--quiet", "--locked", "--lib", "--no-default-features", "--package", name]);
            check.args(feature.iter().flat_map(|feature| ["--features", feature]));
            let ended = process::show_and_keep(&mut check)?;
            let with = feature.unwrap_or("no features");
            if !ended.success {
                failed.push(format!("{name}: does not compile with {with}"));
            } else if ended.lines.iter().any(|line| line.starts_with("warning: ")) {
                failed.push(format!("{name}: compiles with warnings with {with}"));
            }
        }
    }
    Failure::unless_empty("features", &failed)
}

/// Returns the workspace packages that are published.
pub fn published(workspace: &Workspace) -> impl Iterator<Item = &Value> {
    workspace.packages().filter(|package| is_published(package))
}

/// Returns whether a package is in the workspace and published: `publish` is an empty list if not.
fn is_published(package: &Value) -> bool {
    package.get("source").is_none_or(Value::is_null)
        && package.get("publish").and_then(Value::as_array).is_none_or(|registries| !registries.is_empty())
}

/// Returns the names of a package's features, without `default`, in order.
fn features(package: &Value) -> Vec<&str> {
    let names = package.get("features").and_then(Value::as_object).into_iter().flatten();
    names.map(|(name, _)| name.as_str()).filter(|name| *name != "default").collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn packages_of_others_and_unpublished_ones_are_left_out() {
        assert!(is_published(&json!({ "source": null, "publish": null })));
        assert!(!is_published(&json!({ "source": null, "publish": [] })));
        assert!(!is_published(&json!({ "source": "registry", "publish": null })));
        assert_eq!(features(&json!({ "features": { "cuda": [], "default": ["cuda"] } })), ["cuda"]);
    }
}

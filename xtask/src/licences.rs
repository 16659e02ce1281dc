//! Checks the licence of every dependency against the list in `deny.toml`.
//!
//! cargo-deny reads the same file and also runs if it is installed. It is not required, so that a new machine need not
//! compile it first: of its checks this project needs the licences (`[licenses]`: `allow`, `exceptions`, `clarify`) and
//! the sources (a registry or this repository, nothing from git), which are checked here.

use crate::failure::Failure;
use crate::process;
use crate::spdx;
use crate::workspace::Workspace;
use serde_json::Value;
use toml::Table;

/// Fails on a package whose licence is unknown or not allowed, or that comes from another source.
pub fn run(workspace: &Workspace) -> Result<(), Failure> {
    let path = workspace.root.join("deny.toml");
    let text = std::fs::read_to_string(&path).map_err(|e| Failure::new(format!("deny.toml: {e}")))?;
    let rules = Rules::parse(&text)?;
    let complaints: Vec<String> =
        workspace.packages().filter_map(|package| rules.complaint(package)).collect();
    println!("{} packages held against deny.toml", workspace.packages().count());
    Failure::unless_empty("licences", &complaints)?;
    if process::answers(process::cargo(&workspace.root).args(["deny", "--version"])) {
        return process::show(
            process::cargo(&workspace.root).args(["deny", "check", "licenses", "bans", "sources"]),
        );
    }
    println!("cargo-deny is not installed: licences and sources checked here, its own checks left out");
    Ok(())
}

struct Rules {
    allow: Vec<String>,
    /// Package name, and licences allowed only for it.
    exceptions: Vec<(String, Vec<String>)>,
    /// Package name, and the licence that its manifest omits.
    clarify: Vec<(String, String)>,
}

impl Rules {
    fn parse(text: &str) -> Result<Self, Failure> {
        let table: Table = text.parse().map_err(|e| Failure::new(format!("deny.toml: {e}")))?;
        let licenses = table
            .get("licenses")
            .and_then(toml::Value::as_table)
            .ok_or_else(|| Failure::new("deny.toml: no table `licenses`"))?;
        let entries = |key: &str| licenses.get(key).and_then(toml::Value::as_array).into_iter().flatten();
        // cargo-deny accepts both `crate` and the older `name`.
        let name_of = |entry: &toml::Value| {
            entry.get("crate").or_else(|| entry.get("name")).and_then(toml::Value::as_str).map(str::to_owned)
        };
        let exceptions =
            entries("exceptions").filter_map(|e| Some((name_of(e)?, strings(e.get("allow"))))).collect();
        let clarify = entries("clarify")
            .filter_map(|e| Some((name_of(e)?, e.get("expression")?.as_str()?.to_owned())))
            .collect();
        Ok(Self { allow: strings(licenses.get("allow")), exceptions, clarify })
    }

    fn complaint(&self, package: &Value) -> Option<String> {
        let field = |key: &str| package.get(key).and_then(Value::as_str);
        let name = field("name").unwrap_or_default();
        let version = field("version").unwrap_or_default();
        if let Some(source) = field("source")
            && !source.starts_with("registry+")
        {
            return Some(format!("{name} {version}: comes from `{source}`, a registry expected"));
        }
        let clarified =
            self.clarify.iter().find(|(of, _)| of == name).map(|(_, expression)| expression.as_str());
        let Some(expression) = clarified.or_else(|| field("license")) else {
            return Some(format!("{name} {version}: no licence in its manifest"));
        };
        let own = self.exceptions.iter().filter(|(of, _)| of == name).flat_map(|(_, allow)| allow);
        let allowed: Vec<&String> = self.allow.iter().chain(own).collect();
        match spdx::is_allowed(expression, &|licence| allowed.iter().any(|a| *a == licence)) {
            Some(true) => None,
            Some(false) => Some(format!("{name} {version}: `{expression}` is not allowed by deny.toml")),
            None => Some(format!("{name} {version}: `{expression}` is not a licence expression")),
        }
    }
}

fn strings(value: Option<&toml::Value>) -> Vec<String> {
    let items = value.and_then(toml::Value::as_array).into_iter().flatten();
    items.filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const REGISTRY: &str = "registry+https://registry.example";
    const RULES: &str = r#"
        [licenses]
        allow = ["MIT"]
        exceptions = [{ crate = "special", allow = ["CC0-1.0"] }]
        [[licenses.clarify]]
        crate = "silent"
        expression = "MIT"
    "#;

    fn complaint(name: &str, license: Value, source: Value) -> Option<String> {
        let package = json!({ "name": name, "version": "1.0.0", "license": license, "source": source });
        Rules::parse(RULES).unwrap().complaint(&package)
    }

    #[test]
    fn allowed_excepted_and_clarified_pass() {
        assert_eq!(complaint("plain", json!("MIT OR GPL-3.0"), json!(REGISTRY)), None);
        assert_eq!(complaint("special", json!("CC0-1.0"), json!(REGISTRY)), None);
        assert_eq!(complaint("silent", Value::Null, json!(REGISTRY)), None);
        assert_eq!(complaint("ours", json!("MIT"), Value::Null), None);
    }

    #[test]
    fn the_rest_is_named() {
        let words = complaint("plain", json!("CC0-1.0"), json!(REGISTRY)).unwrap();
        assert_eq!(words, "plain 1.0.0: `CC0-1.0` is not allowed by deny.toml");
        let words = complaint("plain", Value::Null, json!(REGISTRY)).unwrap();
        assert_eq!(words, "plain 1.0.0: no licence in its manifest");
        let words = complaint("plain", json!("MIT"), json!("git+https://example.org/x")).unwrap();
        assert_eq!(words, "plain 1.0.0: comes from `git+https://example.org/x`, a registry expected");
    }
}

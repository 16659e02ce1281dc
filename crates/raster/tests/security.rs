//! SECURITY.md says which limits there are and what they are by default; this compares it with the code.
//!
//! The fields of the structs that hold limits are taken from their `Debug`, so that a new limit without a row fails.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use strile::ReadOptions;
use strile::batch::HeaderLimits;
use strile::read::PieceLimits;
use strile::tiff::Limits;
use strile::vrt::VrtOptions;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A row of the table: what is limited, the default, and the names of the option.
struct Row {
    default: String,
    rust: Vec<String>,
    cli: Vec<String>,
    python: Vec<String>,
}

fn rows() -> Vec<Row> {
    let text = std::fs::read_to_string(root().join("SECURITY.md")).unwrap();
    let cells = text.lines().filter_map(|line| {
        let line = line.strip_prefix("| ")?.strip_suffix(" |")?;
        let cells: Vec<&str> = line.split(" | ").collect();
        (cells.len() == 5).then_some(cells)
    });
    let named = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    cells
        .filter(|cells| cells[0] != "limit" && !cells[0].starts_with("--"))
        .map(|cells| Row {
            default: cells[1].to_owned(),
            rust: named(cells[2]),
            cli: named(cells[3]),
            python: named(cells[4]),
        })
        .collect()
}

/// `65,536`, `256 KiB`, `none`: as the code has it.
fn number(default: &str) -> String {
    let (digits, unit) = default.split_once(' ').unwrap_or((default, ""));
    let unit = match unit {
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => 1u64,
    };
    match digits.replace(',', "").parse::<u64>() {
        Ok(number) => (number * unit).to_string(),
        Err(_) if default == "none" => "None".to_owned(),
        Err(_) => default.to_owned(),
    }
}

/// Fields and values of `Name { a: 1, b: Some(2) }`, those that hold no struct themselves.
fn fields(debug: &str) -> BTreeMap<String, String> {
    let (_, inner) = debug.split_once(" { ").unwrap();
    let inner = inner.strip_suffix(" }").unwrap();
    inner
        .split(", ")
        .filter_map(|field| field.split_once(": "))
        .map(|(k, v)| (k.to_owned(), v.to_owned()))
        .collect()
}

/// Every limit that the code has: `Struct::field` and its default.
fn limits() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut add = |name: &str, debug: &str, prefix: &str| {
        let of_struct = fields(debug).into_iter().filter(|(field, _)| field.starts_with(prefix));
        found.extend(of_struct.map(|(field, default)| (format!("{name}::{field}"), default)));
    };
    add("Limits", &format!("{:?}", Limits::default()), "");
    add("PieceLimits", &format!("{:?}", PieceLimits::default()), "");
    add("HeaderLimits", &format!("{:?}", HeaderLimits::default()), "");
    add("ReadOptions", &format!("{:?}", ReadOptions::default()), "max_");
    add("VrtOptions", &format!("{:?}", VrtOptions::default()), "max_");
    found
}

#[test]
fn every_limit_is_in_the_table_with_its_default() {
    let rows = rows();
    assert!(rows.len() > 10, "the table of SECURITY.md was not found");
    let mut wrong = Vec::new();
    for (name, default) in limits() {
        match rows.iter().find(|row| row.rust.contains(&name)) {
            None => wrong.push(format!("`{name}` ({default}) has no row")),
            Some(row) if number(&row.default) != default => {
                wrong.push(format!("`{name}`: expected {default}, the table says {}", row.default));
            }
            Some(_) => {}
        }
    }
    assert!(wrong.is_empty(), "SECURITY.md:\n{}", wrong.join("\n"));
}

/// Sources below a folder, as one text.
fn sources(folder: &Path, extension: &str) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            text += &sources(&path, extension);
        } else if path.extension().is_some_and(|found| found == extension) {
            text += &std::fs::read_to_string(&path).unwrap();
        }
    }
    text
}

#[test]
fn every_option_in_the_table_exists() {
    let known = limits();
    let cli = sources(&root().join("crates/cli/src"), "rs");
    let python = sources(&root().join("python/strile"), "py") + &sources(&root().join("python/src"), "rs");
    let mut wrong = Vec::new();
    for row in rows() {
        let structs =
            ["Limits::", "PieceLimits::", "HeaderLimits::", "ReadOptions::max_", "VrtOptions::max_"];
        let ours = row.rust.iter().filter(|name| structs.iter().any(|start| name.starts_with(start)));
        wrong
            .extend(ours.filter(|name| !known.contains_key(*name)).map(|name| format!("no option `{name}`")));
        for flag in
            row.cli.iter().filter_map(|words| words.split_whitespace().find(|word| word.starts_with("--")))
        {
            let field = flag.trim_start_matches('-').replace('-', "_");
            if !cli.contains(&format!("pub {field}:"))
                && !cli.contains(&format!("\"{}\"", flag.trim_start_matches('-')))
            {
                wrong.push(format!("the command line has no `{flag}`"));
            }
        }
        let variables = row.python.iter().filter(|name| name.starts_with("STRILE_"));
        wrong.extend(
            variables.filter(|name| !python.contains(*name)).map(|name| format!("Python reads no `{name}`")),
        );
        for keyword in
            row.python.iter().filter(|name| name.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
        {
            if !python.contains(&format!("{keyword}:")) {
                wrong.push(format!("Python has no keyword `{keyword}`"));
            }
        }
    }
    assert!(wrong.is_empty(), "SECURITY.md:\n{}", wrong.join("\n"));
}

/// Crates that compute with numbers of a file stop at an overflow in released builds too.
#[test]
fn parsing_and_planning_check_arithmetic_in_released_builds() {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    for package in [
        "strile-crs",
        "strile-tiff",
        "strile-codestream",
        "strile-engine",
        "strile-remote",
        "strile",
        "strile-serve",
    ] {
        let section = format!("[profile.release.package.{package}]\noverflow-checks = true\n");
        assert!(manifest.contains(&section), "Cargo.toml has no `{section}`");
    }
}

/// docs/reliability.md names the tests of every finding; each of them exists.
#[test]
fn every_test_of_a_finding_exists() {
    let page = std::fs::read_to_string(root().join("docs/reliability.md")).unwrap();
    let (_, section) = page.split_once("## Findings and their tests").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let rust = sources(&root().join("crates"), "rs");
    let python = sources(&root().join("python/tests"), "py") + &sources(&root().join("xtask/faults"), "py");
    let rows: Vec<&str> = section.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert!(rows.len() > 15, "the table of findings was not found");
    let mut missing = Vec::new();
    for row in rows {
        let tests: Vec<&str> = row.rsplit("| ").next().unwrap().split('`').skip(1).step_by(2).collect();
        assert!(!tests.is_empty(), "no test in {row}");
        missing.extend(tests.into_iter().filter(|name| {
            let is_function =
                rust.contains(&format!("fn {name}()")) || python.contains(&format!("def {name}("));
            let bare = name.strip_prefix("aux-").unwrap_or(name);
            let is_case = [*name, bare]
                .iter()
                .any(|name| rust.contains(&format!("\"{name}\"")) || python.contains(&format!("\"{name}\"")));
            !is_function && !is_case
        }));
    }
    assert!(missing.is_empty(), "docs/reliability.md names tests that do not exist: {missing:?}");
}

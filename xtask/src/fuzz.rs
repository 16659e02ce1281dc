//! Fuzzing: a fixed time over all targets, as in CI, or a long run whose figures are recorded.
//!
//! The fixed-time run uses the development profile, with overflow checks and without recompiling. A long run builds for
//! release, continues where the last one ended and adds its figures to `docs/bench/fuzz.json`.

use crate::failure::Failure;
use crate::process;
use crate::workspace::Workspace;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Seconds of the run in CI, for all targets together.
pub const CI_SECONDS: u64 = 60;

const SUMS: &str = "docs/bench/fuzz.json";
const DOCUMENT: &str = "docs/reliability.md";

/// Runs the chore: `--long` and `--coverage` are handled here, other arguments go to the program.
pub fn run(workspace: &Workspace, args: &[String]) -> Result<(), Failure> {
    let is = |name: &str| args.iter().any(|arg| arg == name);
    let rest: Vec<&str> = args
        .iter()
        .map(String::as_str)
        .filter(|arg| !["--long", "--coverage", "--table"].contains(arg))
        .collect();
    if is("--table") {
        let words = ["--table", DOCUMENT, "--sums", SUMS];
        return process::show(program(workspace, false)?.args(words));
    }
    if is("--add") {
        return process::show(program(workspace, false)?.args(rest).args(["--sums", SUMS]));
    }
    if is("--coverage") {
        return coverage(workspace, &rest);
    }
    if !is("--long") {
        return process::show(program(workspace, false)?.args(fresh(workspace, &rest)?).args(rest));
    }
    let commit = commit(workspace)?;
    let mut long = program(workspace, true)?;
    if !rest.iter().any(|arg| ["--mutants", "--seconds"].contains(arg)) {
        long.arg("--goals");
    }
    process::show(long.args(["--sums", SUMS, "--commit", &commit]).args(rest))
}

/// Does the run in CI.
pub fn in_ci(workspace: &Workspace) -> Result<(), Failure> {
    let seconds = CI_SECONDS.to_string();
    process::show(program(workspace, false)?.args(["--seconds", &seconds]).args(fresh(workspace, &[])?))
}

/// Builds the program with the whole workspace, so that features are the same as in tests and nothing is compiled
/// twice.
fn program(workspace: &Workspace, release: bool) -> Result<Command, Failure> {
    let mut build = process::cargo(&workspace.root);
    build.args(if release {
        &["build", "--release", "--package", "fuzz"][..]
    } else {
        &["build", "--workspace", "--bin", "fuzz"]
    });
    process::show(&mut build)?;
    let folder = if release { "release" } else { "debug" };
    let mut command = Command::new(workspace.target.join(folder).join("fuzz"));
    command.current_dir(&workspace.root).arg("--keep").arg(workspace.target.join("fuzz-failures"));
    Ok(command)
}

/// Returns numbers that depend on the commit: new code gets new mutants, and the same commit the same ones.
fn fresh(workspace: &Workspace, given: &[&str]) -> Result<Vec<String>, Failure> {
    if given.contains(&"--first") {
        return Ok(Vec::new());
    }
    let digits: String = commit(workspace)?.chars().take(8).collect();
    let number = u64::from_str_radix(&digits, 16).unwrap_or(0) << 16;
    Ok(vec!["--first".to_owned(), number.to_string()])
}

fn commit(workspace: &Workspace) -> Result<String, Failure> {
    let mut git = Command::new("git");
    git.current_dir(&workspace.root).args(["rev-parse", "--short=12", "HEAD"]);
    Ok(process::capture(&mut git)?.trim().to_owned())
}

/// Runs every target in an instrumented build and prints the share of lines reached.
fn coverage(workspace: &Workspace, rest: &[&str]) -> Result<(), Failure> {
    let tools = [llvm_tool("llvm-profdata")?, llvm_tool("llvm-cov")?];
    let folder = workspace.target.join("coverage");
    let failed = |e: std::io::Error| Failure::new(format!("{}: {e}", folder.display()));
    let profiles = folder.join("profiles");
    if profiles.exists() {
        std::fs::remove_dir_all(&profiles).map_err(failed)?;
    }
    std::fs::create_dir_all(&profiles).map_err(failed)?;
    let mut build = process::cargo(&workspace.root);
    build.args(["build", "--package", "fuzz"]).env("CARGO_TARGET_DIR", &folder);
    process::show(build.env("RUSTFLAGS", "-C instrument-coverage"))?;
    let program = folder.join("debug/fuzz");
    let listed = process::capture(Command::new(&program).current_dir(&workspace.root).arg("--list"))?;
    let named: Vec<&str> = rest.iter().copied().filter(|arg| !arg.starts_with('-')).collect();
    let mut all = Vec::new();
    for target in listed.lines().filter_map(|line| line.split_once(' ').map(|(name, _)| name)) {
        if !(named.is_empty() || named.contains(&target)) {
            continue;
        }
        let mut fuzz = Command::new(&program);
        fuzz.current_dir(&workspace.root).args([target, "--mutants", "20000", "--jobs", "1"]);
        process::show(fuzz.env("LLVM_PROFILE_FILE", profiles.join(format!("{target}-%p.profraw"))))?;
        let merged = profiles.join(format!("{target}.profdata"));
        merge(&tools[0], &raw_profiles(&profiles, target).map_err(failed)?, &merged)?;
        report(&tools[1], &program, &merged, target)?;
        all.push(merged);
    }
    let merged = profiles.join("all.profdata");
    merge(&tools[0], &all, &merged)?;
    report(&tools[1], &program, &merged, "all targets")?;
    let mut files = Command::new(&tools[1]);
    files.arg("report").arg(&program).arg("--instr-profile").arg(&merged);
    process::show(files.args(["--ignore-filename-regex", OTHERS]))
}

/// Files of other projects, or files that only tests need.
const OTHERS: &str = "registry|rustc|/fuzz/|/testkit/|/emulate/|/rustlib/";

fn raw_profiles(folder: &Path, target: &str) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let number =
            name.strip_prefix(target).and_then(|rest| rest.strip_prefix('-')?.strip_suffix(".profraw"));
        if number.is_some_and(|number| number.chars().all(|c| c.is_ascii_digit())) {
            found.push(path);
        }
    }
    Ok(found)
}

fn merge(tool: &Path, from: &[PathBuf], to: &Path) -> Result<(), Failure> {
    process::show(Command::new(tool).args(["merge", "--sparse", "-o"]).arg(to).args(from))
}

/// Returns one line: the lines of strile's crates that a target reached.
fn report(tool: &Path, program: &Path, profile: &Path, name: &str) -> Result<(), Failure> {
    let mut cov = Command::new(tool);
    cov.arg("export").arg(program).arg("--instr-profile").arg(profile).arg("--summary-only");
    let text = process::capture(cov.args(["--ignore-filename-regex", OTHERS]))?;
    let value: serde_json::Value = serde_json::from_str(&text)
        .map_err(|e| Failure::new(format!("{} gave no JSON: {e}", tool.display())))?;
    let number = |key: &str| value.pointer(&format!("/data/0/totals/lines/{key}")).and_then(|n| n.as_u64());
    match (number("covered"), number("count")) {
        (Some(covered), Some(count)) => {
            println!("coverage of {name}: {covered} of {count} lines");
            Ok(())
        }
        _ => Err(Failure::new(format!("{} names no lines", tool.display()))),
    }
}

/// Returns a tool of LLVM: that of the toolchain (`rustup component add llvm-tools`), or one on the path.
fn llvm_tool(name: &str) -> Result<PathBuf, Failure> {
    let root = process::capture(Command::new("rustc").args(["--print", "sysroot"]))?;
    let libraries = Path::new(root.trim()).join("lib/rustlib");
    let hosts = std::fs::read_dir(&libraries).into_iter().flatten().filter_map(Result::ok);
    let found = hosts.map(|host| host.path().join("bin").join(name)).find(|path| path.is_file());
    if let Some(path) = found {
        return Ok(path);
    }
    if process::answers(Command::new(name).arg("--version")) {
        return Ok(PathBuf::from(name));
    }
    Err(Failure::new(format!("coverage needs {name}; install it with `rustup component add llvm-tools`")))
}

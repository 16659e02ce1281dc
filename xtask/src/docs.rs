//! Builds the documentation site as a static folder, `target/site`: pages by mkdocs in strict mode, the reference of
//! the command line from the program's own help, the Python reference from docstrings, and rustdoc below `rust/`.

use crate::failure::Failure;
use crate::process;
use crate::python;
use crate::venv;
use crate::workspace::Workspace;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// The page that is made from `--help`.
const REFERENCE: &str = "docs/command-line-reference.md";

const INTRODUCTION: &str = "\
# Command line reference

This page holds the help text of every command. `cargo xtask docs` writes it; [the guide](command-line.md) has examples.
";

/// Action for the reference of the command line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reference {
    /// Write it.
    Write,
    /// Fail if the committed page differs from the program's help.
    Check,
}

/// Builds the site; with `--check`, fails if the reference of the command line is outdated.
pub fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), Failure> {
    match arguments {
        [] => build(workspace, Reference::Write),
        [one] if one == "--check" => build(workspace, Reference::Check),
        _ => Err(Failure::new(format!("expected no argument or `--check`, got `{}`", arguments.join(" ")))),
    }
}

/// Builds the site and checks all of its links.
pub fn build(workspace: &Workspace, reference: Reference) -> Result<(), Failure> {
    let python = venv::DOCS.python(workspace)?;
    command_line(workspace, reference)?;
    let site = workspace.target.join("site");
    python::clear(&site)?;
    process::show(
        python::module(workspace, &python, "mkdocs")
            .args(["build", "--quiet", "--strict", "--site-dir"])
            .arg(&site)
            .env("NO_MKDOCS_2_WARNING", "1"),
    )?;
    let rustdoc = ["doc", "--workspace", "--no-deps"];
    process::show(process::cargo(&workspace.root).args(rustdoc).env("RUSTDOCFLAGS", "--deny warnings"))?;
    copy(&workspace.target.join("doc"), &site.join("rust"))?;
    process::show(
        Command::new(&python)
            .current_dir(&workspace.root)
            .args(["-B", "xtask/python/check_links.py"])
            .arg(&site),
    )?;
    println!("{}", site.join("index.html").display());
    Ok(())
}

/// Writes or checks the reference of the command line.
fn command_line(workspace: &Workspace, reference: Reference) -> Result<(), Failure> {
    process::show(process::cargo(&workspace.root).args(["build", "--workspace", "--bin", "strile"]))?;
    let program = workspace.target.join("debug/strile");
    let help = |command: &[&str]| {
        process::capture(Command::new(&program).args(command).arg("--help").env("COLUMNS", "100"))
    };
    let text = page(&help)?;
    let path = workspace.root.join(REFERENCE);
    if reference == Reference::Write {
        return std::fs::write(&path, text).map_err(|e| Failure::new(format!("{REFERENCE}: {e}")));
    }
    match std::fs::read_to_string(&path) {
        Ok(committed) if committed == text => Ok(()),
        Ok(_) => Err(Failure::new(format!("{REFERENCE} differs from `--help`; run `cargo xtask docs`"))),
        Err(error) => Err(Failure::new(format!("{REFERENCE}: {error}"))),
    }
}

/// Returns the page: the program's help, then a section per command, followed by those of its subcommands.
fn page(help: &impl Fn(&[&str]) -> Result<String, Failure>) -> Result<String, Failure> {
    let mut text = INTRODUCTION.to_owned();
    let mut waiting: Vec<Vec<String>> = vec![Vec::new()];
    while let Some(words) = waiting.pop() {
        let borrowed: Vec<&str> = words.iter().map(String::as_str).collect();
        let told = help(&borrowed)?;
        let title = std::iter::once("strile").chain(borrowed).collect::<Vec<_>>().join(" ");
        let lines: Vec<&str> = told.lines().map(str::trim_end).collect();
        let _infallible = write!(text, "\n## {title}\n\n```text\n{}\n```\n", lines.join("\n").trim_end());
        for name in commands(&told).into_iter().rev() {
            waiting.push(words.iter().cloned().chain([name.to_owned()]).collect());
        }
    }
    Ok(text)
}

/// Returns the commands that a help text lists, in order.
fn commands(help: &str) -> Vec<&str> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| line.starts_with("  "));
    // Continuation lines of a description are indented further.
    let names = listed.filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").collect()
}

/// Copies a folder recursively.
fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    let failed = |path: &Path, e: &std::io::Error| Failure::new(format!("{}: {e}", path.display()));
    std::fs::create_dir_all(to).map_err(|e| failed(to, &e))?;
    for entry in std::fs::read_dir(from).map_err(|e| failed(from, &e))? {
        let path = entry.map_err(|e| failed(from, &e))?.path();
        let target = to.join(path.file_name().unwrap_or(OsStr::new("")));
        if path.is_dir() {
            copy(&path, &target)?;
        } else {
            std::fs::copy(&path, &target).map_err(|e| failed(&path, &e))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELP: &str = "\
Does things.

Usage: strile <COMMAND>

Commands:
  info  Show a file
        in two lines
  cog   Check files
  help  Print this message

Options:
  -q, --quiet";

    #[test]
    fn commands_are_those_that_the_help_lists() {
        assert_eq!(commands(HELP), ["info", "cog"]);
        assert!(commands("Usage: strile info\n\nOptions:\n  -q").is_empty());
    }

    #[test]
    fn every_command_has_a_section_in_the_order_of_the_help() {
        let help = |words: &[&str]| match words {
            [] => Ok(HELP.to_owned()),
            ["cog"] => Ok("Commands:\n  validate  Check\n".to_owned()),
            other => Ok(format!("help of {}", other.join(" "))),
        };
        let page = page(&help).unwrap();
        let titles: Vec<&str> = page.lines().filter(|line| line.starts_with("## ")).collect();
        assert_eq!(titles, ["## strile", "## strile info", "## strile cog", "## strile cog validate"]);
        assert!(page.contains("```text\nhelp of cog validate\n```\n"));
    }
}

//! Runs other programs: shows their output immediately, and keeps it for parsing.

use crate::failure::Failure;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// Result of a program, with its lines if they were kept (stdout and stderr, in the order written).
pub struct Ended {
    pub success: bool,
    pub lines: Vec<String>,
}

/// Returns `cargo`, the same one that runs this program, in the given folder.
pub fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    without_package(&mut command);
    command
}

/// Removes the variables that `cargo run` sets for this package. Build scripts of dependencies read them (ring's does):
/// they would run again, and everything above them would be recompiled, whenever cargo is started alternately from a
/// shell and from here.
pub fn without_package(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let of_package = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
        if name.to_str().is_some_and(of_package) {
            command.env_remove(name);
        }
    }
}

/// Runs to the end with inherited stdout and stderr; a non-zero exit status is a failure.
pub fn show(command: &mut Command) -> Result<(), Failure> {
    let words = describe(command);
    eprintln!("$ {words}");
    let status = command.status().map_err(|e| Failure::new(format!("`{words}` did not start: {e}")))?;
    if status.success() { Ok(()) } else { Err(Failure::new(format!("`{words}` ended with {status}"))) }
}

/// Runs to the end, showing each line and keeping it.
pub fn show_and_keep(command: &mut Command) -> Result<Ended, Failure> {
    show_some_and_keep(command, |_| true)
}

/// Runs to the end, keeping every line and showing those that `shown` selects.
pub fn show_some_and_keep(
    command: &mut Command,
    mut shown: impl FnMut(&str) -> bool,
) -> Result<Ended, Failure> {
    let words = describe(command);
    eprintln!("$ {words}");
    let failed = |e: std::io::Error| Failure::new(format!("`{words}`: {e}"));
    let (reader, writer) = std::io::pipe().map_err(failed)?;
    command.stdin(Stdio::null()).stdout(writer.try_clone().map_err(failed)?).stderr(writer);
    let mut child = command.spawn().map_err(failed)?;
    // The command holds write ends of the pipe; while they are open the reader sees no end.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut lines = Vec::new();
    let mut reader = BufReader::new(reader);
    let mut bytes = Vec::new();
    while reader.read_until(b'\n', &mut bytes).map_err(failed)? > 0 {
        let line = String::from_utf8_lossy(&bytes).trim_end().to_owned();
        if shown(&line) {
            eprintln!("{line}");
        }
        lines.push(line);
        bytes.clear();
    }
    let status = child.wait().map_err(failed)?;
    Ok(Ended { success: status.success(), lines })
}

/// Returns stdout of a program, or a failure with its stderr.
pub fn capture(command: &mut Command) -> Result<String, Failure> {
    let words = describe(command);
    let out = command.output().map_err(|e| Failure::new(format!("`{words}` did not start: {e}")))?;
    if out.status.success() {
        return Ok(String::from_utf8_lossy(&out.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&out.stderr);
    Err(Failure::new(format!("`{words}` ended with {}: {}", out.status, said.trim())))
}

/// Returns whether a program starts and succeeds, that is, is installed.
pub fn answers(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success())
}

fn describe(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    std::iter::once(program)
        .chain(command.get_args())
        .map(OsStr::to_string_lossy)
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_hears_nothing_of_our_package() {
        // `cargo test` sets these variables.
        assert!(std::env::var_os("CARGO_PKG_NAME").is_some());
        let command = cargo(Path::new("."));
        let removed: Vec<&OsStr> =
            command.get_envs().filter(|(_, value)| value.is_none()).map(|(name, _)| name).collect();
        assert!(removed.contains(&OsStr::new("CARGO_PKG_NAME")));
        assert!(removed.contains(&OsStr::new("CARGO_MANIFEST_DIR")));
    }
}

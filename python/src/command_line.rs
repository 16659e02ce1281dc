//! Runs the program `strile` inside the Python package.

use pyo3::prelude::*;
use std::ffi::OsString;
use std::panic::catch_unwind;

/// Runs the command line and returns its exit code. The first argument is the program's name.
///
/// Takes over the signals of the process: only `strile.__main__` calls it, once.
#[pyfunction]
pub(crate) fn command_line(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    // The exit code of a Rust program that panics; the message is on standard error already.
    const PANICKED: u8 = 101;
    py.detach(|| catch_unwind(|| strile_cli::run(arguments)).unwrap_or(PANICKED))
}

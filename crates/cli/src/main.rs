//! The program `strile`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(strile_cli::run(std::env::args_os()))
}

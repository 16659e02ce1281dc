//! `strile completions`.

use crate::args::{Arguments, CompletionsArgs};
use crate::failure::{Failure, Outcome};
use crate::output::print;
use clap::CommandFactory as _;

pub fn run(args: &CompletionsArgs) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Arguments::command(), "strile", &mut script);
    print(String::from_utf8_lossy(&script).trim_end())?;
    Ok(Outcome::Clean)
}

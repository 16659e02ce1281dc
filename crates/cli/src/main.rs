//! The command line of strile: parse, resolve, call one function of `strile`, print.
//!
//! Data goes to standard output, everything else to standard error. Exit 0: done; 1: done, and faults or
//! differences were found; 2: an error, told in one sentence; 130: stopped by Ctrl-C.

mod args;
mod commands;
mod failure;
mod geo;
mod input;
mod json;
mod output;
mod progress;
mod samples;

use args::{Arguments, Command};
use clap::Parser as _;
use failure::{Failure, Outcome};
use std::process::ExitCode;

fn main() -> ExitCode {
    let given: Vec<_> = std::env::args_os().collect();
    if let Some(problem) = args::unavailable(&given) {
        return Failure::Request(problem, None).report();
    }
    let arguments = Arguments::parse_from(args::with_long_options(given.into_iter()));
    let session = match input::Session::new(arguments.quiet) {
        Ok(session) => session,
        Err(failure) => return failure.report(),
    };
    let outcome: Result<Outcome, Failure> = match arguments.command {
        Command::Info(args) => commands::info::run(&args, &session),
        Command::Dump(args) => commands::dump::run(&args, &session),
        Command::Convert(args) => commands::convert::run(&args, &session),
        Command::Overview(args) => commands::overview::run(&args, &session),
        Command::Sample(args) => commands::sample::run(&args, &session),
        Command::Vrt(args) => commands::vrt::run(&args, &session),
        Command::Index(args) => commands::index::run(&args, &session),
        Command::Compare(args) => commands::compare::run(&args, &session),
        Command::Cog(command) => commands::cog::run(&command, &session),
        Command::Bench(args) => commands::bench::run(&args, &session),
        Command::Devices(args) => commands::devices::run(&args),
        Command::Demo(args) => commands::demo::run(&args, &session),
        Command::Completions(args) => commands::completions::run(&args),
    };
    match outcome {
        Ok(Outcome::Clean) => ExitCode::SUCCESS,
        Ok(Outcome::Found) => ExitCode::from(1),
        // Whatever failed while stopping, the reason is that a stop was asked for.
        Err(_) if session.cancel.is_cancelled() => Failure::Strile(strile::Error::Cancelled).report(),
        Err(failure) => failure.report(),
    }
}

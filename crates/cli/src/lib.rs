//! The command line of strile as a library: parse, resolve, call one function of `strile`, print.
//!
//! The program `strile` and the Python package both call [`run`]. Data goes to standard output, everything else to
//! standard error. Exit codes: 0, done; 1, done, and faults or differences were found; 2, an error, reported in one
//! sentence; 130, stopped by Ctrl-C.

mod args;
mod commands;
mod failure;
mod geo;
mod input;
mod json;
mod output;
mod progress;
mod samples;

#[cfg(feature = "serve")]
pub use commands::info::described;

use args::{Arguments, Command};
use clap::Parser as _;
use failure::{Failure, Outcome};
use std::ffi::OsString;
use std::io::Write as _;
use std::time::Instant;
use strile::engine::share_heap_if_limited;
use strile::io::{RemoteStats, remote_stats};

/// Runs the command line and returns its exit code. The first argument is the program's name.
///
/// Handles SIGINT, SIGTERM and SIGHUP for the rest of the process, so call it once, at the end of the process. The
/// first signal cancels the command, the second one ends the process.
///
/// ```
/// let code = strile_cli::run(["strile", "--version"].map(Into::into));
/// assert_eq!(code, 0);
/// ```
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    share_heap_if_limited();
    let code = run_command(arguments.into_iter().collect());
    // Rust only flushes standard output by itself if it owns `main`. A closed pipe is not an error.
    let _closed = std::io::stdout().flush();
    code
}

fn run_command(given: Vec<OsString>) -> u8 {
    if let Some(problem) = args::unavailable(&given) {
        return Failure::Request(problem, None).report();
    }
    let arguments = match Arguments::try_parse_from(args::with_long_options(given.into_iter())) {
        Ok(arguments) => arguments,
        // `--help` and `--version` are errors here, with exit code 0.
        Err(error) => {
            let _closed = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    let session = match input::Session::new(arguments.quiet) {
        Ok(session) => session,
        Err(failure) => return failure.report(),
    };
    let (stats, begun) = (arguments.command.wants_stats(), Instant::now());
    let outcome: Result<Outcome, Failure> = match arguments.command {
        Command::Info(args) => commands::info::run(&args, &session),
        Command::Dump(args) => commands::dump::run(&args, &session),
        Command::Convert(args) => commands::convert::run(&args, &session),
        Command::Overview(args) => commands::overview::run(&args, &session),
        Command::Sample(args) => commands::sample::run(&args, &session),
        Command::Vrt(args) => commands::vrt::run(&args, &session),
        #[cfg(feature = "serve")]
        Command::View(args) => commands::serve::view(&args, &session),
        #[cfg(feature = "serve")]
        Command::Serve(args) => commands::serve::serve(&args, &session),
        Command::Warp(args) => commands::warp::run(&args, &session),
        Command::Uploads(args) => commands::uploads::run(&args, &session),
        Command::Index(args) => commands::index::run(&args, &session),
        Command::Compare(args) => commands::compare::run(&args, &session),
        Command::Cog(command) => commands::cog::run(&command, &session),
        Command::Devices(args) => commands::devices::run(&args),
        Command::Demo(args) => commands::demo::run(&args, &session),
        Command::Completions(args) => commands::completions::run(&args),
    };
    if stats {
        tell_stats(begun);
    }
    match outcome {
        Ok(Outcome::Clean) => 0,
        Ok(Outcome::Found) => 1,
        // Whatever failed while stopping, the cause is the cancellation.
        Err(_) if session.cancel.is_cancelled() => Failure::Strile(strile::Error::Cancelled).report(),
        Err(failure) => failure.report(),
    }
}

/// Prints statistics of requests to servers.
fn tell_stats(begun: Instant) {
    let RemoteStats { requests, bytes, retries, hedges, connections, .. } = remote_stats();
    let (size, seconds) = (strile::bytes::human(bytes), begun.elapsed().as_secs_f64());
    let of = |count: u64, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
    failure::tell(&format!(
        "remote: {}, {bytes} bytes ({size}), {}, {}, {}, {seconds:.3} s",
        of(requests, "request", "requests"),
        of(retries, "retry", "retries"),
        of(hedges, "hedge", "hedges"),
        of(connections, "connection", "connections"),
    ));
}

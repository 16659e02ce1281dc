//! Outcomes of commands, and the output of errors: one sentence, then a hint if there is something to do.

use std::io::{self, Write as _};
use std::path::Path;
use strile::tiff::{printable, printable_lines};

/// The outcome of a command that ran to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// There is nothing to report.
    Clean,
    /// Faults or differences were found and reported.
    Found,
}

/// The error of a command that failed.
#[derive(Debug)]
pub enum Failure {
    /// An error of the library.
    Strile(strile::Error),
    /// An error of an output file, or of standard input.
    Io(String, io::Error),
    /// An invalid request: a sentence and a hint.
    Request(String, Option<&'static str>),
    /// Several files were given and some failed. Each was already reported.
    Told,
}

impl From<strile::Error> for Failure {
    fn from(error: strile::Error) -> Self {
        Self::Strile(error)
    }
}

impl From<strile::engine::BudgetError> for Failure {
    fn from(error: strile::engine::BudgetError) -> Self {
        Self::Strile(error.into())
    }
}

impl Failure {
    /// Returns a function for `map_err` on operations on `path`.
    pub fn at(path: &Path) -> impl Fn(io::Error) -> Self + '_ {
        move |error| Self::Io(path.display().to_string(), error)
    }

    /// Converts an error of standard output, for `map_err`.
    pub fn on_stdout(error: io::Error) -> Self {
        Self::Io("standard output".into(), error)
    }

    /// Reports the error on standard error and returns the exit code.
    pub fn report(&self) -> u8 {
        match self {
            // The reader of the output has closed it (`strile dump … | head`).
            Self::Io(_, error) if error.kind() == io::ErrorKind::BrokenPipe => return 0,
            Self::Strile(strile::Error::Cancelled) => {
                tell("error: cancelled");
                return 130;
            }
            Self::Told => {}
            _ => {
                tell(&format!("error: {}", self.sentence()));
                if let Some(hint) = self.hint() {
                    tell(&format!("\nhint: {hint}"));
                }
            }
        }
        2
    }

    /// Returns the error without `error:`.
    pub fn sentence(&self) -> String {
        match self {
            Self::Strile(error) => one_line(&with_flags(&without_number(&error.to_string()))),
            Self::Io(place, error) => one_line(&without_number(&format!("{place}: {error}"))),
            Self::Request(sentence, _) => one_line(&with_flags(&without_number(sentence))),
            Self::Told => String::new(),
        }
    }

    fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Request(_, hint) => *hint,
            Self::Strile(strile::Error::Limit { limited: strile::error::Limited::Pixels, .. }) => {
                Some("`--max-pixels N` raises the limit")
            }
            Self::Strile(strile::Error::Blocks { .. }) => {
                Some("`--on-fault fill` fills faulty blocks and lists them")
            }
            _ => None,
        }
    }
}

/// Writes a line to standard error, without terminal control characters. A closed standard error is ignored.
pub fn tell(line: &str) {
    let _unheard = writeln!(io::stderr(), "{}", printable_lines(line));
}

/// Returns a sentence that quotes a file as a single line, whatever the file contains.
fn one_line(sentence: &str) -> String {
    printable(sentence).into_owned()
}

/// Replaces option names of the library by flags.
pub fn with_flags(message: &str) -> String {
    const FLAGS: [(&str, &str); 23] = [
        ("set `overwrite`", "pass `--overwrite`"),
        ("`overwrite`", "`--overwrite`"),
        ("set `nodata` to a value that", "set `-a_nodata` to a value that"),
        ("`encode_on` chooses", "`--encode-on` chooses"),
        ("set `datum_shift` to none", "pass `--datum-shift none` (`strile warp`)"),
        ("`memory`", "`--memory`"),
        ("`device_memory`", "`--device-memory`"),
        ("`missing=warn`", "`--missing warn`"),
        ("`allowed_roots`", "`--allowed-root DIR`"),
        ("`allow_outside`", "`--allow-outside`"),
        ("`allowed_hosts`", "`--allowed-host HOST`"),
        ("`sidecars = never`", "`--sidecars never`"),
        ("`vrt_max_work`", "`--vrt-max-work`"),
        ("`vrt_max_bytes`", "`--vrt-max-bytes`"),
        ("turn `deny_private_hosts` off", "leave out `--deny-private-hosts`"),
        ("`connect_timeout`", "`--connect-timeout`"),
        ("`stall_timeout`", "`--stall-timeout`"),
        ("`total_timeout`", "`--total-timeout`"),
        ("`anonymous`", "`--anonymous`"),
        ("`region`", "`--region`"),
        ("`endpoint`", "`--endpoint`"),
        ("`request_payer`", "`--request-payer`"),
        ("`device::calibrate`", "`strile devices --calibrate`"),
    ];
    FLAGS.iter().fold(message.to_owned(), |message, (option, flag)| message.replace(option, flag))
}

/// Removes ` (os error 2)` from a system error: it adds nothing to the message.
fn without_number(message: &str) -> String {
    let number =
        message.split_once(" (os error ").and_then(|(before, rest)| Some((before, rest.split_once(')')?)));
    match number {
        Some((before, (_, after))) => format!("{before}{after}"),
        None => message.to_owned(),
    }
}
